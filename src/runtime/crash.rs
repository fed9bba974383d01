//! A process dies: what stops with it, and who then waits for it.
//!
//! A victim takes no further step; its HCA dies with it. What it sent is on the wire and arrives,
//! what is sent to it is lost, and RDMA operations that name its memory never complete. The
//! survivors get no notice: they either end without it or wait for ever, and then the report names victim
//! and waiters.

use std::fmt;
use std::hash::Hash;

use super::deadlock::{Blocked, Deadlock};
use protocols::contract::Process;

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
    /// The process that died, if one has.
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
    /// The process that died.
    pub victim: Process,
    /// Threads with a wait that the victim could have ended.
    pub direct: Vec<Blocked>,
    /// Threads that wait for one that waits for the victim, and so on.
    pub behind: Vec<Blocked>,
}

impl CrashReport {
    /// Report on the threads of `deadlock` that wait for `victim`, and on those that wait for these.
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
