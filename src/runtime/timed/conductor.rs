//! The conductor of a timed run: it takes events from the calendar and gives them to the parts.

use super::context::{Clock, Context, Layout};
use super::cores::Cores;
use super::cores::actor::Actor;
use super::costs::Costs;
use super::event::{Happening, Phase};
use super::faults::Faults;
use super::gpus::Devices;
use super::livelock::Watch;
use super::locks::Locks;
use super::memory::Memory;
use super::network::Network;
use super::observers::Observers;
use super::ports::{Entries, Poller, Ports, Routes};
use super::setup::Setup;
use super::touch;
use super::usage::MemoryUse;
use crate::deadlock::{self, Standing};
use crate::monitors::buffers::Lends;
use crate::monitors::{Monitor, system};
use crate::outcome::{Ending, Mark, Outcome, Ran, Tally, Used};
use crate::untimed::Choice;
use engine::{LimitReached, Simulation, SourceId, Tag};
use hardware::cluster::Cluster;
use hardware::core::{IssueSlots, Place};
use hardware::fabric::{ResourceId, Service};
use mpi::observation::Observation;
use protocols::contract::{Machine, Process, Program, ProtocolError, Region, Thread};
use units::{Time, TimeDelta};
/// A job in motion.
pub struct Timed<M: Machine, P: Program<M>> {
    pub(super) cx: Context,
    pub(super) libraries: Vec<M>,
    pub(super) cores: Cores<M, P>,
    pub(super) locks: Locks,
    pub(super) ports: Ports,
    pub(super) network: Network<M::Packet>,
    pub(super) memory: Memory,
    /// `None` where no program uses a GPU, or the machine has none.
    pub(super) gpus: Option<Devices>,
    /// What goes wrong, where a plan says so.
    pub(super) faults: Option<Box<Faults>>,
    pub(super) livelock: Watch,
    pub(super) usage: MemoryUse,
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
        let mut observers = Observers::new(processes, setup.record);
        if programs.iter().any(P::sends_ready) {
            observers.monitors.expect_ready_sends();
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
        let livelock = Watch::new(first_thread[processes] as usize, faults.is_some());
        let touches = touch::pays(processes, first_thread[processes] as usize);
        let clock = Clock {
            simulation: Simulation::new(setup.options),
            first_source: u32::try_from(resources).expect("fewer than 2^32 resources"),
            happened: Time::ZERO,
        };
        let mut timed = Self {
            cx: Context {
                clock,
                layout: Layout { first_thread },
                costs,
                observers,
                failed: None,
                exhausted: false,
                planted: setup.planted,
                touches,
            },
            libraries: machines,
            cores: Cores::new(actors, slots),
            locks: Locks::new(setup.lock, step_by_step),
            ports: Ports { pollers, entries: Entries::default() },
            network: Network::new(cluster, processes, lanes, nodes),
            memory: Memory::new(processes, setup.payload, setup.kernel, setup.counter_lag),
            gpus: devices,
            faults,
            livelock,
            usage: MemoryUse::default(),
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
        self.memory.bytes.store(process, region, bytes);
    }

    /// The threads of a process begin, except those that its first one will create.
    pub(super) fn begin(&mut self, process: Process) {
        let threads = self.threads_of(process);
        let forks = self.cores.actors[threads.start as usize].program.forks();
        let born = if forks { 1 } else { threads.len() };
        for thread in threads.take(born) {
            let start = Time::ZERO + self.cores.actors[thread as usize].placement.start;
            self.schedule(start, thread, Phase::Start, Happening::Begin(thread));
        }
    }

    /// Runs until nothing is left to happen, or a limit is reached.
    pub fn run(mut self) -> Ran<M, P> {
        let ending = loop {
            let Some(event) = self.cx.clock.simulation.next_event() else {
                if self.cx.clock.simulation.pauses() {
                    let Some(limit) = self.pause() else { continue };
                    break Ending::Limit(limit);
                }
                break match self.cx.clock.simulation.limit_reached() {
                    Some(limit) => Ending::Limit(limit),
                    None => self.quiet(),
                };
            };
            if let Some(violation) =
                self.cx.observers.causality.advance(self.cx.clock.simulation.now())
            {
                self.cx.observers.violations.push(violation);
            }
            self.happen(event);
            if !self.cores.ahead.is_empty() {
                self.run_ahead();
            }
            if self.locks.any_touched() {
                self.arm_locks();
            }
            if self.cx.failed.is_some() {
                break self.refused();
            }
            if self.cx.exhausted {
                break self.quiet();
            }
        };
        let ending = self.look_at_the_end(ending);
        self.finish(ending)
    }

    /// What is looked at now and then; the limit, where the run holds too much.
    #[cold]
    pub(super) fn pause(&mut self) -> Option<LimitReached> {
        let events = self.cx.clock.simulation.events();
        if events >= self.livelock.next {
            self.look_at_watch();
        }
        let limit = if events >= self.usage.next { self.weigh() } else { None };
        self.pause_next();
        limit
    }

    pub(super) fn pause_next(&mut self) {
        self.cx.clock.simulation.pause_at(self.usage.next.min(self.livelock.next));
    }

    #[cold]
    pub(super) fn refused(&mut self) -> Ending {
        self.cx.failed.take().expect("asked only after a failure")
    }

    pub(super) fn happen(&mut self, event: Happening) {
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
            Happening::Fabric(event) => self.network.cluster.fabric.is_stale(event),
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
            self.cx.clock.happened = self.cx.clock.simulation.now();
        }
        if self.cx.observers.trail.is_some() {
            self.note_event(event);
        }
        match event {
            Happening::Fabric(event) => self.fabric_event(event),
            Happening::Depart(flight) => self.depart(flight),
            Happening::Held(flight) => self.held(flight),
            Happening::Neighbour(flight) => self.arrive(flight),
            Happening::Completed(flight) => self.flight_completed(flight),
            Happening::Begin(thread) => {
                let now = self.cx.clock.simulation.now();
                self.cores.actors[thread as usize].born = now;
                self.advance_program(thread, None, now);
            }
            Happening::ListEnd(thread) => self.list_end(thread, self.cx.clock.simulation.now()),
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
    pub(super) fn quiet(&self) -> Ending {
        if let Some(crashed) = self.crashed() {
            return crashed;
        }
        if let Some(asked) = self.asked_for_ever() {
            return asked;
        }
        debug_assert_eq!(self.memory.sights.len(), 0, "what somebody will see is still to happen");
        if self.cores.actors.iter().all(Actor::ended) {
            return Ending::Finished;
        }
        let standings: Vec<Standing> = (0_u32..)
            .zip(&self.cores.actors)
            .map(|(index, actor)| self.standing(index, actor))
            .collect();
        let found = deadlock::diagnose(&standings);
        Ending::Deadlock(found.expect("nothing can happen any more, so nobody can be answered"))
    }

    pub(super) fn standing(&self, index: u32, actor: &Actor<M, P>) -> Standing {
        let (process, thread) = self.names(index);
        let waits = self.libraries[process.0 as usize].waits(thread);
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

    pub(super) fn finish(mut self, ending: Ending) -> Ran<M, P> {
        self.settle_idle(self.cx.clock.happened);
        let end = self.end_of(&ending);
        let elapsed = end.since(Time::ZERO);
        let resources = self.used();
        if ending == Ending::Finished {
            self.check_end(elapsed, &resources);
        }
        let (told, unfired) = (self.take_told(), self.unfired(end));
        let causes = self.take_trail().map(Box::new);
        let accounts = self.cores.actors.iter().map(|actor| actor.account).collect();
        let outcome = Outcome {
            ending,
            end,
            events: self.cx.clock.simulation.events(),
            digest: self.cx.clock.simulation.digest(),
            marks: in_order(self.cx.observers.marks),
            violations: self.cx.observers.violations,
            sometimes: self
                .cx
                .observers
                .buffers
                .sometimes
                .plus(self.cx.observers.monitors.sometimes()),
            overtaken: self.cx.observers.monitors.mutexes.overtaken,
            resources,
            accounts,
            packets: self.network.packets,
            entries_visited: self.cores.entries_visited,
            rnr: self.network.rnr,
            held: self.usage.most,
            faults: self.faults.as_ref().map_or_else(Tally::default, |faults| faults.tally),
            unfired,
            choices: self.cx.observers.choices.unwrap_or_default(),
            causes,
            checkpoints: self.cx.clock.simulation.checkpoints().to_vec(),
            told,
        };
        // Collected in place, they would keep the room of the actors, many times theirs.
        let mut programs = Vec::with_capacity(self.cores.actors.len());
        programs.extend(self.cores.actors.into_iter().map(|actor| actor.program));
        Ran { outcome, machines: self.libraries, programs, memories: self.memory.bytes }
    }

    pub(super) fn used(&self) -> Vec<Used> {
        let specs = self.network.cluster.fabric.resources().iter();
        let used = (0..).zip(specs).map(|(index, spec)| Used {
            name: spec.name.clone(),
            kind: spec.kind,
            servers: match spec.service {
                Service::Shared { .. } => 1,
                Service::Servers { count, .. } => count,
            },
            stats: self.network.cluster.fabric.stats(ResourceId(index)),
        });
        used.collect()
    }

    /// When the run ended: in a deadlock, when the last thread had nothing left to do.
    pub(super) fn end_of(&self, ending: &Ending) -> Time {
        let now = self.cx.clock.happened;
        match ending {
            Ending::Deadlock(_) => {
                self.cores.actors.iter().map(|actor| actor.since).fold(now, Time::max)
            }
            Ending::Finished
            | Ending::ClockStands { .. }
            | Ending::Protocol { .. }
            | Ending::Limit(_)
            | Ending::Fault(_)
            | Ending::Crashed { .. } => now,
        }
    }

    /// Laws that hold when every program has ended.
    pub(super) fn check_end(&mut self, elapsed: TimeDelta, resources: &[Used]) {
        let queued: u64 = self.ports.pollers.iter().map(Poller::waiting).sum();
        let open = self.network.flights.len()
            + self.memory.waiters.len()
            + self.gpus.as_ref().map_or(0, Devices::under_way);
        let undelivered = queued + open as u64;
        self.cx.observers.monitors.end(undelivered, &mut self.cx.observers.violations);
        self.memory.counters.end(&mut self.cx.observers.violations);
        for (index, machine) in (0_u32..).zip(&self.libraries) {
            let process = Process(index);
            let landings = self.memory.bytes.landings(process);
            system::leftovers(
                process,
                machine.leftovers(),
                landings,
                &mut self.cx.observers.violations,
            );
        }
        for Used { name, servers, stats, .. } in resources {
            let most = elapsed * u64::from(*servers);
            self.cx.observers.violations.extend(system::utilisation(name, stats.busy, most));
        }
    }

    pub(super) fn names(&self, thread: u32) -> (Process, Thread) {
        let actor = &self.cores.actors[thread as usize];
        (actor.process, actor.inner)
    }

    pub(super) fn thread_of(&self, process: Process, thread: Thread) -> u32 {
        self.cx.layout.first_thread[process.0 as usize] + u32::from(thread.0)
    }

    /// The threads of a process, by their numbers in the job.
    pub(super) fn threads_of(&self, process: Process) -> std::ops::Range<u32> {
        let process = process.0 as usize;
        self.cx.layout.first_thread[process]..self.cx.layout.first_thread[process + 1]
    }

    /// Thread `thread` is the source of an event.
    pub(super) fn schedule(&mut self, at: Time, thread: u32, phase: Phase, event: Happening) {
        let source = self.cx.clock.first_source + thread;
        let tag = Tag { resource: source, phase: phase as u8 };
        self.cx.clock.simulation.schedule(at, SourceId(source), tag, event);
    }

    pub(super) fn record(&mut self, choice: impl FnOnce() -> Choice) {
        if let Some(choices) = &mut self.cx.observers.choices {
            choices.push(choice());
        }
    }

    /// A request of a process is complete: its monitors hear what has ended, and of its buffer.
    #[inline]
    pub(super) fn completes(
        &mut self,
        process: Process,
        buffer: Option<Region>,
        fact: Option<&Observation>,
    ) {
        let found = &mut self.cx.observers.violations;
        if let Some(fact) = fact {
            self.cx.observers.monitors.observe(process, fact, found);
        }
        self.cx.observers.buffers.completed(&mut self.memory.bytes, process, fact, buffer, found);
    }

    pub(super) fn fail(&mut self, process: Process, error: ProtocolError) {
        self.cx.failed.get_or_insert(Ending::Protocol { process, error });
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
            .field("now", &self.cx.clock.simulation.now())
            .field("threads", &self.cores.actors.len())
            .finish_non_exhaustive()
    }
}
