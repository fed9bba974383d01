//! Explorers of the untimed world: every order, a random order, or a recorded one.
//!
//! | file | does |
//! |---|---|
//! | `search` | visits the whole graph of states, breadth first: what it finds it finds by a shortest way |
//! | `graph` | keeps the edges, and answers whether every state can still come to a good end |
//! | `schedule` | drives one run: by random choices ([`walk`]), or by random priorities ([`Pct`]) |
//! | `shrink` | says how a run failed, and leaves out every choice that the failure does not need |
//! | `story` | tells a run in words, step by step |
//! | `lossy` | visits every order of a reliable connection, below the messages of that world |
//! | `bridge` | [`replay`]s a record, as of a timed run, and refuses the first choice that was not open |
//!
//! The search keeps 128-bit fingerprints instead of states. That two of n states share one has the
//! chance n^2 / 2^129: below 10^-24 for ten million.

mod bridge;
mod graph;
pub mod lossy;
mod schedule;
mod search;
pub(super) mod seen;
mod shrink;
mod story;

pub use bridge::{Drift, Final, compare, replay};
pub use schedule::{Pct, Walk, drive, walk};
pub use search::{Rule, Scope, Stop, search};
pub use shrink::{Failure, Forced, failure_of, forced, shrink};
pub use story::{Story, Told, tell};

use super::monitors::buffers::Lends;
use super::monitors::{Sometimes, Violation};
use super::rules::Fault;
use super::untimed::{Choice, World};
use protocols::contract::{Machine, Process, Program};

/// Limits of an exhaustive exploration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Budget {
    /// The most states that are visited.
    pub states: usize,
    /// Whether a step that nobody else can notice ([`World::private_step`]) is followed alone,
    /// instead of in every order with the steps of others. Finds the same final and dead states
    /// and the same broken laws in fewer states.
    pub reduce: bool,
}

impl Default for Budget {
    /// Four million states, none left out.
    fn default() -> Self {
        Self { states: 4_000_000, reduce: false }
    }
}

/// What an exhaustive exploration found.
#[derive(Clone, Debug, Default)]
pub struct Survey {
    /// Different states.
    pub states: usize,
    /// Choices followed from all of them.
    pub transitions: usize,
    /// States in which every program ended and nothing is under way.
    pub finals: usize,
    /// States without a choice in which a program has not ended.
    pub dead: usize,
    /// States from which no final state can be reached, dead ones among them. Not known (0)
    /// where the budget did not suffice.
    pub doomed: usize,
    /// Doomed states from which not even a dead state can be reached: everything that is left goes
    /// round for ever.
    pub livelocked: usize,
    /// States at which only survivors of a crash wait, and a report names victim and waiters; or a
    /// queue pair has given up.
    pub diagnosed: usize,
    /// The shortest way to such a state, for each victim or sender.
    pub diagnoses: Vec<(Process, Vec<Choice>)>,
    /// Steps from the start to the farthest state.
    pub depth: usize,
    /// Bytes that the tables and the open states took at most; an estimate for the latter.
    pub memory: usize,
    /// Whether every reachable state was visited.
    pub complete: bool,
    /// Whether it was the memory that did not suffice, where it is not complete.
    pub out_of_memory: bool,
    /// Whether it was ended from outside, where it is not complete.
    pub interrupted: bool,
    /// The shortest way to a livelocked state.
    pub way_to_livelock: Option<Vec<Choice>>,
    /// How many choices of [`Self::way_to_dead`] lead to where it can no longer be avoided.
    pub point_of_no_return: Option<usize>,
    /// The shortest way to a dead state.
    pub way_to_dead: Option<Vec<Choice>>,
    /// The shortest way to a doomed state: its last choice is the point of no return.
    pub way_to_doomed: Option<Vec<Choice>>,
    /// Broken laws, each with the shortest way to it; the first of each law.
    pub violations: Vec<(Violation, Vec<Choice>)>,
    /// Faults of protocols, each with the shortest way to it; the first of each wording.
    pub faults: Vec<(Fault, Vec<Choice>)>,
    /// How often interesting branches were met, summed over the transitions.
    pub sometimes: Sometimes,
}

impl Survey {
    /// Whether every order ends well: complete, and nothing dead, doomed, broken or faulty.
    pub fn is_clean(&self) -> bool {
        self.complete
            && self.dead == 0
            && self.doomed == 0
            && self.violations.is_empty()
            && self.faults.is_empty()
            && self.finals + self.diagnosed > 0
    }
}

/// Visits every state that can be reached from `start`.
///
/// States beyond a broken law or a fault are not visited. Where the budget does not suffice, the
/// survey is marked incomplete and says nothing about doomed states.
pub fn exhaustive<M: Machine, P: Program<M>>(start: &World<M, P>, budget: Budget) -> Survey
where
    M::Call: Lends,
{
    judged(start, budget, |_| None)
}

/// [`exhaustive`], where every good end is also judged by the caller: what the programs and their
/// memory must hold, whatever the order was.
pub fn judged<M: Machine, P: Program<M>>(
    start: &World<M, P>,
    budget: Budget,
    judge: impl Fn(&World<M, P>) -> Option<Violation>,
) -> Survey
where
    M::Call: Lends,
{
    search(start, budget.into(), World::print, judge)
}
