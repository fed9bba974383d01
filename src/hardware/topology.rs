//! Hosts, switches and the directed links between them, with one fixed route for every pair.
//!
//! A fat tree has hosts at level 0 and switches at levels 1 to n. Every switch reaches `arity`
//! vertices below it and, but for the top level, `uplinks` switches above it; a crossbar is the tree
//! of one level. Vertices of a level are named by (x, y): x says which hosts lie below, y tells the
//! vertices apart that have the same hosts below.
//!
//! Routes go up to the lowest level whose switch has the target below it, and down from there. On
//! the way up the target's number picks the uplink (d-mod-k), so that neighbouring targets spread
//! over all of them. Routes are computed, not stored: no table grows with the square of the hosts.
//!
//! Source: the extended generalised fat trees XGFT(n; m, ..., m; 1, w, ..., w) with d-mod-k routing.
//! Left out: adaptive routing, virtual lanes, failed links. Noticeable in hot spots that a real
//! network would route around.

use std::fmt::Write as _;

use petgraph::graph::{DiGraph, EdgeIndex, NodeIndex};

/// Kind and parameters of a topology.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Shape {
    /// One switch with a port for every host.
    Crossbar,
    /// A fat tree (folded Clos).
    FatTree {
        /// Hosts of a lowest switch, and switches below each higher one.
        arity: u32,
        /// Links from a switch to the level above: `arity` for full bisection, fewer where the
        /// tree is oversubscribed.
        uplinks: u32,
        /// Levels of switches.
        levels: u32,
    },
}

/// A host or a switch.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Vertex {
    /// The port of a host.
    Host(u32),
    /// A switch, by level from 1 and number inside the level.
    Switch {
        /// Level above the hosts.
        level: u32,
        /// Number inside the level.
        index: u32,
    },
}

/// One direction of a cable, numbered from 0 without gaps.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct LinkId(pub u32);

/// Why a topology cannot be built.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TopologyError {
    /// A number that must be at least one.
    #[error("`{field}` of a topology is 0; at least 1 is needed")]
    Zero {
        /// The field as scenarios spell it.
        field: &'static str,
    },
    /// More hosts than ports.
    #[error("a fat tree of arity {arity} and {levels} levels has {ports} ports for {hosts} hosts")]
    TooManyHosts {
        /// Hosts wanted.
        hosts: u32,
        /// Ports of the tree.
        ports: u64,
        /// Arity of the tree.
        arity: u32,
        /// Its levels.
        levels: u32,
    },
    /// More than the simulator numbers.
    #[error("the topology is too large: at most {links} links and {levels} levels are possible")]
    TooLarge {
        /// The largest number of directed links.
        links: u32,
        /// The largest number of levels.
        levels: u32,
    },
}

/// Most directed links of a topology.
/// Limit: the graph is held in memory.
const MOST_LINKS: u32 = 1 << 26;
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

/// A network of hosts and switches.
#[derive(Clone, Debug)]
pub struct Topology {
    graph: DiGraph<Vertex, ()>,
    levels: Vec<Level>,
    hosts: u32,
}

impl Topology {
    /// A network of `shape` with `hosts` hosts; switches that no host lies below are left out.
    ///
    /// # Errors
    ///
    /// [`TopologyError`] for zeros, too many hosts for the tree, or too large a tree.
    pub fn new(shape: Shape, hosts: u32) -> Result<Self, TopologyError> {
        let (arity, uplinks, levels) = match shape {
            Shape::Crossbar => (hosts, 1, 1),
            Shape::FatTree { arity, uplinks, levels } => (arity, uplinks, levels),
        };
        let fields = [("nodes", hosts), ("arity", arity), ("uplinks", uplinks), ("levels", levels)];
        for (field, value) in fields {
            if value == 0 {
                return Err(TopologyError::Zero { field });
            }
        }
        let ports = u64::from(arity).saturating_pow(levels);
        if ports < u64::from(hosts) {
            return Err(TopologyError::TooManyHosts { hosts, ports, arity, levels });
        }
        let levels = plan(hosts, arity, uplinks, levels)
            .ok_or(TopologyError::TooLarge { links: MOST_LINKS, levels: MOST_LEVELS })?;
        let mut topology = Self { graph: DiGraph::new(), levels, hosts };
        topology.build();
        Ok(topology)
    }

    /// Adds the vertices and links in the order of their numbers.
    fn build(&mut self) {
        for (level, numbers) in (0..).zip(&self.levels) {
            for index in 0..self.hosts.div_ceil(numbers.span) * numbers.twins {
                self.graph.add_node(match level {
                    0 => Vertex::Host(index),
                    _ => Vertex::Switch { level, index },
                });
            }
        }
        for pair in self.levels.windows(2) {
            let (low, high) = (&pair[0], &pair[1]);
            for x in 0..self.hosts.div_ceil(low.span) {
                for y in 0..low.twins {
                    for up in 0..low.uplinks {
                        let child = low.vertex(x, y);
                        let parent = high.vertex(x / (high.span / low.span), y + low.twins * up);
                        self.graph.add_edge(child, parent, ());
                        self.graph.add_edge(parent, child, ());
                    }
                }
            }
        }
    }

