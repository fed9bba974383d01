//! Blocking messages whose buffers are in GPU memory: packing, chunks, unpacking.
//!
//! ```text
//!   send      ask ─▶ packed: chunk k leaves ─▶ all have left ─────────────────▶ return
//!   receive   chunk 0 ─▶ the others are posted ─▶ chunk k is here: unpack it ──▶ return
//! ```
//!
//! The first chunk has the envelope of the message, and is matched like any other. The others go by
//! the internal context of the communicator, under tags made of the first one's number: so neither
//! other messages nor other receives of the program come between them.
//!
//! A method that waits for each of its copies has one under way, a kernel for each chunk as many as
//! its buffer says, two as a rule, so that the launch of the next one hides behind the one that runs. Unpacking asks as chunks come.
//! Source: `gpu-pack` Sec. 2.3, 3.3 and 4.3.
//! Left out: non-blocking forms, messages that are shorter than their receive, and GPU memory on one
//! side with host memory on the other where there are chunks; each is refused by name. A core that
//! waits for a copy takes packets meanwhile. Noticeable where it has others to answer.

use std::sync::Arc;

use super::collective::Letter;
use super::requests::{Body, Pending, Request};
use super::{
    Action, Key, Library, LibraryAction, MessageId, Outcome, ProtocolError, Region, Reply,
    Selection, Space, Thread, Token, push_return,
};
use crate::call::{Peer, Status};
use crate::contract::{Emit, Step, Wait};
use crate::device::{DeviceBuffer, DeviceExchange};
use crate::packing::Task;
use mpi::envelope::Rank;

/// Tokens of operations of a GPU have this bit; a token of a window has a higher one.
const DEVICE: u64 = 1 << 62;
/// Tags of later chunks have this bit: no collective's have.
const CHUNK_TAG: i32 = 1 << 30;

/// A call with buffers in GPU memory that a thread is inside.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Exchanging {
    call: Arc<DeviceExchange>,
    outgoing: Option<Outgoing>,
    incoming: Option<Incoming>,
}

/// The half that sends.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Outgoing {
    to: Rank,
    tag: i32,
    message: MessageId,
    /// What the tags of later chunks are made of.
    number: u64,
    packing: Packing,
    /// Chunks that the program's data are needed for no more.
    over: u64,
}

/// The half that receives.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Incoming {
    packing: Packing,
    /// Chunks that are here.
    arrived: u64,
    /// What the first chunk has said of the tags of the others.
    number: Option<u64>,
    status: Option<Status>,
}

/// How far packing or unpacking is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Packing {
    task: Task,
    buffer: Arc<DeviceBuffer>,
    /// Operations that were asked for, and those that have ended.
    asked: u64,
    done: u64,
}

impl Packing {
    const fn new(task: Task, buffer: Arc<DeviceBuffer>) -> Self {
        Self { task, buffer, asked: 0, done: 0 }
    }

    fn is_over(&self) -> bool {
        self.done == self.buffer.operations(self.task)
    }

    /// Whether the next operation may be asked for now.
    fn may_ask(&self) -> bool {
        let under_way = self.asked - self.done;
        let room = match (self.buffer.method.waits_for_each(), self.task) {
            (true, _) => under_way == 0,
            (false, Task::Pack) => {
                !self.buffer.is_packed_in_parts() || under_way < self.buffer.ahead
            }
            (false, Task::Unpack) => true,
        };
        room && self.asked < self.buffer.operations(self.task)
    }

    /// The library's pinned buffer that `thread` uses for it.
    fn slot(&self, thread: Thread) -> u16 {
        2 * thread.0 + u16::from(self.task == Task::Unpack)
    }

    /// Where a chunk is in pinned memory.
    fn region(&self, thread: Thread, chunk: u64) -> Region {
        let part = self.buffer.part(chunk);
        Region { space: Space::Pinned(self.slot(thread)), offset: part.offset, len: part.bytes }
    }

    /// Asks for operation `index`.
    fn ask(&mut self, thread: Thread, index: u64, out: &mut Vec<LibraryAction>) {
        self.asked += 1;
        let work = Arc::new(self.buffer.operation(self.task, index, self.slot(thread)));
        let unpacks = u64::from(self.task == Task::Unpack);
        let token = Token(DEVICE | unpacks << 56 | u64::from(thread.0) << 40 | index);
        out.emit(|| Action::Device { stream: thread.0, work, token });
    }

