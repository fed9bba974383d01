//! Communicator objects: what one process has of an endpoint communicator, and how it comes to be.
//!
//! ```text
//!   a process calls with its number of endpoints ──allgather──▶ layout ──▶ Part of each process
//!
//!   Part     flag, parent, barrier, buffer, rank map          one per process, shared
//!    └─ Handle  (rank, size) of process, endpoint, in-process; incoming messages   one per thread
//! ```
//!
//! Thread i of a process uses handle i.
//!
//! Source: `xios-ep` Sec. 1 to 3.
//! Left out: freeing. Noticeable once a run makes and frees many communicators.

use std::sync::Arc;

use super::message_list::MessageList;
use super::rank_map::{Place, RankMap};
use mpi::envelope::Rank;
use protocols::call::Comm;

/// A rank and the number of those that it is one of.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Pair {
    /// The rank.
    pub rank: u32,
    /// How many there are.
    pub size: u32,
}

/// Communicator handle of one thread.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Handle<M> {
    /// Its process among the processes.
    pub process: Pair,
    /// Itself among all endpoints: the answer to a query of rank and size.
    pub endpoint: Pair,
    /// Itself among the endpoints of its process.
    pub local: Pair,
    /// Messages that are for it and not received yet.
    pub messages: MessageList<M>,
}

/// State that the threads of one process share; `M` is the caller's record of a message of MPI.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Part<M> {
    /// The EP flag: false for a communicator of MPI itself, with one handle in each process.
    pub is_endpoint: bool,
    /// The communicator of MPI below.
    pub parent: Comm,
    /// The barrier of this process.
    pub barrier: LocalBarrier,
    /// The buffer in which threads of this process hand data to each other.
    pub buffer: LocalBuffer,
    /// Where all endpoints live.
    pub rank_map: Arc<RankMap>,
    /// The handles of this process, by in-process rank.
    pub handles: Vec<Handle<M>>,
}

/// Treatment of a process that asks for no endpoint.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub enum Empty {
    /// An error: it has no thread that could call a collective.
    #[default]
    Refused,
    /// It takes part in the creation only.
    Allowed,
}

/// Why there can be no endpoint communicator.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CreateError {
    /// A process asks for none.
    #[error("process {process} asks for 0 endpoints; each process needs one unless 0 is allowed")]
    Empty {
        /// The process.
        process: u32,
    },
    /// No process requests any.
    #[error("all {processes} processes ask for 0 endpoints; a communicator has one at least")]
    None {
        /// How many processes there are.
        processes: u32,
    },
    /// More than ranks can number.
    #[error("{endpoints} endpoints are more than ranks can number")]
    TooMany {
        /// How many are requested.
        endpoints: u64,
    },
}

/// The map of a communicator whose creators requested `counts[process]` endpoints: in the order of
/// the parent's ranks, those of a process next to each other.
///
/// # Errors
///
/// A process without endpoints where that is refused, and a communicator without any.
pub fn layout(counts: &[u32], empty: Empty) -> Result<RankMap, CreateError> {
    let none = (0..).zip(counts).find(|(_, count)| **count == 0).map(|(process, _)| process);
    if let (Some(process), Empty::Refused) = (none, empty) {
        return Err(CreateError::Empty { process });
    }
    let endpoints: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    match u32::try_from(endpoints) {
        Err(_) => Err(CreateError::TooMany { endpoints }),
        Ok(0) => Err(CreateError::None { processes: super::count(counts.len()) }),
        Ok(_) => Ok(RankMap::from_counts(counts)),
    }
}

impl<M> Part<M> {
    /// Part of process `process` in a communicator with this map.
    pub fn new(parent: Comm, rank_map: &Arc<RankMap>, process: u32) -> Self {
        let ranks = rank_map.locals(process);
        let handle = |(local, rank): (u32, &Rank)| Handle {
            process: Pair { rank: process, size: rank_map.process_count() },
            endpoint: Pair { rank: rank.0, size: rank_map.size() },
            local: Pair { rank: local, size: super::count(ranks.len()) },
            messages: MessageList::default(),
        };
        Self {
            is_endpoint: true,
            parent,
            barrier: LocalBarrier::new(super::count(ranks.len())),
            buffer: LocalBuffer::new(super::count(ranks.len())),
            handles: (0..).zip(ranks).map(handle).collect(),
            rank_map: Arc::clone(rank_map),
        }
    }

    /// A communicator of MPI in the same clothes: each process is its only endpoint.
    pub fn plain(parent: Comm, process: Pair) -> Self {
        let map = Arc::new(RankMap::from_counts(&vec![1; process.size as usize]));
        Self { is_endpoint: false, ..Self::new(parent, &map, process.rank) }
    }

