//! Experiments: scenario files, plans, sweeps, claims, checks.

pub mod codes;
pub mod diagnostic;
pub mod json;
pub mod results;
