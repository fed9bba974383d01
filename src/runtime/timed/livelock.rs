//! Who asks for ever: programs ask again and again for what nobody will do any more.
//!
//! A program that asks comes back to states in which it was before. The run ends where for [`IN_VAIN`]
//! calls no living program was in a new state, each of them has just asked so or waits inside a call, and
//! nothing can change that: after a crash, nothing is under way that takes long; without one, nothing is
//! under way at all, or the clock has not moved, and so never will. Whoever got an answer is in a new
//! state where it goes on, also where that is no call. A program that gives up after so many tries counts
//! them, and is in a new state with each.
//!
//! ```text
//!   asleep ── a window of events in which nothing was sent ──▶ watching ── all asked in vain ──▶ the end
//!      ▲                                                          │
//!      └────────── something was sent, or was new ────────────────┘    a crash: it watches for good
//! ```
//!
//! To know the state of a program costs its hash at each call. So a run is watched only where somebody
//! has died, or nothing was sent for long: a message costs nothing.
//!
//! Left out: programs that ask by messages of their own, such as atomics over a wire on a lock that
//! nobody frees. They end with a limit, or where somebody has died.

use crate::timed::ports::Poller;
use std::collections::{BTreeMap, BTreeSet};

use crate::deadlock::{self, ASKING, Blocked, Standing};
use crate::fingerprint::Fingerprint;
use crate::monitors::buffers::Lends;
use crate::outcome::Ending;
use crate::timed::conductor::Timed;
use crate::timed::cores::actor::Actor;
use crate::timed::cores::actor::State;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{Process, Wait, WaitSet};
use units::Time;

/// Calls in a row without a new state: more by far than those beside the last answer that is under way.
const IN_VAIN: usize = 10_000;
/// The same for each thread of a large job.
const BY_THREAD: usize = 1_000;
/// States of a program that are remembered, more than a scan over all ranks has.
const REMEMBERED: usize = 1 << 14;
/// A transfer of more bytes may take longer than all these calls.
const LONG: u64 = 64 << 10;
/// Events of a window, at least, and for each thread: enough for all states that a loop comes back to.
const WINDOW: u64 = 1 << 14;
const WINDOW_EACH: u64 = 256;
/// A watch that saw something new lets so many windows pass, at most.
const ASLEEP: u64 = 64;

/// When a run is watched, and who asks meanwhile.
#[derive(Debug)]
pub(super) struct Watch {
    /// Whether calls are looked at: by it, or by faults.
    pub(super) looks: bool,
    /// `None` while it is asleep.
    askers: Option<Askers>,
    /// Packets that had left when it was looked at last.
    packets: u64,
    /// Events of a window, and how many windows it sleeps.
    window: u64,
    asleep: u64,
    /// After how many events it is looked at again.
    pub(super) next: u64,
    /// How the run ended by it.
    found: Option<Found>,
}

/// Why nothing can change.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Found {
    /// Nothing is under way.
    Nothing,
    /// The clock stands still.
    NoTime,
}

impl Watch {
    pub(super) fn new(threads: usize, looks: bool) -> Self {
        let window = WINDOW.max(WINDOW_EACH * threads as u64);
        Self { looks, askers: None, packets: 0, window, asleep: 1, next: window, found: None }
    }

    /// A window is over: whether it is watched from now on. So many packets have left, and so many
    /// events happened.
    fn look(&mut self, packets: u64, events: u64) -> bool {
        let sent = packets != std::mem::replace(&mut self.packets, packets);
        let in_vain = self.askers.as_ref().map(Askers::is_in_vain);
        if sent {
            (self.askers, self.asleep) = (None, 1);
        } else if in_vain == Some(false) {
            self.rest(events);
            return false;
        } else {
            self.askers.get_or_insert_default();
        }
        self.next = events + self.window;
        !sent
    }

    /// Sleeps, twice as long as before.
    fn rest(&mut self, events: u64) {
        self.asleep = (2 * self.asleep).min(ASLEEP);
        self.askers = None;
        self.next = events + self.window * self.asleep;
    }
}

/// Programs that ask, since they are watched.
#[derive(Debug, Default)]
pub(super) struct Askers {
    by_thread: BTreeMap<u32, Asker>,
    /// Calls in states that were met before.
    old: usize,
    /// How many these were when a program was in a new state last, and when that was.
    before: usize,
    since: Time,
    /// How often a program was in a new state.
    new: usize,
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
    /// A window of events is over: whether the run is to be watched.
    pub(super) fn look_at_watch(&mut self) {
        let crashed = self.dead().is_some();
        let watches = self.livelock.look(self.network.packets, self.cx.clock.simulation.events());
        self.livelock.looks = watches || self.faults.is_some();
        if crashed {
            self.watch_for_good();
        }
    }

