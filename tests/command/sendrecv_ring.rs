//! The workload `sendrecv_ring` against arithmetic, on the machine `ideal`.

use crate::claimed::one;

/// Enter the library and copy 8 bytes out, in picoseconds.
const SEND: f64 = 100_000.0 + 800.0;
/// Take from the wire, find in the queue, copy in.
const ARRIVAL: f64 = 100_000.0 + 1_000.0 + 800.0;
/// A packet of 8 bytes from doorbell to memory: see `tests/machine/closed_forms.rs`.
const PACKET: f64 = 80.0 + 1.0 + 10_000.0 + 640.0 + 1e6 + 640.0 + 10_000.0 + 72.0;
const COMPUTE: f64 = 100e6;

/// A step of a ring of `ranks` nodes, in picoseconds.
fn step(ranks: u32, exchange: &str, size: &str) -> f64 {
    let time = |steps: u32| {
        let nodes = format!("nodes={ranks}");
        let ranks = format!("workload.processes={ranks}");
        let exchange = format!("workload.exchange={exchange}");
        let (steps, size) = (format!("workload.steps={steps}"), format!("workload.size={size}"));
        let set = ["machine=ideal", &nodes, &ranks, &exchange, &steps, &size];
        one("examples/sendrecv_ring", &set, "time") * 1e6
    };
    (time(11) - time(10)).round()
}

#[test]
fn blocking_exchanges_add_their_time_to_the_computation() {
    for ranks in [2, 3, 8] {
        let expected = COMPUTE + 2.0 * (SEND + PACKET + ARRIVAL);
        let found = step(ranks, "sendrecv", "8 B");
        assert!((found - expected).abs() < 0.5, "{ranks} ranks: {found} for {expected}");
    }
}

/// The packets travel while the ranks compute; their cores send and take them.
#[test]
fn nonblocking_exchanges_hide_the_way_of_eager_messages() {
    for ranks in [2, 3, 8] {
        let expected = COMPUTE + 2.0 * (SEND + ARRIVAL);
        let found = step(ranks, "isendrecv", "8 B");
        assert!((found - expected).abs() < 0.5, "{ranks} ranks: {found} for {expected}");
    }
}

/// No call makes progress while the ranks compute: both messages of a rank cross its link afterwards.
#[test]
fn nonblocking_exchanges_hide_no_rendezvous() {
    let link = 2.0 * f64::from(1 << 20) * 80.0;
    for ranks in [2, 8] {
        let communication = step(ranks, "isendrecv", "1 MiB") - COMPUTE;
        assert!((link..link * 1.04).contains(&communication), "{communication} for {link}");
    }
}
