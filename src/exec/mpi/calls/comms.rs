//! Communicators: the library makes and frees them, and tells who is in them.

use std::sync::Arc;

use super::{attributes, requests};
use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle};
use crate::mpi::families::Comms as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::objects::comms::Communicator;
use crate::mpi::rank_state::{Answer, NextStep, RankState, done};
use ::mpi::communicator::Comparison;
use ::mpi::envelope::Rank;
use ::mpi::group::Group;
use calls::arguments::Comm;
use protocols::call::{Call, CommCall, Reply};

/// Continuation with a new communicator, beside what all get.
type Settle = Box<dyn FnOnce(&mut RankState, &mut Frame<'_>, u64) -> Answer + Send>;

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Comm_rank(of) => comm_rank(state, frame, of),
        F::Comm_size(of) => comm_size(state, frame, of),
        F::Comm_remote_size(of) => remote_size(state, frame, of),
        F::Comm_test_inter(of) => {
            let is_inter = state.comm(of.comm)?.remote.is_some();
            frame.put_flag(of.flag, is_inter);
            done()
        }
        F::Comm_group(of) => group_of(state, frame, of, |comm| Some(Arc::clone(&comm.group))),
        F::Comm_remote_group(of) => group_of(state, frame, of, |comm| comm.remote.clone()),
        F::Comm_compare(of) => compare(state, frame, of),
        F::Comm_set_name(of) => set_name(state, frame, of),
        F::Comm_get_name(of) => get_name(state, frame, of),
        F::Comm_dup(of) => dup(state, of.comm, None, of.newcomm),
        F::Comm_dup_with_info(of) => {
            state.infos.check(of.info)?;
            dup(state, of.comm, Some(of.info), of.newcomm)
        }
        F::Comm_idup(of) => idup(state, frame, of.comm, None, (of.newcomm, of.request)),
        F::Comm_idup_with_info(of) => {
            state.infos.check(of.info)?;
            idup(state, frame, of.comm, Some(of.info), (of.newcomm, of.request))
        }
        F::Comm_split(of) => split(state, of),
        F::Comm_split_type(of) => split_type(state, of),
        F::Comm_create(of) => create(state, of),
        F::Comm_create_group(of) => create_group(state, frame, of),
        F::Intercomm_create(of) => intercomm(state, of),
        F::Intercomm_merge(of) => merge(state, of),
        F::Comm_free(of) | F::Comm_disconnect(of) => free(state, frame, of.comm),
        F::Comm_get_parent(of) => {
            frame.put_handle(of.parent, mpi5::COMM_NULL);
            done()
        }
    }
}

fn comm_rank(state: &mut RankState, frame: &mut Frame<'_>, of: args::Comm_rank) -> Answer {
    let me = state.rank;
    let rank = state.comm(of.comm)?.group.rank(me);
    frame.put_int(of.rank, rank.map_or(mpi5::PROC_NULL, |rank| rank.0.cast_signed()));
    done()
}

fn comm_size(state: &mut RankState, frame: &mut Frame<'_>, of: args::Comm_size) -> Answer {
    let size = state.comm(of.comm)?.size();
    frame.put_int(of.size, size.cast_signed());
    done()
}

