//! Cores and their GPU, where there is one: operations are requested in streams, and waited for.
//!
//! ```text
//!   script ─▶ core ─submit─▶ stream ─▶ launch latency ─▶ Gpus ─▶ done ─▶ marks
//!              └── is busy for the call, or waits until everything that was requested is done
//! ```
//!
//! This is where both towers meet for packing: a [`DeviceCall`] of a method becomes an operation of
//! the hardware, whose work is counted from the addresses of its threads. The bytes of a call move
//! when it ends. Cores are of different processes: each has a context of its own on the GPU, and
//! contexts take turns, or all share one.
//! Left out: the interrupt of a host that waits: it polls. What a GPU needs to change between
//! contexts, besides the latency of what is launched then, and slices of time: noticeable where one
//! process keeps the GPU for long.

pub mod bytes;
mod causes;
mod lanes;
pub(super) mod operations;
mod prices;
mod stencil;
mod telling;

use std::collections::{BTreeMap, VecDeque};

use super::account::{Account, Part};
use super::causes::Recorded;
use super::event_text::{self, EventWords};
use super::memory_use::MemoryUse;
use super::monitors::{Sometimes, Violation};
use super::outcome::{Ending, Mark, Outcome, Tally, Used};
use bytes::Bytes;
use calls::packing::{self, DeviceCall, Layout, Task};
use engine::{JournalMode, Keep, Options, Simulation, SourceId, Tag, mix};
use hardware::cluster::Cluster;
use hardware::fabric::{Delivery, FabricEvent, ResourceId, ResourceStats, Schedule, Service};
use hardware::gpu::{
    Agenda, Block, BusTraffic, Copy, Direction, GpuEvent, Gpus, Kernel, Operation, Shape, Stream,
    Work, count, is_gpu_token,
};
use hardware::memory::packing::{Packer, Scattered, Way};
use hardware::profile::Profile;
use hardware::topology::{self, Topology};
use lanes::PackLanes;
pub use prices::prices;
use protocols::contract::{Process, Thread};
use units::{Time, TimeDelta};

/// Operation requested of a GPU.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum DeviceOperation {
    /// A call of a packing.
    Pack(DeviceCall),
    /// A kernel of another process, which fills the SMs.
    Compute {
        /// How long it would take alone if it stored nothing.
        time: TimeDelta,
        /// Bytes that it stores into host memory, in full packets.
        stores: u64,
    },
    /// A contiguous copy of another process, into device memory.
    CopyIn(u64),
    /// One out of device memory.
    CopyOut(u64),
}

/// A step of the host's program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HostStep {
    /// Asks for an operation and goes on.
    Ask {
        /// In which stream.
        stream: u32,
        /// For what.
        asked: DeviceOperation,
        /// Number of the part that it belongs to.
        part: u32,
    },
    /// Waits for everything that was requested.
    Wait,
    /// Waits for everything that this part requested.
    WaitFor(u32),
}

/// Input of a run.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine; it has a GPU if a step uses one.
    pub profile: Profile,
    /// Layout of the data that is packed.
    pub layout: Layout,
    /// Threads of a block of a packing kernel.
    pub threads_per_block: u32,
    /// Program of each core of the host.
    pub programs: Vec<Vec<HostStep>>,
    /// Whether operations of different cores never overlap on the GPU.
    pub take_turns: bool,
    /// The bytes of what part 0 packs, where they are to move.
    pub bytes: Option<Bytes>,
    /// Limits, journal, ties.
    pub options: Options,
}

/// The first operation of a part is requested at mark `2 part`; its last one is done at mark
/// `2 part + 1`.
pub const fn marks_of(part: u32) -> [u32; 2] {
    [2 * part, 2 * part + 1]
}

#[derive(Clone, Copy, Debug)]
enum Event {
    Fabric(FabricEvent),
    Gpu(GpuEvent),
    /// A core goes on with its program.
    Core(u32),
    /// A core has packed what its step requested.
    Packed(Place),
}

impl engine::Event for Event {
    fn fingerprint(&self) -> u64 {
        match *self {
            Self::Fabric(event) => mix(1, event.fingerprint()),
            Self::Gpu(event) => mix(2, event.fingerprint()),
            Self::Core(core) => mix(3, u64::from(core)),
            Self::Packed(place) => mix(4, place.token()),
        }
    }
}

/// Why there is a GPU where one is needed.
const IS_THERE: &str = "only a machine with a GPU is asked for its operations";

/// Sources of events: those of resources come first, then cores from the last number down.
const GPU: u32 = u32::MAX - 1;
const CORE: u32 = u32::MAX;

const fn source_of(core: u32) -> u32 {
    if core == 0 { CORE } else { GPU - core }
}

