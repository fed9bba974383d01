//! Sends: those of the program, and those of the library itself.

use super::Messages;
use crate::call::{Comm, Outcome, Peer, SendMode};
use crate::contract::{
    Action, CodePath, Emit, Process, ProtocolError, Region, Route, Space, Thread, Via,
};
use crate::eager;
use crate::library::requests::{Body, Choice, waits};
use crate::rendezvous::{Protocol, RoleInput, Scheme, Sending};
use crate::wire::{Key, LibraryAction, MessageHeader, Packet, ReadyToReceive};
use mpi::envelope::{Envelope, Rank};
use mpi::observation::{MessageId, Observation};

/// A message of the library's own.
#[derive(Clone, Copy, Debug)]
pub(in crate::library) struct InternalMessage {
    pub(in crate::library) comm: Comm,
    pub(in crate::library) to: Rank,
    pub(in crate::library) tag: i32,
    pub(in crate::library) region: Region,
    /// The program's message that it is a part of: its number, and the word in its header.
    pub(in crate::library) outer: Option<(MessageId, u64)>,
}

impl Messages {
    /// A message of the program leaves, or announces itself to its receiver.
    pub(in crate::library) fn send(
        &mut self,
        thread: Thread,
        key: Key,
        to: Peer,
        tag: i32,
        comm: Comm,
        buffer: Region,
        mode: SendMode,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(CodePath::Send));
        let Peer::Rank(to) = to else {
            return self.open(key, Body::Complete(Outcome::Sent), thread);
        };
        if mode == SendMode::Buffered {
            self.check_room(buffer.len)?;
        }
        let (member, route) = self.communicators.way(&self.site, thread, comm, to)?;
        let envelope = Envelope { context: member.context, source: member.rank, dest: to, tag };
        let (message, bytes) = (self.next_message(), buffer.len);
        let (rtr, heard) = self.take_rtr(route.peer, &envelope);
        let blocking = matches!(key, Key::Inner(_));
        let header =
            MessageHeader { message, envelope, bytes, sender: key, mode, blocking, heard, word: 0 };
        observe_send(&header, route.peer, out);
        let wire = self.site.wire(route, thread);
        if buffer.len > self.site.job.eager_by(wire.via) {
            let way = (route, rtr);
            return match mode {
                SendMode::Buffered => self.send_buffered(thread, way, header, buffer, out.list()),
                SendMode::Standard | SendMode::Synchronous | SendMode::Ready => {
                    self.send_rendezvous(thread, way, header, buffer, out.list())
                }
            };
        }
        eager::send(wire, thread, header, buffer, out);
        if header.mode == SendMode::Synchronous {
            let body = Body::Unmatched { message: header.message, to: route, tag, buffer };
            return self.open(key, body, thread);
        }
        // Copied: the buffer is free at once.
        self.open(key, Body::Complete(Outcome::Sent), thread)?;
        let wake = self.send_complete(key, header.message, buffer, out);
        debug_assert!(!waits(wake), "no thread waits for a request that was opened just now");
        Ok(())
    }

    /// Takes the RTR that a message of this envelope finds, and the number of RTRs that have come from its receiver.
    ///
    /// Every message with an envelope must ask, once, when it is sent.
    #[inline]
    fn take_rtr(&mut self, to: Process, envelope: &Envelope) -> (Option<ReadyToReceive>, u32) {
        self.rtrs.as_mut().map_or((None, 0), |rtrs| rtrs.take(to, envelope))
    }

    /// A large message announces itself, or goes into the buffer of the RTR that it uses up.
    fn send_rendezvous(
        &mut self,
        thread: Thread,
        (route, rtr): (Route, Option<ReadyToReceive>),
        header: MessageHeader,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (wire, key) = (self.site.wire(route, thread), header.sender);
        let job = &self.site.job;
        let scheme = match wire.via {
            Via::Hca => Scheme::Fixed(job.rendezvous),
            // Both buffers are in one address space: the receive copies from the one to the other.
            Via::SharedMemory if route.peer == self.site.me => Scheme::Fixed(Protocol::RGet),
            Via::SharedMemory => job.cooperation.scheme(buffer.len, header.blocking),
        };
        if let Some(rtr) = rtr
            && job.cooperation.takes_offer(scheme, header.mode)
        {
            return self.send_into(thread, route, rtr, header, buffer, out);
        }
        let (role, choice) = match scheme {
            Scheme::Fixed(protocol) => {
                (Sending::Decided(protocol.sender()), Choice::Made(protocol, false))
            }
            Scheme::Coll | Scheme::Load | Scheme::Adaptive | Scheme::Hybrid => {
                (Sending::Undecided, Choice::Open(scheme))
            }
        };
        let pins = job.cooperation.registers_at_rts(scheme, wire.via, buffer.len);
        let message = header.message;
        let tag = header.envelope.tag;
        let receiver = None;
        let body = Body::Sending { role, choice, message, to: route, tag, receiver, buffer };
        self.open(key, body, thread)?;
        if wire.via == Via::SharedMemory && scheme != Scheme::Fixed(Protocol::SharedMemory) {
            out.emit(|| Action::Expose { region: buffer });
        }
        if pins {
            out.emit(|| Action::Register { region: buffer });
        }
        out.emit(|| Action::Work(CodePath::Handshake));
        out.emit(|| Action::Send {
            to: route,
            via: wire.via,
            header: wire.control,
            packet: Packet::Rts { header, scheme, remote: buffer },
            payload: None,
        });
        self.begin_sending(thread, key, RoleInput::Start, out)
    }

    /// A large message goes into the buffer of the RTR that it uses up.
    fn send_into(
        &mut self,
        thread: Thread,
        route: Route,
        rtr: ReadyToReceive,
        header: MessageHeader,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (key, message, tag) = (header.sender, header.message, header.envelope.tag);
        let role = Sending::Decided(Protocol::Rtr.sender());
        let (choice, receiver) = (Choice::Made(Protocol::Rtr, false), Some(rtr.receive));
        let body = Body::Sending { role, choice, message, to: route, tag, receiver, buffer };
        self.open(key, body, thread)?;
        let into = rtr.into.part(0, buffer.len.min(rtr.into.len));
        self.begin_sending(thread, key, RoleInput::Offered { into }, out)
    }

    /// The sender role of a request that was opened just now takes its first input.
    fn begin_sending(
        &mut self,
        thread: Thread,
        key: Key,
        input: RoleInput,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let wake = self.drive_sender(thread, key, None, input, out)?;
        debug_assert!(!waits(wake), "no thread waits for a request that was opened just now");
        Ok(())
    }

    /// A message of so many bytes must fit into the free part of the attached room.
    fn check_room(&self, bytes: u64) -> Result<(), ProtocolError> {
        let Some(attached) = &self.attached else {
            return Err(self.site.refuse("no buffer is attached for a buffered send", bytes));
        };
        attached.check(bytes).map_err(|state| {
            let input = format!("a buffered send of {bytes} B (MPI_ERR_BUFFER)");
            self.site.refuse(&state, input)
        })
    }

    /// A large buffered send: the copy is what leaves.
    fn send_buffered(
        &mut self,
        thread: Thread,
        way: (Route, Option<ReadyToReceive>),
        header: MessageHeader,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(attached) = &mut self.attached else {
            let state = "no buffer is attached for a buffered send";
            return Err(self.site.refuse(state, buffer.len));
        };
        attached.take(buffer.len);
        let slot = self.requests.free_buffered();
        let kept = Region::new(Space::Attached(slot), buffer.len);
        out.emit(|| Action::Copy { from: buffer, to: kept });
        // The program's own request is over: its buffer is free.
        self.open(header.sender, Body::Complete(Outcome::Sent), thread)?;
        let wake = self.complete(header.sender, Outcome::Sent, Some(buffer), None, out);
        debug_assert_eq!(wake, None, "no thread waits for a request that was opened just now");
        let header = MessageHeader { sender: Key::Buffered(slot), ..header };
        self.send_rendezvous(thread, way, header, kept, out)
    }

    /// A message of the library's own. An eager one has left when this returns, and has no request.
    pub(in crate::library) fn send_part(
        &mut self,
        thread: Thread,
        (key, blocking): (Key, bool),
        letter: InternalMessage,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let InternalMessage { comm, to, tag, region, outer } = letter;
        out.emit(|| Action::Work(CodePath::Control));
        let (member, route) = self.communicators.inner_way(&self.site, thread, comm, to)?;
        let context = if outer.is_some() { member.context } else { member.internal };
        let envelope = Envelope { context, source: member.rank, dest: to, tag };
        let (message, word) = outer.unwrap_or_else(|| (self.next_message(), 0));
        let (bytes, sender) = (region.len, key);
        let mode = SendMode::Standard;
        let (rtr, heard) = self.take_rtr(route.peer, &envelope);
        let header =
            MessageHeader { message, envelope, bytes, sender, mode, blocking, heard, word };
        observe_send(&header, route.peer, out);
        let wire = self.site.wire(route, thread);
        if bytes > self.site.job.eager_by(wire.via) {
            return self.send_rendezvous(thread, (route, rtr), header, region, out.list());
        }
        eager::send(wire, thread, header, region, out);
        out.emit(|| Action::Observe(Observation::SendComplete { message }));
        Ok(())
    }

    /// An empty eager message of the library's own, with a word in its header; it has no request.
    pub(in crate::library) fn send_word(
        &mut self,
        thread: Thread,
        comm: Comm,
        to: Rank,
        tag: i32,
        word: u64,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(CodePath::Control));
        let (member, route) = self.communicators.inner_way(&self.site, thread, comm, to)?;
        let (context, source) = (member.internal, member.rank);
        let envelope = Envelope { context, source, dest: to, tag };
        let message = self.next_message();
        let (_, heard) = self.take_rtr(route.peer, &envelope);
        let (bytes, sender) = (0, Key::Inner(thread));
        let (mode, blocking) = (SendMode::Standard, false);
        let header =
            MessageHeader { message, envelope, bytes, sender, mode, blocking, heard, word };
        observe_send(&header, route.peer, out);
        let empty = Region::new(Space::Staging(thread.0), 0);
        eager::send(self.site.wire(route, thread), thread, header, empty, out);
        out.emit(|| Action::Observe(Observation::SendComplete { message: header.message }));
        Ok(())
    }
}

/// The monitors learn of a message.
fn observe_send(header: &MessageHeader, to: Process, out: &mut impl Emit<LibraryAction>) {
    out.emit(|| {
        Action::Observe(Observation::Sent {
            message: header.message,
            envelope: header.envelope,
            to: to.0,
            bytes: header.bytes,
            ready: header.mode == SendMode::Ready,
        })
    });
}
