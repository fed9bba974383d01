//! Where a transfer spent its time: noted while it crosses its hops, told when it is delivered.
//!
//! ```text
//!   start ─▶ order ─▶ [queue ─▶ service ─▶ latency] ─▶ [ … ] ─▶ delivered     packet: by its last byte
//!   start ─▶ order ─▶ units … ─▶ flow: limited by this resource, then that ─▶ latency ─▶ delivered
//! ```
//!
//! Only a fabric that is watched ([`Fabric::watch`]) keeps it; what it notes changes nothing. The way of
//! a packet is that of its last byte: where that byte came later than the service needed it, time of
//! the hop before counts. Packets of one size cross the same hops in the same times again and again:
//! a way that is like one told before is not worked out again, and has a number by which whoever reads
//! it can know it again. The time of bulk counts for whatever limited its flow: as much as the flow would
//! take alone is transfer, the rest is sharing.

use super::arena::NONE;
use super::hops::HopState;
use super::{Fabric, Resource, ResourceId};
use units::{Time, TimeDelta};

/// What a transfer does at a resource.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Stage {
    /// It waits for those before it on its connection.
    Order,
    /// It waits for the resource.
    Queue,
    /// It is served.
    Transfer,
    /// It moves more slowly than it would alone.
    Sharing,
    /// A fixed time after the resource.
    Latency,
}

/// One piece of the way of a transfer, which begins where the one before ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Leg {
    /// Where.
    pub resource: ResourceId,
    /// What it did.
    pub stage: Stage,
    /// When it ended, from the start of the transfer.
    pub until: TimeDelta,
}

/// The way of a transfer that was delivered: from its start to its delivery, without a gap.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// When it started.
    pub started: Time,
    /// Its pieces, the first one first.
    pub legs: &'a [Leg],
    /// Of a way that was told before.
    pub name: Option<WayName>,
}

/// A way that was told before: equal names, equal legs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct WayName {
    /// Where it is kept: less than [`WayName::PLACES`].
    pub place: usize,
    /// Which of those that were ever kept, from 1 on.
    pub number: u64,
}

impl WayName {
    /// How many ways are kept.
    pub const PLACES: usize = 1 << 8;
}

/// The visit of a transfer at one hop.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Visit {
    pub(super) came: u64,
    /// When its service began.
    pub(super) begun: u64,
    /// When its last byte came.
    pub(super) tail: u64,
}

impl Visit {
    /// The same, counted from `started`.
    const fn since(&self, started: u64) -> Self {
        Self {
            came: self.came.wrapping_sub(started),
            begun: self.begun.wrapping_sub(started),
            tail: self.tail.wrapping_sub(started),
        }
    }
}

/// What the way of a packet depends on, with times from its start.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Crossing {
    first_hop: u32,
    bytes: u64,
    took: u64,
    tail: u64,
}

impl Crossing {
    /// Where its way is kept, if any like it was told before: the first of these places.
    fn places(self) -> impl Iterator<Item = usize> {
        let mixed = (self.took ^ self.bytes << 20) + u64::from(self.first_hop);
        let first = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as usize;
        (0..TRIES).map(move |step| (first + step) % WayName::PLACES)
    }
}

/// In how many places a way is looked for: some hundred ways are in each other's, and those that drive
/// each other out are worked out again and again.
const TRIES: usize = 8;

/// A way that was told before, with times from its start.
#[derive(Clone, Debug, Default)]
struct Known {
    number: u64,
    crossing: Crossing,
    visits: Vec<Visit>,
    legs: Vec<Leg>,
}

impl Known {
    fn is_of(&self, crossing: Crossing, seen: &Seen) -> bool {
        let alike = |(one, other): (&Visit, &Visit)| *one == other.since(seen.started);
        self.crossing == crossing
            && self.visits.len() == seen.visits.len()
            && self.visits.iter().zip(&seen.visits).all(alike)
    }

