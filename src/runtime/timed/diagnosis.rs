//! Why a run has ended in which nothing is left to happen: deadlock, livelock, or a crash.

use super::context::Context;
use super::cores::actor::Actor;
use super::cores::{Cores, actor_standing};
use super::faults::Faults;
use super::livelock::{Found, Livelock};
use crate::crash::CrashReport;
use crate::deadlock::{self, ASKING, Blocked, Standing};
use crate::outcome::Ending;
use protocols::contract::{Machine, Process, Program, Thread, Wait, WaitSet};
use units::Time;

/// State of the run that a diagnosis reads.
#[derive(Debug)]
pub(super) struct Diagnosis<'a, M: Machine, P> {
    pub(super) cx: &'a Context,
    pub(super) cores: &'a Cores<M, P>,
    pub(super) libraries: &'a [M],
    pub(super) livelock: &'a Livelock,
    pub(super) faults: Option<&'a Faults>,
}

impl<M: Machine, P: Program<M>> Diagnosis<'_, M, P> {
    /// How the run has ended: every program is over, or some thread waits for ever.
    ///
    /// # Panics
    ///
    /// When threads wait although another could answer them: a defect of this runtime.
    pub(super) fn ending(&self) -> Ending {
        if let Some((victim, at)) = self.faults.and_then(Faults::death) {
            return Ending::Crashed { at, report: self.after_crash(victim) };
        }
        if let Some(found) = self.livelock.found() {
            return self.after_livelock(found);
        }
        if self.cores.all_ended() {
            return Ending::Finished;
        }
        let found = deadlock::diagnose(&self.cores.standings(self.libraries));
        Ending::Deadlock(found.expect("nothing can happen any more, so no thread can be answered"))
    }

    /// No process has died, and all programs retry for ever.
    fn after_livelock(&self, found: Found) -> Ending {
        if found == Found::NoTime {
            return Ending::ClockStands { at: self.cx.now(), askers: self.retriers() };
        }
        let standings: Vec<Standing> = self
            .cores
            .all()
            .map(|(thread, actor)| {
                let standing = actor_standing(actor, self.libraries);
                match self.retries_for(thread, actor).filter(|_| !actor.ended()) {
                    Some((waits, since)) => {
                        Standing { waits: Some(waits), since: Some(since), ..standing }
                    }
                    None => standing,
                }
            })
            .collect();
        let deadlock = deadlock::diagnose(&standings);
        Ending::Deadlock(deadlock.expect("all wait, and for nothing that is under way"))
    }

    /// Each thread that retries, with its first wait.
    fn retriers(&self) -> Vec<Blocked> {
        let retrier = |(thread, actor): (u32, &Actor<M, P>)| {
            let (waits, since) = self.retries_for(thread, actor).filter(|_| !actor.ended())?;
            let (WaitSet::All(waits) | WaitSet::Any(waits)) = waits;
            Some(Blocked {
                process: actor.process,
                thread: actor.inner,
                wait: waits.into_iter().next()?,
                position: actor.program.position(),
                site: actor.program.call_site(),
                begun: None,
                since: Some(since),
            })
        };
        self.cores.all().filter_map(retrier).collect()
    }

    /// Waits of a thread that retries, in words of its program or of the last call, and since when; `None`
    /// where it does not.
    fn retries_for(&self, thread: u32, actor: &Actor<M, P>) -> Option<(WaitSet, Time)> {
        let (calls, since) = self.livelock.calls_in_vain(thread)?;
        let waits = actor.program.asks_for().unwrap_or_else(|| {
            let detail = in_vain(calls);
            let origin = actor.program.position().unwrap_or_default();
            let wait = Wait { operation: ASKING, peers: vec![], thread: None, detail, origin };
            WaitSet::All(vec![wait])
        });
        Some((waits, since))
    }

    /// The threads that wait for a process that died, and those that wait for them.
    fn after_crash(&self, victim: Process) -> CrashReport {
        let standings = self.cores.standings(self.libraries);
        let mut report = deadlock::diagnose(&standings).map_or_else(
            || CrashReport { victim, direct: Vec::new(), behind: Vec::new() },
            |found| CrashReport::new(victim, found),
        );
        // Threads that retry for ever, in whatever call of theirs the run ended.
        let retriers = self.retriers_for(victim);
        let others = |blocked: &Blocked| {
            let name = (blocked.process, blocked.thread);
            retriers.iter().all(|one| (one.process, one.thread) != name)
        };
        report.direct.retain(others);
        report.behind.retain(others);
        report.direct.extend(retriers);
        report.direct.sort_by_key(|blocked| (blocked.process, blocked.thread));
        let silent = self.silent(&report);
        report.behind.extend(silent);
        report
    }

    /// Threads that retry, as waits for the victim; none where the run did not end by them.
    fn retriers_for(&self, victim: Process) -> Vec<Blocked> {
        if !self.livelock.is_over() {
            return vec![];
        }
        let retrier = |(thread, actor): (u32, &Actor<M, P>)| {
            let (vain, since) = self.livelock.calls_in_vain(thread).filter(|_| !actor.ended())?;
            let calls = self.faults.map_or(0, |faults| faults.calls_of(actor.process));
            let locks = self.cx.observers.locks_between(victim, actor.process);
            let detail = [in_vain(vain)].into_iter().chain(locks).collect::<Vec<_>>().join("; ");
            Some(Blocked {
                process: actor.process,
                thread: actor.inner,
                wait: Wait {
                    operation: ASKING,
                    peers: vec![victim],
                    thread: None,
                    detail,
                    origin: u32::try_from(calls).unwrap_or(u32::MAX),
                },
                position: None,
                site: actor.program.call_site(),
                begun: None,
                since: Some(since),
            })
        };
        self.cores.all().filter_map(retrier).collect()
    }

    /// Threads that stand still outside every call that says what it waits for: in a copy, or for a
    /// lock of memory that the victim had.
    fn silent(&self, report: &CrashReport) -> Vec<Blocked> {
        let known = |process: Process, thread: Thread| {
            let mut all = report.direct.iter().chain(&report.behind);
            all.any(|blocked| (blocked.process, blocked.thread) == (process, thread))
        };
        let silent = self.cores.all().map(|(_, actor)| actor).filter(|actor| !actor.ended());
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
            site: actor.program.call_site(),
            begun: None,
            since: Some(actor.since),
        };
        silent.map(blocked).collect()
    }
}

fn in_vain(calls: u64) -> String {
    format!("{calls} calls without anything new")
}
