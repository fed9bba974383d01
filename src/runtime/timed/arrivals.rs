//! What comes to a process: arrivals join its channels, polls meet them, adapters match them; and faults,
//! which may keep them from coming.
//!
//! ```text
//!   no lock    poll, poll, poll … ─ meets something ─▶ handles it ─▶ polls on
//!   lock       wait for it ─▶ one pass ─┬ meets something: handles it ─▶ releases ─▶ waits again
//!                                       └ nothing: releases [unfair: yields its core] ─▶ waits again
//! ```
//!
//! Polls are no events. Slices under a lock keep others out, and are steps of the lock
//! (`locks/steps.rs`): events while another thread wants it, or something waits to be found, and
//! arithmetic otherwise.

use std::hint::black_box;

use super::conductor::Timed;
use super::cores::actor::{Entering, State};
use super::cores::polls::Met;
use super::event::{Event, Phase};
use super::faults::Begun;
use super::network::flight::{
    Arrival, Arrived, COPY, Content, FlightKind, Landing, RELIABLE, token_of,
};
use super::network::reliable::Crossed;
use super::ports::{Found, Polled};
use super::setup::Planted;
use crate::account::Part;
use crate::causes::Spent;
use crate::fingerprint::Fingerprint;
use crate::monitors::buffers::Lends;
use crate::untimed::Choice;
use hardware::fabric::FabricEvent;
use hardware::gpu::is_gpu_token;
use protocols::contract::{
    Action, ActionOf, Brought, Entry, Input, InputOf, Lanes, Machine, Process, Program, Route,
    Thread, Via, WaitSet,
};
use units::{Time, TimeDelta};

