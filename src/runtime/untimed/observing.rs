//! What the monitors observe: at once while a turn is taken, or what they made of it before.
//!
//! Windows are watched apart from everything else: few facts concern both, and a search meets far
//! fewer different states of either than of both.

use super::World;
use super::facts::{Coverage, Fact, Facts, Observer};
use super::memo::{Memo, Remembered};
use crate::fingerprint::Shared;
use crate::monitors::buffers::Lends;
use crate::monitors::windows::Windows;
use crate::monitors::{Monitors, Violation};
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

    /// The monitors observe the facts of a turn that is known.
    pub(super) fn observe_again(&mut self, process: Process, facts: &Facts) {
        if facts.all.is_empty() || self.observe_known(facts) {
            return;
        }
        let before = (self.windows.clone(), self.monitors.clone(), self.met.clone());
        let Self { windows, monitors, met, memo, found, .. } = self;
        let broken = found.len();
        if facts.concern_windows {
            met.add(&observe_all(windows, process, facts, memo, found));
        }
        if facts.concern_others {
            met.add(&observe_all(monitors, process, facts, memo, found));
        }
        if found.len() > broken {
            // Broken laws stand in the order of the facts.
            found.truncate(broken);
            (self.windows, self.monitors, self.met) = before;
            facts.all.iter().for_each(|fact| self.observe_one(process, fact));
            self.hand_over();
        }
    }

    /// Repeats what the monitors made of these facts before, where that is known of all that observe them.
    fn observe_known(&mut self, facts: &Facts) -> bool {
        let Self { windows, monitors, memo, .. } = &*self;
        let of_windows = || memo.observed(facts.question(windows.named()));
        let of_others = || memo.observed(facts.question(monitors.named()));
        let to_windows = facts.concern_windows.then(of_windows);
        let to_others = facts.concern_others.then(of_others);
        if matches!(to_windows, Some(None)) || matches!(to_others, Some(None)) {
            return false;
        }
        if let Some((windows, met)) = to_windows.flatten() {
            self.windows = windows;
            self.met.add(&met);
        }
        if let Some((monitors, met)) = to_others.flatten() {
            self.monitors = monitors;
            self.met.add(&met);
        }
        true
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

/// A monitor observes the facts of a turn, or what it made of them before is repeated; the branches that it reached.
fn observe_all<T: Remembered, M: Machine, P: Program<M>>(
    monitor: &mut Shared<T>,
    process: Process,
    facts: &Facts,
    memo: &Memo<M, P>,
    found: &mut Vec<Violation>,
) -> Coverage {
    let question = facts.question(monitor.named());
    if let Some((after, met)) = memo.observed(question) {
        *monitor = after;
        return met;
    }
    let broken = found.len();
    facts.all.iter().for_each(|fact| T::observes(monitor, process, fact, found));
    let met = T::hand_over(monitor);
    if found.len() == broken {
        memo.keep_observed(question, (monitor.clone(), met.clone()));
    }
    met
}
