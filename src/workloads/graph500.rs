//! Breadth-first search of Graph500, level by level, as its reference code `mpi_simple` does it.
//!
//! ```text
//!   level   receive from anybody; scan the edges of the own frontier: each edge to a vertex of another
//!           process is a pair (vertex, predecessor) of 16 B in a buffer for that process, which is sent
//!           when it is full; then the rest of each buffer and an empty message to say that no more
//!           comes; receive until everybody has said so; sum the new frontiers (allreduce)
//! ```
//!
//! The graph is made and searched before the run, by the rules of the benchmark (`rmat`); what the search
//! sends is the run's traffic (`traffic`), and its messages are replayed by the simulated ranks
//! (`searcher`). For more vertices than are made, the traffic of the made graph is scaled.
//!
//! Source: graph500/graph500 2.1, `mpi/bfs_simple.c` (order of messages, buffers of 256 pairs, one receive
//! at a time from any source), `mpi/common.h` (vertices dealt out cyclically), `generator/` (initiator 0.57, 0.19,
//! 0.19, 0.05; scrambled labels); `coop` Sec. V, Fig. 18. Left out: the tests of all open sends between two
//! vertices: a rank that must wait here waits for what it needs, and looks for one message before it sends
//! one; the other kernels of the benchmark. Assumed: full buffers leave in turn, one to each process.

pub mod rmat;
pub mod searcher;
pub mod traffic;

use std::sync::Arc;

use protocols::collectives::Collective;
use rmat::{Draws, RMat};
use searcher::{Costs, Searcher};
use traffic::Traffic;

/// Bytes of a pair: two vertices of 8 B.
pub const PAIR: u64 = 16;
/// The buffer of the reference code: 256 pairs.
pub const BUFFER: u64 = 256 * PAIR;
/// The greatest scale of a graph that is made: 2^21 vertices.
pub const MOST_SCALE: u32 = 21;
/// The most processes between which the messages of a made graph are counted: 4 B a pair of them and
/// level.
pub const MOST_PROCESSES: u32 = 1_024;

/// What is asked for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Search {
    /// Binary logarithm of the vertices that are made.
    pub scale: u32,
    /// Edges for each vertex.
    pub edge_factor: u32,
    /// Vertices that the messages are for, where these are others than are made.
    pub vertices: Option<u64>,
    /// Bytes of a buffer of pairs: full buffers are sent.
    pub buffer: u64,
    /// What a process computes for each edge that it scans, and for each pair that it receives, in
    /// picoseconds.
    pub compute: u64,
}

impl Search {
    /// The graph that is made.
    pub const fn graph(&self) -> RMat {
        RMat { scale: self.scale, edge_factor: self.edge_factor }
    }

    /// What the search sends between `processes` processes.
    pub fn traffic(&self, processes: u32, draws: &Draws) -> Traffic {
        let graph = self.graph();
        match self.vertices {
            None => Traffic::counted(graph, draws, processes),
            Some(vertices) => Traffic::scaled(graph, draws, processes, vertices),
        }
    }

    /// Edge ends of the whole graph: each is scanned at most once.
    fn ends(&self) -> u128 {
        let vertices = self.vertices.unwrap_or(1 << self.scale);
        2 * u128::from(vertices) * u128::from(self.edge_factor)
    }

    /// Bytes of all pairs, at most.
    pub fn bytes(&self) -> u128 {
        self.ends() * u128::from(PAIR)
    }

    /// Computation of a process that scans every edge and receives every pair, at most.
    pub fn compute(&self) -> u128 {
        2 * self.ends() * u128::from(self.compute)
    }

    /// The programs of all ranks; they share the traffic.
    pub fn programs(&self, processes: u32, draws: &Draws, sum: &Arc<Collective>) -> Vec<Searcher> {
        let traffic = Arc::new(self.traffic(processes, draws));
        let costs = Costs { pairs: (self.buffer / PAIR).max(1), edge: self.compute };
        (0..processes).map(|rank| Searcher::new(rank, &traffic, costs, sum)).collect()
    }
}
