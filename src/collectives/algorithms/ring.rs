//! Blocks that go round a ring: each rank sends to the next one and receives from the one before.

use crate::{Round, Task};
use calls::space::Region;
use mpi::operator::Side;

/// Round k = 1 … P - 1 of a collection: a rank passes on the block that it got last, its own one first.
pub(super) fn collect(
    (rank, size): (u32, u32),
    k: u32,
    block: impl Fn(u32) -> Region,
    round: &mut Round,
) -> bool {
    if k >= size {
        return false;
    }
    let back = |distance: u32| block((rank + size - distance) % size);
    round.receive((rank + size - 1) % size, back(k));
    round.send((rank + 1) % size, back(k - 1));
    true
}

/// Round k = 1 … P - 1 of a reduction: what rank - 1 has of a block is combined with what this rank gives to it,
/// and goes on; the last block is this rank's own, complete. `block` is where a block is combined.
///
/// A block is combined in the order of the ring, which begins behind its owner: the operator must commute.
pub(super) fn combine(
    task: &Task<'_>,
    k: u32,
    block: impl Fn(u32) -> Region,
    round: &mut Round,
) -> bool {
    let Task { rank, size, .. } = *task;
    if k >= size {
        return false;
    }
    let back = |distance: u32| block((rank + size - distance) % size);
    let sum = back((k + 1) % size);
    let coming = task.room(0, sum.len);
    round.receive((rank + size - 1) % size, coming);
    round.send((rank + 1) % size, back(k));
    round.combine(coming, sum, Side::Before);
    true
}
