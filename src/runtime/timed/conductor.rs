//! The conductor of a timed run: it takes events from the calendar and gives them to the parts.
//!
//! A part changes its own state and answers what has to happen next; the conductor carries that out. It
//! has four files: this one (a run from its setup to its outcome), `calls.rs` (programs and their
//! libraries), `actions.rs` (what a library's list asks for) and `arrivals.rs` (what comes to a process).

use super::context::{Clock, Context, Layout};
use super::cores::Cores;
use super::costs::Costs;
use super::diagnosis::Diagnosis;
use super::event::{Event, Phase};
use super::faults::Faults;
use super::gpus::Gpus;
use super::livelock::Livelock;
use super::locks::{Beside, Locks};
use super::memory::Memory;
use super::network::Network;
use super::network::flight::Arrived;
use super::observers::critical_path::CriticalPath;
use super::observers::{Observed, Observers};
use super::ports::Ports;
use super::setup::Setup;
use super::sweeps::Sweeps;
use super::unfired::unfired;
use super::usage::MemoryWatch;
use super::words::Vocabulary;
use crate::causes::{Recorded, Spent};
use crate::event_text::{self, EventText};
use crate::memory::{Parcel, Payload};
use crate::memory_use::{Kind, MemoryUse};
use crate::monitors::buffers::Lends;
use crate::monitors::{Violation, system};
use crate::outcome::{Ending, Outcome, Ran, Used};
use engine::causes::Keep;
use engine::{LimitReached, Simulation};
use hardware::cluster::Cluster;
use hardware::core::Place;
use protocols::contract::{Machine, Process, Program, Region, Thread};
use std::hint::black_box;
use units::{Time, TimeDelta};

/// A job in motion.
pub struct Timed<M: Machine, P: Program<M>> {
    pub(super) cx: Context,
    /// The MPI library of each process.
    pub(super) libraries: Vec<M>,
    pub(super) cores: Cores<M, P>,
    pub(super) locks: Locks,
    pub(super) ports: Ports,
    pub(super) network: Network<M::Packet>,
    pub(super) memory: Memory,
    /// `None` where no program uses a GPU, or the machine has none.
    pub(super) gpus: Option<Gpus>,
    /// Faults of the plan, where there is one.
    pub(super) faults: Option<Box<Faults>>,
    /// Whether the adapter of each process is about to look for a message, where adapters match.
    pub(super) looking: Vec<bool>,
    /// `None` where every thread polls the same lanes in each of its passes.
    pub(super) sweeps: Option<Box<Sweeps>>,
    pub(super) livelock: Livelock,
    pub(super) usage: MemoryWatch,
}

