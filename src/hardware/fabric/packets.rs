//! Packets at a shared resource: served at once where nothing competes, otherwise in turns.

use super::arena::NONE;
use super::ring::{Ring, Run, Turn, find_lane};
use super::spec::{Arbitration, EventKind, FabricEvent, ResourceStats, Schedule};
use super::{Fabric, ResourceId};
use crate::units::{Bandwidth, Bytes, PS_PER_S, Time, TimeDelta};

/// The state of one shared resource.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) capacity: Bandwidth,
    pub(super) arbitration: Arbitration,
    /// Capacity in 2^-40 raw bytes per picosecond, rounded down.
    pub(super) rate: u64,
    /// When the packet in service is done.
    free_at: u64,
    /// Whether a `Turn` event is under way, and its generation.
    turn_pending: bool,
    turn_generation: u32,
    serving: Serving,
    ring: Ring,
    run: Option<Run>,
    waiting: u32,
    pub(super) counts: Counts,
    pub(super) fluid: Fluid,
}

/// The packet in service, or the last one.
#[derive(Clone, Copy, Debug)]
struct Serving {
    flight: u32,
    conn: u32,
    lane: u32,
    /// Bytes of the present turn.
    used: u64,
    started: u64,
    /// When its lane was appended to the ring.
    stood_since: u64,
    undo: Undo,
}

/// What a packet's service changed, to take it back.
#[derive(Clone, Copy, Debug, Default)]
struct Undo {
    free_at: u64,
    tail: u64,
    raw: u64,
    packets: u64,
    stolen: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) raw: u128,
    pub(super) packets: u64,
    pub(super) transfers: u64,
    queue_max: u32,
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
    /// Time taken by packets from the backlogged flows so far.
    pub(super) stolen: u64,
    /// A segment began here.
    pub(super) anchor: u64,
    /// Rate of the flows that are limited elsewhere.
    pub(super) passing: u64,
}

impl Shared {
    pub(super) fn new(capacity: Bandwidth, arbitration: Arbitration) -> Self {
        let bits = u128::from(capacity.as_bit_per_s());
        assert!(bits > 0, "a shared resource has a capacity");
        let rate = (bits << 40) / (8 * u128::from(PS_PER_S));
        Self {
            capacity,
            arbitration,
            rate: u64::try_from(rate).expect("capacities are below 2^63 bit/s"),
            free_at: 0,
            turn_pending: false,
            turn_generation: 0,
            serving: Serving {
                flight: NONE,
                conn: NONE,
                lane: NONE,
                used: 0,
                started: 0,
                stood_since: 0,
                undo: Undo::default(),
            },
            ring: Ring::default(),
            run: None,
            waiting: 0,
            counts: Counts::default(),
            fluid: Fluid::default(),
        }
    }

    pub(super) fn stats(&self) -> ResourceStats {
        let Counts { raw, packets, transfers, queue_max } = self.counts;
        let bits = u128::from(self.capacity.as_bit_per_s());
        let busy = raw * 8 * u128::from(PS_PER_S) / bits;
        ResourceStats {
            busy: TimeDelta::from_ps(u64::try_from(busy).expect("a run is below 213 days")),
            raw_bytes: u64::try_from(raw).expect("a run moves fewer than 2^64 bytes"),
            packets,
            transfers,
            queue_max,
        }
    }

    /// Nobody else wants this resource now.
    fn is_calm(&self, now: u64) -> bool {
        self.free_at <= now && !self.turn_pending && self.fluid.members.is_empty()
    }

    fn stand_ins(&self) -> u32 {
        if self.arbitration == Arbitration::Strict { 0 } else { self.fluid.backlogged }
    }
}

impl Fabric {
    pub(super) fn arrive_packet(
        &mut self,
        now: Time,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        let shared = self.resources[resource.0 as usize].shared();
        let start = now.as_ps();
        if shared.is_calm(start) {
            self.serve(now, resource, Chosen { id, lane: NONE, used: 0, stood_since: start }, out);
            return;
        }
        let conn = self.flights[id].conn;
        let serving = shared.serving;
        let began_now = serving.started == start && shared.free_at > start;
        if began_now && serving.stood_since == start && serving.conn > conn {
            self.unserve(now, resource);
            self.append(start, resource, id);
            self.next_turn(now, resource, out);
            return;
        }
        self.wait_in_ring(now, resource, id, out);
    }

