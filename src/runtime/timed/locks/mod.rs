//! The locks of the library: which threads wait, which is next, and what the way of the lock costs.
//!
//! ```text
//!   request ─▶ free: its line comes from the core that had it last ─▶ inside
//!          └─▶ held: wait ─▶ release ─▶ hand-over by distance ─▶ inside
//! ```
//!
//! A fair lock is handed to the thread that waits longest. An unfair one is free from its release on:
//! waiters see the release only when the lock's cache line reaches them; a requester on a closer core
//! can win.
//!
//! Left out: waiting threads take no issue slots, and their looks at the lock's line do not slow
//! its holder. Noticeable where many hardware threads of one core wait.

mod lulls;
mod steps;

use std::collections::VecDeque;

use super::context::Context;
use super::cores::Cores;
use super::cores::actor::{Entering, State};
use super::costs::Costs;
use super::event::Event;
use super::ports::Ports;
use super::setup::LockOrder;
use crate::account::Part;
use lulls::Lulls;
use protocols::contract::{Guard, Machine, Process, Program};
pub(super) use steps::LockEvent;
use steps::{Charge, Search, Steps};
use units::{Time, TimeDelta};

/// The locks of all processes, each made when it is first requested.
#[derive(Debug)]
pub(super) struct Locks {
    order: LockOrder,
    /// Whether slices of polling that find nothing are events.
    step_by_step: bool,
    known: Vec<OfProcess>,
    all: Vec<Lock>,
    /// Places of locks whose next step may be another one than before.
    touched: Vec<u32>,
    /// Pending events of locks.
    events: usize,
    /// For a state of a lock that comes back.
    search: Search,
}

/// The locks of a process.
#[derive(Clone, Debug, Default)]
struct OfProcess {
    /// By guard: a place in `all`.
    guards: Vec<Option<u32>>,
    lulls: Lulls,
    /// Until when the steps of its locks may be taken, whatever else happens: something looked at one of them.
    looked: Time,
}

#[derive(Debug)]
struct Lock {
    process: Process,
    owner: Option<u32>,
    /// The thread that had it last.
    last: Option<u32>,
    waiting: VecDeque<u32>,
    /// Steps that it takes by itself.
    steps: Steps,
    /// Beginnings and ends of lulls of its process before which all steps are taken.
    seen: u64,
}

/// A lock is handed to a thread that waits; `lead` is what the way takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grant {
    pub(super) lock: u32,
    pub(super) guard: Guard,
    pub(super) thread: u32,
    pub(super) lead: TimeDelta,
}

impl Locks {
    pub(super) const fn new(order: LockOrder, step_by_step: bool) -> Self {
        Self {
            order,
            step_by_step,
            known: Vec::new(),
            all: Vec::new(),
            touched: Vec::new(),
            events: 0,
            search: Search::new(),
        }
    }

    /// The places of a process's locks, by guard.
    #[inline]
    pub(super) fn of(&self, process: Process) -> &[Option<u32>] {
        self.known.get(process.0 as usize).map_or(&[], |own| own.guards.as_slice())
    }

    /// The place of a process's lock, if it was requested.
    #[inline]
    pub(super) fn known(&self, process: Process, guard: Guard) -> Option<u32> {
        *self.of(process).get(usize::from(guard.0))?
    }