/// A step of a core's program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Place {
    core: u32,
    step: u32,
}

impl Place {
    const fn token(self) -> u64 {
        (self.core as u64) << 32 | self.step as u64
    }

    fn of(token: u64) -> Self {
        let half = |word: u64| u32::try_from(word & u64::from(u32::MAX)).expect("32 bits");
        Self { core: half(token >> 32), step: half(token) }
    }
}

/// A core at work.
#[derive(Clone, Debug, Default)]
struct Core {
    /// Its next step.
    next: usize,
    /// Its operations that have not ended, by part.
    under_way: BTreeMap<u32, u32>,
    waits: bool,
    /// Account of the packing that it did by itself.
    account: Account,
}

/// Turns of cores on the GPU, where their contexts take turns.
#[derive(Debug, Default)]
struct Turns {
    /// The core whose operations are on the GPU, and how many.
    now: Option<(u32, u32)>,
    /// Requests that wait, oldest first.
    waiting: VecDeque<Place>,
}

impl Turns {
    /// Whether what a core asks for may begin; else it waits.
    fn admit(&mut self, place: Place) -> bool {
        let is_its = self.now.is_none_or(|(core, _)| core == place.core);
        if !is_its || !self.waiting.is_empty() {
            self.waiting.push_back(place);
            return false;
        }
        self.begin(place.core);
        true
    }

    fn begin(&mut self, core: u32) {
        let running = self.now.map_or(0, |(_, count)| count);
        self.now = Some((core, running + 1));
    }

    /// An operation has ended: those of the next core may begin.
    fn end(&mut self) -> Vec<Place> {
        let (core, count) = self.now.expect("what ends has begun");
        self.now = (count > 1).then_some((core, count - 1));
        let mut admitted = Vec::new();
        while let Some(&place) = self.waiting.front() {
            if self.now.is_some_and(|(core, _)| core != place.core) {
                break;
            }
            self.waiting.pop_front();
            self.begin(place.core);
            admitted.push(place);
        }
        admitted
    }
}

struct Calendar<'a>(&'a mut Simulation<Event>);

impl Schedule for Calendar<'_> {
    fn at(&mut self, time: Time, resource: ResourceId, event: FabricEvent) {
        let tag = Tag { resource: resource.0, phase: 1 };
        self.0.schedule(time, SourceId(resource.0), tag, Event::Fabric(event));
    }
}

impl Agenda for Calendar<'_> {
    fn gpu(&mut self, time: Time, event: GpuEvent) {
        let tag = Tag { resource: GPU, phase: 2 };
        self.0.schedule(time, SourceId(GPU), tag, Event::Gpu(event));
    }
}

impl Core {
    /// Whether something that a step waits for is under way.
    fn is_open(&self, step: HostStep) -> bool {
        let waited = |part: u32| match step {
            HostStep::WaitFor(own) => part == own,
            HostStep::Wait | HostStep::Ask { .. } => true,
        };
        self.under_way.iter().any(|(&part, &count)| count > 0 && waited(part))
    }
}

struct Running {
    setup: Setup,
    simulation: Simulation<Event>,
    cluster: Cluster,
    gpus: Option<Gpus>,
    cores: Vec<Core>,
    turns: Turns,
    /// Kernels that were counted, by call: a method asks for few different ones.
    counted: BTreeMap<String, Kernel>,
    marks: BTreeMap<u32, Time>,
    /// When the last event happened that was no stale one.
    happened: Time,
    /// Events in words, where they were requested.
    words: Vec<EventWords>,
}

/// Runs the programs of the host to their end.
///
/// # Panics
///
/// When the machine has no GPU and a step uses one, or a block does not fit it: the plan
/// was checked for both.
pub fn run(setup: Setup) -> Outcome {
    let wires = Topology::new(topology::Shape::default(), 1).expect("one node");
    let cluster = Cluster::new(&setup.profile, wires, &[]);
    let gpus = cluster.gpus(&setup.profile, 0);
    let mut options = setup.options;
    if matches!(options.causes, Keep::Causes | Keep::Messages) {
        // Every event here is a cause.
        options.journal = Some(JournalMode::All);
    }
    let simulation = Simulation::new(options);
    let (counted, marks) = (BTreeMap::new(), BTreeMap::new());
    let cores = vec![Core::default(); setup.programs.len()];
    let (turns, happened) = (Turns::default(), Time::ZERO);
    let words = Vec::new();
    let running =
        Running { setup, simulation, cluster, gpus, cores, turns, counted, marks, happened, words };
    running.run()
}

