//! What caches and memory cost one core: queue walks, polls and copies by the footprint they have.
//!
//! A footprint lies in the smallest level that holds it whole; a walk over more than that misses on
//! every line, as least-recently-used caches do when a loop is larger than they are.
//!
//! Where a machine says how many ways a level has, that holds for each of its sets (`sets.rs`) by itself: some
//! get more lines than they have ways, and miss although the footprint is no larger than the level. So
//! does a part of the entries of a queue, in each level, and of a copy, in the second.
//!
//! Left out: what else the core keeps in its caches, and polls and copies in sets of other levels.
//! Noticeable as a knee that is sharper, and somewhat later, than a measured one.

pub mod packing;
mod sets;

use self::sets::{Sets, WHOLE};
use super::profile::Profile;
use units::{Bandwidth, Bytes, TimeDelta};

/// Where a footprint lies.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Level {
    /// First-level data cache.
    L1,
    /// Second-level cache.
    L2,
    /// Last-level cache.
    L3,
    /// Memory.
    Dram,
}

/// Where the farther of a copy's two buffers lies.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Side {
    /// On the socket of the copying core.
    Local,
    /// On another socket of the node.
    Remote,
}

/// How fast one core copies, and what that costs the memory it shares.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CopyRate {
    /// Payload rate of a core that is alone.
    pub alone: Bandwidth,
    /// Bytes of memory traffic for each payload byte; 0 inside the caches.
    pub traffic: u64,
    /// Whether the payload also crosses the link between the sockets.
    pub crosses_sockets: bool,
    /// Whether the payload passes a cache that the cores of a tile share, and that limits them.
    pub passes_tile: bool,
}

impl CopyRate {
    /// Whether nothing that other cores use limits the copy.
    pub const fn is_private(self) -> bool {
        self.traffic == 0 && !self.crosses_sockets && !self.passes_tile
    }
}

/// The memory costs of one machine, ready for the hot path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Memory {
    /// The cache levels.
    levels: [Sets; 3],
    /// One load, by level.
    load: [TimeDelta; 4],
    /// One queue entry, by level: the first one holds all its lines.
    entry: [TimeDelta; 4],
    poll: TimeDelta,
    poll_footprint: u64,
    /// In the second level, in the last of three, beyond, and between sockets.
    copy: [Bandwidth; 4],
    copy_in_first: Bandwidth,
    copy_traffic: u64,
    /// Whether the cores of a tile slow down each other's copies.
    tiles_limit: bool,
}

impl Memory {
    /// The costs that `profile` names.
    pub fn new(profile: &Profile) -> Self {
        let (cache, mem, mpi) = (&profile.cache, &profile.mem, &profile.mpi);
        let lines = u64::from(mpi.match_elem_lines);
        Self {
            levels: [
                Sets::new(cache.l1d_size, cache.l1d_ways),
                Sets::new(cache.l2_size, cache.l2_ways),
                Sets::new(cache.l3_size, cache.l3_ways),
            ],
            load: [cache.l1d_latency, cache.l2_latency, cache.l3_latency, mem.latency_local],
            entry: [
                mpi.match_per_elem_l1,
                mpi.match_per_elem_l2 * lines,
                mpi.match_per_elem_llc * lines,
                mpi.match_per_elem_dram * lines,
            ],
            poll: mpi.poll_per_channel,
            poll_footprint: mpi.poll_footprint.as_u64(),
            copy: [
                mem.core_copy_bw,
                mem.core_copy_bw_llc,
                mem.core_copy_bw_dram,
                mem.core_copy_bw_remote,
            ],
            copy_in_first: mem.core_copy_bw_l1,
            copy_traffic: u64::from(mem.copy_traffic),
            tiles_limit: profile.cpu.cores_per_tile > 1 && cache.l2_tile_copy_bw.is_some(),
        }
    }

    /// The smallest level that holds `footprint` whole.
    pub fn level_of(&self, footprint: Bytes) -> Level {
        match self.levels.map(|level| level.fits(footprint)) {
            [true, _, _] => Level::L1,
            [_, true, _] => Level::L2,
            [_, _, true] => Level::L3,
            [false, false, false] => Level::Dram,
        }
    }

    /// The last level that this machine has before memory.
    pub fn last_level(&self) -> Level {
        if self.levels[2].size == 0 { Level::L2 } else { Level::L3 }
    }

