//! Making and freeing windows: what their processes must agree on.
//!
//! ```text
//!   create   gather (number, and memory, bytes, unit) of all ─▶ barrier
//!   shared   the same ─▶ rank 0 allocates the sum ─▶ its handle goes round ─▶ offsets by each
//!   free     each learns how many silent unlocks come ─▶ until they have come ─▶ barrier
//! ```
//!
//! A dynamic window gathers no more than its number: attaching memory sends no message.
//!
//! A one-word allgather distributes the handle of shared memory, which also serves as the barrier; it
//! has as many rounds as a broadcast and more messages. Left out: the time of the operating system
//! for the memory.
//!
//! Source: `rma` Sec. 2.2.3, 4.1 and 4.5.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::call::{Flavor, Spacing, Win};
use super::exchange::Exchange;
use super::manager::LockManager;
use super::mapped::Takings;
use super::token::MOST_WINDOWS;
use super::window::{Base, Window};
use crate::contract::{Process, Space};
use mpi::envelope::Rank;
use mpi::rma::access::MemoryModel;
use mpi::rma::layout::{Attached, Layout};
use mpi::rma::synchronisation::Synchronisation;

/// Processes that create a window together.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Members {
    pub(crate) rank: u32,
    /// Context of the communicator.
    pub(crate) context: u32,
    pub(crate) processes: Arc<[Process]>,
}

/// A window that is being made.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Creating {
    pub(super) win: Win,
    pub(super) members: Members,
    flavor: Flavor,
    model: MemoryModel,
    pub(super) exchange: Exchange,
}

impl Creating {
    /// The first step of making a window, by a process whose next free number is `number`.
    pub(super) fn new(
        win: Win,
        members: Members,
        (flavor, model): (Flavor, MemoryModel),
        number: u32,
        base: Base,
    ) -> Self {
        let size = u32::try_from(members.processes.len()).expect("ranks are u32");
        let Base { memory, bytes, unit, .. } = base;
        let exchange = match flavor {
            Flavor::Dynamic => Exchange::gather(members.rank, size, &[number.into()]),
            Flavor::Create | Flavor::Allocate | Flavor::Shared(_) => {
                let words = [number.into(), memory.into(), bytes, unit];
                Exchange::gather(members.rank, size, &words)
            }
        };
        Self { win, members, flavor, model, exchange }
    }

    /// The window, once the words of all are known.
    ///
    /// # Errors
    ///
    /// The memory of all together cannot be had, or so many windows cannot be distinguished.
    pub(super) fn window(&self) -> Result<Window, String> {
        let narrow = |word: u64| u32::try_from(word).expect("it was 32 bits wide when it was told");
        let numbers = self.exchange.gathered().map(|words| narrow(words[0]));
        let id = numbers.max().expect("a window has ranks");
        if id >= MOST_WINDOWS {
            return Err(format!("at most {MOST_WINDOWS} windows are made, freed ones among them"));
        }
        let bases = self.exchange.gathered().filter(|words| words.len() > 1);
        let bases = bases.map(|words| {
            let (memory, bytes, unit) = (narrow(words[1]), words[2], words[3]);
            Base { memory, start: 0, bytes, unit }
        });
        let mut bases: Vec<Base> = bases.collect();
        if let Flavor::Shared(spacing) = self.flavor {
            self.share(id, spacing, &mut bases)?;
        }
        Ok(Window {
            id,
            rank: self.members.rank,
            members: Arc::clone(&self.members.processes),
            flavor: self.flavor,
            model: self.model,
            bases: bases.into(),
            attached: Attached::default(),
            sync: Synchronisation::new(Rank(self.members.rank)),
            fenced: false,
            started: Vec::new(),
            no_check: false,
            exposure: None,
            manager: LockManager::default(),
            takings: Takings::default(),
            targets: BTreeMap::new(),
            active: VecDeque::new(),
            posts: BTreeMap::new(),
            slots: Vec::new(),
            free_slots: BTreeSet::new(),
            counted: 0,
            silent: BTreeMap::new(),
            silent_come: 0,
        })
    }

    /// Lays the segments of a shared window out in the memory of rank 0, where each finds them.
    fn share(&self, id: u32, spacing: Spacing, bases: &mut [Base]) -> Result<(), String> {
        let unit = |base: &Base| u32::try_from(base.unit).map_err(|_| "a unit is below 4 GiB");
        let sizes = bases.iter().map(|base| Ok((base.bytes, unit(base)?)));
        let sizes: Vec<(u64, u32)> = sizes.collect::<Result<_, &str>>()?;
        let layout = Layout::shared(0, &sizes, spacing).map_err(|error| error.to_string())?;
        let root = self.members.processes[0];
        let Some(Space::Shared(memory)) = Space::shared(root, id) else {
            return Err("memory is shared by the first 65,536 processes only".to_owned());
        };
        for (base, rank) in bases.iter_mut().zip(0..) {
            base.memory = memory;
            base.start = layout.segment(Rank(rank)).map_or(0, |segment| segment.base);
        }
        Ok(())
    }
}

/// The last step of making a window: no process uses it before all have it. Where it is shared, the
/// name that rank 0 has for its memory goes round.
pub(super) fn begin_use(window: &Window) -> Exchange {
    match window.bases.first().filter(|_| window.is_shared()) {
        Some(base) => Exchange::gather(window.rank, window.size(), &[base.memory.into()]),
        None => window.barrier(),
    }
}

/// The first step of freeing a window.
pub(super) fn begin_free(window: &Window) -> Exchange {
    let count = |rank: u32| window.silent.get(&rank).copied().unwrap_or(0);
    Exchange::scatter(window.rank, window.size(), count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of one process that has made `number` windows before.
    fn made(number: u32) -> Result<Window, String> {
        let members = Members { rank: 0, context: 0, processes: [Process(0)].into() };
        let base = Base { memory: 0, start: 0, bytes: 8, unit: 1 };
        let kind = (Flavor::Allocate, MemoryModel::Unified);
        Creating::new(Win(0), members, kind, number, base).window()
    }

    #[test]
    fn the_last_window_that_a_token_can_name_is_made_and_no_more() {
        assert_eq!(made(MOST_WINDOWS - 1).map(|window| window.id), Ok(MOST_WINDOWS - 1));
        let words = made(MOST_WINDOWS).map(|window| window.id).unwrap_err();
        assert!(words.contains("at most 32768 windows"), "{words}");
    }
}
