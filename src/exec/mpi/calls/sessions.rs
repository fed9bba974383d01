//! Sessions: groups of processes and communicators without `MPI_Init`.

use std::ffi::c_char;
use std::sync::Arc;

use super::{comms, errors, infos};
use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle};
use crate::mpi::families::Sessions as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::infos::Info;
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::group::Group;
use protocols::call::{CommCall, GROUP_TAG_MAX};

/// The process sets of each session.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    match call {
        F::Session_init(of) => {
            let session = state.sessions.open();
            state.errors.give(session, of.errhandler);
            frame.put_handle(of.session, session);
            done()
        }
        F::Session_finalize(of) => end_session(state, frame, of.session),
        F::Session_create_errhandler(of) => {
            errors::create_handler(state, frame, of.session_errhandler_fn, of.errhandler)
        }
        F::Session_get_num_psets(of) => {
            state.session(of.session)?;
            frame.put_int(of.npset_names, 2);
            done()
        }
        F::Session_get_nth_pset(of) => nth_set(state, frame, of),
        F::Session_get_pset_info(of) => {
            let group = set_of(state, frame, of.session, of.pset_name)?;
            let mut info = Info::default();
            info.set("mpi_size", group.size().to_string());
            infos::made(&mut state.infos, frame, of.info, info)
        }
        F::Session_get_info(of) => {
            state.session(of.session)?;
            let mut info = Info::default();
            info.set("thread_level", "MPI_THREAD_SERIALIZED");
            infos::made(&mut state.infos, frame, of.info_used, info)
        }
        F::Group_from_session_pset(of) => {
            let group = set_of(state, frame, of.session, of.pset_name)?;
            let handle = state.groups.add(group);
            frame.put_handle(of.newgroup, handle);
            done()
        }
        F::Comm_create_from_group(of) => create_from_group(state, frame, of),
    }
}

fn end_session(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    variable: To<handle::Session>,
) -> Answer {
    let handle = frame.handle(variable)?;
    state.sessions.close(handle)?;
    state.errors.forget(handle.0);
    frame.put_handle(variable, mpi5::SESSION_NULL);
    done()
}

fn nth_set(state: &mut RankState, frame: &mut Frame<'_>, of: args::Session_get_nth_pset) -> Answer {
    let args::Session_get_nth_pset { session, n: number, pset_len, pset_name, .. } = of;
    state.session(session)?;
    let Some(name) = usize::try_from(number).ok().and_then(|number| SETS.get(number)) else {
        return Err(Fault::new(mpi5::ERR_ARG, format!("no process set number {number} of 2")));
    };
    let room = frame.ints(pset_len, 1)?[0];
    if let Some(room) = usize::try_from(room).ok().filter(|room| *room > 0) {
        frame.put_string(pset_name, name, room);
    }
    frame.put_int(pset_len, i32::try_from(name.len() + 1).expect("a short name"));
    done()
}

/// The processes of a set of a session.
fn set_of(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    session: handle::Session,
    name: To<c_char>,
) -> Result<Arc<Group>, Fault> {
    state.session(session)?;
    let name = frame.text(name)?;
    let comm = match SETS.iter().position(|set| set.eq_ignore_ascii_case(&name)) {
        Some(0) => mpi5::COMM_WORLD,
        Some(_) => mpi5::COMM_SELF,
        None => {
            return Err(Fault::new(mpi5::ERR_ARG, format!("there is no process set `{name}`")));
        }
    };
    Ok(Arc::clone(&state.comms.get(handle::Comm(comm))?.group))
}

/// The members of a group make a communicator; its name keeps creations apart.
fn create_from_group(
    state: &mut RankState,
    frame: &mut Frame<'_>,
    of: args::Comm_create_from_group,
) -> Answer {
    let (group, name) = (state.groups.get(of.group)?, frame.text(of.stringtag)?);
    if group.rank(state.rank).is_none() {
        frame.put_handle(of.newcomm, mpi5::COMM_NULL);
        return done();
    }
    let parent = handle::Comm(mpi5::COMM_WORLD);
    let comm = state.comm(parent)?;
    let (comm, members) = (comm.number, comm.ranks_of(&group)?);
    let tag = name
        .bytes()
        .fold(0, |sum: i32, byte| (sum.wrapping_mul(31).wrapping_add(byte.into())) & GROUP_TAG_MAX);
    let call = |new| CommCall::CreateGroup { comm, group: members, tag, new };
    comms::makes(state, of.newcomm, parent, call, move |state, _, handle| {
        state.errors.give(handle, of.errhandler);
        done()
    })
}
