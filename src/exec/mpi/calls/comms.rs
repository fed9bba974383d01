//! Communicators: the library makes and frees them, and tells who is in them.

use std::sync::Arc;

use super::{attributes, requests};
use crate::functions as mpi5;
use crate::mpi::args::To;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::objects::comms::Communicator;
use crate::mpi::rank_state::{Answer, RankState, Step, done};
use ::mpi::communicator::Comparison;
use ::mpi::envelope::Rank;
use ::mpi::group::Group;
use calls::arguments::Comm;
use protocols::call::{Call, CommCall, Reply};

/// Continuation with a new communicator, beside what all get.
type Settle = Box<dyn FnOnce(&mut RankState, &mut Asked<'_>, u64) -> Answer + Send>;

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Comm_rank => comm_rank(state, asked),
        F::Comm_size => comm_size(state, asked),
        F::Comm_remote_size => remote_size(state, asked),
        F::Comm_test_inter => {
            state.comm(asked.word(0)).map(|comm| comm.remote.is_some()).and_then(|is_inter| {
                asked.put_flag(1, is_inter);
                done()
            })
        }
        F::Comm_group => group_of(state, asked, |comm| Some(Arc::clone(&comm.group))),
        F::Comm_remote_group => group_of(state, asked, |comm| comm.remote.clone()),
        F::Comm_compare => compare(state, asked),
        F::Comm_set_name => set_name(state, asked),
        F::Comm_get_name => get_name(state, asked),
        F::Comm_dup => dup(state, asked, 1),
        F::Comm_dup_with_info => {
            let info = asked.word(1);
            state.infos.check(info).and_then(|()| dup(state, asked, 2))
        }
        F::Comm_idup => idup(state, asked, 1),
        F::Comm_idup_with_info => {
            let info = asked.word(1);
            state.infos.check(info).and_then(|()| idup(state, asked, 2))
        }
        F::Comm_split => split(state, asked),
        F::Comm_split_type => split_type(state, asked),
        F::Comm_create => create(state, asked),
        F::Comm_create_group => create_group(state, asked),
        F::Intercomm_create => intercomm(state, asked),
        F::Intercomm_merge => merge(state, asked),
        F::Comm_free | F::Comm_disconnect => free(state, asked),
        F::Comm_get_parent => {
            asked.put_word(0, mpi5::COMM_NULL);
            done()
        }
        _ => return None,
    })
}

fn comm_rank(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let me = state.rank;
    let rank = state.comm(asked.word(0))?.group.rank(me);
    asked.put_int(1, rank.map_or(mpi5::PROC_NULL, |rank| rank.0.cast_signed()));
    done()
}

fn comm_size(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let size = state.comm(asked.word(0))?.size();
    asked.put_int(1, size.cast_signed());
    done()
}