impl Running {
    fn run(mut self) -> Outcome {
        for core in 0..u32::try_from(self.cores.len()).expect("few cores") {
            self.core_at(Time::ZERO, core, Event::Core(core));
        }
        let mut delivered: Vec<Delivery> = Vec::new();
        let mut done = Vec::new();
        let ending = loop {
            let Some(event) = self.simulation.next_event() else {
                break self.simulation.limit_reached().map_or(Ending::Finished, Ending::Limit);
            };
            let now = self.simulation.now();
            // Ends of transfers that a later change has moved are no part of the run, and neither are counts of packets.
            if !matches!(event, Event::Fabric(event) if self.cluster.fabric.is_upkeep(event)) {
                self.happened = now;
            }
            self.tell(event);
            let calendar = &mut Calendar(&mut self.simulation);
            match event {
                Event::Core(core) => self.go_on(now, core),
                Event::Packed(place) => {
                    self.ended(now, place);
                    self.go_on(now, place.core);
                }
                Event::Gpu(event) => {
                    let gpus = self.gpus.as_mut().expect(IS_THERE);
                    gpus.handle(now, event, &mut self.cluster.fabric, calendar);
                }
                Event::Fabric(event) => {
                    self.cluster.fabric.handle(now, event, calendar, &mut delivered);
                    for Delivery { token } in delivered.drain(..) {
                        assert!(is_gpu_token(token), "nobody else uses the fabric");
                        let fabric = &mut self.cluster.fabric;
                        let gpus = self.gpus.as_mut().expect(IS_THERE);
                        gpus.delivered(now, token, fabric, calendar, &mut done);
                    }
                }
            }
            for end in done.drain(..) {
                self.ended(now, Place::of(end.token));
                if self.setup.take_turns {
                    self.turns.end().into_iter().for_each(|place| self.begin(now, place));
                }
            }
        };
        self.outcome(ending)
    }

    fn core_at(&mut self, at: Time, core: u32, event: Event) {
        let source = source_of(core);
        let tag = Tag { resource: source, phase: 3 };
        self.simulation.schedule(at, SourceId(source), tag, event);
    }

    /// A core asks for operation after operation, and stops where it must wait.
    fn go_on(&mut self, now: Time, core: u32) {
        let own = &mut self.cores[core as usize];
        let Some(&step) = self.setup.programs[core as usize].get(own.next) else { return };
        match step {
            HostStep::Wait | HostStep::WaitFor(_) if own.is_open(step) => own.waits = true,
            HostStep::Wait | HostStep::WaitFor(_) => {
                own.next += 1;
                self.go_on(now, core);
            }
            HostStep::Ask { part, asked, .. } => {
                self.marks.entry(marks_of(part)[0]).or_insert(now);
                let step = u32::try_from(own.next).expect("fewer than 2^32 steps");
                let place = Place { core, step };
                own.next += 1;
                *own.under_way.entry(part).or_insert(0) += 1;
                if let DeviceOperation::Pack(DeviceCall::Host { task, data }) = asked {
                    let busy = self.by_core(task, data);
                    self.cores[core as usize].account.add(Part::Copy, busy);
                    self.core_at(now + busy, core, Event::Packed(place));
                    return;
                }
                if !self.setup.take_turns || self.turns.admit(place) {
                    self.begin(now, place);
                }
                let busy = self.shape().call_overhead;
                self.core_at(now + busy, core, Event::Core(core));
            }
        }
    }

    fn step(&self, place: Place) -> HostStep {
        self.setup.programs[place.core as usize][place.step as usize]
    }

    /// The operation of a step waits in its stream: its latency counts from here.
    fn begin(&mut self, now: Time, place: Place) {
        let HostStep::Ask { stream, asked, .. } = self.step(place) else {
            unreachable!("only operations are asked for");
        };
        let operation = self.operation(asked);
        let gpus = self.gpus.as_mut().expect(IS_THERE);
        let gpu = gpus.of_node(0, 0);
        let calendar = &mut Calendar(&mut self.simulation);
        gpus.submit(now, gpu, Stream(stream), operation, place.token(), calendar);
    }

    fn ended(&mut self, now: Time, place: Place) {
        let HostStep::Ask { asked, part, .. } = self.step(place) else {
            unreachable!("only operations end");
        };
        self.marks.insert(marks_of(part)[1], now);
        if let (DeviceOperation::Pack(call), 0, Some(bytes)) = (asked, part, &mut self.setup.bytes)
        {
            bytes.apply(call);
        }
        let core = &mut self.cores[place.core as usize];
        *core.under_way.get_mut(&part).expect("it was asked for") -= 1;
        if std::mem::take(&mut core.waits) {
            self.go_on(now, place.core);
        }
    }

    fn shape(&self) -> &Shape {
        self.gpus.as_ref().expect(IS_THERE).shape()
    }

