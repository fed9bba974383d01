//! The state of a shared resource: the packet in service, the ring, and what flows mean to it.

use super::Charge;
use super::arena::NONE;
use super::promises::Coming;
use super::reserve::{Reserve, Saved};
use super::ring::{Ring, Run};
use super::spec::{Arbitration, ResourceStats};
use units::{Bandwidth, Bytes, PS_PER_S, TimeDelta};

/// No segment of a flow was right before the packet.
pub(super) const NONE_BEFORE: u64 = u64::MAX;

/// The state of one shared resource.
#[derive(Debug)]
pub(super) struct Shared {
    /// What it was built with: busy time is counted in it.
    built: Bandwidth,
    capacity: Bandwidth,
    pub(super) arbitration: Arbitration,
    /// Capacity in 2^-40 raw bytes per picosecond, rounded down.
    pub(super) rate: u64,
    /// When the packet in service is done.
    pub(super) free_at: u64,
    /// Whether a `Turn` event is under way, and its generation.
    pub(super) turn_pending: bool,
    pub(super) turn_generation: u32,
    pub(super) serving: Serving,
    pub(super) ring: Ring,
    pub(super) run: Option<Run>,
    pub(super) waiting: u32,
    pub(super) counts: Counts,
    pub(super) fluid: Fluid,
    pub(super) coming: Coming,
    /// A defect planted by a test.
    #[cfg(test)]
    pub(super) fault: Option<super::tests::Fault>,
}

/// The packet in service, or the last one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Serving {
    pub(super) flight: u32,
    pub(super) hop: u32,
    pub(super) conn: u32,
    /// Bytes of the present turn.
    pub(super) used: u64,
    pub(super) started: u64,
    /// When its lane was appended to the ring.
    pub(super) stood_since: u64,
    pub(super) undo: Undo,
}

/// What a packet's service changed, to take it back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    pub(super) free_at: u64,
    pub(super) tail: u64,
    pub(super) stolen: i64,
    /// `None` where packets meet no flows: then a service changes nothing of the reserve.
    pub(super) saved: Option<Saved>,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) raw: u128,
    pub(super) packets: u64,
    pub(super) transfers: u64,
    pub(super) queue_max: u32,
}

impl Counts {
    #[inline]
    pub(super) fn add(&mut self, charge: &Charge) {
        self.raw += u128::from(charge.raw);
        self.packets += charge.packets;
        self.transfers += 1;
    }

    pub(super) fn subtract(&mut self, charge: &Charge) {
        self.raw -= u128::from(charge.raw);
        self.packets -= charge.packets;
        self.transfers -= 1;
    }
}

/// What the flows of a resource mean to its packets; set by the solver.
#[derive(Debug, Default)]
pub(super) struct Fluid {
    /// Flows that cross the resource: (flow, which of its hops).
    pub(super) members: Vec<(u32, u32)>,
    /// Flows that this resource limits: each has segments waiting here.
    pub(super) backlogged: u32,
    /// How long a stand-in's turn lasts.
    pub(super) turn: u64,
    /// Time taken from a backlogged flow per time of a packet's service, in 2^-32.
    pub(super) stolen_scale: u64,
    /// Time taken by packets from the backlogged flows so far, less what was given back.
    pub(super) stolen: i64,
    /// A segment began here.
    pub(super) anchor: u64,
    /// Rate of the flows that are limited elsewhere.
    pub(super) passing: u64,
    /// Capacity that nothing uses, as far as is known.
    pub(super) left: u64,
    /// The rate of those who are limited here; the capacity where nobody is.
    pub(super) level: u64,
    /// What packets take, and what is kept for them.
    pub(super) reserve: Reserve,
    /// Flows of the component at the last solve, and when that was.
    pub(super) component: u32,
    pub(super) solved_at: u64,
}

impl Fluid {
    /// Flows cross the resource since the last solve. Those that joined in this instant do not
    /// count yet, so that it does not matter who is told first.
    pub(super) const fn flows(&self) -> bool {
        self.backlogged > 0 || self.passing > 0
    }

