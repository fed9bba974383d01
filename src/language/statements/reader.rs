//! The state of the reading of one rank's statements.

use std::collections::BTreeMap;

use super::communicators::Communicators;
use super::handles::Handles;
use super::named::{Buffers, Types};
use super::requests::Arrays;
use super::variables::Scope;
use super::windows::{MemoryNames, Windows};
use crate::collectives::Choices;
use form::diagnostic::{Diagnostics, SourceId, Span};
use form::json::Node;
use protocols::contract::Handle;

/// The state of one rank's reading.
pub(super) struct Reader<'a> {
    pub(super) diagnostics: &'a mut Diagnostics,
    pub(super) choices: &'a Choices,
    pub(super) ranks: u32,
    pub(super) rank: usize,
    /// Whether every rank executes the statements.
    pub(super) body: bool,
    pub(super) handles: Handles,
    /// The number of each name of a request or message, the same on every way through the program.
    pub(super) numbers: BTreeMap<String, Handle>,
    pub(super) lines: &'a mut LineCounter,
    pub(super) scope: Scope,
    /// Loops and conditions around the statement that is read.
    pub(super) nested: u32,
    /// The operation that began each request last in the text, and whether that is so on every way.
    pub(super) begun: BTreeMap<String, (String, bool)>,
    /// The arrays of requests, from the first one on that is read.
    pub(super) arrays: Option<Arrays>,
    /// All statements of the rank.
    pub(super) list: &'a Node,
    pub(super) communicators: Communicators,
    pub(super) windows: Windows,
    pub(super) memories: &'a mut MemoryNames,
    pub(super) types: &'a mut Types,
    /// Buffers with a name.
    pub(super) named: &'a Buffers,
    /// The number of the next buffer without one.
    pub(super) buffers: u32,
    /// Where the buffer of buffered sends was attached, and whether that is so on every way.
    pub(super) attached: Option<(Span, bool)>,
}

/// A statement while it is read.
pub(super) struct Item<'r, 'a, 'n> {
    pub(super) reader: &'r mut Reader<'a>,
    pub(super) node: &'n Node,
    pub(super) path: &'n str,
}

/// Where a statement begins.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Lines and columns of offsets in one text, counted once over the text where they rise.
pub(super) struct LineCounter {
    text: String,
    at: usize,
    line: usize,
    /// Characters of the line before this place.
    before: usize,
    pub(super) source: SourceId,
    /// Bytes that were looked at.
    #[cfg(test)]
    looked_at: usize,
}

impl LineCounter {
    pub(super) fn new(diagnostics: &Diagnostics, span: Span) -> Self {
        Self::of(diagnostics.text(span.source).to_owned(), span.source)
    }

    const fn of(text: String, source: SourceId) -> Self {
        Self {
            text,
            at: 0,
            line: 1,
            before: 0,
            source,
            #[cfg(test)]
            looked_at: 0,
        }
    }

    pub(super) fn place(&mut self, span: Span) -> Place {
        let to = span.start as usize;
        if span.source != self.source {
            return Place { line: 1, column: to + 1 };
        }
        if to < self.at {
            (self.at, self.line, self.before) = (0, 1, 0);
        }
        let bytes = self.text.as_bytes();
        for index in self.at..to.min(bytes.len()) {
            #[cfg(test)]
            {
                self.looked_at += 1;
            }
            let lone_return = bytes[index] == b'\r' && bytes.get(index + 1) != Some(&b'\n');
            if bytes[index] == b'\n' || lone_return {
                (self.line, self.before) = (self.line + 1, 0);
            } else if self.text.is_char_boundary(index) {
                self.before += 1;
            }
        }
        self.at = to;
        Place { line: self.line, column: self.before + 1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each place by itself, from the beginning of the text on.
    fn slowly(text: &str, to: usize) -> Place {
        let before = text[..to].replace("\r\n", "\n").replace('\r', "\n");
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        Place { line, column }
    }

    #[test]
    fn places_are_those_of_editors() {
        let text = "a\u{e9}b\n\u{1f600} c\r\nd\re";
        let mut lines = LineCounter::of(text.to_owned(), SourceId::default());
        let all: Vec<usize> = (0..text.len()).filter(|at| text.is_char_boundary(*at)).collect();
        for to in all.iter().chain(all.iter().rev()) {
            // Between the two bytes of an end of line no statement begins.
            if text.as_bytes()[*to] == b'\n' && text.as_bytes()[to - 1] == b'\r' {
                continue;
            }
            let start = u32::try_from(*to).unwrap();
            let found = lines.place(Span { source: SourceId::default(), start, end: start });
            assert_eq!(found, slowly(text, *to), "{to}");
        }
    }

    #[test]
    fn each_byte_is_looked_at_once_also_where_all_stand_in_one_line() {
        for statements in [1_000, 2_000] {
            let text = r#"{ "op": "barrier" }, "#.repeat(statements);
            let mut lines = LineCounter::of(text.clone(), SourceId::default());
            for (start, _) in text.match_indices('{') {
                let start = u32::try_from(start).unwrap();
                lines.place(Span { source: SourceId::default(), start, end: start });
            }
            assert!(lines.looked_at <= text.len(), "{} of {}", lines.looked_at, text.len());
        }
    }
}
