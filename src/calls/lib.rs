//! Words of MPI's calls that all who make, carry out or watch a call share: communicators, threads, memory, typed
//! buffers and how they are packed. No machine, and no state of a library.

pub mod arguments;
pub mod identity;
pub mod packing;
pub mod space;
pub mod typed;
