//! Allgather round a ring: in each of P - 1 rounds a rank passes on the block it got last.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.1.

use super::ring;
use crate::{Round, Task};

/// Round k > 0 receives the block of rank - k from the left and sends the one before to the right.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, .. } = *task;
    let block = |rank: u32| task.receives.of(output, rank);
    if k == 0 {
        let own = block(rank);
        round.copy(input.part(0, own.len), own);
        return true;
    }
    ring::collect((rank, size), k, block, round)
}
