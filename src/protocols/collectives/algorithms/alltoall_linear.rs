//! All-to-all at once: all receives are posted, all sends are started, and then all is waited for.
//!
//! Everybody begins with the next rank, so that not all send to rank 0 first. A rank has two
//! requests for each other one at the same time.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.6 (medium messages).

use crate::collectives::{Round, Task};

/// One round.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, .. } = *task;
    if k > 0 {
        return false;
    }
    for distance in 1..size {
        let from = (rank + size - distance) % size;
        round.receive(from, task.receives.of(output, from));
    }
    for distance in 1..size {
        let to = (rank + distance) % size;
        round.send(to, task.sends.of(input, to));
    }
    round.copy(task.sends.of(input, rank), task.receives.of(output, rank));
    true
}
