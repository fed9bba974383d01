//! Misuse of windows, and what a run says of it: accesses that conflict are told with both calls.

use crate::common::Script;
use crate::{common, small};
use mpisim::mpi::rma::access::MemoryModel;
use mpisim::protocols::contract::{Next, Process};
use mpisim::protocols::rma::Settings;
use mpisim::protocols::rma::call::Flavor;
use mpisim::runtime::explore::{self, Budget};
use mpisim::runtime::timed::{Ending, Outcome};

use crate::small::{Small, WORLD, barrier};
use crate::windows::{
    EXCLUSIVE, LAZY, Line, NO_OP, REPLACE, SHARED, WIN, accumulate, complete, fence, fetch, flush,
    flush_local, free_window, get, load, lock, lock_all, post, put, set, settings, start, store,
    sum, unlock, unlock_all, wait_window, window, window_of,
};

const SEPARATE: Settings = Settings { model: MemoryModel::Separate, ..LAZY };

/// A program on a window of four words, freed at its end; all have it before anybody goes on.
fn on_window(steps: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let begin = [window(4), Next::Call(barrier(WORLD))];
    let end = [Next::Call(barrier(WORLD)), free_window()];
    begin.into_iter().chain(steps).chain(end).collect()
}

fn epoch(kind: mpisim::mpi::rma::synchronisation::LockKind, steps: Vec<Line>) -> Vec<Line> {
    [vec![lock(0, kind)], steps, vec![unlock(0)]].concat()
}

/// What a timed run says of rank 0, 1 and 2, on three nodes.
fn run(programs: &[Vec<Line>], rma: Settings) -> Outcome {
    let scripts = programs.iter().map(|steps| Script::new(steps.iter().cloned()));
    let mut job = common::job(common::ideal(&[]), scripts.collect());
    (job.mpi.rma, job.nodes) = (rma, 3);
    let outcome = common::run(job);
    assert_eq!(outcome.ending, Ending::Finished);
    outcome
}

/// Whether some order of the untimed world shows a conflict.
fn is_found_in_some_order(programs: &[Vec<Line>], rma: Settings) -> bool {
    let small = Small::threads(programs.iter().map(|steps| vec![steps.clone()]).collect());
    let small = Small { rma, ..small };
    let survey =
        explore::judged(&small.world(), Budget { states: 200_000, reduce: true }, |_| None);
    assert!(survey.faults.is_empty() && survey.dead == 0, "{:#?}", survey.faults);
    survey.violations.iter().any(|(broken, _)| broken.id == "R2")
}

/// Programs that must be found under every setting, or under none.
#[track_caller]
fn check(what: &str, programs: &[Vec<Line>], model: MemoryModel, conflicts: bool) {
    for (name, rma) in settings() {
        let outcome = run(programs, Settings { model, ..rma });
        let found = outcome.violations.iter().any(|broken| broken.id == "R2");
        assert_eq!(found, conflicts, "{what}, {name}: {:#?}", outcome.violations);
    }
}

/// Rank 0 waits; ranks 1 and 2 do these steps, each with a buffer of its own.
fn two(steps: impl Fn() -> Vec<Line>) -> Vec<Vec<Line>> {
    vec![on_window([]), on_window(steps()), on_window(steps())]
}

const UNIFIED: MemoryModel = MemoryModel::Unified;

// row: F8
#[test]
fn overlapping_puts_are_reported_with_both_operations() {
    let programs = two(|| epoch(SHARED, vec![put(0, 1, 1)]));
    check("puts under shared locks", &programs, UNIFIED, true);
    let outcome = run(&programs, LAZY);
    assert_eq!(outcome.sometimes.side_by_side, 1);
    let [broken] = &outcome.violations[..] else { panic!("{:#?}", outcome.violations) };
    let words = broken.to_string();
    for part in [
        "window 0, memory 0 of process 0",
        "put of bytes 8..16 by rank 1",
        "put of bytes 8..16 by rank 2",
        "they overlap, and neither is complete before the other",
    ] {
        assert!(words.contains(part), "{words}");
    }
    assert!(is_found_in_some_order(&programs[1..], LAZY), "rank 0 is a target and an origin");
}

#[test]
fn synchronisation_keeps_the_same_puts_apart() {
    check("exclusive locks", &two(|| epoch(EXCLUSIVE, vec![put(0, 1, 1)])), UNIFIED, false);
    let fences = |first: Vec<Line>, second: Vec<Line>| {
        on_window([vec![fence()], first, vec![fence()], second, vec![fence()]].concat())
    };
    let programs = |second: usize| {
        let puts = |at: usize| if at == second { vec![put(0, 1, 1)] } else { vec![] };
        vec![fences(vec![], vec![]), fences(vec![put(0, 1, 1)], vec![]), fences(puts(0), puts(1))]
    };
    check("one fence epoch", &programs(0), UNIFIED, true);
    check("two fence epochs", &programs(1), UNIFIED, false);
    let origin = || on_window([start(&[0]), put(0, 1, 1), complete()]);
    let target = |exposures: Vec<Line>| vec![on_window(exposures), origin(), origin()];
    let one_by_one = vec![post(&[1]), wait_window(), load(1), post(&[2]), wait_window(), load(1)];
    check("one exposure", &target(vec![post(&[1, 2]), wait_window()]), UNIFIED, true);
    check("two exposures", &target(one_by_one), UNIFIED, false);
}

