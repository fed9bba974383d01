//! What happens when a program calls.

use super::arrivals::{rts, status};
use super::endpoints::Member;
use super::requests::{Body, Choice, Pending, received};
use super::{
    Action, Handle, Key, Library, LibraryAction, MessageHeader, Offer, Outcome, Packet, Posted,
    Process, ProtocolError, ReceiveId, Region, Reply, Route, Selection, Space, Thread, Token,
    Unexpected, UnexpectedBody, Via, push_return, push_walk,
};
use crate::call::{Buffer, Call, Comm, Peer, Requests, SendMode, Status};
use crate::contract::{Emit, Step};
use crate::eager;
use crate::rendezvous::{Protocol, RoleInput, Scheme, Sending};
use mpi::communicator::Communicator;
use mpi::envelope::{Context, Envelope, Rank};
use mpi::observation::Observation;

/// Status of an operation with `MPI_PROC_NULL`.
const NOTHING: Status = Status { source: None, tag: None, count: 0 };

pub(super) fn region(buffer: Buffer) -> Region {
    Region::new(Space::User(buffer.id), buffer.bytes)
}

impl Library {
    /// Takes one call of the program.
    pub(super) fn call(
        &mut self,
        thread: Thread,
        call: Call,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        self.calls.0[usize::from(thread.0)] += 1;
        self.check_sides(&call)?;
        self.enter_endpoint(thread, &call, out);
        let inner = Key::Inner(thread);
        match call {
            Call::Isend { request, to, tag, comm, buffer, mode } => {
                self.send(thread, Key::User(request), to, tag, comm, region(buffer), mode, out)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::Send { to, tag, comm, buffer, mode } => {
                self.send(thread, inner, to, tag, comm, region(buffer), mode, out)?;
                self.wait_one(thread, inner, out)
            }
            Call::Irecv { request, source, tag, comm, buffer } => {
                let key = Key::User(request);
                self.receive(thread, key, source, tag, comm, region(buffer), out)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::Recv { source, tag, comm, buffer } => {
                self.receive(thread, inner, source, tag, comm, region(buffer), out)?;
                self.wait_one(thread, inner, out)
            }
            Call::Wait { request } => {
                out.emit(|| Action::Work(Step::Query));
                self.flush_for(thread, Key::User(request), out)?;
                self.wait_one(thread, Key::User(request), out)
            }
            Call::WaitAll { requests, statuses } => self.wait_all(thread, requests, statuses, out),
            Call::WaitAny { requests } => self.wait_any(thread, requests, out),
            Call::Test { request } => self.begin_test(thread, Pending::Test(request), out),
            Call::TestAll { requests } => self.begin_test(thread, Pending::TestAll(requests), out),
            Call::Probe { source, tag, comm } => {
                self.begin_probe(thread, source, tag, comm, None, false, out)
            }
            Call::Iprobe { source, tag, comm } => {
                self.begin_probe(thread, source, tag, comm, None, true, out)
            }
            Call::Mprobe { message, source, tag, comm } => {
                self.begin_probe(thread, source, tag, comm, Some(message), false, out)
            }
            Call::Improbe { message, source, tag, comm } => {
                self.begin_probe(thread, source, tag, comm, Some(message), true, out)
            }
            Call::Mrecv { message, buffer } => {
                self.matched_receive(thread, inner, message, region(buffer), out)?;
                self.wait_one(thread, inner, out)
            }
            Call::Imrecv { message, request, buffer } => {
                self.matched_receive(thread, Key::User(request), message, region(buffer), out)?;
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Call::Cancel { request } => self.cancel(thread, request, out),
            Call::AttachBuffer { bytes } => self.attach_buffer(thread, bytes, out),
            Call::DetachBuffer => self.detach_buffer(thread, out),
            Call::Barrier { comm } => self.begin_barrier(thread, comm, out),
            Call::Init => Err(self.refuse("the library is initialised already", "MPI_Init")),
            Call::CreateEndpoints { parent, count, first } => {
                self.create_endpoints(thread, parent, count, first, out)
            }
            Call::FreeEndpoint { comm } => self.free_endpoint(thread, comm, out),
            Call::Attach { id } => self.attach(thread, id, out),
            Call::Compare { a, b } => self.compare(thread, a, b, out),
            Call::Collective(call) => self.begin_collective(thread, call, out),
            Call::Icollective { request, call } => {
                self.begin_in_background(thread, request, call, out)
            }
            Call::Device(call) => self.begin_device(thread, call, out),
            Call::Typed(call) => self.call_typed(thread, &call, out),
            Call::Rma(call) => self.one_sided(thread, &call, out),
            Call::Communicators(call) => self.communicators(thread, call, out),
        }
    }

    pub(super) fn send(
        &mut self,
        thread: Thread,
        key: Key,
        to: Peer,
        tag: i32,
        comm: Comm,
        buffer: Region,
        mode: SendMode,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Send));
        let Peer::Rank(to) = to else {
            return self.nothing(thread, key, Outcome::Sent);
        };
        if mode == SendMode::Buffered {
            self.check_room(buffer.len)?;
        }
        let member = self.speaker(thread, comm)?;
        let route = self.way(comm, &member, to)?;
        let envelope = Envelope { context: member.context, source: member.rank, dest: to, tag };
        let (message, bytes) = (self.next_message(), buffer.len);
        let (offer, heard) = self.meet_offer(route.peer, &envelope);
        let blocking = matches!(key, Key::Inner(_));
        let header =
            MessageHeader { message, envelope, bytes, sender: key, mode, blocking, heard, word: 0 };
        Self::observe_send(&header, route.peer, out);
        let wire = self.wire(route, thread);
        if buffer.len > self.job.eager_by(wire.via) {
            let way = (route, offer);
            return match mode {
                SendMode::Buffered => self.send_buffered(thread, way, header, buffer, out),
                SendMode::Standard | SendMode::Synchronous | SendMode::Ready => {
                    self.send_rendezvous(thread, way, header, buffer, out)
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
        self.send_complete(key, header.message, buffer, out)
    }

    pub(super) fn observe_send(header: &MessageHeader, to: Process, out: &mut Vec<LibraryAction>) {
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

    pub(super) fn communicator(&self, comm: Comm) -> Result<&Communicator, ProtocolError> {
        let found = self.job.communicators.of(self.me.0, comm.0).or_else(|| self.made.get(comm));
        found.ok_or_else(|| self.refuse("there is no such communicator", comm))
    }

    /// The way to rank `dest`, and the envelope of a message to it.
    pub(super) fn address(
        &self,
        comm: Comm,
        member: &Member,
        context: Context,
        dest: Rank,
        tag: i32,
    ) -> Result<(Route, Envelope), ProtocolError> {
        let route = self.route(comm, member, dest)?;
        Ok((route, Envelope { context, source: member.rank, dest, tag }))
    }

    pub(super) fn send_rendezvous(
        &mut self,
        thread: Thread,
        (route, offer): (Route, Option<Offer>),
        header: MessageHeader,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (wire, key) = (self.wire(route, thread), header.sender);
        let scheme = match wire.via {
            Via::Hca => Scheme::Fixed(self.job.rendezvous),
            Via::SharedMemory => self.job.cooperation.scheme(buffer.len, header.blocking),
        };
        if let Some(offer) = offer
            && self.job.cooperation.takes_offer(scheme, header.mode)
        {
            return self.send_offered(thread, route, offer, header, buffer, out);
        }
        let (role, choice) = match scheme {
            Scheme::Fixed(protocol) => {
                (Sending::Decided(protocol.sender()), Choice::Made(protocol, false))
            }
            Scheme::Coll | Scheme::Load | Scheme::Adaptive | Scheme::Hybrid => {
                (Sending::Undecided, Choice::Open(scheme))
            }
        };
        let message = header.message;
        let tag = header.envelope.tag;
        let receiver = None;
        let body = Body::Sending { role, choice, message, to: route, tag, receiver, buffer };
        self.open(key, body, thread)?;
        if wire.via == Via::SharedMemory && scheme != Scheme::Fixed(Protocol::SharedMemory) {
            out.emit(|| Action::Expose { region: buffer });
        }
        if scheme.registers_at_rts(wire.via) {
            out.emit(|| Action::Register { region: buffer });
        }
        out.emit(|| Action::Work(Step::Control));
        out.emit(|| Action::Send {
            to: route,
            via: wire.via,
            header: wire.control,
            packet: Packet::Rts { header, scheme, remote: buffer },
            payload: None,
        });
        self.drive_sender(thread, key, None, RoleInput::Start, out)
    }

    /// An operation with `MPI_PROC_NULL` is complete at once.
    fn nothing(&mut self, thread: Thread, key: Key, outcome: Outcome) -> Result<(), ProtocolError> {
        self.open(key, Body::Complete(outcome), thread)
    }

    pub(super) fn select(
        &self,
        thread: Thread,
        source: Peer,
        tag: Option<i32>,
        comm: Comm,
    ) -> Result<Option<Selection>, ProtocolError> {
        let Member { context, rank: dest, .. } = self.speaker(thread, comm)?;
        Ok(match source {
            Peer::Rank(rank) => Some(Selection { context, dest, source: Some(rank), tag }),
            Peer::Any => Some(Selection { context, dest, source: None, tag }),
            Peer::Null => None,
        })
    }

    pub(super) fn receive(
        &mut self,
        thread: Thread,
        key: Key,
        source: Peer,
        tag: Option<i32>,
        comm: Comm,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Receive));
        match self.select(thread, source, tag, comm)? {
            Some(selection) => {
                let blocking = matches!(key, Key::Inner(_));
                self.post(thread, (key, blocking), selection, buffer, out)?;
                self.pin_for_adapter(thread, key, comm, out)?;
                self.offer(thread, key, comm, out)
            }
            None => self.nothing(thread, key, Outcome::Received(NOTHING)),
        }
    }

    /// Searches the unexpected queue, then appends to the posted one.
    ///
    /// `blocking` says whether the receive is one that its call waits for.
    pub(super) fn post(
        &mut self,
        thread: Thread,
        (key, blocking): (Key, bool),
        selection: Selection,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let id = self.next_receive();
        self.open(key, Body::Posted { id, selection, buffer, blocking }, thread)?;
        let queue = self.queue(selection.context, selection.dest);
        #[cfg(feature = "mutants")]
        if self.search_only(thread, queue, selection, Posted { key, id }, buffer, out) {
            return Ok(());
        }
        let walk = self.matching[queue].post(selection, Posted { key, id });
        self.note_lengths(queue);
        let posted = Observation::Posted { receive: id, selection, bytes: buffer.len };
        push_walk(&walk, Some(posted), out);
        if let Some(found) = walk.matched {
            let Unexpected { header, from, body } = found.payload;
            let message = header.message;
            out.emit(|| Action::Observe(Observation::Matched { message, receive: id }));
            self.receive_taken(thread, key, id, buffer, header, from, body, out)?;
        }
        Ok(())
    }

    /// A receive takes a message that was waiting for it.
    fn receive_taken(
        &mut self,
        thread: Thread,
        key: Key,
        id: ReceiveId,
        buffer: Region,
        header: MessageHeader,
        from: Route,
        body: UnexpectedBody,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        match body {
            UnexpectedBody::Eager { kept } => {
                if header.mode == SendMode::Synchronous {
                    eager::acknowledge(self.wire(from, thread), &header, out);
                }
                eager::copy_out(kept, buffer, out);
                if let Some(Region { space: Space::Unexpected(slot), .. }) = kept {
                    self.release_buffer(slot);
                }
                let outcome = received(status(&header), header.bytes, buffer.len);
                let taken = buffer.part(0, header.bytes.min(buffer.len));
                self.hear_word(key, header.word);
                self.receive_complete(key, id, header.message, outcome, taken, out)
            }
            UnexpectedBody::Rts { scheme, remote } => {
                let rts = rts(&header, scheme, from, remote);
                self.hear_word(key, header.word);
                self.begin_receiving(thread, key, id, buffer, rts, out)
            }
        }
    }

    /// Returns at once if `key` is complete, else waits for it.
    pub(super) fn wait_one(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.must_wait(key, thread)? {
            self.pending[usize::from(thread.0)] = Some(Pending::One(key));
        } else {
            let outcome = self.close(key);
            push_return(thread, Reply::Outcome(outcome), out);
        }
        Ok(())
    }

    pub(super) fn wait_for(&mut self, key: Key, thread: Thread) {
        let request = self.requests.get_mut(key).expect("looked up before");
        debug_assert!(request.waiter.is_none(), "one thread waits for a request");
        request.waiter = Some(thread);
    }

    fn wait_all(
        &mut self,
        thread: Thread,
        requests: Requests,
        statuses: bool,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        let mut remaining = 0;
        for i in 0..requests.len() {
            let key = Key::User(requests.at(i));
            self.flush_for(thread, key, out)?;
            remaining += u32::from(self.must_wait(key, thread)?);
        }
        self.pending[usize::from(thread.0)] = Some(Pending::All { requests, statuses, remaining });
        if remaining == 0 {
            self.return_all(thread, out);
        }
        Ok(())
    }

    fn wait_any(
        &mut self,
        thread: Thread,
        requests: Requests,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        for i in 0..requests.len() {
            self.flush_for(thread, Key::User(requests.at(i)), out)?;
        }
        let mut open = false;
        for i in 0..requests.len() {
            let key = Key::User(requests.at(i));
            let Some(request) = self.requests.get(key) else { continue };
            if let Body::Complete(_) = request.body {
                let outcome = self.close(key);
                let index = u32::try_from(i).expect("a set of requests is indexed by u32");
                push_return(thread, Reply::Any { index, outcome }, out);
                return Ok(());
            }
            open = true;
        }
        if !open {
            return Err(self.refuse("MPI_Waitany of requests that are all closed", requests));
        }
        for i in 0..requests.len() {
            let key = Key::User(requests.at(i));
            if self.requests.get(key).is_some() {
                self.wait_for(key, thread);
            }
        }
        self.pending[usize::from(thread.0)] = Some(Pending::Any(requests));
        Ok(())
    }

    /// Answers at once if complete, else makes one pass first.
    fn begin_test(
        &mut self,
        thread: Thread,
        pending: Pending,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        if let Pending::Test(request) = &pending {
            self.flush_for(thread, Key::User(*request), out)?;
        }
        if let Pending::TestAll(requests) = &pending {
            for i in 0..requests.len() {
                self.flush_for(thread, Key::User(requests.at(i)), out)?;
            }
        }
        if let Some(reply) = self.test_now(&pending)? {
            push_return(thread, reply, out);
        } else {
            self.pending[usize::from(thread.0)] = Some(pending);
            out.emit(|| Action::Poll(Token(u64::from(thread.0))));
        }
        Ok(())
    }

    /// The reply of a test whose flag is true.
    fn test_now(&mut self, pending: &Pending) -> Result<Option<Reply>, ProtocolError> {
        match pending {
            Pending::Test(handle) => {
                let key = Key::User(*handle);
                let done = self.outcome(key)?.is_some();
                Ok(done.then(|| Reply::Tested(Some(self.close(key)))))
            }
            Pending::TestAll(requests) => {
                for i in 0..requests.len() {
                    if self.outcome(Key::User(requests.at(i)))?.is_none() {
                        return Ok(None);
                    }
                }
                let all = (0..requests.len()).map(|i| self.close(Key::User(requests.at(i))));
                Ok(Some(Reply::AllTested(Some(all.collect()))))
            }
            other @ (Pending::One(_)
            | Pending::All { .. }
            | Pending::Any(_)
            | Pending::Probe { .. }
            | Pending::Detach
            | Pending::Agree(_)
            | Pending::Window
            | Pending::WindowTest(_)
            | Pending::WindowPass
            | Pending::Device(_)
            | Pending::Collective(_)) => unreachable!("{other:?} is no test"),
        }
    }

    fn begin_probe(
        &mut self,
        thread: Thread,
        source: Peer,
        tag: Option<i32>,
        comm: Comm,
        take: Option<Handle>,
        flag: bool,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        let Some(selection) = self.select(thread, source, tag, comm)? else {
            push_return(thread, Reply::Probed(Some(NOTHING)), out);
            return Ok(());
        };
        if !self.probe_now(thread, selection, take, out) {
            self.pending[usize::from(thread.0)] = Some(Pending::Probe { selection, take, flag });
            if flag {
                out.emit(|| Action::Poll(Token(u64::from(thread.0))));
            }
        }
        Ok(())
    }

    /// Looks into the unexpected queue; returns from the probe if it finds its message.
    pub(super) fn probe_now(
        &mut self,
        thread: Thread,
        selection: Selection,
        take: Option<Handle>,
        out: &mut Vec<LibraryAction>,
    ) -> bool {
        let queue = self.queue(selection.context, selection.dest);
        let status = if let Some(handle) = take {
            let walk = self.matching[queue].take(&selection);
            push_walk(&walk, None, out);
            let Some(found) = walk.matched else { return false };
            let unexpected = found.payload;
            let receive = self.next_receive();
            let message = unexpected.header.message;
            let bytes = unexpected.header.bytes;
            // How much the receive takes is known when it comes; the monitors learn it then.
            let room = u64::MAX;
            out.emit(|| Action::Observe(Observation::Posted { receive, selection, bytes: room }));
            out.emit(|| Action::Observe(Observation::Matched { message, receive }));
            let status = status(&unexpected.header);
            let caller = self.endpoints.current(thread);
            self.probed.push((handle, receive, unexpected, caller));
            Status { count: bytes, ..status }
        } else {
            let walk = self.matching[queue].probe(&selection);
            push_walk(&walk, None, out);
            let Some(unexpected) = walk.matched else { return false };
            let header = unexpected.payload.header;
            Status { count: header.bytes, ..status(&header) }
        };
        self.pending[usize::from(thread.0)] = None;
        push_return(thread, Reply::Probed(Some(status)), out);
        true
    }

    /// The pass of a test or of a probe with a flag is over.
    pub(super) fn polled(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let pending = self.pending[usize::from(thread.0)].take();
        match pending {
            Some(pending @ (Pending::Test(_) | Pending::TestAll(_))) => {
                let false_flag = if matches!(pending, Pending::Test(_)) {
                    Reply::Tested(None)
                } else {
                    Reply::AllTested(None)
                };
                let reply = self.test_now(&pending)?.unwrap_or(false_flag);
                push_return(thread, reply, out);
                Ok(())
            }
            Some(Pending::WindowPass) => {
                push_return(thread, Reply::Done, out);
                Ok(())
            }
            Some(Pending::WindowTest(win)) => {
                self.window_tested(thread, win, out)?;
                Ok(())
            }
            Some(Pending::Probe { selection, take, flag: true }) => {
                if !self.probe_now(thread, selection, take, out) {
                    push_return(thread, Reply::Probed(None), out);
                }
                Ok(())
            }
            other => Err(self.defect("the thread asked for no pass", other)),
        }
    }

    pub(super) fn matched_receive(
        &mut self,
        thread: Thread,
        key: Key,
        message: Handle,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Receive));
        let position = self.probed.iter().position(|(handle, ..)| *handle == message);
        let Some(position) = position else {
            // A matched probe of MPI_PROC_NULL gives MPI_MESSAGE_NO_PROC.
            return self.nothing(thread, key, Outcome::Received(NOTHING));
        };
        let (_, id, Unexpected { header, from, body }, _) = self.probed.remove(position);
        let selection = Selection {
            context: header.envelope.context,
            dest: header.envelope.dest,
            source: Some(header.envelope.source),
            tag: Some(header.envelope.tag),
        };
        let blocking = matches!(key, Key::Inner(_));
        self.open(key, Body::Posted { id, selection, buffer, blocking }, thread)?;
        self.receive_taken(thread, key, id, buffer, header, from, body, out)
    }

    fn cancel(
        &mut self,
        thread: Thread,
        request: Handle,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Query));
        let key = Key::User(request);
        let Some(request) = self.requests.get(key) else {
            return Err(self.refuse("MPI_Cancel of a request that is not open", request));
        };
        if let Body::Background { function, .. } = request.body {
            return Err(self.refuse("a collective cannot be cancelled", function));
        }
        if let Body::Posted { id, buffer, selection, .. } = request.body {
            self.check_not_offered(key)?;
            let queue = self.queue(selection.context, selection.dest);
            let walk = self.matching[queue].cancel(|posted| posted.key == key);
            debug_assert!(walk.matched.is_some(), "a posted receive stands in the posted queue");
            push_walk(&walk, Some(Observation::Cancelled { receive: id }), out);
            self.complete(key, Outcome::Cancelled, Some(buffer), None, out)?;
        }
        push_return(thread, Reply::Done, out);
        Ok(())
    }

    /// The receive of a message that [`Self::send_internal`] sends.
    pub(super) fn receive_internal(
        &mut self,
        thread: Thread,
        comm: Comm,
        from: Rank,
        tag: i32,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Member { internal: context, rank: dest, .. } = self.member(thread, comm)?;
        let selection = Selection { context, dest, source: Some(from), tag: Some(tag) };
        let empty = Region::new(Space::Staging(thread.0), 0);
        self.post(thread, (Key::Inner(thread), true), selection, empty, out)
    }

    /// An empty eager message of the library's own, with a word in its header; it has no request.
    pub(super) fn send_internal(
        &mut self,
        thread: Thread,
        comm: Comm,
        to: Rank,
        tag: i32,
        word: u64,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(Step::Control));
        let member = self.member(thread, comm)?;
        let (route, envelope) = self.address(comm, &member, member.internal, to, tag)?;
        let message = self.next_message();
        let (_, heard) = self.meet_offer(route.peer, &envelope);
        let (bytes, sender) = (0, Key::Inner(thread));
        let (mode, blocking) = (SendMode::Standard, false);
        let header =
            MessageHeader { message, envelope, bytes, sender, mode, blocking, heard, word };
        Self::observe_send(&header, route.peer, out);
        let empty = Region::new(Space::Staging(thread.0), 0);
        eager::send(self.wire(route, thread), thread, header, empty, out);
        out.emit(|| Action::Observe(Observation::SendComplete { message: header.message }));
        Ok(())
    }
}
