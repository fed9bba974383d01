//! The operations of the accumulate family on bytes: little endian, element by element.
//!
//! An operation is atomic for each element, not as a whole: a caller that applies it in several steps
//! gives the bytes of some elements at a time. The target's element is the first operand.
//!
//! Source: `rma` Sec. 2.1.1 (one basic type), 2.2.1 (`fetch_and_op`, `compare_and_swap`); MPI 3.1,
//! Section 11.3.4. Left out: complex numbers, extended precision, booleans of Fortran.

use crate::operator::{Datatype, Operator, Reduction, Side};

/// New value of an element of the target.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Update {
    /// `MPI_REPLACE`: the origin's.
    Replace,
    /// `MPI_NO_OP`: it stays.
    NoOp,
    /// A predefined operator on both; made by [`Update::reduce`].
    Reduce(Reduction),
}

/// Why an operation of the accumulate family is none.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum UpdateError {
    /// The operator is the user's own.
    #[error("{operator} is user-defined; accumulates take predefined operators")]
    UserDefined {
        /// The operator.
        operator: Operator,
    },
    /// The operator does not take such elements.
    #[error("{operator} is not defined on {}", datatype.name())]
    NotDefined {
        /// The operator.
        operator: Operator,
        /// The elements.
        datatype: Datatype,
    },
    /// Elements of several types in one operation.
    #[error("one accumulate has elements of both {} and {}; it needs one basic type",
        first.name(), other.name())]
    MixedTypes {
        /// The type that came first.
        first: Datatype,
        /// Another one.
        other: Datatype,
    },
    /// No elements at all.
    #[error("an accumulate needs a basic type")]
    NoType,
    /// Elements that cannot be compared and swapped.
    #[error("compare_and_swap is not defined on {}; it takes integers", datatype.name())]
    NoSwap {
        /// The elements.
        datatype: Datatype,
    },
}

impl Update {
    /// The update by a predefined operator on elements of this type.
    ///
    /// # Errors
    ///
    /// The operator is the user's own, or not defined on the type.
    pub const fn reduce(operator: Operator, datatype: Datatype) -> Result<Self, UpdateError> {
        if let Operator::Affine { .. } = operator {
            return Err(UpdateError::UserDefined { operator });
        }
        match Reduction::new(operator, datatype) {
            Some(reduction) => Ok(Self::Reduce(reduction)),
            None => Err(UpdateError::NotDefined { operator, datatype }),
        }
    }

    /// Updates elements of the target with as many of the origin.
    ///
    /// # Panics
    ///
    /// When the two differ in length.
    pub fn apply(self, origin: &[u8], target: &mut [u8]) {
        match self {
            Self::Replace => target.copy_from_slice(origin),
            Self::NoOp => assert!(
                origin.len() == target.len(),
                "{} bytes into {} bytes",
                origin.len(),
                target.len()
            ),
            Self::Reduce(reduction) => reduction.combine(origin, target, Side::After),
        }
    }

    /// The same, with the bytes that the target had before in `old`.
    ///
    /// # Panics
    ///
    /// When the three differ in length.
    pub fn fetch(self, origin: &[u8], target: &mut [u8], old: &mut [u8]) {
        old.copy_from_slice(target);
        self.apply(origin, target);
    }
}

/// Effect of an operation of the accumulate family on the elements of a target, one after the other.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Effect {
    /// `MPI_REPLACE` on elements of this type.
    Replace(Datatype),
    /// `MPI_NO_OP`.
    NoOp(Datatype),
    /// A predefined operator.
    Reduce(Reduction),
    /// `MPI_Compare_and_swap`: the operand is the expected element, and then the new one.
    CompareAndSwap(Datatype),
}

impl Effect {
    /// The type of the elements.
    pub const fn datatype(self) -> Datatype {
        match self {
            Self::Replace(datatype) | Self::NoOp(datatype) | Self::CompareAndSwap(datatype) => {
                datatype
            }
            Self::Reduce(reduction) => reduction.datatype(),
        }
    }

    /// Bytes of the operand for `bytes` bytes of elements.
    pub const fn operand(self, bytes: u64) -> u64 {
        match self {
            Self::NoOp(_) => 0,
            Self::Replace(_) | Self::Reduce(_) => bytes,
            Self::CompareAndSwap(_) => 2 * bytes,
        }
    }

    /// Changes elements.
    ///
    /// # Panics
    ///
    /// When `operand` is not as long as [`Self::operand`] says.
    pub fn apply(self, target: &mut [u8], operand: &[u8]) {
        match self {
            Self::Replace(_) => Update::Replace.apply(operand, target),
            Self::NoOp(_) => assert!(operand.is_empty(), "nothing is combined"),
            Self::Reduce(reduction) => Update::Reduce(reduction).apply(operand, target),
            Self::CompareAndSwap(datatype) => {
                let (compare, new) = operand.split_at(target.len());
                let mut old = vec![0; target.len()];
                let swapped = compare_and_swap(datatype, compare, new, target, &mut old);
                debug_assert!(swapped.is_ok(), "the type was looked at when the call was made");
            }
        }
    }
}

/// The basic type of an accumulate whose arguments have elements of these types.
///
/// # Errors
///
/// There is none, or more than one.
pub fn basic_type(types: impl IntoIterator<Item = Datatype>) -> Result<Datatype, UpdateError> {
    let mut types = types.into_iter();
    let first = types.next().ok_or(UpdateError::NoType)?;
    match types.find(|datatype| *datatype != first) {
        Some(other) => Err(UpdateError::MixedTypes { first, other }),
        None => Ok(first),
    }
}

/// Puts `origin` into the target's element if that equals `compare`; `old` gets the old element.
/// Answers whether they were equal.
///
/// # Errors
///
/// The type is no integer; then nothing has changed.
///
/// # Panics
///
/// When one of them is not one element long.
pub fn compare_and_swap(
    datatype: Datatype,
    compare: &[u8],
    origin: &[u8],
    target: &mut [u8],
    old: &mut [u8],
) -> Result<bool, UpdateError> {
    if !datatype.is_integer() {
        return Err(UpdateError::NoSwap { datatype });
    }
    let lengths = [compare.len(), origin.len(), target.len(), old.len()];
    let one = lengths.iter().all(|length| *length as u64 == datatype.width());
    assert!(one, "lengths {lengths:?} of one {}", datatype.name());
    old.copy_from_slice(target);
    let equal = old == compare;
    if equal {
        target.copy_from_slice(origin);
    }
    Ok(equal)
}

#[cfg(test)]
mod tests;
