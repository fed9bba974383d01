//! How messages find their thread: the words of `ranks`, and what they say together.

use super::super::collectives::Over;
use super::super::program::{RankProgram, Step};
use super::{Addressing, EndpointOptions, Workload, place, tiles};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::machine::Machine;
use form::shape::path;
use protocols::call::Call;
use protocols::library::{Progress, Queues, Threading};
use protocols::xios_ep::tag::{LOCAL_BITS, USER_BITS, USER_MAX};

pub(super) fn ranks_word<'a>(tree: &'a Node, key: &str) -> Option<&'a str> {
    tree.get("ranks").and_then(|ranks| ranks.word(key))
}

/// Threads of a process, and processes that stand for one process of the scenario: threads that are
/// separate are processes.
pub(super) fn threads(tree: &Node) -> (u16, u16) {
    let threads = tree.get("ranks").and_then(|ranks| ranks.small("threads_per_process"));
    let threads = u16::try_from(threads.unwrap_or(1)).expect("the shape limits the threads");
    let separate = ranks_word(tree, "addressing") == Some("separate");
    if separate { (1, threads) } else { (threads, 1) }
}

pub(super) fn addressing(tree: &Node, threads: u16) -> Addressing {
    match ranks_word(tree, "addressing") {
        Some("duplicated") => Addressing::Duplicated,
        Some("xios_ep") => Addressing::EndpointLibrary,
        Some("endpoints") => Addressing::Endpoints(endpoints(tree, threads)),
        Some("multiplexed") => {
            Addressing::Endpoints(EndpointOptions { nic_contexts: 1, ..endpoints(tree, threads) })
        }
        _ => Addressing::Process,
    }
}

fn endpoints(tree: &Node, threads: u16) -> EndpointOptions {
    let node = tree.get("ranks").and_then(|ranks| ranks.get("endpoints"));
    let word = |key: &str| node.and_then(|node| node.word(key));
    let contexts = node.and_then(|node| node.small("nic_contexts"));
    let contexts = contexts.map_or(threads, |count| u16::try_from(count).unwrap_or(u16::MAX));
    EndpointOptions {
        // Contexts that no endpoint uses are not opened.
        nic_contexts: contexts.min(threads),
        queues: if word("queues") == Some("shared") { Queues::Shared } else { Queues::Own },
        progress: match word("progress") {
            Some("process") => Progress::Process,
            _ => Progress::Independent,
        },
        threading: if word("threading") == Some("any") { Threading::Any } else { Threading::One },
        at_start: word("creation") == Some("static"),
    }
}

/// Where a scenario says that the adapter matches.
const MATCHING: &str = "machine.hca.matching_on_nic";

/// Says that an adapter that matches does nothing beside the endpoint library: no error, since the
/// points are as if it did not match.
pub(super) fn note_adapter(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    addressing: Addressing,
    machine: &Machine,
) {
    if addressing != Addressing::EndpointLibrary || !machine.profile.hca.matching_on_nic {
        return;
    }
    let field = "ranks.addressing";
    let found = "the adapter leaves all messages of the endpoint library to their hosts";
    let allowed =
        "it matches for other ranks only: the points are as without `hca.matching_on_nic`";
    let report =
        Diagnostic::error(&codes::WITHOUT_EFFECT, place(tree, field), field, found, allowed);
    // The scenario, an axis or an option says so; or else the model.
    let by_model =
        || (place(tree, "machine"), format!("`hca.matching_on_nic` of `{}` is true", machine.name));
    let (at, says) = path::at(tree, MATCHING)
        .map_or_else(by_model, |node| (node.span, format!("`{MATCHING}` is true")));
    diagnostics.push(report.related(at, says).warning());
}

/// The endpoint library passes on messages that lie in one piece.
pub(super) fn check_pieces(diagnostics: &mut Diagnostics, tree: &Node, ranks: &[RankProgram]) {
    let is_scattered = |step: &Step| matches!(step, Step::Call(Call::Typed(typed)) if !typed.elements.is_one_piece());
    let mut statements = ranks.iter().flat_map(|rank| rank.iter());
    let Some(typed) = statements.find(|one| is_scattered(&one.step)) else {
        return;
    };
    let path = "ranks.addressing";
    let found = "the threads are endpoints of a library over plain MPI";
    let allowed = format!("the buffer of the message in line {} lies in pieces", typed.line);
    let one = Diagnostic::error(&codes::CONTRADICTION, place(tree, path), path, found, allowed);
    diagnostics.push(one.help("without `xios_ep` each rank is a process, whose library packs"));
}

