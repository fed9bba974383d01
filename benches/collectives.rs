//! How fast collectives run: messages per second of one core, and bytes a rank, for an allreduce of
//! 8 B by recursive doubling on nodes of 16.
//!
//! `cargo bench --bench collectives`; with `-- --once RANKS CALLS` one run, for a profiler.

#![allow(clippy::print_stdout, reason = "a benchmark prints its result")]
#![allow(clippy::disallowed_types, reason = "a benchmark measures host time")]
#![allow(clippy::disallowed_methods, reason = "a benchmark measures host time")]

#[path = "../tests/common/mod.rs"]
mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::{job, model};
use mpisim::collectives::Collective;
use mpisim::hardware::core::Scheme;
use mpisim::language::collectives::messages;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::Comm;
use mpisim::protocols::contract::{Region, Space};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::workloads::collective::Repeated;
use mpisim::workloads::job::{AnyProgram, Job};

fn allreduce() -> Collective {
    let sum = Reduction::new(Operator::Sum, Datatype::Double).expect("doubles are summed");
    let [input, output] = [0, 1].map(|id| Region::new(Space::User(id), 8));
    Collective::allreduce(Comm(0), input, output, sum)
}

fn plan(ranks: u32, calls: u32) -> Job<AnyProgram> {
    let rank = Repeated::new(Arc::new(allreduce()), 0, calls).at_once();
    let programs = vec![AnyProgram::Collective(rank); ranks as usize];
    let mut job = job(model("broadwell-edr", &[]), programs);
    (job.mpi.payload, job.record) = (Payload::Phantom, false);
    (job.nodes, job.scheme) = (ranks / 16, Scheme::Block);
    job
}

fn run(ranks: u32, calls: u32) -> (Outcome, Duration) {
    let plan = plan(ranks, calls);
    let start = Instant::now();
    let outcome = plan.run().expect("the ranks fit the nodes").outcome;
    let took = start.elapsed();
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
    (outcome, took)
}

/// Messages of a run.
fn sent(ranks: u32, calls: u32) -> u64 {
    u64::from(calls) * messages(&allreduce(), ranks)
}

#[allow(clippy::cast_precision_loss, reason = "a rate of the host, printed to three digits")]
fn main() {
    let mut numbers = std::env::args().skip_while(|argument| argument != "--once").skip(1);
    let mut number = || numbers.next()?.parse().ok();
    if let (Some(ranks), Some(calls)) = (number(), number()) {
        let (outcome, took) = run(ranks, calls);
        println!("{} messages, {} events, {took:?}", sent(ranks, calls), outcome.events);
        return;
    }
    println!("allreduce of 8 B by recursive doubling, 16 ranks a node, phantom payload, one core");
    println!(
        "{:>6} {:>10} {:>13} {:>10} {:>14}",
        "ranks", "messages", "events each", "M/s", "B each"
    );
    for (ranks, calls) in [(64, 400), (1024, 20), (4096, 6)] {
        let best = (0..3).map(|_| run(ranks, calls)).min_by_key(|(_, took)| *took);
        let (outcome, took) = best.expect("three runs");
        let messages = sent(ranks, calls);
        assert_eq!(outcome.packets, messages, "every message is one packet");
        let held = allocation_counter::measure(|| drop(run(ranks, 2))).bytes_max;
        println!(
            "{ranks:>6} {messages:>10} {:>13.2} {:>10.3} {:>14}",
            outcome.events as f64 / messages as f64,
            messages as f64 / took.as_secs_f64() / 1e6,
            held / u64::from(ranks)
        );
    }
}
