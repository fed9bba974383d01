//! What the monitors observe.
//!
//! Windows are watched apart from everything else: few facts concern both, and a search meets far
//! fewer different states of either than of both.

use super::World;
use super::facts::{Fact, Observer};
use crate::monitors::Monitors;
use crate::monitors::buffers::Lends;
use crate::monitors::windows::Windows;
use protocols::contract::{Machine, Process, Program, Region, Space};

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// The monitors observe something that happens in a turn.
    pub(super) fn monitor(&mut self, process: Process, fact: Fact) {
        self.notes.fact(fact);
        self.observe_one(process, &fact);
    }

    fn observe_one(&mut self, process: Process, fact: &Fact) {
        Windows::observes(&mut self.windows, process, fact, &mut self.found);
        Monitors::observes(&mut self.monitors, process, fact, &mut self.found);
    }

    /// The HCA of `owner` has updated an element that `origin` requested.
    pub(super) fn windows_see_update(&mut self, origin: Process, owner: Process, region: Region) {
        if let Space::Window(memory) = region.space
            && self.windows.watches()
        {
            let bytes = region.offset..region.offset + region.len;
            self.windows.change().applied(origin.0, (owner.0, memory), bytes);
        }
    }

    /// Takes the counts of branches over from those that count.
    pub(super) fn hand_over(&mut self) {
        self.met.add(&Windows::hand_over(&mut self.windows));
        self.met.add(&Monitors::hand_over(&mut self.monitors));
        if self.wires.is_some() {
            let met = self.take_met_on_wires();
            self.met.add(&met.into());
        }
    }
}
