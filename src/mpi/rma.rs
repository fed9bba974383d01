//! One-sided communication as MPI 3.0 defines it: legal sequences of calls, concurrent accesses,
//! addresses of displacements, and the effect of an operation on bytes.
//!
//! Nothing here sends or waits. Source: `rma` Sec. 2 and 4.

pub mod access;
pub mod layout;
pub mod synchronisation;
pub mod ticket_lock;
pub mod update;
