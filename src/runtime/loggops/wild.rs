//! Matching at ranks that receive from any source or with any tag.
//!
//! A message may be requested by receives of four channels: (source, tag), (source, any),
//! (any, tag) and (any, any). Which of the receives that wait there was posted first is known by a
//! number. A message that waits is entered in all of them that exist; where it is found again after
//! it was taken by another, it is skipped. So each costs a few steps, however long the lists are,
//! and the outcome is that of one list searched in order.

use super::channels::{NONE, key};
use super::schedule::{ANY, Kind, Schedule};

/// An entry of a channel, for a message.
#[derive(Clone, Copy, Debug)]
struct Entry {
    message: u32,
    next: u32,
}

/// The messages that wait in one channel.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    head: u32,
    tail: u32,
}

/// State that ranks with wildcards need beside the lists of receives.
#[derive(Debug)]
pub(super) struct Wild {
    /// Per channel: itself and those with wildcards that its messages may be requested by; none
    /// where its rank has no wildcards.
    asked_by: Vec<[u32; 4]>,
    /// Per channel.
    waiting: Vec<Waiting>,
    entries: Vec<Entry>,
    /// The first unused entry.
    free: u32,
    /// Per operation: the number of the receive among those posted.
    posted: Vec<u32>,
    posts: u32,
    /// Per operation: whether its message was received.
    taken: Vec<bool>,
}

impl Wild {
    /// Nothing where no receive has a wildcard; `channels` is sorted.
    pub(super) fn new(schedule: &Schedule, channels: &[u128]) -> Option<Box<Self>> {
        let mut ranks: Vec<u32> = schedule
            .ops()
            .iter()
            .filter(|op| op.kind == Kind::Receive && (op.peer == ANY || op.tag == ANY))
            .map(|op| op.rank)
            .collect();
        ranks.dedup();
        if ranks.is_empty() {
            return None;
        }
        let part = |channel: u128, shift: u32| {
            u32::try_from((channel >> shift) & u128::from(u32::MAX)).expect("32 bits of it")
        };
        let number = |wanted: u128| {
            let found = channels.binary_search(&wanted).ok();
            found.map_or(NONE, |at| u32::try_from(at).expect("channels are counted in u32"))
        };
        let asked_by = channels.iter().map(|&channel| {
            let (rank, source, tag) = (part(channel, 64), part(channel, 32), part(channel, 0));
            if ranks.binary_search(&rank).is_err() {
                return [NONE; 4];
            }
            let all = [(source, tag), (source, ANY), (ANY, tag), (ANY, ANY)];
            let mut asked_by = all.map(|(source, tag)| number(key(rank, source, tag)));
            for later in 1..4 {
                // A channel that has wildcards itself stands there twice.
                if asked_by[..later].contains(&asked_by[later]) {
                    asked_by[later] = NONE;
                }
            }
            asked_by
        });
        let ops = schedule.ops().len();
        Some(Box::new(Self {
            asked_by: asked_by.collect(),
            waiting: vec![Waiting { head: NONE, tail: NONE }; channels.len()],
            entries: Vec::new(),
            free: NONE,
            posted: vec![0; ops],
            posts: 0,
            taken: vec![false; ops],
        }))
    }

    /// Whether the rank of a channel has wildcards.
    #[inline]
    pub(super) fn has(&self, channel: u32) -> bool {
        self.asked_by[channel as usize][0] != NONE
    }

    /// Receive `op` is posted.
    pub(super) fn post(&mut self, op: u32) {
        self.posted[op as usize] = self.posts;
        self.posts += 1;
    }

    /// The channel whose first receive was posted first, among those that ask for a message of
    /// `channel`; `first` is the first receive of a channel.
    pub(super) fn earliest(&self, channel: u32, first: impl Fn(u32) -> Option<u32>) -> Option<u32> {
        let asked_by = self.asked_by[channel as usize].into_iter().filter(|one| *one != NONE);
        let posted = asked_by.filter_map(|one| Some((self.posted[first(one)? as usize], one)));
        posted.min().map(|(_, one)| one)
    }

    /// The message of `op` waits.
    pub(super) fn keep(&mut self, channel: u32, op: u32) {
        for one in self.asked_by[channel as usize] {
            if one != NONE {
                self.enter(one, op);
            }
        }
    }

    fn enter(&mut self, channel: u32, message: u32) {
        let entry = Entry { message, next: NONE };
        let at = self.free;
        let at = if let Some(old) = self.entries.get_mut(at as usize) {
            self.free = old.next;
            *old = entry;
            at
        } else {
            self.entries.push(entry);
            u32::try_from(self.entries.len() - 1).expect("four entries a message fit into u32")
        };
        let waiting = &mut self.waiting[channel as usize];
        if waiting.head == NONE {
            waiting.head = at;
        } else {
            self.entries[waiting.tail as usize].next = at;
        }
        waiting.tail = at;
    }

    /// The first message that waits for a receive of `channel`.
    pub(super) fn take(&mut self, channel: u32) -> Option<u32> {
        let waiting = &mut self.waiting[channel as usize];
        while let Some(&Entry { message, next }) = self.entries.get(waiting.head as usize) {
            let at = std::mem::replace(&mut waiting.head, next);
            self.entries[at as usize].next = std::mem::replace(&mut self.free, at);
            if !std::mem::replace(&mut self.taken[message as usize], true) {
                return Some(message);
            }
        }
        None
    }
}
