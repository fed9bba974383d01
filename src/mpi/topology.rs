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
    /// A graph that has more edges from one rank to another than back: it has no collectives among neighbours.
    OneWay,
}

/// A graph that all ranks know.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Graph {
    /// Where the neighbours of each rank end among the edges.
    pub ends: Arc<[u32]>,
    /// The neighbours of one rank after the other.
    pub edges: Arc<[Rank]>,
}

impl Graph {
    /// Why it is no graph of at most so many ranks, if it is none.
    pub fn fault(&self, ranks: u32) -> Option<String> {
        let Self { ends, edges } = self;
        if ends.len() > ranks as usize {
            return Some(format!("{} nodes for {ranks} ranks", ends.len()));
        }
        if let Some(place) = ends.windows(2).position(|two| two[0] > two[1]) {
            return Some(format!("the index of node {} is less than that before it", place + 1));
        }
        let named = ends.last().copied().unwrap_or(0);
        if named as usize != edges.len() {
            return Some(format!(
                "the index ends with {named}, and there are {} edges",
                edges.len()
            ));
        }
        let beyond = edges.iter().find(|rank| rank.0 as usize >= ends.len());
        beyond.map(|rank| format!("an edge leads to rank {} of {} nodes", rank.0, ends.len()))
    }

    /// The neighbours of a rank of a graph without fault.
    pub fn of(&self, Rank(rank): Rank) -> &[Rank] {
        let end = |rank: u32| self.ends.get(rank as usize).map_or(0, |end| *end as usize);
        let begin = rank.checked_sub(1).map_or(0, end);
        &self.edges[begin..end(rank).max(begin)]
    }

    /// The topology that a rank knows.
    pub fn topology(&self, me: Rank) -> Topology {
        let mut edges: Vec<(Rank, Rank)> = Vec::with_capacity(self.edges.len());
        for rank in (0..).take(self.ends.len()).map(Rank) {
            edges.extend(self.of(rank).iter().map(|to| (rank, *to)));
        }
        edges.sort_unstable();
        let mut back: Vec<(Rank, Rank)> = edges.iter().map(|(from, to)| (*to, *from)).collect();
        back.sort_unstable();
        if edges != back {
            return Topology::OneWay;
        }
        let sources: Arc<[_]> = self.of(me).iter().copied().map(Some).collect();
        let destinations = Arc::clone(&sources);
        Topology::Graph(Neighbours { sources, destinations, of_grid: false })
    }
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
    /// The neighbours of a rank; `None` where it has none that collectives know.
    pub fn neighbours(&self, me: Rank) -> Option<Neighbours> {
        Some(match self {
            Self::OneWay => return None,
            Self::Graph(neighbours) => neighbours.clone(),
            Self::Grid(grid) => {
                let shifts =
                    (0..grid.dimensions().len()).filter_map(|along| grid.shift(me, along, 1).ok());
                let all: Arc<[Option<Rank>]> =
                    shifts.flat_map(|shift| [shift.source, shift.destination]).collect();
                Neighbours { sources: Arc::clone(&all), destinations: all, of_grid: true }
            }
        })
    }
}

impl Neighbours {
    /// Places for so many sources and destinations, which are not known.
    pub fn places([sources, destinations]: [usize; 2]) -> Self {
        let [sources, destinations] = [sources, destinations].map(|count| vec![None; count].into());
        Self { sources, destinations, of_grid: false }
    }

    /// Those of a rank in a graph whose edges, each from one rank to another, any rank names: in their order.
    pub fn among(edges: &[(Rank, Rank)], me: Rank) -> Self {
        let mut found = [Vec::new(), Vec::new()];
        for (from, to) in edges {
            found[0].extend((*to == me).then_some(Some(*from)));
            found[1].extend((*from == me).then_some(Some(*to)));
        }
        let [sources, destinations] = found.map(Arc::from);
        Self { sources, destinations, of_grid: false }
    }

    /// How many sources and destinations there are.
    pub fn degrees(&self) -> [usize; 2] {
        [self.sources.len(), self.destinations.len()]
    }

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
    fn a_graph_that_all_know_has_collectives_where_each_edge_leads_back() {
        let graph = |ends: &[u32], edges: &[u32]| Graph {
            ends: ends.into(),
            edges: edges.iter().copied().map(Rank).collect(),
        };
        let star = graph(&[2, 3, 4, 4], &[1, 2, 0, 0]);
        assert_eq!(star.fault(4), None);
        let found = star.topology(Rank(0)).neighbours(Rank(0)).expect("it is symmetric");
        assert_eq!(*found.sources, [Some(Rank(1)), Some(Rank(2))]);
        assert_eq!(found.degrees(), [2, 2]);
        assert_eq!(
            star.topology(Rank(3)).neighbours(Rank(3)).map(|one| one.degrees()),
            Some([0, 0])
        );
        assert_eq!(graph(&[1, 1], &[1]).topology(Rank(0)), Topology::OneWay);
        // Two edges there, and one back.
        assert_eq!(graph(&[2, 3], &[1, 1, 0]).topology(Rank(0)), Topology::OneWay);
        for (wrong, words) in [
            (graph(&[1, 2], &[1, 0]), "2 nodes for 1 ranks"),
            (graph(&[1, 0], &[]), "the index of node 1 is less"),
            (graph(&[1], &[]), "the index ends with 1, and there are 0 edges"),
            (graph(&[1], &[1]), "an edge leads to rank 1 of 1 nodes"),
        ] {
            let said = wrong.fault(if words.ends_with("1 ranks") { 1 } else { 2 });
            assert!(said.is_some_and(|said| said.contains(words)), "{words}");
        }
    }

    #[test]
    fn edges_that_any_rank_names_are_in_their_order() {
        let edges = [(2, 0), (0, 1), (1, 0), (2, 0)].map(|(from, to)| (Rank(from), Rank(to)));
        let found = Neighbours::among(&edges, Rank(0));
        assert_eq!(*found.sources, [2, 1, 2].map(|rank| Some(Rank(rank))));
        assert_eq!(*found.destinations, [Some(Rank(1))]);
    }

    #[test]
    fn a_ring_of_two_has_one_rank_before_and_behind() {
        let ring = Dimension { extent: 2, periodic: true };
        let line = Dimension { extent: 1, periodic: false };
        let grid = Cartesian::new(2, vec![ring, line]).expect("two ranks");
        let found = Topology::Grid(grid).neighbours(Rank(0)).expect("a grid has neighbours");
        assert_eq!(*found.sources, [Some(Rank(1)), Some(Rank(1)), None, None]);
        assert_eq!(found.sources, found.destinations);
        // What goes back comes from the front.
        assert_eq!((found.leaves(0), found.comes(1)), (0, 0));
        assert_eq!((found.leaves(1), found.comes(0)), (1, 1));
    }
}
