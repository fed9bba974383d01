//! Faults planted on purpose: each law must notice the fault that it guards against.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{
    Arbitration, ConnId, Delivery, Fabric, FabricEvent, Framing, Hop, Kind, PathId, Resource,
    ResourceId, ResourceSpec, Schedule, Service, Transfer,
};
use units::{Bandwidth, Time, TimeDelta};

/// A defect that can be switched on in tests.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    /// Flows do not take part in the packets' round robin.
    NoStandIns,
    /// What packets use is not taken from the flows.
    NothingStolen,
    /// An end event of a former flow ends the present one.
    StaleEndObeyed,
    /// Segments of flows that pass by delay no packet behind the flows that a resource limits.
    SegmentsUnseen,
    /// The applied reserve is filtered instead of the estimate.
    ReserveFollowsItself,
}

const MTU: u64 = 4096;
const MIB: u64 = 1 << 20;
/// One MTU at 80 ps/B.
const TURN: u64 = MTU * 80;

/// When, in which order, and which event or which start.
type Entry = (Time, u64, Option<FabricEvent>, usize);

#[derive(Default)]
struct Agenda(BinaryHeap<Reverse<Entry>>, u64);

impl Agenda {
    fn push(&mut self, time: Time, event: Option<FabricEvent>, start: usize) {
        self.1 += 1;
        self.0.push(Reverse((time, self.1, event, start)));
    }
}

impl Schedule for Agenda {
    fn at(&mut self, time: Time, _: ResourceId, event: FabricEvent) {
        self.push(time, Some(event), 0);
    }
}

/// Runs (start, connection, path, bytes) over two links of 80 ps/B; answers the deliveries.
///
/// Path 0 is the first link, path 1 the second, path 2 both.
fn run(fault: Option<Fault>, messages: &[(u64, u32, u32, u64)]) -> Vec<u64> {
    let link = ResourceSpec {
        name: "link".to_owned(),
        kind: Kind::default(),
        service: Service::Shared { capacity: Bandwidth::from_gbit_per_s(100) },
        framing: Framing::NONE,
        arbitration: Arbitration::ByteQuantum,
    };
    let mut fabric = Fabric::new(vec![link.clone(), link], MTU);
    let hop = |resource| Hop {
        resource: ResourceId(resource),
        weight: 1,
        extra: 0,
        latency: TimeDelta::ZERO,
    };
    fabric.add_path(&[hop(0)]);
    fabric.add_path(&[hop(1)]);
    fabric.add_path(&[hop(0), hop(1)]);
    // A resource has no state before a path crosses it.
    for resource in 0..2 {
        if let Resource::Shared(shared) = fabric.path.resources.get_mut(resource) {
            shared.fault = fault;
        }
    }
    let mut agenda = Agenda::default();
    for (index, message) in messages.iter().enumerate() {
        agenda.push(Time::from_ps(message.0), None, index);
    }
    let mut done = vec![0; messages.len()];
    let mut delivered: Vec<Delivery> = Vec::new();
    while let Some(Reverse((now, _, event, index))) = agenda.0.pop() {
        let Some(event) = event else {
            let (_, conn, path, bytes) = messages[index];
            let token = index as u64;
            let transfer = Transfer { conn: ConnId(conn), path: PathId(path), bytes, token };
            fabric.start(now, transfer, &mut agenda);
            continue;
        };
        fabric.handle(now, event, &mut agenda, &mut delivered);
        for Delivery { token } in delivered.drain(..) {
            done[usize::try_from(token).unwrap()] = now.as_ps();
        }
    }
    done
}

/// The law holds, and does not hold with the fault.
#[track_caller]
fn check_guard(
    fault: Fault,
    messages: &[(u64, u32, u32, u64)],
    index: usize,
    done: u64,
    slack: u64,
) {
    let sound = run(None, messages)[index];
    assert!(sound.abs_diff(done) <= slack, "{sound} ps, expected {done}");
    let broken = run(Some(fault), messages)[index];
    assert!(broken.abs_diff(done) > slack, "{fault:?} is not noticed: {broken} ps");
}

