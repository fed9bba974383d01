//! What every part of a timed run uses: the clock, the threads and their places, prices, observers.

use std::ops::Range;

use super::costs::Costs;
use super::event::{Event, Phase};
use super::observers::Observers;
use super::setup::Planted;
use crate::outcome::Ending;
use engine::{Simulation, SourceId, Tag};
use hardware::core::Place;
use hardware::fabric::{FabricEvent, ResourceId, Schedule};
use hardware::gpu::{Agenda, GpuEvent};
use protocols::contract::{Process, ProtocolError, Thread};
use units::Time;

/// State that every part uses; each part has only its own beside it.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) clock: Clock,
    pub(super) layout: Layout,
    pub(super) costs: Costs,
    pub(super) observers: Observers,
    pub(super) planted: Option<Planted>,
    /// Whether memory is read ahead: see `Timed::prefetch`.
    pub(super) prefetches: bool,
    /// How the run ends after the present event, if it does.
    ending: Option<Ending>,
}

/// The clock and the calendar of events.
#[derive(Debug)]
pub(super) struct Clock {
    simulation: Simulation<Event>,
    /// Sources of events: those of resources come first, then those of threads.
    first_source: u32,
    threads: u32,
    /// When the last event happened that was no lock's own: those may be left out.
    last_effect: Time,
}

/// Which threads are whose, and where each process has its buffers.
#[derive(Debug)]
pub(super) struct Layout {
    /// The first thread of each process, and their number at the end.
    first_thread: Vec<u32>,
    /// The place of the first thread of each process: its HCA's buffers lie there.
    homes: Vec<Place>,
}

/// The source of events of GPUs: after those of all threads.
const GPU: u32 = u32::MAX;

impl Context {
    pub(super) const fn new(
        clock: Clock,
        layout: Layout,
        costs: Costs,
        observers: Observers,
        planted: Option<Planted>,
    ) -> Self {
        Self { clock, layout, costs, observers, planted, prefetches: false, ending: None }
    }

    #[inline]
    pub(super) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Thread `thread` is the source of an event.
    #[inline]
    pub(super) fn schedule(&mut self, at: Time, thread: u32, phase: Phase, event: Event) {
        self.clock.schedule(at, thread, phase, event);
    }

    /// A process is the source of an event: by its first thread.
    #[inline]
    pub(super) fn schedule_of(&mut self, at: Time, process: Process, phase: Phase, event: Event) {
        let thread = self.layout.first_of(process);
        self.clock.schedule(at, thread, phase, event);
    }

    /// The run ends after the present event, unless it already does for another reason.
    pub(super) fn end(&mut self, ending: Ending) {
        self.ending.get_or_insert(ending);
    }

    /// The library of a process has refused an input, in a call that stands in this line.
    pub(super) fn refuse(&mut self, process: Process, line: Option<u32>, error: ProtocolError) {
        self.end(Ending::Protocol { process, line, error });
    }

    #[inline]
    pub(super) const fn ends(&self) -> bool {
        self.ending.is_some()
    }

    #[cold]
    pub(super) fn take_ending(&mut self) -> Ending {
        self.ending.take().expect("asked only after a failure")
    }
}

impl Clock {
    pub(super) const fn new(
        simulation: Simulation<Event>,
        first_source: u32,
        threads: u32,
    ) -> Self {
        Self { simulation, first_source, threads, last_effect: Time::ZERO }
    }

    #[inline]
    pub(super) fn now(&self) -> Time {
        self.simulation.now()
    }

    /// The simulation with its limits, digest and journal, which advances.
    #[inline]
    pub(super) const fn simulation(&mut self) -> &mut Simulation<Event> {
        &mut self.simulation
    }

    pub(super) fn events(&self) -> u64 {
        self.simulation.events()
    }

    pub(super) fn pending(&self) -> usize {
        self.simulation.pending()
    }

    /// The number of the first source of a thread.
    pub(super) const fn first_source(&self) -> u32 {
        self.first_source
    }

    /// The present event is part of the run: the run ends no earlier.
    #[inline]
    pub(super) fn has_effect(&mut self) {
        self.last_effect = self.simulation.now();
    }

    pub(super) const fn last_effect(&self) -> Time {
        self.last_effect
    }

    #[inline]
    fn schedule(&mut self, at: Time, thread: u32, phase: Phase, event: Event) {
        let source = self.first_source + thread;
        let tag = Tag { resource: source, phase: phase as u8 };
        self.simulation.schedule(at, SourceId(source), tag, event);
    }

    /// Lock `lock` is the source: locks come after all threads.
    pub(super) fn schedule_lock(&mut self, at: Time, lock: u32, event: Event) {
        self.schedule(at, self.threads + lock, Phase::Lock, event);
    }

    /// The fault plan is the source: after all resources and threads.
    pub(super) fn schedule_fault(&mut self, at: Time, event: Event) {
        self.schedule(at, self.threads, Phase::Fault, event);
    }

    /// The calendar, as the fabric and the GPUs know it.
    pub(super) const fn of_devices(&mut self) -> DeviceCalendar<'_> {
        DeviceCalendar(&mut self.simulation)
    }
}

impl Layout {
    /// The threads of processes in order, and the place of each thread.
    pub(super) fn new(threads: &[u16], places: &[Place]) -> Self {
        let mut first_thread = vec![0];
        for (index, count) in threads.iter().enumerate() {
            first_thread.push(first_thread[index] + u32::from(*count));
        }
        let homes = (0..threads.len()).map(|process| places[first_thread[process] as usize]);
        let homes = homes.collect();
        Self { first_thread, homes }
    }

    pub(super) const fn processes(&self) -> usize {
        self.homes.len()
    }

    pub(super) fn threads(&self) -> u32 {
        self.first_thread[self.processes()]
    }

    /// Where a process's HCA buffers lie: the place of its first thread.
    #[inline]
    pub(super) fn home(&self, process: Process) -> Place {
        self.homes[process.0 as usize]
    }

    pub(super) fn homes(&self) -> &[Place] {
        &self.homes
    }

    #[inline]
    pub(super) fn node(&self, process: Process) -> u32 {
        self.home(process).node
    }

    /// The first thread of a process.
    #[inline]
    pub(super) fn first_of(&self, process: Process) -> u32 {
        self.first_thread[process.0 as usize]
    }

    #[inline]
    pub(super) fn thread_of(&self, process: Process, thread: Thread) -> u32 {
        self.first_of(process) + u32::from(thread.0)
    }

    /// The threads of a process, by their numbers in the job.
    #[inline]
    pub(super) fn threads_of(&self, process: Process) -> Range<u32> {
        let process = process.0 as usize;
        self.first_thread[process]..self.first_thread[process + 1]
    }
}

/// Lets the fabric and the GPUs schedule their events.
pub(super) struct DeviceCalendar<'a>(&'a mut Simulation<Event>);

impl Schedule for DeviceCalendar<'_> {
    fn at(&mut self, time: Time, resource: ResourceId, event: FabricEvent) {
        let tag = Tag { resource: resource.0, phase: Phase::Wire as u8 };
        self.0.schedule(time, SourceId(resource.0), tag, Event::Fabric(event));
    }
}

impl Agenda for DeviceCalendar<'_> {
    fn gpu(&mut self, time: Time, event: GpuEvent) {
        let tag = Tag { resource: GPU, phase: Phase::Device as u8 };
        self.0.schedule(time, SourceId(GPU), tag, Event::Gpu(event));
    }
}
