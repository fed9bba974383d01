//! The endpoint library over plain MPI: what it computes, with nothing that moves a byte or waits.
//!
//! Threads of a process become ranks of their own, *endpoints*, although MPI below knows processes
//! only. Every algorithm that communicates is cut at its messages: one function says what a process
//! contributes, another what it computes from all contributions; who carries them is not decided
//! here.
//!
//! ```text
//!   rank_map   endpoint rank <-> (rank in the process, process)          Sec. 3
//!   comm       communicator objects of one process, their creation       Sec. 2, 3
//!   tag        user tag and both in-process ranks in 31 bits             Sec. 4
//!   message    the incoming list of an endpoint, relocation into it      Sec. 3.3, 4
//!   progress   a check; Irecv in its three steps                         Sec. 4
//!   request    types 1, 2, 3; Test and Wait step by step; pending list   Sec. 3.1, 4
//!   collective three steps: within processes, among them, within them    Sec. 5
//!   split      several colors per process                                Sec. 6.1
//!   intercomm  which group a shared process joins; the four maps; routes Sec. 6.2, 7
//!   merge      one communicator of both sides                            Sec. 6.3
//!   window     one-sided layout between clients and a server             Sec. 8
//!   library    all of this at work over plain MPI
//! ```
//!
//! # Source
//!
//! `xios-ep`, the sections above. Where the document leaves a gap or contradicts itself this is
//! adopted:
//!
//! - Broadcast from a root that is no master (Sec. 5, Ex. 1): the root itself calls MPI for its
//!   process, and the first of the three steps is empty.
//! - Point-to-point with different labels (Sec. 7): the sender is looked up in its own `rank_map`,
//!   the receiver in `intercomm_rank_map`. The printed form has them the other way round and asks
//!   for rank 4 of a map with two entries in its own example.
//! - The 31 bits of a tag (Sec. 4): 15 for the user, 8 for each in-process rank.
//! - Intercommunicators (Sec. 6.3): processes become disjoint in every case but 3c, where one
//!   process remains on both sides and only the label says that it is an intercommunicator.
//! - The rank-map example (Sec. 7), whose figure is not to be had: in an assigned group the
//!   endpoints of the group itself come first in each process, those of the other group behind
//!   them. With A on thread 0 and B on thread 1 of each process this gives all eight printed maps,
//!   and it is what the public library does.
//! - Test on type 2 (Sec. 4, Ex. 1): a request that becomes type 3 is tested in the same call.
//! - Keys of a split (Sec. 6.1) act within a process only, unlike MPI's; [`split::KeyRule::Mpi`]
//!   has MPI's order.
//! - Wildcards of a receive (Sec. 4) are resolved in the endpoint's own list.
//! - Merge with equal high values (Sec. 6.3): the group of the leader with the lower world rank
//!   comes first.
//! - Windows (Sec. 8): clients 0 to 4, server A to C, null for thread 2 of process 0. The server is
//!   the last process of the communicator, and its master acts for it; the master of a client process
//!   stands in for the threads that it lacks.
//! - "Higher peer rank" (Sec. 6.2, case 1) means after a leader moved, in the world then.
//! - A process without endpoints is an error unless allowed. It has no thread that could call, so
//!   collectives run among the processes that have endpoints ([`rank_map::RankMap::processes`]).
//!
//! # Where the public library (about 2016) deviates
//!
//! Each time a different result is seen only in the situation named.
//!
//! - It adds the parts of a tag without a check: a value beyond its field changes its neighbour.
//! - It compares a leader's world rank with the other one's *peer* rank when both sides decide on
//!   shared processes; these differ where the peer communicator is not the world.
//! - Two threads of a process that split with equal keys get the same place; here the old rank
//!   decides.
//! - A color that is undefined gets a communicator; here it gets none.
//! - A merge with equal high values puts *both* groups behind the other one, so that no rank 0
//!   exists.
//! - The source of a message on an intercommunicator is found by the rank in the assigned group
//!   alone; here the label decides too, since A' and B' count from 0 each.
//!
//! Left out: what the objects cost in time, which the actions of [`library`] say.

pub mod collective;
pub mod comm;
pub mod intercomm;
pub mod library;
pub mod merge;
pub mod message;
pub mod message_list;
pub mod progress;
pub mod rank_map;
pub mod request;
pub mod split;
pub mod tag;
pub mod window;

/// `items` as the text of a list: `[a, b, c]`.
fn list<T: std::fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    format!("[{}]", items.join(", "))
}

/// A count as MPI has it.
fn count(length: usize) -> u32 {
    u32::try_from(length).expect("a job has fewer than 2^32 endpoints")
}

#[cfg(test)]
mod tests;
