//! A workload is a list of messages; a model answers when each was delivered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mpisim::hardware::fabric::{
    Arbitration, ConnId, Delivery, Fabric, FabricEvent, Framing, Hop, PathId, ResourceId,
    ResourceSpec, Schedule, Service, Transfer,
};
use mpisim::units::{Bandwidth, Time, TimeDelta};

/// Picoseconds per byte, by resource; `0` stands for one processing unit of 100 ns.
pub type Costs = [u64];

/// When a message is submitted.
#[derive(Clone, Copy, Debug)]
pub enum Begin {
    At(u64),
    /// When that message (index in the workload) was delivered.
    After(usize),
}

#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub begin: Begin,
    pub conn: u32,
    pub path: usize,
    pub bytes: u64,
}

/// One step of a path: resource and weight.
pub type Step = (u32, u32);

#[derive(Clone, Debug)]
pub struct Workload {
    pub ps_per_byte: Vec<u64>,
    pub mtu: u64,
    pub arbitration: Arbitration,
    pub paths: Vec<Vec<Step>>,
    pub messages: Vec<Message>,
}

pub const fn message(at: u64, conn: u32, path: usize, bytes: u64) -> Message {
    Message { begin: Begin::At(at), conn, path, bytes }
}

pub fn pipe(ps_per_byte: u64) -> ResourceSpec {
    ResourceSpec {
        name: format!("{ps_per_byte} ps/B"),
        service: Service::Shared {
            capacity: Bandwidth::from_bit_per_s(8_000_000_000_000 / ps_per_byte),
        },
        framing: Framing::NONE,
        arbitration: Arbitration::ByteQuantum,
    }
}

pub fn hop(resource: u32, weight: u32) -> Hop {
    Hop { resource: ResourceId(resource), weight, extra: 0, latency: TimeDelta::ZERO }
}

/// A queue in the order (time, first asked).
#[derive(Default)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(Time, u64, Item)>>,
    asked: u64,
    pub events: u64,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Item {
    Start(usize),
    Event(FabricEvent),
}

impl Agenda {
    fn push(&mut self, time: Time, item: Item) {
        self.asked += 1;
        self.heap.push(Reverse((time, self.asked, item)));
    }
}

impl Schedule for Agenda {
    fn at(&mut self, time: Time, _resource: ResourceId, event: FabricEvent) {
        self.push(time, Item::Event(event));
    }
}

/// What the fabric made of a workload.
pub struct Outcome {
    /// Delivery of each message, in picoseconds.
    pub done: Vec<u64>,
    pub fabric: Fabric,
    pub events: u64,
    pub end: u64,
}

pub fn fabric_of(workload: &Workload) -> Fabric {
    let resources = workload
        .ps_per_byte
        .iter()
        .map(|&cost| ResourceSpec { arbitration: workload.arbitration, ..pipe(cost) });
    let mut fabric = Fabric::new(resources.collect(), workload.mtu);
    for (index, path) in workload.paths.iter().enumerate() {
        let hops: Vec<Hop> = path.iter().map(|&(resource, weight)| hop(resource, weight)).collect();
        assert_eq!(fabric.add_path(&hops).0 as usize, index);
    }
    fabric
}

/// Runs `messages` over `fabric`, those of one instant submitted in the order of `order`.
pub fn run_in_order(mut fabric: Fabric, messages: &[Message], order: &[usize]) -> Outcome {
    let mut agenda = Agenda::default();
    let mut followers = vec![Vec::new(); messages.len()];
    for &index in order {
        match messages[index].begin {
            Begin::At(at) => agenda.push(Time::from_ps(at), Item::Start(index)),
            Begin::After(other) => followers[other].push(index),
        }
    }
    let mut done = vec![0; messages.len()];
    let mut delivered: Vec<Delivery> = Vec::new();
    let mut end = 0;
    while let Some(Reverse((now, _, item))) = agenda.heap.pop() {
        agenda.events += 1;
        let event = match item {
            Item::Start(index) => {
                fabric.start(now, transfer(&messages[index], index), &mut agenda);
                continue;
            }
            Item::Event(event) => event,
        };
        fabric.handle(now, event, &mut agenda, &mut delivered);
        for Delivery { token } in delivered.drain(..) {
            let index = usize::try_from(token).unwrap();
            assert_eq!(done[index], 0, "message {index} is delivered once");
            done[index] = now.as_ps();
            end = now.as_ps();
            for &next in &followers[index] {
                agenda.push(now, Item::Start(next));
            }
        }
    }
    assert_eq!(fabric.in_flight(), 0, "everything that was started is delivered");
    Outcome { done, fabric, events: agenda.events, end }
}

pub fn run(fabric: Fabric, messages: &[Message]) -> Outcome {
    let order: Vec<usize> = (0..messages.len()).collect();
    run_in_order(fabric, messages, &order)
}

fn transfer(message: &Message, index: usize) -> Transfer {
    Transfer {
        conn: ConnId(message.conn),
        path: PathId(u32::try_from(message.path).unwrap()),
        bytes: message.bytes,
        token: index as u64,
    }
}
