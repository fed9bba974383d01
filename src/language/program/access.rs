//! Loads and stores of a program: it writes numbers into its buffers, and compares or keeps what they hold.

use std::collections::BTreeMap;

use form::expression::Expression;
use mpi::observation::StatementError;
use mpi::operator::Datatype;
use protocols::call::Call;
use protocols::contract::{Next, Region};
use protocols::rma::call::Win;

use super::control;

/// A load or a store of one number.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Access {
    /// The memory; its length bounds the place.
    pub(crate) memory: Memory,
    /// The type of the number.
    pub(crate) number: Datatype,
    /// The place of the number: in elements of so many numbers, and so many numbers behind.
    pub(crate) at: Expression,
    pub(crate) numbers: i64,
    pub(crate) behind: i64,
    /// Its work.
    pub(crate) touch: Touch,
}

/// Where a number lies.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Memory {
    /// In these bytes.
    Region(Region),
    /// In a part of a shared window: of the rank whose part `MPI_Win_shared_query` has told, or
    /// the own one.
    Part { win: Win, target: Option<Expression> },
}

/// The parts of shared windows that a program knows: its own since the window was made (`None`), and
/// those that it has asked for, by rank.
pub(super) type Parts = BTreeMap<(Win, Option<u32>), Region>;

/// Access of a program to a number in its memory.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Touch {
    /// It writes this one.
    Store(Content),
    /// It reads it, compares it with the one that it expects, and keeps it in a variable.
    Load { expected: Option<Content>, into: Option<usize> },
}

/// A number of a statement.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Content {
    /// A whole number.
    Whole(Expression),
    /// The bytes of a number with a fraction, or of one beyond 63 bits.
    Bits(u64),
}

impl Access {
    fn region(&self, values: &[i64], parts: &Parts) -> Result<Region, StatementError> {
        match &self.memory {
            Memory::Region(region) => Ok(*region),
            Memory::Part { win, target: None } => {
                let part = parts.get(&(*win, None));
                Ok(*part.expect("the statement that makes the window comes before"))
            }
            Memory::Part { win, target: Some(target) } => {
                let target = target.value(values).map_err(|failure| control::error(&failure))?;
                let rank = u32::try_from(target).ok();
                let part = rank.and_then(|rank| parts.get(&(*win, Some(rank))));
                part.copied().ok_or(StatementError::UnknownPart { target })
            }
        }
    }

    /// The place of the number in the memory, counted in numbers from its beginning.
    fn place(&self, memory: Region, values: &[i64]) -> Result<i64, StatementError> {
        let at = self.at.value(values).map_err(|failure| control::error(&failure))?;
        let width = self.number.width();
        let most = i64::try_from(memory.len / width).unwrap_or(i64::MAX) - 1;
        let place = at.checked_mul(self.numbers).and_then(|at| at.checked_add(self.behind));
        match place {
            Some(place) if (0..=most).contains(&place) => Ok(place),
            _ => {
                let most = (most - self.behind) / self.numbers;
                Err(StatementError::OutOfRange { key: "at", found: at, least: 0, most })
            }
        }
    }

    fn bits(&self, content: &Content, values: &[i64]) -> Result<u64, StatementError> {
        let whole = match content {
            Content::Bits(bits) => return Ok(*bits),
            Content::Whole(whole) => whole,
        };
        let found = whole.value(values).map_err(|failure| control::error(&failure))?;
        let (least, most) = self.number.range();
        if (least..=most).contains(&found) {
            return Ok(self.number.bits(found));
        }
        Err(StatementError::OutOfRange { key: "values", found, least, most })
    }

    /// The step of the thread.
    pub(super) fn next(&self, values: &[i64], parts: &Parts) -> Result<Next<Call>, StatementError> {
        let (memory, width) = (self.region(values, parts)?, self.number.width());
        let place = u64::try_from(self.place(memory, values)?).expect("places are not negative");
        let region = memory.part(place * width, width);
        match &self.touch {
            Touch::Store(content) => Ok(Next::Store(region, self.bits(content, values)?)),
            Touch::Load { .. } => Ok(Next::Load(region)),
        }
    }

    /// The number was loaded: compares it, and keeps it.
    pub(super) fn loaded(
        &self,
        bits: u64,
        values: &mut [i64],
        parts: &Parts,
    ) -> Result<(), StatementError> {
        let Touch::Load { expected, into } = &self.touch else { return Ok(()) };
        let found = bits & self.number.mask();
        if let Some(expected) = expected {
            let expected = self.bits(expected, values)?;
            if !self.number.are_equal(found, expected) {
                let memory = self.region(values, parts)?;
                let (at, datatype) = (self.place(memory, values)?, self.number);
                return Err(StatementError::WrongNumber { at, found, expected, datatype });
            }
        }
        if let Some(slot) = *into {
            values[slot] = self.number.whole(found).ok_or(StatementError::Overflow)?;
        }
        Ok(())
    }
}
