//! Which states were visited: a hash table of fingerprints.

/// Fingerprints and the numbers they were given; never iterated, so no order can leak.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// Open addressing; the length is zero or a power of two. Number `FREE` marks a free place.
    slots: Vec<(u128, u32)>,
    count: usize,
}

const FREE: u32 = u32::MAX;

impl Seen {
    /// The number of a fingerprint; a new one is given `fresh`.
    pub(super) fn number(&mut self, print: u128, fresh: u32) -> u32 {
        if self.count * 4 >= self.slots.len() * 3 {
            self.grow();
        }
        let place = self.place(print);
        let slot = &mut self.slots[place];
        if slot.1 == FREE {
            *slot = (print, fresh);
            self.count += 1;
        }
        slot.1
    }

    fn place(&self, print: u128) -> usize {
        let mask = self.slots.len() - 1;
        let low = u64::try_from(print & u128::from(u64::MAX)).expect("masked to 64 bits");
        let mut place = usize::try_from(low & mask as u64).expect("masked to an index");
        while self.slots[place].1 != FREE && self.slots[place].0 != print {
            place = (place + 1) & mask;
        }
        place
    }

    fn grow(&mut self) {
        let length = (self.slots.len() * 2).max(1024);
        let old = std::mem::replace(&mut self.slots, vec![(0, FREE); length]);
        for (print, number) in old.into_iter().filter(|slot| slot.1 != FREE) {
            let place = self.place(print);
            self.slots[place] = (print, number);
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
                assert_eq!(seen.number(print(n), n + round * 5000), n);
            }
        }
    }
}