#[test]
fn a_packet_that_waits_for_no_flow_is_noticed() {
    let mut messages: Vec<_> = (0..4).map(|conn| (0, conn, 0, 4 * MIB)).collect();
    messages.push((10 * TURN + 77, 9, 0, 8));
    check_guard(Fault::NoStandIns, &messages, 4, 14 * TURN + 640, 0);
}

#[test]
fn time_that_is_not_taken_from_flows_is_noticed() {
    let messages = [(0, 0, 0, 4 * MIB), (10 * TURN, 9, 0, 4096)];
    check_guard(Fault::NothingStolen, &messages, 0, (4 * MIB + 4096) * 80, 2);
}

/// Mean time of the messages of 8 B, in picoseconds.
fn mean_of_pings(fault: Option<Fault>, messages: &[(u64, u32, u32, u64)]) -> u64 {
    let done = run(fault, messages);
    let pings = messages.iter().zip(done).filter(|(message, _)| message.3 == 8);
    let times: Vec<u64> = pings.map(|(message, done)| done - message.0).collect();
    times.iter().sum::<u64>() / times.len() as u64
}

/// Flow 0 takes what is left of the first link by flow 1, which the second link limits to a third:
/// k = 1, u = 1/3. A packet waits for half a segment, for one of flow 0 where flow 1 is served, and
/// for the segments of flow 1 that came no earlier than this wait before: W = S (k - 1/2 + u) + u W,
/// that is 5/4 S. The segment of flow 1 that is in service was not counted once: 3/4 S.
#[test]
fn segments_that_pass_by_delay_packets_behind_a_flow() {
    let mut messages = vec![(0, 0, 0, 64 * MIB), (0, 1, 2, 64 * MIB)];
    messages.extend([(0, 2, 1, 64 * MIB), (0, 3, 1, 64 * MIB)]);
    messages.extend((1..1000).map(|i| (i * (13 * TURN + 31_007), 9, 0, 8)));
    let expected = TURN * 5 / 4 + 640;
    let sound = mean_of_pings(None, &messages);
    assert!(sound.abs_diff(expected) < expected / 50, "{sound} ps, expected {expected}");
    let broken = mean_of_pings(Some(Fault::SegmentsUnseen), &messages);
    assert!(broken.abs_diff(expected) > expected / 4, "not noticed: {broken} ps");
}

#[test]
fn a_stale_end_event_is_noticed() {
    // The first flow's end is expected after 8 MiB, then moves to 5; the third takes its slot.
    let unit = MIB * 80;
    let messages = [(0, 0, 0, 4 * MIB), (0, 1, 0, MIB), (6 * unit, 2, 0, 16 * MIB)];
    check_guard(Fault::StaleEndObeyed, &messages, 2, 22 * unit, 2);
}

#[test]
fn a_reserve_that_follows_itself_is_noticed() {
    // Packets take 1/10 of the first link; the flow over the second gets what the other leaves,
    // 1 - 0.9 / 2 = 0.55. Without a reserve it gets half.
    let mut messages = vec![(0, 0, 0, 64 * MIB), (0, 1, 2, 64 * MIB), (0, 2, 1, 32 * MIB)];
    messages.extend((0..40_000).map(|i| (i * TURN / 2, 9, 0, 205)));
    let expected = 32 * MIB * 80 * 100 / 55;
    check_guard(Fault::ReserveFollowsItself, &messages, 2, expected, expected / 50);
}

#[test]
fn who_is_left_behind_hundreds_of_rounded_loads_has_a_full_link_too() {
    // Link 0 has 400 flows. 399 of them go on over link 1, which has one of its own: what rounding
    // took from that one is more than a part in a million of its rate.
    let crossing = (0..399).map(|conn| (0, conn, 2, MIB));
    let messages: Vec<_> = crossing.chain([(0, 399, 0, MIB), (0, 400, 1, MIB)]).collect();
    let done = run(None, &messages);
    let together = 400 * MIB * 80;
    for (index, at) in done.iter().enumerate() {
        assert!(at.abs_diff(together) < together / 10_000, "{index}: {at} ps, not {together}");
    }
}
