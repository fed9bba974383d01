//! Attributes: words that a program keeps with a communicator, a datatype or a window, under keys of its own, and functions
//! that run when the object is copied or freed.

use std::collections::BTreeMap;

use super::{Answer, Asked, Client, Fault, done, mpi5};
use crate::place::Place;
use ::mpi::envelope::TAG_UB;

/// Which objects a key is for.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum Kind {
    Comm,
    Type,
    Win,
}

/// An object with attributes, by its kind and its handle.
type Object = (Kind, u64);

/// The keys of a rank, and its objects' attributes.
#[derive(Debug)]
pub(super) struct Attributes {
    keys: BTreeMap<i32, Key>,
    next: i32,
    /// Keys and values of each object, the first set first.
    of: BTreeMap<Object, Vec<(i32, u64)>>,
    /// Where the process has the values of the predefined attributes of communicators.
    predefined: Option<u64>,
    /// Where it has those of a window.
    of_windows: BTreeMap<u64, u64>,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    kind: Kind,
    copy: u64,
    delete: u64,
    extra: u64,
    /// How many objects have an attribute under it.
    uses: u32,
    /// Whether the program has freed it: it lasts until no object has such an attribute.
    is_freed: bool,
}

/// Keys of programs are above those of MPI.
const FIRST: i32 = 1024;

impl Attributes {
    pub(super) const fn new() -> Self {
        Self {
            keys: BTreeMap::new(),
            next: FIRST,
            of: BTreeMap::new(),
            predefined: None,
            of_windows: BTreeMap::new(),
        }
    }

    fn value(&self, object: Object, key: i32) -> Option<u64> {
        let all = self.of.get(&object)?;
        all.iter().find(|(its, _)| *its == key).map(|(_, value)| *value)
    }

