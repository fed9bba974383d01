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

use super::messages::Messages;
use super::messages::receives::NOTHING;
use super::messages::sends::InternalMessage;
use super::{
    Action, Key, LibraryAction, MessageId, Outcome, ProtocolError, Region, Selection, Space,
    Thread, Token,
};
use crate::call::{Peer, Status};
use crate::contract::{CodePath, Emit};
use crate::device::{DeviceBuffer, DeviceExchange};
use calls::packing::Task;
use mpi::envelope::Rank;

/// Bit of the tokens of operations of a GPU.
/// Encoding: a token of a window has a higher one.
const DEVICE: u64 = 1 << 62;
/// Bit of the tags of later chunks.
/// Encoding: no collective's tag has it.
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
    /// The number in the tags of later chunks.
    number: u64,
    packing: Packing,
    /// Chunks that need the program's data no more.
    over: u64,
}

/// The half that receives.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Incoming {
    packing: Packing,
    /// Chunks that are here.
    arrived: u64,
    status: Option<Status>,
}

/// How far packing or unpacking is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Packing {
    task: Task,
    buffer: Arc<DeviceBuffer>,
    /// Operations that were requested, and those that have ended.
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

    /// Whether the next operation may be requested now.
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

    /// Asks for as many as may be requested now, in order.
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

