//! Experiments: scenario files, plans, sweeps, claims, checks.

pub mod results;
pub mod store;
