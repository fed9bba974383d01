//! Barrier by rank 0 alone: all ranks tell it that they are there, and it tells all of them to go on.
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_barrier.c` (`linear`).

use crate::{Round, Task};

/// Each rank sends rank 0 a message, and rank 0 answers all of them.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    if k < 2 {
        tell(&Task { root: 0, ..*task }, k == 0, round);
    }
    k < 2
}

/// The others tell the root that they are there (`up`), or it tells them to go on.
pub(crate) fn tell(task: &Task<'_>, up: bool, round: &mut Round) {
    let Task { rank, size, root, .. } = *task;
    let leads = rank == root;
    let others = (0..size).filter(|other| if leads { *other != root } else { *other == root });
    for other in others {
        if leads == up {
            round.hear(other, 0, task.nothing());
        } else {
            round.signal(other, 0, task.nothing());
        }
    }
}
