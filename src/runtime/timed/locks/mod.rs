//! The locks of the library: who waits, who is next, and what the way of the lock costs.
//!
//! ```text
//!   request ─▶ free: its line comes from the core that had it last ─▶ inside
//!          └─▶ held: wait ─▶ release ─▶ hand-over by distance ─▶ inside
//! ```
//!
//! A fair lock is handed to whoever waits longest. An unfair one is free from its release on: those
//! that wait see it when its line has reached them, and whoever asks nearer to it is faster.
//!
//! Left out: waiting threads take no issue slots, and their looks at the lock's line do not slow
//! its holder. Noticeable where many hardware threads of one core wait.

pub(super) mod steps;

use crate::timed::setup::LockOrder;
use std::collections::VecDeque;

use crate::account::Part;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::cores::actor::Entering;
use crate::timed::cores::actor::State;
use crate::timed::locks::steps::Steps;
use crate::timed::setup::Planted;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{Guard, Process};
use units::{Time, TimeDelta};

/// The locks of all processes, each made when it is first asked for.
#[derive(Debug)]
pub(super) struct Locks {
    order: LockOrder,
    /// Whether turns of polling that find nothing are events.
    pub(super) step_by_step: bool,
    /// By process and guard: a place in `all`.
    known: Vec<Vec<Option<u32>>>,
    pub(super) all: Vec<Lock>,
    /// Places of locks whose next step may be another one than before.
    touched: Vec<u32>,
    /// Pending events of locks.
    pub(super) events: usize,
}

#[derive(Debug)]
pub(super) struct Lock {
    pub(super) process: Process,
    pub(super) owner: Option<u32>,
    /// Who had it last.
    pub(super) last: Option<u32>,
    pub(super) waiting: VecDeque<u32>,
    /// What it does by itself.
    pub(super) steps: Steps,
}

impl Locks {
    pub(super) fn new(order: LockOrder, step_by_step: bool) -> Self {
        let (known, all, touched) = (Vec::new(), Vec::new(), Vec::new());
        Self { order, step_by_step, known, all, touched, events: 0 }
    }

    pub(super) const fn order(&self) -> LockOrder {
        self.order
    }

