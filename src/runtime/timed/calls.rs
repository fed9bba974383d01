//! Programs and their libraries: steps of a program, the way into the library under its lock, and the
//! end of a list of actions.
//!
//! ```text
//!   program ─▶ advance_program ─▶ enter ─▶ lock ─▶ entered ─▶ Machine::handle ─▶ work_on (actions.rs)
//!      ▲                                     ▲                                     │
//!      └────────────── list_end ◀────────────┴── polls (arrivals.rs) ◀─────────────┘
//! ```

use super::at_once::{AtOnce, Came};
use super::conductor::Timed;
use super::cores::actor::{After, Entering, State};
use super::event::{Event, Phase};
use super::executor::Executor;
use super::livelock::{Found, LONG};
use super::locks::{Beside, Grant, LockEvent};
use super::network::flight::{Arrived, Content};
use super::setup::Planted;
use crate::account::Part;
use crate::causes::Spent;
use crate::monitors::buffers::Lends;
use crate::outcome::Mark;
use crate::rules::Cut;
use crate::untimed::Choice;
use hardware::lines::Use;
use mpi::rma::access::Touch;
use protocols::contract::{
    Entry, Guard, Input, InputOf, Lane, Lanes, Machine, Next, Process, Program, Region, Via,
};
use units::{Time, TimeDelta};

