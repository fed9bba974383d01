//! 128-bit fingerprints of states, and values that are shared until they change.

use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A 128-bit hasher for fingerprints of states; the same on every machine and in every run.
///
/// Two lanes, each a bijection of its state for a given word, so that nothing is lost before the
/// end; not meant against an adversary who chooses states to collide.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    low: u64,
    high: u64,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 }
    }
}

impl Fingerprint {
    /// The fingerprint of one value.
    pub fn of<T: Hash + ?Sized>(value: &T) -> u128 {
        let mut hasher = Self::default();
        value.hash(&mut hasher);
        hasher.value()
    }

    /// The fingerprint of all that was written.
    pub fn value(&self) -> u128 {
        let low = avalanche(self.low.wrapping_add(self.high));
        let high = avalanche(self.high.wrapping_add(low));
        u128::from(high) << 64 | u128::from(low)
    }

    fn word(&mut self, word: u64) {
        let (a, b) = (0x87c3_7b91_1142_53d5, 0x4cf5_ad43_2745_937f);
        self.low = (self.low ^ word.wrapping_mul(a)).rotate_left(27).wrapping_mul(b);
        self.low = self.low.wrapping_add(self.high);
        self.high = (self.high ^ word.wrapping_mul(b)).rotate_left(31).wrapping_mul(a);
        self.high = self.high.wrapping_add(self.low);
    }
}

fn avalanche(word: u64) -> u64 {
    let word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ word >> 33
}

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.word(u64::from_le_bytes(word));
        }
        self.word(bytes.len() as u64);
    }

    fn write_u8(&mut self, value: u8) {
        self.word(u64::from(value));
    }

    fn write_u16(&mut self, value: u16) {
        self.word(u64::from(value));
    }

    fn write_u32(&mut self, value: u32) {
        self.word(u64::from(value));
    }

    fn write_u64(&mut self, value: u64) {
        self.word(value);
    }

    fn write_u128(&mut self, value: u128) {
        let [low, high] = halves(value);
        self.word(low);
        self.word(high);
    }

    fn write_usize(&mut self, value: usize) {
        self.word(value as u64);
    }

    #[expect(clippy::cast_sign_loss, reason = "a bijection on bits is all that hashing needs")]
    fn write_isize(&mut self, value: isize) {
        self.word(value as u64);
    }

    fn finish(&self) -> u64 {
        avalanche(self.low.wrapping_add(self.high))
    }
}

/// A value that clones share until one of them changes it; its fingerprint is computed once.
#[derive(Debug, Default)]
pub struct Shared<T>(Arc<Kept<T>>);

#[derive(Debug, Default)]
struct Kept<T> {
    value: T,
    print: Print,
}

/// A fingerprint, once it is known: two halves, of which zero is unknown. Whoever computes it gets
/// the same, so that it does not matter who stores it, nor whether a half is seen before the other.
#[derive(Debug, Default)]
struct Print([AtomicU64; 2]);

impl Print {
    fn get_or_init(&self, compute: impl FnOnce() -> u128) -> u128 {
        let [low, high] = [&self.0[0], &self.0[1]].map(|half| half.load(Relaxed));
        if low != 0 && high != 0 {
            return u128::from(high) << 64 | u128::from(low);
        }
        let print = compute();
        let [low, high] = halves(print);
        self.0[0].store(low, Relaxed);
        self.0[1].store(high, Relaxed);
        print
    }
}

/// The low and the high 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
pub(super) const fn halves(print: u128) -> [u64; 2] {
    [print as u64, (print >> 64) as u64]
}

impl<T: Clone> Clone for Kept<T> {
    fn clone(&self) -> Self {
        // Cloned to be changed: the old fingerprint would be stale.
        Self { value: self.value.clone(), print: Print::default() }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0.value
    }
}

impl<T> Shared<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(Arc::new(Kept { value, print: Print::default() }))
    }
}

impl<T: Clone> Shared<T> {
    /// The value, to be changed: no other clone sees the change.
    pub fn change(&mut self) -> &mut T {
        let kept = Arc::make_mut(&mut self.0);
        kept.print = Print::default();
        &mut kept.value
    }
}

impl<T: Hash> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.print.get_or_init(|| Fingerprint::of(&self.0.value)).hash(state);
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl<T: Eq> Eq for Shared<T> {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn small_values_have_different_fingerprints_in_both_halves() {
        let (mut whole, mut halves) = (BTreeSet::new(), BTreeSet::new());
        for a in 0u8..100 {
            for b in 0u64..100 {
                for c in [None, Some(0u32), Some(1)] {
                    let print = Fingerprint::of(&(a, vec![b; usize::from(a % 3)], b, c));
                    whole.insert(print);
                    halves.insert((print >> 64, true));
                    halves.insert((print & u128::from(u64::MAX), false));
                }
            }
        }
        assert_eq!((whole.len(), halves.len()), (30_000, 60_000));
    }

    #[test]
    fn a_change_is_seen_by_its_own_clone_only() {
        let before = Shared::new(vec![1u8, 2]);
        let print = Fingerprint::of(&before);
        let mut after = before.clone();
        assert_eq!(Fingerprint::of(&after), print);
        after.change().push(3);
        assert_eq!((before.len(), after.len()), (2, 3));
        assert_ne!(Fingerprint::of(&after), print);
        after.change().pop();
        assert_eq!(Fingerprint::of(&after), print, "equal values, equal fingerprints");
        assert_eq!(before, after);
    }
}
