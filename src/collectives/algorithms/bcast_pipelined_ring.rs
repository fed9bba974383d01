//! Broadcast along a chain that begins with the root: while a segment comes, the one before it
//! goes on.
//!
//! ```text
//!   root:  s0  s1  s2             each wire carries the whole message once;
//!   next:      s0  s1  s2         P - 2 + (number of segments) steps
//!   last:          s0  s1  s2
//! ```
//!
//! A rank posts its receive before it sends, as chains of libraries do (`MPI_Irecv`, then
//! `MPI_Isend`).
//! Where the RTS of a large segment is there already and the receiver copies, it copies at once, and its
//! own RTS waits for that: neighbours fall into step with each other or out of it (docs/model/cooperation.md).
//!
//! Source: Pješivac-Grbović and others: Performance analysis of MPI collective operations, 2007.
//! Left out: a segment size that follows message and ranks, as in libraries; here a scenario gives one
//! for all (`mpi.collectives.bcast_segment`).

use super::pipeline::{self, Place};
use crate::{Round, Task};

/// Bytes of a segment.
/// Default: `mpi.collectives.bcast_segment` chooses another; the document measures several and states none.
pub(crate) const SEGMENT: u64 = 8192;

/// Round k receives segment k and passes segment k - 1 on; the root sends segment k.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    pipeline::down(task, k, place, round)
}

/// The ranks before and after one, where the root is turned to be 0.
pub(super) fn place(me: u32) -> Place<impl Iterator<Item = u32>> {
    Place { parent: me.checked_sub(1), children: [me + 1].into_iter() }
}
