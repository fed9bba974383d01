//! Allgather round a ring: in each of P - 1 rounds a rank passes on the block it got last.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.1.

use crate::collectives::{Round, Task};

/// Round k > 0 receives the block of rank - k from the left and sends the one before to the right.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, .. } = *task;
    let block = |back: u32| task.receives.of(output, (rank + size - back % size) % size);
    if k == 0 {
        round.copy(input.part(0, block(0).len), block(0));
        return true;
    }
    if k >= size {
        return false;
    }
    round.receive((rank + size - 1) % size, block(k));
    round.send((rank + 1) % size, block(k - 1));
    true
}