fn remote_size(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let Some(remote) = &state.comm(asked.word(0))?.remote else {
        return Err(Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"));
    };
    let size = remote.size();
    asked.put_int(1, size.cast_signed());
    done()
}

fn group_of(
    state: &mut RankState,
    asked: &mut Asked<'_>,
    which: impl Fn(&Communicator) -> Option<Arc<Group>>,
) -> Answer {
    let group = which(state.comm(asked.word(0))?);
    let group = group.ok_or_else(|| Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"))?;
    let handle = state.groups.add(group);
    asked.put_word(1, handle);
    done()
}

fn compare(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (a, b) = (state.comm(asked.word(0))?.clone(), state.comm(asked.word(1))?.clone());
    let groups = |a: &Group, b: &Group| Comparison::from(a.compare(b));
    let result = if a.number == b.number {
        mpi5::IDENT
    } else {
        let own = groups(&a.group, &b.group);
        let both = match (&a.remote, &b.remote) {
            (None, None) => [own, own],
            (Some(a), Some(b)) => [own, groups(a, b)],
            (_, _) => [Comparison::Unequal; 2],
        };
        if both.contains(&Comparison::Unequal) {
            mpi5::UNEQUAL
        } else if both.contains(&Comparison::Similar) {
            mpi5::SIMILAR
        } else {
            mpi5::CONGRUENT
        }
    };
    asked.put_int(2, result);
    done()
}

fn set_name(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let name = asked.text(1)?;
    state.comm(asked.word(0))?;
    state.comms.get_mut(asked.word(0))?.name = name;
    done()
}

fn get_name(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    if asked.word(0) == mpi5::COMM_NULL {
        asked.put_text((1, 2), "MPI_COMM_NULL", 128);
        return done();
    }
    let name = state.comm(asked.word(0))?.name.clone();
    asked.put_text((1, 2), &name, 128);
    done()
}

/// The library makes a communicator, and argument `at` gets its handle.
pub(super) fn makes(
    state: &mut RankState,
    at: usize,
    parent: u64,
    call: impl FnOnce(Comm) -> CommCall,
    settle: impl FnOnce(&mut RankState, &mut Asked<'_>, u64) -> Answer + Send + 'static,
) -> Answer {
    let number = state.comms.free()?;
    let settle: Settle = Box::new(settle);
    Ok(Step::calls(Call::Communicators(call(number)), move |_, _, _| {
        Ok(Step::calls(Call::Members { comm: number }, move |state, asked, reply| {
            let Reply::Numbers(members) = reply else { return done() };
            if members.is_empty() {
                // Of an intercommunicator the other side may have none of this colour.
                asked.put_word(at, mpi5::COMM_NULL);
                return done();
            }
            let handle = state.comms.add_members(number, &members);
            state.errors.inherit(handle, parent);
            asked.put_word(at, handle);
            settle(state, asked, handle)
        }))
    }))
}

fn dup(state: &mut RankState, asked: &mut Asked<'_>, at: usize) -> Answer {
    let parent = asked.word(0);
    let comm = state.comm(parent)?.number;
    let call = |new| CommCall::Dup { comm, new };
    makes(state, at, parent, call, move |state, asked, handle| {
        let settle = move |state: &mut RankState, asked: &mut Asked<'_>, copied| {
            if let Err(fault) = copied {
                asked.put_word(at, mpi5::COMM_NULL);
                return Err(fault);
            }
            state.topologies.inherit(handle, parent);
            if at == 2 {
                state.infos.hint(handle, asked.word(1))?;
            }
            done()
        };
        attributes::copy(state, asked, (Kind::Comm, parent), handle, Box::new(settle))
    })
}

/// The duplicate has its handle at once: its groups are those of its parent.
fn idup(state: &mut RankState, asked: &mut Asked<'_>, at: usize) -> Answer {
    let parent = asked.word(0);
    let new = state.comms.free()?;
    let old = state.comm(parent)?.clone();
    let comm = old.number;
    let handle = state.comms.add(Communicator { number: new, name: String::new(), ..old });
    state.errors.inherit(handle, parent);
    state.topologies.inherit(handle, parent);
    let begin = move |state: &mut RankState, asked: &mut Asked<'_>, copied| {
        if let Err(fault) = copied {
            asked.put_word(at, mpi5::COMM_NULL);
            return Err(fault);
        }
        if at == 2 {
            state.infos.hint(handle, asked.word(1))?;
        }
        asked.put_word(at, handle);
        let request = state.requests.open(parent);
        let call = Call::Communicators(CommCall::Idup { comm, new, request });
        Ok(requests::begins(
            &mut state.requests,
            asked,
            To::new(asked.word(at + 1)),
            request,
            call,
            Vec::new(),
        ))
    };
    attributes::copy(state, asked, (Kind::Comm, parent), handle, Box::new(begin))
}

fn split(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (parent, color, key) = (asked.word(0), asked.int(1), asked.int(2));
    let comm = state.comm(parent)?.number;
    if color == mpi5::UNDEFINED {
        let call = CommCall::Split { comm, color: None, key, new: state.comms.free()? };
        return Ok(none_made(call, 3));
    }
    if color < 0 {
        return Err(Fault::new(mpi5::ERR_ARG, format!("a colour of {color}")));
    }
    let color = Some(color);
    makes(state, 3, parent, |new| CommCall::Split { comm, color, key, new }, |_, _, _| done())
}

fn split_type(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (parent, which, key) = (asked.word(0), asked.int(1), asked.int(2));
    let comm = state.intracomm(parent)?.number;
    let takes_part = match which {
        mpi5::COMM_TYPE_SHARED => true,
        mpi5::UNDEFINED => false,
        other => {
            return Err(Fault::not_carried(format!(
                "the simulator splits by MPI_COMM_TYPE_SHARED, not by type {other}"
            )));
        }
    };
    if !takes_part {
        let new = state.comms.free()?;
        return Ok(none_made(CommCall::SplitShared { comm, takes_part, key, new }, 4));
    }
    let call = |new| CommCall::SplitShared { comm, takes_part, key, new };
    makes(state, 4, parent, call, |_, _, _| done())
}

fn create(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let parent = asked.word(0);
    let comm = state.comm(parent)?;
    let (number, is_inter) = (comm.number, comm.remote.is_some());
    let group = state.groups.get(asked.word(1))?;
    let members = state.comms.get(parent)?.ranks_of(&group)?;
    if is_inter {
        // Those of both sides that are in the groups are one part of a split, in the order of the groups.
        let key = group.rank(state.rank).map(|rank| rank.0.cast_signed());
        let (color, key) = (key.map(|_| 0), key.unwrap_or_default());
        let call = |new| CommCall::Split { comm: number, color, key, new };
        return match color {
            Some(_) => makes(state, 2, parent, call, |_, _, _| done()),
            None => Ok(none_made(call(state.comms.free()?), 2)),
        };
    }
    let call = |new| CommCall::Create { comm: number, group: members, new };
    if group.rank(state.rank).is_none() {
        return Ok(none_made(call(state.comms.free()?), 2));
    }
    makes(state, 2, parent, call, |_, _, _| done())
}

fn create_group(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (parent, tag) = (asked.word(0), asked.int(2));
    let comm = state.intracomm(parent)?.number;
    let group = state.groups.get(asked.word(1))?;
    let members = state.comms.get(parent)?.ranks_of(&group)?;
    if group.rank(state.rank).is_none() {
        asked.put_word(3, mpi5::COMM_NULL);
        return done();
    }
    let tag = tag.min(protocols::call::GROUP_TAG_MAX);
    let call = |new| CommCall::CreateGroup { comm, group: members, tag, new };
    makes(state, 3, parent, call, |_, _, _| done())
}

fn intercomm(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (parent, leader) = (asked.word(0), asked.int(1));
    let me = state.rank;
    let comm = state.intracomm(parent)?;
    let (number, rank, size) = (comm.number, comm.group.rank(me), comm.size());
    let Some(leader) = u32::try_from(leader).ok().filter(|leader| *leader < size).map(Rank) else {
        return Err(Fault::new(mpi5::ERR_RANK, format!("rank {leader} of {size} leads none")));
    };
    let (peer, remote_leader, tag) = if rank == Some(leader) {
        let peer = state.comm(asked.word(2))?;
        let (peer, peers) = (peer.number, peer.peers());
        let remote = u32::try_from(asked.int(3)).ok().filter(|remote| *remote < peers);
        let remote = remote.ok_or_else(|| {
            Fault::new(mpi5::ERR_RANK, format!("rank {} leads no group", asked.int(3)))
        })?;
        (peer, Rank(remote), asked.int(4))
    } else {
        (Comm(0), Rank(0), 0)
    };
    let call = |new| CommCall::Intercomm { comm: number, leader, peer, remote_leader, tag, new };
    makes(state, 5, parent, call, |_, _, _| done())
}

fn merge(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (parent, high) = (asked.word(0), asked.int(1) != 0);
    let comm = state.comm(parent)?;
    let number = comm.number;
    if comm.remote.is_none() {
        return Err(Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"));
    }
    let call = |new| CommCall::Merge { comm: number, high, new };
    makes(state, 2, parent, call, |_, _, _| done())
}

fn free(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    state.comm(handle)?;
    if handle == mpi5::COMM_WORLD || handle == mpi5::COMM_SELF {
        return Err(Fault::new(mpi5::ERR_COMM, "a predefined communicator cannot be freed"));
    }
    let freed = move |state: &mut RankState, asked: &mut Asked<'_>| {
        state.comms.get_mut(handle)?.is_freed = true;
        state.errors.forget(handle);
        state.infos.forget(handle);
        state.topologies.forget(handle);
        asked.put_word(0, mpi5::COMM_NULL);
        release(state)
    };
    attributes::delete_all(state, asked, (Kind::Comm, handle), Box::new(freed))
}

/// The library frees the communicators that the program has freed and that no operation is over any more.
fn release(state: &RankState) -> Answer {
    let idle = state.comms.idle(|handle| state.requests.are_over(handle));
    let Some((handle, comm)) = idle else { return done() };
    Ok(Step::calls(Call::Communicators(CommCall::Free { comm }), move |state, _, _| {
        state.comms.remove(handle);
        release(state)
    }))
}

/// A call that gives this rank no communicator.
pub(super) fn none_made(call: CommCall, at: usize) -> Step {
    Step::calls(Call::Communicators(call), move |_, asked, _| {
        asked.put_word(at, mpi5::COMM_NULL);
        done()
    })
}