    /// The places of a process's locks, by guard.
    #[inline]
    pub(super) fn of(&self, process: Process) -> &[Option<u32>] {
        self.known.get(process.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// Whether no process has asked for one yet.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.all.len()).expect("locks are counted in u32")
    }

    /// The next step of a lock may be another one than before.
    pub(super) fn touch(&mut self, place: u32) {
        if !std::mem::replace(&mut self.all[place as usize].steps.touched, true) {
            self.touched.push(place);
        }
    }

    pub(super) const fn any_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    pub(super) fn next_touched(&mut self) -> Option<u32> {
        let place = self.touched.pop()?;
        self.all[place as usize].steps.touched = false;
        Some(place)
    }

    /// Whose lock it is.
    pub(super) fn process(&self, place: u32) -> Process {
        self.all[place as usize].process
    }

    /// The locks of a process that died take no step any more.
    pub(super) fn forget(&mut self, process: Process) {
        for lock in self.all.iter_mut().filter(|lock| lock.process == process) {
            lock.owner = None;
            lock.waiting.clear();
            lock.steps.stop();
        }
    }

    pub(super) fn place(&mut self, owner: Process, guard: Guard) -> u32 {
        let (process, guard) = (owner.0 as usize, usize::from(guard.0));
        if process >= self.known.len() {
            self.known.resize(process + 1, Vec::new());
        }
        let guards = &mut self.known[process];
        if guard >= guards.len() {
            guards.resize(guard + 1, None);
        }
        *guards[guard].get_or_insert_with(|| {
            let (last, waiting, steps) = (None, VecDeque::new(), Steps::default());
            self.all.push(Lock { process: owner, owner: None, last, waiting, steps });
            u32::try_from(self.all.len() - 1).expect("locks are counted in u32")
        })
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Enters the library: at `at`, or when the lock is granted.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass what it does through memory")]
    pub(super) fn enter(&mut self, thread: u32, what: Entering<M>, at: Time) {
        let (process, _) = self.names(thread);
        self.settle(process);
        self.ask(thread, what, at);
    }

    /// Enters the library, where all steps of its locks before `at` are taken.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass what it does through memory")]
    pub(super) fn ask(&mut self, thread: u32, what: Entering<M>, at: Time) {
        let (process, inner) = self.names(thread);
        let guard = self.libraries[process.0 as usize].guard(inner, &what.entry());
        let guard = guard.filter(|_| self.cx.planted != Some(Planted::NoLock));
        match guard.filter(|_| self.cores.actors[thread as usize].holds.is_none()) {
            None => self.entered(thread, what, TimeDelta::ZERO, at),
            Some(guard) => self.ask_for(guard, thread, what, at),
        }
    }

    /// Asks for a lock.
    pub(in crate::timed) fn ask_for(
        &mut self,
        guard: Guard,
        thread: u32,
        what: Entering<M>,
        at: Time,
    ) {
        let (process, _) = self.names(thread);
        let place = self.locks.place(process, guard);
        self.locks.touch(place);
        let way = self.way(self.locks.all[place as usize].last, thread);
        let lock = &mut self.locks.all[place as usize];
        let faster = lock.steps.coming.is_none_or(|(seen, _)| at + way < seen);
        if lock.owner.is_none() && faster {
            lock.steps.coming = None;
            return self.inside(place, guard, thread, what, way, at);
        }
        lock.waiting.push_back(thread);
        let actor = self.actor(thread);
        actor.queued = at;
        actor.entering = Some(what);
        actor.state = State::Locked;
    }

    /// Until a free lock is taken: its line comes from the core that had it last.
    pub(in crate::timed) fn way(&self, last: Option<u32>, thread: u32) -> TimeDelta {
        let place = |thread: u32| self.cores.actors[thread as usize].placement.place;
        let uncontended = self.cx.costs.profile.mpi.lock_uncontended;
        match last {
            Some(last) if last != thread => {
                uncontended + self.cx.costs.line_transfer(place(last), place(thread))
            }
            Some(_) | None => uncontended,
        }
    }

    pub(in crate::timed) fn inside(
        &mut self,
        place: u32,
        guard: Guard,
        thread: u32,
        what: Entering<M>,
        lead: TimeDelta,
        at: Time,
    ) {
        self.locks.all[place as usize].owner = Some(thread);
        let actor = self.actor(thread);
        actor.holds = Some((guard, at));
        actor.account.taken += 1;
        self.entered(thread, what, lead, at);
    }

    /// The lock of `thread` is free from `at` on, or handed to the next that waits.
    pub(super) fn release(&mut self, thread: u32, at: Time) {
        let (process, _) = self.names(thread);
        self.settle(process);
        self.let_go(thread, at);
    }

    /// Releases, where all steps before `at` are taken.
    pub(super) fn let_go(&mut self, thread: u32, at: Time) {
        let (process, _) = self.names(thread);
        let actor = self.actor(thread);
        let (guard, since) = actor.holds.take().expect("who releases a lock holds it");
        actor.account.held += at.since(since);
        let index = self.locks.place(process, guard);
        self.locks.touch(index);
        let lock = &mut self.locks.all[index as usize];
        debug_assert_eq!(lock.owner, Some(thread), "who releases a lock holds it");
        lock.owner = None;
        lock.last = Some(thread);
        match self.locks.order {
            LockOrder::Fair => {
                let Some(next) = lock.waiting.pop_front() else { return };
                let over = self.hand_over(thread, next);
                self.grant(index, guard, next, over, at);
            }
            LockOrder::Unfair => self.free(index, thread, at),
        }
    }

    pub(in crate::timed) fn hand_over(&self, from: u32, to: u32) -> TimeDelta {
        let place = |thread: u32| self.cores.actors[thread as usize].placement.place;
        self.cx.costs.hand_over(place(from), place(to))
    }

    /// The nearest of those that wait will see that the lock is free.
    pub(in crate::timed) fn free(&mut self, index: u32, from: u32, at: Time) {
        let waiting = &self.locks.all[index as usize].waiting;
        let ways = waiting.iter().map(|&thread| (self.hand_over(from, thread), thread));
        // The first of equals: it waits longest.
        let Some((over, thread)) = ways.min_by_key(|&(over, _)| over) else { return };
        self.locks.all[index as usize].steps.coming = Some((at + over, thread));
    }

    /// A free lock has reached a thread that waits, and nobody was faster.
    pub(super) fn granted(&mut self, index: u32, thread: u32, at: Time) {
        let lock = &mut self.locks.all[index as usize];
        lock.steps.coming = None;
        lock.waiting.retain(|&waiting| waiting != thread);
        let (process, inner) = self.names(thread);
        let entry = self.cores.actors[thread as usize].entering.as_ref().expect("it waits").entry();
        let guard = self.libraries[process.0 as usize].guard(inner, &entry);
        let guard = guard.expect("it waits for a lock");
        self.grant(index, guard, thread, TimeDelta::ZERO, at);
    }

    pub(in crate::timed) fn grant(
        &mut self,
        index: u32,
        guard: Guard,
        thread: u32,
        lead: TimeDelta,
        at: Time,
    ) {
        let what = self.actor(thread).entering.take();
        let what = what.expect("a thread waits for the lock to do something");
        let part = self.waits_in(thread, &what);
        if !matches!(what, Entering::Turn) {
            self.note(|trail| trail.until(thread, part.into(), at));
        }
        let actor = self.actor(thread);
        actor.account.add(part, at.since(actor.queued));
        self.inside(index, guard, thread, what, lead, at);
    }

    /// What the wait for a lock counts as: who would only poll, and find nothing, loses nothing.
    pub(super) fn waits_in(&self, thread: u32, what: &Entering<M>) -> Part {
        let (process, _) = self.names(thread);
        let turn = matches!(what, Entering::Turn);
        if turn && self.ports.pollers[process.0 as usize].is_empty() {
            Part::Wait
        } else {
            Part::Lock
        }
    }
}
