//! A run in steady state allocates nothing for a message: twice the rounds, the same allocations.

mod common;

use common::{job, model};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::Ending;
use mpisim::workloads::job::{Flow, windowed};

/// Allocations of a whole run of `rounds` rounds, and the most bytes that it held at once.
fn allocations(machine: &str, flow: Flow, bytes: u64, rounds: u32) -> (u64, u64) {
    let mut job = job(model(machine, &[]), windowed(3, flow, bytes, 16, 2, rounds));
    (job.payload, job.record) = (Payload::Phantom, false);
    let timed = job.timed().unwrap();
    let measured = allocation_counter::measure(|| {
        let outcome = timed.run().outcome;
        assert_eq!(outcome.ending, Ending::Finished);
        assert_eq!(outcome.violations, []);
    });
    (measured.count_total, measured.bytes_max)
}

#[test]
fn a_message_more_is_no_allocation_more() {
    for machine in ["knc-qdr", "broadwell-edr"] {
        for flow in [Flow::OneWay, Flow::BothWays, Flow::BothInOne] {
            // Empty, eager, rendezvous.
            for bytes in [0, 8, 4096, 65_536] {
                let once = allocations(machine, flow, bytes, 200);
                let twice = allocations(machine, flow, bytes, 400);
                assert_eq!(once, twice, "{machine} {flow:?} {bytes} B: (allocations, peak bytes)");
            }
        }
    }
}
