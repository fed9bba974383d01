//! The request table, and which thread waits for which request.

use super::agreeing::Agreeing;
use super::collective::Running;
use super::device::Exchanging;
use super::endpoints::Caller;
use super::{
    Action, Handle, Key, Library, LibraryAction, MessageId, Note, Outcome, ProtocolError,
    ReceiveId, Region, Reply, Route, Selection, Thread, push_return,
};
use crate::call::{Requests, SendMode, Status};
use crate::contract::{ASKED, Emit, Step};
use crate::rendezvous::scheme::Calls;
use crate::rendezvous::{
    Port, Progress, Protocol, Receiving, Role, RoleInput, Scheme, Sending, coop_load,
};
use crate::rma::call::Win;
use crate::wire::Word;
use mpi::observation::Observation;

/// One open request.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Request {
    pub(super) body: Body,
    /// The call that made it, counted per thread from 0.
    pub(super) origin: Note<u32>,
    /// The endpoint whose call made it.
    pub(super) endpoint: Caller,
    /// The thread whose call ends, or comes nearer to its end, with this request.
    pub(super) waiter: Option<Thread>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Body {
    /// A synchronous eager message that nobody has matched yet.
    Unmatched { message: MessageId, to: Route, tag: i32, buffer: Region },
    /// The sender side of a rendezvous; `receiver` is known once it has spoken.
    Sending {
        role: Sending,
        choice: Choice,
        message: MessageId,
        to: Route,
        tag: i32,
        receiver: Option<Key>,
        buffer: Region,
    },
    /// A receive in the posted queue.
    Posted { id: ReceiveId, selection: Selection, buffer: Region, blocking: bool },
    /// The receiver side of a rendezvous.
    Receiving {
        role: Receiving,
        choice: Choice,
        id: ReceiveId,
        message: MessageId,
        from: Route,
        sender: Key,
        remote: Region,
        buffer: Region,
        outcome: Outcome,
    },
    /// An operation on a window.
    OneSided,
    /// A collective that was only begun.
    Background { slot: u16, function: &'static str },
    /// Finished; the program has not asked yet.
    Complete(Outcome),
}

/// Which protocol moves a message, as one side knows it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Choice {
    /// Not yet: the receiver chooses so.
    Open(Scheme),
    /// This protocol; whether the copies of both sides were counted.
    Made(Protocol, bool),
}

/// All open requests of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct RequestTable {
    user: Vec<Option<Request>>,
    inner: Vec<Option<Request>>,
    /// Those of each thread's collective; the last of a list is open.
    parts: Vec<Vec<Option<Request>>>,
    /// Those of buffered messages; the last one is open.
    buffered: Vec<Option<Request>>,
    /// Those of each collective under way; none in most processes.
    later: Option<Box<Later>>,
}

/// By slot of the collective, and place of the message; the last of a list is open.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Later(Vec<Vec<Option<Request>>>);

impl RequestTable {
    pub(super) fn new(threads: usize) -> Self {
        let (inner, parts) = (vec![None; threads], vec![Vec::new(); threads]);
        Self { user: Vec::new(), inner, parts, buffered: Vec::new(), later: None }
    }

    /// How many requests it has room for: that of one that has ended is used again.
    pub(super) fn places(&self) -> usize {
        let parts: usize = self.parts.iter().map(Vec::len).sum();
        self.user.len() + self.inner.len() + parts + self.buffered.len()
    }

    #[inline]
    pub(super) fn get(&self, key: Key) -> Option<&Request> {
        match key {
            Key::User(handle) => self.user.get(handle.0 as usize)?.as_ref(),
            Key::Inner(thread) => self.inner[usize::from(thread.0)].as_ref(),
            Key::Part(thread, part) => {
                self.parts[usize::from(thread.0)].get(usize::from(part))?.as_ref()
            }
            Key::Buffered(slot) => self.buffered.get(usize::from(slot))?.as_ref(),
            Key::Later(slot, part) => {
                let Later(all) = self.later.as_deref()?;
                all.get(usize::from(slot))?.get(usize::from(part))?.as_ref()
            }
        }
    }

