//! One node with a GPU, driven by hand: operations at given times, and when they ended.

#![allow(dead_code, reason = "each test program uses a part")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mpisim::hardware::cluster::Cluster;
use mpisim::hardware::fabric::{Delivery, FabricEvent, ResourceId, ResourceStats, Schedule};
use mpisim::hardware::gpu::{Agenda, GpuEvent, GpuStats, Gpus, Operation, Stream, is_gpu_token};
use mpisim::hardware::profile::{Parameter, Profile, ProfileBuilder};
use mpisim::hardware::topology::{Shape as Wires, Topology};
use mpisim::units::{Time, TimeDelta};
use serde_json::Value as Json;

/// The profile of a model file, with other values in some places.
pub(crate) fn machine(model: &str, values: &[(&str, &str)]) -> Profile {
    let file: Json = serde_json::from_str(model).expect("a model");
    let mut builder = ProfileBuilder::new();
    let mut set = |path: &str, text: &str| {
        let kind = Parameter::find(path).expect("a parameter").kind;
        builder.set(path, kind.parse(text).expect("a value")).expect("a value of its kind");
    };
    for (section, numbers) in file.as_object().expect("an object") {
        let Some(numbers) = numbers.as_object() else { continue };
        for (name, number) in numbers {
            let value = &number["value"];
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            set(&format!("{section}.{name}"), &text);
        }
    }
    for (path, text) in values {
        set(path, text);
    }
    builder.build().expect("a whole machine")
}

/// The machine of `gpu-pack`.
pub(crate) fn c2050(values: &[(&str, &str)]) -> Profile {
    machine(include_str!("../../models/arc-c2050-qdr.json"), values)
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Event {
    Submit(usize),
    Fabric(FabricEvent),
    Gpu(GpuEvent),
}

#[derive(Debug, Default)]
struct Calendar {
    events: BinaryHeap<Reverse<(Time, u64, Event)>>,
    count: u64,
}

impl Calendar {
    fn push(&mut self, time: Time, event: Event) {
        self.count += 1;
        self.events.push(Reverse((time, self.count, event)));
    }
}

impl Schedule for Calendar {
    fn at(&mut self, time: Time, _: ResourceId, event: FabricEvent) {
        self.push(time, Event::Fabric(event));
    }
}

impl Agenda for Calendar {
    fn gpu(&mut self, time: Time, event: GpuEvent) {
        self.push(time, Event::Gpu(event));
    }
}

/// When it is asked for, in which stream, and what.
pub(crate) type Request = (TimeDelta, u32, Operation);

/// What came out.
#[derive(Debug, Eq, PartialEq)]
pub(crate) struct Outcome {
    /// When each operation ended, from zero.
    pub(crate) ends: Vec<TimeDelta>,
    pub(crate) stats: GpuStats,
    /// What the resources did, by name.
    pub(crate) resources: Vec<(String, ResourceStats)>,
    /// Events in all.
    pub(crate) events: u64,
}

impl Outcome {
    /// The resource whose name ends so.
    pub(crate) fn resource(&self, name: &str) -> ResourceStats {
        let found = self.resources.iter().find(|(other, _)| other.ends_with(name));
        found.unwrap_or_else(|| panic!("no resource {name}")).1
    }

    pub(crate) fn ms(&self, index: usize) -> f64 {
        self.ends[index].as_us_f64() / 1e3
    }
}

/// Asks the first GPU of one node for `requests`.
pub(crate) fn run(profile: &Profile, requests: &[Request]) -> Outcome {
    run_on(profile, requests, |gpus| gpus)
}

/// The same with GPUs that were changed before.
pub(crate) fn run_on(
    profile: &Profile,
    requests: &[Request],
    change: impl FnOnce(Gpus) -> Gpus,
) -> Outcome {
    let topology = Topology::new(Wires::default(), 1).expect("one node");
    let mut cluster = Cluster::new(profile, topology, &[]);
    let mut gpus = change(cluster.gpus(profile, 0).expect("a machine with a GPU"));
    let gpu = gpus.of_node(0, 0);
    let mut calendar = Calendar::default();
    for (index, &(at, _, _)) in requests.iter().enumerate() {
        calendar.push(Time::ZERO + at, Event::Submit(index));
    }
    let mut ends = vec![TimeDelta::ZERO; requests.len()];
    let (mut delivered, mut done): (Vec<Delivery>, Vec<_>) = (Vec::new(), Vec::new());
    let mut last = Time::ZERO;
    let mut ended = 0;
    while let Some(Reverse((now, _, event))) = calendar.events.pop() {
        last = now;
        match event {
            Event::Submit(index) => {
                let (_, stream, operation) = requests[index];
                gpus.submit(now, gpu, Stream(stream), operation, index as u64, &mut calendar);
            }
            Event::Gpu(event) => {
                gpus.handle(now, event, &mut cluster.fabric, &mut calendar);
            }
            Event::Fabric(event) => {
                cluster.fabric.handle(now, event, &mut calendar, &mut delivered);
                for Delivery { token } in delivered.drain(..) {
                    assert!(is_gpu_token(token), "nobody else is there");
                    gpus.delivered(now, token, &mut cluster.fabric, &mut calendar, &mut done);
                }
            }
        }
        for end in done.drain(..) {
            ends[usize::try_from(end.token).expect("an index")] = now.since(Time::ZERO);
            ended += 1;
        }
    }
    assert_eq!((ended, cluster.fabric.in_flight()), (requests.len(), 0), "everything ends");
    let names = cluster.fabric.resources().iter().map(|spec| spec.name.clone());
    let resources = names.zip(cluster.fabric.snapshot(last)).collect();
    Outcome { ends, stats: gpus.stats(gpu), resources, events: calendar.count }
}
