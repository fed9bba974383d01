//! Packets at a shared resource: served at once where nothing competes, otherwise in turns.

use super::Fabric;
use super::arena::NONE;
use super::ring::{Run, Turn};
use super::shared::{Fluid, NONE_BEFORE, Serving, Undo};
use super::spec::{Arbitration, ResourceId, Schedule};
use units::{Time, TimeDelta};

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

impl Fabric {
    pub(super) fn arrive_packet(
        &mut self,
        now: Time,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        self.path.meet_promises(now, resource, id, out);
        let shared = self.path.resources.shared(resource.0);
        let start = now.as_ps();
        if shared.is_calm(start) {
            self.path.flights[id].behind = NONE_BEFORE;
            self.serve(now, resource, Chosen { id, lane: NONE, used: 0, stood_since: start }, out);
            return;
        }
        let serving = shared.serving;
        let began_now = serving.started == start && shared.free_at > start;
        if began_now
            && serving.stood_since == start
            && self.path.flights[id].precedes(&self.path.flights[serving.flight])
        {
            self.unserve(now, resource, out);
            self.append(start, resource, id);
            self.next_turn(now, resource, out);
            return;
        }
        self.wait_in_ring(now, resource, id, out);
    }

    /// Puts the packet behind the others of its connection here; its lane is not in the ring yet.
    fn enqueue(&mut self, resource: ResourceId, id: u32) -> u32 {
        let conn = self.path.flights[id].conn;
        let lane = self.conns.lane_at(conn, resource.0);
        self.path.flights[id].behind = NONE_BEFORE;
        self.conns.lane_mut(lane).packets.push_in_order(id, &mut self.path.flights);
        let shared = self.path.resources.shared_mut(resource.0);
        shared.waiting += 1;
        shared.counts.queue_max = shared.counts.queue_max.max(shared.waiting);
        lane
    }

    /// Appends the packet to its lane and the lane to the ring.
    fn append(&mut self, now: u64, resource: ResourceId, id: u32) {
        let lane = self.enqueue(resource, id);
        self.append_lane(now, resource, lane, self.path.flights[id].conn);
    }

    fn append_lane(&mut self, now: u64, resource: ResourceId, lane: u32, conn: u32) {
        let shared = self.path.resources.shared_mut(resource.0);
        let state = self.conns.lane_mut(lane);
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
        if self.leads_run(start, resource, id) {
            let shared = self.path.resources.shared_mut(resource.0);
            shared.run = None;
            shared.void_turn();
            self.wait_for_fluid(now, resource, id, out);
            return;
        }
        let shared = self.path.resources.shared_mut(resource.0);
        if let Some(run) = &mut shared.run {
            let passed = run.newly_passed(start);
            shared.ring.push_stand_ins(passed);
            self.segments_come(start, resource);
            self.append(start, resource, id);
        } else if shared.free_at > start || shared.turn_pending {
            self.wait_for_packet(start, resource, id, out);
        } else {
            // No turn was asked for: the ring holds at most stand-ins of a past round.
            shared.ring.clear();
            self.wait_for_fluid(now, resource, id, out);
        }
    }

    /// A packet of a higher connection came in this instant and waits for flows that pass by: what
    /// it waits for depends on where it came from, so the lower connection's wait counts instead.
    fn leads_run(&self, now: u64, resource: ResourceId, id: u32) -> bool {
        let shared = self.path.resources.shared(resource.0);
        let began_now = shared.run.is_some_and(|run| run.is_first && run.start == now);
        began_now
            && shared.ring.front_lane().is_some_and(|(_, conn)| conn > self.path.flights[id].conn)
    }

    /// A packet is in service: wait for it, and for those in the ring.
    fn wait_for_packet(
        &mut self,
        now: u64,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        let conn = self.path.flights[id].conn;
        let shared = self.path.resources.shared_mut(resource.0);
        if !shared.turn_pending {
            shared.ring.set_stand_ins(shared.stand_ins());
            shared.fluid.streams.see(shared.serving.started);
            shared.schedule_turn(Time::from_ps(shared.free_at), resource, out);
        }
        self.segments_come(now, resource);
        let shared = self.path.resources.shared(resource.0);
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
        self.bulk.renew_streams(now, resource, &mut self.path);
        self.path.resources.shared_mut(resource.0).fluid.streams.see(start);
        let run = if self.path.resources.shared(resource.0).fluid.backlogged > 0 {
            self.run_of_backlogged(start, resource)
        } else {
            let flight = &self.path.flights[id];
            let previous = self.path.hops.previous(flight.hop, flight.first_hop);
            self.run_of_passing(start, resource, previous, flight.behind)
        };
        self.path.flights[id].behind = NONE_BEFORE;
        if run.end <= start {
            self.serve(now, resource, Chosen { id, lane: NONE, used: 0, stood_since: start }, out);
            return;
        }
        self.append(start, resource, id);
        let shared = self.path.resources.shared_mut(resource.0);
        shared.run = Some(run);
        shared.schedule_turn(Time::from_ps(run.end), resource, out);
    }

