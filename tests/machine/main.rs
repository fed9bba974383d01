//! The simulated machine: engine, fabric, hosts, HCAs and GPUs against closed forms and laws.

#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/gpu_machine.rs"]
mod gpu_machine;
#[path = "../common/schedules.rs"]
mod schedules;

mod allocations;
mod closed_forms;
mod coop_machines;
mod copies;
mod determinism;
mod engine_order;
#[expect(clippy::cast_possible_truncation, reason = "times of a test stay far below 2^63 ps")]
mod fabric;
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "times of a test stay far below 2^63 ps"
)]
mod fabric_oracle;
mod faults;
mod gpu;
mod loggops;
mod long_queues;
mod loopback;
mod memory;
mod models;
mod overlap;
mod pace;
mod packing;
mod progress;
mod queue_depth;
mod shared_queue;
mod threads;
mod ti;
mod tiles;
mod torus;
mod typed;
