//! Collectives: results, and calls that do not meet.

use std::sync::Arc;

use super::{Case, Sound};
use crate::reference::Example;
use crate::small::{Small, WORLD, barrier, gives, iprobe, recv, send, user};
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::Call;
use mpisim::protocols::collectives::{Algorithm, Blocks, Collective, Kind};
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
        ("3 ranks, a probe before a barrier", a_probe_before_a_barrier()),
        ("2 ranks, a gather meets a broadcast", a_gather_meets_a_broadcast()),
    ]
}

fn allreduce(size: u32, reduction: Reduction) -> Case {
    let example = Example::combining(Kind::Allreduce, size, 0, 1, reduction);
    let example = example.by(|call| call.by(Algorithm::AllreduceRecursiveDoubling).unwrap());
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
