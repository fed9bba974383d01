//! A process dies in an untimed run: which one may, and what is lost with it.

use super::World;
use super::choice::Choice;
use super::state::{Channel, Port, Stage};
use crate::crash::{Crash, CrashReport};
use crate::fingerprint::Shared;
use crate::monitors::buffers::Lends;
use protocols::contract::{Machine, Process, Program};

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

    /// Report on the threads that wait for a process that died, at the end of a run; `None` where no process
    /// died or none waits, and where a survivor waits for ever for another reason.
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
}
