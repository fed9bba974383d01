//! Faults of a plan that did nothing in a run, and why: a run under such a plan shows nothing of them.
//!
//! A fault that changes a resource or a core has fired when it began; one of packets, when it hit the
//! first; a crash, when a process that still ran died. One that asks for nothing, a probability of 0,
//! is none of these.

use crate::faults::{Begin, Effect, Fault};
use crate::monitors::buffers::Lends;
use crate::outcome::Unfired;
use crate::timed::conductor::Timed;
use crate::timed::faults::Armed;
use crate::timed::faults::Faults;
use protocols::contract::Machine;
use protocols::contract::Process;
use protocols::contract::Program;
use units::Time;

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The faults that did nothing until the run ended, in the order of the plan.
    pub(super) fn unfired(&self, end: Time) -> Vec<Unfired> {
        let Some(faults) = &self.faults else { return Vec::new() };
        let all = faults.all.iter().enumerate();
        let silent = all.filter_map(|(fault, armed)| {
            let why = self.why_nothing(faults, (fault, armed), end)?;
            Some(Unfired { fault, kind: armed.fault.effect.word(), why })
        });
        silent.collect()
    }

    /// Why a fault did nothing, if so.
    pub(in crate::timed) fn why_nothing(
        &self,
        faults: &Faults,
        (number, armed): (usize, &Armed),
        end: Time,
    ) -> Option<String> {
        let fault = &armed.fault;
        if armed.fired || fault.asks_for_nothing() {
            None
        } else if fault.effect.is_of_cores() {
            self.why_no_core(faults, number, end)
        } else if armed.begun.is_none_or(|at| at >= end) {
            Some(self.why_not_begun(faults, fault, end))
        } else {
            why_nothing_hit(armed)
        }
    }

    pub(in crate::timed) fn why_not_begun(
        &self,
        faults: &Faults,
        fault: &Fault,
        end: Time,
    ) -> String {
        match (fault.begin, &fault.effect) {
            (Begin::Call(call), Effect::Crash { process }) => {
                let made = faults.calls.get(process).copied().unwrap_or(0);
                format!("it begins with call {call} of process {}, which made {made}", process.0)
            }
            (Begin::Packet(packet) | Begin::Call(packet), _) => {
                format!(
                    "it begins with packet {packet}, and {} left their cores",
                    self.network.packets
                )
            }
            (Begin::At(at), _) => {
                let at = at.since(Time::ZERO);
                format!("it begins at {at}, and the run ended at {end}")
            }
        }
    }

    /// Why a fault of cores slowed none, if so.
    pub(in crate::timed) fn why_no_core(
        &self,
        faults: &Faults,
        number: usize,
        end: Time,
    ) -> Option<String> {
        let fault = &faults.all[number].fault;
        if matches!(fault.effect, Effect::Straggler { .. }) {
            let late = matches!(fault.begin, Begin::At(at) if at >= end);
            return late.then(|| self.why_not_begun(faults, fault, end));
        }
        let cores = self.cores.actors.iter();
        let cores = cores.filter(|actor| faults.noise_of(actor.process) == Some(number));
        let mut noises = cores.filter_map(|actor| actor.placement.slow.as_ref()?.noise).peekable();
        if noises.peek().is_none() {
            return Some("a later `os_noise` takes its place".to_owned());
        }
        let elapsed = end.since(Time::ZERO);
        let none = noises.all(|noise| noise.free_between(Time::ZERO, end) == elapsed);
        none.then(|| format!("the run ended at {end}, before the first interruption"))
    }
}

/// Why a fault that began found nothing to do, if so: what changes a resource has done so.
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

impl Faults {
    /// Which fault is the noise of a process: of those that name it the last one.
    fn noise_of(&self, of: Process) -> Option<usize> {
        let names = |armed: &Armed| {
            matches!(armed.fault.effect, Effect::OsNoise { process, .. }
                if process.is_none_or(|one| one == of))
        };
        self.all.iter().rposition(names)
    }
}
