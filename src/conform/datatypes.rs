//! The family `datatypes`: trees, and what a real library says of them and packs by them.
//!
//! A case is answered with the measures of the type, the runs that it selects and checksums of what
//! the serial walk packs and unpacks; before that, the traversal of the encoding must have packed the
//! same bytes id by id. In the family `datatypes_variance` two libraries differ: there the answer is
//! whom the simulator follows.

mod answer;
mod case;
mod read;

use serde_json::{Map, Value};

pub use case::{Case, Disputed};
pub(super) use read::{RawCase, RawDisputed};

use super::family::Judged;
use super::verdict::{Followed, Mismatch, Wrong, difference};

impl<W> Judged<W> for Case {
    const IS_SCHEDULED: bool = false;

    fn mismatch(&self, _: &W, _: u64) -> Option<Mismatch> {
        let wrong = match answer::answer(&self.datatype, self.count) {
            Ok(found) => difference(std::slice::from_ref(&self.expected), &found)?,
            Err(why) => Wrong::Stopped(why),
        };
        Some(Mismatch { case: self.id, schedule: None, wrong })
    }
}

impl Disputed {
    /// Whom the simulator follows.
    pub(super) fn followed(&self) -> Followed {
        let answer = answer::answer(&self.datatype, self.count).unwrap_or_default();
        let agrees = |said: &Map<String, Value>| {
            said.iter().all(|(field, value)| answer.get(field) == Some(value))
        };
        let libraries = self.results.iter().filter(|(_, said)| agrees(said));
        let libraries = libraries.map(|(library, _)| library.clone()).collect();
        Followed { case: self.id, libraries }
    }
}

#[cfg(test)]
mod tests;
