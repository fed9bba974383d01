//! Workloads over windows: their numbers, and how windows work.

use super::{Point, Workload, place};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::machine::Machine;
use form::shape::path;
use mpi::rma::access::MemoryModel;
use mpi::rma::synchronisation::Rules;
use protocols::rma::{Issue, MappedLocks, Settings, Transport};
use units::{Bytes, TimeDelta};
use workloads::epochs::{Access, Direct, Epoch, Epochs};
use workloads::linked_list::{Idiom, List, Probes};
use workloads::mutex::{Algorithm, Cycles, Pauses};
use workloads::one_sided::{OneSided, Task};
use workloads::window_growth::{By, Growth};

/// Operations and bytes beyond which an adaptive epoch turns eager, where nobody says; assumed.
const ADAPTIVE: (u32, u64) = (8, 16 << 10);

/// Fields that say something together.
const MAPPED_LOCKS: &str = "mpi.rma.mapped_locks";
const WINDOW: &str = "workload.window";

/// The kinds of workload that are read here.
pub(super) fn is_one_sided(kind: &str) -> bool {
    matches!(kind, "mutex" | "linked_list" | "window_growth" | "rma_epochs")
}

/// The workload of a checked tree.
pub(super) fn read(node: &Node, settings: &Settings) -> OneSided {
    let count = |key: &str| node.small(key).expect("the key is required");
    let processes = count("processes");
    let per_node = count("processes_per_node");
    let task = match node.required_word("kind") {
        "mutex" => mutex(node, settings),
        "linked_list" => linked_list(node, processes),
        "rma_epochs" => epochs(node, settings),
        "window_growth" => window_growth(node),
        other => unreachable!("{other} is no workload over windows"),
    };
    OneSided { processes, per_node: per_node.min(processes), task }
}

fn mutex(node: &Node, settings: &Settings) -> Task {
    let name = node.required_word("algorithm");
    let algorithm = Algorithm::ALL.into_iter().find(|algorithm| algorithm.name() == name);
    let work = |key: &str| node.time(key).unwrap_or_default().as_ps();
    let usual = Pauses::default();
    let asked = Cycles {
        cycles: node.small("cycles").expect("the key is required"),
        inside: work("inside"),
        outside: work("outside"),
        marks: false,
        lingers: false,
        // Locks are messages: over RDMA nobody would answer them, and nobody could object.
        no_check: settings.transport == Transport::Rdma,
        shared: node.word("window") == Some("shared"),
        pauses: Pauses {
            first: node.time("first_pause").map_or(usual.first, TimeDelta::as_ps),
            doublings: node.small("doublings").unwrap_or(usual.doublings),
        },
    };
    Task::Mutex { algorithm: algorithm.expect("the tree was checked against its shape"), asked }
}

fn epochs(node: &Node, settings: &Settings) -> Task {
    let access = match node.required_word("access") {
        "read" => Access::Read,
        "write_read" => Access::WriteRead,
        "fetch_add" => Access::FetchAdd,
        _ => Access::Write,
    };
    let size = node.bytes("size").map_or(8, Bytes::as_u64);
    Task::Epochs(Epochs {
        epoch: match node.required_word("epoch") {
            "exclusive" => Epoch::Exclusive,
            "shared" => Epoch::Shared,
            "lock_all_puts" => Epoch::LockAllPuts,
            _ => Epoch::LockAll,
        },
        access,
        operations: node.small("operations").unwrap_or(1),
        size: if access == Access::FetchAdd { 8 } else { size },
        rounds: node.small("rounds").expect("the key is required"),
        busy: node.time("busy").unwrap_or_default().as_ps(),
        direct: match node.word("direct") {
            Some("exclusive") => Direct::Exclusive,
            Some("unified") => Direct::Unified,
            _ => Direct::None,
        },
        no_check: settings.transport == Transport::Rdma,
        shared: node.word("window") == Some("shared"),
    })
}

fn linked_list(node: &Node, processes: u32) -> Task {
    let name = node.required_word("idiom");
    let idiom = Idiom::ALL.into_iter().find(|idiom| idiom.name() == name);
    let elements = node.small("elements").expect("the key is required");
    let each = if node.word("count") == Some("per_process") { processes } else { 1 };
    Task::LinkedList(List {
        idiom: idiom.expect("the tree was checked against its shape"),
        elements: elements.saturating_mul(each),
        probes: match node.word("probes") {
            Some("doubling") => Probes::Doubling,
            _ => Probes::One,
        },
        counts: true,
    })
}