    /// Whether no process has requested one yet.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.all.len()).expect("locks are counted in u32")
    }

    /// The process whose lock it is.
    pub(super) fn process(&self, place: u32) -> Process {
        self.lock(place).process
    }

    fn lock(&self, place: u32) -> &Lock {
        &self.all[place as usize]
    }

    fn lock_mut(&mut self, place: u32) -> &mut Lock {
        &mut self.all[place as usize]
    }

    /// The next step of a lock may be another one than before.
    pub(super) fn touch(&mut self, place: u32) {
        if !std::mem::replace(&mut self.lock_mut(place).steps.touched, true) {
            self.touched.push(place);
        }
    }

    #[inline]
    pub(super) const fn any_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    fn next_touched(&mut self) -> Option<u32> {
        let place = self.touched.pop()?;
        self.lock_mut(place).steps.touched = false;
        Some(place)
    }

    /// The locks of a process that died take no step any more.
    pub(super) fn forget(&mut self, process: Process) {
        for lock in self.all.iter_mut().filter(|lock| lock.process == process) {
            lock.owner = None;
            lock.waiting.clear();
            lock.steps.stop();
        }
    }

    fn place(&mut self, owner: Process, guard: Guard) -> u32 {
        let (process, guard) = (owner.0 as usize, usize::from(guard.0));
        if process >= self.known.len() {
            self.known.resize(process + 1, OfProcess::default());
        }
        let own = &mut self.known[process];
        if guard >= own.guards.len() {
            own.guards.resize(guard + 1, None);
        }
        let seen = own.lulls.seen();
        *own.guards[guard].get_or_insert_with(|| {
            let (last, waiting, steps) = (None, VecDeque::new(), Steps::default());
            self.all.push(Lock { process: owner, owner: None, last, waiting, steps, seen });
            u32::try_from(self.all.len() - 1).expect("locks are counted in u32")
        })
    }

    /// A thread asks for a lock at `at`: what its way in takes, where it has the lock then; else it
    /// waits from now on.
    pub(super) fn ask<M: Machine, P: Program<M>>(
        &mut self,
        thread: u32,
        guard: Guard,
        at: Time,
        cores: &mut Cores<M, P>,
        costs: &Costs,
    ) -> Option<TimeDelta> {
        let place = self.place(cores.names(thread).0, guard);
        self.touch(place);
        let way = way(self.lock(place).last, thread, cores, costs);
        let lock = self.lock_mut(place);
        let faster = lock.steps.coming.is_none_or(|(seen, _)| at + way < seen);
        if lock.owner.is_none() && faster {
            lock.steps.coming = None;
            self.take(place, guard, thread, at, cores);
            return Some(way);
        }
        lock.waiting.push_back(thread);
        let actor = cores.of_mut(thread);
        actor.queued = at;
        actor.state = State::Locked;
        None
    }

    /// The next step of a process's lock may be another one than before.
    pub(super) fn touch_of(&mut self, process: Process, guard: Guard) {
        let place = self.place(process, guard);
        self.touch(place);
    }

    /// A thread has a lock from `at` on.
    pub(super) fn take<M: Machine, P: Program<M>>(
        &mut self,
        place: u32,
        guard: Guard,
        thread: u32,
        at: Time,
        cores: &mut Cores<M, P>,
    ) {
        self.lock_mut(place).owner = Some(thread);
        let actor = cores.of_mut(thread);
        actor.holds = Some((guard, at));
        actor.account.taken += 1;
    }

    /// The lock of `thread` is free from `at` on, or handed to the next that waits.
    pub(super) fn release<M: Machine, P: Program<M>>(
        &mut self,
        thread: u32,
        at: Time,
        cores: &mut Cores<M, P>,
        costs: &Costs,
    ) -> Option<Grant> {
        let actor = cores.of_mut(thread);
        let (guard, since) = actor.holds.take().expect("a thread that releases a lock holds it");
        actor.account.held += at.since(since);
        let place = self.place(actor.process, guard);
        self.touch(place);
        let order = self.order;
        let lock = self.lock_mut(place);
        debug_assert_eq!(lock.owner, Some(thread), "a thread that releases a lock holds it");
        lock.owner = None;
        lock.last = Some(thread);
        let hand_over = |to: u32| costs.hand_over(cores.place(thread), cores.place(to));
        match order {
            LockOrder::Fair => {
                let next = lock.waiting.pop_front()?;
                Some(Grant { lock: place, guard, thread: next, lead: hand_over(next) })
            }
            LockOrder::Unfair => {
                // The nearest of those that wait will see that it is free; the first of equals, which
                // waits longest.
                let ways = lock.waiting.iter().map(|&waits| (hand_over(waits), waits));
                if let Some((over, nearest)) = ways.min_by_key(|&(over, _)| over) {
                    lock.steps.coming = Some((at + over, nearest));
                }
                None
            }
        }
    }

    /// A free lock has reached a thread that waits, and no other was faster.
    pub(super) fn reaches(&mut self, place: u32, thread: u32) {
        let lock = self.lock_mut(place);
        lock.steps.coming = None;
        lock.waiting.retain(|&waiting| waiting != thread);
    }

    /// A slice under a lock has found nothing: its thread, and what it polled until `at`.
    pub(super) fn end_slice<M: Machine, P: Program<M>>(
        &mut self,
        place: u32,
        cores: &mut Cores<M, P>,
    ) -> u32 {
        let lock = self.lock_mut(place);
        lock.steps.slice = None;
        let thread = lock.owner.expect("a thread that takes a slice holds the lock");
        cores.of_mut(thread).state = State::Locked;
        thread
    }

    /// A thread has released the lock after a slice: at once it asks again (`true`), or it yields its
    /// core for so long.
    pub(super) fn asks_at_once(
        &mut self,
        place: u32,
        thread: u32,
        at: Time,
        yields: TimeDelta,
    ) -> bool {
        match self.order {
            LockOrder::Fair => true,
            LockOrder::Unfair => {
                self.lock_mut(place).steps.yields.push_back((at + yields, thread));
                false
            }
        }
    }

    /// A thread that has yielded its core asks again.
    pub(super) fn end_yield(&mut self, place: u32) {
        self.lock_mut(place).steps.yields.pop_front();
    }

    /// The slice of polling of a thread that holds a lock (`holds`) ends then and finds nothing; `None`:
    /// it meets something before.
    pub(super) fn plan_slice(
        &mut self,
        process: Process,
        holds: Option<(Guard, Time)>,
        ends: Option<Time>,
    ) {
        let Some((guard, _)) = holds else {
            return assert!(ends.is_none(), "a slice is taken under a lock");
        };
        let place = self.place(process, guard);
        self.touch(place);
        self.lock_mut(place).steps.slice = ends;
    }

    /// Something looks at a lock of a process now: whether all of its locks must take their steps first. Some
    /// would come to something now, or the channels have changed too often.
    pub(super) fn press(&mut self, process: Process, now: Time) -> bool {
        let Some(own) = self.known.get_mut(process.0 as usize) else { return false };
        own.looked = now;
        let all = &self.all;
        let is_due = |lock: &Lock| lock.steps.next().is_some_and(|(at, _)| at <= now);
        let touched = self.touched.iter().map(|&place| &all[place as usize]);
        let armed = |place: &u32| all[*place as usize].steps.is_armed_for(now);
        own.lulls.are_many()
            || touched.filter(|lock| lock.process == process).any(is_due)
            || self.events > 0 && own.guards.iter().flatten().any(armed)
    }

    /// All steps of a lock up to now are taken.
    pub(super) fn settled(&mut self, place: u32) {
        let lock = &mut self.all[place as usize];
        lock.seen = self.known[lock.process.0 as usize].lulls.seen();
    }

    /// All steps of all locks of a process up to now are taken.
    pub(super) fn all_settled(&mut self, process: Process, now: Time) {
        let Self { known, all, .. } = self;
        let Some(own) = known.get_mut(process.0 as usize) else { return };
        own.looked = now;
        own.lulls.forget();
        for &place in own.guards.iter().flatten() {
            all[place as usize].seen = own.lulls.seen();
        }
    }

    /// Until when the steps of a parked lock are taken, where the run ends at `end`.
    pub(super) fn taken_until(&self, place: u32, end: Time) -> Time {
        self.known[self.process(place).0 as usize].looked.max(end)
    }

    /// A lull of a process begins now, or ends: see [`lulls`].
    pub(super) fn lull(&mut self, process: Process, now: Time, ends: bool) {
        if let Some(own) = self.known.get_mut(process.0 as usize)
            && !own.guards.is_empty()
        {
            own.lulls.change(now, ends);
        }
    }

    /// Whether a step of a lock at `at` lies in a lull; `None`: it lies in the present.
    pub(super) fn lies_in_a_lull(&self, process: Process, guard: Guard, at: Time) -> Option<bool> {
        let place = self.known(process, guard)?;
        self.known[process.0 as usize].lulls.lies_in_one(self.lock(place).seen, at)
    }

    /// A thread that would only poll is charged for the lock, by a step at `at`.
    #[inline]
    pub(super) fn charges(&mut self, thread: u32, part: Part, (at, time): (Time, TimeDelta)) {
        self.search.charges(Charge { thread, at, part, time });
    }

    /// The next step of a lock up to `until`, and when.
    pub(super) fn next_step(&self, place: u32, until: Time) -> Option<(Time, LockEvent)> {
        self.lock(place).steps.next().filter(|&(at, _)| at <= until)
    }

    /// An event of a lock happens, or is lost with its process.
    pub(super) const fn event_happens(&mut self) {
        self.events -= 1;
    }

    /// Whether an event is the one that was scheduled last.
    pub(super) fn is_due(&self, place: u32, generation: u32) -> bool {
        self.lock(place).steps.is_of(generation)
    }

    /// Whether nothing but parked locks is left, where idle slices are events: as a run ends whose idle
    /// slices are none.
    pub(super) fn all_are_parked<M: Machine, P: Program<M>>(
        &self,
        pending: usize,
        beside: &Beside<'_, M, P>,
    ) -> bool {
        self.step_by_step
            && pending == self.events
            && (0..self.count()).all(|lock| self.is_idle(lock, beside))
    }

    /// The event of a lock is due: its steps are taken.
    pub(super) fn disarm(&mut self, place: u32) {
        self.lock_mut(place).steps.disarm();
        self.touch(place);
    }

    /// Locks that were touched get events for their next steps, or lose them.
    pub(super) fn arm<M: Machine, P: Program<M>>(
        &mut self,
        beside: &Beside<'_, M, P>,
        cx: &mut Context,
    ) {
        while let Some(place) = self.next_touched() {
            let next = self.lock(place).steps.next();
            let due = next
                .map(|(at, _)| at)
                .filter(|_| self.step_by_step || !self.is_idle(place, beside));
            if let Some((at, generation)) = self.lock_mut(place).steps.arm(due) {
                self.events += 1;
                cx.clock.schedule_lock(at, place, Event::Lock(place, generation));
            }
        }
    }

    /// Whether nothing comes of the lock's steps: threads poll that will find nothing, or line up
    /// behind one that works.
    pub(super) fn is_idle<M: Machine, P: Program<M>>(
        &self,
        place: u32,
        beside: &Beside<'_, M, P>,
    ) -> bool {
        let lock = self.lock(place);
        if lock.owner.is_some() && lock.steps.slice.is_none() {
            return true;
        }
        let asks =
            |&thread: &u32| matches!(beside.cores.of(thread).entering, Some(Entering::PollSlice));
        let yields = lock.steps.yields.iter().map(|&(_, thread)| thread);
        let mut threads = lock.waiting.iter().copied().chain(lock.owner).chain(yields);
        lock.waiting.iter().all(asks) && threads.all(|thread| beside.will_find_nothing(thread))
    }

    /// Whether what the lock does depends on nothing but how long ago things happened.
    pub(super) fn is_periodic<M: Machine, P: Program<M>>(
        &self,
        place: u32,
        cores: &Cores<M, P>,
    ) -> bool {
        let mut threads = self.lock(place).threads();
        !self.step_by_step && threads.all(|thread| cores.of(thread).is_undisturbed())
    }

    /// A search for a state that comes back begins, or steps of a lock are taken without one: the search that
    /// went on before.
    pub(super) fn begin_search(&mut self, searches: bool) -> Option<Search> {
        let before = self.search.goes_on().then(|| std::mem::take(&mut self.search));
        if searches {
            self.search.begin();
        }
        before
    }

    /// It ends: what went on before goes on.
    pub(super) fn end_search(&mut self, before: Option<Search>) {
        match before {
            Some(before) => self.search = before,
            None => self.search.end(),
        }
    }

    /// The time since the lock was in the state that it is in after its step `at`, if it was kept.
    pub(super) fn period<M: Machine, P: Program<M>>(
        &mut self,
        place: u32,
        at: Time,
        cores: &Cores<M, P>,
    ) -> Option<TimeDelta> {
        let Self { all, search, .. } = self;
        let lock = &all[place as usize];
        let lonely = lock.waiting.is_empty() && lock.steps.yields.is_empty();
        search.step(
            at,
            lonely,
            |state| lock.describe(at, state, cores),
            |accounts| accounts.extend(lock.threads().map(|thread| cores.of(thread).account)),
        )
    }

    /// The state that the lock is in came back after `period`: so it will, as often as that fits into
    /// `ahead`.
    pub(super) fn repeat<M: Machine, P: Program<M>>(
        &mut self,
        place: u32,
        (period, ahead): (TimeDelta, TimeDelta),
        cores: &mut Cores<M, P>,
    ) {
        let times = ahead.as_ps() / period.as_ps();
        let by = period * times;
        let Self { known, all, search, .. } = self;
        let lock = &mut all[place as usize];
        lock.steps.shift(by);
        for &waiting in &lock.waiting {
            cores.of_mut(waiting).queued += by;
        }
        if let Some(owner) = lock.owner {
            let actor = cores.of_mut(owner);
            actor.polls.shift(by);
            actor.holds = actor.holds.map(|(guard, since)| (guard, since + by));
        }
        for (thread, &before) in lock.threads().zip(search.accounts()) {
            let account = &mut cores.of_mut(thread).account;
            let gained = *account - before;
            *account += gained.times(times);
        }
        let lulls = &known[lock.process.0 as usize].lulls;
        for &Charge { thread, at, part, time } in search.charged() {
            let differing = lulls.differing(lock.seen, at, (period, times));
            let other = if part == Part::Wait { Part::Lock } else { Part::Wait };
            cores.of_mut(thread).account.shift(part, other, time * differing);
        }
        search.end();
    }
}

