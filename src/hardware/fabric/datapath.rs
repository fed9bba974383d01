//! The resources, the paths and the transfers on them; packets cross free hops without events.
//!
//! When a packet's service begins, its next hop often is free at the moment at which it will come,
//! and no other packet is known to come before. Its service there is then *promised*: computed at
//! once, and so on from hop to hop until one is not free. Only where the packet stops, or at the end
//! of its path, it needs an event.
//!
//! ```text
//!   serve ──▶ promise ──▶ promise ──▶ event: delivery, or a hop where others are
//!                │ a packet comes before it, or flows do
//!                └──▶ broken: it and all that follow are taken back, an event at this hop instead
//! ```
//!
//! A packet that comes to a resource breaks the promises that it would delay. So all times are those
//! of a fabric with an event for each hop ([`LookAhead::Never`]); a test compares them.

use super::arena::Flights;
use super::hops::{Charge, HopState, Hops};
use super::promises::{Coming, Promise};
use super::resource::{Resource, Resources};
use super::shared::NONE_BEFORE;
use super::spec::{EventKind, FabricEvent, LookAhead, ResourceId, Schedule};
use super::watch::{Visit, Watch};
use units::{Time, TimeDelta};

/// Resources and hops that transfers cross, and the transfers under way.
#[derive(Debug)]
pub(super) struct Datapath {
    /// Transfers of at most so many bytes are packets.
    pub(super) mtu: u64,
    pub(super) look_ahead: LookAhead,
    /// The time of the last call.
    pub(super) clock: Time,
    pub(super) resources: Resources,
    pub(super) hops: Hops,
    pub(super) flights: Flights,
    pub(super) watch: Option<Box<Watch>>,
}

impl Datapath {
    /// Resources that no path crosses yet; transfers of at most `mtu` bytes are packets.
    pub(super) fn new(resources: Resources, mtu: u64) -> Self {
        Self {
            mtu,
            look_ahead: LookAhead::default(),
            clock: Time::ZERO,
            resources,
            hops: Hops::new(),
            flights: Flights::default(),
            watch: None,
        }
    }

    #[inline]
    pub(super) fn is_packet(&self, id: u32) -> bool {
        self.flights[id].bytes <= self.mtu
    }

    /// The resource of the first hop of a transfer.
    #[inline]
    pub(super) fn first_resource(&self, id: u32) -> u32 {
        self.hops[self.flights[id].first_hop].resource
    }

    /// Charge of `bytes` at a shared hop, and the time that follows it.
    #[inline]
    pub(super) fn charge(&mut self, hop: u32, bytes: u64) -> (Charge, TimeDelta) {
        let hop = self.hops[hop];
        let (charge, latency) = self.hops.charge(hop, bytes);
        (*charge, latency)
    }

    /// Until the next stage can begin behind a hop; nothing where that limits the flow.
    pub(super) fn fill_of(&self, hop: HopState, bytes: u64, limit: u32) -> TimeDelta {
        match self.resources.get(hop.resource) {
            Resource::Shared(shared) if hop.resource != limit => {
                shared.service(self.hops.raw(hop, self.hops.cut_through().min(bytes)))
            }
            Resource::Shared(_) | Resource::Servers(_) | Resource::Unused => TimeDelta::ZERO,
        }
    }

