//! The cluster as wires see it: the resources of every node, and the paths through them.
//!
//! ```text
//!   host A ──▶ PCIe down ──▶ [DMA read] ──▶ units ──▶ links … ──▶ units ──▶ PCIe up ──▶ host B
//!      ▲ doorbell or BlueFlame; WQE fetch and payload fetch where they do not fit
//! ```
//!
//! A path is a list of [`Hop`]s; the [`Fabric`] shares its resources fairly. Packets of at most one
//! MTU are not charged to memory (their traffic is below a thousandth of its rate); bulk is.
//! Left out: the memory traffic of packets. Noticeable where memory is slower than the link.
//! Left out: the bytes on the bus of DMA read requests, of the completions of senders (their latency
//! counts) and of the 16 address bytes of an RDMA packet; a write is charged a CQE at its target
//! instead. Noticeable as some percent of the bytes of one direction of the bus.

use std::collections::BTreeMap;

use super::copies::{Copies, CoreCopy, Shares};
use super::core::Place;
use super::fabric::{
    Arbitration, Boundary, Fabric, Framing, Hop, Kind, PathId, ResourceId, ResourceSpec,
    ResourceStats, Service,
};
use super::gpu::{Bus, Gpus, Shape};
use super::profile::Profile;
use super::topology::{LinkId, Topology};
use units::{Bandwidth, Bytes, PS_PER_S, TimeDelta};

/// How a message gets from a core into the HCA.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Posting {
    /// WQE and payload travel with the doorbell.
    BlueFlame,
    /// The HCA fetches the WQE, which holds the payload.
    Inline,
    /// The HCA fetches the WQE, then the payload.
    Fetch,
    /// As `Fetch`, for more than one MTU: memory on both sides carries the traffic.
    Bulk,
    /// An RDMA read is requested: the WQE travels with the doorbell, and the peer's HCA takes the
    /// request; nothing reaches its host.
    ReadRequest,
    /// The response to an RDMA read: no doorbell at the responder, which owns the data.
    ReadAnswer,
    /// The response to an RDMA atomic: the responder's unit has read the element already.
    AtomicAnswer,
    /// The HCA sends a control packet of its own: nothing crosses its host's bus.
    Own,
    /// The HCA asks for an RDMA read of its own.
    OwnRead,
}

/// Shared resources of one node.
#[derive(Debug)]
struct Node {
    pcie_down: ResourceId,
    pcie_up: ResourceId,
    pcie_both: Option<ResourceId>,
    dma_read: ResourceId,
    dma_write: Option<ResourceId>,
    units_out: ResourceId,
    units_in: ResourceId,
    memory: Vec<ResourceId>,
    /// Between the sockets: towards the HCA's, and away from it.
    intersocket: Option<[ResourceId; 2]>,
    gpus: Vec<Bus>,
}

/// Fixed times and bytes that paths are made of.
#[derive(Debug)]
struct Costs {
    mmio: TimeDelta,
    wqe_fetch: TimeDelta,
    /// Whether the doorbell carries an entry that names its payload.
    pushes_entries: bool,
    read_round_trip: TimeDelta,
    base_latency: TimeDelta,
    switch_hop: TimeDelta,
    far_socket: TimeDelta,
    doorbell: u64,
    wqe: u64,
    cqe: u64,
    hca_socket: u32,
    dma_to_llc: bool,
}

/// The paths that were asked for, by the socket where they begin: cores of one socket share them. A socket
/// of a large job has few.
#[derive(Debug)]
struct Paths {
    /// Sockets of a node.
    sockets: u32,
    from: Vec<Vec<Known>>,
}

/// A path that begins at a socket, by the number of the one where it ends.
#[derive(Clone, Copy, Debug)]
struct Known {
    to: u32,
    posting: Posting,
    path: PathId,
}

impl Paths {
    fn new(nodes: usize, sockets: u32) -> Self {
        Self { sockets, from: vec![Vec::new(); nodes * sockets as usize] }
    }

    const fn socket(&self, place: Place) -> u32 {
        place.node * self.sockets + place.socket
    }

    /// The path between two places, or where it belongs.
    fn find(&self, from: Place, to: Place, posting: Posting) -> Result<PathId, usize> {
        let known = &self.from[self.socket(from) as usize];
        let to = self.socket(to);
        let place =
            known.binary_search_by_key(&(to, posting), |known| (known.to, known.posting))?;
        Ok(known[place].path)
    }

