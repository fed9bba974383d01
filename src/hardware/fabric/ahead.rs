//! Hops that a packet crosses without an event of its own.
//!
//! When a packet's service begins, its next hop often is free at the moment at which it will come,
//! and nobody else is known to come before. Its service there is then *promised*: computed at once,
//! and so on from hop to hop until one is not free. Only where the packet stops, or at the end of
//! its path, it needs an event.
//!
//! ```text
//!   serve ──▶ promise ──▶ promise ──▶ event: delivery, or a hop where others are
//!                │ somebody comes before it, or flows do
//!                └──▶ broken: it and all that follow are taken back, an event at this hop instead
//! ```
//!
//! Whoever comes to a resource breaks the promises that it would delay. So all times are those of a
//! fabric with an event for each hop ([`LookAhead::Never`]); a test compares them.

use super::arena::Flights;
use super::promises::{Coming, Promise};
use super::servers::Servers;
use super::shared::{NONE_BEFORE, Serving, Shared, Undo};
use super::spec::{EventKind, FabricEvent, Schedule};
use super::watch::Visit;
use super::{Charge, Fabric, Resource, ResourceId};
use units::{Time, TimeDelta};

/// Whether packets cross hops without events. Times are the same.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LookAhead {
    /// Each hop is an event.
    Never,
    /// Hops that are free, and to which nobody else is on the way, need none.
    #[default]
    WhereFree,
}

impl Shared {
    /// Whether a packet that comes at `start` will be served at once, as far as is known.
    #[inline]
    fn is_free_at(&self, start: u64) -> bool {
        if self.coming.packets > 0 || self.turn_pending || self.fluid.meets_packets() {
            return false;
        }
        self.coming.promises.back().map_or(self.free_at, |last| last.end) <= start
    }

    /// Lets promises come true that start before `limit`: the last of them may be in service `now`.
    #[inline]
    fn come_true_before(&mut self, limit: u64, now: u64, flights: &Flights) {
        while let Some(promise) = self.coming.promises.take_before(limit) {
            self.come_true(promise, now, flights);
        }
    }

    #[inline]
    fn come_true(&mut self, promise: Promise, now: u64, flights: &Flights) {
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
                undo: Undo { free_at, tail, stolen: 0, saved: None },
            };
        }
    }
}

impl Servers {
    /// Promises the service of a packet that comes at `next.start`, and answers when it ends: with one
    /// time for all, that is known although it may wait.
    #[inline]
    fn promise(&mut self, now: u64, next: &mut Promise) -> Option<u64> {
        if self.coming.packets > 0 || self.per_item == TimeDelta::ZERO {
            return None;
        }
        if self.coming.promises.is_full() {
            while self.coming.promises.take_before(now).is_some() {}
        }
        if self.coming.promises.back().is_some_and(|last| last.start >= next.start) {
            return None;
        }
        next.end = self.next_free().as_ps();
        next.queue_max = self.queue_max;
        let end = self.admit(Time::from_ps(now), Time::from_ps(next.start));
        self.coming.promises.push(*next);
        Some(end.as_ps())
    }
}

impl Resource {
    #[inline]
    pub(super) fn coming(&mut self) -> &mut Coming {
        match self {
            Self::Shared(shared) => &mut shared.coming,
            Self::Servers(servers) => &mut servers.coming,
            Self::Unused => unreachable!("a path begins what it crosses"),
        }
    }
}

