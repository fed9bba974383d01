//! Facts of a window of ranks 0 to 2, and the findings of the monitor.

use super::*;
use mpi::operator::Datatype;
use mpi::rma::access::Change;

const WINDOW: u32 = 7;
const SHARED: Reach = Reach::Lock(LockKind::Shared);
const PUT: Touch = Touch::Put;

struct Watch {
    windows: Windows,
    model: MemoryModel,
    found: Vec<Violation>,
}

fn watch(model: MemoryModel) -> Watch {
    let mut watch = Watch { windows: Windows::default(), model, found: Vec::new() };
    for process in 0..3 {
        watch.told(process, WindowFact::Exposed { memory: 0, model });
    }
    watch
}

impl Watch {
    fn told(&mut self, process: u32, fact: WindowFact) {
        self.windows.told(Process(process), WINDOW, fact, Some(10 + process), &mut self.found);
    }

    /// An operation on the first word of rank 0.
    fn accesses(&mut self, origin: u32, touch: Touch, reach: Reach) {
        let (owner, memory, start, bytes, model) = (0, 0, 0, 8, self.model);
        let fact = WindowFact::Accessed { owner, memory, start, bytes, touch, reach, model };
        self.told(origin, fact);
    }

    /// Rank 0 touches its first word.
    fn touches(&mut self, touch: Touch) {
        let word = Region::new(Space::Window(0), 8);
        self.windows.touched(Process(0), word, touch, Some(3), &mut self.found);
    }

    #[track_caller]
    fn check(&self, count: usize) {
        assert_eq!(self.found.len(), count, "{:#?}", self.found);
    }
}

#[test]
fn overlapping_puts_are_told_with_both_calls() {
    let mut watch = watch(MemoryModel::Unified);
    watch.accesses(1, PUT, SHARED);
    watch.accesses(2, PUT, SHARED);
    watch.accesses(2, PUT, SHARED);
    assert_eq!(watch.windows.side_by_side, 2);
    assert_eq!(
        watch.found[0].to_string(),
        "window 7, memory 0 of process 0: put of bytes 0..8 by rank 2 in line 12 conflicts with put \
         of bytes 0..8 by rank 1 in line 11: they overlap, and neither is complete before the other \
         (unified model) (R2: accesses to a window that run together keep the table of its memory model)"
    );
    watch.check(1);
}

#[test]
fn a_flush_or_an_unlock_ends_an_access() {
    for owner in [None, Some(0)] {
        let mut watch = watch(MemoryModel::Separate);
        watch.accesses(1, PUT, SHARED);
        watch.told(1, WindowFact::Arrived { owner });
        watch.told(1, WindowFact::Completed { owner });
        watch.accesses(2, PUT, SHARED);
        watch.check(0);
        watch.told(2, WindowFact::Completed { owner: Some(1) });
        watch.accesses(1, Touch::Get, SHARED);
        watch.check(1);
    }
}

#[test]
fn what_was_got_is_over_with_less() {
    let mut watch = watch(MemoryModel::Separate);
    watch.accesses(1, Touch::Get, SHARED);
    watch.told(1, WindowFact::Arrived { owner: Some(0) });
    watch.accesses(2, PUT, SHARED);
    watch.check(0);
}

#[test]
fn a_fence_separates_epochs_that_begin_before_the_others_have_ended() {
    let mut watch = watch(MemoryModel::Unified);
    for process in 0..3 {
        watch.told(process, WindowFact::Fenced);
    }
    watch.accesses(1, PUT, Reach::Fence);
    watch.told(2, WindowFact::Fenced);
    watch.accesses(2, PUT, Reach::Fence);
    watch.check(0);
    watch.told(1, WindowFact::Fenced);
    watch.accesses(1, PUT, Reach::Fence);
    watch.check(1);
    watch.told(0, WindowFact::Fenced);
    watch.told(0, WindowFact::FenceOver);
    watch.told(0, WindowFact::Fenced);
    watch.told(0, WindowFact::FenceOver);
    watch.touches(Touch::Store);
    watch.check(1);
}

#[test]
fn an_operation_begins_with_the_post_that_it_waits_for() {
    let mut watch = watch(MemoryModel::Unified);
    let started = WindowFact::Started { owner: 0 };
    for process in 1..3 {
        watch.told(process, started);
        watch.accesses(process, PUT, Reach::Start);
    }
    watch.check(0);
    watch.told(0, WindowFact::Posted { origin: 1 });
    watch.told(0, WindowFact::ExposureOver);
    watch.touches(Touch::Load);
    watch.told(0, WindowFact::Synchronised);
    watch.told(0, WindowFact::Posted { origin: 2 });
    watch.check(0);
    watch.told(1, started);
    watch.accesses(1, PUT, Reach::Start);
    watch.told(0, WindowFact::Posted { origin: 1 });
    watch.check(1);
}

