//! Rendezvous: the roles of a request act on what arrives, and a receive chooses its protocol.

use super::Messages;
use crate::call::SendMode;
use crate::contract::{
    Action, COUNTERS, Change, Counter, Emit, ProtocolError, Queue, Region, Route, Space, Thread,
    Token,
};
use crate::library::answers::push_walk;
use crate::library::requests::{Body, Choice, Request, Rts, Wake, received, status};
use crate::library::site::Site;
use crate::library::work::{Next, Work};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use crate::rendezvous::scheme::Calls;
use crate::rendezvous::{Port, Progress, Protocol, Receiving, Role, RoleInput};
use crate::wire::{ControlMessage, Key, LibraryAction, MessageHeader};
use mpi::envelope::{Envelope, Selection};
use mpi::observation::{MessageId, Observation, ReceiveId};

impl Messages {
    /// One role of a message has sent a control message to the other, which is request `to` here.
    pub(in crate::library) fn control(
        &mut self,
        thread: Thread,
        from: Route,
        (to, other): (Key, Key),
        (word, landing): (ControlMessage, Option<Region>),
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        if let ControlMessage::Taken { .. } = word {
            return self.rtr_used(thread, from, (to, other), word, out);
        }
        let input = RoleInput::Word { word, landing };
        if self.is_sending(to) {
            self.drive_sender(thread, to, Some(other), input, out)
        } else {
            self.drive_receiver(thread, to, input, out)
        }
    }

    /// The HCA has finished an RDMA operation of request `key`.
    pub(in crate::library) fn rdma_done(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        if self.site.job.cooperation.counts_offloads {
            let (counter, change) = (Counter::Offloads(self.site.node()), Change::Down);
            out.emit(|| Action::Count { counter, change });
        }
        self.drive(thread, key, RoleInput::RdmaDone, out)
    }

    /// Lets the role of a request act.
    fn drive(
        &mut self,
        thread: Thread,
        key: Key,
        input: RoleInput,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        if self.is_sending(key) {
            self.drive_sender(thread, key, None, input, out)
        } else {
            self.drive_receiver(thread, key, input, out)
        }
    }

    fn is_sending(&self, key: Key) -> bool {
        matches!(self.requests.get(key), Some(Request { body: Body::Sending { .. }, .. }))
    }

    /// Lets a sender role act.
    pub(super) fn drive_sender(
        &mut self,
        thread: Thread,
        key: Key,
        other: Option<Key>,
        input: RoleInput,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let Some(Request { body, .. }) = self.requests.get(key) else {
            return Err(self.site.refuse("no send of this name is open", key));
        };
        let Body::Sending { mut role, choice, message, to, tag, receiver, buffer } = *body else {
            return Err(self.site.refuse("the request is no rendezvous send", key));
        };
        let choice = self.choice_after(choice, input, out)?;
        let receiver = other.or(receiver);
        let mut port = self.port(thread, key, (choice, message), to, buffer, out);
        (port.other, port.tag) = (receiver, tag);
        let progress = role.handle(input, &mut port)?;
        let again = port.again;
        let request = self.requests.get_mut(key).expect("looked up above");
        request.body = Body::Sending { role, choice, message, to, tag, receiver, buffer };
        if again {
            self.work(thread).copies_on(key);
        }
        if progress == Progress::Complete {
            return Ok(self.send_complete(key, message, buffer, out));
        }
        Ok(None)
    }

