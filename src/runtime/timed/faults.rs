//! Faults in motion: when each begins and ends, and what it changes.
//!
//! ```text
//!   begin ─▶ rate, latency, stall: the fabric's resources are altered      ─▶ end: as built again
//!         ─▶ link down, loss, duplication, reordering: `reliable.rs`       ─▶ end
//!         ─▶ credits are gone, a process dies                              (for ever)
//! ```
//!
//! A run without a plan has none of this: a test of a pointer where a packet leaves. Stragglers and
//! noise of a plan are known before the run and lie with the cores.

use crate::outcome::Tally;
use crate::timed::cores::actor::Actor;
use std::collections::BTreeMap;

use crate::deadlock::{self, Blocked, Standing};
use crate::faults::{Begin, Effect, Failure, Fault, FaultPlan, Hits, Wires};
use crate::monitors::buffers::Lends;
use crate::outcome::Ending;
use crate::timed::conductor::Timed;
use crate::timed::context::FabricSchedule;
use crate::timed::cores::actor::State;
use crate::timed::event::Happening;
use crate::timed::event::Phase;
use crate::timed::network::reliable::Reliable;
use crate::untimed::CrashReport;
use engine::{SourceId, Stream, Streams, Tag};
use hardware::cluster::Cluster;
use hardware::fabric::{Alteration, ResourceId};
use hardware::profile::Ratio;
use hardware::topology::LinkId;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{Process, Thread, Wait};
use units::{Time, TimeDelta};

/// The plan of a run, and what of it holds now.
#[derive(Debug)]
pub(super) struct Faults {
    pub(super) all: Vec<Armed>,
    /// By packet that leaves a core: faults that begin then.
    at_packet: BTreeMap<u64, Vec<usize>>,
    /// Calls that processes have made.
    pub(super) calls: BTreeMap<Process, u64>,
    /// What sends again, where links lose packets.
    pub(super) reliable: Option<Reliable>,
    /// Who died, and when.
    pub(super) dead: Option<(Process, Time)>,
    /// Receive buffers that are gone, by sender and receiver.
    credits: BTreeMap<(Process, Process), u32>,
    pub(super) tally: Tally,
}

/// A fault with what its names mean in this cluster.
#[derive(Debug)]
pub(super) struct Armed {
    pub(super) fault: Fault,
    pub(super) active: bool,
    /// When it began.
    pub(super) begun: Option<Time>,
    /// Whether it hit a packet, or killed a process.
    pub(super) fired: bool,
    /// Resources that it alters.
    resources: Vec<ResourceId>,
    /// Links that it makes unreliable.
    pub(super) links: Vec<LinkId>,
    stream: Stream,
    /// Packets that it has seen.
    pub(super) seen: u64,
}

impl Armed {
    fn new(fault: Fault, stream: Stream, cluster: &Cluster) -> Self {
        let mut resources = Vec::new();
        if let Effect::Delay { resource, .. } | Effect::RateCut { resource, .. } = &fault.effect {
            resources.push(cluster.resource_named(resource).expect("the plan names a resource"));
        }
        if let Effect::HcaStall { node } = fault.effect {
            resources.extend(cluster.hca(node));
        }
        let links = match fault.effect.unreliable() {
            Some(Wires::All) => cluster.topology().all_links().collect(),
            Some(Wires::Link(name)) => {
                vec![cluster.topology().link_named(name).expect("the plan names a link")]
            }
            None => Vec::new(),
        };
        let (active, begun, fired) = (false, None, false);
        Self { fault, active, begun, fired, resources, links, stream, seen: 0 }
    }

    /// Whether it hits the packet that crosses its link now.
    pub(super) fn hits(&mut self) -> bool {
        self.seen += 1;
        let hit = match self.fault.effect {
            Effect::Loss { hits, .. }
            | Effect::Duplication { hits, .. }
            | Effect::Reordering { hits, .. } => match hits {
                Hits::Chance(billionths) => self.stream.chance(billionths, 1_000_000_000),
                Hits::Nth(nth) => self.seen == nth,
            },
            Effect::LinkDown { .. } => true,
            Effect::Delay { .. }
            | Effect::RateCut { .. }
            | Effect::HcaStall { .. }
            | Effect::Straggler { .. }
            | Effect::OsNoise { .. }
            | Effect::CreditLoss { .. }
            | Effect::Crash { .. } => false,
        };
        self.fired |= hit;
        hit
    }
}