#[test]
fn an_exposure_is_over_before_the_next_fence_of_its_owner() {
    for (fences, violations) in [(1, 0), (0, 1)] {
        let mut watch = watch(MemoryModel::Unified);
        watch.told(0, WindowFact::Posted { origin: 1 });
        watch.told(1, WindowFact::Started { owner: 0 });
        watch.accesses(1, PUT, Reach::Start);
        for _ in 0..fences {
            watch.told(2, WindowFact::Fenced);
        }
        watch.accesses(2, PUT, Reach::Fence);
        watch.check(violations);
    }
}

#[test]
fn the_owner_of_separate_memory_loads_what_others_completed_after_it_has_synchronised() {
    for (model, violations) in [(MemoryModel::Separate, 1), (MemoryModel::Unified, 0)] {
        for kind in [LockKind::Shared, LockKind::Exclusive] {
            let mut watch = watch(model);
            watch.accesses(1, PUT, Reach::Lock(kind));
            watch.told(1, WindowFact::Completed { owner: Some(0) });
            watch.accesses(2, PUT, SHARED);
            watch.check(0);
            watch.told(2, WindowFact::Completed { owner: Some(0) });
            watch.touches(Touch::Load);
            watch.check(violations);
            watch.told(0, WindowFact::Synchronised);
            watch.touches(Touch::Load);
            watch.check(violations);
        }
    }
}

#[test]
fn a_store_before_any_call_on_the_window_is_watched() {
    let mut watch = watch(MemoryModel::Separate);
    assert!(watch.windows.watches());
    watch.touches(Touch::Store);
    watch.accesses(1, Touch::Get, SHARED);
    watch.check(1);
}

#[test]
fn ranks_that_fenced_unlike_are_told_when_the_window_is_freed() {
    let mut watch = watch(MemoryModel::Unified);
    watch.told(1, WindowFact::Fenced);
    watch.told(2, WindowFact::Freed { first: 2 });
    for process in 0..2 {
        watch.told(process, WindowFact::Freed { first: 0 });
    }
    assert_eq!(
        watch.found[0].to_string(),
        "window 7: process 0 has called MPI_Win_fence 0 times when it frees the window, and process 1 \
         1 times, in line 11 (C4: the ranks of a window call the same fences on it)"
    );
    watch.check(1);
}

#[test]
fn a_store_lasts_until_others_may_know_of_it() {
    for (model, violations) in [(MemoryModel::Separate, 1), (MemoryModel::Unified, 0)] {
        let mut watch = watch(model);
        watch.touches(Touch::Store);
        watch.windows.speaks(Process(0));
        watch.accesses(1, PUT, SHARED);
        watch.check(violations);
        watch.told(1, WindowFact::Completed { owner: None });
        watch.told(0, WindowFact::Synchronised);
        watch.touches(Touch::Store);
        watch.told(0, WindowFact::Synchronised);
        watch.accesses(1, PUT, SHARED);
        watch.check(violations);
    }
}

#[test]
fn the_models_differ_beside_a_load() {
    let sum = Touch::Acc(Change::Replace, Datatype::Int64);
    for (model, violations) in [(MemoryModel::Separate, 1), (MemoryModel::Unified, 0)] {
        let mut watch = watch(model);
        watch.accesses(1, sum, SHARED);
        watch.touches(Touch::Load);
        watch.check(violations);
        let first = watch.found.first().map(ToString::to_string).unwrap_or_default();
        assert!(violations == 0 || first.contains("load of bytes 0..8 by rank 0 in line 3"));
    }
}

#[test]
fn an_own_lock_keeps_others_away() {
    for (kind, violations) in [(LockKind::Exclusive, 0), (LockKind::Shared, 1)] {
        let mut watch = watch(MemoryModel::Unified);
        watch.told(0, WindowFact::OwnLock(Some(kind)));
        watch.accesses(1, PUT, SHARED);
        watch.touches(Touch::Store);
        watch.check(violations);
    }
}

#[test]
fn nothing_is_left_of_a_window_that_is_freed() {
    for model in [MemoryModel::Unified, MemoryModel::Separate] {
        let mut watch = watch(model);
        watch.accesses(1, PUT, SHARED);
        for process in 0..3 {
            watch.told(process, WindowFact::Hidden { memory: 0 });
            watch.told(process, WindowFact::Freed { first: 0 });
        }
        assert!(!watch.windows.watches() && watch.windows.memories.is_empty());
        assert!(watch.windows.separate.0.is_empty());
        watch.touches(Touch::Store);
        watch.check(0);
    }
}
