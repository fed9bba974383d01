//! The memory of the job's nodes: bytes, counters, and the cache lines that cores share.

pub(super) mod delayed;
pub(super) mod mapped;
pub(super) mod peer_copy;
pub(super) mod waiters;

use std::collections::BTreeMap;

use super::setup::Kernel;
use super::slab::Slab;
use crate::counters::Counters;
use crate::memory::{Memories, Payload};
use delayed::Stale;
use hardware::core::Place;
use hardware::lines::Lines;
use mapped::{Mutex, Which};
use peer_copy::PeerCopies;
use units::TimeDelta;
use waiters::{Sight, StateLine, Watcher};

/// Memory, and what cores do to each other by it.
#[derive(Debug)]
pub(super) struct Memory {
    pub(super) bytes: Memories,
    pub(super) counters: Counters,
    pub(super) delayed: Stale,
    pub(super) peer_copies: PeerCopies,
    /// The mutexes of memory that several processes map, and who has its lines.
    pub(super) mutexes: BTreeMap<Which, Mutex>,
    pub(super) mapped: BTreeMap<u32, Lines>,
    /// Where the lines of the locks lie that processes share, and who waits for one.
    pub(super) lines: BTreeMap<StateLine, Place>,
    pub(super) waiters: Vec<Watcher>,
    pub(super) sights: Slab<Sight>,
}

impl Memory {
    pub(super) fn new(
        processes: usize,
        payload: Payload,
        kernel: Option<Kernel>,
        counter_lag: TimeDelta,
    ) -> Self {
        Self {
            bytes: Memories::new(processes, payload),
            counters: Counters::default(),
            delayed: Stale::new(counter_lag),
            peer_copies: PeerCopies::new(kernel.unwrap_or_default()),
            mutexes: BTreeMap::new(),
            mapped: BTreeMap::new(),
            lines: BTreeMap::new(),
            waiters: Vec::new(),
            sights: Slab::default(),
        }
    }
}
