//! What programs ask of a topology, without a message.

use std::sync::Arc;

use super::arguments::{dimensions, graph_of, positions, wrong_grid};
use super::balance;
use crate::functions as mpi5;
use crate::mpi::asked::{Asked, listed};
use crate::mpi::fault::Fault;
use crate::mpi::objects::topologies::{Graph, Near, Topology};
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::cartesian::Cartesian;
use ::mpi::envelope::Rank;

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Dims_create => dims_create(asked),
        F::Topo_test => topo_test(state, asked),
        F::Cartdim_get => grid(state, asked.word(0)).and_then(|grid| {
            asked.put_int(1, int(grid.dimensions().len()));
            done()
        }),
        F::Cart_get => cart_get(state, asked),
        F::Cart_rank => cart_rank(state, asked),
        F::Cart_coords => cart_coords(state, asked),
        F::Cart_shift => cart_shift(state, asked),
        F::Cart_map => cart_map(state, asked),
        F::Graph_map => graph_map(state, asked),
        F::Graphdims_get => graph(state, asked.word(0)).and_then(|graph| {
            asked.put_int(1, int(graph.ends.len()));
            asked.put_int(2, int(graph.edges.len()));
            done()
        }),
        F::Graph_get => graph_get(state, asked),
        F::Graph_neighbors_count => node(state, asked).and_then(|(graph, node)| {
            asked.put_int(2, int(graph.of(node).len()));
            done()
        }),
        F::Graph_neighbors => node(state, asked).and_then(|(graph, node)| {
            let room = asked.length(2)?;
            asked.put_ints(3, graph.of(node).iter().copied().take(room));
            done()
        }),
        F::Dist_graph_neighbors_count => near(state, asked.word(0)).and_then(|near| {
            asked.put_int(1, int(near.sources.len()));
            asked.put_int(2, int(near.destinations.len()));
            asked.put_flag(3, near.weights.is_some());
            done()
        }),
        F::Dist_graph_neighbors => near_get(state, asked),
        _ => return None,
    })
}

fn topo_test(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    state.comm(asked.word(0))?;
    let kind = match state.topologies.get(asked.word(0)) {
        Some(Topology::Grid(_)) => mpi5::CART,
        Some(Topology::Whole(_)) => mpi5::GRAPH,
        Some(Topology::Near(_)) => mpi5::DIST_GRAPH,
        None => mpi5::UNDEFINED,
    };
    asked.put_int(1, kind);
    done()
}

/// The grid of a communicator.
fn grid(state: &mut RankState, comm: u64) -> Result<Cartesian, Fault> {
    state.comm(comm)?;
    state.topologies.grid(comm)
}

/// The graph of a communicator that all its ranks know.
fn graph(state: &mut RankState, comm: u64) -> Result<Arc<Graph>, Fault> {
    state.comm(comm)?;
    state.topologies.graph(comm)
}

/// The neighbours of the caller in a communicator with a distributed graph.
fn near(state: &mut RankState, comm: u64) -> Result<Arc<Near>, Fault> {
    state.comm(comm)?;
    state.topologies.near(comm)
}

/// The caller's rank in a communicator.
fn rank_in(state: &mut RankState, comm: u64) -> Result<Rank, Fault> {
    let me = state.rank;
    Ok(state.comm(comm)?.group.rank(me).expect("a rank is in its communicators"))
}

fn cart_get(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (grid, room) = (grid(state, asked.word(0))?, asked.length(1)?);
    let rank = rank_in(state, asked.word(0))?;
    let places = coordinates(&grid, rank, room)?;
    let all = grid.dimensions();
    asked.put_ints(2, all.iter().map(|dimension| dimension.extent.cast_signed()));
    asked.put_ints(3, all.iter().map(|dimension| i32::from(dimension.periodic)));
    asked.put_ints(4, places);
    done()
}

fn cart_rank(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let grid = grid(state, asked.word(0))?;
    let places = asked.ints(1, grid.dimensions().len())?;
    let places: Vec<i64> = places.into_iter().map(i64::from).collect();
    let Rank(rank) = grid.rank(&places).map_err(|error| wrong_grid(&error))?;
    asked.put_int(2, rank.cast_signed());
    done()
}

fn cart_coords(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (grid, rank, room) = (grid(state, asked.word(0))?, asked.int(1), asked.length(2)?);
    let Ok(known) = u32::try_from(rank) else {
        return Err(Fault::new(mpi5::ERR_RANK, format!("rank {rank} stands in no grid")));
    };
    let places = coordinates(&grid, Rank(known), room)?;
    asked.put_ints(3, places);
    done()
}

