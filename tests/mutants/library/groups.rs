//! Communicators that are made, and collectives between two groups.

use std::sync::Arc;

use super::Case;
use crate::reference::Example;
use crate::small::{Small, WORLD, barrier, gives, recv, send};
use mpisim::mpi::cartesian::Dimension;
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::mpi::topology::Neighbours;
use mpisim::protocols::call::{Arrangement, Call, Comm, CommCall};
use mpisim::protocols::collectives::{Between, Blocks, Collective, Kind};
use mpisim::protocols::mutant::Mutant;

const OWN: Comm = Comm(10);
const OTHER: Comm = Comm(11);
const AGAIN: Comm = Comm(12);

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("2 ranks, a communicator in another order", a_communicator_in_another_order()),
        ("2 nodes, a split by memory", a_split_by_memory()),
        ("2 groups, a duplicate", a_duplicate_of_two_groups()),
        ("2 groups, a barrier", a_barrier_between_groups()),
        ("2 groups, an allreduce", an_allreduce_between_groups()),
        ("2 groups, a gather", a_gather_between_groups()),
        ("2 ranks in a ring, blocks to both sides", blocks_to_both_sides()),
        ("2 ranks, a graph of one edge", a_graph_of_one_edge()),
    ]
}

fn made(call: CommCall) -> Call {
    Call::Communicators(call)
}

/// The calls of both ranks, each of which is a group for itself.
fn between(calls: [Vec<Call>; 2]) -> Small {
    let mut rank = 0;
    let all = calls.map(|calls| {
        let color = Some(i32::try_from(rank).unwrap());
        let split = made(CommCall::Split { comm: WORLD, color, key: 0, new: OWN });
        let remote_leader = Rank(1 - rank);
        let (leader, peer, tag) = (Rank(0), WORLD, 0);
        let of = CommCall::Intercomm { comm: OWN, leader, peer, remote_leader, tag, new: OTHER };
        rank += 1;
        [split, made(of)].into_iter().chain(calls).collect()
    });
    Small::new(all.to_vec())
}

fn arranged(by: Arrangement) -> Call {
    made(CommCall::Arrange { comm: WORLD, by, new: OWN })
}

/// What a rank sends to the rank before it comes from behind; both are the other rank.
fn blocks_to_both_sides() -> Case {
    let ring = || Arrangement::Grid([Dimension { extent: 2, periodic: true }].into());
    let mut example = Example::moving(Kind::Alltoall, 2, 0, 8, false);
    let turned = |given: &[u8]| Some([&given[8..], &given[..8]].concat());
    example.results = vec![turned(&example.inputs[1]), turned(&example.inputs[0])];
    let call = |rank: usize| {
        let Collective { input, output, sends, receives, .. } = example.calls[rank].clone();
        let call = Collective::neighbour_alltoall(OWN, (input, sends), (output, receives), [2, 2]);
        vec![arranged(ring()), Call::Collective(Arc::new(call))]
    };
    let world = Small { example: Some(example.clone()), ..Small::new(vec![call(0), call(1)]) };
    Case {
        found: &[(Mutant::NoDirection, "C1")],
        harmless: &[Mutant::SendsToSources],
        ..Case::new(world)
            .judged("C1", "a result is the sequential one", move |world| gives(&example, world))
    }
}

/// One block goes from rank 0 to rank 1.
fn a_graph_of_one_edge() -> Case {
    let call = |[from, to]: [Option<u32>; 2]| {
        let [sources, destinations]: [Arc<[_]>; 2] =
            [from, to].map(|peer| peer.map(|rank| Some(Rank(rank))).into_iter().collect());
        let degrees = [sources.len(), destinations.len()];
        let by = Arrangement::Graph(Neighbours { sources, destinations, of_grid: false });
        let room = 8 * u64::try_from(degrees[0]).unwrap();
        let output = (crate::small::user(1, room), Blocks::Equal(8));
        let call = Collective::neighbour_allgather(OWN, crate::small::user(0, 8), output, degrees);
        vec![arranged(by), Call::Collective(Arc::new(call))]
    };
    Case {
        found: &[(Mutant::SendsToSources, "deadlock"), (Mutant::ForgetsLast, "S4")],
        harmless: &[Mutant::NoDirection],
        ..Case::new(Small::new(vec![call([None, Some(1)]), call([Some(0), None])]))
    }
}

