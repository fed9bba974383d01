//! Collectives built from point-to-point messages, one algorithm a file, entered by one line in
//! `algorithm.rs`.
//!
//! An algorithm is a pure function: what does rank r of P do in round k? A [`Round`] names the
//! messages that start together and the work on this rank's own memory that follows when all of
//! them are complete. An algorithm never sees the library, and its only state is the number of its
//! round, so that a rank inside a collective is as small as [`At`].
//!
//! ```text
//!   round 0: moves (send, receive) ──all complete──▶ work (copy, combine) ──▶ round 1 … ──▶ done
//! ```
//!
//! Between two ranks messages match in order: the i-th that one sends is the i-th that the other
//! receives. What differs is the kind of the operation, which is in the tag: a broadcast never
//! takes the message of a reduction.
//!
//! Every algorithm works for any number of ranks. Where it needs a power of two, `fold` tells who
//! is folded into whom before, and unfolded after.

pub mod agreement;
mod algorithm;
pub mod allgather_recursive_doubling;
pub mod allgather_ring;
pub mod allreduce_recursive_doubling;
pub mod allreduce_reduce_scatter_allgather;
pub mod alltoall_linear;
pub mod alltoall_pairwise;
pub mod barrier;
pub mod bcast_binomial;
pub mod bcast_pipelined_ring;
mod call;
pub mod coupling;
mod fold;
pub mod gather_binomial;
pub mod gather_linear;
pub mod hierarchy;
pub mod reduce_binomial;
pub mod reduce_reduce_scatter_gather;
pub mod reduce_reduce_scatter_linear_gather;
pub mod reduce_scatter_halving;
pub mod reduce_scatter_pairwise;
mod round;
pub mod scan_linear;
pub mod scan_recursive_doubling;
pub mod scatter_binomial;
pub mod scatter_linear;
mod task;
mod tree;

pub use algorithm::{Algorithm, Needs};
pub use call::{Collective, Unfit};
pub use round::{Move, Round, Work};
pub use task::{At, BEGUN_AT_ONCE, Block, Blocks, Kind, Task};