    #[inline]
    pub(super) fn get_mut(&mut self, key: Key) -> Option<&mut Request> {
        self.known_slot(key)?.as_mut()
    }

    /// The slot of `key`, if the table has grown to it.
    #[inline]
    fn known_slot(&mut self, key: Key) -> Option<&mut Option<Request>> {
        match key {
            Key::User(handle) => self.user.get_mut(handle.0 as usize),
            Key::Inner(thread) => self.inner.get_mut(usize::from(thread.0)),
            Key::Part(thread, part) => self.parts[usize::from(thread.0)].get_mut(usize::from(part)),
            Key::Buffered(slot) => self.buffered.get_mut(usize::from(slot)),
            Key::Later(slot, part) => {
                let Later(all) = self.later.as_deref_mut()?;
                all.get_mut(usize::from(slot))?.get_mut(usize::from(part))
            }
        }
    }

    /// The slot of `key`; the table grows to hold it.
    #[inline]
    pub(super) fn slot(&mut self, key: Key) -> &mut Option<Request> {
        match key {
            Key::User(handle) => {
                let index = handle.0 as usize;
                if index >= self.user.len() {
                    self.user.resize(index + 1, None);
                }
                &mut self.user[index]
            }
            Key::Inner(thread) => &mut self.inner[usize::from(thread.0)],
            Key::Buffered(slot) => {
                let index = usize::from(slot);
                if index >= self.buffered.len() {
                    self.buffered.resize(index + 1, None);
                }
                &mut self.buffered[index]
            }
            Key::Part(thread, part) => {
                let (parts, index) = (&mut self.parts[usize::from(thread.0)], usize::from(part));
                if index >= parts.len() {
                    // Most algorithms have one or two at once, in each of many ranks.
                    if index < 2 {
                        parts.reserve_exact(index + 1 - parts.len());
                    }
                    parts.resize(index + 1, None);
                }
                &mut parts[index]
            }
            Key::Later(slot, part) => {
                let (slot, index) = (usize::from(slot), usize::from(part));
                let Later(all) = &mut **self.later.get_or_insert_default();
                if slot >= all.len() {
                    all.resize(slot + 1, Vec::new());
                }
                let parts = &mut all[slot];
                if index >= parts.len() {
                    parts.resize(index + 1, None);
                }
                &mut parts[index]
            }
        }
    }

    /// Closes a complete request and answers how it ended.
    #[inline]
    fn close(&mut self, key: Key) -> Outcome {
        let slot = self.known_slot(key).expect("only a request that was made is closed");
        let outcome = match slot {
            Some(Request { body: Body::Complete(outcome), .. }) => *outcome,
            other => unreachable!("only complete requests are closed, not {other:?}"),
        };
        *slot = None;
        self.shorten(key);
        outcome
    }

    /// Empties the slot of a request: equal situations look equal, whatever led to them.
    #[inline]
    fn remove(&mut self, key: Key) {
        *self.known_slot(key).expect("only a request that was made is removed") = None;
        self.shorten(key);
    }

    /// Lets the last request of the list that `key` belonged to be open.
    #[inline]
    fn shorten(&mut self, key: Key) {
        match key {
            Key::Part(thread, _) => trim(&mut self.parts[usize::from(thread.0)]),
            Key::Later(slot, _) => {
                let Some(later) = &mut self.later else { return };
                trim(&mut later.0[usize::from(slot)]);
                while later.0.last().is_some_and(Vec::is_empty) {
                    later.0.pop();
                }
                if later.0.is_empty() {
                    self.later = None;
                }
            }
            Key::User(_) | Key::Inner(_) | Key::Buffered(_) => {}
        }
    }

    /// The lowest free number of a buffered message.
    ///
    /// # Panics
    ///
    /// With more than 65,535 of them at once.
    pub(super) fn free_buffered(&self) -> u16 {
        let free = self.buffered.iter().position(Option::is_none);
        let slot = free.unwrap_or(self.buffered.len());
        u16::try_from(slot).expect("fewer than 2^16 buffered messages at once")
    }

