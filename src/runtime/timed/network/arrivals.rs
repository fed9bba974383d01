//! What arrives at an HCA or in shared memory: packets, RDMA operations, their answers and completions.
//!
//! Left out: a packet that found no receive buffer does not cross the wires again, its completion is
//! reported as if it had been taken, and RDMA behind it is not held up. Noticeable in runs with many
//! receiver-not-ready pauses.

use super::Network;
use super::flight::{Arrival, Arrived, Flight, FlightKind, Landing};
use crate::memory::{Memories, Parcel};
use crate::timed::context::Context;
use crate::timed::event::{Event, Phase};
use crate::untimed::Choice;
use hardware::cluster::Posting;
use hardware::fabric::ConnId;
use protocols::contract::{Machine, Process, Region, Route, Token, Via};

impl<K> Network<K> {
    /// A flight has reached the memory, or the HCA, of its receiver.
    pub(crate) fn arrive<M: Machine>(
        &mut self,
        id: u32,
        memories: &mut Memories,
        libraries: &[M],
        cx: &mut Context,
    ) -> Landing {
        if self.paced.is_some() {
            self.acknowledge(id, cx);
        }
        let flight = self.flights.get(id);
        let (from, to) = (flight.from, flight.to);
        if std::mem::take(&mut flight.signalled) {
            let channel = flight.channel;
            let done = self.flights.insert(|| Flight::send_done(from, to, channel));
            cx.observers.trace(|path| path.answers(done));
            self.complete(done, cx);
        }
        let flight = self.flights.get(id);
        match &mut flight.kind {
            FlightKind::Packet { .. } => {
                self.packet_arrives(id, cx).map_or(Landing::Quiet, Landing::Packet)
            }
            FlightKind::Write { from: source, into, token, immediate } => {
                // The content is handed over here: what completes later is a write alone.
                let (source, into, token, immediate) = (*source, *into, *token, immediate.take());
                check_access(libraries, to.peer, into, cx);
                let choice = || Choice::Move { process: from, token };
                cx.observers.moves(choice, Some((from, source)), Some((to.peer, into)));
                let parcel = memories.capture(from, source);
                memories.write(to.peer, into, &parcel);
                Landing::Written { immediate, flight: id }
            }
            FlightKind::ReadRequest { .. } => {
                self.answer_read(id, memories, libraries, cx);
                Landing::Quiet
            }
            FlightKind::AtomicRequest { .. } => {
                self.begin_atomic(id, cx);
                Landing::Quiet
            }
            FlightKind::ReadAnswer { into, parcel, .. } => {
                cx.observers.writes(to.peer, *into);
                memories.write(to.peer, *into, parcel);
                Landing::Read { reader: to.peer, owner: to.back(from), flight: id }
            }
            FlightKind::SendDone => unreachable!("a completion travels without the fabric"),
        }
    }

    /// The receiver's HCA acknowledges a message of a queue pair with a pace.
    #[cold]
    fn acknowledge(&mut self, id: u32, cx: &mut Context) {
        let Some(paced) = &mut self.paced else { return };
        let &mut Flight { ref kind, from, to, channel, bytes, .. } = self.flights.get(id);
        match kind {
            FlightKind::Packet { via: Via::SharedMemory, .. }
            | FlightKind::ReadAnswer { .. }
            | FlightKind::SendDone => return,
            FlightKind::Packet { via: Via::Hca, .. }
            | FlightKind::Write { .. }
            | FlightKind::ReadRequest { .. }
            | FlightKind::AtomicRequest { .. } => paced.arrived(channel, bytes),
        }
        let delay = self.cluster.reply_latency(cx.layout.home(from), cx.layout.home(to.peer));
        let at = cx.now() + delay;
        cx.schedule_of(at, from, Phase::Completion, Event::Acknowledged(channel));
    }

    /// Through the HCA a packet needs a receive buffer; without one the sender's HCA pauses and tries
    /// again.
    #[inline]
    fn packet_arrives(&mut self, id: u32, cx: &mut Context) -> Option<Arrival> {
        let &mut Flight { ref kind, from: sender, to, channel, .. } = self.flights.get(id);
        let &FlightKind::Packet { content, via } = kind else {
            unreachable!("only packets arrive so")
        };
        self.flights.forget(id);
        if via == Via::SharedMemory {
            let entry = Arrived::Packet { from: to.back(sender), channel, content, via };
            return Some(Arrival { process: to.peer, lane: to.remote, entry });
        }
        self.needs_a_buffer((sender, to), channel, content, cx)
    }

    /// A packet, or the immediate data of a write, takes a receive buffer, if there is one.
    #[inline]
    fn needs_a_buffer(
        &mut self,
        (sender, to): (Process, Route),
        channel: u32,
        content: u32,
        cx: &mut Context,
    ) -> Option<Arrival> {
        let entry = Arrived::Packet { from: to.back(sender), channel, content, via: Via::Hca };
        match self.channels.of_mut(channel).arrive(entry, cx.now()) {
            Ok(entry) => Some(Arrival { process: to.peer, lane: to.remote, entry }),
            Err(is_first) => {
                cx.observers.trace(|path| path.keeps_waiting(channel));
                if is_first {
                    self.back_off(channel, cx);
                }
                None
            }
        }
    }

    /// The immediate data of a write takes a receive buffer.
    pub(crate) fn immediate_arrives(
        &mut self,
        id: u32,
        content: u32,
        cx: &mut Context,
    ) -> Option<Arrival> {
        let Flight { from, to, channel, .. } = *self.flights.get(id);
        self.needs_a_buffer((from, to), channel, content, cx)
    }

