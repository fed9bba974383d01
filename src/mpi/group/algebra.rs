//! The algebra of groups: set operations, selections by rank, comparison, translation of ranks.
//!
//! Every result keeps an order that MPI prescribes. Set operations follow the first group, and
//! `union` appends the further members of the second one in its order; `incl` follows the list of ranks,
//! `excl` the group.
//!
//! Source: MPI-3.1, Sec. 6.3.

use super::Group;
use crate::envelope::Rank;

/// How two groups compare.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Comparison {
    /// Same processes, same order.
    Ident,
    /// Same processes, another order.
    Similar,
    /// Other processes.
    Unequal,
}

/// Where a rank of one group stands in another one.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Translation {
    /// The same process has this rank there.
    Rank(Rank),
    /// `MPI_PROC_NULL` is the same in every group.
    ProcNull,
    /// `MPI_UNDEFINED`: the process is no member there.
    Undefined,
}

/// The ranks `first`, `first + stride`, and so on, as far as `last`.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Range {
    /// The first rank.
    pub first: Rank,
    /// No rank lies beyond this one; the last one may stop short of it.
    pub last: Rank,
    /// The step; negative where ranks fall.
    pub stride: i32,
}

/// Why ranks cannot be taken from a group.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum SelectionError {
    /// A rank is not in the group.
    #[error("entry {entry}: rank {} is out of range, the group has {size} processes", rank.0)]
    RankOutOfRange {
        /// Where in the list: of ranks, or of ranges.
        entry: usize,
        /// The rank.
        rank: Rank,
        /// Size of the group.
        size: u32,
    },
    /// A rank is selected twice.
    #[error("rank {} is selected twice, by entries {first} and {second}", rank.0)]
    RepeatedRank {
        /// The rank.
        rank: Rank,
        /// Where in the list first: of ranks, or of ranges.
        first: usize,
        /// Where again; the same entry only in a list of ranges.
        second: usize,
    },
    /// A range has stride 0.
    #[error("range {entry}: the stride is 0")]
    ZeroStride {
        /// Where in the list.
        entry: usize,
    },
    /// The stride of a range leads away from its last rank.
    #[error("range {entry}: stride {stride} does not lead from rank {} to {}", first.0, last.0)]
    WrongWay {
        /// Where in the list.
        entry: usize,
        /// First rank.
        first: Rank,
        /// Last rank.
        last: Rank,
        /// The stride.
        stride: i32,
    },
}

impl Range {
    /// The ranks in order.
    fn ranks(self, entry: usize) -> Result<impl Iterator<Item = u32>, SelectionError> {
        let Self { first, last, stride } = self;
        let leads = match stride {
            0 => return Err(SelectionError::ZeroStride { entry }),
            1.. => first <= last,
            ..0 => first >= last,
        };
        if !leads {
            return Err(SelectionError::WrongWay { entry, first, last, stride });
        }
        let steps = first.0.abs_diff(last.0) / stride.unsigned_abs();
        let rank = move |step| i64::from(first.0) + i64::from(stride) * i64::from(step);
        let between = "every rank lies between first and last";
        Ok((0..=steps).map(move |step| u32::try_from(rank(step)).expect(between)))
    }
}

impl Group {
    /// All processes of this group, then those that only `other` has, in its order.
    pub fn union(&self, other: &Self) -> Self {
        let added = other.members().iter().filter(|process| self.rank(**process).is_none());
        Self::distinct(self.members().iter().chain(added).copied().collect())
    }

    /// The processes of this group that `other` has too.
    pub fn intersection(&self, other: &Self) -> Self {
        self.filtered(|process| other.rank(process).is_some())
    }

    /// The processes of this group that `other` has not.
    pub fn difference(&self, other: &Self) -> Self {
        self.filtered(|process| other.rank(process).is_none())
    }

