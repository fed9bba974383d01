//! Experiments: scenario files, plans, sweeps, claims, checks.

pub mod claim;
pub mod codes;
pub mod diagnostic;
pub mod json;
pub mod library;
pub mod model_file;
pub mod overrides;
pub mod plan;
pub mod program;
pub mod results;
pub mod schema;
pub mod shape;
pub mod sweep;