    /// Puts the packet behind the others of its connection here; its lane is not in the ring yet.
    fn enqueue(&mut self, resource: ResourceId, id: u32) -> u32 {
        let conn = self.flights[id].conn;
        let first = &mut self.conns[conn as usize].lanes;
        let lane = find_lane(&mut self.lanes, first, resource.0);
        self.lanes[lane as usize].packets.push_back(id, &mut self.flights);
        let shared = self.resources[resource.0 as usize].shared_mut();
        shared.waiting += 1;
        shared.counts.queue_max = shared.counts.queue_max.max(shared.waiting);
        lane
    }

    /// Appends the packet to its lane and the lane to the ring.
    fn append(&mut self, now: u64, resource: ResourceId, id: u32) {
        let lane = self.enqueue(resource, id);
        self.append_lane(now, resource, lane, self.flights[id].conn);
    }

    fn append_lane(&mut self, now: u64, resource: ResourceId, lane: u32, conn: u32) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        let state = &mut self.lanes[lane as usize];
        // Strictly by arrival, each packet has its own place; in a round robin each connection has.
        if shared.arbitration != Arbitration::Strict {
            if state.in_ring {
                return;
            }
            state.in_ring = true;
        }
        shared.ring.push_lane(lane, conn, now);
    }

    fn wait_in_ring(&mut self, now: Time, resource: ResourceId, id: u32, out: &mut impl Schedule) {
        let start = now.as_ps();
        let shared = self.resources[resource.0 as usize].shared_mut();
        if shared.free_at > start {
            self.wait_for_packet(start, resource, id, out);
        } else if shared.turn_pending {
            if let Some(run) = &mut shared.run {
                let passed = run.newly_passed(start);
                shared.ring.push_stand_ins(passed);
            }
            self.append(start, resource, id);
        } else {
            self.wait_for_fluid(now, resource, id, out);
        }
    }

    /// A packet is in service: wait for it, and for those in the ring.
    fn wait_for_packet(
        &mut self,
        now: u64,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        let conn = self.flights[id].conn;
        let shared = self.resources[resource.0 as usize].shared_mut();
        if !shared.turn_pending {
            shared.ring.set_stand_ins(shared.stand_ins());
            let end = shared.free_at;
            self.schedule_turn(Time::from_ps(end), resource, out);
        }
        let shared = self.resources[resource.0 as usize].shared();
        if shared.serving.conn == conn && shared.arbitration != Arbitration::Strict {
            self.enqueue(resource, id);
        } else {
            self.append(now, resource, id);
        }
    }

    /// Only flows are here: wait for the segment under way and for the turns of the other flows.
    fn wait_for_fluid(
        &mut self,
        now: Time,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        let start = now.as_ps();
        let hop = &self.hops[self.flights[id].hop as usize];
        let run = if self.resources[resource.0 as usize].shared().fluid.backlogged > 0 {
            self.run_of_backlogged(start, resource)
        } else {
            self.run_of_passing(start, resource, hop.previous)
        };
        if run.end <= start {
            self.serve(now, resource, Chosen { id, lane: NONE, used: 0, stood_since: start }, out);
            return;
        }
        self.append(start, resource, id);
        self.resources[resource.0 as usize].shared_mut().run = Some(run);
        self.schedule_turn(Time::from_ps(run.end), resource, out);
    }

    fn run_of_backlogged(&self, now: u64, resource: ResourceId) -> Run {
        let shared = self.resources[resource.0 as usize].shared();
        let turn = shared.fluid.turn;
        let phase = (now - shared.fluid.anchor) % turn;
        let turns = if shared.arbitration == Arbitration::Strict { 1 } else { shared.stand_ins() };
        let start = now - phase;
        let end = start + turn * u64::from(turns);
        // Under strict priority nobody returns to the ring.
        Run { start, turn, turns: shared.stand_ins(), returned: 0, end }
    }

    /// Flows that pass by in segments: wait for the rest of one, if one is being served.
    ///
    /// Those that came over the same link as the packet are in line with it already.
    fn run_of_passing(&self, now: u64, resource: ResourceId, previous: u32) -> Run {
        let shared = self.resources[resource.0 as usize].shared();
        let passing = shared.fluid.passing - self.passing_from(resource, previous);
        let mut run = Run { start: now, turn: 0, turns: 0, returned: 0, end: now };
        let Some(period) = (u128::from(self.mtu) << 40).checked_div(u128::from(passing)) else {
            return run;
        };
        let segment = (u128::from(self.mtu) << 40) / u128::from(shared.rate);
        let phase = u128::from(now - shared.fluid.anchor) % period;
        let rest = segment.saturating_sub(phase);
        run.end += u64::try_from(rest).expect("an MTU lasts less than 213 days");
        run
    }

    fn schedule_turn(&mut self, at: Time, resource: ResourceId, out: &mut impl Schedule) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        shared.turn_pending = true;
        let event = FabricEvent::new(EventKind::Turn, resource.0, shared.turn_generation);
        out.at(at, resource, event);
    }

    /// A packet's service or a run of stand-ins is over.
    pub(super) fn turn(
        &mut self,
        now: Time,
        resource: ResourceId,
        generation: u32,
        out: &mut impl Schedule,
    ) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        if !shared.turn_pending || shared.turn_generation != generation {
            return;
        }
        shared.turn_pending = false;
        if let Some(mut run) = shared.run.take() {
            let passed = run.newly_passed(run.end);
            shared.ring.push_stand_ins(passed);
        } else if self.end_of_service(now, resource, out) {
            return;
        }
        self.next_turn(now, resource, out);
    }

    /// The packet in service is done. Answers whether its connection keeps the turn.
    fn end_of_service(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) -> bool {
        let shared = self.resources[resource.0 as usize].shared_mut();
        let Serving { conn, used, stood_since, .. } = shared.serving;
        let strict = shared.arbitration == Arbitration::Strict;
        let keeps_turn = shared.arbitration == Arbitration::ByteQuantum;
        shared.ring.set_stand_ins(shared.stand_ins());
        if strict {
            return false;
        }
        let lane = find_lane(&mut self.lanes, &mut self.conns[conn as usize].lanes, resource.0);
        let next = self.lanes[lane as usize].packets.head;
        if next == NONE {
            return false;
        }
        let flight = &self.flights[next];
        if keeps_turn && flight.arrived < now.as_ps() && used + flight.bytes.max(1) <= self.mtu {
            self.take_from(resource, lane);
            self.serve(now, resource, Chosen { id: next, lane, used, stood_since }, out);
            return true;
        }
        self.append_lane(now.as_ps(), resource, lane, conn);
        false
    }

    /// Chooses whose turn it is; without packets the ring dissolves.
    fn next_turn(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        if !shared.ring.has_packets() {
            shared.ring.clear();
            return;
        }
        match shared.ring.pop().expect("the ring has packets") {
            Turn::StandIns(turns) if shared.fluid.backlogged > 0 => {
                let (start, turn) = (now.as_ps(), shared.fluid.turn);
                let end = start + turn * u64::from(turns);
                shared.run = Some(Run { start, turn, turns, returned: 0, end });
                self.schedule_turn(Time::from_ps(end), resource, out);
            }
            // Their flows have ended meanwhile.
            Turn::StandIns(_) => self.next_turn(now, resource, out),
            Turn::Lane { lane, at } => {
                self.lanes[lane as usize].in_ring = false;
                let id = self.take_from(resource, lane);
                self.serve(now, resource, Chosen { id, lane, used: 0, stood_since: at }, out);
            }
        }
    }

    fn take_from(&mut self, resource: ResourceId, lane: u32) -> u32 {
        self.resources[resource.0 as usize].shared_mut().waiting -= 1;
        let lane = &mut self.lanes[lane as usize];
        lane.packets.pop_front(&self.flights).expect("a lane with a turn has packets")
    }

    /// Serves a packet now.
    fn serve(&mut self, now: Time, resource: ResourceId, chosen: Chosen, out: &mut impl Schedule) {
        let Chosen { id, lane, used, stood_since } = chosen;
        let flight = &self.flights[id];
        let (hop, bytes) = (flight.hop, flight.bytes);
        let charge = self.charge(hop, bytes);
        let flight = &mut self.flights[id];
        let shared = self.resources[resource.0 as usize].shared_mut();
        let start = now.as_ps();
        let end = start + charge.service.as_ps();
        let stolen = shared.steal(charge.service);
        shared.serving = Serving {
            flight: id,
            conn: flight.conn,
            lane,
            used: used + bytes.max(1),
            started: start,
            stood_since,
            undo: Undo {
                free_at: shared.free_at,
                tail: flight.tail,
                raw: charge.raw,
                packets: charge.packets,
                stolen,
            },
        };
        shared.free_at = end;
        if shared.fluid.backlogged > 0 {
            shared.fluid.anchor = end;
        }
        shared.counts.raw += u128::from(charge.raw);
        shared.counts.packets += charge.packets;
        shared.counts.transfers += 1;
        let more = shared.ring.has_packets()
            || (lane != NONE && !self.lanes[lane as usize].packets.is_empty());
        // The last byte leaves when it was served, and not before it came.
        let last = end.max(flight.tail + charge.head.as_ps());
        let latency = self.hops[hop as usize].latency;
        flight.tail = last + latency.as_ps();
        flight.hop += 1;
        let arrival = if flight.hop == flight.end_hop {
            Time::from_ps(flight.tail)
        } else {
            now + charge.head + latency
        };
        out.at(arrival, resource, FabricEvent::new(EventKind::Arrive, id, flight.generation));
        if hop == flight.first_hop {
            let conn = flight.conn;
            self.leave_first_hop(conn, Time::from_ps(end), resource, out);
        }
        if more {
            self.schedule_turn(Time::from_ps(end), resource, out);
        }
    }

    /// Takes back the service that began in this instant: a lower connection was told later.
    fn unserve(&mut self, now: Time, resource: ResourceId) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        let Serving { flight: id, conn, stood_since, undo, .. } = shared.serving;
        shared.free_at = undo.free_at;
        shared.fluid.stolen -= undo.stolen;
        shared.counts.raw -= u128::from(undo.raw);
        shared.counts.packets -= undo.packets;
        shared.counts.transfers -= 1;
        shared.turn_pending = false;
        shared.turn_generation = shared.turn_generation.wrapping_add(1);
        shared.waiting += 1;
        let flight = &mut self.flights[id];
        flight.generation = flight.generation.wrapping_add(1);
        flight.hop -= 1;
        flight.tail = undo.tail;
        let state = &mut self.conns[conn as usize];
        if flight.hop == flight.first_hop {
            state.inside += 1;
            state.leaves_at = now.as_ps();
        }
        let lane = find_lane(&mut self.lanes, &mut state.lanes, resource.0);
        self.lanes[lane as usize].packets.push_front(id, &mut self.flights);
        let strict = shared.arbitration == Arbitration::Strict;
        if strict || !self.lanes[lane as usize].in_ring {
            self.lanes[lane as usize].in_ring = !strict;
            shared.ring.push_lane_front(lane, conn, stood_since);
        }
    }
}

impl Shared {
    /// Books a packet's service as time taken from the flows that this resource limits.
    fn steal(&mut self, service: TimeDelta) -> u64 {
        if self.fluid.backlogged == 0 {
            return 0;
        }
        let scaled = (u128::from(service.as_ps()) * u128::from(self.fluid.stolen_scale)) >> 32;
        let stolen = u64::try_from(scaled).expect("a packet's service is short");
        self.fluid.stolen += stolen;
        stolen
    }

    /// The service time of `raw` bytes.
    pub(super) fn service(&self, raw: u64) -> TimeDelta {
        self.capacity.transfer_time(Bytes::new(raw))
    }
}

/// A packet that has its turn.
#[derive(Clone, Copy)]
struct Chosen {
    id: u32,
    /// `NONE` where it never waited.
    lane: u32,
    /// Bytes that its connection had in this turn before.
    used: u64,
    /// When its connection was appended to the ring.
    stood_since: u64,
}