fn cart_shift(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (grid, along) = (grid(state, asked.word(0))?, asked.length(1)?);
    let rank = rank_in(state, asked.word(0))?;
    if grid.dimensions().is_empty() {
        return Err(Fault::new(mpi5::ERR_TOPOLOGY, "the grid has no dimension"));
    }
    let shift = grid.shift(rank, along, asked.int(2)).map_err(|error| wrong_grid(&error))?;
    let number = |rank: Option<Rank>| rank.map_or(mpi5::PROC_NULL, |rank| rank.0.cast_signed());
    asked.put_int(3, number(shift.source));
    asked.put_int(4, number(shift.destination));
    done()
}

fn cart_map(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (size, count) = (state.intracomm(asked.word(0))?.size(), asked.length(1)?);
    let positions = positions(&dimensions(asked, 2, count)?);
    if positions > u64::from(size) {
        let why = format!("a grid of {positions} positions for {size} ranks");
        return Err(Fault::new(mpi5::ERR_DIMS, why));
    }
    mapped(state, asked, 4, positions)
}

fn graph_map(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let size = state.intracomm(asked.word(0))?.size();
    let graph = graph_of(asked, 1, size)?;
    mapped(state, asked, 4, graph.ends.len() as u64)
}

/// Ranks keep their numbers; those beyond the topology have none.
fn mapped(state: &mut RankState, asked: &mut Asked<'_>, at: usize, positions: u64) -> Answer {
    let Rank(rank) = rank_in(state, asked.word(0))?;
    let is_in = u64::from(rank) < positions;
    asked.put_int(at, if is_in { rank.cast_signed() } else { mpi5::UNDEFINED });
    done()
}

fn graph_get(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let graph = graph(state, asked.word(0))?;
    for (at, list) in [(1, &graph.ends), (2, &graph.edges)] {
        let room = asked.length(at)?;
        if room < list.len() {
            let why = format!("room for {room} of {} numbers", list.len());
            return Err(Fault::new(mpi5::ERR_ARG, why));
        }
    }
    asked.put_ints(3, graph.ends.iter().copied());
    asked.put_ints(4, graph.edges.iter().copied());
    done()
}

/// The graph of a communicator, and the node that argument 1 names.
fn node(state: &mut RankState, asked: &Asked<'_>) -> Result<(Arc<Graph>, usize), Fault> {
    let (graph, rank) = (graph(state, asked.word(0))?, asked.int(1));
    let node = usize::try_from(rank).ok().filter(|node| *node < graph.ends.len());
    let why = || Fault::new(mpi5::ERR_RANK, format!("rank {rank} is no node of the graph"));
    Ok((Arc::clone(&graph), node.ok_or_else(why)?))
}

fn near_get(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let near = near(state, asked.word(0))?;
    for (at, list) in [&near.sources, &near.destinations].into_iter().enumerate() {
        let first = 1 + 3 * at;
        let room = asked.length(first)?;
        asked.put_ints(first + 1, list.iter().copied().take(room));
        let wanted = asked.word(first + 2);
        if let Some(weights) = &near.weights
            && wanted != mpi5::UNWEIGHTED
            && wanted != mpi5::WEIGHTS_EMPTY
        {
            asked.put_ints(first + 2, weights[at].iter().copied().take(room));
        }
    }
    done()
}

fn coordinates(grid: &Cartesian, rank: Rank, room: usize) -> Result<Vec<i32>, Fault> {
    let places = grid.coordinates(rank).map_err(|error| wrong_grid(&error))?;
    if room < places.len() {
        let why = format!("room for {room} of {} coordinates", places.len());
        return Err(Fault::new(mpi5::ERR_ARG, why));
    }
    Ok(places.into_iter().map(u32::cast_signed).collect())
}

fn dims_create(asked: &mut Asked<'_>) -> Answer {
    let (nodes, count) = (asked.int(0), asked.length(1)?);
    let mut extents = asked.ints(2, count)?;
    let wrong = |why: String| Err(Fault::new(mpi5::ERR_DIMS, why));
    let Some(nodes) = u32::try_from(nodes).ok().filter(|nodes| *nodes > 0) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("a grid of {nodes} nodes")));
    };
    if extents.iter().any(|extent| *extent < 0) {
        return wrong(format!("a negative dimension: {}", listed(&extents)));
    }
    let given = extents.iter().filter(|extent| **extent > 0);
    let given = given.fold(1, |all: u64, extent| all.saturating_mul(extent.unsigned_abs().into()));
    let open = extents.iter().filter(|extent| **extent == 0).count();
    if u64::from(nodes) % given != 0 || open == 0 && u64::from(nodes) != given {
        return wrong(format!("{nodes} nodes in a grid of {}", listed(&extents)));
    }
    let rest = u32::try_from(u64::from(nodes) / given).expect("a part of the nodes");
    let found = balance::factors(rest, open);
    for (place, found) in extents.iter_mut().filter(|extent| **extent == 0).zip(found) {
        *place = found.cast_signed();
    }
    asked.put_ints(2, extents);
    done()
}

fn int(length: usize) -> i32 {
    i32::try_from(length).expect("a C int counted it")
}
