//! What programs ask of a topology, without a message.

use std::sync::Arc;

use super::arguments::{dimensions, graph_of, positions, wrong_grid};
use super::balance;
use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle, length};
use crate::mpi::families::Asking as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::{Frame, listed};
use crate::mpi::objects::topologies::{Graph, Near, Topology};
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::cartesian::Cartesian;
use ::mpi::envelope::Rank;

pub(in super::super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Dims_create(of) => dims_create(frame, of),
        F::Topo_test(of) => topo_test(state, frame, of),
        F::Cartdim_get(of) => {
            let grid = grid(state, of.comm)?;
            frame.put_int(of.ndims, int(grid.dimensions().len()));
            done()
        }
        F::Cart_get(of) => cart_get(state, frame, of),
        F::Cart_rank(of) => cart_rank(state, frame, of),
        F::Cart_coords(of) => cart_coords(state, frame, of),
        F::Cart_shift(of) => cart_shift(state, frame, of),
        F::Cart_map(of) => cart_map(state, frame, of),
        F::Graph_map(of) => graph_map(state, frame, of),
        F::Graphdims_get(of) => {
            let graph = graph(state, of.comm)?;
            frame.put_int(of.nnodes, int(graph.ends.len()));
            frame.put_int(of.nedges, int(graph.edges.len()));
            done()
        }
        F::Graph_get(of) => graph_get(state, frame, of),
        F::Graph_neighbors_count(of) => {
            let (graph, node) = node(state, of.comm, of.rank)?;
            frame.put_int(of.nneighbors, int(graph.of(node).len()));
            done()
        }
        F::Graph_neighbors(of) => {
            let (graph, node) = node(state, of.comm, of.rank)?;
            let room = length(of.maxneighbors)?;
            frame.put_ints(of.neighbors, graph.of(node).iter().copied().take(room));
            done()
        }
        F::Dist_graph_neighbors_count(of) => {
            let near = near(state, of.comm)?;
            frame.put_int(of.indegree, int(near.sources.len()));
            frame.put_int(of.outdegree, int(near.destinations.len()));
            frame.put_flag(of.weighted, near.weights.is_some());
            done()
        }
        F::Dist_graph_neighbors(of) => near_get(state, frame, of),
    }
}

fn topo_test(state: &mut RankState, frame: &mut Frame<'_>, of: args::Topo_test) -> Answer {
    state.comm(of.comm)?;
    let kind = match state.topologies.get(of.comm) {
        Some(Topology::Grid(_)) => mpi5::CART,
        Some(Topology::Whole(_)) => mpi5::GRAPH,
        Some(Topology::Near(_)) => mpi5::DIST_GRAPH,
        None => mpi5::UNDEFINED,
    };
    frame.put_int(of.status, kind);
    done()
}

/// The grid of a communicator.
fn grid(state: &mut RankState, comm: handle::Comm) -> Result<Cartesian, Fault> {
    state.comm(comm)?;
    state.topologies.grid(comm)
}

/// The graph of a communicator that all its ranks know.
fn graph(state: &mut RankState, comm: handle::Comm) -> Result<Arc<Graph>, Fault> {
    state.comm(comm)?;
    state.topologies.graph(comm)
}

/// The neighbours of the caller in a communicator with a distributed graph.
fn near(state: &mut RankState, comm: handle::Comm) -> Result<Arc<Near>, Fault> {
    state.comm(comm)?;
    state.topologies.near(comm)
}

/// The caller's rank in a communicator.
fn rank_in(state: &mut RankState, comm: handle::Comm) -> Result<Rank, Fault> {
    let me = state.rank;
    Ok(state.comm(comm)?.group.rank(me).expect("a rank is in its communicators"))
}

fn cart_get(state: &mut RankState, frame: &mut Frame<'_>, of: args::Cart_get) -> Answer {
    let (grid, room) = (grid(state, of.comm)?, length(of.maxdims)?);
    let rank = rank_in(state, of.comm)?;
    let places = coordinates(&grid, rank, room)?;
    let all = grid.dimensions();
    frame.put_ints(of.dims, all.iter().map(|dimension| dimension.extent.cast_signed()));
    frame.put_ints(of.periods, all.iter().map(|dimension| i32::from(dimension.periodic)));
    frame.put_ints(of.coords, places);
    done()
}

fn cart_rank(state: &mut RankState, frame: &mut Frame<'_>, of: args::Cart_rank) -> Answer {
    let grid = grid(state, of.comm)?;
    let places = frame.ints(of.coords, grid.dimensions().len())?;
    let places: Vec<i64> = places.into_iter().map(i64::from).collect();
    let Rank(rank) = grid.rank(&places).map_err(|error| wrong_grid(&error))?;
    frame.put_int(of.rank, rank.cast_signed());
    done()
}