    fn insert(&mut self, (from, to): (Place, Place), at: usize, posting: Posting, path: PathId) {
        let (from, to) = (self.socket(from), self.socket(to));
        self.from[from as usize].insert(at, Known { to, posting, path });
    }
}

/// All shared hardware of the job's nodes.
#[derive(Debug)]
pub struct Cluster {
    /// The resources in motion.
    pub fabric: Fabric,
    topology: Topology,
    nodes: Vec<Node>,
    links: Vec<ResourceId>,
    costs: Costs,
    paths: Paths,
    /// Routes that the load has chosen, by their nodes.
    chosen: BTreeMap<(u32, u32), Vec<LinkId>>,
    copies: Copies,
    /// By node: what one adapter carries between two processes of its node, where that is requested.
    loopbacks: Vec<ResourceId>,
}

/// The rate at which the HCA can read memory: the platform's limit, or the reads in flight.
fn dma_read_rate(profile: &Profile) -> Bandwidth {
    let bytes = profile.pcie.max_read_request.as_u64()
        * u64::from(profile.pcie.outstanding_reads)
        * u64::from(profile.hca.dma_engines);
    let round_trip = u128::from(profile.pcie.dma_read_round_trip.as_ps().max(1));
    let bits = u128::from(bytes) * 8 * u128::from(PS_PER_S) / round_trip;
    let in_flight = Bandwidth::from_bit_per_s(u64::try_from(bits).unwrap_or(u64::MAX));
    profile.pcie.p2p_read_bw.map_or(in_flight, |platform| platform.min(in_flight))
}

impl Cluster {
    /// The cluster of `topology` with nodes of `profile`; `sites` are the cores that will copy, each
    /// between buffers of its own socket.
    ///
    /// # Panics
    ///
    /// With more than 2^32 resources.
    pub fn new(profile: &Profile, topology: Topology, sites: &[Place]) -> Self {
        Self::of(profile, topology, sites, false)
    }

    /// The same where cores also copy from and to buffers of other sockets.
    ///
    /// # Panics
    ///
    /// With more than 2^32 resources.
    pub fn with_far_copies(profile: &Profile, topology: Topology, sites: &[Place]) -> Self {
        Self::of(profile, topology, sites, true)
    }

    fn of(profile: &Profile, topology: Topology, sites: &[Place], far: bool) -> Self {
        let mut specs = Vec::new();
        let mut add = |mut spec: ResourceSpec| {
            // Of a large job's resources, most do nothing but have a name.
            spec.name.shrink_to_fit();
            let index = u32::try_from(specs.len()).expect("fewer than 2^32 resources");
            specs.push(spec);
            ResourceId(index)
        };
        let mut nodes: Vec<Node> =
            (0..topology.hosts()).map(|node| Node::new(node, profile, &mut add)).collect();
        let mtu = profile.hca.mtu.as_u64();
        let wire = Framing { unit: mtu, overhead: profile.link.packet_overhead.as_u64() };
        let links = (0..topology.links())
            .map(|link| {
                let link = LinkId(u32::try_from(link).expect("links are counted in u32"));
                add(ResourceSpec::boundary(
                    Boundary::Link,
                    topology.link_name(link),
                    profile.link.data_bw,
                    wire,
                ))
            })
            .collect();
        let copies = Copies::new(profile, sites, far, &mut add);
        let loopback = profile.hca.loopback_bw.filter(|rate| far && rate.as_bit_per_s() > 0);
        let loopbacks = loopback.into_iter().flat_map(|rate| {
            (0..topology.hosts()).map(move |node| {
                ResourceSpec::shared(format!("node {node} HCA loopback"), rate, Framing::NONE)
            })
        });
        let loopbacks = loopbacks.map(&mut add).collect();
        for (number, node) in (0..).zip(&mut nodes) {
            node.add_gpus(number, profile, &mut add);
        }
        specs.shrink_to_fit();
        Self {
            fabric: Fabric::new(specs, mtu).with_cut_through(profile.link.cut_through.as_u64()),
            topology,
            links,
            costs: Costs::new(profile),
            paths: Paths::new(nodes.len(), profile.cpu.sockets),
            nodes,
            chosen: BTreeMap::new(),
            copies,
            loopbacks,
        }
    }

