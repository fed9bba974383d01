//! Barrier up and down a binomial tree: a rank tells its parent when its subtree is there, and passes on that all
//! are.
//!
//! ```text
//!   8 ranks:   1 ▶ 0, 3 ▶ 2, 5 ▶ 4, 7 ▶ 6      2 ▶ 0, 6 ▶ 4      4 ▶ 0      and back, the last first
//! ```
//!
//! 2 (P - 1) messages, fewer than any other barrier, in twice as many steps as dissemination.
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_barrier.c` (`tree`).

use super::tree::span;
use crate::{Round, Task};

/// Receive from all children; send to the parent; receive from it; send to all children.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, .. } = *task;
    let span = span(rank, size);
    let children = (0..span.ilog2()).map(|bit| rank + (1 << bit)).filter(|child| *child < size);
    let parent = (rank > 0).then(|| rank - span);
    match (k, parent) {
        (0, _) => children.for_each(|child| round.hear(child, 0, task.nothing())),
        (1, Some(parent)) => round.signal(parent, 0, task.nothing()),
        (2, Some(parent)) => round.hear(parent, 1, task.nothing()),
        (3, _) => children.rev().for_each(|child| round.signal(child, 1, task.nothing())),
        (1 | 2, None) => {}
        _ => return false,
    }
    true
}
