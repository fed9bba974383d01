//! Who asks for ever: a process has died, and programs of the others ask again and again for what it
//! would have changed.
//!
//! A program that asks comes back to states in which it was before. The run ends with the crash where
//! for [`IN_VAIN`] calls no living program was in a new state, each of them has just asked so or waits inside
//! a call, and nothing is under way that takes long. Whoever got an answer is in a new state where it
//! goes on, also where that is no call. A program that gives up after so many tries counts them, and is
//! in a new state with each.

use std::collections::{BTreeMap, BTreeSet};

use super::actor::State;
use super::{Lends, Machine, Program, Timed};
use crate::protocols::contract::{Process, Wait};
use crate::runtime::deadlock::Blocked;
use crate::runtime::fingerprint::Fingerprint;
use crate::units::Time;

/// Calls in a row without a new state: more by far than those beside the last answer that is under way.
const IN_VAIN: usize = 10_000;
/// The same for each thread of a large job.
const BY_THREAD: usize = 1_000;
/// States of a program that are remembered, more than a scan over all ranks has.
const REMEMBERED: usize = 1 << 14;
/// A transfer of more bytes may take longer than all these calls.
const LONG: u64 = 64 << 10;

/// Programs that ask, since somebody died.
#[derive(Debug, Default)]
pub(super) struct Askers {
    by_thread: BTreeMap<u32, Asker>,
    /// Calls in states that were met before.
    old: usize,
    /// How many these were when a program was in a new state last, and when that was.
    before: usize,
    since: Time,
}

/// The program of a thread.
#[derive(Debug)]
struct Asker {
    /// States in which it called.
    states: BTreeSet<u128>,
    /// Calls since the last new one, and when that was.
    calls: u64,
    since: Time,
    /// [`Askers::old`] at its last call.
    last: usize,
}

impl Askers {
    /// A program goes on in a state: answers whether it was in it before.
    fn was_in(&mut self, thread: u32, state: u128, now: Time) -> bool {
        let new = || Asker { states: BTreeSet::new(), calls: 0, since: now, last: 0 };
        let asker = self.by_thread.entry(thread).or_insert_with(new);
        if asker.states.len() == REMEMBERED {
            asker.states.clear();
        }
        let is_new = asker.states.insert(state);
        if is_new {
            (asker.calls, asker.since) = (0, now);
            (self.before, self.since) = (self.old, now);
        }
        !is_new
    }

    /// A thread calls in a state of its program.
    fn calls(&mut self, thread: u32, state: u128, now: Time) {
        if self.was_in(thread, state, now) {
            self.old += 1;
            let asker = self.by_thread.get_mut(&thread).expect("it was just entered");
            (asker.calls, asker.last) = (asker.calls + 1, self.old);
        }
    }

    /// Calls since a program was in a new state.
    const fn in_vain(&self) -> usize {
        self.old - self.before
    }

    /// Whether a thread has asked in vain among the later half of all such calls.
    fn asks(&self, thread: u32) -> bool {
        let asker = self.by_thread.get(&thread);
        asker.is_some_and(|asker| asker.last > self.before + self.in_vain() / 2)
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// A thread calls: whether its process dies at it, or the run ends, since nothing can change any more.
    pub(super) fn ends_at_call(&mut self, thread: u32, now: Time) -> bool {
        self.dies_at_call(self.names(thread).0) || self.stands_still(thread, now)
    }

    /// A program does something else than to call, after which it may be busy for long.
    pub(super) fn goes_on(&mut self, thread: u32, now: Time) {
        let Some(faults) = self.faults.as_mut().filter(|faults| faults.dead.is_some()) else {
            return;
        };
        let state = Fingerprint::of(&self.actors[thread as usize].program);
        faults.askers.was_in(thread, state, now);
    }

    fn stands_still(&mut self, thread: u32, now: Time) -> bool {
        let Some(faults) = self.faults.as_mut().filter(|faults| faults.dead.is_some()) else {
            return false;
        };
        let state = Fingerprint::of(&self.actors[thread as usize].program);
        faults.askers.calls(thread, state, now);
        let enough = IN_VAIN.max(BY_THREAD * self.actors.len());
        // Looked at now and then: it takes a walk over all threads.
        let in_vain = faults.askers.in_vain();
        let due = in_vain >= enough && in_vain.is_multiple_of(BY_THREAD);
        self.exhausted |= due && self.nothing_can_change(now);
        self.exhausted
    }

    fn nothing_can_change(&self, now: Time) -> bool {
        let Some(faults) = &self.faults else { return false };
        let waits = |(thread, actor): (u32, &super::Actor<M, P>)| {
            let inside = matches!(
                actor.state,
                State::Polling | State::Locked | State::Joining | State::Ended
            );
            inside || faults.askers.asks(thread)
        };
        !faults.some_will_end(now.since(faults.askers.since))
            && self.flights.iter().all(|flight| flight.bytes <= LONG)
            && (0..).zip(&self.actors).all(waits)
    }

    /// Those that ask, as waits for the victim; nobody where the run did not end by them.
    pub(super) fn asking(&self, victim: Process) -> Vec<Blocked> {
        let Some(faults) = self.faults.as_ref().filter(|_| self.exhausted) else { return vec![] };
        let locks = self.monitors.mutexes.standing_of(victim.0);
        let asker = |(thread, asker): (&u32, &Asker)| {
            let actor = &self.actors[*thread as usize];
            let calls = faults.calls.get(&actor.process).copied().unwrap_or(0);
            let detail = [format!("{} calls without anything new", asker.calls)];
            Blocked {
                process: actor.process,
                thread: actor.inner,
                wait: Wait {
                    operation: "asking again and again",
                    peers: vec![victim],
                    detail: detail.into_iter().chain(locks.clone()).collect::<Vec<_>>().join("; "),
                    origin: u32::try_from(calls).unwrap_or(u32::MAX),
                },
                position: None,
                since: Some(asker.since),
            }
        };
        let asking = faults.askers.by_thread.iter().filter(|(_, asker)| asker.calls > 0);
        let living = asking.filter(|(thread, _)| !self.actors[**thread as usize].ended());
        living.map(asker).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(askers: &mut Askers, thread: u32, times: usize) {
        for _ in 0..times {
            askers.calls(thread, 7, Time::ZERO);
        }
    }

    #[test]
    fn whoever_goes_on_asks_no_more() {
        let mut askers = Askers::default();
        ask(&mut askers, 0, 100);
        ask(&mut askers, 1, 100);
        assert_eq!((askers.in_vain(), askers.asks(1)), (99, true), "both were new once");
        // Thread 0 has its answer, and is busy for long.
        assert!(!askers.was_in(0, 8, Time::ZERO));
        assert_eq!((askers.in_vain(), askers.asks(0), askers.asks(1)), (0, false, false));
        ask(&mut askers, 1, 100);
        assert_eq!((askers.in_vain(), askers.asks(0), askers.asks(1)), (100, false, true));
    }

    #[test]
    fn whoever_has_not_asked_lately_is_busy() {
        let mut askers = Askers::default();
        ask(&mut askers, 1, 1);
        ask(&mut askers, 0, 10);
        ask(&mut askers, 1, 100);
        assert_eq!((askers.asks(0), askers.asks(1)), (false, true));
    }
}
