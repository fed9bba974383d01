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
mod shrink;
mod story;
mod survey;

pub use bridge::{Drift, Final, compare, replay};
pub use schedule::{Pct, Walk, drive, walk};
pub use search::{Rule, Scope, Stop, search};
pub use shrink::{Failure, Forced, failure_of, forced, shrink};
pub use story::{Story, StoryEvent, tell};
pub use survey::{Budget, Survey};

use super::monitors::Violation;
use super::monitors::buffers::Lends;
use super::untimed::World;
use super::untimed::states::Known;
use protocols::contract::{Machine, Program};

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
    search(start, budget.into(), Known::ByPlace, judge)
}
