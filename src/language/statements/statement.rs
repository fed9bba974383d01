//! A statement of a program: one step of one rank, and its line.

use std::sync::Arc;

use crate::collectives::Chosen;
use crate::program::{Does, Extras};
use protocols::call::{Call, Comm};
use protocols::contract::Handle;
use protocols::rma::call::RmaCall;

/// The statements of one rank, in their order.
pub type RankProgram = Arc<[Statement]>;

/// The work of one step, and its line.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Statement {
    /// The work.
    pub work: Work,
    /// The line of the scenario file.
    pub line: usize,
    /// The column of its beginning there.
    pub column: usize,
    /// Keys that are computed, and values that it returns; most statements have none.
    pub extras: Option<Arc<Extras>>,
}

/// The work of a statement, as far as it is known before the machine is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Work {
    /// That of the step which the statement becomes.
    Does(Does),
    /// A collective, whose ranks have no places on nodes yet.
    Collective(Chosen, Calling),
}

/// How a collective is called.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Calling {
    /// It waits for its end.
    Blocking,
    /// It opens this request.
    Nonblocking(Handle),
    /// It is prepared for this request.
    Persistent(Handle),
}

impl Work {
    /// A call of the library.
    pub const fn call(call: Call) -> Self {
        Self::Does(Does::Call(call))
    }

    /// Its call of the library, where that is known.
    pub const fn calls(&self) -> Option<&Call> {
        if let Self::Does(Does::Call(call)) = self { Some(call) } else { None }
    }

    /// Its one-sided call, where it is one.
    pub fn one_sided(&self) -> Option<&RmaCall> {
        if let Call::Rma(call) = self.calls()? { Some(call) } else { None }
    }

    /// The communicator that it makes, and that the program is to free.
    pub fn makes(&self) -> Option<Comm> {
        if let Call::Communicators(call) = self.calls()? { call.makes() } else { None }
    }

    /// The collective of the step, if it has one.
    pub const fn collective(&self) -> Option<&Chosen> {
        if let Self::Collective(chosen, _) = self { Some(chosen) } else { None }
    }
}
