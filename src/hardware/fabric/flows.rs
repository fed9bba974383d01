//! Bulk: one fluid flow per connection over all shared hops of its path.

use std::collections::BTreeMap;

use super::arena::NONE;
use super::hops::HopState;
use super::spec::{EventKind, FabricEvent, Schedule, Share};
use super::{ConnId, Fabric, ResourceId, Service};
use units::{Time, TimeDelta};

/// A hop of a flow; hops over the same resource are joined.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowHop {
    pub(super) resource: u32,
    /// The resource before it on the path.
    previous: u32,
    /// Raw bytes per payload byte, in 2^-32.
    pub(super) weight: u64,
    /// Place among the resource's members.
    place: u32,
    raw: u64,
    packets: u64,
}

/// A transfer that flows.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) flight: u32,
    pub(super) hops: Vec<FlowHop>,
    /// Payload still to move, in 2^-40 byte.
    remaining: u128,
    /// Payload per picosecond, in 2^-40 byte.
    pub(super) rate: u64,
    /// What it may have of a full resource, in 2^-16 of the usual share.
    pub(super) share: u32,
    /// Its rate for one usual share: at a full resource that limits it, that of all.
    pub(super) level: u64,
    /// `remaining` was true then.
    since: u64,
    /// The resource that limits it.
    pub(super) limit: u32,
    /// That resource's stolen time which is already accounted.
    stolen_seen: i64,
    /// Stolen time that was booked ahead of its passing.
    debt: u64,
    /// When its pending event fires.
    end_at: u64,
    generation: u32,
    /// The last solve that visited it.
    pub(super) visited: u64,
    /// Its rate is final in the present solve.
    pub(super) frozen: bool,
}

/// All flows; slots and their tables of hops are used again.
#[derive(Debug, Default)]
pub(super) struct Flows {
    slots: Vec<Flow>,
    free: Vec<u32>,
    /// By connection: shares that are not the usual one.
    shares: BTreeMap<u32, u32>,
}

