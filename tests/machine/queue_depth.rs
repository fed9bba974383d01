//! Queue depth against reality: where the curves of two measured libraries turn, the model's turn.
//!
//! The machines were fitted on latency and bandwidth only. A posted receive is walked past when a
//! message arrives, so every round trip pays for it. An unexpected message is walked past when a
//! receive is posted, which is before its message arrives: the walk hides behind the round trip until
//! it is longer. How steep the curves are behind their knees is no part of this test: there the
//! model is too cheap, by a factor of 1.45 at most.

use crate::common::{at, finished, job, model};
use mpisim::mpi::envelope::Rank;
use mpisim::workloads::backlog::{Backlog, Queue, Side};
use mpisim::workloads::job::AnyProgram;
use mpisim::workloads::ping_pong::{END, PingPong, START};

const LIBRARIES: [(&str, &str); 2] =
    [("mpich-4.0.2", "ref-node-mpich"), ("openmpi-4.1.4", "ref-node-openmpi")];

/// A measured table: entries and microseconds.
fn measured(library: &str, table: &str) -> Vec<(u32, f64)> {
    let root = env!("CARGO_MANIFEST_DIR");
    let text = std::fs::read_to_string(format!("{root}/traces/measured/{library}/{table}.txt"));
    let text = text.expect("the table is part of the project");
    let rows = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    rows.map(|row| {
        let mut cells = row.split_whitespace();
        let entries = cells.next().and_then(|cell| cell.parse().ok()).expect("entries come first");
        (entries, cells.next().and_then(|cell| cell.parse().ok()).expect("then the latency"))
    })
    .collect()
}

/// Half a round trip of 8 B between two cores, in microseconds.
#[allow(clippy::cast_precision_loss, reason = "compared with a measurement")]
fn simulated(machine: &str, queue: Queue, length: u32) -> f64 {
    const ROUNDS: u32 = 20;
    let rank = |me: u32| {
        let side = if me == 1 { Side::Holds } else { Side::Feeds };
        let peer = Rank(1 - me);
        let program = PingPong::new(peer, me == 0, 8, 2, ROUNDS);
        AnyProgram::PingPong(program.with_backlog(Backlog::new(queue, side, length, peer, 8)))
    };
    let mut job = job(model(machine, &[]), vec![rank(0), rank(1)]);
    job.nodes = 1;
    let outcome = finished(job.run().expect("it fits the machine").outcome);
    let elapsed = at(&outcome, 0, END) - at(&outcome, 0, START);
    elapsed as f64 / f64::from(2 * ROUNDS) / 1e6
}

/// Fails unless the curve is flat up to `flat`, within `within`, and has left that at `bent`.
#[track_caller]
fn turns(what: &str, curve: &[(u32, f64)], flat: u32, within: f64, bent: u32) {
    let first = curve[0].1;
    for (length, latency) in curve {
        let grown = latency / first;
        assert!(*length > flat || grown <= within, "{what}: {grown} at {length}");
        assert!(*length < bent || grown > within, "{what}: {grown} at {length}");
    }
}

fn compare(queue: Queue, table: &str, flat: u32, within: f64, bent: u32) {
    for (library, machine) in LIBRARIES {
        let measured = measured(library, table);
        let simulated: Vec<_> =
            measured.iter().map(|row| (row.0, simulated(machine, queue, row.0))).collect();
        turns(&format!("measured {library} {table}"), &measured, flat, within, bent);
        turns(&format!("simulated {machine} {table}"), &simulated, flat, within, bent);
        let off = simulated[0].1 / measured[0].1;
        assert!((0.9..1.1).contains(&off), "{machine} {table}: {off} without a queue");
    }
}

#[test]
fn posted_entries_are_paid_for_from_a_hundred_on() {
    compare(Queue::Expected, "prq", 64, 1.15, 256);
}

#[test]
fn unexpected_entries_hide_behind_the_round_trip_up_to_some_hundred() {
    compare(Queue::Unexpected, "umq", 256, 1.15, 1024);
}
