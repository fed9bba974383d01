//! The workloads that replay traces.

use std::path::{Path, PathBuf};

use super::super::library;
use super::super::shipped::Shipped;
use super::super::traces;
use form::diagnostic::{Diagnostic, Diagnostics, Span};
use form::fields::MAX_MESSAGE;
use form::json::Node;
use workloads::import::{self, Format};
use workloads::kind::Traces;
use workloads::trace::{Imported, Unfit};

/// Traces that were read, by the names of their files and the kinds of their workloads; once for all points.
pub(super) struct Files {
    /// Where the scenario lies: the files that it names are looked for there.
    pub(super) folder: PathBuf,
    shipped: Shipped,
    read: Vec<(String, String, Option<Imported>)>,
}

impl Files {
    /// Files beside a scenario in `folder`.
    pub(super) const fn new(folder: PathBuf, shipped: Shipped) -> Self {
        Self { folder, shipped, read: Vec::new() }
    }
}

impl Traces for Files {
    fn trace(
        &mut self,
        diagnostics: &mut Diagnostics,
        kind: &str,
        named: &Node,
    ) -> Option<Imported> {
        let file = named.text()?.to_owned();
        let known = self.read.iter().find(|(name, of, _)| *name == file && of == kind);
        if let Some((.., read)) = known {
            return read.clone();
        }
        let format = import::of_kind(kind).expect("the kinds of traces are those of formats");
        let read = fresh(diagnostics, format, named, &self.folder, self.shipped);
        self.read.push((file, kind.to_owned(), read.clone()));
        read
    }
}

fn fresh(
    diagnostics: &mut Diagnostics,
    format: &Format,
    named: &Node,
    folder: &Path,
    shipped: Shipped,
) -> Option<Imported> {
    let path = library::named_file(diagnostics, folder, (named, "workload.file"))?;
    let read = traces::read(diagnostics, shipped, format, &path)?;
    if let Some(Unfit { line, found, allowed, help, code }) = read.trace.unfit(MAX_MESSAGE) {
        let source = diagnostics.add_lines(path.display().to_string(), line as usize, "");
        let span = Span { source, start: 0, end: 0 };
        let one = Diagnostic::error(code, span, "", found, allowed);
        diagnostics.push(one.related(named.span, "the trace is named here").help(help));
        return None;
    }
    Some(read)
}
