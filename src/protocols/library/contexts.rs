//! Contexts of new communicators: no two creations of a job have the same one.
//!
//! ```text
//!   process p of P has the numbers   p, p + P, p + 2P, …        each stands for a pair of contexts
//!   rank 0 of those that agree       takes the next of its process, and proposes it
//!   all others                       propose none, and receive it
//! ```
//!
//! The parts of a split have one number together: no process is in two of them, so that no message of
//! one part meets a receive of another.
//!
//! A number leaves the counter in the same access that reads it, so that two threads of a process
//! whose agreements are under way at once never tell the same one. A number is never given again:
//! one that a failed creation took is lost.
//!
//! MPI leaves to the library how contexts are agreed on; this rule is ours. Left out: reuse. A process
//! has 2^31 / P numbers, and a creation that finds none left is refused.

use super::{Job, Process};
#[cfg(feature = "mutants")]
use mpi::envelope::Context;
use mpi::envelope::Rank;

/// The numbers that one process gives.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Contexts {
    next: u32,
    /// From one number of this process to its next one.
    step: u32,
}

/// The proposal of a rank that has no number: any other number is greater.
const NONE: u32 = 0;

impl Contexts {
    /// Those of process `me` of a job.
    pub(super) fn of(job: &Job, me: Process) -> Self {
        let first = 2 * u32::try_from(job.communicators.iter().len()).expect("at most 2^16");
        Self::new(first, me.0, job.threads.len())
    }

    /// Those of process `me` of `processes`, above the contexts that the job began with.
    fn new(first: u32, me: u32, processes: usize) -> Self {
        let processes = u32::try_from(processes).expect("processes are numbered in u32");
        Self { next: first + 2 * me, step: 2 * processes.max(1) }
    }

    /// The context that this process proposes as rank `rank` of the processes that agree; no context
    /// is left where there is none.
    pub(super) fn propose(&mut self, rank: Rank) -> Option<u32> {
        if rank == Rank(0) { self.take() } else { Some(NONE) }
    }

    /// The next context; its second one stands right behind.
    fn take(&mut self) -> Option<u32> {
        let after = self.next.checked_add(self.step)?;
        // The one after it has two as well.
        after.checked_add(1)?;
        Some(std::mem::replace(&mut self.next, after))
    }
}

#[cfg(feature = "mutants")]
impl Contexts {
    /// A context is in use now: where it is one of this process, the next one is after it.
    pub(crate) fn count(&mut self, Context(context): Context) {
        let Self { next, step } = *self;
        if context >= next && (context - next).is_multiple_of(step) {
            self.next = context + step;
        }
    }

    /// The newest context is free again.
    pub(crate) fn give_back(&mut self) {
        self.next = self.next.saturating_sub(self.step);
    }

    /// The next context is left out.
    pub(crate) fn leave_gap(&mut self) {
        self.next += self.step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_number_is_given_by_two_processes_or_twice() {
        let mut all = Vec::new();
        for me in 0..5 {
            let mut contexts = Contexts::new(6, me, 5);
            all.extend((0..7).map(|_| contexts.take().unwrap()));
        }
        all.sort_unstable();
        assert_eq!(all, (0..35).map(|index| 6 + 2 * index).collect::<Vec<_>>());
    }

    #[test]
    fn numbers_end_with_none() {
        let mut contexts = Contexts { next: u32::MAX - 5, step: 2 };
        let taken = [(); 4].map(|()| contexts.take());
        assert_eq!(taken, [Some(u32::MAX - 5), Some(u32::MAX - 3), None, None]);
    }
}
