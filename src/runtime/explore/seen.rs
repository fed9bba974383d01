//! Which states were visited: a hash table of fingerprints.

/// Fingerprints and the numbers they were given; never iterated, so no order can leak.
#[derive(Clone, Debug, Default)]
pub(in crate::runtime) struct Seen {
    /// Open addressing; the length is zero or a power of two.
    slots: Vec<Slot>,
    count: usize,
}

/// A fingerprint in four parts, and its number: 20 bytes side by side, since a look at a large table
/// is a wait for memory. Number `FREE` marks a free slot.
type Slot = ([u32; 4], u32);

const FREE: u32 = u32::MAX;

impl Seen {
    /// The number of a fingerprint; a new one is given `fresh`.
    pub(in crate::runtime) fn number(&mut self, print: u128, fresh: u32) -> u32 {
        if self.count * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let print = quarters(print);
        let place = self.place(print);
        if self.slots[place].1 == FREE {
            self.slots[place] = (print, fresh);
            self.count += 1;
        }
        self.slots[place].1
    }

    /// Reads where a fingerprint would stand.
    pub(super) fn touch(&self, print: u128) -> u32 {
        self.slots.get(self.home(quarters(print))).map_or(FREE, |slot| slot.1)
    }

    /// The number of a fingerprint that has one.
    pub(in crate::runtime) fn find(&self, print: u128) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let (_, number) = self.slots[self.place(quarters(print))];
        (number != FREE).then_some(number)
    }

    /// Bytes that it takes.
    pub(in crate::runtime) const fn bytes(&self) -> usize {
        self.slots.len() * size_of::<Slot>()
    }

    fn place(&self, print: [u32; 4]) -> usize {
        let mask = self.slots.len() - 1;
        let mut place = self.home(print);
        while self.slots[place].1 != FREE && self.slots[place].0 != print {
            place = (place + 1) & mask;
        }
        place
    }

    fn home(&self, print: [u32; 4]) -> usize {
        print[0] as usize & self.slots.len().wrapping_sub(1)
    }

    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(1024);
        let slots = std::mem::replace(&mut self.slots, vec![([0; 4], FREE); length]);
        for slot in slots.into_iter().filter(|slot| slot.1 != FREE) {
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
