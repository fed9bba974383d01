//! The state of the reading of one rank's statements.

use std::collections::BTreeMap;

use super::communicators::Communicators;
use super::pieces::Types;
use super::variables::Scope;
use super::windows::{MemoryNames, Windows};
use crate::collectives::Choices;
use form::diagnostic::{Diagnostics, SourceId, Span};
use protocols::contract::Handle;

/// The state of a request or a matched message at a place of the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Open {
    /// It is open.
    Yes,
    /// It may have ended in a test.
    Perhaps,
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
    pub(super) handles: Handles,
    /// The number of each name of a request or message, the same on every way through the program.
    pub(super) numbers: BTreeMap<String, Handle>,
    pub(super) lines: &'a mut LineCounter,
    pub(super) scope: Scope,
    /// Loops and conditions around the statement that is read.
    pub(super) nested: u32,
    /// The operation that began each request.
    pub(super) begun: BTreeMap<String, String>,
    pub(super) communicators: Communicators,
    pub(super) windows: Windows,
    pub(super) memories: &'a mut MemoryNames,
    pub(super) types: &'a mut Types,
    pub(super) buffers: u32,
    /// Where the buffer of buffered sends was attached.
    pub(super) attached: Option<Span>,
}

/// Lines of offsets in one text, counted once over the text where they rise.
pub(super) struct LineCounter {
    text: String,
    at: usize,
    line: usize,
    pub(super) source: SourceId,
}

impl LineCounter {
    pub(super) fn new(diagnostics: &Diagnostics, span: Span) -> Self {
        let text = diagnostics.text(span.source).to_owned();
        Self { text, at: 0, line: 1, source: span.source }
    }

    pub(super) fn line(&mut self, span: Span) -> usize {
        let to = span.start as usize;
        if span.source != self.source {
            return 1;
        }
        if to < self.at {
            (self.at, self.line) = (0, 1);
        }
        let bytes = self.text.as_bytes();
        for index in self.at..to.min(bytes.len()) {
            let lone_return = bytes[index] == b'\r' && bytes.get(index + 1) != Some(&b'\n');
            self.line += usize::from(bytes[index] == b'\n' || lone_return);
        }
        self.at = to;
        self.line
    }
}
