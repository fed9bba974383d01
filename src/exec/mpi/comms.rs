//! Communicators: the library makes and frees them, and tells who is in them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::attributes::Kind;
use super::{Answer, Asked, Client, Fault, On, Step, Table, done, mpi5};
use ::mpi::communicator::{Communicators, Comparison};
use ::mpi::envelope::Rank;
use ::mpi::group::Group;
use protocols::arguments::Comm;
use protocols::call::{Call, CommCall, Reply};

/// A communicator as a rank has it.
#[derive(Clone, Debug)]
pub(super) struct Communicator {
    /// The library's number.
    pub(super) number: Comm,
    /// The caller's group, as processes of the job.
    pub(super) group: Arc<Group>,
    /// The other group of an intercommunicator.
    pub(super) remote: Option<Arc<Group>>,
    pub(super) name: String,
}

impl Communicator {
    /// Ranks of the caller's group.
    pub(super) fn size(&self) -> u32 {
        self.group.size()
    }

    /// Ranks that a message can go to.
    pub(super) fn peers(&self) -> u32 {
        self.remote.as_ref().unwrap_or(&self.group).size()
    }
}

/// The communicators of a rank.
#[derive(Debug)]
pub(super) struct Comms {
    world: Communicator,
    alone: Communicator,
    made: Table<Communicator>,
    /// Numbers that the library knows, to their handles; free ones are used again.
    numbers: BTreeMap<u16, u64>,
}

impl Comms {
    pub(super) fn new(rank: u32, size: u32) -> Self {
        let comm = |number, group, name: &str| Communicator {
            number: Comm(number),
            group: Arc::new(group),
            remote: None,
            name: name.to_owned(),
        };
        let alone = Group::new(vec![rank]).expect("one process is no duplicate");
        Self {
            world: comm(Communicators::WORLD, Group::world(size), "MPI_COMM_WORLD"),
            alone: comm(Communicators::SELF, alone, "MPI_COMM_SELF"),
            made: Table::new(4),
            numbers: BTreeMap::new(),
        }
    }

    fn get(&self, handle: u64) -> Option<&Communicator> {
        match handle {
            mpi5::COMM_WORLD => Some(&self.world),
            mpi5::COMM_SELF => Some(&self.alone),
            other => self.made.get(other),
        }
    }

    fn get_mut(&mut self, handle: u64) -> Option<&mut Communicator> {
        match handle {
            mpi5::COMM_WORLD => Some(&mut self.world),
            mpi5::COMM_SELF => Some(&mut self.alone),
            other => self.made.get_mut(other),
        }
    }

    /// Processes of the job.
    pub(super) fn universe(&self) -> u32 {
        self.world.size()
    }

    /// The lowest number that the library has for no communicator of this rank.
    pub(super) fn free(&self) -> Result<Comm, Fault> {
        let mut free = STANDARD..Communicators::SELF;
        free.find(|number| !self.numbers.contains_key(number))
            .map(Comm)
            .ok_or_else(|| Fault::new(mpi5::ERR_OTHER, "a rank has at most 65,533 communicators"))
    }

    fn add(&mut self, comm: Communicator) -> u64 {
        let number = comm.number.0;
        let handle = self.made.add(comm);
        self.numbers.insert(number, handle);
        handle
    }
}

/// A job begins with the communicators of smaller numbers: see [`Communicators::standard`].
const STANDARD: u16 = Communicators::REVERSED + 1;

