//! One-sided communication of two and three ranks in every order of events, with real bytes: what
//! windows hold and programs read at every end.
//!
//! `cargo test --test protocol one_sided_orders -- --nocapture` prints the sizes.

use crate::small::{Small, WORLD, World, barrier, iprobe, recv, send};
use crate::windows::{
    EXCLUSIVE, LAZY, Line, NO_OP, REPLACE, SHARED, WORD, accumulate, attach, attached, buffer,
    complete, detach, fence, fetch, flush, flush_local, flushes_and_tells, free_window, get, load,
    lock, lock_all, lock_all_unchecked, operate, post, put, set, settings, start, store, sum,
    swap_if, unlock, unlock_all, wait_window, window, window_of, words,
};
use mpisim::mpi::rma::synchronisation::{LockKind, Rules};
use mpisim::protocols::call::{Call, Requests};
use mpisim::protocols::contract::{Handle, Next, Process, Region, Space, Thread};
use mpisim::protocols::rma::call::{Flavor, Operation};
use mpisim::protocols::rma::{Issue, Settings, Transport};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::monitors::Violation;

fn explored(small: &Small, holds: impl Fn(&World) -> bool) -> Survey {
    let size = u32::try_from(small.steps.len()).unwrap();
    let judge = |world: &World| {
        let (statement, detail) = ("what the test demands of an end", in_words(world, size));
        let broken = Violation { id: "end", statement, objects: Vec::new(), detail };
        (!holds(world)).then_some(broken)
    };
    explore::judged(&small.world(), Budget { states: 3_000_000, reduce: true }, judge)
}

fn in_words(world: &World, size: u32) -> String {
    let one = |rank| {
        let windows: Vec<u64> = (0..4).map(|index| word(world, rank, index)).collect();
        let buffers: Vec<u64> = (0..8).map(|id| value(world, rank, id)).collect();
        format!("rank {rank}: window {windows:?}, buffers {buffers:?}")
    };
    (0..size).map(one).collect::<Vec<_>>().join("; ")
}

/// One thread a process.
fn world_of(programs: &[Vec<Line>], rma: Settings) -> Small {
    let small = Small::threads(programs.iter().map(|steps| vec![steps.clone()]).collect());
    Small { rma, ..small }
}

#[track_caller]
#[expect(clippy::print_stdout, reason = "sizes for a reader, with --nocapture")]
fn check(what: &str, small: &Small, holds: impl Fn(&World) -> bool) -> Survey {
    let survey = explored(small, holds);
    println!("{what}: {} states, {} ends", survey.states, survey.finals);
    if !survey.is_clean() {
        for (fault, way) in &survey.faults {
            println!("{fault}: {way:#?}");
        }
        for (broken, way) in &survey.violations {
            println!("{broken}: {way:#?}");
        }
        println!("dead {}: {:#?}", survey.dead, survey.way_to_dead);
        println!("doomed {}: {:#?}", survey.doomed, survey.way_to_doomed);
        panic!("{what}: not every order ends well");
    }
    survey
}

/// The same under every setting.
#[track_caller]
fn check_all(what: &str, programs: &[Vec<Line>], holds: impl Fn(&World) -> bool) {
    for (name, rma) in settings() {
        check(&format!("{what}, {name}"), &world_of(programs, rma), &holds);
    }
}

/// A word of a rank's window.
fn word(world: &World, rank: u32, index: u64) -> u64 {
    let region = Region { space: Space::Window(0), offset: index * WORD, len: WORD };
    world.memories().load(Process(rank), region)
}

/// The first word of a rank's buffer.
fn value(world: &World, rank: u32, id: u32) -> u64 {
    value_at(world, rank, id, 0)
}

fn value_at(world: &World, rank: u32, id: u32, index: u64) -> u64 {
    let region = buffer(id, index + 1).part(index * WORD, WORD);
    world.memories().load(Process(rank), region)
}

fn loads(world: &World, rank: u32) -> &[u64] {
    &world.program(Process(rank), Thread(0)).loads
}

