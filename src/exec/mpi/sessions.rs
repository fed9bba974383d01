//! Sessions: groups of processes and communicators without `MPI_Init`.

use std::sync::Arc;

use super::infos::Info;
use super::{Answer, Asked, Client, Fault, On, Table, done, mpi5};
use ::mpi::group::Group;
use protocols::call::{CommCall, GROUP_TAG_MAX};

/// The open sessions of a rank.
#[derive(Debug)]
pub(super) struct Sessions {
    open: Table<()>,
    count: usize,
}

/// The process sets of each session.
const SETS: [&str; 2] = ["mpi://WORLD", "mpi://SELF"];

impl Sessions {
    pub(super) const fn new() -> Self {
        Self { open: Table::new(10), count: 0 }
    }

    /// Whether one is open.
    pub(super) const fn are_open(&self) -> bool {
        self.count > 0
    }
}

impl Client {
    /// What may be called at any time.
    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn session_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Session_init => {
                let session = self.sessions.open.add(());
                self.sessions.count += 1;
                self.errors.give(session, asked.word(1));
                asked.put_word(2, session);
                done()
            }
            F::Session_finalize => self.end_session(asked),
            F::Session_create_errhandler => return self.error_call(asked),
            F::Session_get_num_psets => self.session(asked).and_then(|()| {
                asked.put_int(2, 2);
                done()
            }),
            F::Session_get_nth_pset => self.nth_set(asked),
            F::Session_get_pset_info => self.set_of(asked, 1).and_then(|group| {
                let mut info = Info::default();
                info.set("mpi_size", group.size().to_string());
                self.made_info(asked, 2, info)
            }),
            F::Session_get_info => self.session(asked).and_then(|()| {
                let mut info = Info::default();
                info.set("thread_level", "MPI_THREAD_SERIALIZED");
                self.made_info(asked, 1, info)
            }),
            F::Group_from_session_pset => self.set_of(asked, 1).and_then(|group| {
                let handle = self.groups.add(group);
                asked.put_word(2, handle);
                done()
            }),
            F::Comm_create_from_group => self.create_from_group(asked),
            _ => return None,
        })
    }

    /// The session that argument 0 names: errors are about it from now on.
    pub(super) fn session(&mut self, asked: &Asked<'_>) -> Result<(), Fault> {
        let handle = asked.word(0);
        if self.sessions.open.get(handle).is_none() {
            return Err(Fault::new(mpi5::ERR_SESSION, format!("{handle:#x} is no session")));
        }
        self.errors.on = On::Object(handle);
        Ok(())
    }

    fn end_session(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        if self.sessions.open.remove(handle).is_none() {
            return Err(Fault::new(mpi5::ERR_SESSION, format!("{handle:#x} is no session")));
        }
        self.sessions.count -= 1;
        self.errors.forget(handle);
        asked.put_word(0, mpi5::SESSION_NULL);
        done()
    }

    fn nth_set(&mut self, asked: &mut Asked<'_>) -> Answer {
        self.session(asked)?;
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
    fn set_of(&mut self, asked: &mut Asked<'_>, at: usize) -> Result<Arc<Group>, Fault> {
        self.session(asked)?;
        let name = asked.text(at)?;
        let comm = match SETS.iter().position(|set| set.eq_ignore_ascii_case(&name)) {
            Some(0) => mpi5::COMM_WORLD,
            Some(_) => mpi5::COMM_SELF,
            None => {
                return Err(Fault::new(mpi5::ERR_ARG, format!("there is no process set `{name}`")));
            }
        };
        let on = self.errors.on;
        let group = Arc::clone(&self.comm(comm)?.group);
        self.errors.on = on;
        Ok(group)
    }

    /// The members of a group make a communicator; its name keeps creations apart.
    fn create_from_group(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (group, name, handler) = (self.group(asked.word(0))?, asked.text(1)?, asked.word(3));
        if group.rank(self.rank).is_none() {
            asked.put_word(4, mpi5::COMM_NULL);
            return done();
        }
        let parent = mpi5::COMM_WORLD;
        let comm = self.comm(parent)?.number;
        let members = self.ranks_of(parent, &group)?;
        let tag = name.bytes().fold(0, |sum: i32, byte| {
            (sum.wrapping_mul(31).wrapping_add(byte.into())) & GROUP_TAG_MAX
        });
        let call = |new| CommCall::CreateGroup { comm, group: members, tag, new };
        self.makes(4, parent, call, move |client, _, handle| {
            client.errors.give(handle, handler);
            done()
        })
    }
}
