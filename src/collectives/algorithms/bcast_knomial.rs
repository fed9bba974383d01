//! Broadcast down a k-nomial tree of radix 4, in segments: as a binomial tree, but a rank has three children at each
//! level, and sends to all of its children at once.
//!
//! ```text
//!   16 ranks, root 0:   0 ▶ 4, 8, 12, 1, 2, 3      4 ▶ 5, 6, 7      8 ▶ 9, 10, 11      12 ▶ 13, 14, 15
//! ```
//!
//! Ranks are turned so that the root is 0; the parent of a rank is the rank without its lowest digit to the base 4
//! that is not 0.
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_bcast.c` (`knomial`) and the parameter
//! `coll_tuned_bcast_algorithm_knomial_radix` (4).
//! Left out: a radix that a scenario chooses.

use super::pipeline::{self, Place};
use crate::{Round, Task};

/// Children at each level, and the rank itself.
/// Source: `coll_tuned_bcast_algorithm_knomial_radix` of Open MPI.
const RADIX: u32 = 4;

/// Round k receives segment k and passes segment k - 1 on; the root sends segment k.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let place = |me: u32| {
        let span = span(me, task.size);
        let parent = (me > 0).then(|| me - me / span % RADIX * span);
        let masks = std::iter::successors(Some(span / RADIX), |mask| Some(mask / RADIX));
        let children = masks
            .take_while(|mask| *mask > 0)
            .flat_map(move |mask| (1..RADIX).map(move |digit| me + digit * mask));
        Place { parent, children }
    };
    pipeline::down(task, k, place, round)
}

/// The place value of the lowest digit of a rank that is not 0; for the root the power that holds all ranks.
fn span(me: u32, size: u32) -> u32 {
    let mut span = 1;
    while if me == 0 { span < size } else { (me / span).is_multiple_of(RADIX) } {
        span *= RADIX;
    }
    span
}