/// A program on a window of some words, freed at its end.
fn on_window(words: u64, steps: impl IntoIterator<Item = Line>) -> Vec<Line> {
    [window(words)].into_iter().chain(steps).chain([free_window()]).collect()
}

fn epoch(target: u32, kind: LockKind, steps: impl IntoIterator<Item = Line>) -> Vec<Line> {
    [lock(target, kind)].into_iter().chain(steps).chain([unlock(target)]).collect()
}

/// Two words of rank 0 become `value` each.
fn writes_two(value: u64, kind: LockKind) -> Vec<Line> {
    let steps = epoch(0, kind, [put(0, 0, 1), put(0, 1, 2)]);
    [set(1, 0, value), set(2, 0, value)].into_iter().chain(steps).collect()
}

fn two_are_equal(world: &World, rank: u32) -> bool {
    value_at(world, rank, 0, 0) == value_at(world, rank, 0, 1)
}

#[test]
fn exclusive_locks_exclude() {
    let reader = || on_window(2, epoch(0, SHARED, [get(0, 0, 2, 0)]));
    let writer = |value| on_window(2, writes_two(value, EXCLUSIVE));
    check_all("exclusive writer, reader at home", &[reader(), writer(1)], |world| {
        two_are_equal(world, 0) && word(world, 0, 0) == 1 && word(world, 0, 1) == 1
    });
    check_all(
        "two exclusive writers, reader at home",
        &[reader(), writer(1), writer(2)],
        |world| {
            let ends = [word(world, 0, 0), word(world, 0, 1)];
            two_are_equal(world, 0) && (ends == [1, 1] || ends == [2, 2])
        },
    );
}

/// R10, and loads and stores of the owner under its own lock.
///
/// claim: rma-sem-lock-excl
/// claim: rma-sem-lock-shared
#[test]
fn locks_of_all_and_of_oneself_keep_exclusive_lockers_out() {
    let reader = || on_window(2, epoch(0, EXCLUSIVE, [get(0, 0, 2, 0)]));
    let idle = || on_window(2, []);
    let puts = [set(1, 0, 1), lock_all(), put(0, 0, 1), put(0, 1, 1), unlock_all()];
    check_all("lock-all against exclusive", &[idle(), on_window(2, puts), reader()], |world| {
        two_are_equal(world, 2) && word(world, 0, 1) == 1
    });
    // A look at the queues lets others in.
    let look = || Next::Call(iprobe(WORLD));
    let stores = [look(), lock_all(), store(0, 1), look(), store(1, 1), unlock_all()];
    check_all("stores in lock-all", &[on_window(2, stores), reader()], |world| {
        two_are_equal(world, 1) && word(world, 0, 1) == 1
    });
    for kind in [SHARED, EXCLUSIVE] {
        let stores = epoch(0, kind, [store(0, 1), look(), store(1, 1)]);
        let stores = [look()].into_iter().chain(stores);
        check_all("stores under the own lock", &[on_window(2, stores), reader()], |world| {
            two_are_equal(world, 1) && word(world, 0, 1) == 1
        });
    }
}

/// R3, R11, R12: sums are exact, whatever the epochs; every queued operation is applied once.
#[test]
fn sums_are_exact() {
    let adds = |value, kind| {
        let steps = epoch(0, kind, [accumulate(0, 0, 1, sum(), 1)]);
        on_window(1, [set(1, 0, value)].into_iter().chain(steps))
    };
    let all = |value| {
        let add = || accumulate(0, 0, 1, sum(), 1);
        on_window(
            1,
            [
                set(1, 0, value),
                lock_all(),
                add(),
                flush_local(0),
                add(),
                flush(0),
                add(),
                unlock_all(),
            ],
        )
    };
    check_all("three adders", &[adds(1, SHARED), adds(2, EXCLUSIVE), adds(4, SHARED)], |world| {
        word(world, 0, 0) == 7
    });
    check_all("lock-all and exclusive adder", &[all(1), adds(100, EXCLUSIVE)], |world| {
        word(world, 0, 0) == 103
    });
    check_all("two adders in lock-all", &[on_window(1, []), all(1), all(10)], |world| {
        word(world, 0, 0) == 33
    });
}

