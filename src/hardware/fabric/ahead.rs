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
//! A promise counts once its moment has passed: before, the state of its resource does not know it.
//! Whoever comes to a resource first lets the promises before that moment come true, and breaks those
//! that it would delay. So all times are those of a fabric with an event for each hop
//! ([`LookAhead::Never`]); a test compares them.

use std::collections::VecDeque;

use super::servers::Servers;
use super::shared::{NONE_BEFORE, Serving, Shared, Undo};
use super::spec::{EventKind, FabricEvent, Schedule};
use super::{Fabric, Resource, ResourceId};
use crate::units::{Time, TimeDelta};

/// Whether packets cross hops without events. Times are the same.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LookAhead {
    /// Each hop is an event.
    Never,
    /// Hops that are free, and to which nobody else is on the way, need none.
    #[default]
    WhereFree,
}

/// A service that begins at `start` if nobody comes before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Promise {
    pub(super) flight: u32,
    pub(super) hop: u32,
    pub(super) conn: u32,
    pub(super) packets: u32,
    /// When the packet comes.
    pub(super) start: u64,
    /// When its service ends.
    pub(super) end: u64,
    /// The flight's `tail` before this hop.
    pub(super) tail: u64,
    pub(super) bytes: u64,
    pub(super) raw: u64,
}

/// What is to come at one resource.
#[derive(Clone, Debug, Default)]
pub(super) struct Coming {
    /// Packets on their way here by an event: while there are any, nothing is promised.
    pub(super) packets: u32,
    /// Promises that have not come true, by rising start.
    pub(super) promises: VecDeque<Promise>,
}

impl Coming {
    /// The next promise, if it starts before `now`.
    #[inline]
    pub(super) fn take_before(&mut self, now: u64) -> Option<Promise> {
        if self.promises.front()?.start < now { self.promises.pop_front() } else { None }
    }

    /// Promises that will have begun at `now`.
    pub(super) fn begun(&self, now: u64) -> impl Iterator<Item = &Promise> {
        self.promises.iter().take_while(move |promise| promise.start <= now)
    }
}

impl Shared {
    /// Whether a packet that comes at `start` will be served at once, as far as is known.
    #[inline]
    fn is_free_at(&mut self, now: u64, start: u64) -> bool {
        if self.coming.packets > 0 || self.turn_pending || self.fluid.meets_packets() {
            return false;
        }
        self.come_true_before(now);
        self.coming.promises.back().map_or(self.free_at, |last| last.end) <= start
    }

    /// Lets promises come true that start before `now`.
    #[inline]
    pub(super) fn come_true_before(&mut self, now: u64) {
        while let Some(promise) = self.coming.take_before(now) {
            self.come_true(promise);
        }
    }

    #[inline]
    fn come_true(&mut self, promise: Promise) {
        let Promise { flight, hop, conn, packets, start, end, tail, bytes, raw } = promise;
        let packets = u64::from(packets);
        let (free_at, stolen, saved) = (self.free_at, 0, None);
        let undo = Undo { free_at, tail, raw, packets, stolen, saved };
        let (used, started, stood_since) = (bytes.max(1), start, start);
        self.serving = Serving { flight, hop, conn, used, started, stood_since, undo };
        self.free_at = end;
        self.counts.raw += u128::from(raw);
        self.counts.packets += packets;
        self.counts.transfers += 1;
    }
}

impl Servers {
    /// When the service of a packet that comes at `start` will end, as far as is known.
    #[inline]
    fn end_if_at(&mut self, now: u64, start: u64) -> Option<u64> {
        if self.coming.packets > 0 || self.per_item == TimeDelta::ZERO {
            return None;
        }
        self.come_true_before(now);
        if self.coming.promises.back().is_some_and(|last| last.start >= start) {
            return None;
        }
        Some(start.max(self.free_after(self.coming.promises.len())) + self.per_item.as_ps())
    }

    /// When the server is free that `promised` packets leave to the next.
    #[inline]
    fn free_after(&self, promised: usize) -> u64 {
        let servers = self.ends.len();
        if promised >= servers {
            return self.coming.promises[promised - servers].end;
        }
        let slot = self.oldest + promised;
        self.ends[if slot < servers { slot } else { slot - servers }].as_ps()
    }

    /// Lets promises come true that start before `now`.
    #[inline]
    pub(super) fn come_true_before(&mut self, now: u64) {
        while let Some(promise) = self.coming.take_before(now) {
            let end = self.admit(Time::from_ps(promise.start));
            debug_assert_eq!(end.as_ps(), promise.end, "a promise that was not broken holds");
        }
    }
}

impl Resource {
    #[inline]
    pub(super) fn coming(&mut self) -> &mut Coming {
        match self {
            Self::Shared(shared) => &mut shared.coming,
            Self::Servers(servers) => &mut servers.coming,
        }
    }
}

