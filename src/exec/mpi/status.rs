//! `MPI_Status`: source, tag and error; behind them whether the operation was cancelled, and its bytes.

use super::args::{self, To};
use super::fault::Fault;
use super::frame::Frame;
use crate::functions as mpi5;
use calls::arguments::{Outcome, Status};

/// Bytes of an `MPI_Status`.
const SIZE: u64 = 32;
/// Where its source begins, its tag, its error, whether it was cancelled, and its bytes.
pub(super) const SOURCE: u64 = 0;
pub(super) const TAG: u64 = 4;
pub(super) const ERROR: u64 = 8;
pub(super) const CANCELLED: u64 = 12;
pub(super) const COUNT: u64 = 16;

/// Status number `at` of an array; of none, none.
pub(super) const fn of_array(statuses: To<args::Status>, at: usize) -> To<args::Status> {
    match statuses.address {
        0 => statuses,
        first => To::new(first + SIZE * at as u64),
    }
}

/// The error of an operation that has ended.
pub(super) const fn error(outcome: Option<Outcome>) -> i32 {
    match outcome {
        Some(Outcome::Truncated(_)) => mpi5::ERR_TRUNCATE,
        Some(Outcome::Received(_) | Outcome::Cancelled | Outcome::Sent) | None => mpi5::SUCCESS,
    }
}

/// The error of an operation that has ended with one.
pub(super) fn truncated(outcome: Outcome) -> Result<(), Fault> {
    if let Outcome::Truncated(status) = outcome {
        let Status { source, tag, count } = status;
        let of = source.map_or_else(String::new, |rank| format!(" of rank {}", rank.0));
        let with = tag.map_or_else(String::new, |tag| format!(" with tag {tag}"));
        let why = format!("the message{of}{with} is longer than the {count} bytes of its buffer");
        return Err(Fault::new(mpi5::ERR_TRUNCATE, why));
    }
    Ok(())
}

/// Writes a status, without its error; without an outcome the empty one, whose error is `MPI_SUCCESS`.
pub(super) fn put(frame: &mut Frame<'_>, to: To<args::Status>, outcome: Option<Outcome>) {
    if to.address == 0 {
        return;
    }
    let (status, is_cancelled) = match outcome {
        Some(Outcome::Received(status) | Outcome::Truncated(status)) => (Some(status), false),
        Some(Outcome::Cancelled) => (None, true),
        Some(Outcome::Sent) | None => (None, false),
    };
    let source = match status {
        Some(Status { source: Some(rank), .. }) => rank.0.cast_signed(),
        Some(Status { source: None, .. }) => mpi5::PROC_NULL,
        None => mpi5::ANY_SOURCE,
    };
    let tag = status.and_then(|status| status.tag).unwrap_or(mpi5::ANY_TAG);
    let count = status.map_or(0, |status| status.count);
    let mut head = [0; 8];
    head[..4].copy_from_slice(&source.to_ne_bytes());
    head[4..].copy_from_slice(&tag.to_ne_bytes());
    let mut rest = [0; 12];
    rest[..4].copy_from_slice(&i32::from(is_cancelled).to_ne_bytes());
    rest[4..].copy_from_slice(&count.to_ne_bytes());
    frame.place.process.put(to.address, &head);
    frame.place.process.put(to.address + CANCELLED, &rest);
    if outcome.is_none() {
        put_error(frame, to, mpi5::SUCCESS);
    }
}

/// Writes the error of a status.
pub(super) fn put_error(frame: &mut Frame<'_>, to: To<args::Status>, error: i32) {
    if to.address != 0 {
        frame.place.process.put(to.address + ERROR, &error.to_ne_bytes());
    }
}
