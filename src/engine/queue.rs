//! The event queue: a monotone radix wheel of 64 ways that yields one total order.
//!
//! The order is (time, round, source), first in first out within a source. `round` is the depth of
//! zero-delay causes: an event pushed *at* the time being processed joins the next round of that
//! time. It depends neither on the order of code nor on the memory layout.
//!
//! A pending event lies on the level of the highest 6-bit digit in which its time differs from the
//! time being processed (the *base*), in the slot of that digit. When the earliest slot's turn
//! comes, it is either
//!
//! - small: it becomes the *batch*, a sorted list of keys over all its times, and what is pushed
//!   into its range joins it until the chunk is full; or
//! - large: its earliest time becomes the *group*, sorted by source where it is not so already, and
//!   the rest spreads to lower levels.
//!
//! What is pushed at the base waits in a list of its own, the group of the next round. Lists and
//! spreading keep the order of pushing and the sorts keep it within a source, so no sequence number
//! is stored. All lists share one memory of chunks: nothing allocates once it has grown to the load.

mod chunks;

use crate::engine::queue::chunks::{CHUNK, CHUNK_LEN, Chunks, Fifo};
use crate::units::Time;

/// The component that schedules events: the last part of the order of simultaneous events.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct SourceId(pub u32);

/// An event that left the queue, with its place in the order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Popped<E> {
    /// When it happens.
    pub time: Time,
    /// Depth of zero-delay causes at that time.
    pub round: u32,
    /// Who scheduled it.
    pub source: SourceId,
    /// What happens.
    pub event: E,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    time: u64,
    source: SourceId,
    event: E,
}

const DIGIT_BITS: u32 = 6;
const WAYS: usize = 1 << DIGIT_BITS;
const DIGIT_MASK: u64 = WAYS as u64 - 1;
const LEVELS: usize = u64::BITS.div_ceil(DIGIT_BITS) as usize;
/// Pending events in the order (time, round, source), first in first out within a source.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    chunks: Chunks<Entry<E>>,
    slots: Box<[Fifo]>,
    /// Which slots of a level hold events.
    occupied: [u64; LEVELS],
    /// Which levels hold events.
    levels: u32,
    /// The time being processed, in picoseconds.
    base: u64,
    round: u32,
    next_round: u32,
    /// What was pushed at `base` while `round` was processed.
    next_round_fifo: Fifo,
    group: Group,
    batch: Batch,
    len: usize,
    tie_seed: Option<u64>,
}

/// The events of one time and round, where they are many or caused without delay.
#[derive(Clone, Debug, Default)]
struct Group {
    fifo: Fifo,
    /// How many of them were popped.
    cursor: u32,
    /// Their chunks.
    chain: Vec<u32>,
    /// Their order, as (rank of the source, index) in one word; empty when they lie in order.
    order: Vec<u64>,
}

/// The few events of one slot that may span several times, sorted; they lie in one chunk.
#[derive(Clone, Debug, Default)]
struct Batch {
    /// (time, rank of the source, index in the chunk) in one word, the next event last.
    keys: Vec<u128>,
    chunk: u32,
    /// Whether `chunk` is ours to give back.
    owned: bool,
    /// How many places of the chunk were filled.
    used: u32,
    /// Times that agree with the base in all bits from this one on belong to the slot.
    shift: u32,
}

impl<E: Copy> EventQueue<E> {
    /// An empty queue that processes time zero.
    pub fn new() -> Self {
        Self {
            chunks: Chunks::new(),
            slots: vec![Fifo::default(); LEVELS * WAYS].into_boxed_slice(),
            occupied: [0; LEVELS],
            levels: 0,
            base: 0,
            round: 0,
            next_round: 0,
            next_round_fifo: Fifo::default(),
            group: Group::default(),
            batch: Batch::default(),
            len: 0,
            tie_seed: None,
        }
    }

    /// An empty queue in which `seed`, not the source's number, ranks the sources of one (time,
    /// round). Within a source the order stays first in first out.
    pub fn with_shuffled_ties(seed: u64) -> Self {
        Self { tie_seed: Some(seed), ..Self::new() }
    }

    /// Number of pending events.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether nothing is pending.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The time being processed: that of the last popped event, or zero.
    pub fn now(&self) -> Time {
        Time::from_ps(self.base)
    }

