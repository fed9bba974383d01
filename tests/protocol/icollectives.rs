//! Collectives that are only begun: in both runtimes, with real payload, several at once, beside
//! computations and tests, with a progress thread, and under every order of events in small worlds.

use std::sync::Arc;

use crate::common::{cross, job, model};
use crate::reference::{COMBINING, Example, MOVING};
use crate::small::{Small, WORLD, World, barrier, begin, gives, user, wait, wait_all};
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Call, Comm};
use mpisim::protocols::collectives::{Algorithm, Blocks, Collective};
use mpisim::protocols::contract::{Handle, Next};
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::Outcome;
use mpisim::units::TimeDelta;
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
        assert!(survey.complete && survey.states > 10, "{survey:?}");
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
    for name in ["ideal", "broadwell-edr"] {
        for (bytes, tests) in [(8, 0), (8, 3), (200_000, 0), (200_000, 7)] {
            for assisted in [false, true] {
                let call = Collective::allreduce(WORLD, user(0, bytes), user(1, bytes), sum);
                let beside = Beside { compute: TimeDelta::from_us(20), tests };
                let rank = Repeated::new(Arc::new(call), 1, 2).beside(Some(beside));
                let job = job(model(name, &[]), vec![rank; 4]);
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