fn remote_size(state: &mut RankState, frame: &mut Frame<'_>, of: args::Comm_remote_size) -> Answer {
    let Some(remote) = &state.comm(of.comm)?.remote else {
        return Err(Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"));
    };
    let size = remote.size();
    frame.put_int(of.size, size.cast_signed());
    done()
}

fn group_of(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Comm_group,
    which: impl Fn(&Communicator) -> Option<Arc<Group>>,
) -> Answer {
    let group = which(state.comm(of.comm)?);
    let group = group.ok_or_else(|| Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"))?;
    let handle = state.groups.add(group);
    frame.put_handle(of.group, handle);
    done()
}

fn compare(state: &mut RankState, frame: &mut Frame<'_>, of: args::Comm_compare) -> Answer {
    let (a, b) = (state.comm(of.comm1)?.clone(), state.comm(of.comm2)?.clone());
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
    frame.put_int(of.result, result);
    done()
}

fn set_name(state: &mut RankState, frame: &mut Frame<'_>, of: args::Comm_set_name) -> Answer {
    let name = frame.text(of.comm_name)?;
    state.comm(of.comm)?;
    state.comms.get_mut(of.comm)?.name = name;
    done()
}

fn get_name(state: &mut RankState, frame: &mut Frame<'_>, of: args::Comm_get_name) -> Answer {
    let to = (of.comm_name, of.resultlen);
    if of.comm.0 == mpi5::COMM_NULL {
        frame.put_text(to, "MPI_COMM_NULL", 128);
        return done();
    }
    let name = state.comm(of.comm)?.name.clone();
    frame.put_text(to, &name, 128);
    done()
}

/// The library makes a communicator, and the process gets its handle.
pub(super) fn makes(
    state: &mut RankState,
    to: To<handle::Comm>,
    parent: handle::Comm,
    call: impl FnOnce(Comm) -> CommCall,
    settle: impl FnOnce(&mut RankState, &mut Frame<'_>, u64) -> Answer + Send + 'static,
) -> Answer {
    let number = state.comms.free()?;
    let settle: Settle = Box::new(settle);
    Ok(NextStep::calls(Call::Communicators(call(number)), move |_, _, _| {
        Ok(NextStep::calls(Call::Members { comm: number }, move |state, frame, reply| {
            let Reply::Numbers(members) = reply else { return done() };
            if members.is_empty() {
                // Of an intercommunicator the other side may have none of this colour.
                frame.put_handle(to, mpi5::COMM_NULL);
                return done();
            }
            let handle = state.comms.add_members(number, &members);
            state.errors.inherit(handle, parent.0);
            frame.put_handle(to, handle);
            settle(state, frame, handle)
        }))
    }))
}

/// A duplicate, with hints where there are any.
fn dup(
    state: &mut RankState,
    parent: handle::Comm,
    info: Option<handle::Info>,
    to: To<handle::Comm>,
) -> Answer {
    let comm = state.comm(parent)?.number;
    let call = |new| CommCall::Dup { comm, new };
    makes(state, to, parent, call, move |state, frame, handle| {
        let settle = move |state: &mut RankState, frame: &mut Frame<'_>, copied| {
            if let Err(fault) = copied {
                frame.put_handle(to, mpi5::COMM_NULL);
                return Err(fault);
            }
            state.topologies.inherit(handle, parent.0);
            if let Some(info) = info {
                state.infos.hint(handle, info)?;
            }
            done()
        };
        attributes::copy(state, frame, (Kind::Comm, parent.0), handle, Box::new(settle))
    })
}

/// The duplicate has its handle at once: its groups are those of its parent.
fn idup(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    parent: handle::Comm,
    info: Option<handle::Info>,
    (to, to_request): (To<handle::Comm>, To<handle::Request>),
) -> Answer {
    let new = state.comms.free()?;
    let old = state.comm(parent)?.clone();
    let comm = old.number;
    let handle = state.comms.add(Communicator { number: new, name: String::new(), ..old });
    state.errors.inherit(handle, parent.0);
    state.topologies.inherit(handle, parent.0);
    let begin = move |state: &mut RankState, frame: &mut Frame<'_>, copied| {
        if let Err(fault) = copied {
            frame.put_handle(to, mpi5::COMM_NULL);
            return Err(fault);
        }
        if let Some(info) = info {
            state.infos.hint(handle, info)?;
        }
        frame.put_handle(to, handle);
        let request = state.requests.open(parent.0);
        let call = Call::Communicators(CommCall::Idup { comm, new, request });
        Ok(requests::begins(&mut state.requests, frame, to_request, request, call, Vec::new()))
    };
    attributes::copy(state, frame, (Kind::Comm, parent.0), handle, Box::new(begin))
}

fn split(state: &mut RankState, of: args::Comm_split) -> Answer {
    let args::Comm_split { comm: parent, color, key, newcomm } = of;
    let comm = state.comm(parent)?.number;
    if color == mpi5::UNDEFINED {
        let call = CommCall::Split { comm, color: None, key, new: state.comms.free()? };
        return Ok(none_made(call, newcomm));
    }
    if color < 0 {
        return Err(Fault::new(mpi5::ERR_ARG, format!("a colour of {color}")));
    }
    let color = Some(color);
    makes(state, newcomm, parent, |new| CommCall::Split { comm, color, key, new }, |_, _, _| done())
}

fn split_type(state: &mut RankState, of: args::Comm_split_type) -> Answer {
    let args::Comm_split_type { comm: parent, split_type, key, newcomm, .. } = of;
    let comm = state.intracomm(parent)?.number;
    let takes_part = match split_type {
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
        return Ok(none_made(CommCall::SplitShared { comm, takes_part, key, new }, newcomm));
    }
    let call = |new| CommCall::SplitShared { comm, takes_part, key, new };
    makes(state, newcomm, parent, call, |_, _, _| done())
}

fn create(state: &mut RankState, of: args::Comm_create) -> Answer {
    let args::Comm_create { comm: parent, group, newcomm } = of;
    let comm = state.comm(parent)?;
    let (number, is_inter) = (comm.number, comm.remote.is_some());
    let group = state.groups.get(group)?;
    let members = state.comms.get(parent)?.ranks_of(&group)?;
    if is_inter {
        // Those of both sides that are in the groups are one part of a split, in the order of the groups.
        let key = group.rank(state.rank).map(|rank| rank.0.cast_signed());
        let (color, key) = (key.map(|_| 0), key.unwrap_or_default());
        let call = |new| CommCall::Split { comm: number, color, key, new };
        return match color {
            Some(_) => makes(state, newcomm, parent, call, |_, _, _| done()),
            None => Ok(none_made(call(state.comms.free()?), newcomm)),
        };
    }
    let call = |new| CommCall::Create { comm: number, group: members, new };
    if group.rank(state.rank).is_none() {
        return Ok(none_made(call(state.comms.free()?), newcomm));
    }
    makes(state, newcomm, parent, call, |_, _, _| done())
}

fn create_group(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Comm_create_group,
) -> Answer {
    let args::Comm_create_group { comm: parent, group, tag, newcomm } = of;
    let comm = state.intracomm(parent)?.number;
    let group = state.groups.get(group)?;
    let members = state.comms.get(parent)?.ranks_of(&group)?;
    if group.rank(state.rank).is_none() {
        frame.put_handle(newcomm, mpi5::COMM_NULL);
        return done();
    }
    let tag = tag.min(protocols::call::GROUP_TAG_MAX);
    let call = |new| CommCall::CreateGroup { comm, group: members, tag, new };
    makes(state, newcomm, parent, call, |_, _, _| done())
}

fn intercomm(state: &mut RankState, of: args::Intercomm_create) -> Answer {
    let (parent, leader) = (of.local_comm, of.local_leader);
    let me = state.rank;
    let comm = state.intracomm(parent)?;
    let (number, rank, size) = (comm.number, comm.group.rank(me), comm.size());
    let Some(leader) = u32::try_from(leader).ok().filter(|leader| *leader < size).map(Rank) else {
        return Err(Fault::new(mpi5::ERR_RANK, format!("rank {leader} of {size} leads none")));
    };
    let (peer, remote_leader, tag) = if rank == Some(leader) {
        let peer = state.comm(of.peer_comm)?;
        let (peer, peers) = (peer.number, peer.peers());
        let remote = u32::try_from(of.remote_leader).ok().filter(|remote| *remote < peers);
        let remote = remote.ok_or_else(|| {
            Fault::new(mpi5::ERR_RANK, format!("rank {} leads no group", of.remote_leader))
        })?;
        (peer, Rank(remote), of.tag)
    } else {
        (Comm(0), Rank(0), 0)
    };
    let call = |new| CommCall::Intercomm { comm: number, leader, peer, remote_leader, tag, new };
    makes(state, of.newintercomm, parent, call, |_, _, _| done())
}

fn merge(state: &mut RankState, of: args::Intercomm_merge) -> Answer {
    let args::Intercomm_merge { intercomm: parent, high, newintracomm } = of;
    let high = high != 0;
    let comm = state.comm(parent)?;
    let number = comm.number;
    if comm.remote.is_none() {
        return Err(Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"));
    }
    let call = |new| CommCall::Merge { comm: number, high, new };
    makes(state, newintracomm, parent, call, |_, _, _| done())
}

fn free(state: &mut RankState, frame: &mut Frame<'_>, variable: To<handle::Comm>) -> Answer {
    let comm = frame.handle(variable)?;
    state.comm(comm)?;
    let handle::Comm(handle) = comm;
    if handle == mpi5::COMM_WORLD || handle == mpi5::COMM_SELF {
        return Err(Fault::new(mpi5::ERR_COMM, "a predefined communicator cannot be freed"));
    }
    let freed = move |state: &mut RankState, frame: &mut Frame<'_>| {
        state.comms.get_mut(comm)?.is_freed = true;
        state.errors.forget(handle);
        state.infos.forget(handle);
        state.topologies.forget(handle);
        frame.put_handle(variable, mpi5::COMM_NULL);
        release(state)
    };
    attributes::delete_all(state, frame, (Kind::Comm, handle), Box::new(freed))
}

/// The library frees the communicators that the program has freed and that no operation is over any more.
fn release(state: &RankState) -> Answer {
    let idle = state.comms.idle(|handle| state.requests.are_over(handle));
    let Some((handle, comm)) = idle else { return done() };
    Ok(NextStep::calls(Call::Communicators(CommCall::Free { comm }), move |state, _, _| {
        state.comms.remove(handle);
        release(state)
    }))
}

/// A call that gives this rank no communicator.
pub(super) fn none_made(call: CommCall, to: To<handle::Comm>) -> NextStep {
    NextStep::calls(Call::Communicators(call), move |_, frame, _| {
        frame.put_handle(to, mpi5::COMM_NULL);
        done()
    })
}
