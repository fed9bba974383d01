//! Packets at a shared resource: served at once where nothing competes, otherwise in turns.

use super::arena::NONE;
use super::reserve::Saved;
use super::ring::{Run, Turn, find_lane};
use super::shared::{NONE_BEFORE, Serving, Undo};
use super::spec::{Arbitration, EventKind, FabricEvent, Schedule};
use super::{Fabric, ResourceId};
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
        self.meet_promises(now, resource, id, out);
        let shared = self.resources[resource.0 as usize].shared();
        let start = now.as_ps();
        if shared.is_calm(start) {
            self.flights[id].behind = NONE_BEFORE;
            self.serve(now, resource, Chosen { id, lane: NONE, used: 0, stood_since: start }, out);
            return;
        }
        let serving = shared.serving;
        let began_now = serving.started == start && shared.free_at > start;
        if began_now
            && serving.stood_since == start
            && self.flights[id].precedes(&self.flights[serving.flight])
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
        let conn = self.flights[id].conn;
        let first = &mut self.conns[conn as usize].lanes;
        let lane = find_lane(&mut self.lanes, first, resource.0);
        self.flights[id].behind = NONE_BEFORE;
        self.lanes[lane as usize].packets.push_in_order(id, &mut self.flights);
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
        if self.leads_run(start, resource, id) {
            let shared = self.resources[resource.0 as usize].shared_mut();
            shared.run = None;
            shared.turn_pending = false;
            shared.turn_generation = shared.turn_generation.wrapping_add(1);
            self.wait_for_fluid(now, resource, id, out);
            return;
        }
        let shared = self.resources[resource.0 as usize].shared_mut();
        if let Some(run) = &mut shared.run {
            let passed = run.newly_passed(start);
            shared.ring.push_stand_ins(passed);
            self.append(start, resource, id);
        } else if shared.free_at > start || shared.turn_pending {
            self.wait_for_packet(start, resource, id, out);
        } else {
            // Nobody asked for a turn: the ring holds at most stand-ins of a past round.
            shared.ring.clear();
            self.wait_for_fluid(now, resource, id, out);
        }
    }

    /// A packet of a higher connection came in this instant and waits for flows that pass by: what
    /// it waits for depends on where it came from, so the lower connection's wait counts instead.
    fn leads_run(&self, now: u64, resource: ResourceId, id: u32) -> bool {
        let shared = self.resources[resource.0 as usize].shared();
        let began_now = shared.run.is_some_and(|run| run.turns == 0 && run.start == now);
        began_now && shared.ring.front_lane().is_some_and(|(_, conn)| conn > self.flights[id].conn)
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
        let hop = &self.hops[self.flights[id].hop];
        let run = if self.resources[resource.0 as usize].shared().fluid.backlogged > 0 {
            self.run_of_backlogged(start, resource)
        } else {
            self.run_of_passing(start, resource, hop.previous, self.flights[id].behind)
        };
        self.flights[id].behind = NONE_BEFORE;
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
    /// Those that came over the same link as the packet are in line with it already: it waits at
    /// most for the cut-through bytes of the segment that it follows, which came at `behind`.
    fn run_of_passing(&self, now: u64, resource: ResourceId, previous: u32, behind: u64) -> Run {
        let shared = self.resources[resource.0 as usize].shared();
        let in_line = self.passing_from(resource, previous);
        let passing = shared.fluid.passing.saturating_sub(in_line);
        let mut run = Run { start: now, turn: 0, turns: 0, returned: 0, end: now };
        if in_line > 0 && behind != NONE_BEFORE {
            let fill = shared.service(self.cut_through.min(self.mtu));
            run.end = now.max(behind + fill.as_ps());
        }
        let Some(period) = (u128::from(self.mtu) << 40).checked_div(u128::from(passing)) else {
            return run;
        };
        let segment = (u128::from(self.mtu) << 40) / u128::from(shared.rate);
        let phase = u128::from(now - shared.fluid.anchor) % period;
        let rest = segment.saturating_sub(phase);
        let rest = now + u64::try_from(rest).expect("an MTU lasts less than 213 days");
        run.end = run.end.max(rest);
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
            self.follow_segment(now.as_ps(), resource);
        } else if self.end_of_service(now, resource, out) {
            return;
        }
        self.next_turn(now, resource, out);
    }

    /// The packet that is served next comes right behind a segment of a flow.
    fn follow_segment(&mut self, now: u64, resource: ResourceId) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        if let Some((lane, _)) = shared.ring.front_lane() {
            let head = self.lanes[lane as usize].packets.head;
            self.flights[head].behind = now;
        }
    }

    /// The packet in service is done. Answers whether its connection keeps the turn.
    fn end_of_service(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) -> bool {
        let shared = self.resources[resource.0 as usize].shared_mut();
        let Serving { conn, used, stood_since, .. } = shared.serving;
        let strict = shared.arbitration == Arbitration::Strict;
        let keeps_turn = shared.arbitration == Arbitration::ByteQuantum;
        shared.ring.set_stand_ins(shared.stand_ins());
        if strict || conn == NONE {
            // Nobody was served yet where the resource was held since the beginning.
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
        let (charge, latency) = self.charge(hop, bytes);
        let (saved, stolen) = self.book(now, resource, charge.service, out);
        let flight = &mut self.flights[id];
        let shared = self.resources[resource.0 as usize].shared_mut();
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
            undo: Undo { free_at: shared.free_at, tail: flight.tail, stolen, saved },
        };
        shared.free_at = end;
        if shared.fluid.backlogged > 0 {
            shared.fluid.anchor = end;
        }
        shared.counts.add(&charge);
        let more = shared.ring.has_packets()
            || (lane != NONE && !self.lanes[lane as usize].packets.is_empty());
        // The last byte leaves when it was served, and not before it came.
        let last = end.max(flight.tail + charge.head.as_ps());
        flight.tail = last + latency.as_ps();
        if flight.behind != NONE_BEFORE {
            flight.behind = start + latency.as_ps();
        }
        flight.hop += 1;
        let (conn, first) = (flight.conn, hop == flight.first_hop);
        self.see_visit(id, hop, came, start, tail);
        self.go_on(now, id, (now + charge.head + latency).as_ps(), resource, out);
        if first {
            self.leave_first_hop(conn, Time::from_ps(end), resource, out);
        }
        if more {
            self.schedule_turn(Time::from_ps(end), resource, out);
        }
    }

    /// Books a service as time taken from the flows here: what was saved for packets before, and
    /// what was stolen.
    fn book(
        &mut self,
        now: Time,
        resource: ResourceId,
        service: TimeDelta,
        out: &mut impl Schedule,
    ) -> (Option<Saved>, i64) {
        if !self.resources[resource.0 as usize].shared().fluid.meets_packets() {
            return (None, 0);
        }
        self.watch_load(now, resource, out);
        let shared = self.resources[resource.0 as usize].shared_mut();
        let saved = shared.fluid.reserve.saved();
        (Some(saved), shared.steal(now.as_ps(), service))
    }

    /// Takes back the service that began in this instant: a lower connection was told later.
    fn unserve(&mut self, now: Time, resource: ResourceId, out: &mut impl Schedule) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        let Serving { flight: id, hop, conn, stood_since, undo, .. } = shared.serving;
        shared.free_at = undo.free_at;
        shared.fluid.stolen -= undo.stolen;
        if let Some(saved) = undo.saved {
            shared.fluid.reserve.restore(saved);
        }
        shared.turn_pending = false;
        shared.turn_generation = shared.turn_generation.wrapping_add(1);
        shared.waiting += 1;
        self.withdraw(id, hop, undo.tail, out);
        let (charge, _) = self.charge(hop, self.flights[id].bytes);
        let shared = self.resources[resource.0 as usize].shared_mut();
        shared.counts.subtract(&charge);
        let state = &mut self.conns[conn as usize];
        if hop == self.flights[id].first_hop {
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
