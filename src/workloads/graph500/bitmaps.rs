//! What a search over replicated bitmaps scans: edges and words, level by level.
//!
//! A vertex has a bit in the queue of its owner. 64 words of a queue have a word of its summary, whose
//! bits say which of them hold anything; a queue has a whole number of words of its summary, and one of
//! `replicated_csc` a power of two of them. All queues together are the frontier, of which every process
//! has a copy.
//!
//! ```text
//!   replicated        each own vertex that is not visited: its edges, up to the first one whose other
//!                     end is in the frontier
//!   replicated_csc    each word of the frontier that holds anything: all edges of its 64 vertices whose
//!                     other end is the process's own
//! ```
//!
//! As in `traffic`, what a graph scans is counted once it is searched, and scaled for other numbers of
//! vertices: edges and words of the frontier by the number of vertices, dealt out evenly.
//!
//! Source: graph500/graph500 2.1.4, `mpi/bfs_replicated.c`, `mpi/bfs_replicated_csc.c`, `mpi/oned_csc.c`
//! (sizes of queues, which edges are looked at). Ours: the order of a vertex's edges. Left out: where rows
//! begin, and the predecessors that are written.

use super::rmat::{Graph, RMat};
use super::traffic::{Totals, root, share};
use crate::draws::Draws;

/// How a process keeps the edges of its vertices.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Format {
    /// By its vertices, as `bfs_replicated` does (CSR).
    Rows,
    /// By words of the frontier, as `bfs_replicated_csc` does (CSC).
    Columns,
}

/// Bits of a word, and words of a queue for each word of its summary.
const WORD_BITS: u64 = u64::BITS as u64;
/// Bytes of a word.
const WORD_BYTES: u64 = WORD_BITS / u8::BITS as u64;

/// The queue of a process.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Queue {
    /// Words of its bitmap.
    pub words: u64,
    /// Words of its summary.
    pub summary: u64,
}

impl Queue {
    /// The queue of each process, where so many have so many vertices.
    pub const fn new(format: Format, vertices: u64, processes: u32) -> Self {
        let own = vertices.div_ceil(processes as u64);
        let words = own.div_ceil(WORD_BITS * WORD_BITS) * WORD_BITS;
        let words = match format {
            Format::Rows => words,
            Format::Columns => words.next_power_of_two(),
        };
        Self { words, summary: words / WORD_BITS }
    }

    /// Bytes of the bitmap, and of its summary.
    pub const fn bytes(self) -> [u64; 2] {
        [self.words * WORD_BYTES, self.summary * WORD_BYTES]
    }
}

/// A whole search.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Scanned {
    processes: u32,
    vertices: u64,
    queue: Queue,
    format: Format,
    levels: Vec<Level>,
}

/// One level of a search.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Level {
    edges: Edges,
    /// Words of the frontier that hold anything.
    filled: u64,
}

/// Edge ends that are looked at.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Edges {
    /// By the process that looks.
    Counted(Box<[u64]>),
    /// Of all processes, dealt out evenly.
    Even(u64),
}

impl Scanned {
    /// Makes the graph, searches it from a random root and counts.
    ///
    /// Takes 8 bytes for each vertex, and 4 for each edge end and 8 for each process in each level; the
    /// graph is gone afterwards.
    pub fn counted(graph: RMat, format: Format, draws: &Draws, processes: u32) -> Self {
        let levels = counts(graph, format, draws, processes);
        let level = |Count { edges, filled }| Level { edges: Edges::Counted(edges.into()), filled };
        let levels = levels.into_iter().map(level).collect();
        Self::of(levels, (format, graph.vertices().into(), processes))
    }

    /// Makes the graph, searches it from a random root, and scales what each level looks at to so many
    /// vertices.
    ///
    /// Takes 8 bytes for each vertex and 4 for each edge end; the graph is gone afterwards, and two numbers
    /// for each level are left.
    ///
    /// # Panics
    ///
    /// With more edge ends than 2^64; the scenario's shape limits vertices and edges.
    pub fn scaled(
        (graph, format): (RMat, Format),
        draws: &Draws,
        (processes, vertices): (u32, u64),
    ) -> Self {
        let scale = |count: u64| {
            let count = u128::from(count) * u128::from(vertices) / u128::from(graph.vertices());
            u64::try_from(count).expect("edges of 2^48 vertices are counted in u64")
        };
        let level = |Count { edges, filled }: Count| Level {
            edges: Edges::Even(scale(edges[0])),
            filled: scale(filled),
        };
        let levels = counts(graph, format, draws, 1).into_iter().map(level).collect();
        Self::of(levels, (format, vertices, processes))
    }

    const fn of(levels: Vec<Level>, (format, vertices, processes): (Format, u64, u32)) -> Self {
        let queue = Queue::new(format, vertices, processes);
        Self { processes, vertices, queue, format, levels }
    }

    /// Levels of the search; the last one finds nothing new.
    ///
    /// # Panics
    ///
    /// Never: there are fewer levels than vertices.
    pub fn levels(&self) -> u32 {
        u32::try_from(self.levels.len()).expect("fewer levels than vertices")
    }

