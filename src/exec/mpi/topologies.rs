//! Topologies: grids and graphs of the ranks of a communicator.
//!
//! The library makes the communicators and knows the neighbours of collectives; what the program asks of a topology is
//! answered here. Ranks keep their order, also where the program lets MPI change it.

mod asking;
mod balance;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::comms::none_made;
use super::{Answer, Asked, Client, Fault, Step, done, listed, mpi5};
use ::mpi::cartesian::{Cartesian, CartesianError, Dimension};
use ::mpi::envelope::Rank;
use ::mpi::topology::Neighbours;
use protocols::call::{Arrangement, Call, CommCall, Reply};

/// The topologies of a rank's communicators, by their handles.
#[derive(Debug)]
pub(super) struct Topologies {
    of: BTreeMap<u64, Topology>,
}

/// How the ranks of a communicator are neighbours, as the program has said it.
#[derive(Clone, Debug)]
pub(super) enum Topology {
    /// They stand in a grid.
    Grid(Cartesian),
    /// All know the whole graph.
    Whole(Arc<Graph>),
    /// Each knows its own neighbours.
    Near(Arc<Near>),
}

/// A graph in MPI's form.
#[derive(Debug)]
pub(super) struct Graph {
    /// Where the neighbours of each node end among the edges.
    ends: Vec<i32>,
    /// The neighbours of one node after the other.
    edges: Vec<i32>,
}

/// The neighbours of a rank, with the weights of their edges.
#[derive(Debug, Default)]
pub(super) struct Near {
    sources: Vec<i32>,
    destinations: Vec<i32>,
    /// Of sources and of destinations.
    weights: Option<[Vec<i32>; 2]>,
}

impl Graph {
    /// What the library gets of it.
    fn arrangement(&self) -> Arrangement {
        let ends = self.ends.iter().map(|end| end.cast_unsigned()).collect();
        let edges = self.edges.iter().map(|node| Rank(node.cast_unsigned())).collect();
        Arrangement::Whole(::mpi::topology::Graph { ends, edges })
    }

    /// The neighbours of a node.
    fn of(&self, node: usize) -> &[i32] {
        let end = |node: usize| usize::try_from(self.ends[node]).expect("an index is 0 or more");
        let begin = node.checked_sub(1).map_or(0, end);
        &self.edges[begin..end(node)]
    }
}

impl Topologies {
    pub(super) const fn new() -> Self {
        Self { of: BTreeMap::new() }
    }

    /// A communicator is gone.
    pub(super) fn forget(&mut self, comm: u64) {
        self.of.remove(&comm);
    }

    /// A duplicate has the topology of its parent.
    pub(super) fn inherit(&mut self, new: u64, old: u64) {
        if let Some(topology) = self.of.get(&old).cloned() {
            self.of.insert(new, topology);
        }
    }
}

