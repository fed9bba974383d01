//! How fast endpoints are made: 10^5 of them, by a few processes and by many.
//!
//! `cargo bench --bench endpoints`

#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]
#![allow(clippy::disallowed_types, reason = "a benchmark measures host time")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures host time")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::time::{Duration, Instant};

use common::{Script, job, model};
use mpisim::hardware::core::Scheme;
use mpisim::protocols::call::{Call, Comm};
use mpisim::protocols::contract::Next;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::{Ending, Outcome};

/// Every process makes so many endpoints of the world.
fn create(processes: u32, count: u16) -> (Outcome, Duration) {
    let create = Call::CreateEndpoints { parent: Comm(0), count, first: Comm(10) };
    let programs = (0..processes).map(|_| Script::new([Next::Call(create.clone())])).collect();
    let mut job = job(model("broadwell-edr", &[]), programs);
    (job.mpi.payload, job.record) = (Payload::Phantom, false);
    (job.nodes, job.scheme) = (processes.div_ceil(16), Scheme::Block);
    let start = Instant::now();
    let outcome = job.run().expect("the processes fit the nodes").outcome;
    let took = start.elapsed();
    assert_eq!(outcome.ending, Ending::Finished);
    (outcome, took)
}

fn main() {
    for (processes, count) in [(100, 1_000), (1_000, 100)] {
        let best = (0..3).map(|_| create(processes, count)).min_by_key(|(_, took)| *took);
        let (outcome, took) = best.expect("three runs");
        println!("{processes} processes of {count}: {took:?}, {} messages", outcome.packets);
    }
}
