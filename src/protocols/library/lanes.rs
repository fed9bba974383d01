//! Which lane, which queues and which lock a thread uses, by the rank that it acts as. Where a job has
//! several VCIs, `acting.rs` says so.
//!
//! Source: `endpoints` Sec. 3.4 (progress), 4.1 to 4.3 (what endpoints share).

use super::{Guard, Lanes};
use crate::contract::Lane;
use crate::job::{Endpoints, Progress, Queues, Threading};

/// The rank or ranks that a thread acts as in a call.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub(super) enum Caller {
    /// As the process, in a communicator of processes.
    #[default]
    Process,
    /// As the process, in a communicator that this one of several VCIs serves.
    Vci(Lane),
    /// As this endpoint of the process.
    Endpoint(u16),
    /// As several of them, under the lock of this lane.
    Several(Lane),
}

impl Endpoints {
    fn lane_count(&self) -> u16 {
        self.lanes.max(1)
    }

    /// The lane of an endpoint.
    pub(super) fn lane(&self, caller: Caller) -> Lane {
        match caller {
            Caller::Process => Lane(0),
            Caller::Vci(lane) | Caller::Several(lane) => lane,
            Caller::Endpoint(local) => Lane(local % self.lane_count()),
        }
    }

    pub(super) fn queue(&self, local: Option<u16>) -> usize {
        match (self.queues, local) {
            (Queues::Shared, _) | (Queues::Own, None) => 0,
            (Queues::Own, Some(local)) => 1 + usize::from(local),
        }
    }

    /// Pairs of queues of a process with so many endpoints.
    pub(super) fn queues_of(&self, locals: u16) -> usize {
        1 + self.queue(locals.checked_sub(1))
    }

    /// The lanes that a caller polls.
    pub(super) fn polled(&self, caller: Caller) -> Lanes {
        let all = Lanes { first: Lane(0), count: self.lane_count() };
        match (self.progress, caller) {
            (Progress::Process, _) | (_, Caller::Several(_)) => all,
            (Progress::Independent, caller) => Lanes::one(self.lane(caller)),
        }
    }

    /// The lock of what a caller uses, in a process with `locals` endpoints; none where no other
    /// thread uses it.
    pub(super) fn lock(&self, caller: Caller, locals: u16) -> Option<Guard> {
        let shared = self.progress == Progress::Process || self.queues == Queues::Shared;
        let Caller::Endpoint(_) = caller else { return Some(Guard(0)) };
        if shared {
            return Some(Guard(0));
        }
        let alone = locals <= self.lane_count();
        let lockless = alone && self.threading == Threading::One;
        (!lockless).then(|| Guard(self.lane(caller).0))
    }
}