/// From the wires into channels.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// A flight leaves its core.
    pub(super) fn depart(&mut self, flight: u32) {
        self.count_departure();
        self.network.depart(flight, &mut self.cx);
    }

    /// A packet leaves a core or an HCA: faults may begin with it.
    fn count_departure(&mut self) {
        let packets = self.network.count_departure();
        if let Some(faults) = &mut self.faults {
            for index in faults.at_packet(packets) {
                self.begin_fault(u32::try_from(index).expect("a plan is short"));
            }
        }
    }

    /// The fabric's own event, and what it delivers.
    pub(super) fn fabric_event(&mut self, event: FabricEvent) {
        let mut delivered = self.network.advance(event, &mut self.cx);
        if delivered.is_empty() {
            return;
        }
        for delivery in delivered.drain(..) {
            if is_gpu_token(delivery.token) {
                self.gpu_delivered(delivery.token);
                continue;
            }
            match token_of(delivery.token) {
                (RELIABLE, id) => self.packet_crossed(id),
                (COPY, thread) => self.copied(thread),
                (_, id) => {
                    self.cx.observers.trace(|path| path.delivers(id));
                    self.arrive(id);
                }
            }
        }
        self.network.give_back(delivered);
    }

    /// The fabric has delivered something of a GPU: operations may end with it.
    fn gpu_delivered(&mut self, token: u64) {
        let gpus = self.gpus.as_mut().expect("only a GPU has such tokens");
        for id in gpus.delivered(token, self.network.fabric(), &mut self.cx) {
            let gpus = self.gpus.as_mut().expect("only a GPU ends operations");
            if let Some(arrival) = gpus.end(id, &mut self.memory.bytes, &mut self.cx) {
                self.deliver(arrival);
            }
        }
    }

    /// A flight has reached the memory, or the HCA, of its receiver.
    pub(super) fn arrive(&mut self, id: u32) {
        if self.faults.is_some() && self.is_lost_at(id) {
            return;
        }
        let (memories, cx) = (&mut self.memory.bytes, &mut self.cx);
        match self.network.arrive(id, memories, &self.libraries, cx) {
            Landing::Quiet => {}
            Landing::Packet(arrival) => self.deliver(arrival),
            Landing::Written { immediate, flight } => {
                self.stored();
                if let Some(content) = immediate
                    && let Some(arrival) =
                        self.network.immediate_arrives(flight, content, &mut self.cx)
                {
                    self.deliver(arrival);
                }
                self.network.complete(flight, &mut self.cx);
            }
            Landing::Read { reader, owner, flight } => {
                self.stored();
                self.network.next_read(reader, owner, &mut self.cx);
                let arrival = self.network.completed(flight, &mut self.cx);
                self.deliver(arrival);
            }
        }
    }

    /// A packet is at the end of its way over links that may have lost it.
    fn packet_crossed(&mut self, id: u32) {
        let faults = self.faults.as_mut().expect("its connection is of a fault plan");
        let (reliable, _) = self.network.reliable();
        let crossed = reliable.packet_crossed(id, faults.armed(), &self.cx);
        let Some(Crossed { copy, late }) = crossed else { return };
        if let Some(copy) = copy {
            self.packet_taken(copy);
        }
        match late {
            Some(at) => self.cx.clock.schedule_fault(at, Event::Late(id)),
            None => self.packet_taken(id),
        }
    }

    /// A packet has come to the receiving HCA, late or not.
    pub(super) fn packet_taken(&mut self, id: u32) {
        let dead = self.dead();
        let Some(taken) = self.network.reliable().0.packet_taken(id, dead) else { return };
        if let Some(flight) = taken.whole {
            self.network.trace_leg(flight, Spent::Lossy, true, &mut self.cx);
            self.arrive(flight);
        }
        let faults = self.faults.as_mut().expect("its connection is of a fault plan");
        self.network.reliable().0.answer_packet(taken, faults.armed(), &mut self.cx);
    }

    /// Something arrives on a lane of a process: the threads that poll it will meet it.
    pub(super) fn deliver(&mut self, Arrival { process, lane, entry }: Arrival) {
        let now = self.cx.now();
        if self.cx.prefetches {
            let actor = self.cores.of(self.cx.layout.first_of(process));
            black_box(actor.prefetch_polls() ^ self.ports.of(process).prefetch());
        }
        self.settle_pollers(process, lane);
        if self.ports.of(process).is_empty() {
            self.locks.lull(process, now, true);
        }
        let (channel, entry) = self.ports.push(process, lane, entry);
        self.cx.observers.trace(|path| path.entry(entry));
        self.adapter_looks(process);
        for thread in self.cx.layout.threads_of(process) {
            let actor = self.cores.of_mut(thread);
            if actor.state == State::Polling
                && let Some(at) = actor.polls.arrives(channel, now)
            {
                self.notice_later(thread, at);
            }
        }
        if self.sweeps.is_some() {
            for thread in self.cx.layout.threads_of(process) {
                if self.waits_to_poll(thread) {
                    self.look_beyond(thread, now);
                }
            }
        }
    }
}

