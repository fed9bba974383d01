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

use super::tree::{turned, unturned};
use crate::collectives::{Round, Task};
use crate::space::Region;

/// Bytes of a segment where nobody chooses. The source measures several and states none.
pub(in crate::collectives) const SEGMENT: u64 = 8192;

/// Round k receives segment k and passes segment k - 1 on; the root sends segment k.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let Task { rank, size, root, output, segment: each, .. } = *task;
    let me = turned(rank, root, size);
    let segments = output.len.div_ceil(each);
    let k = u64::from(k);
    let sends = if me == 0 { Some(k) } else { k.checked_sub(1) };
    if me > 0 && k < segments {
        round.receive(unturned(me - 1, root, size), segment(output, each, k));
    }
    if let Some(number) = sends.filter(|&number| number < segments && me + 1 < size) {
        round.send(unturned(me + 1, root, size), segment(output, each, number));
    }
    k < segments + u64::from(me > 0)
}

fn segment(buffer: Region, each: u64, number: u64) -> Region {
    let offset = number * each;
    buffer.part(offset, each.min(buffer.len - offset))
}
