//! A thread: its program, the list of actions that its core works through, its passes.

use crate::account::Account;
use crate::account::Part;
use crate::causes::Spent;
use crate::monitors::Monitor;
use crate::monitors::buffers::Lends;
use crate::monitors::buffers::Statement;
use crate::monitors::system;
use crate::outcome::Mark;
use crate::rules::Cut;
use crate::timed::conductor::Timed;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::memory::peer_copy::PeerCopying;
use crate::timed::network::flight::Arrived;
use crate::timed::network::flight::Content;
use crate::timed::network::flight::Flight;
use crate::timed::network::flight::FlightKind;
use crate::timed::passes::Pass;
use crate::timed::ports::Polled;
use crate::timed::ports::Position;
use crate::timed::setup::Placement;
use crate::timed::setup::Planted;
use crate::untimed::Choice;
use mpi::observation::Observation;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{
    ASKED, Action, ActionOf, Counter, Entry, Guard, Input, InputOf, Next, Process, Region, Route,
    Step, Thread, Token, Via,
};
use units::{Bytes, Time, TimeDelta};

/// One thread of the job.
#[derive(Debug)]
pub(in crate::timed) struct Actor<M: Machine, P> {
    pub(in crate::timed) process: Process,
    pub(in crate::timed) inner: Thread,
    /// Whether nothing but its own polls can tell it anything: see [`Timed::ahead`].
    pub(in crate::timed) alone: bool,
    /// Whether its work takes what it takes, and nobody notes it.
    pub(in crate::timed) plain: bool,
    pub(in crate::timed) placement: Placement,
    pub(in crate::timed) program: P,
    pub(in crate::timed) state: State,
    /// The load, store or copy that its program waits for.
    pub(in crate::timed) touches: Option<Next<M::Call>>,
    /// What it wants to do once it has the lock.
    pub(in crate::timed) entering: Option<Entering<M>>,
    /// The lock that it holds, and since when.
    pub(in crate::timed) holds: Option<(Guard, Time)>,
    pub(in crate::timed) list: Vec<ActionOf<M>>,
    /// The next action of `list`.
    pub(in crate::timed) next: usize,
    /// Where the list is cut into steps that others can tell apart.
    pub(in crate::timed) cut: Cut,
    /// Whether the list ends with the return of this thread's own call.
    pub(in crate::timed) returns: bool,
    /// What its list ends with.
    pub(in crate::timed) after: After,
    /// The counters that it asks for last.
    pub(in crate::timed) asked: [Counter; ASKED],
    /// What its call returns, once its list is over.
    pub(in crate::timed) reply: Option<M::Reply>,
    /// The packet that it took last: the way back, and its channel.
    pub(in crate::timed) taken: Option<(Route, u32)>,
    /// Channels whose receive buffers are given back when the list is over.
    pub(in crate::timed) reposts: Vec<u32>,
    /// The pass that a test asked for, or that ends with the lock; without one it polls for ever.
    pub(in crate::timed) pass: Option<Pass>,
    pub(in crate::timed) position: Position,
    /// The channels that it polls.
    pub(in crate::timed) polled: Polled,
    /// The channel that the next notice is about; `None` when the pass ends with it.
    pub(in crate::timed) target: Option<u32>,
    pub(in crate::timed) notice_at: Option<Time>,
    pub(in crate::timed) generation: u32,
    pub(in crate::timed) copying: (Bytes, Time),
    /// The copy from or to a neighbour that its core is busy with.
    pub(in crate::timed) peer_copy: Option<PeerCopying>,
    /// Since when it has had nothing to do.
    pub(in crate::timed) since: Time,
    /// Since when it waits for a lock.
    pub(in crate::timed) queued: Time,
    /// When it began.
    pub(in crate::timed) born: Time,
    pub(in crate::timed) account: Account,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::timed) enum State {
    /// Not begun, or between two steps of the program.
    Program,
    /// Outside the library.
    Computing,
    /// Waiting for the other threads of its process to end.
    Joining,
    /// In the queue of the lock.
    Locked,
    /// Its core works through its list.
    Working,
    /// Inside a call, with no work left.
    Polling,
    /// The program is over.
    Ended,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(in crate::timed) enum After {
    Nothing,
    Poll(Token),
    Resume(Token),
    Consult(Token),
}

#[derive(Debug)]
pub(in crate::timed) enum Entering<M: Machine> {
    Call(M::Call),
    Take(u32),
    Polled(Token),
    Resume(Token),
    Consult(Token),
    /// A turn of polling that needs the lock.
    Turn,
}

impl<M: Machine> Entering<M> {
    pub(in crate::timed) const fn entry(&self) -> Entry<'_, M::Call> {
        match self {
            Self::Call(call) => Entry::Call(call),
            Self::Take(_) => Entry::Packet,
            Self::Polled(_) => Entry::Polled,
            Self::Resume(_) | Self::Consult(_) => Entry::Resume,
            Self::Turn => Entry::Poll,
        }
    }
}