/// Processes, each with one thread, from which on memory is read ahead.
/// Method: the state of fewer lies in the caches of the host.
const MANY: usize = 512;
/// Most lists that threads run ahead in one event.
/// Method: a program without end must not stop the clock.
const LISTS_AHEAD: u32 = 1024;

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
        let sites: Vec<Place> = placements.iter().map(|placement| placement.place).collect();
        let layout = Layout::new(&threads, &sites);
        assert_eq!(layout.threads() as usize, programs.len(), "a program per thread");
        let cluster = if setup.kernel.is_some() {
            Cluster::with_far_copies(&profile, topology, &sites)
        } else {
            Cluster::new(&profile, topology, &sites)
        };
        let nodes = sites.iter().map(|site| site.node as usize + 1).max().unwrap_or(0);
        let resources = cluster.fabric.resources().len();
        let first_source = u32::try_from(resources).expect("fewer than 2^32 resources");
        let memory_limit = setup.options.limits.memory;
        let keep = setup.options.causes;
        let clock = Clock::new(Simulation::new(setup.options), first_source, layout.threads());
        let uses_gpus = programs.iter().any(P::uses_a_gpu);
        // Connections of GPUs come after those of cores, and before those of channels.
        let gpus = uses_gpus
            .then(|| Gpus::new(&profile, &cluster, layout.homes(), layout.threads()))
            .flatten();
        let first_connection = layout.threads() + gpus.as_ref().map_or(0, Gpus::connections);
        let faults = setup.faults.map(|plan| Box::new(Faults::new(plan, setup.seed, &cluster)));
        let costs = Costs::new(profile);
        let lanes = setup.lanes.max(1);
        let heard = if setup.paired { 1 } else { lanes };
        let ports = Ports::new(layout.homes(), (lanes, heard), setup.connections, &costs);
        let real = programs.first().and_then(P::process_memory);
        let ready_sends = programs.iter().any(P::sends_ready);
        let observers = Observers::new(processes, setup.record, ready_sends);
        // What a real process prints and finds in its memory is of the moment.
        let runs_ahead = !step_by_step && real.is_none();
        let phantom = setup.payload == Payload::Phantom;
        let cores = Cores::new(&threads, placements, programs, (runs_ahead, phantom), &costs);
        let name_of: fn(&M::Packet) -> String = M::name_of;
        let sweeps = machines.iter().any(|machine| machine.sweeps(Thread(0)).is_some());
        let sweeps = sweeps.then(|| Box::new(Sweeps::new(cores.count())));
        let mut timed = Self {
            network: Network::new(cluster, (processes, lanes), nodes, first_connection, name_of),
            livelock: Livelock::new(cores.count(), faults.is_some()),
            cx: Context::new(clock, layout, costs, observers, setup.planted),
            libraries: machines,
            cores,
            locks: Locks::new(setup.lock, step_by_step),
            ports,
            memory: Memory::new((processes, real), setup.payload, setup.kernel, setup.counter_lag),
            gpus,
            faults,
            looking: vec![false; processes],
            sweeps,
            usage: MemoryWatch::new(memory_limit),
        };
        timed.cx.prefetches = processes >= MANY && timed.cores.count() == processes;
        timed.network.set_pace(setup.pace);
        timed.pause_next();
        timed.keep_causes(keep);
        timed.arm_faults();
        for process in 0..processes {
            timed.begin(Process(u32::try_from(process).expect("fewer than 2^32 processes")));
        }
        timed
    }

    /// Observers note causes from now on, if they are requested.
    fn keep_causes(&mut self, keep: Keep) {
        let path = CriticalPath::new(keep, self.cx.clock.first_source(), self.cores.count());
        if path.is_some() {
            self.network.keep_ways();
            self.cores.note_all_work();
        }
        self.cx.observers.keep_causes(path);
    }

    /// Faults that begin at a time are events.
    fn arm_faults(&mut self) {
        let Some(faults) = &self.faults else { return };
        let unreliable = faults.unreliable(self.network.cluster());
        self.network.expect_faults(faults.transport(), unreliable);
        for (index, at) in faults.timed() {
            self.cx.clock.schedule_fault(at, Event::Fault(index));
        }
    }

    /// Puts bytes of the program's own into a buffer, before it is borrowed.
    pub fn store(&mut self, process: Process, region: Region, bytes: &[u8]) {
        self.memory.bytes.store(process, region, bytes);
    }

    /// The threads of a process begin, except those that its first one will create.
    fn begin(&mut self, process: Process) {
        let threads = self.cx.layout.threads_of(process);
        let forks = self.cores.of(threads.start).program.forks();
        let born = if forks { 1 } else { threads.len() };
        for thread in threads.take(born) {
            let start = Time::ZERO + self.cores.of(thread).placement().start;
            self.cx.schedule(start, thread, Phase::Start, Event::Begin(thread));
        }
    }

    /// Runs until nothing is left to happen, or a limit is reached.
    pub fn run(mut self) -> Ran<M, P> {
        let ending = loop {
            let Some(event) = self.cx.clock.simulation().next_event() else {
                if self.cx.clock.simulation().pauses() {
                    let Some(limit) = self.pause() else { continue };
                    break Ending::Limit(limit);
                }
                break match self.cx.clock.simulation().limit_reached() {
                    Some(limit) => Ending::Limit(limit),
                    None => self.diagnosis().ending(),
                };
            };
            self.cx.observers.advances(self.cx.clock.now());
            self.dispatch(event);
            if self.cores.run_ahead() {
                self.run_ahead();
            }
            if self.locks.any_touched() {
                self.arm_locks();
            }
            if self.cx.ends() {
                break self.cx.take_ending();
            }
            if self.livelock.is_over() {
                break self.diagnosis().ending();
            }
        };
        let ending = self.look_at_the_end(ending);
        self.finish(ending)
    }

    /// Makes the periodic checks; returns the limit, where the run holds too much.
    #[cold]
    fn pause(&mut self) -> Option<LimitReached> {
        let events = self.cx.clock.events();
        if events >= self.livelock.next() {
            self.livelock.window_ends(self.network.packets(), events, self.faults.is_some());
            if self.dead().is_some() {
                self.livelock.watch_for_good();
            }
        }
        let limit = if events >= self.usage.next() { self.weigh() } else { None };
        self.pause_next();
        limit
    }

    pub(super) fn pause_next(&mut self) {
        let next = self.usage.next().min(self.livelock.next());
        self.cx.clock.simulation().pause_at(next);
    }

    /// Threads that run ahead go on, for a bounded number of lists.
    fn run_ahead(&mut self) {
        for _ in 0..LISTS_AHEAD {
            let Some((thread, at)) = self.cores.next_ahead() else { return };
            self.list_end(thread, at);
        }
        if self.usage.ran_far(LISTS_AHEAD, self.libraries.len()) {
            self.look();
        }
        self.cores.stop_ahead(&mut self.cx);
    }

    #[inline(never)]
    fn arm_locks(&mut self) {
        let Self { locks, cores, ports, libraries, cx, .. } = self;
        locks.arm(&Beside { cores, ports, libraries }, cx);
    }

    fn dispatch(&mut self, event: Event) {
        if self.faults.is_some() && self.is_of_the_dead(event) {
            return;
        }
        // Ends of transfers that a later change has moved are no part of the run, and neither are counts of packets.
        let idle = match event {
            Event::Lock(..)
            | Event::Fault(_)
            | Event::FaultEnd(_)
            | Event::Timer(_)
            | Event::Acknowledged(_)
            | Event::Answer(_)
            | Event::Sweep(_) => true,
            Event::Fabric(event) => self.network.is_upkeep(event),
            Event::Pinned(owner, generation) => {
                self.memory.peer_copies.is_old_pin(Process(owner), generation)
            }
            Event::Depart(_)
            | Event::QueuePairFree(_)
            | Event::Neighbour(_)
            | Event::Completed(_)
            | Event::Begin(_)
            | Event::ListEnd(_)
            | Event::CopyStart(_)
            | Event::Step(_)
            | Event::Notice(..)
            | Event::Retry(_)
            | Event::Access(_)
            | Event::Atomic(_)
            | Event::Pin(_)
            | Event::Seen(_)
            | Event::Ask(_)
            | Event::Gpu(_)
            | Event::Late(_)
            | Event::Adapter(_)
            | Event::Moved(_) => false,
        };
        if !idle {
            self.cx.clock.has_effect();
        }
        if self.cx.observers.traces() {
            self.trace_event(event);
        }
        match event {
            Event::Fabric(event) => self.fabric_event(event),
            Event::Depart(flight) => self.depart(flight),
            Event::QueuePairFree(flight) => self.network.let_go(flight, &mut self.cx),
            Event::Acknowledged(channel) => self.network.acknowledged(channel, &mut self.cx),
            Event::Neighbour(flight) => self.arrive(flight),
            Event::Completed(flight) => {
                let arrival = self.network.completed(flight, &mut self.cx);
                self.deliver(arrival);
            }
            Event::Begin(thread) => {
                let now = self.cx.now();
                self.cores.of_mut(thread).born = now;
                self.advance_program(thread, None, now);
            }
            Event::ListEnd(thread) => self.list_end(thread, self.cx.now()),
            Event::CopyStart(thread) => self.copy_start(thread),
            Event::Step(thread) => self.step(thread),
            Event::Notice(thread, generation) => self.notice(thread, generation),
            Event::Retry(channel) => {
                while let Some(arrival) = self.network.retry(channel, &mut self.cx) {
                    self.deliver(arrival);
                }
            }
            Event::Access(thread) => self.access_is_due(thread),
            Event::Atomic(flight) => {
                let (memories, libraries) = (&mut self.memory.bytes, &self.libraries);
                self.network.answer_atomic(flight, memories, libraries, &mut self.cx);
            }
            Event::Pin(thread) => self.pin(thread),
            Event::Pinned(owner, generation) => self.pinned(Process(owner), generation),
            Event::Moved(thread) => self.move_part(thread),
            Event::Lock(lock, generation) => self.lock_event(lock, generation),
            Event::Seen(id) => {
                let arrival = self.memory.waiters.see(id, &mut self.cx);
                self.deliver(arrival);
            }
            Event::Ask(operation) => {
                let gpus = self.gpus.as_mut().expect("only a GPU is asked");
                gpus.submit(operation, &mut self.cx);
            }
            Event::Gpu(event) => {
                let gpus = self.gpus.as_mut().expect("only a GPU has such events");
                gpus.begin(event, self.network.fabric(), &mut self.cx);
            }
            Event::Fault(fault) => self.begin_fault(fault),
            Event::FaultEnd(fault) => self.end_fault(fault),
            Event::Timer(connection) => {
                let (reliable, cluster) = self.network.reliable();
                reliable.timer(connection, cluster, &mut self.cx);
            }
            Event::Answer(answer) => {
                let (reliable, cluster) = self.network.reliable();
                reliable.answer_arrives(answer, cluster, &mut self.cx);
            }
            Event::Late(packet) => self.packet_taken(packet),
            Event::Adapter(thread) => self.adapter_takes(thread),
            Event::Sweep(thread) => self.sweep_is_due(thread),
        }
    }

    /// Traces an event before it is handled: the stretch of time that it ends, and its words where they are wanted.
    #[cold]
    fn trace_event(&mut self, event: Event) {
        let number = self.cx.clock.events();
        if self.cx.observers.path().is_some_and(|path| path.wants_words(number)) {
            let words = Vocabulary {
                cores: &self.cores,
                libraries: &self.libraries,
                locks: &self.locks,
                network: &self.network,
                waiters: &self.memory.waiters,
                layout: &self.cx.layout,
            }
            .words_of(event);
            self.cx.observers.trace(|path| path.keep_words(words));
        }
        let (id, spent) = match event {
            Event::Neighbour(id) => (id, Spent::Line),
            Event::Completed(id) => (id, Spent::Completion),
            Event::QueuePairFree(id) => (id, Spent::Pace),
            Event::Atomic(id) => (id, Spent::Atomic),
            Event::Begin(thread) => {
                let now = self.cx.now();
                return self.cx.observers.trace(|path| path.until(thread, Spent::Start, now));
            }
            Event::Fabric(_)
            | Event::Depart(_)
            | Event::ListEnd(_)
            | Event::CopyStart(_)
            | Event::Step(_)
            | Event::Notice(..)
            | Event::Access(_)
            | Event::Pin(_)
            | Event::Pinned(..)
            | Event::Moved(_)
            | Event::Adapter(_)
            | Event::Sweep(_)
            | Event::Retry(_)
            | Event::Lock(..)
            | Event::Seen(_)
            | Event::Ask(_)
            | Event::Fault(_)
            | Event::FaultEnd(_)
            | Event::Timer(_)
            | Event::Acknowledged(_)
            | Event::Answer(_)
            | Event::Late(_)
            | Event::Gpu(_) => return,
        };
        self.network.trace_leg(id, spent, spent != Spent::Pace, &mut self.cx);
    }

    /// In a job of thousands of processes an event finds nothing of its process in the host's caches.
    /// The state of the only thread of a process lies in a dozen tables, and each would be waited for
    /// after the one before: here a word of each is read first, and the waits overlap.
    #[inline]
    pub(super) fn prefetch(&self, thread: u32) {
        if self.cx.prefetches {
            // Each process has one thread: both have one number. It is not read from the actor, for
            // which everything else would wait.
            let process = Process(thread);
            let arrives = match self.ports.first(process) {
                Some(Arrived::Packet { from, channel, content, .. }) => {
                    Some((from.peer, content, channel))
                }
                _ => None,
            };
            let packet = arrives.map(|(_, content, channel)| (content, channel));
            black_box(
                self.cores.of(thread).prefetch()
                    ^ self.ports.of(process).prefetch()
                    ^ self.network.prefetch(process, packet)
                    ^ u64::from(self.memory.bytes.landings(process))
                    ^ self.libraries[thread as usize].touch()
                    ^ self.cx.observers.prefetch(process, arrives.map(|(sender, ..)| sender)),
            );
        }
    }

    fn diagnosis(&self) -> Diagnosis<'_, M, P> {
        Diagnosis {
            cx: &self.cx,
            cores: &self.cores,
            libraries: &self.libraries,
            livelock: &self.livelock,
            faults: self.faults.as_deref(),
        }
    }

    fn finish(mut self, ending: Ending) -> Ran<M, P> {
        self.settle_idle(self.cx.clock.last_effect());
        let end = self.end_of(&ending);
        let ends_well = ending == Ending::Finished;
        if ends_well {
            self.check_end();
        }
        let (told, causes) = (self.take_told(), self.take_causes());
        let packets = self.network.packets();
        let faults = self.faults.as_deref();
        let unfired =
            faults.map_or_else(Vec::new, |faults| unfired(faults, &self.cores, packets, end));
        let (rnr, tally) = (self.network.rnr(), self.network.tally());
        let Self { cx, network, ports, cores, libraries, memory, usage, .. } = self;
        let Context { mut clock, mut observers, .. } = cx;
        drop(ports);
        // Queue pairs and paths go before the results come: a large job has many of both.
        let resources = network.into_used();
        if ends_well {
            check_use(end.since(Time::ZERO), &resources, observers.violations());
        }
        let Observed { violations, sometimes, overtaken, marks, choices } = observers.observed();
        let outcome = Outcome {
            ending,
            end,
            events: clock.events(),
            digest: clock.simulation().digest(),
            marks,
            violations,
            sometimes,
            overtaken,
            resources,
            accounts: cores.accounts(),
            packets,
            entries_visited: cores.entries_visited(),
            rnr,
            held: usage.most(),
            faults: tally,
            unfired,
            choices,
            causes: causes.map(Box::new),
            checkpoints: clock.simulation().checkpoints().to_vec(),
            told,
        };
        let programs = cores.into_programs();
        Ran { outcome, machines: libraries, programs, memories: memory.bytes }
    }

    /// The events in words that were requested.
    fn take_told(&mut self) -> Vec<EventText> {
        let mut words = Vec::new();
        self.cx.observers.trace(|path| words = path.take_words());
        event_text::join(self.cx.clock.simulation().journal(), words)
    }

    /// The causes, where they were requested.
    fn take_causes(&mut self) -> Option<Recorded> {
        let path = self.cx.observers.take_path()?;
        Some(path.recorded(self.network.resources().chain(self.cores.spenders())))
    }

    /// When the run ended: in a deadlock, when the last thread had nothing left to do.
    fn end_of(&self, ending: &Ending) -> Time {
        let last = self.cx.clock.last_effect();
        match ending {
            Ending::Deadlock(_) => last.max(self.cores.idle_since()),
            Ending::Finished
            | Ending::ClockStands { .. }
            | Ending::Protocol { .. }
            | Ending::Limit(_)
            | Ending::Fault(_)
            | Ending::Crashed { .. } => last,
        }
    }

    /// Laws that hold when every program has ended.
    fn check_end(&mut self) {
        let open = self.network.under_way()
            + self.memory.waiters.waiting()
            + self.gpus.as_ref().map_or(0, Gpus::under_way);
        let observers = &mut self.cx.observers;
        observers.run_ends(self.ports.waiting() + open as u64);
        self.memory.run_ends(observers);
        let violations = observers.violations();
        for (index, library) in (0_u32..).zip(&self.libraries) {
            let process = Process(index);
            let landings = self.memory.bytes.landings(process);
            system::leftovers(process, library.leftovers(), landings, violations);
        }
    }
}

