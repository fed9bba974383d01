//! Copies by cores: the shared hardware that each of them passes.
//!
//! ```text
//!   source ──▶ its memory ──▶ [link] ──▶ tile ──▶ core ──▶ tile ──▶ [link] ──▶ memory ──▶ destination
//!                      beyond the caches: of its socket;   between sockets: one for each direction
//! ```
//!
//! A copy beyond the caches loads each byte of memory traffic on the socket where the buffer lies:
//! one for the source, the rest (write-allocate, write back) for the destination. A destination on
//! another socket is written back over one direction of the link and, with write-allocate, read over
//! the other.
//! Left out: two hardware threads of one core that copy at the same time, one inside its socket and
//! one between sockets, do not slow each other down. Where a tile limits, copies in the last level
//! have no rate of their own. A copy that the caches hold loads no memory,
//! wherever its lines were before. Noticeable in the first use of a buffer.

use std::collections::BTreeMap;

use super::core::Place;
use super::fabric::{Fabric, Framing, Hop, Kind, PathId, ResourceId, ResourceSpec};
use super::memory::{CopyRate, Level, Memory, Side};
use super::profile::Profile;
use units::{Bandwidth, Bytes, TimeDelta};

/// A copy by one core, and where its buffers lie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct CoreCopy {
    /// The copying core.
    pub core: Place,
    /// Socket of its node whose memory holds the source.
    pub from: u32,
    /// Socket of its node whose memory holds the destination.
    pub to: u32,
    /// Bytes of cache that the copy, with what is copied around it, would need: at least twice its
    /// size.
    pub footprint: Bytes,
}

impl CoreCopy {
    /// A copy between buffers of the core's own socket.
    pub const fn local(core: Place, footprint: Bytes) -> Self {
        Self { core, from: core.socket, to: core.socket, footprint }
    }

    /// Where the farther of the two buffers lies.
    pub fn side(&self) -> Side {
        let near = self.from == self.core.socket && self.to == self.core.socket;
        if near { Side::Local } else { Side::Remote }
    }
}

/// Resources that the cores of one node share for copies.
pub(super) struct Shares<'a> {
    /// Memory, by socket.
    pub memory: &'a [ResourceId],
    /// The link that carries bytes from one socket to another, where one limits.
    pub link: &'a dyn Fn(u32, u32) -> Option<ResourceId>,
}

/// How fast one core copies at most, by where the bytes are.
#[derive(Debug)]
struct Rates {
    /// Where its tile shares a cache.
    cached: Option<ResourceId>,
    beyond: ResourceId,
    /// Where it copies between sockets.
    remote: Option<ResourceId>,
}

/// The copies of a job: the limits of its cores and tiles, and the paths made so far.
#[derive(Debug)]
pub(super) struct Copies {
    memory: Memory,
    cores_per_tile: u32,
    rates: BTreeMap<Place, Rates>,
    /// By node, socket and tile.
    tiles: BTreeMap<(u32, u32, u32), ResourceId>,
    /// By core, sockets of source and destination, and level of the footprint.
    paths: BTreeMap<(Place, u32, u32, Level), PathId>,
}

impl Copies {
    /// The limits of the cores at `sites`; `far`: which may copy between sockets.
    pub(super) fn new(
        profile: &Profile,
        sites: &[Place],
        far: bool,
        add: &mut impl FnMut(ResourceSpec) -> ResourceId,
    ) -> Self {
        let cores_per_tile = profile.cpu.cores_per_tile;
        let tile_bw = profile.cache.l2_tile_copy_bw.filter(|_| cores_per_tile > 1);
        let mut rates = BTreeMap::new();
        for &site in sites {
            rates.entry(Place { thread: 0, ..site }).or_insert_with_key(|place| {
                let name = format!("{} copies", name_of(*place));
                let beyond = add(copies(name, profile.mem.core_copy_bw_dram));
                Rates { cached: None, beyond, remote: None }
            });
        }
        let mut tiles = BTreeMap::new();
        for (place, rates) in &mut rates {
            let (node, socket, tile) = (place.node, place.socket, place.tile(cores_per_tile));
            if let Some(capacity) = tile_bw {
                let name = format!("{} copies in caches", name_of(*place));
                rates.cached = Some(add(copies(name, profile.mem.core_copy_bw)));
                tiles.entry((node, socket, tile)).or_insert_with(|| {
                    let name = format!("node {node} socket {socket} tile {tile} copies");
                    add(copies(name, capacity))
                });
            }
            if far {
                let name = format!("{} copies between sockets", name_of(*place));
                let capacity = profile.mem.core_copy_bw_remote;
                rates.remote = Some(add(copies(name, capacity)));
            }
        }
        let memory = Memory::new(profile);
        Self { memory, cores_per_tile, rates, tiles, paths: BTreeMap::new() }
    }

