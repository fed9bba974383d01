//! The limits of an exhaustive exploration, and what it found.

use crate::monitors::{Sometimes, Violation};
use crate::rules::Fault;
use crate::untimed::Choice;
use protocols::contract::Process;

/// Limits of an exhaustive exploration.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Budget {
    /// The most states that are visited.
    pub states: usize,
    /// Whether a step that no other thread can notice ([`crate::untimed::World::private_step`]) is followed alone,
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

/// Result of an exhaustive exploration.
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
    /// How often interesting branches were reached, summed over the transitions.
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
