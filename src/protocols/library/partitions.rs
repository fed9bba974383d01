//! Partitioned operations: `MPI_Psend_init`, `MPI_Precv_init` and what follows.
//!
//! ```text
//!   MPI_Psend_init ── PSEND ──▶ matched with a receive, in the order of their preparation
//!            ◀────── PRECV ──── MPI_Precv_init
//!   MPI_Start      the receiver posts a receive for each message
//!   MPI_Pready     the last partition of a message is ready, and PRECV has come ──▶ it leaves
//!   MPI_Parrived   all messages with bytes of the partition are complete
//! ```
//!
//! PSEND and PRECV are packets of the library's own, matched in lists of their own: a partitioned
//! operation never meets a message of another kind. The messages are those of any other send or receive
//! of the library, [`Key::Partition`], in the internal context of the communicator; the number of the
//! operation at its sender stands in their tags. Any thread of the process may say that a partition is
//! ready, and the thread that takes PRECV out of a channel sends what was ready before.
//!
//! Source: MPI 4.0, Sec. 4.2; the exchange that precedes the first message, and equal lengths of both
//! buffers: `mpidig_part.c` of MPICH 4; a message for each partition: `part/persist` of Open MPI 5. ADR 29.
//! Left out: endpoints and intercommunicators; partitions of a derived datatype; several messages for
//! several partitions each. The line of the counter of ready partitions, which cores take from each
//! other, costs nothing. Noticeable where many threads call `MPI_Pready` at once.

use super::messages::Messages;
use super::messages::sends::InternalMessage;
use super::requests::{Body, Request, Wake};
use super::{
    Action, Handle, Key, LibraryAction, Outcome, Process, ProtocolError, Region, Selection, Space,
    Thread,
};
use crate::call::{Peer, Status};
use crate::contract::{CodePath, Emit as _};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use crate::partitioned::{Grouping, OfPartitions, PartitionPacket, Partitioned, Side};
use crate::wire::Packet;
use mpi::envelope::{Context, Rank};

/// Bit of the tags of their messages.
/// Encoding: below it stand the number of the operation and that of the message.
const TAG: i32 = 1 << 30;
/// The most operations of one process.
/// Limit: a tag has 14 bits for the number.
const MOST: u16 = 1 << 12;

/// Whether a message of the library's own with this tag is one of a partitioned operation.
pub(super) const fn has(tag: i32) -> bool {
    tag & TAG != 0
}

fn tag_of(slot: u16, message: u16) -> i32 {
    TAG | i32::from(slot) << 16 | i32::from(message)
}

/// The partitioned operations of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct PartitionedOperations {
    /// By slot; the last one is there.
    prepared: Vec<Option<Prepared>>,
    /// Receives that no send matches yet, in the order of their preparation.
    waiting: Vec<u16>,
    /// Sends that no receive matches yet, in the order of their arrival.
    offers: Vec<Offer>,
}

/// One of them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Prepared {
    operation: Partitioned,
    context: Context,
    rank: Rank,
    peer: Rank,
    /// How many messages it has and the sender's number for it, when both sides know.
    agreed: Option<(u16, u16)>,
    active: Option<Active>,
    /// Whether the program has freed its request.
    freed: bool,
}

/// State of a partitioned operation that was started.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Active {
    /// Ranges of partitions that are ready, in their order.
    ready: Vec<(u16, u16)>,
    /// Which messages have started, of a send.
    begun: Vec<bool>,
    /// How many messages are not over.
    remaining: u16,
}

/// A send that was prepared elsewhere.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Offer {
    context: Context,
    source: Rank,
    dest: Rank,
    tag: i32,
    bytes: u64,
    messages: u16,
    slot: u16,
}

impl Active {
    /// Notes that partitions are ready; answers the first of them that was before.
    fn add(&mut self, first: u16, last: u16) -> Option<u16> {
        let place = self.ready.partition_point(|&(begins, _)| begins < first);
        if let Some(&(_, ends)) = place.checked_sub(1).and_then(|place| self.ready.get(place))
            && ends >= first
        {
            return Some(first);
        }
        if let Some(&(begins, _)) = self.ready.get(place)
            && begins <= last
        {
            return Some(begins);
        }
        self.ready.insert(place, (first, last));
        None
    }

    /// How many of these partitions are ready.
    fn count(&self, first: u16, last: u16) -> u32 {
        let common = |&(begins, ends): &(u16, u16)| {
            let (begins, ends) = (begins.max(first), ends.min(last));
            if begins > ends { 0 } else { u32::from(ends - begins) + 1 }
        };
        self.ready.iter().map(common).sum()
    }
}