    fn set(&mut self, object: Object, key: i32, value: u64) {
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

    fn remove(&mut self, object: Object, key: i32) {
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

    fn key(&self, kind: Kind, key: i32) -> Result<Key, Fault> {
        let known = self.keys.get(&key).filter(|known| known.kind == kind).copied();
        known.ok_or_else(|| no_key(key))
    }
}

impl Client {
    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn attribute_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Comm_create_keyval | F::Keyval_create => self.create_key(asked, Kind::Comm),
            F::Type_create_keyval => self.create_key(asked, Kind::Type),
            F::Win_create_keyval => self.create_key(asked, Kind::Win),
            F::Comm_free_keyval | F::Keyval_free => self.free_key(asked, Kind::Comm),
            F::Type_free_keyval => self.free_key(asked, Kind::Type),
            F::Win_free_keyval => self.free_key(asked, Kind::Win),
            F::Comm_set_attr | F::Attr_put => self.set_attribute(asked, Kind::Comm),
            F::Type_set_attr => self.set_attribute(asked, Kind::Type),
            F::Win_set_attr => self.set_attribute(asked, Kind::Win),
            F::Comm_get_attr | F::Attr_get => self.get_attribute(asked, Kind::Comm),
            F::Type_get_attr => self.get_attribute(asked, Kind::Type),
            F::Win_get_attr => self.get_attribute(asked, Kind::Win),
            F::Comm_delete_attr | F::Attr_delete => self.remove_attribute(asked, Kind::Comm),
            F::Type_delete_attr => self.remove_attribute(asked, Kind::Type),
            F::Win_delete_attr => self.remove_attribute(asked, Kind::Win),
            _ => return None,
        })
    }

    fn create_key(&mut self, asked: &mut Asked<'_>, kind: Kind) -> Answer {
        let [copy, delete] = [0, 1].map(|at| asked.word(at));
        let key = Key { kind, copy, delete, extra: asked.word(3), uses: 0, is_freed: false };
        let number = self.attributes.next;
        self.attributes.next += 1;
        self.attributes.keys.insert(number, key);
        asked.put_int(2, number);
        done()
    }

    fn free_key(&mut self, asked: &mut Asked<'_>, kind: Kind) -> Answer {
        let address = asked.word(0);
        let bytes = asked.bytes(address, 4)?;
        let number = i32::from_ne_bytes(std::array::from_fn(|at| bytes[at]));
        let key = self.attributes.keys.get_mut(&number).filter(|key| key.kind == kind);
        key.ok_or_else(|| no_key(number))?.is_freed = true;
        self.attributes.forget_unused(number);
        asked.put_int(0, mpi5::KEYVAL_INVALID);
        done()
    }

    /// The object that argument 0 names.
    fn object(&mut self, asked: &Asked<'_>, kind: Kind) -> Result<Object, Fault> {
        let handle = asked.word(0);
        match kind {
            Kind::Comm => drop(self.comm(handle)?),
            Kind::Type => drop(self.types.tree(handle)?),
            Kind::Win => drop(self.win(handle)?),
        }
        Ok((kind, handle))
    }

    fn set_attribute(&mut self, asked: &mut Asked<'_>, kind: Kind) -> Answer {
        let (object, number, value) = (self.object(asked, kind)?, asked.int(1), asked.word(2));
        let key = self.attributes.key(kind, number)?;
        let old = self.attributes.value(object, number);
        match old {
            Some(old) => self.run_delete(asked.place, object, (number, key), old)?,
            None if key.is_freed => return Err(no_key(number)),
            None => {}
        }
        self.attributes.set(object, number, value);
        done()
    }

    fn get_attribute(&mut self, asked: &mut Asked<'_>, kind: Kind) -> Answer {
        let (object, number) = (self.object(asked, kind)?, asked.int(1));
        let value = match kind {
            Kind::Comm if self.predefined_value(number).is_some() => {
                Some(self.predefined(asked.place, number)?)
            }
            Kind::Win if (mpi5::WIN_BASE..=mpi5::WIN_MODEL).contains(&number) => {
                Some(self.predefined_of_window(asked.place, object.1, number)?)
            }
            Kind::Comm | Kind::Type | Kind::Win => {
                self.attributes.key(kind, number)?;
                self.attributes.value(object, number)
            }
        };
        if let Some(value) = value {
            asked.put_word(2, value);
        }
        asked.put_flag(3, value.is_some());
        done()
    }

    fn remove_attribute(&mut self, asked: &mut Asked<'_>, kind: Kind) -> Answer {
        let (object, number) = (self.object(asked, kind)?, asked.int(1));
        self.attributes.key(kind, number)?;
        if self.attributes.value(object, number).is_none() {
            let why = format!("the object has no attribute under key {number}");
            return Err(Fault::new(mpi5::ERR_KEYVAL, why));
        }
        self.delete_attribute(asked.place, object, number)?;
        done()
    }

    /// An attribute goes, unless its delete function refuses.
    fn delete_attribute(
        &mut self,
        place: &mut Place,
        object: Object,
        number: i32,
    ) -> Result<(), Fault> {
        if let Some((key, value)) =
            self.attributes.keys.get(&number).copied().zip(self.attributes.value(object, number))
        {
            self.run_delete(place, object, (number, key), value)?;
        }
        self.attributes.remove(object, number);
        Ok(())
    }

    /// An object is about to be freed: all its attributes go, the last set first.
    pub(super) fn delete_attributes(
        &mut self,
        place: &mut Place,
        object: Object,
    ) -> Result<(), Fault> {
        while let Some((number, _)) = self.attributes.of.get(&object).and_then(|all| all.last()) {
            let number = *number;
            self.delete_attribute(place, object, number)?;
        }
        if let (Kind::Win, handle) = object
            && let Some(values) = self.attributes.of_windows.remove(&handle)
        {
            place.process.free(values);
        }
        Ok(())
    }

    fn run_delete(
        &mut self,
        place: &mut Place,
        (_, handle): Object,
        (number, key): (i32, Key),
        value: u64,
    ) -> Result<(), Fault> {
        // MPI_NULL_DELETE_FN is 0.
        if key.delete == 0 {
            return Ok(());
        }
        let words = [handle, word(number), value, key.extra, 0, 0];
        let result = self.call_back(place, key.delete, words)?;
        refused(result, "the delete function of an attribute")
    }

    /// An object is a copy of another one: it gets the attributes that their copy functions let pass.
    pub(super) fn copy_attributes(
        &mut self,
        place: &mut Place,
        (kind, old): Object,
        new: u64,
    ) -> Result<(), Fault> {
        let all = self.attributes.of.get(&(kind, old)).cloned().unwrap_or_default();
        for (number, value) in all {
            let key = self.attributes.key(kind, number)?;
            if let Some(value) = self.run_copy(place, old, (number, key), value)? {
                self.attributes.set((kind, new), number, value);
            }
        }
        Ok(())
    }

    fn run_copy(
        &mut self,
        place: &mut Place,
        old: u64,
        (number, key): (i32, Key),
        value: u64,
    ) -> Result<Option<u64>, Fault> {
        match key.copy {
            mpi5::NULL_COPY_FN => return Ok(None),
            mpi5::DUP_FN => return Ok(Some(value)),
            _ => {}
        }
        let room = place.room(16)?;
        place.process.put(room, &[0; 16]);
        let words = [old, word(number), key.extra, value, room, room + 8];
        let result = self.call_back(place, key.copy, words)?;
        refused(result, "the copy function of an attribute")?;
        let mut bytes = [0; 16];
        place.process.read(room, &mut bytes)?;
        let copied = u64::from_ne_bytes(std::array::from_fn(|at| bytes[at]));
        let is_copied = bytes[8..12] != [0; 4];
        Ok(is_copied.then_some(copied))
    }

    /// The value of a predefined attribute.
    fn predefined_value(&self, key: i32) -> Option<i32> {
        Some(match key {
            mpi5::TAG_UB => TAG_UB,
            mpi5::IO => mpi5::ANY_SOURCE,
            mpi5::HOST => mpi5::PROC_NULL,
            mpi5::WTIME_IS_GLOBAL => 1,
            mpi5::APPNUM => 0,
            mpi5::LASTUSEDCODE => self.errors.last_code(),
            mpi5::UNIVERSE_SIZE => self.comms.universe().cast_signed(),
            _ => return None,
        })
    }

    /// Where the process has the value of a predefined attribute.
    fn predefined(&mut self, place: &mut Place, key: i32) -> Result<u64, Fault> {
        let keys = mpi5::TAG_UB..=mpi5::UNIVERSE_SIZE;
        let first = match self.attributes.predefined {
            Some(first) => first,
            None => place.process.allocate(4 * keys.clone().count() as u64)?,
        };
        self.attributes.predefined = Some(first);
        // Another code may have been added since the last time.
        let all: Vec<u8> = keys
            .map(|key| self.predefined_value(key).expect("these keys are MPI's"))
            .flat_map(i32::to_ne_bytes)
            .collect();
        place.process.put(first, &all);
        Ok(first + 4 * u64::from(key.abs_diff(mpi5::TAG_UB)))
    }
}

impl Client {
    /// What a predefined attribute of a window says: where it begins, or where the process has its size and so on.
    fn predefined_of_window(
        &mut self,
        place: &mut Place,
        handle: u64,
        key: i32,
    ) -> Result<u64, Fault> {
        let (base, bytes, unit, flavor) = self.win(handle)?.part();
        if key == mpi5::WIN_BASE {
            return Ok(base);
        }
        let first = match self.attributes.of_windows.get(&handle) {
            Some(first) => *first,
            None => place.process.allocate(20)?,
        };
        self.attributes.of_windows.insert(handle, first);
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
}

fn no_key(key: i32) -> Fault {
    Fault::new(mpi5::ERR_KEYVAL, format!("{key} is no key of attributes of such an object"))
}

fn word(int: i32) -> u64 {
    i64::from(int).cast_unsigned()
}

/// The error that a function of the program returns is that of the function of MPI.
#[allow(clippy::cast_possible_truncation, reason = "an int is the low half of its word")]
fn refused(result: u64, who: &str) -> Result<(), Fault> {
    match result.cast_signed() as i32 {
        mpi5::SUCCESS => Ok(()),
        code => Err(Fault::new(code, format!("{who} returns error {code}"))),
    }
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
