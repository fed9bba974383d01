//! Progress threads: what they can stand beside.

use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::shape::path::place;
use workloads::agent::THREADS;
use workloads::kind::Workload;
use workloads::ranks::Addressing;

const PATH: &str = "ranks.progress_thread";

/// Whether a scenario asks for progress threads.
fn asked(tree: &Node) -> bool {
    tree.get("ranks").and_then(|ranks| ranks.flag("progress_thread")).unwrap_or(false)
}

/// Whether the processes of a point have progress threads; reports where they cannot.
pub(super) fn read(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    (addressing, threads): (Addressing, u16),
    workload: &dyn Workload,
) -> bool {
    let asked = asked(tree);
    if !asked {
        return false;
    }
    let mut refuse = |found: String, allowed: &str, other: &str, what: &str| {
        let report =
            Diagnostic::error(&codes::CONTRADICTION, place(tree, PATH), PATH, found, allowed);
        diagnostics.push(report.related(place(tree, other), what));
    };
    if threads > 1 || !matches!(addressing, Addressing::Process) {
        let found = format!("a progress thread beside {threads} threads of a process");
        let allowed = "it stands beside the one thread of a rank (addressing `process`)";
        refuse(found, allowed, "ranks", "the threads are given here");
    }
    if !workload.has_progress_threads() {
        let found = format!("a progress thread, and the workload {}", workload.kind().name);
        let allowed = "ranks are needed that send from the memory of their cores";
        refuse(found, allowed, "workload.kind", "the workload is given here");
    }
    asked
}

/// Threads of a process, its progress thread among them.
pub(super) const fn all_threads(threads: u16, progress_thread: bool) -> u16 {
    if progress_thread && threads == 1 { THREADS } else { threads }
}

/// The field that gives a process more threads than one.
pub(super) fn threads_path(tree: &Node) -> &'static str {
    if asked(tree) { PATH } else { "ranks.threads_per_process" }
}
