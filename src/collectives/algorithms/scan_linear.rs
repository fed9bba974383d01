//! Scan from rank to rank: each one combines what all before it have, and sends that on.
//!
//! Source: the definition of `MPI_Scan`.

use crate::{Round, Task};
use mpi::operator::Side;

/// `MPI_Scan`.
pub(super) fn inclusive(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, .. } = *task;
    let sum = task.output.part(0, input.len);
    match k {
        0 => round.copy(input, sum),
        1 if rank > 0 => {
            let before = task.room(0, input.len);
            round.receive(rank - 1, before);
            round.combine(before, sum, Side::Before);
        }
        2 if rank + 1 < size => round.send(rank + 1, sum),
        1 | 2 => {}
        _ => return false,
    }
    true
}

/// `MPI_Exscan`: the result is what comes; rank 0 has none.
pub(super) fn exclusive(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, .. } = *task;
    let (before, sum) = (task.output.part(0, input.len), task.room(0, input.len));
    match k {
        0 if rank > 0 => {
            round.receive(rank - 1, before);
            round.copy(input, sum);
            round.combine(before, sum, Side::Before);
        }
        1 if rank + 1 < size => round.send(rank + 1, if rank > 0 { sum } else { input }),
        0 | 1 => {}
        _ => return false,
    }
    true
}
