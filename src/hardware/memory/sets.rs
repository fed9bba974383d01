//! A cache of sets, each of which forgets the line that was used longest ago.
//!
//! A loop over more lines than a set has ways misses on each of them, and on none where they fit: what
//! the cache holds of a footprint are the lines in sets that are not too full. Pages lie anywhere in
//! memory, and entries of a queue anywhere in the heap, so that a set gets as many lines as chance
//! gives it: a Poisson distribution, as there are many more places than sets.
//!
//! ```text
//!             size / 4          size           2 size
//!   held  ━━━━━━━━━┷━━━━━╸╺╺╺_   ┃      ways known: lines of sets with room
//!         ━━━━━━━━━━━━━━━━━━━━━━━┛_______ ways unknown: all or nothing
//! ```
//!
//! Left out: policies that only come near the least recently used, and hashed indices, which spread lines
//! more evenly. Noticeable as a knee that is wider than a measured one.

use units::Bytes;

/// All of a footprint.
/// Encoding: parts of a footprint have 16 bits after the point.
pub(super) const WHOLE: u128 = 1 << 16;
/// One, where chances are counted.
/// Method: the terms of a Poisson sum have 12 bits after the point.
const FINE: u128 = 1 << 12;

/// One level.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Sets {
    /// Capacity, 0 where there is no such level.
    pub(super) size: u64,
    /// Lines of a set, where they are known.
    pub(super) ways: Option<u64>,
}

impl Sets {
    pub(super) fn new(size: Bytes, ways: Option<u32>) -> Self {
        Self { size: size.as_u64(), ways: ways.map(u64::from) }
    }

    /// Whether a footprint is no larger.
    pub(super) const fn fits(self, footprint: Bytes) -> bool {
        footprint.as_u64() <= self.size
    }

    /// The part of a footprint, of [`WHOLE`], that lies in sets which are not too full.
    pub(super) fn held(self, footprint: Bytes) -> u64 {
        let (size, bytes) = (self.size, footprint.as_u64());
        let fits = if self.fits(footprint) { WHOLE } else { 0 };
        let Some(ways) = self.ways else { return part(fits) };
        if bytes <= size / 4 || bytes >= size.saturating_mul(2) {
            return part(fits);
        }
        // A line stays if its set has fewer others than ways.
        let mean = u128::from(ways) * u128::from(bytes) * FINE / u128::from(size);
        let (mut term, mut all, mut held) = (FINE, 0, 0);
        for others in 0..=4 * u128::from(ways) + 32 {
            all += term;
            held += if others < u128::from(ways) { term } else { 0 };
            term = term * mean / (FINE * (others + 1));
        }
        part(held * WHOLE / all)
    }
}

fn part(of_whole: u128) -> u64 {
    u64::try_from(of_whole).expect("at most the whole")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(kib: u64, ways: Option<u32>, footprint: u64) -> u64 {
        Sets::new(Bytes::kib(kib), ways).held(Bytes::kib(footprint))
    }

    #[test]
    fn sets_are_full_by_chance() {
        assert_eq!([512, 2048, 2049].map(|kib| held(2048, None, kib)), [65_536, 65_536, 0]);
        // Fewer than 16 others, of 16 on average: 0.467. Of 8: 0.992. Of 24: 0.034.
        for (kib, chance) in
            [(512, 65_536), (1024, 64_996), (2048, 30_588), (3072, 2_254), (4096, 0)]
        {
            let held = held(2048, Some(16), kib);
            assert!(held.abs_diff(chance) < 60, "{kib}: {held}");
        }
        // Fewer than 8 others, of 8 on average: 0.453. Of 4: 0.949. Of 10: 0.220.
        for (kib, chance) in [(8, 65_536), (16, 62_188), (32, 29_685), (40, 14_430), (64, 0)] {
            let held = held(32, Some(8), kib);
            assert!(held.abs_diff(chance) < 60, "{kib}: {held}");
        }
        assert_eq!((held(0, None, 1), held(0, Some(8), 1), held(0, Some(8), 0)), (0, 0, 65_536));
    }

    #[test]
    fn more_of_a_footprint_is_never_held_than_of_a_smaller_one() {
        let level = Sets::new(Bytes::kib(32), Some(8));
        let parts = (0..2_000).map(|lines| level.held(Bytes::new(64 * lines)));
        assert!(parts.is_sorted_by(|smaller, larger| smaller >= larger));
    }
}