/// R3: two elements at once.
///
/// claim: rma-sem-acc-atomic
#[test]
fn accumulates_are_atomic_for_each_element() {
    let adds = |value| {
        let steps = epoch(0, SHARED, [accumulate(0, 0, 2, sum(), 1)]);
        on_window(2, [set(1, 0, value), set(1, 1, 2 * value)].into_iter().chain(steps))
    };
    for (name, rma) in settings().into_iter().filter(|(_, rma)| rma.transport != Transport::Rdma) {
        let small = world_of(&[adds(1), adds(10), adds(100)], rma);
        check(&format!("two elements, {name}"), &small, |world| {
            [word(world, 0, 0), word(world, 0, 1)] == [111, 222]
        });
    }
}

/// R4: accumulates of one origin keep their order, at another rank and at home.
///
/// claim: rma-sem-order
#[test]
fn accumulates_keep_their_order() {
    let steps = |target| {
        let ops = [
            accumulate(target, 0, 1, REPLACE, 1),
            fetch(target, 0, NO_OP, 9, 3),
            accumulate(target, 0, 1, REPLACE, 2),
            fetch(target, 0, NO_OP, 9, 4),
        ];
        [set(1, 0, 5), set(2, 0, 6)].into_iter().chain(epoch(target, SHARED, ops))
    };
    for target in [0, 1] {
        let programs = [on_window(1, []), on_window(1, steps(target))];
        check_all(&format!("replace and read at {target}"), &programs, |world| {
            let read = [value(world, 1, 3), value(world, 1, 4)];
            read == [5, 6] && word(world, target, 0) == 6
        });
    }
    let origin = [
        set(1, 0, 5),
        set(2, 0, 6),
        start(&[0]),
        accumulate(0, 0, 1, REPLACE, 1),
        // The post may be found here.
        Next::Call(iprobe(WORLD)),
        accumulate(0, 0, 1, REPLACE, 2),
        fetch(0, 0, NO_OP, 9, 3),
        complete(),
    ];
    let target = [post(&[1]), wait_window(), load(0)];
    let programs = [on_window(1, target), on_window(1, origin)];
    check_all("replace twice between start and complete", &programs, |world| {
        word(world, 0, 0) == 6 && value(world, 1, 3) == 6 && loads(world, 0) == [6]
    });
}

/// Replies come in every order, and each finds the operation that it belongs to.
///
/// claim: rma-sem-get-ref
#[test]
fn replies_find_their_operation_whatever_came_before() {
    let holds =
        |value| on_window(2, [store(0, value), store(1, value + 1), Next::Call(barrier(WORLD))]);
    let gets = [get(1, 0, 1, 3), get(2, 0, 1, 4), get(1, 1, 1, 5)];
    let reads =
        [Next::Call(barrier(WORLD)), lock_all()].into_iter().chain(gets).chain([unlock_all()]);
    let programs = [on_window(2, reads), holds(10), holds(20)];
    check_all("three gets from two targets", &programs, |world| {
        [3, 4, 5].map(|id| value(world, 0, id)) == [10, 20, 11]
    });
}

/// R5: a put after a flush comes later.
///
/// claim: rma-sem-flush
#[test]
fn a_flush_orders_puts() {
    for target in [0, 1] {
        let ops = [put(target, 0, 1), flush(target), put(target, 0, 2)];
        let one = epoch(target, SHARED, ops.clone());
        let all = [lock_all()].into_iter().chain(ops).chain([unlock_all()]).collect();
        for steps in [one, all] {
            let steps = [set(1, 0, 1), set(2, 0, 2)].into_iter().chain(steps);
            let programs = [on_window(1, []), on_window(1, steps)];
            check_all("put, flush, put", &programs, |world| word(world, target, 0) == 2);
        }
    }
}

