//! Barrier by recursive doubling: partners at distance 1, 2, 4, … tell each other that all on their side are there.
//!
//! ```text
//!   fold ──▶ send and receive (log2 of the core times) ──▶ unfold
//! ```
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_barrier.c` (`recursive doubling`).

use super::fold::{Fold, Part};
use crate::{Round, Task};

/// Fold; one exchange a level; unfold. A message has the number of its round for a tag.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let fold = Fold::new(task.size);
    let (part, levels) = (fold.part(task.rank), fold.levels());
    let tag = u16::try_from(k.min(levels + 1)).expect("at most 33 rounds");
    if k == 0 {
        match part {
            Part::Gives(to) => round.signal(to, tag, task.nothing()),
            Part::Takes(from) => round.hear(from, tag, task.nothing()),
            Part::Alone => {}
        }
    } else if k <= levels {
        if let Some(number) = fold.number(task.rank) {
            let partner = fold.rank(number ^ 1 << (k - 1));
            round.signal(partner, tag, task.nothing());
            round.hear(partner, tag, task.nothing());
        }
    } else if k == levels + 1 {
        match part {
            Part::Gives(to) => round.hear(to, tag, task.nothing()),
            Part::Takes(from) => round.signal(from, tag, task.nothing()),
            Part::Alone => {}
        }
    }
    k <= levels + 1
}