    /// Forgets a buffered message.
    pub(super) fn drop_buffered(&mut self, key: Key) {
        self.remove(key);
        while let Some(None) = self.buffered.last() {
            self.buffered.pop();
        }
    }

    /// The buffered messages whose transfer has not ended.
    pub(super) fn buffered(&self) -> impl Iterator<Item = Key> {
        let numbered = (0_u16..=u16::MAX).zip(&self.buffered);
        let open = numbered.filter(|(_, slot)| slot.is_some());
        open.map(|(slot, _)| Key::Buffered(slot))
    }

    /// The open requests of a thread's collective.
    pub(super) fn parts(&self, thread: Thread) -> impl Iterator<Item = Key> {
        let parts = (0_u16..=u16::MAX).zip(&self.parts[usize::from(thread.0)]);
        let open = parts.filter(|(_, slot)| slot.is_some());
        open.map(move |(part, _)| Key::Part(thread, part))
    }

    /// The open requests of a collective under way.
    pub(super) fn later(&self, slot: u16) -> impl Iterator<Item = Key> {
        let parts = self.later.as_ref().and_then(|later| later.0.get(usize::from(slot)));
        let parts = parts.map_or(&[][..], Vec::as_slice);
        let open = (0_u16..=u16::MAX).zip(parts).filter(|(_, slot)| slot.is_some());
        open.map(move |(part, _)| Key::Later(slot, part))
    }

    /// Every open request, those of the program first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Key, &Request)> {
        let user = self.user.iter().zip(0_u32..).map(|(slot, i)| (Key::User(Handle(i)), slot));
        let inner = self.inner.iter().zip(0_u16..).map(|(slot, i)| (Key::Inner(Thread(i)), slot));
        let parts = self.parts.iter().zip(0_u16..).flat_map(|(parts, thread)| {
            let numbered = parts.iter().zip(0_u16..=u16::MAX);
            numbered.map(move |(slot, part)| (Key::Part(Thread(thread), part), slot))
        });
        let numbered = (0_u16..=u16::MAX).zip(&self.buffered);
        let buffered = numbered.map(|(slot, request)| (Key::Buffered(slot), request));
        let later = self.later.iter().flat_map(|later| &later.0);
        let later = later.zip(0_u16..).flat_map(|(parts, slot)| {
            let numbered = parts.iter().zip(0_u16..=u16::MAX);
            numbered.map(move |(request, part)| (Key::Later(slot, part), request))
        });
        user.chain(inner)
            .chain(parts)
            .chain(buffered)
            .chain(later)
            .filter_map(|(key, slot)| slot.as_ref().map(|request| (key, request)))
    }
}

/// Lets the last one of a list be open.
fn trim(parts: &mut Vec<Option<Request>>) {
    while let Some(None) = parts.last() {
        parts.pop();
    }
}

/// What a thread's call waits for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Pending {
    /// One request: `MPI_Wait` and the blocking operations.
    One(Key),
    /// All of a set; `remaining` are not complete yet.
    All { requests: Requests, statuses: bool, remaining: u32 },
    /// Any of a set.
    Any(Requests),
    /// `MPI_Test`, during its pass.
    Test(Handle),
    /// `MPI_Testall`, during its pass.
    TestAll(Requests),
    /// A probe; `take` names the message of a matched one; `flag` ends with its pass.
    Probe { selection: Selection, take: Option<Handle>, flag: bool },
    /// A collective.
    Collective(Running),
    /// Messages with buffers in GPU memory.
    Device(Box<Exchanging>),
    /// A one-sided call: the windows know what for.
    Window,
    /// `MPI_Win_test`, during its pass.
    WindowTest(Win),
    /// A flush with nothing to do, during its pass.
    WindowPass,
    /// `MPI_Buffer_detach`.
    Detach,
    /// Making or freeing endpoints: what all processes must agree on.
    Agree(Box<Agreeing>),
}

