//! Receives: posted by the program or by the library itself, and the messages that they take.

use super::{Messages, Probed};
use crate::call::{Comm, Outcome, Peer, SendMode, Status};
use crate::contract::{
    Action, CodePath, Emit, Handle, Process, ProtocolError, Queue, Region, Route, Space, Thread,
    Via,
};
use crate::eager;
use crate::library::answers::push_walk;
use crate::library::endpoints::Member;
use crate::library::queues::{Posted, Unexpected, UnexpectedBody};
use crate::library::requests::{Body, Request, Rts, Wake, received, status, waits};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use crate::rendezvous::{Protocol, Scheme};
use crate::wire::{Key, LibraryAction, MessageHeader, Packet, ReadyToReceive};
use mpi::envelope::{Context, Envelope, Rank, Selection};
use mpi::observation::{Observation, ReceiveId};

/// Status of an operation with `MPI_PROC_NULL`.
pub(in crate::library) const NOTHING: Status = Status { source: None, tag: None, count: 0 };

impl Messages {
    /// The messages that a receive of the program selects; `None` for one of `MPI_PROC_NULL`.
    pub(in crate::library) fn select(
        &self,
        thread: Thread,
        source: Peer,
        tag: Option<i32>,
        comm: Comm,
    ) -> Result<Option<Selection>, ProtocolError> {
        let member = self.communicators.speaker(&self.site, thread, comm)?;
        let Member { context, rank: dest, .. } = member;
        Ok(match source {
            Peer::Rank(rank) => Some(Selection { context, dest, source: Some(rank), tag }),
            Peer::Any => Some(Selection { context, dest, source: None, tag }),
            Peer::Null => None,
        })
    }

