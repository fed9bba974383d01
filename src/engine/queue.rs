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
//! - small: it becomes the *batch*, a sorted list of keys over all its times, and events pushed
//!   into its range join it until the chunk is full; or
//! - large: its earliest time becomes the *group*, sorted by source where it is not so already, and
//!   the rest spreads to lower levels.
//!
//! Events pushed at the base wait in a list of their own, the group of the next round. Lists and
//! spreading keep the order of pushing and the sorts keep it within a source, so no sequence number
//! is stored. All lists share one memory of chunks: nothing allocates once it has grown to the load.

mod batch;
mod chunks;

use crate::queue::batch::{Batch, KEY_TIME_BITS};
use crate::queue::chunks::{CHUNK, CHUNK_LEN, Chunks, Fifo};
use crate::source::SourceId;
use units::Time;

/// An event that left the queue, with its place in the order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Popped<E> {
    /// When it happens.
    pub time: Time,
    /// Depth of zero-delay causes at that time.
    pub round: u32,
    /// Source that scheduled it.
    pub source: SourceId,
    /// The event.
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
/// Eleven are used; a power of two needs no check of an index.
const LEVELS: usize = 16;
/// The highest level whose slots may become a batch.
const BATCH_LEVEL: u32 = KEY_TIME_BITS / DIGIT_BITS;

/// Pending events in the order (time, round, source), first in first out within a source.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    chunks: Chunks<Entry<E>>,
    slots: Box<[[Fifo; WAYS]; LEVELS]>,
    /// Which slots of a level hold events.
    occupied: [u64; LEVELS],
    /// Which levels hold events.
    levels: u32,
    /// The time being processed, in picoseconds.
    base: u64,
    round: u32,
    next_round: u32,
    /// Events pushed at `base` while `round` was processed.
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

