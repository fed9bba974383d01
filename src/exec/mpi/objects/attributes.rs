//! Attributes: words that a program keeps with a communicator, a datatype or a window, under keys of its own.

use std::collections::BTreeMap;

use crate::functions as mpi5;
use crate::mpi::fault::Fault;
use crate::place::Place;

/// Which objects a key is for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Kind {
    Comm,
    Type,
    Win,
}

/// An object with attributes, by its kind and its handle.
pub(crate) type Object = (Kind, u64);

/// The keys of a rank, and its objects' attributes.
#[derive(Debug)]
pub(crate) struct Attributes {
    keys: BTreeMap<i32, Key>,
    next: i32,
    /// Keys and values of each object, the first set first.
    of: BTreeMap<Object, Vec<(i32, u64)>>,
    /// Where the process has the values of the predefined attributes of communicators.
    predefined: Option<u64>,
    /// Where it has those of a window.
    of_windows: BTreeMap<u64, u64>,
}

/// A key of attributes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Key {
    pub(crate) kind: Kind,
    /// The functions that run when the object is copied and when the attribute is deleted, and what they get.
    pub(crate) copy: u64,
    pub(crate) delete: u64,
    pub(crate) extra: u64,
    /// How many objects have an attribute under it.
    uses: u32,
    /// Whether the program has freed it: it lasts until no object has such an attribute.
    pub(crate) is_freed: bool,
}

/// Keys of programs are above those of MPI.
const FIRST: i32 = 1024;

impl Attributes {
    pub(crate) const fn new() -> Self {
        Self {
            keys: BTreeMap::new(),
            next: FIRST,
            of: BTreeMap::new(),
            predefined: None,
            of_windows: BTreeMap::new(),
        }
    }

    /// The value of an attribute.
    pub(crate) fn value(&self, object: Object, key: i32) -> Option<u64> {
        let all = self.of.get(&object)?;
        all.iter().find(|(its, _)| *its == key).map(|(_, value)| *value)
    }

    /// An object has an attribute.
    pub(crate) fn set(&mut self, object: Object, key: i32, value: u64) {
        let all = self.of.entry(object).or_default();
        if let Some((_, place)) = all.iter_mut().find(|(its, _)| *its == key) {
            *place = value;
            return;
        }
        all.push((key, value));
        if let Some(key) = self.keys.get_mut(&key) {
            key.uses += 1;
        }
    }

    /// An object has an attribute no more.
    pub(crate) fn remove(&mut self, object: Object, key: i32) {
        let Some(all) = self.of.get_mut(&object) else { return };
        let before = all.len();
        all.retain(|(its, _)| *its != key);
        if all.len() == before {
            return;
        }
        if all.is_empty() {
            self.of.remove(&object);
        }
        if let Some(known) = self.keys.get_mut(&key) {
            known.uses -= 1;
            self.forget_unused(key);
        }
    }

    fn forget_unused(&mut self, key: i32) {
        if self.keys.get(&key).is_some_and(|known| known.is_freed && known.uses == 0) {
            self.keys.remove(&key);
        }
    }

    /// A key for objects of this kind.
    pub(crate) fn key(&self, kind: Kind, key: i32) -> Result<Key, Fault> {
        let known = self.keys.get(&key).filter(|known| known.kind == kind).copied();
        known.ok_or_else(|| no_key(key))
    }

    /// The key of a number, also where it is freed.
    pub(crate) fn known(&self, number: i32) -> Option<Key> {
        self.keys.get(&number).copied()
    }

    /// A new key: its number.
    pub(crate) fn create(&mut self, kind: Kind, [copy, delete]: [u64; 2], extra: u64) -> i32 {
        let number = self.next;
        self.next += 1;
        self.keys.insert(number, Key { kind, copy, delete, extra, uses: 0, is_freed: false });
        number
    }

