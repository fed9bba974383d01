//! Locks of mapped windows by atomics: in every order, and timed.

use std::collections::BTreeMap;

use crate::chart;
use crate::common::{self, Script};
use crate::small::{self, Small, WORLD, World, barrier};
use crate::windows::{
    EXCLUSIVE, LAZY, Line, SHARED, WIN, WORD, accumulate, fence, fetch, flush, free_window, get,
    lock, lock_all, lock_all_unchecked, put, rma, set, sum, unlock, unlock_all,
};
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::observation::{Observation, WindowFact};
use mpisim::mpi::rma::synchronisation::LockKind;
use mpisim::protocols::contract::{Action, Input, Machine, Next, Process, Region, Space, Thread};
use mpisim::protocols::library::{Library, SharedJob};
use mpisim::protocols::rma::call::{Flavor, RmaCall, Spacing};
use mpisim::protocols::rma::{MappedLocks, Settings};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::faults::{Begin, Effect, Fault};
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::units::{Time, TimeDelta};
use mpisim::workloads::mutex::{Algorithm, Cycles, contenders};

const ATOMICS: Settings = Settings { mapped_locks: MappedLocks::Atomics, ..LAZY };

fn create(words: u64) -> Line {
    let (flavor, bytes) = (Flavor::Shared(Spacing::Contiguous), words * WORD);
    rma(RmaCall::Create { win: WIN, comm: WORLD, flavor, memory: 0, bytes, unit: WORD })
}

/// A program on a window to which it gives so many words.
fn on(words: u64, steps: impl IntoIterator<Item = Line>) -> Vec<Line> {
    [create(words)].into_iter().chain(steps).chain([free_window()]).collect()
}

/// A word of the memory of all.
const fn word(index: u64) -> Region {
    Region { space: Space::Shared(0), offset: index * WORD, len: WORD }
}

fn small(programs: Vec<Vec<Line>>) -> Small {
    let threads = programs.into_iter().map(|steps| vec![steps]).collect();
    Small { rma: ATOMICS, together: true, ..Small::threads(threads) }
}

fn explored(small: &Small, holds: impl Fn(&World) -> bool) -> Survey {
    let judge = |world: &World| {
        let (statement, detail) = ("what the test demands", "it does not hold here".to_owned());
        let broken = Violation { id: "end", statement, objects: vec![], detail };
        (!holds(world)).then_some(broken)
    };
    explore::judged(&small.world(), Budget { states: 2_000_000, reduce: true }, judge)
}

fn loads(world: &World, rank: u32) -> Vec<u64> {
    world.program(Process(rank), Thread(0)).loads.clone()
}

/// Word `index` of what a rank has got.
fn got(world: &World, rank: u32, index: u64) -> u64 {
    let region = Region { space: Space::User(0), offset: index * WORD, len: WORD };
    world.memories().load(Process(rank), region)
}

fn writes(value: u64) -> Vec<Line> {
    let epoch = [lock(0, EXCLUSIVE), put(0, 0, 1), put(0, 1, 1), unlock(0)];
    on(2, [vec![set(1, 0, value)], epoch.into()].concat())
}

fn reads() -> Vec<Line> {
    on(2, [lock(0, SHARED), get(0, 0, 2, 0), unlock(0)])
}

#[test]
fn whoever_is_alone_inside_is_alone_in_every_order() {
    let whole = |world: &World, reader: u32| got(world, reader, 0) == got(world, reader, 1);
    let two = explored(&small(vec![writes(7), reads()]), |world| whole(world, 1));
    assert!(two.is_clean() && two.finals > 0, "{two:#?}");
    let three = explored(&small(vec![writes(7), reads(), reads()]), |world| {
        whole(world, 1) && whole(world, 2)
    });
    assert!(three.is_clean() && three.finals > 0, "{three:#?}");
    let last = |world: &World| {
        let [first, second] = [0, 1].map(|index| world.memories().load(Process(0), word(index)));
        first == second && [7, 8].contains(&first)
    };
    let writers = explored(&small(vec![writes(7), writes(8)]), last);
    assert!(writers.is_clean() && writers.finals > 1, "{writers:#?}");
}

