//! Broadcast down a binary tree in segments: while a segment comes, the one before it goes on to both children.
//!
//! ```text
//!   7 ranks, root 0:   0 ▶ 1, 2      1 ▶ 3, 4      2 ▶ 5, 6
//! ```
//!
//! Ranks are turned so that the root is 0; the children of i are 2 i + 1 and 2 i + 2.
//!
//! Source: Pješivac-Grbović and others: Performance analysis of MPI collective operations, 2007; open-mpi/ompi,
//! `ompi/mca/coll/base/coll_base_topo.c` (`ompi_coll_base_topo_build_tree`), which numbers the same tree otherwise.

use super::pipeline::{self, Place};
use crate::{Round, Task};

/// Round k receives segment k and passes segment k - 1 on; the root sends segment k.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    pipeline::down(task, k, place, round)
}

/// The parent and the children of a rank, where the root is turned to be 0.
pub(super) fn place(me: u32) -> Place<impl Iterator<Item = u32>> {
    let children = [2 * me + 1, 2 * me + 2].into_iter();
    Place { parent: me.checked_sub(1).map(|before| before / 2), children }
}