/// Polls.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// A thread inside a call, with no work left from `at` on, polls.
    pub(super) fn poll_on(&mut self, thread: u32, at: Time) {
        let cost = self.look_at_lanes(thread);
        if self.sweeps.is_some() {
            self.look_beyond(thread, at);
        }
        let actor = self.cores.of(thread);
        // Polls that cost nothing keep no other thread out.
        let locked = cost > TimeDelta::ZERO && self.cx.planted != Some(Planted::NoLock);
        let library = &self.libraries[actor.process.0 as usize];
        let guard = || library.guard(actor.inner, &Entry::Poll);
        if locked && !actor.is_alone() && guard().is_some() && actor.holds.is_none() {
            return self.enter(thread, Entering::PollSlice, at);
        }
        if self.sweeps.is_some() && !self.cores.of(thread).polls.is_test() {
            self.turn_to_all_lanes(thread);
        }
        self.poll_from(thread, at);
    }

    /// The channels that a thread polls in its present call: what one poll costs.
    #[inline]
    pub(super) fn look_at_lanes(&mut self, thread: u32) -> TimeDelta {
        let (process, inner) = self.cores.names(thread);
        let lanes = self.libraries[process.0 as usize].polls(inner);
        let polled = self.ports.of(process).polled(lanes);
        self.cores.of_mut(thread).polls.look(polled);
        polled.cost
    }

    /// A slice of polling begins, under the lock.
    pub(super) fn poll_slice(&mut self, thread: u32, at: Time) {
        self.look_at_lanes(thread);
        if self.sweeps.is_some() {
            self.turn_to_all_lanes(thread);
        }
        let actor = self.cores.of_mut(thread);
        if actor.reply.is_some() {
            // While it waited for the lock, another thread has ended its call.
            self.cx.observers.trace(|path| path.sees_answer(thread, at));
            return self.work_on(thread, at, false);
        }
        actor.polls.begin_slice();
        self.cores.vacate(thread);
        self.poll_from(thread, at);
    }

    fn poll_from(&mut self, thread: u32, at: Time) {
        let actor = self.cores.of_mut(thread);
        actor.state = State::Polling;
        let port = self.ports.of(actor.process);
        if let Some(meets) = actor.polls.begin(at, port) {
            self.notice_later(thread, meets);
        }
    }

    fn notice_later(&mut self, thread: u32, at: Time) {
        let actor = self.cores.of_mut(thread);
        let generation = actor.polls.plan(at);
        let ends = if generation.is_none() { Some(at) } else { None };
        self.locks.plan_slice(actor.process, actor.holds, ends);
        if let Some(generation) = generation {
            let event = Event::Notice(thread, generation);
            self.cx.schedule(at, thread, Phase::Poll, event);
        }
    }

    /// A pass meets something, or ends.
    pub(super) fn notice(&mut self, thread: u32, generation: u32) {
        self.prefetch(thread);
        let now = self.cx.now();
        let actor = self.cores.of_mut(thread);
        if !actor.polls.is_of(generation) || actor.state != State::Polling {
            return;
        }
        // Polls before the last pass were for nothing.
        let (before, last) = actor.polls.spent(now);
        actor.account.add(Part::Wait, before);
        actor.account.add(Part::Poll, last);
        if self.cx.observers.traces() {
            self.trace_poll(thread);
        }
        match self.cores.of_mut(thread).polls.meet() {
            Met::Channel(channel) => self.enter(thread, Entering::Take(channel), now),
            Met::EndOfPass(token) => self.enter(thread, Entering::Polled(token), now),
        }
    }

    /// A poll of a thread meets the head of a channel, or its pass ends.
    #[cold]
    fn trace_poll(&mut self, thread: u32) {
        let now = self.cx.now();
        let actor = self.cores.of(thread);
        let (process, inner) = (actor.process, actor.inner);
        let entry = actor.polls.target().and_then(|channel| self.ports.of(process).head(channel));
        let slice = actor.holds.map(|_| actor.polls.since());
        let library = &self.libraries[process.0 as usize];
        self.cx.observers.trace(|path| {
            let so_far = entry.and_then(|_| call_so_far(library, inner));
            path.polled(thread, (entry, so_far), slice, now);
            if entry.is_some()
                && path.is_long(thread)
                && let Some(awaited) = library.awaits(inner)
            {
                debug_assert_eq!(
                    Some(&awaited),
                    library.waits(inner).and_then(WaitSet::first).as_ref(),
                    "the same, with and without words"
                );
                path.keep_wait(thread, (process, inner), awaited);
            }
        });
    }
}

/// How far the call of a thread has come, where that is known.
fn call_so_far<M: Machine>(library: &M, thread: Thread) -> Option<u128> {
    let mut print = Fingerprint::default();
    library.call_so_far(thread, &mut print).then(|| print.by_place())
}