#[test]
fn two_that_share_are_inside_together() {
    // Each waits inside its lock for a message of the other one.
    let meets = |other: u32| {
        let says = Next::Call(small::isend(WORLD, 1, other, 3, 0));
        let hears = Next::Call(small::recv(WORLD, Some(other), Some(3), 9, 0));
        let said = Next::Call(small::wait_all(1, 1));
        on(1, [lock(0, SHARED), says, hears, said, unlock(0)])
    };
    let survey = explored(&small(vec![meets(1), meets(0)]), |_| true);
    assert!(survey.is_clean() && survey.finals > 0, "{survey:#?}");
}

/// Wherever a process dies, whoever waits for its lock for ever is found to wait for it.
#[test]
fn a_process_that_dies_is_named_in_every_order() {
    let epoch = || on(1, [lock(0, EXCLUSIVE), unlock(0)]);
    let world = small(vec![epoch(), epoch()]).world().with_crash();
    let survey = explore::exhaustive(&world, Budget { states: 2_000_000, reduce: true });
    assert!(survey.is_clean() && survey.diagnosed > 0, "{survey:#?}");
}

#[test]
fn sums_are_exact_in_every_order() {
    let adds = || {
        let own = vec![set(1, 0, 1), lock_all(), fetch(0, 0, sum(), 1, 2), flush(0), unlock_all()];
        on(1, own)
    };
    let survey = explored(&small(vec![adds(), adds()]), |world| {
        world.memories().load(Process(0), word(0)) == 2
    });
    assert!(survey.is_clean(), "{survey:#?}");
    let add = || on(1, [set(1, 0, 1), lock(0, SHARED), accumulate(0, 0, 1, sum(), 1), unlock(0)]);
    let three = explored(&small(vec![add(), add(), add()]), |world| {
        world.memories().load(Process(0), word(0)) == 3
    });
    assert!(three.is_clean(), "{three:#?}");
}

/// A lock orders what its holder stores, and what the next one loads.
#[test]
fn an_own_lock_is_one_of_atomics_too() {
    let owner = [lock(0, EXCLUSIVE), Next::Store(word(0), 5), Next::Store(word(1), 5), unlock(0)];
    let other = [lock(0, EXCLUSIVE), Next::Load(word(0)), Next::Load(word(1)), unlock(0)];
    let survey = explored(&small(vec![on(1, owner), on(1, other)]), |world| {
        [vec![0, 0], vec![5, 5]].contains(&loads(world, 1))
    });
    assert!(survey.is_clean(), "{survey:#?}");
}

#[test]
fn two_threads_take_the_locks_of_two_ranks() {
    let opens = |rest: Vec<Line>| [vec![create(2), Next::Fork], rest].concat();
    let own = |target: u32, id: u32| {
        vec![set(id, 0, 4), lock(target, EXCLUSIVE), put(target, 0, id), unlock(target)]
    };
    let first = [opens(own(0, 1)), vec![Next::Join, free_window()]].concat();
    let process = vec![first, own(1, 2)];
    let other = vec![on(2, [set(1, 0, 6), lock(0, EXCLUSIVE), put(0, 1, 1), unlock(0)])];
    let world = Small { rma: ATOMICS, together: true, ..Small::threads(vec![process, other]) };
    let survey = explored(&world, |world| {
        [0, 1, 2].map(|index| world.memories().load(Process(0), word(index))) == [4, 6, 4]
    });
    assert!(survey.is_clean() && survey.finals > 0, "{survey:#?}");
}

/// Two processes of two threads, each of which takes a lock that a thread of the other one takes.
fn crossed(opens: &[Line]) -> Vec<Vec<Vec<Line>>> {
    let epoch = |target: u32| vec![lock(target, EXCLUSIVE), unlock(target)];
    let process = |mine: u32| {
        let first = [opens, &[Next::Fork], &epoch(mine), &[Next::Join, free_window()]].concat();
        vec![first, epoch(1 - mine)]
    };
    vec![process(0), process(1)]
}

