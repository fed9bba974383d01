//! Where a run has a limit of memory, what it holds is counted now and then ([`crate::held`]).
//!
//! Between two looks lie so many events that looking costs nothing beside them, and that number depends
//! on the run alone: it stops after the same event everywhere. An event can take much: where payload was
//! stored that may pass the limit, or threads ran far ahead of the clock, a look comes at once; and one
//! comes when the run has ended well.

use super::{Ending, Lends, Machine, Program, Timed, Trail};
use crate::held::{Held, Kind};
use crate::memory::{Parcel, Payload};
use engine::LimitReached;
use units::Bytes;

/// Events between two looks, at least: where bytes exist, an event can take many of them.
const PHANTOM: u64 = 4096;
const REAL: u64 = 64;
/// Events for each place that a look has to visit.
const EACH: u64 = 16;
/// So many parts of the limit are stored without a look, at least: a run that holds nearly what it may
/// is not looked at without end.
const PARTS: u64 = 16;

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The first look comes before the first event.
    pub(super) fn watch_memory(&mut self) {
        if self.is_weighed() {
            self.weighed_next = 0;
        }
    }

    /// Whether anybody asks for what it holds.
    fn is_weighed(&self) -> bool {
        self.simulation.limits().memory < Bytes::new(u64::MAX)
    }

    /// Payload was stored: if much was since the last look, that is looked at now.
    #[inline]
    pub(super) fn stored(&mut self) {
        if self.memories.is_to_be_looked_at() {
            self.look();
        }
    }

    /// Threads ran ahead by so many lists in one event, and would go on.
    #[cold]
    pub(super) fn ran_far(&mut self, lists: u32) {
        self.far += u64::from(lists);
        if self.is_weighed() && self.far >= PHANTOM.max(EACH * self.machines.len() as u64) {
            self.look();
        }
    }

    /// Looks between two looks; the run ends with this event where it holds too much.
    #[cold]
    fn look(&mut self) {
        let limit = self.weigh();
        self.pause_next();
        if let Some(limit) = limit {
            self.failed.get_or_insert(Ending::Limit(limit));
        }
    }

    /// A run that has ended well held no more than it may, or has not.
    pub(super) fn look_at_the_end(&mut self, ending: Ending) -> Ending {
        let last = ending == Ending::Finished && self.is_weighed();
        let limit = if last { self.weigh() } else { None };
        limit.map_or(ending, Ending::Limit)
    }

    /// Looks at what the run holds, and says when to look again; the limit, if it is passed.
    #[cold]
    pub(super) fn weigh(&mut self) -> Option<LimitReached> {
        let (held, places) = self.holdings();
        let least = match self.memories.payload() {
            Payload::Phantom => PHANTOM,
            Payload::Real => REAL,
        };
        self.held_most = self.held_most.more(held);
        let events = self.simulation.events();
        self.weighed_next = events + least.max(EACH * places);
        let limit = self.simulation.limits().memory;
        let left = limit.as_u64().saturating_sub(held.total().as_u64());
        self.memories.look_after(left.max(limit.as_u64() / PARTS).max(1));
        self.far = 0;
        held.beyond(limit, events)
    }

    /// What the run holds, and how many places were visited to know it.
    fn holdings(&self) -> (Held, u64) {
        let mut held = Held::at_start(self.machines.len() as u64, self.actors.len() as u64);
        held.add(Kind::Connection, self.channels.len() as u64);
        held.add(Kind::Event, self.simulation.pending() as u64);
        held.add(Kind::Message, (self.flights.len() + self.contents.len()) as u64);
        held.add(Kind::Mark, self.marks.len() as u64);
        for machine in &self.machines {
            let keeps = machine.keeps();
            held.add(Kind::Request, keeps.requests as u64);
            held.add(Kind::QueueEntry, keeps.entries as u64);
        }
        if let Some(trail) = &self.trail {
            trail.held(&mut held);
        }
        let (bytes, buffers) = self.payload();
        held.add(Kind::Payload, bytes);
        (held, self.machines.len() as u64 + buffers)
    }

    /// The bytes of all buffers and of what is under way, and how many buffers these are.
    fn payload(&self) -> (u64, u64) {
        if self.memories.payload() == Payload::Phantom {
            return (0, 0);
        }
        let (bytes, buffers) = self.memories.held();
        let parcels = self.contents.iter().filter_map(|content| content.parcel.as_ref());
        let (under_way, parcels) = (parcels.clone().map(Parcel::len).sum::<u64>(), parcels.count());
        (bytes + under_way, buffers + parcels as u64)
    }
}

impl Trail {
    /// What is noted of causes.
    pub(super) fn held(&self, held: &mut Held) {
        let (log, kept) = self.sizes();
        held.add(Kind::Log, log as u64);
        held.add(Kind::Kept, kept as u64);
    }
}
