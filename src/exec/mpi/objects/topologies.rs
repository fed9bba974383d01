//! Topologies of communicators: grids and graphs of their ranks, as the program has said them.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::fault::Fault;
use ::mpi::cartesian::Cartesian;
use ::mpi::envelope::Rank;
use protocols::call::Arrangement;

/// The topologies of a rank's communicators, by their handles.
#[derive(Debug)]
pub(crate) struct Topologies {
    of: BTreeMap<u64, Topology>,
}

/// How the ranks of a communicator are neighbours, as the program has said it.
#[derive(Clone, Debug)]
pub(crate) enum Topology {
    /// They stand in a grid.
    Grid(Cartesian),
    /// All know the whole graph.
    Whole(Arc<Graph>),
    /// Each knows its own neighbours.
    Near(Arc<Near>),
}

/// A graph in MPI's form.
#[derive(Debug)]
pub(crate) struct Graph {
    /// Where the neighbours of each node end among the edges.
    pub(crate) ends: Vec<i32>,
    /// The neighbours of one node after the other.
    pub(crate) edges: Vec<i32>,
}

/// The neighbours of a rank, with the weights of their edges.
#[derive(Debug, Default)]
pub(crate) struct Near {
    pub(crate) sources: Vec<i32>,
    pub(crate) destinations: Vec<i32>,
    /// Of sources and of destinations.
    pub(crate) weights: Option<[Vec<i32>; 2]>,
}

impl Graph {
    /// The graph in the form that the library takes.
    pub(crate) fn arrangement(&self) -> Arrangement {
        let ends = self.ends.iter().map(|end| end.cast_unsigned()).collect();
        let edges = self.edges.iter().map(|node| Rank(node.cast_unsigned())).collect();
        Arrangement::Whole(::mpi::topology::Graph { ends, edges })
    }

    /// The neighbours of a node.
    pub(crate) fn of(&self, node: usize) -> &[i32] {
        let end = |node: usize| usize::try_from(self.ends[node]).expect("an index is 0 or more");
        let begin = node.checked_sub(1).map_or(0, end);
        &self.edges[begin..end(node)]
    }
}

impl Topologies {
    pub(crate) const fn new() -> Self {
        Self { of: BTreeMap::new() }
    }

    /// A communicator is gone.
    pub(crate) fn forget(&mut self, comm: u64) {
        self.of.remove(&comm);
    }

    /// A duplicate has the topology of its parent.
    pub(crate) fn inherit(&mut self, new: u64, old: u64) {
        if let Some(topology) = self.of.get(&old).cloned() {
            self.of.insert(new, topology);
        }
    }

    /// A communicator has a topology.
    pub(crate) fn set(&mut self, comm: u64, topology: Topology) {
        self.of.insert(comm, topology);
    }

    /// The topology of a communicator.
    pub(crate) fn get(&self, handle::Comm(comm): handle::Comm) -> Option<&Topology> {
        self.of.get(&comm)
    }

    /// How many neighbours messages come from and go to at this rank of a communicator.
    pub(crate) fn degrees(
        &self,
        handle::Comm(comm): handle::Comm,
        rank: Rank,
    ) -> Result<[usize; 2], Fault> {
        match self.of.get(&comm) {
            None => Err(Fault::new(mpi5::ERR_TOPOLOGY, "the communicator has no topology")),
            Some(Topology::Grid(grid)) => Ok([2 * grid.dimensions().len(); 2]),
            Some(Topology::Whole(graph)) => Ok([graph.of(rank.0 as usize).len(); 2]),
            Some(Topology::Near(near)) => Ok([near.sources.len(), near.destinations.len()]),
        }
    }

    /// The grid of a communicator.
    pub(crate) fn grid(&self, handle::Comm(comm): handle::Comm) -> Result<Cartesian, Fault> {
        match self.of.get(&comm) {
            Some(Topology::Grid(grid)) => Ok(grid.clone()),
            Some(Topology::Whole(_) | Topology::Near(_)) | None => Err(Fault::new(
                mpi5::ERR_TOPOLOGY,
                "the ranks of the communicator stand in no grid",
            )),
        }
    }

    /// The graph of a communicator that all its ranks know.
    pub(crate) fn graph(&self, handle::Comm(comm): handle::Comm) -> Result<Arc<Graph>, Fault> {
        match self.of.get(&comm) {
            Some(Topology::Whole(graph)) => Ok(Arc::clone(graph)),
            Some(Topology::Grid(_) | Topology::Near(_)) | None => {
                Err(Fault::new(mpi5::ERR_TOPOLOGY, "the communicator has no graph"))
            }
        }
    }

    /// The neighbours of the rank in a communicator with a distributed graph.
    pub(crate) fn near(&self, handle::Comm(comm): handle::Comm) -> Result<Arc<Near>, Fault> {
        match self.of.get(&comm) {
            Some(Topology::Near(near)) => Ok(Arc::clone(near)),
            Some(Topology::Grid(_) | Topology::Whole(_)) | None => {
                Err(Fault::new(mpi5::ERR_TOPOLOGY, "the communicator has no distributed graph"))
            }
        }
    }
}
