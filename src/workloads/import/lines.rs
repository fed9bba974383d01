//! The lines of a text that is read as a stream.

use std::io::{BufRead, ErrorKind};

use crate::trace::{Fault, ReadError};

/// The longest line, in bytes.
/// Limit: a line is held in memory, and a longer one is an error.
pub const LONGEST_LINE: usize = 1 << 16;
/// Wrong lines after which reading ends.
/// Limit: more would hide the first ones.
pub const MOST_ERRORS: usize = 100;

/// The next line without its end, cut at [`LONGEST_LINE`]; whether it is whole. `None` at the end.
pub(super) fn next_line(
    text: &mut impl BufRead,
    line: &mut Vec<u8>,
) -> std::io::Result<Option<bool>> {
    line.clear();
    let (mut whole, mut any) = (true, false);
    loop {
        let ahead = match text.fill_buf() {
            Ok(ahead) => ahead,
            Err(why) if why.kind() == ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        if ahead.is_empty() {
            return Ok(any.then_some(whole));
        }
        any = true;
        let end = ahead.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let part = &ahead[..end.unwrap_or(ahead.len())];
        let room = LONGEST_LINE - line.len();
        whole &= part.len() <= room;
        line.extend_from_slice(&part[..part.len().min(room)]);
        let Some(end) = end else {
            let all = ahead.len();
            text.consume(all);
            continue;
        };
        let carriage_return = ahead[end] == b'\r';
        text.consume(end + 1);
        if carriage_return && text.fill_buf()?.first() == Some(&b'\n') {
            text.consume(1);
        }
        return Ok(Some(whole));
    }
}

/// A line for people: a byte that is no text is a dot, so that places in the line stay.
pub(super) fn shown(line: &[u8]) -> String {
    let mut text = String::with_capacity(line.len());
    for chunk in line.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| '.'));
    }
    text
}

/// The longest text of a file in a message.
/// Limit: a longer one is cut.
const LONGEST_SHOWN: usize = 40;

/// A word of a file in a message.
pub(super) fn shortened(text: &str) -> String {
    let shown: String = text.chars().take(LONGEST_SHOWN).flat_map(char::escape_debug).collect();
    if text.chars().nth(LONGEST_SHOWN).is_some() { format!("{shown}…") } else { shown }
}

/// The first byte of a part of a line, and the one behind it.
pub(super) type Span = (usize, usize);

/// A mistake in a line.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) fault: Fault,
    pub(super) at: Span,
    pub(super) found: String,
    pub(super) allowed: String,
    pub(super) words: &'static [&'static str],
}

impl Wrong {
    pub(super) fn new(
        fault: Fault,
        at: Span,
        found: impl Into<String>,
        allowed: impl Into<String>,
    ) -> Self {
        Self { fault, at, found: found.into(), allowed: allowed.into(), words: &[] }
    }

    pub(super) fn no_rank(rank: u64, ranks: u32, at: Span) -> Self {
        let found = format!("rank {rank} does not exist");
        Self::new(Fault::Rank, at, found, format!("ranks are 0 to {}", ranks - 1))
    }

    /// The mistake in line `line` of a file, which is `text`.
    pub(super) fn at_line(self, file: Option<String>, line: u32, text: String) -> ReadError {
        let Self { fault, at: bytes, found, allowed, words } = self;
        ReadError { fault, file, line, bytes, text, found, allowed, words }
    }

    /// A mistake of the text as a whole.
    pub(super) fn in_text(self) -> ReadError {
        self.at_line(None, 0, String::new())
    }
}
