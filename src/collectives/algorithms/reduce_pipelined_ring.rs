//! Reduce along a chain that ends with the root, in segments: while a segment comes, the one before it goes on,
//! combined.
//!
//! Ranks are turned so that the root is 0, which turns their order, too: the operator must commute.
//!
//! Source: Pješivac-Grbović and others: Performance analysis of MPI collective operations, 2007; open-mpi/ompi,
//! `ompi/mca/coll/base/coll_base_reduce.c` (`pipeline`).

use super::bcast_pipelined_ring::place;
use super::pipeline;
use crate::{Round, Task};

/// Round k receives segment k and combines it, and passes segment k - 1 on.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    pipeline::up(task, k, place, round)
}
