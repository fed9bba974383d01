//! Passes over lanes that a thread seldom polls: see [`Machine::sweeps`](protocols::contract::Machine).
//!
//! ```text
//!   its lane   its lane   …   all lanes   its lane   …      one pass of so many is over all lanes
//!                       ▲ something comes on another lane: found by the next pass over all
//! ```
//!
//! A thread that waits makes such a pass only where something lies on a lane that it does not poll else:
//! when its turn comes follows from what a pass of the thread takes alone, counted from its first poll on.
//! So waiting costs no events here, too. Tests count their passes.
//!
//! Left out: passes over all lanes that find nothing, and what other threads at the lock of a pass make of
//! its length. Noticeable as a share of the passes of a thread that waits.

use units::{Time, TimeDelta};

/// State of the threads of a job for their passes over all lanes.
#[derive(Debug)]
pub(super) struct Sweeps(Vec<Sweep>);

#[derive(Clone, Copy, Debug, Default)]
struct Sweep {
    /// When the thread polled first.
    first: Option<Time>,
    /// Passes of tests so far.
    tests: u32,
    /// Whether an event is scheduled.
    planned: bool,
}

impl Sweeps {
    /// So many threads.
    pub(super) fn new(threads: usize) -> Self {
        Self(vec![Sweep::default(); threads])
    }

    /// When a thread that polls at `at` begins its next pass over all lanes, where one comes every `each`.
    pub(super) fn next(&mut self, thread: u32, at: Time, each: TimeDelta) -> Time {
        let first = *self.0[thread as usize].first.get_or_insert(at);
        if each == TimeDelta::ZERO {
            return at;
        }
        let since = at.as_ps().saturating_sub(first.as_ps());
        first + each * since.div_ceil(each.as_ps()).max(1)
    }

    /// A thread plans such a pass; false where it has planned one.
    pub(super) fn plan(&mut self, thread: u32) -> bool {
        !std::mem::replace(&mut self.0[thread as usize].planned, true)
    }

    /// The planned pass is due.
    pub(super) fn is_due(&mut self, thread: u32) {
        self.0[thread as usize].planned = false;
    }

    /// A test makes a pass: whether it is one over all lanes, of which there is one in `passes`.
    pub(super) fn test(&mut self, thread: u32, passes: u32) -> bool {
        let tests = &mut self.0[thread as usize].tests;
        *tests = (*tests + 1) % passes;
        *tests == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_of_so_many_is_over_all_lanes() {
        let mut sweeps = Sweeps::new(1);
        let at = |ns: u64| Time::ZERO + TimeDelta::from_ps(1_000 * ns);
        let each = TimeDelta::from_ps(100_000);
        assert_eq!(sweeps.next(0, at(7), each), at(107), "the first passes are its own");
        for (polls, begins) in [(8, 107), (107, 107), (108, 207), (1_000, 1_007)] {
            assert_eq!(sweeps.next(0, at(polls), each), at(begins));
        }
        assert_eq!(sweeps.next(0, at(8), TimeDelta::ZERO), at(8), "polls that cost nothing");
        let all = (0..8).filter(|_| sweeps.test(0, 4)).count();
        assert_eq!(all, 2);
    }
}
