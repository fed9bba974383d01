//! Groups of processes, by their handles.

use std::sync::Arc;

use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;
use ::mpi::group::Group;

/// The groups of a rank.
#[derive(Debug)]
pub(crate) struct Groups {
    made: Table<Arc<Group>>,
    empty: Arc<Group>,
}

impl Groups {
    pub(crate) fn new() -> Self {
        Self { made: Table::new(5), empty: Arc::new(Group::world(0)) }
    }

    /// A handle for a group.
    pub(crate) fn add(&mut self, group: Arc<Group>) -> u64 {
        if group.size() == 0 { mpi5::GROUP_EMPTY } else { self.made.add(group) }
    }

    /// The group of a handle.
    pub(crate) fn get(&self, handle::Group(handle): handle::Group) -> Result<Arc<Group>, Fault> {
        let group = match handle {
            mpi5::GROUP_EMPTY => Some(&self.empty),
            other => self.made.get(other),
        };
        group
            .cloned()
            .ok_or_else(|| Fault::new(mpi5::ERR_GROUP, format!("{handle:#x} is no group")))
    }

    /// A group is gone; the empty one stays.
    pub(crate) fn free(&mut self, handle: handle::Group) -> Result<(), Fault> {
        self.get(handle)?;
        self.made.remove(handle.0);
        Ok(())
    }
}
