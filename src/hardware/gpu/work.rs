//! The counted work of a kernel.

use std::ops::{Add, AddAssign};

use super::shape::Shape;
use units::TimeDelta;

/// Bytes over the bus, and the packets that carry them.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct BusTraffic {
    /// Payload.
    pub bytes: u64,
    /// TLPs, or read requests.
    pub packets: u64,
}

/// Instructions and loads that the slowest warp waits for from its first to its last instruction.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Chain {
    /// Instructions, one after the other.
    pub instructions: u64,
    /// Loads from shared memory that it waits for.
    pub shared: u64,
    /// Loads that it waits for and that hit the first-level cache.
    pub near: u64,
    /// Loads that it waits for and that hit the second-level cache.
    pub hits: u64,
    /// Loads that it waits for and that go to device memory.
    pub misses: u64,
    /// Loads of host memory that it waits for.
    pub host: u64,
    /// How long all of that takes.
    pub time: TimeDelta,
}

impl Chain {
    /// The same with its time; of loads from the host the bus takes the last one's.
    pub(super) fn timed(self, shape: &Shape) -> Self {
        let time = shape.instruction_latency * self.instructions
            + shape.shared_latency * self.shared
            + shape.l1_latency * self.near
            + shape.l2_latency * self.hits
            + shape.memory_latency * self.misses
            + shape.read_latency * self.host.saturating_sub(1);
        Self { time, ..self }
    }

    /// One after the other.
    pub(super) fn then(self, next: Self) -> Self {
        Self {
            instructions: self.instructions + next.instructions,
            shared: self.shared + next.shared,
            near: self.near + next.near,
            hits: self.hits + next.hits,
            misses: self.misses + next.misses,
            host: self.host + next.host,
            time: self.time + next.time,
        }
    }

    /// Side by side: the longer one.
    pub(super) fn or(self, other: Self) -> Self {
        if other.time > self.time { other } else { self }
    }
}

/// Work of a kernel, or of a part of one.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Work {
    /// Warps.
    pub warps: u64,
    /// Instructions issued, one for all threads of a warp; each path of a warp that diverges counts.
    pub instructions: u64,
    /// Paths that warps took beyond their first.
    pub further_paths: u64,
    /// Transactions of device memory that reads touch.
    pub read_segments: u64,
    /// Transactions of device memory that writes touch.
    pub write_segments: u64,
    /// Those among both that the second-level cache holds already, or the first-level one.
    pub l2_hits: u64,
    /// Bytes between the second-level cache and device memory.
    pub memory_traffic: u64,
    /// Stores into host memory: each contiguous piece of at most one TLP's payload is a packet.
    pub host_writes: BusTraffic,
    /// Loads from host memory.
    pub host_reads: BusTraffic,
    /// Instructions and loads that the slowest warp waits for.
    pub chain: Chain,
    /// The blocks that were counted, and the times of the slowest warp of each, summed: how long they
    /// hold their slots at least. None: all as the slowest one.
    pub holds: (u64, TimeDelta),
}

impl Work {
    /// A kernel of so many warps that only computes.
    pub fn computing(warps: u64, instructions_of_each: u64) -> Self {
        Self {
            warps,
            instructions: warps * instructions_of_each,
            chain: Chain { instructions: instructions_of_each, ..Chain::default() },
            ..Self::default()
        }
    }

    /// Each number as `part / whole` of it, rounded to the nearest; the chain stays.
    pub(super) fn scaled(&self, part: u64, whole: u64) -> Self {
        let of = |number: u64| scaled(number, part, whole);
        let traffic = |traffic: BusTraffic| BusTraffic {
            bytes: of(traffic.bytes),
            packets: of(traffic.packets),
        };
        Self {
            warps: of(self.warps),
            instructions: of(self.instructions),
            further_paths: of(self.further_paths),
            read_segments: of(self.read_segments),
            write_segments: of(self.write_segments),
            l2_hits: of(self.l2_hits),
            memory_traffic: of(self.memory_traffic),
            host_writes: traffic(self.host_writes),
            host_reads: traffic(self.host_reads),
            chain: self.chain,
            holds: self.holds,
        }
    }

    /// How long a block holds its slot at least, in the mean.
    pub(super) fn usual_hold(&self) -> TimeDelta {
        let (blocks, sum) = self.holds;
        if blocks == 0 { self.chain.time } else { sum.scaled(1, blocks) }
    }
}

fn scaled(number: u64, part: u64, whole: u64) -> u64 {
    let exact = u128::from(number) * u128::from(part) + u128::from(whole / 2);
    u64::try_from(exact / u128::from(whole)).expect("a kernel does less than 2^64 of anything")
}

impl Add for BusTraffic {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, packets: self.packets + other.packets }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        self.warps += other.warps;
        self.instructions += other.instructions;
        self.further_paths += other.further_paths;
        self.read_segments += other.read_segments;
        self.write_segments += other.write_segments;
        self.l2_hits += other.l2_hits;
        self.memory_traffic += other.memory_traffic;
        self.host_writes = self.host_writes + other.host_writes;
        self.host_reads = self.host_reads + other.host_reads;
        self.chain = self.chain.or(other.chain);
        self.holds = (self.holds.0 + other.holds.0, self.holds.1 + other.holds.1);
    }
}
