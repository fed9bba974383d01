//! What a communicator knows of its ranks' neighbours: a grid, or the edges of a graph.
//!
//! Source: MPI 4.0, Sec. 8.5 and 8.6. Left out: renumbering of ranks, weights of edges.

use std::sync::Arc;

use super::cartesian::Cartesian;
use super::envelope::Rank;

/// A topology.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Topology {
    /// The ranks stand in a grid.
    Grid(Cartesian),
    /// This rank has these neighbours.
    Graph(Neighbours),
}

/// The neighbours of a rank, from which its messages come and to which they go; `None` is `MPI_PROC_NULL`.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Neighbours {
    /// From which messages come.
    pub sources: Arc<[Option<Rank>]>,
    /// To which they go.
    pub destinations: Arc<[Option<Rank>]>,
    /// Whether they are those of a grid: two for each dimension, the one before and the one behind.
    pub of_grid: bool,
}

impl Topology {
    /// The neighbours of a rank.
    pub fn neighbours(&self, me: Rank) -> Neighbours {
        match self {
            Self::Graph(neighbours) => neighbours.clone(),
            Self::Grid(grid) => {
                let shifts =
                    (0..grid.dimensions().len()).filter_map(|along| grid.shift(me, along, 1).ok());
                let all: Arc<[Option<Rank>]> =
                    shifts.flat_map(|shift| [shift.source, shift.destination]).collect();
                Neighbours { sources: Arc::clone(&all), destinations: all, of_grid: true }
            }
        }
    }
}

impl Neighbours {
    /// The number of what leaves for a neighbour, among all between the same two ranks: in a grid the
    /// direction, since the ranks before and behind may be one.
    pub const fn leaves(&self, place: u16) -> u16 {
        if self.of_grid { place } else { 0 }
    }

    /// The number of what comes from a neighbour: in a grid it came the other way.
    pub const fn comes(&self, place: u16) -> u16 {
        if self.of_grid { place ^ 1 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cartesian::Dimension;

    #[test]
    fn a_ring_of_two_has_one_rank_before_and_behind() {
        let ring = Dimension { extent: 2, periodic: true };
        let line = Dimension { extent: 1, periodic: false };
        let grid = Cartesian::new(2, vec![ring, line]).expect("two ranks");
        let found = Topology::Grid(grid).neighbours(Rank(0));
        assert_eq!(*found.sources, [Some(Rank(1)), Some(Rank(1)), None, None]);
        assert_eq!(found.sources, found.destinations);
        // What goes back comes from the front.
        assert_eq!((found.leaves(0), found.comes(1)), (0, 0));
        assert_eq!((found.leaves(1), found.comes(0)), (1, 1));
    }
}
