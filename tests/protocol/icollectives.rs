//! Collectives that are only begun: in both runtimes, with real payload, several at once, beside
//! computations and tests, with a progress thread, and under every order of events in small worlds.

use std::sync::Arc;

use crate::common::{cross, job, model};
use crate::reference::{COMBINING, Example, MOVING};
use crate::small::{
    Small, WORLD, World, barrier, begin, gives, prepared, started, user, wait, wait_all,
};
use mpisim::collectives::{Algorithm, Blocks, Collective, Kind};
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Call, Comm, CommCall};
use mpisim::protocols::contract::{Handle, Next, Process, Region, Space};
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Scheme};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::Outcome;
use mpisim::units::{Bytes, TimeDelta};
use mpisim::workloads::collective::{Beside, Repeated};

const REVERSED: Comm = Comm(Communicators::REVERSED);

fn affine() -> Reduction {
    Reduction::new(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair).unwrap()
}

/// By every algorithm that can do it.
fn variants(example: &Example) -> Vec<Example> {
    let all = Algorithm::of(example.calls[0].kind);
    let fit = |one: &Algorithm| example.calls.iter().all(|call| call.clone().by(*one).is_ok());
    all.filter(fit).map(|one| example.by(|call| call.by(one).unwrap())).collect()
}

/// Every collective of one size by every algorithm: blocks of `unit` bytes, vectors of `count`.
fn examples(size: u32, unit: u64, count: u64) -> Vec<Example> {
    let moving = MOVING.map(|kind| Example::moving(kind, size, size / 2, unit, false));
    let combining = COMBINING.map(|kind| Example::combining(kind, size, size / 2, count, affine()));
    moving.iter().chain(&combining).flat_map(variants).collect()
}

#[test]
fn results_are_the_sequential_ones_in_any_order_of_events() {
    let mut runs = 0;
    for size in [1, 2, 3, 4, 5, 8] {
        for (unit, count) in [(3, 1), (24, 17)] {
            for example in examples(size, unit, count) {
                let rendezvous = Protocol::ALL[usize::try_from(runs % 2).unwrap()];
                let mut world = Small { rendezvous, ..Small::begun(&example) }.world();
                let walk = explore::walk(&mut world, runs, 1, 1_000_000);
                let call = &example.calls[0];
                assert_eq!(walk.outcome, Outcome::Finished, "{call:?}: {:?}", world.deadlock());
                assert!(walk.violations.is_empty(), "{call:?}: {:?}", walk.violations);
                assert_eq!(world.conclude(), [], "{call:?}");
                assert!(gives(&example, &world), "{call:?}");
                runs += 1;
            }
        }
    }
    assert!(runs > 250, "{runs} runs");
}

#[track_caller]
fn check_clean(small: &Small) -> Survey {
    let budget = Budget { reduce: true, ..Budget::default() };
    let survey = explore::exhaustive(&small.world(), budget);
    assert!(survey.is_clean(), "{:?}: {survey:#?}", small.steps);
    survey
}

#[test]
fn two_and_three_ranks_end_well_in_every_order() {
    let mut states = 0;
    for (size, unit, count) in [(2, 5, 1), (2, 24, 2), (3, 5, 1), (3, 24, 2)] {
        for example in examples(size, unit, count) {
            for rendezvous in [Protocol::RPut, Protocol::RGet] {
                let small = Small { rendezvous, ..Small::begun(&example) };
                let survey = check_clean(&small);
                assert_eq!(survey.finals, 1, "the order of events decides nothing");
                states += survey.states;
            }
        }
    }
    assert!(states > 5_000, "{states} states");
}

/// A broadcast of so many bytes from `root` along the chain of ranks.
fn chain(comm: Comm, root: u32, buffer: u32, bytes: u64) -> Arc<Collective> {
    let call = Collective::bcast(comm, Rank(root), user(buffer, bytes));
    Arc::new(call.by(Algorithm::BcastPipelinedRing).unwrap())
}

/// The second broadcast comes down a link of the first one before it.
#[test]
fn two_on_one_communicator_are_told_apart() {
    for (first, second) in [(8, 12), (8, 24), (24, 8)] {
        let calls = vec![
            begin(0, chain(WORLD, 0, 0, first)),
            begin(1, chain(WORLD, 1, 1, second)),
            wait_all(0, 2),
        ];
        let survey = check_clean(&Small::new(vec![calls; 3]));
        assert_eq!(survey.finals, 1, "the order of events decides nothing");
    }
}

