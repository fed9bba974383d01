//! Schedules from files; mistakes in them are reported as those of any input.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use super::library;
use super::shipped::Shipped;
use form::codes::{self, Code};
use form::diagnostic::{Diagnostic, Diagnostics, Span, quote};
use form::json::recognise;
use form::shape::nearest;
use runtime::loggops::schedule::Schedule;
use workloads::import::goal;
use workloads::import::goal::read::{Fault, ReadError};

/// The end of the name of a schedule.
pub const EXTENSION: &str = "goal";
/// Bytes that are read at once.
const BUFFER: usize = 1 << 16;

/// A schedule and the hash of its text.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The operations of the ranks.
    pub schedule: Schedule,
    /// Hash of the bytes: 32 hexadecimal digits.
    pub digest: String,
}

/// Reads the schedule at `path` as a stream; reports where there is none.
pub fn read(diagnostics: &mut Diagnostics, shipped: Shipped, path: &Path) -> Option<Loaded> {
    let name = path.display().to_string();
    let file = library::open(diagnostics, shipped, path)?;
    let mut text =
        BufReader::with_capacity(BUFFER, Hashing { file, hasher: blake3::Hasher::new() });
    // The reader below reports a file that cannot be read at all.
    let start = text.fill_buf().unwrap_or_default();
    if let Some((found, (_, help), code)) = recognise(start) {
        let source = diagnostics.add_source(name, "");
        let span = Span { source, start: 0, end: 0 };
        let one = Diagnostic::error(code, span, "", found, "plain text is needed");
        diagnostics.push(one.help(help));
        return None;
    }
    if start.starts_with(b"\xef\xbb\xbf") {
        text.consume(3);
        let source = diagnostics.add_source(name.clone(), "");
        let span = Span { source, start: 0, end: 0 };
        let found = "the file begins with a byte-order mark, which is skipped";
        let one = Diagnostic::error(&codes::BOM, span, "", found, "UTF-8 needs none");
        diagnostics.push(one.help("save the file as UTF-8 without it").warning());
    }
    match goal::read(&mut text) {
        Ok(schedule) => {
            let digest = text.into_inner().hasher.finalize().to_hex()[..32].to_owned();
            Some(Loaded { schedule, digest })
        }
        Err(errors) => {
            for error in errors {
                report(diagnostics, &name, error);
            }
            None
        }
    }
}

/// A file whose bytes are hashed as they are read.
struct Hashing {
    file: File,
    hasher: blake3::Hasher,
}

impl std::io::Read for Hashing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hasher.update(&buffer[..count]);
        Ok(count)
    }
}

fn report(diagnostics: &mut Diagnostics, name: &str, error: ReadError) {
    let ReadError { fault, line, bytes: (start, end), text, found, allowed, words } = error;
    let meant = text.get(start..end).and_then(|word| nearest(word, words.iter().copied()));
    let source = if line == 0 {
        diagnostics.add_source(name, "")
    } else {
        diagnostics.add_lines(name, line as usize, text)
    };
    let offset = |at: usize| u32::try_from(at).expect("a line is short");
    let span = Span { source, start: offset(start), end: offset(end) };
    let one = Diagnostic::error(code(fault), span, "", quote(&found), allowed);
    diagnostics.push(match meant {
        Some(near) => one.help(format!("did you mean `{near}`?")),
        None => one,
    });
}

fn code(fault: Fault) -> Code {
    match fault {
        Fault::Form => &codes::GOAL,
        Fault::Number => &codes::RANGE,
        Fault::Rank => &codes::RANK,
        Fault::Block => &codes::GOAL_BLOCK,
        Fault::Label => &codes::GOAL_LABEL,
        Fault::Wildcard => &codes::WILDCARD,
        Fault::Circle => &codes::GOAL_CIRCLE,
        Fault::Unclosed => &codes::UNCLOSED,
        Fault::Empty => &codes::EMPTY,
        Fault::TooMany => &codes::TOO_LARGE,
        Fault::Io => &codes::IO,
    }
}
