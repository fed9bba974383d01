//! Topologies as the arguments of a call describe them.

use crate::functions as mpi5;
use crate::mpi::args::{To, length};
use crate::mpi::fault::Fault;
use crate::mpi::frame::{Frame, listed};
use crate::mpi::objects::topologies::Graph;
use ::mpi::cartesian::{CartesianError, Dimension};

/// So many dimensions, by their lengths and periods.
pub(super) fn dimensions(
    frame: &mut Frame<'_>,
    (extents, periods): (To<i32>, To<i32>),
    count: usize,
) -> Result<Vec<Dimension>, Fault> {
    let (extents, periods) = (frame.ints(extents, count)?, frame.ints(periods, count)?);
    let dimension = |(extent, period): (i32, i32)| {
        let extent = u32::try_from(extent).ok().filter(|extent| *extent > 0);
        let extent =
            extent.ok_or_else(|| Fault::new(mpi5::ERR_DIMS, "a dimension without positions"))?;
        Ok(Dimension { extent, periodic: period != 0 })
    };
    extents.into_iter().zip(periods).map(dimension).collect()
}

/// Positions of a grid.
pub(super) fn positions(dimensions: &[Dimension]) -> u64 {
    dimensions.iter().fold(1, |all, dimension| all.saturating_mul(dimension.extent.into()))
}

/// The graph of so many nodes, by its index and its edges.
pub(super) fn graph_of(
    frame: &mut Frame<'_>,
    nodes: i32,
    (index, edges): (To<i32>, To<i32>),
    size: u32,
) -> Result<Graph, Fault> {
    let count = length(nodes)?;
    let ends = frame.ints(index, count)?;
    let wrong = |why: String| Err(Fault::new(mpi5::ERR_ARG, why));
    if count > size as usize {
        return wrong(format!("a graph of {count} nodes for {size} ranks"));
    }
    if ends.first().is_some_and(|end| *end < 0) || !ends.is_sorted() {
        return wrong(format!("the index of a graph grows from 0: {}", listed(&ends)));
    }
    let edges =
        frame.ints(edges, usize::try_from(ends.last().copied().unwrap_or(0)).unwrap_or(0))?;
    let is_node = |node: &i32| usize::try_from(*node).is_ok_and(|node| node < count);
    match edges.iter().find(|node| !is_node(node)) {
        Some(beyond) => wrong(format!("an edge leads to rank {beyond} of {count} nodes")),
        None => Ok(Graph { ends, edges }),
    }
}

/// So many neighbours: their ranks and their weights.
pub(super) fn near_of(
    frame: &mut Frame<'_>,
    degree: i32,
    (ranks, weights): (To<i32>, To<i32>),
    size: u32,
) -> Result<(Vec<i32>, Option<Vec<i32>>), Fault> {
    let count = length(degree)?;
    let near = frame.ints(ranks, count)?;
    check_ranks(&near, size)?;
    let weights = match weights.address {
        mpi5::UNWEIGHTED => None,
        mpi5::WEIGHTS_EMPTY => Some(Vec::new()),
        _ => Some(frame.ints(weights, count)?),
    };
    Ok((near, weights))
}

/// Whether all are ranks of so many.
pub(super) fn check_ranks(all: &[i32], size: u32) -> Result<(), Fault> {
    match all.iter().find(|rank| !(0..size.cast_signed()).contains(*rank)) {
        Some(beyond) => {
            Err(Fault::new(mpi5::ERR_RANK, format!("rank {beyond} of {size} does not exist")))
        }
        None => Ok(()),
    }
}

/// The error of a grid.
pub(super) fn wrong_grid(error: &CartesianError) -> Fault {
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
