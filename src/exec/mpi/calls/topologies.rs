//! Topologies: grids and graphs of the ranks of a communicator.
//!
//! The library makes the communicators and knows the neighbours of collectives; what the program asks of a topology is
//! answered here. Ranks keep their order, also where the program lets MPI change it.

mod arguments;
pub(super) mod asking;
mod balance;

use std::sync::Arc;

use super::comms;
use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle, length};
use crate::mpi::families::Topologies as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::topologies::{Near, Topology};
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use ::mpi::cartesian::Cartesian;
use ::mpi::envelope::Rank;
use ::mpi::topology::Neighbours;
use arguments::{check_ranks, dimensions, graph_of, near_of, positions, wrong_grid};
use protocols::call::{Arrangement, Call, CommCall, Reply};

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Cart_create(of) => create_grid(state, frame, of),
        F::Cart_sub(of) => create_subgrid(state, frame, of),
        F::Graph_create(of) => create_graph(state, frame, of),
        F::Dist_graph_create_adjacent(of) => create_adjacent(state, frame, of),
        F::Dist_graph_create(of) => create_distributed(state, frame, of),
    }
}

/// A communicator with a topology is made; the process gets its handle.
fn arranges(
    state: &mut RankState,
    (to, parent): (To<handle::Comm>, handle::Comm),
    by: Arrangement,
    topology: Topology,
) -> Answer {
    let comm = state.intracomm(parent)?.number;
    let call = |new| CommCall::Arrange { comm, by, new };
    comms::makes(state, to, parent, call, move |state, _, handle| {
        state.topologies.set(handle, topology);
        done()
    })
}

fn create_grid(state: &mut RankState, frame: &mut Frame<'_>, of: args::Cart_create) -> Answer {
    let (parent, count, me) = (of.comm_old, length(of.ndims)?, state.rank);
    let comm = state.intracomm(parent)?;
    let (number, size, rank) = (comm.number, comm.size(), comm.group.rank(me));
    let dimensions = dimensions(frame, (of.dims, of.periods), count)?;
    let positions = positions(&dimensions);
    if positions > u64::from(size) {
        let why = format!("a grid of {positions} positions for {size} ranks");
        return Err(Fault::new(mpi5::ERR_ARG, why));
    }
    let positions = u32::try_from(positions).expect("no more than ranks");
    let by = Arrangement::Grid(dimensions.clone().into());
    if rank.is_none_or(|rank| rank.0 >= positions) {
        let new = state.comms.free()?;
        return Ok(comms::none_made(CommCall::Arrange { comm: number, by, new }, of.comm_cart));
    }
    let grid = Cartesian::new(positions, dimensions).map_err(|error| wrong_grid(&error))?;
    arranges(state, (of.comm_cart, parent), by, Topology::Grid(grid))
}

fn create_subgrid(state: &mut RankState, frame: &mut Frame<'_>, of: args::Cart_sub) -> Answer {
    state.comm(of.comm)?;
    let grid = state.topologies.grid(of.comm)?;
    let remain = frame.ints(of.remain_dims, grid.dimensions().len())?;
    let remain: Vec<bool> = remain.into_iter().map(|remain| remain != 0).collect();
    let parts = grid.sub(&remain).map_err(|error| wrong_grid(&error))?;
    let by = Arrangement::Subgrid(remain.into());
    arranges(state, (of.newcomm, of.comm), by, Topology::Grid(parts.grid))
}

fn create_graph(state: &mut RankState, frame: &mut Frame<'_>, of: args::Graph_create) -> Answer {
    let (parent, me) = (of.comm_old, state.rank);
    let comm = state.intracomm(parent)?;
    let (number, size) = (comm.number, comm.size());
    let rank = comm.group.rank(me).expect("a rank is in its communicators").0;
    let graph = graph_of(frame, of.nnodes, (of.indx, of.edges), size)?;
    let nodes = graph.ends.len();
    if nodes == 0 {
        frame.put_handle(of.comm_graph, mpi5::COMM_NULL);
        return done();
    }
    let call = |new| CommCall::Arrange { comm: number, by: graph.arrangement(), new };
    if rank as usize >= nodes {
        return Ok(comms::none_made(call(state.comms.free()?), of.comm_graph));
    }
    arranges(state, (of.comm_graph, parent), graph.arrangement(), Topology::Whole(Arc::new(graph)))
}

fn create_adjacent(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Dist_graph_create_adjacent,
) -> Answer {
    let parent = of.comm_old;
    let size = state.intracomm(parent)?.size();
    let (sources, from) = near_of(frame, of.indegree, (of.sources, of.sourceweights), size)?;
    let (destinations, to) = near_of(frame, of.outdegree, (of.destinations, of.destweights), size)?;
    let weights = match (from, to) {
        (Some(from), Some(to)) => Some([from, to]),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(Fault::new(mpi5::ERR_ARG, "weights of sources or destinations alone"));
        }
    };
    arranges_near(state, (of.comm_dist_graph, parent), Near { sources, destinations, weights })
}

fn arranges_near(
    state: &mut RankState,
    to: (To<handle::Comm>, handle::Comm),
    near: Near,
) -> Answer {
    let by = Arrangement::Graph(Neighbours {
        sources: ranks(&near.sources),
        destinations: ranks(&near.destinations),
        of_grid: false,
    });
    arranges(state, to, by, Topology::Near(Arc::new(near)))
}

/// Any rank names any edges: all get the number that each names, and the edges.
fn create_distributed(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Dist_graph_create,
) -> Answer {
    let comm = state.intracomm(of.comm_old)?;
    let (number, size) = (comm.number, comm.size());
    let count = length(of.n)?;
    let (sources, degrees) = (frame.ints(of.sources, count)?, frame.ints(of.degrees, count)?);
    if degrees.iter().any(|degree| *degree < 0) {
        return Err(Fault::new(mpi5::ERR_ARG, "a node with a negative number of edges"));
    }
    let all: i64 = degrees.iter().map(|degree| i64::from(*degree)).sum();
    let all = usize::try_from(all).expect("a sum of numbers that are not negative");
    let destinations = frame.ints(of.destinations, all)?;
    check_ranks(&sources, size)?;
    check_ranks(&destinations, size)?;
    let is_weighted = of.weights.address != mpi5::UNWEIGHTED;
    let weights = if is_weighted && of.weights.address != mpi5::WEIGHTS_EMPTY {
        frame.ints(of.weights, all)?
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
    Ok(NextStep::calls(Call::Communicators(call), move |_, _, reply| {
        let Reply::Numbers(lengths) = reply else { return done() };
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut padded = own;
        padded.resize(longest as usize, 0);
        let call = CommCall::Numbers { comm: number, own: padded.into() };
        Ok(NextStep::calls(Call::Communicators(call), move |state, _, reply| {
            let Reply::Numbers(edges) = reply else { return done() };
            let me = state.rank;
            let rank = state.comm(of.comm_old)?.group.rank(me).map_or(0, |rank| rank.0);
            let near = among(&edges, &lengths, longest as usize, rank.cast_signed(), is_weighted);
            arranges_near(state, (of.comm_dist_graph, of.comm_old), near)
        }))
    }))
}

/// How many neighbours messages come from and go to; for collectives among them.
pub(super) fn degrees(state: &mut RankState, comm: handle::Comm) -> Result<[usize; 2], Fault> {
    let me = state.rank;
    let rank = state.intracomm(comm)?.group.rank(me).expect("a rank is in its communicators");
    state.topologies.degrees(comm, rank)
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
