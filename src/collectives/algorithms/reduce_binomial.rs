//! Reduce up a binomial tree: a rank combines what its subtrees send, nearest first.
//!
//! ```text
//!   8 ranks:   1 ▶ 0, 3 ▶ 2, 5 ▶ 4, 7 ▶ 6      2 ▶ 0, 6 ▶ 4      4 ▶ 0
//! ```
//!
//! The subtree of a rank is the stretch of ranks after it, so that what comes from it stands after
//! what the rank has: the order of ranks is kept. An operator that does not commute is combined at
//! rank 0, which then sends the result to the root; else ranks are turned so that the root is 0.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.4.

use super::tree::{span, turned, unturned};
use crate::{Round, Task};
use mpi::operator::Side;

/// The rank that combines everything, and this rank where that one is turned to be 0.
fn place(task: &Task<'_>) -> (u32, u32) {
    let top = if task.commutes() { task.root } else { 0 };
    (top, turned(task.rank, top, task.size))
}

/// How many rounds this rank has.
pub(super) fn rounds(task: &Task<'_>) -> u32 {
    span(place(task).1, task.size).ilog2() + 3
}

/// Own value; one child a round; send on; from rank 0 to the root.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, input, output, .. } = *task;
    let (top, me) = place(task);
    let (span, len) = (span(me, size), input.len);
    let levels = span.ilog2();
    let sum = if me == 0 && rank == root {
        output.part(0, len)
    } else if levels == 0 || me + 1 == size {
        input
    } else {
        task.room(0, len)
    };
    if k == 0 {
        round.copy(input, sum);
    } else if k <= levels {
        let child = me + (1 << (k - 1));
        if child < size {
            let other = task.room(len, len);
            round.receive(unturned(child, top, size), other);
            round.combine(other, sum, Side::After);
        }
    } else if k == levels + 1 {
        if me > 0 {
            round.send(unturned(me - span, top, size), sum);
        } else if rank != root {
            round.send(root, sum);
        }
    } else if k == levels + 2 {
        if rank == root && me > 0 {
            round.receive(top, output.part(0, len));
        }
    } else {
        return false;
    }
    true
}