impl<M: Machine, P> Actor<M, P> {
    pub(in crate::timed) fn new(
        process: Process,
        inner: Thread,
        alone: bool,
        placement: Placement,
        program: P,
    ) -> Self {
        Self {
            process,
            inner,
            alone,
            plain: alone && placement.is_undisturbed(),
            placement,
            program,
            state: State::Program,
            touches: None,
            entering: None,
            holds: None,
            list: Vec::new(),
            next: 0,
            cut: Cut::new(),
            returns: false,
            after: After::Nothing,
            asked: [Counter::Offloads(0); ASKED],
            reply: None,
            taken: None,
            reposts: Vec::new(),
            pass: None,
            position: Position::default(),
            polled: Polled::default(),
            target: None,
            notice_at: None,
            generation: 0,
            copying: (Bytes::default(), Time::ZERO),
            peer_copy: None,
            since: Time::ZERO,
            queued: Time::ZERO,
            born: Time::ZERO,
            account: Account::default(),
        }
    }

    pub(in crate::timed) fn ended(&self) -> bool {
        self.state == State::Ended
    }

    /// Whether it waits to be created, or for the end of others.
    pub(in crate::timed) fn waits_for_threads(&self) -> bool {
        matches!(self.state, State::Program | State::Joining)
    }

    /// `work` of this core that begins at `cursor`, with what the operating system takes.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where there is no noise")]
    pub(in crate::timed) fn work(&mut self, part: Part, cursor: Time, work: TimeDelta) -> Time {
        if self.placement.is_undisturbed() {
            self.account.add(part, work);
            return cursor + work;
        }
        self.work_with_noise(part, cursor, work)
    }

