//! Graphs by recursive matrices (R-MAT), as the generator of Graph500 makes them.
//!
//! An edge chooses a quarter of the adjacency matrix, a quarter of that, and so on, until one element is
//! left; the first quarter is the most likely one. Labels are scrambled then, so that the number of a
//! vertex says nothing of its degree. Edges are undirected and may occur more than once.
//!
//! Source: graph500/graph500 2.1, `generator/graph_generator.c` (initiator 0.57, 0.19, 0.19, 0.05; labels
//! scrambled by products and reversed bits). Random numbers are our own, so that the graphs differ from
//! those of the benchmark; left out: the flip of edges below the diagonal, which makes no difference to an
//! undirected graph.

use crate::draws::Draws;

/// A graph before it is made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RMat {
    /// Binary logarithm of the number of vertices.
    pub scale: u32,
    /// Edges for each vertex.
    pub edge_factor: u32,
}

/// Of 2^32: the first quarter, the first two, the first three.
const QUARTERS: [u32; 3] = [2_448_131_359, 3_264_175_145, 4_080_218_931];

impl RMat {
    /// Number of vertices.
    pub const fn vertices(&self) -> u32 {
        1 << self.scale
    }

    /// Number of undirected edges.
    pub const fn edges(&self) -> u32 {
        self.edge_factor << self.scale
    }

    /// Calls `each` with the two ends of every edge, in an order that is always the same.
    pub fn for_each(&self, draws: &Draws, mut each: impl FnMut(u32, u32)) {
        let mut labels = draws("r-mat labels");
        let labels = Labels { scale: self.scale, keys: [labels(), labels()] };
        let mut stream = draws("r-mat edges");
        for _ in 0..self.edges() {
            let (mut from, mut to) = (0_u32, 0_u32);
            let mut level = 0;
            while level < self.scale {
                // One draw decides two levels.
                let draw = stream();
                #[expect(clippy::cast_possible_truncation, reason = "both halves are used")]
                for half in [draw as u32, (draw >> 32) as u32] {
                    if level < self.scale {
                        let [first, second, third] = QUARTERS.map(|bound| half >= bound);
                        let (down, right) = (second, first != second || third);
                        from = from << 1 | u32::from(down);
                        to = to << 1 | u32::from(right);
                        level += 1;
                    }
                }
            }
            each(labels.of(from), labels.of(to));
        }
    }

    /// The graph itself.
    ///
    /// Takes 4 bytes for each vertex and for each of the two ends of an edge.
    pub fn graph(&self, draws: &Draws) -> Graph {
        let mut starts = vec![0_u32; self.vertices() as usize + 1];
        self.for_each(draws, |from, to| {
            starts[from as usize + 1] += 1;
            starts[to as usize + 1] += 1;
        });
        for vertex in 1..starts.len() {
            starts[vertex] += starts[vertex - 1];
        }
        let mut targets = vec![0; 2 * self.edges() as usize];
        // The start of a vertex runs to its end while its targets are put in, then all are set back.
        self.for_each(draws, |from, to| {
            for (one, other) in [(from, to), (to, from)] {
                let place = &mut starts[one as usize];
                targets[*place as usize] = other;
                *place += 1;
            }
        });
        starts.rotate_right(1);
        starts[0] = 0;
        Graph { starts, targets }
    }
}

/// A permutation of the labels of vertices.
struct Labels {
    scale: u32,
    keys: [u64; 2],
}

impl Labels {
    fn of(&self, vertex: u32) -> u32 {
        let mut label = u64::from(vertex).wrapping_add(self.keys[0]);
        for key in self.keys {
            // A product with an odd number permutes the low bits, and so does turning them round.
            label = label.wrapping_mul(key | 1).reverse_bits() >> (64 - self.scale.max(1));
        }
        u32::try_from(label).expect("a label has as many bits as the scale says")
    }
}

/// A graph in compressed rows.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Graph {
    starts: Vec<u32>,
    targets: Vec<u32>,
}

impl Graph {
    /// Number of vertices.
    ///
    /// # Panics
    ///
    /// Never: vertices have numbers of 32 bits.
    pub fn vertices(&self) -> u32 {
        u32::try_from(self.starts.len() - 1).expect("vertices are counted in u32")
    }

    /// The other ends of a vertex's edges.
    pub fn neighbours(&self, vertex: u32) -> &[u32] {
        let [start, end] = [vertex, vertex + 1].map(|at| self.starts[at as usize] as usize);
        &self.targets[start..end]
    }

    /// A vertex to search from: the first one with an edge to another one, in the order of numbers
    /// from `first` on and round; `first` where there is none.
    pub fn root(&self, first: u32) -> u32 {
        let all = (first..self.vertices()).chain(0..first);
        let mut connected =
            all.filter(|vertex| self.neighbours(*vertex).iter().any(|other| other != vertex));
        connected.next().unwrap_or(first)
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::job::draws;
    use super::*;

    const SMALL: RMat = RMat { scale: 12, edge_factor: 16 };

    #[test]
    fn labels_are_a_permutation() {
        for scale in [1, 4, 11] {
            for keys in [[1, 2], [u64::MAX, 0x9E37_79B9_7F4A_7C15]] {
                let labels = Labels { scale, keys };
                let mut all: Vec<u32> = (0..1 << scale).map(|vertex| labels.of(vertex)).collect();
                all.sort_unstable();
                assert!(all.into_iter().eq(0..1 << scale));
            }
        }
    }

    #[test]
    fn rows_hold_both_ends_of_every_edge() {
        let graph = SMALL.graph(&*draws(7));
        let mut edges = Vec::new();
        SMALL.for_each(&*draws(7), |from, to| edges.extend([(from, to), (to, from)]));
        edges.sort_unstable();
        let mut rows: Vec<(u32, u32)> = (0..graph.vertices())
            .flat_map(|from| graph.neighbours(from).iter().map(move |to| (from, *to)))
            .collect();
        rows.sort_unstable();
        assert_eq!(rows, edges);
        assert_eq!(rows.len(), (2 * 16) << 12);
    }

    /// The quarters of the matrix, before labels are scrambled, on every level: 0.57, 0.19, 0.19, 0.05.
    #[test]
    fn edges_choose_quarters_as_often_as_the_benchmark_says() {
        let shares = QUARTERS.map(|bound| (u64::from(bound) * 1_000 + (1 << 31)) >> 32);
        assert_eq!(shares, [570, 760, 950]);
        // A vertex of the first half is an end of 0.76 of all edges, and so on: the greatest degree
        // of 2^12 vertices is near 2 x 16 x 2^12 x 0.76^12.
        let graph = SMALL.graph(&*draws(7));
        let degrees = (0..graph.vertices()).map(|vertex| graph.neighbours(vertex).len());
        let greatest = degrees.clone().max().unwrap();
        let expected = 4_867;
        assert!(greatest.abs_diff(expected) < 5 * 70, "{greatest} is {expected} within 5 sigma");
        assert!(degrees.filter(|degree| *degree == 0).count() > 500, "many have no edge");
    }

    #[test]
    fn a_root_has_a_neighbour() {
        let graph = SMALL.graph(&*draws(7));
        for first in (0..4_096).step_by(97) {
            let root = graph.root(first);
            assert!(graph.neighbours(root).iter().any(|other| *other != root));
        }
    }
}
