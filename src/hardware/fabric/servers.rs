//! Identical first-come-first-served servers with a fixed time per transfer.
//!
//! With one service time for all, the end of a transfer is known when it arrives: the server that
//! becomes free next began its present work `count` transfers ago. Arrivals of the same instant are
//! ordered by connection, so that one that comes later may push others back.

use std::collections::VecDeque;

use super::arena::{Flight, Flights};
use super::promises::{Coming, Promise};
use super::spec::ResourceStats;
use units::{Time, TimeDelta};

#[derive(Debug)]
pub(super) struct Servers {
    pub(super) per_item: TimeDelta,
    /// Ends of the last `count` transfers, oldest at `oldest`.
    ends: Vec<Time>,
    oldest: usize,
    /// Starts of transfers that had to wait, oldest first.
    starts: VecDeque<Time>,
    /// Transfers that arrived in this instant in the order of service, and when each slot ends.
    batch: Vec<Served>,
    batch_at: Time,
    items: u64,
    pub(super) queue_max: u32,
    pub(super) coming: Coming,
}

/// A transfer that is served, and when its service ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) flight: u32,
    pub(super) hop: u32,
    /// The flight's `tail` before this hop.
    pub(super) tail: u64,
    pub(super) end: Time,
}

impl Servers {
    pub(super) fn new(count: u32, per_item: TimeDelta) -> Self {
        assert!(count > 0, "a pool of servers has at least one");
        Self {
            per_item,
            ends: vec![Time::ZERO; count as usize],
            oldest: 0,
            starts: VecDeque::new(),
            batch: Vec::new(),
            batch_at: Time::ZERO,
            items: 0,
            queue_max: 0,
            coming: Coming::default(),
        }
    }

    pub(super) fn stats(&self, now: Time) -> ResourceStats {
        let later = self.coming.promises.iter().filter(|promise| promise.start > now.as_ps());
        let items = self.items - later.count() as u64;
        ResourceStats {
            busy: self.per_item * items,
            raw_bytes: 0,
            packets: items,
            transfers: items,
            queue_max: self.queue_max,
        }
    }

    /// Takes the next slot for a transfer that comes at `arrival` and answers when its service ends.
    #[inline]
    pub(super) fn admit(&mut self, now: Time, arrival: Time) -> Time {
        let start = self.next_free().max(arrival);
        while self.starts.front().is_some_and(|&began| began <= now) {
            self.starts.pop_front();
        }
        if start > arrival {
            self.starts.push_back(start);
            let waiting = self.starts.iter().rev().take_while(|&&start| start > arrival).count();
            self.queue_max = self.queue_max.max(u32::try_from(waiting).unwrap_or(u32::MAX));
        }
        let end = start + self.per_item;
        self.ends[self.oldest] = end;
        self.oldest = if self.oldest + 1 == self.ends.len() { 0 } else { self.oldest + 1 };
        self.items += 1;
        end
    }

    /// Nothing begins before `until`.
    pub(super) fn hold(&mut self, until: Time) {
        for end in &mut self.ends {
            *end = (*end).max(until);
        }
        // Their ends are settled: who comes in this instant waits behind them.
        self.batch.clear();
    }

    /// When the server is free that serves next.
    #[inline]
    pub(super) fn next_free(&self) -> Time {
        self.ends[self.oldest]
    }

    /// Takes back the service that was admitted last, a promise.
    pub(super) fn take_back_last(&mut self, promise: &Promise) {
        self.oldest = self.oldest.checked_sub(1).unwrap_or(self.ends.len() - 1);
        self.ends[self.oldest] = Time::from_ps(promise.end);
        self.items -= 1;
        self.queue_max = promise.queue_max;
        if promise.end > promise.start {
            self.starts.pop_back();
        }
    }

    /// Promises the service of a packet that comes at `next.start`, and answers when it ends: with one
    /// time for all, the end is known although the packet may wait.
    #[inline]
    pub(super) fn promise(&mut self, now: u64, next: &mut Promise) -> Option<u64> {
        if self.coming.packets > 0 || self.per_item == TimeDelta::ZERO {
            return None;
        }
        if self.coming.promises.is_full() {
            while self.coming.promises.take_before(now).is_some() {}
        }
        if self.coming.promises.back().is_some_and(|last| last.start >= next.start) {
            return None;
        }
        next.end = self.next_free().as_ps();
        next.queue_max = self.queue_max;
        let end = self.admit(Time::from_ps(now), Time::from_ps(next.start));
        self.coming.promises.push(*next);
        Some(end.as_ps())
    }

    /// Puts a transfer that was admitted until `end` among those of this instant, in the order of
    /// connections. Answers its place: those from there on end at another time than before.
    pub(super) fn insert(&mut self, now: Time, id: u32, end: Time, flights: &Flights) -> usize {
        if self.batch_at != now {
            self.batch_at = now;
            self.batch.clear();
        }
        let Flight { hop, tail, .. } = flights[id];
        self.batch.push(Served { flight: id, hop, tail, end });
        let mut at = self.batch.len() - 1;
        while at > 0 && flights[id].precedes(&flights[self.batch[at - 1].flight]) {
            let before = self.batch[at - 1];
            self.batch[at] = Served { end: self.batch[at].end, ..before };
            self.batch[at - 1] = Served { flight: id, hop, tail, end: before.end };
            at -= 1;
        }
        at
    }

    /// The transfer at a place among those of this instant.
    #[inline]
    pub(super) fn served(&self, place: usize) -> Option<Served> {
        self.batch.get(place).copied()
    }
}
