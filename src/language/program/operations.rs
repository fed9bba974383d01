//! The steps of a rank: calls with handles in place of names, and what a program does beside them.

use std::sync::Arc;

use super::access::Access;
use super::computed::Computed;
use super::control::Control;
use form::expression::Expression;
use mpi::observation::ReturnValue;
use protocols::call::{Call, CommCall, Requests};
use protocols::rma::call::RmaCall;
use units::TimeDelta;

/// One step of a rank.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Step {
    /// Line of the file, from 1.
    pub line: u32,
    /// Column in the line, from 1.
    pub column: u32,
    /// Its work.
    pub does: Does,
    /// Its computed keys and the values that it returns; most steps have none.
    pub extras: Option<Arc<Extras>>,
}

impl Step {
    /// A step of line `line` with nothing beside its work.
    pub const fn new(line: u32, does: Does) -> Self {
        Self { line, column: 1, does, extras: None }
    }
}

/// Keys of a step that are computed, and values that it returns.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Extras {
    /// Keys whose values are expressions.
    pub(crate) computed: Vec<Computed>,
    /// Values that it must return.
    pub(crate) expected: Vec<(ReturnValue, Expression)>,
    /// Values of single requests of a call that is about several, by their places there.
    pub(crate) statuses: Vec<(u32, ReturnValue, Expression)>,
    /// Whether it is a collective whose buffers depend on a rank and a number of ranks that the program
    /// asks for.
    pub(crate) asked: bool,
    /// Whether it is a collective in place.
    pub(crate) in_place: bool,
    /// Variables that keep values which it returns, by their slots.
    pub(crate) kept: Vec<(ReturnValue, usize)>,
}

impl Extras {
    /// The same where tags end at `most`.
    pub fn with_tags_up_to(&self, most: i64) -> Self {
        let mut extras = self.clone();
        for one in extras.computed.iter_mut().filter(|one| one.key.ends_with("tag")) {
            one.range.most = most;
        }
        extras
    }
}

/// The work of a step.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Does {
    /// It calls the library.
    Call(Call),
    /// It starts the operations that were prepared for these requests: a call for each.
    Start(Requests),
    /// It spends time outside the library.
    Compute(TimeDelta),
    /// It notes the time under this number.
    Mark(u32),
    /// It loads or stores a number.
    Access(Arc<Access>),
    /// It changes variables, or where the program goes on.
    Control(Control),
}

impl From<Call> for Does {
    fn from(call: Call) -> Self {
        Self::Call(call)
    }
}

impl From<CommCall> for Does {
    fn from(call: CommCall) -> Self {
        Self::Call(Call::Communicators(call))
    }
}

impl From<RmaCall> for Does {
    fn from(call: RmaCall) -> Self {
        Self::Call(Call::Rma(Arc::new(call)))
    }
}
