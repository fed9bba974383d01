//! The actions of a trace, as far as it says them.

use crate::trace::Trace;
use ::collectives::Collective;
use protocols::call::Call;
use units::TimeDelta;

/// The actions of all ranks of a trace.
#[derive(Debug)]
pub(super) struct Actions {
    pub(super) ranks: Vec<Vec<Action>>,
}

/// An action of a rank, and its line.
#[derive(Clone, Debug)]
pub(super) struct Action {
    pub(super) line: u32,
    pub(super) work: Work,
}

/// The work of an action, as far as the trace says it.
#[derive(Clone, Debug)]
pub(super) enum Work {
    /// A call of the library.
    Call(Call),
    /// A collective, by an algorithm that the scenario chooses.
    Collective(Box<Collective>),
    /// A computation of so many flops.
    Flops(u64),
    /// A time outside the library.
    Time(TimeDelta),
}

impl Trace for Actions {
    fn ranks(&self) -> u32 {
        u32::try_from(self.ranks.len()).expect("a trace has few ranks")
    }

    fn operations(&self) -> usize {
        self.ranks.iter().map(Vec::len).sum()
    }
}
