//! Sessions: groups of processes and communicators without `MPI_Init`.

use std::sync::Arc;

use super::{comms, errors, infos};
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::client::{Answer, Client, done};
use crate::mpi::fault::Fault;
use crate::mpi::objects::infos::Info;
use ::mpi::group::Group;
use protocols::call::{CommCall, GROUP_TAG_MAX};

/// The process sets of each session.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

/// What may be called at any time.
#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(client: &mut Client, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Session_init => {
            let session = client.sessions.open();
            client.errors.give(session, asked.word(1));
            asked.put_word(2, session);
            done()
        }
        F::Session_finalize => end_session(client, asked),
        F::Session_create_errhandler => return errors::call(client, asked),
        F::Session_get_num_psets => client.session(asked.word(0)).and_then(|()| {
            asked.put_int(2, 2);
            done()
        }),
        F::Session_get_nth_pset => nth_set(client, asked),
        F::Session_get_pset_info => set_of(client, asked, 1).and_then(|group| {
            let mut info = Info::default();
            info.set("mpi_size", group.size().to_string());
            infos::made(&mut client.infos, asked, 2, info)
        }),
        F::Session_get_info => client.session(asked.word(0)).and_then(|()| {
            let mut info = Info::default();
            info.set("thread_level", "MPI_THREAD_SERIALIZED");
            infos::made(&mut client.infos, asked, 1, info)
        }),
        F::Group_from_session_pset => set_of(client, asked, 1).and_then(|group| {
            let handle = client.groups.add(group);
            asked.put_word(2, handle);
            done()
        }),
        F::Comm_create_from_group => create_from_group(client, asked),
        _ => return None,
    })
}

fn end_session(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    client.sessions.close(handle)?;
    client.errors.forget(handle);
    asked.put_word(0, mpi5::SESSION_NULL);
    done()
}

fn nth_set(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    client.session(asked.word(0))?;
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
fn set_of(client: &mut Client, asked: &mut Asked<'_>, at: usize) -> Result<Arc<Group>, Fault> {
    client.session(asked.word(0))?;
    let name = asked.text(at)?;
    let comm = match SETS.iter().position(|set| set.eq_ignore_ascii_case(&name)) {
        Some(0) => mpi5::COMM_WORLD,
        Some(_) => mpi5::COMM_SELF,
        None => {
            return Err(Fault::new(mpi5::ERR_ARG, format!("there is no process set `{name}`")));
        }
    };
    Ok(Arc::clone(&client.comms.get(comm)?.group))
}

/// The members of a group make a communicator; its name keeps creations apart.
fn create_from_group(client: &mut Client, asked: &mut Asked<'_>) -> Answer {
    let (group, name, handler) = (client.groups.get(asked.word(0))?, asked.text(1)?, asked.word(3));
    if group.rank(client.rank).is_none() {
        asked.put_word(4, mpi5::COMM_NULL);
        return done();
    }
    let parent = mpi5::COMM_WORLD;
    let comm = client.comm(parent)?;
    let (comm, members) = (comm.number, comm.ranks_of(&group)?);
    let tag = name
        .bytes()
        .fold(0, |sum: i32, byte| (sum.wrapping_mul(31).wrapping_add(byte.into())) & GROUP_TAG_MAX);
    let call = |new| CommCall::CreateGroup { comm, group: members, tag, new };
    comms::makes(client, 4, parent, call, move |client, _, handle| {
        client.errors.give(handle, handler);
        done()
    })
}
