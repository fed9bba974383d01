//! Breadth-first search of Graph500, level by level, as three searches of its reference code do it.
//!
//! By pairs, `simple`:
//!
//! ```text
//!   level   receive from any rank; scan the edges of the own frontier: each edge to a vertex of another
//!           process is a pair (vertex, predecessor) of 16 B in a buffer for that process, which is sent
//!           when it is full; then the rest of each buffer and an empty message to say that no more
//!           comes; receive until all have said so; sum the new frontiers (allreduce)
//! ```
//!
//! The graph is made and searched before the run, by the rules of the benchmark (`rmat`); what the search
//! sends is the run's traffic (`traffic`), and its messages are replayed by the simulated ranks
//! (`searcher`). For more vertices than are made, the traffic of the made graph is scaled.
//!
//! Over bitmaps that every process has a copy of, `replicated` and `replicated_csc`: a level ends with two
//! allgathers (`replica`), and what it looks at is counted in the same graph (`bitmaps`).
//!
//! Source: graph500/graph500 2.1.4, `mpi/bfs_simple.c` (order of messages, buffers of 256 pairs, one receive
//! at a time from any source), `mpi/common.h` (vertices dealt out cyclically), `generator/` (initiator 0.57, 0.19,
//! 0.19, 0.05; scrambled labels); `coop` Sec. V, Fig. 18. Left out: the tests of all open sends between two
//! vertices: a rank that must wait here waits for what it needs, and looks for one message before it sends
//! one; the other kernels of the benchmark. Assumed: full buffers leave in turn, one to each process.

pub mod bitmaps;
pub mod replica;
pub mod rmat;
pub mod searcher;
pub mod traffic;

use std::sync::Arc;

use super::application::{
    Application, PER_NODE, PER_NODE_PATH, PROCESSES, Scaling, Skeleton, TIME as ANY_TIME, applied,
    sum,
};
use super::draws::Draws;
use super::job::AnyProgram;
use super::kind::{Kind, Reading};
use super::metric::{COMMUNICATION, Measured, MetricSpec, TIME, inside, to_f64};
use bitmaps::{Format, Queue, Scanned};
use collectives::Collective;
use form::codes;
use form::shape::Shape;
use form::typed::{Object as _, default, optional, required};
use form::workload_field;
use mpi::operator::Datatype;
use replica::{CALLS, Replica};
use rmat::RMat;
use searcher::Searcher;
use traffic::{Totals, Traffic};
use units::{Bytes, Dimension, TimeDelta};

/// Bytes of a pair.
/// Source: the reference code: two vertices of 8 B.
pub const PAIR: u64 = 16;
/// Bytes of a buffer.
/// Source: the reference code: 256 pairs.
pub const BUFFER: u64 = 256 * PAIR;
/// The greatest scale of a graph that is made: 2^21 vertices.
/// Limit: the graph is held in memory.
pub const MOST_SCALE: u32 = 21;
/// The most processes between which the messages of a made graph are counted.
/// Limit: a pair of them takes 4 B of memory for each level.
pub const MOST_PROCESSES: u32 = 1_024;
/// Levels of a search, for what is checked before its graph is made.
/// Limit: more than any graph of this kind has.
const MOST_LEVELS: u32 = 256;

static BUFFER_SIZE: Shape =
    Shape::Quantity { dimension: Dimension::Bytes, min: PAIR, max: 1 << 30 };

form::words! {
    /// Which search of the reference code.
    pub enum Implementation {
        /// pairs of vertex and predecessor go to the owner of the vertex
        Simple = "simple",
        /// every process has a copy of the frontier, and looks from its own vertices into it
        Replicated = "replicated",
        /// the same, and it looks from the frontier at its own vertices
        ReplicatedCsc = "replicated_csc",
    }
}

impl Implementation {
    /// The format of a search over replicated bitmaps.
    const fn format(self) -> Option<Format> {
        match self {
            Self::Simple => None,
            Self::Replicated => Some(Format::Rows),
            Self::ReplicatedCsc => Some(Format::Columns),
        }
    }
}

