//! A statement of a program: one step of one rank, and its line.

use std::sync::Arc;

use crate::collectives::Chosen;
use crate::program::Extras;
use crate::program::access::Access;
use crate::program::control::Control;
use protocols::call::{Call, Requests};
use protocols::contract::Handle;
use units::TimeDelta;

/// The statements of one rank, in their order.
pub type RankProgram = Arc<[Statement]>;

/// One step, and its line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statement {
    /// The step.
    pub step: Step,
    /// The line of the scenario file.
    pub line: usize,
    /// The column of its beginning there.
    pub column: usize,
    /// Keys that are computed, and values that it returns; most statements have none.
    pub(crate) extras: Option<Arc<Extras>>,
}

/// The work of a statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Step {
    /// A call into the library.
    Call(Call),
    /// A collective.
    Collective(Chosen),
    /// A nonblocking collective, with its request.
    Begun(Chosen, Handle),
    /// A collective that is prepared for its request.
    Prepared(Chosen, Handle),
    /// The start of operations that were prepared for these requests.
    Start(Requests),
    /// Work outside the library.
    Compute(TimeDelta),
    /// One end of the measured time.
    Timer(Timer),
    /// A load or a store of a number.
    Access(Arc<Access>),
    /// Variables, loops and conditions.
    Control(ControlStep),
}

impl Step {
    /// The collective of the step, if it has one.
    pub(crate) const fn collective(&self) -> Option<&Chosen> {
        match self {
            Self::Collective(chosen) | Self::Begun(chosen, _) | Self::Prepared(chosen, _) => {
                Some(chosen)
            }
            Self::Call(_)
            | Self::Start(_)
            | Self::Compute(_)
            | Self::Timer(_)
            | Self::Access(_)
            | Self::Control(_) => None,
        }
    }
}

/// A step of the control flow; several make up a loop or a condition.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ControlStep(pub(crate) Control);

/// An end of the measured time.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Timer {
    /// The beginning.
    Start,
    /// The end.
    Stop,
}
