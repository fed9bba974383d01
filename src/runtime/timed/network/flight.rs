//! What is under way between two processes, and the tokens by which the fabric knows it.

use crate::memory::Parcel;
use hardware::cluster::Posting;
use mpi::rma::update::Effect;
use protocols::contract::{Lane, Process, Region, Route, Token, Via};

/// Something that is under way between two processes.
#[derive(Clone, Debug)]
pub(crate) struct Flight {
    pub(crate) kind: FlightKind,
    pub(crate) from: Process,
    /// Where to, and the lanes.
    pub(crate) to: Route,
    /// Index of the channel from `from` to `to`.
    pub(crate) channel: u32,
    pub(crate) bytes: u64,
    /// Whether the sender's HCA owes a completion.
    pub(crate) signalled: bool,
    /// How it is posted, while the queue pair's rate holds it back.
    pub(crate) held: Option<Posting>,
}

#[derive(Clone, Debug)]
#[repr(u8)]
pub(crate) enum FlightKind {
    Packet {
        content: u32,
        via: Via,
    },
    /// `immediate`: the content that arrives with the last byte.
    Write {
        from: Region,
        into: Region,
        token: Token,
        immediate: Option<u32>,
    },
    ReadRequest {
        remote: Region,
        into: Region,
        token: Token,
    },
    ReadAnswer {
        into: Region,
        token: Token,
        parcel: Parcel,
    },
    AtomicRequest {
        target: Region,
        update: Effect,
        into: Region,
        token: Token,
        operand: Parcel,
    },
    SendDone,
}

/// Entry that a thread's poll can take.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(crate) enum Arrived {
    Packet {
        /// The way back.
        from: Route,
        /// Index of the channel that it came by.
        channel: u32,
        content: u32,
        via: Via,
    },
    Done(Token),
    /// The end of an operation of the GPU.
    Device(Token),
    /// The value that a thread waits for.
    Seen(Token),
    /// A signalled send has left: costs its poll and nothing else.
    SendDone,
}

/// Entry that joins a channel of a process.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) process: Process,
    pub(crate) lane: Lane,
    pub(crate) entry: Arrived,
}

/// Consequence of a flight's arrival.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Landing {
    /// Nothing that a process could meet now.
    Quiet,
    /// A packet joins a channel.
    Packet(Arrival),
    /// A write has changed memory: its immediate data takes a receive buffer, then it is completed.
    Written { immediate: Option<u32>, flight: u32 },
    /// A read, or an atomic, has changed the memory of `reader`: its connection may begin the next one,
    /// then it is completed.
    Read { reader: Process, owner: Route, flight: u32 },
}

/// Contents of a packet: they stay in one place from its departure until a poll takes them.
#[derive(Clone, Debug)]
pub(crate) struct Content<P> {
    pub(crate) packet: P,
    pub(crate) parcel: Option<Parcel>,
    /// Bytes of a queue of shared memory that it lies in; `None`: its payload lies elsewhere.
    pub(crate) slots: Option<u32>,
}

/// Kinds of fabric tokens: a flight, or a thread's copy.
pub(crate) const TRANSFER: u64 = 0;
pub(crate) const COPY: u64 = 1;
/// Encoding: a kind stands above the 32 bits of a number.
pub(crate) const RELIABLE: u64 = 2;

pub(crate) const fn token(kind: u64, id: u32) -> u64 {
    kind << 32 | id as u64
}

/// Kind and id of a token.
pub(crate) fn token_of(token: u64) -> (u64, u32) {
    let id = u32::try_from(token & u64::from(u32::MAX)).expect("masked to 32 bits");
    (token >> 32, id)
}

impl Flight {
    pub(crate) const fn send_done(from: Process, to: Route, channel: u32) -> Self {
        Self {
            kind: FlightKind::SendDone,
            from,
            to,
            channel,
            bytes: 0,
            signalled: false,
            held: None,
        }
    }
}