    /// Number of hosts.
    pub fn hosts(&self) -> u32 {
        self.hosts
    }

    /// Number of directed links: one more than the largest [`LinkId`].
    pub fn links(&self) -> usize {
        self.graph.edge_count()
    }

    /// Number of switches.
    pub fn switches(&self) -> usize {
        self.graph.node_count() - self.hosts as usize
    }

    /// Where a link begins and ends.
    ///
    /// # Panics
    ///
    /// When the topology has no such link.
    pub fn ends(&self, link: LinkId) -> (Vertex, Vertex) {
        let ends = self.graph.edge_endpoints(EdgeIndex::new(link.0 as usize));
        let (from, to) = ends.expect("a link of this topology");
        (self.graph[from], self.graph[to])
    }

    /// A name for reports: `host 3 to switch 1.0`.
    ///
    /// # Panics
    ///
    /// When the topology has no such link.
    pub fn link_name(&self, link: LinkId) -> String {
        let (from, to) = self.ends(link);
        format!("{from} to {to}")
    }

    /// All links, in the order of their numbers.
    ///
    /// # Panics
    ///
    /// With more than 2^32 links.
    pub fn all_links(&self) -> impl Iterator<Item = LinkId> + use<> {
        (0..u32::try_from(self.links()).expect("links are counted in u32")).map(LinkId)
    }

    /// The link of this name, as [`Self::link_name`] gives it.
    pub fn link_named(&self, name: &str) -> Option<LinkId> {
        self.all_links().find(|&link| self.link_name(link) == name)
    }

    /// The links from host `from` to host `to`, in order; none from a host to itself.
    ///
    /// # Panics
    ///
    /// When the topology has no such host.
    pub fn route(&self, from: u32, to: u32) -> Vec<LinkId> {
        let mut links = Vec::new();
        self.route_into(from, to, &mut links);
        links
    }

    /// As [`Self::route`], into a buffer that is cleared first.
    ///
    /// # Panics
    ///
    /// When the topology has no such host.
    pub fn route_into(&self, from: u32, to: u32, links: &mut Vec<LinkId>) {
        let top = self.common_level(from, to);
        links.clear();
        let mut y = 0;
        for low in &self.levels[..top] {
            let up = to / low.twins % low.uplinks;
            links.push(low.link(from / low.span, y, up));
            y += low.twins * up;
        }
        for low in self.levels[..top].iter().rev() {
            let (below, up) = (y % low.twins, y / low.twins);
            links.push(LinkId(low.link(to / low.span, below, up).0 + 1));
            y = below;
        }
    }

    /// Switches on the way from host `from` to host `to`; none from a host to itself.
    ///
    /// # Panics
    ///
    /// When the topology has no such host.
    pub fn switches_between(&self, from: u32, to: u32) -> u32 {
        let level = u32::try_from(self.common_level(from, to)).expect("a tree has few levels");
        (2 * level).saturating_sub(1)
    }

    /// Shortest paths from host `from` to host `to`, of which [`Self::route`] is one.
    ///
    /// # Panics
    ///
    /// When the topology has no such host.
    pub fn paths_between(&self, from: u32, to: u32) -> u32 {
        self.levels[self.common_level(from, to)].twins
    }

    /// The lowest level with a vertex that has both hosts below it.
    fn common_level(&self, from: u32, to: u32) -> usize {
        assert!(from < self.hosts && to < self.hosts, "hosts {from} and {to} of {}", self.hosts);
        let common = |level: &Level| from / level.span == to / level.span;
        self.levels.iter().position(common).expect("the top level spans every host")
    }

    /// The network as a Graphviz graph, each cable once.
    pub fn dot(&self) -> String {
        let mut text = String::from("graph topology {\n  rankdir=BT;\n");
        for &vertex in self.graph.node_weights() {
            let shape = if matches!(vertex, Vertex::Host(_)) { "ellipse" } else { "box" };
            let _ = writeln!(text, "  \"{vertex}\" [shape={shape}];");
        }
        // Every cable is two links, the way up first.
        for link in self.graph.raw_edges().iter().step_by(2) {
            let (low, high) = (self.graph[link.source()], self.graph[link.target()]);
            let _ = writeln!(text, "  \"{low}\" -- \"{high}\";");
        }
        text.push_str("}\n");
        text
    }
}

impl Level {
    fn vertex(&self, x: u32, y: u32) -> NodeIndex {
        NodeIndex::new((self.first_vertex + x * self.twins + y) as usize)
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

impl std::fmt::Display for Vertex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(host) => write!(f, "host {host}"),
            Self::Switch { level, index } => write!(f, "switch {level}.{index}"),
        }
    }
}

#[cfg(test)]
mod tests;
