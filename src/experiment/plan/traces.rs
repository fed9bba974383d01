//! The workload that replays a schedule.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::super::library;
use super::super::shipped::Shipped;
use super::super::traces;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span};
use form::fields::MAX_MESSAGE;
use form::json::Node;
use workloads::import::goal::calls::unfit;
use workloads::kind::Schedules;
use workloads::replayed::Replayed;

/// The schedules that a machine can replay.
const ALLOWED: &str = "a machine has cpu 0 and nic 0, and the tags and sizes of MPI";

/// Schedules that were read, by the names of their files; once for all points.
pub(super) struct Files {
    /// Where the scenario lies: the files that it names are looked for there.
    pub(super) folder: PathBuf,
    shipped: Shipped,
    read: Vec<(String, Option<Replayed>)>,
}

impl Files {
    /// Files beside a scenario in `folder`.
    pub(super) const fn new(folder: PathBuf, shipped: Shipped) -> Self {
        Self { folder, shipped, read: Vec::new() }
    }
}

impl Schedules for Files {
    fn schedule(&mut self, diagnostics: &mut Diagnostics, named: &Node) -> Option<Replayed> {
        let file = named.text()?.to_owned();
        if let Some((_, read)) = self.read.iter().find(|(name, _)| *name == file) {
            return read.clone();
        }
        let read = fresh(diagnostics, named, &self.folder, self.shipped);
        self.read.push((file, read.clone()));
        read
    }
}

fn fresh(
    diagnostics: &mut Diagnostics,
    named: &Node,
    folder: &Path,
    shipped: Shipped,
) -> Option<Replayed> {
    let path = library::named_file(diagnostics, folder, (named, "workload.file"))?;
    let traces::Loaded { schedule, digest } = traces::read(diagnostics, shipped, &path)?;
    if let Some((op, why)) = unfit(&schedule, MAX_MESSAGE) {
        let line = schedule.line(op).map_or(1, |line| line as usize);
        let source = diagnostics.add_lines(path.display().to_string(), line, "");
        let span = Span { source, start: 0, end: 0 };
        diagnostics.push(
            Diagnostic::error(&codes::GOAL_MACHINE, span, "", why.to_string(), ALLOWED)
                .related(named.span, "the schedule is named here")
                .help("replay it under the LogGOPS model: `mpisim run FILE.goal --loggops ...`"),
        );
        return None;
    }
    Some(Replayed { schedule: Arc::new(schedule), digest })
}
