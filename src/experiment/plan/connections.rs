//! How the processes of a point are connected: as the scenario states, or as the library of its machine does.
//!
//! Libraries poll a channel for each peer only where these are few, and else share a receive queue:
//! `mpi.shared_queue_from` of a machine says from how many on, and where that stands. `of_library` is the
//! only place that decides.
//!
//! Left out: a library may go on polling the peers that it has a channel with when there are more
//! (MVAPICH2: the first 64 that sent much), and below the limit one that makes its channels on demand polls
//! those only that sent something.

use super::values::{Connected, Plan, Point};
use form::machine::{KnownNumber, Machine};
use runtime::timed::Connections;
use workloads::mpi_form;
use workloads::ranks::Placement;

/// The scenario's word for a way to connect processes.
pub const fn word(how: Connections) -> &'static str {
    match how {
        Connections::PerPeer => "per_peer",
        Connections::SharedReceiveQueue => "shared_receive_queue",
    }
}

/// The scenario's field.
pub const PATH: &str = "mpi.connections";
/// The number of a machine that decides where the scenario leaves it out, as models call it.
const FROM: &str = "mpi.shared_queue_from";

/// How the processes of a point are connected: what the scenario says, or what its machine's library does.
pub(super) fn read(
    asked: Option<mpi_form::Connections>,
    machine: &Machine,
    placement: &Placement,
) -> (Connections, Connected) {
    let peers = placement.processes.saturating_sub(placement.per_node);
    let how = match asked {
        Some(mpi_form::Connections::SharedReceiveQueue) => Connections::SharedReceiveQueue,
        Some(mpi_form::Connections::PerPeer) => Connections::PerPeer,
        None => of_library(machine.profile.mpi.shared_queue_from, peers),
    };
    (how, Connected { stated: asked.is_some(), peers })
}

/// The connections of a library that shares a receive queue from so many peers on other nodes on, or never.
fn of_library(from: Option<u32>, peers: u32) -> Connections {
    if from.is_some_and(|from| peers >= from) {
        Connections::SharedReceiveQueue
    } else {
        Connections::PerPeer
    }
}

/// The choice of a machine for points whose scenario makes none.
#[derive(Clone, Debug)]
pub struct Choice<'a> {
    /// The connections.
    pub how: Connections,
    machine: &'a Machine,
    /// Peers of these points, at least and at most.
    peers: (u32, u32),
}

impl<'a> Choice<'a> {
    /// The number that decided.
    ///
    /// # Panics
    ///
    /// Never: a machine has all numbers of the table.
    pub fn number(&self) -> &'a KnownNumber {
        let found = self.machine.numbers.iter().find(|number| number.path == FROM);
        found.expect("a machine has all numbers of the table")
    }

    /// Why.
    pub fn reason(&self) -> String {
        let (least, most) = self.peers;
        let here = if least == most { most.to_string() } else { format!("{least} to {most}") };
        let scheme = match self.machine.profile.mpi.shared_queue_from {
            Some(from) => format!("peers on other nodes share a receive queue from {from} on"),
            None => "each peer has a channel".to_owned(),
        };
        format!("machine.{FROM} of `{}`: {scheme}; {here} here", self.machine.name)
    }
}

/// The choices of the machines of a plan, each once.
pub fn chosen(plan: &Plan) -> Vec<Choice<'_>> {
    let mut all: Vec<Choice<'_>> = Vec::new();
    for point in plan.points.iter().filter(|point| !point.connected.stated) {
        let (how, peers) = (point.mpi.connections, point.connected.peers);
        let from = |machine: &Machine| machine.profile.mpi.shared_queue_from;
        let same = |known: &&mut Choice<'_>| {
            known.how == how
                && known.machine.name == point.machine.name
                && from(known.machine) == from(&point.machine)
        };
        match all.iter_mut().find(same) {
            Some(known) => known.peers = (known.peers.0.min(peers), known.peers.1.max(peers)),
            None => all.push(Choice { how, machine: &point.machine, peers: (peers, peers) }),
        }
    }
    all
}

/// Channels of a process that need no note.
const FEW_CHANNELS: u32 = 128;

/// A note where processes poll a channel for each peer, and have many.
pub fn many_channels(points: &[Point]) -> Option<String> {
    let polls = |point: &&Point| {
        let (how, peers) = (point.mpi.connections, point.connected.peers);
        how == Connections::PerPeer && peers > 0
    };
    let most = points.iter().filter(polls).max_by_key(|point| point.placement.processes)?;
    let channels = most.placement.processes;
    (channels > FEW_CHANNELS).then(|| {
        let by = if most.connected.stated {
            "as the scenario says".to_owned()
        } else {
            format!("by machine.{FROM} of `{}`", most.machine.name)
        };
        format!(
            "every pass of the progress engine polls {channels} channels, one for each process: \
             `{PATH}` is `per_peer`, {by}; a library that shares a receive queue polls one for all \
             other nodes (`--set {PATH}=shared_receive_queue`, docs/model/connections.md)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_polls_few_peers_and_shares_a_queue_for_many() {
        let (each, shared) = (Connections::PerPeer, Connections::SharedReceiveQueue);
        for (from, peers, expected) in [
            (Some(65), 64, each),
            (Some(65), 65, shared),
            // On one node no peer needs the shared queue.
            (Some(1), 0, each),
            (Some(1), 1, shared),
            (None, 1 << 20, each),
        ] {
            assert_eq!(of_library(from, peers), expected, "{from:?} {peers}");
        }
    }
}
