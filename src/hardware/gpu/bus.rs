//! What one GPU shares: issue slots, device memory, its bus; and the paths over them.
//!
//! ```text
//!   kernel   issue ─▶ [device memory] ─▶ [reads of SMs ─▶ bus down] ─▶ [bus up] ─▶ [both ways] ─▶ [host]
//!   in device  [rows] ─▶ device memory
//!   to host  [rows] ─▶ device memory ─▶ bus up ─▶ [both ways] ─▶ host memory ─▶ [staging]
//!   to device [rows] ─▶ reads of the engine ─▶ bus down ─▶ [both ways] ─▶ device memory, host memory
//! ```
//!
//! A path charges each resource what the counted work asks of it, for each byte that moves: so the
//! fabric finds the slowest of them, and shares it among all that are under way.
//! Left out: read requests on their way up; noticeable as some percent of the bytes of that direction.

use std::collections::BTreeMap;

use super::copy::{Copy, Direction, HostMemory, RowTimes};
#[cfg(feature = "mutants")]
use super::flaw::Flaw;
use super::shape::Shape;
use super::work::{BusTraffic, Work};
use crate::fabric::{Boundary, Fabric, Framing, Hop, PathId, ResourceId, ResourceSpec};
use units::{Bandwidth, Bytes, PS_PER_S, TimeDelta};

/// Units of the issue resource for each instruction.
/// Method: far above the bytes that one moves, which are the least charge.
const INSTRUCTION: u64 = 4096;
/// Kernels at the same time that leave SMs idle in their own way.
/// Method: of more, two may slow each other down.
const OWN: u32 = 16;
/// Bytes at a time for which traffic that is not packets is charged.
/// Method: the charge of so many is rounded once.
const GRAIN: u64 = 1024;

/// The resources of one GPU.
#[derive(Clone, Debug)]
pub(crate) struct Bus {
    issue: ResourceId,
    /// Issue slots of the SMs that one kernel has blocks on, by its slot.
    own_issue: Vec<ResourceId>,
    memory: ResourceId,
    up: ResourceId,
    down: ResourceId,
    /// Reads of copy engines: alone, and behind writes.
    copy_reads: [ResourceId; 2],
    /// Reads of SMs, likewise.
    sm_reads: [ResourceId; 2],
    /// Row times of the engines, by direction; a unit is a byte's time of device memory.
    rows: [ResourceId; 3],
    /// The core that copies for pageable memory.
    staging: ResourceId,
    /// Both directions together, where the node has such a limit.
    both: Option<ResourceId>,
    /// The host's memory, where accesses of devices reach it.
    host: Option<ResourceId>,
}

impl Bus {
    /// The resources of the GPU `name` of a node that has these two.
    pub(crate) fn new(
        name: &str,
        shape: &Shape,
        both: Option<ResourceId>,
        host: Option<ResourceId>,
        add: &mut impl FnMut(ResourceSpec) -> ResourceId,
    ) -> Self {
        let named = |what: &str| format!("{name} {what}");
        let pipe =
            |what: &str, capacity| ResourceSpec::shared(named(what), capacity, Framing::NONE);
        let bus = |way: &str, overhead| {
            let packets = Framing { unit: shape.payload, overhead };
            ResourceSpec::boundary(Boundary::GpuBus, named(way), shape.bus, packets)
        };
        let bits = u128::from(shape.issue_rate.as_hz()) * u128::from(shape.sms);
        let bits = bits * u128::from(INSTRUCTION) * 8;
        let issue = Bandwidth::from_bit_per_s(u64::try_from(bits).expect("below 2^63 bit/s"));
        let behind = shape.read_latency + shape.behind_writes;
        let mut reads = |what: &str, requests| {
            [("", shape.read_latency), (" behind writes", behind)].map(|(state, latency)| {
                let rate = shape.read_rate(requests, latency);
                add(pipe(&format!("{what}{state}"), rate))
            })
        };
        let (copy_reads, sm_reads) =
            (reads("engine reads", shape.copy_reads), reads("SM reads", shape.sm_reads));
        Self {
            issue: add(pipe("issue slots", issue)),
            own_issue: (0..shape.concurrent_kernels.min(OWN))
                .map(|slot| add(pipe(&format!("issue slots of kernel {slot}"), issue)))
                .collect(),
            memory: add(pipe("memory", shape.memory_bw)),
            up: add(bus("PCIe to host", shape.write_overhead)),
            down: add(bus("PCIe from host", shape.read_overhead)),
            copy_reads,
            sm_reads,
            rows: ["to device", "to host", "in device"]
                .map(|way| add(pipe(&format!("rows {way}"), shape.memory_bw))),
            staging: add(pipe("staging", shape.staging_bw)),
            both,
            host,
        }
    }
}

