//! The event queue: a monotone radix wheel of 64 ways that yields one total order.
//!
//! The order is (time, round, source), first in first out within a source. `round` is the depth of
//! zero-delay causes: an event pushed *at* the time being processed joins the next round of that
//! time. It depends neither on the order of code nor on the memory layout.
//!
//! A pending event lies on the level of the highest 6-bit digit in which its time differs from the
//! time being processed (the *base*), in the slot of that digit:
//!
//! ```text
//!   level 10 … 1   slots hold a range of times, spread downwards when the base reaches them
//!   level 0        each slot holds one time: sorted by source when it becomes current
//!   this round     pushed at the base while the round before was processed: sorted likewise
//!   next round     pushed at the base now
//! ```
//!
//! Slots and spreading keep the order of pushing, and the sort keeps it among equal sources, so no
//! sequence number is stored. Nothing allocates once the slots have grown to the load.

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
/// The two slots that take turns as "this round" and "next round".
const ROUND_SLOTS: [usize; 2] = [LEVELS * WAYS, LEVELS * WAYS + 1];

/// Pending events in the order (time, round, source), first in first out within a source.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    slots: Box<[Vec<Entry<E>>]>,
    /// Which slots of a level hold events; the current slot does not count.
    occupied: [u64; LEVELS],
    /// Which levels hold events.
    levels: u32,
    /// The time being processed, in picoseconds.
    base: u64,
    /// Where the events of this time and round lie.
    current: usize,
    /// How many of them were popped.
    cursor: usize,
    /// Their order, as (rank of the source, index) in one word; empty when they lie in order.
    order: Vec<u64>,
    /// Where a push at `base` goes.
    next_round_slot: usize,
    round: u32,
    next_round: u32,
    len: usize,
    tie_seed: Option<u64>,
}