    /// The resources, in the order of their ids, each with its statistics so far.
    pub fn into_resources(self) -> impl Iterator<Item = (ResourceSpec, ResourceStats)> {
        let Self { fabric, nodes, links, paths, .. } = self;
        drop((nodes, links, paths));
        fabric.into_resources()
    }

    /// The topology.
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The GPUs of all nodes, whose transfers travel on the connections from `first` on; `None` where
    /// the machine has none.
    pub fn gpus(&self, profile: &Profile, first: u32) -> Option<Gpus> {
        Gpus::new(profile, self.nodes.iter().flat_map(|node| &node.gpus), first)
    }

    /// The path of messages from the HCA's host at `from` to that at `to`, posted so.
    pub fn path(&mut self, from: Place, to: Place, posting: Posting) -> PathId {
        let at = match self.paths.find(from, to, posting) {
            Ok(path) => return path,
            Err(at) => at,
        };
        let mut hops = self.host_to_hca(from, posting);
        if from.node == to.node {
            hops.extend(
                self.loopbacks.get(from.node as usize).map(|&r| hop(r, 0, TimeDelta::ZERO)),
            );
        } else {
            self.wire(from.node, to.node, &mut hops);
        }
        self.hca_to_host(to, posting, &mut hops);
        let path = self.fabric.add_path(&hops);
        self.paths.insert((from, to), at, posting, path);
        path
    }

    /// The path of `copy`: its core, and all that the core shares with others. `None` where that is
    /// nothing: the core then copies at the rate that [`super::memory::Memory::copy`] answers.
    ///
    /// # Panics
    ///
    /// When the core was not announced to [`Self::new`], its node has no such socket, or a buffer is
    /// on another socket of a cluster that was not made by [`Self::with_far_copies`].
    pub fn copy_path(&mut self, copy: CoreCopy) -> Option<PathId> {
        let node = &self.nodes[copy.core.node as usize];
        let hca = self.costs.hca_socket;
        let shares = Shares {
            memory: &node.memory,
            link: &|from, to| node.intersocket.map(|links| links[away_from_hca(from, to, hca)]),
        };
        self.copies.path(copy, &shares, &mut self.fabric)
    }

    /// From delivery at the peer until the sender's HCA has its acknowledgement in host memory.
    pub fn acknowledgement(&self, from: Place, to: Place) -> TimeDelta {
        self.flight(from.node, to.node) + self.costs.mmio
    }

    /// The resource of this name, such as `node 0 PCIe to HCA`.
    ///
    /// # Panics
    ///
    /// With more than 2^32 resources.
    pub fn resource_named(&self, name: &str) -> Option<ResourceId> {
        let found = self.fabric.resources().iter().position(|spec| spec.name == name)?;
        Some(ResourceId(u32::try_from(found).expect("fewer than 2^32 resources")))
    }

    /// Resources at which a node's HCA begins work: its units, and its bus in both directions.
    pub fn hca(&self, node: u32) -> [ResourceId; 4] {
        let Node { units_out, units_in, pcie_down, pcie_up, .. } = self.nodes[node as usize];
        [units_out, units_in, pcie_down, pcie_up]
    }

    /// From the responder's HCA, at `to`, back to the requester's, at `from`: what an acknowledgement
    /// takes that no memory waits for.
    pub fn reply_latency(&self, from: Place, to: Place) -> TimeDelta {
        self.flight(to.node, from.node)
    }

    /// Latency of the wires between two nodes, for the first bit.
    fn flight(&self, from: u32, to: u32) -> TimeDelta {
        if from == to {
            return TimeDelta::ZERO;
        }
        let links = self.topology.switches_between(from, to) + 1;
        (0..links as usize).fold(TimeDelta::ZERO, |sum, index| sum + self.costs.of_link(index))
    }

