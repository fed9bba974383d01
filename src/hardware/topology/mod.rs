//! Topologies: hosts, switches and the directed links between them, with a route for every pair of
//! hosts.
//!
//! A kind of topology is one file, which implements the contract in `wiring.rs`: its keys in a
//! scenario, its wires, its routes. Below, each has one line of the registry. What routes may depend on
//! is passed to them; a topology asks for nothing.

#[cfg(test)]
mod rails;
#[cfg(test)]
mod tests;
mod wires;
mod wiring;

use std::fmt::Write as _;

use petgraph::graph::{DiGraph, EdgeIndex};

pub use wires::{LinkId, TopologyError, Vertex, Wires};
pub use wiring::{Key, Load, Need, Parameters, Routes, Wiring};

/// Generates the kinds of topologies, and their static dispatch: name, module and word of scenarios.
macro_rules! topologies {
    ($($(#[$attribute:meta])* $Name:ident => $module:ident, $word:literal;)*) => {
        $($(#[$attribute])* pub use $module::$Name;)*

        /// A kind of topology with its parameters.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum Shape {$(
            $(#[$attribute])*
            #[doc = concat!("A `", $word, "`.")]
            $Name($Name),
        )*}

        /// Every kind, in the order in which the reference lists them.
        pub const KINDS: &[Kind] = &[$(
            $(#[$attribute])*
            Kind {
                word: $word,
                about: $Name::ABOUT,
                keys: $Name::KEYS,
                of: |values| Shape::$Name($Name::of(values)),
            },
        )*];

        impl Shape {
            /// The word that scenarios use.
            pub const fn word(self) -> &'static str {
                match self {$($(#[$attribute])* Self::$Name(_) => $word,)*}
            }

            fn wire(self, hosts: u32, wires: &mut Wires) -> Result<Routing, TopologyError> {
                match self {$(
                    $(#[$attribute])*
                    Self::$Name(kind) => kind.wire(hosts, wires).map(Routing::$Name),
                )*}
            }
        }

        impl std::fmt::Display for Shape {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self {$($(#[$attribute])* Self::$Name(kind) => kind.fmt(f),)*}
            }
        }

        /// The routes of any kind.
        #[derive(Clone, Debug)]
        enum Routing {$(
            $(#[$attribute])*
            $Name(<$Name as Wiring>::Routes),
        )*}

        impl Routing {
            const fn is_by_load(&self) -> bool {
                match self {$(
                    $(#[$attribute])*
                    Self::$Name(_) => <$Name as Wiring>::Routes::BY_LOAD,
                )*}
            }

            fn route(&self, from: u32, to: u32, load: Load<'_>, links: &mut Vec<LinkId>) {
                match self {$(
                    $(#[$attribute])*
                    Self::$Name(routes) => routes.route(from, to, load, links),
                )*}
            }

            fn switches_between(&self, from: u32, to: u32) -> u32 {
                match self {$(
                    $(#[$attribute])*
                    Self::$Name(routes) => routes.switches_between(from, to),
                )*}
            }
        }
    };
}

pub mod crossbar;
pub mod fat_tree;
pub mod torus;

topologies! {
    Crossbar => crossbar, "crossbar";
    FatTree => fat_tree, "fat_tree";
    Torus => torus, "torus";
    #[cfg(test)] Rails => rails, "rails";
}

/// A kind as scenarios describe it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The word that scenarios use.
    pub word: &'static str,
    /// The kind, in a sentence.
    pub about: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
    /// The topology with these values, in the order of the keys.
    pub of: fn(&mut dyn Iterator<Item = u32>) -> Shape,
}

/// The network of a cluster that says nothing of it.
impl Default for Shape {
    fn default() -> Self {
        Self::Crossbar(Crossbar {})
    }
}

/// A network of hosts and switches.
#[derive(Clone, Debug)]
pub struct Topology {
    graph: DiGraph<Vertex, ()>,
    hosts: u32,
    routing: Routing,
}

impl Topology {
    /// A network of `shape` with `hosts` hosts.
    ///
    /// # Errors
    ///
    /// [`TopologyError`] for zeros, parameters that contradict each other, too many hosts, or too large
    /// a network.
    pub fn new(shape: Shape, hosts: u32) -> Result<Self, TopologyError> {
        if hosts == 0 {
            return Err(TopologyError::Zero { field: "nodes" });
        }
        let mut wires = Wires::new(hosts)?;
        let routing = shape.wire(hosts, &mut wires)?;
        Ok(Self { graph: wires.into_graph(), hosts, routing })
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

    /// Whether routes depend on the load of links: a pair of hosts has none before its first message.
    pub const fn is_routed_by_load(&self) -> bool {
        self.routing.is_by_load()
    }

    /// The links from host `from` to host `to` under a load, in order; none from a host to itself.
    ///
    /// # Panics
    ///
    /// When the topology has no such host.
    pub fn route(&self, from: u32, to: u32, load: Load<'_>) -> Vec<LinkId> {
        let mut links = Vec::new();
        self.check(from, to);
        if from != to {
            self.routing.route(from, to, load, &mut links);
        }
        links
    }

    /// The links that a message from host `from` to host `to` may cross: those of its route, or all
    /// where the load chooses it.
    ///
    /// # Panics
    ///
    /// When the topology has no such host.
    pub fn links_between(&self, from: u32, to: u32) -> Vec<LinkId> {
        if self.is_routed_by_load() && from != to {
            return self.all_links().collect();
        }
        self.route(from, to, &|_| 0)
    }

    /// Switches on the way from host `from` to host `to`; none from a host to itself.
    ///
    /// # Panics
    ///
    /// When the topology has no such host.
    pub fn switches_between(&self, from: u32, to: u32) -> u32 {
        self.check(from, to);
        if from == to { 0 } else { self.routing.switches_between(from, to) }
    }

    fn check(&self, from: u32, to: u32) {
        assert!(from < self.hosts && to < self.hosts, "hosts {from} and {to} of {}", self.hosts);
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
