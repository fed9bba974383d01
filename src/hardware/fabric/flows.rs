//! Fluid flows: how fast each moves, what it has moved, and when it ends.

use super::arena::NONE;
use super::classes::{Class, ClassHop, Classes, Likeness};
use super::datapath::Datapath;
use super::resource::Resources;
use super::shared::Fluid;
use super::spec::{EventKind, FabricEvent, ResourceId, Schedule};
use super::streams::Passer;
use units::{Time, TimeDelta};

/// A transfer that flows.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) flight: u32,
    conn: u32,
    /// The flows like it, with their hops.
    class: u32,
    /// For each hop, its place among the members of the resource.
    places: Vec<u32>,
    /// Payload still to move, in 2^-40 byte.
    remaining: u128,
    /// Payload per picosecond, in 2^-40 byte.
    pub(super) rate: u64,
    /// Its rate for one usual share: at a full resource that limits it, that of all. Nothing before
    /// its first solve.
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
    pub(super) end_at: u64,
    generation: u32,
}

/// All flows and their classes; slots are used again.
#[derive(Debug, Default)]
pub(super) struct Flows {
    slots: Vec<Flow>,
    free: Vec<u32>,
    pub(super) classes: Classes,
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

impl Flow {
    /// Time in which it moved since the last account; negative where packets were booked ahead.
    fn gained(&self, now: u64, stolen: i64) -> i64 {
        // Signed: packets that leave reserve unused give time instead of taking it.
        let signed = |time: u64| i64::try_from(time).expect("a run is below 106 days");
        signed(now - self.since) - signed(self.debt) - (stolen - self.stolen_seen)
    }

    /// Moves what it would have moved in `time` ps.
    #[inline]
    fn gain(&mut self, time: u64) {
        let moved = u128::from(self.rate) * u128::from(time);
        self.remaining = self.remaining.saturating_sub(moved);
    }

    /// When the last byte will have moved, as far as is known now.
    pub(super) fn expected_end(&self) -> u64 {
        let time = self.remaining.div_ceil(u128::from(self.rate));
        self.since + self.debt + u64::try_from(time).expect("a flow ends within 213 days")
    }

    /// Whether the last byte will have moved before the pending event fires. Without a division, for
    /// most that get another rate get a lower one.
    #[inline]
    fn ends_sooner(&self) -> bool {
        let most = self.end_at.saturating_sub(self.since + self.debt);
        let before = |most: u64| self.remaining <= u128::from(self.rate) * u128::from(most - 1);
        self.end_at == u64::MAX || most > 0 && before(most)
    }

    /// The events of its end that are under way are stale.
    fn void_end(&mut self) {
        self.generation = self.generation.wrapping_add(1);
    }

    /// Those of `raw` bytes, the whole of a transfer of `total`, that moved until `now`.
    fn moved_until(&self, now: u64, stolen: i64, (raw, total): (u64, u64)) -> u128 {
        let gained = self.gained(now, stolen).max(0).unsigned_abs();
        let moved = u128::from(self.rate) * u128::from(gained);
        let left = self.remaining.saturating_sub(moved);
        // In 2^-20 byte, so that the product fits.
        let moved = (u128::from(total) << 20) - (left >> 20);
        u128::from(raw) * moved / (u128::from(total) << 20)
    }

    #[inline]
    fn settle(&mut self, now: u64, stolen: i64) {
        let time = if self.debt == 0 && stolen == self.stolen_seen {
            // Packets took nothing, as most often.
            now - self.since
        } else {
            let gained = self.gained(now, stolen);
            self.debt = gained.min(0).unsigned_abs();
            gained.max(0).unsigned_abs()
        };
        self.since = now;
        self.stolen_seen = stolen;
        self.gain(time);
    }

