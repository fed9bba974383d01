//! Every shared resource of the cluster, and the transfers that cross them.
//!
//! A transfer follows a path of hops. Up to one MTU it is a *packet* and visits its hops one after
//! the other; above, it is *bulk*: it passes the processing units like a packet, and then is one
//! max-min fair fluid flow over all its shared hops at once. Where packets meet fluid, the flows
//! that are backlogged stand in the packets' round robin with one MTU each, and the time that
//! packets use is taken from those flows. `docs/adr/0003-fair-sharing.md` says why, and how wrong
//! it can be.
//!
//! ```text
//!   start ─▶ connection ─▶ hop ─▶ hop ─▶ … ─▶ in order ─▶ Delivery     transfers.rs, connections.rs
//!            (first hop      │
//!             in order)      ├─ Servers: first come, first served        servers.rs
//!                            ├─ Shared, packet: round robin              packets.rs, ring.rs, shared.rs
//!                            └─ Shared, bulk: flow                       bulk.rs, flows.rs, classes.rs, solve.rs, reserve.rs
//! ```
//!
//! A packet needs events only where it meets others, and at the end: its service at hops that will
//! be free is promised ahead (datapath.rs), and taken back when another packet comes before.
//! [`Fabric`] sequences three parts, each of which owns its state: the `Datapath` with the resources,
//! the paths and the transfers on them; the `Connections` with their order; and the `Bulk` with its
//! flows and their rates.
//! All arithmetic is in integers: picoseconds, bytes, rates in 2^-40 byte per picosecond.

mod arena;
mod bulk;
mod classes;
mod connections;
mod datapath;
mod flows;
mod hops;
mod journey;
mod packets;
mod promises;
mod reserve;
mod resource;
mod ring;
mod servers;
mod shared;
mod solve;
mod spec;
mod streams;
mod transfers;
mod watch;

#[cfg(test)]
mod tests;

use arena::{Flight, NONE};
use bulk::Bulk;
use connections::Connections;
use datapath::Datapath;
pub use hops::DEFAULT_CUT_THROUGH;
use resource::{Resource, Resources};
use shared::NONE_BEFORE;
use spec::EventKind;
pub use spec::{
    About, Alteration, Arbitration, Boundary, ConnId, Delivery, FabricEvent, Framing, Hop, Kind,
    LookAhead, PathId, ResourceId, ResourceSpec, ResourceStats, STILL, Schedule, Service, Share,
    Transfer,
};
pub use watch::{Journey, JourneyName, Leg, Stage};

use units::Time;

/// Every shared resource of the cluster, and what is under way on it.
#[derive(Debug)]
pub struct Fabric {
    path: Datapath,
    conns: Connections,
    bulk: Bulk,
}

impl Fabric {
    /// A fabric of `resources`; transfers of at most `mtu` bytes are packets.
    ///
    /// # Panics
    ///
    /// When the MTU, a capacity, a number of servers or a framing unit is zero: profiles are
    /// validated before.
    pub fn new(resources: Vec<ResourceSpec>, mtu: u64) -> Self {
        assert!(mtu > 0, "an MTU holds at least one byte");
        Self {
            path: Datapath::new(Resources::new(resources), mtu),
            conns: Connections::default(),
            bulk: Bulk::default(),
        }
    }

    /// Payload that a stage must hold before the next can begin; `u64::MAX` is store and forward.
    #[must_use]
    pub fn with_cut_through(mut self, bytes: u64) -> Self {
        self.path.hops.set_cut_through(bytes);
        self
    }

    /// Whether packets cross hops without events.
    #[must_use]
    pub fn with_look_ahead(mut self, look_ahead: LookAhead) -> Self {
        self.set_look_ahead(look_ahead);
        self
    }

    /// Whether packets that begin a hop from now on cross the hops after it without events.
    pub const fn set_look_ahead(&mut self, look_ahead: LookAhead) {
        self.path.look_ahead = look_ahead;
    }

