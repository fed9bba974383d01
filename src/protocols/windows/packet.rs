//! What goes over the wire between the processes of a window.

use std::fmt;
use std::sync::Arc;

use super::call::LockKind;
use calls::space::{Region, Space};
use mpi::rma::update::Effect;

/// Bytes that describe a derived type of the target's, behind the header.
/// Encoding: kind, count, block length, stride and extent, 8 each.
pub const DERIVED_BYTES: u64 = 40;

/// Communicator or window that an exchange of words belongs to.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Scope {
    /// A communicator, by its context: a window is being made.
    Comm(u32),
    /// A window.
    Window(u32),
}

/// One packet.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum RmaPacket {
    /// A message of an exchange: see `exchange.rs`.
    Words {
        /// Communicator or window that it belongs to.
        scope: Scope,
        /// Words of the exchange.
        words: Arc<[u64]>,
    },
    /// Something about one window.
    About {
        /// The window, by the number that its processes have agreed on.
        window: u32,
        /// Body of the packet.
        body: Body,
    },
}

/// Body of a packet about a window.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Body {
    /// The origin asks for the lock of the target.
    Lock(LockKind),
    /// The origin has the lock.
    Granted,
    /// The target is to do this; the payload is what it reads of the origin.
    Operate {
        /// Operation on the target's memory.
        does: Does,
        /// Where.
        place: Place,
        /// The operation asks for the lock itself (lock-op-unlock).
        locks: Option<LockKind>,
        /// Flush, lock or epoch that ends with it.
        closes: Closes,
        /// The origin's name for the operation, where it wants bytes back.
        answer: Option<u32>,
    },
    /// The bytes that operation `answer` of the origin requested.
    Reply {
        /// The origin's name for the operation.
        answer: u32,
        /// Whether it also says what [`Body::Done`] says.
        closes: bool,
    },
    /// End of a flush, lock or epoch without an operation to carry it.
    Close(Closes),
    /// Everything up to the flush or unlock of the request is done.
    Done,
    /// The target has opened an exposure epoch for the origin.
    Post,
}

/// Operation of a target on its memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Does {
    /// Writes the payload.
    Put,
    /// Sends bytes back.
    Get,
    /// Updates elements, with the payload as operand.
    Update(Effect),
}

/// Flush, lock or epoch that a packet ends.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Closes {
    /// Nothing.
    Nothing,
    /// Nothing, but the target counts it: a fence waits for as many.
    Counted,
    /// The operations so far: the origin wants to know when they are done.
    Flush,
    /// The lock.
    Unlock {
        /// Whether the origin wants to know when that is done.
        answers: bool,
    },
    /// The origin's part of an exposure epoch (`MPI_Win_complete`).
    Epoch,
}

/// Blocks of bytes in a target's memory.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Place {
    /// Which memory.
    pub memory: u32,
    /// Whether several processes map it.
    pub shared: bool,
    /// First byte of the first block.
    pub offset: u64,
    /// Bytes of a block.
    pub block: u64,
    /// Blocks.
    pub count: u32,
    /// Bytes from the start of one block to that of the next.
    pub stride: u64,
}

impl Place {
    /// Bytes that move.
    pub const fn bytes(self) -> u64 {
        self.block * self.count as u64
    }

    /// Bytes from the first to the last one.
    pub const fn span(self) -> u64 {
        if self.count == 0 { 0 } else { self.stride * (self.count as u64 - 1) + self.block }
    }

    /// Whether the blocks are a derived type.
    pub const fn is_strided(self) -> bool {
        self.count > 1 && self.stride != self.block
    }

    /// Each run of bytes in the target, and where it stands among the bytes that move.
    pub fn runs(self) -> impl Iterator<Item = (Region, u64)> {
        let (block, count) =
            if self.is_strided() { (self.block, self.count) } else { (self.bytes(), 1) };
        (0..u64::from(count)).map(move |index| {
            let offset = self.offset + index * self.stride;
            let name = self.memory;
            let space = if self.shared { Space::Shared(name) } else { Space::Window(name) };
            (Region { space, offset, len: block }, index * block)
        })
    }
}

impl fmt::Display for RmaPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Words { words, .. } => write!(f, "WORDS {}", words.len()),
            Self::About { body, .. } => body.fmt(f),
        }
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock(LockKind::Shared) => f.write_str("LOCK shared"),
            Self::Lock(LockKind::Exclusive) => f.write_str("LOCK exclusive"),
            Self::Granted => f.write_str("GRANTED"),
            Self::Operate { does, place, locks, closes, .. } => {
                if locks.is_some() {
                    f.write_str("LOCK + ")?;
                }
                write!(f, "{does} {} B", place.bytes())?;
                if matches!(closes, Closes::Nothing | Closes::Counted) {
                    return Ok(());
                }
                write!(f, " + {closes}")
            }
            Self::Reply { .. } => f.write_str("DATA"),
            Self::Close(closes) => closes.fmt(f),
            Self::Done => f.write_str("DONE"),
            Self::Post => f.write_str("POST"),
        }
    }
}

impl fmt::Display for Does {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Put => "PUT",
            Self::Get => "GET",
            Self::Update(Effect::CompareAndSwap(_)) => "COMPARE_AND_SWAP",
            Self::Update(_) => "ACCUMULATE",
        })
    }
}

impl fmt::Display for Closes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing | Self::Counted => "nothing",
            Self::Flush => "FLUSH",
            Self::Unlock { .. } => "UNLOCK",
            Self::Epoch => "COMPLETE",
        })
    }
}
