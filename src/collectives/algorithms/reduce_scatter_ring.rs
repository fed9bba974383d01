//! Reduce-scatter round a ring: a block is combined on its way from the rank behind its owner to its owner.
//!
//! ```text
//!   P = 3:   block 0:  1 ▶ 2 ▶ 0      block 1:  2 ▶ 0 ▶ 1      block 2:  0 ▶ 1 ▶ 2
//! ```
//!
//! It sends as much as the pairwise exchange, and only to the next rank. The operator must commute.
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_reduce_scatter.c` (`ring`).

use super::ring;
use crate::{Round, Task};
use calls::space::Region;

/// Own blocks; once round the ring; the own block.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, .. } = *task;
    // What comes is received before the blocks.
    let longest = (0..size).map(|rank| task.sends.at(rank).len).max().unwrap_or(0);
    let block = |rank: u32| -> Region {
        let before = task.sends.sum(0, rank);
        task.room(longest + before, task.sends.at(rank).len)
    };
    if k == 0 {
        for one in 0..size {
            round.copy(task.sends.of(input, one), block(one));
        }
        return true;
    }
    if k == size {
        let own = block(rank);
        round.copy(own, output.part(0, own.len));
        return true;
    }
    ring::combine(task, k, block, round)
}
