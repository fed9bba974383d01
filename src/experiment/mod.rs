//! Experiments: scenario files, plans, sweeps, claims, checks.

pub mod conform;
pub mod results;