impl Prepared {
    fn region(&self) -> Region {
        Region::new(Space::User(self.operation.buffer.id), self.operation.buffer.bytes)
    }

    /// The bytes of one of `messages`.
    fn part(&self, message: u16, messages: u16) -> Region {
        let each = self.operation.buffer.bytes / u64::from(messages);
        self.region().part(each * u64::from(message), each)
    }

    /// The sender's partitions in one of `messages`.
    fn partitions(&self, message: u16, messages: u16) -> (u16, u16) {
        let each = self.operation.partitions / messages;
        (message * each, message * each + each - 1)
    }

    /// The messages that have bytes of a receiver's partition.
    fn messages_of(&self, partition: u16, messages: u16) -> (u16, u16) {
        let (ours, theirs) = (u32::from(self.operation.partitions), u32::from(messages));
        let first = u32::from(partition) * theirs / ours;
        let last = ((u32::from(partition) + 1) * theirs).div_ceil(ours) - 1;
        let number = |message| u16::try_from(message).expect("at most as many as there are");
        (number(first), number(last))
    }

    fn matches(&self, offer: &Offer) -> bool {
        let Offer { context, source, dest, tag, .. } = *offer;
        (self.context, self.peer, self.rank, self.operation.tag) == (context, source, dest, tag)
    }
}

impl PartitionedOperations {
    /// `MPI_Psend_init` and `MPI_Precv_init`.
    pub(super) fn prepare(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        operation: &Partitioned,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (function, partitions) = (operation.function(), operation.partitions);
        let refuse = |state: &str| Err(messages.site().refuse(state, function));
        if partitions == 0 || !operation.buffer.bytes.is_multiple_of(partitions.into()) {
            return refuse("its partitions are one at least, and of equal length");
        }
        let peer = match operation.peer {
            Peer::Rank(peer) => Some(peer),
            Peer::Null => None,
            Peer::Any => return refuse("it names one rank, and one tag"),
        };
        if self.find(operation.request).is_some() {
            return refuse("its request has another partitioned operation");
        }
        let free = self.prepared.iter().position(Option::is_none).unwrap_or(self.prepared.len());
        let Some(slot) = u16::try_from(free).ok().filter(|slot| *slot < MOST) else {
            return refuse("4,096 partitioned operations of a process are the most");
        };
        out.emit(|| Action::Work(CodePath::Query));
        let communicators = messages.communicators();
        let member = communicators.process(messages.site(), thread, operation.comm)?;
        let (context, rank) = (member.internal, member.rank);
        let (peer, agreed) = (peer.unwrap_or(rank), peer.is_none().then_some((1, slot)));
        let operation = *operation;
        let prepared =
            Prepared { operation, context, rank, peer, agreed, active: None, freed: false };
        if free == self.prepared.len() {
            self.prepared.push(None);
        }
        self.prepared[free] = Some(prepared);
        if !operation.moves() {
            return Ok(());
        }
        match operation.side {
            Side::Sends => {
                let (tag, bytes) = (operation.tag, operation.buffer.bytes);
                let (source, dest) = (rank, peer);
                let count = match messages.site().job.partitioned {
                    Grouping::One => 1,
                    Grouping::Each => partitions,
                };
                let offer = PartitionPacket::Offer {
                    context,
                    source,
                    dest,
                    tag,
                    bytes,
                    messages: count,
                    slot,
                };
                tell(messages, thread, (&operation, peer), offer, out)
            }
            Side::Receives => {
                self.waiting.push(slot);
                let matching = |offer: &Offer| {
                    self.prepared[free].as_ref().is_some_and(|prepared| prepared.matches(offer))
                };
                let Some(place) = self.offers.iter().position(matching) else { return Ok(()) };
                let offer = self.offers.remove(place);
                self.matched(messages, thread, (slot, offer), out).map(|_| ())
            }
        }
    }