form::object! {
    /// Breadth-first search of Graph500 by levels, in a graph that is made and searched before the run.
    pub struct SearchForm {
        processes: u32 = PROCESSES,
        processes_per_node: u32 = PER_NODE,
        /// The search of the reference code.
        implementation: Implementation = default(&Implementation::SHAPE, "simple"),
        /// Binary logarithm of the vertices of the graph that is made from the seed.
        scale: u32 = required(&Shape::Count { min: 4, max: MOST_SCALE as u64 }, "16"),
        /// Edges for each vertex.
        edge_factor: u32 = default(&Shape::Count { min: 1, max: 32 }, "16"),
        /// Vertices for which the messages are scaled; without it those of the graph are sent.
        vertices: Option<u64> = optional(&Shape::Count { min: 1, max: 1 << 48 }),
        /// Weak: `vertices` are those of each node.
        scaling: Scaling = default(&Scaling::SHAPE, "strong"),
        /// `simple`: pairs of 16 B for one process leave when so many bytes are full.
        buffer: Bytes = default(&BUFFER_SIZE, "4 KiB"),
        /// Computation for each edge that is scanned, and for each pair that is received.
        compute_per_edge: TimeDelta = default(&ANY_TIME, "0 s"),
        /// `replicated` and `replicated_csc`: computation for each word of a bitmap that a process goes through.
        compute_per_word: TimeDelta = default(&ANY_TIME, "0 s"),
    }
}

const SEARCH_TIME: MetricSpec = MetricSpec::time("search_time");
const LEVELS: MetricSpec = MetricSpec::number("levels", "");
const EDGE_ENDS: MetricSpec = MetricSpec::number("edge_ends", "");
const PAIRS: MetricSpec = MetricSpec::number("pairs", "");

/// A breadth-first search.
pub static KIND: Kind = Kind {
    name: "graph500",
    fields: SearchForm::FIELDS,
    about: SearchForm::ABOUT,
    metrics: &[SEARCH_TIME, COMMUNICATION, LEVELS, EDGE_ENDS, PAIRS, TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let form = SearchForm::read(reading.node);
        let (processes, per_node) = (form.processes, form.processes_per_node);
        let weak = form.scaling == Scaling::Weak;
        if form.vertices.is_none() && weak {
            let path = workload_field!(SearchForm, scaling);
            let allowed = "`workload.vertices` says how many vertices each node has";
            reading.refuse(path, "weak scaling of a graph that is made", allowed);
        }
        let nodes = processes.div_ceil(per_node.min(processes));
        let times = if weak { u64::from(nodes) } else { 1 };
        let task = Search {
            implementation: form.implementation,
            scale: form.scale,
            edge_factor: form.edge_factor,
            vertices: form.vertices.map(|vertices| vertices.saturating_mul(times)),
            buffer: form.buffer.as_u64(),
            compute: form.compute_per_edge.as_ps(),
            word: form.compute_per_word.as_ps(),
        };
        Some(applied(reading, (processes, per_node), task))
    },
};

/// The values of the workload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Search {
    /// By which code.
    pub implementation: Implementation,
    /// Binary logarithm of the vertices that are made.
    pub scale: u32,
    /// Edges for each vertex.
    pub edge_factor: u32,
    /// Vertices that the messages are for, where these are others than are made.
    pub vertices: Option<u64>,
    /// Bytes of a buffer of pairs: full buffers are sent.
    pub buffer: u64,
    /// The computation of a process for each edge that it scans, and for each pair that it
    /// receives, in picoseconds.
    pub compute: u64,
    /// The computation of a process for each word of a bitmap that it goes through, in picoseconds.
    pub word: u64,
}

impl Search {
    /// The graph that is made.
    pub const fn graph(&self) -> RMat {
        RMat { scale: self.scale, edge_factor: self.edge_factor }
    }

    /// The traffic of the search between `processes` processes.
    pub fn traffic(&self, processes: u32, draws: &Draws) -> Traffic {
        let graph = self.graph();
        match self.vertices {
            None => Traffic::counted(graph, draws, processes),
            Some(vertices) => Traffic::scaled(graph, draws, processes, vertices),
        }
    }

    /// The scans of the search, where it is over bitmaps of this format.
    pub fn scanned(&self, format: Format, processes: u32, draws: &Draws) -> Scanned {
        let graph = self.graph();
        match self.vertices {
            None => Scanned::counted(graph, format, draws, processes),
            Some(vertices) => Scanned::scaled((graph, format), draws, (processes, vertices)),
        }
    }

    /// Vertices that are searched.
    fn searched(&self) -> u64 {
        self.vertices.unwrap_or(1 << self.scale)
    }

    /// Edge ends of the whole graph: each is scanned at most once, by pairs, or once in each level.
    fn ends(&self) -> u128 {
        2 * u128::from(self.searched()) * u128::from(self.edge_factor)
    }

    /// Bytes of all pairs, or of all that a process receives of bitmaps, at most.
    pub fn bytes(&self, processes: u32) -> u128 {
        let Some(format) = self.implementation.format() else {
            return self.ends() * u128::from(PAIR);
        };
        let [queue, summary] =
            Queue::new(format, self.searched(), processes).bytes().map(u128::from);
        let messages = u128::from(processes) * u128::from(processes) * u128::from(MOST_LEVELS);
        messages * (queue + summary)
    }

