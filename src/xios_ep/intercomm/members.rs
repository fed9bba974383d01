//! Members of an endpoint communicator as threads of the world.

use std::collections::BTreeMap;

use crate::rank_map::{Place, RankMap};
use mpi::envelope::Rank;

/// A thread of the job: the identity of an endpoint, whatever its communicator.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Thread {
    /// World rank of its process.
    pub process: u32,
    /// Its number there.
    pub thread: u32,
}

/// Places and threads of the endpoints behind the ranks of an endpoint communicator.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Members {
    /// Where its endpoints live, in its own process ranks.
    pub rank_map: RankMap,
    /// Thread by endpoint rank.
    pub threads: Box<[Thread]>,
    /// Rank by thread, sorted.
    ranks: Box<[(Thread, Rank)]>,
}

/// Threads and places do not go together.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum MembersError {
    /// Not one thread for each endpoint.
    #[error("{threads} threads for {endpoints} endpoints")]
    Count {
        /// How many threads.
        threads: usize,
        /// How many endpoints.
        endpoints: u32,
    },
    /// Two ranks have one thread.
    #[error("thread {} of process {} has ranks {} and {}", thread.thread, thread.process, first.0, second.0)]
    Repeated {
        /// The thread.
        thread: Thread,
        /// The lower rank.
        first: Rank,
        /// The higher rank.
        second: Rank,
    },
    /// Endpoints of one process are in two, or those of two in one.
    #[error("endpoints {} and {} disagree on whether they share a process", first.0, second.0)]
    Processes {
        /// A rank.
        first: Rank,
        /// A higher rank.
        second: Rank,
    },
}

impl Members {
    /// The members of a communicator with this map; `threads` by endpoint rank.
    ///
    /// # Errors
    ///
    /// Threads that do not go with the map.
    pub fn new(rank_map: RankMap, threads: Vec<Thread>) -> Result<Self, MembersError> {
        let endpoints = rank_map.size();
        if threads.len() != endpoints as usize {
            return Err(MembersError::Count { threads: threads.len(), endpoints });
        }
        let mut ranks: Box<[_]> = threads.iter().copied().zip((0..).map(Rank)).collect();
        ranks.sort_unstable();
        let place = |rank: Rank| rank_map.places()[rank.0 as usize].process;
        for pair in ranks.windows(2) {
            let [(thread, low), (next, high)] = [pair[0], pair[1]];
            let (first, second) = (low.min(high), low.max(high));
            if thread == next {
                return Err(MembersError::Repeated { thread, first, second });
            }
            if (thread.process == next.process) != (place(low) == place(high)) {
                return Err(MembersError::Processes { first, second });
            }
        }
        Ok(Self { rank_map, threads: threads.into(), ranks })
    }

    /// Endpoints with these threads in this order; processes are numbered as they appear.
    ///
    /// # Errors
    ///
    /// A thread twice.
    ///
    /// # Panics
    ///
    /// Never: places are numbered from 0.
    pub fn in_order(threads: Vec<Thread>) -> Result<Self, MembersError> {
        let mut met: BTreeMap<u32, (u32, u32)> = BTreeMap::new();
        let mut place = |thread: &Thread| {
            let process = super::super::count(met.len());
            let (process, endpoints) = met.entry(thread.process).or_insert((process, 0));
            *endpoints += 1;
            Place { local: *endpoints - 1, process: *process }
        };
        let places: Vec<Place> = threads.iter().map(&mut place).collect();
        let processes = super::super::count(met.len());
        let rank_map = RankMap::new(places, processes).expect("places are numbered from 0");
        Self::new(rank_map, threads)
    }

    /// World ranks of its processes by their rank in it, without those that have no endpoint.
    pub fn processes(&self) -> Vec<u32> {
        let world = |process| self.threads[self.rank_map.locals(process)[0].0 as usize].process;
        self.rank_map.processes().map(world).collect()
    }

    /// Number of endpoints.
    pub fn size(&self) -> u32 {
        self.rank_map.size()
    }

    /// The thread behind a rank; `None` at and above [`Self::size`].
    pub fn thread(&self, rank: Rank) -> Option<Thread> {
        self.threads.get(rank.0 as usize).copied()
    }

    /// The rank of a thread; `None` where it is no member.
    pub fn rank(&self, thread: Thread) -> Option<Rank> {
        let found = self.ranks.binary_search_by_key(&thread, |(thread, _)| *thread);
        found.ok().map(|index| self.ranks[index].1)
    }

    /// Ranks of its endpoints in a process, by world rank, in the order of in-process ranks.
    pub fn of_process(&self, world: u32) -> &[Rank] {
        let lowest = self.ranks.partition_point(|(thread, _)| thread.process < world);
        match self.ranks.get(lowest) {
            Some((thread, rank)) if thread.process == world => {
                self.rank_map.locals(self.rank_map.places()[rank.0 as usize].process)
            }
            _ => &[],
        }
    }
}
