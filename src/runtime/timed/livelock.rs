//! Livelock: programs ask again and again for what no process will do any more.
//!
//! A program that retries comes back to states in which it was before. The run ends where for [`RETRIES`]
//! calls no living program was in a new state, each of them has just retried or waits inside a call, and
//! nothing can change that: after a crash, nothing is under way that takes long; without one, nothing is
//! under way at all, or the clock has not moved, and so never will. A program that got an answer is in a
//! new state where it goes on, also where that is no call. A program that gives up after so many tries
//! counts them, and is in a new state with each.
//!
//! ```text
//!   asleep ── a window of events in which nothing was sent ──▶ watching ── all retry ──▶ the end
//!      ▲                                                          │
//!      └────────── something was sent, or was new ────────────────┘    a crash: it watches for good
//! ```
//!
//! To know the state of a program costs its hash at each call. So a run is watched only after a crash, or
//! where nothing was sent for long: a message costs nothing.
//!
//! Left out: programs that retry by messages of their own, such as atomics over a wire on a lock that
//! no process frees. They end with a limit, or after a crash.

use std::collections::{BTreeMap, BTreeSet};

use crate::fingerprint::Fingerprint;
use std::hash::Hash;
use units::Time;

/// Calls in a row without a new state.
/// Method: more by far than those beside the last answer that is under way.
const RETRIES: usize = 10_000;
/// The same for each thread of a large job.
/// Method: each of them may have an answer under way.
const BY_THREAD: usize = 1_000;
/// States of a program that are remembered.
/// Method: more than a scan over all ranks has.
const REMEMBERED: usize = 1 << 14;
/// Bytes of a transfer that may take longer than all these calls, at least.
/// Method: while it is under way, calls in vain show nothing.
pub(super) const LONG: u64 = 64 << 10;
/// Events of a window, at least.
/// Method: enough for all states that a loop comes back to.
const WINDOW: u64 = 1 << 14;
/// Events of a window for each thread.
/// Method: as above.
const WINDOW_EACH: u64 = 256;
/// Most windows that a watch lets pass after it saw something new.
/// Method: watching costs time.
const ASLEEP: u64 = 64;

/// When a run is watched, and which programs retry meanwhile.
#[derive(Debug)]
pub(super) struct Livelock {
    /// Whether calls are looked at: by it, or by faults.
    looks: bool,
    /// `None` while it is asleep.
    retries: Option<Retries>,
    /// Packets that had left when it was looked at last.
    packets: u64,
    /// Events of a window, and how many windows it sleeps.
    window: u64,
    asleep: u64,
    /// After how many events it is looked at again.
    next: u64,
    /// How the run ended by it.
    found: Option<Found>,
    /// Whether nothing but slices that find nothing, and calls that retry, can happen any more.
    is_over: bool,
}

/// Why nothing can change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Found {
    /// Nothing is under way.
    Nothing,
    /// The clock stands still.
    NoTime,
}

impl Livelock {
    pub(super) fn new(threads: usize, looks: bool) -> Self {
        let window = WINDOW.max(WINDOW_EACH * threads as u64);
        Self {
            looks,
            retries: None,
            packets: 0,
            window,
            asleep: 1,
            next: window,
            found: None,
            is_over: false,
        }
    }

    /// A window is over: whether it is watched from now on. So many packets have left, and so many
    /// events happened.
    fn look(&mut self, packets: u64, events: u64) -> bool {
        let sent = packets != std::mem::replace(&mut self.packets, packets);
        let in_vain = self.retries.as_ref().map(Retries::is_in_vain);
        if sent {
            (self.retries, self.asleep) = (None, 1);
        } else if in_vain == Some(false) {
            self.rest(events);
            return false;
        } else {
            self.retries.get_or_insert_default();
        }
        self.next = events + self.window;
        !sent
    }

    /// Sleeps, twice as long as before.
    fn rest(&mut self, events: u64) {
        self.asleep = (2 * self.asleep).min(ASLEEP);
        self.retries = None;
        self.next = events + self.window * self.asleep;
    }