/// Traffic that a wave of blocks moves as one transfer, and the resources that it loads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Load {
    /// Bytes of the transfer for the whole kernel: what it moves over the bus, or else in memory.
    pub bytes: u64,
    issue: u64,
    memory: u64,
    writes: BusTraffic,
    reads: BusTraffic,
    /// Of the slowest warp, and of that of a usual block.
    latency: TimeDelta,
    usual: TimeDelta,
}

impl Load {
    pub(super) fn of(work: &Work, shape: &Shape) -> Self {
        let (writes, reads) = (work.host_writes, work.host_reads);
        let issue = work.instructions * INSTRUCTION;
        let over_bus = [writes.bytes, reads.bytes].into_iter().filter(|&bytes| bytes > 0).min();
        let in_memory = (work.memory_traffic > 0).then_some(work.memory_traffic);
        let chain = work.chain;
        Self {
            bytes: over_bus.or(in_memory).unwrap_or(issue),
            issue,
            memory: work.memory_traffic,
            writes,
            reads,
            latency: chain.timed(shape).time,
            usual: Work { chain: chain.timed(shape), ..*work }.usual_hold(),
        }
    }

    /// Whether it writes to the host.
    pub(super) const fn writes_to_host(&self) -> bool {
        self.writes.bytes > 0
    }
}

/// The blocks of a wave do not fill the SMs evenly: issue takes `fullest` / `even` as long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Evenness {
    /// Blocks of the SM that has most, times SMs.
    pub fullest: u64,
    /// Blocks.
    pub even: u64,
}

impl Evenness {
    /// Whether no SM has fewer than others.
    pub(super) const fn is_even(self) -> bool {
        self.fullest == self.even
    }
}

/// One hop as a key: the resource, its framing and its latency.
type Key = (u32, Option<(u64, u64)>, u64);

/// The paths of one GPU, made when they are first needed.
#[derive(Debug)]
pub(super) struct Paths {
    bus: Bus,
    made: BTreeMap<Vec<Key>, PathId>,
}

impl Paths {
    pub(super) const fn new(bus: Bus) -> Self {
        Self { bus, made: BTreeMap::new() }
    }

