//! Scatter down a binomial tree: a rank gets the blocks of its whole subtree and passes halves on.
//!
//! ```text
//!   root 0 of 4:   0 ──blocks 2, 3──▶ 2      0 ──1──▶ 1, 2 ──3──▶ 3
//! ```
//!
//! Ranks are turned so that the root is 0; a root that is not rank 0 first puts its blocks in that
//! order. Blocks are of one size: an inner rank knows how much it passes on.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.2.

use super::tree::{held, span, turned, unturned};
use crate::{Round, Task};

/// The first round has or gets all blocks of the subtree; each further one sends to one child.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, input, output, .. } = *task;
    let me = turned(rank, root, size);
    let block = task.sends.at(0).len;
    let bytes = |ranks: u32| u64::from(ranks) * block;
    let own = output.part(0, block);
    let held_bytes = bytes(held(me, size));
    let source = match (me, root) {
        (0, 0) => input,
        _ if held(me, size) == 1 && me > 0 => own,
        _ => task.room(0, held_bytes),
    };
    if k == 0 {
        if me > 0 {
            round.receive(unturned(me - span(me, size), root, size), source.part(0, held_bytes));
            round.copy(source.part(0, block), own);
        } else {
            let (low, high) = (bytes(root), bytes(size - root));
            if root > 0 {
                round.copy(input.part(low, high), source.part(0, high));
                round.copy(input.part(0, low), source.part(high, low));
            }
            round.copy(input.part(low, block), own);
        }
        return true;
    }
    let mask = span(me, size).checked_shr(k).unwrap_or(0);
    if mask > 0 && me + mask < size {
        let child = me + mask;
        let part = source.part(bytes(mask), bytes(mask.min(size - child)));
        round.send(unturned(child, root, size), part);
    }
    mask > 0
}
