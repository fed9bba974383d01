//! Messages or receives in several lists, each in the order in which its items came.
//!
//! ```text
//!   key 2: first ─▶ 17 ─▶ 18 ─▶ 21 ◀─ last        slots of one table, used again
//!                         ▲ coming
//! ```
//!
//! Items that come and go in order are found without a search: the first of each list, and of messages the first
//! that has not come. A list that is empty is gone: a process that hears of many others over time holds few at
//! once. Each item knows when it came: the order among several lists is that of one list of all.

use std::cmp::Ordering;
use std::ops::Range;

/// No slot.
const NONE: u32 = u32::MAX;

/// Lists by key, in the order of keys.
#[derive(Clone, Debug)]
pub(super) struct Lists<K, T> {
    heads: Vec<Head<K>>,
    slots: Vec<Slot<T>>,
    /// The first slot that is free; the others follow it.
    free: u32,
    /// How many items came since there was none.
    came: u32,
}

#[derive(Clone, Copy, Debug)]
struct Head<K> {
    key: K,
    first: u32,
    last: u32,
    /// All before it have come.
    coming: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot<T> {
    serial: u32,
    next: u32,
    /// How many items came before it.
    came: u32,
    item: T,
}

impl<K, T> Default for Lists<K, T> {
    fn default() -> Self {
        Self { heads: Vec::new(), slots: Vec::new(), free: NONE, came: 0 }
    }
}

impl<K: Copy + Ord, T: Copy> Lists<K, T> {
    /// The place of a list, or where it would be.
    #[inline]
    fn place(&self, key: K) -> Result<usize, usize> {
        // Most processes hear of one other at a time.
        match &*self.heads {
            [head] if head.key == key => Ok(0),
            heads => heads.binary_search_by(|head| head.key.cmp(&key)),
        }
    }