    /// Makes a path of `hops`, which may be empty.
    ///
    /// # Panics
    ///
    /// When a hop names a resource that does not exist, or has weight zero.
    pub fn add_path(&mut self, hops: &[Hop]) -> PathId {
        let framed: Vec<(Hop, Option<Framing>)> = hops.iter().map(|&hop| (hop, None)).collect();
        self.add_framed_path(&framed)
    }

    /// Makes a path of `hops`, some of which cut the payload in their own way: what a transfer weighs
    /// where it fills packets less well than others, or does something other than moving its bytes.
    ///
    /// # Panics
    ///
    /// As [`Fabric::add_path`], or when a framing's unit is zero.
    pub fn add_framed_path(&mut self, hops: &[(Hop, Option<Framing>)]) -> PathId {
        let resources = &mut self.path.resources;
        for (hop, framing) in hops {
            let is_known = (hop.resource.0 as usize) < resources.specs().len();
            assert!(is_known, "a hop over a known resource");
            assert!(hop.weight > 0, "a hop charges at least each byte once");
            assert!(framing.is_none_or(|framing| framing.unit > 0), "a packet holds a byte");
            resources.begin(hop.resource.0);
        }
        let specs = resources.specs();
        let framed = hops.iter().map(|&(hop, framing)| {
            let delay = resources.added_delay(hop.resource.0);
            let framing = framing.unwrap_or(specs[hop.resource.0 as usize].framing);
            (Hop { latency: hop.latency + delay, ..hop }, framing)
        });
        let framed: Vec<(Hop, Framing)> = framed.collect();
        self.path.hops.add_path(&framed, specs)
    }

    /// Gives the bulk of a connection `share` where it meets that of others, from now on: among those
    /// that a resource limits, rates are in the proportion of their shares.
    ///
    /// # Panics
    ///
    /// When `share` is zero.
    pub fn set_share(&mut self, now: Time, conn: ConnId, share: Share, out: &mut impl Schedule) {
        assert!(share.0 > 0, "a flow always gets a share");
        self.path.clock = now;
        let flow = self.conns.open(conn.0).flow();
        self.bulk.set_share(now, conn.0, (flow, share), &mut self.path, out);
    }

    /// Reads the state of a path's resources and of a connection, and answers anything made of it: in
    /// a large job they lie in no cache, and what is read at once is waited for once.
    ///
    /// # Panics
    ///
    /// When the path does not exist.
    pub fn touch(&self, conn: ConnId, path: PathId) -> u64 {
        let path = self.path.hops.path(path.0);
        let hops = self.path.hops.of(path.first, path.end);
        hops.fold(self.conns.touch(conn.0), |word, hop| {
            word ^ match self.path.resources.get(hop.resource) {
                Resource::Shared(shared) => {
                    shared.free_at ^ shared.counts.packets ^ shared.coming.promises.touch()
                }
                Resource::Servers(servers) => servers.coming.promises.touch(),
                Resource::Unused => 0,
            }
        })
    }

    /// Takes a transfer; its [`Delivery`] comes out of a later [`Fabric::handle`].
    ///
    /// # Panics
    ///
    /// When the path does not exist.
    pub fn start(&mut self, now: Time, transfer: Transfer, out: &mut impl Schedule) {
        self.path.clock = now;
        let conn = transfer.conn.0;
        let order = self.conns.open(conn).next_order();
        let path = self.path.hops.path(transfer.path.0);
        let id = self.path.flights.insert(Flight {
            next: NONE,
            generation: 0,
            conn,
            order,
            hop: if path.first == path.end { NONE } else { path.first },
            first_hop: path.first,
            end_hop: path.end,
            path: transfer.path.0,
            bytes: transfer.bytes,
            token: transfer.token,
            arrived: now.as_ps(),
            tail: now.as_ps(),
            behind: NONE_BEFORE,
        });
        self.path.see_start(id);
        if path.first == path.end {
            let event = FabricEvent::new(EventKind::Arrive, id, self.path.flights[id].generation);
            out.at(now, ResourceId(0), event);
        } else {
            self.enter_or_wait(now, id, out);
        }
    }

