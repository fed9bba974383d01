//! The timed runtime: turns actions into hardware work and feeds completions back.
//!
//! ```text
//!   program ─Call─▶ guard ─▶ Machine::handle ─▶ list of actions ─▶ cursor walks it
//!                                                │ core work moves the cursor
//!                                                │ effects leave at the cursor's value (an event)
//!   poll ◀─ channel ◀─ fabric ◀─ HCA ◀───────────┘ the list's end is one event
//! ```
//!
//! A thread that is alone in its process and on its core runs ahead of the clock: nobody can tell, and
//! the end of its list is no event. A thread handles nothing while its list runs; one without work in a
//! call polls: `polling.rs` computes which pass meets an arrival. Nothing here decides for a machine.

mod actor;
mod adapter;
mod costs;
mod device;
mod faults;
mod happening;
mod lists;
mod lock;
mod lock_numbers;
mod mapped;
mod outcome;
mod passes;
mod peer_copy;
mod polling;
mod reliable;
mod slab;
mod stale;
mod standstill;
mod telling;
mod touch;
mod trail;
mod turns;
mod unfired;
mod weigh;
mod wires;

use std::collections::BTreeMap;

use super::account::{Account, Part};
use super::counters::Counters;
use super::deadlock::{self, Standing};
use super::faults::FaultPlan;
use super::held::Held;
use super::memory::{Memories, Parcel, Payload};
use super::monitors::buffers::{Buffers, Lends};
use super::monitors::{Monitor, Monitors, Violation, system};
use super::untimed::Choice;
use actor::Actor;
use costs::Costs;
use device::Devices;
use engine::{LimitReached, Options, Simulation, SourceId, Tag};
use faults::Faults;
pub use faults::Tally;
use happening::{Happening, Phase};
use hardware::cluster::{Cluster, Posting};
use hardware::core::{IssueSlots, Noise, Place};
use hardware::fabric::{Delivery, FabricEvent, ResourceId, Schedule, Service};
use hardware::lines::Lines;
use hardware::profile::Profile;
use hardware::slow_core::SlowCore;
use hardware::topology::Topology;
use lists::Lists;
pub use lock::LockOrder;
use lock::Locks;
use mpi::observation::Observation;
use mpi::rma::update::Effect;
pub use outcome::{Ending, Mark, Outcome, Ran, Used};
pub use peer_copy::Kernel;
use peer_copy::PeerCopies;
use polling::{Entries, Poller, Routes};
use protocols::contract::{
    Machine, Process, Program, ProtocolError, Region, Route, Thread, Token, Via,
};
use slab::Slab;
use stale::Stale;
use standstill::Watch;
use trail::Trail;
pub use unfired::Unfired;
use units::{Time, TimeDelta};
use wires::{Channel, Content};

/// How many channels a pass of the progress engine polls.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Connections {
    /// One receive channel for each lane of the job, the own one included, connected or not.
    #[default]
    PerPeer,
    /// One shared receive queue for all processes of other nodes; one cell each for neighbours.
    SharedReceiveQueue,
}

/// One thread of the job: where it runs and what it runs.
#[derive(Clone, Debug)]
pub struct Placement {
    /// Its hardware thread.
    pub place: Place,
    /// A number of its own for each core of the job.
    pub core: usize,
    /// When it begins.
    pub start: TimeDelta,
    /// What the operating system takes from it.
    pub noise: Option<Noise>,
    /// What faults take from it besides; then `noise` is part of it.
    pub slow: Option<Box<SlowCore>>,
}

