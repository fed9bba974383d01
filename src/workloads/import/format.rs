//! A format of traces: its beginning, its reader, and the workload that replays it.

use std::sync::Arc;

use crate::kind::Kind;
use crate::trace::{Beginning, ReadError, Source, Trace};
use form::codes::Code;

/// A format of traces.
#[derive(Debug)]
pub struct Format {
    /// The workload that replays it, whose name is the word of the format.
    pub kind: &'static Kind,
    /// Its name, and the programs that write it.
    pub title: &'static str,
    /// The end of the names of its files, for a file whose content says nothing.
    pub ending: Option<&'static str>,
    /// Whether a file begins as its texts do.
    pub begins: fn(&Beginning<'_>) -> bool,
    /// Reads a text; mistakes come in the order of lines, up to [`MOST_ERRORS`](super::lines::MOST_ERRORS).
    pub read: fn(&mut dyn Source) -> Read,
    /// Whether its traces are schedules, which need no machine.
    pub schedules: bool,
    /// The code of a text that does not follow the rules of the format.
    pub form: Code,
    /// Keys of the workload that a trace says nothing about, as an import states them.
    pub states: &'static [Stated],
}

/// A trace, or the mistakes in its text.
pub type Read = Result<Arc<dyn Trace>, Vec<ReadError>>;

/// A key that an import states, since the trace does not.
#[derive(Clone, Copy, Debug)]
pub struct Stated {
    /// The key of the workload.
    pub key: &'static str,
    /// Its value.
    pub value: &'static str,
    /// Its meaning, for a note.
    pub note: &'static str,
}