/// Passes over lanes that a thread seldom polls.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The lanes of its seldom passes, and after how long one comes, where they are others than those that
    /// a thread polls else.
    fn sweep_of(&self, thread: u32) -> Option<(Lanes, TimeDelta)> {
        let (process, inner) = self.cores.names(thread);
        let library = &self.libraries[process.0 as usize];
        let (all, passes) = library.sweeps(inner)?;
        let Polled { cost, len, .. } = self.cores.of(thread).polls.polled();
        let mut pass = cost * u64::from(len);
        if pass > TimeDelta::ZERO && library.guard(inner, &Entry::Poll).is_some() {
            pass += self.cx.costs.profile.mpi.lock_uncontended;
        }
        Some((all, pass * u64::from(passes.get())))
    }

    /// A thread polls from `at` on: where something lies on a lane that it does not poll else, its next
    /// pass over all is planned.
    fn look_beyond(&mut self, thread: u32, at: Time) {
        let Some((all, each)) = self.sweep_of(thread) else { return };
        let sweeps = self.sweeps.as_mut().expect("a library has such passes");
        let begins = sweeps.next(thread, at, each);
        let actor = self.cores.of_mut(thread);
        let port = self.ports.of(actor.process);
        if !port.holds_beside(actor.polls.polled(), port.polled(all)) {
            return;
        }
        if begins == at && actor.state != State::Polling && actor.state != State::Locked {
            actor.polls.sweep();
        } else if sweeps.plan(thread) {
            self.cx.schedule(begins, thread, Phase::Poll, Event::Sweep(thread));
        }
    }

    /// Whether a thread is inside a call with no work left, and polls for ever.
    pub(super) fn waits_to_poll(&self, thread: u32) -> bool {
        let actor = self.cores.of(thread);
        match actor.state {
            State::Polling => !actor.polls.is_test(),
            State::Locked => matches!(actor.entering, None | Some(Entering::PollSlice)),
            State::Program | State::Computing | State::Joining | State::Working | State::Ended => {
                false
            }
        }
    }

    /// The next pass of a thread is one over all lanes, if it waits and one of them holds something.
    pub(super) fn sweep_is_due(&mut self, thread: u32) {
        self.sweeps.as_mut().expect("it was planned").is_due(thread);
        let (now, (process, inner)) = (self.cx.now(), self.cores.names(thread));
        self.settle_all(process);
        if !self.waits_to_poll(thread) || self.cores.of(thread).reply.is_some() {
            return;
        }
        let actor = self.cores.of(thread);
        let unlocked = actor.state == State::Polling && actor.holds.is_none();
        let since = actor.polls.since();
        if unlocked && since > now {
            // It ran ahead of the clock, and polls later.
            return self.look_beyond(thread, since);
        }
        let Some((all, _)) = self.sweep_of(thread) else { return };
        let port = self.ports.of(process);
        if !port.holds_beside(actor.polls.polled(), port.polled(all)) {
            return;
        }
        if unlocked {
            let actor = self.cores.of_mut(thread);
            actor.polls.stop();
            actor.account.add(Part::Wait, now.since(since));
            self.look_at_all_lanes(thread);
            return self.poll_from(thread, now);
        }
        let guard = actor.holds.map(|(guard, _)| guard);
        let library = &self.libraries[process.0 as usize];
        let guard = guard.or_else(|| library.guard(inner, &Entry::Poll));
        self.cores.of_mut(thread).polls.sweep();
        self.locks.touch_of(process, guard.expect("it polls under a lock"));
    }

    /// A test makes a pass: in one of so many it polls all lanes.
    pub(super) fn test_beyond(&mut self, thread: u32) {
        let (process, inner) = self.cores.names(thread);
        let Some((_, passes)) = self.libraries[process.0 as usize].sweeps(inner) else { return };
        let sweeps = self.sweeps.as_mut().expect("a library has such passes");
        if sweeps.test(thread, passes.get()) {
            self.look_at_all_lanes(thread);
        }
    }

    /// A thread makes its pass over all lanes, where it is its turn.
    fn turn_to_all_lanes(&mut self, thread: u32) {
        if self.cores.of_mut(thread).polls.take_sweep() {
            self.look_at_all_lanes(thread);
        }
    }

    /// A thread polls all lanes of its process, until it looks at its lanes again.
    fn look_at_all_lanes(&mut self, thread: u32) {
        let (process, inner) = self.cores.names(thread);
        let lanes = self.libraries[process.0 as usize].reaches(inner);
        let polled = self.ports.of(process).polled(lanes);
        self.cores.of_mut(thread).polls.look(polled);
    }
}

