//! The workload that replays a schedule.

use std::sync::Arc;

use super::super::goal;
use super::super::library;
use super::Replayed;
use super::point::Known;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, Span};
use form::fields::MAX_MESSAGE;
use form::json::Node;
use workloads::goal::calls::unfit;

/// What a machine can replay.
const ALLOWED: &str = "a machine has cpu 0 and nic 0, and the tags and sizes of MPI";

/// The schedule that a checked workload names; read once for all points.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    node: &Node,
    known: &mut Known<'_>,
) -> Option<Replayed> {
    let file = node.required_word("file").to_owned();
    if let Some((_, read)) = known.schedules.iter().find(|(name, _)| *name == file) {
        return read.clone();
    }
    let read = fresh(diagnostics, node, known);
    known.schedules.push((file, read.clone()));
    read
}

fn fresh(diagnostics: &mut Diagnostics, node: &Node, known: &Known<'_>) -> Option<Replayed> {
    let named = node.get("file")?;
    let path = library::named_file(diagnostics, &known.folder, (named, "workload.file"))?;
    let goal::Loaded { schedule, digest } = goal::read(diagnostics, &path)?;
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