    fn host_to_hca(&self, from: Place, posting: Posting) -> Vec<Hop> {
        let node = &self.nodes[from.node as usize];
        let costs = &self.costs;
        let far = if from.socket == costs.hca_socket { TimeDelta::ZERO } else { costs.far_socket };
        let (extra, latency) = match posting {
            Posting::BlueFlame | Posting::ReadRequest => (costs.wqe, costs.mmio),
            Posting::Inline => (costs.doorbell + costs.wqe, costs.mmio + costs.wqe_fetch),
            Posting::Fetch | Posting::Bulk if costs.pushes_entries => {
                (costs.wqe, costs.mmio + costs.read_round_trip)
            }
            Posting::Fetch | Posting::Bulk => {
                (costs.doorbell + costs.wqe, costs.mmio + costs.wqe_fetch + costs.read_round_trip)
            }
            Posting::ReadAnswer => (0, costs.read_round_trip),
            Posting::AtomicAnswer => (0, TimeDelta::ZERO),
            Posting::Own | Posting::OwnRead => {
                return vec![hop(node.units_out, 0, TimeDelta::ZERO)];
            }
        };
        let fetches = matches!(posting, Posting::Fetch | Posting::Bulk | Posting::ReadAnswer);
        let mut hops = Vec::new();
        if matches!(posting, Posting::Bulk | Posting::ReadAnswer) {
            self.memory_hops(from, 0, &mut hops);
        }
        hops.push(hop(node.pcie_down, extra, latency + far));
        hops.extend(node.pcie_both.map(|both| hop(both, 0, TimeDelta::ZERO)));
        if fetches {
            hops.push(hop(node.dma_read, 0, TimeDelta::ZERO));
        }
        hops.push(hop(node.units_out, 0, TimeDelta::ZERO));
        hops
    }

    fn hca_to_host(&self, to: Place, posting: Posting, hops: &mut Vec<Hop>) {
        let node = &self.nodes[to.node as usize];
        let costs = &self.costs;
        let far = if to.socket == costs.hca_socket { TimeDelta::ZERO } else { costs.far_socket };
        hops.push(hop(node.units_in, 0, TimeDelta::ZERO));
        if matches!(posting, Posting::ReadRequest | Posting::OwnRead) {
            return;
        }
        hops.extend(node.dma_write.map(|write| hop(write, 0, TimeDelta::ZERO)));
        hops.extend(node.pcie_both.map(|both| hop(both, 0, TimeDelta::ZERO)));
        hops.push(hop(node.pcie_up, costs.cqe, costs.mmio + far));
        if matches!(posting, Posting::Bulk | Posting::ReadAnswer) {
            self.memory_hops(to, 1, hops);
        }
    }

    /// `away`: 0 for bytes on their way to the HCA, 1 for those that come from it.
    fn memory_hops(&self, site: Place, away: usize, hops: &mut Vec<Hop>) {
        let node = &self.nodes[site.node as usize];
        if !self.costs.dma_to_llc {
            hops.push(hop(node.memory[site.socket as usize], 0, TimeDelta::ZERO));
        }
        if site.socket != self.costs.hca_socket {
            hops.extend(node.intersocket.map(|links| hop(links[away], 0, TimeDelta::ZERO)));
        }
    }

    /// The links from one node to another. Where the topology routes by load, the load of this moment
    /// chooses them for good.
    pub fn route(&mut self, from: u32, to: u32) -> Vec<LinkId> {
        if let Some(route) = self.chosen.get(&(from, to)) {
            return route.clone();
        }
        let (fabric, links) = (&self.fabric, &self.links);
        let route = self.topology.route(from, to, &|link| fabric.load(links[link.0 as usize]));
        if self.topology.is_routed_by_load() {
            self.chosen.insert((from, to), route.clone());
        }
        route
    }

    fn wire(&mut self, from: u32, to: u32, hops: &mut Vec<Hop>) {
        for (index, link) in self.route(from, to).into_iter().enumerate() {
            hops.push(hop(self.links[link.0 as usize], 0, self.costs.of_link(index)));
        }
    }
}

/// Which of the two links carries bytes from one socket to another: 0 towards the HCA's socket, 1
/// away from it. Two sockets that are both not the HCA's use them by their numbers.
fn away_from_hca(from: u32, to: u32, hca_socket: u32) -> usize {
    usize::from(if to == hca_socket { false } else { from == hca_socket || from < to })
}

const fn hop(resource: ResourceId, extra: u64, latency: TimeDelta) -> Hop {
    Hop { resource, weight: 1, extra, latency }
}

