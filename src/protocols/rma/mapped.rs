//! Locks of windows that are mapped, taken and given back by atomics of the origin.
//!
//! ```text
//!   lock     read numbers, take a ticket ─▶ read numbers ── my turn ─────────────▶ shared: call the next
//!                                               └─ not yet ─▶ poll … turn called ─▶ shared: call the next
//!   unlock   call the next: one number, or two
//! ```
//!
//! No packet is sent, and the target does nothing. A thread that waits makes progress between its looks
//! at the number. A lock of all takes the locks of all ranks, one after the other.
//!
//! Source: `OSCSM`; the numbers are those of [`TicketLock`].

use super::token::token;
use crate::contract::{Action, COUNTERS, Change, Counter, Thread, Token};
use crate::wire::LibraryAction;
use mpi::rma::synchronisation::LockKind;
use mpi::rma::ticket_lock::{Number, TicketLock};

/// The first slot of tokens that names a thread.
/// Encoding: operations have the lowest slots.
const THREADS: u32 = 0xFFFF_0000;

/// The thread that a slot names; `None` where it names an operation.
pub(super) fn thread_of(slot: u32) -> Option<Thread> {
    slot.checked_sub(THREADS).and_then(|thread| u16::try_from(thread).ok()).map(Thread)
}

/// A lock that a thread is taking.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Taking {
    thread: Thread,
    lock: TicketLock,
    kind: LockKind,
    stage: Stage,
}

/// How far it is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Stage {
    /// Its thread is taking another one.
    Queued,
    /// It reads the number of tickets, and takes one.
    Tickets,
    /// It looks whether its ticket is called.
    Looks(u32),
    /// It is not: it waits.
    Waits(u32),
}

/// Result of a look at the numbers of a lock.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Look {
    /// The ticket of the thread is called: it has the lock.
    Called,
    /// The thread reads on, or waits.
    NotYet,
}

/// The locks of a window that threads are taking by atomics, in the order of their calls.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Takings(Vec<Taking>);

impl Takings {
    /// A thread takes a lock of this window, once it has those that it called for before.
    pub(super) fn take(
        &mut self,
        window: u32,
        thread: Thread,
        (lock, kind): (TicketLock, LockKind),
        out: &mut Vec<LibraryAction>,
    ) {
        self.0.push(Taking { thread, lock, kind, stage: Stage::Queued });
        self.take_next(window, thread, out);
    }

    /// The first lock that a thread has called for and has not got.
    fn taking(&mut self, thread: Thread) -> Option<&mut Taking> {
        self.0.iter_mut().find(|taking| taking.thread == thread)
    }

    /// A thread begins to take the next lock that it has called for.
    pub(super) fn take_next(&mut self, window: u32, thread: Thread, out: &mut Vec<LibraryAction>) {
        let Some(taking) = self.taking(thread) else { return };
        if taking.stage == Stage::Queued {
            taking.stage = Stage::Tickets;
            read(window, thread, taking.lock, out);
        }
    }

    /// The numbers of the lock that a thread is taking are these; with `any_reader` it takes the
    /// number of readers for its own.
    pub(super) fn look(
        &mut self,
        window: u32,
        thread: Thread,
        (values, any_reader): ([u32; COUNTERS], bool),
        out: &mut Vec<LibraryAction>,
    ) -> Option<Look> {
        let taking = self.taking(thread)?;
        let lock = taking.lock;
        let awaited = if any_reader { Number::Readers } else { Number::awaited(taking.kind) };
        match taking.stage {
            Stage::Tickets => {
                let ticket = values[Number::Tickets as usize];
                grows(lock, Number::Tickets, out);
                taking.stage = Stage::Looks(ticket);
                read(window, thread, lock, out);
            }
            Stage::Looks(ticket) if values[awaited as usize] == ticket => {
                return Some(Look::Called);
            }
            Stage::Looks(ticket) => {
                taking.stage = Stage::Waits(ticket);
                let (counter, token) = (Counter::Lock(lock, awaited), lock_token(window, thread));
                out.push(Action::Watch { counter, value: ticket, token });
            }
            Stage::Queued | Stage::Waits(_) => return None,
        }
        Some(Look::NotYet)
    }

    /// Whether a thread waits for its ticket to be called.
    pub(super) fn waits(&mut self, thread: Thread) -> bool {
        self.taking(thread).is_some_and(|taking| matches!(taking.stage, Stage::Waits(_)))
    }

    /// A thread has the lock that it was taking; answers the rank whose part it locks.
    pub(super) fn end(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) -> u32 {
        let place = self.0.iter().position(|taking| taking.thread == thread);
        let Taking { lock, kind, .. } = self.0.remove(place.expect("it was looked up"));
        if kind == LockKind::Shared {
            grows(lock, Number::Readers, out);
        }
        lock.rank
    }
}

fn lock_token(window: u32, thread: Thread) -> Token {
    token(window, THREADS + u32::from(thread.0), 0)
}

fn read(window: u32, thread: Thread, lock: TicketLock, out: &mut Vec<LibraryAction>) {
    let counters = Number::ALL.map(|number| Counter::Lock(lock, number));
    out.push(Action::Consult { counters, token: lock_token(window, thread) });
}

/// One of the numbers of a lock becomes one more.
pub(super) fn grows(lock: TicketLock, number: Number, out: &mut Vec<LibraryAction>) {
    let (counter, change) = (Counter::Lock(lock, number), Change::Up);
    out.push(Action::Count { counter, change });
}