/// The purpose of the random numbers of a fault.
const fn purpose(effect: &Effect) -> &'static str {
    if matches!(effect, Effect::Loss { .. }) {
        "fault packet loss"
    } else if matches!(effect, Effect::Duplication { .. }) {
        "fault packet duplication"
    } else {
        "fault packet reordering"
    }
}

impl Faults {
    pub(super) fn new(plan: FaultPlan, seed: u64, cluster: &Cluster) -> Box<Self> {
        let streams = Streams::new(seed);
        let mut at_packet: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (index, fault) in plan.faults.iter().enumerate() {
            if let Begin::Packet(packet) = fault.begin {
                at_packet.entry(packet).or_default().push(index);
            }
        }
        let all: Vec<Armed> = (0..)
            .zip(plan.faults)
            .map(|(number, fault)| {
                let stream = streams.stream(purpose(&fault.effect), number);
                Armed::new(fault, stream, cluster)
            })
            .collect();
        let mut unreliable = vec![false; cluster.topology().links()];
        for link in all.iter().flat_map(|armed| &armed.links) {
            unreliable[link.0 as usize] = true;
        }
        let lossy = unreliable.contains(&true);
        let reliable = lossy.then(|| Reliable::new(plan.transport, unreliable));
        let (calls, credits) = (BTreeMap::new(), BTreeMap::new());
        let (dead, tally) = (None, Tally::default());
        Box::new(Self { all, at_packet, calls, reliable, dead, credits, tally })
    }

    /// Receive buffers of a connection that are gone.
    pub(super) fn credits_lost(&self, from: Process, to: Process) -> u32 {
        self.credits.get(&(from, to)).copied().unwrap_or(0)
    }

    /// Whether something goes on by itself after so long that a fault keeps from going on.
    pub(super) fn some_will_end(&self, quiet: TimeDelta) -> bool {
        let ends = |armed: &Armed| armed.active && armed.fault.length.is_some();
        let tries = |reliable: &Reliable| quiet < reliable.transport().longest();
        self.all.iter().any(ends) || self.reliable.as_ref().is_some_and(tries)
    }