    /// Asks for as many as may be asked for now, in order.
    fn ask_on(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        while self.may_ask() {
            self.ask(thread, self.asked, out);
        }
    }
}

/// The request of a chunk.
fn key(thread: Thread, task: Task, chunk: u64) -> Key {
    let part = 2 * chunk + u64::from(task == Task::Unpack);
    Key::Part(thread, u16::try_from(part).expect("the number of chunks was checked"))
}

/// What the tags of a message's later chunks are made of; the first one carries it as its word.
pub(super) fn number(message: MessageId) -> u64 {
    u64::from(message.serial & 0x3fff)
}

/// The tag of a later chunk.
fn tag(number: u64, chunk: u64) -> i32 {
    let tag = (number & 0x3fff) << 16 | chunk & 0xffff;
    CHUNK_TAG | i32::try_from(tag).expect("masked to 30 bits")
}

/// Whether a completion is that of an operation of the GPU.
pub(super) const fn is_device(token: Token) -> bool {
    token.0 & DEVICE != 0
}

impl Exchanging {
    fn half(&mut self, task: Task) -> Option<&mut Packing> {
        match task {
            Task::Pack => self.outgoing.as_mut().map(|half| &mut half.packing),
            Task::Unpack => self.incoming.as_mut().map(|half| &mut half.packing),
        }
    }

    fn is_over(&self) -> bool {
        self.outgoing.as_ref().is_none_or(|half| half.over == half.packing.buffer.chunks())
            && self.incoming.as_ref().is_none_or(|half| {
                half.arrived == half.packing.buffer.chunks() && half.packing.is_over()
            })
    }

    /// The outcome of the receive, or of the send where nothing is received.
    fn outcome(&self) -> Outcome {
        let nothing = Status { source: None, tag: None, count: 0 };
        match (&self.incoming, &self.call.receive) {
            (Some(half), _) => Outcome::Received(half.status.unwrap_or(nothing)),
            (None, Some(_)) => Outcome::Received(nothing),
            (None, None) => Outcome::Sent,
        }
    }
}

impl Library {
    /// `MPI_Send`, `MPI_Recv` or `MPI_Sendrecv` with buffers in GPU memory.
    pub(super) fn begin_device(
        &mut self,
        thread: Thread,
        call: Arc<DeviceExchange>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let buffers =
            [call.send.as_ref().map(|half| &half.2), call.receive.as_ref().map(|half| &half.2)];
        if let Some(long) = buffers.into_iter().flatten().find(|one| one.chunks() > 1 << 15) {
            return Err(self.refuse("32,768 chunks of a message are the most", long.chunks()));
        }
        let (mut outgoing, mut incoming) = (None, None);
        if let Some((Peer::Rank(to), tag, buffer)) = &call.send {
            out.emit(|| Action::Work(Step::Send));
            let packing = Packing::new(Task::Pack, Arc::clone(buffer));
            let message = self.next_message();
            let number = number(message);
            outgoing = Some(Outgoing { to: *to, tag: *tag, message, number, packing, over: 0 });
        }
        let mut selection = None;
        if let Some((source, tag, buffer)) = &call.receive {
            out.emit(|| Action::Work(Step::Receive));
            selection = self.select(thread, *source, *tag, call.comm)?;
            let packing = Packing::new(Task::Unpack, Arc::clone(buffer));
            let half = Incoming { packing, arrived: 0, number: None, status: None };
            incoming = selection.map(|_| half);
        }
        let exchanging = Exchanging { call, outgoing, incoming };
        self.pending[usize::from(thread.0)] = Some(Pending::Device(Box::new(exchanging)));
        if let Some(selection) = selection {
            self.post_chunk(thread, 0, selection, out)?;
        }
        if let Some(packing) = self.exchanging(thread).half(Task::Pack) {
            packing.ask_on(thread, out);
            if packing.is_over() {
                self.send_chunks(thread, None, out)?;
            }
        }
        self.end_device(thread, out);
        Ok(())
    }

    fn exchanging(&mut self, thread: Thread) -> &mut Exchanging {
        match &mut self.pending[usize::from(thread.0)] {
            Some(Pending::Device(exchanging)) => exchanging,
            other => unreachable!("a thread with data on a GPU is inside its call, not {other:?}"),
        }
    }

