//! Faults of a plan that did nothing in a run, and why: a run under such a plan shows nothing of them.
//!
//! A fault that changes a resource or a core has fired when it began; one of packets, when it hit the
//! first; a crash, when a process that still ran died. One that asks for nothing, a probability of 0,
//! is none of these.

use super::cores::Cores;
use super::faults::{Armed, Faults};
use crate::faults::{Begin, Effect, Fault};
use crate::outcome::Unfired;
use protocols::contract::{Machine, Process, Program};
use units::Time;

/// A run under a plan that is over.
struct Over<'a, M: Machine, P> {
    faults: &'a Faults,
    cores: &'a Cores<M, P>,
    /// Packets that left their cores.
    packets: u64,
    end: Time,
}

/// The faults that did nothing until the run ended, in the order of the plan.
pub(super) fn unfired<M: Machine, P: Program<M>>(
    faults: &Faults,
    cores: &Cores<M, P>,
    packets: u64,
    end: Time,
) -> Vec<Unfired> {
    let over = Over { faults, cores, packets, end };
    let all = faults.all().iter().enumerate();
    let silent = all.filter_map(|(fault, armed)| {
        let why = over.why_nothing(fault, armed)?;
        Some(Unfired { fault, kind: armed.fault.effect.word(), why })
    });
    silent.collect()
}

impl<M: Machine, P: Program<M>> Over<'_, M, P> {
    /// Why a fault did nothing, if so.
    fn why_nothing(&self, number: usize, armed: &Armed) -> Option<String> {
        let fault = &armed.fault;
        if armed.fired || fault.asks_for_nothing() {
            None
        } else if fault.effect.is_of_cores() {
            self.why_no_core(number, fault)
        } else if armed.begun.is_none_or(|at| at >= self.end) {
            Some(self.why_not_begun(fault))
        } else {
            why_nothing_hit(armed)
        }
    }

    fn why_not_begun(&self, fault: &Fault) -> String {
        match (fault.begin, &fault.effect) {
            (Begin::Call(call), Effect::Crash { process }) => {
                let made = self.faults.calls_of(*process);
                format!("it begins with call {call} of process {}, which made {made}", process.0)
            }
            (Begin::Packet(packet) | Begin::Call(packet), _) => {
                format!("it begins with packet {packet}, and {} left their cores", self.packets)
            }
            (Begin::At(at), _) => {
                let at = at.since(Time::ZERO);
                format!("it begins at {at}, and the run ended at {}", self.end)
            }
        }
    }

    /// Why a fault of cores slowed none, if so.
    fn why_no_core(&self, number: usize, fault: &Fault) -> Option<String> {
        let end = self.end;
        if matches!(fault.effect, Effect::Straggler { .. }) {
            let late = matches!(fault.begin, Begin::At(at) if at >= end);
            return late.then(|| self.why_not_begun(fault));
        }
        let cores = self.cores.all().map(|(_, actor)| actor);
        let cores = cores.filter(|actor| self.noise_of(actor.process) == Some(number));
        let mut noises =
            cores.filter_map(|actor| actor.placement().slow.as_ref()?.noise).peekable();
        if noises.peek().is_none() {
            return Some("a later `os_noise` takes its place".to_owned());
        }
        let elapsed = end.since(Time::ZERO);
        let none = noises.all(|noise| noise.free_between(Time::ZERO, end) == elapsed);
        none.then(|| format!("the run ended at {end}, before the first interruption"))
    }

    /// Which fault is the noise of a process: of those that name it the last one.
    fn noise_of(&self, of: Process) -> Option<usize> {
        let names = |armed: &Armed| {
            matches!(armed.fault.effect, Effect::OsNoise { process, .. }
                if process.is_none_or(|one| one == of))
        };
        self.faults.all().iter().rposition(names)
    }
}

/// Why a fault that began found nothing to do, if so: a fault that changes a resource has done so.
fn why_nothing_hit(armed: &Armed) -> Option<String> {
    if let Effect::Crash { process } = armed.fault.effect {
        return Some(format!("process {} had ended, or another had died", process.0));
    }
    armed.fault.effect.unreliable()?;
    Some(match armed.seen {
        0 => "no packet crossed its links while it lasted".to_owned(),
        seen => format!("it hit none of the {seen} packets and answers that crossed its links"),
    })
}
