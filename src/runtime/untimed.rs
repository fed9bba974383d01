//! The untimed runtime: the same machines, programs and memories, but an adversary decides what
//! happens next.
//!
//! A [`World`] is a state; [`World::choices`] lists what may happen next, [`World::apply`] makes
//! it happen. Time, work and load do not exist here: core work takes no time and orders nothing.
//!
//! # Steps, and when each [`Choice`] is recorded by a timed run
//!
//! A list that `handle` returned is cut into steps by [`Cut`](super::rules::Cut): the first step belongs to the
//! choice that gave the input, every further one is an [`Choice::Act`] of its own.
//!
//! | choice | recorded when |
//! |---|---|
//! | [`Choice::Enter`] | `handle` gets `Input::Call`: at the grant, where the call needs the guard |
//! | [`Choice::Act`] | a step begins before `Release`, `Return`, `Resume`, `PeerCopy`, `Consult`, or a cut `Count` or `Copy` ([`Cut::before`](super::rules::Cut::before) is true): when that action takes effect; for `Resume` when `handle` gets `Input::Resume`, at the grant |
//! | [`Choice::TakePacket`] | `handle` gets `Input::Packet`, at the grant; the payload lands now |
//! | [`Choice::TakeDone`] | `handle` gets `Input::Done`, at the grant |
//! | [`Choice::Match`] | `handle_by_adapter` gets `Input::Packet` while no thread of the process is inside the library; all that it asks for is done at once |
//! | [`Choice::Conclude`] | the same of `Input::Done` |
//! | [`Choice::EndPass`] | `handle` gets `Input::Polled`, at the grant |
//! | [`Choice::Touch`] | a program loads from, stores into, or copies in a window: memory that others can reach |
//! | [`Choice::Move`] | the bytes of an RDMA operation move, from the memory as it is then; an atomic one changes its element |
//! | [`Choice::Finish`] | its completion enters the process's completion queue, with the old element of an atomic one |
//! | [`Choice::Wire`] | never: a timed run has packets below the messages that are recorded |
//!
//! Nothing else is recorded: not `Compute`, not the end of a program, not an empty poll, not the
//! wait for a guard, not `Poll` itself (its pass begins with the step that it ends), not the end
//! of a list (the guard is free again with the last step, at the latest when the next grant is
//! recorded).
//!
//! # What an adversary may do
//!
//! - Any thread may take its next step; which waiting thread gets a guard is the order of grants.
//! - A thread inside a call, with no work left, may take the head of any channel of its process,
//!   or the head of its completion queue. Inside a pass it may end the pass instead.
//! - RDMA operations move their bytes, and then complete, in any order among themselves and
//!   against packets.
//! - Packets of one (sender, receiver, via) arrive in order, each exactly once; nothing is lost.
//!   Below them packets may be, where a job asks for that: [`PacketFaults`].
//!   Immediate data of a write is one of them, and can be taken once the write's bytes have moved.

mod alone;
mod asking;
mod choice;
mod crash;
mod dependence;
mod facts;
mod lending;
mod memo;
mod observing;
mod packets;
mod same;
mod state;
pub mod states;
mod step;
mod turn;
mod wires;
mod words;

use std::collections::BTreeMap;

pub use super::crash::{Crash, CrashReport};
pub use choice::{Choice, Refusal};
pub(crate) use facts::Coverage;
use memo::Memo;
use state::{Instance, Operation, Port, Stage, Strand};
use turn::Notes;
use wires::Wires;
pub use wires::{Between, GaveUp, PacketFaults};

use std::ops::Deref;

use super::counters::Counters;
use super::deadlock::{self, Deadlock, Standing};
use super::fingerprint::Shared;
use super::memory::{Memories, Payload};
use super::monitors::buffers::{Buffers, Lends};
use super::monitors::windows::Windows;
use super::monitors::{Monitor, Monitors, Sometimes, Violation, system};
use super::rules::Fault;
use protocols::contract::{Action, Brought, Entry, Machine, Process, Program, Region, Thread, Via};