    fn keep(&mut self, crossing: Crossing, seen: &Seen, legs: &[Leg]) {
        self.crossing = crossing;
        self.visits.clear();
        self.visits.extend(seen.visits.iter().map(|visit| visit.since(seen.started)));
        self.legs.clear();
        self.legs.extend_from_slice(legs);
    }
}

/// Ways of packets that were told before; none until the first.
#[derive(Clone, Debug, Default)]
struct Ways {
    known: Vec<Known>,
    /// How many were ever kept.
    kept: u64,
}

impl Ways {
    fn find(&self, crossing: Crossing, seen: &Seen) -> Option<usize> {
        let is_it =
            |&place: &usize| self.known.get(place).is_some_and(|it| it.is_of(crossing, seen));
        crossing.places().find(is_it)
    }

    /// Keeps a way in the first free place, or in that of another one; what this event has told before
    /// is still to be read there.
    fn keep(&mut self, crossing: Crossing, seen: &Seen, legs: &[Leg], told: &[Delivered]) {
        if self.known.is_empty() {
            self.known.resize_with(WayName::PLACES, Known::default);
        }
        let free = crossing.places().find(|&place| self.known[place].number == 0);
        let taken =
            || crossing.places().find(|&place| told.iter().all(|one| one.known != Some(place)));
        let Some(place) = free.or_else(taken) else { return };
        self.kept += 1;
        let known = &mut self.known[place];
        known.number = self.kept;
        known.keep(crossing, seen, legs);
    }
}

/// A transfer that was delivered by the event that is handled.
#[derive(Clone, Copy, Debug)]
struct Delivered {
    started: u64,
    /// Where its way is kept, if one like it was told before.
    known: Option<usize>,
    /// Where its legs end among those that had to be worked out.
    end: usize,
}

/// One transfer under way.
#[derive(Clone, Debug, Default)]
struct Seen {
    started: u64,
    visits: Vec<Visit>,
    /// When its flow was opened, and by whom it was limited from when on.
    limits: Vec<(u64, u32)>,
    flowed: u64,
}

/// What a fabric notes that is watched.
#[derive(Clone, Debug, Default)]
pub(super) struct Watch {
    seen: Vec<Seen>,
    /// What was delivered last, and the legs of those that had to be worked out, one after the other.
    told: Vec<Delivered>,
    legs: Vec<Leg>,
    ways: Ways,
}

impl Watch {
    /// Resources serve otherwise from now on.
    pub(super) fn forget_ways(&mut self) {
        self.told.clear();
        self.ways.known.clear();
    }

    /// The ways of what was delivered last.
    fn told(&self) -> impl Iterator<Item = Told<'_>> {
        let begins = std::iter::once(0).chain(self.told.iter().map(|one| one.end));
        begins.zip(&self.told).map(|(begin, one)| {
            let started = Time::from_ps(one.started);
            let Some(place) = one.known else {
                return Told { started, legs: &self.legs[begin..one.end], name: None };
            };
            let Known { number, legs, .. } = &self.ways.known[place];
            Told { started, legs, name: Some(WayName { place, number: *number }) }
        })
    }

    fn of(&mut self, id: u32) -> &mut Seen {
        let id = id as usize;
        if id >= self.seen.len() {
            self.seen.resize(id + 1, Seen::default());
        }
        &mut self.seen[id]
    }

    #[cold]
    fn begin(&mut self, id: u32, now: Time, hops: u32) {
        let seen = self.of(id);
        seen.started = now.as_ps();
        seen.visits.clear();
        seen.visits.resize(hops as usize, Visit::default());
        seen.limits.clear();
    }

    /// The visit of a transfer that has begun.
    #[inline]
    pub(super) fn visit(&mut self, id: u32, place: u32, visit: Visit) {
        self.seen[id as usize].visits[place as usize] = visit;
    }

    #[cold]
    fn limit(&mut self, id: u32, now: u64, limit: u32) {
        let limits = &mut self.of(id).limits;
        if limits.last().is_none_or(|&(_, last)| last != limit) {
            limits.push((now, limit));
        }
    }
}

