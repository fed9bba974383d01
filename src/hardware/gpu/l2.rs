//! The second-level cache of a GPU while a kernel is counted: which transactions it holds already.
//!
//! In each set of lines the least recently used one leaves; the set of a line is a hash of its number, as
//! strides that are powers of two would otherwise use few sets.
//! Assumed: warps touch memory in the order of their numbers, and the cache is empty at the start.
//! Blocks that are in flight together touch it interleaved in truth; what they share they touch within
//! the time of a block either way. Left out: what runs beside the kernel, and the caches of the SMs.

/// No line has this number.
const EMPTY: u64 = u64::MAX;

/// Which lines are held.
#[derive(Debug)]
pub(super) struct Cache {
    /// The sets one after the other, each from the line used last to that used first.
    lines: Vec<u64>,
    /// Lines of a set.
    ways: usize,
    /// Sets.
    sets: usize,
}

impl Cache {
    /// An empty cache of `size` bytes in lines of `line` bytes, `ways` of them in a set.
    pub(super) fn new(size: u64, line: u64, ways: u32) -> Self {
        let sets = (size / line / u64::from(ways)).max(1);
        let sets = usize::try_from(sets).expect("a cache fits the memory of its simulator");
        let ways = ways as usize;
        Self { lines: vec![EMPTY; sets * ways], ways, sets }
    }

    /// Uses a line; whether it was held.
    pub(super) fn touch(&mut self, line: u64) -> bool {
        let hash = line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let first = usize::try_from(hash).expect("32 bits") % self.sets * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        let held = set.iter().position(|&held| held == line);
        set[..=held.unwrap_or(self.ways - 1)].rotate_right(1);
        set[0] = line;
        held.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_held_until_as_many_others_of_its_set_were_used() {
        let mut cache = Cache::new(16 * 128, 128, 16);
        assert!(!cache.touch(7));
        assert!((8..23).all(|line| !cache.touch(line)));
        assert!(cache.touch(7), "16 lines fit");
        assert!(!cache.touch(23) && !cache.touch(8), "8 was used longest ago and had to leave");
        assert!(cache.touch(7));
    }

    #[test]
    fn a_set_holds_as_many_lines_as_it_has() {
        for ways in [1, 4, 64] {
            let mut cache = Cache::new(u64::from(ways) * 128, 128, ways);
            let lines = 0..u64::from(ways);
            assert!(lines.clone().all(|line| !cache.touch(line)));
            assert!(lines.rev().all(|line| cache.touch(line)), "{ways}");
            assert!(!cache.touch(1_000) && !cache.touch(u64::from(ways) - 1), "{ways}");
        }
    }

    #[test]
    fn a_footprint_of_half_the_cache_stays_and_of_twice_leaves() {
        for stride in [1, 4, 64] {
            let passes = |lines: u64| {
                let mut cache = Cache::new(768 << 10, 128, 16);
                let mut pass = || (0..lines).filter(|line| cache.touch(line * stride)).count();
                pass();
                pass()
            };
            assert!(passes(3_072) > 3_000, "stride {stride}: {}", passes(3_072));
            assert!(passes(12_288) < 200, "stride {stride}: {}", passes(12_288));
        }
    }
}