    /// `MPI_Start`.
    pub(super) fn start(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        request: Handle,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(slot) = self.find(request) else {
            return Err(messages.site().refuse("no operation was prepared for it", request));
        };
        let prepared = self.prepared[usize::from(slot)].as_mut().expect("it was found");
        let (key, function) = (Key::User(request), prepared.operation.function());
        let step = match prepared.operation.side {
            Side::Sends => CodePath::Send,
            Side::Receives => CodePath::Receive,
        };
        out.emit(|| Action::Work(step));
        if !prepared.operation.moves() {
            let outcome = match prepared.operation.side {
                Side::Sends => Outcome::Sent,
                Side::Receives => Outcome::Received(super::messages::receives::NOTHING),
            };
            return messages.open(key, Body::Complete(outcome), thread);
        }
        messages.open(key, Body::Partitioned { slot, function }, thread)?;
        prepared.active = Some(Active::default());
        if prepared.operation.side == Side::Receives && prepared.agreed.is_some() {
            let wake = self.post(messages, thread, slot, out)?;
            debug_assert_eq!(wake, None, "no thread waits for a request that was opened just now");
        }
        Ok(())
    }

    /// `MPI_Pready` and `MPI_Pready_range`.
    pub(super) fn ready(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        (request, does): (Handle, OfPartitions),
        (first, last): (u16, u16),
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let slot = self.check(messages, (request, does, Side::Sends), (first, last))?;
        let site = messages.site();
        let refuse = |state: &str| Err(site.refuse(state, does.function()));
        let prepared = self.prepared[usize::from(slot)].as_mut().expect("it was found");
        if !prepared.operation.moves() {
            return Ok(None);
        }
        let Some(active) = &mut prepared.active else {
            return refuse(&format!("request {} is not active", request.0));
        };
        if let Some(partition) = active.add(first, last) {
            return refuse(&format!("partition {partition} is ready already"));
        }
        self.send_ready(messages, thread, slot, out)
    }

    /// `MPI_Parrived`; a request that is not active has all its partitions.
    pub(super) fn arrived(
        &self,
        messages: &Messages,
        request: Handle,
        partition: u16,
    ) -> Result<bool, ProtocolError> {
        let does = (request, OfPartitions::Arrived, Side::Receives);
        let slot = self.check(messages, does, (partition, partition))?;
        let prepared = self.prepared[usize::from(slot)].as_ref().expect("it was found");
        if prepared.active.is_none() {
            return Ok(true);
        }
        let Some((count, _)) = prepared.agreed else { return Ok(false) };
        let (first, last) = prepared.messages_of(partition, count);
        let over = |message| {
            let request = messages.requests().get(Key::Partition(slot, message));
            matches!(request, Some(Request { body: Body::Complete(_), .. }))
        };
        let all = (first..=last).all(over);
        #[cfg(feature = "mutants")]
        let all = all || messages.site().job.has(Mutant::ArrivesWithAny) && (0..count).any(over);
        Ok(all)
    }

    /// `MPI_Request_free`: whether the request is one of these, and nothing of it is under way.
    pub(super) fn free(&mut self, request: Handle) -> bool {
        let Some(slot) = self.find(request) else { return false };
        let prepared = self.prepared[usize::from(slot)].as_mut().expect("it was found");
        prepared.freed = true;
        let active = prepared.active.is_some();
        self.drop_freed(slot);
        !active
    }

    /// A packet about an operation of this process has come.
    pub(super) fn packet(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        packet: PartitionPacket,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        match packet {
            PartitionPacket::Offer { context, source, dest, tag, bytes, messages: count, slot } => {
                let offer = Offer { context, source, dest, tag, bytes, messages: count, slot };
                let matching = |slot: &&u16| {
                    let prepared = self.prepared[usize::from(**slot)].as_ref();
                    prepared.is_some_and(|prepared| prepared.matches(&offer))
                };
                let first = self.waiting.iter().find(matching);
                #[cfg(feature = "mutants")]
                let first = if messages.site().job.has(Mutant::PairsLast) {
                    self.waiting.iter().rfind(matching)
                } else {
                    first
                };
                if let Some(&slot) = first {
                    return self.matched(messages, thread, (slot, offer), out);
                }
                self.offers.push(offer);
                Ok(None)
            }
            PartitionPacket::Answer { slot } => {
                let grouping = messages.site().job.partitioned;
                let prepared = self.prepared.get_mut(usize::from(slot)).and_then(Option::as_mut);
                let Some(prepared) = prepared else {
                    return Err(messages.site().defect("no partitioned send waits", slot));
                };
                let count = match grouping {
                    Grouping::One => 1,
                    Grouping::Each => prepared.operation.partitions,
                };
                prepared.agreed = Some((count, slot));
                if prepared.active.is_some() {
                    return self.send_ready(messages, thread, slot, out);
                }
                self.drop_freed(slot);
                Ok(None)
            }
        }
    }