/// R6: fetch-and-op and compare-and-swap exclude each other.
#[test]
fn atomics_exclude_each_other() {
    let adder = |target| {
        let steps = epoch(target, SHARED, [fetch(target, 0, sum(), 1, 3)]);
        on_window(1, [set(1, 0, 1)].into_iter().chain(steps))
    };
    let swapper = |target| {
        let steps = epoch(target, SHARED, [swap_if(target, 0, 1, 3)]);
        on_window(1, [set(1, 0, 0), set(1, 1, 10)].into_iter().chain(steps))
    };
    let holds = |world: &World, target, [adder, swapper]: [u32; 2]| {
        let found = [value(world, adder, 3), value(world, swapper, 3), word(world, target, 0)];
        found == [0, 1, 1] || found == [10, 0, 11]
    };
    let programs = [on_window(1, []), adder(0), swapper(0)];
    check_all("add against swap", &programs, |world| holds(world, 0, [1, 2]));
    check_all("add at home against swap", &[adder(0), swapper(0)], |world| holds(world, 0, [0, 1]));
}

/// R7: after a local flush, or a wait for its request, the origin's buffer is free.
///
/// claim: rma-sem-request-local
#[test]
fn local_completion_frees_the_buffer() {
    let ids = Requests::List([Handle(1)].into());
    let waits = [
        Next::Call(Call::Wait { request: Handle(1) }),
        Next::Call(Call::WaitAny { requests: ids.clone() }),
        Next::Call(Call::WaitAll { requests: ids.clone(), statuses: false }),
    ];
    for wait in waits {
        let rput = operate(0, words(0, 1), Operation::Put { origin: buffer(1, 1) }, Some(1));
        let steps = [set(1, 0, 1), lock(0, SHARED), rput, wait, set(1, 0, 9), unlock(0)];
        let programs = [on_window(1, []), on_window(1, steps)];
        check_all("rput and wait", &programs, |world| word(world, 0, 0) == 1);
    }
    let steps =
        [set(1, 0, 1), lock_all(), put(0, 0, 1), flush_local(0), set(1, 0, 9), unlock_all()];
    let programs = [on_window(1, []), on_window(1, steps)];
    check_all("put and local flush", &programs, |world| word(world, 0, 0) == 1);
}

/// R8: what an epoch wrote is there when a third rank hears of its end.
///
/// claim: rma-sem-unlock-complete
fn hearsay(writes: Vec<Line>) -> Vec<Vec<Line>> {
    let tells = writes.into_iter().chain([Next::Call(send(WORLD, 2, 0, 8))]);
    let first: Vec<Line> = [set(1, 0, 7)].into_iter().chain(tells).collect();
    let hears = Next::Call(recv(WORLD, Some(1), Some(0), 91, 8));
    let second: Vec<Line> =
        [hears].into_iter().chain(epoch(0, SHARED, [get(0, 0, 1, 0)])).collect();
    vec![on_window(1, []), on_window(1, first), on_window(1, second)]
}

#[test]
fn a_third_rank_sees_what_it_is_told_of() {
    for kind in [SHARED, EXCLUSIVE] {
        let programs = hearsay(epoch(0, kind, [put(0, 0, 1)]));
        check_all("told of a put", &programs, |world| value(world, 2, 0) == 7);
        let programs = hearsay(epoch(0, kind, [accumulate(0, 0, 1, REPLACE, 1)]));
        check_all("told of an accumulate", &programs, |world| value(world, 2, 0) == 7);
    }
}

/// A merged write that nobody answers is not there yet when its unlock returns: its lock was not
/// granted then, and another lock may be granted before.
#[test]
fn a_merged_write_without_an_answer_may_be_seen_late() {
    let rma = Settings { done_after_merge: false, ..LAZY };
    for kind in [SHARED, EXCLUSIVE] {
        let small = world_of(&hearsay(epoch(0, kind, [put(0, 0, 1)])), rma);
        check("end of a merged write without an answer", &small, |world| word(world, 0, 0) == 7);
        let survey = explored(&small, |world| value(world, 2, 0) == 7);
        let laws: Vec<_> = survey.violations.iter().map(|(broken, _)| broken.id).collect();
        assert_eq!(laws, ["end"], "{kind:?}: a third rank reads the old value in some order");
    }
}

