//! Workloads: programs of calls, produced lazily.

pub mod backlog;
pub mod collective;
pub mod epochs;
pub mod job;
pub mod linked_list;
pub mod mutex;
pub mod one_sided;
pub mod ping_pong;
pub mod program;
pub mod score;
pub mod team;
pub mod tiles;
pub mod window_growth;
pub mod windowed;
pub mod xios_ep;
