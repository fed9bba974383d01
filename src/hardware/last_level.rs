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

/// No other part.
/// Encoding: parts are counted from 0.
const NONE: u32 = u32::MAX;

/// Parts of a buffer that are looked up at once.
/// Method: copies use many parts that follow each other, and a look-up among all buffers costs more than a use.
const STRETCH: usize = 16;

/// One cache; buffers have names of type `K`.
#[derive(Debug)]
pub struct LastLevel<K> {
    capacity: u64,
    used: u64,
    /// The stretches with a part that is here, by buffer and number.
    known: BTreeMap<(K, u64), u32>,
    /// Those of which nothing is here any more are used again.
    stretches: Vec<Stretch<K>>,
    free_stretches: Vec<u32>,
    /// Those of parts that were evicted are used again.
    parts: Vec<Part>,
    free: Vec<u32>,
    /// The parts that were used longest ago, and last.
    oldest: u32,
    newest: u32,
}

/// Parts of a buffer that follow each other.
#[derive(Clone, Copy, Debug)]
struct Stretch<K> {
    key: (K, u64),
    /// How many of them are here.
    held: u32,
    /// Where each part that is here has its record.
    places: [u32; STRETCH],
}

/// Blocks that come and go together in the record.
#[derive(Clone, Copy, Debug)]
struct Part {
    /// Its stretch, and its number there.
    of: (u32, usize),
    /// The blocks that are here, a bit each.
    here: u64,
    /// The parts that were used before it, and after it.
    older: u32,
    newer: u32,
}

impl<K: Copy + Ord> LastLevel<K> {
    /// An empty cache.
    pub fn new(capacity: Bytes) -> Self {
        Self {
            capacity: capacity.as_u64(),
            used: 0,
            known: BTreeMap::new(),
            stretches: Vec::new(),
            free_stretches: Vec::new(),
            parts: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
        }
    }

    /// Uses bytes of a buffer: how many of them were not here.
    pub fn use_bytes(&mut self, buffer: K, bytes: Range<u64>) -> u64 {
        let mut missed = 0;
        let mut at = bytes.start;
        // The stretch that was used last; it may be gone with its last part, by the next one.
        let mut last = None;
        while at < bytes.end {
            let part = at / PART;
            let (number, inside) = (part / STRETCH as u64, inside(part));
            let stretch = match last {
                Some((same, stretch))
                    if same == number && self.holds(stretch, (buffer, number)) =>
                {
                    stretch
                }
                _ => self.stretch((buffer, number)),
            };
            last = Some((number, stretch));
            let (first, end) = (part * PART, bytes.end.min((part + 1) * PART));
            missed += self.use_part((stretch, inside), at - first..end - first);
            at = end;
        }
        missed
    }

    /// Whether that is the stretch of this name now.
    fn holds(&self, stretch: u32, key: (K, u64)) -> bool {
        let stretch = &self.stretches[stretch as usize];
        stretch.held > 0 && stretch.key == key
    }

    /// The stretch of this name.
    fn stretch(&mut self, key: (K, u64)) -> u32 {
        let Self { known, stretches, free_stretches, .. } = self;
        *known.entry(key).or_insert_with(|| {
            let new = Stretch { key, held: 0, places: [NONE; STRETCH] };
            if let Some(stretch) = free_stretches.pop() {
                stretches[stretch as usize] = new;
                return stretch;
            }
            stretches.push(new);
            u32::try_from(stretches.len() - 1).expect("fewer than 2^32 stretches fit a cache")
        })
    }

    fn use_part(&mut self, of: (u32, usize), bytes: Range<u64>) -> u64 {
        let place = self.stretches[of.0 as usize].places[of.1];
        let place = if place == NONE {
            self.place_for(of)
        } else {
            self.unlink(place);
            place
        };
        self.make_newest(place);
        let part = &mut self.parts[place as usize];
        let missing = blocks(&bytes) & !part.here;
        part.here |= missing;
        self.used += size(missing);
        self.evict();
        bytes_in(missing, &bytes)
    }