/// R9: whoever returns from a fence, or a wait, has everything.
///
/// claim: rma-sem-fence
#[test]
fn active_epochs_end_with_everything_done() {
    let origin = |index: u64, value| {
        let ops = [set(1, 0, value), fence(), put(0, index, 1), fence(), set(2, 0, value + 1)];
        on_window(5, ops.into_iter().chain([put(0, index + 2, 2), fence()]))
    };
    let target = [fence(), fence(), load(1), load(2), fence(), load(3), load(4)];
    let two = [on_window(5, target.clone()), origin(1, 10)];
    check_all("two fences of two", &two, |world| loads(world, 0) == [10, 0, 11, 0]);
    let three = [on_window(5, target), origin(1, 10), origin(2, 20)];
    for (name, rma) in settings() {
        // Three eager ranks say more; the others are as good.
        if rma.issue == LAZY.issue && rma.transport != Transport::Rdma {
            check(&format!("two fences of three, {name}"), &world_of(&three, rma), |world| {
                loads(world, 0) == [10, 20, 11, 21]
            });
        }
    }
    let origin =
        |index, value| on_window(3, [set(1, 0, value), start(&[0]), put(0, index, 1), complete()]);
    let target = [post(&[1, 2]), wait_window(), load(1), load(2)];
    let programs = [on_window(3, target), origin(1, 10), origin(2, 20)];
    check_all("post and wait for two", &programs, |world| loads(world, 0) == [10, 20]);
}

/// Both neighbours expose and access at once, two times.
#[test]
fn neighbours_exchange_by_post_and_start() {
    let rank = |me: u32| {
        let other = 1 - me;
        let round = |value| {
            let opens = [set(1, 0, value), post(&[other]), start(&[other])];
            let ops = [put(other, 0, 1), accumulate(other, 1, 1, sum(), 1)];
            opens.into_iter().chain(ops).chain([complete(), wait_window(), load(0), load(1)])
        };
        on_window(2, round(10 + u64::from(me)).chain(round(20 + u64::from(me))))
    };
    check_all("halo of two", &[rank(0), rank(1)], |world| {
        loads(world, 0) == [11, 11, 21, 32] && loads(world, 1) == [10, 10, 20, 30]
    });
}

/// An epoch of another kind between two fences: every rank counts the same fences.
#[test]
fn a_lock_between_fences_does_not_part_the_ranks() {
    for rules in Rules::ALL {
        let ops =
            [fence(), lock(0, SHARED), put(0, 0, 1), unlock(0), fence(), put(0, 1, 1), fence()];
        let origin = on_window(2, [set(1, 0, 3)].into_iter().chain(ops));
        let target = on_window(2, [fence(), fence(), fence(), load(0), load(1)]);
        let small = world_of(&[target, origin], Settings { rules, ..LAZY });
        check("a lock between fences", &small, |world| loads(world, 0) == [3, 3]);
    }
}

/// Dynamic windows: what is attached may be accessed, by others and at home.
#[test]
fn dynamic_windows_reach_attached_memory() {
    let place = |index| attached(0, index, 1);
    let steps = |me: u32| {
        let does = || Operation::Put { origin: buffer(1, 1) };
        let ops = [operate(0, place(u64::from(me)), does(), None)];
        let opens = [window_of(Flavor::Dynamic, 0), attach(0, 2), Next::Call(barrier(WORLD))];
        let ends = [Next::Call(barrier(WORLD)), detach(0), free_window()];
        let body = [set(1, 0, 5 + u64::from(me))].into_iter().chain(epoch(0, SHARED, ops));
        opens.into_iter().chain(body).chain(ends).collect::<Vec<_>>()
    };
    check_all("dynamic window", &[steps(0), steps(1)], |world| {
        [word(world, 0, 0), word(world, 0, 1)] == [5, 6]
    });
}

