//! Groups of processes.

use std::sync::Arc;

use super::{Answer, Asked, Client, Fault, Table, done, mpi5};
use ::mpi::envelope::Rank;
use ::mpi::group::{Comparison, Group, Range, SelectionError};

/// The groups of a rank.
#[derive(Debug)]
pub(super) struct Groups {
    made: Table<Arc<Group>>,
    empty: Arc<Group>,
}

impl Groups {
    pub(super) fn new() -> Self {
        Self { made: Table::new(5), empty: Arc::new(Group::world(0)) }
    }

    /// A handle for a group.
    pub(super) fn add(&mut self, group: Arc<Group>) -> u64 {
        if group.size() == 0 { mpi5::GROUP_EMPTY } else { self.made.add(group) }
    }
}

impl Client {
    /// The group of a handle.
    pub(super) fn group(&self, handle: u64) -> Result<Arc<Group>, Fault> {
        let group = match handle {
            mpi5::GROUP_EMPTY => Some(&self.groups.empty),
            other => self.groups.made.get(other),
        };
        group
            .cloned()
            .ok_or_else(|| Fault::new(mpi5::ERR_GROUP, format!("{handle:#x} is no group")))
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn group_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Group_size => self.group(asked.word(0)).and_then(|group| {
                asked.put_int(1, group.size().cast_signed());
                done()
            }),
            F::Group_rank => self.group(asked.word(0)).and_then(|group| {
                let rank = group.rank(self.rank);
                asked.put_int(1, rank.map_or(mpi5::UNDEFINED, |rank| rank.0.cast_signed()));
                done()
            }),
            F::Group_compare => self.compare_groups(asked),
            F::Group_translate_ranks => self.translate(asked),
            F::Group_union => self.of_two(asked, Group::union),
            F::Group_intersection => self.of_two(asked, Group::intersection),
            F::Group_difference => self.of_two(asked, Group::difference),
            F::Group_incl => self.selected(asked, Group::incl),
            F::Group_excl => self.selected(asked, Group::excl),
            F::Group_range_incl => self.ranges(asked, Group::range_incl),
            F::Group_range_excl => self.ranges(asked, Group::range_excl),
            F::Group_free => self.free_group(asked),
            _ => return None,
        })
    }

    fn compare_groups(&self, asked: &mut Asked<'_>) -> Answer {
        let (a, b) = (self.group(asked.word(0))?, self.group(asked.word(1))?);
        let result = match a.compare(&b) {
            Comparison::Ident => mpi5::IDENT,
            Comparison::Similar => mpi5::SIMILAR,
            Comparison::Unequal => mpi5::UNEQUAL,
        };
        asked.put_int(2, result);
        done()
    }

    fn translate(&self, asked: &mut Asked<'_>) -> Answer {
        let (from, to) = (self.group(asked.word(0))?, self.group(asked.word(3))?);
        let length = asked.length(1)?;
        let mut translated = Vec::with_capacity(length);
        for rank in asked.ints(2, length)? {
            translated.push(if rank == mpi5::PROC_NULL {
                mpi5::PROC_NULL
            } else {
                let process = u32::try_from(rank).ok().and_then(|rank| from.process(Rank(rank)));
                let Some(process) = process else { return Err(no_rank(rank, &from)) };
                to.rank(process).map_or(mpi5::UNDEFINED, |rank| rank.0.cast_signed())
            });
        }
        asked.put_ints(4, translated);
        done()
    }

    fn made_group(&mut self, asked: &mut Asked<'_>, at: usize, group: Group) -> Answer {
        let handle = self.groups.add(Arc::new(group));
        asked.put_word(at, handle);
        done()
    }

    fn of_two(&mut self, asked: &mut Asked<'_>, join: fn(&Group, &Group) -> Group) -> Answer {
        let (a, b) = (self.group(asked.word(0))?, self.group(asked.word(1))?);
        self.made_group(asked, 2, join(&a, &b))
    }

    fn selected(
        &mut self,
        asked: &mut Asked<'_>,
        select: fn(&Group, &[Rank]) -> Result<Group, SelectionError>,
    ) -> Answer {
        let group = self.group(asked.word(0))?;
        let length = asked.length(1)?;
        let ranks = asked.ints(2, length)?;
        let ranks = ranks.into_iter().map(|rank| rank_of(rank, &group));
        let ranks = ranks.collect::<Result<Vec<_>, _>>()?;
        let selected = select(&group, &ranks).map_err(wrong_ranks)?;
        self.made_group(asked, 3, selected)
    }

    fn ranges(
        &mut self,
        asked: &mut Asked<'_>,
        select: fn(&Group, &[Range]) -> Result<Group, SelectionError>,
    ) -> Answer {
        let group = self.group(asked.word(0))?;
        let length = asked.length(1)?;
        let numbers = asked.ints(2, 3 * length)?;
        let range = |[first, last, stride]: &[i32; 3]| {
            let first = rank_of(*first, &group)?;
            // The last one may lie beyond the group, where the stride stops short of it.
            let last = Rank(u32::try_from(*last).map_err(|_| no_rank(*last, &group))?);
            Ok(Range { first, last, stride: *stride })
        };
        let ranges = numbers.as_chunks::<3>().0.iter().map(range);
        let ranges = ranges.collect::<Result<Vec<_>, Fault>>()?;
        let selected = select(&group, &ranges).map_err(wrong_ranks)?;
        self.made_group(asked, 3, selected)
    }

    fn free_group(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        self.group(handle)?;
        self.groups.made.remove(handle);
        asked.put_word(0, mpi5::GROUP_NULL);
        done()
    }
}

fn rank_of(rank: i32, group: &Group) -> Result<Rank, Fault> {
    let known = u32::try_from(rank).ok().filter(|rank| *rank < group.size());
    known.map(Rank).ok_or_else(|| no_rank(rank, group))
}

fn no_rank(rank: i32, group: &Group) -> Fault {
    Fault::new(mpi5::ERR_RANK, format!("rank {rank} of {} does not exist", group.size()))
}

fn wrong_ranks(error: SelectionError) -> Fault {
    let class = match error {
        SelectionError::RankOutOfRange { .. } | SelectionError::RepeatedRank { .. } => {
            mpi5::ERR_RANK
        }
        SelectionError::ZeroStride { .. } | SelectionError::WrongWay { .. } => mpi5::ERR_ARG,
    };
    Fault::new(class, error.to_string())
}