/// What a run needs besides machines and programs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The machine.
    pub profile: Profile,
    /// The wires between nodes.
    pub topology: Topology,
    /// Threads in order: all of process 0, then of process 1, …
    pub placements: Vec<Placement>,
    /// Threads of each process.
    pub threads: Vec<u16>,
    /// Lanes of each process.
    pub lanes: u16,
    /// Who gets a lock that several threads wait for.
    pub lock: LockOrder,
    /// Whether bytes exist.
    pub payload: Payload,
    /// Channels that a pass polls.
    pub connections: Connections,
    /// How processes of a node copy from each other's memory; `None`: they do not.
    pub kernel: Option<Kernel>,
    /// How late readers see the counter of a node's large RDMA operations.
    pub counter_lag: TimeDelta,
    /// What goes wrong; `None`: nothing.
    pub faults: Option<FaultPlan>,
    /// The seed of the random numbers of faults.
    pub seed: u64,
    /// Limits, journal, ties.
    pub options: Options,
    /// Whether the choices are kept for a replay in the untimed world.
    pub record: bool,
    /// Whether the end of every list is an event, also of threads that could run ahead of the clock,
    /// and every turn of polling under a lock, also those that arithmetic could pass over: slower,
    /// and the same moments.
    pub step_by_step: bool,
    /// A defect of this runtime, to show that the bridge gate refuses it.
    pub planted: Option<Planted>,
}

/// A defect that can be planted into this runtime.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Planted {
    /// A poll takes the newest entry of a channel instead of the oldest.
    NewestFirst,
    /// Nobody waits for the library lock.
    NoLock,
    /// An adapter takes messages while a thread of its process is inside the library, too.
    AdapterBesidePolls,
}

/// Something that is under way between two processes.
#[derive(Clone, Debug)]
struct Flight {
    kind: FlightKind,
    from: Process,
    /// Where to, and the lanes.
    to: Route,
    /// Index of the channel from `from` to `to`.
    channel: u32,
    bytes: u64,
    /// Whether the sender's HCA was asked for a completion.
    signalled: bool,
    /// How it is posted, while the queue pair's rate holds it back.
    held: Option<Posting>,
}

#[derive(Clone, Debug)]
#[repr(u8)]
enum FlightKind {
    Packet {
        content: u32,
        via: Via,
    },
    /// `immediate`: the content that arrives with the last byte.
    Write {
        from: Region,
        into: Region,
        token: Token,
        immediate: Option<u32>,
    },
    ReadRequest {
        remote: Region,
        into: Region,
        token: Token,
    },
    ReadAnswer {
        into: Region,
        token: Token,
        parcel: Parcel,
    },
    AtomicRequest {
        target: Region,
        update: Effect,
        into: Region,
        token: Token,
        operand: Parcel,
    },
    SendDone,
}

/// What a thread's poll can take.
#[derive(Clone, Copy, Debug)]
#[repr(u8)]
enum Arrived {
    Packet {
        /// The way back.
        from: Route,
        /// Index of the channel that it came by.
        channel: u32,
        content: u32,
        via: Via,
    },
    Done(Token),
    /// The end of an operation of the GPU.
    Device(Token),
    /// The value that a thread waits for.
    Seen(Token),
    /// A signalled send has left: costs its poll and nothing else.
    SendDone,
}