impl<E: Copy> EventQueue<E> {
    /// An empty queue that processes time zero.
    pub fn new() -> Self {
        Self {
            chunks: Chunks::new(),
            slots: Box::new([[Fifo::default(); WAYS]; LEVELS]),
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
            self.push_far(entry);
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
            if let Some(index) = self.batch.first() {
                let entry = *self.chunks.get(self.batch.chunk, index);
                if self.next_round_fifo.len == 0 || entry.time == self.base {
                    return self.pop_batch(entry, last);
                }
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
        } else if let Some(index) = self.batch.first() {
            Some(self.chunks.get(self.batch.chunk, index).time)
        } else {
            self.next_slot().map(|slot| self.bounds(self.fifo(slot)).0)
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

    /// Takes `entry`, the first of the batch.
    #[inline]
    fn pop_batch(&mut self, entry: Entry<E>, last: u64) -> Option<Popped<E>> {
        if entry.time > last {
            return None;
        }
        if entry.time != self.base {
            (self.base, self.round, self.next_round) = (entry.time, 0, 1);
        }
        self.batch.remove_first();
        self.len -= 1;
        Some(entry.popped(self.round))
    }

    /// Adds an event after the base to the slot of its time.
    #[inline]
    fn push_far(&mut self, entry: Entry<E>) {
        let level = ((entry.time ^ self.base) | 1).ilog2() / DIGIT_BITS;
        let digit = (entry.time >> (level * DIGIT_BITS)) & DIGIT_MASK;
        self.occupied[level as usize % LEVELS] |= 1 << digit;
        self.levels |= 1 << level;
        let slot = &mut self.slots[level as usize % LEVELS][way(digit)];
        self.chunks.push(slot, entry);
    }

    /// Adds an event at the base, or in the slot that the batch took over.
    #[inline(never)]
    fn push_near(&mut self, entry: Entry<E>) {
        if entry.time == self.base {
            self.chunks.push(&mut self.next_round_fifo, entry);
            return;
        }
        if self.batch.is_empty() {
            self.batch.used = 0;
        }
        if self.batch.used == CHUNK_LEN {
            self.dissolve_batch();
            self.push_far(entry);
            return;
        }
        let index = self.batch.used;
        self.chunks.set(self.batch.chunk, index, entry);
        self.batch.used += 1;
        let rank = self.rank_in_batch(&entry);
        self.batch.insert(entry.time, rank, index);
    }

    /// Moves the events of the batch that lie after the base to slots of lower levels.
    fn dissolve_batch(&mut self) {
        self.batch.shift = 0;
        let batch = self.batch.clone();
        self.batch.clear();
        // Rising keys keep each source in order.
        for index in batch.indices() {
            let entry = *self.chunks.get(batch.chunk, index);
            if entry.time > self.base {
                self.push_far(entry);
            } else {
                let rank = self.rank_in_batch(&entry);
                self.batch.insert(entry.time, rank, index);
            }
        }
    }

    /// The slot with the earliest events after the base.
    fn next_slot(&self) -> Option<(u32, u64)> {
        let level = (self.levels != 0).then(|| self.levels.trailing_zeros())?;
        let digit = self.occupied[level as usize % LEVELS].trailing_zeros();
        Some((level, u64::from(digit)))
    }

    /// The events of a slot, given by its level and digit.
    #[inline]
    fn fifo(&self, (level, digit): (u32, u64)) -> Fifo {
        self.slots[level as usize % LEVELS][way(digit)]
    }

    /// The earliest and the latest time in a list.
    fn bounds(&self, fifo: Fifo) -> (u64, u64) {
        self.chunks.iter(fifo).fold((u64::MAX, 0), |(earliest, latest), entry| {
            (earliest.min(entry.time), latest.max(entry.time))
        })
    }

    /// Makes the next round or the next slot current, unless it lies after `last`.
    #[inline(never)]
    fn advance(&mut self, last: u64) -> bool {
        if self.group.cursor > 0 {
            self.chunks.release_all(std::mem::take(&mut self.group.fifo));
            self.group.cursor = 0;
        }
        if self.next_round_fifo.len > 0 {
            return self.base <= last && self.enter_next_round();
        }
        let Some(slot) = self.next_slot() else { return false };
        if slot.0 <= BATCH_LEVEL && self.fifo(slot).len <= CHUNK_LEN {
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
    fn enter_batch(&mut self, slot: (u32, u64), last: u64) -> bool {
        let Fifo { head, len, .. } = self.fifo(slot);
        let shift = slot.0 * DIGIT_BITS;
        self.batch.clear();
        for (entry, index) in self.chunks.values(head, len).iter().zip(0..) {
            let rank = match self.tie_seed {
                None => entry.source.0,
                Some(seed) => shuffled_rank(tie_key(seed, entry.time, 0), entry.source.0),
            };
            self.batch.add(entry.time, rank, index);
        }
        self.batch.sort();
        if self.batch.first().is_some_and(|index| self.chunks.get(head, index).time > last) {
            self.batch.clear();
            return false;
        }
        self.release_batch();
        self.take_slot(slot);
        self.batch.chunk = head;
        self.batch.owned = true;
        self.batch.used = len;
        self.batch.shift = shift;
        true
    }

    /// Takes a slot of many events over: those of its earliest time become the group, the others
    /// move to lower levels.
    fn enter_slot(&mut self, slot: (u32, u64), last: u64) -> bool {
        let (earliest, latest) = self.bounds(self.fifo(slot));
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
    fn take_slot(&mut self, (level, digit): (u32, u64)) -> Fifo {
        let occupied = &mut self.occupied[level as usize % LEVELS];
        *occupied &= !(1 << digit);
        if *occupied == 0 {
            self.levels &= !(1 << level);
        }
        std::mem::take(&mut self.slots[level as usize % LEVELS][way(digit)])
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
                let entry = *self.chunks.get(chunk, index);
                if entry.time == self.base {
                    self.chunks.push(&mut now, entry);
                } else {
                    self.push_far(entry);
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

    /// The rank of an event's source among the batch: those wait for round 0 of their times.
    #[inline]
    fn rank_in_batch(&self, entry: &Entry<E>) -> u32 {
        let tie_key = self.tie_seed.map(|seed| tie_key(seed, entry.time, 0));
        rank(tie_key, entry.source)
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

impl<E: Copy> Entry<E> {
    #[inline]
    fn popped(&self, round: u32) -> Popped<E> {
        let &Self { time, source, event } = self;
        Popped { time: Time::from_ps(time), round, source, event }
    }
}

/// A digit as an index, in a form that needs no check.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "a digit is below 64")]
fn way(digit: u64) -> usize {
    digit as usize % WAYS
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half of the word is the index")]
fn index_of(word: u64) -> u32 {
    word as u32
}

/// Rank of a source: its number, or the place of that in the permutation that `tie_key` chooses.
#[inline]
fn rank(tie_key: Option<u64>, source: SourceId) -> u32 {
    tie_key.map_or(source.0, |key| shuffled_rank(key, source.0))
}

/// One key per (time, round), so that no source wins every tie.
fn tie_key(seed: u64, time: u64, round: u32) -> u64 {
    crate::digest::mix(crate::digest::mix(seed, time), u64::from(round))
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
