//! Sessions: groups of processes and communicators without `MPI_Init`.

use std::sync::Arc;

use super::{comms, errors, infos};
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::infos::Info;
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::group::Group;
use protocols::call::{CommCall, GROUP_TAG_MAX};

/// The process sets of each session.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// Answers calls of functions that may be called at any time.
#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Session_init => {
            let session = state.sessions.open();
            state.errors.give(session, asked.word(1));
            asked.put_word(2, session);
            done()
        }
        F::Session_finalize => end_session(state, asked),
        F::Session_create_errhandler => return errors::call(state, asked),
        F::Session_get_num_psets => state.session(asked.word(0)).and_then(|()| {
            asked.put_int(2, 2);
            done()
        }),
        F::Session_get_nth_pset => nth_set(state, asked),
        F::Session_get_pset_info => set_of(state, asked, 1).and_then(|group| {
            let mut info = Info::default();
            info.set("mpi_size", group.size().to_string());
            infos::made(&mut state.infos, asked, 2, info)
        }),
        F::Session_get_info => state.session(asked.word(0)).and_then(|()| {
            let mut info = Info::default();
            info.set("thread_level", "MPI_THREAD_SERIALIZED");
            infos::made(&mut state.infos, asked, 1, info)
        }),
        F::Group_from_session_pset => set_of(state, asked, 1).and_then(|group| {
            let handle = state.groups.add(group);
            asked.put_word(2, handle);
            done()
        }),
        F::Comm_create_from_group => create_from_group(state, asked),
        _ => return None,
    })
}

fn end_session(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    state.sessions.close(handle)?;
    state.errors.forget(handle);
    asked.put_word(0, mpi5::SESSION_NULL);
    done()
}

fn nth_set(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    state.session(asked.word(0))?;
    let number = asked.int(2);
    let Some(name) = usize::try_from(number).ok().and_then(|number| SETS.get(number)) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("no process set number {number} of 2")));
    };
    let room = asked.ints(3, 1)?[0];
    if let Some(room) = usize::try_from(room).ok().filter(|room| *room > 0) {
        asked.put_string(4, name, room);
    }
    asked.put_int(3, i32::try_from(name.len() + 1).expect("a short name"));
    done()
}

/// The processes of the set that an argument names.
fn set_of(state: &mut RankState, asked: &mut Asked<'_>, at: usize) -> Result<Arc<Group>, Fault> {
    state.session(asked.word(0))?;
    let name = asked.text(at)?;
    let comm = match SETS.iter().position(|set| set.eq_ignore_ascii_case(&name)) {
        Some(0) => mpi5::COMM_WORLD,
        Some(_) => mpi5::COMM_SELF,
        None => {
            return Err(Fault::new(mpi5::ERR_ARG, format!("there is no process set `{name}`")));
        }
    };
    Ok(Arc::clone(&state.comms.get(comm)?.group))
}

/// The members of a group make a communicator; its name keeps creations apart.
fn create_from_group(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let (group, name, handler) = (state.groups.get(asked.word(0))?, asked.text(1)?, asked.word(3));
    if group.rank(state.rank).is_none() {
        asked.put_word(4, mpi5::COMM_NULL);
        return done();
    }
    let parent = mpi5::COMM_WORLD;
    let comm = state.comm(parent)?;
    let (comm, members) = (comm.number, comm.ranks_of(&group)?);
    let tag = name
        .bytes()
        .fold(0, |sum: i32, byte| (sum.wrapping_mul(31).wrapping_add(byte.into())) & GROUP_TAG_MAX);
    let call = |new| CommCall::CreateGroup { comm, group: members, tag, new };
    comms::makes(state, 4, parent, call, move |state, _, handle| {
        state.errors.give(handle, handler);
        done()
    })
}