#[test]
fn communicators_have_orders_of_their_own() {
    let [world, reversed] = [WORLD, REVERSED].map(|comm| chain(comm, 0, u32::from(comm.0), 8));
    let calls = vec![
        vec![begin(0, Arc::clone(&world)), begin(1, Arc::clone(&reversed)), wait_all(0, 2)],
        vec![begin(0, reversed), begin(1, world), wait_all(0, 2)],
    ];
    check_clean(&Small::new(calls));
}

/// Each rank starts what all have prepared in an order of its own, twice.
#[test]
fn what_is_prepared_is_started_in_any_order() {
    for ranks in [2_u32, 3] {
        let whole = Collective::allgather(WORLD, user(2, 8), user(3, 0), Blocks::Equal(8));
        let output = Region { len: 8 * u64::from(ranks), ..whole.output };
        let operations =
            [begin(0, chain(WORLD, 0, 0, 8)), begin(1, Arc::new(Collective { output, ..whole }))];
        let calls = (0..ranks).map(|rank| {
            let mut starts = operations.clone().map(started).to_vec();
            starts.rotate_left(rank as usize % 2);
            starts.push(wait_all(0, 2));
            operations.iter().map(prepared).chain(starts.clone()).chain(starts).collect()
        });
        let survey = check_clean(&Small::new(calls.collect()));
        assert_eq!(survey.finals, 1, "the order of events decides nothing");
    }
}

#[test]
fn one_under_way_lets_others_pass() {
    let under_way = chain(WORLD, 0, 0, 24);
    let whole = Arc::new(Collective::allgather(WORLD, user(1, 8), user(2, 16), Blocks::Equal(8)));
    let calls = vec![
        begin(0, Arc::clone(&under_way)),
        Call::Collective(whole),
        barrier(WORLD),
        begin(1, Arc::new(Collective::barrier(WORLD))),
        wait(0),
        begin(2, under_way),
        wait_all(1, 2),
    ];
    check_clean(&Small::new(vec![calls; 2]));
}

#[test]
fn what_was_never_waited_for_is_said() {
    let calls = vec![vec![begin(0, Arc::new(Collective::barrier(WORLD)))]; 2];
    let mut world = Small::new(calls).world();
    explore::walk(&mut world, 1, 1, 1_000_000);
    let words: Vec<String> = world.conclude().iter().map(ToString::to_string).collect();
    assert!(words.iter().any(|line| line.contains("request 0")), "{words:?}");
}

/// The same collective with its buffers under other numbers.
fn placed(example: &Example, first: u32) -> Example {
    let at = |region: Region| {
        let Space::User(id) = region.space else { panic!("{region:?}") };
        Region { space: Space::User(first + id), ..region }
    };
    example.by(|call| Collective { input: at(call.input), output: at(call.output), ..call })
}

