//! Workloads: programs of calls, produced lazily.

pub mod program;