/// Nobody answers an exclusive unlock: memory is detached after the operations before it.
#[test]
fn memory_is_detached_after_the_last_operation() {
    let opens = || [window_of(Flavor::Dynamic, 0), attach(0, 2), Next::Call(barrier(WORLD))];
    let ends = || [Next::Call(barrier(WORLD)), detach(0), free_window()];
    let owner: Vec<Line> = opens().into_iter().chain(ends()).collect();
    let does = || Operation::Put { origin: buffer(1, 1) };
    let puts = [0, 1].map(|index| operate(0, attached(0, index, 1), does(), None));
    let body = [set(1, 0, 4)].into_iter().chain(epoch(0, EXCLUSIVE, puts));
    let origin: Vec<Line> = opens().into_iter().chain(body).chain(ends()).collect();
    let messages = settings().into_iter().filter(|(_, rma)| rma.transport == Transport::Messages);
    for (name, rma) in messages {
        let small = world_of(&[owner.clone(), origin.clone()], rma);
        check(&format!("detach after unlock, {name}"), &small, |world| {
            [word(world, 0, 0), word(world, 0, 1)] == [4, 4]
        });
    }
}

/// The price of that: after the unlock, and a message by way of a third rank, a load without a lock
/// may miss the value.
#[test]
fn a_load_without_a_lock_may_miss_an_exclusive_write() {
    let hears = |from| Next::Call(recv(WORLD, Some(from), Some(0), 91, 8));
    let tells = |to| Next::Call(send(WORLD, to, 0, 8));
    let puts = epoch(0, EXCLUSIVE, [put(0, 0, 1)]);
    let writer = on_window(1, [set(1, 0, 7)].into_iter().chain(puts).chain([tells(2)]));
    let between = on_window(1, [hears(1), tells(0)]);
    for locks in [true, false] {
        let reads = if locks { epoch(0, SHARED, [load(0)]) } else { vec![load(0)] };
        let reader = on_window(1, [hears(2)].into_iter().chain(reads));
        let programs = [reader, writer.clone(), between.clone()];
        let small = world_of(&programs, Settings { merge: false, ..LAZY });
        let survey = explored(&small, |world| loads(world, 0) == [7]);
        assert_eq!(survey.is_clean(), locks, "{survey:#?}");
    }
}

/// Exclusive unlocks that nobody answers have come when the window is gone.
#[test]
fn a_window_is_freed_after_the_last_unlock() {
    let writer = |index, value| {
        let steps = epoch(0, EXCLUSIVE, [put(0, index, 1), put(0, index, 1)]);
        on_window(2, [set(1, 0, value)].into_iter().chain(steps))
    };
    let rma = Settings { done_after_merge: false, ..LAZY };
    for (name, rma) in settings().into_iter().chain([("one way", rma)]) {
        // Two puts of one value to one place: their order does not matter here.
        let small = world_of(&[writer(0, 1), writer(1, 2)], Settings { watch: false, ..rma });
        check(&format!("free after unlock, {name}"), &small, |world| {
            [word(world, 0, 0), word(world, 0, 1)] == [1, 2]
        });
    }
}

/// A flush by one thread does not wait for a call of another one, which waits for the flush.
#[test]
fn two_threads_flush_one_window() {
    let first = flushes_and_tells(Next::Call(send(WORLD, 0, 3, 8)));
    let hears = Next::Call(recv(WORLD, Some(0), Some(3), 92, 8));
    let second = vec![set(2, 0, 6), put(1, 1, 2), hears, flush(1)];
    let target = on_window(2, []);
    for (name, rma) in settings() {
        let small = Small::threads(vec![vec![first.clone(), second.clone()], vec![target.clone()]]);
        let small = Small { rma, ..small };
        check(&format!("two threads flush, {name}"), &small, |world| {
            [word(world, 1, 0), word(world, 1, 1)] == [5, 6]
        });
    }
}

/// Locks that nobody checks, over RDMA: no message but those that make and free the window.
#[test]
fn unchecked_locks_of_all_over_rdma() {
    let adder = |value| {
        let ops = [fetch(0, 0, sum(), 1, 3), flush(0), fetch(0, 0, NO_OP, 9, 4), put(0, 1, 1)];
        let body = [lock_all_unchecked()].into_iter().chain(ops).chain([unlock_all()]);
        on_window(2, [set(1, 0, value)].into_iter().chain(body))
    };
    // Both put to one word, whatever becomes of it.
    let rma = Settings { transport: Transport::Rdma, watch: false, ..LAZY };
    let small = world_of(&[adder(1), adder(10)], rma);
    check("unchecked adders over rdma", &small, |world| {
        let (first, second) = (value(world, 0, 4), value(world, 1, 4));
        word(world, 0, 0) == 11 && [first, second].contains(&11)
    });
}