fn window_growth(node: &Node) -> Task {
    let name = node.required_word("by");
    let by = By::ALL.into_iter().find(|by| by.name() == name);
    Task::WindowGrowth(Growth {
        by: by.expect("the tree was checked against its shape"),
        size: node.bytes("size").expect("the key is required").as_u64(),
        rounds: node.small("rounds").unwrap_or(1),
    })
}

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

/// What windows say of their memory: as the scenario says, or else as the adapter sees it.
pub(super) fn model(tree: &Node, machine: &Machine) -> MemoryModel {
    let node = tree.get("mpi").and_then(|mpi| mpi.get("rma"));
    let said = node.and_then(|node| node.word("model"));
    let named = said.and_then(|name| MemoryModel::ALL.into_iter().find(|one| one.name() == name));
    let coherent = machine.profile.hca.coherent;
    named.unwrap_or(if coherent { MemoryModel::Unified } else { MemoryModel::Separate })
}

/// What the workload, the machine and the settings say together.
pub(super) fn check(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    workload: &OneSided,
    nodes: u32,
) -> Option<()> {
    let before = diagnostics.errors();
    let mut refuse = |path: &str, found: String, allowed: String| {
        let at = place(tree, path);
        diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, at, path, found, allowed));
    };
    if workload.nodes() > nodes {
        refuse(
            "workload.processes",
            format!("{} processes need {} nodes", workload.processes, workload.nodes()),
            format!("there are {nodes}, with {} processes each", workload.per_node),
        );
    }
    let payload = tree.get("mpi").and_then(|mpi| mpi.word("payload"));
    if workload.needs_bytes() && payload == Some("phantom") {
        refuse(
            "mpi.payload",
            "the bytes of messages do not exist".to_owned(),
            format!("the workload {} decides by them: `real` is needed", workload.kind()),
        );
    }
    let exclusive = match workload.task {
        Task::Mutex { algorithm, asked } => algorithm == Algorithm::ByteVector && asked.no_check,
        Task::Epochs(asked) => {
            let locks = !asked.epoch.is_in_one_lock() || asked.direct == Direct::Exclusive;
            locks && asked.no_check
        }
        Task::LinkedList(_) | Task::WindowGrowth(_) => false,
    };
    if exclusive {
        refuse(
            "mpi.rma.transport",
            "locks of single targets over RDMA alone".to_owned(),
            "they are messages: `messages` or `mixed` is needed".to_owned(),
        );
    }
    if workload.is_mapped() && workload.nodes() > 1 {
        refuse(
            "workload.window",
            format!("memory that is shared by processes on {} nodes", workload.nodes()),
            format!("it is shared inside a node, of {} processes at most", workload.per_node),
        );
    }
    if let Task::Epochs(asked) = workload.task {
        if workload.processes < 2 {
            refuse(
                "workload.processes",
                "nobody reaches the window of the first process".to_owned(),
                "at least 2 processes are needed".to_owned(),
            );
        }
        if asked.direct != Direct::None && asked.busy == 0 {
            refuse(
                "workload.busy",
                "rank 0 works on its window for no time".to_owned(),
                "a time is needed where `workload.direct` is not `none`".to_owned(),
            );
        }
    }
    let transport = settings(tree).transport;
    if matches!(workload.task, Task::LinkedList(_)) && transport == Transport::Rdma {
        refuse(
            "mpi.rma.transport",
            "a list by RDMA alone".to_owned(),
            "a pointer is a rank and an address, no single integer: `messages` or `mixed` is needed"
                .to_owned(),
        );
    }
    (diagnostics.errors() == before).then_some(())
}

/// How locks of mapped windows are taken says nothing where no window is mapped. Where the window is
/// swept, all points are asked together ([`check_mapped_locks_of_all`]).
pub(super) fn check_mapped_locks(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    workload: &Workload,
    swept: &[(String, String)],
) {
    if !sweeps_window(swept) && !is_mapped(workload) {
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
    if swept && !points.iter().any(|point| is_mapped(&point.workload)) {
        refuse_mapped_locks(diagnostics, tree);
    }
}

fn sweeps_window(swept: &[(String, String)]) -> bool {
    swept.iter().any(|(axis, _)| axis == WINDOW)
}

fn is_mapped(workload: &Workload) -> bool {
    matches!(workload, Workload::OneSided(task) if task.is_mapped())
}

fn refuse_mapped_locks(diagnostics: &mut Diagnostics, tree: &Node) {
    let Some(node) = path::at(tree, MAPPED_LOCKS) else { return };
    let report = Diagnostic::error(
        &codes::CONTRADICTION,
        node.span,
        MAPPED_LOCKS,
        "no window of the workload is mapped",
        "a `mutex` or `rma_epochs` whose `workload.window` is `shared` is needed",
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
