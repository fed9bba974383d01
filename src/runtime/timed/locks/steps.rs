//! What a lock does by itself: slices of polling that find nothing, and the way to the next thread.
//!
//! ```text
//!   step     fair                               unfair
//!   Slice    ends: handed to the next,          ends: free, seen by the nearest that waits (Coming);
//!            its thread waits again             its thread yields its core (Yield)
//!   Coming   -                                  the nearest takes it, unless another was faster
//!   Yield    -                                  the thread asks again: first, or it waits
//! ```
//!
//! No part outside can tell when these steps are taken, as long as all that lie before the present are
//! taken before anything else looks at the lock, its threads or their channels. So a step is an event
//! only where it may lead to something else: a thread waits with something to do, a call was ended from
//! outside, or a channel that they poll holds something. Otherwise the lock is *parked*: it has no
//! event, and its steps are taken when another part looks, or never.
//!
//! Few of them are taken one by one then. The lock and its threads as they are after a step, with all
//! moments relative to it, are its whole state: where that comes back, everything between repeats,
//! and as many whole periods as fit are added to clocks and accounts at once. A thread that loses
//! time to the operating system has no such period.
//!
//! Steps of a moment come before what others do at that moment; slices end before threads ask.

use std::collections::VecDeque;

use crate::account::{Account, Part};
use units::{Time, TimeDelta};

/// The steps that a lock will take, and the event that was scheduled for the first of them.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// When the slice of its owner ends, if it finds nothing until then.
    pub(super) slice: Option<Time>,
    /// The thread that sees that it is free, and when: an unfair lock after its release.
    pub(super) coming: Option<(Time, u32)>,
    /// Threads that have yielded their cores, by the time at which they ask again.
    pub(super) yields: VecDeque<(Time, u32)>,
    armed: Option<Time>,
    generation: u32,
    /// Whether its next step may be another one than before.
    pub(super) touched: bool,
}

/// A step of a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LockEvent {
    /// A slice of polling ends, which has found nothing.
    SliceEnds,
    /// The free lock reaches a thread that waits.
    Coming(u32),
    /// A thread that has yielded its core asks again.
    Yield(u32),
}

impl Steps {
    /// The next step, and when.
    pub(super) fn next(&self) -> Option<(Time, LockEvent)> {
        let mut next = self.slice.map(|at| (at, LockEvent::SliceEnds));
        // The first of equals.
        let mut or = |at: Time, step| {
            if next.is_none_or(|(first, _)| at < first) {
                next = Some((at, step));
            }
        };
        if let Some((at, thread)) = self.coming {
            or(at, LockEvent::Coming(thread));
        }
        if let Some(&(at, thread)) = self.yields.front() {
            or(at, LockEvent::Yield(thread));
        }
        next
    }

    /// None is taken any more.
    pub(super) fn stop(&mut self) {
        (self.slice, self.coming) = (None, None);
        self.yields.clear();
    }

    /// All moments of the future come so much later.
    pub(super) fn shift(&mut self, by: TimeDelta) {
        let yields = self.yields.iter_mut().map(|(at, _)| at);
        let coming = self.coming.iter_mut().map(|(at, _)| at);
        for at in self.slice.iter_mut().chain(coming).chain(yields) {
            *at += by;
        }
    }

    /// Its next event is due then; answers the generation of one that is to be scheduled.
    pub(super) fn arm(&mut self, due: Option<Time>) -> Option<(Time, u32)> {
        if self.armed == due {
            return None;
        }
        self.armed = due;
        self.generation = self.generation.wrapping_add(1);
        due.map(|at| (at, self.generation))
    }

    /// Whether its event is due then.
    #[inline]
    pub(super) fn is_armed_for(&self, at: Time) -> bool {
        self.armed == Some(at)
    }

    /// Its event happens.
    pub(super) const fn disarm(&mut self) {
        self.armed = None;
    }

    /// Whether an event is the one that was scheduled last.
    pub(super) const fn is_of(&self, generation: u32) -> bool {
        self.generation == generation
    }
}

/// Looks for a state that comes back: the present one is compared with one that is replaced after
/// twice as many steps each time (Brent), so that it will lie on the cycle, and short cycles end
/// the search early.
#[derive(Debug, Default)]
pub(crate) struct Search {
    goes_on: bool,
    steps: u32,
    at: Time,
    state: Vec<u64>,
    /// Accounts of the threads of that state, in its order.
    accounts: Vec<Account>,
    /// Waits that the steps since then charged for the lock.
    charges: Vec<Charge>,
    /// The present state; kept for its memory.
    present: Vec<u64>,
}

/// A wait of a thread that would only poll, as a step at `at` charged it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Charge {
    pub(super) thread: u32,
    pub(super) at: Time,
    pub(super) part: Part,
    pub(super) time: TimeDelta,
}

/// Steps from the first one on that are taken without a search, where several threads share the lock.
/// Method: most intervals are short.
const UNSEARCHED: u32 = 4;

impl Search {
    pub(super) const fn new() -> Self {
        Self {
            goes_on: false,
            steps: 0,
            at: Time::ZERO,
            state: Vec::new(),
            accounts: Vec::new(),
            charges: Vec::new(),
            present: Vec::new(),
        }
    }

    /// A search begins; the vectors keep their memory.
    pub(super) fn begin(&mut self) {
        (self.goes_on, self.steps) = (true, 0);
        self.state.clear();
    }

    /// Whether steps are being searched.
    pub(super) const fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Steps are searched no more.
    pub(super) const fn end(&mut self) {
        self.goes_on = false;
    }

    /// A step charges a wait.
    #[inline]
    pub(super) fn charges(&mut self, charge: Charge) {
        if self.goes_on {
            self.charges.push(charge);
        }
    }

    /// The lock, on which one thread is (`lonely`) or several, has taken a step at `at`: the time since it was
    /// in the state that `describe` gives, if it was kept; else the accounts are kept with the state now and then.
    pub(super) fn step(
        &mut self,
        at: Time,
        lonely: bool,
        describe: impl FnOnce(&mut Vec<u64>),
        accounts: impl FnOnce(&mut Vec<Account>),
    ) -> Option<TimeDelta> {
        self.steps += 1;
        if self.steps < UNSEARCHED && !lonely {
            return None;
        }
        self.present.clear();
        describe(&mut self.present);
        if self.present == self.state {
            return Some(at.since(self.at)).filter(|&period| period > TimeDelta::ZERO);
        }
        if self.steps.is_power_of_two() {
            self.accounts.clear();
            accounts(&mut self.accounts);
            self.charges.clear();
            std::mem::swap(&mut self.state, &mut self.present);
            self.at = at;
        }
        None
    }

    /// The accounts of the threads when the state that came back was kept.
    pub(super) fn accounts(&self) -> &[Account] {
        &self.accounts
    }

    /// Waits that were charged since then.
    pub(super) fn charged(&self) -> &[Charge] {
        &self.charges
    }
}