/// How far a world has come.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Outcome {
    /// Something may still happen.
    Running,
    /// Every program ended.
    Finished,
    /// Nothing may happen, and a program has not ended.
    Stuck,
    /// A protocol's defect stopped the run.
    Faulted(Fault),
}

/// A state of the whole job.
#[derive(Clone, Debug)]
pub struct World<M: Machine, P: Program<M>> {
    instances: Vec<Shared<Instance<M, P>>>,
    ports: Vec<Shared<Port<M>>>,
    memories: Memories,
    counters: Counters,
    fault: Option<Box<Fault>>,
    crash: Crash,
    /// Below the messages, where packets may be lost.
    wires: Option<Box<Wires<M>>>,
    /// Whether adapters match messages.
    adapters: bool,
    /// Whether a program sends in ready mode.
    sends_ready: bool,
    // What watches decides nothing: outside equality and hash.
    monitors: Shared<Monitors>,
    windows: Shared<Windows>,
    /// One for each process, which keeps the contents of the messages to it.
    buffers: Vec<Shared<Buffers>>,
    found: Vec<Violation>,
    /// Cache that makes a search faster and decides nothing either.
    memo: Memo<M>,
    notes: Notes<M>,
    /// Branches that were reached, where monitors and wires have handed that over.
    met: Coverage,
}

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// The start of a job: per process its library and the programs of its threads.
    pub fn new(processes: Vec<(M, Vec<P>)>, payload: Payload) -> Self {
        let count = processes.len();
        let mut programs = processes.iter().flat_map(|(_, programs)| programs);
        let sends_ready = programs.any(P::sends_ready);
        let instances = processes.into_iter().map(|(machine, programs)| {
            let threads = programs.into_iter().map(Strand::new).map(Shared::new).collect();
            let machine = Shared::new(machine);
            let mut instance = Instance { machine, threads, owners: Vec::new() };
            instance.begin();
            Shared::new(instance)
        });
        let mut world = Self {
            instances: instances.collect(),
            ports: vec![Shared::new(Port::new()); count],
            memories: Memories::new(count, payload),
            counters: Counters::default(),
            fault: None,
            crash: Crash::Never,
            wires: None,
            adapters: false,
            sends_ready,
            monitors: Shared::new(Monitors::new(count)),
            windows: Shared::default(),
            buffers: vec![Shared::new(Buffers::new(count)); count],
            found: Vec::new(),
            memo: Memo::none(),
            notes: Notes::none(),
            met: Coverage::default(),
        };
        for process in (0..).take(count) {
            world.settle(Process(process));
        }
        world
    }

    /// The same world, with adapters that take messages for processes that compute, or without.
    #[must_use]
    pub fn with_adapters(self, adapters: bool) -> Self {
        Self { adapters, ..self }
    }

    /// All that may happen next, in a fixed order; empty at the end of a run.
    pub fn choices(&self) -> Vec<Choice> {
        let mut choices = Vec::new();
        self.choices_into(&mut choices);
        choices
    }

    /// [`Self::choices`], appended to a buffer of the caller.
    pub fn choices_into(&self, choices: &mut Vec<Choice>) {
        if self.fault.is_some() || self.gave_up().is_some() {
            return;
        }
        let victim = self.crash.victim();
        for (process, (instance, port)) in (0u32..).zip(self.instances.iter().zip(&self.ports)) {
            choices_of_process(Process(process), instance, port, self.adapters, victim, choices);
        }
        if let Some(wires) = &self.wires {
            choices.extend(wires.moves().chain(wires.faults()));
        }
        self.crashes_into(choices);
    }

    /// How far the world has come.
    pub fn outcome(&self) -> Outcome {
        if let Some(fault) = &self.fault {
            Outcome::Faulted((**fault).clone())
        } else if self.choices().iter().any(|choice| !choice.is_fault()) {
            Outcome::Running
        } else if self.all_ended() {
            Outcome::Finished
        } else {
            Outcome::Stuck
        }
    }

    /// The fault that stopped the run.
    pub fn fault(&self) -> Option<&Fault> {
        self.fault.as_deref()
    }

    /// Whether every program has ended, but for those of a process that died.
    pub fn all_ended(&self) -> bool {
        self.strands().all(|(_, _, _, strand)| strand.is_over())
    }

    /// Violations that the monitors found so far.
    pub fn violations(&self) -> &[Violation] {
        &self.found
    }

    /// Violations that the monitors find at the end of a finished run.
    pub fn conclude(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        self.monitors.deref().clone().end(self.undelivered(), &mut found);
        self.counters.end(&mut found);
        for (process, instance) in (0u32..).zip(&self.instances) {
            let process = Process(process);
            let landings = self.memories.landings(process);
            system::leftovers(process, instance.machine.leftovers(), landings, &mut found);
        }
        found
    }

    /// How often the interesting branches were reached on the way here.
    pub fn sometimes(&self) -> Sometimes {
        let side_by_side = self.windows.side_by_side;
        let on_windows = Sometimes { side_by_side, ..Sometimes::default() };
        let watched = self.monitors.sometimes().plus(on_windows);
        self.met.all().plus(watched).plus(self.met_on_wires())
    }

    /// The same since it was requested last.
    pub fn take_sometimes(&mut self) -> Sometimes {
        self.hand_over();
        self.take_met().all()
    }

    /// The same in a world that keeps what libraries make of inputs.
    pub(crate) fn take_met(&mut self) -> Coverage {
        std::mem::take(&mut self.met)
    }

    /// Deadlock of the threads that can never go on; `None` where all still may.
    pub fn deadlock(&self) -> Option<Deadlock> {
        deadlock::diagnose(&self.standings())
    }

    fn standings(&self) -> Vec<Standing> {
        self.strands()
            .map(|(process, thread, instance, strand)| {
                let waits = match strand.stage {
                    Stage::Unborn | Stage::Joining => Some(deadlock::for_threads(process)),
                    Stage::Calls(_)
                    | Stage::Touches(_)
                    | Stage::Inside
                    | Stage::Ended
                    | Stage::Dead => {
                        instance.machine.waits(thread).filter(|_| strand.list.is_empty())
                    }
                };
                Standing {
                    process,
                    thread,
                    ended: strand.is_over(),
                    waits: waits.map(|waits| waits.located(|call| strand.program.line_of(call))),
                    position: strand.program.position(),
                    site: strand.program.call_site(),
                    begun: BTreeMap::new(),
                    since: None,
                }
            })
            .collect()
    }

    /// The library of a process.
    ///
    /// # Panics
    ///
    /// When there is no such process.
    pub fn machine(&self, process: Process) -> &M {
        &self.instances[process.0 as usize].machine
    }

    /// The program of a thread.
    ///
    /// # Panics
    ///
    /// When there is no such thread.
    pub fn program(&self, process: Process, thread: Thread) -> &P {
        &self.instances[process.0 as usize].threads[usize::from(thread.0)].program
    }

    /// The programs of all threads, process by process.
    pub fn programs(&self) -> impl Iterator<Item = &P> {
        self.strands().map(|(_, _, _, strand)| &strand.program)
    }

    /// All memories.
    pub fn memories(&self) -> &Memories {
        &self.memories
    }

    /// Puts bytes of the program's own into a buffer, before it is borrowed.
    pub fn store(&mut self, process: Process, region: Region, bytes: &[u8]) {
        self.memories.store(process, region, bytes);
    }

    /// Packets that no process has taken yet.
    pub fn undelivered(&self) -> u64 {
        let channels = self.ports.iter().flat_map(|port| &port.channels);
        channels.map(|channel| channel.packets.len() as u64).sum()
    }

    fn strands(
        &self,
    ) -> impl Iterator<Item = (Process, Thread, &Instance<M, P>, &Strand<M, P>)> + '_ {
        (0u32..).zip(&self.instances).flat_map(|(process, instance)| {
            let threads = (0u16..).zip(&instance.threads);
            threads.map(move |(thread, strand)| {
                (Process(process), Thread(thread), &**instance, &**strand)
            })
        })
    }
}