    /// A transfer begins now.
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
            let each = self.resources.servers_mut(self.hops[hop].resource).per_item.as_ps();
            self.see_visit(id, hop, came, end - each, tail);
        }
    }

    /// A flow of a transfer is opened, or `limit` limits it from now on.
    #[inline]
    pub(super) fn see_limit(&mut self, id: u32, limit: u32) {
        if let Some(watch) = &mut self.watch {
            watch.limit(id, self.clock, limit);
        }
    }

    /// The flow of a transfer ends now.
    #[inline]
    pub(super) fn see_flowed(&mut self, id: u32) {
        if let Some(watch) = &mut self.watch {
            watch.flowed(id, self.clock);
        }
    }

    /// An event begins.
    #[inline]
    pub(super) fn see_event(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.begin_event();
        }
    }

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
                self.resources.coming(resource).packets += 1;
                break;
            }
        }
        at = if next.hop == end_hop { next.tail } else { next.start };
        let flight = &mut self.flights[id];
        (flight.hop, flight.tail) = (next.hop, next.tail);
        out.at(Time::from_ps(at), from, FabricEvent::new(EventKind::Arrive, id, generation));
    }

    /// Promises the service of a packet of `bytes` that comes as `next` says, and makes `next` what
    /// comes after it; or answers that the hop is not free.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is the body of one loop")]
    fn promise(&mut self, now: u64, bytes: u64, next: &mut Promise, from: &mut ResourceId) -> bool {
        let hop = self.hops[next.hop];
        let resource = hop.resource;
        let Promise { start, tail, .. } = *next;
        let begun = match self.resources.get_mut(resource) {
            Resource::Shared(shared) => {
                if !shared.is_free_at(start) {
                    return false;
                }
                let (charge, latency) = self.hops.charge(hop, bytes);
                let (head, latency) = (charge.head.as_ps(), latency.as_ps());
                shared.promise(now, next, charge, &self.flights);
                next.tail = next.end.max(tail + head) + latency;
                next.start = start + head + latency;
                start
            }
            Resource::Servers(servers) => {
                let Some(end) = servers.promise(now, next) else { return false };
                let latency = self.hops.latency(hop).as_ps();
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
        let shared = self.resources.shared_mut(resource.0);
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
        let shared = self.resources.shared_mut(resource.0);
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

    /// A transfer comes to processing units now: earlier promises came true, later ones are broken.
    #[inline]
    pub(super) fn meet_promises_at_servers(
        &mut self,
        now: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        let coming = self.resources.coming(resource.0);
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
        let shared = self.resources.shared_mut(resource);
        if shared.coming.promises.is_empty() {
            return;
        }
        // Packets of this instant came before the solve.
        shared.come_true_before(now.as_ps() + 1, now.as_ps(), &self.flights);
        self.break_promises(ResourceId(resource), 0, out);
    }

    /// Breaks the promises of a resource beyond now: those packets come by events again.
    pub(super) fn forget_promises(
        &mut self,
        now: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        if self.resources.is_shared(resource.0) {
            self.promises_meet_flows(now, resource.0, out);
        } else {
            self.meet_promises_at_servers(now, resource, out);
        }
    }

    /// Takes back the promises of `resource` from the one at `first` on, and what follows from them:
    /// their packets come by events.
    #[cold]
    fn break_promises(&mut self, resource: ResourceId, first: usize, out: &mut impl Schedule) {
        loop {
            let promises = &mut self.resources.coming(resource.0).promises;
            if promises.len() <= first {
                return;
            }
            let Some(promise) = promises.pop_back() else { return };
            self.uncount(resource, promise);
            let Promise { flight: id, hop, start, tail, .. } = promise;
            // A packet whose promise at an earlier hop is broken has an event there.
            if self.flights[id].hop <= hop {
                continue;
            }
            self.withdraw(id, hop, tail, out);
            self.resources.coming(resource.0).packets += 1;
            let event = FabricEvent::new(EventKind::Arrive, id, self.flights[id].generation);
            let from = ResourceId(self.hops.previous(hop, self.flights[id].first_hop));
            out.at(Time::from_ps(start), from, event);
        }
    }

    /// Takes what a promise counted out of the state of its resource; at servers, the last one.
    fn uncount(&mut self, resource: ResourceId, promise: Promise) {
        if self.resources.is_shared(resource.0) {
            let (charge, _) = self.charge(promise.hop, self.flights[promise.flight].bytes);
            self.resources.shared_mut(resource.0).counts.subtract(&charge);
        } else {
            self.resources.servers_mut(resource.0).take_back_last(&promise);
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
            self.resources.coming(resource).packets -= 1;
        }
        for later in hop + 1..reached {
            let resource = ResourceId(self.hops[later].resource);
            let promises = &mut self.resources.coming(resource.0).promises;
            let Some(place) = promises.find(id, later, self.clock.as_ps()) else { continue };
            if self.resources.is_shared(resource.0) {
                let promise = self.resources.coming(resource.0).promises.remove(place);
                self.uncount(resource, promise);
            } else {
                // Those after it were promised a later server.
                self.break_promises(resource, place, out);
            }
        }
    }

    /// Charges, counted already, of the promises of a shared resource that begin after `now`.
    pub(super) fn promised_after(&self, now: Time, coming: &Coming) -> Vec<Charge> {
        let later = coming.promises.iter().filter(|promise| promise.start > now.as_ps());
        let charge = |promise: &Promise| {
            let hop = self.hops[promise.hop];
            let bytes = self.flights[promise.flight].bytes;
            self.hops.charge_of(hop, bytes)
        };
        later.map(charge).collect()
    }
}