    /// One load from a footprint of this level.
    pub fn load(&self, level: Level) -> TimeDelta {
        self.load[level as usize]
    }

    /// Comparing one entry of a queue that holds `length`, of so many bytes `each`: the mean of what a walk
    /// over all finds in each level.
    pub fn entry(&self, length: u32, each: Bytes) -> TimeDelta {
        let footprint = Bytes::new(u64::from(length) * each.as_u64());
        let mut sum = 0;
        let mut nearer = 0;
        for (level, entry) in self.levels.iter().zip(self.entry) {
            // A farther level holds what a nearer one does.
            let held = u128::from(level.held(footprint)).max(nearer);
            sum += u128::from(entry.as_ps()) * (held - nearer);
            nearer = held;
            if held == WHOLE {
                break;
            }
        }
        sum += u128::from(self.entry[3].as_ps()) * (WHOLE - nearer);
        mean(sum)
    }

    /// One pass over `channels` channels: the software and one line for each.
    pub fn poll_pass(&self, channels: u32) -> TimeDelta {
        let footprint = Bytes::new(u64::from(channels) * self.poll_footprint);
        (self.poll + self.load(self.level_of(footprint))) * u64::from(channels)
    }

    /// Bytes of memory traffic for each byte copied beyond the caches.
    pub(super) fn copy_traffic(&self) -> u32 {
        u32::try_from(self.copy_traffic).expect("read from 32 bits")
    }

    /// How a core copies buffers that, with what is copied around them, take `footprint` bytes.
    ///
    /// Source and destination both count: one copy of n bytes touches 2n. What the first level
    /// holds does not reach the cache of the tile.
    pub fn copy(&self, footprint: Bytes, side: Side) -> CopyRate {
        let level = self.level_of(footprint);
        let cached = level <= self.last_level();
        let alone = match (side, level) {
            (Side::Local, Level::L1) => self.copy_in_first,
            (Side::Local, Level::L2 | Level::L3) => self.around_second_level(footprint),
            (Side::Local, Level::Dram) => self.copy[2],
            (Side::Remote, _) => self.copy[3],
        };
        let traffic = if cached { 0 } else { self.copy_traffic };
        let passes_tile = self.tiles_limit && level > Level::L1;
        CopyRate { alone, traffic, crosses_sockets: side == Side::Remote, passes_tile }
    }

    /// The rate of a copy of which the second level holds a part, and the last one the rest.
    fn around_second_level(&self, footprint: Bytes) -> Bandwidth {
        let [held, missed] = [self.copy[0], self.copy[1]].map(Bandwidth::as_bit_per_s);
        let part = u128::from(self.levels[1].held(footprint));
        let (held, missed) = (u128::from(held), u128::from(missed));
        // Times add up: one over the rate is the part over one rate and the rest over the other.
        let rate = held * missed * WHOLE / (part * missed + (WHOLE - part) * held);
        Bandwidth::from_bit_per_s(u64::try_from(rate).expect("between two rates"))
    }
}