    /// Somebody has died: from now on every call is looked at.
    pub(super) fn watch_for_good(&mut self) {
        self.livelock.askers.get_or_insert_default();
        self.livelock.next = u64::MAX;
    }

    /// A thread calls: whether its process dies at it, or the run ends, since nothing can change any more.
    pub(super) fn ends_at_call(&mut self, thread: u32, now: Time) -> bool {
        self.dies_at_call(self.names(thread).0) || self.stands_still(thread, now)
    }

    /// A program does something else than to call, after which it may be busy for long.
    pub(super) fn goes_on(&mut self, thread: u32, now: Time) {
        let crashed = self.dead().is_some();
        let Some(askers) = &mut self.livelock.askers else { return };
        if crashed {
            let state = Fingerprint::of(&self.cores.actors[thread as usize].program);
            askers.was_in(thread, state, now);
        } else {
            askers.is_new(now);
        }
    }

    pub(in crate::timed) fn stands_still(&mut self, thread: u32, now: Time) -> bool {
        let Some(askers) = &mut self.livelock.askers else { return false };
        let state = Fingerprint::of(&self.cores.actors[thread as usize].program);
        askers.calls(thread, state, now);
        let enough = IN_VAIN.max(BY_THREAD * self.cores.actors.len());
        // Looked at now and then: it takes a walk over all threads.
        let in_vain = askers.in_vain();
        if in_vain >= enough && in_vain.is_multiple_of(BY_THREAD) {
            self.livelock.found = self.nothing_can_change(now);
            self.cx.exhausted |= self.livelock.found.is_some();
            if !self.cx.exhausted && self.dead().is_none() {
                // Somebody is busy for long: until then it costs nothing to ask.
                self.livelock.rest(self.cx.clock.simulation.events());
                self.livelock.looks = self.faults.is_some();
                self.pause_next();
            }
        }
        self.cx.exhausted
    }

    fn nothing_can_change(&self, now: Time) -> Option<Found> {
        let askers = self.livelock.askers.as_ref()?;
        let waits = |(thread, actor): (u32, &Actor<M, P>)| {
            let inside = matches!(
                actor.state,
                State::Polling | State::Locked | State::Joining | State::Ended
            );
            inside || askers.asks(thread)
        };
        let sent_nothing = self.livelock.packets == self.network.packets;
        // A thread may have been ahead of the clock when something was new.
        let quiet = now.max(askers.since).since(askers.since);
        let faults = self.faults.as_ref();
        let ends = faults.is_some_and(|faults| faults.some_will_end(quiet));
        let quiet = if self.dead().is_some() {
            self.network.flights.iter().all(|flight| flight.bytes <= LONG)
        } else {
            sent_nothing && self.nothing_is_under_way()
        };
        let stands = !ends && quiet && (0..).zip(&self.cores.actors).all(waits);
        let in_no_time = self.dead().is_none() && sent_nothing && now == askers.since;
        let nothing = stands.then_some(Found::Nothing);
        nothing.or_else(|| in_no_time.then_some(Found::NoTime))
    }

    /// Whether nothing is on a wire, in an adapter or a GPU, or waits in a channel to be taken.
    pub(in crate::timed) fn nothing_is_under_way(&self) -> bool {
        let lives = |process: usize| {
            let (first, end) =
                (self.cx.layout.first_thread[process], self.cx.layout.first_thread[process + 1]);
            self.cores.actors[first as usize..end as usize].iter().any(|actor| !actor.ended())
        };
        let taken = |(process, poller): (usize, &Poller)| poller.is_empty() || !lives(process);
        self.network.flights.len() + self.memory.sights.len() == 0
            && self.gpus.as_ref().is_none_or(|devices| devices.under_way() == 0)
            && !self.network.looking.contains(&true)
            && self.ports.pollers.iter().enumerate().all(taken)
    }

    /// The end of a run in which nobody has died, and everybody asks for ever; `None` where it ended
    /// otherwise.
    pub(super) fn asked_for_ever(&self) -> Option<Ending> {
        if self.livelock.found? == Found::NoTime {
            return Some(Ending::ClockStands {
                at: self.cx.clock.simulation.now(),
                askers: self.askers(),
            });
        }
        let standings: Vec<Standing> = (0_u32..)
            .zip(&self.cores.actors)
            .map(|(index, actor)| {
                let standing = self.standing(index, actor);
                match self.asks_of(index, actor).filter(|_| !actor.ended()) {
                    Some((waits, since)) => Standing { waits: Some(waits), since, ..standing },
                    None => standing,
                }
            })
            .collect();
        let deadlock = deadlock::diagnose(&standings);
        Some(Ending::Deadlock(
            deadlock.expect("everybody waits, and for nothing that is under way"),
        ))
    }

