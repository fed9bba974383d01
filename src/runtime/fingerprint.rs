//! 128-bit fingerprints of states, and values that are shared until they change.
//!
//! Names, which are hashed as `i128` ([`mpi::observation::Name`]), count by where they come
//! again only, and how many were given ([`mpi::observation::Names`]) not at all: states that
//! differ in how things are called have the same future, and are one.

use std::cell::OnceCell;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::rc::Rc;

/// A 128-bit hasher for fingerprints of states; the same on every machine and in every run.
///
/// Two lanes, each a bijection of its state for a given word, so that nothing is lost before the
/// end; not meant against an adversary who chooses states to collide.
#[derive(Clone, Debug)]
pub struct Fingerprint {
    low: u64,
    high: u64,
    /// The names, in the order in which they were written.
    names: Vec<i128>,
    /// A hash of how many names were given, where that was hashed.
    given: u64,
    /// How much was written.
    words: u32,
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self {
            low: 0x243f_6a88_85a3_08d3,
            high: 0x1319_8a2e_0370_7344,
            names: Vec::new(),
            given: 0,
            words: 0,
        }
    }
}

impl Fingerprint {
    /// Nothing yet, with room for names.
    pub(super) fn in_room(room: Vec<i128>) -> Self {
        Self { names: room, ..Self::default() }
    }

    /// The fingerprint of one value.
    pub fn of<T: Hash + ?Sized>(value: &T) -> u128 {
        Self::with(value).by_place()
    }

    /// The fingerprint of one value in which different names are different.
    pub fn named<T: Hash + ?Sized>(value: &T) -> u128 {
        Self::with(value).by_name()
    }

    fn with<T: Hash + ?Sized>(value: &T) -> Self {
        let mut hasher = Self::default();
        value.hash(&mut hasher);
        hasher
    }

    /// Takes a value by what it is known by already: half of the work of hashing it, since what was
    /// mixed once need not be mixed into both halves.
    pub(super) fn shared<T: Hash>(&mut self, one: &Shared<T>) {
        let print = one.print();
        self.take(print.halves);
        if !print.names.is_empty() {
            self.reserve_names();
            self.names.extend_from_slice(&print.names);
        }
    }

    /// The same, where different names are different.
    pub(super) fn named_shared<T: Hash>(&mut self, one: &Shared<T>) {
        self.known(one.named());
    }

    /// The same of what is known of a value.
    pub(super) fn known(&mut self, Named(halves): Named) {
        self.take(halves);
    }

    const fn take(&mut self, [low, high]: [u64; 2]) {
        self.low = (self.low ^ low).wrapping_mul(FACTORS[0]).rotate_left(27);
        self.high = (self.high ^ high).wrapping_mul(FACTORS[1]).rotate_left(31);
    }

    fn reserve_names(&mut self) {
        if self.names.capacity() == 0 {
            self.names.reserve(NAMES);
        }
    }

    /// The fingerprint of all that was written, where of names it counts where they come again.
    pub(super) fn by_place(&mut self) -> u128 {
        let names = std::mem::take(&mut self.names);
        for (place, name) in names.iter().enumerate() {
            let first = names[..place].iter().position(|one| one == name);
            self.write_usize(first.unwrap_or(place));
        }
        self.names = names;
        self.value()
    }

    /// The same in another number, which is of use inside one search only, in half of the time.
    pub(super) fn by_place_in_words(&mut self) -> u128 {
        if self.names.len() > usize::from(u16::MAX) {
            return self.by_place();
        }
        let names = std::mem::take(&mut self.names);
        let mut word = 0_u64;
        for (place, name) in names.iter().enumerate() {
            let first = names[..place].iter().position(|one| one == name);
            word = word << 16 | first.unwrap_or(place) as u64;
            if place % 4 == 3 {
                self.word(std::mem::take(&mut word));
            }
        }
        self.word(word);
        self.names = names;
        self.value()
    }

    /// The room that its names took, for others.
    pub(super) fn into_room(self) -> Vec<i128> {
        let mut room = self.names;
        room.clear();
        room
    }

    /// The fingerprint of a part of states.
    pub(super) fn into_part(self) -> PartPrint {
        let halves_of_all = halves(self.value());
        let names: Box<[i128]> = self.names.as_slice().into();
        PartPrint { halves: halves_of_all, named: Named(halves(self.by_name())), names }
    }

    /// Takes a part of a state.
    #[inline]
    pub(super) fn add_part(&mut self, part: &PartPrint) {
        self.take(part.halves);
        // They are few.
        for name in &part.names {
            self.names.push(*name);
        }
    }

    /// The same, where different names are different.
    pub(super) fn add_named_part(&mut self, part: &PartPrint) {
        self.known(part.named);
    }

    /// The fingerprint of all that was written, where different names are different.
    pub(super) fn by_name(mut self) -> u128 {
        self.word(self.given);
        for name in std::mem::take(&mut self.names) {
            self.write_u128(name.cast_unsigned());
        }
        self.value()
    }

    /// The fingerprint of all that was written but names.
    fn value(&self) -> u128 {
        let low = avalanche(self.low.wrapping_add(self.high));
        let high = avalanche(self.high.wrapping_add(low));
        u128::from(high) << 64 | u128::from(low)
    }

    fn word(&mut self, word: u64) {
        self.words = self.words.wrapping_add(1);
        let [a, b] = FACTORS;
        self.low = (self.low ^ word.wrapping_mul(a)).rotate_left(27).wrapping_mul(b);
        self.low = self.low.wrapping_add(self.high);
        self.high = (self.high ^ word.wrapping_mul(b)).rotate_left(31).wrapping_mul(a);
        self.high = self.high.wrapping_add(self.low);
    }
}