    /// The receive of a chunk is posted; it may find its message at once.
    fn post_chunk(
        &mut self,
        thread: Thread,
        chunk: u64,
        selection: Selection,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let exchanging = self.exchanging(thread);
        let comm = exchanging.call.comm;
        let packing = exchanging.half(Task::Unpack).expect("who posts receives");
        let (key, region) = (key(thread, Task::Unpack, chunk), packing.region(thread, chunk));
        self.post(thread, (key, true), selection, region, out)?;
        self.offer(thread, key, comm, out)?;
        if self.is_waited_for(thread, key) {
            Ok(())
        } else {
            self.chunk_arrives(thread, chunk, out)
        }
    }

    /// Whether a request is open still: then its end is heard of.
    fn is_waited_for(&mut self, thread: Thread, key: Key) -> bool {
        // Looking for one to change makes room for it, which would stay.
        let open = |request: &Request| !matches!(request.body, Body::Complete(_));
        let found = self.requests.get(key).is_some_and(open);
        if found && let Some(request) = self.requests.get_mut(key) {
            request.waiter = Some(thread);
        }
        found
    }

    /// A chunk's request is complete that `thread` waits for.
    pub(super) fn chunk_over(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Key::Part(_, part) = key else { unreachable!("chunks are parts, not {key:?}") };
        if part % 2 == 1 {
            self.chunk_arrives(thread, u64::from(part / 2), out)?;
        } else {
            self.close(key);
            self.chunk_left(thread);
        }
        self.end_device(thread, out);
        Ok(())
    }

    fn chunk_left(&mut self, thread: Thread) {
        let half = self.exchanging(thread).outgoing.as_mut();
        half.expect("who sends chunks").over += 1;
    }

    /// A receive is matched: the word of a first chunk tells of the others.
    pub(super) fn hear_chunk(&mut self, key: Key, word: u64) {
        if let Key::Part(thread, 1) = key
            && let Some(Pending::Device(exchanging)) = &mut self.pending[usize::from(thread.0)]
            && let Some(half) = &mut exchanging.incoming
        {
            half.number = Some(word);
        }
    }

    /// A chunk is in pinned memory: the first one tells of the others, and it is unpacked as soon as
    /// that can be done.
    fn chunk_arrives(
        &mut self,
        thread: Thread,
        chunk: u64,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let outcome = self.close(key(thread, Task::Unpack, chunk));
        let half = self.exchanging(thread).incoming.as_mut().expect("who receives chunks");
        let (expected, bytes) =
            (half.packing.buffer.part(chunk).bytes, half.packing.buffer.bytes());
        let status = match outcome {
            Outcome::Received(status) if status.count == expected => status,
            Outcome::Received(_) | Outcome::Truncated(_) | Outcome::Sent | Outcome::Cancelled => {
                return Err(self.refuse_chunk(expected, outcome));
            }
        };
        half.arrived += 1;
        if chunk == 0 {
            half.status = Some(Status { count: bytes, ..status });
        }
        let chunks = half.packing.buffer.chunks();
        if half.packing.buffer.is_packed_in_parts() && bytes > 0 {
            half.packing.ask(thread, chunk, out);
        } else if half.arrived == chunks {
            half.packing.ask_on(thread, out);
        }
        if chunk == 0 && chunks > 1 {
            let number = half.number.expect("it was told before it was complete");
            self.post_later_chunks(thread, number, status, out)?;
        }
        Ok(())
    }

    fn post_later_chunks(
        &mut self,
        thread: Thread,
        number: u64,
        status: Status,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let exchanging = self.exchanging(thread);
        let comm = exchanging.call.comm;
        let packing = exchanging.half(Task::Unpack).expect("who posts receives");
        let chunks = packing.buffer.chunks();
        let member = self.member(thread, comm)?;
        for chunk in 1..chunks {
            let selection = Selection {
                context: member.internal,
                dest: member.rank,
                source: status.source,
                tag: Some(tag(number, chunk)),
            };
            self.post_chunk(thread, chunk, selection, out)?;
        }
        Ok(())
    }

    fn refuse_chunk(&self, expected: u64, outcome: Outcome) -> ProtocolError {
        let found = match outcome {
            Outcome::Received(Status { count, .. }) => format!("{count} B"),
            Outcome::Truncated(_) => format!("more than {expected} B"),
            Outcome::Sent | Outcome::Cancelled => "nothing".to_owned(),
        };
        let state = format!(
            "rank {} waits for {expected} B of data in GPU memory (both sides of a message must have \
             as many bytes, in as many chunks)",
            self.me.0
        );
        ProtocolError { machine: "library::device", state, input: found }
    }