/// A job in motion.
pub struct Timed<M: Machine, P: Program<M>> {
    simulation: Simulation<Happening>,
    cluster: Cluster,
    costs: Costs,
    slots: IssueSlots,
    machines: Vec<M>,
    locks: Locks,
    actors: Vec<Actor<M, P>>,
    pollers: Vec<Poller>,
    entries: Entries,
    lists: Lists<M::Packet, M::Reply>,
    channels: Vec<Channel>,
    channel_of: wires::ChannelTable,
    flights: Slab<Flight>,
    contents: Slab<Content<M::Packet>>,
    /// Where the lines of the locks lie that processes share, and who waits for one.
    lines: BTreeMap<lock_numbers::StateLine, Place>,
    watchers: Vec<lock_numbers::Watcher>,
    sights: Slab<lock_numbers::Sight>,
    /// The mutexes of memory that several processes map, and who has its lines.
    mutexes: BTreeMap<mapped::Which, mapped::Mutex>,
    mapped: BTreeMap<u32, Lines>,
    /// Whether the adapter of each process is about to look for a message, where adapters match.
    looking: Vec<bool>,
    /// When the atomic unit of each node's HCA is free again.
    atomic_free: Vec<Time>,
    memories: Memories,
    counters: Counters,
    stale: Stale,
    peer_copies: PeerCopies,
    /// `None` where no program uses a GPU, or the machine has none.
    devices: Option<Devices>,
    monitors: Monitors,
    buffers: Buffers,
    violations: Vec<Violation>,
    causality: system::Causality,
    marks: Vec<Mark>,
    /// Threads that run ahead of the clock, and when what they did last is over.
    ///
    /// A thread that is alone in its process and on its core hears of others only where it polls:
    /// nothing that it does before can depend on them, and what they can see of it (departures,
    /// receive buffers given back, copies by memory) is set for its own time. So the end of its
    /// list needs no event.
    ahead: Vec<(u32, Time)>,
    /// The first thread of each process, and their number at the end.
    first_thread: Vec<u32>,
    /// Whether turns of polling that find nothing are events.
    step_by_step: bool,
    /// Whether memory is read ahead.
    touches: bool,
    /// When the last event happened that was no lock's own: those may be left out.
    happened: Time,
    /// Whether nothing but turns that find nothing, and calls that ask in vain, can happen any more.
    exhausted: bool,
    /// Who asks for ever, and whether calls are looked at: for that, or by faults.
    watch: Watch,
    /// After how many events it is looked at what the run holds.
    weighed_next: u64,
    /// Sources of events: those of resources come first, then those of threads.
    first_source: u32,
    packets: u64,
    entries_visited: u64,
    rnr: u64,
    /// `None` where choices are not recorded.
    choices: Option<Vec<Choice>>,
    planted: Option<Planted>,
    /// What is noted of causes, where that is asked for.
    trail: Option<Box<Trail>>,
    /// What goes wrong, where a plan says so.
    faults: Option<Box<Faults>>,
    failed: Option<Ending>,
    delivered: Vec<Delivery>,
    /// The most that it was seen to hold.
    held_most: Held,
    /// Lists that threads have run as far ahead as they may, since somebody looked at what it holds.
    far: u64,
}

/// Lets the fabric schedule its events.
struct FabricSchedule<'a>(&'a mut Simulation<Happening>);

impl Schedule for FabricSchedule<'_> {
    fn at(&mut self, time: Time, resource: ResourceId, event: FabricEvent) {
        let tag = Tag { resource: resource.0, phase: Phase::Wire as u8 };
        self.0.schedule(time, SourceId(resource.0), tag, Happening::Fabric(event));
    }
}