    /// Adds an event at `time`; at the time being processed, to its next round.
    ///
    /// # Panics
    ///
    /// When `time` lies before the time being processed.
    #[inline]
    pub fn push(&mut self, time: Time, source: SourceId, event: E) {
        let time = time.as_ps();
        assert!(time >= self.base, "an event is scheduled at {time} ps, before {} ps", self.base);
        self.len += 1;
        let entry = Entry { time, source, event };
        if (time ^ self.base) >> self.batch.shift == 0 {
            self.push_near(entry);
        } else {
            self.place(entry);
        }
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<Popped<E>> {
        self.pop_until(Time::MAX)
    }

    /// Takes the next event if it happens at `last` or before.
    #[inline]
    pub fn pop_until(&mut self, last: Time) -> Option<Popped<E>> {
        let last = last.as_ps();
        loop {
            if self.group.cursor < self.group.fifo.len {
                return self.pop_group(last);
            }
            if let Some(&key) = self.batch.keys.last()
                && (self.next_round_fifo.len == 0 || time_of(key) == self.base)
            {
                return self.pop_batch(key, last);
            }
            if !self.advance(last) {
                return None;
            }
        }
    }

    /// When the next event happens. Does not move the base: earlier events may still be pushed.
    pub fn peek_time(&self) -> Option<Time> {
        let now = self.group.cursor < self.group.fifo.len || self.next_round_fifo.len > 0;
        let time = if now {
            Some(self.base)
        } else if let Some(&key) = self.batch.keys.last() {
            Some(time_of(key))
        } else {
            self.next_slot().map(|slot| self.bounds(slot).0)
        };
        time.map(Time::from_ps)
    }

    #[inline]
    fn pop_group(&mut self, last: u64) -> Option<Popped<E>> {
        if self.base > last {
            return None;
        }
        let Group { chain, order, cursor, .. } = &mut self.group;
        let index = order.get(*cursor as usize).map_or(*cursor, |&word| index_of(word));
        let entry = self.chunks.get(chain[index as usize / CHUNK], index % CHUNK_LEN);
        *cursor += 1;
        self.len -= 1;
        Some(entry.popped(self.round))
    }

    #[inline]
    fn pop_batch(&mut self, key: u128, last: u64) -> Option<Popped<E>> {
        let entry = self.chunks.get(self.batch.chunk, key_index(key));
        if entry.time > last {
            return None;
        }
        if entry.time != self.base {
            (self.base, self.round, self.next_round) = (entry.time, 0, 1);
        }
        self.batch.keys.pop();
        self.len -= 1;
        Some(entry.popped(self.round))
    }

    /// Adds an event to the slot of a time after the base.
    #[inline]
    fn place(&mut self, entry: Entry<E>) {
        let level = (entry.time ^ self.base).ilog2() / DIGIT_BITS;
        let digit = (entry.time >> (level * DIGIT_BITS)) & DIGIT_MASK;
        self.occupied[level as usize] |= 1 << digit;
        self.levels |= 1 << level;
        self.chunks.push(&mut self.slots[slot_of(level, digit)], entry);
    }

    /// Adds an event at the base, or in the slot that the batch took over.
    fn push_near(&mut self, entry: Entry<E>) {
        if entry.time == self.base {
            self.chunks.push(&mut self.next_round_fifo, entry);
            return;
        }
        if self.batch.keys.is_empty() {
            self.batch.used = 0;
        }
        if self.batch.used == CHUNK_LEN {
            self.dissolve_batch();
            self.place(entry);
            return;
        }
        let index = self.batch.used;
        self.chunks.set(self.batch.chunk, index, entry);
        self.batch.used += 1;
        let key = self.key(&entry, index);
        let position = self.batch.keys.partition_point(|&other| other > key);
        self.batch.keys.insert(position, key);
    }

    /// Moves the events of the batch that lie after the base to slots of lower levels.
    fn dissolve_batch(&mut self) {
        self.batch.shift = 0;
        let later = self.batch.keys.partition_point(|&key| time_of(key) > self.base);
        // Ascending keys keep each source in order.
        for at in (0..later).rev() {
            let entry = self.chunks.get(self.batch.chunk, key_index(self.batch.keys[at]));
            self.place(entry);
        }
        self.batch.keys.drain(..later);
    }

    /// The slot with the earliest events after the base.
    fn next_slot(&self) -> Option<usize> {
        let level = (self.levels != 0).then(|| self.levels.trailing_zeros())?;
        let digit = self.occupied[level as usize].trailing_zeros();
        Some(slot_of(level, u64::from(digit)))
    }

    /// The earliest and the latest time in a slot.
    fn bounds(&self, slot: usize) -> (u64, u64) {
        self.chunks.iter(self.slots[slot]).fold((u64::MAX, 0), |(earliest, latest), entry| {
            (earliest.min(entry.time), latest.max(entry.time))
        })
    }

    /// Makes the next round or the next slot current, unless it lies after `last`.
    #[inline(never)]
    fn advance(&mut self, last: u64) -> bool {
        self.chunks.release_all(std::mem::take(&mut self.group.fifo));
        self.group.cursor = 0;
        if self.next_round_fifo.len > 0 {
            return self.base <= last && self.enter_next_round();
        }
        let Some(slot) = self.next_slot() else { return false };
        if self.slots[slot].len <= CHUNK_LEN {
            self.enter_batch(slot, last)
        } else {
            self.enter_slot(slot, last)
        }
    }

    fn enter_next_round(&mut self) -> bool {
        self.round = self.next_round;
        self.next_round =
            self.round.checked_add(1).expect("zero-delay events at one time end before 2^32 deep");
        self.group.fifo = std::mem::take(&mut self.next_round_fifo);
        self.arrange_group();
        true
    }

    /// Takes a slot of few events over, sorted, whatever their times are.
    fn enter_batch(&mut self, slot: usize, last: u64) -> bool {
        let Fifo { head, len, .. } = self.slots[slot];
        let level = level_of(slot);
        self.batch.keys.clear();
        for index in 0..len {
            let key = self.key(&self.chunks.get(head, index), index);
            self.batch.keys.push(key);
        }
        if len > 1 {
            self.batch.keys.sort_unstable_by(|left, right| right.cmp(left));
        }
        if self.batch.keys.last().is_some_and(|&key| time_of(key) > last) {
            self.batch.keys.clear();
            return false;
        }
        self.release_batch();
        self.take_slot(slot);
        self.batch.chunk = head;
        self.batch.owned = true;
        self.batch.used = len;
        self.batch.shift = level * DIGIT_BITS;
        true
    }

    /// Takes a slot of many events over: those of its earliest time become the group, the others
    /// move to lower levels.
    fn enter_slot(&mut self, slot: usize, last: u64) -> bool {
        let (earliest, latest) = self.bounds(slot);
        if earliest > last {
            return false;
        }
        self.release_batch();
        (self.base, self.round, self.next_round) = (earliest, 0, 1);
        let fifo = self.take_slot(slot);
        self.group.fifo = if earliest == latest { fifo } else { self.spread(fifo) };
        self.arrange_group();
        true
    }

    /// Empties a slot.
    fn take_slot(&mut self, slot: usize) -> Fifo {
        let level = slot / WAYS;
        self.occupied[level] &= !(1 << (slot % WAYS));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
        std::mem::take(&mut self.slots[slot])
    }

    fn release_batch(&mut self) {
        if std::mem::take(&mut self.batch.owned) {
            self.chunks.release(self.batch.chunk);
        }
        self.batch.shift = 0;
    }

    /// Moves the events of a list to lower levels; answers those at the base.
    fn spread(&mut self, from: Fifo) -> Fifo {
        let mut now = Fifo::default();
        let (mut chunk, mut left) = (from.head, from.len);
        while left > 0 {
            let next = self.chunks.after(chunk);
            let len = left.min(CHUNK_LEN);
            for index in 0..len {
                let entry = self.chunks.get(chunk, index);
                if entry.time == self.base {
                    self.chunks.push(&mut now, entry);
                } else {
                    self.place(entry);
                }
            }
            self.chunks.release(chunk);
            chunk = next;
            left -= len;
        }
        now
    }

    /// Brings the group into the order of sources.
    fn arrange_group(&mut self) {
        let Group { fifo, chain, order, .. } = &mut self.group;
        chain.clear();
        chain.extend(self.chunks.chain(*fifo).map(|(chunk, _)| chunk));
        order.clear();
        let entries = || self.chunks.iter(*fifo);
        let tie_key = self.tie_seed.map(|seed| tie_key(seed, self.base, self.round));
        if tie_key.is_none() && entries().is_sorted_by_key(|entry| entry.source) {
            return;
        }
        let words = entries().zip(0_u64..);
        order.extend(
            words.map(|(entry, index)| (u64::from(rank(tie_key, entry.source)) << 32) | index),
        );
        order.sort_unstable();
    }

    /// The place of an event in the batch.
    #[inline]
    fn key(&self, entry: &Entry<E>, index: u32) -> u128 {
        let tie_key = self.tie_seed.map(|seed| tie_key(seed, entry.time, 0));
        let rank = rank(tie_key, entry.source);
        (u128::from(entry.time) << 64) | (u128::from(rank) << 32) | u128::from(index)
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E> Entry<E> {
    #[inline]
    fn popped(self, round: u32) -> Popped<E> {
        let Self { time, source, event } = self;
        Popped { time: Time::from_ps(time), round, source, event }
    }
}

#[inline]
fn slot_of(level: u32, digit: u64) -> usize {
    level as usize * WAYS + usize::try_from(digit).expect("a digit is below 64")
}

fn level_of(slot: usize) -> u32 {
    u32::try_from(slot / WAYS).expect("there are 11 levels")
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half of the word is the index")]
fn index_of(word: u64) -> u32 {
    word as u32
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low quarter of the key is the index")]
fn key_index(key: u128) -> u32 {
    key as u32
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the high half of the key is the time")]
fn time_of(key: u128) -> u64 {
    (key >> 64) as u64
}

/// What orders sources: their number, or its place in the permutation that `tie_key` chooses.
#[inline]
fn rank(tie_key: Option<u64>, source: SourceId) -> u32 {
    tie_key.map_or(source.0, |key| shuffled_rank(key, source.0))
}

/// One key per (time, round), so that no source wins every tie.
fn tie_key(seed: u64, time: u64, round: u32) -> u64 {
    crate::engine::digest::mix(crate::engine::digest::mix(seed, time), u64::from(round))
}

/// A permutation of the 32-bit numbers chosen by `key`: two sources never share a rank.
fn shuffled_rank(key: u64, source: u32) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "the key's two halves are used apart")]
    let (low, high) = (key as u32, (key >> 32) as u32);
    let mut word = source ^ low;
    for factor in [0x7feb_352d_u32, 0x846c_a68b] {
        word = (word ^ (word >> 16)).wrapping_mul(factor) ^ high;
    }
    word ^ (word >> 15)
}

#[cfg(test)]
mod tests;
