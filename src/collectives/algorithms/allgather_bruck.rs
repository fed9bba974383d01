//! Allgather by Bruck: in round k a rank sends all blocks it has to rank - 2^k, and gets as many from rank + 2^k.
//!
//! ```text
//!   own block ──▶ P = 5:   from r+1: 1 block      r+2: 2 blocks      r+4: 1 block ──▶ places
//! ```
//!
//! It takes ceil(log2 P) rounds for any number of ranks. A rank keeps the blocks in scratch space in the order of
//! ranks from its own on, and copies them to their places at the end.
//!
//! Source: Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient algorithms for all-to-all communications in multiport
//! message-passing systems, 1997; Thakur, Rabenseifner, Gropp 2005, Section 4.1.

use crate::{Round, Task};
use calls::space::Region;

/// Own block; one exchange a level; places.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, .. } = *task;
    let levels = size.next_power_of_two().ilog2();
    if k == 0 {
        let own = turned(task, 0, 1);
        round.copy(input.part(0, own.len), own);
    } else if k <= levels {
        let distance = 1_u32 << (k - 1);
        let count = distance.min(size - distance);
        round.receive((rank + distance) % size, turned(task, distance, distance + count));
        round.send((rank + size - distance) % size, turned(task, 0, count));
    } else if k == levels + 1 && task.receives.are_equal() {
        let (high, low) = (turned(task, 0, size - rank), turned(task, size - rank, size));
        round.copy(high, output.part(low.len, high.len));
        round.copy(low, output.part(0, low.len));
    } else if k == levels + 1 {
        for place in 0..size {
            let to = task.receives.of(output, (rank + place) % size);
            round.copy(turned(task, place, place + 1), to);
        }
    }
    k <= levels + 1
}

/// The blocks of ranks `rank + first..rank + last`, which go on from 0 behind the last rank.
fn turned(task: &Task<'_>, first: u32, last: u32) -> Region {
    let to_end = task.size - task.rank;
    let before = |place: u32| {
        let high = task.receives.sum(task.rank, task.rank + place.min(to_end));
        high + task.receives.sum(0, place.saturating_sub(to_end))
    };
    task.room(before(first), before(last) - before(first))
}