    /// The rest of the turn under way, and the turns of the other flows. A turn begins with a
    /// segment of the flow; while segments that pass by are served in the rest of it, all flows of
    /// this resource are still to come.
    fn run_of_backlogged(&self, now: u64, resource: ResourceId) -> Run {
        let shared = self.path.resources.shared(resource.0);
        let Fluid { turn, segment, anchor, .. } = shared.fluid;
        let phase = (now - anchor) % turn;
        let begun = now - phase;
        let passes = phase >= segment && shared.sees_segments();
        let start = if passes { begun + turn } else { begun };
        if shared.arbitration == Arbitration::Strict {
            // No stand-in returns to the ring.
            return Run { turns: 0, ..Run::of_stand_ins(start, turn, 1) };
        }
        Run::of_stand_ins(start, turn, shared.stand_ins())
    }

    /// Flows that pass by in segments: wait for those that came and are not served yet.
    ///
    /// Those that came over the same link as the packet are in line with it already: it waits at
    /// most for the cut-through bytes of the segment that it follows, which came at `behind`.
    fn run_of_passing(
        &mut self,
        now: u64,
        resource: ResourceId,
        previous: u32,
        behind: u64,
    ) -> Run {
        let fill = self.path.hops.cut_through().min(self.path.mtu);
        let shared = self.path.resources.shared_mut(resource.0);
        let streams = &mut shared.fluid.streams;
        let mut end = now + streams.unfinished(now, previous);
        if behind != NONE_BEFORE && streams.come_over(previous) {
            end = end.max(behind + shared.service(fill).as_ps());
        }
        Run { is_first: true, ..Run::of_segments(now, end) }
    }

    /// Segments that came since the last account stand in the ring.
    fn segments_come(&mut self, now: u64, resource: ResourceId) {
        self.bulk.gather_streams(Time::from_ps(now), resource, &mut self.path);
        self.path.resources.shared_mut(resource.0).segments_come(now);
    }

    /// A packet's service or a run of turns is over.
    pub(super) fn turn(
        &mut self,
        now: Time,
        resource: ResourceId,
        generation: u32,
        out: &mut impl Schedule,
    ) {
        let shared = self.path.resources.shared_mut(resource.0);
        if !shared.turn_pending || shared.turn_generation != generation {
            return;
        }
        shared.turn_pending = false;
        if let Some(mut run) = shared.run.take() {
            let passed = run.newly_passed(run.end);
            shared.ring.push_stand_ins(passed);
            self.segments_come(now.as_ps(), resource);
            self.follow_segment(now.as_ps(), resource);
        } else if self.end_of_service(now, resource, out) {
            return;
        }
        self.next_turn(now, resource, out);
    }

    /// The packet that is served next comes right behind a segment of a flow.
    fn follow_segment(&mut self, now: u64, resource: ResourceId) {
        let shared = self.path.resources.shared_mut(resource.0);
        if let Some((lane, _)) = shared.ring.front_lane() {
            let head = self.conns.lane(lane).packets.head;
            self.path.flights[head].behind = now;
        }
    }

    /// The packet in service is done. Answers whether its connection keeps the turn.
    fn end_of_service(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) -> bool {
        let shared = self.path.resources.shared_mut(resource.0);
        let Serving { conn, used, stood_since, .. } = shared.serving;
        let strict = shared.arbitration == Arbitration::Strict;
        let keeps_turn = shared.arbitration == Arbitration::ByteQuantum;
        shared.ring.set_stand_ins(shared.stand_ins());
        self.segments_come(now.as_ps(), resource);
        if strict || conn == NONE {
            // No packet was served yet where the resource was held since the beginning.
            return false;
        }
        let lane = self.conns.lane_at(conn, resource.0);
        let next = self.conns.lane(lane).packets.head;
        if next == NONE {
            return false;
        }
        let flight = &self.path.flights[next];
        if keeps_turn && flight.arrived < now.as_ps() && used + flight.bytes.max(1) <= self.path.mtu
        {
            self.take_from(resource, lane);
            self.serve(now, resource, Chosen { id: next, lane, used, stood_since }, out);
            return true;
        }
        self.append_lane(now.as_ps(), resource, lane, conn);
        false
    }