impl Fabric {
    /// Notes from now on where transfers spend their time.
    pub fn watch(&mut self) {
        self.watch = Some(Box::default());
    }

    /// The ways of the transfers that [`Fabric::handle`] delivered last, in their order. Empty where
    /// nothing is watched.
    pub fn ways(&self) -> impl Iterator<Item = Told<'_>> {
        self.watch.iter().flat_map(|watch| watch.told())
    }

    #[inline]
    pub(super) fn see_start(&mut self, id: u32) {
        if let Some(watch) = &mut self.watch {
            let flight = &self.flights[id];
            watch.begin(id, self.clock, flight.end_hop - flight.first_hop);
        }
    }

    /// A packet came to a hop at `came`, behind its `tail`, and is served from `begun` on.
    #[inline]
    pub(super) fn see_visit(&mut self, id: u32, hop: u32, came: u64, begun: u64, tail: u64) {
        if let Some(watch) = &mut self.watch {
            watch.visit(id, hop - self.flights[id].first_hop, Visit { came, begun, tail });
        }
    }

    /// A transfer is served by processing units until `end`.
    #[inline]
    pub(super) fn see_unit(&mut self, id: u32, hop: u32, (came, end): (u64, u64), tail: u64) {
        if self.watch.is_some() {
            let resource = self.hops[hop].resource;
            let each = self.resources[resource as usize].servers_mut().per_item.as_ps();
            self.see_visit(id, hop, came, end - each, tail);
        }
    }

    /// A flow is opened, or its limit is another one.
    #[inline]
    pub(super) fn see_limit(&mut self, flow: u32) {
        if let Some(watch) = &mut self.watch {
            let state = &self.flows[flow];
            watch.limit(state.flight, self.clock.as_ps(), state.limit);
        }
    }

    #[inline]
    pub(super) fn see_flowed(&mut self, id: u32) {
        if let Some(watch) = &mut self.watch {
            watch.of(id).flowed = self.clock.as_ps();
        }
    }

    /// Nothing is delivered yet by the event that is handled.
    #[inline]
    pub(super) fn see_event(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.legs.clear();
            watch.told.clear();
        }
    }

    /// The transfer is delivered now.
    #[inline]
    pub(super) fn see_delivery(&mut self, id: u32) {
        if self.watch.is_some() {
            self.tell_way(id);
        }
    }

    #[cold]
    fn tell_way(&mut self, id: u32) {
        let mut watch = self.watch.take().expect("it is watched");
        let Watch { seen, told, legs, ways } = &mut *watch;
        let (seen, flight) = (&seen[id as usize], self.flights[id]);
        let mut known = None;
        if flight.end_hop > flight.first_hop && flight.bytes > self.mtu {
            self.work_out(id, seen, legs);
        } else if flight.end_hop > flight.first_hop {
            let crossing = Crossing {
                first_hop: flight.first_hop,
                bytes: flight.bytes,
                took: self.clock.as_ps() - seen.started,
                tail: flight.tail.wrapping_sub(seen.started),
            };
            known = ways.find(crossing, seen);
            if let Some(place) = known {
                debug_assert!(self.is_told_right(id, seen, &ways.known[place]));
            } else {
                let first = legs.len();
                self.work_out(id, seen, legs);
                ways.keep(crossing, seen, &legs[first..], told);
            }
        }
        told.push(Delivered { started: seen.started, known, end: legs.len() });
        self.watch = Some(watch);
    }

    /// Whether a way that is known is the one that would be worked out.
    fn is_told_right(&mut self, id: u32, seen: &Seen, known: &Known) -> bool {
        let mut again = Vec::new();
        self.work_out(id, seen, &mut again);
        again == known.legs
    }

    /// The legs of a transfer that is delivered now.
    fn work_out(&mut self, id: u32, seen: &Seen, legs: &mut Vec<Leg>) {
        let first = legs.len();
        let mut way = Way { until: self.clock.as_ps(), started: seen.started, legs };
        let flight = self.flights[id];
        if flight.bytes > self.mtu {
            self.way_of_bulk(id, seen, &mut way);
        } else {
            self.way_of_packet(id, seen, &mut way);
        }
        let resource = self.hops[flight.first_hop].resource;
        way.back_to(seen.started, resource, Stage::Order);
        legs[first..].reverse();
    }

    /// From the delivery of the last byte back, hop by hop.
    fn way_of_packet(&mut self, id: u32, seen: &Seen, way: &mut Way<'_>) {
        let flight = self.flights[id];
        let last = self.hops[flight.end_hop - 1].resource;
        way.back_to(flight.tail, last, Stage::Order);
        // Until where a hop was left: by the first bytes, or by the last.
        let mut by_tail = true;
        for (hop, visit) in (flight.first_hop..flight.end_hop).zip(&seen.visits).rev() {
            let hop = self.hops[hop];
            let resource = hop.resource;
            way.back_by(self.hops.latency(&hop), resource, Stage::Latency);
            let Visit { came, begun, tail } = *visit;
            if by_tail && self.is_late(&hop, flight.bytes, visit) {
                way.back_to(tail, resource, Stage::Transfer);
            } else {
                way.back_to(begun, resource, Stage::Transfer);
                way.back_to(came, resource, Stage::Queue);
                by_tail = false;
            }
        }
    }

    /// Whether the last byte of a packet came later than its service needed it.
    fn is_late(&mut self, hop: &HopState, bytes: u64, visit: &Visit) -> bool {
        let (service, head) = match &self.resources[hop.resource as usize] {
            Resource::Servers(servers) => (servers.per_item.as_ps(), 0),
            Resource::Shared(_) | Resource::Unused => {
                let (charge, _) = self.hops.charge(hop, self.cut_through, bytes);
                (charge.service.as_ps(), charge.head.as_ps())
            }
        };
        visit.tail + head > visit.begun + service
    }

    fn way_of_bulk(&self, id: u32, seen: &Seen, way: &mut Way<'_>) {
        let flight = &self.flights[id];
        let hops = self.hops.of(flight.first_hop, flight.end_hop);
        let limit = seen.limits.last().map_or(NONE, |&(_, limit)| limit);
        let flowed = seen.flowed + self.after_flow(id, limit);
        way.back_to(flowed, hops[0].resource, Stage::Order);
        for hop in hops.iter().rev() {
            way.back_by(self.hops.latency(hop), hop.resource, Stage::Latency);
            way.back_by(self.fill_of(hop, flight.bytes, limit), hop.resource, Stage::Transfer);
        }
        let opened = seen.limits.first().map_or(seen.flowed, |&(at, _)| at);
        let took = seen.flowed - opened;
        let alone = hops.iter().map(|hop| self.alone(hop, flight.bytes)).max().unwrap_or(0);
        for &(since, limit) in seen.limits.iter().rev() {
            let resource = if limit == NONE { hops[0].resource } else { limit };
            let part = way.until.saturating_sub(since);
            if limit != NONE && alone < took {
                let moved = u128::from(part) * u128::from(alone) / u128::from(took);
                let moved = u64::try_from(moved).expect("a part of the whole");
                way.back_to(since + moved, resource, Stage::Sharing);
                way.back_to(since, resource, Stage::Transfer);
            } else {
                let stage = if limit == NONE { Stage::Queue } else { Stage::Transfer };
                way.back_to(since, resource, stage);
            }
        }
        for (hop, visit) in hops.iter().zip(&seen.visits).rev() {
            if let Resource::Servers(servers) = &self.resources[hop.resource as usize] {
                let end = visit.begun + servers.per_item.as_ps();
                way.back_to(end, hop.resource, Stage::Order);
                way.back_to(visit.begun, hop.resource, Stage::Transfer);
                way.back_to(visit.came, hop.resource, Stage::Queue);
            }
        }
    }

    /// Latencies and fills after the last byte of a flow has moved.
    fn after_flow(&self, id: u32, limit: u32) -> u64 {
        let flight = &self.flights[id];
        let hops = self.hops.of(flight.first_hop, flight.end_hop);
        let each =
            hops.iter().map(|hop| self.hops.latency(hop) + self.fill_of(hop, flight.bytes, limit));
        each.fold(TimeDelta::ZERO, |sum, one| sum + one).as_ps()
    }

    /// What the whole transfer takes a hop that nobody else uses.
    fn alone(&self, hop: &HopState, bytes: u64) -> u64 {
        match &self.resources[hop.resource as usize] {
            Resource::Shared(shared) => shared.service(self.hops.raw(hop, bytes)).as_ps(),
            Resource::Servers(_) | Resource::Unused => 0,
        }
    }
}