    /// From the last byte over its limit to the end of its path: latencies, and what the stages hold.
    pub(super) fn latency_and_fill(&self, path: &Datapath) -> TimeDelta {
        let flight = &path.flights[self.flight];
        let hops = path.hops.of(flight.first_hop, flight.end_hop);
        hops.fold(TimeDelta::ZERO, |total, hop| {
            total + path.hops.latency(hop) + path.fill_of(hop, flight.bytes, self.limit)
        })
    }
}

impl Flows {
    /// A slot without a transfer.
    pub(super) fn take_slot(&mut self) -> u32 {
        if let Some(id) = self.free.pop() {
            return id;
        }
        let id = u32::try_from(self.slots.len()).expect("fewer than 2^32 flows");
        self.slots.push(Flow {
            flight: NONE,
            conn: NONE,
            class: NONE,
            places: Vec::new(),
            remaining: 0,
            rate: 0,
            level: 0,
            since: 0,
            limit: NONE,
            stolen_seen: 0,
            debt: 0,
            end_at: u64::MAX,
            generation: 0,
        });
        id
    }

    /// Gives a transfer its flow, which nothing limits yet.
    pub(super) fn begin(&mut self, now: Time, flow: u32, id: u32, share: u32, path: &mut Datapath) {
        let flight = &path.flights[id];
        let class =
            self.classes.of(Likeness { path: flight.path, bytes: flight.bytes, share }, path);
        let state = &mut self[flow];
        state.conn = flight.conn;
        state.class = class;
        state.flight = id;
        state.remaining = u128::from(flight.bytes) << 40;
        state.rate = 0;
        state.level = 0;
        state.since = now.as_ps();
        state.limit = NONE;
        state.debt = 0;
        state.end_at = u64::MAX;
        path.see_limit(id, NONE);
    }

    /// Gives the flow of a transfer that ended to one that weighs the same.
    pub(super) fn go_on(
        &mut self,
        flow: u32,
        id: u32,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let state = &mut self[flow];
        state.flight = id;
        state.remaining = u128::from(path.flights[id].bytes) << 40;
        state.void_end();
        let (end, limit) = (state.expected_end(), state.limit);
        self.schedule_end(flow, end, out);
        path.see_limit(id, limit);
    }

    /// Frees the slot of a flow that ended.
    pub(super) fn end(&mut self, flow: u32) {
        let state = &mut self[flow];
        state.flight = NONE;
        state.void_end();
        self.free.push(flow);
    }

    /// The shared hops of a flow, with what it weighs on each.
    pub(super) fn hops(&self, flow: u32) -> &[ClassHop] {
        &self.classes[self[flow].class].hops
    }

    /// Most that a flow may have of a full resource, in 2^-16 of the usual share.
    pub(super) fn share(&self, flow: u32) -> u32 {
        self.classes[self[flow].class].likeness.share
    }

    /// Gives a flow that is under way another share.
    pub(super) fn set_share(&mut self, flow: u32, share: u32, path: &mut Datapath) {
        let likeness = self.classes[self[flow].class].likeness;
        self.leave_class(flow, &mut path.resources);
        self[flow].class = self.classes.of(Likeness { share, ..likeness }, path);
        self.enter_class(flow, &mut path.resources);
    }

    /// Makes the flow a member of its resources.
    pub(super) fn join(&mut self, flow: u32, resources: &mut Resources) {
        self.enter_class(flow, resources);
        let state = &mut self.slots[flow as usize];
        state.places.clear();
        for (at, hop) in (0..).zip(&self.classes[state.class].hops) {
            let members = &mut resources.shared_mut(hop.resource).fluid.members;
            state.places.push(u32::try_from(members.len()).expect("fewer than 2^32 flows"));
            members.push((flow, at));
        }
    }