/// A lock waits for its own grant: whoever waited for those of its process's other threads would wait
/// in a ring here. By atomics a thread waits only where somebody has the lock: a third process has.
#[test]
fn threads_take_crossed_locks_in_every_order() {
    let by_messages = Small { rma: LAZY, together: true, ..Small::threads(crossed(&[create(1)])) };
    let survey = explored(&by_messages, |_| true);
    common::tell("crossed locks by messages", &survey);
    assert!(survey.is_clean() && survey.finals > 0, "by messages");
    let barrier = || Next::Call(barrier(WORLD));
    let both = [lock(0, EXCLUSIVE), lock(1, EXCLUSIVE), barrier(), unlock(0), unlock(1)];
    let holder = vec![vec![on(1, both)]];
    let threads = [crossed(&[create(1), barrier()]), holder].concat();
    let by_atomics = Small { rma: ATOMICS, together: true, ..Small::threads(threads) };
    let survey = explored(&by_atomics, |_| true);
    common::tell("crossed locks by atomics", &survey);
    assert!(survey.is_clean() && survey.finals > 0, "by atomics");
}

/// A third process has both locks when all four threads ask, each process for its own rank's first.
#[test]
fn threads_take_crossed_locks_in_time() {
    let begins = |at: u64| Next::Compute(1_000_000_000 + at);
    let epoch = |first: bool, target: u32| {
        let later = if first { 0 } else { 50_000_000 };
        vec![begins(later), lock(target, EXCLUSIVE), Next::Compute(7), unlock(target)]
    };
    for rma in [ATOMICS, LAZY] {
        let process = |mine: u32| {
            let first = [vec![create(1), Next::Fork], epoch(true, mine)].concat();
            [[first, vec![Next::Join, free_window()]].concat(), epoch(false, 1 - mine)]
        };
        let holds = [lock(0, EXCLUSIVE), lock(1, EXCLUSIVE), begins(900_000_000)];
        let holder = on(1, holds.into_iter().chain([unlock(0), unlock(1)]));
        let threads = [process(0), process(1), [holder, vec![]]].concat();
        let mut job = common::job(
            common::model("broadwell-edr", &[]),
            threads.into_iter().map(Script::of).collect(),
        );
        (job.mpi.rma, job.nodes, job.threads) = (rma, 1, 2);
        let ran = common::cross(job).expect("the untimed world takes the run");
        common::finished(ran.outcome);
    }
}

/// How often a lone process tells that what it did is complete, with the changes of counters.
fn told(settings: Settings, lines: Vec<Line>) -> Vec<&'static str> {
    let small = Small { rma: settings, together: true, ..Small::new(vec![]) };
    let job = small.job(Communicators::standard(1), vec![1]);
    let mut library = Library::new(SharedJob::new(job), Process(0));
    let (mut numbers, mut story) = (BTreeMap::new(), Vec::new());
    for line in lines {
        let Next::Call(call) = line else { panic!("{line:?} is no call") };
        let mut input = Some(Input::Call(call));
        while let Some(given) = input.take() {
            let mut actions = Vec::new();
            library.handle(Thread(0), given, &mut actions).unwrap();
            for action in actions {
                if let Action::Observe(Observation::Window(_, WindowFact::Completed { .. })) =
                    action
                {
                    story.push("complete");
                } else if let Action::Count { counter, .. } = action {
                    *numbers.entry(counter).or_insert(0) += 1;
                    story.push("counts");
                } else if let Action::Consult { counters, token } = action {
                    let values = counters.map(|one| numbers.get(&one).copied().unwrap_or(0));
                    input = Some(Input::Counters { token, values });
                } else if let Action::Poll(token) = action {
                    input = Some(Input::Polled(token));
                }
            }
        }
    }
    story
}

