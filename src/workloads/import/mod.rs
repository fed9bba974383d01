//! Formats of traces: files of other programs that state what each rank of a job did, as workloads.
//!
//! ```text
//!   file ─ begins ─▶ Format ─ read ─▶ Trace ─ Kind::read ─▶ Workload ─▶ programs
//! ```
//!
//! A format is one file, or one folder: the beginning of its texts, its reader, and the kind of workload
//! that replays what was read. Below, each has one line of the registry. A file is recognised by its
//! content; [`foreign`] names the formats that are known and not read.

pub mod foreign;
mod format;
pub mod goal;
pub mod lines;
pub mod ti;

use crate::kind::Kind;
use crate::trace::Beginning;
pub use format::{Format, Read, Stated};

/// Every format that is read, in the order in which a file is compared with them.
pub const FORMATS: [&Format; 2] = [&goal::FORMAT, &ti::FORMAT];

/// The workloads of all formats.
pub(crate) const KINDS: [&Kind; FORMATS.len()] = {
    let mut kinds = [FORMATS[0].kind; FORMATS.len()];
    let mut at = 1;
    while at < FORMATS.len() {
        kinds[at] = FORMATS[at].kind;
        at += 1;
    }
    kinds
};

/// The format of a file: by its beginning, else by the end of its name.
pub fn find(name: &str, start: &Beginning<'_>) -> Option<&'static Format> {
    let by_content = FORMATS.into_iter().find(|format| (format.begins)(start));
    by_content.or_else(|| {
        let ends = |ending: &str| {
            let rest = name.strip_suffix(ending);
            rest.is_some_and(|rest| rest.ends_with('.'))
        };
        FORMATS.into_iter().find(|format| format.ending.is_some_and(ends))
    })
}

/// The format of a kind of workload.
pub fn of_kind(kind: &str) -> Option<&'static Format> {
    FORMATS.into_iter().find(|format| format.kind.name == kind)
}
