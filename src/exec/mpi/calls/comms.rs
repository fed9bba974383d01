//! Communicators: the library makes and frees them, and tells who is in them.

use std::sync::Arc;

use super::{attributes, requests};
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::client::{Answer, Client, Step, done};
use crate::mpi::fault::Fault;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::objects::comms::Communicator;
use ::mpi::communicator::Comparison;
use ::mpi::envelope::Rank;
use ::mpi::group::Group;
use protocols::arguments::Comm;
use protocols::call::{Call, CommCall, Reply};

/// What becomes of a new communicator, beside what all get.
type Settle = Box<dyn FnOnce(&mut Client, &mut Asked<'_>, u64) -> Answer + Send>;

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(client: &mut Client, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Comm_rank => comm_rank(client, asked),
        F::Comm_size => comm_size(client, asked),
        F::Comm_remote_size => remote_size(client, asked),
        F::Comm_test_inter => {
            client.comm(asked.word(0)).map(|comm| comm.remote.is_some()).and_then(|is_inter| {
                asked.put_flag(1, is_inter);
                done()
            })
        }
        F::Comm_group => group_of(client, asked, |comm| Some(Arc::clone(&comm.group))),
        F::Comm_remote_group => group_of(client, asked, |comm| comm.remote.clone()),
        F::Comm_compare => compare(client, asked),
        F::Comm_set_name => set_name(client, asked),
        F::Comm_get_name => get_name(client, asked),
        F::Comm_dup => dup(client, asked, 1),
        F::Comm_dup_with_info => {
            let info = asked.word(1);
            client.infos.check(info).and_then(|()| dup(client, asked, 2))
        }
        F::Comm_idup => idup(client, asked, 1),
        F::Comm_idup_with_info => {
            let info = asked.word(1);
            client.infos.check(info).and_then(|()| idup(client, asked, 2))
        }
        F::Comm_split => split(client, asked),
        F::Comm_split_type => split_type(client, asked),
        F::Comm_create => create(client, asked),
        F::Comm_create_group => create_group(client, asked),
        F::Intercomm_create => intercomm(client, asked),
        F::Intercomm_merge => merge(client, asked),
        F::Comm_free | F::Comm_disconnect => free(client, asked),
        F::Comm_get_parent => {
            asked.put_word(0, mpi5::COMM_NULL);
            done()
        }
        _ => return None,
    })
}

fn comm_rank(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let me = client.rank;
    let rank = client.comm(asked.word(0))?.group.rank(me);
    asked.put_int(1, rank.map_or(mpi5::PROC_NULL, |rank| rank.0.cast_signed()));
    done()
}

fn comm_size(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let size = client.comm(asked.word(0))?.size();
    asked.put_int(1, size.cast_signed());
    done()
}

