//! One core and its GPU: operations are asked for in streams, and waited for.
//!
//! ```text
//!   script ─▶ core ─submit─▶ stream ─▶ launch latency ─▶ Gpus ─▶ done ─▶ marks
//!              └── is busy for the call, or waits until everything that was asked for is done
//! ```
//!
//! This is where both towers meet for packing: a [`DeviceCall`] of a method becomes an operation of
//! the hardware, whose work is counted from the addresses of its threads. The bytes of a call move
//! when it ends.
//! Left out: the interrupt of a host that waits; it polls.

pub mod bytes;
mod causes;
mod lanes;

use std::collections::BTreeMap;

use super::account::Account;
use super::causes::Recorded;
use super::monitors::{Sometimes, Violation};
use super::timed::{Ending, Mark, Outcome, Used};
use crate::engine::{Event, JournalMode, Keep, Options, Simulation, SourceId, Tag, mix};
use crate::hardware::cluster::Cluster;
use crate::hardware::fabric::{
    Delivery, FabricEvent, ResourceId, ResourceStats, Schedule, Service,
};
use crate::hardware::gpu::{
    Agenda, Block, Copy, Direction, GpuEvent, Gpus, Kernel, Operation, Shape, Stream, Work, count,
    is_gpu_token,
};
use crate::hardware::memory::{Memory, Side};
use crate::hardware::profile::Profile;
use crate::hardware::topology::{self, Topology};
use crate::protocols::contract::{Process, Thread};
use crate::protocols::packing::{self, DeviceCall, Layout};
use crate::units::{Bytes as Size, Time, TimeDelta};
use bytes::Bytes;
use lanes::PackLanes;

/// What is asked of a GPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Asked {
    /// A call of a packing.
    Pack(DeviceCall),
    /// A kernel of somebody else, which fills the SMs and takes so long alone.
    Compute(TimeDelta),
    /// A contiguous copy of somebody else, into device memory.
    CopyIn(u64),
    /// One out of device memory.
    CopyOut(u64),
}

/// A step of the host's program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Step {
    /// Asks for an operation and goes on.
    Ask {
        /// In which stream.
        stream: u32,
        /// For what.
        asked: Asked,
        /// What it belongs to.
        part: u32,
    },
    /// Waits for everything that was asked for.
    Wait,
    /// Waits for everything that this part asked for.
    WaitFor(u32),
}

/// What a run needs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine; it has a GPU.
    pub profile: Profile,
    /// What is packed.
    pub layout: Layout,
    /// Threads of a block of a packing kernel.
    pub threads_per_block: u32,
    /// What the host does.
    pub steps: Vec<Step>,
    /// The bytes of the packing, where they are to move.
    pub bytes: Option<Bytes>,
    /// Limits, journal, ties.
    pub options: Options,
}

/// The first operation of a part is asked for at mark `2 part`; its last one is done at mark
/// `2 part + 1`.
pub const fn marks_of(part: u32) -> [u32; 2] {
    [2 * part, 2 * part + 1]
}

#[derive(Clone, Copy, Debug)]
enum Happening {
    Fabric(FabricEvent),
    Gpu(GpuEvent),
    /// The core goes on with its program.
    Core,
    /// The core has packed what this step asked for.
    Packed(u32),
}

impl Event for Happening {
    fn fingerprint(&self) -> u64 {
        match *self {
            Self::Fabric(event) => mix(1, event.fingerprint()),
            Self::Gpu(event) => mix(2, event.fingerprint()),
            Self::Core => mix(3, 0),
            Self::Packed(step) => mix(4, u64::from(step)),
        }
    }
}

/// Sources of events: those of resources come first.
const GPU: u32 = u32::MAX - 1;
const CORE: u32 = u32::MAX;

struct Calendar<'a>(&'a mut Simulation<Happening>);

impl Schedule for Calendar<'_> {
    fn at(&mut self, time: Time, resource: ResourceId, event: FabricEvent) {
        let tag = Tag { resource: resource.0, phase: 1 };
        self.0.schedule(time, SourceId(resource.0), tag, Happening::Fabric(event));
    }
}

impl Agenda for Calendar<'_> {
    fn gpu(&mut self, time: Time, event: GpuEvent) {
        let tag = Tag { resource: GPU, phase: 2 };
        self.0.schedule(time, SourceId(GPU), tag, Happening::Gpu(event));
    }
}

struct Running {
    setup: Setup,
    shape: Shape,
    simulation: Simulation<Happening>,
    cluster: Cluster,
    gpus: Gpus,
    next: usize,
    /// Operations that have not ended, by part.
    under_way: BTreeMap<u32, u32>,
    waits: bool,
    /// Kernels that were counted, by call: a method asks for few different ones.
    counted: BTreeMap<String, Kernel>,
    marks: BTreeMap<u32, Time>,
    /// When the last event happened that was no stale one.
    happened: Time,
}

