//! Reduce up a binary tree in segments: while a segment comes from both children, the one before it goes on, combined.
//!
//! ```text
//!   7 ranks, root 0:   3, 4 ▶ 1      5, 6 ▶ 2      1, 2 ▶ 0
//! ```
//!
//! Ranks are turned so that the root is 0; a subtree is no stretch of ranks: the operator must commute.
//!
//! Source: Pješivac-Grbović and others: Performance analysis of MPI collective operations, 2007; open-mpi/ompi,
//! `ompi/mca/coll/base/coll_base_reduce.c` (`binary`).

use super::bcast_binary_tree::place;
use super::pipeline;
use crate::{Round, Task};

/// Round k receives segment k from both children and combines it, and passes segment k - 1 on.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    pipeline::up(task, k, place, round)
}
