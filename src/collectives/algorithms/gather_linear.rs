//! Gather by the root alone: every rank sends it a block, and it posts all receives at once.
//!
//! Source: `MPI_Gatherv` of common libraries, where only the root knows the counts.

use crate::{Round, Task};

/// One round.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, input, output, .. } = *task;
    if k > 0 {
        return false;
    }
    if rank != root {
        round.send(root, input);
        return true;
    }
    for from in (0..size).filter(|from| *from != root) {
        round.receive(from, task.receives.of(output, from));
    }
    let own = task.receives.of(output, root);
    round.copy(input.part(0, own.len), own);
    true
}
