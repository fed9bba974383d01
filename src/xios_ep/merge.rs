//! Merge: one communicator of both sides, the low side first.
//!
//! ```text
//!   1  within a side all say the same high value; leaders exchange it
//!   2  MPI merges the processes of A' and B' by the flags of their leaders
//!   3  endpoints are created there and renumbered: low side first, then by rank in the own group
//! ```
//!
//! Endpoints keep their places while ranks follow sides, so in a shared process ranks of both sides
//! stand next to each other. Where both sides say the same, MPI leaves the order open; here the side
//! comes first whose leader, after a move, is the lower thread of the world.
//!
//! Source: `xios-ep` Sec. 6.3.

use std::fmt;

use super::intercomm::{Intercomm, Members, Thread};
use super::rank_map::{Place, RankMap};
use mpi::envelope::Rank;
use mpi::intercommunicator::{MergeError, Side};

/// Result of a merge.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Merged {
    /// Side and old rank of each of its endpoints, by new rank.
    pub order: Vec<(Side, Rank)>,
    /// World ranks of its processes, by process rank: the order of MPI's merge.
    pub processes: Vec<u32>,
    /// Its endpoints, and where they live.
    pub members: Members,
}

/// Step 1: what a side says; `flags` by rank in its group.
///
/// # Errors
///
/// Flags that are not one for each rank, or that differ.
pub fn flag(intercomm: &Intercomm, side: Side, flags: &[bool]) -> Result<bool, MergeError> {
    let endpoints = intercomm.groups[side as usize].size();
    let Some(first) = flags.first().filter(|_| flags.len() == endpoints as usize) else {
        return Err(MergeError::FlagCount { side, found: flags.len(), size: endpoints });
    };
    match (0..).zip(flags).find(|(_, flag)| *flag != first) {
        None => Ok(*first),
        Some((rank, _)) => Err(MergeError::FlagsDiffer { side, rank: Rank(rank), first: *first }),
    }
}

/// The side that comes first where the sides say this.
pub fn first(intercomm: &Intercomm, high: [bool; 2]) -> Side {
    let leader = |side: Side| -> Thread {
        intercomm.groups[side as usize].threads[intercomm.leaders[side as usize].0 as usize]
    };
    let a_first = match high {
        [a, b] if a == b => leader(Side::A) < leader(Side::B),
        [a_high, _] => !a_high,
    };
    if a_first { Side::A } else { Side::B }
}

/// The communicator of both sides; `high[side][rank]` is what each endpoint says.
///
/// # Errors
///
/// As [`flag`], for side A first.
///
/// # Panics
///
/// Never: an intercommunicator has each endpoint of its groups in one assigned group.
pub fn merge(intercomm: &Intercomm, high: [&[bool]; 2]) -> Result<Merged, MergeError> {
    let flags = [flag(intercomm, Side::A, high[0])?, flag(intercomm, Side::B, high[1])?];
    let low = first(intercomm, flags);
    let sides = [low, low.other()];
    let ranks = |side: Side| {
        (0..intercomm.groups[side as usize].size()).map(move |rank| (side, Rank(rank)))
    };
    let order: Vec<(Side, Rank)> = sides.into_iter().flat_map(ranks).collect();
    // Step 2: in case 3c there is one group of one process.
    let groups: Vec<_> = match intercomm.assigned.as_slice() {
        [only] => vec![only],
        _ => sides.map(|side| intercomm.assigned_to(side)).into(),
    };
    let processes: Vec<u32> = groups.iter().flat_map(|group| &group.processes).copied().collect();
    let place = |(side, rank): &(Side, Rank)| {
        let entry = intercomm.rank_map_of(*side)[rank.0 as usize];
        let at = groups.iter().position(|group| group.label == entry.label);
        let at = at.expect("an entry has the label of an assigned group");
        let before: usize = groups[..at].iter().map(|group| group.processes.len()).sum();
        let place =
            groups[at].rank_map.place(entry.rank).expect("an entry has a rank of its group");
        Place { local: place.local, process: super::count(before) + place.process }
    };
    let rank_map = RankMap::new(order.iter().map(place).collect(), super::count(processes.len()))
        .expect("each endpoint keeps its place, and assigned groups share no process");
    let thread =
        |(side, rank): &(Side, Rank)| intercomm.groups[*side as usize].threads[rank.0 as usize];
    let members = Members::new(rank_map, order.iter().map(thread).collect())
        .expect("the sides share no thread");
    Ok(Merged { order, processes, members })
}

/// `[A0, A1, B0, …]`, by new rank.
impl fmt::Display for Merged {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let old = |(side, rank): &(Side, Rank)| format!("{side:?}{}", rank.0);
        out.write_str(&super::list(self.order.iter().map(old)))
    }
}

#[cfg(test)]
mod tests;