/// What becomes of a new communicator, beside what all get.
type Settle = Box<dyn FnOnce(&mut Client, &mut Asked<'_>, u64) -> Answer + Send>;

impl Client {
    /// The communicator of a handle: errors are about it from now on.
    pub(super) fn comm(&mut self, handle: u64) -> Result<&Communicator, Fault> {
        let Some(comm) = self.comms.get(handle) else {
            return Err(Fault::new(mpi5::ERR_COMM, format!("{handle:#x} is no communicator")));
        };
        self.errors.on = On::Object(handle);
        Ok(comm)
    }

    /// A communicator with one group.
    pub(super) fn intracomm(&mut self, handle: u64) -> Result<&Communicator, Fault> {
        let comm = self.comm(handle)?;
        if comm.remote.is_some() {
            return Err(Fault::new(mpi5::ERR_COMM, "it is an intercommunicator"));
        }
        Ok(comm)
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn comm_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Comm_rank => self.comm_rank(asked),
            F::Comm_size => self.comm_size(asked),
            F::Comm_remote_size => self.remote_size(asked),
            F::Comm_test_inter => {
                self.comm(asked.word(0)).map(|comm| comm.remote.is_some()).and_then(|is_inter| {
                    asked.put_flag(1, is_inter);
                    done()
                })
            }
            F::Comm_group => self.group_of(asked, |comm| Some(Arc::clone(&comm.group))),
            F::Comm_remote_group => self.group_of(asked, |comm| comm.remote.clone()),
            F::Comm_compare => self.compare(asked),
            F::Comm_set_name => self.set_name(asked),
            F::Comm_get_name => self.get_name(asked),
            F::Comm_dup => self.dup(asked, 1),
            F::Comm_dup_with_info => {
                let info = asked.word(1);
                self.infos.check(info).and_then(|()| self.dup(asked, 2))
            }
            F::Comm_idup => self.idup(asked, 1),
            F::Comm_idup_with_info => {
                let info = asked.word(1);
                self.infos.check(info).and_then(|()| self.idup(asked, 2))
            }
            F::Comm_split => self.split(asked),
            F::Comm_split_type => self.split_type(asked),
            F::Comm_create => self.create(asked),
            F::Comm_create_group => self.create_group(asked),
            F::Intercomm_create => self.intercomm(asked),
            F::Intercomm_merge => self.merge(asked),
            F::Comm_free | F::Comm_disconnect => self.free_comm(asked),
            F::Comm_get_parent => {
                asked.put_word(0, mpi5::COMM_NULL);
                done()
            }
            _ => return None,
        })
    }

    fn comm_rank(&mut self, asked: &mut Asked<'_>) -> Answer {
        let me = self.rank;
        let rank = self.comm(asked.word(0))?.group.rank(me);
        asked.put_int(1, rank.map_or(mpi5::PROC_NULL, |rank| rank.0.cast_signed()));
        done()
    }

    fn comm_size(&mut self, asked: &mut Asked<'_>) -> Answer {
        let size = self.comm(asked.word(0))?.size();
        asked.put_int(1, size.cast_signed());
        done()
    }

    fn remote_size(&mut self, asked: &mut Asked<'_>) -> Answer {
        let Some(remote) = &self.comm(asked.word(0))?.remote else {
            return Err(Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"));
        };
        let size = remote.size();
        asked.put_int(1, size.cast_signed());
        done()
    }

    fn group_of(
        &mut self,
        asked: &mut Asked<'_>,
        which: impl Fn(&Communicator) -> Option<Arc<Group>>,
    ) -> Answer {
        let group = which(self.comm(asked.word(0))?);
        let group =
            group.ok_or_else(|| Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"))?;
        let handle = self.groups.add(group);
        asked.put_word(1, handle);
        done()
    }

    fn compare(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (a, b) = (self.comm(asked.word(0))?.clone(), self.comm(asked.word(1))?.clone());
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

    fn set_name(&mut self, asked: &mut Asked<'_>) -> Answer {
        let name = asked.text(1)?;
        self.comm(asked.word(0))?;
        self.comms.get_mut(asked.word(0)).expect("it was found").name = name;
        done()
    }

    fn get_name(&mut self, asked: &mut Asked<'_>) -> Answer {
        if asked.word(0) == mpi5::COMM_NULL {
            asked.put_text(1, "MPI_COMM_NULL", 128);
            return done();
        }
        let name = self.comm(asked.word(0))?.name.clone();
        asked.put_text(1, &name, 128);
        done()
    }

    /// The library makes a communicator, and argument `at` gets its handle.
    pub(super) fn makes(
        &mut self,
        at: usize,
        parent: u64,
        call: impl FnOnce(Comm) -> CommCall,
        settle: impl FnOnce(&mut Self, &mut Asked<'_>, u64) -> Answer + Send + 'static,
    ) -> Answer {
        let number = self.comms.free()?;
        let settle: Settle = Box::new(settle);
        Ok(Step::calls(Call::Communicators(call(number)), move |_, _, _| {
            Ok(Step::calls(Call::Members { comm: number }, move |client, asked, reply| {
                let Reply::Numbers(members) = reply else { return done() };
                if members.is_empty() {
                    // Of an intercommunicator the other side may have none of this colour.
                    asked.put_word(at, mpi5::COMM_NULL);
                    return done();
                }
                let handle = client.made(number, &members);
                client.errors.inherit(handle, parent);
                asked.put_word(at, handle);
                settle(client, asked, handle)
            }))
        }))
    }

    /// A communicator is there: the library says how many members its groups have, and which.
    fn made(&mut self, number: Comm, members: &[u32]) -> u64 {
        let (own, members) = members.split_first().expect("the size of a group comes first");
        let (own, remote) = members.split_at(*own as usize);
        let group = |members: &[u32]| {
            Arc::new(Group::new(members.to_vec()).expect("the library has a process once"))
        };
        let remote = (!remote.is_empty()).then(|| group(remote));
        self.comms.add(Communicator { number, group: group(own), remote, name: String::new() })
    }

    fn dup(&mut self, asked: &mut Asked<'_>, at: usize) -> Answer {
        let parent = asked.word(0);
        let comm = self.comm(parent)?.number;
        let call = |new| CommCall::Dup { comm, new };
        self.makes(at, parent, call, move |client, asked, handle| {
            let copied = client.copy_attributes(asked.place, (Kind::Comm, parent), handle);
            if copied.is_err() {
                asked.put_word(at, mpi5::COMM_NULL);
            }
            copied?;
            client.topologies.inherit(handle, parent);
            if at == 2 { client.hint(handle, asked.word(1)) } else { done() }
        })
    }

    /// The duplicate has its handle at once: its groups are those of its parent.
    fn idup(&mut self, asked: &mut Asked<'_>, at: usize) -> Answer {
        let parent = asked.word(0);
        let new = self.comms.free()?;
        let old = self.comm(parent)?.clone();
        let comm = old.number;
        let handle = self.comms.add(Communicator { number: new, name: String::new(), ..old });
        self.errors.inherit(handle, parent);
        self.topologies.inherit(handle, parent);
        if let Err(fault) = self.copy_attributes(asked.place, (Kind::Comm, parent), handle) {
            asked.put_word(at, mpi5::COMM_NULL);
            return Err(fault);
        }
        if at == 2 {
            self.hint(handle, asked.word(1))?;
        }
        asked.put_word(at, handle);
        let request = self.requests.open(parent, false);
        let call = Call::Communicators(CommCall::Idup { comm, new, request });
        Ok(self.begins(asked, at + 1, request, call, Vec::new()))
    }

    fn split(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (parent, color, key) = (asked.word(0), asked.int(1), asked.int(2));
        let comm = self.comm(parent)?.number;
        if color == mpi5::UNDEFINED {
            let call = CommCall::Split { comm, color: None, key, new: self.comms.free()? };
            return Ok(none_made(call, 3));
        }
        if color < 0 {
            return Err(Fault::new(mpi5::ERR_ARG, format!("a colour of {color}")));
        }
        let color = Some(color);
        self.makes(3, parent, |new| CommCall::Split { comm, color, key, new }, |_, _, _| done())
    }

    fn split_type(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (parent, which, key) = (asked.word(0), asked.int(1), asked.int(2));
        let comm = self.intracomm(parent)?.number;
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
            let new = self.comms.free()?;
            return Ok(none_made(CommCall::SplitShared { comm, takes_part, key, new }, 4));
        }
        let call = |new| CommCall::SplitShared { comm, takes_part, key, new };
        self.makes(4, parent, call, |_, _, _| done())
    }

    /// The ranks in a communicator that a group's processes have.
    pub(super) fn ranks_of(&mut self, comm: u64, group: &Group) -> Result<Arc<[Rank]>, Fault> {
        let of = Arc::clone(&self.comm(comm)?.group);
        let ranks = group.members().iter().map(|process| of.rank(*process));
        ranks.collect::<Option<Arc<[Rank]>>>().ok_or_else(|| {
            Fault::new(mpi5::ERR_GROUP, "a process of the group is not in the communicator")
        })
    }

    fn create(&mut self, asked: &mut Asked<'_>) -> Answer {
        let parent = asked.word(0);
        let comm = self.comm(parent)?;
        let (number, is_inter) = (comm.number, comm.remote.is_some());
        let group = self.group(asked.word(1))?;
        let members = self.ranks_of(parent, &group)?;
        if is_inter {
            // Those of both sides that are in the groups are one part of a split, in the order of the groups.
            let key = group.rank(self.rank).map(|rank| rank.0.cast_signed());
            let (color, key) = (key.map(|_| 0), key.unwrap_or_default());
            let call = |new| CommCall::Split { comm: number, color, key, new };
            return match color {
                Some(_) => self.makes(2, parent, call, |_, _, _| done()),
                None => Ok(none_made(call(self.comms.free()?), 2)),
            };
        }
        let call = |new| CommCall::Create { comm: number, group: members, new };
        if group.rank(self.rank).is_none() {
            return Ok(none_made(call(self.comms.free()?), 2));
        }
        self.makes(2, parent, call, |_, _, _| done())
    }

    fn create_group(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (parent, tag) = (asked.word(0), asked.int(2));
        let comm = self.intracomm(parent)?.number;
        let group = self.group(asked.word(1))?;
        let members = self.ranks_of(parent, &group)?;
        if group.rank(self.rank).is_none() {
            asked.put_word(3, mpi5::COMM_NULL);
            return done();
        }
        let tag = tag.min(protocols::call::GROUP_TAG_MAX);
        let call = |new| CommCall::CreateGroup { comm, group: members, tag, new };
        self.makes(3, parent, call, |_, _, _| done())
    }

    fn intercomm(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (parent, leader) = (asked.word(0), asked.int(1));
        let me = self.rank;
        let comm = self.intracomm(parent)?;
        let (number, rank, size) = (comm.number, comm.group.rank(me), comm.size());
        let Some(leader) = u32::try_from(leader).ok().filter(|leader| *leader < size).map(Rank)
        else {
            return Err(Fault::new(mpi5::ERR_RANK, format!("rank {leader} of {size} leads none")));
        };
        let (peer, remote_leader, tag) = if rank == Some(leader) {
            let peer = self.comm(asked.word(2))?;
            let (peer, peers) = (peer.number, peer.peers());
            let remote = u32::try_from(asked.int(3)).ok().filter(|remote| *remote < peers);
            let remote = remote.ok_or_else(|| {
                Fault::new(mpi5::ERR_RANK, format!("rank {} leads no group", asked.int(3)))
            })?;
            (peer, Rank(remote), asked.int(4))
        } else {
            (Comm(0), Rank(0), 0)
        };
        let call =
            |new| CommCall::Intercomm { comm: number, leader, peer, remote_leader, tag, new };
        self.makes(5, parent, call, |_, _, _| done())
    }

    fn merge(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (parent, high) = (asked.word(0), asked.int(1) != 0);
        let comm = self.comm(parent)?;
        let number = comm.number;
        if comm.remote.is_none() {
            return Err(Fault::new(mpi5::ERR_COMM, "it is no intercommunicator"));
        }
        let call = |new| CommCall::Merge { comm: number, high, new };
        self.makes(2, parent, call, |_, _, _| done())
    }

    fn free_comm(&mut self, asked: &mut Asked<'_>) -> Answer {
        let handle = asked.at(0)?;
        let comm = self.comm(handle)?.number;
        if handle == mpi5::COMM_WORLD || handle == mpi5::COMM_SELF {
            return Err(Fault::new(mpi5::ERR_COMM, "a predefined communicator cannot be freed"));
        }
        self.delete_attributes(asked.place, (Kind::Comm, handle))?;
        Ok(Step::calls(Call::Communicators(CommCall::Free { comm }), move |client, asked, _| {
            client.comms.made.remove(handle);
            client.comms.numbers.remove(&comm.0);
            client.errors.forget(handle);
            client.infos.forget(handle);
            client.topologies.forget(handle);
            asked.put_word(0, mpi5::COMM_NULL);
            done()
        }))
    }
}

/// A call that gives this rank no communicator.
pub(super) fn none_made(call: CommCall, at: usize) -> Step {
    Step::calls(Call::Communicators(call), move |_, asked, _| {
        asked.put_word(at, mpi5::COMM_NULL);
        done()
    })
}