fn remote_size(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let Some(remote) = &client.comm(asked.word(0))?.remote else {
        return Err(Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"));
    };
    let size = remote.size();
    asked.put_int(1, size.cast_signed());
    done()
}

fn group_of(
    client: &mut Client,
    asked: &mut Asked<'_>,
    which: impl Fn(&Communicator) -> Option<Arc<Group>>,
) -> Answer {
    let group = which(client.comm(asked.word(0))?);
    let group = group.ok_or_else(|| Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"))?;
    let handle = client.groups.add(group);
    asked.put_word(1, handle);
    done()
}

fn compare(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let (a, b) = (client.comm(asked.word(0))?.clone(), client.comm(asked.word(1))?.clone());
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

fn set_name(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let name = asked.text(1)?;
    client.comm(asked.word(0))?;
    client.comms.get_mut(asked.word(0))?.name = name;
    done()
}

fn get_name(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    if asked.word(0) == mpi5::COMM_NULL {
        asked.put_text(1, "MPI_COMM_NULL", 128);
        return done();
    }
    let name = client.comm(asked.word(0))?.name.clone();
    asked.put_text(1, &name, 128);
    done()
}

/// The library makes a communicator, and argument `at` gets its handle.
pub(super) fn makes(
    client: &mut Client,
    at: usize,
    parent: u64,
    call: impl FnOnce(Comm) -> CommCall,
    settle: impl FnOnce(&mut Client, &mut Asked<'_>, u64) -> Answer + Send + 'static,
) -> Answer {
    let number = client.comms.free()?;
    let settle: Settle = Box::new(settle);
    Ok(Step::calls(Call::Communicators(call(number)), move |_, _, _| {
        Ok(Step::calls(Call::Members { comm: number }, move |client, asked, reply| {
            let Reply::Numbers(members) = reply else { return done() };
            if members.is_empty() {
                // Of an intercommunicator the other side may have none of this colour.
                asked.put_word(at, mpi5::COMM_NULL);
                return done();
            }
            let handle = client.comms.add_members(number, &members);
            client.errors.inherit(handle, parent);
            asked.put_word(at, handle);
            settle(client, asked, handle)
        }))
    }))
}

fn dup(client: &mut Client, asked: &mut Asked<'_>, at: usize) -> Answer {
    let parent = asked.word(0);
    let comm = client.comm(parent)?.number;
    let call = |new| CommCall::Dup { comm, new };
    makes(client, at, parent, call, move |client, asked, handle| {
        let settle = move |client: &mut Client, asked: &mut Asked<'_>, copied| {
            if let Err(fault) = copied {
                asked.put_word(at, mpi5::COMM_NULL);
                return Err(fault);
            }
            client.topologies.inherit(handle, parent);
            if at == 2 {
                client.infos.hint(handle, asked.word(1))?;
            }
            done()
        };
        attributes::copy(client, asked, (Kind::Comm, parent), handle, Box::new(settle))
    })
}

/// The duplicate has its handle at once: its groups are those of its parent.
fn idup(client: &mut Client, asked: &mut Asked<'_>, at: usize) -> Answer {
    let parent = asked.word(0);
    let new = client.comms.free()?;
    let old = client.comm(parent)?.clone();
    let comm = old.number;
    let handle = client.comms.add(Communicator { number: new, name: String::new(), ..old });
    client.errors.inherit(handle, parent);
    client.topologies.inherit(handle, parent);
    let begin = move |client: &mut Client, asked: &mut Asked<'_>, copied| {
        if let Err(fault) = copied {
            asked.put_word(at, mpi5::COMM_NULL);
            return Err(fault);
        }
        if at == 2 {
            client.infos.hint(handle, asked.word(1))?;
        }
        asked.put_word(at, handle);
        let request = client.requests.open(parent);
        let call = Call::Communicators(CommCall::Idup { comm, new, request });
        Ok(requests::begins(&mut client.requests, asked, at + 1, request, call, Vec::new()))
    };
    attributes::copy(client, asked, (Kind::Comm, parent), handle, Box::new(begin))
}

fn split(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let (parent, color, key) = (asked.word(0), asked.int(1), asked.int(2));
    let comm = client.comm(parent)?.number;
    if color == mpi5::UNDEFINED {
        let call = CommCall::Split { comm, color: None, key, new: client.comms.free()? };
        return Ok(none_made(call, 3));
    }
    if color < 0 {
        return Err(Fault::new(mpi5::ERR_ARG, format!("a colour of {color}")));
    }
    let color = Some(color);
    makes(client, 3, parent, |new| CommCall::Split { comm, color, key, new }, |_, _, _| done())
}

fn split_type(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let (parent, which, key) = (asked.word(0), asked.int(1), asked.int(2));
    let comm = client.intracomm(parent)?.number;
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
        let new = client.comms.free()?;
        return Ok(none_made(CommCall::SplitShared { comm, takes_part, key, new }, 4));
    }
    let call = |new| CommCall::SplitShared { comm, takes_part, key, new };
    makes(client, 4, parent, call, |_, _, _| done())
}

fn create(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let parent = asked.word(0);
    let comm = client.comm(parent)?;
    let (number, is_inter) = (comm.number, comm.remote.is_some());
    let group = client.groups.get(asked.word(1))?;
    let members = client.comms.get(parent)?.ranks_of(&group)?;
    if is_inter {
        // Those of both sides that are in the groups are one part of a split, in the order of the groups.
        let key = group.rank(client.rank).map(|rank| rank.0.cast_signed());
        let (color, key) = (key.map(|_| 0), key.unwrap_or_default());
        let call = |new| CommCall::Split { comm: number, color, key, new };
        return match color {
            Some(_) => makes(client, 2, parent, call, |_, _, _| done()),
            None => Ok(none_made(call(client.comms.free()?), 2)),
        };
    }
    let call = |new| CommCall::Create { comm: number, group: members, new };
    if group.rank(client.rank).is_none() {
        return Ok(none_made(call(client.comms.free()?), 2));
    }
    makes(client, 2, parent, call, |_, _, _| done())
}

fn create_group(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let (parent, tag) = (asked.word(0), asked.int(2));
    let comm = client.intracomm(parent)?.number;
    let group = client.groups.get(asked.word(1))?;
    let members = client.comms.get(parent)?.ranks_of(&group)?;
    if group.rank(client.rank).is_none() {
        asked.put_word(3, mpi5::COMM_NULL);
        return done();
    }
    let tag = tag.min(protocols::call::GROUP_TAG_MAX);
    let call = |new| CommCall::CreateGroup { comm, group: members, tag, new };
    makes(client, 3, parent, call, |_, _, _| done())
}

fn intercomm(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let (parent, leader) = (asked.word(0), asked.int(1));
    let me = client.rank;
    let comm = client.intracomm(parent)?;
    let (number, rank, size) = (comm.number, comm.group.rank(me), comm.size());
    let Some(leader) = u32::try_from(leader).ok().filter(|leader| *leader < size).map(Rank) else {
        return Err(Fault::new(mpi5::ERR_RANK, format!("rank {leader} of {size} leads none")));
    };
    let (peer, remote_leader, tag) = if rank == Some(leader) {
        let peer = client.comm(asked.word(2))?;
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
    makes(client, 5, parent, call, |_, _, _| done())
}

fn merge(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let (parent, high) = (asked.word(0), asked.int(1) != 0);
    let comm = client.comm(parent)?;
    let number = comm.number;
    if comm.remote.is_none() {
        return Err(Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"));
    }
    let call = |new| CommCall::Merge { comm: number, high, new };
    makes(client, 2, parent, call, |_, _, _| done())
}

fn free(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    client.comm(handle)?;
    if handle == mpi5::COMM_WORLD || handle == mpi5::COMM_SELF {
        return Err(Fault::new(mpi5::ERR_COMM, "a predefined communicator cannot be freed"));
    }
    let freed = move |client: &mut Client, asked: &mut Asked<'_>| {
        client.comms.get_mut(handle)?.is_freed = true;
        client.errors.forget(handle);
        client.infos.forget(handle);
        client.topologies.forget(handle);
        asked.put_word(0, mpi5::COMM_NULL);
        release(client)
    };
    attributes::delete_all(client, asked, (Kind::Comm, handle), Box::new(freed))
}

/// The library frees the communicators that the program has freed and that no operation is over any more.
fn release(client: &Client) -> Answer {
    let idle = client.comms.idle(|handle| client.requests.are_over(handle));
    let Some((handle, comm)) = idle else { return done() };
    Ok(Step::calls(Call::Communicators(CommCall::Free { comm }), move |client, _, _| {
        client.comms.remove(handle);
        release(client)
    }))
}

/// A call that gives this rank no communicator.
pub(super) fn none_made(call: CommCall, at: usize) -> Step {
    Step::calls(Call::Communicators(call), move |_, asked, _| {
        asked.put_word(at, mpi5::COMM_NULL);
        done()
    })
}
