//! What the monitors hear: at once while a turn is taken, or what they made of it before.
//!
//! Windows are watched apart from everything else: few facts concern both, and a search meets far
//! fewer different states of either than of both.

use super::World;
use crate::mpi::observation::Observation;
use crate::mpi::rma::access::Touch;
use crate::protocols::contract::{Machine, Process, Program, Region, Space};
use crate::runtime::fingerprint::{Fingerprint, Shared};
use crate::runtime::monitors::buffers::Lends;
use crate::runtime::monitors::windows::Windows;
use crate::runtime::monitors::{Monitors, Sometimes};

/// What the monitors see of a turn.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fact {
    Tells { fact: Observation, place: Option<u32> },
    Touches { region: Region, touch: Touch, place: Option<u32> },
}

impl Fact {
    const fn concerns_windows(&self) -> bool {
        match self {
            Self::Tells { fact: Observation::Window(..), .. } | Self::Touches { .. } => true,
            Self::Tells { fact, .. } => fact.tells_others(),
        }
    }

    const fn concerns_others(&self) -> bool {
        matches!(self, Self::Tells { fact, .. } if !matches!(fact, Observation::Window(..)))
    }
}

/// What monitors made of the facts of a turn: themselves afterwards, and what they met.
pub(super) type Heard<T> = (Shared<T>, Sometimes);

/// What was met since somebody asked; mostly nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct Met(Option<Box<Sometimes>>);

impl Met {
    pub(super) fn all(&self) -> Sometimes {
        self.0.as_deref().copied().unwrap_or_default()
    }

    pub(super) fn add(&mut self, met: Sometimes) {
        if met != Sometimes::default() {
            self.0 = Some(Box::new(self.all().plus(met)));
        }
    }
}

/// The facts of a turn that is kept.
#[derive(Debug)]
pub(super) struct Facts {
    /// No other turn that is kept has it.
    serial: u64,
    all: Vec<Fact>,
    concern_windows: bool,
    concern_others: bool,
}

impl Facts {
    pub(super) fn new(serial: u64, all: Vec<Fact>) -> Self {
        let concern_windows = all.iter().any(Fact::concerns_windows);
        let concern_others = all.iter().any(Fact::concerns_others);
        Self { serial, all, concern_windows, concern_others }
    }

    /// What it is known by that monitors which are known by `print` hear them.
    fn question(&self, process: Process, print: [u64; 2]) -> u128 {
        Fingerprint::named(&(process, self.serial, print))
    }
}

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// The monitors hear of something that happens in a turn.
    pub(super) fn hear(&mut self, process: Process, fact: Fact) {
        self.notes.fact(fact);
        self.hear_one(process, fact);
    }

    /// The monitors hear the facts of a turn that is known.
    pub(super) fn hear_again(&mut self, process: Process, facts: &Facts) {
        if facts.all.is_empty() {
            return;
        }
        let (broken, met) = (self.found.len(), self.met.all());
        let (windows, monitors) = (self.windows.clone(), self.monitors.clone());
        if facts.concern_windows {
            self.windows_hear(process, facts);
        }
        if facts.concern_others {
            self.others_hear(process, facts);
        }
        if self.found.len() > broken {
            // Broken laws stand in the order of the facts.
            self.found.truncate(broken);
            (self.windows, self.monitors, self.met) = (windows, monitors, Met::default());
            self.met.add(met);
            facts.all.iter().for_each(|fact| self.hear_one(process, *fact));
        }
    }

    fn windows_hear(&mut self, process: Process, facts: &Facts) {
        let question = facts.question(process, self.windows.named());
        if let Some((windows, met)) = self.memo.windows(question) {
            self.windows = windows;
            return self.met.add(met);
        }
        let broken = self.found.len();
        facts.all.iter().for_each(|fact| self.tell_windows(process, fact));
        let met = take_side_by_side(&mut self.windows);
        self.met.add(met);
        if self.found.len() == broken {
            self.memo.keep_windows(question, (self.windows.clone(), met));
        }
    }

    fn others_hear(&mut self, process: Process, facts: &Facts) {
        let question = facts.question(process, self.monitors.named());
        if let Some((monitors, met)) = self.memo.monitors(question) {
            self.monitors = monitors;
            return self.met.add(met);
        }
        let broken = self.found.len();
        facts.all.iter().for_each(|fact| self.tell_others(process, fact));
        let met = take_sometimes(&mut self.monitors);
        self.met.add(met);
        if self.found.len() == broken {
            self.memo.keep_monitors(question, (self.monitors.clone(), met));
        }
    }

    fn hear_one(&mut self, process: Process, fact: Fact) {
        self.tell_windows(process, &fact);
        self.tell_others(process, &fact);
    }

    fn tell_windows(&mut self, process: Process, fact: &Fact) {
        match fact {
            Fact::Touches { region, touch, place } => {
                if self.windows.watches() {
                    let (windows, found) = (self.windows.change(), &mut self.found);
                    windows.touched(process, *region, *touch, *place, found);
                }
            }
            Fact::Tells { fact: Observation::Window(window, fact), place } => {
                let (windows, found) = (self.windows.change(), &mut self.found);
                windows.told(process, *window, *fact, *place, found);
            }
            Fact::Tells { fact, .. } => {
                if fact.tells_others() && self.windows.listens_to(process) {
                    self.windows.change().speaks(process);
                }
            }
        }
    }

    /// The HCA of `owner` has updated an element that `origin` asked for.
    pub(super) fn windows_see_update(&mut self, origin: Process, owner: Process, region: Region) {
        if let Space::Window(memory) = region.space
            && self.windows.watches()
        {
            let bytes = region.offset..region.offset + region.len;
            self.windows.change().applied(origin.0, (owner.0, memory), bytes);
        }
    }

    fn tell_others(&mut self, process: Process, fact: &Fact) {
        if let Fact::Tells { fact, place } = fact
            && !matches!(fact, Observation::Window(..))
        {
            self.monitors.change().told(process, fact, || *place, &mut self.found);
        }
    }

    /// Takes what was met over from those that count it: what they keep then depends less on the
    /// way here.
    pub(super) fn hand_over(&mut self) {
        let met = take_side_by_side(&mut self.windows);
        self.met.add(met);
        let met = take_sometimes(&mut self.monitors);
        self.met.add(met);
        if self.wires.is_some() {
            let met = self.take_met_on_wires();
            self.met.add(met);
        }
    }
}

fn take_side_by_side(windows: &mut Shared<Windows>) -> Sometimes {
    let side_by_side = windows.side_by_side;
    if side_by_side > 0 {
        windows.change().side_by_side = 0;
    }
    Sometimes { side_by_side, ..Sometimes::default() }
}

fn take_sometimes(monitors: &mut Shared<Monitors>) -> Sometimes {
    if monitors.sometimes() == Sometimes::default() {
        return Sometimes::default();
    }
    monitors.change().take_sometimes()
}
