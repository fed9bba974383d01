//! The `program` workload: what each rank does, written out call by call.
//!
//! [`Op`] is one entry as it was read, with names for requests and messages. [`Programs::new`]
//! checks all ranks together and turns names into handles; [`ProgramStream`] is the program of one
//! rank as a runtime drives it, and keeps a [`Record`] of what each call returned.
//!
//! Every operation that moves bytes has a buffer of its own, numbered in the order of the
//! operations: after a run the buffers tell what arrived where.
//!
//! A handle without an open operation behaves as `MPI_REQUEST_NULL` does: a wait or test for it
//! returns at once, and a set leaves it out of consideration.

mod check;
mod record;
mod stream;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use check::{Problem, ProgramError};
pub use record::{Ending, Record, Returned};
pub use stream::ProgramStream;

use protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use units::TimeDelta;

/// One operation of a rank, as it stands in the scenario.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Op {
    /// Line of the file, from 1.
    pub line: u32,
    /// What it does.
    pub kind: OpKind,
}

/// What an operation does; `req` names a request, `handle` a probed message.
///
/// `bytes` is what a send sends and what a receive has room for; a `tag` of `None` is
/// `MPI_ANY_TAG`.
#[allow(missing_docs, reason = "argument names of MPI")]
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum OpKind {
    /// `isend`, `issend`.
    Isend { req: String, to: Peer, tag: i32, comm: Comm, bytes: u64, mode: SendMode },
    /// `send`, `ssend`.
    Send { to: Peer, tag: i32, comm: Comm, bytes: u64, mode: SendMode },
    /// `irecv`.
    Irecv { req: String, src: Peer, tag: Option<i32>, comm: Comm, bytes: u64 },
    /// `recv`.
    Recv { src: Peer, tag: Option<i32>, comm: Comm, bytes: u64 },
    /// `wait`.
    Wait { req: String },
    /// `waitall`.
    WaitAll { reqs: Vec<String> },
    /// `waitany`.
    WaitAny { reqs: Vec<String> },
    /// `test`.
    Test { req: String },
    /// `testall`.
    TestAll { reqs: Vec<String> },
    /// `probe`.
    Probe { src: Peer, tag: Option<i32>, comm: Comm },
    /// `iprobe`.
    Iprobe { src: Peer, tag: Option<i32>, comm: Comm },
    /// `mprobe`.
    Mprobe { handle: String, src: Peer, tag: Option<i32>, comm: Comm },
    /// `improbe`.
    Improbe { handle: String, src: Peer, tag: Option<i32>, comm: Comm },
    /// `mrecv`.
    Mrecv { handle: String, bytes: u64 },
    /// `imrecv`.
    Imrecv { handle: String, req: String, bytes: u64 },
    /// `cancel`.
    Cancel { req: String },
    /// `barrier`.
    Barrier { comm: Comm },
    /// `compute`: time outside the library.
    Compute { time: TimeDelta },
}

/// The checked programs of all ranks of `MPI_COMM_WORLD`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Programs {
    ranks: Vec<Arc<[Step]>>,
}

/// An operation with handles for names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step {
    /// Line of the file, from 1.
    pub line: u32,
    /// What it does.
    pub does: Does,
}

/// What a step does.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Does {
    /// It calls the library.
    Call(Call),
    /// It spends time outside the library.
    Compute(TimeDelta),
    /// It notes the time under this number.
    Mark(u32),
}

impl Programs {
    /// Checks the operations of every rank; the list's length is the size of `MPI_COMM_WORLD`.
    ///
    /// # Errors
    ///
    /// Everything that is wrong, in the order of ranks and operations.
    pub fn new(ranks: &[Vec<Op>]) -> Result<Self, Vec<ProgramError>> {
        let mut errors = Vec::new();
        let size = u32::try_from(ranks.len()).unwrap_or(u32::MAX);
        let ranks: Vec<Arc<[Step]>> = ranks
            .iter()
            .zip(0..)
            .map(|(ops, rank)| check::rank(size, rank, ops, &mut errors))
            .collect();
        if errors.is_empty() { Ok(Self { ranks }) } else { Err(errors) }
    }

    /// Programs that a reader has checked by itself: handles are opened before they are asked
    /// about, and each operation that moves bytes has a buffer of its own.
    pub fn checked(ranks: Vec<Arc<[Step]>>) -> Self {
        Self { ranks }
    }

    /// Number of ranks.
    pub fn size(&self) -> usize {
        self.ranks.len()
    }

    /// The program of one rank, at its beginning.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`Self::size`].
    pub fn stream(&self, rank: usize) -> ProgramStream {
        ProgramStream::new(Arc::clone(&self.ranks[rank]))
    }

    /// The buffer of operation number `op` of a rank; `None` where it moves no bytes.
    ///
    /// # Panics
    ///
    /// When there is no such rank or operation.
    pub fn buffer(&self, rank: usize, op: usize) -> Option<Buffer> {
        match &self.ranks[rank][op].does {
            Does::Call(call) => buffer_of(call),
            Does::Compute(_) | Does::Mark(_) => None,
        }
    }

    /// All buffers of a rank, in the order of their numbers.
    ///
    /// # Panics
    ///
    /// When `rank` is not below [`Self::size`].
    pub fn buffers(&self, rank: usize) -> impl Iterator<Item = Buffer> {
        (0..self.ranks[rank].len()).filter_map(move |op| self.buffer(rank, op))
    }
}

/// The buffer that a call reads or fills.
fn buffer_of(call: &Call) -> Option<Buffer> {
    match call {
        Call::Isend { buffer, .. }
        | Call::Send { buffer, .. }
        | Call::Irecv { buffer, .. }
        | Call::Recv { buffer, .. }
        | Call::Mrecv { buffer, .. }
        | Call::Imrecv { buffer, .. } => Some(*buffer),
        Call::Typed(typed) => buffer_of(&typed.call),
        Call::Wait { .. }
        | Call::WaitAll { .. }
        | Call::WaitAny { .. }
        | Call::Test { .. }
        | Call::TestAll { .. }
        | Call::Probe { .. }
        | Call::Iprobe { .. }
        | Call::Mprobe { .. }
        | Call::Improbe { .. }
        | Call::Cancel { .. }
        | Call::Barrier { .. }
        | Call::Init
        | Call::AttachBuffer { .. }
        | Call::DetachBuffer
        | Call::CreateEndpoints { .. }
        | Call::FreeEndpoint { .. }
        | Call::Attach { .. }
        | Call::Compare { .. }
        | Call::Rma(_)
        | Call::Device(_)
        | Call::Communicators(_)
        | Call::Icollective { .. }
        | Call::Collective(_) => None,
    }
}
