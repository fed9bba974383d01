//! Groups of processes.

use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle, length};
use crate::mpi::families::Groups as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::groups::Groups;
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::envelope::Rank;
use ::mpi::group::{Comparison, Group, Range, SelectionError};

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let groups = &mut state.groups;
    match call {
        F::Group_size(of) => {
            let group = groups.get(of.group)?;
            frame.put_int(of.size, group.size().cast_signed());
            done()
        }
        F::Group_rank(of) => {
            let rank = groups.get(of.group)?.rank(state.rank);
            frame.put_int(of.rank, rank.map_or(mpi5::UNDEFINED, |rank| rank.0.cast_signed()));
            done()
        }
        F::Group_compare(of) => compare(groups, frame, of),
        F::Group_translate_ranks(of) => translate(groups, frame, of),
        F::Group_union(of) => of_two(groups, frame, of, Group::union),
        F::Group_intersection(of) => of_two(groups, frame, of, Group::intersection),
        F::Group_difference(of) => of_two(groups, frame, of, Group::difference),
        F::Group_incl(of) => selected(groups, frame, of, Group::incl),
        F::Group_excl(of) => selected(groups, frame, of, Group::excl),
        F::Group_range_incl(of) => ranges(groups, frame, of, Group::range_incl),
        F::Group_range_excl(of) => ranges(groups, frame, of, Group::range_excl),
        F::Group_free(of) => free(groups, frame, of.group),
    }
}

fn compare(groups: &Groups, frame: &mut Frame<'_>, of: args::Group_compare) -> Answer {
    let (a, b) = (groups.get(of.group1)?, groups.get(of.group2)?);
    let result = match a.compare(&b) {
        Comparison::Ident => mpi5::IDENT,
        Comparison::Similar => mpi5::SIMILAR,
        Comparison::Unequal => mpi5::UNEQUAL,
    };
    frame.put_int(of.result, result);
    done()
}

fn translate(groups: &Groups, frame: &mut Frame<'_>, of: args::Group_translate_ranks) -> Answer {
    let (from, to) = (groups.get(of.group1)?, groups.get(of.group2)?);
    let length = length(of.n)?;
    let mut translated = Vec::with_capacity(length);
    for rank in frame.ints(of.ranks1, length)? {
        translated.push(if rank == mpi5::PROC_NULL {
            mpi5::PROC_NULL
        } else {
            let process = u32::try_from(rank).ok().and_then(|rank| from.process(Rank(rank)));
            let Some(process) = process else { return Err(no_rank(rank, &from)) };
            to.rank(process).map_or(mpi5::UNDEFINED, |rank| rank.0.cast_signed())
        });
    }
    frame.put_ints(of.ranks2, translated);
    done()
}

fn made(groups: &mut Groups, frame: &mut Frame<'_>, to: To<handle::Group>, group: Group) -> Answer {
    let handle = groups.add(Arc::new(group));
    frame.put_handle(to, handle);
    done()
}

fn of_two(
    groups: &mut Groups,
    frame: &mut Frame<'_>,
    of: args::Group_union,
    join: fn(&Group, &Group) -> Group,
) -> Answer {
    let (a, b) = (groups.get(of.group1)?, groups.get(of.group2)?);
    made(groups, frame, of.newgroup, join(&a, &b))
}

fn selected(
    groups: &mut Groups,
    frame: &mut Frame<'_>,
    of: args::Group_incl,
    select: fn(&Group, &[Rank]) -> Result<Group, SelectionError>,
) -> Answer {
    let group = groups.get(of.group)?;
    let ranks = frame.ints(of.ranks, length(of.n)?)?;
    let ranks = ranks.into_iter().map(|rank| rank_of(rank, &group));
    let ranks = ranks.collect::<Result<Vec<_>, _>>()?;
    let selected = select(&group, &ranks).map_err(wrong_ranks)?;
    made(groups, frame, of.newgroup, selected)
}

fn ranges(
    groups: &mut Groups,
    frame: &mut Frame<'_>,
    of: args::Group_range_incl,
    select: fn(&Group, &[Range]) -> Result<Group, SelectionError>,
) -> Answer {
    let group = groups.get(of.group)?;
    let numbers = frame.ints(of.ranges, 3 * length(of.n)?)?;
    let range = |[first, last, stride]: &[i32; 3]| {
        let first = rank_of(*first, &group)?;
        // The last one may lie beyond the group, where the stride stops short of it.
        let last = Rank(u32::try_from(*last).map_err(|_| no_rank(*last, &group))?);
        Ok(Range { first, last, stride: *stride })
    };
    let ranges = numbers.as_chunks::<3>().0.iter().map(range);
    let ranges = ranges.collect::<Result<Vec<_>, Fault>>()?;
    let selected = select(&group, &ranges).map_err(wrong_ranks)?;
    made(groups, frame, of.newgroup, selected)
}

fn free(groups: &mut Groups, frame: &mut Frame<'_>, variable: To<handle::Group>) -> Answer {
    groups.free(frame.handle(variable)?)?;
    frame.put_handle(variable, mpi5::GROUP_NULL);
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