    /// The same, where the operating system or a fault takes something.
    fn work_with_noise(&mut self, part: Part, cursor: Time, work: TimeDelta) -> Time {
        let end = match (&self.placement.slow, &self.placement.noise) {
            (None, None) => cursor + work,
            (None, Some(noise)) => noise.end_of(cursor, work),
            (Some(slow), _) => slow.end_of(cursor, work),
        };
        self.account.add(part, end.since(cursor));
        end
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    pub(in crate::timed) fn actor(&mut self, thread: u32) -> &mut Actor<M, P> {
        &mut self.cores.actors[thread as usize]
    }

    /// The program goes on at `at` until it calls, computes or ends.
    pub(in crate::timed) fn advance_program(
        &mut self,
        thread: u32,
        mut reply: Option<M::Reply>,
        at: Time,
    ) {
        loop {
            let actor = self.actor(thread);
            actor.state = State::Program;
            let next = actor.program.next(reply.take());
            if let Next::Call(call) = next {
                if self.livelock.looks && self.ends_at_call(thread, at) {
                    return;
                }
                return self.enter(thread, Entering::Call(call), at);
            }
            if self.livelock.looks {
                self.goes_on(thread, at);
            }
            if !self.beside_calls(thread, next, at) {
                return;
            }
        }
    }

    /// What the program does at `at` instead of a call; answers whether it goes on at once.
    #[inline(never)]
    pub(in crate::timed) fn beside_calls(
        &mut self,
        thread: u32,
        next: Next<M::Call>,
        at: Time,
    ) -> bool {
        let (process, inner) = self.names(thread);
        match next {
            Next::Mark(mark) => {
                let account = self.actor(thread).account;
                self.note(|trail| trail.mark(thread, (process, inner), mark, at));
                self.cx.observers.marks.push(Mark {
                    process,
                    thread: inner,
                    number: mark,
                    at,
                    account,
                });
                return true;
            }
            Next::Tell(fact) => {
                self.cx.observers.monitors.observe(
                    process,
                    &fact,
                    &mut self.cx.observers.violations,
                );
                return true;
            }
            touch @ (Next::Load(_) | Next::Take(_) | Next::Store(..)) => {
                return self.read_or_write(thread, &touch, at);
            }
            Next::Compute(ps) => self.outside(thread, TimeDelta::from_ps(ps), at),
            Next::Copy(from, to) => self.copy_outside(thread, (from, to), at),
            Next::Offload(stream, work) => self.offload(thread, (stream, work), at),
            Next::Fork => self.fork(thread, at),
            Next::Join => {
                let actor = self.actor(thread);
                (actor.since, actor.state) = (at, State::Joining);
                self.adapter_looks(process);
                self.joined(process, at);
            }
            Next::End => self.end_program(thread, at),
            Next::Call(_) => unreachable!("calls enter the library"),
        }
        false
    }

    /// The core works outside the library from `at` on.
    pub(in crate::timed) fn outside(&mut self, thread: u32, work: TimeDelta, at: Time) {
        self.outside_for(thread, Spent::Outside, work, at);
    }

    /// The same, or it stands still there.
    pub(in crate::timed) fn outside_for(
        &mut self,
        thread: u32,
        spent: Spent,
        work: TimeDelta,
        at: Time,
    ) {
        let actor = self.actor(thread);
        actor.state = State::Computing;
        if !actor.alone {
            let core = actor.placement.core;
            self.cores.slots.begin(core, TimeDelta::ZERO);
        }
        let end = if spent == Spent::Line {
            self.stand_still(thread, Part::Outside, at, work)
        } else {
            self.charge_with_others(thread, (Part::Outside, spent), at, work)
        };
        self.adapter_looks(self.names(thread).0);
        self.end_list(thread, end);
    }

    pub(in crate::timed) fn end_program(&mut self, thread: u32, at: Time) {
        let actor = self.actor(thread);
        actor.state = State::Ended;
        let (process, inner) = (actor.process, actor.inner);
        let (lived, accounted) = (at.since(actor.born), actor.account.total());
        self.cx.observers.violations.extend(system::account(process, inner, lived, accounted));
        self.adapter_looks(process);
        if at > self.cx.clock.simulation.now() {
            self.schedule(at, thread, Phase::Library, Happening::ListEnd(thread));
        } else {
            self.joined(process, at);
        }
    }

    /// What a thread does is over at `at`, and it goes on then: at once, where it runs ahead.
    pub(in crate::timed) fn end_list(&mut self, thread: u32, at: Time) {
        let actor = &self.cores.actors[thread as usize];
        // A pass looks at its channels when it goes on: it must not look before its time.
        if actor.alone && actor.after == After::Nothing && actor.pass.is_none() {
            self.cores.ahead.push((thread, at));
        } else {
            self.schedule(at, thread, Phase::Library, Happening::ListEnd(thread));
        }
    }

    /// Inside the guard at `at`: gives the machine its input. `lead` is what the way in costs.
    pub(in crate::timed) fn entered(
        &mut self,
        thread: u32,
        what: Entering<M>,
        lead: TimeDelta,
        at: Time,
    ) {
        let part = self.waits_in(thread, &what);
        let actor = &mut self.cores.actors[thread as usize];
        if !actor.alone {
            self.cores.slots.begin(actor.placement.core, TimeDelta::ZERO);
        }
        actor.state = State::Working;
        actor.next = 0;
        actor.cut = Cut::new();
        self.cores.lists.lend(&mut actor.list);
        let cursor = actor.work(part, at, lead);
        let (process, inner) = (actor.process, actor.inner);
        self.note_entry(thread, &what, (part, at, cursor));
        match what {
            Entering::Turn => return self.turn(thread, cursor),
            Entering::Call(call) => {
                self.record(|| Choice::Enter { process, thread: inner });
                let (lent, also) = (call.lends(), call.lends_also());
                if let Some(elements) = call.elements() {
                    let line = self.cores.actors[thread as usize].program.position();
                    self.cx.observers.buffers.stated(lent, Statement::new(elements, line));
                }
                if self.handle(thread, Input::Call(call)) {
                    let list = &self.cores.actors[thread as usize].list;
                    self.cx.observers.buffers.called(&mut self.memory.bytes, process, lent, list);
                    self.cx.observers.buffers.called(&mut self.memory.bytes, process, also, list);
                    self.stored();
                }
            }
            Entering::Take(channel) => return self.take(thread, channel, cursor),
            Entering::Polled(token) => {
                self.record(|| Choice::EndPass { process, thread: inner });
                self.handle(thread, Input::Polled(token));
            }
            Entering::Resume(token) => {
                self.record(|| Choice::Act { process, thread: inner });
                self.handle(thread, Input::Resume(token));
            }
            Entering::Consult(token) => {
                self.record(|| Choice::Act { process, thread: inner });
                let counters = self.cores.actors[thread as usize].asked;
                let exact = self.memory.counters.read(counters);
                let values = self.memory.delayed.seen(counters, cursor, exact);
                self.handle(thread, Input::Counters { token, values });
                let after = self.read_lock(thread, counters, cursor);
                return self.work_on(thread, after, false);
            }
        }
        self.work_on(thread, cursor, false);
    }

    /// The head of a channel, if no other thread was faster.
    pub(in crate::timed) fn take(&mut self, thread: u32, channel: u32, cursor: Time) {
        let (process, inner) = self.names(thread);
        self.settle(process);
        let cqe_poll = self.cx.costs.profile.hca.cqe_poll;
        if self.actor(thread).reply.is_some() {
            // While it waited for the lock, another thread has ended its call: it polls no more.
            self.note(|trail| trail.sees_answer(thread, cursor));
            return self.work_on(thread, cursor, false);
        }
        let poller = &mut self.ports.pollers[process.0 as usize];
        let newest = self.cx.planted == Some(Planted::NewestFirst);
        let behind = if newest { poller.before_newest(channel) } else { 0 };
        let Some(arrived) = poller.take(channel, behind, &mut self.ports.entries) else {
            return self.work_on(thread, cursor, false);
        };
        let cursor = match arrived {
            Arrived::SendDone => self.charge(thread, Part::Post, cursor, cqe_poll),
            Arrived::Done(token) => {
                self.record(|| Choice::TakeDone { process, thread: inner });
                let cursor = self.charge(thread, Part::Post, cursor, cqe_poll);
                self.handle(thread, Input::Done(token));
                cursor
            }
            Arrived::Device(token) | Arrived::Seen(token) => {
                self.record(|| Choice::TakeDone { process, thread: inner });
                let cursor = self.charge(thread, Part::Post, cursor, TimeDelta::ZERO);
                self.handle(thread, Input::Done(token));
                cursor
            }
            Arrived::Packet { from, channel, content, via } => {
                self.actor(thread).taken = Some((from, channel));
                let Content { packet, parcel, slots } = self.network.contents.remove(content);
                self.record(|| Choice::TakePacket { process, thread: inner, from, via });
                let landing = parcel.map(|parcel| self.memory.bytes.land(process, &parcel));
                self.stored();
                let mut cost = match via {
                    Via::Hca => cqe_poll,
                    Via::SharedMemory => {
                        let payload = landing.map(|at| at.len);
                        self.cx.costs.taken_lines(payload) + self.leave_queue(channel, slots)
                    }
                };
                if landing.is_none() && via == Via::Hca {
                    // A packet without payload leaves its receive buffer at once.
                    self.actor(thread).reposts.push(channel);
                    cost += self.cx.costs.profile.hca.repost_overhead;
                }
                let cursor = self.charge(thread, Part::Post, cursor, cost);
                self.handle(thread, Input::Packet { from, packet, landing });
                cursor
            }
        };
        self.work_on(thread, cursor, false);
    }

    /// Asks the machine; answers whether it knew the input.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass the input through memory")]
    pub(in crate::timed) fn handle(&mut self, thread: u32, input: InputOf<M>) -> bool {
        let process = self.cores.actors[thread as usize].process;
        self.settle(process);
        let actor = &mut self.cores.actors[thread as usize];
        match self.libraries[process.0 as usize].handle(actor.inner, input, &mut actor.list) {
            Ok(()) => true,
            Err(error) => {
                self.fail(process, error);
                false
            }
        }
    }

    /// Works through the list from `cursor` on, until it ends, a step that others can see begins
    /// later than now, or memory must carry a copy. `begun` tells that the first action's step has.
    pub(in crate::timed) fn work_on(&mut self, thread: u32, mut cursor: Time, mut begun: bool) {
        let now = self.cx.clock.simulation.now();
        let actor = self.actor(thread);
        let list = std::mem::take(&mut actor.list);
        let (mut cut, process, inner) = (actor.cut, actor.process, actor.inner);
        let mut next = actor.next;
        // Where the list goes on, if it does not end now.
        let rest = loop {
            let Some(action) = list.get(next) else { break None };
            if !begun && cut.before(action) && !comes_back(action) {
                if is_return_of(action, inner) && next + 1 == list.len() {
                    // It takes effect with the list's end: one event for both.
                    self.actor(thread).returns = true;
                } else if cursor > now {
                    self.schedule(cursor, thread, Phase::Library, Happening::Step(thread));
                    break Some(next);
                } else {
                    self.record_act(thread);
                }
            }
            begun = false;
            next += 1;
            let Some(after) = self.carry_out(thread, process, action, cursor) else {
                break Some(next);
            };
            cursor = after;
        };
        let actor = self.actor(thread);
        if let Some(next) = rest {
            (actor.next, actor.cut, actor.list) = (next, cut, list);
        } else {
            self.cores.lists.give_back(list);
            self.end_list(thread, cursor);
        }
    }

    pub(in crate::timed) fn record_act(&mut self, thread: u32) {
        let (process, inner) = self.names(thread);
        self.record(|| Choice::Act { process, thread: inner });
    }

    /// A step that others can see begins: its first action takes effect now.
    pub(in crate::timed) fn step(&mut self, thread: u32) {
        self.record_act(thread);
        self.work_on(thread, self.cx.clock.simulation.now(), true);
    }

    /// One action that begins at `cursor`: when the next one begins, or `None` if memory decides.
    pub(in crate::timed) fn carry_out(
        &mut self,
        thread: u32,
        process: Process,
        action: &ActionOf<M>,
        cursor: Time,
    ) -> Option<Time> {
        debug_assert_eq!(self.actor(thread).after, After::Nothing, "Poll and Resume end a list");
        match action {
            Action::Work(step) => Some(self.run_code(thread, *step, cursor)),
            Action::Walk { entries, length, fact } => {
                self.cores.entries_visited += u64::from(*entries);
                self.actor(thread).account.entries += u64::from(*entries);
                let cost = self.cx.costs.walk(*entries, *length);
                let cursor = self.charge(thread, Part::Walk, cursor, cost);
                if let Some(fact) = fact {
                    self.tells(thread, process, fact, cursor);
                }
                Some(cursor)
            }
            Action::Copy { from, to } => self.copy(thread, process, *from, *to, cursor),
            Action::Send { to, via, header, packet, payload } => {
                let parcel = payload.map(|region| {
                    self.cx.observers.buffers.reads(
                        process,
                        region,
                        &mut self.cx.observers.violations,
                    );
                    self.memory.bytes.capture(process, region)
                });
                let bytes = header.as_u64() + payload.map_or(0, |region| region.len);
                let slots = self.enter_queue(process, *to, *via, bytes);
                let content = || Content { packet: packet.clone(), parcel, slots };
                let content = self.network.contents.insert(content);
                let via = *via;
                let kind = || FlightKind::Packet { content, via };
                Some(self.launch(thread, *to, kind, bytes, via, cursor))
            }
            Action::Repost { landing, from } => Some(self.repost(thread, *landing, *from, cursor)),
            Action::Release => {
                if self.actor(thread).holds.is_some() {
                    self.release(thread, cursor);
                }
                Some(cursor)
            }
            Action::Poll(token) => {
                self.actor(thread).after = After::Poll(*token);
                Some(cursor)
            }
            Action::Resume(token) => {
                self.actor(thread).after = After::Resume(*token);
                Some(cursor)
            }
            Action::Complete { code, buffer, fact } => {
                let cursor = code.map_or(cursor, |step| self.run_code(thread, step, cursor));
                self.completes(process, *buffer, fact.as_ref());
                Some(cursor)
            }
            Action::Observe(fact) => {
                self.tells(thread, process, fact, cursor);
                Some(cursor)
            }
            Action::Return { thread: whose, reply } => {
                let other = self.thread_of(process, *whose);
                if other == thread {
                    self.actor(thread).reply = Some(reply.clone());
                } else {
                    self.returned(thread, other, reply.clone());
                }
                Some(cursor)
            }
            Action::Pack(_)
            | Action::Combine { .. }
            | Action::Update { .. }
            | Action::PeerCopy { .. }
            | Action::Expose { .. }
            | Action::Count { .. }
            | Action::Consult { .. }
            | Action::Watch { .. }
            | Action::Register { .. }
            | Action::RdmaWrite { .. }
            | Action::RdmaRead { .. }
            | Action::RdmaAtomic { .. }
            | Action::Device { .. } => self.carry_out_other(thread, process, action, cursor),
        }
    }

    /// The monitors hear what the library of `process` tells inside a call of `thread`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only hands on")]
    pub(in crate::timed) fn tells(
        &mut self,
        thread: u32,
        process: Process,
        fact: &Observation,
        at: Time,
    ) {
        let program = &self.cores.actors[thread as usize].program;
        let found = &mut self.cx.observers.violations;
        self.cx.observers.monitors.told(process, fact, Some(at), || program.position(), found);
    }

    /// This core runs a stretch of library code.
    #[inline]
    pub(in crate::timed) fn run_code(&mut self, thread: u32, step: Step, cursor: Time) -> Time {
        self.charge(thread, Part::Library, cursor, self.cx.costs.step(step))
    }

    /// Work of this core: stretched by its siblings and by the operating system.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "two additions, where a thread is alone")]
    pub(in crate::timed) fn charge(
        &mut self,
        thread: u32,
        part: Part,
        cursor: Time,
        work: TimeDelta,
    ) -> Time {
        let actor = &mut self.cores.actors[thread as usize];
        if actor.plain {
            actor.account.add(part, work);
            return cursor + work;
        }
        self.charge_with_others(thread, (part, part.into()), cursor, work)
    }

    #[inline(never)]
    pub(in crate::timed) fn charge_with_others(
        &mut self,
        thread: u32,
        (part, spent): (Part, Spent),
        cursor: Time,
        work: TimeDelta,
    ) -> Time {
        let actor = &mut self.cores.actors[thread as usize];
        let work =
            if actor.alone { work } else { self.cores.slots.stretched(actor.placement.core, work) };
        let end = actor.work(part, cursor, work);
        self.note(|trail| trail.spent(thread, spent, cursor, end));
        end
    }

    /// Hands something to a wire: the core pays for posting it, and it leaves then. `kind` makes it in
    /// its place.
    pub(in crate::timed) fn launch(
        &mut self,
        thread: u32,
        to: Route,
        kind: impl FnOnce() -> FlightKind,
        bytes: u64,
        via: Via,
        cursor: Time,
    ) -> Time {
        let (from, _) = self.names(thread);
        let cost = match via {
            Via::Hca => self.cx.costs.post(),
            Via::SharedMemory => self.cx.costs.cell_write() + self.cx.costs.cell_lines(bytes),
        };
        let cursor = self.charge(thread, Part::Post, cursor, cost);
        self.actor(thread).account.packets += 1;
        let channel = self.channel(from, to);
        let id = self.network.flights.insert(|| Flight {
            kind: kind(),
            from,
            to,
            channel,
            bytes,
            signalled: false,
            held: None,
        });
        self.note_launch(thread, id, cursor);
        self.schedule(cursor, thread, Phase::Post, Happening::Depart(id));
        cursor
    }

    pub(in crate::timed) fn repost(
        &mut self,
        thread: u32,
        landing: Region,
        from: Route,
        cursor: Time,
    ) -> Time {
        let (process, _) = self.names(thread);
        self.memory.bytes.free_landing(process, landing);
        let near = self.node(from.peer) == self.node(process);
        if near {
            return self.charge(thread, Part::Post, cursor, self.cx.costs.cell_write());
        }
        // Nearly always the buffer of the packet that is handled.
        let channel = match self.actor(thread).taken {
            Some((taken, channel)) if taken == from => channel,
            _ => self.channel(from.peer, from.back(process)),
        };
        self.actor(thread).reposts.push(channel);
        self.charge(thread, Part::Post, cursor, self.cx.costs.profile.hca.repost_overhead)
    }

    pub(in crate::timed) fn node(&self, process: Process) -> u32 {
        self.home(process).node
    }

    /// A list, or a computation, is over at `at`.
    pub(in crate::timed) fn list_end(&mut self, thread: u32, at: Time) {
        let (process, _) = self.names(thread);
        let actor = self.actor(thread);
        match actor.state {
            State::Computing => {
                if !actor.alone {
                    let core = actor.placement.core;
                    self.cores.slots.end(core);
                }
                return self.advance_program(thread, None, at);
            }
            State::Ended => return self.joined(process, at),
            State::Program | State::Locked | State::Working | State::Polling | State::Joining => {}
        }
        let (alone, core) = (actor.alone, actor.placement.core);
        if std::mem::take(&mut actor.returns) {
            self.record_act(thread);
        }
        if !alone {
            self.cores.slots.end(core);
        }
        while let Some(channel) = self.actor(thread).reposts.pop() {
            self.credit(channel, at);
        }
        let actor = self.actor(thread);
        let after = std::mem::replace(&mut actor.after, After::Nothing);
        // The pass of a test is one hold of the lock, with what it meets; so is a look at counters.
        let asks = matches!(after, After::Poll(_) | After::Consult(_));
        if actor.holds.is_some() && !asks && !actor.pass.is_some_and(Pass::is_of_test) {
            self.release(thread, at);
        }
        let actor = self.actor(thread);
        actor.pass = actor.pass.filter(|pass| pass.is_of_test());
        match after {
            After::Poll(token) => {
                let polls = self.look_at_lanes(thread).len;
                self.actor(thread).pass = Some(Pass::of_test(token, polls));
                self.actor(thread).since = at;
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
    pub(in crate::timed) fn returned(&mut self, by: u32, thread: u32, reply: M::Reply) {
        let (process, _) = self.names(thread);
        self.settle(process);
        let actor = self.actor(thread);
        // Who polls under a lock looks for the end of its call when it has the lock again.
        if actor.state == State::Polling && actor.holds.is_none() {
            actor.generation += 1;
            actor.notice_at = None;
            let waited = self
                .cx
                .clock
                .simulation
                .now()
                .since(self.cores.actors[thread as usize].position.since);
            let now = self.cx.clock.simulation.now();
            self.actor(thread).account.add(Part::Wait, waited);
            self.note(|trail| trail.answered(by, thread, Some(now)));
            self.advance_program(thread, Some(reply), now);
        } else {
            actor.reply = Some(reply);
            self.note(|trail| trail.answered(by, thread, None));
        }
    }
}

/// Whether an action ends its list and comes back as an input: no event of its own.
fn comes_back<P, R>(action: &Action<P, R>) -> bool {
    matches!(action, Action::Resume(_) | Action::Consult { .. })
}

fn is_return_of<P, R>(action: &Action<P, R>, inner: Thread) -> bool {
    matches!(action, Action::Return { thread, .. } if *thread == inner)
}
