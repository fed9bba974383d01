//! Workloads: programs of calls, produced lazily.

pub mod application;
pub mod backlog;
pub mod collective;
pub mod comd;
pub mod epochs;
pub mod goal;
pub mod gpu;
pub mod graph500;
pub mod grid;
pub mod halo;
pub mod job;
pub mod linked_list;
pub mod minighost;
pub mod mutex;
pub mod one_sided;
pub mod packing;
pub mod ping_pong;
pub mod program;
pub mod score;
pub mod stencil;
pub mod team;
pub mod tiles;
pub mod truncation;
pub mod window_growth;
pub mod windowed;
pub mod xios_ep;