/// Runs the program of the host to its end.
///
/// # Panics
///
/// When the machine has no GPU or a block does not fit it: the plan was checked for both.
pub fn run(setup: Setup) -> Outcome {
    let wires = Topology::new(topology::Shape::Crossbar, 1).expect("one node");
    let cluster = Cluster::new(&setup.profile, wires, &[]);
    let gpus = Gpus::new(&setup.profile, &cluster, 0).expect("a machine with a GPU");
    let shape = gpus.shape().clone();
    let mut options = setup.options;
    if options.causes != Keep::Nothing {
        // Every event here is a cause.
        options.journal = Some(JournalMode::All);
    }
    let simulation = Simulation::new(options);
    let (counted, marks) = (BTreeMap::new(), BTreeMap::new());
    let (next, under_way, waits, happened) = (0, BTreeMap::new(), false, Time::ZERO);
    let running = Running {
        setup,
        shape,
        simulation,
        cluster,
        gpus,
        next,
        under_way,
        waits,
        counted,
        marks,
        happened,
    };
    running.run()
}

impl Running {
    fn run(mut self) -> Outcome {
        self.core_at(Time::ZERO, Happening::Core);
        let mut delivered: Vec<Delivery> = Vec::new();
        let mut done = Vec::new();
        let ending = loop {
            let Some(event) = self.simulation.next_event() else {
                break self.simulation.limit_reached().map_or(Ending::Finished, Ending::Limit);
            };
            let now = self.simulation.now();
            // Ends of transfers that a later change has moved are no part of the run.
            if !matches!(event, Happening::Fabric(event) if self.cluster.fabric.is_stale(event)) {
                self.happened = now;
            }
            let calendar = &mut Calendar(&mut self.simulation);
            match event {
                Happening::Core => self.go_on(now),
                Happening::Packed(step) => {
                    self.ended(now, u64::from(step));
                    self.go_on(now);
                }
                Happening::Gpu(event) => {
                    self.gpus.handle(now, event, &mut self.cluster.fabric, calendar);
                }
                Happening::Fabric(event) => {
                    self.cluster.fabric.handle(now, event, calendar, &mut delivered);
                    for Delivery { token } in delivered.drain(..) {
                        assert!(is_gpu_token(token), "nobody else uses the fabric");
                        let fabric = &mut self.cluster.fabric;
                        self.gpus.delivered(now, token, fabric, calendar, &mut done);
                    }
                }
            }
            for end in done.drain(..) {
                self.ended(now, end.token);
            }
        };
        self.outcome(ending)
    }

    fn core_at(&mut self, at: Time, event: Happening) {
        let tag = Tag { resource: CORE, phase: 3 };
        self.simulation.schedule(at, SourceId(CORE), tag, event);
    }

    /// The core asks for operation after operation, and stops where it must wait.
    fn go_on(&mut self, now: Time) {
        let Some(&step) = self.setup.steps.get(self.next) else { return };
        match step {
            Step::Wait | Step::WaitFor(_) if self.is_open(step) => self.waits = true,
            Step::Wait | Step::WaitFor(_) => {
                self.next += 1;
                self.go_on(now);
            }
            Step::Ask { part, asked, .. } => {
                self.marks.entry(marks_of(part)[0]).or_insert(now);
                let number = u32::try_from(self.next).expect("fewer than 2^32 steps");
                self.next += 1;
                *self.under_way.entry(part).or_insert(0) += 1;
                if let Asked::Pack(DeviceCall::Host(_)) = asked {
                    let busy = self.by_core();
                    self.core_at(now + busy, Happening::Packed(number));
                    return;
                }
                self.submit(now, number);
                self.core_at(now + self.shape.call_overhead, Happening::Core);
            }
        }
    }

    /// Whether something that a step waits for is under way.
    fn is_open(&self, step: Step) -> bool {
        let waited = |part: u32| match step {
            Step::WaitFor(own) => part == own,
            Step::Wait | Step::Ask { .. } => true,
        };
        self.under_way.iter().any(|(&part, &count)| count > 0 && waited(part))
    }

    /// The operation of a step waits in its stream: its latency counts from here.
    fn submit(&mut self, now: Time, step: u32) {
        let Step::Ask { stream, asked, .. } = self.setup.steps[step as usize] else {
            unreachable!("only operations are asked for");
        };
        let operation = self.operation(asked);
        let gpu = self.gpus.of_node(0, 0);
        let calendar = &mut Calendar(&mut self.simulation);
        self.gpus.submit(now, gpu, Stream(stream), operation, u64::from(step), calendar);
    }

    fn ended(&mut self, now: Time, token: u64) {
        let step = usize::try_from(token).expect("the number of a step");
        let Step::Ask { asked, part, .. } = self.setup.steps[step] else {
            unreachable!("only operations end");
        };
        self.marks.insert(marks_of(part)[1], now);
        if let (Asked::Pack(call), Some(bytes)) = (asked, &mut self.setup.bytes) {
            bytes.apply(call);
        }
        *self.under_way.get_mut(&part).expect("it was asked for") -= 1;
        if std::mem::take(&mut self.waits) {
            self.go_on(now);
        }
    }