    /// Chooses whose turn it is; without packets the ring dissolves.
    fn next_turn(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) {
        let shared = self.path.resources.shared_mut(resource.0);
        if !shared.ring.has_packets() {
            shared.ring.clear();
            return;
        }
        match shared.ring.pop().expect("the ring has packets") {
            Turn::StandIns(turns) if shared.fluid.backlogged > 0 => {
                let run = Run::of_stand_ins(now.as_ps(), shared.fluid.segment, turns);
                shared.run = Some(run);
                shared.schedule_turn(Time::from_ps(run.end), resource, out);
            }
            Turn::Segments(count) if shared.fluid.passing > 0 => {
                let end = now.as_ps() + shared.fluid.streams.service(count);
                shared.run = Some(Run::of_segments(now.as_ps(), end));
                shared.schedule_turn(Time::from_ps(end), resource, out);
            }
            // Their flows have ended meanwhile.
            Turn::StandIns(_) | Turn::Segments(_) => self.next_turn(now, resource, out),
            Turn::Lane { lane, at } => {
                self.conns.lane_mut(lane).in_ring = false;
                let id = self.take_from(resource, lane);
                self.serve(now, resource, Chosen { id, lane, used: 0, stood_since: at }, out);
            }
        }
    }

    fn take_from(&mut self, resource: ResourceId, lane: u32) -> u32 {
        self.path.resources.shared_mut(resource.0).waiting -= 1;
        let lane = self.conns.lane_mut(lane);
        lane.packets.pop_front(&self.path.flights).expect("a lane with a turn has packets")
    }

    /// Serves a packet now.
    fn serve(&mut self, now: Time, resource: ResourceId, chosen: Chosen, out: &mut impl Schedule) {
        let Chosen { id, lane, used, stood_since } = chosen;
        let flight = &self.path.flights[id];
        let (hop, bytes) = (flight.hop, flight.bytes);
        let (charge, latency) = self.path.charge(hop, bytes);
        let (reserve, stolen) = self.book(now, resource, charge.service, out);
        let flight = &mut self.path.flights[id];
        let shared = self.path.resources.shared_mut(resource.0);
        let start = now.as_ps();
        let end = start + charge.service.as_ps();
        let (came, tail) = (flight.arrived, flight.tail);
        shared.serving = Serving {
            flight: id,
            hop,
            conn: flight.conn,
            used: used + bytes.max(1),
            started: start,
            stood_since,
            undo: Undo { free_at: shared.free_at, tail: flight.tail, stolen, reserve },
        };
        shared.free_at = end;
        if shared.fluid.backlogged > 0 {
            shared.fluid.anchor_at(start, end);
        }
        shared.counts.add(&charge);
        let more = shared.ring.has_packets()
            || (lane != NONE && !self.conns.lane(lane).packets.is_empty());
        // The last byte leaves when it was served, and not before it came.
        let last = end.max(flight.tail + charge.head.as_ps());
        flight.tail = last + latency.as_ps();
        if flight.behind != NONE_BEFORE {
            flight.behind = start + latency.as_ps();
        }
        flight.hop += 1;
        let (conn, first) = (flight.conn, hop == flight.first_hop);
        self.path.see_visit(id, hop, came, start, tail);
        self.path.go_on(now, id, (now + charge.head + latency).as_ps(), resource, out);
        if first {
            self.leave_first_hop(conn, Time::from_ps(end), resource, out);
        }
        if more {
            let shared = self.path.resources.shared_mut(resource.0);
            shared.schedule_turn(Time::from_ps(end), resource, out);
        }
    }

    /// Books a service as time taken from the flows here: whether the reserve keeps what it was
    /// before, and what was stolen.
    fn book(
        &mut self,
        now: Time,
        resource: ResourceId,
        service: TimeDelta,
        out: &mut impl Schedule,
    ) -> (bool, i64) {
        let shared = self.path.resources.shared_mut(resource.0);
        if !shared.fluid.meets_packets() {
            return (false, 0);
        }
        shared.watch_load(now, resource, self.path.mtu, out);
        shared.fluid.reserve.made().save();
        (true, shared.steal(now.as_ps(), service))
    }

    /// Takes back the service that began in this instant: a lower connection came later.
    fn unserve(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) {
        let shared = self.path.resources.shared_mut(resource.0);
        let Serving { flight: id, hop, conn, stood_since, undo, .. } = shared.serving;
        shared.free_at = undo.free_at;
        if undo.reserve {
            let fluid = &mut shared.fluid;
            fluid.stolen -= undo.stolen;
            fluid.reserve.made().restore();
        }
        shared.void_turn();
        shared.waiting += 1;
        self.path.withdraw(id, hop, undo.tail, out);
        let (charge, _) = self.path.charge(hop, self.path.flights[id].bytes);
        let shared = self.path.resources.shared_mut(resource.0);
        shared.counts.subtract(&charge);
        if hop == self.path.flights[id].first_hop {
            self.conns[conn].stays_from(now);
        }
        let lane = self.conns.lane_at(conn, resource.0);
        self.conns.lane_mut(lane).packets.push_front(id, &mut self.path.flights);
        let strict = shared.arbitration == Arbitration::Strict;
        let state = self.conns.lane_mut(lane);
        if strict || !state.in_ring {
            state.in_ring = !strict;
            shared.ring.push_lane_front(lane, conn, stood_since);
        }
    }
}
