//! Scan by recursive doubling: partners at distance 1, 2, 4, … exchange what their groups have
//! combined; what comes from lower ranks also goes into the result.
//!
//! A partner that does not exist is left out: the groups below are full, so the result is right for
//! any number of ranks. What is combined always stands next to each other in the order of ranks.
//!
//! Source: Sanders, Träff: Parallel prefix (scan) algorithms for MPI, 2006.

use crate::{Round, Task};
use calls::space::Region;
use mpi::operator::Side;

/// `MPI_Scan`.
pub(super) fn inclusive(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    if k == 0 {
        round.copy(task.input, task.output.part(0, task.input.len));
    }
    doubling(task, k, round, |sum, before, _, round| round.combine(before, sum, Side::Before))
}

/// `MPI_Exscan`: the first that comes from below begins the result; rank 0 has none.
pub(super) fn exclusive(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    doubling(task, k, round, |sum, before, first, round| {
        if first {
            round.copy(before, sum);
        } else {
            round.combine(before, sum, Side::Before);
        }
    })
}

fn doubling(
    task: &Task<'_>,
    k: u32,
    round: &mut Round,
    below: impl Fn(Region, Region, bool, &mut Round),
) -> bool {
    let Task { rank, size, input, .. } = *task;
    let len = input.len;
    let (group, other) = (task.room(0, len), task.room(len, len));
    if k == 0 {
        round.copy(input, group);
        return true;
    }
    let level = k - 1;
    if 1_u64 << level.min(32) >= u64::from(size) {
        return false;
    }
    let partner = rank ^ 1 << level;
    if partner < size {
        round.receive(partner, other);
        round.send(partner, group);
        if partner < rank {
            below(task.output.part(0, len), other, rank.trailing_zeros() == level, round);
            round.combine(other, group, Side::Before);
        } else {
            round.combine(other, group, Side::After);
        }
    }
    true
}
