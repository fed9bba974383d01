//! Experiments: scenario files, plans, sweeps, claims, checks.
//!
//! ```text
//!   file ─ json ─ schema ─▶ plan ─ run ─▶ results ─ judge ─▶ claims ─▶ store, report
//! ```
//!
//! | begin with | to |
//! |---|---|
//! | [`plan::load`] | read and check a scenario |
//! | [`run::run`] | run its points, and judge its claims |
//! | [`results::RunResult`] | read what came out: points, metrics with units, verdicts |
//! | [`run::run_point`] | run one point, and keep the causes of its events |
//! | [`store`] | keep results as files, whole or not at all |

pub mod attribution;
pub mod baseline;
pub mod check;
pub mod claim;
pub mod dependence;
pub mod diff;
pub mod document;
mod faults;
pub mod fresh;
pub mod host;
pub mod in_step;
pub mod inputs;
pub mod judge;
pub mod library;
pub mod measured;
pub mod model_file;
pub mod overrides;
pub mod plan;
pub mod results;
pub mod run;
pub mod schema;
pub mod sensitivity;
pub mod shipped;
pub mod store;
pub mod sweep;
pub mod traces;
pub mod what_if;
