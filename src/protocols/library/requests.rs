//! The requests of one process: the state of every message that is not over, and which thread waits.

use super::lanes::Caller;
use super::{
    Handle, Key, MessageHeader, MessageId, Note, Outcome, ReceiveId, Region, Route, Selection,
    Thread,
};
use crate::call::{SendMode, Status};
use crate::rendezvous::{Protocol, Receiving, Scheme, Sending};

/// No thread: it waits for requests that the program has freed, and the library closes them itself.
pub(super) const FREED: Thread = Thread(u16::MAX);

/// One open request.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Request {
    pub(super) body: Body,
    /// The call that made it, counted per thread from 0.
    pub(super) origin: Note<u32>,
    /// As what the call acted that made it.
    pub(super) caller: Caller,
    /// The thread whose call ends, or comes nearer to its end, with this request.
    pub(super) waiter: Option<Thread>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Body {
    /// A synchronous eager message that is not matched yet.
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
    /// A nonblocking collective.
    Background { slot: u16, function: &'static str },
    /// A request of several messages.
    Joint { slot: u16, function: &'static str },
    /// A partitioned operation.
    Partitioned { slot: u16, function: &'static str },
    /// Finished; the program has not tested or waited yet.
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

/// Call, collective, operation or thread that the end of a request concerns.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[must_use]
pub(super) enum Wake {
    /// The call of a thread, which waits for this request.
    Thread(Thread, Key),
    /// The collective under way in this slot.
    Collective(u16),
    /// The request of several messages in this slot.
    Joint(u16),
    /// The partitioned operation in this slot.
    Partition(u16),
    /// A thread that waits for the end of all buffered messages.
    Detach(Thread),
}

/// Whether a thread goes on by it: a collective, or a request of several messages, looks itself at
/// what has ended while it began.
pub(super) const fn waits(wake: Option<Wake>) -> bool {
    match wake {
        Some(Wake::Thread(..) | Wake::Detach(_)) => true,
        Some(Wake::Collective(_) | Wake::Joint(_) | Wake::Partition(_)) | None => false,
    }
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
    later: Option<Box<Slots>>,
    /// Those of each request of several messages; none in most processes.
    joint: Option<Box<Slots>>,
    /// Those of each partitioned operation; none in most processes.
    partitions: Option<Box<Slots>>,
}

/// By slot of the collective or request, and place of the message; the last of a list is open.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Slots(Vec<Vec<Option<Request>>>);

impl Slots {
    fn get(&self, slot: u16, part: u16) -> Option<&Request> {
        self.0.get(usize::from(slot))?.get(usize::from(part))?.as_ref()
    }

    fn get_mut(&mut self, slot: u16, part: u16) -> Option<&mut Option<Request>> {
        self.0.get_mut(usize::from(slot))?.get_mut(usize::from(part))
    }

    /// The place of a message; the lists grow to it.
    fn grown(&mut self, slot: u16, part: u16) -> &mut Option<Request> {
        let (slot, index) = (usize::from(slot), usize::from(part));
        if slot >= self.0.len() {
            self.0.resize(slot + 1, Vec::new());
        }
        let parts = &mut self.0[slot];
        if index >= parts.len() {
            parts.resize(index + 1, None);
        }
        &mut parts[index]
    }

    /// Lets the last message of a list be open, and the last list have one; none is left where no
    /// message is open.
    fn shorten(slots: &mut Option<Box<Self>>, slot: u16) {
        let Some(all) = slots else { return };
        trim(&mut all.0[usize::from(slot)]);
        while all.0.last().is_some_and(Vec::is_empty) {
            all.0.pop();
        }
        if all.0.is_empty() {
            *slots = None;
        }
    }

    /// The places of the open messages of a slot.
    fn open(slots: Option<&Self>, slot: u16) -> impl Iterator<Item = u16> {
        let parts = slots.and_then(|slots| slots.0.get(usize::from(slot)));
        let parts = parts.map_or(&[][..], Vec::as_slice);
        let open = (0_u16..=u16::MAX).zip(parts).filter(|(_, place)| place.is_some());
        open.map(|(part, _)| part)
    }

    /// Every place, with its slot and its part.
    fn all(slots: Option<&Self>) -> impl Iterator<Item = (u16, u16, &Option<Request>)> {
        let lists = slots.into_iter().flat_map(|slots| &slots.0).zip(0_u16..);
        lists.flat_map(|(parts, slot)| {
            let numbered = parts.iter().zip(0_u16..=u16::MAX);
            numbered.map(move |(request, part)| (slot, part, request))
        })
    }
}

impl RequestTable {
    pub(super) fn new(threads: usize) -> Self {
        let (inner, parts) = (vec![None; threads], vec![Vec::new(); threads]);
        Self {
            user: Vec::new(),
            inner,
            parts,
            buffered: Vec::new(),
            later: None,
            joint: None,
            partitions: None,
        }
    }

    /// As [`super::Machine::touch`].
    pub(super) fn touch(&self) -> u64 {
        let inner = self.inner.first().is_some_and(Option::is_some);
        let user = self.user.first().is_some_and(Option::is_some);
        let part = self.parts.first().and_then(|parts| parts.first()).is_some_and(Option::is_some);
        u64::from(inner) ^ u64::from(user) ^ u64::from(part)
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
            Key::Later(slot, part) => self.later.as_deref()?.get(slot, part),
            Key::Joint(slot, part) => self.joint.as_deref()?.get(slot, part),
            Key::Partition(slot, part) => self.partitions.as_deref()?.get(slot, part),
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
            Key::Later(slot, part) => self.later.as_deref_mut()?.get_mut(slot, part),
            Key::Joint(slot, part) => self.joint.as_deref_mut()?.get_mut(slot, part),
            Key::Partition(slot, part) => self.partitions.as_deref_mut()?.get_mut(slot, part),
        }
    }

    /// The slot of `key`; the table grows to hold it.
    #[inline]
    fn slot(&mut self, key: Key) -> &mut Option<Request> {
        match key {
            Key::User(handle) if (handle.0 as usize) < self.user.len() => {
                &mut self.user[handle.0 as usize]
            }
            Key::Inner(thread) => &mut self.inner[usize::from(thread.0)],
            Key::User(_)
            | Key::Part(..)
            | Key::Buffered(_)
            | Key::Later(..)
            | Key::Joint(..)
            | Key::Partition(..) => self.grown_slot(key),
        }
    }

    fn grown_slot(&mut self, key: Key) -> &mut Option<Request> {
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
            Key::Later(slot, part) => self.later.get_or_insert_default().grown(slot, part),
            Key::Joint(slot, part) => self.joint.get_or_insert_default().grown(slot, part),
            Key::Partition(slot, part) => self.partitions.get_or_insert_default().grown(slot, part),
        }
    }

    /// Opens a request; false where one of the same name is open.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass a large body through memory")]
    pub(super) fn open(&mut self, key: Key, body: Body, origin: Note<u32>, caller: Caller) -> bool {
        let slot = self.slot(key);
        if slot.is_some() {
            return false;
        }
        slot.get_or_insert_with(|| Request { body, origin, caller, waiter: None });
        true
    }

    /// The thread of an open request that is not complete waits for it, or no thread does; answers
    /// whether there is such a request.
    pub(super) fn await_end(&mut self, key: Key, waiter: Option<Thread>) -> bool {
        match self.get_mut(key) {
            Some(Request { body: Body::Complete(_), .. }) | None => false,
            Some(request) => {
                request.waiter = waiter;
                true
            }
        }
    }

    /// Closes a complete request and answers how it ended.
    #[inline]
    pub(super) fn close(&mut self, key: Key) -> Outcome {
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

    /// A planted bug closes a request whose operation is under way.
    #[cfg(feature = "mutants")]
    pub(super) fn forget(&mut self, key: Key) {
        self.remove(key);
    }

    /// Lets the last request of the list that `key` belonged to be open.
    #[inline]
    fn shorten(&mut self, key: Key) {
        if matches!(key, Key::Part(..) | Key::Later(..) | Key::Joint(..) | Key::Partition(..)) {
            self.shorten_list(key);
        }
    }

    fn shorten_list(&mut self, key: Key) {
        match key {
            Key::Part(thread, _) => trim(&mut self.parts[usize::from(thread.0)]),
            Key::Later(slot, _) => Slots::shorten(&mut self.later, slot),
            Key::Joint(slot, _) => Slots::shorten(&mut self.joint, slot),
            Key::Partition(slot, _) => Slots::shorten(&mut self.partitions, slot),
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
        Slots::open(self.later.as_deref(), slot).map(move |part| Key::Later(slot, part))
    }

    /// The open messages of a request that has several.
    pub(super) fn joint(&self, slot: u16) -> impl Iterator<Item = Key> {
        Slots::open(self.joint.as_deref(), slot).map(move |part| Key::Joint(slot, part))
    }

    /// Whether the program has freed a request that is open.
    pub(super) fn has_freed(&self) -> bool {
        self.user.iter().flatten().any(|request| request.waiter == Some(FREED))
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
        let later = Slots::all(self.later.as_deref());
        let later = later.map(|(slot, part, request)| (Key::Later(slot, part), request));
        let joint = Slots::all(self.joint.as_deref());
        let joint = joint.map(|(slot, part, request)| (Key::Joint(slot, part), request));
        let partitions = Slots::all(self.partitions.as_deref());
        let partitions =
            partitions.map(|(slot, part, request)| (Key::Partition(slot, part), request));
        user.chain(inner)
            .chain(parts)
            .chain(buffered)
            .chain(later)
            .chain(joint)
            .chain(partitions)
            .filter_map(|(key, slot)| slot.as_ref().map(|request| (key, request)))
    }
}

/// Lets the last one of a list be open.
fn trim(parts: &mut Vec<Option<Request>>) {
    while let Some(None) = parts.last() {
        parts.pop();
    }
}

/// Facts from an RTS that a receiver role needs to start.
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

impl Rts {
    /// Contents of an RTS that has come `from` its sender.
    pub(super) fn of(header: &MessageHeader, scheme: Scheme, from: Route, remote: Region) -> Self {
        Self {
            scheme,
            mode: header.mode,
            send_blocks: header.blocking,
            message: header.message,
            from,
            sender: header.sender,
            remote,
            envelope_status: status(header),
            bytes: header.bytes,
        }
    }
}

/// The status that a message gives its receiver; `count` is filled in by what fitted.
pub(super) fn status(header: &MessageHeader) -> Status {
    Status { source: Some(header.envelope.source), tag: Some(header.envelope.tag), count: 0 }
}

/// How a receive of `room` bytes ends that took a message of `bytes`.
pub(super) fn received(status: Status, bytes: u64, room: u64) -> Outcome {
    if bytes > room {
        Outcome::Truncated(Status { count: room, ..status })
    } else {
        Outcome::Received(Status { count: bytes, ..status })
    }
}
