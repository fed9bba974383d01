//! Programs of one-sided calls, in few words: one window of 8-byte integers, and settings.
#![allow(dead_code, reason = "each test file uses a part")]

use std::sync::Arc;

use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator};
use mpisim::mpi::rma::access::MemoryModel;
use mpisim::mpi::rma::synchronisation::{LockKind, RankSet, Rules};
use mpisim::mpi::rma::update::{Effect, Update};
use mpisim::protocols::call::{Call, Comm};
use mpisim::protocols::contract::{Handle, Next, Region, Space};
use mpisim::protocols::rma::call::{At, FenceAssert, Flavor, Operation, RmaCall, Win, address};
use mpisim::protocols::rma::{Issue, MappedLocks, Settings, Transport};

pub(crate) const WIN: Win = Win(0);
pub(crate) const SHARED: LockKind = LockKind::Shared;
pub(crate) const EXCLUSIVE: LockKind = LockKind::Exclusive;
/// Bytes of an element.
pub(crate) const WORD: u64 = 8;

pub(crate) type Line = Next<Call>;

pub(crate) const LAZY: Settings = Settings {
    issue: Issue::Lazy,
    transport: Transport::Messages,
    merge: true,
    merge_limit: Some(64),
    segment: None,
    done_after_merge: true,
    mapped_locks: MappedLocks::Messages,
    rules: Rules::Document,
    model: MemoryModel::Unified,
    watch: true,
};

/// Every way to issue and to carry out, each with its name.
pub(crate) fn settings() -> Vec<(&'static str, Settings)> {
    let unmerged = Settings { merge: false, ..LAZY };
    let adaptive = Issue::Adaptive { operations: 1, bytes: 1 << 20 };
    vec![
        ("lazy, merged", LAZY),
        ("lazy", unmerged),
        ("eager", Settings { issue: Issue::Eager, ..LAZY }),
        ("in pieces", Settings { segment: Some(WORD), ..unmerged }),
        ("adaptive", Settings { issue: adaptive, ..unmerged }),
        ("mixed", Settings { transport: Transport::Mixed, ..unmerged }),
        ("mixed, eager", Settings { transport: Transport::Mixed, issue: Issue::Eager, ..unmerged }),
        ("rdma", Settings { transport: Transport::Rdma, ..unmerged }),
    ]
}

pub(crate) fn rma(call: RmaCall) -> Line {
    Next::Call(Call::Rma(Arc::new(call)))
}

pub(crate) fn window(words: u64) -> Line {
    window_of(Flavor::Allocate, words)
}

pub(crate) fn window_of(flavor: Flavor, words: u64) -> Line {
    let (win, comm, bytes) = (WIN, Comm(0), words * WORD);
    rma(RmaCall::Create { win, comm, flavor, memory: 0, bytes, unit: WORD })
}

pub(crate) fn free_window() -> Line {
    rma(RmaCall::Free { win: WIN })
}

pub(crate) fn lock(target: u32, kind: LockKind) -> Line {
    rma(RmaCall::Lock { win: WIN, target, kind, no_check: false })
}

pub(crate) fn unlock(target: u32) -> Line {
    rma(RmaCall::Unlock { win: WIN, target })
}

pub(crate) fn lock_all() -> Line {
    rma(RmaCall::LockAll { win: WIN, no_check: false })
}

pub(crate) fn lock_all_unchecked() -> Line {
    rma(RmaCall::LockAll { win: WIN, no_check: true })
}

pub(crate) fn unlock_all() -> Line {
    rma(RmaCall::UnlockAll { win: WIN })
}

pub(crate) fn flush(target: u32) -> Line {
    rma(RmaCall::Flush { win: WIN, target, local: false })
}

pub(crate) fn flush_local(target: u32) -> Line {
    rma(RmaCall::Flush { win: WIN, target, local: true })
}

pub(crate) fn fence() -> Line {
    rma(RmaCall::Fence { win: WIN, assert: FenceAssert::default() })
}

fn ranks(ranks: &[u32]) -> RankSet {
    ranks.iter().copied().map(Rank).collect()
}

pub(crate) fn post(origins: &[u32]) -> Line {
    rma(RmaCall::Post { win: WIN, group: ranks(origins) })
}

