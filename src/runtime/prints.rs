//! Tables of fingerprints: which states were visited, and what else is known by one.

use std::num::NonZeroU32;

/// Fingerprints and the numbers they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Greater by one.
    numbers: Prints<NonZeroU32>,
}

impl Seen {
    /// The number of a fingerprint; a new one is given `fresh`.
    pub(crate) fn number(&mut self, print: u128, fresh: u32) -> u32 {
        let fresh = fresh.checked_add(1).and_then(NonZeroU32::new);
        let fresh = fresh.expect("a number is less than 2^32 - 1");
        self.numbers.find_or_put(print, fresh).get() - 1
    }

    /// Reads where a fingerprint would stand.
    pub(crate) fn touch(&self, print: u128) -> bool {
        self.numbers.touch(print)
    }

    /// Bytes that it takes.
    pub(crate) const fn bytes(&self) -> usize {
        self.numbers.bytes()
    }
}

/// Values by fingerprint; never iterated, so no order can leak.
#[derive(Clone, Debug)]
pub(crate) struct Prints<T> {
    /// Open addressing; the length is zero or a power of two.
    slots: Vec<Slot<T>>,
    count: usize,
}

/// A fingerprint in four parts, and its value, if it is not free: side by side, and 20 bytes where the
/// value is a number, since a look at a large table is a wait for memory.
type Slot<T> = ([u32; 4], Option<T>);

impl<T> Default for Prints<T> {
    fn default() -> Self {
        Self { slots: Vec::new(), count: 0 }
    }
}

impl<T> Prints<T> {
    /// The value of a fingerprint; a new one is given `fresh`.
    pub(crate) fn find_or_put(&mut self, print: u128, fresh: T) -> &T {
        if self.count * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let print = quarters(print);
        let place = self.place(print);
        let (own, value) = &mut self.slots[place];
        if value.is_none() {
            *own = print;
            self.count += 1;
        }
        value.get_or_insert(fresh)
    }

    /// The value of a fingerprint that has one.
    #[inline]
    pub(crate) fn find(&self, print: u128) -> Option<&T> {
        if self.slots.is_empty() {
            return None;
        }
        self.slots[self.place(quarters(print))].1.as_ref()
    }

    /// Where the value of a fingerprint stands, until another one is put.
    #[inline]
    pub(crate) fn find_place(&self, print: u128) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let place = self.place(quarters(print));
        self.slots[place].1.is_some().then_some(place)
    }

    /// The value at a place.
    #[inline]
    pub(crate) fn at(&self, place: usize) -> Option<&T> {
        self.slots[place].1.as_ref()
    }

    /// How many have one.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// Bytes that it takes, but for what values hold somewhere else.
    pub(crate) const fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot<T>>()
    }

    fn touch(&self, print: u128) -> bool {
        self.slots.get(self.home(quarters(print))).is_some_and(|slot| slot.1.is_some())
    }

    #[inline]
    fn place(&self, print: [u32; 4]) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = self.home(print);
        loop {
            let (own, value) = &self.slots[place];
            if value.is_none() || *own == print {
                return place;
            }
            place = (place + 1) & mask;
        }
    }

    fn home(&self, print: [u32; 4]) -> usize {
        print[0] as usize & self.slots.len().wrapping_sub(1)
    }

    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(1024);
        let free = std::iter::repeat_with(|| ([0; 4], None)).take(length);
        let slots = std::mem::replace(&mut self.slots, free.collect());
        for slot in slots.into_iter().filter(|slot| slot.1.is_some()) {
            let place = self.place(slot.0);
            self.slots[place] = slot;
        }
    }
}

/// From the lowest to the highest.
#[expect(clippy::cast_possible_truncation, reason = "the quarters are wanted")]
const fn quarters(print: u128) -> [u32; 4] {
    [print as u32, (print >> 32) as u32, (print >> 64) as u32, (print >> 96) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(n: u32) -> u128 {
        u128::from(n % 7) | u128::from(n) << 64
    }

    #[test]
    fn every_fingerprint_keeps_its_first_number() {
        let mut seen = Seen::default();
        for round in 0..2 {
            for n in 0..5000 {
                assert_eq!(seen.number(print(n), n + round * 5000), n);
            }
        }
        assert_eq!(seen.bytes(), 8192 * 20);
    }

    #[test]
    fn a_value_is_found_by_its_own_fingerprint_only() {
        let mut prints = Prints::default();
        for n in 0..5000 {
            assert_eq!((prints.find(print(n)), prints.len()), (None, n as usize));
            assert_eq!(prints.find_or_put(print(n), n), &n);
        }
        for n in 0..5000 {
            assert_eq!(prints.find_or_put(print(n), n + 1), &n, "the first one stays");
            assert_eq!(prints.find(print(n)), Some(&n));
        }
        assert_eq!(prints.len(), 5000);
    }
}
