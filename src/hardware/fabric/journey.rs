//! Where a delivered transfer spent its time, worked out from its delivery back.
//!
//! The journey of a packet is that of its last byte: where that byte came later than the service needed
//! it, time of the hop before counts. The time of bulk counts for the resource that limited its flow:
//! as much as the flow would take alone is transfer, the rest is sharing.

use super::arena::NONE;
use super::datapath::Datapath;
use super::hops::HopState;
use super::resource::Resource;
use super::spec::ResourceId;
use super::watch::{Crossing, Leg, Seen, Stage, Visit};
use units::TimeDelta;

/// Records the journey of a transfer that is delivered now, in a fabric that is watched; `followed`, others of its
/// connection are under way behind it.
#[cold]
pub(super) fn record(path: &mut Datapath, id: u32, followed: bool) {
    let mut watch = path.watch.take().expect("it is watched");
    let flight = path.flights[id];
    let crosses = flight.end_hop > flight.first_hop;
    let started = watch.started(id);
    // What it waits for in order depends on the transfer before it.
    let waits = flight.tail < path.clock.as_ps() || watch.came(id) > started;
    let crossing = (crosses && !waits && flight.bytes <= path.mtu).then(|| Crossing {
        first_hop: flight.first_hop,
        bytes: flight.bytes,
        took: path.clock.as_ps() - started,
        tail: flight.tail.wrapping_sub(started),
    });
    watch.deliver(id, crossing, |seen, legs| {
        if crosses {
            work_out(path, id, seen, legs);
        }
    });
    watch.in_order(flight.conn, followed);
    path.watch = Some(watch);
}

/// The legs of a transfer that is delivered now.
fn work_out(path: &mut Datapath, id: u32, seen: &Seen, legs: &mut Vec<Leg>) {
    let first = legs.len();
    let mut back = Backwards { until: path.clock.as_ps(), started: seen.started, legs };
    let flight = path.flights[id];
    if flight.bytes > path.mtu {
        legs_of_bulk(path, id, seen, &mut back);
    } else {
        legs_of_packet(path, id, seen, &mut back);
    }
    let resource = path.hops[flight.first_hop].resource;
    back.back_to(seen.started, resource, Stage::Order);
    legs[first..].reverse();
}

/// From the delivery of the last byte back, hop by hop.
fn legs_of_packet(path: &mut Datapath, id: u32, seen: &Seen, back: &mut Backwards<'_>) {
    let flight = path.flights[id];
    let last = path.hops[flight.end_hop - 1].resource;
    back.back_to(flight.tail, last, Stage::Order);
    // Until where a hop was left: by the first bytes, or by the last.
    let mut by_tail = true;
    for (hop, visit) in (flight.first_hop..flight.end_hop).zip(&seen.visits).rev() {
        let hop = path.hops[hop];
        let resource = hop.resource;
        back.back_by(path.hops.latency(hop), resource, Stage::Latency);
        let Visit { came, begun, tail } = *visit;
        if by_tail && is_late(path, hop, flight.bytes, visit) {
            back.back_to(tail, resource, Stage::Transfer);
        } else {
            back.back_to(begun, resource, Stage::Transfer);
            back.back_to(came, resource, Stage::Queue);
            by_tail = false;
        }
    }
}

/// Whether the last byte of a packet came later than its service needed it.
fn is_late(path: &mut Datapath, hop: HopState, bytes: u64, visit: &Visit) -> bool {
    let (service, head) = match path.resources.get(hop.resource) {
        Resource::Servers(servers) => (servers.per_item.as_ps(), 0),
        Resource::Shared(_) | Resource::Unused => {
            let (charge, _) = path.hops.charge(hop, bytes);
            (charge.service.as_ps(), charge.head.as_ps())
        }
    };
    visit.tail + head > visit.begun + service
}

fn legs_of_bulk(path: &Datapath, id: u32, seen: &Seen, back: &mut Backwards<'_>) {
    let flight = &path.flights[id];
    let hops = || path.hops.of(flight.first_hop, flight.end_hop);
    let first = path.hops[flight.first_hop].resource;
    let limit = seen.limits.last().map_or(NONE, |&(_, limit)| limit);
    let flowed = seen.flowed + after_flow(path, id, limit);
    back.back_to(flowed, first, Stage::Order);
    for hop in hops().rev() {
        back.back_by(path.hops.latency(hop), hop.resource, Stage::Latency);
        back.back_by(path.fill_of(hop, flight.bytes, limit), hop.resource, Stage::Transfer);
    }
    let opened = seen.limits.first().map_or(seen.flowed, |&(at, _)| at);
    let took = seen.flowed - opened;
    let alone = hops().map(|hop| alone(path, hop, flight.bytes)).max().unwrap_or(0);
    for &(since, limit) in seen.limits.iter().rev() {
        let resource = if limit == NONE { first } else { limit };
        let part = back.until.saturating_sub(since);
        if limit != NONE && alone < took {
            let moved = u128::from(part) * u128::from(alone) / u128::from(took);
            let moved = u64::try_from(moved).expect("a part of the whole");
            back.back_to(since + moved, resource, Stage::Sharing);
            back.back_to(since, resource, Stage::Transfer);
        } else {
            let stage = if limit == NONE { Stage::Queue } else { Stage::Transfer };
            back.back_to(since, resource, stage);
        }
    }
    for (hop, visit) in hops().zip(&seen.visits).rev() {
        if let Resource::Servers(servers) = path.resources.get(hop.resource) {
            let end = visit.begun + servers.per_item.as_ps();
            back.back_to(end, hop.resource, Stage::Order);
            back.back_to(visit.begun, hop.resource, Stage::Transfer);
            back.back_to(visit.came, hop.resource, Stage::Queue);
        }
    }
}

/// Latencies and fills after the last byte of a flow has moved.
fn after_flow(path: &Datapath, id: u32, limit: u32) -> u64 {
    let flight = &path.flights[id];
    let hops = path.hops.of(flight.first_hop, flight.end_hop);
    let each = hops.map(|hop| path.hops.latency(hop) + path.fill_of(hop, flight.bytes, limit));
    each.fold(TimeDelta::ZERO, |sum, one| sum + one).as_ps()
}

/// Time of the whole transfer at a hop that no other transfer uses.
fn alone(path: &Datapath, hop: HopState, bytes: u64) -> u64 {
    match path.resources.get(hop.resource) {
        Resource::Shared(shared) => shared.service(path.hops.raw(hop, bytes)).as_ps(),
        Resource::Servers(_) | Resource::Unused => 0,
    }
}

/// Legs in the making, from the last to the first.
struct Backwards<'a> {
    until: u64,
    started: u64,
    legs: &'a mut Vec<Leg>,
}

impl Backwards<'_> {
    /// The transfer was at `stage` from `from` on, until the earliest leg so far.
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
