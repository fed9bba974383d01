//! Windows: puts, gets, locks and fences.

use super::Case;
use crate::small::{Small, WORLD, World, barrier, iprobe, recv, send};
use crate::windows;
use mpisim::protocols::call::Call;
use mpisim::protocols::contract::{Handle, Next, Process, Thread};
use mpisim::protocols::mutant::Mutant;
use mpisim::protocols::rma::call::{Flavor, Operation, Spacing};
use mpisim::protocols::rma::{Issue, MappedLocks, Settings, Transport};

/// Programs of one-sided calls on a window of two words, by rank.
fn on_windows(programs: Vec<Vec<Next<Call>>>, rma: Settings) -> Small {
    let program = |steps: Vec<Next<Call>>| {
        let opens = [windows::window(2)].into_iter();
        vec![opens.chain(steps).chain([windows::free_window()]).collect()]
    };
    Small { rma, ..Small::threads(programs.into_iter().map(program).collect()) }
}

const UNMERGED: Settings = Settings { merge: false, ..windows::LAZY };

const EAGER: Settings = Settings { issue: Issue::Eager, ..UNMERGED };

fn value(world: &World, rank: u32, id: u32, index: u64) -> u64 {
    let region = windows::buffer(id, index + 1).part(index * windows::WORD, windows::WORD);
    world.memories().load(Process(rank), region)
}

fn own_word(world: &World, rank: u32, index: u64) -> u64 {
    world.memories().load(Process(rank), windows::own_word(index))
}

/// A rank writes two words alone, another reads both.
fn a_writer_and_a_reader() -> Case {
    use windows::{EXCLUSIVE, SHARED, get, lock, put, set, unlock};
    let writer = vec![
        set(1, 0, 7),
        lock(0, EXCLUSIVE),
        put(0, 0, 1),
        windows::flush(0),
        put(0, 1, 1),
        unlock(0),
    ];
    let reader = vec![lock(0, SHARED), get(0, 0, 2, 0), unlock(0)];
    Case {
        found: &[(Mutant::SharedJoins, "R10")],
        harmless: &[Mutant::LocksAtOnce, Mutant::ExtraFlush, Mutant::DoneLost],
        ..Case::new(on_windows(vec![vec![], writer, reader], UNMERGED)).judged(
            "R10",
            "an exclusive epoch overlaps no other one",
            |world| value(world, 2, 0, 0) == value(world, 2, 0, 1),
        )
    }
}

/// The same in memory that all map, whose lock is a ticket lock there.
fn a_writer_and_a_reader_of_mapped_memory() -> Case {
    use windows::{EXCLUSIVE, SHARED, free_window, get, lock, put, set, unlock, window_of};
    let opens = || window_of(Flavor::Shared(Spacing::Contiguous), 2);
    let writer = vec![
        opens(),
        set(1, 0, 7),
        lock(0, EXCLUSIVE),
        put(0, 0, 1),
        put(0, 1, 1),
        unlock(0),
        free_window(),
    ];
    let gets = [get(0, 0, 1, 0), get(0, 1, 1, 2)];
    let reader = [opens(), lock(0, SHARED)].into_iter().chain(gets);
    let reader = reader.chain([unlock(0), free_window()]).collect();
    let rma = Settings { mapped_locks: MappedLocks::Atomics, ..UNMERGED };
    let world = Small::threads(vec![vec![writer], vec![reader]]);
    Case {
        found: &[(Mutant::EntersWithReaders, "R10"), (Mutant::ForgetsReaders, "deadlock")],
        harmless: &[Mutant::ExtraFlush, Mutant::SharedJoins],
        ..Case::new(Small { rma, together: true, ..world }).judged(
            "R10",
            "an exclusive epoch overlaps no other one",
            |world| value(world, 1, 0, 0) == value(world, 1, 2, 0),
        )
    }
}