impl Fabric {
    /// A packet leaves `from` and comes to its next hop at `arrival`: goes on as far as hops are
    /// free, and asks for an event there.
    #[inline]
    pub(super) fn go_on(
        &mut self,
        now: Time,
        id: u32,
        arrival: u64,
        from: ResourceId,
        out: &mut impl Schedule,
    ) {
        let flight = &self.flights[id];
        // Where a flow's segment is right before it, what comes depends on who else is there.
        let (mut at, mut from) = (arrival, from);
        if flight.behind == NONE_BEFORE && self.look_ahead != LookAhead::Never {
            while self.flights[id].hop != self.flights[id].end_hop {
                let Some(next) = self.promise(now.as_ps(), id, at) else { break };
                (at, from) = next;
            }
        }
        let flight = &self.flights[id];
        if flight.hop == flight.end_hop {
            at = flight.tail;
        } else {
            let resource = self.hops[flight.hop as usize].resource;
            self.resources[resource as usize].coming().packets += 1;
        }
        out.at(Time::from_ps(at), from, FabricEvent::new(EventKind::Arrive, id, flight.generation));
    }

    /// Promises the packet's service at its next hop, which it reaches at `start`: when it comes to
    /// the hop after, and from where.
    #[inline]
    fn promise(&mut self, now: u64, id: u32, start: u64) -> Option<(u64, ResourceId)> {
        let flight = &mut self.flights[id];
        let (hop, bytes, conn, tail) = (flight.hop, flight.bytes, flight.conn, flight.tail);
        let state = &mut self.hops[hop as usize];
        let (resource, latency) = (state.resource, state.latency.as_ps());
        let mut promise =
            Promise { flight: id, hop, conn, packets: 0, start, end: 0, tail, bytes, raw: 0 };
        let next = match &mut self.resources[resource as usize] {
            Resource::Shared(shared) => {
                if !shared.is_free_at(now, start) {
                    return None;
                }
                let charge = state.charge(&self.specs, self.cut_through, bytes);
                promise.end = start + charge.service.as_ps();
                promise.packets = u32::try_from(charge.packets).ok()?;
                promise.raw = charge.raw;
                let head = charge.head.as_ps();
                flight.tail = promise.end.max(tail + head) + latency;
                shared.coming.promises.push_back(promise);
                start + head + latency
            }
            Resource::Servers(servers) => {
                promise.end = servers.end_if_at(now, start)?;
                flight.tail = tail.max(promise.end) + latency;
                servers.coming.promises.push_back(promise);
                promise.end + latency
            }
        };
        flight.hop += 1;
        Some((next, ResourceId(resource)))
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
        shared.come_true_before(now.as_ps());
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
        let flight = &self.flights[id];
        let (hop, bytes) = (flight.hop, flight.bytes);
        let (charge, _) = self.charge(hop, bytes);
        let shared = self.resources[resource.0 as usize].shared_mut();
        let promises = &mut shared.coming.promises;
        let (flights, flight) = (&self.flights, &self.flights[id]);
        let first = |promise: &Promise| {
            promise.start == now.as_ps() && flights[promise.flight].precedes(flight)
        };
        if promises.front().is_some_and(first) {
            let promise = promises.pop_front().expect("it has a front");
            shared.come_true(promise);
        }
        let done = (now + charge.service).as_ps();
        let delays = |promise: &Promise| promise.start < done;
        if !shared.is_calm(now.as_ps()) || shared.coming.promises.front().is_some_and(delays) {
            self.break_promises(resource, 0, out);
        }
    }

    /// Somebody comes to processing units now: earlier promises come true, later ones are broken.
    #[inline]
    pub(super) fn meet_promises_at_servers(
        &mut self,
        now: Time,
        resource: ResourceId,
        out: &mut impl Schedule,
    ) {
        let servers = self.resources[resource.0 as usize].servers_mut();
        if servers.coming.promises.is_empty() {
            return;
        }
        servers.come_true_before(now.as_ps());
        if !servers.coming.promises.is_empty() {
            self.break_promises(resource, 0, out);
        }
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
        shared.come_true_before(now.as_ps() + 1);
        if !shared.coming.promises.is_empty() {
            self.break_promises(ResourceId(resource), 0, out);
        }
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
            let Promise { flight: id, hop, start, tail, .. } = promise;
            // Whose promise at an earlier hop is broken has an event there.
            if self.flights[id].hop <= hop {
                continue;
            }
            self.withdraw(id, hop, tail, out);
            self.resources[resource.0 as usize].coming().packets += 1;
            let event = FabricEvent::new(EventKind::Arrive, id, self.flights[id].generation);
            let from = ResourceId(self.hops[hop as usize].previous);
            out.at(Time::from_ps(start), from, event);
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
            let resource = self.hops[reached as usize].resource;
            self.resources[resource as usize].coming().packets -= 1;
        }
        for later in hop + 1..reached {
            let resource = self.hops[later as usize].resource;
            let promises = &mut self.resources[resource as usize].coming().promises;
            let of_this = |promise: &Promise| promise.flight == id && promise.hop == later;
            let Some(place) = promises.iter().position(of_this) else { continue };
            if self.is_shared(ResourceId(resource)) {
                self.resources[resource as usize].coming().promises.remove(place);
            } else {
                // Those after it may have been promised a later server.
                self.break_promises(ResourceId(resource), place, out);
            }
        }
    }
}
