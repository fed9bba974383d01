//! Words of MPI's calls that all who make, carry out or watch a call share: communicators, threads, memory, typed
//! buffers and how they are packed; and what the fields of a call are ([`mod@rows`]). No machine, and no state of a library.

pub mod arguments;
pub mod identity;
pub mod packing;
pub mod rows;
pub mod space;
pub mod typed;