    /// What a resource is now.
    fn alteration(&self, resource: ResourceId) -> Alteration {
        let here = self.all.iter().filter(|one| one.active && one.resources.contains(&resource));
        let mut all = Alteration::NONE;
        for armed in here {
            if let Effect::Delay { extra, .. } = armed.fault.effect {
                all.delay += extra;
            }
            if let Effect::RateCut { left, .. } = armed.fault.effect {
                let product = all.rate.as_ppm() * left.as_ppm() / Ratio::ONE.as_ppm();
                all.rate = Ratio::from_ppm(product.max(1));
            }
            all.paused |= matches!(armed.fault.effect, Effect::HcaStall { .. });
        }
        all
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// Faults that begin at a time are events.
    pub(super) fn arm_faults(&mut self) {
        let Some(faults) = &self.faults else { return };
        let begins = (0_u32..).zip(&faults.all);
        let begins = begins.filter(|(_, armed)| !armed.fault.effect.is_of_cores());
        let timed = begins.filter_map(|(index, armed)| match armed.fault.begin {
            Begin::At(at) => Some((index, at)),
            Begin::Packet(_) | Begin::Call(_) => None,
        });
        for (index, at) in timed.collect::<Vec<_>>() {
            self.schedule_fault(at, Happening::Fault(index));
        }
    }

    pub(super) fn schedule_fault(&mut self, at: Time, event: Happening) {
        // After all resources and threads.
        let threads = u32::try_from(self.cores.actors.len()).expect("fewer than 2^32 threads");
        let source = self.cx.clock.first_source + threads;
        let tag = Tag { resource: source, phase: Phase::Fault as u8 };
        self.cx.clock.simulation.schedule(at, SourceId(source), tag, event);
    }

    pub(in crate::timed) fn fault(&mut self, index: u32) -> &mut Armed {
        let faults = self.faults.as_mut().expect("a fault is of a plan");
        &mut faults.all[index as usize]
    }

    /// A fault begins; none does where every program has ended: the end of a stall would be the end
    /// of the run.
    pub(super) fn begin_fault(&mut self, index: u32) {
        let now = self.cx.clock.simulation.now();
        if self.cores.actors.iter().all(Actor::ended) {
            return;
        }
        let armed = self.fault(index);
        if armed.active {
            return;
        }
        (armed.active, armed.begun) = (true, Some(now));
        let (effect, length) = (armed.fault.effect.clone(), armed.fault.length);
        if let Some(length) = length {
            self.schedule_fault(now + length, Happening::FaultEnd(index));
        }
        match effect {
            Effect::Crash { process } => self.fault(index).fired = self.die(process),
            Effect::CreditLoss { from, to, credits } => self.lose_credits((from, to), credits),
            Effect::HcaStall { .. } => {
                let length = length.expect("a stall has an end");
                self.hold_resources(index, now + length);
                self.alter_resources(index);
            }
            Effect::Delay { .. } | Effect::RateCut { .. } => self.alter_resources(index),
            Effect::LinkDown { .. }
            | Effect::Loss { .. }
            | Effect::Duplication { .. }
            | Effect::Reordering { .. }
            | Effect::Straggler { .. }
            | Effect::OsNoise { .. } => {}
        }
    }

    /// A fault ends.
    pub(super) fn end_fault(&mut self, index: u32) {
        self.fault(index).active = false;
        self.alter_resources(index);
    }

    pub(in crate::timed) fn alter_resources(&mut self, index: u32) {
        let now = self.cx.clock.simulation.now();
        for resource in self.fault(index).resources.clone() {
            let faults = self.faults.as_ref().expect("a fault is of a plan");
            let altered = faults.alteration(resource);
            let schedule = &mut FabricSchedule(&mut self.cx.clock.simulation);
            self.network.cluster.fabric.alter(now, resource, altered, schedule);
        }
    }

    pub(in crate::timed) fn hold_resources(&mut self, index: u32, until: Time) {
        let now = self.cx.clock.simulation.now();
        for resource in self.fault(index).resources.clone() {
            let schedule = &mut FabricSchedule(&mut self.cx.clock.simulation);
            self.network.cluster.fabric.hold(now, resource, until, schedule);
        }
    }

    /// A packet leaves a core: faults may begin with it.
    pub(super) fn count_departure(&mut self) {
        let packets = self.network.packets;
        let Some(faults) = &mut self.faults else { return };
        let Some(due) = faults.at_packet.remove(&packets) else { return };
        for index in due {
            self.begin_fault(u32::try_from(index).expect("a plan is short"));
        }
    }

    /// A process makes a call; answers whether it dies at it.
    pub(super) fn dies_at_call(&mut self, process: Process) -> bool {
        let Some(faults) = &mut self.faults else { return false };
        let calls = faults.calls.entry(process).or_default();
        *calls += 1;
        let this = Begin::Call(*calls);
        let dies = |armed: &Armed| {
            armed.fault.begin == this && armed.fault.effect == Effect::Crash { process }
        };
        let Some(index) = faults.all.iter().position(dies) else { return false };
        self.begin_fault(u32::try_from(index).expect("a plan is short"));
        true
    }

    pub(in crate::timed) fn lose_credits(&mut self, (from, to): (Process, Process), credits: u32) {
        let faults = self.faults.as_mut().expect("a fault is of a plan");
        *faults.credits.entry((from, to)).or_default() += credits;
        self.drop_credits((from, to), credits);
    }

    /// A process stops, and so does its HCA: what it sent is on the wire, what comes is lost.
    /// Answers whether it still ran.
    pub(in crate::timed) fn die(&mut self, process: Process) -> bool {
        let now = self.cx.clock.simulation.now();
        let threads = self.threads_of(process);
        let faults = self.faults.as_mut().expect("a fault is of a plan");
        if faults.dead.is_some()
            || threads.clone().all(|one| self.cores.actors[one as usize].ended())
        {
            return false;
        }
        faults.dead = Some((process, now));
        if let Some(reliable) = &mut faults.reliable {
            reliable.silence(process);
        }
        self.watch_for_good();
        self.settle(process);
        for thread in threads {
            let actor = &mut self.cores.actors[thread as usize];
            let busy = matches!(actor.state, State::Working | State::Computing);
            let (alone, core) = (actor.alone, actor.placement.core);
            actor.state = State::Ended;
            actor.generation += 1;
            actor.notice_at = None;
            if busy && !alone {
                self.cores.slots.end(core);
            }
        }
        self.locks.forget(process);
        self.watches_no_more(process);
        true
    }

    /// Who died, if anybody did.
    pub(super) fn dead(&self) -> Option<Process> {
        self.faults.as_ref()?.dead.map(|(process, _)| process)
    }

    /// Whether an event is one of a process that died; what it was about is gone with it.
    pub(super) fn is_of_the_dead(&mut self, event: Happening) -> bool {
        let Some(dead) = self.dead() else { return false };
        match event {
            Happening::Begin(thread)
            | Happening::ListEnd(thread)
            | Happening::CopyStart(thread)
            | Happening::Step(thread)
            | Happening::Notice(thread, _)
            | Happening::Touch(thread)
            | Happening::Pin(thread)
            | Happening::Moved(thread)
            | Happening::Adapter(thread) => self.names(thread).0 == dead,
            Happening::Depart(id) | Happening::Held(id) => {
                let from = self.network.flights.get(id).from;
                self.is_lost_if(from == dead, id)
            }
            Happening::Neighbour(id) | Happening::Atomic(id) => self.is_lost_at(id),
            Happening::Completed(id) => {
                let teller = self.told_by(id);
                self.is_lost_if(teller == dead, id)
            }
            Happening::Retry(channel) => self.receiver_of(channel) == dead,
            Happening::Lock(lock, _) => {
                let lost = self.locks.process(lock) == dead;
                self.locks.events -= usize::from(lost);
                lost
            }
            Happening::Seen(id) => self.is_sight_of(dead, id),
            Happening::Fabric(_)
            | Happening::Pinned(..)
            | Happening::Ask(_)
            | Happening::Gpu(_)
            | Happening::Fault(_)
            | Happening::FaultEnd(_)
            | Happening::Timer(_)
            | Happening::Answer(_)
            | Happening::Late(_) => false,
        }
    }

    /// Whether what arrives is for a process that died: then it is gone.
    pub(super) fn is_lost_at(&mut self, id: u32) -> bool {
        let Some(dead) = self.dead() else { return false };
        let to = self.network.flights.get(id).to.peer;
        self.is_lost_if(to == dead, id)
    }

    pub(in crate::timed) fn is_lost_if(&mut self, lost: bool, id: u32) -> bool {
        if lost {
            self.network.flights.remove(id);
        }
        lost
    }

    /// A failure that a fault brought about ends the run.
    pub(super) fn fail_by_fault(&mut self, failure: Failure) {
        self.cx.failed.get_or_insert(Ending::Fault(failure));
    }

    /// Nothing is left to happen after a process has died: who waits for it.
    pub(super) fn crashed(&self) -> Option<Ending> {
        let (victim, at) = self.faults.as_ref()?.dead?;
        let standings: Vec<Standing> = (0_u32..)
            .zip(&self.cores.actors)
            .map(|(index, actor)| self.standing(index, actor))
            .collect();
        let report = deadlock::diagnose(&standings).map_or_else(
            || CrashReport { victim, direct: Vec::new(), behind: Vec::new() },
            |found| CrashReport::new(victim, found),
        );
        let report = self.with_askers(report);
        Some(Ending::Crashed { at, report: self.with_silent_waits(report) })
    }

    /// Threads that ask for ever, in whatever call of theirs the run ended.
    pub(in crate::timed) fn with_askers(&self, mut report: CrashReport) -> CrashReport {
        let asking = self.asking(report.victim);
        let others = |blocked: &Blocked| {
            asking.iter().all(|one| (one.process, one.thread) != (blocked.process, blocked.thread))
        };
        report.direct.retain(others);
        report.behind.retain(others);
        report.direct.extend(asking);
        report.direct.sort_by_key(|blocked| (blocked.process, blocked.thread));
        report
    }

    /// Threads that stand still outside every call that says what it waits for: in a copy, or for a
    /// lock of memory that the victim had.
    pub(in crate::timed) fn with_silent_waits(&self, mut report: CrashReport) -> CrashReport {
        let known = |process: Process, thread: Thread| {
            let mut all = report.direct.iter().chain(&report.behind);
            all.any(|blocked| (blocked.process, blocked.thread) == (process, thread))
        };
        let silent = self.cores.actors.iter().filter(|actor| !actor.ended());
        let silent = silent.filter(|actor| !known(actor.process, actor.inner));
        let blocked = |actor: &Actor<M, P>| Blocked {
            process: actor.process,
            thread: actor.inner,
            wait: Wait {
                operation: "a copy or a lock",
                peers: vec![report.victim],
                thread: None,
                detail: "of a process that died".to_owned(),
                origin: 0,
            },
            position: actor.program.position(),
            since: Some(actor.since),
        };
        let silent: Vec<Blocked> = silent.map(blocked).collect();
        report.behind.extend(silent);
        report
    }

    /// How long nothing is heard before a try is repeated.
    pub(super) fn transport_timeout(&self) -> TimeDelta {
        let reliable = self.faults.as_ref().and_then(|faults| faults.reliable.as_ref());
        reliable.expect("timers belong to reliable connections").transport().timeout
    }
}