/// … and that before somebody else can have the lock.
#[test]
fn the_end_of_a_lock_is_told_once() {
    let unchecked = rma(RmaCall::Lock { win: WIN, target: 0, kind: SHARED, no_check: true });
    let (ticket, grown, complete) = ("counts", "counts", "complete");
    let exclusive = [ticket, complete, grown, grown];
    for (settings, lock, unlock, expected) in [
        (ATOMICS, lock(0, EXCLUSIVE), unlock(0), &exclusive[..]),
        (ATOMICS, lock(0, SHARED), unlock(0), &[ticket, grown, complete, grown]),
        (ATOMICS, lock_all(), unlock_all(), &[ticket, grown, complete, grown]),
        (ATOMICS, unchecked, unlock(0), &[complete]),
        (LAZY, lock(0, EXCLUSIVE), unlock(0), &[complete]),
        (LAZY, lock_all(), unlock_all(), &[complete]),
    ] {
        assert_eq!(told(settings, vec![create(1), lock.clone(), unlock]), expected, "{lock:?}");
    }
}

/// What rank 0 of two tells to be complete while it makes these calls.
fn told_of_two(settings: Settings, lines: Vec<Line>) -> Vec<Option<u32>> {
    let call = |line: Line| {
        let Next::Call(call) = line else { panic!("{line:?} is no call") };
        call
    };
    let opened = (0..2).fold(chart::windows(vec![0, 0], settings), |chart, rank| {
        chart.call(rank, call(create(2)))
    });
    // Rank 1 answers whoever asks it.
    let never = call(Next::Call(small::recv(WORLD, Some(0), Some(3), 9, 0)));
    let mut listening = opened.settle().call(1, never);
    listening.complete.clear();
    let ended = lines.into_iter().fold(listening, |chart, line| chart.call(0, call(line)).settle());
    assert!(!ended.inside[0], "its calls return");
    ended.complete.into_iter().filter(|(rank, _)| *rank == 0).map(|(_, owner)| owner).collect()
}

/// The end of all locks is told for each target where each is given back, and else for all at once.
#[test]
fn the_end_of_several_locks_is_told_once_for_each() {
    let both = vec![lock(0, SHARED), lock(1, EXCLUSIVE), unlock(1), unlock(0)];
    let all = vec![lock_all(), put(1, 0, 1), unlock_all()];
    let unused = vec![lock_all(), unlock_all()];
    let unchecked = vec![lock_all_unchecked(), put(1, 0, 1), unlock_all()];
    for (settings, lines, expected) in [
        (ATOMICS, both.clone(), &[Some(1), Some(0)][..]),
        (ATOMICS, all.clone(), &[Some(0), Some(1)]),
        (ATOMICS, unused.clone(), &[Some(0), Some(1)]),
        (ATOMICS, unchecked.clone(), &[None]),
        (LAZY, both, &[Some(1), Some(0)]),
        (LAZY, all, &[None]),
        (LAZY, unused, &[None]),
        (LAZY, unchecked, &[None]),
    ] {
        assert_eq!(told_of_two(settings, lines.clone()), expected, "{settings:?} {lines:?}");
    }
}

#[test]
fn a_lock_that_is_never_given_back_is_named() {
    let never = Next::Call(small::recv(WORLD, Some(1), Some(3), 9, 0));
    let holder = vec![create(1), lock(0, EXCLUSIVE), Next::Call(barrier(WORLD)), never];
    let waiter = vec![create(1), Next::Call(barrier(WORLD)), lock(0, SHARED), unlock(0)];
    let mut job =
        common::job(common::model("broadwell-edr", &[]), [holder, waiter].map(Script::of).into());
    (job.mpi.rma, job.nodes) = (ATOMICS, 1);
    let ending = job.run().unwrap().outcome.ending;
    let Ending::Deadlock(found) = ending else { panic!("{ending:?}") };
    let words = found.to_string();
    assert!(words.contains("MPI_Win_lock") && words.contains("MPI_Recv"), "{words}");
}

/// Ranks on one node, each between marks 0 and 1; the untimed world takes the same way.
fn timed(programs: Vec<Vec<Line>>, changes: &[(&str, &str)]) -> Outcome {
    let mut job = common::job(
        common::model("broadwell-edr", changes),
        programs.into_iter().map(Script::of).collect(),
    );
    (job.mpi.rma, job.nodes) = (Settings { watch: false, ..ATOMICS }, 1);
    common::finished(common::cross(job).expect("the untimed world takes the run").outcome)
}