/// What is followed alone leaves no end out: windows that no HCA reaches are touched at any moment.
#[test]
fn the_reduction_finds_the_same_ends() {
    let adder = |value| {
        let steps = epoch(0, SHARED, [accumulate(0, 0, 1, sum(), 1), fetch(0, 0, NO_OP, 9, 3)]);
        on_window(2, [set(1, 0, value)].into_iter().chain(steps))
    };
    let writer = on_window(2, writes_two(7, EXCLUSIVE));
    for programs in [vec![adder(1), adder(10)], vec![adder(1), writer]] {
        for (name, rma) in settings() {
            let small = world_of(&programs, rma);
            let holds = |world: &World| word(world, 0, 0) == 11;
            let found = [true, false].map(|reduce| {
                let judge = |world: &World| {
                    let (statement, detail) = ("a sum of eleven", String::new());
                    let broken = Violation { id: "end", statement, objects: Vec::new(), detail };
                    (!holds(world)).then_some(broken)
                };
                let budget = Budget { states: 3_000_000, reduce };
                let survey = explore::judged(&small.world(), budget, judge);
                let laws: Vec<_> = survey.violations.iter().map(|(law, _)| law.id).collect();
                assert!(survey.complete);
                ((survey.finals, survey.dead, laws, survey.faults.len()), survey.states)
            });
            assert_eq!(found[0].0, found[1].0, "{name}");
            assert!(found[0].1 <= found[1].1, "{name}: {found:?}");
        }
    }
}

/// What every order stops with.
#[track_caller]
fn check_refused(programs: &[Vec<Line>], rma: Settings, words: &str) {
    let survey = explored(&world_of(programs, rma), |_| true);
    assert!(!survey.faults.is_empty() && survey.finals == 0, "{words}: {survey:#?}");
    for (fault, _) in &survey.faults {
        assert!(fault.to_string().contains(words), "`{fault}` does not say `{words}`");
    }
}

/// Misuse is said in words: who, what, where.
#[test]
fn misuse_is_refused_in_words() {
    let idle = || on_window(2, []);
    let alone = |steps: Vec<Line>| [idle(), on_window(2, steps)];
    let wrong: Vec<(Vec<Line>, &str)> = vec![
        (epoch(0, SHARED, [put(0, 2, 1)]), "leave the 16 B of rank 0"),
        (epoch(0, SHARED, [put(0, u64::MAX, 1)]), "leave the 16 B of rank 0"),
        (epoch(0, SHARED, [get(1, 0, 1, 1), unlock(1)]), "lock"),
        (vec![unlock(0)], "lock"),
        (vec![fence(), put(0, 0, 1), flush(0)], "flush"),
        (vec![start(&[0]), flush(0)], "flush"),
        (vec![lock(7, SHARED)], "the window has no rank 7, only 2"),
        (epoch(0, SHARED, [put(9, 0, 1)]), "the window has no rank 9, only 2"),
        (vec![post(&[3])], "the window has no rank 3, only 2"),
        (vec![put(0, 0, 1)], "epoch"),
        (
            epoch(
                0,
                SHARED,
                [operate(0, words(0, 2), Operation::Put { origin: buffer(1, 1) }, None)],
            ),
            "buffers of 8 B and 0 B do not fit 16 B",
        ),
        (vec![attach(0, 2)], "only a dynamic window has memory attached"),
    ];
    for (steps, words) in wrong {
        for (_, rma) in settings() {
            check_refused(&alone(steps.clone()), rma, words);
        }
    }
}