    /// Edge ends that `rank` looks at in a level.
    ///
    /// # Panics
    ///
    /// When there is no such level or process.
    pub fn edges(&self, level: u32, rank: u32) -> u64 {
        match &self.levels[level as usize].edges {
            Edges::Counted(edges) => edges[rank as usize],
            Edges::Even(all) => share(*all, rank.into(), 1, self.processes.into()),
        }
    }

    /// Words that a process writes before the first level: its copy of the frontier with its summary, the
    /// bitmap of its visited vertices, and their predecessors.
    pub fn words_before(&self) -> u64 {
        let (processes, Queue { words, summary }) = (u64::from(self.processes), self.queue);
        processes * (words + summary) + words + self.vertices.div_ceil(processes)
    }

    /// Words that a process goes through in a level: those of its queue are set to zero, and read beside
    /// its visited bits for the summary; further its visited bits (`replicated`), or the summary of the
    /// frontier and the words that hold anything (`replicated_csc`).
    ///
    /// # Panics
    ///
    /// When there is no such level.
    pub fn words(&self, level: u32) -> u64 {
        let Queue { words, summary } = self.queue;
        let looked_at = match self.format {
            Format::Rows => words,
            Format::Columns => {
                u64::from(self.processes) * summary + self.levels[level as usize].filled
            }
        };
        3 * words + looked_at
    }

    /// Sums over all levels and processes.
    pub fn totals(&self) -> Totals {
        let levels = self.levels();
        let each =
            |level| (0..self.processes).map(move |rank| self.edges(level, rank)).sum::<u64>();
        Totals { levels, scanned: (0..levels).map(each).sum(), pairs: 0 }
    }
}

/// The counts of one level.
#[derive(Clone, Debug)]
struct Count {
    /// Edge ends, by process.
    edges: Vec<u64>,
    filled: u64,
}

fn counts(graph: RMat, format: Format, draws: &Draws, processes: u32) -> Vec<Count> {
    let made = graph.graph(draws);
    let depths = depths(&made, root(&made, draws));
    let reached = depths.iter().copied().filter(|depth| *depth != UNREACHED).max();
    let none = Count { edges: vec![0; processes as usize], filled: 0 };
    let mut levels = vec![none; reached.unwrap_or(0) as usize + 1];
    match format {
        Format::Rows => rows(&made, &depths, processes, &mut levels),
        Format::Columns => columns(&made, &depths, processes, &mut levels),
    }
    levels
}

/// The depth of a vertex that no path leads to: beyond all levels.
const UNREACHED: u32 = u32::MAX;

/// How far each vertex is from the root.
fn depths(made: &Graph, root: u32) -> Vec<u32> {
    let mut depths = vec![UNREACHED; made.vertices() as usize];
    depths[root as usize] = 0;
    let (mut frontier, mut next) = (vec![root], Vec::new());
    let mut depth = 0;
    while !frontier.is_empty() {
        depth += 1;
        for &vertex in &frontier {
            for &other in made.neighbours(vertex) {
                let place = &mut depths[other as usize];
                if *place == UNREACHED {
                    *place = depth;
                    next.push(other);
                }
            }
        }
        frontier.clear();
        std::mem::swap(&mut frontier, &mut next);
    }
    depths
}

/// Of each vertex that is not visited, the edges up to the first one into the frontier.
fn rows(made: &Graph, depths: &[u32], processes: u32, levels: &mut [Count]) {
    for (vertex, own) in (0..made.vertices()).zip(depths) {
        let neighbours = made.neighbours(vertex);
        for (level, count) in (0..*own).zip(levels.iter_mut()) {
            let hit = neighbours.iter().position(|other| depths[*other as usize] == level);
            let looked_at = hit.map_or(neighbours.len(), |place| place + 1);
            count.edges[(vertex % processes) as usize] += looked_at as u64;
        }
    }
}

