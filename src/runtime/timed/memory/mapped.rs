//! Memory that several processes map: its lines travel between their cores, and its updates take a
//! mutex, as if processes shared a lock: one for all of a window, or one for each rank's part.
//!
//! A mutex is a server in order of arrival. Whoever comes spins until it is free. That of a window is
//! taken as a library lock is: at the cost of its line in the own cache, or of a hand-over by distance.
//! That of a rank is an atomic on a line that others may have (`lock_numbers`).
//! Its holder keeps it while it changes the elements. Puts and gets take no mutex: they are copies.
//!
//! Whoever loads, stores, copies or updates waits for the lines that other cores have
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
//! blocks at once, noticeable in many short blocks. Who loads while a store waits for its line has the
//! new value, and pays for no second way: one way too fast, noticeable where two cores meet within one
//! way. Sends, receives, combines, copies by the kernel and writes of an adapter neither wait for lines of
//! mapped memory nor take them away, noticeable where a program uses such memory as a message buffer. Who
//! has lines is known until the run ends, also of windows that were freed.

use crate::account::Part;
use crate::causes::Spent;
use crate::monitors::buffers::Lends;
use crate::timed::conductor::Timed;
use hardware::core::Place;
use hardware::lines::Use;
use mpi::rma::ticket_lock::TicketLock;
use protocols::contract::Machine;
use protocols::contract::Program;
use protocols::contract::{Region, Space};
use units::{Bytes, Time, TimeDelta};

/// What a mutex is for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(in crate::timed) enum Which {
    /// All of the memory of this name.
    Window(u32),
    /// The part of one rank.
    Rank(TicketLock),
}

/// A mutex of memory that processes map.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::timed) struct Mutex {
    free_at: Time,
    last: Option<Place>,
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// How long a core waits for the lines of memory, if processes map it.
    pub(in crate::timed) fn fetch_mapped(
        &mut self,
        thread: u32,
        region: Region,
        does: Use,
    ) -> TimeDelta {
        let Space::Shared(name) = region.space else { return TimeDelta::ZERO };
        if region.len == 0 {
            return TimeDelta::ZERO;
        }
        let here = self.actor(thread).placement.place.of_core();
        let line = self.cx.costs.profile.cache.line.as_u64();
        let lines = region.offset / line..(region.offset + region.len).div_ceil(line);
        let (costs, known) = (&self.cx.costs, self.memory.mapped.entry(name).or_default());
        let coming = known.reach(lines, (here, does), |there| costs.line_transfer(there, here));
        costs.lines_coming(coming)
    }

    /// A copy needs lines of mapped memory, from `cursor` on: when they are there.
    #[inline]
    pub(in crate::timed) fn copy_fetches(
        &mut self,
        thread: u32,
        (from, to): (Region, Region),
        (part, cursor): (Part, Time),
    ) -> Time {
        if !is_mapped(from) && !is_mapped(to) {
            return cursor;
        }
        let wait = self.fetch_mapped(thread, from, Use::Reads);
        let wait = wait + self.fetch_mapped(thread, to, Use::Writes);
        self.wait_for_lines(thread, wait, (part, cursor))
    }

    /// The core stands still until lines are there: when they are. That is no work: outside the library
    /// it is of [`Part::Outside`], inside of [`Part::Wait`].
    pub(in crate::timed) fn wait_for_lines(
        &mut self,
        thread: u32,
        wait: TimeDelta,
        (part, cursor): (Part, Time),
    ) -> Time {
        if wait == TimeDelta::ZERO {
            return cursor;
        }
        self.stand_still(thread, part, cursor, wait)
    }

    /// Who waits for lines takes no issue slots: threads of its core do not make it longer.
    pub(in crate::timed) fn stand_still(
        &mut self,
        thread: u32,
        part: Part,
        cursor: Time,
        wait: TimeDelta,
    ) -> Time {
        let end = self.actor(thread).work(part, cursor, wait);
        self.note(|trail| trail.spent(thread, Spent::Line, cursor, end));
        end
    }

    /// A core reads or changes elements of the memory `name`, in the part of `rank`, under a mutex, from
    /// `cursor` on: when it has left again.
    pub(in crate::timed) fn change_mapped(
        &mut self,
        thread: u32,
        (name, rank): (u32, u32),
        (region, does): (Region, Use),
        cursor: Time,
    ) -> Time {
        let here = self.actor(thread).placement.place.of_core();
        let mutex = if self.cx.costs.profile.mpi.rma_mutex_each_rank {
            Which::Rank(TicketLock { memory: name, rank })
        } else {
            Which::Window(name)
        };
        let Mutex { free_at, last } = self.memory.mutexes.get(&mutex).copied().unwrap_or_default();
        let taking = match (mutex, last) {
            (Which::Rank(lock), _) => {
                self.fetch_state(thread, lock) + self.cx.costs.profile.coh.atomic_uncontended
            }
            (Which::Window(_), Some(last)) if last != here => self.cx.costs.hand_over(last, here),
            (Which::Window(_), _) => self.cx.costs.profile.mpi.lock_uncontended,
        };
        let begin = cursor.max(free_at);
        self.actor(thread).account.add(Part::Lock, begin.since(cursor));
        self.note(|trail| trail.spent(thread, Part::Lock.into(), cursor, begin));
        let inside = self.charge(thread, Part::Lock, begin, taking);
        let wait = self.fetch_mapped(thread, region, does);
        let there = self.wait_for_lines(thread, wait, (Part::Wait, inside));
        let changing = self.cx.costs.lone_copy(Bytes::new(region.len));
        let end = self.charge(thread, Part::Copy, there, changing);
        self.memory.mutexes.insert(mutex, Mutex { free_at: end, last: Some(here) });
        end
    }
}

/// Whether memory is one that processes map.
const fn is_mapped(region: Region) -> bool {
    matches!(region.space, Space::Shared(_))
}
