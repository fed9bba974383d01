use super::*;
use crate::profile::least;
use engine::Streams;

/// 48 KiB, 2 MiB of 16 ways and 64 MiB; copies of 160, 50 and 16 GB/s, in memory of 6 GB/s.
const MACHINE: [(&str, &str); 14] = [
    ("cache.line", "64 B"),
    ("cache.l1d_size", "48 KiB"),
    ("cache.l1d_latency", "1 ns"),
    ("cache.l2_size", "2 MiB"),
    ("cache.l2_latency", "5 ns"),
    ("cache.l3_size", "64 MiB"),
    ("cache.l3_latency", "64 ns"),
    ("mem.latency_local", "96 ns"),
    ("mem.copy_traffic", "3"),
    ("mem.core_copy_bw_l1", "160 GB/s"),
    ("mem.core_copy_bw", "50 GB/s"),
    ("mem.core_copy_bw_llc", "16 GB/s"),
    ("mem.core_copy_bw_dram", "6 GB/s"),
    ("os.page_size", "4 KiB"),
];
const WAYS: (&str, &str) = ("cache.l2_ways", "16");
const IN_FLIGHT: (&str, &str) = ("cache.lines_in_flight", "16");

fn packer(more: &[(&str, &str)]) -> Packer {
    Packer::new(&least::but(MACHINE.iter().chain(more)))
}

/// So many blocks of so many bytes, so many bytes from each to the next.
fn blocks(count: u64, length: u64, stride: i64) -> Scattered {
    let runs = (0..count.cast_signed()).map(|block| (block * stride, length));
    Scattered::of(runs, count * length / 4, (Bytes::new(64), Bytes::kib(4)))
}

const MIB: u64 = 1 << 20;

/// So many bytes at so many GB/s.
fn at(gb_per_s: u64, bytes: u64) -> TimeDelta {
    Bandwidth::from_mb_per_s(1000 * gb_per_s).transfer_time(Bytes::new(bytes))
}

#[test]
fn a_layout_is_the_lines_that_it_touches() {
    let seen = |count, length, stride| {
        let data = blocks(count, length, stride);
        (data.lines / 64, data.jumps, data.touched)
    };
    // Two blocks in each line: they follow each other, and no page is left out.
    assert_eq!(seen(1024, 4, 32), (512, 1, 64));
    // Equal distances: no run follows the one before.
    assert_eq!(seen(1024, 16, 128), (1024, 1024, 32));
    assert_eq!(seen(1024, 64, 512), (1024, 1024, 8));
    assert_eq!(seen(256, 256, 2048), (1024, 256, 8));
    // Each in a page of its own.
    assert_eq!(seen(256, 64, 4096), (256, 256, 1));
    // A page and a gap of seven.
    assert_eq!(seen(16, 4096, 32_768), (1024, 16, 64));
    // One run, whatever the blocks.
    assert_eq!(seen(1024, 64, 64), (1024, 1, 64));
    // A block over the end of a line touches two; backwards every block is a jump.
    assert_eq!(seen(3, 64, 96), (4, 1, 4));
    let back = Scattered::of([(0, 8), (-4096, 8)], 4, (Bytes::new(64), Bytes::kib(4)));
    assert_eq!((back.lines, back.jumps, back.touched), (128, 2, 1));
    assert_eq!(seen(64, 64, -128), (64, 64, 32));
    // Blocks that share lines with the one before, upwards and downwards.
    assert_eq!((seen(3, 64, 32).0, seen(3, 64, -32).0), (2, 2));
    let none = Scattered::of([(0, 0)], 0, (Bytes::new(64), Bytes::kib(4)));
    assert_eq!(
        (none.blocks, none.lines, packer(&[]).time(&none, Way::Gather, false)),
        (0, 0, TimeDelta::ZERO)
    );
}

