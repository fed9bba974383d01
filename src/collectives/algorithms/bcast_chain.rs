//! Broadcast along several chains that begin with the root: while a segment comes, the one before it goes on.
//!
//! ```text
//!   9 ranks, root 0:   0 ▶ 1 ▶ 2      0 ▶ 3 ▶ 4      0 ▶ 5 ▶ 6      0 ▶ 7 ▶ 8
//! ```
//!
//! One chain alone is the [pipelined ring](super::bcast_pipelined_ring). The chains are as nearly of one length as
//! ranks allow, the first ones the longest.
//!
//! Source: open-mpi/ompi, `ompi/mca/coll/base/coll_base_topo.c` (`ompi_coll_base_topo_build_chain`) and the parameter
//! `coll_tuned_bcast_algorithm_chain_fanout` (4).
//! Left out: a number of chains that a scenario chooses.

use super::pipeline::{self, Place};
use crate::{Round, Task};

/// Chains that begin with the root.
/// Source: `coll_tuned_bcast_algorithm_chain_fanout` of Open MPI.
const CHAINS: u32 = 4;

/// Round k receives segment k and passes segment k - 1 on; the root sends segment k to the head of each chain.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let others = task.size - 1;
    let head = |chain: u32| 1 + chain * (others / CHAINS) + chain.min(others % CHAINS);
    let place = |me: u32| {
        let heads = (0..CHAINS.min(others)).map(head);
        let is_head = heads.clone().any(|one| one == me);
        let parent = me.checked_sub(1).map(|before| if is_head { 0 } else { before });
        let next = Some(me + 1).filter(|next| !heads.clone().any(|one| one == *next));
        let of_root = heads.filter(move |_| me == 0);
        Place { parent, children: of_root.chain(next) }
    };
    pipeline::down(task, k, place, round)
}
