//! The few events of one slot that may span several times, sorted by one word per event.

use crate::queue::chunks::{CHUNK, CHUNK_LEN};

const INDEX_BITS: u32 = CHUNK_LEN.ilog2();
const RANK_BITS: u32 = u32::BITS;
/// How many low bits of a time a key holds.
pub(super) const KEY_TIME_BITS: u32 = u64::BITS - RANK_BITS - INDEX_BITS;

/// The order of events that lie in one chunk and whose times agree above [`KEY_TIME_BITS`].
#[derive(Clone, Debug, Default)]
pub(super) struct Batch {
    /// (low bits of the time, rank of the source, index in the chunk), the next event last.
    keys: [u64; CHUNK],
    /// Keys that wait to be sorted.
    unsorted: [u64; CHUNK],
    len: u32,
    pub(super) chunk: u32,
    /// Whether `chunk` is ours to give back.
    pub(super) owned: bool,
    /// How many places of the chunk were filled.
    pub(super) used: u32,
    /// Times that agree with the base in all bits from this one on belong to the slot.
    pub(super) shift: u32,
}

impl Batch {
    /// The index of the next event in the chunk.
    #[inline]
    pub(super) fn first(&self) -> Option<u32> {
        (self.len > 0).then(|| index_of(self.keys[within(self.len - 1)]))
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    pub(super) fn remove_first(&mut self) {
        self.len -= 1;
    }

    #[inline]
    pub(super) fn clear(&mut self) {
        self.len = 0;
    }

    /// Adds an event without regard to the order, to be sorted with the others.
    #[inline]
    pub(super) fn add(&mut self, time: u64, rank: u32, index: u32) {
        self.unsorted[within(index)] = key(time, rank, index);
        self.len += 1;
    }

    /// Sorts the keys that were added to an empty batch.
    #[inline]
    pub(super) fn sort(&mut self) {
        let len = self.len as usize;
        match len {
            0..=1 => self.keys[0] = self.unsorted[0],
            2 => {
                let [left, right] = [self.unsorted[0], self.unsorted[1]];
                self.keys[0] = left.max(right);
                self.keys[1] = left.min(right);
            }
            3..=4 => self.sort_padded::<4>(),
            5..=8 => self.sort_padded::<8>(),
            9..=12 => self.sort_padded::<12>(),
            _ => {
                self.keys = self.unsorted;
                self.keys[..len].sort_unstable_by(|left, right| right.cmp(left));
            }
        }
    }

    /// Sorts at most `N` keys by counting, for each, those above it: no branch depends on them.
    #[inline]
    fn sort_padded<const N: usize>(&mut self) {
        // Zeros come last, where nothing reads them; an event may have the key zero, once.
        let mut padded = [0; N];
        for (at, key) in padded.iter_mut().enumerate() {
            *key = if at < self.len as usize { self.unsorted[at] } else { 0 };
        }
        for &key in &padded {
            let above: usize = padded.iter().map(|&other| usize::from(other > key)).sum();
            self.keys[above % CHUNK] = key;
        }
    }

    /// Adds an event in its place.
    pub(super) fn insert(&mut self, time: u64, rank: u32, index: u32) {
        let key = key(time, rank, index);
        let mut at = self.len;
        while at > 0 && self.keys[within(at - 1)] < key {
            self.keys[within(at)] = self.keys[within(at - 1)];
            at -= 1;
        }
        self.keys[within(at)] = key;
        self.len += 1;
    }

    /// The indices of the events, the next one first.
    pub(super) fn indices(&self) -> impl Iterator<Item = u32> {
        self.keys[..self.len as usize].iter().rev().map(|&key| index_of(key))
    }
}

#[inline]
fn key(time: u64, rank: u32, index: u32) -> u64 {
    (time << (RANK_BITS + INDEX_BITS)) | (u64::from(rank) << INDEX_BITS) | u64::from(index)
}

#[inline]
fn index_of(key: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the low bits of a key are the index")]
    let low = key as u32;
    low % CHUNK_LEN
}

/// A place in the batch, in a form that needs no check.
#[inline]
fn within(place: u32) -> usize {
    place as usize % CHUNK
}
