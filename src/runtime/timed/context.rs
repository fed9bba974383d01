//! What every part of a timed run uses: the clock, the threads and their places, prices, observers.

use super::costs::Costs;
use super::event::{Happening, Phase};
use super::observers::Observers;
use super::setup::Planted;
use crate::outcome::Ending;
use engine::{Simulation, SourceId, Tag};
use hardware::fabric::{FabricEvent, ResourceId, Schedule};
use units::Time;

/// What every part uses.
#[derive(Debug)]
pub(super) struct Context {
    pub(super) clock: Clock,
    pub(super) layout: Layout,
    pub(super) costs: Costs,
    pub(super) observers: Observers,
    /// How the run ends after the present event, if it does.
    pub(super) failed: Option<Ending>,
    /// Whether nothing but turns that find nothing, and calls that ask in vain, can happen any more.
    pub(super) exhausted: bool,
    pub(super) planted: Option<Planted>,
    /// Whether memory is read ahead.
    pub(super) touches: bool,
}

/// The clock and the calendar of events.
#[derive(Debug)]
pub(super) struct Clock {
    pub(super) simulation: Simulation<Happening>,
    /// Sources of events: those of resources come first, then those of threads.
    pub(super) first_source: u32,
    /// When the last event happened that was no lock's own: those may be left out.
    pub(super) happened: Time,
}

/// Which threads are whose.
#[derive(Debug)]
pub(super) struct Layout {
    /// The first thread of each process, and their number at the end.
    pub(super) first_thread: Vec<u32>,
}

/// Lets the fabric schedule its events.
pub(super) struct FabricSchedule<'a>(pub(super) &'a mut Simulation<Happening>);

impl Schedule for FabricSchedule<'_> {
    fn at(&mut self, time: Time, resource: ResourceId, event: FabricEvent) {
        let tag = Tag { resource: resource.0, phase: Phase::Wire as u8 };
        self.0.schedule(time, SourceId(resource.0), tag, Happening::Fabric(event));
    }
}
