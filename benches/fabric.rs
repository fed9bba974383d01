//! What the fabric costs the host: packets that meet nobody, packets in turns, bulk among others.
//!
//! The queue of events is a plain FIFO where all delays are equal, so that the fabric alone is
//! measured, and a binary heap elsewhere. Events are counted before a rate is printed.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use divan::counter::ItemsCount;
use mpisim::hardware::fabric::{
    Arbitration, ConnId, Delivery, Fabric, FabricEvent, Framing, Hop, Kind, LookAhead, PathId,
    ResourceId, ResourceSpec, Schedule, Service, Transfer,
};
use mpisim::units::{Bandwidth, Time, TimeDelta};

fn main() {
    divan::main();
}

#[derive(Default)]
struct Fifo(VecDeque<(Time, FabricEvent)>);

impl Schedule for Fifo {
    fn at(&mut self, time: Time, _: ResourceId, event: FabricEvent) {
        self.0.push_back((time, event));
    }
}

#[derive(Default)]
struct Heap(BinaryHeap<Reverse<(Time, u64, FabricEvent)>>, u64);

impl Schedule for Heap {
    fn at(&mut self, time: Time, _: ResourceId, event: FabricEvent) {
        self.1 += 1;
        self.0.push(Reverse((time, self.1, event)));
    }
}

fn pipes(count: u32) -> Vec<ResourceSpec> {
    (0..count)
        .map(|index| ResourceSpec {
            name: index.to_string(),
            kind: Kind::default(),
            service: Service::Shared { capacity: Bandwidth::from_gbit_per_s(100) },
            framing: Framing { unit: 256, overhead: 26 },
            arbitration: Arbitration::ByteQuantum,
        })
        .collect()
}

fn hop(resource: u32) -> Hop {
    Hop { resource: ResourceId(resource), weight: 1, extra: 0, latency: TimeDelta::from_ns(100) }
}

const fn transfer(conn: u32, bytes: u64) -> Transfer {
    Transfer { conn: ConnId(conn), path: PathId(conn), bytes, token: conn as u64 }
}

const HOPS: u32 = 6;
const ROUNDS: u32 = 100;

/// Packets of 8 bytes over six hops of their own; one item is one hop.
#[divan::bench(args = [1, 16, 256])]
fn uncontended_hop(bencher: divan::Bencher<'_, '_>, conns: u32) {
    uncontended(bencher, conns, LookAhead::WhereFree, 1);
}

/// The same with an event for each hop.
#[divan::bench(args = [1, 16, 256])]
fn uncontended_hop_by_events(bencher: divan::Bencher<'_, '_>, conns: u32) {
    uncontended(bencher, conns, LookAhead::Never, HOPS);
}

fn uncontended(bencher: divan::Bencher<'_, '_>, conns: u32, ahead: LookAhead, events_each: u32) {
    let mut fabric = Fabric::new(pipes(conns * HOPS), 4096).with_look_ahead(ahead);
    for conn in 0..conns {
        let hops: Vec<Hop> = (0..HOPS).map(|step| hop(conn * HOPS + step)).collect();
        fabric.add_path(&hops);
    }
    let mut queue = Fifo::default();
    let mut delivered: Vec<Delivery> = Vec::new();
    let mut now = Time::ZERO;
    let items = conns * HOPS * ROUNDS;
    bencher.counter(ItemsCount::new(items)).bench_local(|| {
        let mut events = 0;
        for _ in 0..ROUNDS {
            for conn in 0..conns {
                fabric.start(now, transfer(conn, 8), &mut queue);
            }
            while let Some((time, event)) = queue.0.pop_front() {
                now = time;
                events += 1;
                fabric.handle(now, event, &mut queue, &mut delivered);
            }
            delivered.clear();
        }
        assert_eq!(events, conns * events_each * ROUNDS, "events of each packet");
    });
}

/// Packets of 8 bytes that queue for one link after a hop of their own; one item is one hop.
#[divan::bench(args = [2, 16, 64])]
fn contended_hop(bencher: divan::Bencher<'_, '_>, conns: u32) {
    let mut fabric = Fabric::new(pipes(conns + 1), 4096);
    for conn in 0..conns {
        fabric.add_path(&[hop(conn), hop(conns)]);
    }
    let mut now = Time::ZERO;
    let mut queue = Heap::default();
    bencher.counter(ItemsCount::new(conns * 2 * ROUNDS)).bench_local(|| {
        for _ in 0..ROUNDS {
            for conn in 0..conns {
                fabric.start(now, transfer(conn, 8), &mut queue);
            }
            now = drain(&mut fabric, &mut queue, conns);
        }
    });
}

/// Bulk of different sizes on one link: every start and end is solved; one item is one transfer.
#[divan::bench(args = [2, 16, 32, 64])]
fn bulk_start_and_end(bencher: divan::Bencher<'_, '_>, conns: u32) {
    let mut fabric = Fabric::new(pipes(conns + 1), 4096);
    for conn in 0..conns {
        fabric.add_path(&[hop(conn), hop(conns)]);
    }
    let mut now = Time::ZERO;
    let mut queue = Heap::default();
    let mut moved = 0;
    bencher.counter(ItemsCount::new(conns * ROUNDS)).bench_local(|| {
        for _ in 0..ROUNDS {
            for conn in 0..conns {
                fabric.start(now, transfer(conn, 65_536 + u64::from(conn) * 4096), &mut queue);
            }
            now = drain(&mut fabric, &mut queue, conns);
            moved += u64::from(conns);
        }
    });
    let (solves, flows) = fabric.solves();
    // One solve for all starts, one for each end; on average half of the flows are left.
    assert!(solves <= moved + moved / u64::from(conns), "{solves} solves of {moved} transfers");
    assert!(flows <= solves * u64::from(conns + 1) / 2, "{flows} flows in {solves} solves");
}

/// Equal bulk, eight under way per connection: rates are handed over; one item is one transfer.
#[divan::bench(args = [2, 16, 64])]
fn bulk_hand_over(bencher: divan::Bencher<'_, '_>, conns: u32) {
    let mut fabric = Fabric::new(pipes(conns + 1), 4096);
    for conn in 0..conns {
        fabric.add_path(&[hop(conn), hop(conns)]);
    }
    let mut now = Time::ZERO;
    let mut queue = Heap::default();
    bencher.counter(ItemsCount::new(conns * ROUNDS)).bench_local(|| {
        for conn in 0..conns {
            for _ in 0..ROUNDS {
                fabric.start(now, transfer(conn, 65_536), &mut queue);
            }
        }
        now = drain(&mut fabric, &mut queue, conns * ROUNDS);
    });
}

fn drain(fabric: &mut Fabric, queue: &mut Heap, expected: u32) -> Time {
    let mut delivered: Vec<Delivery> = Vec::new();
    let mut now = Time::ZERO;
    while let Some(Reverse((time, _, event))) = queue.0.pop() {
        now = time;
        fabric.handle(now, event, queue, &mut delivered);
    }
    assert_eq!(delivered.len(), expected as usize, "everything is delivered");
    now
}