fn spent(outcome: &Outcome, rank: u32) -> u64 {
    common::at(outcome, rank, 1) - common::at(outcome, rank, 0)
}

const CALL: u64 = 20_000;
const ATOMIC: u64 = 7_000;
const LINE: u64 = 61_000;
/// A call that ends an epoch and has nothing to wait for makes one pass: over its completion queue, and the channel of
/// each process.
const PASS: u64 = 3 * (4_000 + 1_000);
const NUMBERS: &[(&str, &str)] = &[
    ("mpi.poll_per_channel", "4 ns"),
    ("cache.l1d_latency", "1 ns"),
    ("mpi.step_query", "20 ns"),
    ("coh.atomic_uncontended", "7 ns"),
    ("coh.line_same_socket", "61 ns"),
];

/// Two calls, and a pass in the second; a ticket, and one number or two at the end.
#[test]
fn a_lock_that_nobody_else_wants_costs_its_calls_and_three_atomics() {
    for (kind, other) in [(SHARED, EXCLUSIVE), (EXCLUSIVE, SHARED)] {
        let warm = [lock(1, other), unlock(1)];
        let cycle = [Next::Mark(0), lock(1, kind), unlock(1), Next::Mark(1)];
        let idle = on(1, [Next::Compute(1_000_000_000)]);
        let outcome = timed(vec![on(1, warm.into_iter().chain(cycle)), idle], NUMBERS);
        assert_eq!(spent(&outcome, 0), 2 * CALL + PASS + 3 * ATOMIC, "{kind:?}");
    }
}

#[test]
fn a_lock_that_another_core_had_comes_with_its_line() {
    // The end of the window is called when the cycle is over: the pass finds no packet of it.
    let later = Next::Compute(1_000_000_000);
    let holds = on(1, [lock(0, EXCLUSIVE), unlock(0), Next::Call(barrier(WORLD)), later]);
    let cycle = [Next::Mark(0), lock(0, EXCLUSIVE), unlock(0), Next::Mark(1)];
    let next = on(1, [vec![Next::Call(barrier(WORLD))], cycle.into()].concat());
    let outcome = timed(vec![holds, next], NUMBERS);
    assert_eq!(spent(&outcome, 1), 2 * CALL + PASS + LINE + 3 * ATOMIC);
}

/// The target computes for a millisecond, and its window is locked, written and read meanwhile.
#[test]
fn a_target_that_computes_is_not_asked() {
    let busy = on(1, [Next::Compute(1_000_000_000), lock(1, SHARED), unlock(1)]);
    let kinds: [LockKind; 2] = [SHARED, EXCLUSIVE];
    for kind in kinds {
        let epoch = [Next::Mark(0), lock(0, kind), get(0, 0, 1, 2), unlock(0), Next::Mark(1)];
        let outcome = timed(vec![busy.clone(), on(1, epoch)], NUMBERS);
        assert!(spent(&outcome, 1) < 1_000_000, "{kind:?}: {} ps", spent(&outcome, 1));
    }
}

/// A rank that has died while it waited looks at the line no more, and what it was about to see is gone.
#[test]
fn a_rank_that_died_while_it_waited_takes_no_line() {
    let begins = 1_000_000_000;
    // Rank 1 waits from the start, until its process dies: before the lock is given back, or while the
    // line with its turn is on its way.
    let gives_back = begins + CALL + PASS + LINE + ATOMIC;
    for (dies, line) in [(begins / 2, 0), (gives_back + LINE / 2, LINE)] {
        let barrier = || Next::Call(barrier(WORLD));
        let marked = [Next::Mark(0), unlock(0), Next::Mark(1)];
        let holds = [create(1), lock(0, EXCLUSIVE), barrier(), Next::Compute(begins)];
        let holder = holds.into_iter().chain(marked).collect();
        let waiter = vec![create(1), barrier(), lock(0, EXCLUSIVE)];
        let mut job = common::job(
            common::model("broadwell-edr", NUMBERS),
            [holder, waiter].map(Script::of).into(),
        );
        (job.mpi.rma, job.nodes) = (Settings { watch: false, ..ATOMICS }, 1);
        let undisturbed = common::at(&job.clone().run().unwrap().outcome, 0, 0) - begins;
        let at = Time::ZERO + TimeDelta::from_ps(undisturbed + dies);
        let effect = Effect::Crash { process: Process(1) };
        job.disturbance.faults.faults = vec![Fault { effect, begin: Begin::At(at), length: None }];
        let outcome = job.run().unwrap().outcome;
        assert!(matches!(outcome.ending, Ending::Crashed { .. }), "{:?}", outcome.ending);
        assert_eq!(
            spent(&outcome, 0),
            CALL + PASS + LINE + line + 2 * ATOMIC,
            "it dies at {dies} ps"
        );
    }
}

