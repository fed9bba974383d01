//! Where a run has a limit of memory, what it holds is counted now and then ([`crate::runtime::held`]).
//!
//! Between two looks lie so many events that looking costs nothing beside them, and that number depends
//! on the run alone: it stops after the same event everywhere.

use super::{Lends, Machine, Program, Timed, Trail};
use crate::engine::LimitReached;
use crate::runtime::held::{Held, Kind};
use crate::runtime::memory::{Parcel, Payload};
use crate::units::Bytes;

/// Events between two looks, at least: where bytes exist, an event can take many of them.
const PHANTOM: u64 = 4096;
const REAL: u64 = 64;
/// Events for each place that a look has to visit.
const EACH: u64 = 16;

impl<M: Machine, P: Program<M>> Timed<M, P>
where
    M::Call: Lends,
{
    /// The first look comes before the first event.
    pub(super) fn watch_memory(&mut self) {
        if self.simulation.limits().memory < Bytes::new(u64::MAX) {
            self.simulation.pause_at(0);
        }
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
        self.simulation.pause_at(events + least.max(EACH * places));
        held.beyond(self.simulation.limits().memory, events)
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
