//! The observers of a run: monitors, the record for a replay, marks, and the causes of moments.
//!
//! ```text
//!   part ─▶ Observers ─┬▶ monitors   laws that every run must keep
//!                      ├▶ record     choices, for a replay in the untimed runtime
//!                      └▶ path      causes of moments, events in words
//! ```
//!
//! Nothing of the run depends on them: what they keep is read when the run is over.

pub(super) mod critical_path;

use crate::account::Part;
use crate::memory::Memories;
use crate::memory_use::{Kind, MemoryUse};
use crate::monitors::buffers::{Buffers, Lends, Statement};
use crate::monitors::{Moment, Monitor, Monitors, Sometimes, Violation, system};
use crate::outcome::Mark;
use crate::untimed::Choice;
use critical_path::CriticalPath;
use mpi::observation::Observation;
use mpi::rma::access::Touch;
use protocols::contract::{Action, CallSite, Process, Region, Thread};
use protocols::uses::Lent;
use units::{Time, TimeDelta};

/// All that watch a run.
#[derive(Debug)]
pub(super) struct Observers {
    monitors: Monitors,
    buffers: Buffers,
    violations: Vec<Violation>,
    causality: system::Causality,
    marks: Vec<Mark>,
    /// `None` where choices are not recorded.
    choices: Option<Vec<Choice>>,
    /// Record of causes, where it is wanted.
    path: Option<Box<CriticalPath>>,
}

/// Results of the observers at the end of a run.
#[derive(Debug)]
pub(super) struct Observed {
    pub(super) violations: Vec<Violation>,
    pub(super) sometimes: Sometimes,
    pub(super) overtaken: u32,
    pub(super) marks: Vec<Mark>,
    pub(super) choices: Vec<Choice>,
}

impl Observers {
    pub(super) fn new(processes: usize, record: bool, ready_sends: bool) -> Self {
        let mut monitors = Monitors::new(processes);
        if ready_sends {
            monitors.expect_ready_sends();
        }
        Self {
            monitors,
            buffers: Buffers::new(processes),
            violations: Vec::new(),
            causality: system::Causality::default(),
            // Most programs mark their start and their end.
            marks: Vec::with_capacity(2 * processes),
            choices: record.then(Vec::new),
            path: None,
        }
    }

    /// Causes are noted from now on.
    pub(super) fn keep_causes(&mut self, path: Option<Box<CriticalPath>>) {
        self.path = path;
    }

    /// The clock has advanced.
    #[inline]
    pub(super) fn advances(&mut self, now: Time) {
        if let Some(violation) = self.causality.advance(now) {
            self.violations.push(violation);
        }
    }

    /// Keeps a choice, where choices are recorded.
    #[inline]
    pub(super) fn record(&mut self, choice: impl FnOnce() -> Choice) {
        if let Some(choices) = &mut self.choices {
            choices.push(choice());
        }
    }

    /// Notes causes, where they are kept.
    #[inline]
    pub(super) fn trace(&mut self, note: impl FnOnce(&mut CriticalPath)) {
        if let Some(path) = &mut self.path {
            note(path);
        }
    }

    /// Whether causes are noted.
    #[inline]
    pub(super) const fn traces(&self) -> bool {
        self.path.is_some()
    }

    pub(super) fn path(&self) -> Option<&CriticalPath> {
        self.path.as_deref()
    }

    pub(super) fn take_path(&mut self) -> Option<Box<CriticalPath>> {
        self.path.take()
    }

    /// A thread enters the library at `at`, and is inside once its way in is paid for. A slice of polling
    /// that finds nothing is part of a wait, and is none of these.
    #[inline]
    pub(super) fn enters(
        &mut self,
        thread: u32,
        is_call: bool,
        part: Part,
        (at, inside): (Time, Time),
    ) {
        self.trace(|path| {
            if is_call {
                path.calls(thread, at);
            }
            path.spent(thread, part.into(), at, inside);
        });
    }

    /// A core or an HCA reads a buffer of `process`.
    #[inline]
    pub(super) fn reads(&mut self, process: Process, region: Region) {
        self.buffers.reads(process, region, &mut self.violations);
    }

    /// A core or an HCA writes a buffer of `process`.
    #[inline]
    pub(super) fn writes(&mut self, process: Process, region: Region) {
        self.buffers.writes(process, region, &mut self.violations);
    }

    /// An HCA moves what `process` requested by `token`: out of a buffer, into another one.
    pub(super) fn moves(
        &mut self,
        choice: impl FnOnce() -> Choice,
        from: Option<(Process, Region)>,
        into: Option<(Process, Region)>,
    ) {
        self.record(choice);
        if let Some((process, region)) = from {
            self.reads(process, region);
        }
        if let Some((process, region)) = into {
            self.writes(process, region);
        }
    }

    /// The HCA of `owner` updates an element that `origin` requested.
    pub(super) fn updates(&mut self, origin: Process, owner: Process, region: Region) {
        self.writes(owner, region);
        self.monitors.updated(origin, owner, region);
    }

    /// The program of a process loads or stores by itself; `place` is where that stands in it.
    #[inline]
    pub(super) fn accesses(
        &mut self,
        process: Process,
        region: Region,
        touch: Touch,
        place: impl FnOnce() -> Option<u32>,
    ) {
        self.monitors.touched(process, region, touch, place, &mut self.violations);
    }

