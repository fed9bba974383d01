//! The state of a shared resource: the packet in service, the ring, and what flows mean to it.

use super::arena::{Flights, NONE};
use super::hops::Charge;
use super::promises::{Coming, Promise};
use super::reserve::{LazyReserve, Window};
use super::ring::{Ring, Run};
use super::spec::{Arbitration, EventKind, FabricEvent, ResourceId, ResourceStats, Schedule};
use super::streams::Streams;
use units::{Bandwidth, Bytes, PS_PER_S, Time, TimeDelta};

/// No segment of a flow was right before the packet.
pub(super) const NONE_BEFORE: u64 = u64::MAX;

/// The state of one shared resource.
#[derive(Debug)]
pub(super) struct Shared {
    /// Capacity that it was built with: busy time is counted in it.
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

/// State that a packet's service changed, to restore it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    pub(super) free_at: u64,
    pub(super) tail: u64,
    pub(super) stolen: i64,
    /// Set where packets meet flows: else a service changes nothing of the reserve.
    pub(super) reserve: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) raw: u64,
    pub(super) packets: u64,
    pub(super) transfers: u64,
    pub(super) queue_max: u32,
}

impl Counts {
    #[inline]
    pub(super) fn add(&mut self, charge: &Charge) {
        self.raw += charge.raw;
        self.packets += charge.packets;
        self.transfers += 1;
    }

    pub(super) fn subtract(&mut self, charge: &Charge) {
        self.raw -= charge.raw;
        self.packets -= charge.packets;
        self.transfers -= 1;
    }
}

/// Effect of the flows of a resource on its packets; set by the solver.
#[derive(Debug, Default)]
pub(super) struct Fluid {
    /// Flows that cross the resource: (flow, which of its hops).
    pub(super) members: Vec<(u32, u32)>,
    /// Their classes: (class, which of its hops).
    pub(super) classes: Vec<(u32, u32)>,
    /// Flows that this resource limits: each has segments waiting here.
    pub(super) backlogged: u32,
    /// How long a stand-in's segment takes.
    pub(super) segment: u64,
    /// How long its turn lasts, with the segments of others that pass by in it.
    pub(super) turn: u64,
    /// A capacity, and the turn of a flow that has all of it.
    alone: (u64, u64),
    /// Time taken from a backlogged flow per time of a packet's service, in 2^-32.
    pub(super) stolen_scale: u64,
    /// Time taken by packets from the backlogged flows so far, less what was given back.
    pub(super) stolen: i64,
    /// A segment began here.
    pub(super) anchor: u64,
    /// When a packet moved it last, and from where.
    moved: (u64, u64),
    /// Rate of the flows that are limited elsewhere.
    pub(super) passing: u64,
    /// How their segments come.
    pub(super) streams: Streams,
    /// Capacity that nothing uses, as far as is known.
    pub(super) left: u64,
    /// The rate of the flows that are limited here; the capacity where none is.
    pub(super) level: u64,
    /// Load of packets, and the capacity kept for them.
    pub(super) reserve: LazyReserve,
    /// Flows of the component at the last solve, and when that was.
    pub(super) component: u32,
    pub(super) solved_at: u64,
}

impl Fluid {
    /// Flows cross the resource since the last solve. Those that joined in this instant do not
    /// count yet, so that the order within an instant does not matter.
    pub(super) const fn flows(&self) -> bool {
        self.backlogged > 0 || self.passing > 0
    }

    /// The turn of a flow that has all of the capacity `rate`, worked out by `turn` where that is
    /// another one than last.
    pub(super) fn turn_alone(&mut self, rate: u64, turn: impl FnOnce() -> u64) -> u64 {
        if self.alone.0 != rate {
            self.alone = (rate, turn());
        }
        self.alone.1
    }

    /// A packet that is served from `now` on moves the next segment to its `end`.
    pub(super) const fn anchor_at(&mut self, now: u64, end: u64) {
        if self.moved.0 != now {
            self.moved = (now, self.anchor);
        }
        self.anchor = end;
    }

    /// The anchor before anything of this instant, so that the order within it does not matter.
    pub(super) const fn anchor_before(&self, now: u64) -> u64 {
        if self.moved.0 == now { self.moved.1 } else { self.anchor }
    }

    /// Whether a packet's service matters to flows, or to what is kept for packets.
    pub(super) fn meets_packets(&self) -> bool {
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
        let raw = u128::from(raw) + moved;
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

    /// No transfer has or wants this resource now.
    pub(super) fn is_calm(&self, now: u64) -> bool {
        self.free_at <= now && !self.turn_pending && !self.fluid.flows()
    }

    /// Packets that are here or on their way here, and flows.
    pub(super) fn load(&self, now: u64) -> u32 {
        let promised = self.coming.promises.iter().filter(|promise| promise.end > now).count();
        let (promised, flows) = (u32::try_from(promised), u32::try_from(self.fluid.members.len()));
        let many = "transfers are counted in u32";
        let (promised, flows) = (promised.expect(many), flows.expect(many));
        let served = u32::from(self.free_at > now);
        served + self.waiting + self.coming.packets + promised + flows
    }

    #[inline]
    pub(super) fn stand_ins(&self) -> u32 {
        #[cfg(test)]
        if self.fault == Some(super::tests::Fault::NoStandIns) {
            return 0;
        }
        if self.arbitration == Arbitration::Strict { 0 } else { self.fluid.backlogged }
    }
}

impl Shared {
    /// Segments of passing flows that came meanwhile stand in the ring.
    pub(super) fn segments_come(&mut self, now: u64) {
        if self.fluid.passing > 0 && self.sees_segments() {
            let come = self.fluid.streams.newly_come(now);
            self.ring.push_segments(come, self.fluid.streams.flows());
        }
    }

