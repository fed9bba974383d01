//! What the call of each thread waits for.

use std::sync::Arc;

use super::agreeing::Agreeing;
use super::collective::Running;
use super::device::Exchanging;
use super::{Handle, Key, Selection, Thread};
use crate::call::{Comm, Requests};
use crate::rma::call::{RmaCall, Win};
use mpi::envelope::Rank;

/// Condition that a thread's call waits for.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Pending {
    /// One request: `MPI_Wait` and the blocking operations.
    One(Key),
    /// All of a set; `remaining` are not complete yet.
    All { requests: Requests, statuses: bool, remaining: u32 },
    /// Any of a set, or (`some`) at least one of it.
    Any { requests: Requests, some: bool },
    /// `MPI_Test`, during its pass, or (`keeps`) `MPI_Request_get_status`, which leaves the request.
    Test { request: Handle, keeps: bool },
    /// `MPI_Testall`, `MPI_Testany` or `MPI_Testsome`, during its pass.
    TestSet(TestOf, Requests),
    /// `MPI_Parrived` of a partition, during its pass.
    Arrived(Handle, u16),
    /// A probe; `take` names the message of a matched one; `flag` ends with its pass.
    Probe { selection: Selection, take: Option<Handle>, flag: bool },
    /// A collective.
    Collective(Running),
    /// Messages with buffers in GPU memory.
    Device(Box<Exchanging>),
    /// A one-sided call: the windows know its goal.
    Window,
    /// `MPI_Win_test`, during its pass.
    WindowTest(Win),
    /// A blocking one-sided call with nothing to wait for, during its pass.
    WindowPass,
    /// A one-sided call that polls before it is taken, during its pass.
    WindowCall(Arc<RmaCall>),
    /// `MPI_Buffer_detach`.
    Detach,
    /// `MPI_Finalize`, for the requests that the program has freed.
    Finalize,
    /// An agreement: making communicators, or freeing endpoints.
    Agree(Box<Agreeing>),
}

/// Kind of test of a set of requests.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum TestOf {
    /// All: `MPI_Testall`.
    All,
    /// One: `MPI_Testany`.
    Any,
    /// Those that have ended: `MPI_Testsome`.
    Some,
}

/// The threads of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Threads(Vec<Option<Pending>>);

impl Threads {
    /// So many threads, none of them in a call.
    pub(super) fn new(count: usize) -> Self {
        Self(vec![None; count])
    }

    /// As [`super::Machine::touch`].
    pub(super) fn touch(&self) -> u64 {
        u64::from(self.0.first().is_some_and(Option::is_some))
    }

    /// How many threads there are.
    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Condition that a thread waits for.
    #[inline]
    pub(super) fn get(&self, thread: Thread) -> Option<&Pending> {
        self.0[usize::from(thread.0)].as_ref()
    }

    /// Condition that a thread waits for, mutable.
    #[inline]
    pub(super) fn get_mut(&mut self, thread: Thread) -> Option<&mut Pending> {
        self.0.get_mut(usize::from(thread.0))?.as_mut()
    }

    /// A thread waits from now on.
    #[inline]
    pub(super) fn wait(&mut self, thread: Thread, pending: Pending) {
        self.0[usize::from(thread.0)] = Some(pending);
    }

    /// A thread waits no more; answers what it waited for.
    #[inline]
    pub(super) fn take(&mut self, thread: Thread) -> Option<Pending> {
        self.0[usize::from(thread.0)].take()
    }

    /// A thread waits no more.
    #[inline]
    pub(super) fn end(&mut self, thread: Thread) {
        self.0[usize::from(thread.0)] = None;
    }

    /// Whether a thread is in the pass of a test or of a probe with a flag.
    pub(super) fn is_testing(&self, thread: Thread) -> bool {
        matches!(
            self.get(thread),
            Some(
                Pending::Test { .. }
                    | Pending::TestSet(..)
                    | Pending::Arrived(..)
                    | Pending::Probe { flag: true, .. }
                    | Pending::WindowTest(_)
                    | Pending::WindowPass
                    | Pending::WindowCall(_)
            )
        )
    }

    /// The probe that a thread waits in: its selection, and the message handle of a matched one.
    pub(super) fn probe(&self, thread: Thread) -> Option<(Selection, Option<Handle>)> {
        match self.get(thread)? {
            Pending::Probe { selection, take, flag: false } => Some((*selection, *take)),
            Pending::One(_)
            | Pending::All { .. }
            | Pending::Any { .. }
            | Pending::Test { .. }
            | Pending::TestSet(..)
            | Pending::Arrived(..)
            | Pending::Probe { .. }
            | Pending::Collective(_)
            | Pending::Device(_)
            | Pending::Window
            | Pending::WindowTest(_)
            | Pending::WindowPass
            | Pending::WindowCall(_)
            | Pending::Detach
            | Pending::Finalize
            | Pending::Agree(_) => None,
        }
    }

    /// The threads that wait for the requests that the program has freed.
    pub(super) fn finalizing(&self) -> Vec<Thread> {
        let numbered = (0..).map(Thread).zip(&self.0);
        let waits = numbered.filter(|(_, pending)| matches!(pending, Some(Pending::Finalize)));
        waits.map(|(thread, _)| thread).collect()
    }

    /// Conditions that the threads beside this one wait for.
    fn others(&self, thread: Thread) -> impl Iterator<Item = &Pending> {
        let numbered = (0..).zip(&self.0);
        let others = numbered.filter(move |&(other, _)| Thread(other) != thread);
        others.filter_map(|(_, pending)| pending.as_ref())
    }

    /// The collective that another thread is inside as the same rank of a communicator.
    pub(super) fn inside(&self, thread: Thread, comm: Comm, rank: Rank) -> Option<&'static str> {
        self.others(thread).find_map(|pending| {
            let Pending::Collective(running) = pending else { return None };
            let same = running.call.comm == comm && running.rank == rank;
            same.then(|| running.call.function())
        })
    }

    /// Whether another thread agrees by messages that could be taken for those of `agreeing`.
    pub(super) fn clashes(&self, thread: Thread, agreeing: &Agreeing) -> bool {
        let clash = |one: &Pending| matches!(one, Pending::Agree(one) if one.clashes(agreeing));
        self.others(thread).any(clash)
    }

    /// Whether an agreement under way will give this number to a communicator.
    pub(super) fn give(&self, comm: Comm) -> bool {
        let gives = |one: &Pending| matches!(one, Pending::Agree(one) if one.purpose.gives(comm));
        self.0.iter().flatten().any(gives)
    }
}