#[test]
fn traffic_is_lines_of_the_scattered_side_and_the_packed_bytes() {
    let packer = packer(&[]);
    // 16 MiB of lines for 4 MiB, in the last level: lines once, packed bytes read and written.
    let data = blocks(262_144, 16, 128);
    let lines = 262_144 * 64;
    let all = |bytes: u64| bytes.div_ceil(3);
    assert_eq!(packer.time(&data, Way::Gather, false), at(16, all(lines + 2 * 4 * MIB)));
    // Unpacking reads and writes the lines.
    assert_eq!(packer.time(&data, Way::Scatter, false), at(16, all(2 * lines + 4 * MIB)));
    // What a device has left in memory, and what no cache holds.
    assert_eq!(packer.time(&data, Way::Gather, true), at(6, all(lines + 2 * 4 * MIB)));
    let large = blocks(1 << 20, 64, 512);
    assert_eq!(packer.time(&large, Way::Gather, false), at(6, 64 * MIB));
    // 16 KiB and 32 KiB: the first level, and the second.
    assert_eq!(packer.time(&blocks(256, 64, 128), Way::Gather, false), at(160, 16 << 10));
    assert_eq!(packer.time(&blocks(512, 64, 128), Way::Gather, false), at(50, 32 << 10));
}

#[test]
fn blocks_at_equal_distances_share_few_sets() {
    let packer = packer(&[WAYS]);
    let held =
        |data: &Scattered| packer.memory.held(data, Level::L2).map(|part| part * 100 / 65_536);
    // 256 KiB in every eighth line: as crowded as 2 MiB, and the packed bytes lie among them.
    let strided = blocks(4096, 64, 512);
    assert_eq!(packer.memory.level_of(Bytes::new(strided.lines + strided.bytes)), Level::L2);
    // Fewer than 16 others, of 18 on average: 0.29; of 2, in the other sets, always.
    assert_eq!(held(&strided), [28, 91]);
    // The same bytes in a row: all of them.
    assert_eq!(held(&blocks(4096, 64, 64)), [100, 100]);
    // 1 MiB in every eighth line: none.
    assert_eq!(held(&blocks(16_384, 64, 512))[0], 0);
    let time = |data| packer.time(&data, Way::Gather, false);
    assert!(time(strided) > time(blocks(4096, 64, 64)).scaled(14, 10));
}

#[test]
fn lines_that_follow_no_other_wait_for_their_turn() {
    let (free, bound) = (packer(&[]), packer(&[IN_FLIGHT]));
    let time = |packer: &Packer, data| packer.time(&data, Way::Gather, false);
    // 65536 lines of the last level, 16 on their way for 64 ns: 4 ns each, at equal distances or not.
    // The packed bytes are read and written beside them.
    let packed = |gb_per_s| at(gb_per_s, (2 * MIB).div_ceil(3));
    for strided in [blocks(65_536, 16, 128), blocks(65_536, 16, 4096 + 64)] {
        assert_eq!(time(&bound, strided), TimeDelta::from_ns(4 * 65_536) + packed(16));
        assert_eq!(time(&free, strided), at(16, (6 * MIB).div_ceil(3)));
        // In memory 96 ns: 6 ns each.
        let far = bound.time(&strided, Way::Gather, true);
        assert_eq!(far, TimeDelta::from_ns(6 * 65_536) + packed(6));
    }
    // Of four lines that follow each other one waits, and three stream.
    let runs = time(&bound, blocks(16_384, 256, 2048));
    assert_eq!(runs, TimeDelta::from_ns(4 * 16_384) + at(16, (11 * MIB).div_ceil(3)));
    // Unpacking writes them back as well: the wait is for the read.
    let back = bound.time(&blocks(65_536, 16, 128), Way::Scatter, false);
    assert_eq!(back, TimeDelta::from_ns(4 * 65_536) + at(16, (5 * MIB).div_ceil(3)));
    // Lines one after the other are fetched ahead, but for the first.
    let row = blocks(65_536, 64, 64);
    let later = time(&bound, row).saturating_sub(time(&free, row));
    assert!(later <= TimeDelta::from_ns(4), "{later}");
    // Where all are on their way at once, their traffic limits.
    let many = packer(&[("cache.lines_in_flight", "64")]);
    assert_eq!(time(&many, blocks(65_536, 16, 128)), at(16, (4 * MIB).div_ceil(3)) + packed(16));
}

/// A transposed matrix of 1024 x 1024 integers touches each of its lines sixteen times.
#[test]
fn lines_that_are_touched_again_take_room_once() {
    let places =
        (0..1024).flat_map(|column| (0..1024).map(move |row| (row * 4096 + column * 4, 4)));
    let data = Scattered::of(places, 1 << 20, (Bytes::new(64), Bytes::kib(4)));
    assert_eq!((data.lines, data.room, data.bytes), (64 * MIB, 4 * MIB, 4 * MIB));
    // 8 MiB fit the last level of 64 MiB: three times as fast as in memory.
    let time = packer(&[]).time(&data, Way::Gather, false);
    assert_eq!(time, at(16, (64 * MIB + 8 * MIB).div_ceil(3)));
    // Apart they take all.
    let strided = blocks(1024, 16, 128);
    assert_eq!(strided.room, strided.lines);
}