/// Adds what a process, its adapter and its operations may do next, where `victim` has died.
fn choices_of_process<M: Machine, P: Program<M>>(
    process: Process,
    instance: &Instance<M, P>,
    port: &Port<M>,
    adapters: bool,
    victim: Option<Process>,
    choices: &mut Vec<Choice>,
) {
    for (thread, strand) in (0u16..).zip(&instance.threads) {
        strand_choices(process, Thread(thread), instance, strand, port, choices);
    }
    if adapters {
        adapter_choices(process, instance, port, choices);
    }
    let free = |operation: &&Operation| !operation.waits() && !operation.is_cut_off(victim);
    choices.extend(port.operations.iter().filter(free).map(|operation| {
        let token = operation.token;
        if operation.moved {
            Choice::Finish { process, token }
        } else {
            Choice::Move { process, token }
        }
    }));
}

/// Adds the packets and completions that the adapter of a process may take.
fn adapter_choices<M: Machine, P: Program<M>>(
    process: Process,
    instance: &Instance<M, P>,
    port: &Port<M>,
    choices: &mut Vec<Choice>,
) {
    if !instance.threads.iter().all(|strand| strand.is_outside()) {
        return;
    }
    let takes = |brought| instance.machine.adapter_takes(brought);
    for channel in &port.channels {
        let (from, packet) = (channel.from, channel.packets.front());
        let brought = packet.map(|one| Brought::Packet { from, packet: &one.packet });
        let open = channel.is_open() && channel.via == Via::Hca;
        if open && brought.is_some_and(takes) {
            choices.push(Choice::Match { process, from });
        }
    }
    let ended = port.completions.iter().map(|&(_, token)| token);
    let ended = ended.filter(|&token| takes(Brought::Done(token)));
    choices.extend(ended.map(|token| Choice::Conclude { process, token }));
}