impl Lock {
    /// The threads that take its steps: the one that has it, those that wait, those that will ask again.
    fn threads(&self) -> impl Iterator<Item = u32> {
        let yields = self.steps.yields.iter().map(|&(_, thread)| thread);
        self.owner.into_iter().chain(self.waiting.iter().copied()).chain(yields)
    }

    /// All that the next steps of an idle lock depend on, and all moments that they change, relative
    /// to `at`.
    fn describe<M: Machine, P: Program<M>>(
        &self,
        at: Time,
        state: &mut Vec<u64>,
        cores: &Cores<M, P>,
    ) {
        const NONE: u64 = u64::MAX;
        let relative = |time: Time| time.as_ps().wrapping_sub(at.as_ps());
        let named = |thread: Option<u32>| thread.map_or(NONE, u64::from);
        let (coming, seen) =
            self.steps.coming.map_or((None, at), |(at, thread)| (Some(thread), at));
        state.extend([named(self.owner), named(self.last), named(coming), relative(seen)]);
        if let Some(owner) = self.owner {
            let actor = cores.of(owner);
            let held = actor.holds.map_or(at, |(_, since)| since);
            let slice = self.steps.slice.unwrap_or(at);
            let channel = u64::from(actor.polls.channel());
            state.extend([relative(slice), relative(actor.polls.since()), relative(held), channel]);
        }
        for &thread in &self.waiting {
            let queued = cores.of(thread).queued;
            state.extend([u64::from(thread), relative(queued)]);
        }
        state.push(NONE);
        for &(asks, thread) in &self.steps.yields {
            state.extend([u64::from(thread), relative(asks)]);
        }
    }
}

