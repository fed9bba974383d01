//! The error of a call out of order: the call, the state, and the calls allowed there.

use std::fmt;

use super::{Epoch, Event, LockKind, RankSet, Rules, Synchronisation};
use crate::envelope::Rank;

/// The calls by name, in the order in which they are listed.
const CALLS: [&str; 18] = [
    "fence",
    "post",
    "start",
    "complete",
    "wait",
    "test",
    "lock",
    "unlock",
    "lock_all",
    "unlock_all",
    "flush",
    "flush_all",
    "flush_local",
    "flush_local_all",
    "sync",
    "an operation",
    "a request operation",
    "free",
];

/// Where a process stood on its window, in short.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct State {
    /// Its access epoch.
    pub epoch: Epoch,
    /// Whether a fence before allows operations.
    pub fenced: bool,
    /// Whether it had posted.
    pub exposed: bool,
}

/// `MPI_ERR_RMA_SYNC`: a call is out of order.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
#[error("MPI_ERR_RMA_SYNC: {}{} {state}; allowed there{}: {}",
    CALLS[usize::from(*call)], of(*target), for_it(*target), Listed(*allowed))]
pub struct SyncError {
    /// Place of the call in [`CALLS`].
    call: u8,
    target: Option<Rank>,
    state: State,
    /// A bit for each of [`CALLS`].
    allowed: u32,
}

impl SyncError {
    /// The error of a call that is refused in this state.
    pub(super) fn new(state: &Synchronisation, rules: Rules, event: &Event) -> Self {
        let target = target(event);
        let bit = |event: &Event| u32::from(state.permits(rules, event)) << number(event);
        let allowed = all_towards(target.unwrap_or(state.me)).iter().map(bit).sum();
        let in_short =
            State { epoch: state.epoch(), fenced: state.fenced, exposed: state.exposure.is_some() };
        Self { call: number(event), target, state: in_short, allowed }
    }

    /// The call that was refused, by name.
    pub fn call(&self) -> &'static str {
        CALLS[usize::from(self.call)]
    }

    /// The target that it named.
    pub const fn target(&self) -> Option<Rank> {
        self.target
    }

    /// Where the process stood.
    pub const fn state(&self) -> State {
        self.state
    }

    /// A legal call with the same target.
    pub fn allowed(&self) -> impl Iterator<Item = &'static str> {
        names(self.allowed)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.epoch {
            Epoch::None if self.fenced => "after a fence",
            Epoch::None => "outside any access epoch",
            Epoch::Fence => "in a fence epoch",
            Epoch::Start => "in a start epoch",
            Epoch::Lock => "in a lock epoch",
            Epoch::LockAll => "in a lock-all epoch",
        })?;
        f.write_str(if self.exposed { ", exposed by post" } else { "" })
    }
}

/// The names of these calls, listed.
struct Listed(u32);

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, name) in names(self.0).enumerate() {
            write!(f, "{}{name}", if place == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

fn names(calls: u32) -> impl Iterator<Item = &'static str> {
    (0..).zip(CALLS).filter(move |(bit, _)| calls >> bit & 1 == 1).map(|(_, name)| name)
}

fn of(target: Option<Rank>) -> String {
    target.map_or_else(String::new, |target| format!(" of target {}", target.0))
}

fn for_it(target: Option<Rank>) -> &'static str {
    if target.is_some() { " for it" } else { "" }
}

/// The place of a call in [`CALLS`].
fn number(event: &Event) -> u8 {
    match event {
        Event::Fence { .. } => 0,
        Event::Post { .. } => 1,
        Event::Start { .. } => 2,
        Event::Complete => 3,
        Event::Wait => 4,
        Event::Test { .. } => 5,
        Event::Lock { .. } => 6,
        Event::Unlock { .. } => 7,
        Event::LockAll => 8,
        Event::UnlockAll => 9,
        Event::Flush { .. } => 10,
        Event::FlushAll => 11,
        Event::FlushLocal { .. } => 12,
        Event::FlushLocalAll => 13,
        Event::Sync => 14,
        Event::Operation { request: false, .. } => 15,
        Event::Operation { request: true, .. } => 16,
        Event::Free => 17,
    }
}

fn target(event: &Event) -> Option<Rank> {
    match event {
        Event::Lock { target, .. }
        | Event::Unlock { target }
        | Event::Flush { target }
        | Event::FlushLocal { target }
        | Event::Operation { target, .. } => Some(*target),
        Event::Fence { .. }
        | Event::Post { .. }
        | Event::Start { .. }
        | Event::Complete
        | Event::Wait
        | Event::Test { .. }
        | Event::LockAll
        | Event::UnlockAll
        | Event::FlushAll
        | Event::FlushLocalAll
        | Event::Sync
        | Event::Free => None,
    }
}

/// Every call once, with this target where it has one.
fn all_towards(target: Rank) -> [Event; 18] {
    let group = RankSet::from_iter([target]);
    [
        Event::Fence { no_precede: false, no_succeed: false },
        Event::Post { group: group.clone() },
        Event::Start { group },
        Event::Complete,
        Event::Wait,
        Event::Test { complete: false },
        Event::Lock { target, kind: LockKind::Shared },
        Event::Unlock { target },
        Event::LockAll,
        Event::UnlockAll,
        Event::Flush { target },
        Event::FlushAll,
        Event::FlushLocal { target },
        Event::FlushLocalAll,
        Event::Sync,
        Event::Operation { target, request: false },
        Event::Operation { target, request: true },
        Event::Free,
    ]
}