/// Four ranks of a socket want one lock: each waits for those before it, in the order of the tickets,
/// and whoever waits meets its turn when its line has come, at its next poll.
#[test]
fn whoever_waits_has_the_lock_a_line_after_it_was_given_back() {
    let inside = 5_000_000;
    let rank = |rank: u64| {
        let begins = Next::Compute(1_000_000_000 + rank * 100_000);
        let holds = [Next::Mark(0), Next::Compute(inside), Next::Mark(1)];
        let before = [begins, lock(0, EXCLUSIVE)];
        on(1, before.into_iter().chain(holds).chain([unlock(0)]))
    };
    let outcome = timed((0..4).map(rank).collect(), NUMBERS);
    for next in 1..4 {
        let handed = common::at(&outcome, next, 0) - common::at(&outcome, next - 1, 1);
        // A call, an atomic with the line that the one that waits has looked at, its way back, a pass.
        let least = CALL + ATOMIC + LINE;
        assert!((least..least + 3 * LINE).contains(&handed), "{next}: {handed} ps");
    }
}

#[test]
fn runs_of_many_ranks_are_orders_of_the_untimed_world() {
    let round = |rank: u32| {
        let target = rank % 3;
        let alone = [lock(target, EXCLUSIVE), put(target, 0, 1), unlock(target)];
        let all = [lock_all(), fetch(1, 1, sum(), 1, 2), flush(1), unlock_all()];
        alone.into_iter().chain(all).collect::<Vec<Line>>()
    };
    let program = |rank: u32| {
        let rounds = (0..10).flat_map(|_| round(rank));
        let whole = [set(1, 0, 1), fence(), fence()].into_iter().chain(rounds);
        on(2, whole.chain([Next::Call(barrier(WORLD))]))
    };
    for ranks in [2, 5, 9] {
        let outcome = timed((0..ranks).map(program).collect(), &[]);
        assert_eq!(outcome.violations, [], "{ranks} ranks");
    }
}

/// A job of a mutex whose window all map.
fn mutex(
    algorithm: Algorithm,
    ranks: u32,
    (cycles, lingers): (u32, bool),
    rma: Settings,
) -> mpisim::workloads::job::Job<mpisim::workloads::mutex::Contender> {
    let asked = Cycles { shared: true, lingers, ..common::lingering(cycles) };
    let mut job = common::job(common::ideal(&[]), contenders(algorithm, ranks, asked));
    (job.mpi.rma, job.nodes) = (rma, 1);
    job
}

#[test]
fn every_mutex_holds_over_mapped_memory() {
    for algorithm in Algorithm::ALL {
        for rma in [ATOMICS, LAZY] {
            let start = mutex(algorithm, 2, (1, true), rma).untimed().unwrap();
            let survey = explore::exhaustive(&start, Budget { states: 4_000_000, reduce: true });
            common::tell(&format!("{} {:?}", algorithm.name(), rma.mapped_locks), &survey);
            assert!(survey.is_clean() && survey.finals > 0, "{}", algorithm.name());
        }
        for ranks in [2, 3, 7] {
            let mut job = mutex(algorithm, ranks, (20, false), ATOMICS);
            job.profile = common::model("broadwell-edr", &[]);
            let ran = common::cross(job).expect("the untimed world takes the run");
            assert_eq!(ran.outcome.ending, Ending::Finished, "{} {ranks}", algorithm.name());
            assert_eq!(ran.outcome.violations, [], "{} {ranks}", algorithm.name());
        }
    }
}