    /// The receiver's choice as a sender knows it after an input; it counts its own copy, where that is
    /// left to it.
    fn choice_after(
        &self,
        choice: Choice,
        input: RoleInput,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Choice, ProtocolError> {
        let RoleInput::Word { word: ControlMessage::Cts { protocol, counted, .. }, .. } = input
        else {
            return Ok(choice);
        };
        match choice {
            Choice::Made(own, _) if own != protocol => {
                Err(self.site.defect("both sides move a message by one protocol", protocol))
            }
            Choice::Made(..) | Choice::Open(_) => {
                let Site { job, me, .. } = &self.site;
                if counted {
                    for (counter, change) in job.cooperation.load.with_cts(protocol, *me) {
                        out.emit(|| Action::Count { counter, change });
                    }
                }
                Ok(Choice::Made(protocol, counted))
            }
        }
    }

    /// The port through which a role of request `key` acts.
    fn port<'a>(
        &'a self,
        thread: Thread,
        key: Key,
        (choice, message): (Choice, MessageId),
        route: Route,
        buffer: Region,
        out: &'a mut Vec<LibraryAction>,
    ) -> Port<'a> {
        // A side that does not know the choice yet does nothing that depends on it.
        let (protocol, counted) = match choice {
            Choice::Made(protocol, counted) => (protocol, counted),
            Choice::Open(_) => (Protocol::RGet, false),
        };
        Port {
            wire: self.site.wire(route, thread),
            own: key,
            other: None,
            buffer,
            remote: None,
            message,
            tag: 0,
            protocol,
            counted,
            settings: &self.site.job.cooperation,
            me: self.site.me,
            node: self.site.node(),
            again: false,
            out,
        }
    }

    /// Lets a receiver role act.
    fn drive_receiver(
        &mut self,
        thread: Thread,
        key: Key,
        input: RoleInput,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let Some(Request { body, .. }) = self.requests.get(key) else {
            return Err(self.site.refuse("no receive of this name is open", key));
        };
        let Body::Receiving { role, choice, id, message, from, sender, remote, buffer, outcome } =
            *body
        else {
            return Err(self.site.refuse("the request is no rendezvous receive", key));
        };
        let Receiving::Decided(mut role) = role else {
            return Err(self.site.refuse("the receive has chosen no protocol yet", key));
        };
        let mut port = self.port(thread, key, (choice, message), from, buffer, out);
        (port.other, port.remote) = (Some(sender), Some(remote));
        let progress = role.handle(input, &mut port)?;
        let (again, role) = (port.again, Receiving::Decided(role));
        let request = self.requests.get_mut(key).expect("looked up above");
        request.body =
            Body::Receiving { role, choice, id, message, from, sender, remote, buffer, outcome };
        if again {
            self.work(thread).copies_on(key);
        }
        if progress == Progress::Complete {
            return Ok(self.receive_complete(key, id, message, outcome, buffer, out));
        }
        Ok(None)
    }

    /// A receive has taken a rendezvous message: it chooses a protocol, whose receiver role begins.
    pub(super) fn begin_receiving(
        &mut self,
        thread: Thread,
        key: Key,
        id: ReceiveId,
        buffer: Region,
        rts: Rts,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let Rts { scheme, message, from, sender, remote, envelope_status, bytes, .. } = rts;
        let taken = bytes.min(buffer.len);
        let outcome = received(envelope_status, bytes, buffer.len);
        let Some(Request { body: Body::Posted { blocking: receive_blocks, .. }, .. }) =
            self.requests.get(key)
        else {
            return Err(self.site.refuse("only a posted receive takes a message", key));
        };
        let (mode, send_blocks, receive_blocks) = (rts.mode, rts.send_blocks, *receive_blocks);
        let calls = Calls { mode, send_blocks, receive_blocks, bytes: taken };
        let buffer = buffer.part(0, taken);
        let (role, choice) = (Receiving::Asking, Choice::Open(scheme));
        let body =
            Body::Receiving { role, choice, id, message, from, sender, remote, buffer, outcome };
        let request = self.requests.get_mut(key).expect("looked up above");
        request.body = body;
        if self.site.job.cooperation.asks(scheme, calls) {
            self.work(thread).asks(key, calls);
            return Ok(None);
        }
        self.choose(thread, (key, calls), [0; COUNTERS], out)
    }

    /// A receive chooses the protocol of its message: the counters of its node are `values`.
    fn choose(
        &mut self,
        thread: Thread,
        (key, calls): (Key, Calls),
        values: [u32; COUNTERS],
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let Self { site, requests, .. } = self;
        let body = requests.get_mut(key).map(|request| &mut request.body);
        let Some(Body::Receiving { role, choice, from, .. }) = body else {
            return Err(site.refuse("no receive of this name is open", key));
        };
        let Choice::Open(scheme) = *choice else {
            return Err(site.refuse("a receive chooses once", key));
        };
        let (protocol, counted) = site.job.cooperation.decide(scheme, calls, values);
        *role = Receiving::Decided(protocol.receiver());
        *choice = Choice::Made(protocol, counted);
        if counted {
            let both = [from.peer, site.me];
            for (counter, change) in site.job.cooperation.load.with_choice(protocol, both) {
                out.emit(|| Action::Count { counter, change });
            }
        }
        self.drive_receiver(thread, key, RoleInput::Start, out)
    }

    /// A message has used the RTR of a receive: it is matched now, in the order of its sender.
    fn rtr_used(
        &mut self,
        thread: Thread,
        from: Route,
        (key, sender): (Key, Key),
        word: ControlMessage,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let ControlMessage::Taken { message, tag, bytes, filled } = word else {
            return Err(self.site.defect("only TAKEN takes an offer", word));
        };
        let Some(Request { body: Body::Posted { id, selection, buffer, .. }, .. }) =
            self.requests.get(key)
        else {
            return Err(self.site.defect("only a posted receive is on offer", word));
        };
        let (id, buffer, source) = (*id, *buffer, selection.source.unwrap_or_default());
        let Selection { context, dest, .. } = *selection;
        let envelope = Envelope { context, source, dest, tag };
        let mode = SendMode::Standard;
        let header = MessageHeader {
            message,
            envelope,
            bytes,
            sender,
            mode,
            blocking: false,
            heard: 0,
            word: 0,
        };
        if self.match_taken(&header, from, out) != Some(key) {
            return Err(self
                .site
                .defect("a message takes the receive that it is matched with", word));
        }
        let outcome = received(status(&header), bytes, buffer.len);
        let buffer = buffer.part(0, bytes.min(buffer.len));
        let role = Receiving::Decided(Protocol::Rtr.receiver());
        let choice = Choice::Made(Protocol::Rtr, false);
        // The sender's buffer is its own business.
        let remote = Region::new(Space::Staging(thread.0), 0);
        let body =
            Body::Receiving { role, choice, id, message, from, sender, remote, buffer, outcome };
        self.requests.get_mut(key).expect("looked up above").body = body;
        self.drive_receiver(thread, key, RoleInput::Taken { filled }, out)
    }

    /// Walks the posted queue for a message that uses an RTR; answers the receive that it is matched
    /// with.
    fn match_taken(
        &mut self,
        header: &MessageHeader,
        from: Route,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Key> {
        let MessageHeader { message, envelope, .. } = *header;
        let queue = self.queue_of(&envelope);
        let walk = self.queues.claim(queue, &envelope);
        let taken_by = walk.matched.map(|posted| posted.id);
        push_walk(Queue::Posted, &walk, Some(Observation::Arrived { message, taken_by }), out);
        let taken = walk.matched?;
        self.rtrs.get_or_insert_default().used(from.peer, taken.key);
        Some(taken.key)
    }

    /// The work of a thread.
    fn work(&mut self, thread: Thread) -> &mut Work {
        let (threads, worker) = (self.threads(), self.worker(thread));
        let all = self.works.get_or_insert_with(|| vec![Work::default(); threads].into());
        &mut all[worker]
    }

    /// Index of the list of work that a thread adds to and takes from: its own.
    #[cfg_attr(
        not(feature = "mutants"),
        expect(clippy::unused_self, reason = "a planted bug asks")
    )]
    fn worker(&self, thread: Thread) -> usize {
        #[cfg(feature = "mutants")]
        let thread = if self.site.job.has(Mutant::SharesWorks) { Thread(0) } else { thread };
        usize::from(thread.0)
    }

    /// Whether a thread of this process has ever had work.
    #[inline]
    pub(in crate::library) const fn has_work(&self) -> bool {
        self.works.is_some()
    }

    /// The next step of a thread's work after an input; answers whether a test is to be answered now,
    /// after which [`Self::end_work`] ends the list.
    pub(in crate::library) fn arrange(
        &mut self,
        thread: Thread,
        in_test: bool,
        out: &mut Vec<LibraryAction>,
    ) -> Result<bool, ProtocolError> {
        let work = self.work(thread);
        match work.next(thread, in_test, out) {
            Next::Nothing | Next::Poll => Ok(false),
            Next::Ask(key) => self.ask(key, out).map(|()| false),
            Next::Return(true) => Ok(true),
            Next::Return(false) => {
                work.give_back(thread, out);
                Ok(false)
            }
        }
    }

    /// A test was answered after the copies of its thread: the call returns.
    pub(in crate::library) fn end_work(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        let work = self.work(thread);
        work.hold_reply(thread, out);
        work.give_back(thread, out);
    }

    /// The pass of a test is over; answers whether its answer waits for copies.
    pub(in crate::library) fn test_waits(&mut self, thread: Thread) -> bool {
        self.has_work() && self.work(thread).test_waits()
    }

    /// The poll between two chunks is over: the next copy has its turn.
    pub(in crate::library) fn next_chunk(
        &mut self,
        thread: Thread,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let Some(key) = self.work(thread).next_copy() else {
            let input = "the end of a poll between chunks";
            return Err(self.site.refuse("no copy is under way", input));
        };
        self.drive(thread, key, RoleInput::Continue, out)
    }

    /// Reads the counters that a receive's choice depends on.
    fn ask(&self, key: Key, out: &mut Vec<LibraryAction>) -> Result<(), ProtocolError> {
        let Some(Request { body: Body::Receiving { from, .. }, .. }) = self.requests.get(key)
        else {
            return Err(self.site.refuse("only a matched receive asks for counters", key));
        };
        let Site { job, me, .. } = &self.site;
        let counters = job.cooperation.question(from.peer, *me, self.site.node());
        let token = key.token();
        out.emit(|| Action::Consult { counters, token });
        Ok(())
    }

    /// The counters are read: the receive that requested them goes on.
    pub(in crate::library) fn counters(
        &mut self,
        thread: Thread,
        token: Token,
        values: [u32; COUNTERS],
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        match self.work(thread).answered() {
            Some((key, calls)) if key.token() == token => {
                self.choose(thread, (key, calls), values, out)
            }
            other => Err(self.site.defect("these counters were not asked for", other)),
        }
    }
}