fn strand_choices<M: Machine, P: Program<M>>(
    process: Process,
    thread: Thread,
    instance: &Instance<M, P>,
    strand: &Strand<M, P>,
    port: &Port<M>,
    choices: &mut Vec<Choice>,
) {
    if let Some(next) = strand.list.last() {
        let resumes = matches!(next, Action::Resume(_));
        if !resumes || instance.grants(thread, &Entry::Resume) {
            choices.push(Choice::Act { process, thread });
        }
        return;
    }
    match &strand.stage {
        Stage::Calls(call) if instance.grants(thread, &Entry::Call(call)) => {
            choices.push(Choice::Enter { process, thread });
        }
        Stage::Touches(_) => choices.push(Choice::Touch { process, thread }),
        Stage::Inside => {
            // Mostly nothing is there, and the polls of the library need not be computed.
            if !port.channels.is_empty() || !port.completions.is_empty() {
                arrivals(process, thread, instance, port, choices);
            }
            if strand.pass.is_some() && instance.grants(thread, &Entry::Polled) {
                choices.push(Choice::EndPass { process, thread });
            }
        }
        Stage::Calls(_) | Stage::Unborn | Stage::Joining | Stage::Ended | Stage::Dead => {}
    }
}

/// Adds the packets and completions that a polling thread may take.
fn arrivals<M: Machine, P: Program<M>>(
    process: Process,
    thread: Thread,
    instance: &Instance<M, P>,
    port: &Port<M>,
    choices: &mut Vec<Choice>,
) {
    let lanes = instance.machine.reaches(thread);
    let packets = |lane| instance.grants(thread, &Entry::Packet(lane));
    let polled = port.channels.iter().filter(|channel| channel.is_open());
    let polled = polled.filter(|channel| lanes.contains(channel.from.own));
    let polled = polled.filter(|channel| packets(channel.from.own));
    choices.extend(polled.map(|channel| {
        let (from, via) = (channel.from, channel.via);
        Choice::TakePacket { process, thread, from, via }
    }));
    let done = port.lanes_done().filter(|lane| lanes.contains(*lane));
    let done = done.filter(|lane| instance.grants(thread, &Entry::Done(*lane)));
    choices.extend(done.map(|lane| Choice::TakeDone { process, thread, lane }));
}

#[cfg(test)]
mod tests;