    /// A receive of the program.
    pub(in crate::library) fn receive(
        &mut self,
        thread: Thread,
        key: Key,
        source: Peer,
        tag: Option<i32>,
        comm: Comm,
        buffer: Region,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(CodePath::Receive));
        let Some(selection) = self.select(thread, source, tag, comm)? else {
            return self.open(key, Body::Complete(Outcome::Received(NOTHING)), thread);
        };
        let blocking = matches!(key, Key::Inner(_));
        self.post(thread, (key, blocking), selection, buffer, out)?;
        if self.site.job.adapters {
            self.pin_for_adapter(thread, key, comm, out.list())?;
        }
        self.send_rtr(thread, key, comm, out)
    }

    /// A receive of the library's own, for a message of [`Self::send_part`].
    pub(in crate::library) fn receive_part(
        &mut self,
        thread: Thread,
        (key, blocking): (Key, bool),
        comm: Comm,
        selection: Selection,
        buffer: Region,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        self.post(thread, (key, blocking), selection, buffer, out)?;
        self.send_rtr(thread, key, comm, out)
    }

    /// The receive of a message of [`Self::send_word`].
    pub(in crate::library) fn receive_word(
        &mut self,
        (thread, key): (Thread, Key),
        comm: Comm,
        from: Rank,
        tag: i32,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Member { internal: context, rank: dest, .. } = self.member(thread, comm)?;
        let selection = Selection { context, dest, source: Some(from), tag: Some(tag) };
        let empty = Region::new(Space::Staging(thread.0), 0);
        let blocking = matches!(key, Key::Inner(_));
        self.post(thread, (key, blocking), selection, empty, out)
    }

    /// Searches the unexpected queue, then appends to the posted one.
    ///
    /// `blocking` says whether the receive is one that its call waits for.
    fn post(
        &mut self,
        thread: Thread,
        (key, blocking): (Key, bool),
        selection: Selection,
        buffer: Region,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let id = self.next_receive();
        self.open(key, Body::Posted { id, selection, buffer, blocking }, thread)?;
        let queue = self.communicators.queue(&self.site, selection.context, selection.dest);
        #[cfg(feature = "mutants")]
        let queue = if selection.source.is_none() && self.site.job.has(Mutant::WildcardsFirst) {
            0
        } else {
            queue
        };
        #[cfg(feature = "mutants")]
        if self.site.job.has(Mutant::Unlocks)
            && self.search_only(thread, queue, selection, Posted { key, id }, buffer, out.list())
        {
            return Ok(());
        }
        let walk = self.queues.post(queue, selection, Posted { key, id });
        let posted = Observation::Posted { receive: id, selection, bytes: buffer.len };
        push_walk(Queue::Unexpected, &walk, Some(posted), out);
        if let Some(found) = walk.matched {
            let message = found.payload.header.message;
            out.emit(|| Action::Observe(Observation::Matched { message, receive: id }));
            self.receive_taken(thread, key, id, buffer, found.payload, out)?;
        }
        Ok(())
    }

    /// A receive that was opened just now takes a message that was waiting for it.
    fn receive_taken(
        &mut self,
        thread: Thread,
        key: Key,
        id: ReceiveId,
        buffer: Region,
        Unexpected { header, from, body }: Unexpected,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let wake = match body {
            UnexpectedBody::Eager { kept } => {
                if header.mode == SendMode::Synchronous {
                    eager::acknowledge(self.site.wire(from, thread), &header, out);
                }
                eager::copy_out(kept, buffer, out);
                if let Some(Region { space: Space::Unexpected(slot), .. }) = kept {
                    let by = self.runs_beside_others().then_some(thread);
                    self.queues.release_buffer(slot, by);
                }
                let outcome = received(status(&header), header.bytes, buffer.len);
                let taken = buffer.part(0, header.bytes.min(buffer.len));
                self.carried.receive(key, header.word);
                self.receive_complete(key, id, header.message, outcome, taken, out)
            }
            UnexpectedBody::Rts { scheme, remote } => {
                let rts = Rts::of(&header, scheme, from, remote);
                self.carried.receive(key, header.word);
                self.begin_receiving(thread, key, id, buffer, rts, out.list())?
            }
        };
        debug_assert!(!waits(wake), "no thread waits for a request that was opened just now");
        Ok(())
    }

    /// An eager message has come.
    #[inline]
    pub(in crate::library) fn eager_arrives(
        &mut self,
        thread: Thread,
        from: Route,
        header: &MessageHeader,
        landing: Option<Region>,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<Arrived, ProtocolError> {
        let slot = self.queues.free_buffer();
        let kept = landing.map(|landing| Region::new(Space::Unexpected(slot), landing.len));
        let body = UnexpectedBody::Eager { kept };
        let matched = self.match_arrival(header, from, body, out);
        let Some(Posted { key, id }) = matched else {
            if kept.is_some() {
                eager::buffer_unexpected(landing, slot, out);
                self.queues.keep_buffer();
            }
            if let Some(landing) = landing {
                out.emit(|| Action::Repost { landing, from });
            }
            return Ok(Arrived::Unexpected);
        };
        let Some(buffer) = self.posted_buffer(key) else { return Err(self.not_posted(key)) };
        if header.mode == SendMode::Synchronous {
            eager::acknowledge(self.site.wire(from, thread), header, out);
        }
        eager::copy_out(landing, buffer, out);
        if let Some(landing) = landing {
            out.emit(|| Action::Repost { landing, from });
        }
        let outcome = received(status(header), header.bytes, buffer.len);
        let taken = buffer.part(0, header.bytes.min(buffer.len));
        self.carried.receive(key, header.word);
        Ok(Arrived::Taken(self.receive_complete(key, id, header.message, outcome, taken, out)))
    }

    /// The RTS of a large message has come.
    pub(in crate::library) fn rts_arrives(
        &mut self,
        thread: Thread,
        from: Route,
        header: &MessageHeader,
        scheme: Scheme,
        remote: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Arrived, ProtocolError> {
        let body = UnexpectedBody::Rts { scheme, remote };
        let Some(Posted { key, id }) = self.match_arrival(header, from, body, out) else {
            return Ok(Arrived::Unexpected);
        };
        let Some(buffer) = self.posted_buffer(key) else { return Err(self.not_posted(key)) };
        let rts = Rts::of(header, scheme, from, remote);
        self.carried.receive(key, header.word);
        self.begin_receiving(thread, key, id, buffer, rts, out).map(Arrived::Taken)
    }

    /// Walks the posted queue; a message that no receive takes joins the unexpected one.
    fn match_arrival(
        &mut self,
        header: &MessageHeader,
        from: Route,
        body: UnexpectedBody,
        out: &mut impl Emit<LibraryAction>,
    ) -> Option<Posted> {
        let message = header.message;
        let queue = self.queue_of(&header.envelope);
        let unexpected = || Unexpected { header: *header, from, body };
        let walk = self.queues.arrive(queue, header.envelope, unexpected);
        let taken_by = walk.matched.map(|posted| posted.id);
        push_walk(Queue::Posted, &walk, Some(Observation::Arrived { message, taken_by }), out);
        if let Some(rtrs) = &mut self.rtrs {
            rtrs.settle(from.peer, header.heard, walk.matched.map(|posted| posted.key));
        }
        walk.matched
    }

    /// The queues of an arriving message.
    #[inline]
    pub(super) fn queue_of(&self, envelope: &Envelope) -> usize {
        self.communicators.queue(&self.site, envelope.context, envelope.dest)
    }

    #[inline]
    fn posted_buffer(&self, key: Key) -> Option<Region> {
        match self.requests.get(key)? {
            Request { body: Body::Posted { buffer, .. }, .. } => Some(*buffer),
            _ => None,
        }
    }

    fn not_posted(&self, key: Key) -> ProtocolError {
        self.site.defect("a matched receive is posted", self.requests.get(key))
    }

    /// The receiver of a synchronous eager message has matched it.
    pub(in crate::library) fn matched_arrives(
        &mut self,
        sender: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let Some(Request { body: Body::Unmatched { message, buffer, .. }, .. }) =
            self.requests.get(sender)
        else {
            return Err(self.site.refuse("no synchronous send waits", sender));
        };
        let (message, buffer) = (*message, *buffer);
        Ok(self.send_complete(sender, message, buffer, out))
    }

    /// Looks for a message in the unexpected queue; `take` names it where the probe takes it out.
    pub(in crate::library) fn probe(
        &mut self,
        thread: Thread,
        selection: Selection,
        take: Option<Handle>,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Status> {
        let queue = self.communicators.queue(&self.site, selection.context, selection.dest);
        let Some(handle) = take else {
            let walk = self.queues.probe(queue, &selection);
            push_walk(Queue::Unexpected, &walk, None, out);
            let header = walk.matched?.payload.header;
            return Some(Status { count: header.bytes, ..status(&header) });
        };
        let walk = self.queues.take(queue, &selection);
        push_walk(Queue::Unexpected, &walk, None, out);
        let found = walk.matched?.payload;
        let receive = self.next_receive();
        let message = found.header.message;
        // The monitors learn how much the receive takes when it comes.
        let room = u64::MAX;
        out.emit(|| Action::Observe(Observation::Posted { receive, selection, bytes: room }));
        out.emit(|| Action::Observe(Observation::Matched { message, receive }));
        let status = Status { count: found.header.bytes, ..status(&found.header) };
        let caller = self.communicators.current(thread);
        self.probed.push(Probed { handle, receive, message: found, caller });
        Some(status)
    }

    /// Whether a matched probe has taken this message.
    pub(in crate::library) fn has_probed(&self, message: Handle) -> bool {
        self.probed.iter().any(|probed| probed.handle == message)
    }

    /// A receive of a message that a matched probe has taken.
    pub(in crate::library) fn matched_receive(
        &mut self,
        thread: Thread,
        key: Key,
        message: Handle,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        out.emit(|| Action::Work(CodePath::Receive));
        let position = self.probed.iter().position(|probed| probed.handle == message);
        let Some(position) = position else {
            // A matched probe of MPI_PROC_NULL gives MPI_MESSAGE_NO_PROC.
            return self.open(key, Body::Complete(Outcome::Received(NOTHING)), thread);
        };
        let Probed { receive: id, message, .. } = self.probed.remove(position);
        let Envelope { context, source, dest, tag } = message.header.envelope;
        let selection = Selection { context, dest, source: Some(source), tag: Some(tag) };
        let blocking = matches!(key, Key::Inner(_));
        self.open(key, Body::Posted { id, selection, buffer, blocking }, thread)?;
        self.receive_taken(thread, key, id, buffer, message, out)
    }

    /// `MPI_Cancel`: a posted receive ends without a message.
    pub(in crate::library) fn cancel(
        &mut self,
        request: Handle,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let key = Key::User(request);
        let Some(request) = self.requests.get(key) else {
            return Err(self.site.refuse("MPI_Cancel of a request that is not open", request));
        };
        if let Body::Background { function, .. } = request.body {
            return Err(self.site.refuse("a collective cannot be cancelled", function));
        }
        let Body::Posted { id, buffer, selection, .. } = request.body else { return Ok(None) };
        if self.rtrs.as_ref().is_some_and(|rtrs| rtrs.has(key)) {
            return Err(self.site.refuse("MPI_Cancel of a receive on offer (RTR)", key));
        }
        let queue = self.communicators.queue(&self.site, selection.context, selection.dest);
        let walk = self.queues.cancel(queue, key);
        debug_assert!(walk.matched.is_some(), "a posted receive stands in the posted queue");
        push_walk(Queue::Posted, &walk, Some(Observation::Cancelled { receive: id }), out);
        Ok(self.complete(key, Outcome::Cancelled, Some(buffer), None, out))
    }

    /// A receive has been posted: where its adapter may read a message into it, it is pinned.
    fn pin_for_adapter(
        &self,
        thread: Thread,
        key: Key,
        comm: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.site.job.rendezvous != Protocol::RGet {
            return Ok(());
        }
        let Some(Request { body: Body::Posted { selection, buffer, .. }, .. }) =
            self.requests.get(key)
        else {
            // Its message was there.
            return Ok(());
        };
        let away = match selection.source {
            Some(source) => self.site.is_away(self.route_of(thread, comm, source)?.peer),
            None => true,
        };
        if away && buffer.len > self.site.job.eager_by(Via::Hca) {
            out.emit(|| Action::Register { region: *buffer });
        }
        Ok(())
    }

    fn route_of(&self, thread: Thread, comm: Comm, rank: Rank) -> Result<Route, ProtocolError> {
        self.communicators.way(&self.site, thread, comm, rank).map(|(_, route)| route)
    }

    /// Messages of a new communicator of endpoints may be here before it: they wait in the process's
    /// own queue, and each goes to the queue of its endpoint.
    pub(super) fn sort_early(&mut self, context: Context, out: &mut Vec<LibraryAction>) {
        let new = [context, Context(context.0 + 1)];
        let walk = self.queues.extract(0, |envelope| new.contains(&envelope.context));
        push_walk(Queue::Unexpected, &walk, None, out);
        for early in walk.matched.into_iter().flatten() {
            let queue = self.queue_of(&early.envelope);
            self.queues.append_unexpected(queue, early);
        }
    }
}

/// How an arriving message was matched.
#[must_use]
pub(in crate::library) enum Arrived {
    /// By no receive.
    Unexpected,
    /// By a posted receive; the wait that this concerns.
    Taken(Option<Wake>),
}

/// RTRs: a receive tells its sender that it is ready.
impl Messages {
    /// Another process is ready to receive.
    pub(in crate::library) fn rtr_arrives(&mut self, from: Process, rtr: ReadyToReceive) {
        #[cfg(feature = "mutants")]
        let keeps_void = self.site.job.has(Mutant::OfferCrosses);
        #[cfg(not(feature = "mutants"))]
        let keeps_void = false;
        self.rtrs.get_or_insert_default().receive(from, rtr, keeps_void);
    }

    /// Sends the RTR of a receive that has just been posted, where it may have one.
    #[inline]
    fn send_rtr(
        &mut self,
        thread: Thread,
        key: Key,
        comm: Comm,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.rtrs.is_none() {
            return Ok(());
        }
        self.send_rtr_of(thread, key, comm, out.list())
    }

    fn send_rtr_of(
        &mut self,
        thread: Thread,
        key: Key,
        comm: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(Request { body: Body::Posted { selection, buffer, blocking, .. }, .. }) =
            self.requests.get(key)
        else {
            // Its message was there.
            return Ok(());
        };
        let (selection, buffer, blocking) = (*selection, *buffer, *blocking);
        #[cfg(feature = "mutants")]
        if selection.source.is_none() && self.site.job.has(Mutant::OffersWildcard) {
            return self.send_two_rtrs(thread, key, comm, (selection, buffer), out);
        }
        // Without a known source there is no process to send it to.
        let Some(source) = selection.source else { return Ok(()) };
        let route = self.route_of(thread, comm, source)?;
        let via = self.site.wire(route, thread).via;
        let job = &self.site.job;
        let asked = match via {
            Via::Hca => job.rendezvous == Protocol::Rtr,
            Via::SharedMemory => job.cooperation.may_offer(buffer.len, blocking),
        };
        if !asked || buffer.len <= job.eager_by(via) {
            return Ok(());
        }
        if self.is_behind_others(key, route.peer, &selection, out) {
            return Ok(());
        }
        self.send_rtr_to(thread, key, route, (selection, buffer), out);
        Ok(())
    }

    /// Whether a receive without an RTR that was posted before could take the message of this one: the
    /// posted queue is walked once more.
    fn is_behind_others(
        &self,
        key: Key,
        from: Process,
        selection: &Selection,
        out: &mut Vec<LibraryAction>,
    ) -> bool {
        #[cfg(feature = "mutants")]
        if self.site.job.has(Mutant::OffersBehind) {
            return false;
        }
        let queue = self.communicators.queue(&self.site, selection.context, selection.dest);
        let has_rtr = |key| self.rtrs.as_ref().is_some_and(|rtrs| rtrs.has_sent(from, key));
        let (mut entries, mut behind) = (0, false);
        let all = self.queues.posted(queue);
        let length = u32::try_from(all.len()).expect("queues are counted in u32");
        for posted in all.take_while(|posted| posted.payload.key != key) {
            entries += 1;
            behind = posted.selection.overlaps(selection) && !has_rtr(posted.payload.key);
            if behind {
                break;
            }
        }
        out.emit(|| Action::Walk { queue: Queue::Posted, entries, length, fact: None });
        behind
    }

    fn send_rtr_to(
        &mut self,
        thread: Thread,
        key: Key,
        route: Route,
        (selection, into): (Selection, Region),
        out: &mut Vec<LibraryAction>,
    ) {
        let wire = self.site.wire(route, thread);
        let seen = self.rtrs.get_or_insert_default().send(route.peer, key);
        let rtr = ReadyToReceive { receive: key, selection, into, seen };
        match wire.via {
            Via::Hca => out.emit(|| Action::Register { region: into }),
            Via::SharedMemory => out.emit(|| Action::Expose { region: into }),
        }
        out.emit(|| Action::Work(CodePath::Handshake));
        out.emit(|| Action::Send {
            to: route,
            via: wire.via,
            header: wire.control,
            packet: Packet::Rtr(rtr),
            payload: None,
        });
    }
}

#[cfg(feature = "mutants")]
impl Messages {
    /// The RTR of a receive of any source goes to the first and to the last rank.
    fn send_two_rtrs(
        &mut self,
        thread: Thread,
        key: Key,
        comm: Comm,
        of: (Selection, Region),
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let processes = self.site.job.node_of.len();
        let last = u32::try_from(processes).expect("processes are counted in u32") - 1;
        for rank in [0, last] {
            let route = self.route_of(thread, comm, Rank(rank))?;
            if route.peer != self.site.me {
                self.send_rtr_to(thread, key, route, of, out);
            }
        }
        Ok(())
    }

    /// Searches for a message without appending the receive, which follows after the lock was
    /// left; false where a message waits, or where this is another's bug.
    fn search_only(
        &mut self,
        thread: Thread,
        queue: usize,
        selection: Selection,
        posted: Posted,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> bool {
        let walk = self.queues.probe(queue, &selection);
        let waits = walk.matched.is_some();
        let blocking = matches!(posted.key, Key::Inner(_));
        if waits || !blocking || !self.site.job.has(Mutant::Unlocks) {
            return false;
        }
        let (receive, bytes) = (posted.id, buffer.len);
        push_walk(
            Queue::Unexpected,
            &walk,
            Some(Observation::Posted { receive, selection, bytes }),
            out,
        );
        self.late.push((thread, (queue, selection, posted)));
        out.extend([Action::Release, Action::Resume(crate::contract::Token(thread.0.into()))]);
        true
    }

    /// The lock is taken again: the receive is appended.
    pub(crate) fn appends_late(&mut self, thread: Thread) -> bool {
        let Some(place) = self.late.iter().position(|(late, _)| *late == thread) else {
            return false;
        };
        let (_, (queue, selection, posted)) = self.late.remove(place);
        self.queues.append(queue, selection, posted);
        true
    }
}
