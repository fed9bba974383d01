//! Reduce for long vectors: halves are combined until each rank has a part of the result, then the
//! parts are gathered by the root.
//!
//! ```text
//!   fold ──▶ reduce-scatter: halve, combine (log2) ──▶ gather up a binomial tree (log2) ──▶ unfold
//!
//!   root 0 of 4:   halve 0◀▶1, 2◀▶3    halve 0◀▶2, 1◀▶3    2 ▶ 0, 3 ▶ 1    1 ▶ 0
//! ```
//!
//! The gather undoes the halvings, the last one first: who is on the other side than the root sends
//! all that it has and is done. Partners are at distance 1 first, so that what is combined always
//! stands next to each other in the order of ranks: the operator need not commute. Only the root's
//! output is written.
//!
//! Source: Rabenseifner: Optimization of collective reduction operations, 2004; `coop` Sec. II ("large
//! reduce").

use super::allreduce_recursive_doubling::{begin, fold_in};
use super::allreduce_reduce_scatter_allgather::halve;
use super::fold::{Fold, Part, kept};
use super::parts::parts;
use crate::{Round, Task};

/// Own value; fold; halve; gather; to a root outside the core.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let (fold, len) = (Fold::new(task.size), task.input.len);
    let levels = fold.levels();
    // What comes is received into the first part of the scratch space.
    let output = if task.rank == task.root { task.output } else { task.room(len, len) };
    let inner = Task { output, ..*task };
    match k {
        0 => begin(&inner, fold, round),
        1 => fold_in(&inner, fold, round),
        _ if k < 2 + levels => halve(&inner, fold, k - 2, round),
        _ if k < 2 + 2 * levels => gather(&inner, fold, 2 * levels + 1 - k, round),
        _ if k == 2 + 2 * levels => to_root(&inner, fold, round),
        _ => return false,
    }
    true
}

/// The member of the core that gathers: the root, or whom it gave its own value.
const fn top(fold: Fold, root: u32) -> u32 {
    match fold.part(root) {
        Part::Gives(to) => to,
        Part::Takes(_) | Part::Alone => root,
    }
}

/// Undoes the halving of a level, for those who are on the root's side of all later ones.
fn gather(task: &Task<'_>, fold: Fold, level: u32, round: &mut Round) {
    let top = fold.number(top(fold, task.root)).expect("who gathers is of the core");
    let Some(number) = fold.number(task.rank) else { return };
    if (number ^ top) >> (level + 1) != 0 {
        return;
    }
    let partner = number ^ 1 << level;
    let of = |member| parts(task, fold.core, kept(member, level + 1, fold.core), task.output);
    if (number ^ top) >> level & 1 == 0 {
        round.receive(fold.rank(partner), of(partner));
    } else {
        round.send(fold.rank(partner), of(number));
    }
}

/// A root outside the core gets the result from whom it gave its own value.
fn to_root(task: &Task<'_>, fold: Fold, round: &mut Round) {
    let Part::Gives(top) = fold.part(task.root) else { return };
    let result = task.output.part(0, task.input.len);
    if task.rank == top {
        round.send(task.root, result);
    } else if task.rank == task.root {
        round.receive(top, result);
    }
}