impl<E: Copy> EventQueue<E> {
    /// An empty queue that processes time zero.
    pub fn new() -> Self {
        Self {
            slots: (0..=ROUND_SLOTS[1]).map(|_| Vec::new()).collect(),
            occupied: [0; LEVELS],
            levels: 0,
            base: 0,
            current: ROUND_SLOTS[1],
            cursor: 0,
            order: Vec::new(),
            next_round_slot: ROUND_SLOTS[0],
            round: 0,
            next_round: 0,
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
        let slot = if time == self.base { self.next_round_slot } else { self.place(time) };
        self.slots[slot].push(Entry { time, source, event });
    }

    /// Takes the next event.
    #[inline]
    pub fn pop(&mut self) -> Option<Popped<E>> {
        self.pop_until(Time::MAX)
    }

    /// Takes the next event if it happens at `last` or before.
    #[inline]
    pub fn pop_until(&mut self, last: Time) -> Option<Popped<E>> {
        if self.cursor == self.slots[self.current].len() && !self.advance(last.as_ps()) {
            return None;
        }
        let index =
            if self.order.is_empty() { self.cursor } else { index_of(self.order[self.cursor]) };
        let Entry { time, source, event } = self.slots[self.current][index];
        self.cursor += 1;
        self.len -= 1;
        Some(Popped { time: Time::from_ps(time), round: self.round, source, event })
    }

    /// When the next event happens. Does not move the base: earlier events may still be pushed.
    pub fn peek_time(&self) -> Option<Time> {
        let pending_now = self.cursor < self.slots[self.current].len()
            || !self.slots[self.next_round_slot].is_empty();
        let time = if pending_now { Some(self.base) } else { self.next_slot().map(|next| next.1) };
        time.map(Time::from_ps)
    }

    /// The slot of a time after the base, marked as occupied.
    #[inline]
    fn place(&mut self, time: u64) -> usize {
        let level = (time ^ self.base).ilog2() / DIGIT_BITS;
        let digit = (time >> (level * DIGIT_BITS)) & DIGIT_MASK;
        self.occupied[level as usize] |= 1 << digit;
        self.levels |= 1 << level;
        slot_of(level, digit)
    }

    /// The slot with the earliest events after the base, and their earliest and latest time.
    fn next_slot(&self) -> Option<(usize, u64, u64)> {
        if self.levels == 0 {
            return None;
        }
        let level = self.levels.trailing_zeros();
        let digit = self.occupied[level as usize].trailing_zeros();
        let slot = slot_of(level, u64::from(digit));
        let first = self.slots[slot][0].time;
        if level == 0 {
            return Some((slot, first, first));
        }
        let bounds = self.slots[slot].iter().fold((first, first), |(earliest, latest), entry| {
            (earliest.min(entry.time), latest.max(entry.time))
        });
        Some((slot, bounds.0, bounds.1))
    }

    /// Makes the next round or the next time current, unless it lies after `last`.
    fn advance(&mut self, last: u64) -> bool {
        self.slots[self.current].clear();
        self.cursor = 0;
        self.order.clear();
        if !self.slots[self.next_round_slot].is_empty() {
            return self.base <= last && self.enter_next_round();
        }
        let Some((slot, earliest, latest)) = self.next_slot() else { return false };
        if earliest > last {
            return false;
        }
        self.release(slot);
        self.base = earliest;
        self.round = 0;
        self.next_round = 1;
        self.current = if earliest == latest { slot } else { self.spread(slot) };
        self.arrange();
        true
    }

    fn enter_next_round(&mut self) -> bool {
        self.current = self.next_round_slot;
        self.next_round_slot = ROUND_SLOTS[0] + ROUND_SLOTS[1] - self.current;
        self.round = self.next_round;
        self.next_round =
            self.round.checked_add(1).expect("zero-delay events at one time end before 2^32 deep");
        self.arrange();
        true
    }

    /// Marks a slot as free of events that wait for their time.
    fn release(&mut self, slot: usize) {
        let level = slot / WAYS;
        self.occupied[level] &= !(1 << (slot % WAYS));
        if self.occupied[level] == 0 {
            self.levels &= !(1 << level);
        }
    }

    /// Moves the events of a slot to lower levels; answers where those at the base lie.
    fn spread(&mut self, slot: usize) -> usize {
        let now = slot_of(0, self.base & DIGIT_MASK);
        let mut entries = std::mem::take(&mut self.slots[slot]);
        for entry in &entries {
            let to = if entry.time == self.base { now } else { self.place(entry.time) };
            self.slots[to].push(*entry);
        }
        entries.clear();
        self.slots[slot] = entries;
        now
    }

    /// Brings the current slot into the order of sources.
    fn arrange(&mut self) {
        let entries = &self.slots[self.current];
        if entries.len() < 2 {
            return;
        }
        match self.tie_seed {
            None if entries.is_sorted_by_key(|entry| entry.source) => {}
            None => sort_into(&mut self.order, entries, |source| source.0),
            Some(seed) => {
                let key = tie_key(seed, self.base, self.round);
                sort_into(&mut self.order, entries, |source| shuffled_rank(key, source.0));
            }
        }
    }
}

impl<E: Copy> Default for EventQueue<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn slot_of(level: u32, digit: u64) -> usize {
    level as usize * WAYS + usize::try_from(digit).expect("a digit is below 64")
}

/// Fills `order` with one word per entry, (rank, index), ascending: a stable sort by rank.
fn sort_into<E>(order: &mut Vec<u64>, entries: &[Entry<E>], rank: impl Fn(SourceId) -> u32) {
    assert!(u32::try_from(entries.len()).is_ok(), "at most 2^32 events share one time and round");
    let words = entries.iter().zip(0_u64..);
    order.extend(words.map(|(entry, index)| (u64::from(rank(entry.source)) << 32) | index));
    order.sort_unstable();
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the low half of the word is the index")]
fn index_of(word: u64) -> usize {
    word as u32 as usize
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