    #[inline]
    fn slot(&self, slot: u32) -> &Slot<T> {
        &self.slots[slot as usize]
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> &mut Slot<T> {
        &mut self.slots[slot as usize]
    }

    /// The newest item of a list.
    #[inline]
    pub(super) fn append(&mut self, key: K, serial: u32, item: T) {
        if self.heads.is_empty() {
            self.came = 0;
        }
        let slot = self.keep(Slot { serial, next: NONE, came: self.came, item });
        self.came += 1;
        match self.place(key) {
            Ok(place) => {
                let head = &mut self.heads[place];
                let last = std::mem::replace(&mut head.last, slot);
                if head.coming == NONE {
                    head.coming = slot;
                }
                self.slot_mut(last).next = slot;
            }
            Err(place) => self.begin(place, Head { key, first: slot, last: slot, coming: slot }),
        }
    }

    #[inline]
    fn begin(&mut self, place: usize, head: Head<K>) {
        if self.heads.capacity() == 0 {
            // Of many processes, most never have more.
            self.heads.reserve_exact(1);
        }
        self.heads.insert(place, head);
    }

    #[inline]
    fn keep(&mut self, new: Slot<T>) -> u32 {
        let free = self.free;
        let Some(slot) = self.slots.get_mut(free as usize) else { return self.keep_beside(new) };
        self.free = slot.next;
        *slot = new;
        free
    }

    #[cold]
    fn keep_beside(&mut self, new: Slot<T>) -> u32 {
        if self.slots.capacity() == 0 {
            // Of many processes, most never have more.
            self.slots.reserve_exact(1);
        }
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 messages are open");
        self.slots.push(new);
        slot
    }

    #[inline]
    fn forget(&mut self, slot: u32) {
        let free = std::mem::replace(&mut self.free, slot);
        self.slot_mut(slot).next = free;
    }

    /// The first item of a list, with its serial number, and the place of the list.
    #[inline]
    pub(super) fn first_of(&self, key: K) -> Option<(usize, u32, &T)> {
        let place = self.place(key).ok()?;
        let slot = self.slot(self.heads[place].first);
        Some((place, slot.serial, &slot.item))
    }

    /// The item that has this serial number, where it is the first of its list, and the place of the list.
    #[inline]
    pub(super) fn first_with(&self, serial: u32) -> Option<(usize, &T)> {
        let firsts = self.heads.iter().map(|head| self.slot(head.first));
        let mut numbered = firsts.enumerate();
        let (place, slot) = numbered.find(|(_, slot)| slot.serial == serial)?;
        Some((place, &slot.item))
    }

    /// Something made of the first item of the first such list.
    pub(super) fn touch(&self, is_such: impl Fn(&K) -> bool) -> u32 {
        let head = self.heads.iter().find(|head| is_such(&head.key));
        head.map_or(self.free, |head| self.slot(head.first).serial)
    }

    /// Whether the first item of a list came before all others.
    #[inline]
    pub(super) fn is_first_of_all(&self, place: usize) -> bool {
        let came = |head: &Head<K>| self.slot(head.first).came;
        self.heads.len() == 1
            || self.heads.iter().map(came).min() == self.heads.get(place).map(came)
    }

    /// Takes out the first item of the list at a place.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is part of the match of a message in order")]
    pub(super) fn take_first(&mut self, place: usize) {
        let slot = self.heads[place].first;
        let next = self.slot(slot).next;
        let head = &mut self.heads[place];
        head.first = next;
        if head.coming == slot {
            head.coming = next;
        }
        if next == NONE {
            self.heads.remove(place);
        }
        self.forget(slot);
    }

    /// The lists among which the key answers `Equal`; it says on which side of these a list stands.
    #[inline]
    fn among(&self, side: impl Fn(&K) -> Ordering) -> Range<usize> {
        if let [head] = &*self.heads
            && side(&head.key).is_eq()
        {
            return 0..1;
        }
        let first = self.heads.partition_point(|head| side(&head.key).is_lt());
        let len = self.heads[first..].partition_point(|head| side(&head.key).is_eq());
        first..first + len
    }

    /// Changes an item among some lists that has not come; `changes` answers whether it comes with that.
    pub(super) fn come(
        &mut self,
        side: impl Fn(&K) -> Ordering,
        serial: u32,
        changes: impl FnOnce(&mut T) -> bool,
    ) -> bool {
        let among = self.among(side);
        // Most come in order.
        let is_next = |place: &usize| {
            let coming = self.slots.get(self.heads[*place].coming as usize);
            coming.is_some_and(|slot| slot.serial == serial)
        };
        let place = among.clone().find(is_next);
        let found = match place {
            Some(place) => Some((place, self.heads[place].coming)),
            None => among
                .into_iter()
                .find_map(|place| Some((place, self.find_from(self.heads[place].coming, serial)?))),
        };
        let Some((place, slot)) = found else { return false };
        let found = self.slot_mut(slot);
        let next = found.next;
        if !changes(&mut found.item) {
            return false;
        }
        if self.heads[place].coming == slot {
            self.heads[place].coming = next;
        }
        true
    }

    #[inline]
    fn find_from(&self, mut slot: u32, serial: u32) -> Option<u32> {
        loop {
            let one = self.slots.get(slot as usize)?;
            if one.serial == serial {
                return Some(slot);
            }
            slot = one.next;
        }
    }

    /// An item among some lists.
    pub(super) fn find(&self, side: impl Fn(&K) -> Ordering, serial: u32) -> Option<&T> {
        let mut among = self.among(side);
        let slot = among.find_map(|place| self.find_from(self.heads[place].first, serial))?;
        Some(&self.slot(slot).item)
    }

    /// Takes out an item among some lists; answers whether it was there.
    pub(super) fn remove(&mut self, side: impl Fn(&K) -> Ordering, serial: u32) -> bool {
        let mut among = self.among(side);
        among.any(|place| self.remove_at(place, serial))
    }

    fn remove_at(&mut self, place: usize, serial: u32) -> bool {
        let Head { first, last, .. } = self.heads[place];
        if self.slot(first).serial == serial {
            self.take_first(place);
            return true;
        }
        let mut before = first;
        while self.slot(before).next != NONE {
            let slot = self.slot(before).next;
            let Slot { serial: other, next, .. } = *self.slot(slot);
            if other != serial {
                before = slot;
                continue;
            }
            self.slot_mut(before).next = next;
            let head = &mut self.heads[place];
            if last == slot {
                head.last = before;
            }
            if head.coming == slot {
                head.coming = next;
            }
            self.forget(slot);
            return true;
        }
        false
    }

    /// The items of a list, in their order.
    pub(super) fn of(&self, key: K) -> impl Iterator<Item = (u32, &T)> {
        self.from(self.place(key).map_or(NONE, |place| self.heads[place].first))
    }

    fn from(&self, first: u32) -> impl Iterator<Item = (u32, &T)> {
        self.slots_from(first).map(|one| (one.serial, &one.item))
    }

    fn slots_from(&self, first: u32) -> impl Iterator<Item = &Slot<T>> {
        let slot = |slot: u32| self.slots.get(slot as usize);
        std::iter::successors(slot(first), move |one| slot(one.next))
    }

    /// The lists by parts that follow each other, where `same` answers whether two are of one: the first key of
    /// each part, and its item that came first.
    pub(super) fn first_of_parts(&self, same: fn(&K, &K) -> bool) -> impl Iterator<Item = (K, &T)> {
        let parts = self.heads.chunk_by(move |one, other| same(&one.key, &other.key));
        parts.filter_map(|heads| {
            let firsts = heads.iter().map(|head| self.slot(head.first));
            Some((heads[0].key, &firsts.min_by_key(|slot| slot.came)?.item))
        })
    }

    /// The same, and all items of each part with their serial numbers, in the order in which they came.
    pub(super) fn parts(
        &self,
        same: fn(&K, &K) -> bool,
    ) -> impl Iterator<Item = (K, Vec<(u32, &T)>)> {
        let parts = self.heads.chunk_by(move |one, other| same(&one.key, &other.key));
        parts.map(|heads| {
            let slots = heads.iter().flat_map(|head| self.slots_from(head.first));
            let mut slots: Vec<_> = slots.collect();
            if heads.len() > 1 {
                slots.sort_unstable_by_key(|one| one.came);
            }
            (heads[0].key, slots.into_iter().map(|one| (one.serial, &one.item)).collect())
        })
    }
}