/// Of each word with a vertex of the frontier, all edges.
fn columns(made: &Graph, depths: &[u32], processes: u32, levels: &mut [Count]) {
    let stride = processes as usize;
    for owner in 0..processes {
        let own: Vec<u32> = (owner..made.vertices()).step_by(stride).collect();
        for word in own.chunks(u64::BITS as usize) {
            let mut at: Vec<u32> = word.iter().map(|vertex| depths[*vertex as usize]).collect();
            at.sort_unstable();
            at.dedup();
            for level in at.into_iter().filter(|depth| *depth != UNREACHED) {
                let count = &mut levels[level as usize];
                count.filled += 1;
                for other in word.iter().flat_map(|vertex| made.neighbours(*vertex)) {
                    count.edges[(other % processes) as usize] += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::job::draws;
    use super::super::traffic::Traffic;
    use super::*;

    const FORMATS: [Format; 2] = [Format::Rows, Format::Columns];

    const fn graph(scale: u32) -> RMat {
        RMat { scale, edge_factor: 16 }
    }

    /// `coop` Fig. 18(a): 2^25 vertices of each node of 28 processes are 1,198,373 of a process, whose bits
    /// fill 293 words of 64 words; the next power of two of these 18,752 words is 32,768.
    #[test]
    fn queues_are_as_long_as_in_the_reference_code() {
        for nodes in [1, 2, 32] {
            let queue =
                |format| Queue::new(format, nodes << 25, 28 * u32::try_from(nodes).unwrap());
            assert_eq!(queue(Format::Rows), Queue { words: 293 * 64, summary: 293 });
            assert_eq!(queue(Format::Columns), Queue { words: 32_768, summary: 512 });
            assert_eq!(queue(Format::Rows).bytes(), [150_016, 2_344]);
            assert_eq!(queue(Format::Columns).bytes(), [262_144, 4_096]);
        }
        for format in FORMATS {
            assert_eq!(Queue::new(format, 1, 4), Queue { words: 64, summary: 1 });
        }
    }

    /// Both find what the search by pairs finds, level by level.
    #[test]
    fn levels_are_those_of_the_search_by_pairs() {
        for seed in 0..5 {
            let pairs = Traffic::counted(graph(9), &*draws(seed), 7);
            for format in FORMATS {
                let one = Scanned::counted(graph(9), format, &*draws(seed), 7);
                assert_eq!(one.levels(), pairs.levels(), "seed {seed}, {format:?}");
            }
        }
    }

    /// With one vertex a word, each word of the frontier is a vertex of it, and its edges are those that the
    /// search by pairs scans: 64 processes more than vertices leave at most one vertex in a word.
    #[test]
    fn columns_of_words_with_one_vertex_are_the_edges_of_the_frontier() {
        let pairs = Traffic::counted(graph(5), &*draws(3), 33);
        let one = Scanned::counted(graph(5), Format::Columns, &*draws(3), 33);
        for level in 0..one.levels() {
            for rank in 0..33 {
                let came: u64 = (0..33).map(|from| pairs.pairs(level, from, rank)).sum();
                assert_eq!(one.edges(level, rank), came, "level {level}, rank {rank}");
            }
        }
    }

    /// 64 vertices of one process share a word: each level with one of them looks at all of their edges.
    #[test]
    fn one_vertex_of_a_word_brings_in_all_of_its_edges() {
        let one = Scanned::counted(graph(6), Format::Columns, &*draws(1), 1);
        let ends = 2 * u64::from(graph(6).edges());
        for level in 0..one.levels() {
            assert_eq!((one.edges(level, 0), one.levels[level as usize].filled), (ends, 1));
        }
    }

    /// A vertex that is found looks at no edge afterwards, and every edge of those that are never found is
    /// looked at in each level.
    #[test]
    fn rows_look_at_the_edges_of_what_is_not_visited() {
        let (scale, seed) = (8, 2);
        let made = graph(scale).graph(&*draws(seed));
        let depths = depths(&made, root(&made, &*draws(seed)));
        let one = Scanned::counted(graph(scale), Format::Rows, &*draws(seed), 5);
        for level in 0..one.levels() {
            for rank in 0..5 {
                let own = (rank..made.vertices()).step_by(5);
                let open = own.filter(|vertex| depths[*vertex as usize] > level);
                let mut expected = 0;
                for vertex in open {
                    for other in made.neighbours(vertex) {
                        expected += 1;
                        if depths[*other as usize] == level {
                            break;
                        }
                    }
                }
                assert_eq!(one.edges(level, rank), expected, "level {level}, rank {rank}");
            }
        }
    }

    #[test]
    fn words_follow_from_the_queues() {
        let (processes, vertices) = (56, 1 << 26);
        for format in FORMATS {
            let one = Scanned::scaled((graph(10), format), &*draws(1), (processes, vertices));
            let Queue { words, summary } = Queue::new(format, vertices, processes);
            assert_eq!(one.words_before(), 56 * (words + summary) + words + vertices.div_ceil(56));
            let filled = |level: u32| one.levels[level as usize].filled;
            for level in 0..one.levels() {
                let looked_at = match format {
                    Format::Rows => words,
                    Format::Columns => 56 * summary + filled(level),
                };
                assert_eq!(one.words(level), 3 * words + looked_at);
            }
        }
    }

    /// The law, from scale to scale: what a whole search looks at, from a graph of a quarter of the vertices.
    /// Levels differ from root to root, and a level more or less is a share of a search over words, so that
    /// the bound is wider than that of `traffic`.
    #[test]
    fn the_law_carries_a_search_to_larger_graphs() {
        for format in FORMATS {
            let mean = |scale: u32, scaled: bool| {
                let of = |seed| {
                    let draws = draws(seed);
                    if scaled {
                        Scanned::scaled((graph(scale), format), &*draws, (28, 1 << 16))
                    } else {
                        Scanned::counted(graph(16), format, &*draws, 28)
                    }
                };
                (1..=8).map(|seed| of(seed).totals().scanned).sum::<u64>() / 8
            };
            let (law, made) = (mean(14, true), mean(16, false));
            let off = 100 * law.abs_diff(made) / made;
            assert!(off <= 15, "{format:?}: {law} and {made}");
        }
    }
}
