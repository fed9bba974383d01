//! What the monitors hear: at once while a turn is taken, or what they made of it before.
//!
//! Windows are watched apart from everything else: few facts concern both, and a search meets far
//! fewer different states of either than of both.

use std::hash::Hash;
use std::rc::Rc;

use super::World;
use super::memo::{Known, Memo, Table};
use crate::fingerprint::{Fingerprint, Named, Shared};
use crate::monitors::buffers::Lends;
use crate::monitors::windows::Windows;
use crate::monitors::{Monitors, Sometimes, Violation};
use mpi::observation::Observation;
use mpi::rma::access::Touch;
use protocols::contract::{Machine, Process, Program, Region, Space};

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
pub(super) type Heard<T> = (Shared<T>, Met);

/// What was met since somebody asked; mostly nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Met(Option<Rc<Sometimes>>);

impl From<Sometimes> for Met {
    fn from(met: Sometimes) -> Self {
        Self((met != Sometimes::default()).then(|| Rc::new(met)))
    }
}

impl Met {
    pub(crate) fn all(&self) -> Sometimes {
        self.0.as_deref().copied().unwrap_or_default()
    }

    pub(crate) fn add(&mut self, met: &Self) {
        if let Some(more) = &met.0 {
            let all = self.0.as_ref().map(|all| Rc::new(all.plus(**more)));
            self.0 = all.or_else(|| met.0.clone());
        }
    }
}

/// What hears facts: the monitor of windows, or all the others.
pub(super) trait Hears: Clone + Hash {
    /// A fact of a process.
    fn hears(this: &mut Shared<Self>, process: Process, fact: &Fact, found: &mut Vec<Violation>);

    /// Takes what was met over from it: what it keeps then depends less on the way here.
    fn hand_over(this: &mut Shared<Self>) -> Met;

    /// What is kept of it.
    fn table<M: Machine, P: Program<M>>(known: &mut Known<M, P>) -> &mut Table<Heard<Self>>;
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

    /// How many there are.
    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    /// What it is known by that monitors which are known by `print` hear them: all of one process.
    fn question(&self, print: Named) -> u128 {
        let mut question = Fingerprint::default();
        question.known(print);
        self.serial.hash(&mut question);
        question.by_name()
    }
}

impl<M: Machine, P: Program<M>> World<M, P>
where
    M::Call: Lends,
{
    /// The monitors hear of something that happens in a turn.
    pub(super) fn hear(&mut self, process: Process, fact: Fact) {
        self.notes.fact(fact);
        self.hear_one(process, &fact);
    }

    /// The monitors hear the facts of a turn that is known.
    pub(super) fn hear_again(&mut self, process: Process, facts: &Facts) {
        if facts.all.is_empty() || self.hear_known(facts) {
            return;
        }
        let before = (self.windows.clone(), self.monitors.clone(), self.met.clone());
        let Self { windows, monitors, met, memo, found, .. } = self;
        let broken = found.len();
        if facts.concern_windows {
            met.add(&hear_all(windows, process, facts, memo, found));
        }
        if facts.concern_others {
            met.add(&hear_all(monitors, process, facts, memo, found));
        }
        if found.len() > broken {
            // Broken laws stand in the order of the facts.
            found.truncate(broken);
            (self.windows, self.monitors, self.met) = before;
            facts.all.iter().for_each(|fact| self.hear_one(process, fact));
            self.hand_over();
        }
    }

    /// Repeats what the monitors made of these facts before, where that is known of all who hear them.
    fn hear_known(&mut self, facts: &Facts) -> bool {
        let Self { windows, monitors, memo, .. } = &*self;
        let of_windows = || memo.heard(facts.question(windows.named()));
        let of_others = || memo.heard(facts.question(monitors.named()));
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

    fn hear_one(&mut self, process: Process, fact: &Fact) {
        Windows::hears(&mut self.windows, process, fact, &mut self.found);
        Monitors::hears(&mut self.monitors, process, fact, &mut self.found);
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

    /// Takes what was met over from those that count it.
    pub(super) fn hand_over(&mut self) {
        self.met.add(&Windows::hand_over(&mut self.windows));
        self.met.add(&Monitors::hand_over(&mut self.monitors));
        if self.wires.is_some() {
            let met = self.take_met_on_wires();
            self.met.add(&met.into());
        }
    }
}

/// A monitor hears the facts of a turn, or what it made of them before is repeated; what it met.
fn hear_all<T: Hears, M: Machine, P: Program<M>>(
    monitor: &mut Shared<T>,
    process: Process,
    facts: &Facts,
    memo: &Memo<M, P>,
    found: &mut Vec<Violation>,
) -> Met {
    let question = facts.question(monitor.named());
    if let Some((after, met)) = memo.heard(question) {
        *monitor = after;
        return met;
    }
    let broken = found.len();
    facts.all.iter().for_each(|fact| T::hears(monitor, process, fact, found));
    let met = T::hand_over(monitor);
    if found.len() == broken {
        memo.keep_heard(question, (monitor.clone(), met.clone()));
    }
    met
}

impl Hears for Windows {
    fn hears(this: &mut Shared<Self>, process: Process, fact: &Fact, found: &mut Vec<Violation>) {
        match fact {
            Fact::Touches { region, touch, place } => {
                if this.watches() {
                    this.change().touched(process, *region, *touch, *place, found);
                }
            }
            Fact::Tells { fact: Observation::Window(window, fact), place } => {
                this.change().told(process, *window, *fact, *place, found);
            }
            Fact::Tells { fact, .. } => {
                if fact.tells_others() && this.listens_to(process) {
                    this.change().speaks(process);
                }
            }
        }
    }

    fn hand_over(this: &mut Shared<Self>) -> Met {
        let side_by_side = this.side_by_side;
        if side_by_side > 0 {
            this.change().side_by_side = 0;
        }
        Sometimes { side_by_side, ..Sometimes::default() }.into()
    }

    fn table<M: Machine, P: Program<M>>(known: &mut Known<M, P>) -> &mut Table<Heard<Self>> {
        &mut known.windows
    }
}

impl Hears for Monitors {
    fn hears(this: &mut Shared<Self>, process: Process, fact: &Fact, found: &mut Vec<Violation>) {
        if let Fact::Tells { fact, place } = fact
            && !matches!(fact, Observation::Window(..))
        {
            this.change().told(process, fact, None, || *place, found);
        }
    }

    fn hand_over(this: &mut Shared<Self>) -> Met {
        if this.sometimes() == Sometimes::default() {
            return Met::default();
        }
        this.change().take_sometimes().into()
    }

    fn table<M: Machine, P: Program<M>>(known: &mut Known<M, P>) -> &mut Table<Heard<Self>> {
        &mut known.monitors
    }
}
