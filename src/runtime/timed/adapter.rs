//! An adapter that matches: it takes messages for a process that computes.
//!
//! ```text
//!   arrives ──▶ the adapter's period ──▶ the process still computes: matched, and in its buffer
//!                                   │                  large: the adapter reads, and says FIN
//!                                   └──▶ it is inside the library: its next poll takes it, as without
//! ```
//!
//! Where `hca.matching_on_nic` says so, the receives of a process lie in the match list of its adapter.
//! What its library makes of a message (`library/adapter.rs`) is done then without its cores and its
//! locks: nothing is dispatched, walked through or copied by them, and no poll is needed. What the
//! adapter sends of its own crosses no bus before the wire. A packet of a window needs its host's
//! handler, and so do the messages behind it in its channel.
//!
//! A process computes while none of its threads is inside the library. While one is, its polls take
//! what it polls, noticeable as their walks and copies; what others of its threads would poll waits
//! until it leaves.
//!
//! Source: `rma` Sec. 5, `MPICH301` and `LINUXTM`: see `library/adapter.rs`.
//! Left out: messages inside a node, which wait for the host; a longer walk through a longer list.

use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use crate::timed::cores::actor::State;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::network::flight::Arrived;
use crate::timed::network::flight::Content;
use crate::timed::network::flight::Flight;
use crate::timed::network::flight::FlightKind;
use crate::timed::ports::Found;
use crate::timed::setup::Planted;
use crate::untimed::Choice;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{Action, ActionOf, Brought, Input, InputOf, Process, Route, Thread, Via};

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

    pub(in crate::timed) fn looks_later(&mut self, process: Process) {
        if self.network.looking[process.0 as usize] || self.for_adapter(process).is_none() {
            return;
        }
        self.network.looking[process.0 as usize] = true;
        let thread = self.thread_of(process, Thread(0));
        let at = self.cx.clock.simulation.now() + self.cx.costs.profile.hca.msg_rate_total.period();
        self.schedule(at, thread, Phase::Adapter, Happening::Adapter(thread));
    }

    /// Whether a thread of a process computes, and none is inside the library.
    pub(in crate::timed) fn computes(&self, process: Process) -> bool {
        let states = || self.threads_of(process).map(|one| self.cores.actors[one as usize].state);
        let beside = self.cx.planted == Some(Planted::AdapterBesidePolls);
        let inside =
            |state| !beside && matches!(state, State::Locked | State::Working | State::Polling);
        states().any(|state| state == State::Computing) && !states().any(inside)
    }

    /// What the adapter takes next for a process.
    pub(in crate::timed) fn for_adapter(&self, process: Process) -> Option<Found> {
        if !self.computes(process) {
            return None;
        }
        let machine = &self.libraries[process.0 as usize];
        let takes = |arrived: &Arrived| match *arrived {
            Arrived::Packet { from, content, via: Via::Hca, .. } => {
                let packet = &self.network.contents.peek(content).packet;
                machine.adapter_takes(Brought::Packet { from, packet })
            }
            Arrived::Done(token) => machine.adapter_takes(Brought::Done(token)),
            Arrived::Packet { .. } | Arrived::Device(_) | Arrived::Seen(_) | Arrived::SendDone => {
                false
            }
        };
        self.ports.pollers[process.0 as usize].for_adapter(&self.ports.entries, takes)
    }

    /// The adapter takes a message, or the end of its read, if its process still computes.
    pub(super) fn adapter_takes(&mut self, thread: u32) {
        let (process, _) = self.names(thread);
        self.network.looking[process.0 as usize] = false;
        let Some(found) = self.for_adapter(process) else { return };
        let poller = &mut self.ports.pollers[process.0 as usize];
        let arrived = poller.take(found.channel, found.behind, &mut self.ports.entries);
        let (input, channel) = match arrived {
            Some(Arrived::Packet { from, channel, content, .. }) => {
                let Content { packet, parcel, .. } = self.network.contents.remove(content);
                self.record(|| Choice::Match { process, from });
                let landing = parcel.map(|parcel| self.memory.bytes.land(process, &parcel));
                (Input::Packet { from, packet, landing }, Some(channel))
            }
            Some(Arrived::Done(token)) => {
                self.record(|| Choice::Conclude { process, token });
                (Input::Done(token), None)
            }
            Some(Arrived::Device(_) | Arrived::Seen(_) | Arrived::SendDone) | None => {
                unreachable!("it was looked at just now")
            }
        };
        if self.handled_by_adapter(thread, input, found) {
            if let Some(channel) = channel {
                let now = self.cx.clock.simulation.now();
                self.credit(channel, now);
            }
            self.adapter_looks(process);
        }
    }

    /// Does what the machine makes of an input; answers whether it knew it.
    pub(in crate::timed) fn handled_by_adapter(
        &mut self,
        thread: u32,
        input: InputOf<M>,
        found: Found,
    ) -> bool {
        let (process, _) = self.names(thread);
        let mut list = Vec::new();
        let known = self.libraries[process.0 as usize].handle_by_adapter(input, &mut list);
        if let Err(error) = known {
            self.fail(process, error);
            return false;
        }
        for action in list {
            self.done_by_adapter(thread, &action, found);
        }
        true
    }

    /// What a message asks for, without a core.
    pub(in crate::timed) fn done_by_adapter(
        &mut self,
        thread: u32,
        action: &ActionOf<M>,
        found: Found,
    ) {
        let (process, _) = self.names(thread);
        match action {
            // A receive that it may read into was pinned when it was posted.
            Action::Work(_) | Action::Walk { fact: None, .. } | Action::Register { .. } => {}
            Action::Copy { from, to } => {
                self.cx.observers.buffers.reads(process, *from, &mut self.cx.observers.violations);
                self.cx.observers.buffers.writes(process, *to, &mut self.cx.observers.violations);
                self.memory.bytes.copy(process, *from, *to);
            }
            Action::Count { counter, change } => {
                let value = self.memory.counters.change(
                    *counter,
                    *change,
                    &mut self.cx.observers.violations,
                );
                self.memory.delayed.changed(*counter, self.cx.clock.simulation.now(), value);
            }
            Action::Repost { landing, .. } => self.memory.bytes.free_landing(process, *landing),
            Action::Send { to, via: Via::Hca, header, packet, payload: None } => {
                let content = || Content { packet: packet.clone(), parcel: None, slots: None };
                let content = self.network.contents.insert(content);
                let kind = FlightKind::Packet { content, via: Via::Hca };
                self.launch_by_adapter(thread, *to, kind, header.as_u64(), found);
            }
            Action::RdmaRead { from, remote, into, token } => {
                let kind = FlightKind::ReadRequest { remote: *remote, into: *into, token: *token };
                self.launch_by_adapter(thread, *from, kind, 0, found);
            }
            Action::Complete { buffer, fact, .. } => {
                self.completes(process, *buffer, fact.as_ref());
            }
            Action::Observe(fact) | Action::Walk { fact: Some(fact), .. } => {
                self.tells(thread, process, fact, self.cx.clock.simulation.now());
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
    pub(in crate::timed) fn launch_by_adapter(
        &mut self,
        thread: u32,
        to: Route,
        kind: FlightKind,
        bytes: u64,
        found: Found,
    ) {
        let (from, _) = self.names(thread);
        let channel = self.channel(from, to);
        let flight = Flight { kind, from, to, channel, bytes, signalled: false, held: None };
        let id = self.network.flights.insert(|| flight);
        self.note_own_launch(thread, id, found.entry);
        self.depart_by_itself(id);
    }
}
