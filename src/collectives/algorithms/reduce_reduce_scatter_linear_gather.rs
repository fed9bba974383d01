//! Reduce for long vectors, as `MPI_Reduce_scatter` and a linear `MPI_Gather`: halves are combined until
//! each rank has a part of the result, then every rank sends its part to the root, which posts all
//! receives at once.
//!
//! ```text
//!   fold ──▶ reduce-scatter: halve, combine (log2) ──▶ parts to the root (1)
//!
//!   root 0 of 4:   halve 0◀▶1, 2◀▶3    halve 0◀▶2, 1◀▶3    1, 2, 3 ▶ 0
//! ```
//!
//! Its two phases are both patterns of calls: in the first a rank starts a send and a receive and waits
//! for both, in the second one send that blocks meets receives that do not. Only the root's output is
//! written. Halves are combined as in [`reduce_reduce_scatter_gather`](super::reduce_reduce_scatter_gather):
//! the operator need not commute.
//!
//! Source: Rabenseifner: Optimization of collective reduction operations, 2004; `coop` Sec. II ("large
//! reduce": reduce-scatter, then gather); that the gather is linear is our reading.

use super::allreduce_recursive_doubling::{begin, fold_in};
use super::allreduce_reduce_scatter_allgather::halve;
use super::fold::{Fold, kept};
use super::parts::parts;
use crate::{Round, Task};

/// Own value; fold; halve; everything to the root.
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
        _ if k == 2 + levels => gather(&inner, fold, round),
        _ => return false,
    }
    true
}

/// Each member of the core has one part.
fn gather(task: &Task<'_>, fold: Fold, round: &mut Round) {
    let of = |member| parts(task, fold.core, kept(member, fold.levels(), fold.core), task.output);
    if task.rank == task.root {
        let others = (0..fold.core).filter(|member| fold.rank(*member) != task.root);
        for member in others {
            round.receive(fold.rank(member), of(member));
        }
    } else if let Some(number) = fold.number(task.rank) {
        round.send(task.root, of(number));
    }
}