/// Three at once and one that waits between them, with scratch space of their own.
#[test]
fn bytes_of_several_at_once_are_their_own() {
    let sum = Reduction::new(Operator::Sum, Datatype::Int64).unwrap();
    let combining = |kind, count, reduction| Example::combining(kind, 4, 1, count, reduction);
    let examples = [
        combining(Kind::Allreduce, 3, affine()),
        combining(Kind::Allreduce, 3, sum),
        combining(Kind::Scan, 2, affine()),
        combining(Kind::Reduce, 5, sum),
    ];
    let placed: Vec<Example> =
        (0..).zip(&examples).map(|(place, example)| placed(example, 10 * place)).collect();
    let calls = (0..4).map(|rank| {
        let call = |place: usize| Arc::clone(&placed[place].calls()[rank]);
        vec![
            begin(0, call(0)),
            begin(1, call(1)),
            Call::Collective(call(3)),
            begin(2, call(2)),
            wait_all(0, 3),
        ]
    });
    let small = Small::new(calls.collect());
    for seed in 0..60 {
        let rendezvous = Protocol::ALL[usize::try_from(seed % 3).unwrap()];
        let mut world =
            Small { rendezvous, steps: small.steps.clone(), ..Small::new(vec![]) }.world();
        let of = |id: u32, bytes: &[u8]| Region::new(Space::User(id), bytes.len() as u64);
        for (first, example) in (0..).step_by(10).zip(&examples) {
            for (rank, process) in (0..4).map(|rank| (rank, Process(u32::try_from(rank).unwrap())))
            {
                let (input, output) = (&example.inputs[rank], &example.outputs[rank]);
                world.store(process, of(first, input), input);
                world.store(process, of(first + 1, output), output);
            }
        }
        let walk = explore::walk(&mut world, seed, 1, 1_000_000);
        assert_eq!((walk.outcome, walk.violations.len()), (Outcome::Finished, 0), "seed {seed}");
        for (first, example) in (0..).step_by(10).zip(&examples) {
            for (rank, process) in (0..4).map(|rank| (rank, Process(u32::try_from(rank).unwrap())))
            {
                let expected = example.results[rank].as_ref().unwrap();
                let found = world.memories().bytes(process, of(first + 1, expected));
                assert_eq!(&found, expected, "seed {seed}, rank {rank}, {:?}", example.calls[rank]);
            }
        }
    }
}

/// What a communicator is freed with ends there, whatever its number means afterwards.
#[test]
fn a_communicator_may_be_freed_while_one_is_under_way() {
    let new = Comm(20);
    let dup = |comm| Call::Communicators(CommCall::Dup { comm, new });
    let free = Call::Communicators(CommCall::Free { comm: new });
    let ibarrier = |request| begin(request, Arc::new(Collective::barrier(new)));
    for ranks in [2, 3] {
        let calls = vec![dup(WORLD), ibarrier(0), free.clone(), wait(0)];
        let survey = check_clean(&Small::new(vec![calls; ranks]));
        assert_eq!(survey.finals, 1);
    }
    let again = vec![
        dup(WORLD),
        ibarrier(0),
        free.clone(),
        dup(REVERSED),
        ibarrier(1),
        free,
        wait_all(0, 2),
    ];
    check_clean(&Small::new(vec![again; 2]));
}

/// Two at once, all ways of moving what is large, each with what goes on beside it.
#[test]
fn every_protocol_carries_two_at_once() {
    let sum = Reduction::new(Operator::Sum, Datatype::Int64).unwrap();
    let allreduce = |buffer: u32| {
        let (input, output) = (user(buffer, 40), user(buffer + 1, 40));
        Arc::new(Collective::allreduce(WORLD, input, output, sum))
    };
    let calls = vec![begin(0, allreduce(0)), begin(1, allreduce(2)), wait_all(0, 2)];
    let steps = Small::new(vec![calls; 2]).steps;
    let budget = Budget { reduce: true, states: 60_000 };
    let check = |small: Small| {
        for survey in [
            explore::exhaustive(&small.world(), budget),
            explore::exhaustive(&small.assisted(|job| job), budget),
        ] {
            let found = (&survey.violations, &survey.faults, &survey.way_to_dead);
            assert!(
                found.0.is_empty() && found.1.is_empty() && found.2.is_none(),
                "{:?}, {:?}: {survey:#?}",
                small.rendezvous,
                small.near
            );
        }
    };
    let small = |rendezvous| Small { rendezvous, ..Small::threads(steps.clone()) };
    for rendezvous in [Protocol::RPut, Protocol::RGet] {
        check(small(rendezvous));
    }
    for scheme in [Scheme::Fixed(Protocol::RGet), Scheme::Load, Scheme::Adaptive, Scheme::Hybrid] {
        for chunk in [None, Some(Bytes::new(16))] {
            let near = Cooperation { chunk, page: Bytes::new(1), ..Cooperation::by(scheme) };
            check(Small { near: Some(near), ..small(Protocol::RGet) });
        }
    }
    let with_adapters = Small { adapters: true, ..small(Protocol::RGet) };
    let survey = explore::exhaustive(&with_adapters.world(), budget);
    assert!(survey.violations.is_empty() && survey.faults.is_empty(), "{survey:#?}");
    let offered = explore::exhaustive(&small(Protocol::Rtr).world(), budget);
    assert!(offered.violations.is_empty() && offered.faults.is_empty(), "{offered:#?}");
}

