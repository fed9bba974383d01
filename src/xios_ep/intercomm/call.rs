//! What both sides pass to create an intercommunicator, and what in it contradicts.
//!
//! ```text
//!   A: MPI_Intercomm_create(A, 2, peer, 9, tag)    leader: rank 2 of A, rank 4 of peer
//!   B: MPI_Intercomm_create(B, 3, peer, 4, tag)    leader: rank 3 of B, rank 9 of peer
//! ```
//!
//! Source: `xios-ep` Sec. 6.2.

use std::fmt;
use std::sync::Arc;

use super::assign::Card;
use super::members::{Members, Thread};
use mpi::envelope::Rank;
use mpi::intercommunicator::Side;

/// Arguments of the endpoints of one side, besides the peer communicator.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Caller {
    /// Their communicator.
    pub members: Arc<Members>,
    /// The rank of their leader in it.
    pub leader: Rank,
    /// The rank of the other leader in the peer communicator.
    pub remote_leader: Rank,
    /// The tag of the leaders' exchange.
    pub tag: i32,
}

/// Why there can be no intercommunicator.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum IntercommError {
    /// The leader's rank is not in its communicator.
    #[error("side {side:?}: leader {} is out of range, its communicator has {endpoints} endpoints", leader.0)]
    LeaderOutOfRange {
        /// Side of the leader.
        side: Side,
        /// Its rank.
        leader: Rank,
        /// Size of the communicator.
        endpoints: u32,
    },
    /// The other leader's rank is not in the peer communicator.
    #[error("side {side:?}: remote leader {} is out of range, the peer communicator has {endpoints} endpoints", remote_leader.0)]
    RemoteLeaderOutOfRange {
        /// Side that names it.
        side: Side,
        /// The rank named.
        remote_leader: Rank,
        /// Size of the peer communicator.
        endpoints: u32,
    },
    /// One side names a remote leader that is not the leader of the other.
    #[error("side {side:?} takes rank {} of the peer communicator for the other leader, which it is not", remote_leader.0)]
    OtherLeader {
        /// Side that is wrong.
        side: Side,
        /// The rank named.
        remote_leader: Rank,
    },
    /// The groups share a thread.
    #[error("thread {} of process {} is rank {} of side A and rank {} of side B; the sides may share processes, not threads", thread.thread, thread.process, a.0, b.0)]
    Overlap {
        /// The thread.
        thread: Thread,
        /// Its rank on side A.
        a: Rank,
        /// Its rank on side B.
        b: Rank,
    },
    /// Different tags: the leaders would wait for each other for ever.
    #[error("side A passes tag {a}, side B tag {b}; the leaders' messages would never match")]
    Tags {
        /// The tag of side A.
        a: i32,
        /// The tag of side B.
        b: i32,
    },
}

/// Phase 1: what a leader tells the other one.
pub(super) fn card(callers: [&Caller; 2], side: Side) -> Card {
    let (own, other) = (callers[side as usize], callers[side.other() as usize]);
    let process = own.members.threads[own.leader.0 as usize].process;
    let processes = super::super::count(own.members.processes().len());
    Card { process, processes, peer: other.remote_leader }
}

/// Both sides have to name the same two leaders, and pass the same tag.
pub(super) fn check_leaders(callers: [&Caller; 2], peer: &Members) -> Result<(), IntercommError> {
    for side in Side::BOTH {
        let Caller { members, leader, .. } = callers[side as usize];
        if members.thread(*leader).is_none() {
            let (leader, endpoints) = (*leader, members.size());
            return Err(IntercommError::LeaderOutOfRange { side, leader, endpoints });
        }
    }
    for side in Side::BOTH {
        let (own, other) = (callers[side as usize], callers[side.other() as usize]);
        let (remote_leader, endpoints) = (own.remote_leader, peer.size());
        let outside = IntercommError::RemoteLeaderOutOfRange { side, remote_leader, endpoints };
        let named = peer.thread(remote_leader).ok_or(outside)?;
        if Some(named) != other.members.thread(other.leader) {
            return Err(IntercommError::OtherLeader { side, remote_leader });
        }
    }
    let [a, b] = callers.map(|caller| caller.tag);
    if a == b { Ok(()) } else { Err(IntercommError::Tags { a, b }) }
}

/// No thread may be on both sides.
pub(super) fn check_disjoint(a: &Members, b: &Members) -> Result<(), IntercommError> {
    for (thread, rank) in a.threads.iter().zip(0..) {
        if let Some(other) = b.rank(*thread) {
            return Err(IntercommError::Overlap { thread: *thread, a: Rank(rank), b: other });
        }
    }
    Ok(())
}

impl fmt::Display for Caller {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "leader {}, remote leader {}", self.leader.0, self.remote_leader.0)
    }
}
