//! Hosts, switches and the directed links between them.

use petgraph::graph::{DiGraph, NodeIndex};

/// A host or a switch.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Vertex {
    /// The port of a host.
    Host(u32),
    /// A switch, by two numbers, whose meaning is the topology's.
    Switch(u32, u32),
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
    /// Two keys that contradict each other.
    #[error("{found}, but {allowed}")]
    Contradiction {
        /// The key whose value is refused.
        key: &'static str,
        /// The key that it contradicts.
        with: &'static str,
        /// The value, in words.
        found: String,
        /// The limit that the other key sets, in words.
        allowed: String,
    },
    /// More hosts than ports.
    #[error("{network} has {ports} ports for {hosts} hosts")]
    TooManyHosts {
        /// The topology with its numbers, in words.
        network: String,
        /// Its ports.
        ports: u64,
        /// Hosts wanted.
        hosts: u32,
    },
    /// More than the simulator numbers.
    #[error("the topology is too large: at most {most} are possible")]
    TooLarge {
        /// The largest numbers, in words.
        most: String,
        /// The change that is needed, in words.
        remedy: &'static str,
    },
}

/// Most directed links of a topology.
/// Limit: the graph is held in memory.
pub(super) const MOST_LINKS: u32 = 1 << 26;

/// A network of hosts and switches that is being wired.
#[derive(Debug)]
pub struct Wires(DiGraph<Vertex, ()>);

impl Wires {
    /// Hosts without cables; they are the vertices 0 to `hosts`.
    pub(super) fn new(hosts: u32) -> Result<Self, TopologyError> {
        // Each host has a cable.
        if hosts > MOST_LINKS / 2 {
            let (most, remedy) = (format!("{MOST_LINKS} links"), "fewer nodes are needed");
            return Err(TopologyError::TooLarge { most, remedy });
        }
        let mut graph = DiGraph::new();
        for host in 0..hosts {
            graph.add_node(Vertex::Host(host));
        }
        Ok(Self(graph))
    }

    /// Adds a switch, named by two numbers; its vertex has the next number.
    pub fn switch(&mut self, first: u32, second: u32) {
        self.0.add_node(Vertex::Switch(first, second));
    }

    /// Adds a cable between two vertices: a link from `low` to `high`, then one back.
    ///
    /// # Panics
    ///
    /// When there is no such vertex.
    pub fn cable(&mut self, low: u32, high: u32) {
        let [low, high] = [low, high].map(|vertex| NodeIndex::new(vertex as usize));
        self.0.add_edge(low, high, ());
        self.0.add_edge(high, low, ());
    }

    pub(super) fn into_graph(self) -> DiGraph<Vertex, ()> {
        self.0
    }
}

impl std::fmt::Display for Vertex {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Host(host) => write!(f, "host {host}"),
            Self::Switch(first, second) => write!(f, "switch {first}.{second}"),
        }
    }
}