impl std::ops::Index<u32> for Flows {
    type Output = Flow;
    fn index(&self, id: u32) -> &Flow {
        &self.slots[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Flows {
    fn index_mut(&mut self, id: u32) -> &mut Flow {
        &mut self.slots[id as usize]
    }
}

impl Flows {
    fn take_slot(&mut self) -> u32 {
        if let Some(id) = self.free.pop() {
            return id;
        }
        let id = u32::try_from(self.slots.len()).expect("fewer than 2^32 flows");
        self.slots.push(Flow {
            flight: NONE,
            hops: Vec::new(),
            remaining: 0,
            rate: 0,
            share: Share::ONE.0,
            level: 0,
            since: 0,
            limit: NONE,
            stolen_seen: 0,
            debt: 0,
            end_at: u64::MAX,
            generation: 0,
            visited: 0,
            frozen: false,
        });
        id
    }
}

impl Flows {
    /// Keeps the share of a connection for its flows to come.
    pub(super) fn keep_share(&mut self, conn: u32, share: u32) {
        if share == Share::ONE.0 {
            self.shares.remove(&conn);
        } else {
            self.shares.insert(conn, share);
        }
    }

    fn share_of(&self, conn: u32) -> u32 {
        self.shares.get(&conn).copied().unwrap_or(Share::ONE.0)
    }
}

impl Flow {
    /// Time in which it moved since the last account; negative where packets were booked ahead.
    fn gained(&self, now: u64, stolen: i64) -> i64 {
        // Signed: packets that leave reserve unused give time instead of taking it.
        let signed = |time: u64| i64::try_from(time).expect("a run is below 106 days");
        signed(now - self.since) - signed(self.debt) - (stolen - self.stolen_seen)
    }

    /// Moves what it would have moved in `time` ps.
    pub(super) fn gain(&mut self, time: u64) {
        let moved = u128::from(self.rate) * u128::from(time);
        self.remaining = self.remaining.saturating_sub(moved);
    }

    /// When the last byte will have moved, as far as is known now.
    fn expected_end(&self) -> u64 {
        let time = self.remaining.div_ceil(u128::from(self.rate));
        self.since + self.debt + u64::try_from(time).expect("a flow ends within 213 days")
    }
}

impl Fabric {
    /// Bulk has passed its processing units: flow, or wait for the connection's flow to end.
    pub(super) fn join_flow(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        let conn = self.flights[id].conn;
        let state = &mut self.conns[conn as usize];
        if state.flow != NONE {
            state.fluid.push_back(id, &mut self.flights);
            return;
        }
        let flow = self.flows.take_slot();
        self.conns[conn as usize].flow = flow;
        self.open_flow(now, flow, id, out);
    }

    fn open_flow(&mut self, now: Time, flow: u32, id: u32, out: &mut impl Schedule) {
        self.fill_hops(flow, id);
        let share = self.flows.share_of(self.flights[id].conn);
        let state = &mut self.flows[flow];
        state.flight = id;
        state.remaining = u128::from(self.flights[id].bytes) << 40;
        state.rate = 0;
        state.share = share;
        state.since = now.as_ps();
        state.limit = NONE;
        state.debt = 0;
        state.end_at = u64::MAX;
        self.see_limit(flow);
        if self.flows[flow].hops.is_empty() {
            // Only processing units: nothing limits it.
            self.finish_flow(now, flow, out);
            return;
        }
        for at in 0..self.flows[flow].hops.len() {
            let hop = &mut self.flows[flow].hops[at];
            let resource = hop.resource;
            let members = &mut self.resources[resource as usize].shared_mut().fluid.members;
            hop.place = u32::try_from(members.len()).expect("fewer than 2^32 flows");
            members.push((flow, u32::try_from(at).expect("a short path")));
        }
        let late =
            |hop: &FlowHop| self.solve_due(now.as_ps(), ResourceId(hop.resource)) > now.as_ps();
        let late = self.flows[flow].hops.iter().position(late);
        if late.is_some() {
            self.start_on_leftovers(flow, out);
        }
        // Where the wait is longest, for there the flow must not come sooner than a round allows.
        let hop = self.flows[flow].hops[late.unwrap_or(0)];
        self.ask_for_solve(now, ResourceId(hop.resource), out);
    }

    /// Until the next solve a flow gets what others left, and no more than the others have.
    fn start_on_leftovers(&mut self, flow: u32, out: &mut impl Schedule) {
        let offer = |hop: &FlowHop| {
            let fluid = &self.resources[hop.resource as usize].shared().fluid;
            let left = (u128::from(fluid.left) << 32) / u128::from(hop.weight);
            (fluid.level.min(u64::try_from(left).unwrap_or(u64::MAX)), hop.resource)
        };
        let least = self.flows[flow].hops.iter().map(offer).min_by_key(|offer| offer.0);
        let (rate, limit) = least.expect("the flow has hops");
        if rate > 0 {
            self.take_left(flow, rate);
            self.set_rate(flow, rate, limit, out);
        }
    }

    fn take_left(&mut self, flow: u32, rate: u64) {
        for hop in &self.flows[flow].hops {
            let fluid = &mut self.resources[hop.resource as usize].shared_mut().fluid;
            fluid.left = fluid.left.saturating_sub(load(rate, hop.weight) + 1);
        }
    }

    /// The shared hops of a transfer, with what it weighs on each.
    fn fill_hops(&mut self, flow: u32, id: u32) {
        let flight = &self.flights[id];
        let hops = &mut self.flows[flow].hops;
        hops.clear();
        for hop in self.hops.of(flight.first_hop, flight.end_hop) {
            let spec = &self.specs[hop.resource as usize];
            if matches!(spec.service, Service::Servers { .. }) {
                continue;
            }
            let raw = self.hops.raw(hop, flight.bytes);
            let packets = self.hops.packets(hop, flight.bytes);
            if let Some(same) = hops.iter_mut().find(|other| other.resource == hop.resource) {
                same.raw += raw;
                same.packets += packets;
            } else {
                let (resource, previous) = (hop.resource, hop.previous);
                hops.push(FlowHop { resource, previous, weight: 0, place: 0, raw, packets });
            }
        }
        for hop in hops {
            let weight = (u128::from(hop.raw) << 32).div_ceil(u128::from(flight.bytes));
            hop.weight = u64::try_from(weight).expect("a byte weighs less than 4 GiB");
        }
    }

    fn stolen_from(&self, flow: u32) -> i64 {
        match self.flows[flow].limit {
            NONE => 0,
            limit => self.resources[limit as usize].shared().fluid.stolen,
        }
    }

    /// Raw bytes of the present transfer that moved over its hop `hop` until `now`.
    pub(super) fn moved_until(&self, now: u64, flow: u32, hop: u32) -> u128 {
        let state = &self.flows[flow];
        let total = self.flights[state.flight].bytes;
        let gained = state.gained(now, self.stolen_from(flow)).max(0).unsigned_abs();
        let moved = u128::from(state.rate) * u128::from(gained);
        let left = state.remaining.saturating_sub(moved);
        // In 2^-20 byte, so that the product fits.
        let moved = (u128::from(total) << 20) - (left >> 20);
        u128::from(state.hops[hop as usize].raw) * moved / (u128::from(total) << 20)
    }

    /// Moves the flow's account to `now`.
    pub(super) fn settle(&mut self, now: u64, flow: u32) {
        let stolen = self.stolen_from(flow);
        let state = &mut self.flows[flow];
        let gained = state.gained(now, stolen);
        state.since = now;
        state.stolen_seen = stolen;
        state.debt = gained.min(0).unsigned_abs();
        let moved = u128::from(state.rate) * u128::from(gained.max(0).unsigned_abs());
        state.remaining = state.remaining.saturating_sub(moved);
    }

    /// Gives the flow its new rate and limit; its event moves only if it comes earlier.
    pub(super) fn set_rate(&mut self, flow: u32, rate: u64, limit: u32, out: &mut impl Schedule) {
        let stolen = self.resources[limit as usize].shared().fluid.stolen;
        let state = &mut self.flows[flow];
        assert!(rate > 0, "a flow always gets a share");
        state.rate = rate;
        state.limit = limit;
        state.stolen_seen = stolen;
        let end = state.expected_end();
        if end < state.end_at {
            state.generation = state.generation.wrapping_add(1);
            self.schedule_end(flow, end, out);
        }
        self.see_limit(flow);
    }

    fn schedule_end(&mut self, flow: u32, end: u64, out: &mut impl Schedule) {
        let state = &mut self.flows[flow];
        state.end_at = end;
        let event = FabricEvent::new(EventKind::FlowEnd, flow, state.generation);
        out.at(Time::from_ps(end), ResourceId(state.hops[0].resource), event);
    }

    /// The flow may be done; packets or others may have slowed it since.
    pub(super) fn flow_end(
        &mut self,
        now: Time,
        flow: u32,
        generation: u32,
        out: &mut impl Schedule,
    ) {
        #[cfg(test)]
        if self.flows[flow].flight != NONE && self.obeys_stale_ends(flow) {
            self.finish_flow(now, flow, out);
            return;
        }
        if self.is_old_end(flow, generation) {
            return;
        }
        self.settle(now.as_ps(), flow);
        let state = &self.flows[flow];
        if state.remaining > 0 {
            let end = state.expected_end();
            self.schedule_end(flow, end, out);
        } else {
            self.finish_flow(now, flow, out);
        }
    }

    /// Whether the end of a flow was computed for a rate, or a transfer, that it has no more.
    pub(super) fn is_old_end(&self, flow: u32, generation: u32) -> bool {
        self.flows[flow].generation != generation || self.flows[flow].flight == NONE
    }

    /// The last byte moved: account, send on, and hand the rate to the connection's next bulk.
    fn finish_flow(&mut self, now: Time, flow: u32, out: &mut impl Schedule) {
        let id = self.flows[flow].flight;
        for hop in &self.flows[flow].hops {
            let counts = &mut self.resources[hop.resource as usize].shared_mut().counts;
            counts.raw += u128::from(hop.raw);
            counts.packets += hop.packets;
            counts.transfers += 1;
        }
        let arrival = now + self.latency_and_fill(flow, id);
        self.see_flowed(id);
        let resource = self.first_resource(id);
        let flight = &mut self.flights[id];
        flight.hop = NONE;
        let (conn, finished) = (flight.conn, (flight.path, flight.bytes));
        out.at(arrival, resource, FabricEvent::new(EventKind::Arrive, id, flight.generation));
        let gated = self.is_shared(resource);
        let state = &mut self.conns[conn as usize];
        if gated {
            state.inside -= 1;
            state.leaves_at = now.as_ps();
        }
        let next = state.fluid.pop_front(&self.flights);
        let next = next.or_else(|| if gated { self.next_like(conn, finished) } else { None });
        if let Some(next) = next {
            self.hand_over(now, flow, next, finished, out);
        } else {
            self.conns[conn as usize].flow = NONE;
            self.close_flow(now, flow, out);
        }
        if gated {
            self.open_gate(now, ConnId(conn), out);
        }
    }

    /// The same connection's next bulk takes the flow; unsolved if it weighs the same.
    fn hand_over(
        &mut self,
        now: Time,
        flow: u32,
        next: u32,
        finished: (u32, u64),
        out: &mut impl Schedule,
    ) {
        let flight = &self.flights[next];
        if (flight.path, flight.bytes) != finished || self.flows[flow].rate == 0 {
            self.close_members(flow);
            self.ask_after_change(now, flow, out);
            self.open_flow(now, flow, next, out);
            return;
        }
        let state = &mut self.flows[flow];
        state.flight = next;
        state.remaining = u128::from(flight.bytes) << 40;
        state.generation = state.generation.wrapping_add(1);
        let end = state.expected_end();
        self.schedule_end(flow, end, out);
        self.see_limit(flow);
    }

    fn latency_and_fill(&self, flow: u32, id: u32) -> TimeDelta {
        let flight = &self.flights[id];
        let limit = self.flows[flow].limit;
        let mut total = TimeDelta::ZERO;
        for hop in self.hops.of(flight.first_hop, flight.end_hop) {
            total += self.hops.latency(hop) + self.fill_of(hop, flight.bytes, limit);
        }
        total
    }

    /// Until the next stage can begin behind a hop; nothing where that limits the flow.
    pub(super) fn fill_of(&self, hop: &HopState, bytes: u64, limit: u32) -> TimeDelta {
        let shared = matches!(self.specs[hop.resource as usize].service, Service::Shared { .. });
        if !shared || hop.resource == limit {
            return TimeDelta::ZERO;
        }
        let raw = self.hops.raw(hop, self.cut_through.min(bytes));
        self.resources[hop.resource as usize].shared().service(raw)
    }

    fn close_flow(&mut self, now: Time, flow: u32, out: &mut impl Schedule) {
        self.close_members(flow);
        self.ask_after_change(now, flow, out);
        let state = &mut self.flows[flow];
        state.flight = NONE;
        state.generation = state.generation.wrapping_add(1);
        self.flows.free.push(flow);
    }

    /// Every resource of a flow that left, or whose share is another, may share in another way.
    pub(super) fn ask_after_change(&mut self, now: Time, flow: u32, out: &mut impl Schedule) {
        for at in 0..self.flows[flow].hops.len() {
            let resource = ResourceId(self.flows[flow].hops[at].resource);
            self.ask_for_solve(now, resource, out);
        }
    }

    fn close_members(&mut self, flow: u32) {
        for at in 0..self.flows[flow].hops.len() {
            let FlowHop { resource, place, weight, .. } = self.flows[flow].hops[at];
            let fluid = &mut self.resources[resource as usize].shared_mut().fluid;
            fluid.left += load(self.flows[flow].rate, weight);
            let members = &mut fluid.members;
            members.swap_remove(place as usize);
            if let Some(&(moved, hop)) = members.get(place as usize) {
                self.flows[moved].hops[hop as usize].place = place;
            }
        }
    }

    #[cfg(test)]
    fn obeys_stale_ends(&self, flow: u32) -> bool {
        let first = self.flows[flow].hops[0].resource;
        let fault = self.resources[first as usize].shared().fault;
        fault == Some(super::tests::Fault::StaleEndObeyed)
    }

    /// Rate at `resource` of the flows that came over the resource `previous`.
    pub(super) fn passing_from(&self, resource: ResourceId, previous: u32) -> u64 {
        if previous == NONE {
            return 0;
        }
        let members = &self.resources[resource.0 as usize].shared().fluid.members;
        let hops = members.iter().map(|&(flow, hop)| {
            let state = &self.flows[flow];
            (state.rate, &state.hops[hop as usize])
        });
        hops.filter(|(_, hop)| hop.previous == previous)
            .map(|(rate, hop)| load(rate, hop.weight))
            .sum()
    }
}

/// What a payload rate weighs on a resource, rounded down.
pub(super) fn load(rate: u64, weight: u64) -> u64 {
    let raw = (u128::from(rate) * u128::from(weight)) >> 32;
    u64::try_from(raw).expect("a load is below a capacity")
}