/// Legs in the making, from the last to the first.
struct Way<'a> {
    until: u64,
    started: u64,
    legs: &'a mut Vec<Leg>,
}

impl Way<'_> {
    /// What lies between `from` and what is told already was this.
    fn back_to(&mut self, from: u64, resource: u32, stage: Stage) {
        let from = from.max(self.started);
        if from < self.until {
            let until = TimeDelta::from_ps(self.until - self.started);
            self.legs.push(Leg { resource: ResourceId(resource), stage, until });
            self.until = from;
        }
    }

    fn back_by(&mut self, time: TimeDelta, resource: u32, stage: Stage) {
        self.back_to(self.until.saturating_sub(time.as_ps()), resource, stage);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn way(took: u64) -> (Crossing, Seen) {
        let crossing = Crossing { first_hop: 3, bytes: 8, took, tail: took };
        let visits = vec![Visit { came: 0, begun: 0, tail: took }];
        (crossing, Seen { visits, ..Seen::default() })
    }

    fn keep(ways: &mut Ways, all: &[(Crossing, Seen)], told: &[Delivered]) -> Vec<Option<usize>> {
        for (crossing, seen) in all {
            ways.keep(*crossing, seen, &[], told);
        }
        all.iter().map(|(crossing, seen)| ways.find(*crossing, seen)).collect()
    }

    #[test]
    fn a_hundred_ways_are_kept_beside_each_other() {
        let mut ways = Ways::default();
        let all: Vec<_> = (0..100).map(|step| way(1_000 + 37 * step * step)).collect();
        let firsts = all.iter().filter_map(|(crossing, _)| crossing.places().next());
        assert!(firsts.collect::<BTreeSet<usize>>().len() < 100, "some have one first place");
        let found = keep(&mut ways, &all, &[]);
        assert!(found.iter().all(Option::is_some), "{found:?}");
        assert_eq!(found.into_iter().collect::<BTreeSet<_>>().len(), 100);
        let (crossing, mut other) = way(1_000);
        other.visits[0].begun = 1;
        assert_eq!(ways.find(crossing, &other), None, "it waited");
    }

    #[test]
    fn a_way_drives_another_out_but_none_that_this_event_has_told() {
        let mut ways = Ways::default();
        let first = |(crossing, _): &(Crossing, Seen)| crossing.places().next() == Some(9);
        let all: Vec<_> = (0..).map(way).filter(first).take(TRIES + 1).collect();
        let old = keep(&mut ways, &all[..TRIES], &[]);
        assert!(old.iter().all(Option::is_some), "{old:?}");
        let told = |known: &Option<usize>| Delivered { started: 0, known: *known, end: 0 };
        let told: Vec<Delivered> = old.iter().map(told).collect();
        assert_eq!(keep(&mut ways, &all[TRIES..], &told), [None], "all of them are still read");
        let number = ways.kept;
        assert_eq!(keep(&mut ways, &all[TRIES..], &told[1..]), [Some(9)]);
        assert_eq!((ways.known[9].number, ways.kept), (number + 1, number + 1), "by a new name");
    }
}
