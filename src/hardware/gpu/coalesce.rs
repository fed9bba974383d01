//! Coalescing: what the accesses of one instruction of a warp become in memory and on the bus.

use super::work::BusTraffic;

/// An address and a number of bytes, at least one.
pub(super) type Range = (u64, u32);

/// Sorts ranges by address, if they are not sorted: neighbouring threads mostly touch neighbours.
pub(super) fn sort(ranges: &mut [Range]) {
    if !ranges.is_sorted_by_key(|range| range.0) {
        ranges.sort_unstable_by_key(|range| range.0);
    }
}

/// Each aligned segment of `unit` bytes that sorted ranges touch, once, by its number.
pub(super) fn segments(ranges: &[Range], unit: u64, mut touch: impl FnMut(u64)) {
    let mut next = 0;
    for &(address, bytes) in ranges {
        let first = address / unit;
        let last = (address + u64::from(bytes.max(1)) - 1) / unit;
        for segment in first.max(next)..=last {
            touch(segment);
        }
        next = next.max(last + 1);
    }
}

/// The packets of sorted ranges: a contiguous run is cut at every multiple of `unit`.
///
/// A packet says where it begins and how long it is, so bytes with a gap between them travel apart.
pub(super) fn packets(ranges: &[Range], unit: u64) -> BusTraffic {
    let mut traffic = BusTraffic::default();
    let mut close = |start: u64, end: u64| {
        if end > start {
            traffic.bytes += end - start;
            traffic.packets += (end - 1) / unit - start / unit + 1;
        }
    };
    let (mut start, mut end) = (0, 0);
    for &(address, bytes) in ranges {
        let after = address + u64::from(bytes);
        if address > end {
            close(start, end);
            (start, end) = (address, after);
        } else {
            if start == end {
                start = address;
            }
            end = end.max(after);
        }
    }
    close(start, end);
    traffic
}

/// Passes of an access of sorted ranges to shared memory of `banks` banks, each `bank` bytes wide: a
/// bank gives one of its words in a pass, to all threads that want it.
pub(super) fn passes(ranges: &[Range], bank: u64, banks: u64) -> u64 {
    if let [(first, bytes), .., (last, _)] = *ranges
        && first == last
        && ranges.iter().all(|range| range.1 == bytes)
    {
        // All threads want the same.
        return u64::from(bytes).div_ceil(bank * banks);
    }
    let mut wanted = vec![0; usize::try_from(banks).expect("some dozens")];
    segments(ranges, bank, |word| {
        wanted[usize::try_from(word % banks).expect("some dozens")] += 1;
    });
    wanted.into_iter().max().unwrap_or(0).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bank_of_shared_memory_gives_one_word_in_a_pass() {
        for (stride, bytes, bank, expected) in [
            // One word for all; a word of its own for each; words of 8 B, from banks of 4 B and of 8 B.
            (0, 4, 4, 1),
            (0, 8, 4, 1),
            (4, 4, 4, 1),
            (8, 8, 4, 2),
            (8, 8, 8, 1),
            // Every other bank, one bank, and one apart from that.
            (8, 4, 4, 2),
            (128, 4, 4, 32),
            (132, 4, 4, 1),
            // More than all banks give at once.
            (0, 160, 4, 2),
        ] {
            assert_eq!(passes(&strided(0, stride, bytes), bank, 32), expected, "{stride} {bytes}");
        }
    }

    fn strided(base: u64, stride: u64, bytes: u32) -> Vec<Range> {
        (0..32).map(|lane| (base + lane * stride, bytes)).collect()
    }

    fn touched(ranges: &[Range], unit: u64) -> usize {
        let mut seen = Vec::new();
        segments(ranges, unit, |segment| seen.push(segment));
        assert!(seen.is_sorted() && seen.windows(2).all(|pair| pair[0] < pair[1]), "{seen:?}");
        seen.len()
    }

    // Section 2.2 of `gpu-pack`; claim: gpu-sem-coalesce
    #[test]
    fn adjacent_threads_share_transactions_and_distant_ones_do_not() {
        for (base, stride, bytes, expected) in [
            (0, 4, 4, 1),
            (0, 8, 8, 2),
            (0, 16, 16, 4),
            (64, 8, 8, 3),
            (124, 4, 4, 2),
            (0, 16, 8, 4),
            (0, 64, 8, 16),
            (0, 128, 8, 32),
            (0, 512, 8, 32),
            (4, 128, 128, 33),
            (0, 0, 8, 1),
        ] {
            let ranges = strided(base, stride, bytes);
            assert_eq!(touched(&ranges, 128), expected, "{base} {stride} {bytes}");
        }
        // Sectors of 32 B.
        assert_eq!(touched(&strided(0, 8, 8), 32), 8);
        assert_eq!(touched(&strided(0, 512, 8), 32), 32);
    }

    #[test]
    fn the_order_of_threads_does_not_matter() {
        let mut ranges = strided(40, 24, 8);
        ranges.reverse();
        sort(&mut ranges);
        assert_eq!(ranges, strided(40, 24, 8));
    }

    #[test]
    fn packets_are_contiguous_and_stay_inside_a_line() {
        for (base, stride, bytes, expected) in [
            (0, 4, 4, (128, 1)),
            (0, 8, 8, (256, 2)),
            (8, 8, 8, (256, 3)),
            (0, 16, 8, (256, 32)),
            (0, 128, 128, (4096, 32)),
            (0, 0, 8, (8, 1)),
            (0, 4, 8, (132, 2)),
        ] {
            let traffic = packets(&strided(base, stride, bytes), 128);
            assert_eq!((traffic.bytes, traffic.packets), expected, "{base} {stride} {bytes}");
        }
        assert_eq!(packets(&[], 128), BusTraffic::default());
    }
}
