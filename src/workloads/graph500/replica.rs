//! One rank of a search whose frontier every process has a copy of.
//!
//! ```text
//!   clear the bitmaps
//!   level   scan; is anything new? (allreduce of a word); if so, each rank's part of the new frontier,
//!           then each rank's summary of it (two allgathers of equal blocks)
//! ```
//!
//! A message of the first allgather is the queue of a process: hundreds of KiB at the sizes of `coop`
//! Fig. 18, above every eager threshold.
//!
//! Source: graph500/graph500 2.1.4, `mpi/bfs_replicated.c` and `mpi/bfs_replicated_csc.c` (`run_bfs`).
//! Left out: the allocation of the bitmaps, and the page faults of memory that is new in each search.

use std::sync::Arc;

use super::bitmaps::{Format, Queue, Scanned};
use super::traffic::Totals;
use collectives::{Blocks, Collective};
use mpi::operator::{Datatype, Operator, Reduction};
use protocols::call::{Call, Comm, Reply};
use protocols::contract::{Machine, Next, Program, Region, Space};

use language::marks::{END, START};

/// The costs of a search, in picoseconds.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Costs {
    /// Computation for each edge end that is looked at.
    pub edge: u64,
    /// Computation for each word that a process goes through.
    pub word: u64,
}

/// The collectives of a level, in their order.
/// Source: `run_bfs` of the reference code.
pub const CALLS: usize = 3;

/// The collectives of a level: whether anything is new, the bitmaps, their summaries.
///
/// # Panics
///
/// Never: words have a union.
pub fn calls(format: Format, vertices: u64, processes: u32) -> [Collective; CALLS] {
    let comm = Comm::default();
    let [queue, summary] = Queue::new(format, vertices, processes).bytes();
    let region = |id, len| Region::new(Space::User(id), len);
    let gather = |id, len| {
        let all = region(id + 1, len * u64::from(processes));
        Collective::allgather(comm, region(id, len), all, Blocks::Equal(len))
    };
    let or = Reduction::new(Operator::Bor, Datatype::Uint64).expect("words have a union");
    let word = Datatype::Uint64.width();
    let anything = Collective::allreduce(comm, region(0, word), region(1, word), or);
    [anything, gather(2, queue), gather(4, summary)]
}

/// The program of one rank.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Replica {
    me: u32,
    scanned: Arc<Scanned>,
    costs: Costs,
    calls: [Arc<Collective>; CALLS],
    level: u32,
    phase: Phase,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Phase {
    Barrier,
    Start,
    Clear,
    Scan,
    /// The collective of this number.
    Call(usize),
    Over,
}

impl Replica {
    /// A rank before its first call.
    pub fn new(
        me: u32,
        scanned: &Arc<Scanned>,
        costs: Costs,
        calls: [Arc<Collective>; CALLS],
    ) -> Self {
        let (level, phase) = (0, Phase::Barrier);
        Self { me, scanned: Arc::clone(scanned), costs, calls, level, phase }
    }

    /// Sums over the whole search.
    pub fn totals(&self) -> Totals {
        self.scanned.totals()
    }

    fn computes(&self, edges: u64, words: u64) -> Next<Call> {
        let time = |count: u64, cost: u64| u128::from(count) * u128::from(cost);
        let all = time(edges, self.costs.edge) + time(words, self.costs.word);
        Next::Compute(u64::try_from(all).expect("validation limits a search to 200 days"))
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Replica {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        let (phase, step) = match self.phase {
            Phase::Barrier => (Phase::Start, Next::Call(Call::Barrier { comm: Comm::default() })),
            Phase::Start => (Phase::Clear, Next::Mark(START)),
            Phase::Clear => (Phase::Scan, self.computes(0, self.scanned.words_before())),
            Phase::Scan => {
                let edges = self.scanned.edges(self.level, self.me);
                (Phase::Call(0), self.computes(edges, self.scanned.words(self.level)))
            }
            // Nothing was new in the last level, and nothing is passed on.
            Phase::Call(1) if self.level + 1 == self.scanned.levels() => {
                (Phase::Over, Next::Mark(END))
            }
            Phase::Call(number) => {
                let last = number + 1 == CALLS;
                self.level += u32::from(last);
                let phase = if last { Phase::Scan } else { Phase::Call(number + 1) };
                (phase, Next::Call(Call::Collective(Arc::clone(&self.calls[number]))))
            }
            Phase::Over => (Phase::Over, Next::End),
        };
        self.phase = phase;
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_a_few_numbers() {
        let bytes = size_of::<Replica>();
        assert!(bytes <= 96, "{bytes} B");
    }
}