/// Programs: what they do outside the library.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The program goes on at `at` until it calls, computes or ends.
    pub(super) fn advance_program(&mut self, thread: u32, mut reply: Option<M::Reply>, at: Time) {
        loop {
            let actor = self.cores.of_mut(thread);
            actor.state = State::Program;
            actor.program.goes_on_at(at.as_ps());
            let next = actor.program.next(reply.take());
            if let Next::Call(call) = next {
                if self.livelock.looks() && self.ends_at_call(thread, at) {
                    return;
                }
                return self.call(thread, call, at);
            }
            if self.livelock.looks() {
                let crashed = self.dead().is_some();
                self.livelock.goes_on(thread, &self.cores.of(thread).program, at, crashed);
            }
            if !self.beside_calls(thread, next, at) {
                return;
            }
        }
    }

    /// Carries out a step of the program at `at` that is no call; answers whether it goes on at once.
    #[inline(never)]
    fn beside_calls(&mut self, thread: u32, next: Next<M::Call>, at: Time) -> bool {
        let (process, inner) = self.cores.names(thread);
        match next {
            Next::Mark(number) => {
                let account = self.cores.of(thread).account;
                let mark = Mark { process, thread: inner, number, at, account };
                self.cx.observers.marks(thread, mark);
                return true;
            }
            Next::Tell(fact) => {
                self.cx.observers.observes_program(process, &fact);
                return true;
            }
            Next::Clock => {
                self.cores.of_mut(thread).program.loaded(at.as_ps());
                return true;
            }
            access @ (Next::Load(_) | Next::Take(_) | Next::Store(..)) => {
                return self.read_or_write(thread, &access, at);
            }
            Next::Compute(ps) => {
                // Whatever ends behind every limit of time ends the run: it need not leave the clock for that.
                let room = (u64::MAX - u64::MAX / 32).saturating_sub(at.as_ps());
                let ps = ps.min(room);
                self.outside(thread, Spent::Outside, TimeDelta::from_ps(ps), at);
            }
            Next::Copy(from, to) => self.copy_outside(thread, (from, to), at),
            Next::Offload(stream, work) => {
                let call = self.ask_gpu(thread, (stream, work), None, at);
                self.outside(thread, Spent::Outside, call, at);
            }
            Next::Fork => self.fork(thread, at),
            Next::Join => {
                let actor = self.cores.of_mut(thread);
                (actor.since, actor.state) = (at, State::Joining);
                self.adapter_looks(process);
                self.joined(process, at);
            }
            Next::End => self.end_program(thread, at),
            Next::Call(_) => unreachable!("calls enter the library"),
        }
        false
    }

    /// The core works outside the library from `at` on, or stands still there for a line.
    fn outside(&mut self, thread: u32, spent: Spent, work: TimeDelta, at: Time) {
        self.cores.of_mut(thread).state = State::Computing;
        self.cores.occupy(thread);
        let cx = &mut self.cx;
        let end = if spent == Spent::Line {
            self.cores.stand_still(thread, Part::Outside, at, work, cx)
        } else {
            self.cores.charge_as(thread, (Part::Outside, spent), at, work, cx)
        };
        self.adapter_looks(self.cores.names(thread).0);
        self.cores.end_list(thread, end, &mut self.cx);
    }

    fn end_program(&mut self, thread: u32, at: Time) {
        let actor = self.cores.of_mut(thread);
        actor.state = State::Ended;
        let name = (actor.process, actor.inner);
        let (lived, accounted) = (at.since(actor.born), actor.account.total());
        self.cx.observers.program_ends(name, lived, accounted);
        self.adapter_looks(name.0);
        if at > self.cx.now() {
            self.cx.schedule(at, thread, Phase::Library, Event::ListEnd(thread));
        } else {
            self.joined(name.0, at);
        }
    }

    /// The first thread creates the others of its process, one after the other.
    fn fork(&mut self, thread: u32, at: Time) {
        let create = self.cx.costs.profile.os.thread_create;
        let (process, _) = self.cores.names(thread);
        let others = self.cx.layout.threads_of(process).skip(1);
        let born = others.len() as u64;
        for (other, number) in others.zip(1..) {
            self.cx.observers.trace(|path| path.forks(thread, other));
            let begins = at + create * number;
            self.cx.schedule(begins, other, Phase::Start, Event::Begin(other));
        }
        self.outside(thread, Spent::Outside, create * born, at);
    }

    /// Where the first thread waits for the others, and all have ended: it goes on.
    fn joined(&mut self, process: Process, at: Time) {
        let threads = self.cx.layout.threads_of(process);
        let (first, others) = (threads.start, threads.skip(1));
        let born = others.len() as u64;
        let ended = others.clone().all(|other| self.cores.of(other).ended());
        let actor = self.cores.of_mut(first);
        if actor.state == State::Joining && ended {
            actor.account.add(Part::Wait, at.since(actor.since));
            self.cx.observers.trace(|path| path.joins(first, others, at));
            let join = self.cx.costs.profile.os.thread_join;
            self.outside(first, Spent::Outside, join * born, at);
        }
    }

    /// The program reads or writes memory at `at`; answers whether it goes on at once. What others can
    /// reach is accessed at its time, and not ahead of the clock, and where other cores have its lines
    /// they come first: nothing else costs.
    fn read_or_write(&mut self, thread: u32, access: &Next<M::Call>, at: Time) -> bool {
        let (Next::Load(region) | Next::Take(region) | Next::Store(region, _)) = *access else {
            unreachable!("only loads and stores access memory")
        };
        if region.is_in_a_window() && !self.is_due(thread, access, at) {
            return false;
        }
        let (process, _) = self.cores.names(thread);
        let stores = matches!(access, Next::Store(..));
        let (kind, does) =
            if stores { (Touch::Store, Use::Writes) } else { (Touch::Load, Use::Reads) };
        let actor = self.cores.of_mut(thread);
        self.cx.observers.accesses(process, region, kind, || actor.program.position());
        if let Next::Store(region, value) = *access {
            self.memory.bytes.store(process, region, &value.to_le_bytes());
        } else {
            let value = self.memory.bytes.load(process, region);
            actor.program.loaded(value);
        }
        if let Next::Take(region) = *access {
            self.memory.bytes.forget(process, region.space);
        }
        let here = self.cores.place(thread);
        let wait = self.memory.mapped.fetch(here, region, does, &self.cx.costs);
        if wait > TimeDelta::ZERO {
            self.outside(thread, Spent::Line, wait, at);
        }
        wait == TimeDelta::ZERO
    }

    /// Whether the time has come to access what others can reach; until then the thread waits.
    fn is_due(&mut self, thread: u32, access: &Next<M::Call>, at: Time) -> bool {
        if at > self.cx.now() {
            self.cores.of_mut(thread).access = Some(Box::new(access.clone()));
            self.cx.schedule(at, thread, Phase::Library, Event::Access(thread));
            return false;
        }
        let (process, inner) = self.cores.names(thread);
        self.cx.observers.record(|| Choice::Touch { process, thread: inner });
        true
    }

    /// The program copies `from` to `to`: the bytes are there when it begins, and its core is busy.
    fn copy_outside(&mut self, thread: u32, (from, to): (Region, Region), at: Time) {
        let shared = from.is_in_a_window() || to.is_in_a_window();
        if shared && !self.is_due(thread, &Next::Copy(from, to), at) {
            return;
        }
        let actor = self.cores.of_mut(thread);
        (actor.state, actor.next) = (State::Computing, 0);
        let process = actor.process;
        for (region, kind) in [(from, Touch::Load), (to, Touch::Store)] {
            self.cx.observers.accesses(process, region, kind, || actor.program.position());
        }
        self.cores.occupy(thread);
        self.memory.bytes.copy(process, from, to);
        let mut executor = self.executor(thread);
        let at = executor.fetch_for_copy((from, to), (Part::Outside, at));
        if let Some(end) = executor.move_bytes(from.len, at) {
            self.cores.end_list(thread, end, &mut self.cx);
        }
    }

    /// The time of a load, a store or a copy has come.
    pub(super) fn access_is_due(&mut self, thread: u32) {
        let now = self.cx.now();
        let access = self.cores.of_mut(thread).access.take();
        let access = access.expect("the event was made for one");
        if let Next::Copy(from, to) = *access {
            return self.copy_outside(thread, (from, to), now);
        }
        if self.read_or_write(thread, &access, now) {
            self.advance_program(thread, None, now);
        }
    }

    /// A thread calls: whether its process dies at it, or the run ends, since nothing can change any
    /// more.
    fn ends_at_call(&mut self, thread: u32, now: Time) -> bool {
        let (process, _) = self.cores.names(thread);
        if let Some(fault) = self.faults.as_mut().and_then(|faults| faults.at_call(process)) {
            self.begin_fault(u32::try_from(fault).expect("a plan is short"));
            return true;
        }
        let (cores, program) = (self.cores.count(), &self.cores.of(thread).program);
        if self.livelock.calls(thread, program, now, cores) {
            if let Some(found) = self.nothing_can_change(now) {
                self.livelock.ends(found);
            } else if self.dead().is_none() {
                self.livelock.sleep(self.cx.clock.events(), self.faults.is_some());
                self.pause_next();
            }
        }
        self.livelock.is_over()
    }

    /// Why nothing can change what programs retry for, if so.
    fn nothing_can_change(&self, now: Time) -> Option<Found> {
        let sent_nothing = self.livelock.sent_nothing(self.network.packets());
        // A thread may have been ahead of the clock when something was new.
        let since = self.livelock.since();
        let quiet = now.max(since).since(since);
        let tries = self.network.longest_try();
        let ends = self.faults.as_ref().is_some_and(|faults| faults.some_will_end(quiet, tries));
        let crashed = self.dead().is_some();
        let quiet = if crashed {
            self.network.all_are_short(LONG)
        } else {
            sent_nothing && self.nothing_is_under_way()
        };
        let all_wait = || {
            self.cores.all().all(|(thread, actor)| {
                let inside = matches!(
                    actor.state,
                    State::Polling | State::Locked | State::Joining | State::Ended
                );
                inside || self.livelock.retries(thread)
            })
        };
        if !ends && quiet && all_wait() {
            return Some(Found::Nothing);
        }
        (!crashed && sent_nothing && now == since).then_some(Found::NoTime)
    }

    /// Whether nothing is on a wire, in an adapter or a GPU, or waits in a channel to be taken.
    fn nothing_is_under_way(&self) -> bool {
        let lives = |process: Process| {
            self.cx.layout.threads_of(process).any(|thread| !self.cores.of(thread).ended())
        };
        let processes = u32::try_from(self.libraries.len()).expect("fewer than 2^32 processes");
        let taken = |process| self.ports.of(process).is_empty() || !lives(process);
        self.network.under_way() + self.memory.waiters.under_way() == 0
            && self.gpus.as_ref().is_none_or(|gpus| gpus.under_way() == 0)
            && !self.looking.contains(&true)
            && (0..processes).map(Process).all(taken)
    }
}

