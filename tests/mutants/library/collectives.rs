//! Collectives: results, and calls that do not meet.

use std::sync::Arc;

use super::{Case, Sound};
use crate::reference::Example;
use crate::small::{
    Small, WORLD, barrier, begin, gives, iprobe, prepared, recv, send, started, user, wait,
    wait_all,
};
use mpisim::collectives::{Algorithm, Blocks, Collective, Kind};
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Call, Comm, OfRequest};
use mpisim::protocols::contract::Handle;
use mpisim::protocols::mutant::Mutant;

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    let finds = |case: Case, found| Case { found, ..case };
    let passes = |case: Case, harmless| Case { harmless, ..case };
    vec![
        ("2 ranks, allreduce, in order", {
            let case = finds(allreduce(2, affine()), &[(Mutant::WrongSide, "C1")]);
            passes(case, &[Mutant::WrongFold])
        }),
        ("3 ranks, allreduce, in order", {
            let found = &[(Mutant::WrongSide, "C1"), (Mutant::WrongFold, "C1")];
            finds(allreduce(3, affine()), found)
        }),
        ("3 ranks, allreduce, any order", {
            passes(allreduce(3, sum()), &[Mutant::WrongSide, Mutant::WrongFold])
        }),
        ("3 ranks, allreduce round a ring", {
            let ring = by(Kind::Allreduce, "ring", |call| call);
            passes(finds(ring, &[(Mutant::RingStopsShort, "C1")]), &[Mutant::WrongSide])
        }),
        ("3 ranks, allgather by Bruck", {
            let bruck = by(Kind::Allgather, "bruck", |call| call);
            let found = &[(Mutant::BruckKeepsLow, "C1"), (Mutant::ChoosesAlone, "C5")];
            passes(finds(bruck, found), &[Mutant::RingStopsShort])
        }),
        ("3 ranks, reduce along a chain", {
            let chain =
                by(Kind::Reduce, "pipelined_ring", |call| Collective { segment: 8, ..call });
            passes(finds(chain, &[(Mutant::FirstSegmentOnly, "C1")]), &[Mutant::BruckKeepsLow])
        }),
        ("3 ranks, a barrier up and down a tree", {
            let tree = by(Kind::Barrier, "tree", |call| call);
            passes(finds(tree, &[(Mutant::TreeHearsOne, "C3")]), &[Mutant::SkipsRound])
        }),
        ("3 ranks, a probe before a barrier", a_probe_before_a_barrier()),
        ("2 ranks, a gather meets a broadcast", a_gather_meets_a_broadcast()),
        ("3 ranks, two broadcasts under way", two_broadcasts_under_way()),
        ("2 ranks, communicators in two orders", communicators_in_two_orders()),
        ("3 ranks, a barrier under way", a_barrier_under_way()),
        ("2 ranks, what is prepared is started in two orders", started_in_two_orders()),
        ("2 ranks, one frees what was prepared", one_frees_what_was_prepared()),
        (
            "2 ranks, an alltoall in place",
            in_place(Kind::Alltoall, &[(Mutant::NeverAside, "C1")], &[]),
        ),
        ("3 ranks, an allgather in place", in_place(Kind::Allgather, &[], &[Mutant::NeverAside])),
    ]
}

fn allreduce(size: u32, reduction: Reduction) -> Case {
    let example = Example::combining(Kind::Allreduce, size, 0, 1, reduction);
    let example = example.by(|call| call.by(Algorithm::AllreduceRecursiveDoubling).unwrap());
    let world = Small::collective(&example);
    Case::new(world)
        .judged("C1", "a result is the sequential one", move |world| gives(&example, world))
}

/// Three ranks call an operation of two elements or blocks by one algorithm, with a change to the call.
fn by(kind: Kind, name: &str, change: impl Fn(Collective) -> Collective) -> Case {
    let example = if kind.reduces() {
        Example::combining(kind, 3, 1, 4, sum())
    } else {
        Example::moving(kind, 3, 1, 4, false)
    };
    let algorithm = Algorithm::named(kind, name).unwrap();
    let example = example.by(|call| change(call.by(algorithm).unwrap()));
    let world = Small::collective(&example);
    Case::new(world)
        .judged("C1", "a result is the sequential one", move |world| gives(&example, world))
}

fn affine() -> Reduction {
    Reduction::new(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair).unwrap()
}

fn sum() -> Reduction {
    Reduction::new(Operator::Sum, Datatype::Int32).unwrap()
}

/// What is sent after the barrier cannot be there before it.
fn a_probe_before_a_barrier() -> Case {
    let calls = vec![
        vec![barrier(WORLD), send(WORLD, 1, 1, 8)],
        vec![iprobe(WORLD), barrier(WORLD), recv(WORLD, Some(0), Some(1), 0, 8)],
        vec![barrier(WORLD)],
    ];
    Case {
        found: &[(Mutant::SkipsRound, "C3"), (Mutant::LetsOneOut, "C3")],
        harmless: &[Mutant::HearsFirst, Mutant::ExtraProbe, Mutant::OtherSource],
        ..Case::new(Small::new(calls))
    }
}