    /// The path of the waves of the kernel in a slot. The first has the slowest warp: it meets cold
    /// caches, and whatever stands at the begin of the data. `behind`: the GPU writes to the host now.
    pub(super) fn kernel(
        &mut self,
        load: &Load,
        evenness: Evenness,
        (slot, first): (u32, bool),
        behind: bool,
        shape: &Shape,
        fabric: &mut Fabric,
    ) -> PathId {
        let bus = &self.bus;
        let latency = if first { load.latency } else { load.usual };
        let mut hops = vec![framed(bus.issue, charge(load.issue, load.bytes), latency)];
        if !evenness.is_even() {
            // The SM with most blocks is the last to end; what others leave is free for other kernels.
            let all = u128::from(load.issue) * u128::from(evenness.fullest);
            let all = all / u128::from(evenness.even.max(1));
            let all = u64::try_from(all).expect("a kernel issues fewer than 2^52 instructions");
            let own = bus.own_issue[slot as usize % bus.own_issue.len()];
            hops.push(framed(own, charge(all, load.bytes), TimeDelta::ZERO));
        }
        if load.memory > 0 {
            hops.push(framed(bus.memory, charge(load.memory, load.bytes), TimeDelta::ZERO));
        }
        if load.reads.bytes > 0 {
            let latency =
                shape.read_latency + if behind { shape.behind_writes } else { TimeDelta::ZERO };
            let bytes = charge(load.reads.bytes, load.bytes);
            let packets = framing(load.reads, shape.read_overhead, load.bytes);
            // Requests are under way, however few bytes each asks for.
            let requests = charge(load.reads.packets * shape.read_request, load.bytes);
            hops.push(framed(bus.sm_reads[usize::from(behind)], requests, TimeDelta::ZERO));
            hops.push(framed(bus.down, packets, latency));
            self.host(bytes, &mut hops);
        }
        if load.writes.bytes > 0 {
            let bytes = charge(load.writes.bytes, load.bytes);
            let packets = framing(load.writes, shape.write_overhead, load.bytes);
            hops.push(framed(bus.up, packets, shape.write_latency));
            self.host(bytes, &mut hops);
        }
        self.made(&hops, fabric)
    }

    /// The path of a copy's pieces; `behind`: the GPU writes to the host now.
    pub(super) fn copy(
        &mut self,
        copy: &Copy,
        behind: bool,
        shape: &Shape,
        fabric: &mut Fabric,
    ) -> PathId {
        let bus = &self.bus;
        let packets = copy.packets_of_row(shape);
        let mut hops = Vec::new();
        let bytes = match copy.direction {
            Direction::InDevice => {
                let traffic = copy.traffic_of_row(shape);
                let overhead = traffic - copy.width;
                let traffic_of_rows = Framing { unit: copy.width.max(1), overhead };
                hops.push(framed(bus.memory, traffic_of_rows, shape.memory_latency));
                shape.memory_bw.transfer_time(Bytes::new(traffic))
            }
            Direction::DeviceToHost => {
                hops.push(plain(bus.memory, shape.memory_latency));
                hops.push(framed(
                    bus.up,
                    row_framing(copy, shape.write_overhead, shape),
                    shape.write_latency,
                ));
                self.host(Framing::NONE, &mut hops);
                hops.extend(self.staging(copy));
                on_bus(copy.width + packets * shape.write_overhead, shape)
            }
            Direction::HostToDevice => {
                hops.extend(self.staging(copy));
                let latency =
                    shape.read_latency + if behind { shape.behind_writes } else { TimeDelta::ZERO };
                hops.push(plain(bus.copy_reads[usize::from(behind)], TimeDelta::ZERO));
                // The host's end is contiguous: rows are cut in the device.
                hops.push(plain(bus.down, latency));
                self.host(Framing::NONE, &mut hops);
                hops.push(plain(bus.memory, TimeDelta::ZERO));
                let reads = shape.read_rate(shape.copy_reads, latency);
                let bus = on_bus(copy.width + packets * shape.read_overhead, shape);
                bus.max(reads.transfer_time(Bytes::new(copy.width)))
            }
        };
        // A slice begins when the one before has gone the whole way.
        let way = hops.iter().fold(TimeDelta::ZERO, |sum, (hop, _)| sum + hop.latency);
        if let Some(rows) = self.rows(copy, bytes, copy.launches_of_row(way), shape) {
            hops.insert(0, rows);
        }
        self.made(&hops, fabric)
    }

    /// Adds the resource that both directions of the node's buses share, and the host's memory.
    fn host(&self, framing: Framing, hops: &mut Vec<Framed>) {
        let shared = [self.bus.both, self.bus.host].into_iter().flatten();
        hops.extend(shared.map(|resource| framed(resource, framing, TimeDelta::ZERO)));
    }