fn a_communicator_in_another_order() -> Case {
    let group: Arc<[Rank]> = [Rank(1), Rank(0)].into();
    let create = || made(CommCall::Create { comm: WORLD, group: Arc::clone(&group), new: OWN });
    let calls =
        vec![vec![create(), recv(OWN, Some(0), Some(1), 0, 8)], vec![create(), send(OWN, 1, 1, 8)]];
    Case {
        found: &[(Mutant::CreatesInOrder, "deadlock")],
        harmless: &[Mutant::NodesTogether, Mutant::DupsOneSide],
        ..Case::new(Small::new(calls))
    }
}

/// Each rank is alone on its node.
fn a_split_by_memory() -> Case {
    let split = || made(CommCall::SplitShared { comm: WORLD, takes_part: true, key: 0, new: OWN });
    Case {
        found: &[(Mutant::NodesTogether, "deadlock")],
        harmless: &[Mutant::CreatesInOrder],
        ..Case::new(Small::new(vec![vec![split(), barrier(OWN)], vec![split()]]))
    }
}

fn a_duplicate_of_two_groups() -> Case {
    let dup = || made(CommCall::Dup { comm: OTHER, new: AGAIN });
    let calls =
        [vec![dup(), send(AGAIN, 0, 1, 8)], vec![dup(), recv(AGAIN, Some(0), Some(1), 0, 8)]];
    Case {
        found: &[(Mutant::DupsOneSide, "deadlock")],
        harmless: &[Mutant::NodesTogether],
        ..Case::new(between(calls))
    }
}

fn a_barrier_between_groups() -> Case {
    Case {
        found: &[(Mutant::TellsOnly, "C3")],
        harmless: &[Mutant::OwnSum, Mutant::RootInOwn],
        ..Case::new(between([vec![barrier(OTHER)], vec![barrier(OTHER)]]))
    }
}

/// Each rank has what the other one gives.
fn an_allreduce_between_groups() -> Case {
    let sum = Reduction::new(Operator::Sum, Datatype::Int32).unwrap();
    let mut example = Example::combining(Kind::Allreduce, 2, 0, 1, sum);
    let [first, second] = [0, 1].map(|rank: usize| Some(example.inputs[rank].clone()));
    example.results = vec![second, first];
    let call = |rank: usize| {
        let call = Collective { comm: OTHER, ..example.calls[rank].clone() };
        vec![Call::Collective(Arc::new(call))]
    };
    let world = Small { example: Some(example.clone()), ..between([call(0), call(1)]) };
    Case {
        found: &[(Mutant::OwnSum, "C1")],
        harmless: &[Mutant::TellsOnly],
        ..Case::new(world)
            .judged("C1", "a result is the sequential one", move |world| gives(&example, world))
    }
}

fn a_gather_between_groups() -> Case {
    let call = |root, [input, output]: [u64; 2]| {
        let [input, output] =
            [(0, input), (1, output)].map(|(id, len)| crate::small::user(id, len));
        let call = Collective::gather(OTHER, root, input, output, Blocks::Equal(8));
        vec![Call::Collective(Arc::new(call))]
    };
    Case {
        found: &[(Mutant::RootInOwn, "MPI_ERR_ROOT")],
        harmless: &[Mutant::TellsOnly, Mutant::OwnSum],
        ..Case::new(between([call(Between::ROOT, [0, 8]), call(Rank(0), [8, 0])]))
    }
}