    /// Whether an event is about what has changed since it was scheduled: it does nothing.
    fn is_stale(&self, event: FabricEvent) -> bool {
        let FabricEvent { kind, id, generation } = event;
        match kind {
            EventKind::Arrive => self.is_old_arrival(id, generation),
            EventKind::FlowEnd => self.bulk.is_old_end(id, generation),
            EventKind::Turn | EventKind::Gate | EventKind::Solve | EventKind::Window => false,
        }
    }

    /// Whether a run may end without an event: it does nothing, or only ends a window in which packets were counted.
    #[inline]
    pub fn is_upkeep(&self, event: FabricEvent) -> bool {
        event.kind == EventKind::Window || self.is_stale(event)
    }

    fn is_old_arrival(&self, flight: u32, generation: u32) -> bool {
        self.path.flights[flight].generation != generation
    }

    /// Subject of an event that came due; to be called before it is handled.
    pub fn about(&self, event: FabricEvent) -> About {
        let FabricEvent { kind, id, .. } = event;
        match kind {
            EventKind::Arrive | EventKind::FlowEnd if self.is_stale(event) => About::Nothing,
            EventKind::Arrive => {
                let flight = &self.path.flights[id];
                let ends = flight.hop == NONE || flight.hop == flight.end_hop;
                let next = (!ends).then(|| ResourceId(self.path.hops[flight.hop].resource));
                About::Reaches(flight.token, next)
            }
            EventKind::FlowEnd => {
                let (flight, limit) = self.bulk.transfer_of(id);
                About::MayEnd(self.path.flights[flight].token, limit)
            }
            EventKind::Turn => About::Chooses(ResourceId(id)),
            EventKind::Gate => About::MayBegin(ConnId(id)),
            EventKind::Solve => About::Rates,
            EventKind::Window => About::Counts(ResourceId(id)),
        }
    }

    /// Obeys an event that came due; arrivals are appended to `delivered`.
    pub fn handle(
        &mut self,
        now: Time,
        event: FabricEvent,
        out: &mut impl Schedule,
        delivered: &mut Vec<Delivery>,
    ) {
        self.path.clock = now;
        self.path.see_event();
        let FabricEvent { kind, id, generation } = event;
        match kind {
            EventKind::Arrive => {
                if self.is_old_arrival(id, generation) {
                    return;
                }
                let flight = &self.path.flights[id];
                // Bulk is at the end only when its flow is (see `finish_flow`).
                let packet = flight.bytes <= self.path.mtu;
                if flight.hop == NONE || (packet && flight.hop == flight.end_hop) {
                    self.arrive_at_end(id, delivered);
                } else {
                    if packet {
                        let resource = self.path.hops[flight.hop].resource;
                        self.path.resources.coming(resource).packets -= 1;
                    }
                    self.arrive(now, id, out);
                }
            }
            EventKind::Turn => self.turn(now, ResourceId(id), generation, out),
            EventKind::Gate => self.open_gate(now, ConnId(id), out),
            EventKind::FlowEnd => self.flow_end(now, id, generation, out),
            EventKind::Solve => self.bulk.solve(now, &mut self.path, out),
            EventKind::Window => {
                self.bulk.end_of_window(now, ResourceId(id), &mut self.path, out);
            }
        }
    }

    /// Transfers at a resource since the last event: packets that it serves, that wait for it or are on
    /// their way to it, and flows that cross it; none at processing units.
    ///
    /// # Panics
    ///
    /// When there is no such resource.
    pub fn load(&self, resource: ResourceId) -> u32 {
        match self.path.resources.get(resource.0) {
            Resource::Shared(shared) => shared.load(self.path.clock.as_ps()),
            Resource::Servers(_) | Resource::Unused => 0,
        }
    }

    /// Statistics of a resource so far: packets whose service began, and bulk whose flow ended.
    ///
    /// # Panics
    ///
    /// When there is no such resource.
    pub fn stats(&self, resource: ResourceId) -> ResourceStats {
        self.stats_with(resource, self.path.clock, 0)
    }

