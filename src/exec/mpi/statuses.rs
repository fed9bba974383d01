//! `MPI_Status`: source, tag and error; behind them whether the operation was cancelled, and its bytes.

use super::{Answer, Asked, Client, Fault, done, mpi5};
use ::mpi::datatype::{Datatype, Signature};
use protocols::arguments::{Outcome, Status};

/// Bytes of an `MPI_Status`.
pub(super) const SIZE: u64 = 32;
const ERROR: u64 = 8;
const CANCELLED: u64 = 12;
const COUNT: u64 = 16;

/// Status number `at` of an array; of none, none.
pub(super) const fn of_array(statuses: u64, at: usize) -> u64 {
    if statuses == 0 { 0 } else { statuses + SIZE * at as u64 }
}

/// The error of an operation that has ended.
pub(super) const fn error(outcome: Option<Outcome>) -> i32 {
    match outcome {
        Some(Outcome::Truncated(_)) => mpi5::ERR_TRUNCATE,
        Some(Outcome::Received(_) | Outcome::Cancelled | Outcome::Sent) | None => mpi5::SUCCESS,
    }
}

/// The error of an operation that has ended with one.
pub(super) fn truncated(outcome: Outcome) -> Answer {
    if let Outcome::Truncated(status) = outcome {
        let why = format!("the message is longer than the {} bytes of its buffer", status.count);
        return Err(Fault::new(mpi5::ERR_TRUNCATE, why));
    }
    done()
}

/// Writes a status, without its error; without an outcome the empty one.
pub(super) fn put(asked: &mut Asked<'_>, to: u64, outcome: Option<Outcome>) {
    if to == 0 {
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
    asked.place.process.put(to, &head);
    asked.place.process.put(to + CANCELLED, &rest);
}

/// Writes the error of a status.
pub(super) fn put_error(asked: &mut Asked<'_>, to: u64, error: i32) {
    if to != 0 {
        asked.place.process.put(to + ERROR, &error.to_ne_bytes());
    }
}

impl Client {
    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn status_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Get_count => self.get_count(asked),
            F::Get_elements => self.get_elements(asked),
            F::Get_elements_x => {
                asked.is_large = true;
                self.get_elements(asked)
            }
            F::Status_set_elements | F::Status_set_elements_x => self.set_elements(asked),
            F::Status_set_cancelled => set(asked, CANCELLED),
            F::Status_set_source => set(asked, 0),
            F::Status_set_tag => set(asked, 4),
            F::Status_set_error => set(asked, ERROR),
            F::Test_cancelled => get(asked, CANCELLED),
            F::Status_get_source => get(asked, 0),
            F::Status_get_tag => get(asked, 4),
            F::Status_get_error => get(asked, ERROR),
            _ => return None,
        })
    }

    fn get_count(&self, asked: &mut Asked<'_>) -> Answer {
        let size = self.types.tree(asked.word(1))?.size();
        let bytes = asked.word_at(asked.word(0) + COUNT)?;
        let count = match (bytes, size) {
            (0, _) => Some(0),
            (_, 0) => None,
            (bytes, size) => (bytes % size == 0).then_some(bytes / size),
        };
        asked.put_count(2, count.and_then(|count| i64::try_from(count).ok()));
        done()
    }

    fn get_elements(&self, asked: &mut Asked<'_>) -> Answer {
        let tree = self.types.tree(asked.word(1))?;
        let bytes = asked.word_at(asked.word(0) + COUNT)?;
        let count = basic_elements(tree, bytes).and_then(|count| i64::try_from(count).ok());
        asked.put_count(2, count);
        done()
    }

    fn set_elements(&self, asked: &mut Asked<'_>) -> Answer {
        let size = self.types.tree(asked.word(1))?.size();
        let count = asked.count(2)?;
        let Some(bytes) = count.checked_mul(size) else {
            return Err(Fault::new(mpi5::ERR_COUNT, format!("{count} elements of {size} bytes")));
        };
        let to = asked.word(0) + COUNT;
        asked.place.process.put(to, &bytes.to_ne_bytes());
        done()
    }
}

/// How many elements of named types so many bytes of a datatype's data are; none where they end inside one.
fn basic_elements(tree: &Datatype, bytes: u64) -> Option<u64> {
    if bytes == 0 {
        return Some(0);
    }
    if tree.size() == 0 {
        return None;
    }
    let (whole, mut rest) = (bytes / tree.size(), bytes % tree.size());
    let mut count = whole * tree.primitives();
    for (primitive, number) in Signature::of(tree, 1).ok()? {
        let fit = (rest / primitive.width()).min(number);
        count += fit;
        rest -= fit * primitive.width();
        if fit < number {
            break;
        }
    }
    (rest == 0).then_some(count)
}

fn set(asked: &mut Asked<'_>, at: u64) -> Answer {
    let (to, value) = (asked.word(0) + at, asked.int(1));
    asked.place.process.put(to, &value.to_ne_bytes());
    done()
}

fn get(asked: &mut Asked<'_>, at: u64) -> Answer {
    let bytes = asked.bytes(asked.word(0) + at, 4)?;
    asked.put(1, &bytes);
    done()
}