    /// Each thread that asks, with its first wait.
    pub(in crate::timed) fn askers(&self) -> Vec<Blocked> {
        let asker = |(index, actor): (u32, &Actor<M, P>)| {
            let (waits, since) = self.asks_of(index, actor).filter(|_| !actor.ended())?;
            let (WaitSet::All(waits) | WaitSet::Any(waits)) = waits;
            Some(Blocked {
                process: actor.process,
                thread: actor.inner,
                wait: waits.into_iter().next()?,
                position: actor.program.position(),
                since,
            })
        };
        (0_u32..).zip(&self.cores.actors).filter_map(asker).collect()
    }

    /// What a thread asks for, in words of its program or of the last call, and since when; `None` where
    /// it does not ask.
    pub(in crate::timed) fn asks_of(
        &self,
        thread: u32,
        actor: &Actor<M, P>,
    ) -> Option<(WaitSet, Option<Time>)> {
        let askers = self.livelock.askers.as_ref()?;
        let asker = askers.by_thread.get(&thread).filter(|asker| asker.calls > 0)?;
        let waits = actor.program.asks_for().unwrap_or_else(|| {
            let detail = format!("{} calls without anything new", asker.calls);
            let origin = actor.program.position().unwrap_or_default();
            let wait = Wait { operation: ASKING, peers: vec![], thread: None, detail, origin };
            WaitSet::All(vec![wait])
        });
        Some((waits, Some(asker.since)))
    }

    /// Those that ask, as waits for the victim; nobody where the run did not end by them.
    pub(super) fn asking(&self, victim: Process) -> Vec<Blocked> {
        let Some(askers) = self.livelock.askers.as_ref().filter(|_| self.cx.exhausted) else {
            return vec![];
        };
        let asker = |(thread, asker): (&u32, &Asker)| {
            let actor = &self.cores.actors[*thread as usize];
            let faults = self.faults.as_ref();
            let calls = faults.and_then(|faults| faults.calls.get(&actor.process).copied());
            let calls = calls.unwrap_or(0);
            let locks =
                self.cx.observers.monitors.mutexes.standing_between(victim.0, actor.process.0);
            let detail = [format!("{} calls without anything new", asker.calls)];
            Blocked {
                process: actor.process,
                thread: actor.inner,
                wait: Wait {
                    operation: ASKING,
                    peers: vec![victim],
                    thread: None,
                    detail: detail.into_iter().chain(locks).collect::<Vec<_>>().join("; "),
                    origin: u32::try_from(calls).unwrap_or(u32::MAX),
                },
                position: None,
                since: Some(asker.since),
            }
        };
        let asking = askers.by_thread.iter().filter(|(_, asker)| asker.calls > 0);
        let living = asking.filter(|(thread, _)| !self.cores.actors[**thread as usize].ended());
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
    fn a_thread_ahead_of_the_clock_was_new_in_its_own_time() {
        let mut askers = Askers::default();
        askers.calls(0, 1, Time::from_ps(900));
        askers.calls(1, 1, Time::from_ps(100));
        assert_eq!(askers.since, Time::from_ps(900));
    }

    #[test]
    fn a_window_in_which_something_was_sent_is_not_watched() {
        let mut watch = Watch::new(2, false);
        assert!(!watch.look(5, WINDOW), "five packets have left");
        assert!(watch.look(5, 2 * WINDOW), "none has left");
        ask(watch.askers.as_mut().unwrap(), 0, 100);
        assert!(watch.look(5, 3 * WINDOW), "it asks in vain");
        assert_eq!(watch.askers.as_ref().unwrap().in_vain(), 99);
        assert!(!watch.look(6, 4 * WINDOW), "one has left");
    }

    #[test]
    fn a_watch_that_sees_something_new_sleeps_longer_each_time() {
        let mut watch = Watch::new(2, false);
        let mut slept = Vec::new();
        let mut events = WINDOW;
        for state in 0..16 {
            assert_eq!(watch.look(0, events), state % 2 == 0);
            if let Some(askers) = &mut watch.askers {
                (0..100).for_each(|new| askers.calls(0, state << 32 | new, Time::ZERO));
            } else {
                slept.push((watch.next - events) / WINDOW);
            }
            events = watch.next;
        }
        assert_eq!(slept, [2, 4, 8, 16, 32, 64, 64, 64]);
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
