//! Windows of shared memory: who has which bytes, what goes without packets, and what takes a mutex.

use crate::common::Script;
use crate::small::{Small, WORLD, World, barrier};
use crate::windows::{
    EXCLUSIVE, LAZY, Line, SHARED, WIN, WORD, accumulate, complete, fence, flush, free_window, get,
    lock, lock_all, post, put, rma, set, settings, start, sum, unlock, unlock_all, wait_window,
};
use crate::{common, small};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::contract::{Next, Process, Region, Space, Thread};
use mpisim::protocols::rma::call::{Flavor, RmaCall, Spacing};
use mpisim::protocols::rma::{Settings, Transport};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::timed::Outcome;

fn create(spacing: Spacing, bytes: u64) -> Line {
    let flavor = Flavor::Shared(spacing);
    rma(RmaCall::Create { win: WIN, comm: WORLD, flavor, memory: 0, bytes, unit: WORD })
}

/// A program on a window to which it gives so many words.
fn on(words: u64, steps: impl IntoIterator<Item = Line>) -> Vec<Line> {
    let begin = [create(Spacing::Contiguous, words * WORD), Next::Call(barrier(WORLD))];
    let end = [Next::Call(barrier(WORLD)), free_window()];
    begin.into_iter().chain(steps).chain(end).collect()
}

/// A word of the memory of all: that of rank 0 is the first one.
const fn word(index: u64) -> Region {
    Region { space: Space::Shared(0), offset: index * WORD, len: WORD }
}

fn world_of(programs: &[Vec<Line>], rma: Settings) -> Small {
    let small = Small::threads(programs.iter().map(|steps| vec![steps.clone()]).collect());
    Small { rma, together: true, ..small }
}

fn explored(small: &Small, holds: impl Fn(&World) -> bool) -> Survey {
    let judge = |world: &World| {
        let (statement, detail) = ("what the test demands", "it does not hold here".to_owned());
        let broken =
            mpisim::runtime::monitors::Violation { id: "end", statement, objects: vec![], detail };
        (!holds(world)).then_some(broken)
    };
    explore::judged(&small.world(), Budget { states: 1_000_000, reduce: true }, judge)
}

/// R15: offsets are the sums of sizes before, on pages of their own where asked for; every process
/// finds them by itself.
#[test]
fn everybody_finds_the_segments_of_all() {
    let sizes = [0, 1, 4097];
    for (spacing, offsets) in
        [(Spacing::Contiguous, [0, 0, 1]), (Spacing::Pages(4096), [0, 0, 4096])]
    {
        let programs: Vec<_> = sizes.map(|bytes| vec![create(spacing, bytes)]).into();
        let mut world = world_of(&programs, LAZY).world();
        while let Some(choice) = world.choices().first().copied() {
            world.apply(choice).unwrap();
        }
        for process in (0..3).map(Process) {
            let windows = world.machine(process).rma().unwrap();
            for (rank, (len, offset)) in (0..).zip(sizes.into_iter().zip(offsets)) {
                let segment = Region { space: Space::Shared(0), offset, len };
                assert_eq!(windows.shared_query(WIN, Rank(rank)), Some(segment), "{spacing:?}");
            }
            assert_eq!(windows.shared_query(WIN, Rank(3)), None);
        }
    }
}

#[test]
fn processes_of_two_nodes_share_nothing() {
    let mut job =
        common::job(common::ideal(&[]), vec![Script::new(on(1, [])), Script::new(on(1, []))]);
    job.nodes = 2;
    let ending = format!("{:?}", common::run(job).ending);
    assert!(ending.contains("memory is shared inside a node: process 0 is on node 0, process 1"));
}

/// In every order, by every synchronisation and under every setting: what one writes the other
/// reads.
#[test]
fn every_order_ends_with_what_was_written() {
    let passive = |kind| {
        let writes = [set(1, 0, 7), lock(1, kind), put(1, 0, 1), unlock(1)];
        (writes.to_vec(), vec![])
    };
    let all = || (vec![set(1, 0, 7), lock_all(), put(1, 0, 1), flush(1), unlock_all()], vec![]);
    let fences = || (vec![set(1, 0, 7), fence(), put(1, 0, 1), fence()], vec![fence(), fence()]);
    let posts = || {
        (vec![set(1, 0, 7), start(&[1]), put(1, 0, 1), complete()], vec![post(&[0]), wait_window()])
    };
    for (name, rma) in settings() {
        for (writer, reader) in [passive(SHARED), passive(EXCLUSIVE), all(), fences(), posts()] {
            // The reader loads its own part after a barrier.
            let reader = [reader, vec![Next::Call(barrier(WORLD)), Next::Load(word(1))]].concat();
            let writer = [writer, vec![Next::Call(barrier(WORLD))]].concat();
            let small = world_of(&[on(1, writer), on(1, reader)], rma);
            let survey =
                explored(&small, |world| world.program(Process(1), Thread(0)).loads == [7]);
            assert!(survey.is_clean(), "{name}: {survey:#?}");
        }
    }
}

/// A program may store into a neighbour's part, and load from it.
#[test]
fn a_neighbour_s_part_is_loaded_and_stored() {
    let tells = Next::Call(small::send(WORLD, 1, 3, 0));
    let hears = Next::Call(small::recv(WORLD, Some(0), Some(3), 9, 0));
    let first = on(1, [Next::Store(word(0), 5), Next::Store(word(1), 6), tells]);
    let second = on(1, [hears, Next::Load(word(0)), Next::Load(word(1))]);
    let survey = explored(&world_of(&[first, second], LAZY), |world| {
        world.program(Process(1), Thread(0)).loads == [5, 6]
    });
    assert!(survey.is_clean(), "{survey:#?}");
}

