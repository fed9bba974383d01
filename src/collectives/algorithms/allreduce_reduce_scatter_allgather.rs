//! Allreduce for long vectors: halves are combined until each rank has a part of the result, then
//! the parts are collected on the way back.
//!
//! ```text
//!   fold ──▶ reduce-scatter: halve, combine (log2) ──▶ allgather: double (log2) ──▶ unfold
//! ```
//!
//! Partners are at distance 1 first, so that what is combined always stands next to each other in
//! the order of ranks: the operator need not commute. Vectors shorter than the core leave some
//! parts empty.
//!
//! Source: Rabenseifner: Optimization of collective reduction operations, 2004.

use super::allreduce_recursive_doubling::{begin, fold_in, unfold};
use super::fold::{Fold, kept};
use super::parts::parts;
use crate::{Round, Task};
use mpi::operator::Side;

/// Own value; fold; halve; double; unfold.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let fold = Fold::new(task.size);
    let levels = fold.levels();
    match k {
        0 => begin(task, fold, round),
        1 => fold_in(task, fold, round),
        _ if k < 2 + levels => halve(task, fold, k - 2, round),
        _ if k < 2 + 2 * levels => double(task, fold, 2 * levels + 1 - k, round),
        _ if k == 2 + 2 * levels => unfold(task, fold, round),
        _ => return false,
    }
    true
}

/// Combines the parts on this rank's side of a halving with its partner's values for them.
pub(super) fn halve(task: &Task<'_>, fold: Fold, level: u32, round: &mut Round) {
    let Some(number) = fold.number(task.rank) else { return };
    let partner = number ^ 1 << level;
    let (mine, theirs) = (kept(number, level + 1, fold.core), kept(partner, level + 1, fold.core));
    let other = parts(task, fold.core, mine, task.room(0, 0));
    round.receive(fold.rank(partner), other);
    round.send(fold.rank(partner), parts(task, fold.core, theirs, task.output));
    let side = if partner < number { Side::Before } else { Side::After };
    round.combine(other, parts(task, fold.core, mine, task.output), side);
}

fn double(task: &Task<'_>, fold: Fold, level: u32, round: &mut Round) {
    let Some(number) = fold.number(task.rank) else { return };
    let partner = number ^ 1 << level;
    let of = |member| parts(task, fold.core, kept(member, level + 1, fold.core), task.output);
    round.receive(fold.rank(partner), of(partner));
    round.send(fold.rank(partner), of(number));
}
