//! Reduce-scatter by pairwise exchange: in round k a rank sends the block of rank + k there, and
//! combines the own block that comes from rank - k.
//!
//! Blocks come in no order of ranks: the operator must commute.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.3.

use crate::{Round, Task};
use mpi::operator::Side;

/// Round 0 begins with the own block, round k > 0 adds that of rank - k.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, .. } = *task;
    let own = task.sends.of(input, rank);
    let sum = output.part(0, own.len);
    if k == 0 {
        round.copy(own, sum);
        return true;
    }
    if k >= size {
        return false;
    }
    let (to, from) = ((rank + k) % size, (rank + size - k) % size);
    let other = task.room(0, own.len);
    round.receive(from, other);
    round.send(to, task.sends.of(input, to));
    round.combine(other, sum, if from < rank { Side::Before } else { Side::After });
    true
}