fn a_gather_meets_a_broadcast() -> Case {
    let (input, output) = (user(0, 8), user(1, 0));
    let gather = Collective::gather(WORLD, Rank(1), input, output, Blocks::Equal(8));
    let bcast = Collective::bcast(WORLD, Rank(0), user(1, 8));
    let calls = [gather, bcast].map(|call| vec![Call::Collective(Arc::new(call))]);
    Case {
        sound: Sound::Stuck,
        found: &[(Mutant::EqualTags, "C4")],
        ..Case::new(Small::new(calls.to_vec()))
    }
}

/// The second broadcast comes down a link of the first one before it.
fn two_broadcasts_under_way() -> Case {
    let chain = |root, buffer, bytes| {
        let call = Collective::bcast(WORLD, Rank(root), user(buffer, bytes));
        Arc::new(call.by(Algorithm::BcastPipelinedRing).unwrap())
    };
    let calls = vec![begin(0, chain(0, 0, 8)), begin(1, chain(1, 1, 12)), wait_all(0, 2)];
    Case {
        found: &[(Mutant::OneNumber, "refusal")],
        harmless: &[Mutant::CountsByProcess],
        ..Case::new(Small::new(vec![calls; 3]))
    }
}

fn communicators_in_two_orders() -> Case {
    let [world, reversed] = [WORLD, Comm(Communicators::REVERSED)]
        .map(|comm| Arc::new(Collective::bcast(comm, Rank(0), user(u32::from(comm.0), 8))));
    let calls = vec![
        vec![begin(0, Arc::clone(&world)), begin(1, Arc::clone(&reversed)), wait_all(0, 2)],
        vec![begin(0, reversed), begin(1, world), wait_all(0, 2)],
    ];
    Case {
        found: &[(Mutant::CountsByProcess, "deadlock")],
        harmless: &[Mutant::OneNumber],
        ..Case::new(Small::new(calls))
    }
}

fn bcast(request: u32, bytes: u64) -> Call {
    begin(request, Arc::new(Collective::bcast(WORLD, Rank(0), user(request, bytes))))
}

/// Both ranks prepare these in their order; the second one starts them in the other order.
fn in_two_orders(operations: &[Call; 2]) -> Small {
    let [one, other] = operations;
    let starts = [[one, other], [other, one]].map(|order| order.map(|it| started(it.clone())));
    let all = starts.map(|starts| {
        operations.iter().map(prepared).chain(starts).chain([wait_all(0, 2)]).collect()
    });
    Small::new(all.to_vec())
}

fn started_in_two_orders() -> Case {
    let operations = [bcast(0, 8), begin(1, Arc::new(Collective::barrier(WORLD)))];
    Case {
        found: &[(Mutant::CountsStarts, "deadlock"), (Mutant::PreparedAlike, "C4")],
        harmless: &[Mutant::TurnAgain],
        ..Case::new(in_two_orders(&operations))
    }
}

/// The number of what one rank has freed is in use at the other.
fn one_frees_what_was_prepared() -> Case {
    let [first, second] = [bcast(0, 8), bcast(1, 8)];
    let free = Call::OfRequest { does: OfRequest::Free, request: Handle(0) };
    let start = || [started(second.clone()), wait(1)];
    let [first, second] = [prepared(&first), prepared(&second)];
    let frees = [first.clone(), free, second.clone()].into_iter().chain(start()).collect();
    let keeps = [first, second.clone()].into_iter().chain(start()).collect();
    Case {
        found: &[(Mutant::TurnAgain, "deadlock")],
        harmless: &[Mutant::CountsStarts],
        ..Case::new(Small::new(vec![frees, keeps]))
    }
}

/// What lies in its place stays there; what is written over is put aside.
fn in_place(
    kind: Kind,
    found: &'static [(Mutant, &'static str)],
    harmless: &'static [Mutant],
) -> Case {
    let size = if kind == Kind::Alltoall { 2 } else { 3 };
    let unit = if kind == Kind::Alltoall { 40 } else { 8 };
    let example = Example::moving(kind, size, 0, unit, false).in_place(false);
    let world = Small::collective(&example);
    let case = Case::new(world)
        .judged("C1", "a result is the sequential one", move |world| gives(&example, world));
    Case { found, harmless, ..case }
}

fn a_barrier_under_way() -> Case {
    let calls = vec![begin(0, Arc::new(Collective::barrier(WORLD))), wait(0)];
    Case {
        found: &[(Mutant::EndsAfterARound, "C3")],
        harmless: &[Mutant::OneNumber, Mutant::CountsByProcess],
        ..Case::new(Small::new(vec![calls; 3]))
    }
}