/// What the dead end of a world says.
fn deadlock(calls: Vec<Vec<Call>>) -> String {
    let mut world: World = Small::new(calls).world();
    explore::walk(&mut world, 1, 1, 1_000_000);
    assert_eq!(world.outcome(), Outcome::Stuck);
    world.deadlock().expect("nobody can go on").to_string()
}

#[test]
fn one_that_waits_and_one_that_was_begun_do_not_meet() {
    let barrier_begun = vec![begin(0, Arc::new(Collective::barrier(WORLD))), wait(0)];
    let said = deadlock(vec![vec![barrier(WORLD)], barrier_begun]);
    assert!(said.contains("MPI_Barrier") && said.contains("MPI_Ibarrier"), "{said}");
    assert!(said.contains("round 0 of `dissemination` on communicator 0"), "{said}");
}

/// What the library says of a call that it refuses.
fn refusal(calls: Vec<Call>) -> String {
    let mut world = Small::new(vec![calls; 2]).world();
    explore::walk(&mut world, 1, 1, 1_000_000);
    let Outcome::Faulted(fault) = world.outcome() else { panic!("{:?}", world.outcome()) };
    fault.to_string()
}

#[test]
fn what_cannot_be_is_refused() {
    let began = begin(0, Arc::new(Collective::barrier(WORLD)));
    let cancelled = refusal(vec![began.clone(), Call::Cancel { request: Handle(0) }, wait(0)]);
    assert!(cancelled.contains("a collective cannot be cancelled"), "{cancelled}");
    let open = refusal(vec![began.clone(), began]);
    assert!(open.contains("still open"), "{open}");
    let call = Collective::bcast(WORLD, Rank(2), user(0, 8));
    let root = refusal(vec![begin(0, Arc::new(call))]);
    assert!(root.contains("no such rank"), "{root}");
}

/// The rank computes, its agent goes through the rounds, or the other way round.
#[test]
fn a_progress_thread_goes_through_the_rounds() {
    let sum = Reduction::new(Operator::Sum, Datatype::Int64).unwrap();
    let mut states = 0;
    for (ranks, count) in [(2, 1), (2, 5), (3, 1)] {
        let (input, output) = (user(0, 8 * count), user(1, 8 * count));
        let call = Arc::new(Collective::allreduce(WORLD, input, output, sum));
        let steps = vec![Next::Call(begin(0, call)), Next::Compute(1), Next::Call(wait(0))];
        let small = Small::threads(vec![vec![steps]; ranks]);
        let budget = Budget { reduce: true, states: 300_000 };
        let survey = explore::exhaustive(&small.assisted(|job| job), budget);
        assert!(survey.violations.is_empty() && survey.way_to_dead.is_none(), "{survey:#?}");
        states += survey.states;
    }
    assert!(states > 100, "{states} states");
}

/// A timed run is one that the untimed world could make.
#[test]
fn runs_cross_the_bridge() {
    let sum = Reduction::new(Operator::Sum, Datatype::Int64).unwrap();
    let adapters: &[_] = &[("hca.matching_on_nic", "true"), ("mpi.poll_per_channel", "900 ns")];
    for (name, changes) in [("ideal", &[][..]), ("broadwell-edr", &[]), ("ideal", adapters)] {
        for (bytes, tests) in [(8, 0), (8, 3), (200_000, 0), (200_000, 7)] {
            for assisted in [false, true] {
                let call = Collective::allreduce(WORLD, user(0, bytes), user(1, bytes), sum);
                let beside = Beside { compute: TimeDelta::from_us(20), tests };
                let rank = Repeated::new(Arc::new(call), 1, 2).beside(Some(beside));
                let job = job(model(name, changes), vec![rank; 4]);
                let (ending, violations) = if assisted {
                    let ran = cross(job.assisted()).expect("the untimed world accepts the run");
                    (ran.outcome.ending, ran.outcome.violations)
                } else {
                    let ran = cross(job).expect("the untimed world accepts the run");
                    (ran.outcome.ending, ran.outcome.violations)
                };
                assert_eq!((ending, violations), (Ending::Finished, vec![]), "{name}, {bytes}");
            }
        }
    }
}
