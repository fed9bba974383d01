//! All-to-all, scattered: as all at once, but only so many pairs are under way together.
//!
//! ```text
//!   P = 7, 2 pairs:   r+1, r+2 ──all complete──▶ r+3, r+4 ──▶ r+5, r+6
//! ```
//!
//! A pair is a receive and a send. Each rank begins with the next one, so that not all send to rank 0 first.
//!
//! Source: pmodels/mpich, `src/mpi/coll/alltoall/alltoall_intra_scattered.c` and `MPIR_CVAR_ALLTOALL_THROTTLE` (32
//! at once, where a scenario does not choose).

use crate::{Round, Task};

/// Pairs under way at once where neither call nor rule says how many.
/// Default: that of `MPIR_CVAR_ALLTOALL_THROTTLE`; `alltoall_outstanding` chooses another.
pub(crate) const OUTSTANDING: u32 = 32;

/// Round k posts the receives and the sends of its pairs; the first one copies the own block, too.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, outstanding, .. } = *task;
    let first = k.saturating_mul(outstanding).saturating_add(1);
    if k > 0 && first >= size {
        return false;
    }
    let last = first.saturating_add(outstanding).min(size);
    for distance in first..last {
        let from = (rank + size - distance) % size;
        round.receive(from, task.receives.of(output, from));
    }
    for distance in first..last {
        let to = (rank + distance) % size;
        round.send(to, task.sends.of(input, to));
    }
    if k == 0 {
        round.copy(task.sends.of(input, rank), task.receives.of(output, rank));
    }
    true
}
