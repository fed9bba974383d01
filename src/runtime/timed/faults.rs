//! Faults in motion: when each begins and ends, and what it asks for.
//!
//! ```text
//!   begin ─▶ rate, latency, stall: the fabric's resources are altered            ─▶ end: as built again
//!         ─▶ link down, loss, duplication, reordering: `network/reliable.rs`     ─▶ end
//!         ─▶ credits are gone, a process dies                                    (for ever)
//! ```
//!
//! A run without a plan has none of this: a test of a pointer where a packet leaves. Stragglers and
//! noise of a plan are known before the run and lie with the cores.

use std::collections::BTreeMap;

use crate::faults::{Begin, Effect, Fault, FaultPlan, Hits, Transport, Wires};
use engine::{Stream, Streams};
use hardware::cluster::Cluster;
use hardware::fabric::{Alteration, ResourceId};
use hardware::profile::Ratio;
use hardware::topology::LinkId;
use protocols::contract::Process;
use units::{Time, TimeDelta};

/// The plan of a run, and which of its faults are in force.
#[derive(Debug)]
pub(super) struct Faults {
    all: Vec<Armed>,
    transport: Transport,
    /// By packet that leaves a core: faults that begin then.
    at_packet: BTreeMap<u64, Vec<usize>>,
    /// Calls that processes have made.
    calls: BTreeMap<Process, u64>,
    /// The process that died, and when.
    dead: Option<(Process, Time)>,
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

/// Change that a fault makes to the parts when it starts.
#[derive(Clone, Debug)]
pub(super) enum Begun {
    /// It asks for nothing at its begin: it hits packets while it lasts.
    Lasts,
    /// A process stops.
    Crash(Process),
    /// Receive buffers between two processes are gone.
    CreditLoss((Process, Process), u32),
    /// Resources are altered, or begin nothing until then.
    Alters { held_until: Option<Time> },
}

impl Faults {
    pub(super) fn new(plan: FaultPlan, seed: u64, cluster: &Cluster) -> Self {
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
        let transport = plan.transport;
        Self { all, transport, at_packet, calls: BTreeMap::new(), dead: None }
    }

    /// How reliable connections try again.
    pub(super) const fn transport(&self) -> Transport {
        self.transport
    }

    /// By link: whether it may lose packets.
    pub(super) fn unreliable(&self, cluster: &Cluster) -> Vec<bool> {
        let mut unreliable = vec![false; cluster.topology().links()];
        for link in self.all.iter().flat_map(|armed| &armed.links) {
            unreliable[link.0 as usize] = true;
        }
        unreliable
    }

    /// The faults of the plan, in its order.
    pub(super) fn all(&self) -> &[Armed] {
        &self.all
    }

    /// The same, for packets that they may hit.
    pub(super) fn armed(&mut self) -> &mut [Armed] {
        &mut self.all
    }

    /// Faults that begin at a time, each with that time.
    pub(super) fn timed(&self) -> Vec<(u32, Time)> {
        let begins = (0_u32..).zip(&self.all);
        let begins = begins.filter(|(_, armed)| !armed.fault.effect.is_of_cores());
        let timed = begins.filter_map(|(index, armed)| match armed.fault.begin {
            Begin::At(at) => Some((index, at)),
            Begin::Packet(_) | Begin::Call(_) => None,
        });
        timed.collect()
    }

    /// Faults that begin when so many packets have left.
    pub(super) fn at_packet(&mut self, packets: u64) -> Vec<usize> {
        self.at_packet.remove(&packets).unwrap_or_default()
    }

    /// A process makes a call: the fault by which it dies at it.
    pub(super) fn at_call(&mut self, process: Process) -> Option<usize> {
        let calls = self.calls.entry(process).or_default();
        *calls += 1;
        let this = Begin::Call(*calls);
        let dies = |armed: &Armed| {
            armed.fault.begin == this && armed.fault.effect == Effect::Crash { process }
        };
        self.all.iter().position(dies)
    }

    /// Calls that a process has made.
    pub(super) fn calls_of(&self, process: Process) -> u64 {
        self.calls.get(&process).copied().unwrap_or(0)
    }

    /// A fault begins: what it asks for, and when it ends; `None` where it has started already.
    pub(super) fn begin(&mut self, index: u32, now: Time) -> Option<(Begun, Option<Time>)> {
        let armed = &mut self.all[index as usize];
        if armed.active {
            return None;
        }
        (armed.active, armed.begun) = (true, Some(now));
        let end = armed.fault.length.map(|length| now + length);
        let begun = match armed.fault.effect {
            Effect::Crash { process } => Begun::Crash(process),
            Effect::CreditLoss { from, to, credits } => Begun::CreditLoss((from, to), credits),
            Effect::HcaStall { .. } => {
                Begun::Alters { held_until: Some(end.expect("a stall has an end")) }
            }
            Effect::Delay { .. } | Effect::RateCut { .. } => Begun::Alters { held_until: None },
            Effect::LinkDown { .. }
            | Effect::Loss { .. }
            | Effect::Duplication { .. }
            | Effect::Reordering { .. }
            | Effect::Straggler { .. }
            | Effect::OsNoise { .. } => Begun::Lasts,
        };
        Some((begun, end))
    }

    /// A fault ends.
    pub(super) fn end(&mut self, index: u32) {
        self.all[index as usize].active = false;
    }

    /// A fault has killed its process.
    pub(super) fn killed(&mut self, index: u32, process: Process, now: Time) {
        self.all[index as usize].fired = true;
        self.dead = Some((process, now));
    }

    /// The process that died, and when, if one did.
    pub(super) const fn death(&self) -> Option<(Process, Time)> {
        self.dead
    }

    /// The resources that a fault alters, and what each of them is now.
    pub(super) fn alterations(&self, index: u32) -> Vec<(ResourceId, Alteration)> {
        let resources = self.all[index as usize].resources.iter();
        resources.map(|&resource| (resource, self.alteration(resource))).collect()
    }

    /// Whether something goes on by itself after so long that a fault keeps from going on;
    /// `longest_try`: how long reliable connections try.
    pub(super) fn some_will_end(&self, quiet: TimeDelta, longest_try: Option<TimeDelta>) -> bool {
        let ends = |armed: &Armed| armed.active && armed.fault.length.is_some();
        self.all.iter().any(ends) || longest_try.is_some_and(|longest| quiet < longest)
    }

    /// Present alteration of a resource.
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
