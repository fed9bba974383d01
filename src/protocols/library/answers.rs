//! Actions that every part of the library answers with: a walk of a queue, a return, a fact for monitors.

use super::{Action, LibraryAction, Reply, Thread};
use crate::contract::{Emit, Queue};
use mpi::matching::Search;
use mpi::observation::{GroupFact, Observation};

/// This core has walked a matching queue; `fact` is what the monitors learn of it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what it saves is the call's argument")]
pub(super) fn push_walk<T>(
    queue: Queue,
    walk: &Search<T>,
    fact: Option<Observation>,
    out: &mut impl Emit<LibraryAction>,
) {
    out.emit(|| Action::Walk { queue, entries: walk.visited, length: walk.length, fact });
}

/// The call of a thread returns.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what it saves is the call's argument")]
pub(super) fn push_return(thread: Thread, reply: Reply, out: &mut impl Emit<LibraryAction>) {
    out.emit(|| Action::Return { thread, reply });
}

/// The monitors learn a fact of communicators.
pub(super) fn push_fact(fact: GroupFact, out: &mut impl Emit<LibraryAction>) {
    out.emit(|| Action::Observe(Observation::Group(fact)));
}
