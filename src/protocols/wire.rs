//! What goes between the libraries of two processes: packets, the requests that they name, and how a
//! peer is reached.

use std::sync::Arc;

use super::call::Reply;
use super::contract::{Action, Handle, Region, Route, Thread, Token, Via};
use super::partitioned::PartitionPacket;
use super::selection::protocol::Protocol;
use super::selection::scheme::Scheme;
use super::windows::packet::RmaPacket;
use calls::arguments::SendMode;
use mpi::envelope::{Envelope, Selection};
use mpi::observation::MessageId;
use units::Bytes;

/// An action of the library.
pub type LibraryAction = Action<Packet, Reply>;

/// A request of one process: named by its program, or the inner one of a thread's blocking call.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Key {
    /// A request of the program.
    User(Handle),
    /// The request inside a blocking call of this thread.
    Inner(Thread),
    /// One message of the round that this thread's collective is in.
    Part(Thread, u16),
    /// A message that waits in the attached buffer.
    Buffered(u16),
    /// One message of the round that a collective under way is in: its slot, and its place.
    Later(u16, u16),
    /// One message of a request that has several: its slot, and its place.
    Joint(u16, u16),
    /// One message of a partitioned operation: its slot, and its place.
    Partition(u16, u16),
}

/// Bit of the handles of requests inside a blocking call.
/// Encoding: the highest one.
const INNER: u32 = 1 << 31;
/// Bit of those of messages that wait in the attached buffer.
/// Encoding: beside the highest one.
const BUFFERED: u32 = 1 << 30;
/// Bit of those of collectives under way.
/// Encoding: beside the highest one.
const UNDER_WAY: u32 = 1 << 29;
/// Bit of those of requests with several messages.
/// Encoding: beside the highest one.
const JOINT: u32 = 1 << 28;
/// Bit of those of partitioned operations.
/// Encoding: beside the highest one.
const PARTITIONED: u32 = 1 << 27;
/// Bit of the tokens of [`Key::Part`].
/// Encoding: handles lie below.
const PART: u64 = 1 << 32;
/// Bit of the tokens of [`Key::Later`].
/// Encoding: handles lie below.
const LATER: u64 = 1 << 33;
/// Bit of the tokens of [`Key::Joint`].
/// Encoding: handles lie below.
const OF_JOINT: u64 = 1 << 34;
/// Bit of the tokens of [`Key::Partition`].
/// Encoding: handles lie below.
const PARTITION: u64 = 1 << 35;

impl Key {
    /// The handle that stands for this request in markers; inner ones have the highest bit set, and
    /// the parts of a collective are not distinguished.
    pub const fn handle(self) -> Handle {
        match self {
            Self::User(handle) => handle,
            Self::Inner(thread) | Self::Part(thread, _) => Handle(INNER | thread.0 as u32),
            Self::Buffered(slot) => Handle(INNER | BUFFERED | slot as u32),
            Self::Later(slot, _) => Handle(INNER | UNDER_WAY | slot as u32),
            Self::Joint(slot, _) => Handle(INNER | JOINT | slot as u32),
            Self::Partition(slot, _) => Handle(INNER | PARTITIONED | slot as u32),
        }
    }

    /// The token that brings an RDMA completion back to this request.
    pub const fn token(self) -> Token {
        match self {
            Self::User(_) | Self::Inner(_) | Self::Buffered(_) => Token(self.handle().0 as u64),
            Self::Part(thread, part) => Token(PART | (part as u64) << 16 | thread.0 as u64),
            Self::Later(slot, part) => Token(LATER | (part as u64) << 16 | slot as u64),
            Self::Joint(slot, part) => Token(OF_JOINT | (part as u64) << 16 | slot as u64),
            Self::Partition(slot, part) => Token(PARTITION | (part as u64) << 16 | slot as u64),
        }
    }

