//! Counters that cores of a node share: what it takes to change and to read them, and which threads wait.
//!
//! ```text
//!   ticket ──▶ my turn? ──no──▶ polls ◀── line ── the core that changes the number last
//! ```
//!
//! The three numbers of a lock lie in one line, and so may those of its neighbours
//! (`mpi.rma_rank_state`): a core that did not have it last waits for its transfer. A thread that waits for its
//! ticket looks at the line again after each change, and has it then; between two looks it makes progress,
//! so that it meets the value at its next poll.
//!
//! Source: `OSCSM`. Left out: the way of the line before its first use, and that a line which many want
//! at once comes to one after the other; several waiting cores read copies of it at once there. Noticeable
//! with many ranks. What lies before the state of rank 0 is taken for whole lines.

use std::collections::BTreeMap;

use crate::timed::context::Context;
use crate::timed::costs::Costs;
use crate::timed::event::{Event, Phase};
use crate::timed::network::flight::{Arrival, Arrived};
use crate::timed::slab::Slab;
use crate::untimed::Choice;
use hardware::core::Place;
use mpi::rma::ticket_lock::TicketLock;
use protocols::contract::{Counter, Lane, Process, Token};
use units::{Time, TimeDelta};

/// Lines of lock counters, and threads that wait for the value of one.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// Which core has a line.
    lines: BTreeMap<StateLine, Place>,
    waiting: Vec<Waiter>,
    /// Values that a core will see.
    seen: Slab<Notice>,
}

/// A thread that waits for the value of a counter.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    thread: u32,
    place: Place,
    counter: Counter,
    value: u32,
    notice: Notice,
}

/// The process that sees a value, and by which token.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Notice {
    pub(crate) process: Process,
    pub(crate) lane: Lane,
    pub(crate) token: Token,
}

/// A line of what ranks keep for a window that they map: the name of its memory, and which line.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct StateLine(u32, u64);

fn line_of(lock: TicketLock, costs: &Costs) -> StateLine {
    let profile = &costs.profile;
    let first = profile.mpi.rma_rank_state.as_u64() * u64::from(lock.rank);
    StateLine(lock.memory, first / profile.cache.line.as_u64())
}

impl Waiters {
    /// The line of a lock comes into the cache of a core: how long that takes.
    pub(crate) fn fetch(&mut self, here: Place, lock: TicketLock, costs: &Costs) -> TimeDelta {
        let here = here.of_core();
        match self.lines.insert(line_of(lock, costs), here) {
            Some(there) if there != here => costs.line_transfer(there, here),
            Some(_) | None => TimeDelta::ZERO,
        }
    }

    /// The core of `thread`, at `place`, waits for a value of a counter.
    pub(crate) fn wait(
        &mut self,
        (thread, place): (u32, Place),
        (counter, value): (Counter, u32),
        notice: Notice,
    ) {
        self.waiting.push(Waiter { thread, place, counter, value, notice });
    }

    /// A number of a lock was changed by `thread` at `here` until `end`: those that wait look at it,
    /// and see the value that `value` gives.
    pub(crate) fn changed(
        &mut self,
        (thread, here): (u32, Place),
        lock: TicketLock,
        end: Time,
        value: impl Fn(Counter) -> u32,
        cx: &mut Context,
    ) {
        let of_lock =
            |one: &Waiter| matches!(one.counter, Counter::Lock(other, _) if other == lock);
        let waiting: Vec<Waiter> = self.waiting.iter().copied().filter(of_lock).collect();
        for waiter in waiting {
            self.lines.insert(line_of(lock, &cx.costs), waiter.place.of_core());
            if value(waiter.counter) == waiter.value {
                self.waiting.retain(|other| {
                    other.notice.token != waiter.notice.token || other.thread != waiter.thread
                });
                let seen = end + cx.costs.line_transfer(here, waiter.place);
                self.will_see(thread, waiter.notice, seen, cx);
            }
        }
    }

    /// A process can see a value at `at`, by what `thread` did.
    pub(crate) fn will_see(&mut self, thread: u32, notice: Notice, at: Time, cx: &mut Context) {
        let id = self.seen.insert(|| notice);
        cx.observers.trace(|path| path.calls_next(id, thread));
        cx.schedule(at, thread, Phase::Neighbour, Event::Seen(id));
    }

    /// A process has died: it looks at no line any more.
    pub(crate) fn forget(&mut self, process: Process) {
        self.waiting.retain(|waiter| waiter.notice.process != process);
    }

    /// Whether what can be seen now is for a process that died: then it is gone.
    pub(crate) fn is_lost(&mut self, dead: Process, id: u32, cx: &mut Context) -> bool {
        let lost = self.seen.get(id).process == dead;
        if lost {
            self.seen.remove(id);
            cx.observers.trace(|path| path.is_not_seen(id));
        }
        lost
    }

    /// The process that will see a value.
    pub(crate) fn process_of(&self, id: u32) -> Process {
        self.seen.peek(id).process
    }

    /// The line is there: the next poll meets it.
    pub(crate) fn see(&mut self, id: u32, cx: &mut Context) -> Arrival {
        let Notice { process, lane, token } = self.seen.remove(id);
        let (thread, now) = (cx.layout.first_of(process), cx.now());
        cx.observers.trace(|path| path.sees_its_turn(id, thread, now));
        cx.observers.record(|| Choice::Finish { process, token });
        Arrival { process, lane, entry: Arrived::Seen(token) }
    }

    /// Threads that wait.
    pub(crate) const fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Values that are about to be seen.
    pub(crate) const fn under_way(&self) -> usize {
        self.seen.len()
    }
}
