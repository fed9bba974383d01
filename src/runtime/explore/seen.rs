//! Which states were visited: a hash table of fingerprints.

use crate::runtime::fingerprint::halves;

/// Fingerprints and the numbers they were given; never iterated, so no order can leak.
#[derive(Clone, Debug, Default)]
pub(in crate::runtime) struct Seen {
    /// Open addressing, 20 bytes a place; the length is zero or a power of two.
    prints: Vec<[u64; 2]>,
    /// Number `FREE` marks a free place.
    numbers: Vec<u32>,
    count: usize,
}

const FREE: u32 = u32::MAX;

impl Seen {
    /// The number of a fingerprint; a new one is given `fresh`.
    pub(in crate::runtime) fn number(&mut self, print: u128, fresh: u32) -> u32 {
        if self.count * 4 >= self.numbers.len() * 3 {
            self.grow();
        }
        let print = halves(print);
        let place = self.place(print);
        if self.numbers[place] == FREE {
            self.prints[place] = print;
            self.numbers[place] = fresh;
            self.count += 1;
        }
        self.numbers[place]
    }

    /// The number of a fingerprint that has one.
    pub(in crate::runtime) fn find(&self, print: u128) -> Option<u32> {
        if self.numbers.is_empty() {
            return None;
        }
        let number = self.numbers[self.place(halves(print))];
        (number != FREE).then_some(number)
    }

    /// Bytes that it takes.
    pub(super) const fn bytes(&self) -> usize {
        self.numbers.len() * (size_of::<[u64; 2]>() + size_of::<u32>())
    }

    fn place(&self, print: [u64; 2]) -> usize {
        let mask = self.numbers.len() - 1;
        let mut place = usize::try_from(print[0] & mask as u64).expect("masked to an index");
        while self.numbers[place] != FREE && self.prints[place] != print {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let length = (self.numbers.len() * 2).max(1024);
        let prints = std::mem::replace(&mut self.prints, vec![[0; 2]; length]);
        let numbers = std::mem::replace(&mut self.numbers, vec![FREE; length]);
        for (print, number) in prints.into_iter().zip(numbers).filter(|slot| slot.1 != FREE) {
            let place = self.place(print);
            self.prints[place] = print;
            self.numbers[place] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fingerprint_keeps_its_first_number() {
        let mut seen = Seen::default();
        let print = |n: u32| u128::from(n % 7) | u128::from(n) << 64;
        for round in 0..2 {
            for n in 0..5000 {
                assert_eq!(seen.find(print(n)), (round > 0).then_some(n));
                assert_eq!(seen.number(print(n), n + round * 5000), n);
            }
        }
    }
}
