//! mpisim: a deterministic discrete-event simulator of the node and the network an MPI library
//! runs on.
//!
//! ```text
//!                  cli
//!             report   shipped         the files that ship
//!         explore  conform  fit
//!               experiment
//!           workloads
//!             exec     language
//!                 form
//!                  runtime              the only place where the two towers meet
//!           ┌────────┴────────┐
//!           │              xios_ep
//!           │             protocols     right tower: what happens
//!           │            collectives
//!        hardware           calls
//!         engine              mpi
//!           └────────┬────────┘         left tower: how long things take
//!                  units
//! ```
//!
//! Each layer is a package, which knows only the layers that its manifest lists. This one shows them
//! all under one name.
//!
//! # As a library
//!
//! Simulations are values: nothing is global, so that one process may run as many as it likes, one
//! after the other or side by side. [`load`](experiment::plan::load) turns a scenario into a checked
//! plan, [`run`](experiment::run::run) a plan into results. Here the same ping-pong runs under two
//! protocols:
//!
//! ```
//! use std::error::Error;
//! use std::sync::atomic::AtomicBool;
//!
//! use mpisim::experiment::plan::{Request, load};
//! use mpisim::experiment::results::RunResult;
//! use mpisim::experiment::run::{RunOptions, run};
//! use mpisim::shipped;
//!
//! fn simulate(protocol: &str) -> Result<RunResult, Box<dyn Error>> {
//!     let request = Request {
//!         // A file, or the name of a scenario of the library; the text of one goes into `text`.
//!         scenario: "examples/rput_immediate".to_owned(),
//!         overrides: vec![format!("mpi.rendezvous={protocol}"), "workload.size=64 KiB".to_owned()],
//!         library: shipped::library(),
//!         ..Request::default()
//!     };
//!     let (plan, diagnostics) = load(&request);
//!     let plan = plan.ok_or_else(|| diagnostics.human())?;
//!     let stop = AtomicBool::new(false);
//!     let options = RunOptions { jobs: 1, explain: false, stop: &stop };
//!     Ok(run(&plan, options, &[], &mut |_point| Ok(()))?)
//! }
//!
//! # fn main() -> Result<(), Box<dyn Error>> {
//! let (push, pull) = (simulate("rput")?, simulate("rget")?);
//! let latency = |result: &RunResult| {
//!     let metric = result.points[0].metric("latency").expect("a ping-pong has one");
//!     assert_eq!(metric.unit, "us");
//!     metric.value
//! };
//! let spared = latency(&push) - latency(&pull);
//! assert!((0.6..0.8).contains(&spared), "{spared} us");
//! // Equal scenario, seed and version: equal digest.
//! assert_eq!(simulate("rput")?.digest, push.digest);
//! assert_ne!(pull.digest, push.digest);
//! # Ok(())
//! # }
//! ```
//!
//! | for | use |
//! |---|---|
//! | one point, with the causes of its events | [`experiment::run::run_point`] |
//! | claims of a document, and what became of them | [`experiment::results::RunResult::claims`] |
//! | comparison with stored results | [`experiment::check`], [`experiment::baseline`] |
//! | tables, figures, pages of results | [`report`] |
//! | libraries and programs without a scenario | [`workloads::job`], [`runtime::timed`] |
//! | every order of events | [`explore`], [`runtime::explore`] |
//!
//! The version is 0.1: names may change, and `CHANGELOG.md` says so when they do.

pub use {
    calls, cli, collectives, conform, engine, experiment, explore, fit, form, hardware, language,
    mpi, protocols, report, runtime, shipped, units, workloads, xios_ep,
};