    /// The record of a part of which nothing is here.
    fn place_for(&mut self, of: (u32, usize)) -> u32 {
        let part = Part { of, here: 0, older: NONE, newer: NONE };
        let place = if let Some(place) = self.free.pop() {
            self.parts[place as usize] = part;
            place
        } else {
            self.parts.push(part);
            u32::try_from(self.parts.len() - 1).expect("fewer than 2^32 parts fit a cache")
        };
        let stretch = &mut self.stretches[of.0 as usize];
        stretch.held += 1;
        stretch.places[of.1] = place;
        place
    }

    fn make_newest(&mut self, place: u32) {
        let older = std::mem::replace(&mut self.newest, place);
        let part = &mut self.parts[place as usize];
        (part.older, part.newer) = (older, NONE);
        match self.parts.get_mut(older as usize) {
            Some(part) => part.newer = place,
            None => self.oldest = place,
        }
    }

    fn unlink(&mut self, place: u32) {
        let Part { older, newer, .. } = self.parts[place as usize];
        match self.parts.get_mut(older as usize) {
            Some(part) => part.newer = newer,
            None => self.oldest = newer,
        }
        match self.parts.get_mut(newer as usize) {
            Some(part) => part.older = older,
            None => self.newest = older,
        }
    }

    /// Evicts the least recently used parts until the others fit.
    fn evict(&mut self) {
        while self.used > self.capacity {
            let oldest = self.oldest;
            let Part { of: (of, inside), here, .. } = self.parts[oldest as usize];
            self.unlink(oldest);
            self.free.push(oldest);
            self.used -= size(here);
            let stretch = &mut self.stretches[of as usize];
            stretch.places[inside] = NONE;
            stretch.held -= 1;
            if stretch.held == 0 {
                self.known.remove(&stretch.key);
                self.free_stretches.push(of);
            }
        }
    }
}

/// The number of a part in its stretch.
#[expect(clippy::cast_possible_truncation, reason = "a stretch has few parts")]
const fn inside(part: u64) -> usize {
    (part % STRETCH as u64) as usize
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

    /// A list by age of single blocks, of which those of a part leave together.
    #[derive(Default)]
    struct Plain(Vec<((u8, u64), u64)>);

    impl Plain {
        fn use_bytes(&mut self, capacity: u64, buffer: u8, bytes: Range<u64>) -> u64 {
            let mut missed = 0;
            for part in bytes.start / PART..bytes.end.div_ceil(PART) {
                let (first, end) = (bytes.start.max(part * PART), bytes.end.min((part + 1) * PART));
                let is_part = |entry: &((u8, u64), u64)| entry.0 == (buffer, part);
                let (mut used, others) = self.0.drain(..).partition::<Vec<_>, _>(is_part);
                for block in first / BLOCK..end.div_ceil(BLOCK) {
                    if !used.iter().any(|entry| entry.1 == block) {
                        used.push(((buffer, part), block));
                        missed += end.min((block + 1) * BLOCK) - first.max(block * BLOCK);
                    }
                }
                self.0 = others;
                self.0.append(&mut used);
                while self.0.len() as u64 * BLOCK > capacity {
                    let oldest = self.0[0].0;
                    self.0.retain(|entry| entry.0 != oldest);
                }
            }
            missed
        }
    }

    #[test]
    fn parts_leave_by_age_whatever_is_used() {
        let mut dice = engine::Streams::new(1).stream("cache", 0);
        let capacity = 40 * PART / 8;
        let (mut cache, mut plain) = (LastLevel::new(Bytes::new(capacity)), Plain::default());
        let mut missed = 0;
        for _ in 0..5_000 {
            let buffer = u8::try_from(dice.below(40)).unwrap();
            // Around the border of two stretches.
            let start = (STRETCH as u64 - 2) * PART + dice.below(4 * PART);
            let bytes = start..start + 1 + dice.below(PART / 4);
            let found = cache.use_bytes(buffer, bytes.clone());
            assert_eq!(found, plain.use_bytes(capacity, buffer, bytes), "after {missed}");
            missed += found;
        }
        assert!(cache.parts.len() < 100, "records are used again: {}", cache.parts.len());
        let held = cache.stretches.len();
        assert!(held < 100 && held == cache.known.len() + cache.free_stretches.len(), "{held}");
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