/// The way into a library, under its locks.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Enters the library: at `at`, or when the lock is granted.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass what it does through memory")]
    pub(super) fn enter(&mut self, thread: u32, what: Entering<M>, at: Time) {
        if self.cores.of(thread).is_alone() {
            debug_assert_eq!(self.guard_of(thread, &what), None, "it has nothing to lock out");
            return self.entered(thread, what, TimeDelta::ZERO, at);
        }
        self.enter_beside_others(thread, what, at);
    }

    #[inline(never)]
    fn enter_beside_others(&mut self, thread: u32, what: Entering<M>, at: Time) {
        let guard = if self.locks.is_empty() {
            self.guard_of(thread, &what)
        } else {
            self.settle_before(thread, &what)
        };
        self.ask(guard, thread, what, at);
    }

    /// The program calls the library.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass what it does through memory")]
    fn call(&mut self, thread: u32, call: M::Call, at: Time) {
        if !self.cores.of(thread).acts_at_once() || call.elements().is_some() {
            return self.enter(thread, Entering::Call(call), at);
        }
        let actor = self.cores.of_mut(thread);
        actor.state = State::Working;
        let (process, inner) = (actor.process, actor.inner);
        self.cx.observers.record(|| Choice::Enter { process, thread: inner });
        // What is emitted touches the buffers at once.
        let lent = [call.lends(), call.lends_also()];
        self.cx.observers.called::<M::Packet, M::Reply>(&mut self.memory.bytes, process, lent, &[]);
        self.handle_at_once(thread, Input::Call(call), at);
    }

    /// Enters the library, by a lock that it needs: all steps of the locks that it holds and asks for before `at`
    /// are taken.
    #[inline]
    fn ask(&mut self, guard: Option<Guard>, thread: u32, what: Entering<M>, at: Time) {
        let Some(guard) = guard else {
            return self.entered(thread, what, TimeDelta::ZERO, at);
        };
        match self.cores.of(thread).holds {
            None => self.ask_for(guard, thread, what, at),
            Some((held, _)) if held == guard => self.entered(thread, what, TimeDelta::ZERO, at),
            Some(_) => {
                // What its poll has found is another lock's.
                self.let_go(thread, at);
                self.ask_for(guard, thread, what, at);
            }
        }
    }

    /// The lock that it needs to enter.
    #[inline]
    fn guard_of(&self, thread: u32, what: &Entering<M>) -> Option<Guard> {
        let (process, inner) = self.cores.names(thread);
        let lane = |channel| self.ports.of(process).lane_of(channel);
        let guard = self.libraries[process.0 as usize].guard(inner, &what.entry(lane));
        guard.filter(|_| self.cx.planted != Some(Planted::NoLock))
    }

    fn ask_for(&mut self, guard: Guard, thread: u32, what: Entering<M>, at: Time) {
        match self.locks.ask(thread, guard, at, &mut self.cores, &self.cx.costs) {
            Some(way) => self.entered(thread, what, way, at),
            None => self.cores.of_mut(thread).entering = Some(what),
        }
    }

    /// The lock of `thread` is free from `at` on, or handed to the next that waits.
    pub(super) fn release(&mut self, thread: u32, at: Time) {
        self.settle_held(thread);
        self.let_go(thread, at);
    }

    /// Releases, where all steps before `at` are taken.
    fn let_go(&mut self, thread: u32, at: Time) {
        if let Some(grant) = self.locks.release(thread, at, &mut self.cores, &self.cx.costs) {
            self.grant(grant, at);
        }
    }

    /// A thread that waits gets a lock at `at`.
    fn grant(&mut self, Grant { lock, guard, thread, lead }: Grant, at: Time) {
        let what = self.cores.of_mut(thread).entering.take();
        let what = what.expect("a thread waits for the lock to do something");
        let part = self.waits_in(thread, &what, Some(guard), at);
        let actor = self.cores.of_mut(thread);
        let waited = at.since(actor.queued);
        actor.account.add(part, waited);
        if matches!(what, Entering::PollSlice) {
            self.locks.charges(thread, part, (at, waited));
        } else {
            self.cx.observers.trace(|path| path.until(thread, part.into(), at));
        }
        self.locks.take(lock, guard, thread, at, &mut self.cores);
        self.entered(thread, what, lead, at);
    }

    /// Part that the wait for a lock is charged to at `at`: a thread that would only poll, and find nothing, loses
    /// nothing.
    #[inline]
    fn waits_in(&self, thread: u32, what: &Entering<M>, guard: Option<Guard>, at: Time) -> Part {
        if !matches!(what, Entering::PollSlice) {
            return Part::Lock;
        }
        let (process, _) = self.cores.names(thread);
        let then = guard.and_then(|guard| self.locks.lies_in_a_lull(process, guard, at));
        let nothing = then.unwrap_or_else(|| self.ports.of(process).is_empty());
        if nothing { Part::Wait } else { Part::Lock }
    }

    /// Inside the guard at `at`: gives the machine its input. `lead` is what the way in costs.
    fn entered(&mut self, thread: u32, what: Entering<M>, lead: TimeDelta, at: Time) {
        let guard = self.cores.of(thread).holds.map(|(guard, _)| guard);
        let part = self.waits_in(thread, &what, guard, at);
        self.cores.occupy(thread);
        let actor = self.cores.of_mut(thread);
        actor.state = State::Working;
        actor.next = 0;
        actor.cut = Cut::new();
        let cursor = actor.work(part, at, lead);
        let (process, inner) = (actor.process, actor.inner);
        let observers = &mut self.cx.observers;
        if matches!(what, Entering::PollSlice) {
            self.locks.charges(thread, part, (at, lead));
        } else {
            observers.enters(thread, matches!(what, Entering::Call(_)), part, (at, cursor));
        }
        match what {
            Entering::PollSlice => return self.poll_slice(thread, cursor),
            Entering::Call(call) => {
                observers.record(|| Choice::Enter { process, thread: inner });
                observers.states(&call, || actor.program.position());
                let lent = [call.lends(), call.lends_also()];
                if self.handle(thread, Input::Call(call)) {
                    let actor = self.cores.of(thread);
                    let bytes = &mut self.memory.bytes;
                    self.cx.observers.called(bytes, process, lent, &actor.list);
                    self.stored();
                }
            }
            Entering::Take(channel) => return self.take(thread, channel, cursor),
            Entering::Polled(token) => {
                observers.record(|| Choice::EndPass { process, thread: inner });
                self.handle(thread, Input::Polled(token));
            }
            Entering::Resume(token) => {
                observers.record(|| Choice::Act { process, thread: inner });
                self.handle(thread, Input::Resume(token));
            }
            Entering::Consult(token) => {
                observers.record(|| Choice::Act { process, thread: inner });
                let counters = **actor.asked.as_ref().expect("it asks for them by its list");
                let values = self.memory.read_counters(counters, cursor);
                self.handle(thread, Input::Counters { token, values });
                let after = self.read_lock(thread, counters, cursor);
                return self.work_on(thread, after, false);
            }
        }
        self.work_on(thread, cursor, false);
    }

    /// The head of a channel, if no other thread was faster.
    fn take(&mut self, thread: u32, channel: u32, cursor: Time) {
        let (process, inner) = self.cores.names(thread);
        self.settle_pollers(process, self.ports.of(process).lane_of(channel));
        let cqe_poll = self.cx.costs.profile.hca.cqe_poll;
        if self.cores.of(thread).reply.is_some() {
            // While it waited for the lock, another thread has ended its call: it polls no more.
            self.cx.observers.trace(|path| path.sees_answer(thread, cursor));
            return self.work_on(thread, cursor, false);
        }
        let newest = self.cx.planted == Some(Planted::NewestFirst);
        let behind = if newest { self.ports.of(process).before_newest(channel) } else { 0 };
        let Some(arrived) = self.take_from(process, channel, behind) else {
            return self.work_on(thread, cursor, false);
        };
        // A thread that works keeps its lock from every step that looks at the channels as they were.
        let held =
            self.cores.of(thread).holds.and_then(|(guard, _)| self.locks.known(process, guard));
        if let Some(held) = held {
            self.locks.settled(held);
        }
        let cursor = match arrived {
            Arrived::SendDone => self.post(thread, cursor, cqe_poll),
            Arrived::Done(token) => {
                let lane = self.ports.of(process).lane_of(channel);
                self.cx.observers.record(|| Choice::TakeDone { process, thread: inner, lane });
                let cursor = self.post(thread, cursor, cqe_poll);
                self.handle(thread, Input::Done(token));
                cursor
            }
            Arrived::Device(token) | Arrived::Seen(token) => {
                let lane = self.ports.of(process).lane_of(channel);
                self.cx.observers.record(|| Choice::TakeDone { process, thread: inner, lane });
                let cursor = self.post(thread, cursor, TimeDelta::ZERO);
                self.handle(thread, Input::Done(token));
                cursor
            }
            Arrived::Packet { from, channel, content, via } => {
                self.cores.of_mut(thread).taken = Some((from, channel));
                let Content { packet, parcel, slots } = self.network.take(content);
                self.cx.observers.record(|| Choice::TakePacket {
                    process,
                    thread: inner,
                    from,
                    via,
                });
                let landing = parcel.map(|parcel| self.memory.bytes.land(process, &parcel));
                self.stored();
                let mut cost = match via {
                    Via::Hca => cqe_poll,
                    Via::SharedMemory => {
                        let payload = landing.map(|at| at.len);
                        self.cx.costs.taken_lines(payload)
                            + self.network.leave_queue(channel, slots, &self.cx)
                    }
                };
                if landing.is_none() && via == Via::Hca {
                    // A packet without payload leaves its receive buffer at once.
                    self.cores.of_mut(thread).reposts.push(channel);
                    cost += self.cx.costs.profile.hca.repost_overhead;
                }
                let cursor = self.post(thread, cursor, cost);
                let input = Input::Packet { from, packet, landing };
                if self.cores.of(thread).acts_at_once() {
                    return self.handle_at_once(thread, input, cursor);
                }
                self.handle(thread, input);
                cursor
            }
        };
        self.work_on(thread, cursor, false);
    }

    /// Takes the entry so many places behind the head of a channel.
    pub(super) fn take_from(
        &mut self,
        process: Process,
        channel: u32,
        behind: u32,
    ) -> Option<Arrived> {
        let arrived = self.ports.take(process, channel, behind)?;
        if self.ports.of(process).is_empty() {
            self.locks.lull(process, self.cx.now(), false);
        }
        Some(arrived)
    }

    /// A core hands something to a wire, or takes a completion.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where a thread is alone")]
    pub(super) fn post(&mut self, thread: u32, cursor: Time, work: TimeDelta) -> Time {
        self.cores.charge(thread, Part::Post, cursor, work, &mut self.cx)
    }

    /// Asks the machine, and carries out at once what it emits.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass the input through memory")]
    fn handle_at_once(&mut self, thread: u32, input: InputOf<M>, cursor: Time) {
        let Self { cores, memory, network, cx, libraries, .. } = self;
        let worker = cores.worker(thread);
        let (process, inner) = (worker.actor.process, worker.actor.inner);
        let mut out = AtOnce::new(Executor { worker, memory, network, cx }, cursor);
        let handled = libraries[process.0 as usize].handle(inner, input, &mut out);
        let came = out.end();
        if let Err(error) = handled {
            let line = self.cores.of(thread).program.position();
            self.cx.refuse(process, line, error);
        }
        self.stored();
        match came {
            Came::Through(at) => self.cores.end_list(thread, at, &mut self.cx),
            Came::ToTheList(at) => self.work_on(thread, at, false),
            Came::ToMemory => {}
        }
    }

    /// Asks the machine; answers whether it knew the input.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass the input through memory")]
    fn handle(&mut self, thread: u32, input: InputOf<M>) -> bool {
        let process = self.cores.of(thread).process;
        self.settle(process);
        self.cores.lend_list(thread);
        let actor = self.cores.of_mut(thread);
        match self.libraries[process.0 as usize].handle(actor.inner, input, &mut actor.list) {
            Ok(()) => true,
            Err(error) => {
                let line = actor.program.position();
                self.cx.refuse(process, line, error);
                false
            }
        }
    }

    /// A list, or a computation, is over at `at`.
    pub(super) fn list_end(&mut self, thread: u32, at: Time) {
        let actor = self.cores.of_mut(thread);
        let process = actor.process;
        match actor.state {
            State::Computing => {
                self.cores.vacate(thread);
                return self.advance_program(thread, None, at);
            }
            State::Ended => return self.joined(process, at),
            State::Program | State::Locked | State::Working | State::Polling | State::Joining => {}
        }
        if std::mem::take(&mut actor.returns) {
            self.record_act(thread);
        }
        self.cores.vacate(thread);
        let now = self.cx.now();
        let actor = self.cores.of_mut(thread);
        while let Some(channel) = actor.reposts.pop() {
            self.network.credit(channel, at, now);
        }
        let after = std::mem::replace(&mut actor.after, After::Nothing);
        // The pass of a test is one hold of the lock, with what it meets; so is a look at counters.
        let asks = matches!(after, After::Poll(_) | After::Consult(_));
        if actor.holds.is_some() && !asks && !actor.polls.is_test() {
            self.release(thread, at);
        }
        let actor = self.cores.of_mut(thread);
        actor.polls.end_list();
        match after {
            After::Poll(token) => {
                self.look_at_lanes(thread);
                if self.sweeps.is_some() {
                    self.test_beyond(thread);
                }
                let actor = self.cores.of_mut(thread);
                actor.polls.begin_test(token);
                actor.since = at;
                self.poll_on(thread, at);
            }
            After::Resume(token) => self.enter(thread, Entering::Resume(token), at),
            After::Consult(token) => self.enter(thread, Entering::Consult(token), at),
            After::Nothing => {
                let reply = actor.reply.take();
                if reply.is_some() {
                    self.advance_program(thread, reply, at);
                } else {
                    actor.since = at;
                    self.poll_on(thread, at);
                }
            }
        }
    }

    /// Another thread's work has ended this thread's call.
    pub(super) fn returned(&mut self, by: u32, thread: u32, reply: M::Reply) {
        self.settle_of(thread);
        let now = self.cx.now();
        let actor = self.cores.of_mut(thread);
        // A thread that polls under a lock looks for the end of its call when it has the lock again.
        if actor.state == State::Polling && actor.holds.is_none() {
            actor.polls.stop();
            actor.account.add(Part::Wait, now.since(actor.polls.since()));
            self.cx.observers.trace(|path| path.answered(by, thread, Some(now)));
            self.advance_program(thread, Some(reply), now);
        } else {
            actor.reply = Some(reply);
            self.cx.observers.trace(|path| path.answered(by, thread, None));
        }
    }
}

