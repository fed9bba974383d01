//! Memory that several processes map: its lines travel between their cores, and its updates take a
//! mutex, as if processes shared a lock: one for all of a window, or one for each rank's part.
//!
//! A mutex is a server in order of arrival. A core that comes spins until it is free. That of a window is
//! taken as a library lock is: at the cost of its line in the own cache, or of a hand-over by distance.
//! That of a rank is an atomic on a line that others may have (`waiters.rs`).
//! Its holder keeps it while it changes the elements. Puts and gets take no mutex: they are copies.
//!
//! A core that loads, stores, copies or updates waits for the lines that other cores have
//! ([`Lines`](hardware::lines::Lines)): the longest of their ways, and the rest fetched ahead. A
//! store waits as well: what follows it in these calls, an atomic or a fence, would. The bytes change
//! when the wait begins.
//!
//! Source: `rma` Sec. 4.5, which has one mutex; the times of ways are `coh.line_*`; what updates read and
//! write, and a mutex for each rank: `OSCSM` (`mpi.rma_mutex_each_rank`), of
//! which one that reads before it writes fetches its lines once here. Left out: an update beyond the caches does not share memory's bandwidth with other
//! copies, noticeable in large accumulates of many processes of a socket; a line that many want at once
//! comes to one after the other; other data of the library in the mutex's line. A strided operation is a
//! copy for each of its blocks, and waits a way for each: too slow where a core would ask for several
//! blocks at once, noticeable in many short blocks. A core that loads while a store waits for its line has the
//! new value, and pays for no second way: one way too fast, noticeable where two cores meet within one
//! way. Sends, receives, combines, copies by the kernel and writes of an adapter neither wait for lines of
//! mapped memory nor take them away, noticeable where a program uses such memory as a message buffer. Who
//! has lines is known until the run ends, also of windows that were freed.

use std::collections::BTreeMap;

use crate::timed::costs::Costs;
use hardware::core::Place;
use hardware::lines::{Lines, Use};
use mpi::rma::ticket_lock::TicketLock;
use protocols::contract::{Region, Space};
use units::{Time, TimeDelta};

/// Scope of a mutex.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Which {
    /// All of the memory of this name.
    Window(u32),
    /// The part of one rank.
    Rank(TicketLock),
}

/// A mutex of memory that processes map.
#[derive(Clone, Copy, Debug, Default)]
struct Mutex {
    free_at: Time,
    last: Option<Place>,
}

/// Memory that several processes map: which core has its lines, and its mutexes.
#[derive(Debug, Default)]
pub(crate) struct Mapped {
    mutexes: BTreeMap<Which, Mutex>,
    /// By name of the memory.
    lines: BTreeMap<u32, Lines>,
}

/// A mutex that a core is about to take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acquisition {
    mutex: Which,
    /// When it is free.
    pub(crate) free_at: Time,
    /// Cost of taking it; without the line of its counters, where it has some.
    pub(crate) taking: TimeDelta,
    /// The lock whose counters it is taken by.
    pub(crate) counters: Option<TicketLock>,
}

impl Mapped {
    /// How long a core at `here` waits for the lines of memory, if processes map it.
    #[inline]
    pub(crate) fn fetch(
        &mut self,
        here: Place,
        region: Region,
        does: Use,
        costs: &Costs,
    ) -> TimeDelta {
        let Space::Shared(name) = region.space else { return TimeDelta::ZERO };
        self.fetch_lines(here.of_core(), name, region, does, costs)
    }

    #[inline(never)]
    fn fetch_lines(
        &mut self,
        here: Place,
        name: u32,
        region: Region,
        does: Use,
        costs: &Costs,
    ) -> TimeDelta {
        if region.len == 0 {
            return TimeDelta::ZERO;
        }
        let line = costs.profile.cache.line.as_u64();
        let lines = region.offset / line..(region.offset + region.len).div_ceil(line);
        let known = self.lines.entry(name).or_default();
        let coming = known.reach(lines, (here, does), |there| costs.line_transfer(there, here));
        costs.lines_coming(coming)
    }

    /// How long a core at `here` waits for the lines that a copy needs.
    #[inline]
    pub(crate) fn fetch_for_copy(
        &mut self,
        here: Place,
        (from, to): (Region, Region),
        costs: &Costs,
    ) -> TimeDelta {
        if !is_mapped(from) && !is_mapped(to) {
            return TimeDelta::ZERO;
        }
        self.fetch(here, from, Use::Reads, costs) + self.fetch(here, to, Use::Writes, costs)
    }

    /// The mutex under which elements of the memory `name`, in the part of `rank`, are changed.
    pub(crate) fn acquisition(
        &self,
        here: Place,
        (name, rank): (u32, u32),
        costs: &Costs,
    ) -> Acquisition {
        let profile = &costs.profile;
        let lock = TicketLock { memory: name, rank };
        let each_rank = profile.mpi.rma_mutex_each_rank;
        let mutex = if each_rank { Which::Rank(lock) } else { Which::Window(name) };
        let Mutex { free_at, last } = self.mutexes.get(&mutex).copied().unwrap_or_default();
        let taking = match (mutex, last) {
            (Which::Rank(_), _) => profile.coh.atomic_uncontended,
            (Which::Window(_), Some(last)) if last != here.of_core() => {
                costs.hand_over(last, here.of_core())
            }
            (Which::Window(_), _) => profile.mpi.lock_uncontended,
        };
        Acquisition { mutex, free_at, taking, counters: each_rank.then_some(lock) }
    }

    /// A core has released a mutex.
    pub(crate) fn release(&mut self, acquired: Acquisition, here: Place, at: Time) {
        self.mutexes.insert(acquired.mutex, Mutex { free_at: at, last: Some(here.of_core()) });
    }
}

/// Whether memory is one that processes map.
pub(super) const fn is_mapped(region: Region) -> bool {
    matches!(region.space, Space::Shared(_))
}