/// No resource was busier than it can be.
fn check_use(elapsed: TimeDelta, resources: &[Used], violations: &mut Vec<Violation>) {
    for Used { name, servers, stats, .. } in resources {
        let most = elapsed * u64::from(*servers);
        violations.extend(system::utilisation(name, stats.busy, most));
    }
}

/// Memory use of the run, where it has a limit.
impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Payload was stored: if much was since the last look, that is looked at now.
    #[inline]
    pub(super) fn stored(&mut self) {
        if self.memory.bytes.is_to_be_looked_at() {
            self.look();
        }
    }

    /// Looks between two looks; the run ends with this event where it holds too much.
    #[cold]
    fn look(&mut self) {
        let limit = self.weigh();
        self.pause_next();
        if let Some(limit) = limit {
            self.cx.end(Ending::Limit(limit));
        }
    }

    /// A run that has ended well held no more than it may, or has not.
    fn look_at_the_end(&mut self, ending: Ending) -> Ending {
        let last = ending == Ending::Finished && self.usage.is_limited();
        let limit = if last { self.weigh() } else { None };
        limit.map_or(ending, Ending::Limit)
    }

    /// Looks at what the run holds, and says when to look again; the limit, if it is passed.
    #[cold]
    fn weigh(&mut self) -> Option<LimitReached> {
        let (held, events) = (self.holdings(), self.cx.clock.events());
        let (room, limit) = self.usage.look(held, self.memory.bytes.payload(), events);
        self.memory.bytes.look_after(room);
        limit
    }

    /// Memory use of the run, and how many places were visited to count it.
    fn holdings(&self) -> (MemoryUse, u64) {
        let mut held = MemoryUse::at_start(self.libraries.len() as u64, self.cores.count() as u64);
        let (channels, messages) = self.network.sizes();
        held.add(Kind::Connection, channels as u64);
        held.add(Kind::Event, self.cx.clock.pending() as u64);
        held.add(Kind::Message, messages as u64);
        for library in &self.libraries {
            let keeps = library.keeps();
            held.add(Kind::Request, keeps.requests as u64);
            held.add(Kind::QueueEntry, keeps.entries as u64);
        }
        self.cx.observers.held(&mut held);
        let (bytes, buffers) = self.payload();
        held.add(Kind::Payload, bytes);
        (held, self.libraries.len() as u64 + buffers)
    }

    /// The bytes of all buffers and of what is under way, and how many buffers these are.
    fn payload(&self) -> (u64, u64) {
        if self.memory.bytes.payload() == Payload::Phantom {
            return (0, 0);
        }
        let (bytes, buffers) = self.memory.bytes.held();
        let parcels = self.network.contents().filter_map(|content| content.parcel.as_ref());
        let (under_way, parcels) = (parcels.clone().map(Parcel::len).sum::<u64>(), parcels.count());
        (bytes + under_way, buffers + parcels as u64)
    }
}

impl<M: Machine, P: Program<M>> std::fmt::Debug for Timed<M, P> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Timed")
            .field("now", &self.cx.now())
            .field("threads", &self.cores.count())
            .finish_non_exhaustive()
    }
}