    /// Notes the elements that a call states, before the library has it.
    pub(super) fn states<C: Lends>(&mut self, call: &C, place: impl FnOnce() -> Option<u32>) {
        if let Some(elements) = call.elements() {
            self.buffers.stated(call.lends(), Statement::new(elements, place()));
        }
    }

    /// The library has accepted a call: the buffers that it lends, with the actions that it gave.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "most calls lend one buffer or none")]
    pub(super) fn called<P, R>(
        &mut self,
        memories: &mut Memories,
        process: Process,
        [one, other]: [Option<Lent>; 2],
        list: &[Action<P, R>],
    ) {
        self.buffers.called(memories, process, one, list);
        if other.is_some() {
            self.called_with(memories, process, other, list);
        }
    }

    #[inline(never)]
    fn called_with<P, R>(
        &mut self,
        memories: &mut Memories,
        process: Process,
        lent: Option<Lent>,
        list: &[Action<P, R>],
    ) {
        self.buffers.called(memories, process, lent, list);
    }

    /// A fact that a library states inside a call, at `at`; `place` is where the call stands.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it only hands on")]
    pub(super) fn observes(
        &mut self,
        process: Process,
        fact: &Observation,
        at: Time,
        place: impl Fn() -> Option<u32>,
    ) {
        let moment = || Moment { at: Some(at), line: place() };
        self.monitors.told(process, fact, moment, &mut self.violations);
    }

    /// How many violations were found so far.
    #[inline]
    pub(super) const fn violated(&self) -> usize {
        self.violations.len()
    }

    /// The violations from number `first` on were found while a process was in this call.
    #[cold]
    pub(super) fn happened_in(&mut self, first: usize, Process(process): Process, site: &CallSite) {
        for one in &mut self.violations[first..] {
            one.detail = format!("{} (process {process} is in {})", one.detail, site.in_words());
        }
    }

    /// A fact that a program states outside every call.
    pub(super) fn observes_program(&mut self, process: Process, fact: &Observation) {
        self.monitors.observe(process, fact, &mut self.violations);
    }

    /// A request of a process is complete: what has ended with it, and its buffer.
    #[inline]
    pub(super) fn completes(
        &mut self,
        memories: &mut Memories,
        process: Process,
        buffer: Option<Region>,
        fact: Option<&Observation>,
    ) {
        let found = &mut self.violations;
        if let Some(fact) = fact {
            self.monitors.observe(process, fact, found);
        }
        self.buffers.completed(memories, process, fact, buffer, found);
    }

    /// A program has marked a moment.
    pub(super) fn marks(&mut self, thread: u32, mark: Mark) {
        let Mark { process, thread: inner, number, at, .. } = mark;
        self.trace(|path| path.mark(thread, (process, inner), number, at));
        self.marks.push(mark);
    }

    /// The program of a thread is over.
    pub(super) fn program_ends(
        &mut self,
        (process, thread): (Process, Thread),
        lived: TimeDelta,
        accounted: TimeDelta,
    ) {
        self.violations.extend(system::account(process, thread, lived, accounted));
    }

    /// Every violation so far, for laws that parts check by themselves.
    pub(super) const fn violations(&mut self) -> &mut Vec<Violation> {
        &mut self.violations
    }

    /// Every program has ended; so many packets were never taken.
    pub(super) fn run_ends(&mut self, undelivered: u64) {
        self.monitors.end(undelivered, &mut self.violations);
    }

    /// Which locks of memory a process that died kept from another one, in words.
    pub(super) fn locks_between(&self, victim: Process, waiter: Process) -> Vec<String> {
        self.monitors.mutexes.standing_between(victim.0, waiter.0)
    }

    /// Reads a word of what the next facts of a process will change: see `Timed::prefetch`.
    pub(super) fn prefetch(&self, process: Process, sender: Option<Process>) -> u64 {
        let matching = &self.monitors.matching;
        matching.touch(process, sender)
            ^ self.monitors.conservation.open_sends(process)
            ^ self.buffers.touch(process)
    }

    /// Adds the objects that they keep.
    pub(super) fn held(&self, held: &mut MemoryUse) {
        held.add(Kind::Mark, self.marks.len() as u64);
        if let Some(path) = &self.path {
            let (log, kept) = path.sizes();
            held.add(Kind::Log, log as u64);
            held.add(Kind::Kept, kept as u64);
        }
    }

    /// Their results, with the marks in order.
    pub(super) fn observed(self) -> Observed {
        Observed {
            sometimes: self.buffers.sometimes.plus(self.monitors.sometimes()),
            overtaken: self.monitors.mutexes.overtaken,
            violations: self.violations,
            marks: in_order(self.marks),
            choices: self.choices.unwrap_or_default(),
        }
    }
}

/// Marks in the order of their times: threads that run ahead make them earlier.
fn in_order(mut marks: Vec<Mark>) -> Vec<Mark> {
    // In place: a large job has many.
    marks.sort_unstable_by_key(|mark| (mark.at, mark.process, mark.thread, mark.number));
    marks
}