/// The endpoint library has fewer tags than MPI.
pub(super) fn check_tags(diagnostics: &mut Diagnostics, tree: &Node) {
    let lists = tree.get("workload").and_then(|workload| workload.get("ranks"));
    let lists = lists.and_then(Node::elements).unwrap_or(&[]);
    for (rank, list) in lists.iter().enumerate() {
        for (index, node) in list.elements().unwrap_or(&[]).iter().enumerate() {
            let tag = node.get("tag").filter(|tag| tag.text().is_none());
            if let Some(tag) = tag.filter(|tag| tag.as_count() > u64::from(USER_MAX.unsigned_abs()))
            {
                let path = format!("workload.ranks[{rank}][{index}].tag");
                let found = format!("tag {}", tag.as_count());
                let allowed = format!("tags of the endpoint library are 0 to {USER_MAX}");
                diagnostics.push(
                    Diagnostic::error(&codes::TAG, tag.span, path, found, allowed)
                        .related(place(tree, "ranks.addressing"), "the library is chosen here")
                        .help(format!(
                            "the program has {USER_BITS} of the 31 bits of a tag of MPI; twice {LOCAL_BITS} \
                             more say which endpoints of their processes send and receive"
                        )),
                );
            }
        }
    }
}

/// What runs over the endpoint library.
const OVER_PLAIN_MPI: &str =
    "only the workloads `message_rate` without long queues, `collective` and `program` run over it";

/// What only some ways to address threads can do.
pub(super) fn check_addressing(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    (addressing, swept): (Addressing, bool),
    workload: &Workload,
) {
    let mut refuse = |path: &str, found: &str, allowed: &str| {
        let at = place(tree, path);
        diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, at, path, found, allowed));
    };
    let endpoints = matches!(addressing, Addressing::Endpoints(_));
    let static_ones = matches!(addressing, Addressing::Endpoints(own) if own.at_start);
    let described = tree.get("ranks").is_some_and(|ranks| ranks.get("endpoints").is_some());
    // Where the addressing is swept, the points with endpoints need the description.
    if described && !endpoints && !swept {
        refuse(
            "ranks.endpoints",
            "endpoints are described, and nothing has one",
            "`ranks.addressing` must be `endpoints` or `multiplexed`",
        );
    }
    let (known, queued) = match workload {
        Workload::Tiles(_) => {
            tiles::check_addressing(diagnostics, tree, addressing);
            return;
        }
        Workload::MessageRate { queue, .. } => (true, queue.is_some()),
        Workload::Collective { beside, .. } => (beside.is_none(), false),
        Workload::PingPong { .. }
        | Workload::Bandwidth { .. }
        | Workload::Application(_)
        | Workload::OneSided(_)
        | Workload::Packing(_)
        | Workload::Gpu(_)
        | Workload::Goal(_)
        | Workload::Program(_) => (false, false),
    };
    if endpoints && !known {
        refuse(
            "ranks.addressing",
            "endpoints are addressed",
            "only the workloads `message_rate` and `collective` give their threads endpoints",
        );
    }
    if addressing == Addressing::EndpointLibrary {
        let (offered, allowed) = match workload {
            Workload::Collective { beside: Some(_), .. } => {
                (false, "it has no collectives that are only begun")
            }
            Workload::Collective { chosen, .. } => {
                (chosen.over == Over::Ranks, "its collectives have their processes for units")
            }
            Workload::MessageRate { queue, .. } => (queue.is_none(), OVER_PLAIN_MPI),
            Workload::Program(_) => (true, OVER_PLAIN_MPI),
            Workload::PingPong { .. }
            | Workload::Bandwidth { .. }
            | Workload::Goal(_)
            | Workload::Application(_)
            | Workload::OneSided(_)
            | Workload::Packing(_)
            | Workload::Gpu(_)
            | Workload::Tiles(_) => (false, OVER_PLAIN_MPI),
        };
        if !offered {
            let found = "the threads are endpoints of a library over plain MPI";
            refuse("ranks.addressing", found, allowed);
        }
    }
    if static_ones && queued {
        refuse(
            "ranks.endpoints.creation",
            "endpoints are there from the start",
            "long queues are made of dynamic endpoints, threads or processes",
        );
    }
}