/// The same by one operation in two packets.
fn a_writer_in_pieces() -> Case {
    use windows::{EXCLUSIVE, SHARED, WORD, buffer, get, lock, operate, set, unlock, words};
    let both = Operation::Put { origin: buffer(1, 2) };
    let both = operate(0, words(0, 2), both, None);
    let writer = vec![set(1, 0, 7), set(1, 1, 7), lock(0, EXCLUSIVE), both, unlock(0)];
    let reader = vec![lock(0, SHARED), get(0, 0, 2, 0), unlock(0)];
    let pieces = Settings { segment: Some(WORD), ..UNMERGED };
    Case {
        found: &[(Mutant::FirstPieceCloses, "R10")],
        harmless: &[Mutant::LocksAtOnce],
        ..Case::new(on_windows(vec![vec![], writer, reader], pieces)).judged(
            "R10",
            "an exclusive epoch overlaps no other one",
            |world| value(world, 2, 0, 0) == value(world, 2, 0, 1),
        )
    }
}

/// Two processes of two threads each, which take the locks of two ranks in crossed order.
fn crossed_locks_of_mapped_memory() -> Case {
    use windows::{EXCLUSIVE, free_window, lock, unlock, window_of};
    let process = |mine: u32| {
        let opens = [window_of(Flavor::Shared(Spacing::Contiguous), 1), Next::Fork];
        let takes = |target: u32| [lock(target, EXCLUSIVE), unlock(target)];
        let first = opens.into_iter().chain(takes(mine));
        vec![first.chain([Next::Join, free_window()]).collect(), takes(1 - mine).into()]
    };
    let world = Small::threads(vec![process(0), process(1)]);
    Case {
        found: &[(Mutant::WaitsForAllLocks, "deadlock")],
        harmless: &[Mutant::ExtraFlush],
        ..Case::new(Small { rma: UNMERGED, together: true, ..world })
    }
}

/// The owner writes two words under its own lock.
fn a_writer_at_home() -> Case {
    use windows::{EXCLUSIVE, get, lock, store, unlock};
    // A look at the queues lets others in.
    let look = || Next::Call(iprobe(WORLD));
    let writer = vec![look(), lock(0, EXCLUSIVE), store(0, 7), look(), store(1, 7), unlock(0)];
    let reader = vec![lock(0, EXCLUSIVE), get(0, 0, 2, 0), windows::flush(0), unlock(0)];
    Case {
        found: &[(Mutant::OwnLockAtOnce, "R10")],
        harmless: &[Mutant::LocksAtOnce],
        ..Case::new(on_windows(vec![writer, reader], UNMERGED)).judged(
            "R10",
            "an exclusive epoch overlaps no other one",
            |world| value(world, 1, 0, 0) == value(world, 1, 0, 1),
        )
    }
}

/// A third rank that is told of a value reads it by its HCA.
fn a_value_by_hearsay() -> Case {
    use windows::{SHARED, accumulate, get, lock, set, unlock};
    let tells = Next::Call(send(WORLD, 2, 0, 8));
    let update = accumulate(0, 0, 1, windows::REPLACE, 1);
    let writer = vec![set(1, 0, 7), lock(0, SHARED), update, unlock(0), tells];
    let hears = Next::Call(recv(WORLD, Some(1), Some(0), 91, 8));
    let reader = vec![windows::lock_all_unchecked(), hears, get(0, 0, 1, 0), windows::unlock_all()];
    let mixed = Settings { transport: Transport::Mixed, ..UNMERGED };
    Case {
        found: &[(Mutant::AnswersFirst, "R8"), (Mutant::DoneLost, "deadlock")],
        harmless: &[Mutant::LocksAtOnce],
        ..Case::new(on_windows(vec![vec![], writer, reader], mixed)).judged(
            "R8",
            "what an epoch wrote is there when a third rank hears of its end",
            |world| value(world, 2, 0, 0) == 7,
        )
    }
}

/// The owner holds the lock until it has heard that rank 1 asked, and then rank 2.
fn a_queue_for_a_lock() -> Case {
    use windows::{EXCLUSIVE, lock, put, set, unlock};
    let hears = |from| Next::Call(recv(WORLD, Some(from), Some(0), 90 + from, 8));
    let tells = |to| Next::Call(send(WORLD, to, 0, 8));
    let owner = vec![lock(0, EXCLUSIVE), hears(1), tells(2), hears(2), unlock(0)];
    // The message follows the request.
    let writes = |value| [set(1, 0, value), lock(0, EXCLUSIVE), tells(0), put(0, 0, 1), unlock(0)];
    let second = [hears(0)].into_iter().chain(writes(9)).collect();
    Case {
        found: &[(Mutant::GrantsNewest, "lock-order")],
        ..Case::new(on_windows(vec![owner, writes(7).into(), second], EAGER)).judged(
            "lock-order",
            "a lock is granted in the order of the requests",
            |world| own_word(world, 0, 0) == 9,
        )
    }
}

