//! The registration cache of an MPI library: which buffers of a process stay pinned for the HCA.
//!
//! Buffers stay pinned after their message, since pinning takes far longer than a lookup. Where their bytes
//! would pass the limit, those that were used longest ago are unpinned, as in MVAPICH2. Its
//! limit, `MV2_DREG_CACHE_LIMIT`, is none by default.
//!
//! Left out: its limit on the number of buffers (`MV2_NDREG_ENTRIES`), the time that unpinning
//! takes, and buffers that are in use when they leave. Noticeable in programs of thousands of buffers.

use std::collections::BTreeMap;

use units::Bytes;

/// What a registration finds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Found {
    /// The buffer is pinned.
    Pinned,
    /// Bytes of it are pinned for the first time.
    New,
    /// It was pinned, and had to leave.
    Left,
}

/// The pinned buffers of one process; buffers have names of type `K`, and are pinned from their
/// beginning.
#[derive(Clone, Debug)]
pub struct RegistrationCache<K> {
    /// The most bytes that stay pinned; `None`: no limit.
    limit: Option<u64>,
    used: u64,
    buffers: BTreeMap<K, Buffer>,
    /// Pinned buffers by their last use: the first is the oldest.
    ages: BTreeMap<u64, K>,
    clock: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Buffer {
    /// Bytes that are pinned; 0: none.
    pinned: u64,
    /// The most bytes that were ever pinned.
    most: u64,
    /// Its last use, where it is pinned.
    age: u64,
}

impl<K: Copy + Ord> RegistrationCache<K> {
    /// Nothing is pinned yet.
    pub fn new(limit: Option<Bytes>) -> Self {
        let (buffers, ages) = (BTreeMap::new(), BTreeMap::new());
        Self { limit: limit.map(Bytes::as_u64), used: 0, buffers, ages, clock: 0 }
    }

    /// The first `bytes` of a buffer are needed: they are pinned afterwards, and stay so where the limit
    /// allows it.
    pub fn register(&mut self, name: K, bytes: u64) -> Found {
        let buffer = self.buffers.entry(name).or_default();
        let found = if buffer.pinned >= bytes {
            Found::Pinned
        } else if buffer.most >= bytes {
            Found::Left
        } else {
            Found::New
        };
        self.ages.remove(&buffer.age);
        self.clock += 1;
        // What is pinned anew replaces a shorter part of the same buffer.
        self.used -= buffer.pinned;
        let pinned = buffer.pinned.max(bytes);
        *buffer = Buffer { pinned, most: buffer.most.max(bytes), age: self.clock };
        self.used += pinned;
        self.ages.insert(self.clock, name);
        self.unpin();
        found
    }

    /// The buffers that were used longest ago make room.
    fn unpin(&mut self) {
        while self.limit.is_some_and(|limit| self.used > limit) {
            let Some((_, oldest)) = self.ages.pop_first() else { return };
            let buffer = self.buffers.get_mut(&oldest).expect("what has an age is known");
            self.used -= buffer.pinned;
            (buffer.pinned, buffer.age) = (0, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_buffer_that_was_used_longest_ago_makes_room() {
        let mut cache = RegistrationCache::new(Some(Bytes::new(300)));
        let mut uses = |name, bytes| cache.register(name, bytes);
        assert_eq!(
            [uses('a', 100), uses('b', 200), uses('a', 50)],
            [Found::New, Found::New, Found::Pinned]
        );
        // One byte too many: `b` leaves, which was used before `a`.
        assert_eq!(
            [uses('c', 1), uses('a', 100), uses('b', 200)],
            [Found::New, Found::Pinned, Found::Left]
        );
    }

    #[test]
    fn a_longer_part_replaces_the_shorter_one() {
        let mut cache = RegistrationCache::new(Some(Bytes::new(300)));
        let found = [("a", 100), ("a", 200), ("b", 100), ("a", 200)]
            .map(|(name, bytes)| cache.register(name, bytes));
        assert_eq!(found, [Found::New, Found::New, Found::New, Found::Pinned]);
    }

    #[test]
    fn nothing_stays_without_room_and_everything_without_a_limit() {
        let mut none = RegistrationCache::new(Some(Bytes::new(0)));
        assert_eq!([(); 3].map(|()| none.register((), 8)), [Found::New, Found::Left, Found::Left]);
        let mut all = RegistrationCache::new(None);
        let huge = u64::MAX / 4;
        assert_eq!(
            [0, 1, 2, 0].map(|name| all.register(name, huge)),
            [Found::New, Found::New, Found::New, Found::Pinned]
        );
    }
}
