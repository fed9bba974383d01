//! The last cache level before memory, as bulk copies see it: which parts of which buffers it holds.
//!
//! A copy that finds both its sides here runs at the rate of the caches; what it does not find comes
//! from memory, and pushes out what was used longest ago. So a benchmark that sends one buffer again
//! and again stays inside, and a program with more buffers than fit does not, whatever the size of
//! one message.
//!
//! Buffers count in blocks of 1 KiB: who uses a byte brings its block. Left out: what else the cores
//! keep here (eager copies, matching queues, computation), and lines that an HCA writes. Noticeable
//! where such traffic is comparable with the cache.

use std::collections::BTreeMap;
use std::ops::Range;

use units::Bytes;

/// Bytes of one block.
/// Method: a cache holds bytes in blocks, of which a word of the record has 64.
const BLOCK: u64 = 1 << 10;
/// Bytes whose blocks come and go together in the record: as many blocks as a word has bits.
const PART: u64 = BLOCK * u64::BITS as u64;

/// One cache; buffers have names of type `K`.
#[derive(Debug)]
pub struct LastLevel<K> {
    capacity: u64,
    used: u64,
    /// When each part was used last, and its blocks that are here, a bit each.
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
            let (first, end) = (part * PART, bytes.end.min((part + 1) * PART));
            missed += self.use_part((buffer, part), at - first..end - first);
            at = end;
        }
        missed
    }

    fn use_part(&mut self, key: (K, u64), bytes: Range<u64>) -> u64 {
        let known = self.parts.remove(&key);
        let here = known.map_or(0, |(age, here)| {
            self.ages.remove(&age);
            here
        });
        let missing = blocks(&bytes) & !here;
        self.used += size(missing);
        self.clock += 1;
        self.parts.insert(key, (self.clock, here | missing));
        self.ages.insert(self.clock, key);
        self.evict();
        bytes_in(missing, &bytes)
    }

    /// Evicts the least recently used parts until the others fit.
    fn evict(&mut self) {
        while self.used > self.capacity {
            let (_, oldest) = self.ages.pop_first().expect("what is used has an age");
            let (_, here) = self.parts.remove(&oldest).expect("what has an age is held");
            self.used -= size(here);
        }
    }
}

/// The blocks that bytes of one part lie in; there is a byte.
fn blocks(bytes: &Range<u64>) -> u64 {
    let (first, last) = (bytes.start / BLOCK, (bytes.end - 1) / BLOCK);
    u64::MAX << first & u64::MAX >> (u64::from(u64::BITS) - 1 - last)
}

/// Bytes of some blocks.
fn size(blocks: u64) -> u64 {
    u64::from(blocks.count_ones()) * BLOCK
}

/// How many of `bytes` lie in `blocks`, which are among theirs.
fn bytes_in(blocks: u64, bytes: &Range<u64>) -> u64 {
    let (first, last) = (bytes.start / BLOCK, (bytes.end - 1) / BLOCK);
    let before = (blocks >> first & 1) * (bytes.start - first * BLOCK);
    let after = (blocks >> last & 1) * ((last + 1) * BLOCK - bytes.end);
    size(blocks) - before - after
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
    fn pieces_of_a_part_are_told_apart() {
        let mut cache = LastLevel::new(Bytes::mib(4));
        for piece in 0..8 {
            let bytes = piece * PART / 4..(piece + 1) * PART / 4;
            assert_eq!(cache.use_bytes(0, bytes), PART / 4, "piece {piece} was never used before");
        }
        assert_eq!(cache.use_bytes(0, 0..2 * PART), 0, "all pieces are here");
        assert_eq!(cache.use_bytes(0, 0..PART / 4), 0, "a use of a piece pushes nothing out");
        assert_eq!(cache.use_bytes(0, PART / 2..PART), 0);
        assert_eq!(cache.use_bytes(1, 5000..5100), 100);
        assert_eq!(cache.use_bytes(1, 100..200), 100, "another block");
        assert_eq!(cache.use_bytes(1, 5050..5200), 80, "those of the next block");
        assert_eq!(cache.use_bytes(1, 0..6 * BLOCK), 3 * BLOCK, "the blocks that nobody used");
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
