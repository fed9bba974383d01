//! The registration cache of an MPI library: which bytes of which buffers of a process stay pinned for the
//! HCA.
//!
//! A registration pins the range that was requested, a part of a buffer too. What is requested again costs nothing
//! while all of it is pinned; where a part of it is not, all of it is pinned anew, as a cache does that looks
//! for one entry. Where the bytes would pass the limit, what was used longest ago is unpinned,
//! as in MVAPICH2. Its limit, `MV2_DREG_CACHE_LIMIT`, is none by default.
//!
//! Left out: its limit on the number of buffers (`MV2_NDREG_ENTRIES`), the time that unpinning takes, and
//! buffers that are in use when they leave. Noticeable in programs of thousands of buffers.

use std::collections::BTreeMap;
use std::ops::Range;

use super::parts::Parts;
use units::Bytes;

/// Result of a registration.
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
    /// The last use of each part that is pinned, by its first byte.
    used: BTreeMap<u64, u64>,
    /// Parts that were ever pinned.
    ever: Parts,
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
        if let Some(part) = buffer.pinned.holding(bytes) {
            buffer.used.insert(part.start, self.clock);
            return Found::Pinned;
        }
        let known = buffer.ever.hold(bytes);
        if !known {
            buffer.ever.add(bytes);
        }
        self.used += buffer.pinned.add(bytes);
        if let Some(part) = buffer.pinned.holding(bytes) {
            buffer.used.retain(|start, _| !part.contains(start));
            buffer.used.insert(part.start, self.clock);
        }
        self.unpin();
        if known { Found::Left } else { Found::New }
    }

    /// Unpins the least recently used parts until the others are within the limit.
    fn unpin(&mut self) {
        while self.used > self.limit {
            let parts = self.buffers.iter().flat_map(|(name, buffer)| {
                buffer.used.iter().map(|(start, used)| (*used, *name, *start))
            });
            let Some((_, name, start)) = parts.min() else { return };
            let buffer = self.buffers.get_mut(&name).expect("it was found");
            buffer.used.remove(&start);
            self.used -= buffer.pinned.remove(start);
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