    /// Whether a packet's service matters to flows, or to what is kept for packets.
    pub(super) const fn meets_packets(&self) -> bool {
        self.flows() || self.reserve.is_active()
    }
}

impl Shared {
    pub(super) fn new(capacity: Bandwidth, arbitration: Arbitration) -> Self {
        assert!(capacity.as_bit_per_s() > 0, "a shared resource has a capacity");
        let rate = rate_of(capacity);
        Self {
            built: capacity,
            capacity,
            arbitration,
            rate,
            free_at: 0,
            turn_pending: false,
            turn_generation: 0,
            serving: Serving {
                flight: NONE,
                hop: NONE,
                conn: NONE,
                used: 0,
                started: 0,
                stood_since: 0,
                undo: Undo::default(),
            },
            ring: Ring::default(),
            run: None,
            waiting: 0,
            counts: Counts::default(),
            fluid: Fluid { left: rate, level: rate, ..Fluid::default() },
            coming: Coming::default(),
            #[cfg(test)]
            fault: None,
        }
    }

    /// The counts, with `moved` raw bytes of flows that have not ended.
    pub(super) fn stats(&self, counts: Counts, moved: u128) -> ResourceStats {
        let Counts { raw, packets, transfers, queue_max } = counts;
        let raw = raw + moved;
        let bits = u128::from(self.built.as_bit_per_s());
        let busy = raw * 8 * u128::from(PS_PER_S) / bits;
        ResourceStats {
            busy: TimeDelta::from_ps(u64::try_from(busy).expect("a run is below 213 days")),
            raw_bytes: u64::try_from(raw).expect("a run moves fewer than 2^64 bytes"),
            packets,
            transfers,
            queue_max,
        }
    }

    /// Service of the present packet that is still to come.
    pub(super) fn unserved(&self, now: u64) -> TimeDelta {
        let begun = self.coming.promises.iter().rev().find(|promise| promise.start <= now);
        let end = begun.map_or(self.free_at, |promise| promise.end);
        TimeDelta::from_ps(end.saturating_sub(now))
    }

    /// Flows share another capacity from the next solve on.
    pub(super) fn set_capacity(&mut self, capacity: Bandwidth) {
        self.capacity = capacity;
        self.rate = rate_of(capacity);
    }

    /// Nobody else wants this resource now.
    pub(super) fn is_calm(&self, now: u64) -> bool {
        self.free_at <= now && !self.turn_pending && !self.fluid.flows()
    }

    pub(super) fn stand_ins(&self) -> u32 {
        #[cfg(test)]
        if self.fault == Some(super::tests::Fault::NoStandIns) {
            return 0;
        }
        if self.arbitration == Arbitration::Strict { 0 } else { self.fluid.backlogged }
    }
}

impl Shared {
    /// Books a packet's service as time taken from the flows that this resource limits.
    ///
    /// What the solver kept for packets is theirs: only what exceeds it is stolen.
    pub(super) fn steal(&mut self, now: u64, service: TimeDelta) -> i64 {
        #[cfg(test)]
        if self.fault == Some(super::tests::Fault::NothingStolen) {
            return 0;
        }
        let excess = self.fluid.reserve.draw(now, service.as_ps());
        if self.fluid.backlogged == 0 {
            return 0;
        }
        let scaled = (u128::from(excess) * u128::from(self.fluid.stolen_scale)) >> 32;
        let stolen = i64::try_from(scaled).expect("a packet's service is short");
        self.fluid.stolen += stolen;
        stolen
    }

    /// The service time of `raw` bytes.
    pub(super) fn service(&self, raw: u64) -> TimeDelta {
        self.capacity.transfer_time(Bytes::new(raw))
    }
}

/// A capacity in 2^-40 raw bytes per picosecond, rounded down.
fn rate_of(capacity: Bandwidth) -> u64 {
    let rate = (u128::from(capacity.as_bit_per_s()) << 40) / (8 * u128::from(PS_PER_S));
    u64::try_from(rate).expect("capacities are below 2^63 bit/s")
}