impl Node {
    fn new(node: u32, profile: &Profile, add: &mut impl FnMut(ResourceSpec) -> ResourceId) -> Self {
        let name = |what: &str| format!("node {node} {what}");
        let (pcie, hca) = (&profile.pcie, &profile.hca);
        let dllp = pcie.dllp_overhead_per_tlp.as_u64();
        let tlp = |overhead: Bytes| Framing {
            unit: pcie.mps.as_u64(),
            overhead: overhead.as_u64() + dllp,
        };
        let down = tlp(pcie.completion_overhead);
        let up = tlp(pcie.tlp_overhead);
        let units = u64::from(hca.processing_units);
        let service = Service::Servers {
            count: hca.processing_units,
            per_item: TimeDelta::from_ps(
                (units * PS_PER_S).div_ceil(hca.msg_rate_total.as_per_s()),
            ),
        };
        let unit = |what: &str| ResourceSpec {
            name: name(what),
            kind: Kind::default(),
            service,
            framing: Framing::NONE,
            arbitration: Arbitration::default(),
        };
        let mut bus = |way: &str, framing| {
            add(ResourceSpec::boundary(Boundary::HcaBus, name(way), pcie.raw_bw, framing))
        };
        Self {
            pcie_down: bus("PCIe to HCA", down),
            pcie_up: bus("PCIe from HCA", up),
            pcie_both: pcie
                .bidirectional_bw
                .map(|cap| add(ResourceSpec::shared(name("PCIe both ways"), cap, Framing::NONE))),
            dma_read: add(ResourceSpec::shared(
                name("HCA DMA read"),
                dma_read_rate(profile),
                Framing::NONE,
            )),
            dma_write: pcie
                .p2p_write_bw
                .map(|cap| add(ResourceSpec::shared(name("HCA DMA write"), cap, Framing::NONE))),
            units_out: add(unit("HCA units sending")),
            units_in: add(unit("HCA units receiving")),
            memory: (0..profile.cpu.sockets)
                .map(|socket| {
                    let name = name(&format!("memory of socket {socket}"));
                    add(ResourceSpec::shared(name, profile.mem.socket_bw, Framing::NONE))
                })
                .collect(),
            intersocket: profile.mem.intersocket_bw.map(|cap| {
                let mut link = |to: &str| {
                    let name = name(&format!("intersocket link {to} the HCA"));
                    add(ResourceSpec::shared(name, cap, Framing::NONE))
                };
                [link("to"), link("from")]
            }),
            gpus: Vec::new(),
        }
    }

    /// The node's GPUs, in turns on its sockets; their accesses reach its memory as the HCA's do.
    fn add_gpus(
        &mut self,
        node: u32,
        profile: &Profile,
        add: &mut impl FnMut(ResourceSpec) -> ResourceId,
    ) {
        let Some(shape) = Shape::of(profile) else { return };
        for (index, socket) in (0..Shape::per_node(profile)).zip((0..self.memory.len()).cycle()) {
            let host = (!profile.mem.dma_to_llc).then(|| self.memory[socket]);
            let name = format!("node {node} GPU {index}");
            self.gpus.push(Bus::new(&name, &shape, self.pcie_both, host, add));
        }
    }
}

impl Costs {
    /// Latency of the link at this place of a route; the base latency is that of the first two and
    /// the switch between them.
    const fn of_link(&self, index: usize) -> TimeDelta {
        match index {
            0 => self.base_latency,
            1 => TimeDelta::ZERO,
            _ => self.switch_hop,
        }
    }

    fn new(profile: &Profile) -> Self {
        let tlp = profile.pcie.tlp_overhead.as_u64() + profile.pcie.dllp_overhead_per_tlp.as_u64();
        Self {
            mmio: profile.pcie.mmio_write,
            wqe_fetch: profile.hca.wqe_fetch,
            pushes_entries: profile.hca.blueflame_alone,
            read_round_trip: profile.pcie.dma_read_round_trip,
            base_latency: profile.link.base_latency,
            switch_hop: profile.link.switch_hop,
            far_socket: profile.mem.latency_remote.saturating_sub(profile.mem.latency_local),
            doorbell: profile.hca.doorbell_bytes.as_u64() + tlp,
            wqe: profile.hca.wqe_bytes.as_u64() + tlp,
            cqe: profile.hca.cqe_bytes.as_u64() + tlp,
            hca_socket: profile.hca.socket,
            dma_to_llc: profile.mem.dma_to_llc,
        }
    }
}

#[cfg(test)]
mod tests;
