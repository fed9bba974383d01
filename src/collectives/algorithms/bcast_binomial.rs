//! Broadcast down a binomial tree: who has the message sends it to ever nearer ranks.
//!
//! ```text
//!   root 0 of 8:   0 ▶ 4      0 ▶ 2, 4 ▶ 6      0 ▶ 1, 2 ▶ 3, 4 ▶ 5, 6 ▶ 7      ceil(log2 P) steps
//! ```
//!
//! Ranks are turned so that the root is 0. The sends of a rank follow each other: the first goes to
//! the largest subtree, and does not share the wire with the others.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.2.

use super::tree::{span, turned, unturned};
use crate::{Round, Task};

/// The first round of all but the root receives; each further one sends to one child.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, output, .. } = *task;
    let me = turned(rank, root, size);
    let span = span(me, size);
    let first = u32::from(me != 0);
    if k < first {
        round.receive(unturned(me - span, root, size), output);
        return true;
    }
    let mask = span.checked_shr(k - first + 1).unwrap_or(0);
    if mask > 0 && me + mask < size {
        round.send(unturned(me + mask, root, size), output);
    }
    mask > 0
}