/// An adapter that matches: it takes messages for a process that computes.
///
/// ```text
///   arrives ──▶ the adapter's period ──▶ the process still computes: matched, and in its buffer
///                                   │                  large: the adapter reads, and says FIN
///                                   └──▶ it is inside the library: its next poll takes it, as without
/// ```
///
/// Where `hca.matching_on_nic` says so, the receives of a process lie in the match list of its adapter.
/// The reaction of its library to a message (`library/adapter.rs`) runs then without its cores and its
/// locks: nothing is dispatched, walked through or copied by them, and no poll is needed. What the
/// adapter sends of its own crosses no bus before the wire. A packet of a window needs its host's
/// handler, and so do the messages behind it in its channel.
///
/// A process computes while none of its threads is inside the library. While one is, its polls take
/// what it polls, noticeable as their walks and copies; what others of its threads would poll waits
/// until it leaves.
///
/// Source: `rma` Sec. 5, `MPICH301` and `LINUXTM`: see `library/adapter.rs`.
/// Left out: messages inside a node, which wait for the host; a longer walk through a longer list.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Something waits for a process, or a thread of it leaves the library: its adapter, where it
    /// matches, looks a period later.
    #[inline]
    pub(super) fn adapter_looks(&mut self, process: Process) {
        if self.cx.costs.profile.hca.matching_on_nic {
            self.looks_later(process);
        }
    }

    fn looks_later(&mut self, process: Process) {
        if self.looking[process.0 as usize] || self.for_adapter(process).is_none() {
            return;
        }
        self.looking[process.0 as usize] = true;
        let thread = self.cx.layout.first_of(process);
        let at = self.cx.now() + self.cx.costs.profile.hca.msg_rate_total.period();
        self.cx.schedule(at, thread, Phase::Adapter, Event::Adapter(thread));
    }

    /// Whether a thread of a process computes, and none is inside the library.
    fn computes(&self, process: Process) -> bool {
        let states = || self.cx.layout.threads_of(process).map(|one| self.cores.of(one).state);
        let beside = self.cx.planted == Some(Planted::AdapterBesidePolls);
        let inside =
            |state| !beside && matches!(state, State::Locked | State::Working | State::Polling);
        states().any(|state| state == State::Computing) && !states().any(inside)
    }

    /// Entry that the adapter takes next for a process.
    fn for_adapter(&self, process: Process) -> Option<Found> {
        if !self.computes(process) {
            return None;
        }
        let library = &self.libraries[process.0 as usize];
        let takes = |arrived: &Arrived| match *arrived {
            Arrived::Packet { from, content, via: Via::Hca, .. } => {
                let packet = &self.network.content(content).packet;
                library.adapter_takes(Brought::Packet { from, packet })
            }
            Arrived::Done(token) => library.adapter_takes(Brought::Done(token)),
            Arrived::Packet { .. } | Arrived::Device(_) | Arrived::Seen(_) | Arrived::SendDone => {
                false
            }
        };
        self.ports.for_adapter(process, takes)
    }

    /// The adapter takes a message, or the end of its read, if its process still computes.
    pub(super) fn adapter_takes(&mut self, thread: u32) {
        let (process, _) = self.cores.names(thread);
        self.looking[process.0 as usize] = false;
        let Some(found) = self.for_adapter(process) else { return };
        let (input, channel) = match self.take_from(process, found.channel, found.behind) {
            Some(Arrived::Packet { from, channel, content, .. }) => {
                let Content { packet, parcel, .. } = self.network.take(content);
                self.cx.observers.record(|| Choice::Match { process, from });
                let landing = parcel.map(|parcel| self.memory.bytes.land(process, &parcel));
                (Input::Packet { from, packet, landing }, Some(channel))
            }
            Some(Arrived::Done(token)) => {
                self.cx.observers.record(|| Choice::Conclude { process, token });
                (Input::Done(token), None)
            }
            Some(Arrived::Device(_) | Arrived::Seen(_) | Arrived::SendDone) | None => {
                unreachable!("it was looked at just now")
            }
        };
        if self.handled_by_adapter(thread, process, input, found) {
            if let Some(channel) = channel {
                let now = self.cx.now();
                self.network.credit(channel, now, now);
            }
            self.adapter_looks(process);
        }
    }

    /// Does what the machine makes of an input; answers whether it knew it.
    fn handled_by_adapter(
        &mut self,
        thread: u32,
        process: Process,
        input: InputOf<M>,
        found: Found,
    ) -> bool {
        let mut list = Vec::new();
        let known = self.libraries[process.0 as usize].handle_by_adapter(input, &mut list);
        if let Err(error) = known {
            self.cx.refuse(process, None, error);
            return false;
        }
        for action in list {
            self.done_by_adapter(thread, process, &action, found);
        }
        true
    }

    /// Carries out an action that a message asks for, without a core.
    fn done_by_adapter(
        &mut self,
        thread: u32,
        process: Process,
        action: &ActionOf<M>,
        found: Found,
    ) {
        match action {
            // A receive that it may read into was pinned when it was posted.
            Action::Work(_) | Action::Walk { fact: None, .. } | Action::Register { .. } => {}
            Action::Copy { from, to } => {
                self.memory.copy(process, (*from, *to), &mut self.cx.observers);
            }
            Action::Count { counter, change } => {
                let now = self.cx.now();
                self.memory.change_counter(*counter, *change, now, &mut self.cx.observers);
            }
            Action::Repost { landing, .. } => self.memory.bytes.free_landing(process, *landing),
            Action::Send { to, via: Via::Hca, header, packet, payload: None } => {
                let packet = packet.clone();
                let content = self.network.keep(|| Content { packet, parcel: None, slots: None });
                let kind = FlightKind::Packet { content, via: Via::Hca };
                self.launch_by_adapter(thread, (process, *to), kind, header.as_u64(), found);
            }
            Action::RdmaRead { from, remote, into, token } => {
                let kind = FlightKind::ReadRequest { remote: *remote, into: *into, token: *token };
                self.launch_by_adapter(thread, (process, *from), kind, 0, found);
            }
            Action::Complete { buffer, fact, .. } => {
                let bytes = &mut self.memory.bytes;
                self.cx.observers.completes(bytes, process, *buffer, fact.as_ref());
            }
            Action::Observe(fact) | Action::Walk { fact: Some(fact), .. } => {
                let now = self.cx.now();
                self.executor(thread).observe(fact, now);
            }
            Action::Pack(_)
            | Action::Combine { .. }
            | Action::Update { .. }
            | Action::PeerCopy { .. }
            | Action::Expose { .. }
            | Action::Consult { .. }
            | Action::Watch { .. }
            | Action::Send { .. }
            | Action::RdmaWrite { .. }
            | Action::RdmaAtomic { .. }
            | Action::Device { .. }
            | Action::Release
            | Action::Poll(_)
            | Action::Resume(_)
            | Action::Return { .. } => {
                unreachable!("a message to a process that computes asks for {action:?}")
            }
        }
    }

    /// The adapter sends of its own, because of what it has found.
    fn launch_by_adapter(
        &mut self,
        thread: u32,
        ends: (Process, Route),
        kind: FlightKind,
        bytes: u64,
        found: Found,
    ) {
        let now = self.cx.now();
        let id = self.network.launch(ends, || kind, bytes, &self.cx);
        let entry = found.entry;
        self.cx.observers.trace(|path| path.launched_by_adapter(id, thread, entry, now));
        self.network.trace_message(id, now, &mut self.cx);
        self.count_departure();
        self.network.depart_by_itself(id, &mut self.cx);
    }
}