    /// The path of `copy`; `None` where its core shares nothing on it.
    pub(super) fn path(
        &mut self,
        copy: CoreCopy,
        shares: &Shares<'_>,
        fabric: &mut Fabric,
    ) -> Option<PathId> {
        let rate = self.memory.copy(copy.footprint, copy.side());
        if rate.is_private() {
            return None;
        }
        let core = Place { thread: 0, ..copy.core };
        let key = (core, copy.from, copy.to, self.memory.level_of(copy.footprint));
        if let Some(&path) = self.paths.get(&key) {
            return Some(path);
        }
        let hops = self.hops(core, copy, rate, shares);
        let path = fabric.add_path(&hops);
        self.paths.insert(key, path);
        Some(path)
    }

    fn hops(&self, core: Place, copy: CoreCopy, rate: CopyRate, shares: &Shares<'_>) -> Vec<Hop> {
        let mut hops = vec![hop(self.limit(core, rate), 1)];
        if rate.passes_tile {
            let tile = (core.node, core.socket, core.tile(self.cores_per_tile));
            hops.push(hop(self.tiles[&tile], 1));
        }
        let traffic = u32::try_from(rate.traffic).expect("a few bytes for each byte");
        let source = traffic.min(1);
        let rest = traffic - source;
        let memory = [(copy.from, source), (copy.to, rest)];
        push(&mut hops, memory.map(|(socket, weight)| (shares.memory[socket as usize], weight)));
        // Lines to be written are read first, unless stores stream past the caches.
        let allocated = self.memory.copy_traffic().saturating_sub(2);
        let lines = [
            (copy.from, core.socket, 1),
            (copy.to, core.socket, allocated),
            (core.socket, copy.to, 1),
        ];
        let crossing = lines.into_iter().filter(|(from, to, _)| from != to);
        push(&mut hops, crossing.filter_map(|(from, to, w)| Some(((shares.link)(from, to)?, w))));
        hops
    }

    /// Resource that limits the core itself.
    fn limit(&self, core: Place, rate: CopyRate) -> ResourceId {
        let rates = &self.rates[&core];
        let limit = match (rate.crosses_sockets, rate.traffic) {
            (true, _) => rates.remote,
            (false, 0) => rates.cached,
            (false, _) => Some(rates.beyond),
        };
        limit.expect("copies between sockets are announced with the cluster")
    }
}

/// How fast cores copy at most.
fn copies(name: String, capacity: Bandwidth) -> ResourceSpec {
    ResourceSpec { kind: Kind::Copies, ..ResourceSpec::shared(name, capacity, Framing::NONE) }
}

fn name_of(place: Place) -> String {
    let Place { node, socket, core, .. } = place;
    format!("node {node} socket {socket} core {core}")
}

const fn hop(resource: ResourceId, weight: u32) -> Hop {
    Hop { resource, weight, extra: 0, latency: TimeDelta::ZERO }
}

/// Appends hops of a weight, those over the same resource as one.
fn push(hops: &mut Vec<Hop>, more: impl IntoIterator<Item = (ResourceId, u32)>) {
    for (resource, weight) in more.into_iter().filter(|&(_, weight)| weight > 0) {
        match hops.iter_mut().find(|hop| hop.resource == resource) {
            Some(hop) => hop.weight += weight,
            None => hops.push(hop(resource, weight)),
        }
    }
}

#[cfg(test)]
mod tests;