    /// An operation of the GPU has ended.
    pub(super) fn device_done(
        &mut self,
        token: Token,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let masked = |raw: u64, bits: u32| raw & ((1 << bits) - 1);
        let thread = u16::try_from(masked(token.0 >> 40, 16)).expect("masked to 16 bits");
        let (thread, index) = (Thread(thread), masked(token.0, 40));
        let task = if masked(token.0 >> 56, 1) == 1 { Task::Unpack } else { Task::Pack };
        let Some(Some(Pending::Device(exchanging))) = self.pending.get_mut(usize::from(thread.0))
        else {
            return Err(self.defect("no thread waits for this operation of the GPU", token));
        };
        let Some(packing) = exchanging.half(task).filter(|packing| packing.done < packing.asked)
        else {
            return Err(self.defect("this operation of the GPU was not asked for", token));
        };
        packing.done += 1;
        let (over, in_parts) = (packing.is_over(), packing.buffer.is_packed_in_parts());
        if task == Task::Pack && in_parts {
            self.send_chunks(thread, Some(index), out)?;
        } else if task == Task::Pack && over {
            self.send_chunks(thread, None, out)?;
        }
        // Chunks are unpacked as they come.
        if (task == Task::Pack || !in_parts)
            && let Some(packing) = self.exchanging(thread).half(task)
        {
            packing.ask_on(thread, out);
        }
        self.end_device(thread, out);
        Ok(())
    }

    /// One chunk, or all of them, leave.
    fn send_chunks(
        &mut self,
        thread: Thread,
        only: Option<u64>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let exchanging = self.exchanging(thread);
        let comm = exchanging.call.comm;
        let half = exchanging.outgoing.as_ref().expect("who packs sends");
        let Outgoing { to, message, number, packing, tag: first_tag, .. } = half.clone();
        let chunks = only.map_or(0..packing.buffer.chunks(), |chunk| chunk..chunk + 1);
        for chunk in chunks {
            let key = key(thread, Task::Pack, chunk);
            let (outer, tag) =
                if chunk == 0 { (Some(message), first_tag) } else { (None, tag(number, chunk)) };
            let letter = Letter { comm, to, tag, region: packing.region(thread, chunk), outer };
            self.send_part(thread, (key, true), letter, out)?;
            if !self.is_waited_for(thread, key) {
                // An eager message that has left has no request.
                if self.requests.get(key).is_some() {
                    self.close(key);
                }
                self.chunk_left(thread);
            }
        }
        Ok(())
    }

    /// The call returns, if all of it is over.
    fn end_device(&mut self, thread: Thread, out: &mut Vec<LibraryAction>) {
        let pending = &mut self.pending[usize::from(thread.0)];
        if let Some(Pending::Device(exchanging)) = pending
            && exchanging.is_over()
        {
            let outcome = exchanging.outcome();
            *pending = None;
            push_return(thread, Reply::Outcome(outcome), out);
        }
    }

    /// What a thread with data on a GPU waits for.
    pub(super) fn device_waits(&self, thread: Thread, exchanging: &Exchanging) -> Vec<Wait> {
        let operation = exchanging.call.function();
        let waits = self.requests.parts(thread).filter_map(|key| self.wait_on(key));
        waits.map(|wait| Wait { operation, ..wait }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packing::{Layout, Method};
    use mpi::datatype::{Datatype, Primitive};

    /// Two kernels are under way, as the launch of one hides behind the other; the third is asked for
    /// when the first has ended. A buffer may ask for another number.
    #[test]
    fn as_many_chunks_are_packed_at_once_as_the_buffer_says() {
        let doubles = Datatype::vector(1024, 1, 2, &Datatype::named(Primitive::Double)).unwrap();
        let buffer = || {
            let layout = Layout::new(doubles.clone(), 1).unwrap();
            DeviceBuffer::new(0, layout, Method::Kernel).unwrap().in_chunks(512)
        };
        for (buffer, ahead) in [(buffer(), 2), (buffer().with_ahead(5), 5)] {
            let mut packing = Packing::new(Task::Pack, Arc::new(buffer));
            let mut out = Vec::new();
            packing.ask_on(Thread(0), &mut out);
            assert_eq!(packing.asked, ahead);
            packing.done += 1;
            packing.ask_on(Thread(0), &mut out);
            assert_eq!((packing.asked, out.len() as u64), (ahead + 1, ahead + 1));
        }
    }
}