    /// The pause is over: what found no receive buffer arrives now, one packet with each call, until no
    /// buffer is left.
    pub(crate) fn retry(&mut self, channel: u32, cx: &mut Context) -> Option<Arrival> {
        let now = cx.now();
        let open = self.channels.of_mut(channel);
        let (from, to) = (open.sender(), open.to());
        match open.retry(now) {
            Ok(entry) => {
                let thread = cx.layout.first_of(from);
                cx.observers.trace(|path| path.is_ready(channel, thread, now));
                Some(Arrival { process: to.peer, lane: to.remote, entry })
            }
            Err(some_wait) => {
                if some_wait {
                    self.back_off(channel, cx);
                }
                None
            }
        }
    }

    /// The peer's HCA reads what was requested and sends it back; no core takes part.
    fn answer_read<M: Machine>(
        &mut self,
        id: u32,
        memories: &mut Memories,
        libraries: &[M],
        cx: &mut Context,
    ) {
        let request = self.flights.remove(id);
        let FlightKind::ReadRequest { remote, into, token } = request.kind else {
            unreachable!("only a read request is answered")
        };
        let (owner, back_to) = (request.to.peer, request.to.back(request.from));
        // The bytes are those of this moment; the reader's are looked at when the read is completed.
        let reader = request.from;
        check_access(libraries, owner, remote, cx);
        cx.observers.moves(|| Choice::Move { process: reader, token }, Some((owner, remote)), None);
        let parcel = memories.capture(owner, remote);
        self.answer((owner, back_to), parcel, (into, token), Posting::ReadAnswer, cx);
    }

    /// The HCA's atomic unit takes its next request: it reads the element over the bus and writes it
    /// back, one request after the other.
    fn begin_atomic(&mut self, id: u32, cx: &mut Context) {
        let owner = self.flights.get(id).to.peer;
        let free = &mut self.atomic_free[cx.layout.node(owner) as usize];
        let end = cx.now().max(*free) + cx.costs.profile.pcie.dma_read_round_trip;
        *free = end;
        cx.schedule_of(end, owner, Phase::Atomic, Event::Atomic(id));
    }

    /// The atomic unit has changed an element: the old one goes back.
    pub(crate) fn answer_atomic<M: Machine>(
        &mut self,
        id: u32,
        memories: &mut Memories,
        libraries: &[M],
        cx: &mut Context,
    ) {
        let request = self.flights.remove(id);
        let FlightKind::AtomicRequest { target, update, into, token, operand } = request.kind
        else {
            unreachable!("only an atomic request is answered by the atomic unit")
        };
        let (owner, back_to) = (request.to.peer, request.to.back(request.from));
        let asker = request.from;
        check_access(libraries, owner, target, cx);
        cx.observers.record(|| Choice::Move { process: asker, token });
        cx.observers.updates(asker, owner, target);
        let old = memories.update_by(owner, target, update, &operand);
        self.answer((owner, back_to), old, (into, token), Posting::AtomicAnswer, cx);
    }

    /// An HCA sends back what was requested; no core takes part.
    fn answer(
        &mut self,
        (owner, back_to): (Process, Route),
        parcel: Parcel,
        (into, token): (Region, Token),
        posting: Posting,
        cx: &mut Context,
    ) {
        let back = self.channel(owner, back_to, cx);
        let path = self.path(back, posting, cx);
        let conn = ConnId(self.connection(back).0 + 1);
        let answer = self.flights.insert(|| Flight {
            kind: FlightKind::ReadAnswer { into, token, parcel },
            from: owner,
            to: back_to,
            channel: back,
            bytes: into.len,
            signalled: false,
            held: None,
        });
        cx.observers.trace(|path| path.answers(answer));
        self.trace_message(answer, cx.now(), cx);
        self.send(answer, conn, path, into.len, cx);
    }

    /// A read of `reader` from `owner` has ended: the next one may begin.
    pub(crate) fn next_read(&mut self, reader: Process, owner: Route, cx: &mut Context) {
        let channel = self.channel(reader, owner, cx);
        if let Some(id) = self.channels.of_mut(channel).end_read() {
            let flight = self.flights.get(id);
            let posting = flight.held.take().expect("it was kept with the read that waits");
            let bytes = flight.bytes;
            self.hand_to_hca(id, channel, posting, bytes, cx);
        }
    }

    /// The completion of an RDMA operation, or of a signalled send, is in host memory.
    pub(crate) fn completed(&mut self, id: u32, cx: &mut Context) -> Arrival {
        let flight = self.flights.remove(id);
        let (process, lane, token) = match flight.kind {
            FlightKind::Write { token, .. } => (flight.from, flight.to.own, token),
            FlightKind::ReadAnswer { token, .. } => (flight.to.peer, flight.to.remote, token),
            FlightKind::SendDone => {
                let (process, lane) = (flight.from, flight.to.own);
                return Arrival { process, lane, entry: Arrived::SendDone };
            }
            FlightKind::Packet { .. }
            | FlightKind::ReadRequest { .. }
            | FlightKind::AtomicRequest { .. } => {
                unreachable!("packets and requests are not completed")
            }
        };
        cx.observers.record(|| Choice::Finish { process, token });
        Arrival { process, lane, entry: Arrived::Done(token) }
    }
}

/// An HCA touches memory for another process: it must be exposed.
fn check_access<M: Machine>(libraries: &[M], owner: Process, region: Region, cx: &mut Context) {
    if let Err(error) = libraries[owner.0 as usize].exposes(region) {
        cx.refuse(owner, None, error);
    }
}