impl Fabric {
    /// A packet leaves `from` and comes to its next hop at `at`: goes on as far as hops are free, and
    /// asks for an event there.
    #[inline]
    pub(super) fn go_on(
        &mut self,
        now: Time,
        id: u32,
        mut at: u64,
        mut from: ResourceId,
        out: &mut impl Schedule,
    ) {
        let flight = &self.flights[id];
        let (end_hop, generation, bytes) = (flight.end_hop, flight.generation, flight.bytes);
        // Where a flow's segment is right before it, what comes depends on who else is there.
        let looks_ahead = self.look_ahead != LookAhead::Never && flight.behind == NONE_BEFORE;
        let (hop, tail) = (flight.hop, flight.tail);
        let mut next = Promise { start: at, tail, flight: id, hop, ..Promise::default() };
        while next.hop != end_hop {
            if !looks_ahead || !self.promise(now.as_ps(), bytes, &mut next, &mut from) {
                let resource = self.hops[next.hop].resource;
                self.resources[resource as usize].coming().packets += 1;
                break;
            }
        }
        at = if next.hop == end_hop { next.tail } else { next.start };
        let flight = &mut self.flights[id];
        (flight.hop, flight.tail) = (next.hop, next.tail);
        out.at(Time::from_ps(at), from, FabricEvent::new(EventKind::Arrive, id, generation));
    }

    /// Promises the service of a packet of `bytes` that comes as `next` says, and makes `next` what comes after
    /// it; or answers that the hop is not free.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is the body of one loop")]
    fn promise(&mut self, now: u64, bytes: u64, next: &mut Promise, from: &mut ResourceId) -> bool {
        let hop = self.hops[next.hop];
        let resource = hop.resource;
        let Promise { start, tail, .. } = *next;
        let begun = match &mut self.resources[resource as usize] {
            Resource::Shared(shared) => {
                if !shared.is_free_at(start) {
                    return false;
                }
                if shared.coming.promises.is_full() {
                    shared.come_true_before(now, now, &self.flights);
                }
                let (charge, latency) = self.hops.charge(&hop, self.cut_through, bytes);
                let (head, latency) = (charge.head.as_ps(), latency.as_ps());
                next.end = start + charge.service.as_ps();
                shared.counts.add(charge);
                shared.coming.promises.push(*next);
                next.tail = next.end.max(tail + head) + latency;
                next.start = start + head + latency;
                start
            }
            Resource::Servers(servers) => {
                let Some(end) = servers.promise(now, next) else { return false };
                let latency = self.hops.latency(&hop).as_ps();
                next.tail = tail.max(end) + latency;
                next.start = end + latency;
                end - servers.per_item.as_ps()
            }
            Resource::Unused => unreachable!("a path begins what it crosses"),
        };
        if let Some(watch) = &mut self.watch {
            let place = next.hop - self.flights[next.flight].first_hop;
            watch.visit(next.flight, place, Visit { came: start, begun, tail });
        }
        next.hop += 1;
        *from = ResourceId(resource);
        true
    }

    /// A packet comes to a shared resource now: earlier promises come true, and those that it will
    /// delay are broken.
    #[inline]
    pub(super) fn meet_promises(
        &mut self,
        now: Time,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        let shared = self.resources[resource.0 as usize].shared_mut();
        if shared.coming.promises.is_empty() {
            return;
        }
        shared.come_true_before(now.as_ps(), now.as_ps(), &self.flights);
        if !shared.coming.promises.is_empty() {
            self.meet_later_promises(now, resource, id, out);
        }
    }

    #[cold]
    fn meet_later_promises(
        &mut self,
        now: Time,
        resource: ResourceId,
        id: u32,
        out: &mut impl Schedule,
    ) {
        let (charge, _) = self.charge(self.flights[id].hop, self.flights[id].bytes);
        let (flights, flight) = (&self.flights, &self.flights[id]);
        let shared = self.resources[resource.0 as usize].shared_mut();
        // In one instant the lower connection is first.
        let first = |promise: &Promise| {
            promise.start == now.as_ps() && flights[promise.flight].precedes(flight)
        };
        if shared.coming.promises.front().is_some_and(first) {
            let promise = shared.coming.promises.pop_front().expect("it has a front");
            shared.come_true(promise, now.as_ps(), flights);
        }
        let done = (now + charge.service).as_ps();
        let delays = |promise: &Promise| promise.start < done;
        if !shared.is_calm(now.as_ps()) || shared.coming.promises.front().is_some_and(delays) {
            self.break_promises(resource, 0, out);
        }
    }