impl Client {
    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn topology_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Cart_create => self.create_grid(asked),
            F::Cart_sub => self.create_subgrid(asked),
            F::Graph_create => self.create_graph(asked),
            F::Dist_graph_create_adjacent => self.create_adjacent(asked),
            F::Dist_graph_create => self.create_distributed(asked),
            _ => return self.topology_question(asked),
        })
    }

    /// A communicator with a topology is made; argument `at` gets its handle.
    fn arranges(
        &mut self,
        (at, parent): (usize, u64),
        by: Arrangement,
        topology: Topology,
    ) -> Answer {
        let comm = self.intracomm(parent)?.number;
        let call = |new| CommCall::Arrange { comm, by, new };
        self.makes(at, parent, call, move |client, _, handle| {
            client.topologies.of.insert(handle, topology);
            done()
        })
    }

    /// The dimensions that arguments `at` (lengths) and the next one (periods) name.
    fn dimensions(asked: &mut Asked<'_>, at: usize, count: usize) -> Result<Vec<Dimension>, Fault> {
        let (extents, periods) = (asked.ints(at, count)?, asked.ints(at + 1, count)?);
        let dimension = |(extent, period): (i32, i32)| {
            let extent = u32::try_from(extent).ok().filter(|extent| *extent > 0);
            let extent = extent
                .ok_or_else(|| Fault::new(mpi5::ERR_DIMS, "a dimension without positions"))?;
            Ok(Dimension { extent, periodic: period != 0 })
        };
        extents.into_iter().zip(periods).map(dimension).collect()
    }

    fn create_grid(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (parent, count, me) = (asked.word(0), asked.length(1)?, self.rank);
        let comm = self.intracomm(parent)?;
        let (number, size, rank) = (comm.number, comm.size(), comm.group.rank(me));
        let dimensions = Self::dimensions(asked, 2, count)?;
        let positions = positions(&dimensions);
        if positions > u64::from(size) {
            let why = format!("a grid of {positions} positions for {size} ranks");
            return Err(Fault::new(mpi5::ERR_ARG, why));
        }
        let positions = u32::try_from(positions).expect("no more than ranks");
        let by = Arrangement::Grid(dimensions.clone().into());
        if rank.is_none_or(|rank| rank.0 >= positions) {
            let new = self.comms.free()?;
            return Ok(none_made(CommCall::Arrange { comm: number, by, new }, 5));
        }
        let grid = Cartesian::new(positions, dimensions).map_err(|error| wrong_grid(&error))?;
        self.arranges((5, parent), by, Topology::Grid(grid))
    }

    fn create_subgrid(&mut self, asked: &mut Asked<'_>) -> Answer {
        let parent = asked.word(0);
        let grid = self.grid(parent)?;
        let remain = asked.ints(1, grid.dimensions().len())?;
        let remain: Vec<bool> = remain.into_iter().map(|remain| remain != 0).collect();
        let parts = grid.sub(&remain).map_err(|error| wrong_grid(&error))?;
        self.arranges((2, parent), Arrangement::Subgrid(remain.into()), Topology::Grid(parts.grid))
    }

    /// The graph of arguments `at` (nodes), the index and the edges.
    fn graph_of(asked: &mut Asked<'_>, at: usize, size: u32) -> Result<Graph, Fault> {
        let count = asked.length(at)?;
        let ends = asked.ints(at + 1, count)?;
        let wrong = |why: String| Err(Fault::new(mpi5::ERR_ARG, why));
        if count > size as usize {
            return wrong(format!("a graph of {count} nodes for {size} ranks"));
        }
        if ends.first().is_some_and(|end| *end < 0) || !ends.is_sorted() {
            return wrong(format!("the index of a graph grows from 0: {}", listed(&ends)));
        }
        let edges =
            asked.ints(at + 2, usize::try_from(ends.last().copied().unwrap_or(0)).unwrap_or(0))?;
        let is_node = |node: &i32| usize::try_from(*node).is_ok_and(|node| node < count);
        match edges.iter().find(|node| !is_node(node)) {
            Some(beyond) => wrong(format!("an edge leads to rank {beyond} of {count} nodes")),
            None => Ok(Graph { ends, edges }),
        }
    }

    fn create_graph(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (parent, me) = (asked.word(0), self.rank);
        let comm = self.intracomm(parent)?;
        let (number, size) = (comm.number, comm.size());
        let rank = comm.group.rank(me).expect("a rank is in its communicators").0;
        let graph = Self::graph_of(asked, 1, size)?;
        let nodes = graph.ends.len();
        if nodes == 0 {
            asked.put_word(5, mpi5::COMM_NULL);
            return done();
        }
        let call = |new| CommCall::Arrange { comm: number, by: graph.arrangement(), new };
        if rank as usize >= nodes {
            return Ok(none_made(call(self.comms.free()?), 5));
        }
        self.arranges((5, parent), graph.arrangement(), Topology::Whole(Arc::new(graph)))
    }

    /// Neighbours of arguments `at` (how many), the ranks and the weights.
    fn near_of(
        asked: &mut Asked<'_>,
        at: usize,
        size: u32,
    ) -> Result<(Vec<i32>, Option<Vec<i32>>), Fault> {
        let count = asked.length(at)?;
        let near = asked.ints(at + 1, count)?;
        check_ranks(&near, size)?;
        let weights = match asked.word(at + 2) {
            mpi5::UNWEIGHTED => None,
            mpi5::WEIGHTS_EMPTY => Some(Vec::new()),
            _ => Some(asked.ints(at + 2, count)?),
        };
        Ok((near, weights))
    }

    fn create_adjacent(&mut self, asked: &mut Asked<'_>) -> Answer {
        let parent = asked.word(0);
        let size = self.intracomm(parent)?.size();
        let (sources, from) = Self::near_of(asked, 1, size)?;
        let (destinations, to) = Self::near_of(asked, 4, size)?;
        let weights = match (from, to) {
            (Some(from), Some(to)) => Some([from, to]),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => {
                return Err(Fault::new(mpi5::ERR_ARG, "weights of sources or destinations alone"));
            }
        };
        self.near(asked, 9, Near { sources, destinations, weights })
    }

    fn near(&mut self, asked: &Asked<'_>, at: usize, near: Near) -> Answer {
        let by = Arrangement::Graph(Neighbours {
            sources: ranks(&near.sources),
            destinations: ranks(&near.destinations),
            of_grid: false,
        });
        self.arranges((at, asked.word(0)), by, Topology::Near(Arc::new(near)))
    }

    /// Any rank names any edges: all hear how many each names, and which.
    fn create_distributed(&mut self, asked: &mut Asked<'_>) -> Answer {
        let parent = asked.word(0);
        let comm = self.intracomm(parent)?;
        let (number, size) = (comm.number, comm.size());
        let count = asked.length(1)?;
        let (sources, degrees) = (asked.ints(2, count)?, asked.ints(3, count)?);
        if degrees.iter().any(|degree| *degree < 0) {
            return Err(Fault::new(mpi5::ERR_ARG, "a node with a negative number of edges"));
        }
        let all: i64 = degrees.iter().map(|degree| i64::from(*degree)).sum();
        let all = usize::try_from(all).expect("a sum of numbers that are not negative");
        let destinations = asked.ints(4, all)?;
        check_ranks(&sources, size)?;
        check_ranks(&destinations, size)?;
        let is_weighted = asked.word(5) != mpi5::UNWEIGHTED;
        let weights = if is_weighted && asked.word(5) != mpi5::WEIGHTS_EMPTY {
            asked.ints(5, all)?
        } else {
            vec![0; all]
        };
        let from = sources.iter().zip(&degrees);
        let from = from.flat_map(|(from, degree)| (0..*degree).map(move |_| *from));
        let own: Vec<u32> = from
            .zip(destinations)
            .zip(weights)
            .flat_map(|((from, to), weight)| [from, to, weight].map(i32::cast_unsigned))
            .collect();
        let length = u32::try_from(own.len()).expect("an int counts the edges");
        let call = CommCall::Numbers { comm: number, own: [length].into() };
        Ok(Step::calls(Call::Communicators(call), move |_, _, reply| {
            let Reply::Numbers(lengths) = reply else { return done() };
            let longest = lengths.iter().copied().max().unwrap_or(0);
            let mut padded = own;
            padded.resize(longest as usize, 0);
            let call = CommCall::Numbers { comm: number, own: padded.into() };
            Ok(Step::calls(Call::Communicators(call), move |client, asked, reply| {
                let Reply::Numbers(edges) = reply else { return done() };
                let me = client.rank;
                let rank = client.comm(asked.word(0))?.group.rank(me).map_or(0, |rank| rank.0);
                let near =
                    among(&edges, &lengths, longest as usize, rank.cast_signed(), is_weighted);
                client.near(asked, 8, near)
            }))
        }))
    }

    /// How many neighbours messages come from and go to; for collectives among them.
    pub(super) fn degrees(&mut self, comm: u64) -> Result<[usize; 2], Fault> {
        let me = self.rank;
        let group = Arc::clone(&self.intracomm(comm)?.group);
        match self.topologies.of.get(&comm) {
            None => Err(Fault::new(mpi5::ERR_TOPOLOGY, "the communicator has no topology")),
            Some(Topology::Grid(grid)) => Ok([2 * grid.dimensions().len(); 2]),
            Some(Topology::Whole(graph)) => {
                let rank = group.rank(me).expect("a rank is in its communicators").0;
                Ok([graph.of(rank as usize).len(); 2])
            }
            Some(Topology::Near(near)) => Ok([near.sources.len(), near.destinations.len()]),
        }
    }

    /// The grid of a communicator.
    fn grid(&mut self, comm: u64) -> Result<Cartesian, Fault> {
        self.comm(comm)?;
        match self.topologies.of.get(&comm) {
            Some(Topology::Grid(grid)) => Ok(grid.clone()),
            Some(Topology::Whole(_) | Topology::Near(_)) | None => Err(Fault::new(
                mpi5::ERR_TOPOLOGY,
                "the ranks of the communicator stand in no grid",
            )),
        }
    }
}