    /// Whether segments of passing flows take turns with packets.
    pub(super) fn sees_segments(&self) -> bool {
        #[cfg(test)]
        if self.fault == Some(super::tests::Fault::SegmentsUnseen) {
            return false;
        }
        self.arbitration != Arbitration::Strict
    }

    /// Books a packet's service as time taken from the flows that this resource limits.
    ///
    /// The capacity that the solver kept for packets is theirs: only what exceeds it is stolen.
    pub(super) fn steal(&mut self, now: u64, service: TimeDelta) -> i64 {
        #[cfg(test)]
        if self.fault == Some(super::tests::Fault::NothingStolen) {
            return 0;
        }
        let fluid = &mut self.fluid;
        let excess = fluid.reserve.made().draw(now, service.as_ps());
        if fluid.backlogged == 0 {
            return 0;
        }
        let scaled = (u128::from(excess) * u128::from(fluid.stolen_scale)) >> 32;
        let stolen = i64::try_from(scaled).expect("a packet's service is short");
        fluid.stolen += stolen;
        stolen
    }

    /// Opens a window in which packets are measured, if they meet flows here.
    pub(super) fn watch_load(
        &mut self,
        now: Time,
        resource: ResourceId,
        mtu: u64,
        out: &mut impl Schedule,
    ) {
        if !self.fluid.flows() {
            return;
        }
        let mtu_time = self.service(mtu);
        if let Some(window) = self.fluid.reserve.made().open_window(mtu_time) {
            out.at(now + window, resource, FabricEvent::new(EventKind::Window, resource.0, 0));
        }
    }

    /// Ends the window in which packets were measured. Answers whether flows need other rates, and
    /// the time of an MTU.
    pub(super) fn end_window(&mut self, now: Time, mtu: u64) -> (bool, u64) {
        let mtu_time = self.service(mtu).as_ps();
        let fluid = &mut self.fluid;
        let kept = fluid.reserve.kept(self.rate);
        let window = Window {
            mtu_time,
            rate: self.rate,
            in_use: self.rate - kept - fluid.left.min(self.rate - kept),
            is_backlogged: fluid.backlogged > 0,
            is_alone: !fluid.flows(),
            #[cfg(test)]
            fault: self.fault,
        };
        (fluid.reserve.made().end_window(now.as_ps(), &window), mtu_time)
    }

    /// The service time of `raw` bytes.
    pub(super) fn service(&self, raw: u64) -> TimeDelta {
        self.capacity.transfer_time(Bytes::new(raw))
    }
}

impl Shared {
    /// Whether a packet that comes at `start` will be served at once, as far as is known.
    #[inline]
    pub(super) fn is_free_at(&self, start: u64) -> bool {
        if self.coming.packets > 0 || self.turn_pending || self.fluid.meets_packets() {
            return false;
        }
        self.coming.promises.back().map_or(self.free_at, |last| last.end) <= start
    }

    /// Promises a service of `charge` to the packet that comes as `promise` says; answers when it ends.
    #[inline]
    pub(super) fn promise(
        &mut self,
        now: u64,
        promise: &mut Promise,
        charge: &Charge,
        flights: &Flights,
    ) {
        if self.coming.promises.is_full() {
            self.come_true_before(now, now, flights);
        }
        promise.end = promise.start + charge.service.as_ps();
        self.counts.add(charge);
        self.coming.promises.push(*promise);
    }

    /// Lets promises come true that start before `limit`: the last of them may be in service `now`.
    #[inline]
    pub(super) fn come_true_before(&mut self, limit: u64, now: u64, flights: &Flights) {
        while let Some(promise) = self.coming.promises.take_before(limit) {
            self.come_true(promise, now, flights);
        }
    }

    #[inline]
    pub(super) fn come_true(&mut self, promise: Promise, now: u64, flights: &Flights) {
        let Promise { flight: id, hop, start, end, tail, .. } = promise;
        let free_at = std::mem::replace(&mut self.free_at, end);
        if end > now {
            // It is not at its end yet.
            let flight = &flights[id];
            self.serving = Serving {
                flight: id,
                hop,
                conn: flight.conn,
                used: flight.bytes.max(1),
                started: start,
                stood_since: start,
                undo: Undo { free_at, tail, stolen: 0, reserve: false },
            };
        }
    }

    /// Asks for the next turn at `at`.
    #[inline]
    pub(super) fn schedule_turn(
        &mut self,
        at: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        self.turn_pending = true;
        let event = FabricEvent::new(EventKind::Turn, resource.0, self.turn_generation);
        out.at(at, resource, event);
    }

    /// Makes the turn that is under way stale.
    pub(super) fn void_turn(&mut self) {
        self.turn_pending = false;
        self.turn_generation = self.turn_generation.wrapping_add(1);
    }

    /// Lets nothing begin before `until`.
    pub(super) fn hold(&mut self, until: Time, resource: ResourceId, out: &mut impl Schedule) {
        self.free_at = self.free_at.max(until.as_ps());
        // No packet of this instant may take the service back that it stands for.
        self.serving.stood_since = u64::MAX;
        if self.turn_pending {
            self.run = None;
            self.void_turn();
            self.schedule_turn(Time::from_ps(self.free_at), resource, out);
        }
    }
}

/// A capacity in 2^-40 raw bytes per picosecond, rounded down.
fn rate_of(capacity: Bandwidth) -> u64 {
    let rate = (u128::from(capacity.as_bit_per_s()) << 40) / (8 * u128::from(PS_PER_S));
    u64::try_from(rate).expect("capacities are below 2^63 bit/s")
}