    /// One message of an operation is complete.
    pub(super) fn part_complete(
        &mut self,
        messages: &mut Messages,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Wake> {
        let prepared = self.prepared.get_mut(usize::from(slot))?.as_mut()?;
        prepared.active.as_mut()?.remaining -= 1;
        self.end(messages, slot, out)
    }

    /// Whether a call makes a partition ready that is not the last one of the only message: then it
    /// counts down, and uses nothing that a lock guards.
    pub(super) fn counts_only(&self, messages: &Messages, request: Handle, count: u16) -> bool {
        if messages.site().job.partitioned != Grouping::One {
            return false;
        }
        let prepared =
            self.find(request).and_then(|slot| self.prepared[usize::from(slot)].as_ref());
        let Some(Prepared { operation, active: Some(active), .. }) = prepared else { return false };
        let last = operation.partitions - 1;
        active.count(0, last) + u32::from(count) <= u32::from(last)
    }

    /// The other side of an operation.
    pub(super) fn peer(&self, messages: &Messages, slot: u16) -> Option<Process> {
        let prepared = self.prepared.get(usize::from(slot))?.as_ref()?;
        let Prepared { operation, peer, .. } = prepared;
        let of = messages.communicators().get(messages.site(), operation.comm).ok()?;
        of.process(*peer).map(Process)
    }

    /// Condition that a started operation waits for, in words.
    pub(super) fn standing(&self, slot: u16) -> String {
        let prepared = self.prepared.get(usize::from(slot)).and_then(Option::as_ref);
        let Some(Prepared { operation, peer, agreed, active, .. }) = prepared else {
            return String::new();
        };
        let Partitioned { tag, partitions, .. } = *operation;
        let of = format!("{partitions} partitions with tag {tag}");
        let Some(active) = active else { return of };
        let ready = active.count(0, partitions - 1);
        match (operation.side, agreed) {
            (Side::Sends, None) => {
                format!("{of} that no receive of rank {} matches; {ready} are ready", peer.0)
            }
            (Side::Receives, None) => format!("{of} that no send of rank {} matches", peer.0),
            (Side::Sends, Some(_)) => {
                format!("{of} to rank {}, of which {ready} are ready", peer.0)
            }
            (Side::Receives, Some((count, _))) => {
                let open = active.remaining;
                format!("{of} from rank {}; {open} of {count} messages have not come", peer.0)
            }
        }
    }

    fn find(&self, request: Handle) -> Option<u16> {
        let named = |prepared: &Option<Prepared>| {
            prepared.as_ref().is_some_and(|one| one.operation.request == request && !one.freed)
        };
        let slot = self.prepared.iter().position(named)?;
        u16::try_from(slot).ok()
    }

    /// The operation whose partitions a call names.
    fn check(
        &self,
        messages: &Messages,
        (request, does, side): (Handle, OfPartitions, Side),
        (first, last): (u16, u16),
    ) -> Result<u16, ProtocolError> {
        let refuse = |state: &str| Err(messages.site().refuse(state, does.function()));
        let Some(slot) = self.find(request) else {
            return refuse(&format!("request {} has no partitioned operation", request.0));
        };
        let prepared = self.prepared[usize::from(slot)].as_ref().expect("it was found");
        let Partitioned { partitions, side: of, .. } = prepared.operation;
        if of != side {
            let function = prepared.operation.function();
            return refuse(&format!("request {} is that of {function}", request.0));
        }
        if first > last || last >= partitions {
            let found = if first == last {
                format!("partition {first}")
            } else {
                format!("partitions {first} to {last}")
            };
            return refuse(&format!("{found} of {partitions}, which are numbered from 0"));
        }
        Ok(slot)
    }

    /// A receive has found its send.
    fn matched(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        (slot, offer): (u16, Offer),
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        self.waiting.retain(|waiting| *waiting != slot);
        let prepared = self.prepared[usize::from(slot)].as_mut().expect("it waits for a send");
        let (room, bytes) = (prepared.operation.buffer.bytes, offer.bytes);
        if room != bytes {
            let state = format!("it has {room} B, and the send that it matches {bytes} B");
            return Err(messages.site().refuse(&state, prepared.operation.function()));
        }
        prepared.agreed = Some((offer.messages, offer.slot));
        let operation = (&prepared.operation, prepared.peer);
        let answer = PartitionPacket::Answer { slot: offer.slot };
        let active = prepared.active.is_some();
        tell(messages, thread, operation, answer, out)?;
        if active { self.post(messages, thread, slot, out) } else { Ok(None) }
    }

    /// The receives of all messages are posted.
    fn post(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let prepared = self.prepared[usize::from(slot)].as_mut().expect("it was started");
        let (count, number) = prepared.agreed.expect("a receive knows its messages");
        let (context, dest, source) = (prepared.context, prepared.rank, Some(prepared.peer));
        let mut remaining = 0;
        for message in 0..count {
            let tag = Some(tag_of(number, message));
            let selection = Selection { context, dest, source, tag };
            let (key, into) = (Key::Partition(slot, message), prepared.part(message, count));
            let comm = prepared.operation.comm;
            messages.receive_part(thread, (key, false), comm, selection, into, out)?;
            remaining += u16::from(messages.await_end(key, None));
        }
        prepared.active.as_mut().expect("it was started").remaining = remaining;
        Ok(self.end(messages, slot, out))
    }

    /// The messages leave whose partitions are all ready, once the receiver is.
    fn send_ready(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Option<Wake>, ProtocolError> {
        let prepared = self.prepared[usize::from(slot)].as_mut().expect("it was started");
        let Some((count, number)) = prepared.agreed else { return Ok(None) };
        let mut active = prepared.active.take().unwrap_or_default();
        if active.begun.is_empty() {
            active.begun = vec![false; usize::from(count)];
            active.remaining = count;
        }
        for message in 0..count {
            let (first, last) = prepared.partitions(message, count);
            let all = u32::from(last - first) + 1;
            let ready = active.count(first, last);
            #[cfg(feature = "mutants")]
            let ready = if messages.site().job.has(Mutant::SendsBeforeReady) {
                active.ready.first().map_or(0, |_| all)
            } else {
                ready
            };
            if active.begun[usize::from(message)] || ready < all {
                continue;
            }
            active.begun[usize::from(message)] = true;
            let (key, region) = (Key::Partition(slot, message), prepared.part(message, count));
            let (comm, to) = (prepared.operation.comm, prepared.peer);
            let tag = tag_of(number, message);
            let letter = InternalMessage { comm, to, tag, region, outer: None };
            messages.send_part(thread, (key, false), letter, out)?;
            // An eager message has left, and has no request.
            active.remaining -= u16::from(!messages.await_end(key, None));
        }
        prepared.active = Some(active);
        Ok(self.end(messages, slot, out))
    }

    /// The request is complete when all messages are over.
    fn end(
        &mut self,
        messages: &mut Messages,
        slot: u16,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Wake> {
        let prepared = self.prepared[usize::from(slot)].as_mut()?;
        let (count, _) = prepared.agreed?;
        if prepared.active.as_ref()?.remaining > 0 {
            return None;
        }
        prepared.active = None;
        for key in (0..count).map(|message| Key::Partition(slot, message)) {
            if messages.requests().get(key).is_some() {
                messages.close(key);
            }
        }
        let outcome = match prepared.operation.side {
            Side::Sends => Outcome::Sent,
            Side::Receives => Outcome::Received(Status {
                source: Some(prepared.peer),
                tag: Some(prepared.operation.tag),
                count: prepared.operation.buffer.bytes,
            }),
        };
        let (request, region) = (Key::User(prepared.operation.request), prepared.region());
        let wake = messages.complete(request, outcome, Some(region), None, out);
        self.drop_freed(slot);
        wake
    }

    /// Forgets an operation whose request the program has freed, once no packet can name it.
    fn drop_freed(&mut self, slot: u16) {
        let one = &mut self.prepared[usize::from(slot)];
        if one.as_ref().is_some_and(|one| one.freed && one.active.is_none() && one.agreed.is_some())
        {
            *one = None;
            while let Some(None) = self.prepared.last() {
                self.prepared.pop();
            }
        }
    }
}

/// A packet to the other side of an operation.
fn tell(
    messages: &Messages,
    thread: Thread,
    (operation, peer): (&Partitioned, Rank),
    packet: PartitionPacket,
    out: &mut Vec<LibraryAction>,
) -> Result<(), ProtocolError> {
    let site = messages.site();
    let (_, route) = messages.communicators().inner_way(site, thread, operation.comm, peer)?;
    let wire = site.wire(route, thread);
    out.emit(|| Action::Work(CodePath::Control));
    out.emit(|| Action::Send {
        to: route,
        via: wire.via,
        header: wire.control,
        packet: Packet::Partition(Box::new(packet)),
        payload: None,
    });
    Ok(())
}
