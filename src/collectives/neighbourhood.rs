//! Collectives among neighbours: each rank exchanges a block with each rank that the topology of its
//! communicator names, all at once.
//!
//! ```text
//!   neighbor_allgather   one block to all destinations, one block from each source
//!   neighbor_alltoall    a block of its own to each destination, one block from each source
//! ```
//!
//! In a grid the rank before and the rank behind may be one: tags tell the directions apart.
//!
//! Source: MPI 4.0, Sec. 8.6 and 8.7. Left out: schedules that combine messages of several neighbours.

use super::{Kind, Move, Round, Task};
use mpi::topology::Neighbours;

/// One round.
pub(super) fn round(
    kind: Kind,
    neighbours: &Neighbours,
    task: &Task<'_>,
    k: u32,
    round: &mut Round,
) -> bool {
    if k > 0 {
        return false;
    }
    for (place, to) in (0_u16..).zip(neighbours.destinations.iter()) {
        let whole = kind == Kind::Allgather;
        let region = if whole { task.input } else { task.sends.of(task.input, place.into()) };
        if let Some(to) = to.filter(|_| region.len > 0) {
            round.moves.push(Move::Send { to, tag: neighbours.leaves(place), region });
        }
    }
    for (place, from) in (0_u16..).zip(neighbours.sources.iter()) {
        let region = task.receives.of(task.output, place.into());
        if let Some(from) = from.filter(|_| region.len > 0) {
            round.moves.push(Move::Receive { from, tag: neighbours.comes(place), region });
        }
    }
    true
}
