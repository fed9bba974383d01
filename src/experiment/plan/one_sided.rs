//! How windows work, as a scenario and its machine say.

use super::values::Point;
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::machine::Machine;
use form::shape::path::{self, place};
use mpi::rma::access::MemoryModel;
use mpi::rma::synchronisation::Rules;
use protocols::rma::{Issue, MappedLocks, Settings, Transport};
use units::Bytes;
use workloads::kind::Workload;

/// Operations and bytes beyond which an adaptive epoch turns eager, where the scenario gives none; assumed.
const ADAPTIVE: (u32, u64) = (8, 16 << 10);

/// Fields that say something together.
const MAPPED_LOCKS: &str = "mpi.rma.mapped_locks";
const WINDOW: &str = "workload.window";

/// How windows work, as `mpi.rma` says.
pub(super) fn settings(tree: &Node) -> Settings {
    let node = tree.get("mpi").and_then(|mpi| mpi.get("rma"));
    let defaults = Settings::default();
    let Some(node) = node else { return defaults };
    let issue = match node.word("issue") {
        Some("eager") => Issue::Eager,
        Some("adaptive") => Issue::Adaptive {
            operations: node.small("adaptive_operations").unwrap_or(ADAPTIVE.0),
            bytes: node.bytes("adaptive_bytes").map_or(ADAPTIVE.1, Bytes::as_u64),
        },
        _ => Issue::Lazy,
    };
    Settings {
        issue,
        transport: match node.word("transport") {
            Some("rdma") => Transport::Rdma,
            Some("mixed") => Transport::Mixed,
            _ => Transport::Messages,
        },
        merge: node.flag("merge").unwrap_or(defaults.merge),
        merge_limit: node.bytes("merge_limit").map(Bytes::as_u64),
        segment: node.bytes("segment").map(Bytes::as_u64),
        done_after_merge: node.flag("done_after_merge").unwrap_or(defaults.done_after_merge),
        rules: match node.word("checking") {
            Some("strict") => Rules::Strict,
            Some("mpich") => Rules::Mpich,
            _ => Rules::Document,
        },
        watch: node.word("conflicts") != Some("allowed"),
        ..defaults
    }
}

/// How the locks of mapped windows are taken: as the scenario says, or else as the machine's library does.
pub(super) fn mapped_locks(tree: &Node, machine: &Machine) -> MappedLocks {
    let node = tree.get("mpi").and_then(|mpi| mpi.get("rma"));
    match node.and_then(|node| node.word("mapped_locks")) {
        Some("messages") => MappedLocks::Messages,
        Some(_) => MappedLocks::Atomics,
        None if machine.profile.mpi.rma_atomic_locks => MappedLocks::Atomics,
        None => MappedLocks::Messages,
    }
}

/// The memory model of windows: the scenario's, or else that of the adapter.
pub(super) fn model(tree: &Node, machine: &Machine) -> MemoryModel {
    let node = tree.get("mpi").and_then(|mpi| mpi.get("rma"));
    let said = node.and_then(|node| node.word("model"));
    let named = said.and_then(|name| MemoryModel::ALL.into_iter().find(|one| one.name() == name));
    let coherent = machine.profile.hca.coherent;
    named.unwrap_or(if coherent { MemoryModel::Unified } else { MemoryModel::Separate })
}

/// How locks of mapped windows are taken says nothing where no window is mapped. Where the window is
/// swept, all points are asked together ([`check_mapped_locks_of_all`]).
pub(super) fn check_mapped_locks(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    workload: &dyn Workload,
    swept: &[(String, String)],
) {
    if !sweeps_window(swept) && !workload.maps_windows() {
        refuse_mapped_locks(diagnostics, tree);
    }
}

/// The same of a sweep over windows, by the tree of one of its points: some points need it.
pub(super) fn check_mapped_locks_of_all(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    points: &[Point],
) {
    let swept = points.first().is_some_and(|point| sweeps_window(&point.params));
    if swept && !points.iter().any(|point| point.workload.maps_windows()) {
        refuse_mapped_locks(diagnostics, tree);
    }
}

fn sweeps_window(swept: &[(String, String)]) -> bool {
    swept.iter().any(|(axis, _)| axis == WINDOW)
}

fn refuse_mapped_locks(diagnostics: &mut Diagnostics, tree: &Node) {
    let Some(node) = path::at(tree, MAPPED_LOCKS) else { return };
    let report = Diagnostic::error(
        &codes::CONTRADICTION,
        node.span,
        MAPPED_LOCKS,
        "no window of the workload is mapped",
        "a `mutex` or `rma_epochs` whose `workload.window` is `shared` is needed, or a `program` with `win_allocate_shared`",
    );
    let made = path::at(tree, WINDOW)
        .map_or("the workload is given here", |_| "each process has its part in its own memory");
    let place = path::at(tree, WINDOW).map_or_else(|| place(tree, "workload.kind"), |at| at.span);
    diagnostics.push(
        report.related(place, made).help("map the window, or leave `mpi.rma.mapped_locks` out"),
    );
}

/// Only an adapter that does so by itself can carry operations out.
pub(super) fn check_machine(diagnostics: &mut Diagnostics, tree: &Node, machine: &Machine) {
    let transport = settings(tree).transport;
    if machine.profile.hca.rdma || transport == Transport::Messages {
        return;
    }
    let path = "mpi.rma.transport";
    diagnostics.push(
        Diagnostic::error(
            &codes::CONTRADICTION,
            place(tree, path),
            path,
            "the adapter is to carry out one-sided operations",
            "on this machine the target's library does: `messages` is needed",
        )
        .related(place(tree, "machine"), format!("`hca.rdma` of `{}` is false", machine.name)),
    );
}
