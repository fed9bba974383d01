//! Facts of a turn, and what monitors make of them.

use std::hash::Hash;
use std::rc::Rc;

use crate::fingerprint::Shared;
use crate::monitors::windows::Windows;
use crate::monitors::{Moment, Monitors, Sometimes, Violation};
use mpi::observation::Observation;
use mpi::rma::access::Touch;
use protocols::contract::{Process, Region};

/// Fact of a turn, as the monitors see it.
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

/// Branches that were reached since the last query; mostly none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coverage(Option<Rc<Sometimes>>);

impl From<Sometimes> for Coverage {
    fn from(met: Sometimes) -> Self {
        Self((met != Sometimes::default()).then(|| Rc::new(met)))
    }
}

impl Coverage {
    pub(crate) fn all(&self) -> Sometimes {
        self.0.as_deref().copied().unwrap_or_default()
    }

    #[inline]
    pub(crate) fn add(&mut self, met: &Self) {
        if met.0.is_some() {
            self.add_some(met);
        }
    }

    #[inline(never)]
    fn add_some(&mut self, met: &Self) {
        if let Some(more) = &met.0 {
            let all = self.0.as_ref().map(|all| Rc::new(all.plus(**more)));
            self.0 = all.or_else(|| met.0.clone());
        }
    }
}

/// An observer of facts: the monitor of windows, or all the others.
pub(super) trait Observer: Clone + Hash {
    /// A fact of a process.
    fn observes(this: &mut Shared<Self>, process: Process, fact: &Fact, found: &mut Vec<Violation>);

    /// Takes the reached branches over from it: what it keeps then depends less on the way here.
    fn hand_over(this: &mut Shared<Self>) -> Coverage;
}

/// The facts of a turn that is kept.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) all: Vec<Fact>,
    pub(super) concern_windows: bool,
    pub(super) concern_others: bool,
}

impl Facts {
    pub(super) fn new(all: Vec<Fact>) -> Self {
        let concern_windows = all.iter().any(Fact::concerns_windows);
        let concern_others = all.iter().any(Fact::concerns_others);
        Self { all, concern_windows, concern_others }
    }

    /// Bytes that they take.
    pub(super) const fn bytes(&self) -> usize {
        self.all.len() * size_of::<Fact>()
    }
}

impl Observer for Windows {
    fn observes(
        this: &mut Shared<Self>,
        process: Process,
        fact: &Fact,
        found: &mut Vec<Violation>,
    ) {
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

    fn hand_over(this: &mut Shared<Self>) -> Coverage {
        let side_by_side = this.side_by_side;
        if side_by_side > 0 {
            this.change().side_by_side = 0;
        }
        Sometimes { side_by_side, ..Sometimes::default() }.into()
    }
}

impl Observer for Monitors {
    fn observes(
        this: &mut Shared<Self>,
        process: Process,
        fact: &Fact,
        found: &mut Vec<Violation>,
    ) {
        if let Fact::Tells { fact, place } = fact
            && !matches!(fact, Observation::Window(..))
        {
            let moment = || Moment { at: None, line: *place };
            this.change().told(process, fact, moment, found);
        }
    }

    fn hand_over(this: &mut Shared<Self>) -> Coverage {
        if this.sometimes() == Sometimes::default() {
            return Coverage::default();
        }
        this.change().take_sometimes().into()
    }
}
