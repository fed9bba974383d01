//! Making and freeing windows: what their processes must agree on.
//!
//! ```text
//!   create   gather (number, and memory, bytes, unit) of all ─▶ barrier
//!   free     everybody learns how many silent unlocks come ─▶ until they have come ─▶ barrier
//! ```
//!
//! A dynamic window gathers no more than its number: nobody knows what others attach, and attaching
//! tells nobody.
//!
//! Source: `rma` Sec. 2.2.3 and 4.1.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::call::{Flavor, Win, address};
use super::exchange::Exchange;
use super::manager::LockManager;
use super::window::{Base, Window};
use crate::mpi::envelope::Rank;
use crate::mpi::rma::layout::{AttachError, Attached};
use crate::mpi::rma::synchronisation::Synchronisation;
use crate::protocols::contract::Process;

/// Who makes a window.
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
    pub(super) exchange: Exchange,
}

impl Creating {
    /// The first step of making a window, by a process whose next free number is `number`.
    pub(super) fn new(win: Win, members: Members, flavor: Flavor, number: u32, base: Base) -> Self {
        let size = u32::try_from(members.processes.len()).expect("ranks are u32");
        let Base { memory, bytes, unit } = base;
        let exchange = match flavor {
            Flavor::Dynamic => Exchange::gather(members.rank, size, &[number.into()]),
            Flavor::Create | Flavor::Allocate => {
                let words = [number.into(), memory.into(), bytes, unit];
                Exchange::gather(members.rank, size, &words)
            }
        };
        Self { win, members, flavor, exchange }
    }

    /// The window, once everybody's words are known.
    pub(super) fn window(&self) -> Window {
        let narrow = |word: u64| u32::try_from(word).expect("it was 32 bits wide when it was told");
        let numbers = self.exchange.gathered().map(|words| narrow(words[0]));
        let bases = self.exchange.gathered().filter(|words| words.len() > 1);
        let bases = bases.map(|words| {
            let (memory, bytes, unit) = (narrow(words[1]), words[2], words[3]);
            Base { memory, bytes, unit }
        });
        Window {
            id: numbers.max().expect("a window has ranks"),
            rank: self.members.rank,
            members: Arc::clone(&self.members.processes),
            flavor: self.flavor,
            bases: bases.collect(),
            attached: Attached::default(),
            sync: Synchronisation::new(Rank(self.members.rank)),
            fenced: false,
            started: Vec::new(),
            no_check: false,
            exposure: None,
            manager: LockManager::default(),
            targets: BTreeMap::new(),
            active: VecDeque::new(),
            posts: BTreeMap::new(),
            slots: Vec::new(),
            counted: 0,
            silent: BTreeMap::new(),
            silent_come: 0,
        }
    }
}

impl Window {
    /// The first step of freeing it.
    pub(super) fn begin_free(&self) -> Exchange {
        let count = |rank: u32| self.silent.get(&rank).copied().unwrap_or(0);
        Exchange::scatter(self.rank, self.size(), count)
    }

    /// `MPI_Win_attach`.
    pub(super) fn attach(&mut self, memory: u32, bytes: u64) -> Result<(), String> {
        if self.flavor != Flavor::Dynamic {
            return Err("only a dynamic window has memory attached".to_owned());
        }
        let attached = self.attached.attach(address(memory, 0), bytes);
        attached.map_err(|error| format!("{error} (memory {memory})"))
    }

    /// Whether a piece of memory is attached.
    pub(super) fn is_attached(&self, memory: u32) -> Result<(), String> {
        self.attached
            .clone()
            .detach(address(memory, 0))
            .map_err(|error| detach_error(error, memory))
    }

    /// `MPI_Win_detach`.
    pub(super) fn detach(&mut self, memory: u32) -> Result<(), String> {
        self.attached.detach(address(memory, 0)).map_err(|error| detach_error(error, memory))
    }
}

fn detach_error(error: AttachError, memory: u32) -> String {
    format!("{error} (memory {memory})")
}