impl Library {
    /// Opens a request; an open one of the same name is a defect of the program.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass a large body through memory")]
    pub(super) fn open(
        &mut self,
        key: Key,
        body: Body,
        thread: Thread,
    ) -> Result<(), ProtocolError> {
        let origin = Note(self.calls.0[usize::from(thread.0)] - 1);
        let endpoint = self.endpoints.current(thread);
        let slot = self.requests.slot(key);
        if slot.is_some() {
            return Err(self.refuse("the request is still open", key));
        }
        slot.get_or_insert_with(|| Request { body, origin, endpoint, waiter: None });
        Ok(())
    }

    /// The outcome of `key`, if it is complete.
    pub(super) fn outcome(&self, key: Key) -> Result<Option<Outcome>, ProtocolError> {
        match self.requests.get(key) {
            Some(Request { body: Body::Complete(outcome), .. }) => Ok(Some(*outcome)),
            Some(_) => Ok(None),
            None => Err(self.refuse("no such request is open", key)),
        }
    }

    /// Whether `key` is not complete: then `thread` waits for it.
    #[inline]
    pub(super) fn must_wait(&mut self, key: Key, thread: Thread) -> Result<bool, ProtocolError> {
        match self.requests.get_mut(key) {
            Some(Request { body: Body::Complete(_), .. }) => Ok(false),
            Some(request) => {
                debug_assert!(request.waiter.is_none(), "one thread waits for a request");
                request.waiter = Some(thread);
                Ok(true)
            }
            None => Err(self.refuse("no such request is open", key)),
        }
    }

    /// Closes a complete request and answers how it ended.
    pub(super) fn close(&mut self, key: Key) -> Outcome {
        self.requests.close(key)
    }

    /// Lets a sender role act.
    pub(super) fn drive_sender(
        &mut self,
        thread: Thread,
        key: Key,
        speaker: Option<Key>,
        input: RoleInput,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(Request { body, .. }) = self.requests.get(key) else {
            return Err(self.refuse("no send of this name is open", key));
        };
        let Body::Sending { mut role, choice, message, to, tag, receiver, buffer } = *body else {
            return Err(self.refuse("the request is no rendezvous send", key));
        };
        let choice = self.told(choice, input)?;
        let receiver = speaker.or(receiver);
        let mut port = self.port(thread, key, (choice, message), to, buffer, out);
        (port.other, port.tag) = (receiver, tag);
        let progress = role.handle(input, &mut port)?;
        let again = port.again;
        let request = self.requests.get_mut(key).expect("looked up above");
        request.body = Body::Sending { role, choice, message, to, tag, receiver, buffer };
        if again {
            self.works(thread).copies_on(key);
        }
        if progress == Progress::Complete {
            self.send_complete(key, message, buffer, out)?;
        }
        Ok(())
    }

    /// What a sender knows of the receiver's choice after an input.
    fn told(&self, choice: Choice, input: RoleInput) -> Result<Choice, ProtocolError> {
        let RoleInput::Word { word: Word::Cts { protocol, counted, .. }, .. } = input else {
            return Ok(choice);
        };
        match choice {
            Choice::Made(own, _) if own != protocol => {
                Err(self.defect("both sides move a message by one protocol", protocol))
            }
            Choice::Made(..) | Choice::Open(_) => Ok(Choice::Made(protocol, counted)),
        }
    }