impl Placement {
    /// Whether its work takes what it takes, whenever it is done.
    const fn is_undisturbed(&self) -> bool {
        self.noise.is_none() && self.slow.is_none()
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// A job of `machines` (one a process) and `programs` (one a thread, process by process).
    ///
    /// # Panics
    ///
    /// When the numbers of machines, programs and placements do not fit each other.
    pub fn new(setup: Setup, machines: Vec<M>, programs: Vec<P>) -> Self {
        let Setup { profile, topology, placements, threads, step_by_step, .. } = setup;
        assert_eq!(machines.len(), threads.len(), "a number of threads per process");
        assert_eq!(programs.len(), placements.len(), "a placement per thread");
        let processes = machines.len();
        let first_thread = sums(&threads);
        assert_eq!(first_thread[processes] as usize, programs.len(), "a program per thread");
        let sites: Vec<Place> = placements.iter().map(|placement| placement.place).collect();
        let cores = placements.iter().map(|placement| placement.core + 1).max().unwrap_or(0);
        let cluster = if setup.kernel.is_some() {
            Cluster::with_far_copies(&profile, topology, &sites)
        } else {
            Cluster::new(&profile, topology, &sites)
        };
        let home = |process: usize| sites[first_thread[process] as usize];
        let homes: Vec<Place> = (0..processes).map(home).collect();
        let nodes = sites.iter().map(|site| site.node as usize + 1).max().unwrap_or(0);
        let slots = IssueSlots::new(&profile.cpu, cores);
        // Connections of GPUs come after those of cores, and before those of channels.
        let first = u32::try_from(programs.len()).expect("fewer than 2^32 threads");
        let devices = programs.iter().any(P::uses_a_gpu);
        let devices = devices.then(|| Devices::new(&profile, &cluster, &homes, first)).flatten();
        let faults = setup.faults.map(|plan| Faults::new(plan, setup.seed, &cluster));
        let costs = Costs::new(profile);
        let lanes = setup.lanes.max(1);
        let pollers = Routes::to_all(&homes, lanes, setup.connections)
            .into_iter()
            .map(|routes| Poller::new(routes, lanes, &costs))
            .collect();
        let mut sharing = vec![0_u32; cores];
        for placement in &placements {
            sharing[placement.core] += 1;
        }
        let names = (0_u32..).zip(&threads).flat_map(|(process, &threads)| {
            (0..threads).map(move |thread| (Process(process), Thread(thread), threads == 1))
        });
        let mut monitors = Monitors::new(processes);
        if programs.iter().any(P::sends_ready) {
            monitors.expect_ready_sends();
        }
        let actors = names
            .zip(placements)
            .zip(programs)
            .map(|(((process, inner, single), placement), program)| {
                let told = costs.profile.hca.matching_on_nic;
                let alone = !step_by_step && !told && single && sharing[placement.core] == 1;
                Actor::new(process, inner, alone, placement, program)
            })
            .collect();
        let resources = cluster.fabric.resources().len();
        let watch = Watch::new(first_thread[processes] as usize, faults.is_some());
        let touches = touch::pays(processes, first_thread[processes] as usize);
        let mut timed = Self {
            simulation: Simulation::new(setup.options),
            cluster,
            slots,
            costs,
            locks: Locks::new(setup.lock),
            machines,
            actors,
            pollers,
            entries: Entries::default(),
            lists: Lists::new(),
            channels: Vec::new(),
            channel_of: wires::ChannelTable::new(processes, lanes),
            flights: Slab::default(),
            lines: BTreeMap::new(),
            watchers: Vec::new(),
            sights: Slab::default(),
            mutexes: BTreeMap::new(),
            mapped: BTreeMap::new(),
            devices,
            looking: vec![false; processes],
            atomic_free: vec![Time::ZERO; nodes],
            contents: Slab::default(),
            memories: Memories::new(processes, setup.payload),
            counters: Counters::default(),
            stale: Stale::new(setup.counter_lag),
            peer_copies: PeerCopies::new(setup.kernel.unwrap_or_default()),
            monitors,
            buffers: Buffers::new(processes),
            violations: Vec::new(),
            causality: system::Causality::default(),
            marks: Vec::new(),
            ahead: Vec::new(),
            first_thread,
            step_by_step,
            touches,
            happened: Time::ZERO,
            exhausted: false,
            watch,
            weighed_next: u64::MAX,
            first_source: u32::try_from(resources).expect("fewer than 2^32 resources"),
            packets: 0,
            entries_visited: 0,
            rnr: 0,
            choices: setup.record.then(Vec::new),
            planted: setup.planted,
            trail: None,
            faults,
            failed: None,
            delivered: Vec::new(),
            held_most: Held::default(),
            far: 0,
        };
        timed.watch_memory();
        timed.pause_next();
        timed.keep_causes(setup.options.causes);
        timed.arm_faults();
        for process in 0..processes {
            timed.begin(Process(u32::try_from(process).expect("fewer than 2^32 processes")));
        }
        timed
    }

    /// Puts bytes of the program's own into a buffer, before it is lent.
    pub fn store(&mut self, process: Process, region: Region, bytes: &[u8]) {
        self.memories.store(process, region, bytes);
    }

    /// The threads of a process begin, except those that its first one will create.
    fn begin(&mut self, process: Process) {
        let threads = self.threads_of(process);
        let forks = self.actors[threads.start as usize].program.forks();
        let born = if forks { 1 } else { threads.len() };
        for thread in threads.take(born) {
            let start = Time::ZERO + self.actors[thread as usize].placement.start;
            self.schedule(start, thread, Phase::Start, Happening::Begin(thread));
        }
    }

    /// Runs until nothing is left to happen, or a limit is reached.
    pub fn run(mut self) -> Ran<M, P> {
        let ending = loop {
            let Some(event) = self.simulation.next_event() else {
                if self.simulation.pauses() {
                    let Some(limit) = self.pause() else { continue };
                    break Ending::Limit(limit);
                }
                break match self.simulation.limit_reached() {
                    Some(limit) => Ending::Limit(limit),
                    None => self.quiet(),
                };
            };
            if let Some(violation) = self.causality.advance(self.simulation.now()) {
                self.violations.push(violation);
            }
            self.happen(event);
            if !self.ahead.is_empty() {
                self.run_ahead();
            }
            if self.locks.any_touched() {
                self.arm_locks();
            }
            if self.failed.is_some() {
                break self.refused();
            }
            if self.exhausted {
                break self.quiet();
            }
        };
        let ending = self.look_at_the_end(ending);
        self.finish(ending)
    }

    /// What is looked at now and then; the limit, where the run holds too much.
    #[cold]
    fn pause(&mut self) -> Option<LimitReached> {
        let events = self.simulation.events();
        if events >= self.watch.next {
            self.look_at_watch();
        }
        let limit = if events >= self.weighed_next { self.weigh() } else { None };
        self.pause_next();
        limit
    }

    fn pause_next(&mut self) {
        self.simulation.pause_at(self.weighed_next.min(self.watch.next));
    }

    #[cold]
    fn refused(&mut self) -> Ending {
        self.failed.take().expect("asked only after a failure")
    }

    fn happen(&mut self, event: Happening) {
        if self.faults.is_some() && self.is_of_the_dead(event) {
            return;
        }
        // Ends of transfers that a later change has moved are no part of the run.
        let idle = match event {
            Happening::Lock(..)
            | Happening::Fault(_)
            | Happening::FaultEnd(_)
            | Happening::Timer(_)
            | Happening::Answer(_) => true,
            Happening::Fabric(event) => self.cluster.fabric.is_stale(event),
            Happening::Pinned(owner, generation) => self.is_old_pin(Process(owner), generation),
            Happening::Depart(_)
            | Happening::Held(_)
            | Happening::Neighbour(_)
            | Happening::Completed(_)
            | Happening::Begin(_)
            | Happening::ListEnd(_)
            | Happening::CopyStart(_)
            | Happening::Step(_)
            | Happening::Notice(..)
            | Happening::Retry(_)
            | Happening::Touch(_)
            | Happening::Atomic(_)
            | Happening::Pin(_)
            | Happening::Seen(_)
            | Happening::Ask(_)
            | Happening::Gpu(_)
            | Happening::Late(_)
            | Happening::Adapter(_)
            | Happening::Moved(_) => false,
        };
        if !idle {
            self.happened = self.simulation.now();
        }
        if self.trail.is_some() {
            self.note_event(event);
        }
        match event {
            Happening::Fabric(event) => self.fabric_event(event),
            Happening::Depart(flight) => self.depart(flight),
            Happening::Held(flight) => self.held(flight),
            Happening::Neighbour(flight) => self.arrive(flight),
            Happening::Completed(flight) => self.flight_completed(flight),
            Happening::Begin(thread) => {
                let now = self.simulation.now();
                self.actors[thread as usize].born = now;
                self.advance_program(thread, None, now);
            }
            Happening::ListEnd(thread) => self.list_end(thread, self.simulation.now()),
            Happening::CopyStart(thread) => self.copy_start(thread),
            Happening::Step(thread) => self.step(thread),
            Happening::Notice(thread, generation) => {
                self.touch(thread);
                self.notice(thread, generation);
            }
            Happening::Retry(channel) => self.retry(channel),
            Happening::Touch(thread) => self.touched(thread),
            Happening::Atomic(flight) => self.answer_atomic(flight),
            Happening::Pin(thread) => self.pin(thread),
            Happening::Pinned(owner, generation) => self.pinned(Process(owner), generation),
            Happening::Moved(thread) => self.move_part(thread),
            Happening::Lock(lock, generation) => self.lock_event(lock, generation),
            Happening::Seen(id) => self.seen(id),
            Happening::Ask(operation) => self.asked(operation),
            Happening::Gpu(event) => self.gpu_event(event),
            Happening::Fault(fault) => self.begin_fault(fault),
            Happening::FaultEnd(fault) => self.end_fault(fault),
            Happening::Timer(connection) => self.timer(connection),
            Happening::Answer(answer) => self.answered_packet(answer),
            Happening::Late(packet) => self.packet_taken(packet),
            Happening::Adapter(thread) => self.adapter_takes(thread),
        }
    }

    /// Nothing is left to happen: everybody is done, or somebody waits for ever.
    ///
    /// # Panics
    ///
    /// When threads wait although somebody could answer them: a defect of this runtime.
    fn quiet(&self) -> Ending {
        if let Some(crashed) = self.crashed() {
            return crashed;
        }
        if let Some(asked) = self.asked_for_ever() {
            return asked;
        }
        debug_assert_eq!(self.sights.len(), 0, "what somebody will see is still to happen");
        if self.actors.iter().all(Actor::ended) {
            return Ending::Finished;
        }
        let standings: Vec<Standing> =
            (0_u32..).zip(&self.actors).map(|(index, actor)| self.standing(index, actor)).collect();
        let found = deadlock::diagnose(&standings);
        Ending::Deadlock(found.expect("nothing can happen any more, so nobody can be answered"))
    }

    fn standing(&self, index: u32, actor: &Actor<M, P>) -> Standing {
        let (process, thread) = self.names(index);
        let waits = self.machines[process.0 as usize].waits(thread);
        let waits =
            waits.or_else(|| actor.waits_for_threads().then(|| deadlock::for_threads(process)));
        let waits = waits.map(|waits| waits.located(|call| actor.program.line_of(call)));
        Standing {
            process,
            thread,
            ended: actor.ended(),
            waits: waits.filter(|_| !actor.ended()),
            position: actor.program.position(),
            since: Some(actor.since),
        }
    }

    fn finish(mut self, ending: Ending) -> Ran<M, P> {
        self.settle_idle(self.happened);
        let end = self.end_of(&ending);
        let elapsed = end.since(Time::ZERO);
        let resources = self.used();
        if ending == Ending::Finished {
            self.check_end(elapsed, &resources);
        }
        let (told, unfired) = (self.take_told(), self.unfired(end));
        let causes = self.take_trail().map(Box::new);
        let accounts = self.actors.iter().map(|actor| actor.account).collect();
        let outcome = Outcome {
            ending,
            end,
            events: self.simulation.events(),
            digest: self.simulation.digest(),
            marks: in_order(self.marks),
            violations: self.violations,
            sometimes: self.buffers.sometimes.plus(self.monitors.sometimes()),
            overtaken: self.monitors.mutexes.overtaken,
            resources,
            accounts,
            packets: self.packets,
            entries_visited: self.entries_visited,
            rnr: self.rnr,
            held: self.held_most,
            faults: self.faults.as_ref().map_or_else(Tally::default, |faults| faults.tally),
            unfired,
            choices: self.choices.unwrap_or_default(),
            causes,
            checkpoints: self.simulation.checkpoints().to_vec(),
            told,
        };
        // Collected in place, they would keep the room of the actors, many times theirs.
        let mut programs = Vec::with_capacity(self.actors.len());
        programs.extend(self.actors.into_iter().map(|actor| actor.program));
        Ran { outcome, machines: self.machines, programs, memories: self.memories }
    }

    fn used(&self) -> Vec<Used> {
        let specs = self.cluster.fabric.resources().iter();
        let used = (0..).zip(specs).map(|(index, spec)| Used {
            name: spec.name.clone(),
            kind: spec.kind,
            servers: match spec.service {
                Service::Shared { .. } => 1,
                Service::Servers { count, .. } => count,
            },
            stats: self.cluster.fabric.stats(ResourceId(index)),
        });
        used.collect()
    }

    /// When the run ended: in a deadlock, when the last thread had nothing left to do.
    fn end_of(&self, ending: &Ending) -> Time {
        let now = self.happened;
        match ending {
            Ending::Deadlock(_) => self.actors.iter().map(|actor| actor.since).fold(now, Time::max),
            Ending::Finished
            | Ending::ClockStands { .. }
            | Ending::Protocol { .. }
            | Ending::Limit(_)
            | Ending::Fault(_)
            | Ending::Crashed { .. } => now,
        }
    }

    /// Laws that hold when every program has ended.
    fn check_end(&mut self, elapsed: TimeDelta, resources: &[Used]) {
        let queued: u64 = self.pollers.iter().map(Poller::waiting).sum();
        let open = self.flights.len()
            + self.watchers.len()
            + self.devices.as_ref().map_or(0, Devices::under_way);
        let undelivered = queued + open as u64;
        self.monitors.end(undelivered, &mut self.violations);
        self.counters.end(&mut self.violations);
        for (index, machine) in (0_u32..).zip(&self.machines) {
            let process = Process(index);
            let landings = self.memories.landings(process);
            system::leftovers(process, machine.leftovers(), landings, &mut self.violations);
        }
        for Used { name, servers, stats, .. } in resources {
            let most = elapsed * u64::from(*servers);
            self.violations.extend(system::utilisation(name, stats.busy, most));
        }
    }

    fn names(&self, thread: u32) -> (Process, Thread) {
        let actor = &self.actors[thread as usize];
        (actor.process, actor.inner)
    }

    fn thread_of(&self, process: Process, thread: Thread) -> u32 {
        self.first_thread[process.0 as usize] + u32::from(thread.0)
    }

    /// The threads of a process, by their numbers in the job.
    fn threads_of(&self, process: Process) -> std::ops::Range<u32> {
        let process = process.0 as usize;
        self.first_thread[process]..self.first_thread[process + 1]
    }

    /// Thread `thread` is the source of an event.
    fn schedule(&mut self, at: Time, thread: u32, phase: Phase, event: Happening) {
        let source = self.first_source + thread;
        let tag = Tag { resource: source, phase: phase as u8 };
        self.simulation.schedule(at, SourceId(source), tag, event);
    }

    fn record(&mut self, choice: impl FnOnce() -> Choice) {
        if let Some(choices) = &mut self.choices {
            choices.push(choice());
        }
    }

    /// A request of a process is complete: its monitors hear what has ended, and of its buffer.
    #[inline]
    fn completes(&mut self, process: Process, buffer: Option<Region>, fact: Option<&Observation>) {
        let found = &mut self.violations;
        if let Some(fact) = fact {
            self.monitors.observe(process, fact, found);
        }
        self.buffers.completed(&mut self.memories, process, fact, buffer, found);
    }

    fn fail(&mut self, process: Process, error: ProtocolError) {
        self.failed.get_or_insert(Ending::Protocol { process, error });
    }
}

/// Marks in the order of their times: threads that run ahead make them earlier.
fn in_order(mut marks: Vec<Mark>) -> Vec<Mark> {
    // In place: a large job has many.
    marks.sort_unstable_by_key(|mark| (mark.at, mark.process, mark.thread, mark.number));
    marks
}

/// The sums of all counts before each, and of all.
fn sums(counts: &[u16]) -> Vec<u32> {
    let mut sums = vec![0];
    for (index, count) in counts.iter().enumerate() {
        sums.push(sums[index] + u32::from(*count));
    }
    sums
}

impl<M: Machine, P: Program<M>> std::fmt::Debug for Timed<M, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timed")
            .field("now", &self.simulation.now())
            .field("threads", &self.actors.len())
            .finish_non_exhaustive()
    }
}
