//! Broadcast by the root alone: it sends to each rank, all at once.
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_bcast.c` (`basic_linear`).

use crate::{Round, Task};

/// One round.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, output, .. } = *task;
    if k > 0 {
        return false;
    }
    if rank == root {
        for to in (0..size).filter(|to| *to != root) {
            round.send(to, output);
        }
    } else {
        round.receive(root, output);
    }
    true
}
