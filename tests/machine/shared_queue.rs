//! Queues of shared memory: what lies in one line, in several, and elsewhere.
//!
//! `ref-node-ucx` has elements of 128 B, 36 B of them header: 28 B of payload end in the first line,
//! 92 B in the element. `ref-node-vader` has a ring of 4064 B in slots of 32 B. A line takes 45 ns.

use crate::common::{at, finished, job, model};
use mpisim::mpi::envelope::Rank;
use mpisim::workloads::job::AnyProgram;
use mpisim::workloads::ping_pong::{END, PingPong, START};
use mpisim::workloads::windowed::{Direction, Windowed};

const LINE: u64 = 45_000;
/// A poll may see a message so much later.
const POLL: u64 = 4_000;

/// Half a round trip, in picoseconds.
fn latency(machine: &str, bytes: u64) -> u64 {
    const ROUNDS: u32 = 20;
    let rank =
        |me: u32| AnyProgram::PingPong(PingPong::new(Rank(1 - me), me == 0, bytes, 2, ROUNDS));
    elapsed(machine, &[], vec![rank(0), rank(1)]) / u64::from(2 * ROUNDS)
}

/// A message of windows of 64, in picoseconds.
fn each(machine: &str, changes: &[(&str, &str)], bytes: u64) -> u64 {
    const ROUNDS: u32 = 4;
    let rank = |me: u32| {
        let direction = if me == 0 { Direction::Sends } else { Direction::Receives };
        AnyProgram::Windowed(Windowed::new(Rank(1 - me), direction, bytes, 64, 1, ROUNDS))
    };
    elapsed(machine, changes, vec![rank(0), rank(1)]) / u64::from(64 * ROUNDS)
}

fn elapsed(machine: &str, changes: &[(&str, &str)], programs: Vec<AnyProgram>) -> u64 {
    let mut job = job(model(machine, changes), programs);
    job.nodes = 1;
    let outcome = finished(job.run().expect("it fits the machine").outcome);
    at(&outcome, 0, END) - at(&outcome, 0, START)
}

#[test]
fn a_message_that_reaches_into_a_second_line_is_seen_a_line_later() {
    for (machine, fits) in [("ref-node-ucx", 28), ("ref-node-vader", 10)] {
        let later = latency(machine, fits + 1) - latency(machine, fits);
        assert!(later.abs_diff(LINE) < POLL, "{machine}: {later}");
    }
}

#[test]
fn a_payload_that_lies_elsewhere_takes_its_line_from_the_receiver_instead() {
    let [within, beyond] = [92, 93].map(|bytes| latency("ref-node-ucx", bytes));
    assert!(beyond.abs_diff(within) < POLL, "{within} {beyond}");
    let [within, beyond] = [92, 93].map(|bytes| each("ref-node-ucx", &[], bytes));
    assert!((beyond - within).abs_diff(LINE) < POLL, "{within} {beyond}");
}

/// Messages of both kinds are seen in their order, or the run would break the law of matching.
#[test]
fn a_message_that_finds_the_ring_full_goes_elsewhere() {
    let full = each("ref-node-vader", &[], 64);
    let room = each("ref-node-vader", &[("mpi.shm_queue", "1 MiB")], 64);
    assert!(full > room + LINE / 10, "{full} {room}");
    // 42 messages of 96 B fit, however many are in a window.
    let none = each("ref-node-vader", &[("mpi.shm_inline", "64 B")], 64);
    assert!(full < none, "{full} {none}");
}
