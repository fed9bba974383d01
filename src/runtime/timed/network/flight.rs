//! What is under way between two processes, and the tokens by which the fabric knows it.

use crate::memory::Parcel;
use hardware::cluster::Posting;
use mpi::rma::update::Effect;
use protocols::contract::{Process, Region, Route, Token, Via};

/// Something that is under way between two processes.
#[derive(Clone, Debug)]
pub(in crate::timed) struct Flight {
    pub(in crate::timed) kind: FlightKind,
    pub(in crate::timed) from: Process,
    /// Where to, and the lanes.
    pub(in crate::timed) to: Route,
    /// Index of the channel from `from` to `to`.
    pub(in crate::timed) channel: u32,
    pub(in crate::timed) bytes: u64,
    /// Whether the sender's HCA was asked for a completion.
    pub(in crate::timed) signalled: bool,
    /// How it is posted, while the queue pair's rate holds it back.
    pub(in crate::timed) held: Option<Posting>,
}

#[derive(Clone, Debug)]
#[repr(u8)]
pub(in crate::timed) enum FlightKind {
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

/// What a thread's poll can take.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
pub(in crate::timed) enum Arrived {
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

/// What a packet carries: it stays in one place from its departure until a poll takes it.
#[derive(Clone, Debug)]
pub(in crate::timed) struct Content<P> {
    pub(in crate::timed) packet: P,
    pub(in crate::timed) parcel: Option<Parcel>,
    /// Bytes of a queue of shared memory that it lies in; `None`: its payload lies elsewhere.
    pub(in crate::timed) slots: Option<u32>,
}

/// Kinds of fabric tokens: a flight, or a thread's copy.
pub(in crate::timed) const TRANSFER: u64 = 0;
pub(in crate::timed) const COPY: u64 = 1;
pub(in crate::timed) const RELIABLE: u64 = 2;

pub(in crate::timed) const fn token(kind: u64, id: u32) -> u64 {
    kind << 32 | id as u64
}

/// Kind and id of a token.
pub(in crate::timed) fn token_of(token: u64) -> (u64, u32) {
    let id = u32::try_from(token & u64::from(u32::MAX)).expect("masked to 32 bits");
    (token >> 32, id)
}

impl Flight {
    pub(in crate::timed) const fn send_done(from: Process, to: Route, channel: u32) -> Self {
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
