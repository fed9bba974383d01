//! Allreduce as a reduction to rank 0 and a broadcast from there, both on binomial trees.
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_allreduce.c` (`nonoverlapping`).

use super::{bcast_binomial, reduce_binomial};
use crate::{Round, Task};

/// Reduce; broadcast.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let task = Task { root: 0, output: task.output.part(0, task.input.len), ..*task };
    let up = reduce_binomial::rounds(&task);
    if k < up {
        reduce_binomial::round(&task, k, round)
    } else {
        bcast_binomial::round(&task, k - up, round)
    }
}
