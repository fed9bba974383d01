//! Communicators, by their handles.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;
use ::mpi::communicator::Communicators;
use ::mpi::envelope::Rank;
use ::mpi::group::Group;
use calls::arguments::Comm;

/// A communicator as a rank has it.
#[derive(Clone, Debug)]
pub(crate) struct Communicator {
    /// The library's number.
    pub(crate) number: Comm,
    /// The caller's group, as processes of the job.
    pub(crate) group: Arc<Group>,
    /// The other group of an intercommunicator.
    pub(crate) remote: Option<Arc<Group>>,
    pub(crate) name: String,
    /// Whether the program has freed it: it stays until the operations over it are complete.
    pub(crate) is_freed: bool,
}

impl Communicator {
    /// Ranks of the caller's group.
    pub(crate) fn size(&self) -> u32 {
        self.group.size()
    }

    /// Ranks that a message can go to.
    pub(crate) fn peers(&self) -> u32 {
        self.remote.as_ref().unwrap_or(&self.group).size()
    }

    /// The ranks that a group's processes have in it.
    pub(crate) fn ranks_of(&self, group: &Group) -> Result<Arc<[Rank]>, Fault> {
        let ranks = group.members().iter().map(|process| self.group.rank(*process));
        ranks.collect::<Option<Arc<[Rank]>>>().ok_or_else(|| {
            Fault::new(mpi5::ERR_GROUP, "a process of the group is not in the communicator")
        })
    }
}

/// The communicators of a rank.
#[derive(Debug)]
pub(crate) struct Comms {
    world: Communicator,
    alone: Communicator,
    made: Table<Communicator>,
    /// Numbers that the library knows, to their handles; free ones are used again.
    numbers: BTreeMap<u16, u64>,
}

impl Comms {
    pub(crate) fn new(rank: u32, size: u32) -> Self {
        let comm = |number, group, name: &str| Communicator {
            number: Comm(number),
            group: Arc::new(group),
            remote: None,
            name: name.to_owned(),
            is_freed: false,
        };
        let alone = Group::new(vec![rank]).expect("one process is no duplicate");
        Self {
            world: comm(Communicators::WORLD, Group::world(size), "MPI_COMM_WORLD"),
            alone: comm(Communicators::SELF, alone, "MPI_COMM_SELF"),
            made: Table::new(4),
            numbers: BTreeMap::new(),
        }
    }

    /// The communicator of a handle.
    pub(crate) fn get(&self, handle::Comm(handle): handle::Comm) -> Result<&Communicator, Fault> {
        let comm = match handle {
            mpi5::COMM_WORLD => Some(&self.world),
            mpi5::COMM_SELF => Some(&self.alone),
            other => self.made.get(other).filter(|comm| !comm.is_freed),
        };
        comm.ok_or_else(|| no_comm(handle))
    }

    /// The communicator of a handle, to be changed.
    pub(crate) fn get_mut(
        &mut self,
        handle::Comm(handle): handle::Comm,
    ) -> Result<&mut Communicator, Fault> {
        let comm = match handle {
            mpi5::COMM_WORLD => Some(&mut self.world),
            mpi5::COMM_SELF => Some(&mut self.alone),
            other => self.made.get_mut(other).filter(|comm| !comm.is_freed),
        };
        comm.ok_or_else(|| no_comm(handle))
    }

    /// The communicator that the library knows by this number.
    pub(crate) fn numbered(&self, number: Comm) -> Option<&Communicator> {
        match number.0 {
            Communicators::WORLD => Some(&self.world),
            Communicators::SELF => Some(&self.alone),
            made => self.made.get(*self.numbers.get(&made)?),
        }
    }

    /// Processes of the job.
    pub(crate) fn universe(&self) -> u32 {
        self.world.size()
    }

    /// The lowest number that the library has for no communicator of this rank.
    pub(crate) fn free(&self) -> Result<Comm, Fault> {
        let mut free = STANDARD..Communicators::SELF;
        free.find(|number| !self.numbers.contains_key(number))
            .map(Comm)
            .ok_or_else(|| Fault::new(mpi5::ERR_OTHER, "a rank has at most 65,533 communicators"))
    }

    /// A handle for a new communicator.
    pub(crate) fn add(&mut self, comm: Communicator) -> u64 {
        let number = comm.number.0;
        let handle = self.made.add(comm);
        self.numbers.insert(number, handle);
        handle
    }

    /// A handle for a communicator of which the library says how many members its groups have, and which.
    pub(crate) fn add_members(&mut self, number: Comm, members: &[u32]) -> u64 {
        let (own, members) = members.split_first().expect("the size of a group comes first");
        let (own, remote) = members.split_at(*own as usize);
        let group = |members: &[u32]| {
            Arc::new(Group::new(members.to_vec()).expect("the library has a process once"))
        };
        let remote = (!remote.is_empty()).then(|| group(remote));
        let (group, name) = (group(own), String::new());
        self.add(Communicator { number, group, remote, name, is_freed: false })
    }

    /// A communicator that the program has freed, and that no operation is over: its handle and number.
    pub(crate) fn idle(&self, is_used: impl Fn(u64) -> bool) -> Option<(u64, Comm)> {
        let mut freed = self.made.iter().filter(|(_, comm)| comm.is_freed);
        freed.find(|(handle, _)| !is_used(*handle)).map(|(handle, comm)| (handle, comm.number))
    }

    /// A communicator is gone.
    pub(crate) fn remove(&mut self, handle: u64) {
        if let Some(comm) = self.made.remove(handle) {
            self.numbers.remove(&comm.number.0);
        }
    }
}

/// A job begins with the communicators of smaller numbers: see [`Communicators::standard`].
const STANDARD: u16 = Communicators::REVERSED + 1;

fn no_comm(handle: u64) -> Fault {
    Fault::new(mpi5::ERR_COMM, format!("{handle:#x} is no communicator"))
}
