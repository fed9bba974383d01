//! Reduce by the root alone: each rank sends it the whole vector, and it combines one after the other, the last rank
//! first: the order of ranks is kept.
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_reduce.c` (`linear`).

use crate::{Round, Task};
use mpi::operator::Side;

/// Others send in round 0; round k of the root takes the vector of the rank that is k before the last one.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, input, output, .. } = *task;
    if rank != root {
        if k == 0 {
            round.send(root, input);
        }
        return k == 0;
    }
    if k >= size {
        return false;
    }
    let result = output.part(0, input.len);
    // What its unit has combined may stand where the result goes.
    let sum = if input == result { task.room(input.len, input.len) } else { result };
    let from = size - 1 - k;
    let begins = k == 0;
    if from == root && begins {
        round.copy(input, sum);
    } else if from == root {
        round.combine(input, sum, Side::Before);
    } else if begins {
        round.receive(from, sum);
    } else {
        let other = task.room(0, input.len);
        round.receive(from, other);
        round.combine(other, sum, Side::Before);
    }
    if k + 1 == size {
        round.copy(sum, result);
    }
    true
}
