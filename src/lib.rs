//! mpisim: a deterministic discrete-event simulator of the node and the network an MPI library
//! runs on.
//!
//! ```text
//!                  cli
//!               experiment ── report
//!                 workloads
//!                  runtime              the only place where the two towers meet
//!           ┌────────┴────────┐
//!        hardware          protocols    left tower: how long things take
//!         engine              mpi       right tower: what happens
//!           └────────┬────────┘
//!                  units
//! ```
//!
//! A layer names only what is below it; `tests/house/architecture.rs` enforces it.

pub mod units;

pub mod engine;
pub mod hardware;

pub mod mpi;
pub mod protocols;

pub mod runtime;
pub mod workloads;

pub mod experiment;
pub mod report;

pub mod cli;