/// Mean of prices in picoseconds, from their sum weighted with parts of [`WHOLE`].
fn mean(sum: u128) -> TimeDelta {
    TimeDelta::from_ps(u64::try_from(sum / WHOLE).expect("a mean lies between its prices"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::least;

    /// A machine whose required parameters have their lowest plausible value, then `values`.
    fn memory(values: &[(&str, &str)]) -> Memory {
        Memory::new(&least::but(values))
    }

    /// No last level: 32 KiB and 512 KiB, 128 B for each queue entry, 64 B for each channel.
    fn two_levels() -> Memory {
        with(&[])
    }

    fn with(more: &[(&str, &str)]) -> Memory {
        let numbers = [
            ("cache.l1d_size", "32 KiB"),
            ("cache.l1d_latency", "2.9 ns"),
            ("cache.l2_size", "512 KiB"),
            ("cache.l2_latency", "22 ns"),
            ("mem.latency_local", "475 ns"),
            ("mem.core_copy_bw", "2 GB/s"),
            ("mpi.match_per_elem_l1", "12 ns"),
            ("mpi.match_per_elem_l2", "30 ns"),
            ("mpi.match_per_elem_dram", "500 ns"),
            ("mpi.poll_per_channel", "19.1 ns"),
            ("mpi.poll_footprint", "64 B"),
        ];
        memory(&[&numbers[..], more].concat())
    }

    fn three_levels() -> Memory {
        memory(&[
            ("cache.l1d_size", "32 KiB"),
            ("cache.l2_size", "256 KiB"),
            ("cache.l3_size", "35840 KiB"),
            ("cache.l3_latency", "19 ns"),
            ("mem.core_copy_bw", "14 GB/s"),
            ("mem.core_copy_bw_dram", "6 GB/s"),
            ("mem.core_copy_bw_remote", "5 GB/s"),
            ("mem.copy_traffic", "3"),
            ("mem.dma_to_llc", "true"),
        ])
    }

    #[test]
    fn a_footprint_lies_in_the_smallest_level_that_holds_it() {
        let (two, three) = (two_levels(), three_levels());
        for (bytes, in_two, in_three) in [
            (0, Level::L1, Level::L1),
            (32 << 10, Level::L1, Level::L1),
            ((32 << 10) + 1, Level::L2, Level::L2),
            (256 << 10, Level::L2, Level::L2),
            (512 << 10, Level::L2, Level::L3),
            ((512 << 10) + 1, Level::Dram, Level::L3),
            ((35 << 20) + 1, Level::Dram, Level::Dram),
        ] {
            assert_eq!(two.level_of(Bytes::new(bytes)), in_two, "{bytes}");
            assert_eq!(three.level_of(Bytes::new(bytes)), in_three, "{bytes}");
        }
        assert_eq!((two.last_level(), three.last_level()), (Level::L2, Level::L3));
    }

    #[test]
    fn an_entry_costs_what_the_level_of_its_queue_does() {
        let memory = two_levels();
        let entry = |length| memory.entry(length, Bytes::new(128));
        // 128 B each: 256 entries fill 32 KiB, and 4096 fill 512 KiB.
        assert_eq!([0, 1, 256].map(entry), [TimeDelta::from_ns(12); 3]);
        assert_eq!([257, 4_096].map(entry), [TimeDelta::from_ns(30); 2]);
        assert_eq!([4_097, 10_000].map(entry), [TimeDelta::from_ns(500); 2]);
    }

    #[test]
    fn beyond_the_first_level_each_line_of_an_entry_costs_one() {
        let memory = with(&[("mpi.match_elem_lines", "2")]);
        let entry = |length| memory.entry(length, Bytes::new(128));
        assert_eq!([256, 257, 5_000].map(entry), [12, 60, 1_000].map(TimeDelta::from_ns));
    }

    #[test]
    fn entries_miss_where_their_set_is_full() {
        let levels =
            with(&[("cache.l1d_ways", "8"), ("cache.l2_ways", "8"), ("mpi.match_elem_lines", "1")]);
        // Fewer than 8 others, of 4 on average: 0.9489. Of 8: 0.4530. Of 10: 0.2202. A queue of a quarter
        // of a level is held as a whole, and nothing of one twice as large.
        let mixed = |near: u64, far: u64, held: u64| (near * held + far * (10_000 - held)) / 10;
        for (length, ps) in [
            (64, 12_000),
            (128, mixed(12, 30, 9_489)),
            (256, mixed(12, 30, 4_530)),
            (320, mixed(12, 30, 2_202)),
            (512, 30_000),
            (2_048, mixed(30, 500, 9_489)),
            (4_096, mixed(30, 500, 4_530)),
            (8_192, 500_000),
        ] {
            let entry = levels.entry(length, Bytes::new(128)).as_ps();
            assert!(entry.abs_diff(ps) <= ps / 500, "{length}: {entry} for {ps}");
        }
        // No entry more makes the others cheaper, but for the steps in which chances are counted, and none
        // in the first level dearer by more than 1 % of what it costs beyond.
        let entries: Vec<_> =
            (1..9_000).map(|length| levels.entry(length, Bytes::new(128)).as_ps()).collect();
        assert!(entries.windows(2).all(|pair| pair[1] + 20 >= pair[0]));
        assert!(entries[..512].windows(2).all(|pair| pair[1].saturating_sub(pair[0]) < 300));
    }

    #[test]
    fn a_last_level_of_sets_is_left_by_and_by() {
        let sizes = [
            ("cache.l1d_size", "32 KiB"),
            ("cache.l2_size", "256 KiB"),
            ("cache.l3_size", "2 MiB"),
            ("mpi.match_per_elem_l1", "1 ns"),
            ("mpi.match_per_elem_l2", "7 ns"),
            ("mpi.match_per_elem_llc", "25 ns"),
            ("mpi.match_per_elem_dram", "90 ns"),
        ];
        let sharp = memory(&sizes);
        let ways = memory(&[&sizes[..], &[("cache.l3_ways", "16")]].concat());
        let at = |memory: &Memory, length| memory.entry(length, Bytes::new(128));
        assert_eq!(
            [2_048, 2_049, 16_384, 16_385].map(|n| at(&sharp, n)),
            [7, 25, 25, 90].map(TimeDelta::from_ns)
        );
        // Fewer than 16 others, of 16 on average: 0.4667 at 25 ns and the rest at 90 ns.
        let half = at(&ways, 16_384).as_ps();
        assert!(half.abs_diff(59_664) < 100, "{half}");
        assert_eq!([4_096, 32_768].map(|n| at(&ways, n)), [25, 90].map(TimeDelta::from_ns));
    }

    #[test]
    fn a_poll_pays_one_line_for_each_channel() {
        let memory = two_levels();
        assert_eq!(memory.poll_pass(0), TimeDelta::ZERO);
        assert_eq!(memory.poll_pass(1), TimeDelta::from_ns(22));
        assert_eq!(memory.poll_pass(512), TimeDelta::from_ns(22 * 512));
        assert_eq!(memory.poll_pass(513), TimeDelta::from_ps(41_100 * 513));
    }

    #[test]
    fn copies_beyond_the_first_level_pass_the_cache_of_a_tile_that_limits() {
        let limit = ("cache.l2_tile_copy_bw", "6 GB/s");
        let sizes = [("cache.l1d_size", "32 KiB"), ("cache.l2_size", "1 MiB")];
        let cores = [("cpu.cores_per_socket", "4"), ("cpu.cores_per_tile", "2")];
        let passes = |values: &[(&str, &str)], kib| {
            let memory = memory(&[&sizes, values].concat());
            memory.copy(Bytes::kib(kib), Side::Local).passes_tile
        };
        let tiles = [cores[0], cores[1], limit];
        assert_eq!(
            [32, 33, 1_024, 1_025].map(|kib| passes(&tiles, kib)),
            [false, true, true, true]
        );
        assert!(!passes(&cores, 1_024), "no limit is known");
        assert!(!passes(&[limit], 1_024), "no core shares a tile");
    }

    #[test]
    fn a_copy_misses_where_a_set_of_the_second_level_is_full() {
        let values = [
            ("cache.l1d_size", "32 KiB"),
            ("cache.l2_size", "2 MiB"),
            ("cache.l3_size", "64 MiB"),
            ("mem.core_copy_bw", "50 GB/s"),
            ("mem.core_copy_bw_llc", "16 GB/s"),
        ];
        let sharp = memory(&values);
        let ways = memory(&[&values[..], &[("cache.l2_ways", "16")]].concat());
        let rate = |memory: &Memory| memory.copy(Bytes::kib(2048), Side::Local).alone;
        assert_eq!(rate(&sharp).to_string(), "50 GB/s");
        let half = rate(&ways).as_bit_per_s() / 8_000_000;
        assert!((23_300..23_600).contains(&half), "{half} MB/s");
    }

    #[test]
    fn a_copy_has_the_rate_and_traffic_of_its_footprint() {
        let memory = three_levels();
        let copy = |kib, side| {
            let rate = memory.copy(Bytes::kib(kib), side);
            (rate.alone.as_bit_per_s() / 8_000_000_000, rate.traffic, rate.crosses_sockets)
        };
        assert_eq!(copy(35_840, Side::Local), (14, 0, false));
        assert_eq!(copy(35_841, Side::Local), (6, 3, false));
        assert_eq!(copy(35_840, Side::Remote), (5, 0, true));
        assert_eq!(copy(35_841, Side::Remote), (5, 3, true));
        let small = two_levels();
        assert_eq!(small.copy(Bytes::kib(512), Side::Local).traffic, 0);
        assert_eq!(small.copy(Bytes::kib(513), Side::Local).traffic, 2);
        assert!(small.copy(Bytes::kib(512), Side::Local).is_private());
        assert!(!memory.copy(Bytes::kib(1), Side::Remote).is_private(), "the sockets' link");
    }
}
