//! What a lock does by itself: turns of polling that find nothing, and the way to the next thread.
//!
//! ```text
//!   step     fair                               unfair
//!   Turn     ends: handed to the next,          ends: free, seen by the nearest that waits (Coming);
//!            its thread waits again             its thread yields its core (Yield)
//!   Coming   -                                  the nearest takes it, unless somebody was faster
//!   Yield    -                                  the thread asks again: first, or it waits
//! ```
//!
//! Nobody outside can tell when these steps are taken, as long as all that lie before the present are
//! taken before anything else looks at the lock, its threads or their channels: [`Timed::settle`]. So
//! a step is an event only where it may lead to something else: somebody waits with something to do,
//! a call was ended from outside, or a channel that they poll holds something. Otherwise the lock is
//! *parked*: it has no event, and its steps are taken when somebody looks, or never.
//!
//! Few of them are taken one by one then. The lock and its threads as they are after a step, with all
//! moments relative to it, are its whole state: where that comes back, everything between repeats,
//! and as many whole periods as fit are added to clocks and accounts at once. A thread that loses
//! time to the operating system has no such period.
//!
//! Steps of a moment come before what others do at that moment; turns end before threads ask.

use std::collections::VecDeque;

use crate::account::Account;
use crate::account::Part;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::cores::actor::Entering;
use crate::timed::cores::actor::State;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::setup::LockOrder;
use protocols::contract::Machine;
use protocols::contract::Process;
use protocols::contract::Program;
use units::{Time, TimeDelta};

/// The steps that a lock will take, and the event that was scheduled for the first of them.
#[derive(Debug, Default)]
pub(in crate::timed) struct Steps {
    /// When the turn of its owner ends, if it finds nothing until then.
    pub(in crate::timed) turn: Option<Time>,
    /// Who sees that it is free, and when: an unfair lock after its release.
    pub(in crate::timed) coming: Option<(Time, u32)>,
    /// Threads that have yielded their cores, by the time at which they ask again.
    yields: VecDeque<(Time, u32)>,
    armed: Option<Time>,
    generation: u32,
    pub(in crate::timed) touched: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Turn,
    Coming(u32),
    Yield(u32),
}

impl Steps {
    /// The next step, and when.
    fn next(&self) -> Option<(Time, Step)> {
        let turn = self.turn.map(|at| (at, Step::Turn));
        let coming = self.coming.map(|(at, thread)| (at, Step::Coming(thread)));
        let asks = self.yields.front().map(|&(at, thread)| (at, Step::Yield(thread)));
        // The first of equals.
        [turn, coming, asks].into_iter().flatten().min_by_key(|&(at, _)| at)
    }

    /// None is taken any more.
    pub(in crate::timed) fn stop(&mut self) {
        (self.turn, self.coming) = (None, None);
        self.yields.clear();
    }

    /// All moments of the future come so much later.
    fn shift(&mut self, by: TimeDelta) {
        let yields = self.yields.iter_mut().map(|(at, _)| at);
        let coming = self.coming.iter_mut().map(|(at, _)| at);
        for at in self.turn.iter_mut().chain(coming).chain(yields) {
            *at += by;
        }
    }
}

/// Looks for a state that comes back: the present one is compared with one that is replaced after
/// twice as many steps each time (Brent), so that it will lie on the cycle, and short cycles end
/// the search early.
#[derive(Debug, Default)]
struct Search {
    steps: u32,
    at: Time,
    state: Vec<u64>,
    accounts: Vec<Account>,
    /// The present state; kept for its memory.
    present: Vec<u64>,
}

