//! The workloads on which the fabric is compared with the oracle.

use mpisim::hardware::fabric::Arbitration;

use super::driver::{Begin, Message, Workload, message};

pub(crate) const MTU: u64 = 4096;
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// A small generator for test data (splitmix64).
pub(crate) struct Dice(pub u64);

impl Dice {
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    pub(crate) fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }
}

pub(crate) fn world(ps_per_byte: &[u64], paths: &[&[u32]]) -> Workload {
    Workload {
        ps_per_byte: ps_per_byte.to_vec(),
        mtu: MTU,
        arbitration: Arbitration::ByteQuantum,
        paths: paths.iter().map(|path| path.iter().map(|&hop| (hop, 1)).collect()).collect(),
        messages: Vec::new(),
    }
}

/// `k` flows of 4 MiB and 8-byte messages now and then, over the same stages.
pub(crate) fn pings(stages: &[u64], k: u32, count: u64) -> Workload {
    let path: Vec<u32> = (0..).take(stages.len()).collect();
    let mut work = world(stages, &[&path]);
    work.messages.extend((0..k).map(|conn| message(0, conn, 0, 4 * MIB)));
    let slowest = stages.iter().max().expect("there are stages");
    let gap = u64::from(k) * 4 * MIB * slowest * 9 / 10 / count;
    let mut dice = Dice(u64::from(k));
    work.messages
        .extend((0..count).map(|i| message(50_000_000 + i * gap + dice.below(gap / 2), k, 0, 8)));
    work
}

/// Messages of 8 B to 2 KiB that load a link of 80 ps/B by `percent`, from `conns` connections.
pub(crate) fn packets(
    work: &mut Workload,
    percent: u64,
    conns: u32,
    path: usize,
    until: u64,
    seed: u64,
) {
    let first = work.messages.iter().map(|m| m.conn + 1).max().unwrap_or_default();
    let mut dice = Dice(seed);
    // Sizes are powers of two from 8 to 2048: 454 B on average.
    let gap = 454 * 80 * 100 / percent;
    let mut now = 0;
    while now < until {
        now += dice.below(2 * gap);
        let conn = first + u32::try_from(dice.below(u64::from(conns))).expect("small");
        let bytes = 8 << dice.below(9);
        work.messages.push(message(now, conn, path, bytes));
    }
}

/// Two flows of 8 MiB and small messages from 16 connections on one link.
pub(crate) fn mix(percent: u64, conns: u32) -> Workload {
    let mut work = world(&[80], &[&[0]]);
    work.messages.extend((0..2).map(|conn| message(0, conn, 0, 8 * MIB)));
    let until = 2 * 8 * MIB * 80;
    packets(&mut work, percent, conns, 0, until, percent);
    work
}

/// Bulk that a link before limits to 60 % of the link where the packets are.
pub(crate) fn capped_upstream(percent: u64) -> Workload {
    let mut work = world(&[133, 80], &[&[0, 1], &[1]]);
    work.messages.extend((0..2).map(|conn| message(0, conn, 0, 8 * MIB)));
    packets(&mut work, percent, 16, 1, 2 * 8 * MIB * 133, percent);
    work
}

/// Packets slow a flow on link 0; what it leaves on link 1 another flow inherits.
pub(crate) fn inherits(percent: u64) -> Workload {
    let mut work = world(&[80, 80], &[&[0, 1], &[1], &[0]]);
    work.messages.push(message(0, 0, 0, 16 * MIB));
    work.messages.push(message(0, 1, 1, 16 * MIB));
    work.messages.push(message(0, 2, 2, 16 * MIB));
    packets(&mut work, percent, 16, 2, 2 * 16 * MIB * 80, percent);
    work
}

/// 28 copies with a core each and two DMA streams on one memory bus; pings cross wire and bus.
pub(crate) fn memory_bus() -> Workload {
    let mut work = world(&[], &[]);
    for core in 0..28 {
        work.ps_per_byte.push(160);
        work.paths.push(vec![(core, 1), (29, 2)]);
    }
    work.ps_per_byte.push(80); // the wire, 28
    work.ps_per_byte.push(16); // the bus, 29
    work.paths.push(vec![(28, 1), (29, 1)]);
    for conn in 0..28 {
        work.messages.push(message(0, conn, conn as usize, 2 * MIB));
    }
    work.messages.extend((28..30).map(|conn| message(0, conn, 28, 2 * MIB)));
    let mut dice = Dice(3);
    work.messages
        .extend((1..400).map(|i| message(i * 2_000_000 + dice.below(1_000_000), 30, 28, 8)));
    work
}

