//! Arguments and results of MPI functions: communicators, windows, buffers, requests, statuses.

use std::sync::Arc;

use super::identity::Handle;
use mpi::envelope::Rank;

/// A communicator as the program names it; 0 is `MPI_COMM_WORLD`.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Comm(pub u16);

/// A window as the program names it.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Win(pub u16);

/// The other side of an operation.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Peer {
    /// A rank of the communicator.
    Rank(Rank),
    /// `MPI_ANY_SOURCE`: receives and probes only.
    Any,
    /// `MPI_PROC_NULL`: the operation completes at once and moves nothing.
    Null,
}

/// How a send may complete.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum SendMode {
    /// As the library sees fit: at once below the eager threshold.
    #[default]
    Standard,
    /// Not before the message is matched.
    Synchronous,
    /// At once: the message is copied into the buffer that the program has attached.
    Buffered,
    /// As `Standard`; the program promises that the receive is posted.
    Ready,
}

/// Where the bytes of an operation are, in the program's memory.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Buffer {
    /// The program's buffer.
    pub id: u32,
    /// Its bytes: sent, or room for.
    pub bytes: u64,
}

impl Buffer {
    /// The first number of buffers whose bytes are the program's own: it writes them before it sends, and reads
    /// them after a receive. Monitors fill all other buffers of messages.
    /// Encoding: numbers of buffers; those of workloads are lower.
    pub const OWN: u32 = 1 << 24;
}

/// A set of requests, in order.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Requests {
    /// `count` consecutive handles.
    Range {
        /// The first.
        first: Handle,
        /// How many.
        count: u32,
    },
    /// Any handles.
    List(Arc<[Handle]>),
}

impl Requests {
    /// How many requests the set holds.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Range { count, .. } => *count as usize,
            Self::List(list) => list.len(),
        }
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The `index`-th request.
    ///
    /// # Panics
    ///
    /// When `index` is not below [`Self::len`].
    #[inline]
    pub fn at(&self, index: usize) -> Handle {
        match self {
            Self::Range { first, count } => {
                assert!(index < *count as usize, "request {index} of a set of {count}");
                Handle(first.0 + u32::try_from(index).expect("checked against a u32"))
            }
            Self::List(list) => list[index],
        }
    }
}

/// `MPI_Status`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Status {
    /// Rank of the sender; `None` for `MPI_PROC_NULL`.
    pub source: Option<Rank>,
    /// Tag of the message; `None` for `MPI_PROC_NULL` (printed as `MPI_ANY_TAG`).
    pub tag: Option<i32>,
    /// Bytes received.
    pub count: u64,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Outcome {
    /// The send buffer is free.
    Sent,
    /// The message is in the receive buffer.
    Received(Status),
    /// `MPI_ERR_TRUNCATE`: the message was longer than the buffer; `count` is what fitted.
    Truncated(Status),
    /// The receive was cancelled.
    Cancelled,
}
