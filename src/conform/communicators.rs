//! The family `communicators`: what is made from groups, communicators and grids.
//!
//! A case has inputs and, in all its other fields, what a real library gave. The definitions of
//! [`mpi`] answer with fields of the same names, and every one of them must agree. MPI leaves
//! a choice in two places, and there either answer will do: the order of a merge whose sides say
//! the same, and what a rank but 0 gets from a sub-grid in which no dimension remains.

mod answer;
mod case;
mod read;

pub use case::{Case, How, Meeting, Operation};
pub(super) use read::RawCase;

use super::family::Judged;
use super::verdict::{Mismatch, Wrong, difference};

impl<W> Judged<W> for Case {
    const IS_SCHEDULED: bool = false;

    fn mismatch(&self, _: &W, _: u64) -> Option<Mismatch> {
        let wrong = match self.operation.answer() {
            Ok(found) => difference(&self.outcomes, &found)?,
            Err(why) => Wrong::Stopped(why.to_string()),
        };
        Some(Mismatch { case: self.id, schedule: None, wrong })
    }
}

#[cfg(test)]
mod tests;
