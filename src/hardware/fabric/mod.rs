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
//!   start ─▶ connection ─▶ hop ─▶ hop ─▶ … ─▶ in order ─▶ Delivery
//!            (first hop      │
//!             in order)      ├─ Servers: first come, first served   (servers.rs)
//!                            ├─ Shared, packet: ring                (packets.rs, ring.rs, shared.rs)
//!                            └─ Shared, bulk: flow                  (flows.rs, solve.rs, reserve.rs)
//! ```
//!
//! A packet needs events only where it meets others, and at the end: its service at hops that will
//! be free is promised ahead (ahead.rs), and taken back when somebody comes before.
//! All arithmetic is in integers: picoseconds, bytes, rates in 2^-40 byte per picosecond.

mod ahead;
mod alter;
mod arena;
mod connection;
mod connections;
mod flows;
mod hops;
mod packets;
mod promises;
mod reserve;
mod ring;
mod servers;
mod shared;
mod solve;
mod spec;
mod watch;

#[cfg(test)]
mod tests;

pub use ahead::LookAhead;
use alter::Altered;
pub use alter::{Alteration, STILL};
use arena::{Flight, Flights, NONE};
use connections::Connections;
use flows::Flows;
use hops::Hops;
use ring::Lane;
use servers::Servers;
use shared::{NONE_BEFORE, Shared};
use solve::Solver;
use spec::EventKind;
pub use spec::{
    About, Arbitration, Boundary, ConnId, Delivery, FabricEvent, Framing, Hop, Kind, PathId,
    ResourceId, ResourceSpec, ResourceStats, Schedule, Service, Share, Transfer,
};

use watch::Watch;
pub use watch::{Leg, Stage, Told, WayName};

use units::{Time, TimeDelta};

/// Payload that a stage must hold before the next stage can begin, unless told otherwise.
pub const DEFAULT_CUT_THROUGH: u64 = 256;

/// Every shared resource of the cluster, and what is under way on it.
#[derive(Debug)]
pub struct Fabric {
    mtu: u64,
    cut_through: u64,
    look_ahead: LookAhead,
    /// The time of the last call.
    clock: Time,
    specs: Vec<ResourceSpec>,
    resources: Vec<Resource>,
    hops: Hops,
    paths: Vec<Path>,
    conns: Connections,
    flights: Flights,
    lanes: Vec<Lane>,
    flows: Flows,
    solver: Solver,
    in_flight: u64,
    altered: Altered,
    watch: Option<Box<Watch>>,
}

/// The state of one resource.
#[derive(Debug)]
enum Resource {
    /// No path crosses it yet: many cores never copy beyond their caches.
    Unused,
    Shared(Box<Shared>),
    Servers(Box<Servers>),
}

impl Resource {
    /// A path crosses it: makes its state, if it has none.
    fn begin(&mut self, spec: &ResourceSpec) {
        if !matches!(self, Self::Unused) {
            return;
        }
        *self = match spec.service {
            Service::Shared { capacity } => {
                Self::Shared(Box::new(Shared::new(capacity, spec.arbitration)))
            }
            Service::Servers { count, per_item } => {
                Self::Servers(Box::new(Servers::new(count, per_item)))
            }
        };
    }

    #[inline]
    fn shared(&self) -> &Shared {
        match self {
            Self::Shared(shared) => shared,
            Self::Servers(_) | Self::Unused => {
                unreachable!("flows and turns belong to shared resources only")
            }
        }
    }

    #[inline]
    fn shared_mut(&mut self) -> &mut Shared {
        match self {
            Self::Shared(shared) => shared,
            Self::Servers(_) | Self::Unused => {
                unreachable!("flows and turns belong to shared resources only")
            }
        }
    }

