//! The family `communicators`: what is made from groups, communicators and grids.
//!
//! A case has inputs and, in all its other fields, what a real library gave. The definitions of
//! [`mpi`] answer with fields of the same names, and every one of them must agree. MPI leaves
//! a choice in two places, and there either answer will do: the order of a merge whose sides say
//! the same, and what a rank but 0 gets from a sub-grid in which no dimension remains.

mod answer;
mod read;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

pub(super) use read::RawCase;

use super::{Mismatch, Wrong, distinct};
use mpi::cartesian::Dimension;
use mpi::envelope::Rank;
use mpi::group::{Choice, Group, Range};

/// The largest recorded job that is read.
pub const WORLD_MAX: u32 = 4096;

/// One recorded operation.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    /// What is made.
    pub operation: Operation,
    /// What may come out, all of it under each of these.
    pub outcomes: Vec<Map<String, Value>>,
}

/// What is made, and from what. Groups are of processes of the recorded job.
#[derive(Clone, Debug)]
pub enum Operation {
    /// A communicator of the first processes, one for each choice, is split.
    Split(Vec<Choice>),
    /// Two groups are joined, compared and translated.
    Sets {
        /// The first group.
        a: Group,
        /// The second group.
        b: Group,
        /// Ranks in `a` to translate to `b`; `None` among them is the null process.
        translate: Option<Vec<Option<Rank>>>,
        /// Ranks in `a` to keep.
        incl: Option<Vec<Rank>>,
        /// Ranks in `a` to leave out.
        excl: Option<Vec<Rank>>,
        /// Ranges in `a` to keep, and to leave out.
        ranges: Option<Vec<Range>>,
    },
    /// A communicator is made from the world and compared to it.
    Compare {
        /// Processes of the world.
        world: u32,
        /// How it is made.
        how: How,
        /// Its members.
        members: Group,
    },
    /// Two sides become an intercommunicator and are merged.
    Intercommunicator {
        /// The sides.
        sides: [Meeting; 2],
        /// The group of the peer communicator.
        peer: Group,
    },
    /// A grid.
    Grid {
        /// Ranks of its communicator.
        size: u32,
        /// Its dimensions.
        dimensions: Vec<Dimension>,
        /// Dimension and displacement of each shift.
        shifts: Vec<(usize, i32)>,
        /// Which dimensions remain in the sub-grid.
        remain: Vec<bool>,
    },
}

/// How a communicator is made from the world.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// It is the world itself.
    Same,
    /// It is a duplicate.
    Dup,
    /// From the group of all processes in order.
    CreateSame,
    /// From the group of some of them.
    Subset,
    /// From the group of all in another order.
    Reorder,
}

/// What one side brings into an intercommunicator.
#[derive(Clone, Debug)]
pub struct Meeting {
    /// Its group.
    pub group: Group,
    /// The rank of its leader.
    pub leader: Rank,
    /// Its flag in the merge.
    pub high: bool,
}

impl Case {
    /// What is wrong with the case.
    pub(super) fn mismatch(&self) -> Option<Mismatch> {
        let wrong = match self.operation.answer() {
            Ok(found) => difference(&self.outcomes, &found)?,
            Err(why) => Wrong::Stopped(why.to_string()),
        };
        Some(Mismatch { case: self.id, schedule: None, wrong })
    }
}

/// The first field in which `found` leaves all the outcomes that agreed with it until then.
pub(super) fn difference(
    outcomes: &[Map<String, Value>],
    found: &Map<String, Value>,
) -> Option<Wrong> {
    let outcomes: Vec<_> = outcomes.iter().map(leaves).collect();
    let found = leaves(found);
    let fields: BTreeSet<_> = outcomes.iter().chain([&found]).flat_map(|it| it.keys()).collect();
    let mut left: Vec<_> = outcomes.iter().collect();
    for field in fields {
        let found = found.get(field);
        let agreeing: Vec<_> =
            left.iter().filter(|outcome| outcome.get(field) == found).copied().collect();
        if agreeing.is_empty() {
            let expected = distinct(left.iter().map(|outcome| outcome.get(field).cloned()));
            return Some(Wrong::Differs { field: field.clone(), expected, found: found.cloned() });
        }
        left = agreeing;
    }
    None
}

/// The fields that hold no further ones, by their path; a list of plain values is one field.
fn leaves(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut leaves = Map::new();
    for (name, value) in fields {
        add_leaves(&mut leaves, name.clone(), value);
    }
    leaves
}

fn add_leaves(leaves: &mut Map<String, Value>, path: String, value: &Value) {
    let further: Vec<(String, &Value)> = match (value.as_object(), value.as_array()) {
        (Some(fields), _) => {
            fields.iter().map(|(name, value)| (format!("{path}.{name}"), value)).collect()
        }
        (_, Some(entries)) if entries.iter().any(|it| it.is_array() || it.is_object()) => {
            let entries = entries.iter().enumerate();
            entries.map(|(index, value)| (format!("{path}[{index}]"), value)).collect()
        }
        _ => Vec::new(),
    };
    if further.is_empty() {
        leaves.insert(path, value.clone());
    }
    for (path, value) in further {
        add_leaves(leaves, path, value);
    }
}

#[cfg(test)]
mod tests;