    /// The program frees a key.
    pub(crate) fn free(&mut self, kind: Kind, number: i32) -> Result<(), Fault> {
        let key = self.keys.get_mut(&number).filter(|key| key.kind == kind);
        key.ok_or_else(|| no_key(number))?.is_freed = true;
        self.forget_unused(number);
        Ok(())
    }

    /// Keys and values of an object, the first set first.
    pub(crate) fn all(&self, object: Object) -> &[(i32, u64)] {
        self.of.get(&object).map_or(&[], |all| all)
    }

    /// Where the process has the value of a predefined attribute of communicators; `value` says those of all.
    pub(crate) fn predefined(
        &mut self,
        place: &mut Place,
        key: i32,
        value: impl Fn(i32) -> Option<i32>,
    ) -> Result<u64, Fault> {
        let keys = mpi5::TAG_UB..=mpi5::UNIVERSE_SIZE;
        let first = match self.predefined {
            Some(first) => first,
            None => place.process.allocate(4 * keys.clone().count() as u64)?,
        };
        self.predefined = Some(first);
        // Another code may have been added since the last time.
        let all: Vec<u8> = keys
            .map(|key| value(key).expect("these keys are MPI's"))
            .flat_map(i32::to_ne_bytes)
            .collect();
        place.process.put(first, &all);
        Ok(first + 4 * u64::from(key.abs_diff(mpi5::TAG_UB)))
    }

    /// Where the process has the size of a window, the bytes of a unit, its flavour, and so on.
    pub(crate) fn predefined_of_window(
        &mut self,
        place: &mut Place,
        (handle, key): (u64, i32),
        (bytes, unit, flavor): (i64, i64, i32),
    ) -> Result<u64, Fault> {
        let first = match self.of_windows.get(&handle) {
            Some(first) => *first,
            None => place.process.allocate(20)?,
        };
        self.of_windows.insert(handle, first);
        let unit = i32::try_from(unit).unwrap_or(mpi5::UNDEFINED);
        place.process.put(first, &bytes.to_ne_bytes());
        for (at, value) in [(8, unit), (12, flavor), (16, mpi5::WIN_UNIFIED)] {
            place.process.put(first + at, &value.to_ne_bytes());
        }
        Ok(first
            + match key {
                mpi5::WIN_SIZE => 0,
                mpi5::WIN_DISP_UNIT => 8,
                mpi5::WIN_CREATE_FLAVOR => 12,
                _ => 16,
            })
    }

    /// A window is gone, and with it the values of its predefined attributes.
    pub(crate) fn forget_window(&mut self, place: &mut Place, handle: u64) {
        if let Some(values) = self.of_windows.remove(&handle) {
            place.process.free(values);
        }
    }
}

/// The error of a number that is no key.
pub(crate) fn no_key(key: i32) -> Fault {
    Fault::new(mpi5::ERR_KEYVAL, format!("{key} is no key of attributes of such an object"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freed_key_lasts_until_its_last_attribute_is_gone() {
        let mut attributes = Attributes::new();
        let key = Key { kind: Kind::Comm, copy: 0, delete: 0, extra: 0, uses: 0, is_freed: false };
        attributes.keys.insert(FIRST, key);
        let [one, other] = [(Kind::Comm, 1), (Kind::Comm, 2)];
        attributes.set(one, FIRST, 7);
        attributes.set(other, FIRST, 8);
        attributes.set(one, FIRST, 9);
        attributes.keys.get_mut(&FIRST).expect("it was added").is_freed = true;
        attributes.forget_unused(FIRST);
        assert_eq!(attributes.value(one, FIRST), Some(9));
        attributes.remove(one, FIRST);
        attributes.remove(one, FIRST);
        assert!(attributes.key(Kind::Comm, FIRST).is_ok());
        assert!(attributes.key(Kind::Type, FIRST).is_err());
        attributes.remove(other, FIRST);
        assert!(attributes.key(Kind::Comm, FIRST).is_err());
    }
}
