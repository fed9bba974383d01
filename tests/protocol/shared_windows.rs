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
    let mut job = common::job(
        common::model("broadwell-edr", &[]),
        programs.into_iter().map(Script::new).collect(),
    );
    (job.rma, job.nodes) = (rma, 1);
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
