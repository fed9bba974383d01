//! The laws of the fabric: closed forms, conservation, order.

mod fabric_oracle;

use fabric_oracle::driver::{Message, Workload, fabric_of, message, run};
use mpisim::hardware::fabric::Arbitration;

const MTU: u64 = 4096;
const MIB: u64 = 1 << 20;

fn world(ps_per_byte: &[u64], paths: &[&[u32]]) -> Workload {
    Workload {
        ps_per_byte: ps_per_byte.to_vec(),
        mtu: MTU,
        arbitration: Arbitration::ByteQuantum,
        paths: paths.iter().map(|path| path.iter().map(|&hop| (hop, 1)).collect()).collect(),
        messages: Vec::new(),
    }
}

/// Delivery times must be `expected`, up to `slack` ps of rounding of rates.
#[track_caller]
fn check(world: &Workload, messages: &[Message], expected: &[u64], slack: u64) {
    let outcome = run(fabric_of(world), messages);
    for (index, (&found, &wanted)) in outcome.done.iter().zip(expected).enumerate() {
        assert!(found.abs_diff(wanted) <= slack, "message {index}: {found} ps, expected {wanted}");
    }
}

#[test]
fn two_equal_flows_get_half_each() {
    let link = world(&[80], &[&[0]]);
    let end = 2 * 4 * MIB * 80;
    check(&link, &[message(0, 0, 0, 4 * MIB), message(0, 1, 0, 4 * MIB)], &[end, end], 1);
}

#[test]
fn a_packet_behind_k_flows_waits_for_the_rest_and_one_mtu_of_each_other() {
    let link = world(&[80], &[&[0]]);
    let turn = MTU * 80;
    for k in [1, 2, 4, 16_u32] {
        for phase in [0, 1, 100_000, turn - 1] {
            let mut messages: Vec<Message> = (0..k).map(|c| message(0, c, 0, 4 * MIB)).collect();
            let at = 20 * turn + phase;
            messages.push(message(at, 99, 0, 8));
            let all = u64::from(k) * 4 * MIB * 80 + 8 * 80;
            let mut expected = vec![all; k as usize];
            expected.push(at + turn - phase + (u64::from(k) - 1) * turn + 640);
            check(&link, &messages, &expected, 2);
        }
    }
}

#[test]
fn an_uncontended_packet_costs_one_event_per_hop() {
    let chain = world(&[50, 80, 100, 40], &[&[0, 1, 2, 3]]);
    let outcome = run(fabric_of(&chain), &[message(5, 0, 0, 8)]);
    assert_eq!(outcome.events, 1 + 4);
    assert_eq!(outcome.done[0], 5 + 8 * (50 + 80 + 100 + 40));
}

#[test]
fn a_chain_adds_the_cut_through_bytes_of_every_other_stage() {
    let chain = world(&[50, 80, 100, 40], &[&[0, 1, 2, 3]]);
    check(&chain, &[message(0, 0, 0, MIB)], &[MIB * 100 + 256 * (50 + 80 + 40)], 1);
    check(&chain, &[message(0, 0, 0, 2048)], &[2048 * 100 + 256 * (50 + 80 + 40)], 0);
}

#[test]
fn three_flows_on_two_links() {
    // Flow 0 on both links, flow 1 on the first only, flow 2 on the slow second only.
    let links = world(&[80, 200], &[&[0, 1], &[0], &[1]]);
    let messages = [message(0, 0, 0, MIB), message(0, 1, 1, 4 * MIB), message(0, 2, 2, MIB)];
    // 0 and 2: 400 ps/B each; 1 gets 1/80 - 1/400 = 1/100 of a byte per ps until they end.
    let first = MIB * 400;
    let moved = first / 100;
    let second = first + (4 * MIB - moved) * 80;
    check(&links, &messages, &[first + 256 * 80, second, first], 2);
}

#[test]
fn private_caps_below_the_bus_share_are_reached() {
    // Each copy has its own core (200 ps/B); the bus takes 2 bytes per byte at 10 ps.
    let mut bus = world(&[200, 200, 10], &[]);
    bus.paths = vec![vec![(0, 1), (2, 2)], vec![(1, 1), (2, 2)]];
    let end = MIB * 200 + 256 * 2 * 10;
    check(&bus, &[message(0, 0, 0, MIB), message(0, 1, 1, MIB)], &[end, end], 1);
}

#[test]
fn weights_two_to_one_share_the_bus_by_payload() {
    let mut bus = world(&[10], &[]);
    bus.paths = vec![vec![(0, 2)], vec![(0, 1)]];
    let end = MIB * 30;
    check(&bus, &[message(0, 0, 0, MIB), message(0, 1, 1, MIB)], &[end, end], 2);
}

#[test]
fn transfers_of_one_connection_begin_and_arrive_in_order() {
    let chain = world(&[50, 80, 100], &[&[0, 1], &[0, 2, 1]]);
    let sizes = [8, MIB, 64, 64, 3 * MIB, 8, 4096, MIB, MIB, 8];
    let messages: Vec<Message> = (0..)
        .zip(sizes)
        .map(|(index, bytes)| message(0, 0, usize::from(index % 3 == 0), bytes))
        .collect();
    let done = run(fabric_of(&chain), &messages).done;
    assert!(done.is_sorted(), "{done:?}");
    let bytes: u64 = sizes.iter().sum();
    assert!(*done.last().unwrap() >= bytes * 50);
}

#[test]
fn a_byte_quantum_lets_small_packets_of_one_connection_share_a_turn() {
    let link = world(&[80], &[&[0]]);
    let turn = MTU * 80;
    let (k, n, s) = (4, 24, 1024);
    let mut messages: Vec<Message> = (0..k).map(|c| message(0, c, 0, 4 * MIB)).collect();
    messages.extend((0..n).map(|_| message(10 * turn, 9, 0, s)));
    let outcome = run(fabric_of(&link), &messages);
    let rounds = (n * s).div_ceil(MTU);
    let expected = 10 * turn + rounds * (u64::from(k) * turn + turn);
    assert!(outcome.done[messages.len() - 1].abs_diff(expected) <= 8);
}
