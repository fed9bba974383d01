//! The laws of the fabric: closed forms, conservation, order.

use crate::fabric_oracle::driver::{
    Begin, Message, Outcome, SAMPLE, Workload, fabric_of, hop, message, pipe, run, run_in_order,
    units,
};
use crate::fabric_oracle::workloads::{Dice, MTU, mix, random, world};
use mpisim::hardware::fabric::{
    Arbitration, ConnId, Fabric, FabricEvent, Framing, Hop, LookAhead, PathId, ResourceId,
    ResourceSpec, Schedule, Service, Share, Transfer,
};
use mpisim::units::{Bandwidth, Time, TimeDelta};

const MIB: u64 = 1 << 20;

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
fn an_uncontended_packet_costs_one_event() {
    let chain = world(&[50, 80, 0, 100, 40], &[&[0, 1, 2, 3, 4]]);
    for (look_ahead, events) in [(LookAhead::WhereFree, 1), (LookAhead::Never, 5)] {
        let fabric = fabric_of(&chain).with_look_ahead(look_ahead);
        let outcome = run(fabric, &[message(5, 0, 0, 8)]);
        assert_eq!(outcome.events, 1 + events);
        assert_eq!(outcome.done[0], 5 + 8 * (50 + 80 + 100 + 40) + 100_000);
    }
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

#[test]
fn a_packet_delays_every_backlogged_flow_by_its_service() {
    let link = world(&[80], &[&[0]]);
    for bytes in [8, 1000, 4096] {
        let mut messages: Vec<Message> = (0..3).map(|c| message(0, c, 0, 4 * MIB)).collect();
        messages.push(message(77_000_000, 9, 0, bytes));
        let end = (3 * 4 * MIB + bytes) * 80;
        let done = run(fabric_of(&link), &messages).done;
        for flow in &done[..3] {
            assert!(flow.abs_diff(end) <= 3, "{flow} ps, expected {end}");
        }
    }
}

#[test]
fn a_packet_behind_a_flow_that_ends_first_is_not_charged_to_the_next() {
    let link = world(&[80], &[&[0]]);
    let first = MIB * 80;
    let messages =
        [message(0, 0, 0, MIB), message(first + 5, 1, 0, 8), message(2 * first, 2, 0, MIB)];
    check(&link, &messages, &[first, first + 5 + 640, 3 * first], 1);
}

#[test]
fn packets_through_two_equal_stages_wait_once() {
    let chain = world(&[80, 80], &[&[0, 1]]);
    let turn = MTU * 80;
    let at = 30 * turn + 1000;
    let messages = [message(0, 0, 0, 4 * MIB), message(at, 1, 0, 8)];
    // At the second stage it follows the last cut-through bytes of the segment before it.
    let expected = at + turn - 1000 + 256 * 80 + 8 * 80;
    check(&chain, &messages, &[4 * MIB * 80 + 256 * 80 + 640, expected], 2);
}

#[test]
fn packets_of_load_r_leave_the_flow_one_minus_r() {
    // 1024 B every 4 MTU times: a load of 1/16; the flow gets 15/16.
    let link = world(&[80], &[&[0]]);
    let turn = MTU * 80;
    let mut messages = vec![message(0, 0, 0, 4 * MIB)];
    messages.extend((0..2000).map(|i| message(i * 4 * turn + 7, 1, 0, 1024)));
    let done = run(fabric_of(&link), &messages).done[0];
    let expected = 4 * MIB * 80 * 16 / 15;
    assert!(done.abs_diff(expected) <= turn, "{done} ps, expected {expected}");
}

#[test]
fn with_one_packet_per_turn_each_waits_a_round() {
    let mut link = world(&[80], &[&[0]]);
    link.arbitration = Arbitration::PacketPerTurn;
    let turn = MTU * 80;
    let mut messages: Vec<Message> = (0..4).map(|c| message(0, c, 0, 4 * MIB)).collect();
    messages.extend((0..5).map(|_| message(10 * turn, 9, 0, 8)));
    let last = run(fabric_of(&link), &messages).done[8];
    assert!(last.abs_diff(10 * turn + 5 * (4 * turn + 640)) <= 5, "{last}");
}

#[test]
fn strict_packets_wait_only_for_the_current_mtu() {
    let mut link = world(&[80], &[&[0]]);
    link.arbitration = Arbitration::Strict;
    let turn = MTU * 80;
    let mut messages: Vec<Message> = (0..4).map(|c| message(0, c, 0, 4 * MIB)).collect();
    messages.extend((0..5).map(|conn| message(10 * turn + 500, 9 - conn, 0, 8)));
    let done = run(fabric_of(&link), &messages).done;
    // First come, first served; those of one instant by connection.
    for (place, found) in (1..).zip(done[4..].iter().rev()) {
        let expected = 11 * turn + place * 640;
        assert!(found.abs_diff(expected) <= 2, "{place}: {found}, expected {expected}");
    }
}

#[test]
fn processing_units_limit_one_connection_and_all_together() {
    let mut fabric = Fabric::new(vec![units(4)], MTU);
    fabric.add_path(&[hop(0, 1)]);
    let one: Vec<Message> = (0..12).map(|_| message(0, 0, 0, 8)).collect();
    assert_eq!(run(fabric, &one).end, 12 * 100_000, "a queue pair uses one unit at a time");
    let mut fabric = Fabric::new(vec![units(4)], MTU);
    fabric.add_path(&[hop(0, 1)]);
    let many: Vec<Message> = (0..12).map(|conn| message(0, conn, 0, 8)).collect();
    let outcome = run(fabric, &many);
    assert_eq!(outcome.end, 3 * 100_000);
    let stats = outcome.fabric.stats(ResourceId(0));
    assert_eq!(stats.busy, TimeDelta::from_ns(1200));
    assert_eq!((stats.transfers, stats.queue_max), (12, 8));
}

#[test]
fn bulk_of_one_connection_flows_without_a_gap_and_without_a_solve() {
    let chain = world(&[0, 50, 80], &[&[0, 1, 2]]);
    let messages: Vec<Message> = (0..20).map(|_| message(0, 0, 0, MIB)).collect();
    let outcome = run(fabric_of(&chain), &messages);
    let end = 100_000 + 20 * MIB * 80 + 256 * 50;
    assert!(outcome.end.abs_diff(end) <= 20, "{} ps, expected {end}", outcome.end);
    assert_eq!(outcome.fabric.solves().0, 2, "one start and one end");
}

#[test]
fn headers_weights_and_extra_bytes_are_counted_exactly() {
    let mut spec = pipe(80);
    spec.framing = Framing { unit: 256, overhead: 26 };
    let mut fabric = Fabric::new(vec![spec], MTU);
    let step = Hop { weight: 2, extra: 30, latency: TimeDelta::from_ns(7), ..hop(0, 1) };
    fabric.add_path(&[step]);
    let sizes = [0, 8, 256, 257, 10_000, 1_000_001];
    let messages: Vec<Message> = (0..)
        .zip(sizes)
        .map(|(index, bytes)| message(index * 1_000_000_000, 0, 0, bytes))
        .collect();
    let outcome = run(fabric, &messages);
    let raw = |bytes: u64| (bytes + bytes.div_ceil(256).max(1) * 26) * 2 + 30;
    for (message, done) in messages.iter().zip(&outcome.done) {
        let Begin::At(at) = message.begin else { unreachable!() };
        assert!((done - at).abs_diff(raw(message.bytes) * 80 + 7_000) <= 1);
    }
    let stats = outcome.fabric.stats(ResourceId(0));
    assert_eq!(stats.raw_bytes, sizes.map(raw).iter().sum::<u64>());
    assert_eq!(stats.packets, sizes.map(|bytes| bytes.div_ceil(256).max(1)).iter().sum::<u64>());
    assert_eq!(stats.busy.as_ps(), stats.raw_bytes * 80);
    let nothing = stats.since(stats);
    assert_eq!((nothing.busy, nothing.raw_bytes, nothing.packets), (TimeDelta::ZERO, 0, 0));
}

#[test]
fn a_path_without_hops_delivers_at_once() {
    let mut fabric = Fabric::new(vec![], MTU);
    fabric.add_path(&[]);
    assert_eq!(run(fabric, &[message(9, 0, 0, 8), message(9, 0, 0, MIB)]).done, [9, 9]);
}

/// A world where many things happen in the same instant, with processing units on the paths.
fn crowded(seed: u64) -> Workload {
    let mut dice = Dice(seed);
    let mut work = world(&[50, 80, 0, 100, 0, 40], &[]);
    for conn in 0..12_u32 {
        let length = dice.range(1, 5);
        let first = dice.below(6);
        let hops = (0..length).map(|step| (((first + step) % 6) as u32, 1));
        work.paths.push(hops.collect());
        for _ in 0..dice.range(5, 30) {
            let bytes = [0, 8, 8, 64, 512, 4096, 5000, 65_536, 300_000][dice.below(9) as usize];
            let at = dice.below(12) * 2_000_000;
            work.messages.push(message(at, conn, conn as usize, bytes));
        }
    }
    work.messages.sort_by_key(|m| match m.begin {
        Begin::At(at) => at,
        Begin::After(_) => unreachable!("all begin at a time"),
    });
    work
}

#[test]
fn the_order_of_submissions_within_an_instant_does_not_matter() {
    for seed in 0..60 {
        for arbitration in
            [Arbitration::ByteQuantum, Arbitration::PacketPerTurn, Arbitration::Strict]
        {
            let mut work = crowded(seed);
            work.arbitration = arbitration;
            let wanted = run(fabric_of(&work), &work.messages).done;
            for shuffle in 1..4 {
                let mut dice = Dice(seed * 10 + shuffle);
                let rank: Vec<u64> = (0..12).map(|_| dice.below(1000)).collect();
                let mut order: Vec<usize> = (0..work.messages.len()).collect();
                order.sort_by_key(|&index| (rank[work.messages[index].conn as usize], index));
                let found = run_in_order(fabric_of(&work), &work.messages, &order).done;
                let differs = (0..found.len()).filter(|&index| found[index] != wanted[index]);
                let first = differs.min_by_key(|&index| found[index].min(wanted[index]));
                let first = first.map(|i| (work.messages[i], wanted[i], found[i]));
                assert!(first.is_none(), "seed {seed}, {arbitration:?}: {first:?}");
            }
        }
    }
}

/// Packets that meet now and then, from paths of different latency, and little bulk.
fn sparse(seed: u64) -> (Workload, Vec<TimeDelta>) {
    let mut dice = Dice(seed);
    let mut work = world(&[50, 80, 0, 100, 0, 40, 60], &[]);
    let latencies = (0..7).map(|_| TimeDelta::from_ns(dice.below(4) * 150)).collect();
    let gap = dice.range(20_000, 1_000_000);
    for conn in 0..12_u32 {
        let (first, length, stride) = (dice.below(7), dice.range(1, 7), dice.range(1, 4));
        // A stride of 3 comes back to where it was: a path may cross a resource twice.
        let hops = (0..length).map(|step| (((first + step * stride) % 7) as u32, 1));
        work.paths.push(hops.collect());
        for _ in 0..60 {
            let bytes = [8, 8, 64, 512, 512, 4096][dice.below(6) as usize];
            let bulk = seed.is_multiple_of(3) && dice.below(40) == 0;
            let at = dice.below(12 * 60) * gap;
            work.messages.push(message(at, conn, conn as usize, if bulk { 50_000 } else { bytes }));
        }
    }
    (work, latencies)
}

/// A fabric of `work` whose hops have these latencies, by resource.
fn late_fabric(work: &Workload, latencies: &[TimeDelta], look_ahead: LookAhead) -> Fabric {
    let pools = work.ps_per_byte.iter().map(|&cost| if cost == 0 { units(2) } else { pipe(cost) });
    let mut fabric = Fabric::new(pools.collect(), work.mtu).with_look_ahead(look_ahead);
    for path in &work.paths {
        let late = |&(resource, weight): &(u32, u32)| Hop {
            latency: latencies[resource as usize],
            ..hop(resource, weight)
        };
        fabric.add_path(&path.iter().map(late).collect::<Vec<Hop>>());
    }
    fabric
}

#[test]
fn looking_ahead_changes_events_and_nothing_else() {
    let (mut ahead_events, mut all_events) = (0, 0);
    for seed in 0..300 {
        let (sparse, latencies) = sparse(seed);
        let none = vec![TimeDelta::ZERO; 8];
        let cases = [(sparse, latencies), (crowded(seed), none)];
        for (work, latencies) in cases {
            let found =
                |look_ahead| run(late_fabric(&work, &latencies, look_ahead), &work.messages);
            let (ahead, all) = (found(LookAhead::WhereFree), found(LookAhead::Never));
            let differs = (0..all.done.len()).find(|&index| ahead.done[index] != all.done[index]);
            let differs = differs.map(|i| (i, work.messages[i], all.done[i], ahead.done[i]));
            assert!(differs.is_none(), "seed {seed}: {differs:?}");
            let stats = |outcome: &Outcome| {
                let mut last = outcome.fabric.snapshot(Time::from_ps(outcome.end));
                // How many wait for a moment depends on who of one instant is told first.
                for stats in &mut last {
                    stats.queue_max = 0;
                }
                (last, outcome.samples.iter().flatten().map(|stats| stats.busy).collect::<Vec<_>>())
            };
            assert_eq!(stats(&ahead), stats(&all), "seed {seed}");
            assert_eq!(ahead.fabric.solves(), all.fabric.solves(), "seed {seed}");
            (ahead_events, all_events) = (ahead_events + ahead.events, all_events + all.events);
        }
    }
    assert!(ahead_events * 5 < all_events * 4, "{ahead_events} events instead of {all_events}");
}

#[test]
fn bytes_are_conserved_and_connections_stay_in_order() {
    for seed in 0..40 {
        for work in [crowded(seed), random(seed, seed % 2 == 0)] {
            let outcome = run(fabric_of(&work), &work.messages);
            let mut raw = vec![0; work.ps_per_byte.len()];
            let mut last = vec![0; work.paths.len()];
            for (message, &done) in work.messages.iter().zip(&outcome.done) {
                for &(resource, weight) in &work.paths[message.path] {
                    raw[resource as usize] += message.bytes * u64::from(weight);
                }
                assert!(done >= last[message.path], "a connection overtook itself");
                last[message.path] = done;
            }
            let snapshot = outcome.fabric.snapshot(Time::from_ps(outcome.end));
            for ((stats, raw), &cost) in snapshot.iter().zip(raw).zip(&work.ps_per_byte) {
                if cost > 0 {
                    assert_eq!(stats.raw_bytes, raw);
                    assert!(
                        stats.busy.as_ps().abs_diff(raw * cost) <= raw * cost / 1_000_000_000 + 1
                    );
                }
            }
        }
    }
}

#[test]
fn no_resource_is_busier_than_a_window_is_long() {
    for percent in [10, 50, 90] {
        let work = mix(percent, 16);
        let outcome = run(fabric_of(&work), &work.messages);
        let all = &outcome.samples;
        assert!(all.len() > 20);
        for (index, (before, after)) in (1..).zip(all.iter().zip(&all[1..])) {
            let ever = after[0].busy.as_ps();
            assert!(ever <= index * SAMPLE + MTU * 80, "{ever} ps until {index} x {SAMPLE}");
            let busy = after[0].since(before[0]).busy.as_ps();
            // Packets may use later what they left of their reserve in the 16 MTU times before.
            assert!(busy <= SAMPLE + 16 * MTU * 80, "{busy} ps of {SAMPLE}");
        }
        let middle = all[10][0].since(all[2][0]).busy.as_ps();
        assert!(middle >= 8 * SAMPLE * 99 / 100, "flows are seen while they move: {middle}");
    }
}

/// One transfer over one pipe of `mb_per_s` raw, against what was stated or measured.
#[track_caller]
fn check_framing(
    mb_per_s: u64,
    unit: u64,
    overhead: u64,
    bytes: u64,
    model_ns: u64,
    known: [u64; 2],
) {
    let service = Service::Shared { capacity: Bandwidth::from_mb_per_s(mb_per_s) };
    let framing = Framing { unit, overhead };
    let mut fabric = Fabric::new(vec![ResourceSpec { service, framing, ..pipe(1) }], MTU);
    fabric.add_path(&[hop(0, 1)]);
    let found = run(fabric, &[message(0, 0, 0, bytes)]).end / 1000;
    assert!(
        found.abs_diff(model_ns) <= model_ns / 1000,
        "{found} ns, the formula gives {model_ns}"
    );
    let [low, high] = known;
    assert!((low..=high).contains(&found), "{found} ns, allowed {low} to {high}");
}

/// Rows of published measurements with the errors that packet arithmetic alone must keep.
///
/// 128 B payload; 24 B per TLP on generations 1-2, 26 B on 3-5, 22 B on completions; 16 B of DLLPs
/// per four TLPs. Times are of 16 MiB in ns.
#[test]
fn pcie_and_link_framing_reproduce_measured_rates() {
    let size = 16 * MIB;
    let time = |gb_per_s_x100: u64| size * 100 / gb_per_s_x100;
    let percent = |ns: u64, low: i64, high: i64| {
        let part = |percent: i64| ns.saturating_add_signed(ns.cast_signed() / 1000 * percent * 10);
        [part(low), part(high)]
    };
    // C2050, generation 2 x16: device to host 2.56 ms (-0.2 %), zero-copy pack 2.55 ms (+0.2 %).
    check_framing(8000, 128, 24 + 4, size, 2_556_000, [2_553_000, 2_562_000]);
    // 2D copy, one 64 B TLP per row, 2.96-2.97 ms: -3 % without DLLPs, +2 % with them.
    check_framing(8000, 64, 24, size, 2_884_000, [percent(2_965_000, -3, 0)[0], 2_965_000]);
    check_framing(8000, 64, 24 + 4, size, 3_015_000, [2_965_000, percent(2_965_000, 0, 2)[1]]);
    // A faster rate is a shorter time: +6 % is a time of 1/1.06.
    let faster =
        |gb_per_s_x100: u64, most: u64| [time(gb_per_s_x100) * 1000 / most, time(gb_per_s_x100)];
    // V100, generation 3 x16, host to device: 12.35 GB/s (+6 %, 6.0 % to two places).
    check_framing(15_754, 128, 22 + 4, size, time(1309), faster(1235, 1065));
    // A100, generation 4 x16: 24.8-26.0 GB/s (+1 % to +6 %).
    check_framing(31_508, 128, 22 + 4, size, time(2619), [time(2480) * 1000 / 1065, time(2600)]);
    // H100, generation 5 x16, kernel writes: 52.8 GB/s (-3 %, 3.3 % to two places).
    check_framing(63_015, 128, 26 + 4, size, time(5105), [time(5280), time(5280) * 1000 / 965]);
    // EDR, 4096 B MTU and 28 B per packet: 12.30 GB/s (+1 %).
    check_framing(12_500, 4096, 28, size, time(1241), faster(1230, 1015));
}

#[test]
fn the_steady_state_does_not_allocate() {
    let mut fabric = fabric_of(&world(&[80, 50, 0], &[&[2, 0, 1], &[0, 1], &[1]]));
    let mut calendar = Calendar(Vec::with_capacity(1000));
    let mut delivered = Vec::with_capacity(1000);
    let mut now = Time::ZERO;
    let mut round = || {
        for conn in 0..30 {
            let bytes = if conn % 5 == 0 { 20_000 } else { 64 };
            let (conn, path) = (ConnId(conn), PathId(conn % 3));
            fabric.start(now, Transfer { conn, path, bytes, token: 0 }, &mut calendar);
        }
        while let Some((time, event)) = calendar.next() {
            now = time;
            fabric.handle(now, event, &mut calendar, &mut delivered);
        }
        assert_eq!(delivered.len(), 30);
        delivered.clear();
    };
    (0..5).for_each(|_| round());
    let used = allocation_counter::measure(|| (0..20).for_each(|_| round()));
    assert_eq!(used.count_total, 0, "{used:?}");
}

/// A queue without allocation, for few events.
struct Calendar(Vec<(Time, FabricEvent)>);

impl Schedule for Calendar {
    fn at(&mut self, time: Time, _: ResourceId, event: FabricEvent) {
        self.0.push((time, event));
    }
}

impl Calendar {
    fn next(&mut self) -> Option<(Time, FabricEvent)> {
        let first = (0..self.0.len()).min_by_key(|&index| self.0[index].0)?;
        Some(self.0.remove(first))
    }
}

/// Before the first transfer nothing is asked for.
struct Nothing;

impl Schedule for Nothing {
    fn at(&mut self, _: Time, _: ResourceId, event: FabricEvent) {
        panic!("nothing is under way, and {event:?} was asked for");
    }
}

/// Runs `messages` with shares by connection; they end as `expected`, within a 65536th.
#[track_caller]
fn check_shares(world: &Workload, shares: &[(u32, Share)], messages: &[Message], expected: &[u64]) {
    let mut fabric = fabric_of(world);
    for &(conn, share) in shares {
        fabric.set_share(Time::ZERO, ConnId(conn), share, &mut Nothing);
    }
    let done = run(fabric, messages).done;
    for (index, (&found, &wanted)) in done.iter().zip(expected).enumerate() {
        assert!(found.abs_diff(wanted) <= wanted >> 16, "message {index}: {found}, not {wanted}");
    }
}

#[test]
fn flows_get_a_full_link_in_proportion_of_their_shares() {
    // Four fifths of the link for 16 MiB, while the other moves 4; then that one has it alone.
    let messages = [message(0, 0, 0, 16 * MIB), message(0, 1, 0, 16 * MIB)];
    let expected = [20 * MIB * 80, 32 * MIB * 80];
    check_shares(&world(&[80], &[&[0]]), &[(0, Share::of(4, 1))], &messages, &expected);
}

#[test]
fn what_a_flow_cannot_use_goes_to_the_others_whatever_their_shares() {
    // Flow 0 may have four fifths of the second link, and comes over a first one of a fourth of it.
    let links = world(&[320, 80], &[&[0, 1], &[1]]);
    let shares = [(0, Share::of(4, 5)), (1, Share::of(1, 5))];
    let messages = [message(0, 0, 0, 4 * MIB), message(0, 1, 1, 12 * MIB)];
    let end = 16 * MIB * 80;
    check_shares(&links, &shares, &messages, &[end + 256 * 80, end]);
}

#[test]
fn two_that_have_one_share_together_leave_a_third_its_half() {
    let shares = [(0, Share::of(4, 5)), (1, Share::of(1, 5))];
    let messages =
        [message(0, 0, 0, 8 * MIB), message(0, 1, 0, 2 * MIB), message(0, 2, 0, 10 * MIB)];
    let end = 20 * MIB * 80;
    check_shares(&world(&[80], &[&[0]]), &shares, &messages, &[end, end, end]);
}

#[test]
fn a_hop_with_packets_of_its_own_charges_those() {
    let mut fabric = fabric_of(&world(&[80], &[]));
    let hop = Hop { resource: ResourceId(0), weight: 1, extra: 0, latency: TimeDelta::ZERO };
    // Rows of 100 B with 28 B of headers each, over a link that knows no headers.
    fabric.add_framed_path(&[(hop, Some(Framing { unit: 100, overhead: 28 }))]);
    let done = run(fabric, &[message(0, 0, 0, 1_000_000)]).done;
    assert!(done[0].abs_diff(10_000 * 128 * 80) <= 2, "{done:?}");
}

const TRANSFERS: u32 = 5_000;
const LINKS: u32 = 64;

/// 5,000 transfers of 16 to 256 KiB over 64 links, begun within `within` ps of each other.
fn many(path_of: impl Fn(u32) -> Vec<u32>, within: u64) -> Outcome {
    let paths: Vec<Vec<u32>> = (0..LINKS).map(path_of).collect();
    let paths: Vec<&[u32]> = paths.iter().map(Vec::as_slice).collect();
    let costs = vec![80; LINKS as usize];
    let mut dice = Dice(5);
    let messages: Vec<Message> = (0..TRANSFERS)
        .map(|conn| {
            let bytes = dice.range(16 << 10, 256 << 10);
            message(dice.below(within), conn, (conn % LINKS) as usize, bytes)
        })
        .collect();
    run(fabric_of(&world(&costs, &paths)), &messages)
}

/// 78 or 79 transfers on each link: no change looks at those of another link.
#[test]
fn a_change_solves_the_transfers_of_its_own_link_only() {
    let outcome = many(|link| vec![link], 1_000_000);
    let (solves, flows) = outcome.fabric.solves();
    let most = u64::from(TRANSFERS.div_ceil(LINKS));
    assert!(solves <= 2 * u64::from(TRANSFERS), "{solves} solves of as many starts and ends");
    assert!(flows <= solves * most, "{flows} transfers in {solves} solves of at most {most}");
}

/// Two links each, so that all hang together: rates are solved once in a round of turns, and the work
/// of a transfer is bounded by the rounds of its life, not by how many others come and go.
#[test]
fn where_all_hang_together_rates_are_solved_once_in_a_round() {
    let outcome = many(|link| vec![link, (link + 1) % LINKS], 1_000_000);
    let (solves, flows) = outcome.fabric.solves();
    let transfers = u64::from(TRANSFERS);
    // A solve for each start and end would be 2 for each transfer, each of thousands of others.
    assert!(5 * solves <= transfers, "{solves} solves of {transfers} transfers");
    assert!(flows <= 100 * transfers, "{flows} rates for {transfers} transfers");
    assert!(flows <= 2 * outcome.events, "{flows} rates in {} events", outcome.events);
}