    /// Time that packing takes a core; what a device has left lies in memory, or in the last-level cache.
    fn by_core(&self, task: Task, data: packing::Memory) -> TimeDelta {
        let profile = &self.setup.profile;
        let Layout { datatype, count, encoding } = &self.setup.layout;
        let segments = datatype.segments(*count).expect("the plan was checked for it");
        let runs = segments.map(|segment| (segment.offset, segment.length));
        let sizes = (profile.cache.line, profile.os.page_size);
        let scattered = Scattered::of(runs, encoding.primitives(), sizes);
        let way = match task {
            Task::Pack => Way::Gather,
            Task::Unpack => Way::Scatter,
        };
        let far = data.is_of_host() && !profile.mem.dma_to_llc;
        Packer::new(profile).time(&scattered, way, far)
    }

    fn operation(&mut self, asked: DeviceOperation) -> Operation {
        match asked {
            DeviceOperation::Pack(call @ DeviceCall::Kernel { code, task, packed }) => {
                let encoding = &*self.setup.layout.encoding;
                let primitives = 0..encoding.primitives();
                let shape = self.gpus.as_ref().expect(IS_THERE).shape();
                let instructions = &shape.instructions;
                let lanes = PackLanes { encoding, code, task, packed, primitives, instructions };
                let block = block(&self.setup, shape);
                let count = || count::kernel(shape, block, &lanes);
                let key = format!("{call:?}");
                Operation::Kernel(*self.counted.entry(key).or_insert_with(count))
            }
            DeviceOperation::Pack(DeviceCall::Copy { from, to, width, rows, slices }) => {
                Operation::Copy(operations::copy(from, to, (width, rows, slices)))
            }
            DeviceOperation::Pack(DeviceCall::Host { .. }) => {
                unreachable!("the core packs by itself")
            }
            DeviceOperation::Compute { time, stores } => {
                Operation::Kernel(computing(self.shape(), time, stores))
            }
            DeviceOperation::CopyIn(bytes) => {
                Operation::Copy(Copy::contiguous(Direction::HostToDevice, bytes))
            }
            DeviceOperation::CopyOut(bytes) => {
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
            kind: spec.kind,
            servers: match spec.service {
                Service::Shared { .. } => 1,
                Service::Servers { count, .. } => count,
            },
            stats,
        });
        Outcome {
            faults: Tally::default(),
            unfired: Vec::new(),
            ending,
            end,
            events: self.simulation.events(),
            digest: self.simulation.digest(),
            marks: self.marks.iter().map(mark).collect(),
            violations,
            sometimes: Sometimes::default(),
            held: MemoryUse::default(),
            overtaken: 0,
            resources: resources.collect(),
            accounts: self.cores.iter().map(|core| core.account).collect(),
            packets: 0,
            entries_visited: 0,
            rnr: 0,
            choices: Vec::new(),
            causes: causes.map(Box::new),
            checkpoints: self.simulation.checkpoints().to_vec(),
            told: event_text::join(self.simulation.journal(), self.words),
        }
    }
}

/// Resources of a block of the packing kernel: threads, registers, and shared memory for the encoding's nodes.
pub fn block(setup: &Setup, shape: &Shape) -> Block {
    let shared = setup.layout.encoding.fixed_bytes();
    let registers = shape.instructions.registers;
    Block { threads: setup.threads_per_block, registers, shared }
}

fn direction(from: packing::Memory, to: packing::Memory) -> Direction {
    match (from.is_of_host(), to.is_of_host()) {
        (true, _) => Direction::HostToDevice,
        (_, true) => Direction::DeviceToHost,
        (false, false) => Direction::InDevice,
    }
}

/// A kernel whose blocks fill all SMs several times, and that computes for so long in all; its stores
/// are spread over its blocks.
fn computing(shape: &Shape, time: TimeDelta, stores: u64) -> Kernel {
    /// Method: the time of the whole kernel is given, and its blocks have some size.
    const THREADS: u32 = 256;
    /// Method: the SMs are full nearly to the end.
    const ROUNDS: u64 = 32;
    let block = Block::of(THREADS);
    let blocks = u64::from(shape.sms) * u64::from(shape.resident(block)) * ROUNDS;
    let warps = blocks * u64::from(THREADS.div_ceil(shape.warp));
    let issued = u128::from(shape.issue_rate.as_hz()) * u128::from(shape.sms);
    let issued = issued * u128::from(time.as_ps()) / u128::from(units::PS_PER_S);
    let each = u64::try_from(issued / u128::from(warps)).expect("a kernel of some days");
    let host_writes = BusTraffic { bytes: stores, packets: stores.div_ceil(shape.payload) };
    Kernel { blocks, block, work: Work { host_writes, ..Work::computing(warps, each.max(1)) } }
}
