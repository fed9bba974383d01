//! Active target: fences, and post, start, complete, wait.
//!
//! ```text
//!   fence (lazy)   first: nothing.  next: count ops for each rank, every rank gets its sum,
//!                  all ops out, until as many have come and all bytes are back, barrier
//!   fence (eager)  first: barrier.  op ─▶ out.  next: flush every target, barrier
//!   post ──POST──▶ start … complete: wait for POST, all ops out, the last with COMPLETE ──▶ wait
//! ```
//!
//! Source: `rma` Sec. 2.1.3, 4.2 and 7.1.

use std::collections::VecDeque;

use super::exchange::Exchange;
use super::packet::{Body, Closes};
use super::port::Port;
use super::settings::{Issue, Settings};
use super::window::{Exposure, Lock, Queued, Target, Wants, Window};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use mpi::envelope::Rank;
use mpi::rma::synchronisation::Epoch;

/// How far a fence is.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) enum Fence {
    /// Every rank gets the number of operations that come.
    Counting(Exchange),
    /// They come.
    Coming { expected: u64 },
    /// The targets get a request to answer when the operations of this process are done.
    Flushing,
    /// No rank goes on before all are done.
    Barrier(Exchange),
    /// It is over.
    Over,
}

impl Window {
    /// `MPI_Win_fence`: how it begins, where it ends an epoch (`closes`) or only opens one.
    pub(super) fn begin_fence(&self, closes: bool, settings: &Settings) -> Fence {
        // What is reached by loads and stores needs no count, but the consent of all.
        let issue = if self.is_shared() { Issue::Eager } else { settings.issue };
        match (closes, issue) {
            (true, Issue::Eager) => Fence::Flushing,
            (true, Issue::Lazy | Issue::Adaptive { .. }) => {
                let mut counts = vec![0; self.members.len()];
                for (target, queued) in &self.active {
                    let told = *target != self.rank && !settings.by_hca(&queued.does);
                    counts[*target as usize] += u64::from(told);
                }
                let count = |rank: u32| counts[rank as usize];
                Fence::Counting(Exchange::scatter(self.rank, self.size(), count))
            }
            (false, Issue::Eager) => Fence::Barrier(self.barrier()),
            (false, Issue::Lazy | Issue::Adaptive { .. }) => Fence::Over,
        }
    }

    pub(super) fn barrier(&self) -> Exchange {
        Exchange::barrier(self.rank, self.size())
    }

    /// Issues the operations of a fence once the counts of all ranks are known, and gives the fence's next state.
    pub(super) fn counted_out(&mut self, expected: u64, port: &mut Port<'_>) -> Fence {
        #[cfg(feature = "mutants")]
        let expected = expected + u64::from(expected > 0 && port.has(Mutant::CountsOneMore));
        for (target, queued) in std::mem::take(&mut self.active) {
            self.fence_out(target, queued, Closes::Counted, port);
        }
        Fence::Coming { expected }
    }

    /// Sends an operation of a fence epoch.
    fn fence_out(&mut self, target: u32, queued: Queued, closes: Closes, port: &mut Port<'_>) {
        if self.reaches(target) {
            return Self::apply_own(target, queued, port);
        }
        let state = self.targets.entry(target).or_insert_with(|| Target::new(Lock::Open));
        if port.settings().by_hca(&queued.does) {
            state.queue.push_back(queued);
            state.queued_bytes += queued.place.bytes();
            return self.issue(target, port);
        }
        if closes == Closes::Nothing {
            state.untold |= !queued.is_answered();
        }
        self.send(target, queued, None, closes, port);
    }

    /// The next stage of a fence, where the one it is in is over.
    pub(super) fn fence_on(&mut self, fence: &Fence, port: &mut Port<'_>) -> Option<Fence> {
        match fence {
            Fence::Coming { expected } => {
                let here = self.targets.values().all(|target| target.is_quiet(true));
                if !here || self.counted < *expected {
                    return None;
                }
                self.counted -= expected;
                self.targets.clear();
                Some(Fence::Barrier(self.barrier()))
            }
            Fence::Flushing => {
                let targets: Vec<u32> = self.targets.keys().copied().collect();
                for target in targets {
                    self.want(target, Wants::Flush, port);
                    self.forget_if_over(target);
                }
                #[cfg(feature = "mutants")]
                if self.targets.is_empty() && port.has(Mutant::FenceWithoutBarrier) {
                    return Some(Fence::Over);
                }
                self.targets.is_empty().then(|| Fence::Barrier(self.barrier()))
            }
            Fence::Counting(_) | Fence::Barrier(_) | Fence::Over => None,
        }
    }

