//! What is left when nothing more happens.

use super::channels::{DONE, Live, NONE, STARTED};
use super::schedule::{Kind, Schedule};

/// An operation that did not come to its end, or whose message was never received.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stuck {
    /// The operation.
    pub op: u32,
    /// Reason for which it is stuck.
    pub waits: Waits,
}

/// Reason for which an operation is stuck.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Waits {
    /// So many dependencies: it never began.
    Dependencies(u32),
    /// A message: it is a receive.
    Message,
    /// A receive: it is a send by rendezvous.
    Receive,
    /// Nothing: it is over, and its message was never received.
    Nothing,
}

/// Everything that is left, in the order of operations.
pub(super) fn all(schedule: &Schedule, live: &[Live]) -> Vec<Stuck> {
    let states = (0..).zip(schedule.ops().iter().zip(live));
    let left = states.filter_map(|(op, (what, live))| {
        let received = live.channel == NONE;
        let waits = match (live.needs, what.kind) {
            (DONE, Kind::Send) if !received => Waits::Nothing,
            (DONE, _) => return None,
            (STARTED, Kind::Send) => Waits::Receive,
            (STARTED, _) => Waits::Message,
            (needs, _) => Waits::Dependencies(needs),
        };
        Some(Stuck { op, waits })
    });
    left.collect()
}
