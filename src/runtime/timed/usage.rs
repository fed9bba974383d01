//! Where a run has a limit of memory, what it holds is counted now and then ([`crate::held`]).
//!
//! Between two looks lie so many events that looking costs nothing beside them, and that number depends
//! on the run alone: it stops after the same event everywhere. An event can take much: where payload was
//! stored that may pass the limit, or threads ran far ahead of the clock, a look comes at once; and one
//! comes when the run has ended well.

use crate::held::{Held, Kind};
use crate::memory::{Parcel, Payload};
use crate::monitors::buffers::Lends;
use crate::outcome::Ending;
use crate::timed::conductor::Timed;
use crate::timed::observers::trail::Trail;
use engine::LimitReached;
use protocols::contract::Machine;
use protocols::contract::Program;
use units::Bytes;

/// Events between two looks, at least: where bytes exist, an event can take many of them.
const PHANTOM: u64 = 4096;
const REAL: u64 = 64;
/// Events for each place that a look has to visit.
const EACH: u64 = 16;
/// So many parts of the limit are stored without a look, at least: a run that holds nearly what it may
/// is not looked at without end.
const PARTS: u64 = 16;

/// What the run holds, where that is counted.
#[derive(Debug)]
pub(super) struct MemoryUse {
    /// After how many events it is looked at what the run holds.
    pub(super) next: u64,
    /// The most that it was seen to hold.
    pub(super) most: Held,
    /// Lists that threads have run as far ahead as they may, since somebody looked at what it holds.
    pub(super) far: u64,
}

impl Default for MemoryUse {
    fn default() -> Self {
        Self { next: u64::MAX, most: Held::default(), far: 0 }
    }
}

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The first look comes before the first event.
    pub(super) fn watch_memory(&mut self) {
        if self.is_weighed() {
            self.usage.next = 0;
        }
    }

    /// Whether anybody asks for what it holds.
    pub(in crate::timed) fn is_weighed(&self) -> bool {
        self.cx.clock.simulation.limits().memory < Bytes::new(u64::MAX)
    }

    /// Payload was stored: if much was since the last look, that is looked at now.
    #[inline]
    pub(super) fn stored(&mut self) {
        if self.memory.bytes.is_to_be_looked_at() {
            self.look();
        }
    }

    /// Threads ran ahead by so many lists in one event, and would go on.
    #[cold]
    pub(super) fn ran_far(&mut self, lists: u32) {
        self.usage.far += u64::from(lists);
        if self.is_weighed() && self.usage.far >= PHANTOM.max(EACH * self.libraries.len() as u64) {
            self.look();
        }
    }

    /// Looks between two looks; the run ends with this event where it holds too much.
    #[cold]
    pub(in crate::timed) fn look(&mut self) {
        let limit = self.weigh();
        self.pause_next();
        if let Some(limit) = limit {
            self.cx.failed.get_or_insert(Ending::Limit(limit));
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
        let least = match self.memory.bytes.payload() {
            Payload::Phantom => PHANTOM,
            Payload::Real => REAL,
        };
        self.usage.most = self.usage.most.more(held);
        let events = self.cx.clock.simulation.events();
        self.usage.next = events + least.max(EACH * places);
        let limit = self.cx.clock.simulation.limits().memory;
        let left = limit.as_u64().saturating_sub(held.total().as_u64());
        self.memory.bytes.look_after(left.max(limit.as_u64() / PARTS).max(1));
        self.usage.far = 0;
        held.beyond(limit, events)
    }

    /// What the run holds, and how many places were visited to know it.
    pub(in crate::timed) fn holdings(&self) -> (Held, u64) {
        let mut held = Held::at_start(self.libraries.len() as u64, self.cores.actors.len() as u64);
        held.add(Kind::Connection, self.network.channels.len() as u64);
        held.add(Kind::Event, self.cx.clock.simulation.pending() as u64);
        held.add(Kind::Message, (self.network.flights.len() + self.network.contents.len()) as u64);
        held.add(Kind::Mark, self.cx.observers.marks.len() as u64);
        for machine in &self.libraries {
            let keeps = machine.keeps();
            held.add(Kind::Request, keeps.requests as u64);
            held.add(Kind::QueueEntry, keeps.entries as u64);
        }
        if let Some(trail) = &self.cx.observers.trail {
            trail.held(&mut held);
        }
        let (bytes, buffers) = self.payload();
        held.add(Kind::Payload, bytes);
        (held, self.libraries.len() as u64 + buffers)
    }

    /// The bytes of all buffers and of what is under way, and how many buffers these are.
    pub(in crate::timed) fn payload(&self) -> (u64, u64) {
        if self.memory.bytes.payload() == Payload::Phantom {
            return (0, 0);
        }
        let (bytes, buffers) = self.memory.bytes.held();
        let parcels = self.network.contents.iter().filter_map(|content| content.parcel.as_ref());
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