fn a_sum() -> Case {
    use windows::{SHARED, accumulate, flush, lock, set, unlock};
    let add = || accumulate(0, 0, 1, windows::sum(), 1);
    let adder = vec![set(1, 0, 7), lock(0, SHARED), add(), flush(0), flush(0), add(), unlock(0)];
    Case {
        found: &[(Mutant::IssuesTwice, "R12")],
        harmless: &[Mutant::ExtraFlush],
        ..Case::new(on_windows(vec![vec![], adder], UNMERGED)).judged(
            "R12",
            "every operation is applied once",
            |world| own_word(world, 0, 0) == 14,
        )
    }
}

fn two_gets() -> Case {
    use windows::{SHARED, get, lock, store, unlock};
    let barrier = || Next::Call(barrier(WORLD));
    let owner = vec![store(0, 5), store(1, 6), barrier()];
    let reader = vec![barrier(), lock(0, SHARED), get(0, 0, 1, 3), get(0, 1, 1, 4), unlock(0)];
    Case {
        found: &[(Mutant::WrongSlot, "R7")],
        ..Case::new(on_windows(vec![owner, reader], UNMERGED)).judged(
            "R7",
            "each operation has its own bytes",
            |world| [value(world, 1, 3, 0), value(world, 1, 4, 0)] == [5, 6],
        )
    }
}

fn loads_are(expected: &'static [u64]) -> impl Fn(&World) -> bool {
    move |world| world.program(Process(0), Thread(0)).loads == expected
}

const R9: &str = "an active epoch ends when its operations are done";

/// One put between two fences.
fn a_fence(rma: Settings) -> Case {
    use windows::{fence, load, put, set};
    let origin = vec![set(1, 0, 7), fence(), put(0, 0, 1), fence()];
    let target = vec![fence(), fence(), load(0)];
    let case = Case::new(on_windows(vec![target, origin], rma));
    let case = case.judged("R9", R9, loads_are(&[7]));
    let harmless = &[Mutant::LocksAtOnce];
    match rma.issue {
        Issue::Eager => Case { found: &[(Mutant::FenceWithoutBarrier, "R9")], harmless, ..case },
        _ => Case { found: &[(Mutant::CountsOneMore, "deadlock")], harmless, ..case },
    }
}

/// Two operations of one epoch between start and complete.
fn a_posted_window(rma: Settings) -> Case {
    use windows::{REPLACE, accumulate, complete, load, post, set, start, wait_window};
    let replace = |id| accumulate(0, 0, 1, REPLACE, id);
    let opens = [set(1, 0, 5), set(2, 0, 6), start(&[0])];
    // A look at the queues may find the post.
    let look = Next::Call(iprobe(WORLD));
    let origin = opens.into_iter().chain([replace(1), look, replace(2), complete()]).collect();
    let target = vec![post(&[1]), wait_window(), load(0)];
    let world = on_windows(vec![target, origin], rma);
    match rma.issue {
        Issue::Eager => Case {
            found: &[(Mutant::Overtakes, "R4")],
            ..Case::new(world).judged(
                "R4",
                "accumulates of one origin keep their order",
                loads_are(&[6]),
            )
        },
        _ => Case {
            found: &[(Mutant::CompletesFirst, "R9")],
            harmless: &[Mutant::Overtakes],
            ..Case::new(world).judged("R9", R9, loads_are(&[6]))
        },
    }
}

fn a_read_at_home() -> Case {
    use windows::{NO_OP, REPLACE, SHARED, accumulate, fetch, lock, set, unlock};
    let steps = vec![
        set(1, 0, 5),
        lock(0, SHARED),
        accumulate(0, 0, 1, REPLACE, 1),
        fetch(0, 0, NO_OP, 9, 3),
        unlock(0),
    ];
    let rdma = Settings { transport: Transport::Rdma, ..UNMERGED };
    Case {
        found: &[(Mutant::CoreReadsFirst, "R4")],
        ..Case::new(on_windows(vec![steps], rdma)).judged(
            "R4",
            "accumulates of one origin keep their order",
            |world| value(world, 0, 3, 0) == 5,
        )
    }
}