    /// An operation inside an active epoch.
    pub(super) fn active(&mut self, target: u32, queued: Queued, port: &mut Port<'_>) {
        let eager = self.is_shared() || port.settings().issue == Issue::Eager;
        let posted = self.posts.get(&target).is_some_and(|posts| *posts > 0);
        match self.sync.epoch() {
            Epoch::Fence if eager => self.fence_out(target, queued, Closes::Nothing, port),
            #[cfg(feature = "mutants")]
            Epoch::Start if eager && posted && port.has(Mutant::Overtakes) => {
                self.start_out(target, queued, false, port);
            }
            Epoch::Start if eager && posted => {
                // What was called before the post came goes first: accumulates keep their order.
                for queued in self.take_active(target).into_iter().chain([queued]) {
                    self.start_out(target, queued, false, port);
                }
            }
            _ => self.active.push_back((target, queued)),
        }
    }

    /// Sends an operation to a target that has posted; the last one says that this process is done.
    fn start_out(&mut self, target: u32, queued: Queued, last: bool, port: &mut Port<'_>) {
        if self.reaches(target) {
            return Self::apply_own(target, queued, port);
        }
        let by_hca = port.settings().by_hca(&queued.does);
        let state = self.targets.entry(target).or_insert_with(|| Target::new(Lock::Open));
        if by_hca {
            state.queue.push_back(queued);
            state.queued_bytes += queued.place.bytes();
            return self.issue(target, port);
        }
        let closes = if last { Closes::Epoch } else { Closes::Nothing };
        self.send(target, queued, None, closes, port);
    }

    /// `MPI_Win_post`: tells every origin of the group.
    pub(super) fn post_to(&mut self, group: &[Rank], port: &mut Port<'_>) {
        let origins = u32::try_from(group.len()).expect("ranks are u32");
        self.exposure = Some(Exposure { origins, completed: 0 });
        for &Rank(origin) in group {
            if origin == self.rank {
                *self.posts.entry(origin).or_default() += 1;
            } else {
                port.tell(self, origin, Body::Post, None);
            }
        }
    }

    /// `MPI_Win_complete` goes on: targets of `left` that have posted get their operations. Answers
    /// whether it is over.
    pub(super) fn complete_on(&mut self, left: &mut Vec<u32>, port: &mut Port<'_>) -> bool {
        left.retain(|&target| !self.complete_one(target, port));
        let quiet = self.targets.values().all(|target| target.is_quiet(true));
        let over = left.is_empty() && quiet;
        if over {
            self.targets.clear();
        }
        over
    }

    /// Sends what is queued for a target that has posted, and says that this is all; answers whether
    /// that is done.
    fn complete_one(&mut self, target: u32, port: &mut Port<'_>) -> bool {
        if self.posts.get(&target).is_none_or(|posts| *posts == 0) {
            return false;
        }
        let mine = self.take_active(target);
        let count = mine.len();
        let mut said = false;
        for (index, queued) in mine.into_iter().enumerate() {
            let by_hca = port.settings().by_hca(&queued.does);
            let busy = self.targets.get(&target).is_some_and(|state| state.rdma > 0);
            let last = index + 1 == count && !by_hca && !busy && !self.is_shared();
            said |= last && target != self.rank;
            self.start_out(target, queued, last, port);
        }
        // The HCA tells the end of its own operations; a message could overtake them.
        if self.targets.get(&target).is_some_and(|state| state.rdma > 0 || !state.queue.is_empty())
        {
            return false;
        }
        self.take_post(target);
        if target == self.rank {
            if let Some(exposure) = &mut self.exposure {
                exposure.completed += 1;
            }
        } else if !said {
            port.tell(self, target, Body::Close(Closes::Epoch), None);
        }
        true
    }

    /// The operations that wait for one target, in the order of their calls.
    fn take_active(&mut self, target: u32) -> Vec<Queued> {
        let (mine, others): (VecDeque<_>, VecDeque<_>) =
            std::mem::take(&mut self.active).into_iter().partition(|(to, _)| *to == target);
        self.active = others;
        mine.into_iter().map(|(_, queued)| queued).collect()
    }

    fn take_post(&mut self, target: u32) {
        if let Some(posts) = self.posts.get_mut(&target) {
            *posts -= 1;
            if *posts == 0 {
                self.posts.remove(&target);
            }
        }
    }

    /// Whether every origin of the exposure epoch has completed: it is over then.
    pub(super) fn exposure_over(&mut self) -> bool {
        let over =
            self.exposure.as_ref().is_some_and(|exposure| exposure.completed == exposure.origins);
        if over {
            self.exposure = None;
        }
        over
    }
}