/// Steps that the locks of the library take by themselves, taken before something looks at what they touch:
/// see `locks/steps.rs`.
///
/// ```text
///   a thread enters, releases, is answered ──▶ the locks that it holds, and asks for
///   something arrives on a lane, is taken   ──▶ the locks of the threads that poll this lane
///   a step would come to something now      ──▶ all locks of the process
/// ```
///
/// All other locks of the process are parked, or their next step is an event to come: they take their steps when
/// one of these comes to them. Two locks share neither threads nor lanes. Beside these a step looks only at whether
/// any channel of the process holds something, to charge a wait (`locks/lulls.rs`).
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Takes the steps up to now of all locks of a process, where one would come to something; answers whether it
    /// does.
    fn settle_if_pressed(&mut self, process: Process) -> bool {
        let pressed = self.locks.press(process, self.cx.now());
        if pressed {
            self.settle_all(process);
        }
        pressed
    }

    /// Takes all steps of a process's locks up to now.
    #[inline(never)]
    pub(super) fn settle_all(&mut self, process: Process) {
        for guard in 0..self.locks.of(process).len() {
            if let Some(lock) = self.locks.of(process)[guard] {
                self.settle_lock(lock);
            }
        }
        self.locks.all_settled(process, self.cx.now());
    }

    /// Takes all steps of a lock up to now.
    fn settle_lock(&mut self, lock: u32) {
        self.locks.touch(lock);
        self.advance(lock, self.cx.now());
        self.locks.settled(lock);
    }

    /// The same of a lock that may be none, or none yet.
    fn settle_known(&mut self, process: Process, guard: Option<Guard>) {
        if let Some(lock) = guard.and_then(|guard| self.locks.known(process, guard)) {
            self.settle_lock(lock);
        }
    }

    /// A machine takes an input: what it answers for the threads that poll under other locks stays.
    #[inline]
    fn settle(&mut self, process: Process) {
        if !self.locks.is_empty() {
            self.settle_if_pressed(process);
        }
    }

    /// A thread releases the lock that it holds.
    #[inline]
    fn settle_held(&mut self, thread: u32) {
        let actor = self.cores.of(thread);
        let (process, held) = (actor.process, actor.holds.map(|(guard, _)| guard));
        if !self.settle_if_pressed(process) {
            self.settle_known(process, held);
        }
    }

    /// A thread enters by the lock that it asks for, if any, which is the answer: what it holds is released.
    fn settle_before(&mut self, thread: u32, what: &Entering<M>) -> Option<Guard> {
        let (process, _) = self.cores.names(thread);
        let pressed = self.settle_if_pressed(process);
        let guard = self.guard_of(thread, what);
        if !pressed {
            let held = self.cores.of(thread).holds.map(|(guard, _)| guard);
            self.settle_known(process, held);
            if guard != held {
                self.settle_known(process, guard);
            }
        }
        guard
    }

    /// Another thread ends the call of a thread.
    fn settle_of(&mut self, thread: u32) {
        let (process, inner) = self.cores.names(thread);
        if self.locks.is_empty() || self.settle_if_pressed(process) {
            return;
        }
        let polls_under = self.libraries[process.0 as usize].guard(inner, &Entry::Poll);
        let actor = self.cores.of(thread);
        let held = actor.holds.map(|(guard, _)| guard);
        let asked = actor.entering.as_ref().and_then(|what| self.guard_of(thread, what));
        for guard in [polls_under, held, asked] {
            self.settle_known(process, guard);
        }
    }

    /// Something arrives on a lane of a process, or is taken: the threads that poll it may meet it, or not any more.
    #[inline]
    pub(super) fn settle_pollers(&mut self, process: Process, lane: Lane) {
        if !self.locks.is_empty() {
            self.settle_those_at(process, lane);
        }
    }

    #[inline(never)]
    fn settle_those_at(&mut self, process: Process, lane: Lane) {
        if self.settle_if_pressed(process) || self.locks.of(process).is_empty() {
            return;
        }
        let channel = self.ports.of(process).polled(Lanes::one(lane)).first;
        for thread in self.cx.layout.threads_of(process) {
            if !self.waits_to_poll(thread) {
                continue;
            }
            let (actor, library) = (self.cores.of(thread), &self.libraries[process.0 as usize]);
            let guard = match actor.holds {
                Some((guard, _)) => Some(guard),
                None if actor.state == State::Locked => library.guard(actor.inner, &Entry::Poll),
                // It polls without a lock.
                None => continue,
            };
            // In a pass over all lanes it polls others than it does else.
            let seldom = actor.polls.polled();
            let often = self.ports.of(process).polled(library.polls(actor.inner));
            if often.contains(channel) || seldom != often {
                self.settle_known(process, guard);
            }
        }
    }

    /// Takes all steps up to `end` of the locks that are parked: the run ends then.
    pub(super) fn settle_idle(&mut self, end: Time) {
        for lock in 0..self.locks.count() {
            let Self { cores, ports, libraries, .. } = self;
            if self.locks.is_idle(lock, &Beside { cores, ports, libraries }) {
                self.advance(lock, self.locks.taken_until(lock, end));
            }
        }
    }

    /// An event of a lock.
    pub(super) fn lock_event(&mut self, lock: u32, generation: u32) {
        self.locks.event_happens();
        if !self.locks.is_due(lock, generation) {
            return;
        }
        let Self { cores, ports, libraries, .. } = self;
        let beside = Beside { cores, ports, libraries };
        if self.locks.all_are_parked(self.cx.clock.pending(), &beside) {
            return self.livelock.only_idle_slices_are_left();
        }
        self.locks.disarm(lock);
        self.advance(lock, self.cx.now());
        self.locks.settled(lock);
    }

    /// Takes the steps of a lock up to `until`.
    fn advance(&mut self, lock: u32, until: Time) {
        let Some((first, _)) = self.locks.next_step(lock, until) else { return };
        let mut searches = first < until && self.locks.is_periodic(lock, &self.cores);
        let before = self.locks.begin_search(searches);
        while let Some((at, step)) = self.locks.next_step(lock, until) {
            self.lock_step(lock, step, at);
            let found = if searches { self.locks.period(lock, at, &self.cores) } else { None };
            if let Some(period) = found {
                searches = false;
                self.locks.repeat(lock, (period, until.since(at)), &mut self.cores);
            }
        }
        self.locks.end_search(before);
    }

    fn lock_step(&mut self, lock: u32, step: LockEvent, at: Time) {
        match step {
            LockEvent::SliceEnds => self.end_slice(lock, at),
            LockEvent::Coming(thread) => {
                self.locks.reaches(lock, thread);
                let what = self.cores.of(thread).entering.as_ref().expect("it waits");
                let guard = self.guard_of(thread, what).expect("it waits for a lock");
                self.grant(Grant { lock, guard, thread, lead: TimeDelta::ZERO }, at);
            }
            LockEvent::Yield(thread) => {
                self.locks.end_yield(lock);
                let yielded = self.cx.costs.profile.os.syscall;
                self.cores.of_mut(thread).account.add(Part::Wait, yielded);
                self.ask_again(thread, at);
            }
        }
    }

    /// A thread that has found nothing asks for its lock again.
    fn ask_again(&mut self, thread: u32, at: Time) {
        let guard = self.guard_of(thread, &Entering::PollSlice);
        debug_assert_ne!(guard, None, "what a thread polls under stays while it waits");
        self.ask(guard, thread, Entering::PollSlice, at);
    }

    /// A slice under the lock has found nothing: the lock goes on.
    fn end_slice(&mut self, lock: u32, at: Time) {
        let thread = self.locks.end_slice(lock, &mut self.cores);
        let actor = self.cores.of_mut(thread);
        let spent = actor.polls.end_slice(at);
        actor.account.add(Part::Wait, spent);
        self.let_go(thread, at);
        if self.locks.asks_at_once(lock, thread, at, self.cx.costs.profile.os.syscall) {
            self.ask_again(thread, at);
        }
    }
}