/// The second thread flushes when it has heard that the first one has.
fn two_threads_flush() -> Case {
    use windows::{flush, free_window, put, set, window};
    let tells = Next::Call(send(WORLD, 0, 3, 8));
    let hears = Next::Call(recv(WORLD, Some(0), Some(3), 92, 8));
    let first = windows::flushes_and_tells(tells);
    let second = vec![set(2, 0, 6), put(1, 1, 2), hears, flush(1)];
    let target = vec![window(2), free_window()];
    let world = Small::threads(vec![vec![first, second], vec![target]]);
    Case {
        found: &[(Mutant::FlushWaitsForOthers, "deadlock")],
        ..Case::new(Small { rma: UNMERGED, ..world })
    }
}

const R7: &str = "what was synchronised is complete";

/// A third rank gets a word when it hears of the flush behind the put; messages to the target itself would come
/// behind the put.
fn a_put_and_a_flush() -> Case {
    use windows::{SHARED, flush, get, lock, put, set, unlock};
    let tells = Next::Call(send(WORLD, 2, 0, 8));
    let hears = Next::Call(recv(WORLD, Some(1), Some(0), 91, 8));
    let origin = vec![set(1, 0, 7), lock(0, SHARED), put(0, 0, 1), flush(0), tells, unlock(0)];
    let reader = vec![hears, lock(0, SHARED), get(0, 0, 1, 3), unlock(0)];
    Case {
        found: &[(Mutant::FlushIsLocal, "R2")],
        harmless: &[Mutant::RequestAtOnce],
        ..Case::new(on_windows(vec![vec![], origin, reader], EAGER))
            .judged("R7", R7, |world| value(world, 2, 3, 0) == 7)
    }
}

/// The origin loads what it got when the request of the get is complete.
fn a_get_with_a_request() -> Case {
    use windows::{SHARED, buffer, lock, operate, store, unlock, words};
    let barrier = || Next::Call(barrier(WORLD));
    let owner = vec![store(0, 5), barrier()];
    let get = operate(0, words(0, 1), Operation::Get { into: buffer(3, 1) }, Some(9));
    let wait = Next::Call(Call::Wait { request: Handle(9) });
    let reader = vec![barrier(), lock(0, SHARED), get, wait, Next::Load(buffer(3, 1)), unlock(0)];
    Case {
        found: &[(Mutant::RequestAtOnce, "R7")],
        harmless: &[Mutant::FlushIsLocal],
        ..Case::new(on_windows(vec![owner, reader], EAGER))
            .judged("R7", R7, |world| world.program(Process(1), Thread(0)).loads == [5])
    }
}

pub(super) fn cases() -> Vec<(&'static str, Case)> {
    vec![
        ("3 ranks, a writer and a reader of two words", a_writer_and_a_reader()),
        (
            "2 ranks, a writer and a reader of mapped memory",
            a_writer_and_a_reader_of_mapped_memory(),
        ),
        ("2 x 2 threads, crossed locks of mapped memory", crossed_locks_of_mapped_memory()),
        ("3 ranks, a writer of two packets and a reader", a_writer_in_pieces()),
        ("2 ranks, the owner writes two words", a_writer_at_home()),
        ("3 ranks, two wait for a lock", a_queue_for_a_lock()),
        ("3 ranks, a value by hearsay", a_value_by_hearsay()),
        ("2 ranks, a sum", a_sum()),
        ("2 ranks, two gets", two_gets()),
        ("3 ranks, a put and a flush", a_put_and_a_flush()),
        ("2 ranks, a get with a request", a_get_with_a_request()),
        ("2 ranks, an eager fence", a_fence(EAGER)),
        ("2 ranks, a lazy fence", a_fence(UNMERGED)),
        ("2 ranks, post and start, lazy", a_posted_window(UNMERGED)),
        ("2 ranks, post and start, eager", a_posted_window(EAGER)),
        ("1 rank, replace and read over rdma", a_read_at_home()),
        ("2 processes, 2 threads flush", two_threads_flush()),
    ]
}
