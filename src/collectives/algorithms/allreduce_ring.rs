//! Allreduce round a ring: each part of the vector is combined on its way round, and its result goes round again.
//!
//! ```text
//!   copy own ──▶ combine round the ring (P - 1) ──▶ collect round the ring (P - 1)
//! ```
//!
//! A rank sends and receives 2 (P - 1) / P of the vector, the least that is possible, in 2 (P - 1) rounds. Parts are as
//! nearly equal as elements allow; a vector shorter than the ranks leaves some empty. The operator must commute.
//!
//! Source: Patarasuk, Yuan: Bandwidth optimal all-reduce algorithms for clusters of workstations, 2009;
//! open-mpi/ompi, `ompi/mca/coll/base/coll_base_allreduce.c` (`ring`).

use super::parts::parts;
use super::ring;
use crate::{Round, Task};

/// Own value; combine; collect.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, input, output, .. } = *task;
    let result = output.part(0, input.len);
    let part = |number: u32| parts(task, size, (number, number + 1), result);
    if k == 0 {
        round.copy(input, result);
        return true;
    }
    if k < size {
        return ring::combine(task, k, part, round);
    }
    // A rank has its own part now, as a collection begins.
    ring::collect((rank, size), k + 1 - size, part, round)
}