fn positions(dimensions: &[Dimension]) -> u64 {
    dimensions.iter().fold(1, |all, dimension| all.saturating_mul(dimension.extent.into()))
}

/// The neighbours of one rank among edges that all ranks have named: source, destination and weight, of each rank as
/// many numbers as `lengths` says, `longest` apart.
fn among(edges: &[u32], lengths: &[u32], longest: usize, me: i32, is_weighted: bool) -> Near {
    let mut near = Near::default();
    let mut weights = [Vec::new(), Vec::new()];
    for (rank, length) in lengths.iter().enumerate() {
        let named = &edges[rank * longest..rank * longest + *length as usize];
        for edge in named.as_chunks::<3>().0 {
            let [from, to, weight] = edge.map(u32::cast_signed);
            if to == me {
                near.sources.push(from);
                weights[0].push(weight);
            }
            if from == me {
                near.destinations.push(to);
                weights[1].push(weight);
            }
        }
    }
    near.weights = is_weighted.then_some(weights);
    near
}

fn ranks(all: &[i32]) -> Arc<[Option<Rank>]> {
    all.iter().map(|rank| Some(Rank(rank.cast_unsigned()))).collect()
}

fn check_ranks(all: &[i32], size: u32) -> Result<(), Fault> {
    match all.iter().find(|rank| !(0..size.cast_signed()).contains(*rank)) {
        Some(beyond) => {
            Err(Fault::new(mpi5::ERR_RANK, format!("rank {beyond} of {size} does not exist")))
        }
        None => Ok(()),
    }
}

fn wrong_grid(error: &CartesianError) -> Fault {
    let class = match error {
        CartesianError::RankOutOfRange { .. } => mpi5::ERR_RANK,
        CartesianError::ZeroExtent { .. } => mpi5::ERR_DIMS,
        CartesianError::SizeDiffers { .. }
        | CartesianError::EntryCount { .. }
        | CartesianError::OutsideBorder { .. }
        | CartesianError::NoDimension { .. } => mpi5::ERR_ARG,
    };
    Fault::new(class, error.to_string())
}
