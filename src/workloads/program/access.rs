//! Loads and stores of a program: it writes numbers into its buffers, and compares or keeps what they hold.

use form::expression::Expression;
use mpi::observation::StatementError;
use mpi::operator::Datatype;
use protocols::call::Call;
use protocols::contract::{Next, Region};

use super::control;

/// A load or a store of one number.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Access {
    /// The memory; its length bounds the place.
    pub(crate) memory: Region,
    /// The type of the number.
    pub(crate) number: Datatype,
    /// The place of the number: in elements of so many numbers, and so many numbers behind.
    pub(crate) at: Expression,
    pub(crate) numbers: i64,
    pub(crate) behind: i64,
    /// Its work.
    pub(crate) touch: Touch,
}

/// What a program does with a number in its memory.
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
    /// The bytes of a number with a fraction.
    Bits(u64),
}

impl Access {
    /// The place of the number, counted in numbers from the beginning of the memory.
    fn place(&self, values: &[i64]) -> Result<i64, StatementError> {
        let at = self.at.value(values).map_err(|failure| control::error(&failure))?;
        let width = self.number.width();
        let most = i64::try_from(self.memory.len / width).unwrap_or(i64::MAX) - 1;
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
    pub(super) fn next(&self, values: &[i64]) -> Result<Next<Call>, StatementError> {
        let width = self.number.width();
        let place = u64::try_from(self.place(values)?).expect("places are not negative");
        let region = self.memory.part(place * width, width);
        match &self.touch {
            Touch::Store(content) => Ok(Next::Store(region, self.bits(content, values)?)),
            Touch::Load { .. } => Ok(Next::Load(region)),
        }
    }

    /// The number was loaded: compares it, and keeps it.
    pub(super) fn loaded(&self, bits: u64, values: &mut [i64]) -> Result<(), StatementError> {
        let Touch::Load { expected, into } = &self.touch else { return Ok(()) };
        let found = bits & self.number.mask();
        if let Some(expected) = expected {
            let expected = self.bits(expected, values)?;
            if found != expected {
                let (at, datatype) = (self.place(values)?, self.number);
                return Err(StatementError::WrongNumber { at, found, expected, datatype });
            }
        }
        if let Some(slot) = *into {
            values[slot] = self.number.whole(found).ok_or(StatementError::Overflow)?;
        }
        Ok(())
    }
}