/// The first steps are taken without a search: most intervals are short.
const UNSEARCHED: u32 = 4;

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Takes all steps of a process's locks up to now: before anything touches what they touch.
    #[inline]
    pub(in crate::timed) fn settle(&mut self, process: Process) {
        if !self.locks.is_empty() {
            self.settle_locks(process);
        }
    }

    #[inline(never)]
    pub(in crate::timed) fn settle_locks(&mut self, process: Process) {
        for guard in 0..self.locks.of(process).len() {
            if let Some(lock) = self.locks.of(process)[guard] {
                self.locks.touch(lock);
                self.advance(lock, self.cx.clock.simulation.now());
            }
        }
    }

    /// Takes all steps up to `until` of the locks that are parked: the run ends.
    pub(in crate::timed) fn settle_idle(&mut self, until: Time) {
        for lock in 0..self.locks.count() {
            if self.is_idle(lock) {
                self.advance(lock, until);
            }
        }
    }

    /// The turn of polling of `thread`, which holds a lock, ends then and finds nothing; `None`: it
    /// meets something before.
    pub(in crate::timed) fn plan_turn(&mut self, thread: u32, ends: Option<Time>) {
        let actor = &self.cores.actors[thread as usize];
        let Some((guard, _)) = actor.holds else {
            return assert!(ends.is_none(), "a turn is taken under a lock");
        };
        let lock = self.locks.place(actor.process, guard);
        self.locks.touch(lock);
        self.locks.all[lock as usize].steps.turn = ends;
    }

    /// An event of a lock.
    pub(in crate::timed) fn lock_event(&mut self, lock: u32, generation: u32) {
        self.locks.events -= 1;
        if self.locks.all[lock as usize].steps.generation != generation {
            return;
        }
        // As a run ends whose idle turns are no events: when the last event has happened.
        if self.locks.step_by_step && self.cx.clock.simulation.pending() == self.locks.events {
            self.cx.exhausted = (0..self.locks.count()).all(|lock| self.is_idle(lock));
            if self.cx.exhausted {
                return;
            }
        }
        self.locks.all[lock as usize].steps.armed = None;
        self.locks.touch(lock);
        self.advance(lock, self.cx.clock.simulation.now());
    }

    /// Locks that were touched get events for their next steps, or lose them.
    pub(in crate::timed) fn arm_locks(&mut self) {
        while let Some(lock) = self.locks.next_touched() {
            let next = self.locks.all[lock as usize].steps.next();
            let due =
                next.map(|(at, _)| at).filter(|_| self.locks.step_by_step || !self.is_idle(lock));
            let steps = &mut self.locks.all[lock as usize].steps;
            if steps.armed == due {
                continue;
            }
            steps.armed = due;
            steps.generation = steps.generation.wrapping_add(1);
            if let Some(at) = due {
                let event = Happening::Lock(lock, steps.generation);
                self.locks.events += 1;
                // Sources of locks come after those of threads.
                let source =
                    u32::try_from(self.cores.actors.len()).expect("fewer than 2^32 threads");
                self.schedule(at, source + lock, Phase::Lock, event);
            }
        }
    }

    /// Whether nothing comes of the lock's steps: threads poll that will find nothing, or line up
    /// behind one that works.
    pub(in crate::timed) fn is_idle(&self, lock: u32) -> bool {
        let lock = &self.locks.all[lock as usize];
        if lock.owner.is_some() && lock.steps.turn.is_none() {
            return true;
        }
        let asks = |&thread: &u32| {
            matches!(self.cores.actors[thread as usize].entering, Some(Entering::Turn))
        };
        let yields = lock.steps.yields.iter().map(|&(_, thread)| thread);
        let mut threads = lock.waiting.iter().copied().chain(lock.owner).chain(yields);
        lock.waiting.iter().all(asks) && threads.all(|thread| self.will_find_nothing(thread))
    }

    pub(in crate::timed) fn will_find_nothing(&self, thread: u32) -> bool {
        let actor = &self.cores.actors[thread as usize];
        let process = actor.process.0 as usize;
        let poller = &self.ports.pollers[process];
        let lanes = poller.polled(self.libraries[process].polls(actor.inner));
        actor.reply.is_none()
            && lanes.cost > TimeDelta::ZERO
            && (poller.is_empty() || poller.next_ready(lanes, lanes.first).is_none())
    }

    /// Takes the steps of a lock up to `until`.
    pub(in crate::timed) fn advance(&mut self, lock: u32, until: Time) {
        let next = |timed: &Self| timed.locks.all[lock as usize].steps.next();
        let Some((first, _)) = next(self).filter(|&(at, _)| at <= until) else { return };
        let mut search = (first < until && self.is_periodic(lock)).then(Search::default);
        while let Some((at, step)) = next(self).filter(|&(at, _)| at <= until) {
            self.step_of(lock, step, at);
            let found = search.as_mut().and_then(|search| self.period(lock, search, at));
            if let Some(period) = found {
                let before = search.take().expect("a period was searched for");
                self.repeat(lock, period, until.since(at), &before.accounts);
            }
        }
    }

    /// Whether what the lock does depends on nothing but how long ago things happened.
    pub(in crate::timed) fn is_periodic(&self, lock: u32) -> bool {
        let process = self.locks.all[lock as usize].process;
        let mut threads = self.threads_of(process);
        !self.locks.step_by_step
            && threads.all(|thread| self.cores.actors[thread as usize].placement.is_undisturbed())
    }

    fn step_of(&mut self, lock: u32, step: Step, at: Time) {
        match step {
            Step::Turn => self.end_turn(lock, at),
            Step::Coming(thread) => self.granted(lock, thread, at),
            Step::Yield(thread) => {
                self.locks.all[lock as usize].steps.yields.pop_front();
                let yielded = self.cx.costs.profile.os.syscall;
                self.actor(thread).account.add(Part::Wait, yielded);
                self.ask(thread, Entering::Turn, at);
            }
        }
    }

    /// A turn under the lock has found nothing: the lock goes on.
    pub(in crate::timed) fn end_turn(&mut self, lock: u32, at: Time) {
        let state = &mut self.locks.all[lock as usize];
        state.steps.turn = None;
        let thread = state.owner.expect("who takes a turn holds the lock");
        let actor = self.actor(thread);
        let spent = at.since(actor.position.since);
        actor.account.add(Part::Wait, spent);
        actor.notice_at = None;
        actor.pass = None;
        actor.state = State::Locked;
        self.let_go(thread, at);
        match self.locks.order() {
            LockOrder::Fair => self.ask(thread, Entering::Turn, at),
            LockOrder::Unfair => {
                let later = at + self.cx.costs.profile.os.syscall;
                self.locks.all[lock as usize].steps.yields.push_back((later, thread));
            }
        }
    }

    /// The time since the lock was in the state that it is in after its step `at`, if it was kept.
    fn period(&self, lock: u32, search: &mut Search, at: Time) -> Option<TimeDelta> {
        search.steps += 1;
        if search.steps < UNSEARCHED {
            return None;
        }
        search.present.clear();
        self.describe(lock, at, &mut search.present);
        if search.present == search.state {
            return Some(at.since(search.at)).filter(|&period| period > TimeDelta::ZERO);
        }
        if search.steps.is_power_of_two() {
            let process = self.locks.all[lock as usize].process;
            let threads =
                self.threads_of(process).map(|thread| &self.cores.actors[thread as usize]);
            search.accounts = threads.map(|actor| actor.account).collect();
            std::mem::swap(&mut search.state, &mut search.present);
            search.at = at;
        }
        None
    }

    /// All that the next steps of an idle lock depend on, and all moments that they change, relative
    /// to `at`.
    pub(in crate::timed) fn describe(&self, lock: u32, at: Time, state: &mut Vec<u64>) {
        const NOBODY: u64 = u64::MAX;
        let relative = |time: Time| time.as_ps().wrapping_sub(at.as_ps());
        let lock = &self.locks.all[lock as usize];
        let named = |thread: Option<u32>| thread.map_or(NOBODY, u64::from);
        let (coming, seen) = lock.steps.coming.map_or((None, at), |(at, who)| (Some(who), at));
        state.extend([named(lock.owner), named(lock.last), named(coming), relative(seen)]);
        if let Some(owner) = lock.owner {
            let actor = &self.cores.actors[owner as usize];
            let held = actor.holds.map_or(at, |(_, since)| since);
            let turn = lock.steps.turn.unwrap_or(at);
            let channel = u64::from(actor.position.channel);
            state.extend([relative(turn), relative(actor.position.since), relative(held), channel]);
        }
        for &thread in &lock.waiting {
            let queued = self.cores.actors[thread as usize].queued;
            state.extend([u64::from(thread), relative(queued)]);
        }
        state.push(NOBODY);
        for &(asks, thread) in &lock.steps.yields {
            state.extend([u64::from(thread), relative(asks)]);
        }
    }

    /// The state that the lock is in came back after `period`: so it will, as often as that fits into
    /// `ahead`.
    pub(in crate::timed) fn repeat(
        &mut self,
        lock: u32,
        period: TimeDelta,
        ahead: TimeDelta,
        before: &[Account],
    ) {
        let times = ahead.as_ps() / period.as_ps();
        let by = period * times;
        let state = &mut self.locks.all[lock as usize];
        state.steps.shift(by);
        let (process, owner) = (state.process, state.owner);
        for index in 0..state.waiting.len() {
            let waiting = self.locks.all[lock as usize].waiting[index];
            let actor = self.actor(waiting);
            actor.queued += by;
        }
        if let Some(owner) = owner {
            let actor = self.actor(owner);
            actor.position.since += by;
            actor.notice_at = actor.notice_at.map(|at| at + by);
            actor.holds = actor.holds.map(|(guard, since)| (guard, since + by));
        }
        for (thread, &before) in self.threads_of(process).zip(before) {
            let actor = self.actor(thread);
            let gained = actor.account - before;
            actor.account += gained.times(times);
        }
    }
}