pub(crate) fn start(targets: &[u32]) -> Line {
    rma(RmaCall::Start { win: WIN, group: ranks(targets) })
}

pub(crate) fn complete() -> Line {
    rma(RmaCall::Complete { win: WIN })
}

pub(crate) fn wait_window() -> Line {
    rma(RmaCall::Wait { win: WIN })
}

pub(crate) fn attach(memory: u32, words: u64) -> Line {
    rma(RmaCall::Attach { win: WIN, memory, bytes: words * WORD })
}

pub(crate) fn detach(memory: u32) -> Line {
    rma(RmaCall::Detach { win: WIN, memory })
}

/// Buffer `id` of the program, of some words.
pub(crate) const fn buffer(id: u32, words: u64) -> Region {
    Region::new(Space::User(id), words * WORD)
}

/// A word of the own part of the window.
pub(crate) const fn own_word(index: u64) -> Region {
    Region { space: Space::Window(0), offset: index * WORD, len: WORD }
}

/// Word `index` of buffer `id` becomes `value`.
pub(crate) fn set(id: u32, index: u64, value: u64) -> Line {
    Next::Store(buffer(id, index + 1).part(index * WORD, WORD), value)
}

pub(crate) fn store(index: u64, value: u64) -> Line {
    Next::Store(own_word(index), value)
}

pub(crate) fn load(index: u64) -> Line {
    Next::Load(own_word(index))
}

pub(crate) fn operate(target: u32, at: At, does: Operation, request: Option<u32>) -> Line {
    let request = request.map(Handle);
    rma(RmaCall::Operate { win: WIN, target: Some(target), at, does, request })
}

pub(crate) fn words(index: u64, count: u64) -> At {
    At::contiguous(index, count * WORD)
}

/// A place in attached memory.
pub(crate) fn attached(memory: u32, index: u64, count: u64) -> At {
    At::contiguous(address(memory, index * WORD), count * WORD)
}

/// Puts buffer `id` into a word of the target.
pub(crate) fn put(target: u32, index: u64, id: u32) -> Line {
    operate(target, words(index, 1), Operation::Put { origin: buffer(id, 1) }, None)
}

/// Gets words of the target into buffer `id`.
pub(crate) fn get(target: u32, index: u64, count: u64, id: u32) -> Line {
    operate(target, words(index, count), Operation::Get { into: buffer(id, count) }, None)
}

pub(crate) const REPLACE: Effect = Effect::Replace(Datatype::Int64);
pub(crate) const NO_OP: Effect = Effect::NoOp(Datatype::Int64);

pub(crate) fn sum() -> Effect {
    let Ok(Update::Reduce(sum)) = Update::reduce(Operator::Sum, Datatype::Int64) else {
        panic!("a sum is defined on integers")
    };
    Effect::Reduce(sum)
}

/// Accumulates buffer `id` into as many words of the target.
pub(crate) fn accumulate(target: u32, index: u64, count: u64, update: Effect, id: u32) -> Line {
    let origin = Some(buffer(id, count));
    let does = Operation::Update { update, origin, result: None };
    operate(target, words(index, count), does, None)
}

/// Fetches a word into buffer `result` and updates it with buffer `id`.
pub(crate) fn fetch(target: u32, index: u64, update: Effect, id: u32, result: u32) -> Line {
    let origin = (update != NO_OP).then(|| buffer(id, 1));
    let does = Operation::Update { update, origin, result: Some(buffer(result, 1)) };
    operate(target, words(index, 1), does, None)
}

/// Puts the second word of buffer `id` where its first one is found.
pub(crate) fn swap_if(target: u32, index: u64, id: u32, result: u32) -> Line {
    let update = Effect::CompareAndSwap(Datatype::Int64);
    let origin = Some(buffer(id, 2));
    let does = Operation::Update { update, origin, result: Some(buffer(result, 1)) };
    operate(target, words(index, 1), does, None)
}

/// The first of two threads: it puts a word to rank 1, flushes, and tells the second one.
pub(crate) fn flushes_and_tells(tells: Line) -> Vec<Line> {
    vec![
        window(2),
        lock_all(),
        Next::Fork,
        set(1, 0, 5),
        put(1, 0, 1),
        flush(1),
        tells,
        Next::Join,
        unlock_all(),
        free_window(),
    ]
}
