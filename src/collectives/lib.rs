//! Collectives built from point-to-point messages: an algorithm is one file in `algorithms/` and its lines of
//! the registry there.
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
mod algorithms;
mod alike;
mod between;
mod call;
pub mod coupling;
pub mod hierarchy;
mod in_place;
mod neighbourhood;
mod round;
pub mod selection;
mod task;
mod typed;
mod units;

pub use algorithms::{Algorithm, Needs};
pub use between::{Between, Side};
pub use call::{Collective, Unfit};
pub use round::{Move, Round, Work};
pub use task::{At, BEGUN_AT_ONCE, Block, Blocks, Functions, Kind, Task, Turn};
pub use typed::TypedBlocks;
