//! Experiments: scenario files, plans, sweeps, claims, checks.
//!
//! ```text
//!   file ─ json ─ schema ─▶ plan ─ run ─▶ results ─ judge ─▶ claims ─▶ store, report
//! ```

pub mod attribution;
pub mod baseline;
pub mod check;
pub mod claim;
pub mod codes;
pub mod collectives;
pub mod conform;
pub mod diagnostic;
pub mod explore;
pub mod fit;
pub mod fresh;
pub mod goal;
pub mod json;
pub mod judge;
pub mod library;
pub mod measured;
pub mod model_file;
pub mod overrides;
pub mod plan;
pub mod program;
pub mod results;
pub mod run;
pub mod schema;
pub mod sensitivity;
pub mod shape;
pub mod store;
pub mod sweep;
pub mod what_if;
