//! Communicators that are made, and collectives between two groups.

use std::sync::Arc;

use super::Case;
use crate::reference::Example;
use crate::small::{Small, WORLD, barrier, gives, recv, send};
use mpisim::collectives::{Between, Blocks, Collective, Kind};
use mpisim::mpi::cartesian::Dimension;
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::mpi::topology::{Graph, Neighbours};
use mpisim::protocols::call::{Arrangement, Call, Comm, CommCall, NamedEdges};
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
        ("2 ranks, an edge that the other one names", an_edge_of_another_rank()),
        ("2 ranks, a graph that both know", a_graph_that_all_know()),
        ("2 groups of 1 and 2, a split with keys", a_split_of_groups_with_keys()),
        ("2 groups of 1 and 2, a split by color", a_split_of_groups_by_color()),
        ("2 groups of 1 and 2, a color of one side", a_color_of_one_side()),
        ("2 ranks, an operator that does not commute", an_own_operator()),
        ("2 ranks, a reduction in order", in_order(Kind::Reduce, Mutant::ReduceTurned)),
        ("2 ranks, a scan in order", in_order(Kind::Scan, Mutant::ScanTurned)),
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
        found: &[(Mutant::SendsToSources, "MPI_ERR_COUNT"), (Mutant::ForgetsLast, "MPI_ERR_COUNT")],
        harmless: &[Mutant::NoDirection],
        ..Case::new(Small::new(vec![call([None, Some(1)]), call([Some(0), None])]))
    }
}

/// The block of rank 0 for its neighbours, and room for as many as it has sources.
fn gathers([sources, destinations]: [usize; 2]) -> Call {
    let output = crate::small::user(1, 8 * u64::try_from(sources).unwrap());
    let given = crate::small::user(0, 8);
    let call = Collective::neighbour_allgather(
        OWN,
        given,
        (output, Blocks::Equal(8)),
        [sources, destinations],
    );
    Call::Collective(Arc::new(call))
}

/// Rank 1 names the edge from rank 0 to itself, and rank 0 none.
fn an_edge_of_another_rank() -> Case {
    let named = |edges: &[(u32, u32)]| {
        let of = |end: &dyn Fn(&(u32, u32)) -> u32| edges.iter().map(|it| Rank(end(it))).collect();
        let (sources, destinations) = (of(&|edge| edge.0), of(&|edge| edge.1));
        let degrees = edges.iter().map(|_| 1).collect();
        arranged(Arrangement::Named(Arc::new(NamedEdges { sources, degrees, destinations })))
    };
    let calls = vec![vec![named(&[]), gathers([0, 1])], vec![named(&[(0, 1)]), gathers([1, 0])]];
    Case {
        found: &[(Mutant::EdgesTurned, "refusal"), (Mutant::OwnEdges, "refusal")],
        harmless: &[Mutant::NodeBefore],
        ..Case::new(Small::new(calls))
    }
}

/// Node 0 has an edge to itself and one to node 1.
fn a_graph_that_all_know() -> Case {
    let graph = || {
        let edges = [0, 1, 0].map(Rank);
        arranged(Arrangement::Whole(Graph { ends: [2, 3].into(), edges: edges.into() }))
    };
    let calls = vec![vec![graph(), gathers([2, 2])], vec![graph(), gathers([1, 1])]];
    Case {
        found: &[(Mutant::NodeBefore, "refusal")],
        harmless: &[Mutant::EdgesTurned, Mutant::OwnEdges],
        ..Case::new(Small::new(calls))
    }
}

/// Rank 0 is one group, ranks 1 and 2 are the other, and all split both by these colors and keys.
fn split_groups(choices: [(i32, i32); 3], calls: [Vec<Call>; 3]) -> Small {
    let mut all = Vec::new();
    for (rank, ((color, key), calls)) in (0_u32..).zip(choices.into_iter().zip(calls)) {
        let own = Some(i32::from(rank > 0));
        let split = made(CommCall::Split { comm: WORLD, color: own, key: 0, new: OWN });
        let remote_leader = Rank(u32::from(rank == 0));
        let (leader, peer, tag) = (Rank(0), WORLD, 0);
        let of = CommCall::Intercomm { comm: OWN, leader, peer, remote_leader, tag, new: OTHER };
        let parts = CommCall::Split { comm: OTHER, color: Some(color), key, new: AGAIN };
        all.push([split, made(of), made(parts)].into_iter().chain(calls).collect());
    }
    Small::new(all)
}

/// The first rank of the other side, which the parts' keys, or colors, choose, is process 2.
fn to_the_last(choices: [(i32, i32); 3]) -> Small {
    let calls = [vec![send(AGAIN, 0, 1, 8)], vec![], vec![recv(AGAIN, Some(0), Some(1), 0, 8)]];
    split_groups(choices, calls)
}

fn a_split_of_groups_with_keys() -> Case {
    Case {
        found: &[(Mutant::OldOrderAcross, "deadlock")],
        harmless: &[Mutant::AloneAcross],
        ..Case::new(to_the_last([(0, 0), (0, 1), (0, 0)]))
    }
}

fn a_split_of_groups_by_color() -> Case {
    Case {
        found: &[(Mutant::AnyColorAcross, "deadlock")],
        harmless: &[Mutant::OldOrderAcross],
        ..Case::new(to_the_last([(1, 0), (0, 0), (1, 0)]))
    }
}

/// No rank has a part, and all give the number that it would have had to a duplicate.
fn a_color_of_one_side() -> Case {
    let dup = || vec![made(CommCall::Dup { comm: WORLD, new: AGAIN })];
    Case {
        found: &[(Mutant::AloneAcross, "refusal")],
        harmless: &[Mutant::OldOrderAcross, Mutant::AnyColorAcross],
        ..Case::new(split_groups([(5, 0), (0, 0), (0, 0)], [dup(), dup(), dup()]))
    }
}

fn an_own_operator() -> Case {
    let sum = Reduction::new(Operator::Sum, Datatype::Int32).unwrap().in_order();
    let example = Example::combining(Kind::Allreduce, 2, 0, 1, sum);
    let call = |rank: usize| vec![Call::Collective(Arc::new(example.calls[rank].clone()))];
    Case {
        found: &[(Mutant::ForgetsOrder, "MPI_ERR_OP")],
        harmless: &[Mutant::ReduceTurned, Mutant::ScanTurned],
        ..Case::new(Small::new(vec![call(0), call(1)]))
    }
}

fn in_order(kind: Kind, mutant: Mutant) -> Case {
    let affine = Reduction::new(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair);
    let example = Example::combining(kind, 2, 0, 1, affine.unwrap());
    let call = |rank: usize| vec![Call::Collective(Arc::new(example.calls[rank].clone()))];
    let world = Small { example: Some(example.clone()), ..Small::new(vec![call(0), call(1)]) };
    let case = Case::new(world)
        .judged("C1", "a result is the sequential one", move |world| gives(&example, world));
    if mutant == Mutant::ReduceTurned {
        Case { found: &[(Mutant::ReduceTurned, "C1")], harmless: &[Mutant::ScanTurned], ..case }
    } else {
        Case { found: &[(Mutant::ScanTurned, "C1")], harmless: &[Mutant::ReduceTurned], ..case }
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