    /// Somebody comes to processing units now: earlier promises came true, later ones are broken.
    #[inline]
    pub(super) fn meet_promises_at_servers(
        &mut self,
        now: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        let coming = self.resources[resource.0 as usize].coming();
        if coming.promises.is_empty() {
            return;
        }
        while coming.promises.take_before(now.as_ps()).is_some() {}
        self.break_promises(resource, 0, out);
    }

    /// Flows will share `resource` from now on: what was promised must wait for them.
    pub(super) fn promises_meet_flows(
        &mut self,
        now: Time,
        resource: u32,
        out: &mut impl Schedule,
    ) {
        let shared = self.resources[resource as usize].shared_mut();
        if shared.coming.promises.is_empty() {
            return;
        }
        // Who comes in this instant came before the solve.
        shared.come_true_before(now.as_ps() + 1, now.as_ps(), &self.flights);
        self.break_promises(ResourceId(resource), 0, out);
    }

    /// Takes back the promises of `resource` from the one at `first` on, and what follows from them:
    /// their packets come by events.
    #[cold]
    fn break_promises(&mut self, resource: ResourceId, first: usize, out: &mut impl Schedule) {
        loop {
            let promises = &mut self.resources[resource.0 as usize].coming().promises;
            if promises.len() <= first {
                return;
            }
            let Some(promise) = promises.pop_back() else { return };
            self.uncount(resource, promise);
            let Promise { flight: id, hop, start, tail, .. } = promise;
            // Whose promise at an earlier hop is broken has an event there.
            if self.flights[id].hop <= hop {
                continue;
            }
            self.withdraw(id, hop, tail, out);
            self.resources[resource.0 as usize].coming().packets += 1;
            let event = FabricEvent::new(EventKind::Arrive, id, self.flights[id].generation);
            let from = ResourceId(self.hops[hop].previous);
            out.at(Time::from_ps(start), from, event);
        }
    }

    /// Takes what a promise counted out of the state of its resource; at servers, the last one.
    fn uncount(&mut self, resource: ResourceId, promise: Promise) {
        if self.is_shared(resource) {
            let (charge, _) = self.charge(promise.hop, self.flights[promise.flight].bytes);
            self.resources[resource.0 as usize].shared_mut().counts.subtract(&charge);
        } else {
            self.resources[resource.0 as usize].servers_mut().take_back_last(&promise);
        }
    }

    /// The packet is again before `hop`, with the `tail` that it had there: its promises after it and
    /// its event are void.
    pub(super) fn withdraw(&mut self, id: u32, hop: u32, tail: u64, out: &mut impl Schedule) {
        let flight = &mut self.flights[id];
        let reached = std::mem::replace(&mut flight.hop, hop);
        flight.tail = tail;
        flight.generation = flight.generation.wrapping_add(1);
        if flight.bytes > self.mtu {
            return;
        }
        if reached != flight.end_hop {
            let resource = self.hops[reached].resource;
            self.resources[resource as usize].coming().packets -= 1;
        }
        for later in hop + 1..reached {
            let resource = ResourceId(self.hops[later].resource);
            let promises = &mut self.resources[resource.0 as usize].coming().promises;
            let Some(place) = promises.find(id, later, self.clock.as_ps()) else { continue };
            if self.is_shared(resource) {
                let promise = self.resources[resource.0 as usize].coming().promises.remove(place);
                self.uncount(resource, promise);
            } else {
                // Those after it were promised a later server.
                self.break_promises(resource, place, out);
            }
        }
    }

    /// What the promises of a shared resource that begin after `now` count already.
    pub(super) fn promised_after(&self, now: Time, coming: &Coming) -> Vec<Charge> {
        let later = coming.promises.iter().filter(|promise| promise.start > now.as_ps());
        let charge = |promise: &Promise| {
            let hop = &self.hops[promise.hop];
            let bytes = self.flights[promise.flight].bytes;
            self.hops.charge_of(hop, self.cut_through, bytes)
        };
        later.map(charge).collect()
    }
}
