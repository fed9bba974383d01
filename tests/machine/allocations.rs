//! A run in steady state allocates nothing for a message: eight times the rounds, and hardly an
//! allocation more.

use crate::common::{job, model};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::Ending;
use mpisim::workloads::job::{Flow, windowed};

/// Allocations of a whole run of `rounds` rounds, and the most bytes that it held at once.
fn allocations(machine: &str, flow: Flow, bytes: u64, rounds: u32) -> (u64, u64) {
    let mut job = job(model(machine, &[]), windowed(3, flow, bytes, 16, 2, rounds));
    (job.mpi.payload, job.record) = (Payload::Phantom, false);
    let timed = job.timed().expect("it fits the machine");
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
            // Empty, eager, rendezvous on one of the two machines.
            for bytes in [0, 8, 65_536] {
                let (few, peak) = allocations(machine, flow, bytes, 50);
                let (many, later) = allocations(machine, flow, bytes, 400);
                // Of 16,800 to 33,600 messages more. Lists grow when a rare pattern of events
                // first needs them: some tens of times in a whole run.
                assert!(many <= few + 100, "{machine} {flow:?} {bytes} B: {few}, then {many}");
                assert!(later <= 2 * peak, "{machine} {flow:?} {bytes} B: {peak} B, then {later}");
            }
        }
    }
}
