//! All-to-all by pairwise exchange: in round k a rank sends to rank + k and receives from rank - k,
//! so that no rank is sent to by two at once.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.6.

use crate::{Round, Task};

/// Round 0 copies the own block, round k > 0 exchanges at distance k.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, .. } = *task;
    if k >= size {
        return false;
    }
    let (to, from) = ((rank + k) % size, (rank + size - k) % size);
    let (going, coming) = (task.sends.of(input, to), task.receives.of(output, from));
    if k == 0 {
        round.copy(going, coming);
    } else {
        round.receive(from, coming);
        round.send(to, going);
    }
    true
}