fn cart_coords(state: &mut RankState, frame: &mut Frame<'_>, of: args::Cart_coords) -> Answer {
    let args::Cart_coords { comm, rank, maxdims, coords } = of;
    let (grid, room) = (grid(state, comm)?, length(maxdims)?);
    let Ok(known) = u32::try_from(rank) else {
        return Err(Fault::new(mpi5::ERR_RANK, format!("rank {rank} stands in no grid")));
    };
    let places = coordinates(&grid, Rank(known), room)?;
    frame.put_ints(coords, places);
    done()
}

fn cart_shift(state: &mut RankState, frame: &mut Frame<'_>, of: args::Cart_shift) -> Answer {
    let (grid, along) = (grid(state, of.comm)?, length(of.direction)?);
    let rank = rank_in(state, of.comm)?;
    if grid.dimensions().is_empty() {
        return Err(Fault::new(mpi5::ERR_TOPOLOGY, "the grid has no dimension"));
    }
    let shift = grid.shift(rank, along, of.disp).map_err(|error| wrong_grid(&error))?;
    let number = |rank: Option<Rank>| rank.map_or(mpi5::PROC_NULL, |rank| rank.0.cast_signed());
    frame.put_int(of.rank_source, number(shift.source));
    frame.put_int(of.rank_dest, number(shift.destination));
    done()
}

fn cart_map(state: &mut RankState, frame: &mut Frame<'_>, of: args::Cart_map) -> Answer {
    let (size, count) = (state.intracomm(of.comm)?.size(), length(of.ndims)?);
    let positions = positions(&dimensions(frame, (of.dims, of.periods), count)?);
    if positions > u64::from(size) {
        let why = format!("a grid of {positions} positions for {size} ranks");
        return Err(Fault::new(mpi5::ERR_DIMS, why));
    }
    mapped(state, frame, (of.comm, of.newrank), positions)
}

fn graph_map(state: &mut RankState, frame: &mut Frame<'_>, of: args::Graph_map) -> Answer {
    let size = state.intracomm(of.comm)?.size();
    let graph = graph_of(frame, of.nnodes, (of.indx, of.edges), size)?;
    mapped(state, frame, (of.comm, of.newrank), graph.ends.len() as u64)
}

/// Ranks keep their numbers; those beyond the topology have none.
fn mapped(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    (comm, to): (handle::Comm, To<i32>),
    positions: u64,
) -> Answer {
    let Rank(rank) = rank_in(state, comm)?;
    let is_in = u64::from(rank) < positions;
    frame.put_int(to, if is_in { rank.cast_signed() } else { mpi5::UNDEFINED });
    done()
}

fn graph_get(state: &mut RankState, frame: &mut Frame<'_>, of: args::Graph_get) -> Answer {
    let graph = graph(state, of.comm)?;
    for (most, list) in [(of.maxindex, &graph.ends), (of.maxedges, &graph.edges)] {
        let room = length(most)?;
        if room < list.len() {
            let why = format!("room for {room} of {} numbers", list.len());
            return Err(Fault::new(mpi5::ERR_ARG, why));
        }
    }
    frame.put_ints(of.indx, graph.ends.iter().copied());
    frame.put_ints(of.edges, graph.edges.iter().copied());
    done()
}

/// The graph of a communicator, and the node of a rank.
fn node(
    state: &mut RankState,
    comm: handle::Comm,
    rank: i32,
) -> Result<(Arc<Graph>, usize), Fault> {
    let graph = graph(state, comm)?;
    let node = usize::try_from(rank).ok().filter(|node| *node < graph.ends.len());
    let why = || Fault::new(mpi5::ERR_RANK, format!("rank {rank} is no node of the graph"));
    Ok((Arc::clone(&graph), node.ok_or_else(why)?))
}

fn near_get(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Dist_graph_neighbors,
) -> Answer {
    let near = near(state, of.comm)?;
    let sides = [
        (of.maxindegree, &near.sources, of.sources, of.sourceweights),
        (of.maxoutdegree, &near.destinations, of.destinations, of.destweights),
    ];
    for (at, (most, list, ranks, wanted)) in sides.into_iter().enumerate() {
        let room = length(most)?;
        frame.put_ints(ranks, list.iter().copied().take(room));
        if let Some(weights) = &near.weights
            && wanted.address != mpi5::UNWEIGHTED
            && wanted.address != mpi5::WEIGHTS_EMPTY
        {
            frame.put_ints(wanted, weights[at].iter().copied().take(room));
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

fn dims_create(frame: &mut Frame<'_>, of: args::Dims_create) -> Answer {
    let args::Dims_create { nnodes: nodes, ndims, dims } = of;
    let mut extents = frame.ints(dims, length(ndims)?)?;
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
    frame.put_ints(dims, extents);
    done()
}

fn int(length: usize) -> i32 {
    i32::try_from(length).expect("a C int counted it")
}