/// R13: memory that is not attached, by others, at home, and behind a lock that is held; by
/// messages and by HCAs.
#[test]
fn detached_memory_is_refused_in_words() {
    let opens = || vec![window_of(Flavor::Dynamic, 0), attach(0, 2), Next::Call(barrier(WORLD))];
    let put_there = |kind| {
        let does = Operation::Put { origin: buffer(1, 1) };
        epoch(0, kind, [operate(0, attached(0, 0, 1), does, None)])
    };
    for (_, rma) in settings() {
        let home = [opens(), vec![detach(0)], put_there(SHARED), vec![free_window()]].concat();
        let other = [opens(), vec![free_window()]].concat();
        check_refused(&[home, other], rma, "memory is not attached");
        let again = || Next::Call(barrier(WORLD));
        let owner = [opens(), vec![detach(0), again(), free_window()]].concat();
        let other = [opens(), vec![again()], put_there(SHARED), vec![free_window()]].concat();
        check_refused(&[owner, other], rma, "memory is not attached");
        let holder =
            [opens(), vec![lock(0, EXCLUSIVE), again(), detach(0), unlock(0), free_window()]];
        let other = [opens(), vec![again()], put_there(EXCLUSIVE), vec![free_window()]].concat();
        let survey = explored(&world_of(&[holder.concat(), other], rma), |_| true);
        assert!(!survey.faults.is_empty() && survey.violations.is_empty(), "{survey:#?}");
    }
}

/// Operations that travel in several packets are whole when their epoch ends, whatever ends it, and
/// when their request is complete.
#[test]
fn operations_in_pieces_are_whole_when_their_epoch_ends() {
    let values = || (0..3).map(|index| set(1, index, 5 + index)).collect::<Vec<_>>();
    let put3 = || {
        let does = Operation::Put { origin: buffer(1, 3) };
        operate(0, words(0, 3), does, None)
    };
    let get3 = |request| {
        let does = Operation::Get { into: buffer(4, 3) };
        operate(0, words(0, 3), does, request)
    };
    let three = |of: fn(u64) -> Line| (0..3).map(of).collect::<Vec<_>>();
    let is_whole = |world: &World| loads(world, 0) == [5, 6, 7];
    for (issue, segment) in
        [(Issue::Lazy, 1), (Issue::Lazy, 2), (Issue::Eager, 1), (Issue::Eager, 2)]
    {
        let rma = Settings { issue, segment: Some(segment * WORD), merge: false, ..LAZY };
        let of_two = |what: &str, target: Vec<Line>, origin: Vec<Line>| {
            let programs = [on_window(3, target), on_window(3, origin)];
            let what = format!("{what}, {issue:?}, {segment} words a packet");
            check(&what, &world_of(&programs, rma), is_whole);
        };
        let target = [vec![fence(), fence()], three(load)].concat();
        let origin = [values(), vec![fence(), put3(), fence()]].concat();
        of_two("fence", target, origin);
        let target = [vec![post(&[1]), wait_window()], three(load)].concat();
        let origin = [values(), vec![start(&[0]), put3(), complete()]].concat();
        of_two("post and start", target, origin);
        // The reader finds all or nothing under locks that exclude each other.
        let writer = on_window(3, [values(), epoch(0, EXCLUSIVE, [put3()])].concat());
        let reader = on_window(3, epoch(0, SHARED, [get3(None)]));
        let idle = on_window(3, []);
        let what = format!("locks, {issue:?}, {segment} words a packet");
        check(&what, &world_of(&[idle, writer, reader], rma), |world| {
            let read = [0, 1, 2].map(|index| value_at(world, 2, 4, index));
            read == [5, 6, 7] || read == [0; 3]
        });
        // A request is complete with the last of its answers.
        let waits = Next::Call(Call::Wait { request: Handle(7) });
        let stores = (0..3).map(|index| store(index, 5 + index)).collect::<Vec<_>>();
        let owner = [stores, vec![window(3), free_window()]].concat();
        let copies = (0..3).map(|index| {
            let word = |id| buffer(id, 3).part(index * WORD, WORD);
            Next::Copy(word(4), word(6))
        });
        let steps = [lock(0, SHARED), get3(Some(7)), waits].into_iter().chain(copies);
        let reader = on_window(3, steps.chain([unlock(0)]));
        let what = format!("request, {issue:?}, {segment} words a packet");
        check(&what, &world_of(&[owner, reader], rma), |world| {
            [0, 1, 2].map(|index| value_at(world, 1, 6, index)) == [5, 6, 7]
        });
    }
}
