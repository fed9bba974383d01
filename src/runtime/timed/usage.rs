//! Where a run has a limit of memory, what it holds is counted now and then ([`crate::memory_use`]).
//!
//! Between two looks lie so many events that looking costs nothing beside them, and that number depends
//! on the run alone: it stops after the same event everywhere. An event can take much: where payload was
//! stored that may pass the limit, or threads ran far ahead of the clock, a look comes at once; and one
//! comes when the run has ended well.

use crate::memory::Payload;
use crate::memory_use::MemoryUse;
use engine::LimitReached;
use units::Bytes;

/// Events between two looks, at least.
/// Method: an event takes little memory where bytes do not exist.
const PHANTOM: u64 = 4096;
/// The same where bytes exist.
/// Method: an event can take many of them.
const REAL: u64 = 64;
/// Events for each place that a look has to visit.
/// Method: a look takes time for each place.
const EACH: u64 = 16;
/// Parts of the limit of which one is stored without a look, at least.
/// Method: a run that holds nearly what it may is not looked at without end.
const PARTS: u64 = 16;

/// Watch over the memory use of a run, where it has a limit.
#[derive(Debug)]
pub(super) struct MemoryWatch {
    limit: Bytes,
    /// After how many events it is looked at.
    next: u64,
    /// The most that it was seen to hold.
    most: MemoryUse,
    /// Lists that threads have run as far ahead as they may, since it was looked at last.
    far: u64,
}

impl MemoryWatch {
    /// The first look comes before the first event, where there is a limit.
    pub(super) fn new(limit: Bytes) -> Self {
        let mut this = Self { limit, next: u64::MAX, most: MemoryUse::default(), far: 0 };
        if this.is_limited() {
            this.next = 0;
        }
        this
    }

    /// Whether the run has a limit.
    pub(super) fn is_limited(&self) -> bool {
        self.limit < Bytes::new(u64::MAX)
    }

    /// After how many events it is to be looked at again.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// The most that the run was seen to hold.
    pub(super) const fn most(&self) -> MemoryUse {
        self.most
    }

    /// Threads have run ahead by so many lists in one event, and would go on; answers whether it is to
    /// be looked at.
    pub(super) fn ran_far(&mut self, lists: u32, processes: usize) -> bool {
        self.far += u64::from(lists);
        self.is_limited() && self.far >= PHANTOM.max(EACH * processes as u64)
    }

    /// The run holds so much after so many events, and so many places were visited to know it: how many
    /// bytes may be stored until the next look, and the limit, if it is passed.
    pub(super) fn look(
        &mut self,
        (held, places): (MemoryUse, u64),
        payload: Payload,
        events: u64,
    ) -> (u64, Option<LimitReached>) {
        let least = match payload {
            Payload::Phantom => PHANTOM,
            Payload::Real => REAL,
        };
        self.most = self.most.more(held);
        self.next = events + least.max(EACH * places);
        self.far = 0;
        let limit = self.limit.as_u64();
        let left = limit.saturating_sub(held.total().as_u64());
        (left.max(limit / PARTS).max(1), held.beyond(self.limit, events))
    }
}
