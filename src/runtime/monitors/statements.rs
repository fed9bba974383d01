//! Statements of a program that went wrong, in words.

use super::Violation;
use mpi::observation::{ReturnValue, StatementError, StatementFailure, UNDEFINED};

/// The id of the laws that a program states itself.
pub const STATEMENT: &str = "program";

/// The failure as a law that the program broke.
pub(super) fn violation(failure: &StatementFailure) -> Violation {
    let StatementFailure { rank, thread, line, column, iteration, error } = *failure;
    let times = iteration.map_or_else(String::new, |at| format!(", iteration {at}"));
    let (statement, detail) = words(error);
    let thread = thread.map_or_else(String::new, |thread| format!(", thread {thread},"));
    let objects = vec![format!("rank {rank}{thread} in line {line}, column {column}{times}")];
    Violation { id: STATEMENT, statement, objects, detail }
}

fn words(error: StatementError) -> (&'static str, String) {
    match error {
        StatementError::Unexpected { of, value, found, expected } => {
            let of = of.map_or_else(String::new, |of| format!(" of request {of}"));
            let name = format!("{}{of}", value.key());
            let expected = shown(value, expected);
            let detail = match found {
                Some(found) => {
                    format!("{name} is {}, expected is {expected}", shown(value, found))
                }
                None => format!("the call returned no {name}, expected is {expected}"),
            };
            ("calls return what the program expects", detail)
        }
        StatementError::OutOfRange { key, found, least, most } => {
            let detail = format!("`{key}` is {found}, and takes {least} to {most}");
            ("values are in the range of their keys", detail)
        }
        StatementError::WrongNumber { at, found, expected, datatype } => {
            let (found, expected) = (datatype.shown(found), datatype.shown(expected));
            let detail = format!("number {at} is {found}, expected is {expected}");
            ("memory holds what the program expects", detail)
        }
        StatementError::UnknownPart { target } => (
            "a part of a shared window is read and written after its query",
            format!("no `win_shared_query` of rank {target} comes before"),
        ),
        StatementError::InUse { line, writes } => (
            "a buffer is left alone until its operation is complete",
            format!(
                "the operation that line {line} has begun still {} these bytes",
                if writes { "writes" } else { "reads" }
            ),
        ),
        StatementError::BeyondBuffer { needed, bytes } => (
            "calls stay inside their buffers",
            format!("the call needs {needed} B, and the buffer has {bytes}"),
        ),
        StatementError::DivisionByZero => {
            ("expressions have values", "an expression divides by zero".to_owned())
        }
        StatementError::Overflow => {
            ("expressions have values", "a value needs more than 64 bits".to_owned())
        }
        StatementError::NeverHeld { times } => {
            ("`until` ends", format!("its condition did not hold after {times} repetitions"))
        }
        StatementError::OneForEach { found, ranks } => (
            "the list of a collective has an entry for each rank of its communicator",
            format!("the list has {found}, and the communicator {ranks} ranks"),
        ),
        StatementError::StillOpen => (
            "a request ends before its name is used again",
            "the request of the statement is still open".to_owned(),
        ),
        StatementError::StillHeld => (
            "a matched message is received before its name is used again",
            "the handle of the statement still holds a message".to_owned(),
        ),
        StatementError::CancelsSend => {
            ("`cancel` is for receives", "the request is not that of a receive".to_owned())
        }
        StatementError::FreesNoMessage => (
            "`request_free` is for messages",
            "the request is that of a collective or of a one-sided operation".to_owned(),
        ),
        StatementError::NoRequest => {
            ("the request exists", "it is MPI_REQUEST_NULL (MPI_ERR_REQUEST)".to_owned())
        }
        StatementError::WasFreed => (
            "the name of a request that was freed is not used again",
            "its operation may be under way still".to_owned(),
        ),
        StatementError::UnderWay => (
            "a communicator is used when the request that makes it has ended",
            "no wait or test has ended the request of `comm_idup`".to_owned(),
        ),
        StatementError::Asserted => {
            ("what a program asserts holds", "the condition of `assert` does not hold".to_owned())
        }
        StatementError::NoCall { statements } => (
            "a program calls MPI",
            format!("{statements} statements followed each other without a call"),
        ),
    }
}

fn shown(value: ReturnValue, number: i64) -> String {
    match value {
        _ if number == UNDEFINED => "undefined".to_owned(),
        ReturnValue::Flag | ReturnValue::Cancelled => (number != 0).to_string(),
        ReturnValue::Count => format!("{number} B"),
        ReturnValue::Source
        | ReturnValue::Tag
        | ReturnValue::Index
        | ReturnValue::OutCount
        | ReturnValue::Rank
        | ReturnValue::Size
        | ReturnValue::RemoteSize => number.to_string(),
    }
}
