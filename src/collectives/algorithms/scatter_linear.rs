//! Scatter by the root alone: it sends each rank its block, all at once.
//!
//! Source: `MPI_Scatterv` of common libraries, where only the root knows the counts.

use crate::{Round, Task};

/// One round.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, input, output, .. } = *task;
    if k > 0 {
        return false;
    }
    if rank != root {
        round.receive(root, output);
        return true;
    }
    for to in (0..size).filter(|to| *to != root) {
        round.send(to, task.sends.of(input, to));
    }
    let own = task.sends.of(input, root);
    round.copy(own, output.part(0, own.len));
    true
}
