//! What an accumulate does to the bytes of a window.

use crate::mpi::operator::{Datatype, Reduction, Side};

/// What becomes of an element and its operand.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Update {
    /// `MPI_REPLACE`.
    Replace(Datatype),
    /// `MPI_NO_OP`: the element stays, whatever the operand.
    NoOp(Datatype),
    /// A predefined operator.
    Reduce(Reduction),
    /// `MPI_Compare_and_swap`: the operand is what the element must be, and then the new one.
    CompareAndSwap(Datatype),
}

impl Update {
    /// The type of the elements.
    pub const fn datatype(self) -> Datatype {
        match self {
            Self::Replace(datatype) | Self::NoOp(datatype) | Self::CompareAndSwap(datatype) => {
                datatype
            }
            Self::Reduce(reduction) => reduction.datatype(),
        }
    }

    /// Bytes of the operand of `bytes` bytes of elements.
    pub const fn operand(self, bytes: u64) -> u64 {
        match self {
            Self::NoOp(_) => 0,
            Self::Replace(_) | Self::Reduce(_) => bytes,
            Self::CompareAndSwap(_) => 2 * bytes,
        }
    }

    /// Updates `target`.
    ///
    /// # Panics
    ///
    /// When `operand` is not as long as [`Self::operand`] says.
    pub fn apply(self, target: &mut [u8], operand: &[u8]) {
        match self {
            Self::Replace(_) => target.copy_from_slice(operand),
            Self::NoOp(_) => assert!(operand.is_empty(), "nothing is combined"),
            Self::Reduce(reduction) => reduction.combine(operand, target, Side::After),
            Self::CompareAndSwap(_) => {
                let (compare, new) = operand.split_at(target.len());
                if target == compare {
                    target.copy_from_slice(new);
                }
            }
        }
    }
}