/// State beside the locks that their steps depend on.
#[derive(Debug)]
pub(super) struct Beside<'a, M: Machine, P> {
    pub(super) cores: &'a Cores<M, P>,
    pub(super) ports: &'a Ports,
    pub(super) libraries: &'a [M],
}

impl<M: Machine, P: Program<M>> Beside<'_, M, P> {
    /// Whether a thread that polls under a lock meets nothing, however long it does.
    fn will_find_nothing(&self, thread: u32) -> bool {
        let actor = self.cores.of(thread);
        let port = self.ports.of(actor.process);
        let polled = port.polled(self.libraries[actor.process.0 as usize].polls(actor.inner));
        actor.reply.is_none()
            && !actor.polls.will_sweep()
            && polled.cost > TimeDelta::ZERO
            && (port.is_empty() || port.next_ready(polled, polled.first).is_none())
    }
}

/// Until a free lock is taken: its line comes from the core that had it last.
fn way<M: Machine, P: Program<M>>(
    last: Option<u32>,
    thread: u32,
    cores: &Cores<M, P>,
    costs: &Costs,
) -> TimeDelta {
    let uncontended = costs.profile.mpi.lock_uncontended;
    match last {
        Some(last) if last != thread => {
            uncontended + costs.line_transfer(cores.place(last), cores.place(thread))
        }
        Some(_) | None => uncontended,
    }
}