    fn staging(&self, copy: &Copy) -> Option<Framed> {
        let staged = copy.host == HostMemory::Pageable;
        staged.then(|| plain(self.bus.staging, TimeDelta::ZERO))
    }

    /// The engine's time for rows, where it is not that of their bytes; `launches`: a row's part of
    /// the time between slices.
    fn rows(
        &self,
        copy: &Copy,
        bytes: TimeDelta,
        launches: TimeDelta,
        shape: &Shape,
    ) -> Option<Framed> {
        let times = if copy.direction == Direction::InDevice {
            RowTimes::default()
        } else {
            copy.row_times(&shape.rows)
        };
        let time = (bytes + times.extra).max(times.least_of_packet * copy.packets_of_row(shape));
        let time = time + launches;
        if time <= bytes {
            return None;
        }
        let bits = u128::from(shape.memory_bw.as_bit_per_s()) * u128::from(time.as_ps());
        let units = bits.div_ceil(8 * u128::from(PS_PER_S));
        let units = u64::try_from(units).expect("a row takes less than an hour");
        let overhead = units.saturating_sub(copy.width);
        let rows = Framing { unit: copy.width.max(1), overhead };
        Some(framed(self.bus.rows[copy.direction as usize], rows, TimeDelta::ZERO))
    }

    fn made(&mut self, hops: &[Framed], fabric: &mut Fabric) -> PathId {
        let key: Vec<Key> = hops
            .iter()
            .map(|(hop, framing)| {
                let framing = framing.map(|framing| (framing.unit, framing.overhead));
                (hop.resource.0, framing, hop.latency.as_ps())
            })
            .collect();
        *self.made.entry(key).or_insert_with(|| fabric.add_framed_path(hops))
    }
}

/// A hop that cuts bytes as its resource does, or in its own way.
type Framed = (Hop, Option<Framing>);

const fn plain(resource: ResourceId, latency: TimeDelta) -> Framed {
    (Hop { resource, weight: 1, extra: 0, latency }, None)
}

const fn framed(resource: ResourceId, framing: Framing, latency: TimeDelta) -> Framed {
    (Hop { resource, weight: 1, extra: 0, latency }, Some(framing))
}

/// Charges `amount` for `bytes` that move, evenly; at least the bytes themselves.
fn charge(amount: u64, bytes: u64) -> Framing {
    let unit = bytes.clamp(1, GRAIN);
    let more = u128::from(amount.saturating_sub(bytes)) * u128::from(unit);
    let overhead = (more + u128::from(bytes / 2)) / u128::from(bytes.max(1));
    let overhead = u64::try_from(overhead).expect("a byte is charged less than 2^54");
    Framing { unit, overhead }
}

/// The packets of `traffic`, for `bytes` that move.
fn framing(traffic: BusTraffic, overhead: u64, bytes: u64) -> Framing {
    if traffic.bytes == bytes {
        let unit = traffic.bytes.div_ceil(traffic.packets.max(1)).max(1);
        return Framing { unit, overhead };
    }
    charge(traffic.bytes + traffic.packets * overhead, bytes)
}

/// The time of so many raw bytes on the bus.
fn on_bus(raw: u64, shape: &Shape) -> TimeDelta {
    shape.bus.transfer_time(Bytes::new(raw))
}

/// The TLPs of a copy: no packet spans two rows.
fn row_framing(copy: &Copy, overhead: u64, shape: &Shape) -> Framing {
    #[cfg(feature = "mutants")]
    if shape.has(Flaw::PacketsSpanRows) {
        return Framing { unit: shape.payload, overhead };
    }
    if copy.rows <= 1 || copy.width == 0 {
        return Framing { unit: shape.payload, overhead };
    }
    Framing { unit: copy.width, overhead: copy.packets_of_row(shape) * overhead }
}