#[test]
fn sums_of_two_ranks_are_exact_in_every_order() {
    let adds = || on(1, [set(1, 0, 1), lock(0, SHARED), accumulate(0, 0, 1, sum(), 1), unlock(0)]);
    let survey = explored(&world_of(&[adds(), adds()], LAZY), |world| {
        world.memories().load(Process(0), word(0)) == 2
    });
    assert!(survey.is_clean(), "{survey:#?}");
}

/// Ranks on one node, each between marks 0 and 1.
fn timed(programs: Vec<Vec<Line>>, rma: Settings) -> Outcome {
    timed_on(&[], programs, rma)
}

fn timed_on(numbers: &[(&str, &str)], programs: Vec<Vec<Line>>, rma: Settings) -> Outcome {
    let mut job = common::job(
        common::model("broadwell-edr", numbers),
        programs.into_iter().map(Script::new).collect(),
    );
    (job.mpi.rma, job.nodes) = (rma, 1);
    common::finished(common::cross(job).expect("the untimed world takes the run").outcome)
}

fn marked(steps: Vec<Line>) -> Vec<Line> {
    on(8, [vec![lock_all(), Next::Mark(0)], steps, vec![Next::Mark(1), unlock_all()]].concat())
}

/// claim: rma-sem-shm-mutex
#[test]
fn accumulates_take_one_mutex_and_puts_none() {
    // Each to a word, and to a line, of its own.
    let times = |ranks: u32, operation: fn(u32, u64) -> Line| -> u64 {
        let program = |rank: u32| marked(vec![operation(rank, 0); 50]);
        let outcome = timed((0..ranks).map(program).collect(), Settings { watch: false, ..LAZY });
        let spent = |rank| common::at(&outcome, rank, 1) - common::at(&outcome, rank, 0);
        (0..ranks).map(spent).max().unwrap()
    };
    let adds: fn(u32, u64) -> Line = |target, index| accumulate(target, index, 1, sum(), 1);
    let puts: fn(u32, u64) -> Line = |target, index| put(target, index, 1);
    let (one, four) = (times(1, adds), times(4, adds));
    assert!(four > 3 * one, "four wait for each other: {one} and {four} ps");
    let (one, four) = (times(1, puts), times(4, puts));
    assert_eq!(one, four, "nobody waits");
}

/// The longest time of four ranks that each add 50 times, to `target` of the rank and in a line of its own.
fn additions(numbers: &[(&str, &str)], ranks: u32, target: fn(u32) -> u32) -> u64 {
    let one = |rank: u32| accumulate(target(rank), 8 * u64::from(rank), 1, sum(), 1);
    let program = |rank: u32| {
        let steps = [vec![Next::Mark(0)], vec![one(rank); 50], vec![Next::Mark(1)]].concat();
        on(32, [vec![lock_all()], steps, vec![unlock_all()]].concat())
    };
    let programs = (0..ranks).map(program).collect();
    let outcome = timed_on(numbers, programs, Settings { watch: false, ..LAZY });
    let spent = |rank| common::at(&outcome, rank, 1) - common::at(&outcome, rank, 0);
    (0..ranks).map(spent).max().unwrap()
}

#[test]
fn a_mutex_of_each_rank_keeps_only_those_waiting_that_update_its_part() {
    let each = ("mpi.rma_mutex_each_rank", "true");
    let own: fn(u32) -> u32 = |rank| rank;
    let first: fn(u32) -> u32 = |_| 0;
    let alone = additions(&[each], 1, own);
    assert_eq!(additions(&[each], 4, own), alone, "nobody waits for a neighbour's mutex");
    let crowded = additions(&[each], 4, first);
    assert!(crowded > 3 * alone, "all want that of rank 0: {crowded} and {alone} ps");
    let window = additions(&[], 4, own);
    assert!(window > 3 * alone, "a mutex of the window is one for all: {window} and {alone} ps");
}

#[test]
fn mutexes_that_lie_in_one_line_take_it_from_each_other() {
    let each = ("mpi.rma_mutex_each_rank", "true");
    let near = ("mpi.rma_rank_state", "20 B");
    let own: fn(u32) -> u32 = |rank| rank;
    let (apart, together) = (additions(&[each], 2, own), additions(&[each, near], 2, own));
    // Each of 50 additions but the first meets the line with the other rank, one way of 45 ns apart.
    let ways =
        (together - apart) / common::model("broadwell-edr", &[]).coh.line_same_socket.as_ps();
    assert!((45..=51).contains(&ways), "{ways} ways");
    // 20 B each: four states begin in the first line, the fifth does not.
    let far = additions(&[each, ("mpi.rma_rank_state", "64 B")], 2, own);
    assert_eq!(far, apart, "a state of a whole line is alone in it");
}

#[test]
fn operations_send_nothing() {
    for transport in [Transport::Messages, Transport::Rdma] {
        let operations = |count: usize| {
            let one = vec![
                put(1, 0, 1),
                flush(1),
                get(1, 1, 1, 2),
                flush(1),
                accumulate(1, 2, 1, sum(), 3),
            ];
            let other = on(4, [vec![lock_all()], vec![unlock_all()]].concat());
            let programs = vec![marked(vec![one; count].concat()), other];
            timed(programs, Settings { transport, watch: false, ..LAZY }).packets
        };
        assert_eq!(operations(1), operations(20), "{transport:?}");
    }
}
