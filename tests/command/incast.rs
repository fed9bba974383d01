//! The workload `incast` against arithmetic, on the machine `ideal`.

use crate::binary::Scratch;
use crate::claimed::one;

/// Measured time of `rounds` rounds, with `senders` nodes of one sender each, in picoseconds.
fn time(senders: u32, window: u32, rounds: u32, size: &str) -> f64 {
    let nodes = format!("nodes={}", senders + 1);
    let (window, size) = (format!("workload.window={window}"), format!("workload.size={size}"));
    let rounds = format!("workload.rounds={rounds}");
    let set = ["machine=ideal", "workload.senders_per_node=1", &nodes, &window, &rounds, &size];
    (one("examples/incast", &set, "time") * 1e6).round()
}

/// One link of 100 Gb/s leads to the receiver: twice the bytes keep it busy for as much longer as the added
/// bytes need on it, 80 ps each. All else that a round takes is the same, but for the picosecond to which each
/// flow is rounded.
#[test]
fn all_bytes_pass_the_link_of_the_receiver() {
    for senders in [1_u32, 2, 8] {
        for window in [1, 4] {
            let added = f64::from(senders * window * (1 << 20)) * 80.0;
            let found = time(senders, window, 1, "2 MiB") - time(senders, window, 1, "1 MiB");
            assert!((found - added).abs() <= 1.0, "{found}: {senders} of {window} messages");
        }
    }
}

/// A round of one sender is a message of 8 bytes and an empty one back. Each further message takes 100 ns of
/// the receiver's core to arrive, 1 ns to pass its entry of the queue, and 0.8 ns to copy 8 bytes. The empty
/// messages leave 100 ns apart, so that the next round arrives in the order of the queue.
#[test]
fn the_core_of_the_receiver_bounds_small_messages() {
    let round = |senders| time(senders, 1, 3, "8 B") - time(senders, 1, 2, "8 B");
    let one = round(1);
    for senders in [2, 4, 8, 16] {
        let found = round(senders) - one;
        let added = f64::from(senders - 1) * 101_800.0;
        assert!((found - added).abs() < 0.5, "{senders}: {found}");
    }
}

#[test]
fn the_receiver_needs_a_node_of_its_own_and_memory_for_its_requests() {
    let scratch = Scratch::new("incast");
    let refused = |set: &[&str]| {
        let scenario = concat!(env!("CARGO_MANIFEST_DIR"), "/scenarios/examples/incast.json");
        let set = set.iter().flat_map(|one| ["--set", one]);
        let answer = scratch.run(&[&["run", scenario][..], &set.collect::<Vec<_>>()].concat());
        assert_eq!(answer.exit, 3, "{}", answer.err);
        answer.err
    };
    assert!(refused(&["nodes=1"]).contains("the receiver is alone on its node"));
    let many = refused(&["nodes=17", "workload.window=65536"]);
    assert!(many.contains("64 senders of 65536 messages each"), "{many}");
}
