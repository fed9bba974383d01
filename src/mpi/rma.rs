//! One-sided communication as MPI 3.0 defines it: which calls are in order, which accesses may run
//! together, where a displacement points, and what an operation does to the bytes there.
//!
//! Nothing here sends or waits. Source: `rma` Sec. 2 and 4.

pub mod access;
pub mod layout;
pub mod synchronisation;
pub mod ticket_lock;
pub mod update;
