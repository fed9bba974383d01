//! Allgather by neighbour exchange: a rank talks to its two neighbours in turn, and passes on the two blocks that
//! it got last.
//!
//! ```text
//!   6 ranks:   0◀▶1, 2◀▶3, 4◀▶5: own blocks      1◀▶2, 3◀▶4, 5◀▶0: pairs      0◀▶1, 2◀▶3, 4◀▶5: pairs
//! ```
//!
//! It takes P / 2 rounds, half of those of a ring, of two blocks each. P must be even; among an odd number of
//! ranks the blocks go round a [ring](super::ring), as in Open MPI.
//!
//! Source: Chen, Sun, Wang, Zhang, Yuan: Performance evaluation of allgather algorithms on terascale Linux cluster
//! with fast Ethernet, 2005; open-mpi/ompi, `ompi/mca/coll/base/coll_base_allgather.c`.

use super::all::All;
use super::ring;
use crate::{Round, Task};

/// Own block; exchange of own blocks; exchanges of pairs; places.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, .. } = *task;
    let all = All::new(task);
    let is_even = size.is_multiple_of(2);
    let steps = if is_even { size / 2 } else { size - 1 };
    if k == 0 {
        all.begin(task, round);
    } else if k <= steps && !is_even {
        ring::collect((rank, size), k, |rank| all.ranks(rank, rank + 1), round);
    } else if k <= steps {
        let step = k - 1;
        let towards_next = rank.is_multiple_of(2) == step.is_multiple_of(2);
        let neighbour = if towards_next { (rank + 1) % size } else { (rank + size - 1) % size };
        if step == 0 {
            round.receive(neighbour, all.ranks(neighbour, neighbour + 1));
            round.send(neighbour, all.ranks(rank, rank + 1));
        } else {
            let pair = |number: u32| all.ranks(2 * number, 2 * number + 2);
            round.receive(neighbour, pair(got(rank, size, step)));
            round.send(neighbour, pair(got(rank, size, step - 1)));
        }
    } else if k == steps + 1 {
        all.place(task, round);
    }
    k <= steps + 1
}

/// The pair of ranks whose blocks a rank has got in a step: its own one, then in turn from the pairs on both sides.
const fn got(rank: u32, size: u32, step: u32) -> u32 {
    let (own, pairs, distance) = (rank / 2, size / 2, step.div_ceil(2));
    let from_above = rank.is_multiple_of(2) == step.is_multiple_of(2);
    (if from_above { own + distance } else { own + pairs - distance }) % pairs
}