    #[inline]
    fn servers_mut(&mut self) -> &mut Servers {
        match self {
            Self::Servers(servers) => servers,
            Self::Shared(_) | Self::Unused => unreachable!("only pools of servers serve items"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Path {
    first: u32,
    end: u32,
    has_servers: bool,
}

/// What one transfer costs at one shared hop.
#[derive(Clone, Copy, Debug, Default)]
struct Charge {
    raw: u64,
    packets: u64,
    service: TimeDelta,
    /// Time until the next stage can begin.
    head: TimeDelta,
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
        for spec in &resources {
            assert!(spec.framing.unit > 0, "a packet of {} holds at least one byte", spec.name);
            match spec.service {
                Service::Shared { capacity } => {
                    assert!(capacity.as_bit_per_s() > 0, "{} has a capacity", spec.name);
                }
                Service::Servers { count, .. } => {
                    assert!(count > 0, "{} has at least one server", spec.name);
                }
            }
        }
        let unused = resources.iter().map(|_| Resource::Unused).collect();
        Self {
            mtu,
            cut_through: DEFAULT_CUT_THROUGH,
            look_ahead: LookAhead::default(),
            clock: Time::ZERO,
            resources: unused,
            specs: resources,
            hops: Hops::default(),
            paths: Vec::new(),
            conns: Connections::default(),
            flights: Flights::default(),
            lanes: Vec::new(),
            flows: Flows::default(),
            solver: Solver::default(),
            in_flight: 0,
            altered: Altered::new(),
            watch: None,
        }
    }

    /// Payload that a stage must hold before the next can begin; `u64::MAX` is store and forward.
    #[must_use]
    pub fn with_cut_through(mut self, bytes: u64) -> Self {
        self.cut_through = bytes;
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
        self.look_ahead = look_ahead;
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
        for (hop, framing) in hops {
            assert!((hop.resource.0 as usize) < self.specs.len(), "a hop over a known resource");
            assert!(hop.weight > 0, "a hop charges at least each byte once");
            assert!(framing.is_none_or(|framing| framing.unit > 0), "a packet holds a byte");
            self.resources[hop.resource.0 as usize].begin(&self.specs[hop.resource.0 as usize]);
        }
        let specs = &self.specs;
        let framed = hops.iter().map(|&(hop, framing)| {
            let delay = self.added_delay(hop.resource.0);
            let framing = framing.unwrap_or(specs[hop.resource.0 as usize].framing);
            (Hop { latency: hop.latency + delay, ..hop }, framing)
        });
        let framed: Vec<(Hop, Framing)> = framed.collect();
        let (first, end) = self.hops.add(&framed, specs);
        let id = u32::try_from(self.paths.len()).expect("fewer than 2^32 paths");
        let has_servers = hops.iter().any(|(hop, _)| !self.is_shared(hop.resource));
        self.paths.push(Path { first, end, has_servers });
        PathId(id)
    }

    /// Gives the bulk of a connection `share` where it meets that of others, from now on: among those
    /// that a resource limits, rates are in the proportion of their shares.
    ///
    /// # Panics
    ///
    /// When `share` is zero.
    pub fn set_share(&mut self, now: Time, conn: ConnId, share: Share, out: &mut impl Schedule) {
        assert!(share.0 > 0, "a flow always gets a share");
        self.clock = now;
        self.flows.keep_share(conn.0, share.0);
        self.conns.open(conn.0);
        let flow = self.conns[conn.0 as usize].flow;
        if flow != NONE && self.flows[flow].share != share.0 {
            self.flows[flow].share = share.0;
            self.ask_after_change(now, flow, out);
        }
    }

    /// Reads the state of a path's resources and of a connection, and answers anything made of it: in
    /// a large job they lie in no cache, and what is read at once is waited for once.
    ///
    /// # Panics
    ///
    /// When the path does not exist.
    pub fn touch(&self, conn: ConnId, path: PathId) -> u64 {
        let path = self.paths[path.0 as usize];
        let hops = self.hops.of(path.first, path.end).iter();
        hops.fold(self.conns.touch(conn.0), |word, hop| {
            word ^ match &self.resources[hop.resource as usize] {
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
        self.clock = now;
        let conn = transfer.conn.0 as usize;
        self.conns.open(transfer.conn.0);
        let path = self.paths[transfer.path.0 as usize];
        let order = self.conns[conn].next_order();
        let id = self.flights.insert(Flight {
            next: NONE,
            generation: 0,
            conn: transfer.conn.0,
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
        self.in_flight += 1;
        self.see_start(id);
        if path.first == path.end {
            let event = FabricEvent::new(EventKind::Arrive, id, self.flights[id].generation);
            out.at(now, ResourceId(0), event);
        } else {
            self.enter_or_wait(now, id, out);
        }
    }

    /// Whether an event is about what has changed since it was scheduled: it does nothing.
    pub fn is_stale(&self, event: FabricEvent) -> bool {
        let FabricEvent { kind, id, generation } = event;
        match kind {
            EventKind::Arrive => self.is_old_arrival(id, generation),
            EventKind::FlowEnd => self.is_old_end(id, generation),
            EventKind::Turn | EventKind::Gate | EventKind::Solve | EventKind::Window => false,
        }
    }

    fn is_old_arrival(&self, flight: u32, generation: u32) -> bool {
        self.flights[flight].generation != generation
    }

    /// What an event that came due is about; to be asked before it is handled.
    pub fn about(&self, event: FabricEvent) -> About {
        let FabricEvent { kind, id, .. } = event;
        match kind {
            EventKind::Arrive | EventKind::FlowEnd if self.is_stale(event) => About::Nothing,
            EventKind::Arrive => {
                let flight = &self.flights[id];
                let ends = flight.hop == NONE || flight.hop == flight.end_hop;
                let next = (!ends).then(|| ResourceId(self.hops[flight.hop].resource));
                About::Reaches(flight.token, next)
            }
            EventKind::FlowEnd => {
                let flow = &self.flows[id];
                About::MayEnd(self.flights[flow.flight].token, ResourceId(flow.limit))
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
        self.clock = now;
        self.see_event();
        let FabricEvent { kind, id, generation } = event;
        match kind {
            EventKind::Arrive => {
                if self.is_old_arrival(id, generation) {
                    return;
                }
                let flight = &self.flights[id];
                // Bulk is at the end only when its flow is (see `finish_flow`).
                let packet = flight.bytes <= self.mtu;
                if flight.hop == NONE || (packet && flight.hop == flight.end_hop) {
                    self.arrive_at_end(id, delivered);
                } else {
                    if packet {
                        let resource = self.hops[flight.hop].resource;
                        self.resources[resource as usize].coming().packets -= 1;
                    }
                    self.arrive(now, id, out);
                }
            }
            EventKind::Turn => self.turn(now, ResourceId(id), generation, out),
            EventKind::Gate => self.open_gate(now, ConnId(id), out),
            EventKind::FlowEnd => self.flow_end(now, id, generation, out),
            EventKind::Solve => self.solve(now, out),
            EventKind::Window => self.end_of_window(now, ResourceId(id), out),
        }
    }

    /// What a resource did so far: packets whose service began, and bulk whose flow ended.
    ///
    /// # Panics
    ///
    /// When there is no such resource.
    pub fn stats(&self, resource: ResourceId) -> ResourceStats {
        self.stats_with(resource, self.clock, 0)
    }

    /// What a resource did until `now`, with the part of each flow that has moved, and without
    /// what the packet in service still needs. For the difference over a measured interval.
    ///
    /// # Panics
    ///
    /// When there is no such resource, or `now` is before the last event.
    pub fn stats_at(&self, resource: ResourceId, now: Time) -> ResourceStats {
        let Resource::Shared(shared) = &self.resources[resource.0 as usize] else {
            return self.stats_with(resource, now, 0);
        };
        let moved = shared.fluid.members.iter();
        let moved = moved.map(|&(flow, hop)| self.moved_until(now.as_ps(), flow, hop));
        let mut stats = self.stats_with(resource, now, moved.sum());
        stats.busy = stats.busy.saturating_sub(shared.unserved(now.as_ps()));
        stats
    }

    /// What services that began until `now` did, and `moved` raw bytes of flows.
    fn stats_with(&self, resource: ResourceId, now: Time, moved: u128) -> ResourceStats {
        match &self.resources[resource.0 as usize] {
            Resource::Shared(shared) => {
                let mut counts = shared.counts;
                for charge in self.promised_after(now, &shared.coming) {
                    counts.subtract(&charge);
                }
                shared.stats(counts, moved)
            }
            Resource::Servers(servers) => servers.stats(now),
            Resource::Unused => ResourceStats::default(),
        }
    }

    /// What every resource did until `now`, in the order of their ids.
    pub fn snapshot(&self, now: Time) -> Vec<ResourceStats> {
        (0..).map(ResourceId).take(self.specs.len()).map(|id| self.stats_at(id, now)).collect()
    }

    /// The resources, in the order of their ids.
    pub fn resources(&self) -> &[ResourceSpec] {
        &self.specs
    }

    /// Transfers that were started and not delivered yet.
    pub const fn in_flight(&self) -> u64 {
        self.in_flight
    }

    /// Rate solutions computed so far, and flows they covered: what contention costs the host.
    pub const fn solves(&self) -> (u64, u64) {
        (self.solver.solves, self.solver.flows_solved)
    }

    fn first_resource(&self, id: u32) -> ResourceId {
        ResourceId(self.hops[self.flights[id].first_hop].resource)
    }

    fn is_shared(&self, resource: ResourceId) -> bool {
        matches!(self.resources[resource.0 as usize], Resource::Shared(_))
    }

    /// A transfer reaches its next hop.
    fn arrive(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        let flight = &mut self.flights[id];
        if flight.bytes > self.mtu {
            self.arrive_bulk(now, id, out);
            return;
        }
        flight.arrived = now.as_ps();
        let resource = ResourceId(self.hops[flight.hop].resource);
        match self.resources[resource.0 as usize] {
            Resource::Shared(_) => self.arrive_packet(now, resource, id, out),
            Resource::Servers(_) => self.arrive_at_servers(now, resource, id, out),
            Resource::Unused => unreachable!("a path begins what it crosses"),
        }
    }

    /// Bulk visits the servers of its path one by one, then flows over all shared hops at once.
    fn arrive_bulk(&mut self, now: Time, id: u32, out: &mut impl Schedule) {
        loop {
            let flight = &mut self.flights[id];
            if flight.hop == flight.end_hop {
                self.join_flow(now, id, out);
                return;
            }
            let resource = ResourceId(self.hops[flight.hop].resource);
            if matches!(self.resources[resource.0 as usize], Resource::Servers(_)) {
                flight.arrived = now.as_ps();
                self.arrive_at_servers(now, resource, id, out);
                return;
            }
            flight.hop += 1;
        }
    }

    /// What `bytes` cost at a shared hop, and the time that follows it.
    #[inline]
    fn charge(&mut self, hop: u32, bytes: u64) -> (Charge, TimeDelta) {
        let hop = self.hops[hop];
        let (charge, latency) = self.hops.charge(&hop, self.cut_through, bytes);
        (*charge, latency)
    }
}