    /// What a role of request `key` is given to act with.
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
            wire: self.wire(route, thread),
            own: key,
            other: None,
            buffer,
            remote: None,
            message,
            tag: 0,
            protocol,
            counted,
            settings: &self.job.cooperation,
            me: self.me,
            node: self.node(),
            again: false,
            out,
        }
    }

    /// Lets a receiver role act.
    pub(super) fn drive_receiver(
        &mut self,
        thread: Thread,
        key: Key,
        input: RoleInput,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(Request { body, .. }) = self.requests.get(key) else {
            return Err(self.refuse("no receive of this name is open", key));
        };
        let Body::Receiving { role, choice, id, message, from, sender, remote, buffer, outcome } =
            *body
        else {
            return Err(self.refuse("the request is no rendezvous receive", key));
        };
        let Receiving::Decided(mut role) = role else {
            return Err(self.refuse("the receive has chosen no protocol yet", key));
        };
        let mut port = self.port(thread, key, (choice, message), from, buffer, out);
        (port.other, port.remote) = (Some(sender), Some(remote));
        let progress = role.handle(input, &mut port)?;
        let (again, role) = (port.again, Receiving::Decided(role));
        let request = self.requests.get_mut(key).expect("looked up above");
        request.body =
            Body::Receiving { role, choice, id, message, from, sender, remote, buffer, outcome };
        if again {
            self.works(thread).copies_on(key);
        }
        if progress == Progress::Complete {
            self.receive_complete(key, id, message, outcome, buffer, out)?;
        }
        Ok(())
    }

    /// A receive is matched with a message: what that says besides its payload.
    pub(super) fn hear_word(&mut self, key: Key, word: u64) {
        self.endpoints.hear(key, word);
        self.hear_chunk(key, word);
    }

    /// Ends a receive: tells the monitors and the waiting thread.
    pub(super) fn receive_complete(
        &mut self,
        key: Key,
        receive: ReceiveId,
        message: MessageId,
        outcome: Outcome,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let truncated = matches!(outcome, Outcome::Truncated(_));
        let fact = Observation::Received { receive, message, bytes: buffer.len, truncated };
        self.complete(key, outcome, Some(buffer), Some(fact), out)
    }

    /// Ends a send: tells the monitors and the waiting thread.
    pub(super) fn send_complete(
        &mut self,
        key: Key,
        message: MessageId,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let fact = Observation::SendComplete { message };
        self.complete(key, Outcome::Sent, Some(buffer), Some(fact), out)
    }

    /// Marks `key` complete and, where this ends a call, returns from it; `fact` tells the monitors
    /// what has ended.
    #[inline]
    pub(super) fn complete(
        &mut self,
        key: Key,
        outcome: Outcome,
        buffer: Option<Region>,
        fact: Option<Observation>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if let Key::Buffered(_) = key {
            self.buffered_over(key, buffer.map_or(0, |buffer| buffer.len), fact, out);
            return Ok(());
        }
        // A collective gives its buffers back at its end, not with each message.
        let buffer = buffer.filter(|_| !matches!(key, Key::Part(..) | Key::Later(..)));
        out.emit(|| Action::Complete { code: Some(Step::Completion), buffer, fact });
        let request = self.requests.get_mut(key).expect("an open request is completed");
        request.body = Body::Complete(outcome);
        if let Some(thread) = request.waiter {
            return self.one_less(thread, key, out);
        }
        if let Key::Later(slot, _) = key {
            self.later_complete(slot);
        }
        Ok(())
    }

    /// One of the requests that `thread` waits for is complete.
    fn one_less(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let pending = &mut self.pending[usize::from(thread.0)];
        match pending {
            Some(Pending::One(_)) => {
                *pending = None;
                let outcome = self.close(key);
                push_return(thread, Reply::Outcome(outcome), out);
            }
            Some(Pending::All { remaining, .. }) => {
                *remaining -= 1;
                if *remaining == 0 {
                    self.return_all(thread, out);
                }
            }
            Some(Pending::Any(_)) => self.return_any(thread, key, out),
            Some(Pending::Collective(_)) => self.part_complete(thread, out)?,
            Some(Pending::Device(_)) => self.chunk_over(thread, key, out)?,
            Some(Pending::Agree(_)) => {
                self.close(key);
                self.advance_agreement(thread, out)?;
            }
            Some(
                Pending::Test(_)
                | Pending::TestAll(_)
                | Pending::Probe { .. }
                | Pending::Detach
                | Pending::Window
                | Pending::WindowTest(_)
                | Pending::WindowPass,
            )
            | None => {
                unreachable!("{pending:?} registers no waiter")
            }
        }
        Ok(())
    }

    /// Returns from the wait for all: every request of the set is complete.
    pub(super) fn return_all(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        let pending = self.pending[usize::from(thread.0)].take();
        let Some(Pending::All { requests, statuses, .. }) = pending else {
            unreachable!("only a wait for all is returned from here")
        };
        let keys = (0..requests.len()).map(|i| Key::User(requests.at(i)));
        let reply = if statuses {
            Reply::All(keys.map(|key| self.close(key)).collect())
        } else {
            for key in keys {
                self.close(key);
            }
            Reply::Done
        };
        push_return(thread, reply, out);
    }

    fn return_any(&mut self, thread: Thread, key: Key, out: &mut Vec<LibraryAction>) {
        let pending = self.pending[usize::from(thread.0)].take();
        let Some(Pending::Any(requests)) = pending else {
            unreachable!("only a wait for any is returned from here")
        };
        for i in 0..requests.len() {
            if let Some(request) = self.requests.get_mut(Key::User(requests.at(i))) {
                request.waiter = None;
            }
        }
        let index = (0..requests.len()).find(|&i| Key::User(requests.at(i)) == key);
        let index = index.expect("the waiter was registered for a request of its set");
        let index = u32::try_from(index).expect("a set of requests is indexed by u32");
        let outcome = self.close(key);
        push_return(thread, Reply::Any { index, outcome }, out);
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
    ) -> Result<(), ProtocolError> {
        let Rts { scheme, message, from, sender, remote, envelope_status, bytes, .. } = rts;
        let taken = bytes.min(buffer.len);
        let outcome = received(envelope_status, bytes, buffer.len);
        let Some(Request { body: Body::Posted { blocking: receive_blocks, .. }, .. }) =
            self.requests.get(key)
        else {
            return Err(self.refuse("only a posted receive takes a message", key));
        };
        let (mode, send_blocks, receive_blocks) = (rts.mode, rts.send_blocks, *receive_blocks);
        let calls = Calls { mode, send_blocks, receive_blocks, bytes: taken };
        let buffer = buffer.part(0, taken);
        let (role, choice) = (Receiving::Asking, Choice::Open(scheme));
        let body =
            Body::Receiving { role, choice, id, message, from, sender, remote, buffer, outcome };
        let request = self.requests.get_mut(key).expect("looked up above");
        request.body = body;
        if self.job.cooperation.asks(scheme, calls) {
            self.works(thread).asks(key, calls);
            return Ok(());
        }
        self.choose(thread, (key, calls), [0; ASKED], out)
    }

    /// A receive chooses the protocol of its message: the counters of its node are `values`.
    pub(super) fn choose(
        &mut self,
        thread: Thread,
        (key, calls): (Key, Calls),
        values: [u32; ASKED],
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (me, job) = (self.me, self.job.clone());
        let body = self.requests.get_mut(key).map(|request| &mut request.body);
        let Some(Body::Receiving { role, choice, from, .. }) = body else {
            return Err(self.refuse("no receive of this name is open", key));
        };
        let Choice::Open(scheme) = *choice else {
            return Err(self.refuse("a receive chooses once", key));
        };
        let (protocol, counted) = job.cooperation.decide(scheme, calls, values);
        *role = Receiving::Decided(protocol.receiver());
        *choice = Choice::Made(protocol, counted);
        if counted {
            for (counter, change) in coop_load::counts(protocol, from.peer, me) {
                out.emit(|| Action::Count { counter, change });
            }
        }
        self.drive_receiver(thread, key, RoleInput::Start, out)
    }
}

/// What a receiver role needs to begin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rts {
    pub(super) scheme: Scheme,
    pub(super) mode: SendMode,
    pub(super) send_blocks: bool,
    pub(super) message: MessageId,
    pub(super) from: Route,
    pub(super) sender: Key,
    pub(super) remote: Region,
    pub(super) envelope_status: Status,
    pub(super) bytes: u64,
}

/// How a receive of `room` bytes ends that took a message of `bytes`.
pub(super) fn received(status: Status, bytes: u64, room: u64) -> Outcome {
    if bytes > room {
        Outcome::Truncated(Status { count: room, ..status })
    } else {
        Outcome::Received(Status { count: bytes, ..status })
    }
}
