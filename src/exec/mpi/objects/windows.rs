//! Windows, by their handles: memory of processes that others read and write.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::exposed::Exposed;
use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::data::Held;
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;
use crate::place::Place;
use ::mpi::group::Group;
use calls::arguments::Outcome;
use protocols::windows::call::Win;

/// The windows of a rank.
#[derive(Debug)]
pub(crate) struct Windows {
    made: Table<Window>,
    pub(crate) exposed: Exposed,
}

/// A window as a rank has it.
#[derive(Debug)]
pub(crate) struct Window {
    pub(crate) number: Win,
    pub(crate) group: Arc<Group>,
    pub(crate) flavor: i32,
    /// The part of this rank: where it begins, its bytes, and bytes of a unit.
    pub(crate) base: u64,
    pub(crate) bytes: i64,
    pub(crate) unit: i64,
    /// Memory that is mapped for it: address and bytes.
    pub(crate) mapped: Option<(u64, u64)>,
    pub(crate) name: String,
    /// Addresses of what this rank has attached to it.
    pub(crate) attached: BTreeSet<u64>,
    /// Data that the simulator holds for operations that are not complete, with their targets.
    pub(crate) held: Vec<(u32, Held)>,
}

impl Windows {
    pub(crate) fn new(exposed: &Exposed) -> Self {
        Self { made: Table::new(8), exposed: exposed.clone() }
    }

    /// The lowest number that the library has for no window of this rank.
    pub(crate) fn free(&self) -> Win {
        let mut numbers = 0..u16::MAX;
        let taken = |number: u16| self.made.iter().any(|(_, window)| window.number == Win(number));
        Win(numbers.find(|number| !taken(*number)).unwrap_or(u16::MAX))
    }

    /// A handle for a new window.
    pub(crate) fn add(&mut self, window: Window) -> u64 {
        self.made.add(window)
    }

    /// The window of a handle, to be changed.
    pub(crate) fn get_mut(
        &mut self,
        handle::Win(handle): handle::Win,
    ) -> Result<&mut Window, Fault> {
        let window = self.made.get_mut(handle);
        window.ok_or_else(|| Fault::new(mpi5::ERR_WIN, format!("{handle:#x} is no window")))
    }

    /// A window is gone.
    pub(crate) fn remove(&mut self, handle::Win(handle): handle::Win) -> Option<Window> {
        self.made.remove(handle)
    }
}

impl Window {
    /// The rank in its group that an operation names as its target.
    pub(crate) fn target(&self, rank: i32) -> Result<u32, Fault> {
        let size = self.group.size();
        let target = u32::try_from(rank).ok().filter(|rank| *rank < size);
        target.ok_or_else(|| {
            Fault::new(mpi5::ERR_RANK, format!("target {rank} of {size} does not exist"))
        })
    }

    /// The operations to a target, or to all, are complete at the origin: what is held for them goes where it belongs.
    pub(crate) fn complete(&mut self, place: &mut Place, target: Option<u32>) -> Result<(), Fault> {
        let of_target = |(of, _): &mut (u32, Held)| target.is_none_or(|target| target == *of);
        let complete: Vec<_> = self.held.extract_if(.., of_target).collect();
        for (_, held) in complete {
            held.end(place, Outcome::Sent)?;
        }
        Ok(())
    }
}