/// Odd numbers with bits all over.
const FACTORS: [u64; 2] = [0x87c3_7b91_1142_53d5, 0x4cf5_ad43_2745_937f];

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

    /// A name, or how many were given.
    fn write_i128(&mut self, name: i128) {
        if let Ok(given) = u64::try_from(-1 - name) {
            self.given = avalanche(self.given.wrapping_add(given).wrapping_add(1));
            return;
        }
        self.reserve_names();
        self.names.push(name);
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

/// Room for the names of most states.
/// Method: memory for them is taken once.
const NAMES: usize = 32;

/// A value that clones share until one of them changes it; its fingerprint is computed once.
///
/// All clones are of one thread: a search counts them several times a step, and to count them for other
/// threads it would wait each time for whatever is on its way from memory.
#[derive(Debug, Default)]
pub struct Shared<T>(Rc<Kept<T>>);

/// Value and fingerprint. The one that a search reads most comes first, beside the reference count: each cache
/// line costs a wait for memory.
#[derive(Debug, Default)]
#[repr(C)]
struct Kept<T> {
    /// The fingerprint, once it was computed.
    print: OnceCell<Print>,
    value: T,
}

/// A fingerprint of all but the names, and those.
#[derive(Debug)]
struct Print {
    halves: [u64; 2],
    /// Of all, where different names are different.
    named: Named,
    given: u64,
    names: Box<[i128]>,
    /// How much was written, names included.
    words: u32,
}

/// The fingerprint of a shared value in which different names are different.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Named([u64; 2]);

impl Hash for Named {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Self([low, high]) = *self;
        state.write_u64(low);
        state.write_u64(high);
    }
}

/// Fingerprint of a part of states.
#[derive(Clone, Debug)]
pub(super) struct PartPrint {
    /// Of all but names.
    halves: [u64; 2],
    /// Where different names are different.
    named: Named,
    names: Box<[i128]>,
}

impl Named {
    /// As one number.
    pub(super) fn key(self) -> u128 {
        let Self([low, high]) = self;
        u128::from(high) << 64 | u128::from(low)
    }
}

/// The low and the high 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
const fn halves(print: u128) -> [u64; 2] {
    [print as u64, (print >> 64) as u64]
}

impl<T: Clone> Clone for Kept<T> {
    fn clone(&self) -> Self {
        // Cloned to be changed: the old fingerprint would be stale.
        Self { value: self.value.clone(), print: OnceCell::new() }
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }

    fn clone_from(&mut self, other: &Self) {
        if !Rc::ptr_eq(&self.0, &other.0) {
            *self = other.clone();
        }
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
        Self(Rc::new(Kept { value, print: OnceCell::new() }))
    }

    /// Whether it is the same value, shared and unchanged.
    pub(super) fn is(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T: Clone> Shared<T> {
    /// The value, to be changed: no other clone sees the change.
    pub fn change(&mut self) -> &mut T {
        let kept = Rc::make_mut(&mut self.0);
        kept.print = OnceCell::new();
        &mut kept.value
    }
}

impl<T: Hash> Shared<T> {
    /// The fingerprint in which different names are different.
    pub fn named(&self) -> Named {
        self.print().named
    }

    /// Bytes of the value, about: itself, and 8 for each number that it holds somewhere else, as its
    /// fingerprint meets them; what it shares with others is only mentioned.
    pub fn bytes(&self) -> usize {
        size_of::<Kept<T>>() + size_of::<u64>() * self.print().words as usize
    }

    fn print(&self) -> &Print {
        self.0.print.get_or_init(|| {
            let hasher = Fingerprint::with(&self.0.value);
            let given = hasher.given;
            let names: Box<[i128]> = hasher.names.as_slice().into();
            let words = hasher.words + u32::try_from(2 * names.len()).expect("few names");
            let halves_of_all = halves(hasher.value());
            Print {
                halves: halves_of_all,
                named: Named(halves(hasher.by_name())),
                given,
                names,
                words,
            }
        })
    }
}

impl<T: Hash> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let print = self.print();
        for half in print.halves {
            state.write_u64(half);
        }
        if print.given != 0 {
            state.write_i128(-1 - i128::from(print.given));
        }
        for name in &print.names {
            state.write_i128(*name);
        }
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0) || self.0.value == other.0.value
    }
}

impl<T: Eq> Eq for Shared<T> {}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use mpi::observation::{Name, Names};

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
    fn names_count_by_where_they_come_again() {
        let of = |names: [u32; 3], plain: u32| {
            let [first, second, third] = names.map(|serial| Name { of: 1, serial });
            Shared::new((Shared::new(vec![first, second]), third, plain))
        };
        let states =
            [[1, 2, 1], [5, 3, 5], [1, 2, 2], [1, 2, 3], [1, 1, 1]].map(|names| of(names, 5));
        let prints = states.each_ref().map(Fingerprint::of);
        assert_eq!(prints[0], prints[1], "called differently, and otherwise the same");
        assert_eq!(BTreeSet::from(prints).len(), 4);
        assert_ne!(prints[0], Fingerprint::of(&of([1, 2, 1], 6)));
        let named = states.each_ref().map(Fingerprint::named);
        assert_eq!(BTreeSet::from(named).len(), 5);
        assert_eq!(named[0], Fingerprint::named(&of([1, 2, 1], 5)));
        let given = Names::default();
        let mut more = given;
        more.take();
        assert_eq!(Fingerprint::of(&(given, 1)), Fingerprint::of(&(more, 1)));
        assert_ne!(
            Fingerprint::named(&(given, 1)),
            Fingerprint::named(&(more, 1)),
            "the next name"
        );
        // Also once they are known.
        assert_eq!(states.each_ref().map(Fingerprint::of), prints);
        assert_eq!(states.each_ref().map(Fingerprint::named), named);
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