    /// Whether calls are looked at: for livelock, or by faults.
    #[inline]
    pub(super) const fn looks(&self) -> bool {
        self.looks
    }

    /// After how many events it is to be looked at again.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Whether the run ends after the present event.
    #[inline]
    pub(super) const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Nothing but locks that are parked is left.
    pub(super) const fn only_idle_slices_are_left(&mut self) {
        self.is_over = true;
    }

    /// A window of events is over: whether the run is to be watched. `faulty`: under a fault plan.
    pub(super) fn window_ends(&mut self, packets: u64, events: u64, faulty: bool) {
        self.looks = self.look(packets, events) || faulty;
    }

    /// A process has died: from now on every call is looked at.
    pub(super) fn watch_for_good(&mut self) {
        self.retries.get_or_insert_default();
        self.next = u64::MAX;
    }

    /// A program does something else than to call, after which it may be busy for long.
    pub(super) fn goes_on(&mut self, thread: u32, program: &impl Hash, now: Time, crashed: bool) {
        let Some(retries) = &mut self.retries else { return };
        if crashed {
            retries.was_in(thread, Fingerprint::of(program), now);
        } else {
            retries.is_new(now);
        }
    }

    /// A program of so many calls; answers whether so many were in vain that it is to be looked whether
    /// anything can change: now and then, since that takes a walk over all threads.
    pub(super) fn calls(
        &mut self,
        thread: u32,
        program: &impl Hash,
        now: Time,
        threads: usize,
    ) -> bool {
        let Some(retries) = &mut self.retries else { return false };
        retries.calls(thread, Fingerprint::of(program), now);
        let in_vain = retries.in_vain();
        in_vain >= RETRIES.max(BY_THREAD * threads) && in_vain.is_multiple_of(BY_THREAD)
    }

    /// Nothing can change any more.
    pub(super) const fn ends(&mut self, found: Found) {
        self.found = Some(found);
        self.is_over = true;
    }

    /// A thread is busy for long: until then it costs nothing to retry.
    pub(super) fn sleep(&mut self, events: u64, faulty: bool) {
        self.rest(events);
        self.looks = faulty;
    }

    /// Whether no packet has left since the window began.
    pub(super) const fn sent_nothing(&self, packets: u64) -> bool {
        self.packets == packets
    }

    /// Since when no program was in a new state.
    pub(super) fn since(&self) -> Time {
        self.retries.as_ref().map_or(Time::ZERO, |retries| retries.since)
    }

    /// Whether a thread has retried lately.
    pub(super) fn retries(&self, thread: u32) -> bool {
        self.retries.as_ref().is_some_and(|retries| retries.asks(thread))
    }

    /// How the run ended by it.
    pub(super) const fn found(&self) -> Option<Found> {
        self.found
    }

    /// How often a thread called without anything new, and since when; `None` where it did not.
    pub(super) fn calls_in_vain(&self, thread: u32) -> Option<(u64, Time)> {
        let retrier = self.retries.as_ref()?.by_thread.get(&thread)?;
        (retrier.calls > 0).then_some((retrier.calls, retrier.since))
    }
}

/// Programs that retry, since they are watched.
#[derive(Debug, Default)]
struct Retries {
    by_thread: BTreeMap<u32, Retrier>,
    /// Calls in states that occurred before.
    old: usize,
    /// How many these were when a program was in a new state last, and when that was.
    before: usize,
    since: Time,
    /// How often a program was in a new state.
    new: usize,
}

/// The program of a thread.
#[derive(Debug)]
struct Retrier {
    /// States in which it called.
    states: BTreeSet<u128>,
    /// Calls since the last new one, and when that was.
    calls: u64,
    since: Time,
    /// [`Retries::old`] at its last call.
    last: usize,
}

impl Retries {
    /// A program goes on in a state: answers whether it was in it before.
    fn was_in(&mut self, thread: u32, state: u128, now: Time) -> bool {
        let new = || Retrier { states: BTreeSet::new(), calls: 0, since: now, last: 0 };
        let retrier = self.by_thread.entry(thread).or_insert_with(new);
        if retrier.states.len() == REMEMBERED {
            retrier.states.clear();
        }
        let is_new = retrier.states.insert(state);
        if is_new {
            (retrier.calls, retrier.since) = (0, now);
            self.is_new(now);
        }
        !is_new
    }