    /// Statistics of a resource until `now`, with the part of each flow that has moved, and without what the packet in
    /// service still needs. For the difference over a measured interval.
    ///
    /// # Panics
    ///
    /// When there is no such resource, or `now` is before the last event.
    pub fn stats_at(&self, resource: ResourceId, now: Time) -> ResourceStats {
        let Resource::Shared(shared) = self.path.resources.get(resource.0) else {
            return self.stats_with(resource, now, 0);
        };
        let moved = self.bulk.moved_until(now, resource, &self.path);
        let mut stats = self.stats_with(resource, now, moved);
        stats.busy = stats.busy.saturating_sub(shared.unserved(now.as_ps()));
        stats
    }

    /// Statistics of the services that began until `now`, and of `moved` raw bytes of flows.
    fn stats_with(&self, resource: ResourceId, now: Time, moved: u128) -> ResourceStats {
        match self.path.resources.get(resource.0) {
            Resource::Shared(shared) => {
                let mut counts = shared.counts;
                for charge in self.path.promised_after(now, &shared.coming) {
                    counts.subtract(&charge);
                }
                shared.stats(counts, moved)
            }
            Resource::Servers(servers) => servers.stats(now),
            Resource::Unused => ResourceStats::default(),
        }
    }

    /// Statistics of every resource until `now`, in the order of their ids.
    pub fn snapshot(&self, now: Time) -> Vec<ResourceStats> {
        (0..)
            .map(ResourceId)
            .take(self.resources().len())
            .map(|id| self.stats_at(id, now))
            .collect()
    }

    /// The resources, in the order of their ids.
    pub fn resources(&self) -> &[ResourceSpec] {
        self.path.resources.specs()
    }

    /// The resources, in the order of their ids, each with its statistics so far.
    pub fn into_resources(mut self) -> impl Iterator<Item = (ResourceSpec, ResourceStats)> {
        self.conns = Connections::default();
        let specs = self.path.resources.take_specs();
        (0..).map(ResourceId).zip(specs).map(move |(id, spec)| (spec, self.stats(id)))
    }

    /// Transfers that were started and not delivered yet.
    pub const fn in_flight(&self) -> u64 {
        self.path.flights.len()
    }

    /// Rate solutions computed so far, and flows they covered: what contention costs the host.
    pub const fn solves(&self) -> (u64, u64) {
        self.bulk.solves()
    }

    /// Records from now on where transfers spend their time.
    pub fn watch(&mut self) {
        self.path.watch = Some(Box::default());
    }

    /// The journeys of the transfers that [`Fabric::handle`] delivered last, in their order. Empty
    /// where nothing is watched.
    pub fn journeys(&self) -> impl Iterator<Item = Journey<'_>> {
        self.path.watch.iter().flat_map(|watch| watch.delivered())
    }

    /// Lets `resource` differ from what it was built as by `to`, from now on: a service that began
    /// ends as it began, promises beyond now are broken, flows get new rates.
    ///
    /// # Panics
    ///
    /// When there is no such resource.
    pub fn alter(
        &mut self,
        now: Time,
        resource: ResourceId,
        to: Alteration,
        out: &mut impl Schedule,
    ) {
        self.path.clock = now;
        self.path.resources.begin(resource.0);
        self.path.forget_promises(now, resource, out);
        let (from, capacity) = self.path.resources.alter(resource.0, to);
        self.path.hops.change(resource.0, capacity, (from.delay, to.delay));
        if let Some(watch) = &mut self.path.watch {
            watch.forget_journeys();
        }
        if let Some(capacity) = capacity {
            let rate = if to.paused { STILL } else { capacity };
            self.path.resources.shared_mut(resource.0).set_capacity(rate);
            self.bulk.ask(now, resource, &self.path, out);
        }
    }

    /// Lets nothing begin at `resource` before `until`; a service that began ends as it began.
    ///
    /// # Panics
    ///
    /// When there is no such resource.
    pub fn hold(&mut self, now: Time, resource: ResourceId, until: Time, out: &mut impl Schedule) {
        self.path.clock = now;
        self.path.resources.begin(resource.0);
        self.path.forget_promises(now, resource, out);
        match self.path.resources.get_mut(resource.0) {
            Resource::Servers(servers) => servers.hold(until),
            Resource::Shared(shared) => shared.hold(until, resource, out),
            Resource::Unused => unreachable!("it was begun above"),
        }
    }
}
