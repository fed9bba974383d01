//! The state of the reading of one rank's statements.

use std::collections::BTreeMap;

use super::communicators::Communicators;
use super::named::{Buffers, Types};
use super::requests::Arrays;
use super::variables::Scope;
use super::windows::{MemoryNames, Windows};
use crate::collectives::Choices;
use form::diagnostic::{Diagnostics, SourceId, Span};
use form::json::Node;
use protocols::contract::Handle;

/// The state of a request or a matched message at a place of the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Open {
    /// It is open.
    Yes,
    /// It may have ended in a test.
    Perhaps,
    /// It was prepared, and may be started: it ends by `request_free` only.
    Prepared,
    /// It has ended.
    No,
}

/// The known requests and messages.
pub(super) type Handles = BTreeMap<String, (Handle, Open, Span)>;

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

/// Where a statement begins.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Lines of offsets in one text, counted once over the text where they rise.
pub(super) struct LineCounter {
    text: String,
    at: usize,
    line: usize,
    /// Where the line begins.
    begin: usize,
    pub(super) source: SourceId,
}

impl LineCounter {
    pub(super) fn new(diagnostics: &Diagnostics, span: Span) -> Self {
        let text = diagnostics.text(span.source).to_owned();
        Self { text, at: 0, line: 1, begin: 0, source: span.source }
    }

    pub(super) fn place(&mut self, span: Span) -> Place {
        let to = span.start as usize;
        if span.source != self.source {
            return Place { line: 1, column: to + 1 };
        }
        if to < self.at {
            (self.at, self.line, self.begin) = (0, 1, 0);
        }
        let bytes = self.text.as_bytes();
        for index in self.at..to.min(bytes.len()) {
            let lone_return = bytes[index] == b'\r' && bytes.get(index + 1) != Some(&b'\n');
            if bytes[index] == b'\n' || lone_return {
                self.line += 1;
                self.begin = index + 1;
            }
        }
        self.at = to;
        let before = self.text.get(self.begin..to).unwrap_or_default();
        Place { line: self.line, column: before.chars().count() + 1 }
    }
}
