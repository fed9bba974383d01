//! A datatype: the tree of its kinds, each with its measures.

use std::sync::Arc;

use super::error::{DatatypeError, Part};
use super::kind::Kind;
use super::measures::Measures;
use super::primitive::Primitive;

/// A datatype.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Datatype(pub(super) Arc<Inner>);

#[derive(Debug, Eq, Hash, PartialEq)]
pub(super) struct Inner {
    // First, so that types that differ are distinguished without walking their trees.
    measures: Measures,
    kind: Kind,
}

impl Datatype {
    pub(super) fn new(kind: Kind, measures: Measures) -> Self {
        Self(Arc::new(Inner { measures, kind }))
    }

    pub(super) fn measures(&self) -> &Measures {
        &self.0.measures
    }

    /// How it is made.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Bytes of data in one element.
    pub fn size(&self) -> u64 {
        self.0.measures.size
    }

    /// Its lower bound, in bytes.
    pub fn lb(&self) -> i64 {
        self.0.measures.lb
    }

    /// Its upper bound, in bytes.
    pub fn ub(&self) -> i64 {
        self.lb() + self.extent()
    }

    /// Bytes from one element to the next; a resized type may go backwards.
    pub fn extent(&self) -> i64 {
        self.0.measures.extent
    }

    /// Offset of its lowest byte of data; 0 without data.
    pub fn true_lb(&self) -> i64 {
        self.0.measures.true_lb
    }

    /// Bytes from its lowest byte of data to the end of its highest.
    pub fn true_extent(&self) -> u64 {
        self.0.measures.true_extent
    }

    /// Primitives in one element: a named type of the program may be several ([`super::basic_elements`]).
    pub fn primitives(&self) -> u64 {
        self.0.measures.primitives
    }

    /// Levels of the tree, from 1.
    pub fn depth(&self) -> u32 {
        self.0.measures.depth
    }

    /// The one named type that all its data is of, if there is one.
    pub fn uniform(&self) -> Option<Primitive> {
        self.0.measures.uniform
    }

    /// Whether its data, in packing order, is one run of bytes.
    pub fn is_one_run(&self) -> bool {
        self.0.measures.one_run
    }

    /// Whether elements one after the other are one run, each that of [`Self::is_one_run`].
    pub(super) fn is_dense(&self) -> bool {
        self.is_one_run() && u64::try_from(self.extent()) == Ok(self.size())
    }

    /// The bytes that `count` elements touch, as offsets from their origin: the lowest, and the
    /// first above the highest. Both are 0 without data.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Overflow`] where they are beyond 64 bits.
    pub fn span(&self, count: u64) -> Result<(i64, i64), DatatypeError> {
        if count == 0 || self.size() == 0 {
            return Ok((0, 0));
        }
        let steps = i128::from(count - 1) * i128::from(self.extent());
        let low = i128::from(self.true_lb()) + steps.min(0);
        let high = i128::from(self.true_lb()) + i128::from(self.true_extent()) + steps.max(0);
        let narrow = |offset: i128| {
            i64::try_from(offset).map_err(|_| DatatypeError::Overflow { part: Part::Span })
        };
        self.packed(count)?;
        Ok((narrow(low)?, narrow(high)?))
    }

    /// Bytes of data in `count` elements.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Overflow`] where they are more than 2^63 - 1.
    pub fn packed(&self, count: u64) -> Result<u64, DatatypeError> {
        let bytes = self.size().checked_mul(count);
        let fits = bytes.filter(|bytes| i64::try_from(*bytes).is_ok());
        fits.ok_or(DatatypeError::Overflow { part: Part::Size })
    }

    /// That `count` elements lie in a buffer of `length` bytes whose byte `origin` is their origin.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Outside`] where they do not, [`DatatypeError::Overflow`] as
    /// [`Self::span`].
    pub fn within(&self, count: u64, origin: u64, length: u64) -> Result<(), DatatypeError> {
        let (low, high) = self.span(count)?;
        let at = |offset: i64| i128::from(origin) + i128::from(offset);
        if at(low) < 0 || at(high) > i128::from(length) {
            return Err(DatatypeError::Outside { low, high, origin, length });
        }
        Ok(())
    }
}
