//! A process dies: what stops with it, and who then waits for it.
//!
//! A victim takes no further step; its HCA dies with it. What it sent is on the wire and arrives,
//! what is sent to it is lost, and RDMA operations that name its memory never complete. Nobody is
//! told: the survivors either end without it or wait for ever, and then the report names victim and
//! waiters.

use std::fmt;
use std::hash::Hash;

use super::{Channel, Choice, Operation, Port, Stage, World};
use crate::deadlock::{Blocked, Deadlock};
use crate::fingerprint::Shared;
use crate::monitors::buffers::Lends;
use protocols::contract::{Machine, Process, Program};

/// Whether a process may die; part of the state.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Crash {
    /// None ever does.
    #[default]
    Never,
    /// One may, at any moment.
    Possible,
    /// This one has; no other does.
    Happened(Process),
}

impl Crash {
    /// Who died.
    pub const fn victim(self) -> Option<Process> {
        match self {
            Self::Happened(process) => Some(process),
            Self::Never | Self::Possible => None,
        }
    }
}

/// Survivors that wait for ever after a crash.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CrashReport {
    /// Who died.
    pub victim: Process,
    /// Threads with a wait that the victim could have ended.
    pub direct: Vec<Blocked>,
    /// Threads that wait for one that waits for the victim, and so on.
    pub behind: Vec<Blocked>,
}

impl CrashReport {
    /// Who of `deadlock` waits for `victim`, and who waits for those.
    pub fn new(victim: Process, deadlock: Deadlock) -> Self {
        let Deadlock { cycles, unanswered, behind } = deadlock;
        let mut open: Vec<Blocked> =
            cycles.into_iter().flatten().chain(unanswered).chain(behind).collect();
        let mut lost = vec![victim];
        let mut rings: Vec<Vec<Blocked>> = Vec::new();
        loop {
            let waits = |blocked: &Blocked| {
                let peers = &blocked.wait.peers;
                peers.is_empty() || peers.iter().any(|peer| lost.contains(peer))
            };
            let (mut ring, rest): (Vec<_>, Vec<_>) = open.into_iter().partition(waits);
            if ring.is_empty() {
                break;
            }
            ring.sort_by_key(who);
            ring.dedup_by_key(|blocked| who(blocked));
            open = rest;
            open.retain(|one| ring.iter().all(|other| who(other) != who(one)));
            lost.extend(ring.iter().map(|blocked| blocked.process));
            rings.push(ring);
        }
        let mut rings = rings.into_iter();
        let direct = rings.next().unwrap_or_default();
        Self { victim, direct, behind: rings.flatten().collect() }
    }
}

const fn who(blocked: &Blocked) -> (u32, u16) {
    (blocked.process.0, blocked.thread.0)
}

impl fmt::Display for CrashReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "process {} died", self.victim.0)?;
        for (words, list) in [("waits for it", &self.direct), ("waits behind them", &self.behind)] {
            for blocked in list {
                writeln!(f, "  {words}: {blocked}")?;
            }
        }
        Ok(())
    }
}

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// The same state, in which one process may die at any moment from now on.
    #[must_use]
    pub fn with_crash(self) -> Self {
        Self { crash: Crash::Possible, ..self }
    }

    /// Whether a process may die or has died.
    pub const fn crash(&self) -> Crash {
        self.crash
    }

    /// Who waits for a process that died, at the end of a run; `None` where nobody died or waits,
    /// and where a survivor waits for ever for another reason.
    pub fn crash_report(&self) -> Option<CrashReport> {
        let report = CrashReport::new(self.crash.victim()?, self.deadlock()?);
        let named = |process, thread| {
            let mut all = report.direct.iter().chain(&report.behind);
            all.any(|blocked| (blocked.process, blocked.thread) == (process, thread))
        };
        let mut left = self.strands().filter(|(_, _, _, strand)| !strand.is_over());
        let complete = left.all(|(process, thread, _, _)| named(process, thread));
        (complete && !report.direct.is_empty()).then_some(report)
    }

    /// Processes that may die now: those that have not come to their end.
    pub(super) fn crashes_into(&self, choices: &mut Vec<Choice>) {
        if self.crash == Crash::Possible {
            let processes = (0u32..)
                .zip(&self.instances)
                .filter(|(_, instance)| instance.threads.iter().any(|strand| !strand.is_over()));
            choices.extend(processes.map(|(at, _)| Choice::Crash { process: Process(at) }));
        }
    }

    pub(super) fn crash_refusal(&self, process: Process) -> Option<&'static str> {
        let Some(instance) = self.instances.get(process.0 as usize) else {
            return Some("there is no such process");
        };
        if self.crash != Crash::Possible {
            return Some("no process may die");
        }
        let ended = instance.threads.iter().all(|strand| strand.is_over());
        ended.then_some("its program has ended")
    }

    pub(super) fn die(&mut self, victim: Process) {
        self.crash = Crash::Happened(victim);
        let place = victim.0 as usize;
        let instance = self.instances[place].change();
        instance.owners.clear();
        for strand in instance.threads.iter_mut().map(Shared::change) {
            strand.stage = Stage::Dead;
            strand.pass = None;
            strand.list.clear();
        }
        self.ports[place] = Shared::new(Port::new());
        // What a write carried is lost with its bytes.
        let half_sent = |channel: &Channel<M>| {
            let mut packets = channel.packets.iter();
            channel.from.peer == victim && packets.any(|incoming| incoming.part_of.is_some())
        };
        for port in &mut self.ports {
            if !port.channels.iter().any(half_sent) {
                continue;
            }
            let channels = &mut port.change().channels;
            for channel in channels.iter_mut().filter(|channel| half_sent(channel)) {
                channel.packets.retain(|incoming| incoming.part_of.is_none());
            }
            channels.retain(|channel| !channel.packets.is_empty());
        }
    }

    /// Whether an RDMA operation waits for the memory of a process that died.
    pub(super) fn is_cut_off(&self, operation: &Operation) -> bool {
        let victim = self.crash.victim();
        let named = operation.sides().iter().any(|(owner, _)| victim == Some(*owner));
        named && !operation.moved
    }
}
