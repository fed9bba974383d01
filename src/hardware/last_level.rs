//! The last cache level before memory, as bulk copies see it: which parts of which buffers it holds.
//!
//! A copy that finds both its sides here runs at the rate of the caches; what it does not find comes
//! from memory, and pushes out what was used longest ago. So a benchmark that sends one buffer again
//! and again stays inside, and a program with more buffers than fit does not, whatever the size of
//! one message.
//!
//! Buffers count in parts of 64 KiB. Left out: what else the cores keep here (eager copies,
//! matching queues, computation), and lines that an HCA writes. Noticeable where such traffic is
//! comparable with the cache.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::units::Bytes;

/// Bytes of one part.
const PART: u64 = 1 << 16;

/// One cache; buffers have names of type `K`.
#[derive(Debug)]
pub struct LastLevel<K> {
    capacity: u64,
    used: u64,
    /// When each part was used last, and its bytes.
    parts: BTreeMap<(K, u64), (u64, u64)>,
    /// The same by time: the first is the oldest.
    ages: BTreeMap<u64, (K, u64)>,
    clock: u64,
}

impl<K: Copy + Ord> LastLevel<K> {
    /// An empty cache.
    pub fn new(capacity: Bytes) -> Self {
        Self {
            capacity: capacity.as_u64(),
            used: 0,
            parts: BTreeMap::new(),
            ages: BTreeMap::new(),
            clock: 0,
        }
    }

    /// Uses bytes of a buffer: how many of them were not here.
    pub fn use_bytes(&mut self, buffer: K, bytes: Range<u64>) -> u64 {
        let mut missed = 0;
        let mut at = bytes.start;
        while at < bytes.end {
            let part = at / PART;
            let end = bytes.end.min((part + 1) * PART);
            missed += self.use_part((buffer, part), end - at);
            at = end;
        }
        missed
    }

    fn use_part(&mut self, key: (K, u64), bytes: u64) -> u64 {
        let known = self.parts.remove(&key);
        let held = known.map_or(0, |(age, held)| {
            self.ages.remove(&age);
            self.used -= held;
            held
        });
        let (missed, held) = (bytes.saturating_sub(held), held.max(bytes));
        self.clock += 1;
        self.parts.insert(key, (self.clock, held));
        self.ages.insert(self.clock, key);
        self.used += held;
        while self.used > self.capacity {
            let (_, oldest) = self.ages.pop_first().expect("what is used has an age");
            let (_, held) = self.parts.remove(&oldest).expect("what has an age is held");
            self.used -= held;
        }
        missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[test]
    fn what_fits_is_found_again() {
        let mut cache = LastLevel::new(Bytes::mib(4));
        assert_eq!(cache.use_bytes(0, 0..MIB), MIB);
        assert_eq!(cache.use_bytes(1, 0..MIB), MIB);
        assert_eq!(cache.use_bytes(0, 0..MIB), 0);
        assert_eq!(cache.use_bytes(0, 100..MIB / 2), 0);
        assert_eq!(cache.use_bytes(0, 0..2 * MIB), MIB);
    }

    #[test]
    fn a_loop_over_more_than_fits_finds_nothing() {
        let mut cache = LastLevel::new(Bytes::mib(4));
        for _ in 0..3 {
            for buffer in 0..5 {
                assert_eq!(cache.use_bytes(buffer, 0..MIB), MIB);
            }
        }
    }

    #[test]
    fn the_oldest_goes_first() {
        let mut cache = LastLevel::new(Bytes::mib(2));
        cache.use_bytes(0, 0..MIB);
        cache.use_bytes(1, 0..MIB);
        cache.use_bytes(0, 0..MIB);
        cache.use_bytes(2, 0..MIB);
        assert_eq!(cache.use_bytes(0, 0..MIB), 0);
        assert_eq!(cache.use_bytes(1, 0..MIB), MIB);
    }

    #[test]
    fn small_buffers_take_their_bytes_and_no_more() {
        let mut cache = LastLevel::new(Bytes::kib(64));
        for buffer in 0..64 {
            cache.use_bytes(buffer, 0..1024);
        }
        for buffer in 0..64 {
            assert_eq!(cache.use_bytes(buffer, 0..1024), 0, "{buffer}");
        }
        assert_eq!(cache.use_bytes(64, 0..1), 1);
        assert_eq!(cache.use_bytes(0, 0..1024), 1024);
    }
}
