//! Allreduce by recursive doubling: partners at distance 1, 2, 4, … exchange what they have and
//! combine it, in the order of their ranks.
//!
//! ```text
//!   copy own ──▶ fold ──▶ exchange, combine (log2 of the core times) ──▶ unfold
//! ```
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.5.

use super::fold::{Fold, Part};
use crate::{Round, Task};
use mpi::operator::Side;

/// Own value; fold; one exchange a level; unfold.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let fold = Fold::new(task.size);
    match k {
        0 => begin(task, fold, round),
        1 => fold_in(task, fold, round),
        _ if k < 2 + fold.levels() => exchange(task, fold, k - 2, round),
        _ if k == 2 + fold.levels() => unfold(task, fold, round),
        _ => return false,
    }
    true
}

/// The value that is worked on begins as this rank's own.
pub(super) fn begin(task: &Task<'_>, fold: Fold, round: &mut Round) {
    if !matches!(fold.part(task.rank), Part::Gives(_)) {
        round.copy(task.input, task.output.part(0, task.input.len));
    }
}

/// Ranks outside the core give what they have to their neighbours.
pub(super) fn fold_in(task: &Task<'_>, fold: Fold, round: &mut Round) {
    let len = task.input.len;
    match fold.part(task.rank) {
        Part::Gives(to) => round.send(to, task.input),
        Part::Takes(from) => {
            let other = task.room(0, len);
            round.receive(from, other);
            round.combine(other, task.output.part(0, len), Side::Before);
        }
        Part::Alone => {}
    }
}

fn exchange(task: &Task<'_>, fold: Fold, level: u32, round: &mut Round) {
    let Some(number) = fold.number(task.rank) else { return };
    let partner = number ^ 1 << level;
    let (own, other) = (task.output.part(0, task.input.len), task.room(0, task.input.len));
    round.receive(fold.rank(partner), other);
    round.send(fold.rank(partner), own);
    let side = if partner < number { Side::Before } else { Side::After };
    round.combine(other, own, side);
}

/// Ranks outside the core get the result.
pub(super) fn unfold(task: &Task<'_>, fold: Fold, round: &mut Round) {
    let result = task.output.part(0, task.input.len);
    match fold.part(task.rank) {
        Part::Gives(to) => round.receive(to, result),
        Part::Takes(from) => round.send(from, result),
        Part::Alone => {}
    }
}
