//! Handles of the objects that a program makes.

use std::collections::BTreeSet;

/// Objects of one kind, by number; the lowest free number is taken first, so that a program gets the same handles
/// in every run.
#[derive(Debug)]
pub(super) struct Table<T> {
    objects: Vec<Option<T>>,
    free: BTreeSet<usize>,
    kind: u64,
}

/// Bits below those of the kind: predefined handles have no others.
const PREDEFINED: u32 = 12;
/// Bits of the kind.
const KIND: u32 = 4;

impl<T> Table<T> {
    /// An empty table. Kinds differ from 1 to 15, so that a handle of another kind is found out.
    pub(super) const fn new(kind: u64) -> Self {
        Self { objects: Vec::new(), free: BTreeSet::new(), kind }
    }

    /// A handle for a new object.
    pub(super) fn add(&mut self, object: T) -> u64 {
        let at = self.free.pop_first().unwrap_or(self.objects.len());
        if at == self.objects.len() {
            self.objects.push(Some(object));
        } else {
            self.objects[at] = Some(object);
        }
        self.handle(at)
    }

    fn handle(&self, at: usize) -> u64 {
        Self::handle_of(self.kind, at as u64)
    }

    /// The handle of object number `at` of a kind.
    pub(super) const fn handle_of(kind: u64, at: u64) -> u64 {
        ((at + 1) << KIND | kind) << PREDEFINED
    }

    /// The number of the object that a handle names.
    pub(super) fn number(&self, handle: u64) -> Option<usize> {
        if handle & ((1 << PREDEFINED) - 1) != 0 {
            return None;
        }
        let value = handle >> PREDEFINED;
        let at = usize::try_from((value >> KIND).checked_sub(1)?).ok()?;
        let is_there = value & ((1 << KIND) - 1) == self.kind
            && self.objects.get(at).is_some_and(Option::is_some);
        is_there.then_some(at)
    }

    /// The object that a handle names.
    pub(super) fn get(&self, handle: u64) -> Option<&T> {
        self.objects[self.number(handle)?].as_ref()
    }

    /// The object that a handle names, to be changed.
    pub(super) fn get_mut(&mut self, handle: u64) -> Option<&mut T> {
        let at = self.number(handle)?;
        self.objects[at].as_mut()
    }

    /// Takes the object out; its number is free.
    pub(super) fn remove(&mut self, handle: u64) -> Option<T> {
        let at = self.number(handle)?;
        self.free.insert(at);
        self.objects[at].take()
    }

    /// Takes the object out; its number is not given again.
    pub(super) fn retire(&mut self, handle: u64) -> Option<T> {
        let at = self.number(handle)?;
        self.objects[at].take()
    }

    /// All objects, with their handles.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        let all = self.objects.iter().enumerate();
        all.filter_map(|(at, object)| Some((self.handle(at), object.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_number_is_taken_and_other_handles_are_found_out() {
        let (mut table, mut other) = (Table::new(3), Table::new(4));
        let handles = ['a', 'b', 'c'].map(|object| table.add(object));
        assert_eq!(table.remove(handles[0]), Some('a'));
        assert_eq!(table.remove(handles[0]), None);
        assert_eq!(table.remove(handles[1]), Some('b'));
        assert_eq!(table.add('d'), handles[0]);
        assert_eq!(table.get(handles[2]), Some(&'c'));
        assert_eq!(table.get(other.add('x')), None);
        assert_eq!(table.get(0x101), None);
        assert_eq!(table.get(u64::MAX), None);
    }
}