/// Faults: what they ask of the parts, and what is lost with a process.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The process that died, if one did.
    #[inline]
    pub(super) fn dead(&self) -> Option<Process> {
        self.faults.as_ref()?.death().map(|(process, _)| process)
    }

    /// A fault begins; none does where every program has ended: the end of a stall would be the end
    /// of the run.
    pub(super) fn begin_fault(&mut self, index: u32) {
        let now = self.cx.now();
        if self.cores.all_ended() {
            return;
        }
        let faults = self.faults.as_mut().expect("a fault is of a plan");
        let Some((begun, end)) = faults.begin(index, now) else { return };
        if let Some(end) = end {
            self.cx.clock.schedule_fault(end, Event::FaultEnd(index));
        }
        match begun {
            Begun::Lasts => {}
            Begun::Crash(process) => self.die(index, process),
            Begun::CreditLoss(pair, credits) => self.network.lose_credits(pair, credits),
            Begun::Alters { held_until } => {
                if let Some(until) = held_until {
                    for (resource, _) in faults.alterations(index) {
                        self.network.hold(resource, until, &mut self.cx);
                    }
                }
                self.alter_resources(index);
            }
        }
    }

    /// A fault ends.
    pub(super) fn end_fault(&mut self, index: u32) {
        self.faults.as_mut().expect("a fault is of a plan").end(index);
        self.alter_resources(index);
    }

    fn alter_resources(&mut self, index: u32) {
        let faults = self.faults.as_ref().expect("a fault is of a plan");
        for (resource, altered) in faults.alterations(index) {
            self.network.alter(resource, altered, &mut self.cx);
        }
    }

    /// A process stops, and so does its HCA: what it sent is on the wire, what comes is lost. None does
    /// after another, or when its programs have ended.
    fn die(&mut self, fault: u32, process: Process) {
        let threads = self.cx.layout.threads_of(process);
        let ended = threads.clone().all(|one| self.cores.of(one).ended());
        if self.dead().is_some() || ended {
            return;
        }
        let faults = self.faults.as_mut().expect("a fault is of a plan");
        faults.killed(fault, process, self.cx.now());
        self.network.silence(process);
        self.livelock.watch_for_good();
        self.settle_all(process);
        for thread in threads {
            self.cores.kill(thread);
        }
        self.locks.forget(process);
        self.memory.waiters.forget(process);
    }

    /// Whether an event is one of a process that died; what it was about is gone with it.
    pub(super) fn is_of_the_dead(&mut self, event: Event) -> bool {
        let Some(dead) = self.dead() else { return false };
        match event {
            Event::Begin(thread)
            | Event::ListEnd(thread)
            | Event::CopyStart(thread)
            | Event::Step(thread)
            | Event::Notice(thread, _)
            | Event::Access(thread)
            | Event::Pin(thread)
            | Event::Moved(thread)
            | Event::Adapter(thread)
            | Event::Sweep(thread) => self.cores.names(thread).0 == dead,
            Event::Depart(id) | Event::QueuePairFree(id) => {
                self.is_lost_if(self.network.flight(id).from == dead, id)
            }
            Event::Neighbour(id) | Event::Atomic(id) => self.is_lost_at(id),
            Event::Completed(id) => self.is_lost_if(self.network.completed_at(id) == dead, id),
            Event::Retry(channel) => self.network.receiver_of(channel) == dead,
            Event::Acknowledged(channel) => self.network.sender_of(channel) == dead,
            Event::Lock(lock, _) => {
                let lost = self.locks.process(lock) == dead;
                if lost {
                    self.locks.event_happens();
                }
                lost
            }
            Event::Seen(id) => self.memory.waiters.is_lost(dead, id, &mut self.cx),
            Event::Fabric(_)
            | Event::Pinned(..)
            | Event::Ask(_)
            | Event::Gpu(_)
            | Event::Fault(_)
            | Event::FaultEnd(_)
            | Event::Timer(_)
            | Event::Answer(_)
            | Event::Late(_) => false,
        }
    }

    /// Whether what arrives is for a process that died: then it is gone.
    fn is_lost_at(&mut self, id: u32) -> bool {
        let Some(dead) = self.dead() else { return false };
        self.is_lost_if(self.network.flight(id).to.peer == dead, id)
    }

    fn is_lost_if(&mut self, lost: bool, id: u32) -> bool {
        if lost {
            self.network.lose(id);
        }
        lost
    }
}