    /// All parts of a communicator, by process.
    pub fn all(parent: Comm, rank_map: &Arc<RankMap>) -> Vec<Self> {
        (0..rank_map.process_count()).map(|process| Self::new(parent, rank_map, process)).collect()
    }
}

/// A statement about communicator objects that does not hold.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("process {process}: {what}")]
pub struct Broken {
    /// Where.
    pub process: u32,
    /// Description of the violation, as a sentence.
    pub what: String,
}

/// Whether these are the parts of one communicator, by process.
///
/// # Errors
///
/// The first statement of Sec. 3 that does not hold.
pub fn validate<M>(parts: &[Part<M>]) -> Result<(), Broken> {
    for (part, process) in parts.iter().zip(0..) {
        let broken = |what: String| Broken { process, what };
        let (map, locals) = (&part.rank_map, part.rank_map.locals(process));
        let must = |holds: bool, what: &str| {
            if holds { Ok(()) } else { Err(broken(what.to_owned())) }
        };
        must(map.process_count() as usize == parts.len(), "the rank map has other processes")?;
        must(*map == parts[0].rank_map, "its rank map differs from that of process 0")?;
        must(part.parent == parts[0].parent, "its parent differs from that of process 0")?;
        must(part.is_endpoint == parts[0].is_endpoint, "its flag differs from that of process 0")?;
        must(part.barrier.size() as usize == locals.len(), "the barrier has another size")?;
        must(part.buffer.slots.len() == locals.len(), "the buffer has another size")?;
        must(part.handles.len() == locals.len(), "it has another number of handles")?;
        for (handle, local) in part.handles.iter().zip(0..) {
            let here = Pair { rank: process, size: super::count(parts.len()) };
            must(handle.process == here, "a handle's process pair is wrong")?;
            let place = Place { local: handle.local.rank, process };
            must(handle.local.rank == local, "handles are not in the order of in-process ranks")?;
            must(handle.local.size as usize == locals.len(), "a handle's local size is wrong")?;
            must(handle.endpoint.size == map.size(), "a handle's size is not the sum of all")?;
            let listed = map.place(Rank(handle.endpoint.rank)) == Some(place);
            must(listed, "the rank map has a handle's rank elsewhere")?;
        }
    }
    Ok(())
}

/// The barrier of the threads of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct LocalBarrier {
    /// Whether each thread waits, by in-process rank.
    inside: Box<[bool]>,
    /// How often it opened.
    opened: u64,
}

/// Result of a thread's arrival at the barrier.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Entered {
    /// Others are missing: it waits until the barrier has opened this often.
    Waits {
        /// The count to wait for.
        until: u64,
    },
    /// It is the last: all go on, and the barrier is as new.
    Opens,
}

/// A thread enters a barrier in which it waits already.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("endpoint {local} of the process enters the in-process barrier twice")]
pub struct EnteredTwice {
    /// Its in-process rank.
    pub local: u32,
}

impl LocalBarrier {
    /// The barrier of this many threads.
    pub fn new(size: u32) -> Self {
        Self { inside: vec![false; size as usize].into(), opened: 0 }
    }

    /// How many threads it waits for.
    pub fn size(&self) -> u32 {
        super::count(self.inside.len())
    }

    /// How often it opened.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// The thread with this in-process rank enters.
    ///
    /// # Errors
    ///
    /// It waits inside already.
    ///
    /// # Panics
    ///
    /// The process has no such thread.
    pub fn enter(&mut self, local: u32) -> Result<Entered, EnteredTwice> {
        let slot = self.inside.get_mut(local as usize).expect("a handle of this process");
        if std::mem::replace(slot, true) {
            return Err(EnteredTwice { local });
        }
        if self.inside.iter().all(|inside| *inside) {
            self.inside.fill(false);
            self.opened += 1;
            return Ok(Entered::Opens);
        }
        Ok(Entered::Waits { until: self.opened + 1 })
    }
}

/// The buffer through which threads of one process hand data to each other: a slot each.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct LocalBuffer {
    slots: Box<[Box<[u8]>]>,
}

impl LocalBuffer {
    /// Empty slots for this many threads.
    pub fn new(size: u32) -> Self {
        Self { slots: vec![Box::default(); size as usize].into() }
    }

    /// Fills the slot of a thread.
    ///
    /// # Panics
    ///
    /// The process has no such thread.
    pub fn put(&mut self, local: u32, bytes: &[u8]) {
        self.slots[local as usize] = bytes.into();
    }

    /// Content of the slot of a thread; `None` where the process has no such thread.
    pub fn slot(&self, local: u32) -> Option<&[u8]> {
        self.slots.get(local as usize).map(|slot| &**slot)
    }
}

#[cfg(test)]
mod tests;
