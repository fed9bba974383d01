//! Control flow of a program: variables, loops and conditions.

use std::sync::Arc;

use crate::collectives;
use crate::seat::Seat;
use form::expression::{Expression, Failure, Reason};
use mpi::observation::{StatementError, UNDEFINED};
use protocols::call::Call;

/// Names that every program knows, in the order of their slots: the rank and the number of ranks in
/// `MPI_COMM_WORLD`, the numbers of `MPI_PROC_NULL` and `MPI_ROOT`, and the number of a value that a call does not return.
pub(crate) const NAMES: [&str; 7] =
    ["rank", "size", "proc_null", "undefined", "thread", "threads", "mpi_root"];
/// The number that stands for `MPI_PROC_NULL`.
/// Encoding: no rank minus a few.
pub(crate) const PROC_NULL: i64 = -32_767;
/// The number that stands for `MPI_ROOT`.
/// Encoding: the number below that one.
pub(super) const MPI_ROOT: i64 = -32_768;

/// A step that only changes variables, or where the program goes on.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Control {
    /// A variable gets a value.
    Set { slot: usize, to: Expression },
    /// A loop of `times` iterations begins: its counter is 0, and so is the variable that shows it; without
    /// an iteration it goes on at `end`.
    Enter { counter: usize, limit: usize, shown: Option<usize>, times: Expression, end: usize },
    /// An iteration ends; where another one follows, it goes on at `body`.
    Again { counter: usize, limit: usize, shown: Option<usize>, body: usize },
    /// Where the condition is false, it goes on at `end`.
    Unless { condition: Expression, end: usize },
    /// It goes on there.
    Jump(usize),
    /// The condition must hold.
    Assert(Expression),
    /// The repetitions of `until` begin; `counter` is among the counters of repetitions.
    Repeat { counter: usize },
    /// A repetition ends: where the condition is false, another one begins at `body`, at most `times`.
    Until { counter: usize, condition: Expression, times: i64, body: usize },
}

/// Why an evaluation has no value, as an error of its statement.
pub(super) fn error(failure: &Failure) -> StatementError {
    match failure.reason {
        Reason::DivisionByZero => StatementError::DivisionByZero,
        Reason::Overflow => StatementError::Overflow,
    }
}

/// Gives the buffers of a collective the lengths that they have at a rank of its communicator.
pub(super) fn fit(call: &mut Call, place: Seat, in_place: bool) -> Result<(), StatementError> {
    if let Call::Prepare(operation) = call {
        return fit(Arc::make_mut(operation), place, in_place);
    }
    let (Call::Collective(call) | Call::Icollective { call, .. }) = call else {
        unreachable!("{call:?} is no collective")
    };
    collectives::fit::fit(Arc::make_mut(call), place, in_place)
}

/// The values of [`NAMES`] for one rank of `size`, and one thread of `threads` of its process.
pub(super) const fn known(
    [rank, size]: [i64; 2],
    [thread, threads]: [i64; 2],
) -> [i64; NAMES.len()] {
    [rank, size, PROC_NULL, UNDEFINED, thread, threads, MPI_ROOT]
}
