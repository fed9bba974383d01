//! How a library chooses the algorithm of a call: by the first of its rules that fits.
//!
//! A rule has bounds (bytes, ranks, ranks of a node, whether the operator commutes) and says what is done within
//! them. A call looks at its rules once, before it begins; all ranks have the same rules and look at what all of them
//! know, so that they choose alike.

use std::sync::Arc;

use super::algorithms::Algorithm;
use super::units::Units;

/// Where a rule holds; a bound that is left out holds everywhere.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Bounds {
    /// The most bytes of the message, of the vector, or of the block of each rank.
    pub up_to: Option<u64>,
    /// The most bytes of all blocks together.
    pub total_up_to: Option<u64>,
    /// The most ranks.
    pub ranks_up_to: Option<u32>,
    /// The most ranks of a node.
    pub ranks_per_node_up_to: Option<u32>,
    /// Whether the ranks are a power of two.
    pub power_of_two: Option<bool>,
    /// Whether the operator commutes.
    pub commutative: Option<bool>,
    /// Whether the vector has an element for each rank of the greatest power of two among them.
    pub enough_elements: Option<bool>,
}

/// One rule.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Rule {
    /// Where it holds.
    pub bounds: Bounds,
    /// The algorithm, of the leaders where there are units.
    pub algorithm: Algorithm,
    /// Groups of ranks that combine among themselves first.
    pub units: Option<Arc<Units>>,
    /// Bytes of a segment.
    pub segment: u64,
    /// Pairs of messages under way at once.
    pub outstanding: u32,
}

/// The rules of one operation among certain ranks.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Selection {
    /// The rules, the first that fits is taken; where none does, the call stays as it is.
    pub rules: Vec<Rule>,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// The most of them on one node.
    pub ranks_per_node: u32,
}

/// Facts of a call that all ranks know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Facts {
    /// Bytes of the message, of the vector, or of the block of each rank; `None` where they may differ.
    pub bytes: Option<u64>,
    /// Bytes of all blocks together; `None` where a rank does not know them.
    pub total: Option<u64>,
    /// Elements of the vector, where there is one.
    pub elements: Option<u64>,
    /// Ranks of the communicator.
    pub ranks: u32,
    /// The most of them on one node.
    pub ranks_per_node: u32,
    /// Whether the operator, if there is one, commutes.
    pub commutative: bool,
}

impl Bounds {
    /// Whether they hold for a call; what a rank does not know is within no bound.
    pub fn hold(&self, facts: &Facts) -> bool {
        let within = |bound: Option<u64>, known: Option<u64>| {
            bound.is_none_or(|most| known.is_some_and(|known| known <= most))
        };
        let is = |asked: Option<bool>, is: bool| asked.is_none_or(|asked| asked == is);
        let core = 1_u64 << facts.ranks.max(1).ilog2();
        within(self.up_to, facts.bytes)
            && within(self.total_up_to, facts.total)
            && self.ranks_up_to.is_none_or(|most| facts.ranks <= most)
            && self.ranks_per_node_up_to.is_none_or(|most| facts.ranks_per_node <= most)
            && is(self.power_of_two, facts.ranks.is_power_of_two())
            && is(self.commutative, facts.commutative)
            && is(self.enough_elements, facts.elements.is_some_and(|elements| elements >= core))
    }
}
