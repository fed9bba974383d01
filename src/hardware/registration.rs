//! The registration cache of an MPI library: which bytes of which buffers of a process stay pinned for the
//! HCA.
//!
//! A registration pins what it is asked for, a part of a buffer too. What is asked for again costs nothing
//! while all of it is pinned; where a part of it is not, all of it is pinned anew, as a cache does that looks
//! for one entry. Where the bytes would pass the limit, the buffers that were used longest ago are unpinned,
//! as in MVAPICH2. Its limit, `MV2_DREG_CACHE_LIMIT`, is none by default.
//!
//! Left out: its limit on the number of buffers (`MV2_NDREG_ENTRIES`), the time that unpinning takes, and
//! buffers that are in use when they leave. Noticeable in programs of thousands of buffers.

use std::collections::BTreeMap;
use std::ops::Range;

use units::Bytes;

/// What a registration finds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Found {
    /// All its bytes are pinned.
    Pinned,
    /// Some have never been pinned.
    New,
    /// All were pinned, and some had to leave.
    Left,
}

/// The pinned buffers of one process; buffers have names of type `K`.
#[derive(Clone, Debug)]
pub struct RegistrationCache<K> {
    /// The most bytes that stay pinned.
    limit: u64,
    used: u64,
    buffers: BTreeMap<K, Buffer>,
    clock: u64,
}

#[derive(Clone, Debug, Default)]
struct Buffer {
    pinned: Parts,
    /// What was ever pinned.
    ever: Parts,
    /// Its last use.
    age: u64,
}

/// Parts of a buffer, in order; those that touch are one.
#[derive(Clone, Debug, Default)]
struct Parts(Vec<Range<u64>>);

impl Parts {
    fn hold(&self, asked: &Range<u64>) -> bool {
        self.touching(asked)
            .first()
            .is_some_and(|part| part.start <= asked.start && part.end >= asked.end)
    }

    /// The places of the parts that overlap or touch a range.
    fn places(&self, asked: &Range<u64>) -> Range<usize> {
        let first = self.0.partition_point(|part| part.end < asked.start);
        let count = self.0[first..].iter().take_while(|part| part.start <= asked.end).count();
        first..first + count
    }

    fn touching(&self, asked: &Range<u64>) -> &[Range<u64>] {
        &self.0[self.places(asked)]
    }

    /// Adds a range: by how many bytes the parts grow.
    fn add(&mut self, asked: &Range<u64>) -> u64 {
        let length = |range: &Range<u64>| range.end - range.start;
        let touching = self.touching(asked);
        let before: u64 = touching.iter().map(length).sum();
        let whole = touching.iter().fold(asked.clone(), |whole, part| {
            whole.start.min(part.start)..whole.end.max(part.end)
        });
        let grown = length(&whole) - before;
        self.0.splice(self.places(asked), [whole]);
        grown
    }

    fn length(&self) -> u64 {
        self.0.iter().map(|part| part.end - part.start).sum()
    }
}

impl<K: Copy + Ord> RegistrationCache<K> {
    /// Nothing is pinned yet.
    pub const fn new(limit: Bytes) -> Self {
        Self { limit: limit.as_u64(), used: 0, buffers: BTreeMap::new(), clock: 0 }
    }

    /// Bytes of a buffer are needed: they are pinned afterwards, and stay so where the limit allows it.
    pub fn register(&mut self, name: K, bytes: &Range<u64>) -> Found {
        self.clock += 1;
        let buffer = self.buffers.entry(name).or_default();
        buffer.age = self.clock;
        if buffer.pinned.hold(bytes) {
            return Found::Pinned;
        }
        let known = buffer.ever.hold(bytes);
        if !known {
            buffer.ever.add(bytes);
        }
        self.used += buffer.pinned.add(bytes);
        self.unpin();
        if known { Found::Left } else { Found::New }
    }

    /// The buffers that were used longest ago make room.
    fn unpin(&mut self) {
        while self.used > self.limit {
            let pinned = self.buffers.values_mut().filter(|buffer| !buffer.pinned.0.is_empty());
            let Some(oldest) = pinned.min_by_key(|buffer| buffer.age) else { return };
            self.used -= oldest.pinned.length();
            oldest.pinned = Parts::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Found::{Left, New, Pinned};
    use super::*;

    #[test]
    fn the_buffer_that_was_used_longest_ago_makes_room() {
        let mut cache = RegistrationCache::new(Bytes::new(300));
        let mut uses = |name, bytes| cache.register(name, &(0..bytes));
        assert_eq!([uses('a', 100), uses('b', 200), uses('a', 50)], [New, New, Pinned]);
        // One byte too many: `b` leaves, which was used before `a`.
        assert_eq!([uses('c', 1), uses('a', 100), uses('b', 200)], [New, Pinned, Left]);
    }

    #[test]
    fn a_part_of_a_buffer_pins_its_own_bytes() {
        let mut cache = RegistrationCache::new(Bytes::new(60));
        let mut uses = |bytes| cache.register((), &bytes);
        assert_eq!([uses(40..50), uses(40..50), uses(50..60)], [New, Pinned, New]);
        assert_eq!(uses(45..60), Pinned, "parts that touch are one");
        assert_eq!([uses(39..41), uses(0..40), uses(0..60)], [New, New, Pinned]);
        // A byte beyond the limit: the only buffer leaves.
        assert_eq!([uses(70..71), uses(0..60)], [New, Left]);
    }

    #[test]
    fn nothing_stays_without_room() {
        let mut none = RegistrationCache::new(Bytes::new(0));
        assert_eq!([(); 3].map(|()| none.register((), &(0..8))), [New, Left, Left]);
    }
}
