//! Info objects: keys with values, and the hints that communicators and windows have got.

use std::collections::BTreeMap;

use crate::functions as mpi5;
use crate::mpi::args::handle;
use crate::mpi::fault::Fault;
use crate::mpi::table::Table;

/// The info objects of a rank.
#[derive(Debug)]
pub(crate) struct Infos {
    made: Table<Info>,
    /// That of `MPI_INFO_ENV`.
    environment: Info,
    /// Hints of communicators and windows, by handle.
    hints: BTreeMap<u64, Info>,
}

/// Keys and values, in the order in which the keys came.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Info(Vec<(String, String)>);

impl Info {
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(its, _)| its == key).map(|(_, value)| value.as_str())
    }

    pub(crate) fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        let (key, value) = (key.into(), value.into());
        match self.0.iter_mut().find(|(its, _)| *its == key) {
            Some((_, place)) => *place = value,
            None => self.0.push((key, value)),
        }
    }

    /// A key is gone; the result is whether it was there.
    pub(crate) fn remove(&mut self, key: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(its, _)| its != key);
        self.0.len() < before
    }

    /// How many keys there are.
    pub(crate) fn keys(&self) -> usize {
        self.0.len()
    }

    /// Key number `number`.
    pub(crate) fn key(&self, number: usize) -> Option<&str> {
        self.0.get(number).map(|(key, _)| key.as_str())
    }

    /// All keys of another one, with its values.
    fn merge(&mut self, other: Self) {
        for (key, value) in other.0 {
            self.set(key, value);
        }
    }
}

impl Infos {
    pub(crate) fn new(size: u32) -> Self {
        let mut environment = Info::default();
        environment.set("maxprocs", size.to_string());
        Self { made: Table::new(9), environment, hints: BTreeMap::new() }
    }

    /// A handle for a new object.
    pub(crate) fn add(&mut self, info: Info) -> u64 {
        self.made.add(info)
    }

    /// The object of a handle.
    pub(crate) fn get(&self, handle::Info(handle): handle::Info) -> Result<&Info, Fault> {
        match handle {
            mpi5::INFO_ENV => Ok(&self.environment),
            other => self.made.get(other).ok_or_else(|| no_info(other)),
        }
    }

    /// The object of a handle, to be changed.
    pub(crate) fn get_mut(
        &mut self,
        handle::Info(handle): handle::Info,
    ) -> Result<&mut Info, Fault> {
        self.made.get_mut(handle).ok_or_else(|| no_info(handle))
    }

    /// Whether an argument is an info object, or `MPI_INFO_NULL`.
    pub(crate) fn check(&self, handle: handle::Info) -> Result<(), Fault> {
        self.given(handle).map(drop)
    }

    /// The info object of an argument; an empty one for `MPI_INFO_NULL`.
    fn given(&self, handle: handle::Info) -> Result<Info, Fault> {
        if handle.0 == mpi5::INFO_NULL { Ok(Info::default()) } else { self.get(handle).cloned() }
    }

    /// That of `MPI_INFO_ENV`.
    pub(crate) const fn environment(&self) -> &Info {
        &self.environment
    }

    /// An object is gone.
    pub(crate) fn free(&mut self, handle::Info(handle): handle::Info) -> Result<(), Fault> {
        self.made.remove(handle).map(drop).ok_or_else(|| no_info(handle))
    }

    /// A communicator or a window gets the hints of an info object, or of none.
    pub(crate) fn hint(&mut self, object: u64, info: handle::Info) -> Result<(), Fault> {
        let mut given = self.given(info)?;
        given.0.retain(|(key, _)| HINTS.contains(&key.as_str()));
        self.hints.entry(object).or_default().merge(given);
        Ok(())
    }

    /// The hints that a communicator or a window has got.
    pub(crate) fn hints(&self, object: u64) -> Info {
        self.hints.get(&object).cloned().unwrap_or_default()
    }

    /// A communicator or a window is gone.
    pub(crate) fn forget(&mut self, object: u64) {
        self.hints.remove(&object);
    }
}

/// The hints that MPI names; it says what a program asserts, not what changes.
const HINTS: [&str; 13] = [
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_persistent_collective_ordering",
    "mpi_accumulate_granularity",
    "accumulate_ordering",
    "accumulate_ops",
    "alloc_shared_noncontig",
    "mpi_minimum_memory_alignment",
    "no_locks",
    "same_disp_unit",
    "same_size",
];

fn no_info(handle: u64) -> Fault {
    Fault::new(mpi5::ERR_INFO, format!("{handle:#x} is no info object that may be so used"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order_when_values_change() {
        let mut info = Info::default();
        for (key, value) in [("b", "1"), ("a", "2"), ("b", "3")] {
            info.set(key, value);
        }
        assert_eq!(info.0.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(info.get("b"), Some("3"));
        assert!(info.remove("b") && !info.remove("b"));
        let mut other = Info::default();
        other.set("a", "4");
        info.merge(other);
        assert_eq!(info.get("a"), Some("4"));
    }
}
