//! Topologies: grids and graphs of the ranks of a communicator.
//!
//! The library makes the communicators and knows the neighbours of collectives; what the program asks of a topology is
//! answered here. Ranks keep their order, also where the program lets MPI change it.

mod arguments;
mod asking;
mod balance;

use std::sync::Arc;

use super::comms;
use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::topologies::{Near, Topology};
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use ::mpi::cartesian::Cartesian;
use ::mpi::envelope::Rank;
use ::mpi::topology::Neighbours;
use arguments::{check_ranks, dimensions, graph_of, near_of, positions, wrong_grid};
use protocols::call::{Arrangement, Call, CommCall, Reply};

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Cart_create => create_grid(state, asked),
        F::Cart_sub => create_subgrid(state, asked),
        F::Graph_create => create_graph(state, asked),
        F::Dist_graph_create_adjacent => create_adjacent(state, asked),
        F::Dist_graph_create => create_distributed(state, asked),
        _ => return asking::call(state, asked),
    })
}

/// A communicator with a topology is made; argument `at` gets its handle.
fn arranges(
    state: &mut RankState,
    (at, parent): (usize, u64),
    by: Arrangement,
    topology: Topology,
) -> Answer {
    let comm = state.intracomm(parent)?.number;
    let call = |new| CommCall::Arrange { comm, by, new };
    comms::makes(state, at, parent, call, move |state, _, handle| {
        state.topologies.set(handle, topology);
        done()
    })
}

fn create_grid(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (parent, count, me) = (asked.word(0), asked.length(1)?, state.rank);
    let comm = state.intracomm(parent)?;
    let (number, size, rank) = (comm.number, comm.size(), comm.group.rank(me));
    let dimensions = dimensions(asked, 2, count)?;
    let positions = positions(&dimensions);
    if positions > u64::from(size) {
        let why = format!("a grid of {positions} positions for {size} ranks");
        return Err(Fault::new(mpi5::ERR_ARG, why));
    }
    let positions = u32::try_from(positions).expect("no more than ranks");
    let by = Arrangement::Grid(dimensions.clone().into());
    if rank.is_none_or(|rank| rank.0 >= positions) {
        let new = state.comms.free()?;
        return Ok(comms::none_made(CommCall::Arrange { comm: number, by, new }, 5));
    }
    let grid = Cartesian::new(positions, dimensions).map_err(|error| wrong_grid(&error))?;
    arranges(state, (5, parent), by, Topology::Grid(grid))
}

fn create_subgrid(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let parent = asked.word(0);
    state.comm(parent)?;
    let grid = state.topologies.grid(parent)?;
    let remain = asked.ints(1, grid.dimensions().len())?;
    let remain: Vec<bool> = remain.into_iter().map(|remain| remain != 0).collect();
    let parts = grid.sub(&remain).map_err(|error| wrong_grid(&error))?;
    arranges(state, (2, parent), Arrangement::Subgrid(remain.into()), Topology::Grid(parts.grid))
}

fn create_graph(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (parent, me) = (asked.word(0), state.rank);
    let comm = state.intracomm(parent)?;
    let (number, size) = (comm.number, comm.size());
    let rank = comm.group.rank(me).expect("a rank is in its communicators").0;
    let graph = graph_of(asked, 1, size)?;
    let nodes = graph.ends.len();
    if nodes == 0 {
        asked.put_word(5, mpi5::COMM_NULL);
        return done();
    }
    let call = |new| CommCall::Arrange { comm: number, by: graph.arrangement(), new };
    if rank as usize >= nodes {
        return Ok(comms::none_made(call(state.comms.free()?), 5));
    }
    arranges(state, (5, parent), graph.arrangement(), Topology::Whole(Arc::new(graph)))
}

fn create_adjacent(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let parent = asked.word(0);
    let size = state.intracomm(parent)?.size();
    let (sources, from) = near_of(asked, 1, size)?;
    let (destinations, to) = near_of(asked, 4, size)?;
    let weights = match (from, to) {
        (Some(from), Some(to)) => Some([from, to]),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(Fault::new(mpi5::ERR_ARG, "weights of sources or destinations alone"));
        }
    };
    arranges_near(state, asked, 9, Near { sources, destinations, weights })
}

fn arranges_near(state: &mut RankState, asked: &Asked<'_>, at: usize, near: Near) -> Answer {
    let by = Arrangement::Graph(Neighbours {
        sources: ranks(&near.sources),
        destinations: ranks(&near.destinations),
        of_grid: false,
    });
    arranges(state, (at, asked.word(0)), by, Topology::Near(Arc::new(near)))
}

/// Any rank names any edges: all hear how many each names, and which.
fn create_distributed(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let parent = asked.word(0);
    let comm = state.intracomm(parent)?;
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
        Ok(Step::calls(Call::Communicators(call), move |state, asked, reply| {
            let Reply::Numbers(edges) = reply else { return done() };
            let me = state.rank;
            let rank = state.comm(asked.word(0))?.group.rank(me).map_or(0, |rank| rank.0);
            let near = among(&edges, &lengths, longest as usize, rank.cast_signed(), is_weighted);
            arranges_near(state, asked, 8, near)
        }))
    }))
}

/// How many neighbours messages come from and go to; for collectives among them.
pub(super) fn degrees(state: &mut RankState, comm: handle::Comm) -> Result<[usize; 2], Fault> {
    let me = state.rank;
    let rank = state.intracomm(comm)?.group.rank(me).expect("a rank is in its communicators");
    state.topologies.degrees(comm.0, rank)
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
