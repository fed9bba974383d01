//! Split: a group falls into parts by color, each ordered by key.
//!
//! Ranks with equal keys keep the order they had. Parts come by rising color, which is how their
//! communicators are numbered.
//!
//! Source: MPI-3.1, Sec. 6.4.2 (`MPI_Comm_split`).

use std::collections::BTreeMap;

use super::Group;
use crate::envelope::Rank;

/// The color and key of one rank in a split.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Choice {
    /// Its part; `None` is `MPI_UNDEFINED`, in no part at all.
    pub color: Option<i32>,
    /// Where it wants to stand there.
    pub key: i32,
}

/// The ranks that said the same color.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Part {
    /// The color.
    pub color: i32,
    /// Its processes in their new order.
    pub group: Group,
}

/// Why a group cannot be split.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SplitError {
    /// The choices are not one for each rank.
    #[error("{found} choices for a group of {size} processes; each rank has one")]
    ChoiceCount {
        /// How many there are.
        found: usize,
        /// Size of the group.
        size: u32,
    },
    /// A color is negative.
    #[error("rank {}: color {color} is neither undefined nor 0 or more", rank.0)]
    NegativeColor {
        /// The rank that gives the color.
        rank: Rank,
        /// The color.
        color: i32,
    },
}

impl Group {
    /// The parts of a split, by rising color; `choices[rank]` is the choice of each rank.
    ///
    /// # Errors
    ///
    /// Choices that are not one for each rank, or a negative color.
    pub fn split(&self, choices: &[Choice]) -> Result<Vec<Part>, SplitError> {
        if choices.len() != self.members().len() {
            return Err(SplitError::ChoiceCount { found: choices.len(), size: self.size() });
        }
        let mut parts: BTreeMap<i32, Vec<(i32, u32)>> = BTreeMap::new();
        for ((choice, process), rank) in choices.iter().zip(self.members()).zip(0..) {
            match choice.color {
                None => {}
                Some(color @ ..0) => {
                    return Err(SplitError::NegativeColor { rank: Rank(rank), color });
                }
                Some(color) => parts.entry(color).or_default().push((choice.key, *process)),
            }
        }
        Ok(parts.into_iter().map(|(color, keyed)| Part::ordered(color, keyed)).collect())
    }
}

impl Part {
    /// Processes with their keys, given in the order of their old ranks.
    fn ordered(color: i32, mut keyed: Vec<(i32, u32)>) -> Self {
        keyed.sort_by_key(|(key, _)| *key); // stable: ties stay in the order of old ranks
        let members = keyed.into_iter().map(|(_, process)| process).collect();
        Self { color, group: Group::distinct(members) }
    }
}

#[cfg(test)]
mod tests;