    /// Gives the flow's rate back, and takes it out of the members of its resources.
    pub(super) fn leave(&mut self, flow: u32, resources: &mut Resources) {
        let Flow { class, rate, .. } = self[flow];
        for at in 0..self.classes[class].hops.len() {
            let ClassHop { resource, weight, .. } = self.classes[class].hops[at];
            let place = self[flow].places[at];
            let fluid = &mut resources.shared_mut(resource).fluid;
            fluid.left += load(rate, weight);
            let members = &mut fluid.members;
            members.swap_remove(place as usize);
            if let Some(&(moved, hop)) = members.get(place as usize) {
                self[moved].places[hop as usize] = place;
            }
        }
        if !self.classes[class].hops.is_empty() {
            self.leave_class(flow, resources);
        }
    }

    fn enter_class(&mut self, flow: u32, resources: &mut Resources) {
        let Flow { class, conn, .. } = self[flow];
        self.classes.enter(class, (conn, flow), resources);
    }

    fn leave_class(&mut self, flow: u32, resources: &mut Resources) {
        let Flow { class, conn, .. } = self[flow];
        self.classes.leave(class, (conn, flow), resources);
    }

    /// Counts the transfer of a flow at the resources that it crossed.
    pub(super) fn count(&self, flow: u32, resources: &mut Resources) {
        for hop in self.hops(flow) {
            let counts = &mut resources.shared_mut(hop.resource).counts;
            counts.raw += hop.raw;
            counts.packets += hop.packets;
            counts.transfers += 1;
        }
    }

    /// Until the next solve a flow gets what others left, and no more than the others have.
    pub(super) fn start_on_leftovers(
        &mut self,
        flow: u32,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let offer = |hop: &ClassHop| {
            let fluid = &path.resources.shared(hop.resource).fluid;
            let left = (u128::from(fluid.left) << 32) / u128::from(hop.weight);
            (fluid.level.min(u64::try_from(left).unwrap_or(u64::MAX)), hop.resource)
        };
        let least = self.hops(flow).iter().map(offer).min_by_key(|offer| offer.0);
        let (rate, limit) = least.expect("the flow has hops");
        if rate > 0 {
            for hop in self.hops(flow) {
                let fluid = &mut path.resources.shared_mut(hop.resource).fluid;
                fluid.left = fluid.left.saturating_sub(load(rate, hop.weight) + 1);
            }
            self.set_rate(flow, rate, limit, path, out);
        }
    }

    /// Raw bytes of the present transfers of a resource's flows that moved over it until `now`.
    pub(super) fn moved_until(&self, now: u64, resource: u32, path: &Datapath) -> u128 {
        let members = path.resources.shared(resource).fluid.members.iter();
        let moved = |&(flow, hop): &(u32, u32)| {
            let state = &self[flow];
            let stolen = path.resources.stolen_at(state.limit);
            let raw = self.hops(flow)[hop as usize].raw;
            state.moved_until(now, stolen, (raw, path.flights[state.flight].bytes))
        };
        members.map(moved).sum()
    }

    /// Moves the flow's account to `now`.
    pub(super) fn settle(&mut self, now: u64, flow: u32, resources: &Resources) {
        let state = &mut self[flow];
        state.settle(now, resources.stolen_at(state.limit));
    }

    /// Gives the flow its new rate and limit; its event moves only if it comes earlier.
    pub(super) fn set_rate(
        &mut self,
        flow: u32,
        rate: u64,
        limit: u32,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        let stolen = path.resources.stolen_at(limit);
        let state = &mut self[flow];
        assert!(rate > 0, "a flow always gets a share");
        state.rate = rate;
        state.limit = limit;
        state.stolen_seen = stolen;
        let id = state.flight;
        if state.ends_sooner() {
            self.move_end(flow, out);
        }
        path.see_limit(id, limit);
    }