#[test]
fn a_flush_orders_what_one_origin_does() {
    let one =
        |steps: Vec<Line>| vec![on_window([]), on_window(epoch(SHARED, steps)), on_window([])];
    let twice =
        |between: Vec<Line>| one([vec![put(0, 1, 1)], between, vec![put(0, 1, 2)]].concat());
    check("two puts", &twice(vec![]), UNIFIED, true);
    check("a flush between", &twice(vec![flush(0)]), UNIFIED, false);
    check("a local flush between", &twice(vec![flush_local(0)]), UNIFIED, true);
    let got = one(vec![get(0, 1, 1, 3), flush_local(0), put(0, 1, 2)]);
    check("a get that has arrived", &got, UNIFIED, false);
}

/// A load beside an accumulate may see some of its bytes; a store beside a put is wrong anywhere in
/// a separate window (`rma` Fig. 1).
#[test]
fn the_owner_s_loads_and_stores_are_seen() {
    let writer = || {
        let steps = epoch(SHARED, vec![accumulate(0, 1, 1, REPLACE, 1), flush(0)]);
        on_window([vec![set(1, 0, 7)], steps].concat())
    };
    let programs = |own| vec![on_window([own]), writer(), on_window([])];
    let touch = |own: Line, rma: Settings| is_found_in_some_order(&programs(own)[..2], rma);
    assert!(touch(load(1), SEPARATE) && !touch(load(1), LAZY));
    assert!(touch(store(1, 3), SEPARATE) && touch(store(1, 3), LAZY));
    assert!(touch(store(3, 3), SEPARATE) && !touch(store(3, 3), LAZY));
}

/// An element is linked by a put and read by a get, as in the exclusive idiom, but under shared
/// locks; and as the shared idioms do it.
///
/// claim: rma-list-valid
#[test]
fn a_list_needs_accumulates_under_shared_locks() {
    let list = |kind, link: fn() -> Line, look: fn() -> Line| {
        vec![
            on_window([]),
            on_window(epoch(kind, vec![link()])),
            on_window(epoch(kind, vec![look()])),
        ]
    };
    let link: fn() -> Line = || put(0, 1, 1);
    let look: fn() -> Line = || get(0, 1, 1, 3);
    check("put and get, shared", &list(SHARED, link, look), UNIFIED, true);
    check("put and get, exclusive", &list(EXCLUSIVE, link, look), UNIFIED, false);
    let replace: fn() -> Line = || accumulate(0, 1, 1, REPLACE, 1);
    let read: fn() -> Line = || fetch(0, 1, NO_OP, 0, 3);
    check("accumulates, shared", &list(SHARED, replace, read), UNIFIED, false);
    let all = |step: fn() -> Line| on_window([lock_all(), step(), flush(0), unlock_all()]);
    let programs = |link, look| vec![on_window([]), all(link), all(look)];
    check("accumulates, lock-all", &programs(replace, read), UNIFIED, false);
    check("put and get, lock-all", &programs(link, look), UNIFIED, true);
}

#[test]
fn operators_that_may_not_meet_are_found_and_nobody_looks_where_told_so() {
    let add: fn() -> Line = || accumulate(0, 1, 1, sum(), 1);
    let replace: fn() -> Line = || accumulate(0, 1, 1, REPLACE, 1);
    let programs = |second: fn() -> Line| {
        let [first, second] = [add, second].map(|step| on_window(epoch(SHARED, vec![step()])));
        vec![on_window([]), first, second]
    };
    check("sums", &programs(add), UNIFIED, false);
    check("a sum and a replace", &programs(replace), UNIFIED, true);
    let outcome = run(&programs(replace), Settings { watch: false, ..LAZY });
    assert_eq!((outcome.violations.len(), outcome.sometimes.side_by_side), (0, 0));
}

/// claim: rma-sem-winmodel
#[test]
fn a_window_says_its_memory_model_and_how_it_was_made() {
    for rma in [LAZY, SEPARATE] {
        for flavor in [Flavor::Create, Flavor::Allocate, Flavor::Dynamic] {
            let small = Small::threads(vec![vec![vec![window_of(flavor, 2)]]]);
            let mut world = Small { rma, ..small }.world();
            let library = |world: &small::World| world.machine(Process(0)).rma().cloned();
            assert!(library(&world).is_none_or(|rma| rma.model(WIN).is_none()));
            while let Some(choice) = world.choices().first().copied() {
                world.apply(choice).unwrap();
            }
            let rma_of = library(&world).unwrap();
            assert_eq!((rma_of.model(WIN), rma_of.flavor(WIN)), (Some(rma.model), Some(flavor)));
        }
    }
}
