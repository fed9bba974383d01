//! The family `datatypes`: trees, and what a real library says of them and packs by them.
//!
//! A case is answered with the measures of the type, the runs that it selects and checksums of what
//! the serial walk packs and unpacks; before that, the traversal of the encoding must have packed the
//! same bytes id by id. In the family `datatypes_variance` two libraries differ: there the answer is
//! whom the simulator follows.

mod answer;
mod read;

use serde_json::{Map, Value};

pub(super) use read::{RawCase, RawDisputed};

use super::communicators::difference;
use super::{Followed, Mismatch, Wrong};
use mpi::datatype::Datatype;

/// Some elements of a type, and what a library says of them.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    /// The type.
    pub datatype: Datatype,
    /// How many elements.
    pub count: u64,
    /// What the library says.
    pub expected: Map<String, Value>,
}

/// Some elements of a type, and what several libraries say of them.
#[derive(Clone, Debug)]
pub struct Disputed {
    /// Its number in the file.
    pub id: u64,
    /// The type.
    pub datatype: Datatype,
    /// How many elements.
    pub count: u64,
    /// What each library says; the same fields for all.
    pub results: Vec<(String, Map<String, Value>)>,
}

impl Case {
    /// What is wrong with the case.
    pub(super) fn mismatch(&self) -> Option<Mismatch> {
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