    /// What packing takes the core: the bytes at the rate of the cache that holds both sides, or of
    /// memory. Left out: finding each run; noticeable where runs are some tens of bytes.
    fn by_core(&self) -> TimeDelta {
        let bytes = self.setup.layout.encoding.packed();
        let rate = Memory::new(&self.setup.profile).copy(Size::new(2 * bytes), Side::Local);
        rate.alone.transfer_time(Size::new(bytes))
    }

    fn operation(&mut self, asked: Asked) -> Operation {
        match asked {
            Asked::Pack(call @ DeviceCall::Kernel { code, task, packed }) => {
                let encoding = &*self.setup.layout.encoding;
                let lanes = PackLanes { encoding, code, task, packed };
                let block = block(&self.setup);
                let shape = &self.shape;
                let count = || count::kernel(shape, block, &lanes);
                let key = format!("{call:?}");
                Operation::Kernel(*self.counted.entry(key).or_insert_with(count))
            }
            Asked::Pack(DeviceCall::Copy { from, to, width, rows, slices }) => {
                let direction = direction(from.memory, to.memory);
                // The packed end has its rows back to back.
                let pitch = from.pitch.unsigned_abs().max(to.pitch.unsigned_abs());
                let copy = if rows == 1 && slices == 1 {
                    Copy::contiguous(direction, width)
                } else {
                    Copy::boxes(direction, slices, rows, width, pitch)
                };
                Operation::Copy(copy)
            }
            Asked::Pack(DeviceCall::Host(_)) => unreachable!("the core packs by itself"),
            Asked::Compute(time) => Operation::Kernel(computing(&self.shape, time)),
            Asked::CopyIn(bytes) => {
                Operation::Copy(Copy::contiguous(Direction::HostToDevice, bytes))
            }
            Asked::CopyOut(bytes) => {
                Operation::Copy(Copy::contiguous(Direction::DeviceToHost, bytes))
            }
        }
    }

    fn outcome(self, ending: Ending) -> Outcome {
        let end = self.happened;
        let causes = self.causes();
        let mark = |(&number, &at): (&u32, &Time)| Mark {
            process: Process(0),
            thread: Thread(0),
            number,
            at,
            account: Account::default(),
        };
        let violations: Vec<Violation> = match (&ending, &self.setup.bytes) {
            (Ending::Finished, Some(bytes)) => bytes.check().into_iter().collect(),
            _ => Vec::new(),
        };
        let specs = self.cluster.fabric.resources().iter();
        let stats: Vec<ResourceStats> = self.cluster.fabric.snapshot(end);
        let resources = specs.zip(stats).map(|(spec, stats)| Used {
            name: spec.name.clone(),
            servers: match spec.service {
                Service::Shared { .. } => 1,
                Service::Servers { count, .. } => count,
            },
            stats,
        });
        Outcome {
            ending,
            end,
            events: self.simulation.events(),
            digest: self.simulation.digest(),
            marks: self.marks.iter().map(mark).collect(),
            violations,
            sometimes: Sometimes::default(),
            resources: resources.collect(),
            accounts: Vec::new(),
            packets: 0,
            entries_visited: 0,
            rnr: 0,
            choices: Vec::new(),
            causes: causes.map(Box::new),
        }
    }
}

/// What a block of the packing kernel needs: its threads, and room for the nodes of the encoding.
pub fn block(setup: &Setup) -> Block {
    let shared = setup.layout.encoding.fixed_bytes();
    Block { threads: setup.threads_per_block, registers: REGISTERS, shared }
}

/// Registers of a thread of the packing kernel; assumed.
pub const REGISTERS: u32 = 20;

fn direction(from: packing::Memory, to: packing::Memory) -> Direction {
    match (from, to) {
        (packing::Memory::Packed, _) => Direction::HostToDevice,
        (_, packing::Memory::Packed) => Direction::DeviceToHost,
        _ => Direction::InDevice,
    }
}

/// A kernel whose blocks fill all SMs several times, and that computes for so long in all.
fn computing(shape: &Shape, time: TimeDelta) -> Kernel {
    const THREADS: u32 = 256;
    const ROUNDS: u64 = 32;
    let block = Block::of(THREADS);
    let blocks = u64::from(shape.sms) * u64::from(shape.resident(block)) * ROUNDS;
    let warps = blocks * u64::from(THREADS.div_ceil(shape.warp));
    let issued = u128::from(shape.issue_rate.as_hz()) * u128::from(shape.sms);
    let issued = issued * u128::from(time.as_ps()) / u128::from(crate::units::PS_PER_S);
    let each = u64::try_from(issued / u128::from(warps)).expect("a kernel of some days");
    Kernel { blocks, block, work: Work::computing(warps, each.max(1)) }
}
