//! Type signatures: the named types of a message in order, wherever they lie.
//!
//! A message may be received with another type than it was sent with, if the named types agree one
//! by one. Source: MPI-3.1, Sec. 3.3.1 and 4.1.11.

use super::parts::Parts;
use super::{Datatype, DatatypeError, Primitive};

/// The signature of some elements, as runs of one named type; neighbours differ.
#[derive(Clone, Debug)]
pub struct Signature<'t> {
    parts: Parts<'t>,
    open: Option<(Primitive, u64)>,
}

/// Where two signatures part.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Difference {
    /// How many named elements agree.
    pub agreed: u64,
    /// The next type of the first; `None` at its end.
    pub left: Option<Primitive>,
    /// And in the second.
    pub right: Option<Primitive>,
}

impl<'a> Signature<'a> {
    /// The signature of `count` elements of a type.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Overflow`] where they are beyond 64 bits.
    pub fn of(datatype: &'a Datatype, count: u64) -> Result<Self, DatatypeError> {
        datatype.packed(count)?;
        let is_closed = |datatype: &Datatype| datatype.uniform().is_some();
        Ok(Self { parts: Parts::new(datatype, count, is_closed), open: None })
    }
}

impl Iterator for Signature<'_> {
    type Item = (Primitive, u64);

    fn next(&mut self) -> Option<(Primitive, u64)> {
        for elements in self.parts.by_ref() {
            let primitive = elements.child.uniform().expect("only such types are closed");
            let number = elements.child.primitives() * elements.count;
            match &mut self.open {
                Some((open, sum)) if *open == primitive => *sum += number,
                open => {
                    if let Some(done) = open.replace((primitive, number)) {
                        return Some(done);
                    }
                }
            }
        }
        self.open.take()
    }
}

impl Signature<'_> {
    /// Where it parts from another one; `None` where the two are equal.
    pub fn difference(mut self, mut other: Signature<'_>) -> Option<Difference> {
        let (mut left, mut right) = (self.next(), other.next());
        let mut agreed = 0;
        loop {
            match (&mut left, &mut right) {
                (None, None) => return None,
                (Some((one, ours)), Some((two, theirs))) if one == two => {
                    let common = (*ours).min(*theirs);
                    agreed += common;
                    *ours -= common;
                    *theirs -= common;
                }
                (left, right) => {
                    let first =
                        |run: &Option<(Primitive, u64)>| run.map(|(primitive, _)| primitive);
                    return Some(Difference { agreed, left: first(left), right: first(right) });
                }
            }
            left = left.filter(|(_, number)| *number > 0).or_else(|| self.next());
            right = right.filter(|(_, number)| *number > 0).or_else(|| other.next());
        }
    }

    /// Whether a message of this signature fits a receive of `room`: it is a beginning of it.
    pub fn fits(self, room: Signature<'_>) -> bool {
        self.difference(room).is_none_or(|difference| difference.left.is_none())
    }
}