    /// Something is new. A thread that runs ahead of the clock says so before its time.
    fn is_new(&mut self, now: Time) {
        (self.before, self.since) = (self.old, self.since.max(now));
        self.new += 1;
    }

    /// Whether most calls were in vain since the last new state.
    const fn is_in_vain(&self) -> bool {
        self.in_vain() >= self.before + self.new
    }

    /// A thread calls in a state of its program.
    fn calls(&mut self, thread: u32, state: u128, now: Time) {
        if self.was_in(thread, state, now) {
            self.old += 1;
            let retrier = self.by_thread.get_mut(&thread).expect("it was just entered");
            (retrier.calls, retrier.last) = (retrier.calls + 1, self.old);
        }
    }

    /// Calls since a program was in a new state.
    const fn in_vain(&self) -> usize {
        self.old - self.before
    }

    /// Whether a thread has called in vain among the later half of all such calls.
    fn asks(&self, thread: u32) -> bool {
        let retrier = self.by_thread.get(&thread);
        retrier.is_some_and(|retrier| retrier.last > self.before + self.in_vain() / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(retries: &mut Retries, thread: u32, times: usize) {
        for _ in 0..times {
            retries.calls(thread, 7, Time::ZERO);
        }
    }

    #[test]
    fn a_thread_that_goes_on_retries_no_more() {
        let mut retries = Retries::default();
        ask(&mut retries, 0, 100);
        ask(&mut retries, 1, 100);
        assert_eq!((retries.in_vain(), retries.asks(1)), (99, true), "both were new once");
        // Thread 0 has its answer, and is busy for long.
        assert!(!retries.was_in(0, 8, Time::ZERO));
        assert_eq!((retries.in_vain(), retries.asks(0), retries.asks(1)), (0, false, false));
        ask(&mut retries, 1, 100);
        assert_eq!((retries.in_vain(), retries.asks(0), retries.asks(1)), (100, false, true));
    }

    #[test]
    fn a_thread_ahead_of_the_clock_was_new_in_its_own_time() {
        let mut retries = Retries::default();
        retries.calls(0, 1, Time::from_ps(900));
        retries.calls(1, 1, Time::from_ps(100));
        assert_eq!(retries.since, Time::from_ps(900));
    }

    #[test]
    fn a_window_in_which_something_was_sent_is_not_watched() {
        let mut livelock = Livelock::new(2, false);
        assert!(!livelock.look(5, WINDOW), "five packets have left");
        assert!(livelock.look(5, 2 * WINDOW), "none has left");
        ask(livelock.retries.as_mut().unwrap(), 0, 100);
        assert!(livelock.look(5, 3 * WINDOW), "it asks in vain");
        assert_eq!(livelock.retries.as_ref().unwrap().in_vain(), 99);
        assert!(!livelock.look(6, 4 * WINDOW), "one has left");
    }

    #[test]
    fn a_watch_that_sees_something_new_sleeps_longer_each_time() {
        let mut livelock = Livelock::new(2, false);
        let mut slept = Vec::new();
        let mut events = WINDOW;
        for state in 0..16 {
            assert_eq!(livelock.look(0, events), state % 2 == 0);
            if let Some(retries) = &mut livelock.retries {
                (0..100).for_each(|new| retries.calls(0, state << 32 | new, Time::ZERO));
            } else {
                slept.push((livelock.next - events) / WINDOW);
            }
            events = livelock.next;
        }
        assert_eq!(slept, [2, 4, 8, 16, 32, 64, 64, 64]);
    }

    #[test]
    fn a_thread_that_has_not_retried_lately_is_busy() {
        let mut retries = Retries::default();
        ask(&mut retries, 1, 1);
        ask(&mut retries, 0, 10);
        ask(&mut retries, 1, 100);
        assert_eq!((retries.asks(0), retries.asks(1)), (false, true));
    }
}