#[test]
fn the_slowest_bound_counts_unless_a_core_issues_in_order() {
    let data = blocks(262_144, 4, 32);
    let traffic = packer(&[]).time(&data, Way::Gather, false);
    let with = |more: &[(&str, &str)]| packer(more).time(&data, Way::Gather, false);
    let slow = TimeDelta::from_ns(2 * 262_144);
    assert_eq!(with(&[("mpi.pack_block", "0.1 ns")]), traffic);
    assert_eq!(with(&[("mpi.pack_block", "2 ns")]), slow);
    assert_eq!(with(&[("mpi.pack_block", "2 ns"), ("cpu.in_order", "true")]), slow + traffic);
}

#[test]
fn a_library_moves_short_blocks_primitive_by_primitive() {
    let library = [
        ("mpi.pack_element", "2 ns"),
        ("mpi.pack_block", "40 ns"),
        ("mpi.pack_copy_from", "1 KiB"),
    ];
    let packer = packer(&library);
    let time = |data| packer.time(&data, Way::Gather, false);
    // 128 integers a block.
    assert_eq!(time(blocks(1024, 512, 4096)), TimeDelta::from_ns(2 * 128 * 1024));
    assert_eq!(time(blocks(16, 1024, 8192)), TimeDelta::from_ns(40 * 16));
    // The loop over the primitives of a block is entered once for each.
    let laps = Packer { lap: TimeDelta::from_ns(3), ..packer.clone() };
    let both = laps.time(&blocks(1024, 512, 4096), Way::Gather, false);
    assert_eq!(both, TimeDelta::from_ns(2 * 128 * 1024 + 3 * 1024));
    // The mean decides, not the longest: 1026 B of two blocks, 685 B of three.
    let lines = (Bytes::new(64), Bytes::kib(4));
    let long = Scattered::of([(0, 4), (8192, 2048)], 513, lines);
    assert_eq!(time(long), TimeDelta::from_ns(80));
    let short = Scattered::of([(0, 4), (8192, 4), (16_384, 2048)], 514, lines);
    assert_eq!(time(short), TimeDelta::from_ns(2 * 514));
    // One block is copied, however short.
    assert_eq!(time(blocks(1, 512, 0)), TimeDelta::from_ns(40));
}

/// The short way gives what the walk gives: every field, whatever stride, length and page.
#[test]
fn blocks_that_are_alike_need_no_walk() {
    let mut draw = Streams::new(7).stream("blocks", 0);
    let mut below = |most: u64| draw.below(most);
    let (mut long, mut jumped) = (0, 0);
    for _ in 0..1_500 {
        let page = 256 << below(3);
        let sizes = (Bytes::new(32 << below(3)), Bytes::new(page));
        let stride = match below(4) {
            0 => below(4 * page).cast_signed(),
            1 => -below(2 * page).cast_signed(),
            2 => (page / 4 * below(9)).cast_signed(),
            _ => (8 * below(page)).cast_signed(),
        };
        let first = below(3 * page).cast_signed() - page.cast_signed();
        let (length, count) = (below(page), below(5 * page));
        let all = Blocks { first, length, stride, count };
        let runs = (0..count.cast_signed()).map(|block| (first + block * stride, length));
        let walked = Scattered::of(runs, 5, sizes);
        assert_eq!(Scattered::of_blocks(all, 5, sizes), walked, "{all:?} {sizes:?}");
        long += u64::from(count * stride.unsigned_abs() > 8 * page);
        jumped += u64::from(walked.jumps > 1);
    }
    assert!(long > 100 && jumped > 300, "{long} {jumped}");
}

/// A terabyte of columns takes no longer than some pages of them.
#[test]
fn a_huge_vector_is_counted_by_its_periods() {
    let sizes = (Bytes::new(64), Bytes::kib(4));
    let count = 1 << 40;
    let huge =
        Scattered::of_blocks(Blocks { first: 0, length: 8, stride: 128, count }, count, sizes);
    // Each second line, and none follows another.
    assert_eq!((huge.lines, huge.jumps, huge.touched), (count * 64, count, 32));
    assert_eq!((huge.blocks, huge.bytes, huge.room), (count, count * 8, count * 64));
}