    /// The request of a token.
    ///
    /// # Panics
    ///
    /// Never, for a token of [`Self::token`].
    pub(super) fn from_token(token: Token) -> Self {
        let low = |raw: u64| u16::try_from(raw & 0xffff).expect("masked to 16 bits");
        if token.0 & PART != 0 {
            return Self::Part(Thread(low(token.0)), low(token.0 >> 16));
        }
        if token.0 & LATER != 0 {
            return Self::Later(low(token.0), low(token.0 >> 16));
        }
        if token.0 & OF_JOINT != 0 {
            return Self::Joint(low(token.0), low(token.0 >> 16));
        }
        if token.0 & PARTITION != 0 {
            return Self::Partition(low(token.0), low(token.0 >> 16));
        }
        let raw = u32::try_from(token.0).expect("other tokens are made from 32-bit handles");
        if raw & INNER == 0 {
            Self::User(Handle(raw))
        } else if raw & BUFFERED != 0 {
            Self::Buffered(low(u64::from(raw)))
        } else {
            Self::Inner(Thread(u16::try_from(raw & !INNER).expect("made from a thread")))
        }
    }
}

/// How to reach a peer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Wire {
    /// The other process, and the lanes.
    pub route: Route,
    /// The HCA between nodes, shared memory inside one.
    pub via: Via,
    /// Header bytes of a packet with payload.
    pub header: Bytes,
    /// Bytes of a control packet.
    pub control: Bytes,
    /// Bytes of a shared cell.
    pub cell: Bytes,
    /// Shared cells of the channel, at least 1.
    pub cells: u32,
    /// The thread that acts: its staging buffer carries payloads.
    pub thread: Thread,
}

/// Header of every message.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct MessageHeader {
    /// Identity, for monitors.
    pub message: MessageId,
    /// Envelope, for matching.
    pub envelope: Envelope,
    /// Payload bytes.
    pub bytes: u64,
    /// The sender's request.
    pub sender: Key,
    /// How the send may complete.
    pub mode: SendMode,
    /// Whether the sender's call waits for its end.
    pub blocking: bool,
    /// How many RTRs of the receiver had come to the sender: see `library/rtr.rs`.
    pub heard: u32,
    /// A number that a message of the library's own carries; 0 in a message of the program.
    pub word: u64,
}

/// Packet: all that goes over the wire besides payload bytes.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Packet {
    /// A whole small message.
    Eager(MessageHeader),
    /// A synchronous eager message was matched.
    Matched {
        /// The sender's request.
        sender: Key,
    },
    /// Request to send: the envelope of a large message.
    Rts {
        /// The envelope and size.
        header: MessageHeader,
        /// Scheme that chooses how the payload will move.
        scheme: Scheme,
        /// The sender's buffer.
        remote: Region,
    },
    /// Ready to receive (RTR): the only process that can send to a posted receive may fill its buffer.
    Rtr(ReadyToReceive),
    /// One role of a rendezvous sends a control message to the other.
    Rendezvous {
        /// The request addressed.
        to: Key,
        /// The request whose role sends it.
        from: Key,
        /// The control message.
        word: ControlMessage,
    },
    /// About a window.
    Rma(Arc<RmaPacket>),
    /// About a partitioned operation.
    Partition(Box<PartitionPacket>),
}

/// A posted receive that is ready, as its sender knows it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct ReadyToReceive {
    /// The receiver's request.
    pub receive: Key,
    /// The messages that it takes.
    pub selection: Selection,
    /// Its buffer.
    pub into: Region,
    /// How many messages of this sender without an RTR the receiver had seen.
    pub seen: u32,
}

/// A control message between the two roles of one message, after the RTS.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum ControlMessage {
    /// Clear to send: the receiver is ready; `into` is its buffer, as long as what it takes.
    Cts {
        /// The receiver's buffer.
        into: Region,
        /// How the payload will move: the receiver has decided.
        protocol: Protocol,
        /// Whether the copies of both sides were counted.
        counted: bool,
    },
    /// The payload has been moved.
    Fin,
    /// This message uses the RTR of the receive that is addressed.
    Taken {
        /// Which message.
        message: MessageId,
        /// Its tag; the RTR names the rest of its envelope.
        tag: i32,
        /// Its bytes; the buffer takes what fits.
        bytes: u64,
        /// Whether its payload is there already: then this is the FIN too.
        filled: bool,
    },
    /// Part of the payload, in a shared cell.
    Chunk {
        /// First byte of the part.
        offset: u64,
    },
    /// A shared cell is free again.
    Credit,
}