/// The number in the tags of a message's later chunks; the first chunk carries it as its word.
fn number(message: MessageId) -> u64 {
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
    /// `MPI_Send`, `MPI_Recv` or `MPI_Sendrecv` with buffers in GPU memory: begins to pack, and posts
    /// the first receive.
    pub(super) fn begin(
        messages: &mut Messages,
        thread: Thread,
        call: Arc<DeviceExchange>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<Self, ProtocolError> {
        let buffers =
            [call.send.as_ref().map(|half| &half.2), call.receive.as_ref().map(|half| &half.2)];
        if let Some(long) = buffers.into_iter().flatten().find(|one| one.chunks() > 1 << 15) {
            let state = "32,768 chunks of a message are the most";
            return Err(messages.site().refuse(state, long.chunks()));
        }
        let (mut outgoing, mut incoming) = (None, None);
        if let Some((Peer::Rank(to), tag, buffer)) = &call.send {
            out.emit(|| Action::Work(CodePath::Send));
            let packing = Packing::new(Task::Pack, Arc::clone(buffer));
            let message = messages.next_message();
            let number = number(message);
            outgoing = Some(Outgoing { to: *to, tag: *tag, message, number, packing, over: 0 });
        }
        let mut selection = None;
        if let Some((source, tag, buffer)) = &call.receive {
            out.emit(|| Action::Work(CodePath::Receive));
            selection = messages.select(thread, *source, *tag, call.comm)?;
            let packing = Packing::new(Task::Unpack, Arc::clone(buffer));
            incoming = selection.map(|_| Incoming { packing, arrived: 0, status: None });
        }
        let mut exchanging = Self { call, outgoing, incoming };
        if let Some(selection) = selection {
            messages.carried_mut().await_chunk(thread);
            exchanging.post_chunk(messages, thread, 0, selection, out)?;
        }
        if let Some(packing) = exchanging.half(Task::Pack) {
            packing.ask_on(thread, out);
            if packing.is_over() {
                exchanging.send_chunks(messages, thread, None, out)?;
            }
        }
        Ok(exchanging)
    }

    /// The call is over: its outcome is that of the receive, or of the send where nothing is received.
    pub(super) fn end(&self, messages: &mut Messages, thread: Thread) -> Option<Outcome> {
        if !self.is_over() {
            return None;
        }
        messages.carried_mut().end_chunks(thread);
        Some(match (&self.incoming, &self.call.receive) {
            (Some(half), _) => Outcome::Received(half.status.unwrap_or(NOTHING)),
            (None, Some(_)) => Outcome::Received(NOTHING),
            (None, None) => Outcome::Sent,
        })
    }

    fn is_over(&self) -> bool {
        self.outgoing.as_ref().is_none_or(|half| half.over == half.packing.buffer.chunks())
            && self.incoming.as_ref().is_none_or(|half| {
                half.arrived == half.packing.buffer.chunks() && half.packing.is_over()
            })
    }

    fn half(&mut self, task: Task) -> Option<&mut Packing> {
        match task {
            Task::Pack => self.outgoing.as_mut().map(|half| &mut half.packing),
            Task::Unpack => self.incoming.as_mut().map(|half| &mut half.packing),
        }
    }

    /// The function that the program called.
    pub(super) fn function(&self) -> &'static str {
        self.call.function()
    }

    /// The receive of a chunk is posted; it may find its message at once.
    fn post_chunk(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        chunk: u64,
        selection: Selection,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let comm = self.call.comm;
        let packing = self.half(Task::Unpack).expect("who posts receives");
        let (key, region) = (key(thread, Task::Unpack, chunk), packing.region(thread, chunk));
        messages.receive_part(thread, (key, true), comm, selection, region, out)?;
        if messages.await_end(key, Some(thread)) {
            Ok(())
        } else {
            self.chunk_arrives(messages, thread, chunk, out)
        }
    }

    /// The request of a chunk that `thread` waits for is complete.
    pub(super) fn chunk_over(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Key::Part(_, part) = key else { unreachable!("chunks are parts, not {key:?}") };
        if part % 2 == 1 {
            return self.chunk_arrives(messages, thread, u64::from(part / 2), out);
        }
        messages.close(key);
        self.chunk_left();
        Ok(())
    }

    fn chunk_left(&mut self) {
        self.outgoing.as_mut().expect("a call that sends chunks").over += 1;
    }

    /// A chunk is in pinned memory: the receives of the others are posted after the first one, and it
    /// is unpacked as soon as that can be done.
    fn chunk_arrives(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        chunk: u64,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let outcome = messages.close(key(thread, Task::Unpack, chunk));
        let half = self.incoming.as_mut().expect("a call that receives chunks");
        let (expected, bytes) =
            (half.packing.buffer.part(chunk).bytes, half.packing.buffer.bytes());
        let status = match outcome {
            Outcome::Received(status) if status.count == expected => status,
            Outcome::Received(_) | Outcome::Truncated(_) | Outcome::Sent | Outcome::Cancelled => {
                return Err(refuse_chunk(messages, expected, outcome));
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
            let number = messages.carried().chunk(thread);
            let number = number.expect("the first chunk brought it before it was complete");
            self.post_later_chunks(messages, thread, number, status, out)?;
        }
        Ok(())
    }

    fn post_later_chunks(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        number: u64,
        status: Status,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let comm = self.call.comm;
        let packing = self.half(Task::Unpack).expect("a call that posts receives");
        let chunks = packing.buffer.chunks();
        let member = messages.member(thread, comm)?;
        for chunk in 1..chunks {
            let selection = Selection {
                context: member.internal,
                dest: member.rank,
                source: status.source,
                tag: Some(tag(number, chunk)),
            };
            self.post_chunk(messages, thread, chunk, selection, out)?;
        }
        Ok(())
    }

    /// An operation of the GPU has ended; `Err` says why it cannot have.
    pub(super) fn operation_done(
        &mut self,
        messages: &mut Messages,
        Operation { thread, task, index }: Operation,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(packing) = self.half(task).filter(|packing| packing.done < packing.asked) else {
            let state = "this operation of the GPU was not asked for";
            return Err(messages.site().defect(state, index));
        };
        packing.done += 1;
        let (over, in_parts) = (packing.is_over(), packing.buffer.is_packed_in_parts());
        if task == Task::Pack && in_parts {
            self.send_chunks(messages, thread, Some(index), out)?;
        } else if task == Task::Pack && over {
            self.send_chunks(messages, thread, None, out)?;
        }
        // Chunks are unpacked as they come.
        if (task == Task::Pack || !in_parts)
            && let Some(packing) = self.half(task)
        {
            packing.ask_on(thread, out);
        }
        Ok(())
    }

    /// One chunk, or all of them, leave.
    fn send_chunks(
        &mut self,
        messages: &mut Messages,
        thread: Thread,
        only: Option<u64>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let comm = self.call.comm;
        let half = self.outgoing.as_ref().expect("a call that packs sends");
        let Outgoing { to, message, number, packing, tag: first_tag, .. } = half.clone();
        let chunks = only.map_or(0..packing.buffer.chunks(), |chunk| chunk..chunk + 1);
        for chunk in chunks {
            let key = key(thread, Task::Pack, chunk);
            let (outer, tag) = if chunk == 0 {
                (Some((message, number)), first_tag)
            } else {
                (None, tag(number, chunk))
            };
            let letter =
                InternalMessage { comm, to, tag, region: packing.region(thread, chunk), outer };
            messages.send_part(thread, (key, true), letter, out)?;
            if !messages.await_end(key, Some(thread)) {
                // An eager message that has left has no request.
                if messages.requests().get(key).is_some() {
                    messages.close(key);
                }
                self.chunk_left();
            }
        }
        Ok(())
    }
}

fn refuse_chunk(messages: &Messages, expected: u64, outcome: Outcome) -> ProtocolError {
    let found = match outcome {
        Outcome::Received(Status { count, .. }) => format!("{count} B"),
        Outcome::Truncated(_) => format!("more than {expected} B"),
        Outcome::Sent | Outcome::Cancelled => "nothing".to_owned(),
    };
    let state = format!(
        "rank {} waits for {expected} B of data in GPU memory (both sides of a message must have \
         as many bytes, in as many chunks)",
        messages.site().me.0
    );
    ProtocolError { machine: "library::device", state, input: found }
}

/// An operation of a GPU that a token names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) thread: Thread,
    task: Task,
    index: u64,
}

impl Operation {
    /// The operation of a token of [`Packing::ask`].
    pub(super) fn of(token: Token) -> Self {
        let masked = |raw: u64, bits: u32| raw & ((1 << bits) - 1);
        let thread = u16::try_from(masked(token.0 >> 40, 16)).expect("masked to 16 bits");
        let task = if masked(token.0 >> 56, 1) == 1 { Task::Unpack } else { Task::Pack };
        Self { thread: Thread(thread), task, index: masked(token.0, 40) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use calls::packing::{Layout, Method};
    use mpi::datatype::{Datatype, Primitive};

    /// Two kernels are under way, as the launch of one hides behind the other; the third is requested
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