    /// Gives the flows of a class the rate that was solved for it, and its limit; `sooner` are those whose events
    /// must move, with their connections.
    pub(super) fn set_rates(
        &mut self,
        now: Time,
        class: u32,
        limit: u32,
        path: &mut Datapath,
        sooner: &mut Vec<(u32, u32)>,
    ) {
        let Class { rate, level, ref flows, .. } = self.classes[class];
        assert!(rate > 0, "a flow always gets a share");
        let stolen = path.resources.stolen_at(limit);
        for &(conn, flow) in flows {
            let state = &mut self.slots[flow as usize];
            let is_kept = state.limit == limit;
            let before = if is_kept { stolen } else { path.resources.stolen_at(state.limit) };
            state.settle(now.as_ps(), before);
            state.rate = rate;
            state.level = level;
            state.limit = limit;
            state.stolen_seen = stolen;
            if state.ends_sooner() {
                sooner.push((conn, flow));
            }
            path.see_limit(state.flight, limit);
        }
    }

    /// The event of a flow's end comes when that is expected now.
    pub(super) fn move_end(&mut self, flow: u32, out: &mut impl Schedule) {
        let state = &mut self[flow];
        state.void_end();
        let end = state.expected_end();
        self.schedule_end(flow, end, out);
    }

    /// Gives a flow what it would have moved in `time` ps more.
    pub(super) fn hurry(
        &mut self,
        now: Time,
        flow: u32,
        time: u64,
        path: &mut Datapath,
        out: &mut impl Schedule,
    ) {
        self.settle(now.as_ps(), flow, &path.resources);
        self[flow].gain(time);
        let Flow { rate, limit, .. } = self[flow];
        self.set_rate(flow, rate, limit, path, out);
    }

    fn schedule_end(&mut self, flow: u32, end: u64, out: &mut impl Schedule) {
        let state = &mut self.slots[flow as usize];
        state.end_at = end;
        let event = FabricEvent::new(EventKind::FlowEnd, flow, state.generation);
        let first = self.classes[state.class].hops[0].resource;
        out.at(Time::from_ps(end), ResourceId(first), event);
    }

    /// Whether a flow whose end is due has moved its last byte; packets or others may have slowed it
    /// since, and then its end is later.
    pub(super) fn has_ended(
        &mut self,
        now: Time,
        flow: u32,
        resources: &Resources,
        out: &mut impl Schedule,
    ) -> bool {
        self.settle(now.as_ps(), flow, resources);
        let state = &self[flow];
        if state.remaining == 0 {
            return true;
        }
        let end = state.expected_end();
        self.schedule_end(flow, end, out);
        false
    }

    /// Whether the end of a flow was computed for a rate, or a transfer, that it has no more.
    pub(super) fn is_old_end(&self, flow: u32, generation: u32) -> bool {
        self[flow].generation != generation || self[flow].flight == NONE
    }

    /// Tells the streams of a resource which flows pass by it since the last solve.
    pub(super) fn gather(&self, resource: u32, mtu: u64, resources: &mut Resources) {
        let shared = resources.shared_mut(resource);
        let Fluid { members, streams, .. } = &mut shared.fluid;
        let passers = members.iter().filter_map(|&(flow, hop)| {
            let Flow { rate, limit, level, class, .. } = self[flow];
            let ClassHop { previous, weight, .. } = self.classes[class].hops[hop as usize];
            // One that joined after the solve does not count yet.
            let passes = level > 0 && limit != resource;
            passes.then(|| Passer { previous, limit, rate, load: load(rate, weight) })
        });
        streams.gather(passers, mtu, shared.rate);
    }

    /// No hop of the flow but the one that limits it is full, so that it can catch up without taking
    /// from others.
    pub(super) fn may_hurry(&self, flow: u32, resources: &Resources) -> bool {
        let limit = self[flow].limit;
        self.hops(flow).iter().filter(|hop| hop.resource != limit).all(|hop| {
            let shared = resources.shared(hop.resource);
            shared.fluid.left >= shared.rate >> 5
        })
    }
}

/// Load of a payload rate on a resource, rounded down.
pub(super) fn load(rate: u64, weight: u64) -> u64 {
    let raw = (u128::from(rate) * u128::from(weight)) >> 32;
    u64::try_from(raw).expect("a load is below a capacity")
}