    /// Computation of a process that scans every edge and receives every pair, or goes through every edge
    /// and every word in each level, at most.
    pub fn compute(&self, processes: u32) -> u128 {
        let edges = self.ends() * u128::from(self.compute);
        let Some(format) = self.implementation.format() else {
            return 2 * edges;
        };
        let Queue { words, summary } = Queue::new(format, self.searched(), processes);
        let all =
            u128::from(processes + 4) * u128::from(words + summary) + u128::from(self.searched());
        u128::from(MOST_LEVELS) * (edges + all * u128::from(self.word))
    }

    /// The programs of all ranks; they share what was counted.
    fn by_pairs(&self, processes: u32, draws: &Draws, sum: &Arc<Collective>) -> Vec<Searcher> {
        let traffic = Arc::new(self.traffic(processes, draws));
        let costs = searcher::Costs { pairs: (self.buffer / PAIR).max(1), edge: self.compute };
        (0..processes).map(|rank| Searcher::new(rank, &traffic, costs, sum)).collect()
    }

    fn over_bitmaps(
        &self,
        format: Format,
        (processes, draws): (u32, &Draws),
        calls: &[Arc<Collective>; CALLS],
    ) -> Vec<Replica> {
        let scanned = Arc::new(self.scanned(format, processes, draws));
        let costs = replica::Costs { edge: self.compute, word: self.word };
        (0..processes).map(|rank| Replica::new(rank, &scanned, costs, calls.clone())).collect()
    }
}

impl Skeleton for Search {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn check(&self, application: &Application, reading: &mut Reading<'_>) {
        let processes = application.processes;
        if self.vertices.is_none() && processes > MOST_PROCESSES {
            let found = format!("a search by {processes} processes is counted");
            let allowed =
                format!("at most {MOST_PROCESSES} can be; with `workload.vertices` it is scaled");
            let path = workload_field!(SearchForm, processes);
            let one = reading.error(&codes::PRODUCT, path, found, allowed);
            reading.diagnostics.push(one);
        }
    }

    fn dimensions(&self) -> [&'static str; 3] {
        [
            workload_field!(SearchForm, vertices),
            workload_field!(SearchForm, compute_per_edge),
            workload_field!(SearchForm, edge_factor),
        ]
    }

    fn compute(&self, processes: u32) -> u128 {
        self.compute(processes)
    }

    /// The graph is made with the programs.
    fn messages(&self) -> u64 {
        0
    }

    fn bytes(&self, processes: u32) -> u128 {
        self.bytes(processes)
    }

    fn greatest(&self, processes: u32) -> u64 {
        self.implementation.format().map_or(self.buffer, |format| {
            let [queue, _] = Queue::new(format, self.searched(), processes).bytes();
            queue
        })
    }

    /// The sum of the new frontiers, or those of a level over bitmaps.
    fn collectives(&self, processes: u32) -> Vec<Collective> {
        match self.implementation.format() {
            None => vec![sum(Datatype::Int64, 1, processes + 1)],
            Some(format) => replica::calls(format, self.searched(), processes).into(),
        }
    }

    fn programs(
        &self,
        processes: u32,
        draws: &Draws,
        collectives: &[Arc<Collective>],
    ) -> Vec<AnyProgram> {
        match (self.implementation.format(), collectives) {
            (Some(format), [anything, bitmaps, summaries]) => {
                let calls = [anything, bitmaps, summaries].map(Arc::clone);
                let replicas = self.over_bitmaps(format, (processes, draws), &calls);
                replicas.into_iter().map(|one| AnyProgram::Replica(Box::new(one))).collect()
            }
            (Some(_) | None, calls) => {
                let searchers = self.by_pairs(processes, draws, &calls[0]);
                searchers.into_iter().map(|one| AnyProgram::Search(Box::new(one))).collect()
            }
        }
    }

    fn measure(&self, run: &mut Measured<'_>) {
        let totals = |program: &AnyProgram| {
            if let AnyProgram::Search(searcher) = program {
                Some(searcher.totals())
            } else if let AnyProgram::Replica(replica) = program {
                Some(replica.totals())
            } else {
                None
            }
        };
        let totals = run.programs.first().and_then(totals);
        let Totals { levels, scanned, pairs } = totals.unwrap_or_default();
        run.add(SEARCH_TIME, run.elapsed.as_us_f64());
        run.add(COMMUNICATION, inside(run.outcome).as_us_f64());
        run.add(LEVELS, f64::from(levels));
        run.add(EDGE_ENDS, to_f64(scanned));
        run.add(PAIRS, to_f64(pairs));
    }
}
