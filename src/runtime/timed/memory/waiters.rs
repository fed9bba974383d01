//! Counters that cores of a node share: what it takes to change and to read them, and who waits.
//!
//! ```text
//!   ticket ──▶ my turn? ──no──▶ polls ◀── line ── whoever changes the number last
//! ```
//!
//! The three numbers of a lock lie in one line, and so may those of its neighbours
//! (`mpi.rma_rank_state`): a core that did not have it last waits for its way. Who waits for its turn
//! looks at the line again after each change, and has it then; between two looks it makes progress, so
//! that it meets its turn at its next poll.
//!
//! Source: `OSCSM`. Left out: the way of the line before its first use, and that a line which many want
//! at once comes to one after the other; several waiting cores read copies of it at once there. Noticeable
//! with many ranks. What lies before the state of rank 0 is taken for whole lines.

use crate::account::Part;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::network::flight::Arrived;
use crate::untimed::Choice;
use hardware::core::Place;
use mpi::rma::ticket_lock::TicketLock;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{ASKED, Change, Counter, Lane, Process, Token};
use units::{Time, TimeDelta};

/// A thread that waits for the value of a counter.
#[derive(Clone, Copy, Debug)]
pub(in crate::timed) struct Watcher {
    thread: u32,
    counter: Counter,
    value: u32,
    sight: Sight,
}

/// Who sees it, and how it is told.
#[derive(Clone, Copy, Debug)]
pub(in crate::timed) struct Sight {
    process: Process,
    lane: Lane,
    token: Token,
}

/// A line of what ranks keep for a window that they map: the name of its memory, and which line.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(in crate::timed) struct StateLine(u32, u64);

impl Sight {
    pub(in crate::timed) const fn process(&self) -> Process {
        self.process
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// A core changes a counter at `cursor`: when it has.
    pub(in crate::timed) fn change_counter(
        &mut self,
        thread: u32,
        (counter, change): (Counter, Change),
        cursor: Time,
    ) -> Time {
        let value = self.memory.counters.change(counter, change, &mut self.cx.observers.violations);
        self.memory.delayed.changed(counter, cursor, value);
        let Counter::Lock(lock, _) = counter else {
            return self.charge(thread, Part::Library, cursor, self.cx.costs.count());
        };
        let atomic = self.cx.costs.profile.coh.atomic_uncontended;
        let cost = self.fetch_state(thread, lock) + atomic;
        let end = self.charge(thread, Part::Lock, cursor, cost);
        self.tell_watchers(thread, lock, end);
        end
    }

    /// A core goes to counters that it will read: when they are there. The line of a lock is asked for
    /// only then ([`Self::read_lock`]), since nobody may ask for it ahead of the clock.
    pub(in crate::timed) fn go_to_counters(
        &mut self,
        thread: u32,
        counters: [Counter; ASKED],
        cursor: Time,
    ) -> Time {
        if let [Counter::Lock(..), ..] = counters {
            return cursor;
        }
        let cost = self.cx.costs.line_of_node() * counters.len() as u64;
        self.charge(thread, Part::Library, cursor, cost)
    }

    /// A core has read counters at `cursor`: when it goes on.
    pub(in crate::timed) fn read_lock(
        &mut self,
        thread: u32,
        counters: [Counter; ASKED],
        cursor: Time,
    ) -> Time {
        let [Counter::Lock(lock, _), ..] = counters else { return cursor };
        let cost = self.fetch_state(thread, lock);
        self.charge(thread, Part::Lock, cursor, cost)
    }

    pub(in crate::timed) fn line_of_state(&self, lock: TicketLock) -> StateLine {
        let profile = &self.cx.costs.profile;
        let first = profile.mpi.rma_rank_state.as_u64() * u64::from(lock.rank);
        StateLine(lock.memory, first / profile.cache.line.as_u64())
    }

    /// The line of a lock comes into the cache of a core: how long that takes.
    pub(in crate::timed) fn fetch_state(&mut self, thread: u32, lock: TicketLock) -> TimeDelta {
        let here = self.actor(thread).placement.place.of_core();
        let line = self.line_of_state(lock);
        match self.memory.lines.insert(line, here) {
            Some(there) if there != here => self.cx.costs.line_transfer(there, here),
            Some(_) | None => TimeDelta::ZERO,
        }
    }

    /// A core waits for a value from `cursor` on.
    pub(in crate::timed) fn watch_counter(
        &mut self,
        thread: u32,
        (counter, value, token): (Counter, u32, Token),
        cursor: Time,
    ) {
        let (process, inner) = self.names(thread);
        let lane = self.libraries[process.0 as usize].polls(inner).first;
        let sight = Sight { process, lane, token };
        if self.memory.counters.value(counter) == value {
            self.will_see(thread, sight, cursor);
        } else {
            self.memory.waiters.push(Watcher { thread, counter, value, sight });
        }
    }

    /// A number of a lock was changed by `thread` until `end`: those that wait look at it.
    pub(in crate::timed) fn tell_watchers(&mut self, thread: u32, lock: TicketLock, end: Time) {
        let of_lock =
            |one: &Watcher| matches!(one.counter, Counter::Lock(other, _) if other == lock);
        let here = self.actor(thread).placement.place;
        let waiting: Vec<Watcher> = self.memory.waiters.iter().copied().filter(of_lock).collect();
        for watcher in waiting {
            let there: Place = self.actor(watcher.thread).placement.place;
            self.memory.lines.insert(self.line_of_state(lock), there.of_core());
            if self.memory.counters.value(watcher.counter) == watcher.value {
                self.memory.waiters.retain(|other| {
                    other.sight.token != watcher.sight.token || other.thread != watcher.thread
                });
                let seen = end + self.cx.costs.line_transfer(here, there);
                self.will_see(thread, watcher.sight, seen);
            }
        }
    }

    /// The turn of a process has come, by what `thread` did: its core can see it at `at`.
    pub(in crate::timed) fn will_see(&mut self, thread: u32, sight: Sight, at: Time) {
        let id = self.memory.sights.insert(|| sight);
        self.note(|trail| trail.calls_next(id, thread));
        self.schedule(at, thread, Phase::Neighbour, Happening::Seen(id));
    }

    /// A process has died: it looks at no line any more.
    pub(in crate::timed) fn watches_no_more(&mut self, process: Process) {
        self.memory.waiters.retain(|watcher| watcher.sight.process != process);
    }

    /// Whether what can be seen now is for a process that died: then it is gone.
    pub(in crate::timed) fn is_sight_of(&mut self, dead: Process, id: u32) -> bool {
        let lost = self.memory.sights.get(id).process == dead;
        if lost {
            self.memory.sights.remove(id);
            self.note(|trail| trail.is_not_seen(id));
        }
        lost
    }

    /// The line is there: the next poll meets it.
    pub(in crate::timed) fn seen(&mut self, id: u32) {
        let Sight { process, lane, token } = self.memory.sights.remove(id);
        let (thread, now) =
            (self.cx.layout.first_thread[process.0 as usize], self.cx.clock.simulation.now());
        self.note(|trail| trail.sees_its_turn(id, thread, now));
        self.record(|| Choice::Finish { process, token });
        self.deliver(process, lane, Arrived::Seen(token));
    }
}
