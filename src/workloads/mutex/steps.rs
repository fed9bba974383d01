//! The steps of a mutex: [`Steps`] is the interface of an algorithm, [`Turn`] its next step, and the rest are
//! the calls and buffers that algorithms share.

use std::sync::Arc;

use mpi::observation::LockId;
use mpi::operator::Datatype;
use mpi::rma::update::Effect;
use protocols::call::Call;
use protocols::contract::{Next, Region, Space};
use protocols::rma::call::{At, LockKind, Operation, RmaCall, Win};

/// The rank that the mutex lives on.
pub(super) const HOST: u32 = 0;
pub(super) const WINDOW: Win = Win(0);
/// Bytes of a rank in the window.
/// Encoding: a number of 32 bits.
pub(super) const WORD: u64 = 4;
/// The one lock of the job, for its monitor.
pub(super) const LOCK: LockId = LockId(0);
/// No rank.
pub(super) const NOBODY: u64 = u32::MAX as u64;

/// A rank that contends, and its part of the window.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Me {
    pub(super) rank: u32,
    pub(super) size: u32,
    /// Its part of the window, of no bytes yet.
    pub(super) part: Region,
}

impl Me {
    /// `bytes` of this rank's own part of the window.
    pub(super) const fn own(self, offset: u64, bytes: u64) -> Region {
        self.part.part(offset, bytes)
    }
}

/// The next step of a mutex.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Turn {
    /// One more step.
    Step(Next<Call>),
    /// The lock is acquired, or released.
    Done,
}

impl Turn {
    pub(super) fn rma(call: RmaCall) -> Self {
        Self::Step(Next::Call(Call::Rma(Arc::new(call))))
    }

    pub(super) fn operate(target: u32, at: At, does: Operation) -> Self {
        let target = Some(target);
        Self::rma(RmaCall::Operate { win: WINDOW, target, at, does, request: None })
    }

    pub(super) fn flush(target: u32) -> Self {
        Self::rma(RmaCall::Flush { win: WINDOW, target, local: false })
    }

    pub(super) const fn load(region: Region) -> Self {
        Self::Step(Next::Load(region))
    }

    /// Reads the result of an operation, once.
    pub(super) const fn consume(region: Region) -> Self {
        Self::Step(Next::Take(region))
    }

    pub(super) const fn store(region: Region, value: u64) -> Self {
        Self::Step(Next::Store(region, value))
    }
}

/// Acquire and release. The contender calls each until it returns [`Turn::Done`].
pub(super) trait Steps {
    /// The next step of acquiring the lock; `value` is what the last load read.
    fn acquire(&mut self, value: u64) -> Turn;

    /// The next step of releasing it.
    fn release(&mut self, value: u64) -> Turn;
}

/// The pauses of test-and-set, each twice as long as the one before.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Pauses {
    /// The first, in picoseconds; at most 1 ms.
    pub first: u64,
    /// Failures that double it, at most 16.
    pub doublings: u32,
}

impl Default for Pauses {
    /// About a round trip on the machines modelled, and the round trips of 64 contenders; assumed.
    fn default() -> Self {
        Self { first: 2_000_000, doublings: 6 }
    }
}

/// The program's buffer number `id`.
pub(super) const fn buffer(id: u32, bytes: u64) -> Region {
    Region::new(Space::User(id), bytes)
}

/// Reads an element as it is.
pub(super) const fn read(into: Region) -> Operation {
    let update = Effect::NoOp(Datatype::Int32);
    Operation::Update { update, origin: None, result: Some(into) }
}

/// Replaces an element; `result`, if any, gets the old one.
pub(super) const fn swap(origin: Region, result: Option<Region>) -> Operation {
    Operation::Update { update: Effect::Replace(Datatype::Int32), origin: Some(origin), result }
}

/// Replaces an element that is the first of `operands` by the second.
pub(super) const fn compare_and_swap(operands: Region, result: Region) -> Operation {
    let update = Effect::CompareAndSwap(Datatype::Int32);
    Operation::Update { update, origin: Some(operands), result: Some(result) }
}

/// The exclusive epoch around the operations of a byte-vector mutex.
pub(super) const fn exclusive(target: u32) -> RmaCall {
    RmaCall::Lock { win: WINDOW, target, kind: LockKind::Exclusive, no_check: false }
}
