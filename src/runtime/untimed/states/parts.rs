//! Parts of states by number: equal ones have the same number.

use std::num::NonZeroU32;

use crate::fingerprint::{Fingerprint, PartPrint};
use crate::prints::Prints;

/// A part of a state, among those of its kind.
pub(super) type Number = u32;

/// A kind of part.
pub(super) trait Part: Clone {
    /// Key of its value, in which different names are different.
    fn key(&self) -> u128;

    /// Adds what tells states apart.
    fn tell(&self, print: &mut Fingerprint);

    /// Bytes of all that it holds, about: what others hold as well counts as if they did not.
    fn bytes(&self) -> usize;

    /// Whether it is the same value, as far as that can be told without reading it.
    fn is(&self, other: &Self) -> bool;
}

/// The parts of a kind.
#[derive(Debug)]
pub(super) struct Parts<T> {
    /// Those without a value are free.
    values: Vec<Option<T>>,
    known: Vec<PartPrint>,
    numbers: Prints<NonZeroU32>,
    free: Vec<Number>,
    /// Of all values.
    bytes: usize,
}

impl<T> Default for Parts<T> {
    fn default() -> Self {
        let (values, known, free) = (Vec::new(), Vec::new(), Vec::new());
        Self { values, known, numbers: Prints::default(), free, bytes: 0 }
    }
}

impl<T: Part> Parts<T> {
    /// The value of a number.
    pub(super) fn value(&self, number: Number) -> &T {
        self.values[number as usize].as_ref().expect("a state has it: it is kept")
    }

    /// The fingerprint of a part, which tells states apart.
    pub(super) fn known(&self, number: Number) -> &PartPrint {
        &self.known[number as usize]
    }

    /// The number of a value that was perhaps changed from that of number `before`.
    pub(super) fn renumber(&mut self, before: Number, value: &T) -> Number {
        if self.value(before).is(value) { before } else { self.number(value.clone()) }
    }

    /// The number of a value.
    ///
    /// # Panics
    ///
    /// With 2^32 - 1 values.
    pub(super) fn number(&mut self, value: T) -> Number {
        let next = self.free.last().copied().unwrap_or_else(|| count(self.values.len()));
        let key = value.key();
        let number = self.numbers.find_or_put(key, stored(next)).get() - 1;
        if number == next {
            self.bytes += value.bytes();
            let mut print = Fingerprint::default();
            value.tell(&mut print);
            let known = print.into_part();
            if self.free.pop().is_some() {
                self.values[next as usize] = Some(value);
                self.known[next as usize] = known;
            } else {
                self.values.push(Some(value));
                self.known.push(known);
            }
        }
        number
    }

    /// How many values there are.
    pub(super) fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }

    /// Bytes that they take, about.
    pub(super) fn bytes(&self) -> usize {
        let per_value = size_of::<Option<T>>() + size_of::<PartPrint>();
        self.numbers.bytes() + self.values.len() * per_value + self.bytes
    }

    /// Forgets all that no state has any more; their numbers are given again.
    pub(super) fn keep_only(&mut self, used: &[bool]) {
        self.numbers = Prints::default();
        self.free.clear();
        self.bytes = 0;
        for (number, slot) in (0..).zip(&mut self.values) {
            if !used.get(number as usize).is_some_and(|used| *used) {
                *slot = None;
            }
            match slot {
                Some(value) => {
                    self.bytes += value.bytes();
                    self.numbers.find_or_put(value.key(), stored(number));
                }
                None => self.free.push(number),
            }
        }
    }
}

fn count(values: usize) -> Number {
    Number::try_from(values).expect("fewer than 2^32 values")
}

/// A number as a table keeps it: greater by one.
fn stored(number: Number) -> NonZeroU32 {
    number.checked_add(1).and_then(NonZeroU32::new).expect("a number is less than 2^32 - 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Part for u8 {
        fn key(&self) -> u128 {
            u128::from(*self)
        }

        fn tell(&self, _: &mut Fingerprint) {}

        fn bytes(&self) -> usize {
            100
        }

        fn is(&self, other: &Self) -> bool {
            self == other
        }
    }

    #[test]
    fn equal_values_have_a_number_and_forgotten_numbers_are_given_again() {
        let mut parts = Parts::default();
        assert_eq!([7, 8, 7, 9].map(|value: u8| parts.number(value)), [0, 1, 0, 2]);
        assert_eq!((parts.renumber(1, &8), parts.renumber(1, &9)), (1, 2));
        let before = parts.bytes();
        parts.keep_only(&[false, true]);
        assert_eq!((parts.len(), *parts.value(1)), (1, 8));
        assert!(parts.bytes() < before - 199);
        let numbers = [8, 7, 9, 6].map(|value| parts.number(value));
        assert_eq!((numbers[0], numbers[3]), (1, 3));
        assert_eq!(numbers.map(|number| *parts.value(number)), [8, 7, 9, 6]);
    }
}
