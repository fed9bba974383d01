//! Gather up a binomial tree: a rank collects the blocks of its subtree and sends them together.
//!
//! ```text
//!   root 0 of 4:   1 ──1──▶ 0, 3 ──3──▶ 2      2 ──blocks 2, 3──▶ 0
//! ```
//!
//! Ranks are turned so that the root is 0; a root that is not rank 0 puts the blocks back in order
//! at the end. Blocks are of one size: an inner rank knows how much comes. All receives of a rank
//! are posted together.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.1 (gather is its inverse scatter).

use super::tree::{held, span, turned, unturned};
use crate::{Round, Task};

/// The first round collects, the second one sends on or puts in order.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, input, output, .. } = *task;
    let me = turned(rank, root, size);
    let block = task.receives.at(0).len;
    let bytes = |ranks: u32| u64::from(ranks) * block;
    let leaf = me > 0 && held(me, size) == 1;
    let own = input.part(0, block);
    let whole = match (me, root) {
        (0, 0) => output.part(0, bytes(size)),
        _ if leaf => own,
        _ => task.room(0, bytes(held(me, size))),
    };
    match k {
        0 => {
            let mut mask = 1;
            while mask < span(me, size) && me + mask < size {
                let child = me + mask;
                let part = whole.part(bytes(mask), bytes(held(child, size)));
                round.receive(unturned(child, root, size), part);
                mask *= 2;
            }
            round.copy(own, whole.part(0, block));
            true
        }
        1 if me > 0 => {
            round.send(unturned(me - span(me, size), root, size), whole);
            true
        }
        1 if root > 0 => {
            let (low, high) = (bytes(root), bytes(size - root));
            round.copy(whole.part(0, high), output.part(low, high));
            round.copy(whole.part(high, low), output.part(0, low));
            true
        }
        _ => false,
    }
}
