//! Lines of elements that wait for the same CPU and NIC.

use super::channels::{List, Live, NONE};

/// Those that wait for one CPU, and one NIC in one direction. All have found it busy; only the
/// leader is in the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    /// An operation; [`NONE`] while none waits.
    leader: u32,
    behind: List,
}

impl Line {
    pub(super) const EMPTY: Self = Self { leader: NONE, behind: List::EMPTY };

    /// Joins `op`, which finds the CPU or NIC busy; returns how it waits.
    #[inline]
    pub(super) fn join(&mut self, live: &mut [Live], op: u32) -> Joined {
        if self.leader == NONE {
            self.leader = op;
            return Joined::Leads;
        }
        let last = self.behind.last().unwrap_or(self.leader);
        if live[last as usize].stamp < live[op as usize].stamp {
            self.behind.push(live, op, 0);
            return Joined::Waits;
        }
        Joined::Alone
    }

    /// The leader had its turn; who leads now.
    #[inline]
    pub(super) fn leave(&mut self, live: &[Live]) -> Option<u32> {
        let next = self.behind.pop(live);
        self.leader = next.unwrap_or(NONE);
        next
    }
}

/// How an element waits.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Joined {
    /// In the queue, for all behind it.
    Leads,
    /// Behind a leader.
    Waits,
    /// In the queue, for itself: it is older than those in the line.
    Alone,
}
