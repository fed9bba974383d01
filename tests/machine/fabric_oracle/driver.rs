//! A workload is a list of messages; a model answers when each was delivered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mpisim::hardware::fabric::{
    Arbitration, ConnId, Delivery, Fabric, FabricEvent, Framing, Hop, Kind, PathId, ResourceId,
    ResourceSpec, ResourceStats, Schedule, Service, Transfer,
};
use mpisim::units::{Bandwidth, Time, TimeDelta};

/// When a message is submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Begin {
    At(u64),
    /// When that message (index in the workload) was delivered.
    After(usize),
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Message {
    pub(crate) begin: Begin,
    pub(crate) conn: u32,
    pub(crate) path: usize,
    pub(crate) bytes: u64,
}

/// One step of a path: resource and weight.
pub(crate) type Step = (u32, u32);

#[derive(Clone, Debug)]
pub(crate) struct Workload {
    /// By resource; 0 stands for two processing units of 100 ns (not for the oracle).
    pub(crate) ps_per_byte: Vec<u64>,
    pub(crate) mtu: u64,
    pub(crate) arbitration: Arbitration,
    pub(crate) paths: Vec<Vec<Step>>,
    pub(crate) messages: Vec<Message>,
}

pub(crate) const fn message(at: u64, conn: u32, path: usize, bytes: u64) -> Message {
    Message { begin: Begin::At(at), conn, path, bytes }
}

pub(crate) fn pipe(ps_per_byte: u64) -> ResourceSpec {
    ResourceSpec {
        name: format!("{ps_per_byte} ps/B"),
        kind: Kind::default(),
        service: Service::Shared {
            capacity: Bandwidth::from_bit_per_s(8_000_000_000_000 / ps_per_byte),
        },
        framing: Framing::NONE,
        arbitration: Arbitration::ByteQuantum,
    }
}

/// Processing units of 100 ns per transfer.
pub(crate) fn units(count: u32) -> ResourceSpec {
    ResourceSpec {
        name: format!("{count} units"),
        service: Service::Servers { count, per_item: TimeDelta::from_ns(100) },
        ..pipe(1)
    }
}

pub(crate) fn hop(resource: u32, weight: u32) -> Hop {
    Hop { resource: ResourceId(resource), weight, extra: 0, latency: TimeDelta::ZERO }
}

type Entry = (Time, u32, u32, u64, Item);

/// A queue in the order of the engine: (time, depth of zero-delay causes, who asked, first asked).
#[derive(Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Reverse<Entry>>,
    now: (Time, u32),
    asked: u64,
    pub(crate) events: u64,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Item {
    Start(usize),
    Event(FabricEvent),
}

impl Agenda {
    fn push(&mut self, time: Time, source: u32, item: Item) {
        self.asked += 1;
        let round = if time == self.now.0 { self.now.1 + 1 } else { 0 };
        self.heap.push(Reverse((time, round, source, self.asked, item)));
    }

    fn pop(&mut self) -> Option<(Time, Item)> {
        let Reverse((time, round, _, _, item)) = self.heap.pop()?;
        self.now = (time, round);
        self.events += 1;
        Some((time, item))
    }
}

impl Schedule for Agenda {
    fn at(&mut self, time: Time, resource: ResourceId, event: FabricEvent) {
        self.push(time, resource.0, Item::Event(event));
    }
}

/// What the fabric made of a workload.
pub(crate) struct Outcome {
    /// Delivery of each message, in picoseconds.
    pub(crate) done: Vec<u64>,
    pub(crate) fabric: Fabric,
    pub(crate) events: u64,
    pub(crate) end: u64,
    /// What each resource did until every multiple of [`SAMPLE`].
    pub(crate) samples: Vec<Vec<ResourceStats>>,
}

/// Picoseconds between samples.
pub(crate) const SAMPLE: u64 = 50_000_000;

pub(crate) fn fabric_of(workload: &Workload) -> Fabric {
    let resources = workload.ps_per_byte.iter().map(|&cost| {
        let arbitration = workload.arbitration;
        if cost == 0 { units(2) } else { ResourceSpec { arbitration, ..pipe(cost) } }
    });
    let mut fabric = Fabric::new(resources.collect(), workload.mtu);
    for (index, path) in workload.paths.iter().enumerate() {
        let hops: Vec<Hop> = path.iter().map(|&(resource, weight)| hop(resource, weight)).collect();
        assert_eq!(fabric.add_path(&hops).0 as usize, index);
    }
    fabric
}

/// Runs `messages` over `fabric`, those of one instant submitted in the order of `order`.
pub(crate) fn run_in_order(mut fabric: Fabric, messages: &[Message], order: &[usize]) -> Outcome {
    let mut agenda = Agenda::default();
    let mut followers = vec![Vec::new(); messages.len()];
    for &index in order {
        match messages[index].begin {
            Begin::At(at) => agenda.push(Time::from_ps(at), u32::MAX, Item::Start(index)),
            Begin::After(other) => followers[other].push(index),
        }
    }
    let mut done = vec![0; messages.len()];
    let mut delivered: Vec<Delivery> = Vec::new();
    let mut end = 0;
    let mut samples = Vec::new();
    while let Some((now, item)) = agenda.pop() {
        while (samples.len() as u64) * SAMPLE < now.as_ps() {
            samples.push(fabric.snapshot(Time::from_ps(samples.len() as u64 * SAMPLE)));
        }
        let event = match item {
            Item::Start(index) => {
                fabric.start(now, transfer(&messages[index], index), &mut agenda);
                continue;
            }
            Item::Event(event) => event,
        };
        fabric.handle(now, event, &mut agenda, &mut delivered);
        for Delivery { token } in delivered.drain(..) {
            let index = usize::try_from(token).expect("it fits");
            assert_eq!(done[index], 0, "message {index} is delivered once");
            done[index] = now.as_ps();
            end = now.as_ps();
            for &next in &followers[index] {
                agenda.push(now, u32::MAX, Item::Start(next));
            }
        }
    }
    assert_eq!(fabric.in_flight(), 0, "everything that was started is delivered");
    Outcome { done, fabric, events: agenda.events, end, samples }
}

pub(crate) fn run(fabric: Fabric, messages: &[Message]) -> Outcome {
    let order: Vec<usize> = (0..messages.len()).collect();
    run_in_order(fabric, messages, &order)
}

fn transfer(message: &Message, index: usize) -> Transfer {
    Transfer {
        conn: ConnId(message.conn),
        path: PathId(u32::try_from(message.path).expect("it fits")),
        bytes: message.bytes,
        token: index as u64,
    }
}