    /// The processes with these ranks, in the order of the list.
    ///
    /// # Errors
    ///
    /// A rank that is out of range or in the list twice.
    pub fn incl(&self, ranks: &[Rank]) -> Result<Self, SelectionError> {
        let mut selection = Selection::of(self);
        for (entry, rank) in ranks.iter().enumerate() {
            selection.take(entry, rank.0)?;
        }
        Ok(self.selected(&selection.ranks))
    }

    /// All other processes, in the order of the group.
    ///
    /// # Errors
    ///
    /// As [`Self::incl`].
    pub fn excl(&self, ranks: &[Rank]) -> Result<Self, SelectionError> {
        Ok(self.difference(&self.incl(ranks)?))
    }

    /// The processes in these ranges, one range after the other.
    ///
    /// # Errors
    ///
    /// A rank that is out of range or selected twice, a stride that is 0 or leads the wrong way.
    pub fn range_incl(&self, ranges: &[Range]) -> Result<Self, SelectionError> {
        let mut selection = Selection::of(self);
        for (entry, range) in ranges.iter().enumerate() {
            for rank in range.ranks(entry)? {
                selection.take(entry, rank)?;
            }
        }
        Ok(self.selected(&selection.ranks))
    }

    /// The processes outside these ranges, in the order of the group.
    ///
    /// # Errors
    ///
    /// As [`Self::range_incl`].
    pub fn range_excl(&self, ranges: &[Range]) -> Result<Self, SelectionError> {
        Ok(self.difference(&self.range_incl(ranges)?))
    }

    /// How this group compares to another one.
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.members() == other.members() {
            Comparison::Ident
        } else if self.size() == other.size() && self.is_subset(other) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// Whether `other` has every process of this group.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.members().iter().all(|process| other.rank(*process).is_some())
    }

    /// Where ranks of this group stand in `other`; `None` is `MPI_PROC_NULL`.
    ///
    /// # Errors
    ///
    /// A rank that is out of range here. A rank may stand in the list more than once.
    pub fn translate(
        &self,
        ranks: &[Option<Rank>],
        other: &Self,
    ) -> Result<Vec<Translation>, SelectionError> {
        let translated = |(entry, rank): (usize, &Option<Rank>)| {
            let Some(rank) = *rank else { return Ok(Translation::ProcNull) };
            let size = self.size();
            let outside = SelectionError::RankOutOfRange { entry, rank, size };
            let process = self.process(rank).ok_or(outside)?;
            Ok(other.rank(process).map_or(Translation::Undefined, Translation::Rank))
        };
        ranks.iter().enumerate().map(translated).collect()
    }

    fn filtered(&self, keeps: impl Fn(u32) -> bool) -> Self {
        Self::distinct(self.members().iter().copied().filter(|process| keeps(*process)).collect())
    }

    /// The group of processes that are known to be distinct.
    pub(super) fn distinct(members: Vec<u32>) -> Self {
        Self::new(members).expect("members of one group are distinct")
    }

    /// The processes with ranks that are known to be right.
    fn selected(&self, ranks: &[u32]) -> Self {
        Self::distinct(ranks.iter().map(|rank| self.members()[*rank as usize]).collect())
    }
}

/// Ranks selected so far, each with the entry that did it.
struct Selection {
    ranks: Vec<u32>,
    entry_of: Vec<Option<usize>>,
}

impl Selection {
    fn of(group: &Group) -> Self {
        Self { ranks: Vec::new(), entry_of: vec![None; group.members().len()] }
    }

    fn take(&mut self, entry: usize, rank: u32) -> Result<(), SelectionError> {
        let size = u32::try_from(self.entry_of.len()).expect("as large as a group");
        let Some(slot) = self.entry_of.get_mut(rank as usize) else {
            return Err(SelectionError::RankOutOfRange { entry, rank: Rank(rank), size });
        };
        if let Some(first) = *slot {
            return Err(SelectionError::RepeatedRank { rank: Rank(rank), first, second: entry });
        }
        *slot = Some(entry);
        self.ranks.push(rank);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
