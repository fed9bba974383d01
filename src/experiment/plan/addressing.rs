//! How messages find their thread: the words of `ranks`, and what they say together.

use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics};
use form::json::Node;
use form::machine::Machine;
use form::shape::path::{self, place};
use protocols::library::{Progress, Queues, Threading};
use workloads::ranks::{Addressing, EndpointOptions};

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
        Some("partitioned") => Addressing::Partitioned,
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

/// Refuses endpoints that are described where no thread has one. Where the addressing is swept, the
/// points with endpoints need the description.
pub(super) fn check_described(
    diagnostics: &mut Diagnostics,
    tree: &Node,
    (addressing, swept): (Addressing, bool),
) {
    let endpoints = matches!(addressing, Addressing::Endpoints(_));
    let described = tree.get("ranks").is_some_and(|ranks| ranks.get("endpoints").is_some());
    if described && !endpoints && !swept {
        let path = "ranks.endpoints";
        let found = "endpoints are described, and nothing has one";
        let allowed = "`ranks.addressing` must be `endpoints` or `multiplexed`";
        let at = place(tree, path);
        diagnostics.push(Diagnostic::error(&codes::CONTRADICTION, at, path, found, allowed));
    }
}
