//! Allgather by recursive doubling: partners at distance 1, 2, 4, … exchange all blocks they have.
//!
//! Where P is no power of two, ranks are [folded](super::doubling) into one. Blocks that do not
//! follow each other in the receive buffer are collected in scratch space, in rank order, and
//! copied to their places at the end.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.1; the fold of the others is our own.

use super::all::All;
use super::doubling;
use crate::{Round, Task};

/// Own block; fold; one exchange a level; unfold; places.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let all = All::new(task);
    let last = 1 + doubling::rounds(task.size);
    if k == 0 {
        all.begin(task, round);
    } else if k < last {
        let who = (task.rank, task.size);
        doubling::collect(who, k - 1, |first, end| all.ranks(first, end), round);
    } else if k == last {
        all.place(task, round);
    }
    k <= last
}
