//! Workloads: programs of calls, produced lazily.

pub mod backlog;
pub mod collective;
pub mod job;
pub mod ping_pong;
pub mod program;
pub mod windowed;
pub mod xios_ep;