/// 32 senders of 16 KiB at once into one link, with four 8-byte messages.
pub(crate) fn incast(spread: u64) -> Workload {
    let mut work = world(&[80; 33], &[]);
    let mut dice = Dice(spread);
    for sender in 0..32_u32 {
        work.paths.push(vec![(sender, 1), (32, 1)]);
        let at = if spread == 0 { 0 } else { dice.below(spread) };
        work.messages.push(message(at, sender, sender as usize, 16 * KIB));
    }
    work.messages
        .extend((0..4).map(|i| message(2_000_000 + 7_000_000 * u64::from(i), 32 + i, 0, 8)));
    work
}

/// 16 pairs, 64 KiB, `window` messages under way each, over five stages that all share.
pub(crate) fn pairs(window: usize, rounds: usize) -> Workload {
    let mut work = world(&[60, 80, 60, 50, 60], &[&[0, 1, 2]]);
    for conn in 0..16_u32 {
        for round in 0..window * rounds {
            let begin = if round < window {
                Begin::At(0)
            } else {
                Begin::After(work.messages.len() - window)
            };
            work.messages.push(Message { begin, conn, path: 0, bytes: 64 * KIB });
        }
    }
    let mut dice = Dice(9);
    let end = 16 * (window * rounds) as u64 * 64 * KIB * 80;
    work.messages.extend((0..200).map(|_| message(dice.below(end * 9 / 10), 16, 0, 8)));
    work
}

/// Bulk of 16-256 KiB at random times over 64 links.
pub(crate) fn crowd(flows: u32) -> Workload {
    let mut dice = Dice(u64::from(flows));
    let mut work = world(&[80; 64], &[]);
    for conn in 0..flows {
        let path = random_path(&mut dice, 64, 4);
        work.paths.push(path);
        let bytes = (16 * KIB) << dice.below(5);
        work.messages.push(message(dice.below(20_000_000), conn, conn as usize, bytes));
    }
    work
}

fn random_path(dice: &mut Dice, links: u64, longest: u64) -> Vec<(u32, u32)> {
    let mut path: Vec<(u32, u32)> = Vec::new();
    let length = dice.range(1, longest + 1);
    while (path.len() as u64) < length {
        let link = u32::try_from(dice.below(links)).expect("few links");
        if path.iter().all(|step| step.0 != link) {
            path.push((link, 1));
        }
    }
    path
}

/// A random world: 2-8 links, 2-12 bulk connections, 4-16 connections with packets.
pub(crate) fn random(seed: u64, heavy: bool) -> Workload {
    let mut dice = Dice(seed * 2 + u64::from(heavy));
    let links = dice.range(2, 9);
    let mut work = world(&[], &[]);
    work.ps_per_byte =
        (0..links).map(|_| [40, 50, 80, 100, 125, 160][dice.below(6) as usize]).collect();
    let bulk = u32::try_from(dice.range(2, 13)).expect("few");
    for conn in 0..bulk {
        work.paths.push(random_path(&mut dice, links, 3.min(links)));
        let mut at = dice.below(20_000_000);
        for _ in 0..dice.range(2, 6) {
            let bytes = (64 * KIB) << dice.below(5);
            work.messages.push(message(at, conn, conn as usize, bytes));
            at += dice.below(100_000_000);
        }
    }
    let small = u32::try_from(dice.range(4, 17)).expect("few");
    let percent = if heavy { dice.range(10, 61) } else { dice.range(1, 11) };
    let gap = u64::from(small) * 454 * 80 * 100 / percent / 2;
    for conn in bulk..bulk + small {
        let path = work.paths.len();
        work.paths.push(random_path(&mut dice, links, 3.min(links)));
        let mut at = 0;
        while at < 150_000_000 {
            at += dice.below(2 * gap);
            work.messages.push(message(at, conn, path, 8 << dice.below(9)));
        }
    }
    work
}
