//! Traces and schedules of other tools, as workloads.

pub mod goal;
