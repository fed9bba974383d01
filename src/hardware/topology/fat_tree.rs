//! A fat tree (folded Clos): switches in levels, with several ways from level to level.
//!
//! Hosts are at level 0 and switches at levels 1 to n. Every switch reaches `arity` vertices below it
//! and, but for the top level, a number of uplinks to switches above it: `arity` for full bisection,
//! fewer where the tree is oversubscribed. Vertices of a level are named by (x, y): x says which hosts
//! lie below, y tells the vertices apart that have the same hosts below. Switches that no host lies
//! below are left out.
//!
//! Routes go up to the lowest level whose switch has the target below it, and down from there. On
//! the way up the target's number picks the uplink (d-mod-k), so that neighbouring targets spread
//! over all of them.
//!
//! Source: the extended generalised fat trees XGFT(n; m, ..., m; 1, w, ..., w) with d-mod-k routing.
//! Left out: adaptive routing, virtual lanes, failed links. Noticeable in hot spots that a real
//! network would route around.

use super::wires::{LinkId, MOST_LINKS, TopologyError, Wires};
use super::wiring::{Load, Routes, Wiring, parameters, refuse_zeros};

parameters! {
    /// Switches in levels.
    pub struct FatTree {
        /// Nodes of a leaf switch; also the children of a switch further up.
        arity: 1..=1_024 = Required("16");
        /// Levels of switches.
        levels: 2..=4 = Default("2");
        /// Links downwards for each link upwards of a switch; at most `arity`.
        oversubscription: 1..=1_024 = Default("1");
    }
}

/// Most levels of a fat tree.
/// Limit: with two hosts to a switch, all that have a number.
const MOST_LEVELS: u32 = 32;

/// The numbers of one level, hosts being level 0.
#[derive(Clone, Debug)]
struct Level {
    /// Hosts below one vertex.
    span: u32,
    /// Vertices with the same hosts below.
    twins: u32,
    /// Links up from each vertex.
    uplinks: u32,
    /// Number of the first vertex of this level.
    first_vertex: u32,
    /// Number of the first link between this level and the next.
    first_link: u32,
}

/// The levels of a tree, hosts first.
#[derive(Clone, Debug)]
pub struct Tree(Vec<Level>);

impl Wiring for FatTree {
    type Routes = Tree;

    fn wire(self, hosts: u32, wires: &mut Wires) -> Result<Tree, TopologyError> {
        let Self { arity, levels, oversubscription } = self;
        refuse_zeros(&[
            ("arity", arity),
            ("levels", levels),
            ("oversubscription", oversubscription),
        ])?;
        if oversubscription > arity {
            return Err(TopologyError::Contradiction {
                key: "oversubscription",
                with: "arity",
                found: format!("{oversubscription} links downwards for each link upwards"),
                allowed: format!("a switch has {arity} links downwards"),
            });
        }
        Tree::wire(arity, arity / oversubscription, levels, hosts, wires)
    }
}

impl Tree {
    /// A tree of `height` levels above the hosts, with any number of uplinks.
    pub(super) fn wire(
        arity: u32,
        uplinks: u32,
        height: u32,
        hosts: u32,
        wires: &mut Wires,
    ) -> Result<Self, TopologyError> {
        let ports = u64::from(arity).saturating_pow(height);
        if ports < u64::from(hosts) {
            let network = format!("a fat tree of arity {arity} and {height} levels");
            return Err(TopologyError::TooManyHosts { network, ports, hosts });
        }
        let levels =
            plan(hosts, arity, uplinks, height).ok_or_else(|| TopologyError::TooLarge {
                most: format!("{MOST_LINKS} links and {MOST_LEVELS} levels"),
                remedy: "a smaller arity or fewer levels are needed",
            })?;
        for (level, numbers) in (0..).zip(&levels).skip(1) {
            for index in 0..hosts.div_ceil(numbers.span) * numbers.twins {
                wires.switch(level, index);
            }
        }
        for pair in levels.windows(2) {
            let (low, high) = (&pair[0], &pair[1]);
            for x in 0..hosts.div_ceil(low.span) {
                for y in 0..low.twins {
                    for up in 0..low.uplinks {
                        let parent = high.vertex(x / (high.span / low.span), y + low.twins * up);
                        wires.cable(low.vertex(x, y), parent);
                    }
                }
            }
        }
        Ok(Self(levels))
    }

    /// Shortest ways from host `from` to host `to`, of which the route is one.
    #[cfg(test)]
    pub(super) fn ways_between(&self, from: u32, to: u32) -> u32 {
        self.0[self.common_level(from, to)].twins
    }

    /// The lowest level with a vertex that has both hosts below it.
    fn common_level(&self, from: u32, to: u32) -> usize {
        let common = |level: &Level| from / level.span == to / level.span;
        self.0.iter().position(common).expect("the top level spans every host")
    }
}

impl Routes for Tree {
    fn route(&self, from: u32, to: u32, _: Load<'_>, links: &mut Vec<LinkId>) {
        let below_top = &self.0[..self.common_level(from, to)];
        let mut y = 0;
        for low in below_top {
            let up = to / low.twins % low.uplinks;
            links.push(low.link(from / low.span, y, up));
            y += low.twins * up;
        }
        for low in below_top.iter().rev() {
            let (below, up) = (y % low.twins, y / low.twins);
            links.push(LinkId(low.link(to / low.span, below, up).0 + 1));
            y = below;
        }
    }

    fn switches_between(&self, from: u32, to: u32) -> u32 {
        let level = u32::try_from(self.common_level(from, to)).expect("a tree has few levels");
        2 * level - 1
    }
}

impl Level {
    fn vertex(&self, x: u32, y: u32) -> u32 {
        self.first_vertex + x * self.twins + y
    }

    /// The link up from vertex (x, y) by its `up`-th uplink; the way down has the next number.
    fn link(&self, x: u32, y: u32, up: u32) -> LinkId {
        LinkId(self.first_link + 2 * ((x * self.twins + y) * self.uplinks + up))
    }
}

/// The numbers of every level; `None` where they pass what the simulator numbers.
fn plan(hosts: u32, arity: u32, uplinks: u32, height: u32) -> Option<Vec<Level>> {
    if height > MOST_LEVELS {
        return None;
    }
    let mut levels = Vec::new();
    let (mut span, mut twins, mut first_vertex, mut first_link) = (1_u32, 1_u32, 0_u32, 0_u32);
    for level in 0..=height {
        // Hosts have one port, the top level has nothing above it.
        let ups = match level {
            0 => 1,
            _ if level == height => 0,
            _ => uplinks,
        };
        levels.push(Level { span, twins, uplinks: ups, first_vertex, first_link });
        let vertices = hosts.div_ceil(span).checked_mul(twins)?;
        first_vertex = first_vertex.checked_add(vertices)?;
        first_link = first_link.checked_add(vertices.checked_mul(ups)?.checked_mul(2)?)?;
        if first_link > MOST_LINKS || first_vertex > MOST_LINKS {
            return None;
        }
        // A span beyond the number of hosts says no more than the smallest such power.
        span = span.saturating_mul(arity);
        twins = twins.checked_mul(ups.max(1))?;
    }
    Some(levels)
}

impl std::fmt::Display for FatTree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { arity, levels, oversubscription } = self;
        write!(f, "fat tree, arity {arity}, {levels} levels, oversubscription {oversubscription}")
    }
}
