//! The family `collectives`: what each rank has after one collective operation.
//!
//! A case is run by every algorithm that can do it, with real bytes, under several schedules; each
//! must give what a real library gave, which is what MPI demands of integers.

mod read;

use serde_json::Value;

pub(super) use read::RawCase;

use super::family::Judged;
use super::verdict::{Mismatch, Wrong};
use collectives::{Algorithm, Collective};

/// A world that can run collective operations.
pub trait World {
    /// Runs one collective of all ranks under one schedule; answers with their result buffers.
    ///
    /// # Errors
    ///
    /// Why it did not come to its end, in words; a world of messages alone has none.
    fn collective(&self, ranks: &[Taking], schedule: u64) -> Result<Vec<Vec<u8>>, String> {
        let _ = schedule;
        Err(format!("a world without collectives, asked for one of {} ranks", ranks.len()))
    }
}

/// One recorded operation.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    /// The type of its elements.
    pub element: Element,
    /// The ranks.
    pub ranks: Vec<Taking>,
}

/// The part of one rank in a collective: its buffers and its result.
#[derive(Clone, Debug)]
pub struct Taking {
    /// Its call, by the default algorithm; buffers are number 0 and 1 of the program.
    pub call: Collective,
    /// Bytes of the send buffer.
    pub input: Vec<u8>,
    /// Bytes of the result buffer before the call.
    pub output: Vec<u8>,
    /// Bytes that a real library left there; `None` where nothing is defined.
    pub result: Option<Vec<u8>>,
}

/// How numbers are stored.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Element {
    /// Signed, 4 bytes.
    Int32,
    /// Signed, 8 bytes.
    Int64,
}

impl Element {
    const fn width(self) -> usize {
        match self {
            Self::Int32 => 4,
            Self::Int64 => 8,
        }
    }

    /// The bytes of a list of numbers; `None` where one does not fit.
    fn bytes(self, numbers: &[i64]) -> Option<Vec<u8>> {
        let all: Option<Vec<Vec<u8>>> = numbers
            .iter()
            .map(|number| match self {
                Self::Int32 => Some(i32::try_from(*number).ok()?.to_le_bytes().to_vec()),
                Self::Int64 => Some(number.to_le_bytes().to_vec()),
            })
            .collect();
        Some(all?.concat())
    }

    /// The numbers in these bytes, in the words of the vectors.
    fn numbers(self, bytes: &[u8]) -> Value {
        let number = |bytes: &[u8]| match self {
            Self::Int32 => Value::from(i32::from_le_bytes(bytes.try_into().expect("4 bytes"))),
            Self::Int64 => Value::from(i64::from_le_bytes(bytes.try_into().expect("8 bytes"))),
        };
        Value::Array(bytes.chunks_exact(self.width()).map(number).collect())
    }
}

impl Case {
    /// The algorithms that can do the operation of every rank.
    pub fn algorithms(&self) -> impl Iterator<Item = Algorithm> {
        let kind = self.ranks.first().map(|taking| taking.call.kind);
        let fits = |algorithm: &Algorithm| {
            let by = |taking: &Taking| taking.call.clone().by(*algorithm).is_ok();
            self.ranks.iter().all(by)
        };
        kind.into_iter().flat_map(Algorithm::of).filter(fits)
    }

    /// The case by one algorithm that can do it.
    fn by(&self, algorithm: Algorithm) -> Vec<Taking> {
        let changed = self.ranks.iter().cloned().map(|taking| {
            let call = taking.call.by(algorithm).expect("it was asked whether it can");
            Taking { call, ..taking }
        });
        changed.collect()
    }

    fn difference(
        &self,
        algorithm: Algorithm,
        ranks: &[Taking],
        found: &[Vec<u8>],
    ) -> Option<Wrong> {
        let results = ranks.iter().map(|taking| taking.result.as_ref()).zip(found).enumerate();
        results.into_iter().find_map(|(rank, (expected, found))| {
            let expected = expected.filter(|expected| *expected != found)?;
            Some(Wrong::Differs {
                field: format!("result[{rank}] by {}", algorithm.name()),
                expected: vec![Some(self.element.numbers(expected))],
                found: Some(self.element.numbers(found)),
            })
        })
    }
}

impl<W: World> Judged<W> for Case {
    const IS_SCHEDULED: bool = true;

    /// The first mismatch of the case, by the first algorithm that shows it.
    fn mismatch(&self, world: &W, schedule: u64) -> Option<Mismatch> {
        let wrong = self.algorithms().find_map(|algorithm| {
            let ranks = self.by(algorithm);
            match world.collective(&ranks, schedule) {
                Ok(found) => self.difference(algorithm, &ranks, &found),
                Err(why) => Some(Wrong::Stopped(format!("by {}: {why}", algorithm.name()))),
            }
        })?;
        Some(Mismatch { case: self.id, schedule: Some(schedule), wrong })
    }
}

#[cfg(test)]
mod tests;
