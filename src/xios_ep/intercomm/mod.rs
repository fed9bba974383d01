//! Intercommunicators of endpoints: two groups that share no thread, but may share processes.
//!
//! ```text
//!   1  leaders exchange cards; one may move; each shared process joins one group:   A, B -> A', B'
//!   2  MPI makes an intercommunicator of the processes of A' and B'
//!   3  endpoints are created on both, one for each thread, and handed to the threads
//! ```
//!
//! In a process of A' the endpoints of A come first, then those of B (Sec. 7's maps). A label, the
//! world rank of the process of the assigned group's leader, tells A' from B'. Each thread has four
//! maps:
//!
//! | map                  | indexed by rank in         | entry                                   |
//! |----------------------|----------------------------|-----------------------------------------|
//! | `local_rank_map`     | its own group, A or B      | rank in the assigned group, its label   |
//! | `remote_rank_map`    | the other group            | likewise                                |
//! | `rank_map`           | its assigned group         | in-process rank, process                |
//! | `intercomm_rank_map` | the other assigned group   | likewise                                |
//!
//! Source: `xios-ep` Sec. 6.2, 7.
//! Left out: freeing. Noticeable once a run makes and frees many.

mod assign;
mod call;
mod members;
mod route;

use std::fmt;
use std::sync::Arc;

pub use assign::{Card, Case, Leader, Leaders, Shared, assign, moved_leader};
pub use call::{Caller, IntercommError};
pub use members::{Members, MembersError, Thread};
pub use route::{Channel, RankOutOfRange, Route};

use super::rank_map::RankMap;
use mpi::envelope::Rank;
use mpi::intercommunicator::Side;

/// An entry of a local or remote rank map.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Entry {
    /// Rank in the assigned group.
    pub rank: Rank,
    /// Label of the assigned group.
    pub label: u32,
}

/// A' or B': disjoint in processes from the other one.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Assigned {
    /// World rank of the process of its leader.
    pub label: u32,
    /// World rank of its processes, by process rank.
    pub processes: Vec<u32>,
    /// Side and rank there of each of its endpoints, by rank in it.
    pub members: Vec<(Side, Rank)>,
    /// Where its endpoints live.
    pub rank_map: RankMap,
}

/// Phase 2: what the processes of an assigned group pass to MPI's creation.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct MpiCreate {
    /// Rank of the leader's process among those of the group.
    pub local_leader: u32,
    /// World rank of the process of the other group's leader.
    pub remote_leader: u32,
}

/// An intercommunicator of endpoints.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Intercomm {
    /// The two groups.
    pub groups: [Arc<Members>; 2],
    /// Decision about the leaders.
    pub decided: Leaders,
    /// The leaders, after a move.
    pub leaders: [Rank; 2],
    /// Processes of both groups, and where they went.
    pub shared: Vec<Shared>,
    /// A' and B'; one only in case 3c.
    pub assigned: Vec<Assigned>,
    /// The local rank maps.
    rank_maps: [Box<[Entry]>; 2],
    /// The way back: rank by entry, sorted.
    by_entry: [Box<[(Entry, Rank)]>; 2],
}

/// The intercommunicator of two sides whose leaders talk through `peer`.
///
/// # Errors
///
/// Arguments of the two calls that contradict each other, or a thread on both sides.
///
/// # Panics
///
/// Never: a leader moves in a group of several processes only.
pub fn create(a: &Caller, b: &Caller, peer: &Members) -> Result<Intercomm, IntercommError> {
    call::check_leaders([a, b], peer)?;
    couple(a, b)
}

/// The same where both leaders have met: each names the other one as it is.
///
/// # Errors
///
/// A thread on both sides.
///
/// # Panics
///
/// Never: a leader moves in a group of several processes only.
pub fn couple(a: &Caller, b: &Caller) -> Result<Intercomm, IntercommError> {
    let callers = [a, b];
    call::check_disjoint(&a.members, &b.members)?;
    let groups = callers.map(|caller| &*caller.members);
    let cards = Side::BOTH.map(|side| call::card(callers, side));
    let decided = Leaders::decide(cards);
    let mut leaders = callers.map(|caller| caller.leader);
    if let Some(side) = decided.mover() {
        let from = cards[side as usize].process;
        leaders[side as usize] = moved_leader(groups[side as usize], from)
            .expect("a leader moves in a group of several processes only");
    }
    let seats = Side::BOTH.map(|side| {
        let process = groups[side as usize].threads[leaders[side as usize].0 as usize].process;
        // Once a leader moved, the peer communicator is the world.
        let apart = decided == Leaders::Apart;
        Leader { process, peer: if apart { cards[side as usize].peer.0 } else { process } }
    });
    let shared = assign::shared(groups, decided, cards[0].process, seats);
    let assigned = match decided {
        Leaders::Alone(first) => vec![assigned(groups, first, seats, |_| true)],
        Leaders::Apart | Leaders::LowerMoves(_) | Leaders::HigherMoves(_) => {
            let of = |side| {
                let at = |process| shared.binary_search_by_key(&process, |shared| shared.process);
                let stays = |process| at(process).map_or(true, |index| shared[index].to == side);
                assigned(groups, side, seats, stays)
            };
            Side::BOTH.map(of).into()
        }
    };
    let rank_maps = Side::BOTH.map(|side| local_rank_map(&assigned, side, groups[side as usize]));
    let groups = callers.map(|caller| Arc::clone(&caller.members));
    let by_entry = Side::BOTH.map(|side| by_entry(&rank_maps[side as usize]));
    Ok(Intercomm { groups, decided, leaders, shared, assigned, rank_maps, by_entry })
}

