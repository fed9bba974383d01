//! Groups of processes.

use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::groups::Groups;
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::envelope::Rank;
use ::mpi::group::{Comparison, Group, Range, SelectionError};

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    let groups = &mut state.groups;
    Some(match asked.function {
        F::Group_size => groups.get(asked.word(0)).and_then(|group| {
            asked.put_int(1, group.size().cast_signed());
            done()
        }),
        F::Group_rank => groups.get(asked.word(0)).and_then(|group| {
            let rank = group.rank(state.rank);
            asked.put_int(1, rank.map_or(mpi5::UNDEFINED, |rank| rank.0.cast_signed()));
            done()
        }),
        F::Group_compare => compare(groups, asked),
        F::Group_translate_ranks => translate(groups, asked),
        F::Group_union => of_two(groups, asked, Group::union),
        F::Group_intersection => of_two(groups, asked, Group::intersection),
        F::Group_difference => of_two(groups, asked, Group::difference),
        F::Group_incl => selected(groups, asked, Group::incl),
        F::Group_excl => selected(groups, asked, Group::excl),
        F::Group_range_incl => ranges(groups, asked, Group::range_incl),
        F::Group_range_excl => ranges(groups, asked, Group::range_excl),
        F::Group_free => free(groups, asked),
        _ => return None,
    })
}

fn compare(groups: &Groups, asked: &mut Asked<'_>) -> Answer {
    let (a, b) = (groups.get(asked.word(0))?, groups.get(asked.word(1))?);
    let result = match a.compare(&b) {
        Comparison::Ident => mpi5::IDENT,
        Comparison::Similar => mpi5::SIMILAR,
        Comparison::Unequal => mpi5::UNEQUAL,
    };
    asked.put_int(2, result);
    done()
}

fn translate(groups: &Groups, asked: &mut Asked<'_>) -> Answer {
    let (from, to) = (groups.get(asked.word(0))?, groups.get(asked.word(3))?);
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

fn made(groups: &mut Groups, asked: &mut Asked<'_>, at: usize, group: Group) -> Answer {
    let handle = groups.add(Arc::new(group));
    asked.put_word(at, handle);
    done()
}

fn of_two(groups: &mut Groups, asked: &mut Asked<'_>, join: fn(&Group, &Group) -> Group) -> Answer {
    let (a, b) = (groups.get(asked.word(0))?, groups.get(asked.word(1))?);
    made(groups, asked, 2, join(&a, &b))
}

fn selected(
    groups: &mut Groups,
    asked: &mut Asked<'_>,
    select: fn(&Group, &[Rank]) -> Result<Group, SelectionError>,
) -> Answer {
    let group = groups.get(asked.word(0))?;
    let length = asked.length(1)?;
    let ranks = asked.ints(2, length)?;
    let ranks = ranks.into_iter().map(|rank| rank_of(rank, &group));
    let ranks = ranks.collect::<Result<Vec<_>, _>>()?;
    let selected = select(&group, &ranks).map_err(wrong_ranks)?;
    made(groups, asked, 3, selected)
}

fn ranges(
    groups: &mut Groups,
    asked: &mut Asked<'_>,
    select: fn(&Group, &[Range]) -> Result<Group, SelectionError>,
) -> Answer {
    let group = groups.get(asked.word(0))?;
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
    made(groups, asked, 3, selected)
}

fn free(groups: &mut Groups, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    groups.free(handle)?;
    asked.put_word(0, mpi5::GROUP_NULL);
    done()
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