/// Phase 3: the endpoints of the processes of `home` that stay in it: its own first, in each
/// process, then those of the other group.
fn assigned(
    groups: [&Members; 2],
    home: Side,
    leaders: [Leader; 2],
    stays: impl Fn(u32) -> bool,
) -> Assigned {
    let mut processes = groups[home as usize].processes();
    processes.retain(|process| stays(*process));
    let of = |side: Side, process: u32| {
        groups[side as usize].of_process(process).iter().map(move |rank| (side, *rank))
    };
    let here = |process: u32| -> Vec<(Side, Rank)> {
        of(home, process).chain(of(home.other(), process)).collect()
    };
    let by_process: Vec<Vec<(Side, Rank)>> =
        processes.iter().map(|process| here(*process)).collect();
    let counts: Vec<u32> = by_process.iter().map(|here| super::count(here.len())).collect();
    Assigned {
        label: leaders[home as usize].process,
        processes,
        members: by_process.concat(),
        rank_map: RankMap::from_counts(&counts),
    }
}

/// Local rank map of a side, which its endpoints exchange once they have their handles.
fn local_rank_map(assigned: &[Assigned], side: Side, members: &Members) -> Box<[Entry]> {
    let mut entries = vec![None; members.threads.len()];
    for group in assigned {
        for ((of, own), rank) in group.members.iter().zip(0..) {
            if *of == side {
                entries[own.0 as usize] = Some(Entry { rank: Rank(rank), label: group.label });
            }
        }
    }
    entries.into_iter().map(|entry| entry.expect("each thread is in an assigned group")).collect()
}

fn by_entry(entries: &[Entry]) -> Box<[(Entry, Rank)]> {
    let mut ranks: Box<[_]> = entries.iter().copied().zip((0..).map(Rank)).collect();
    ranks.sort_unstable();
    ranks
}

impl Intercomm {
    /// The local rank map of a side, which is the remote rank map of the other one.
    pub fn rank_map_of(&self, side: Side) -> &[Entry] {
        &self.rank_maps[side as usize]
    }

    /// Rank that has this entry in the local rank map of a side.
    pub fn rank(&self, side: Side, entry: Entry) -> Option<Rank> {
        let ranks = &self.by_entry[side as usize];
        let found = ranks.binary_search_by_key(&entry, |(entry, _)| *entry);
        found.ok().map(|index| ranks[index].1)
    }

    /// A' or B'; in case 3c there is one for both.
    pub fn assigned_to(&self, side: Side) -> &Assigned {
        &self.assigned[(side as usize).min(self.assigned.len() - 1)]
    }

    /// Arguments that the processes of A' or B' pass to MPI; nothing in case 3c, where they are one.
    pub fn mpi_create(&self, side: Side) -> Option<MpiCreate> {
        let [own, other] = [side, side.other()].map(|side| self.assigned_to(side));
        let leader = own.processes.iter().position(|process| *process == own.label)?;
        let create = MpiCreate { local_leader: super::count(leader), remote_leader: other.label };
        (self.assigned.len() == 2).then_some(create)
    }

    /// The rank map of the other assigned group; none in case 3c.
    pub fn intercomm_rank_map(&self, side: Side) -> Option<&RankMap> {
        (self.assigned.len() == 2).then(|| &self.assigned_to(side.other()).rank_map)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "({}, {})", self.rank.0, self.label)
    }
}

/// The maps of both sides and of both assigned groups.
impl fmt::Display for Intercomm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for side in Side::BOTH {
            let [local, remote] =
                [side, side.other()].map(|side| super::list(self.rank_map_of(side)));
            writeln!(out, "{side:?}: local_rank_map {local}")?;
            writeln!(out, "{side:?}: remote_rank_map {remote}")?;
        }
        if let [only] = &self.assigned[..] {
            writeln!(out, "one process, label {}: rank_map {}", only.label, only.rank_map)?;
        }
        for side in Side::BOTH {
            if let Some(remote) = self.intercomm_rank_map(side) {
                writeln!(out, "{side:?}': rank_map {}", self.assigned_to(side).rank_map)?;
                writeln!(out, "{side:?}': intercomm_rank_map {remote}")?;
            }
        }
        self.shared.iter().try_for_each(|shared| writeln!(out, "{shared}"))
    }
}

#[cfg(test)]
pub(super) mod tests;
