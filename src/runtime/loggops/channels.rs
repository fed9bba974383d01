//! Matching without a search: every (receiver, source, tag) is a channel, known before the replay.
//!
//! A channel is a list of receives that wait for a message, or of messages that wait for a receive,
//! first in first out; the two never wait at once. The lists lead through the operations
//! themselves: a message is the operation that sent it.
//!
//! Ranks that receive with wildcards have channels for (source, any), (any, tag) and (any, any) as
//! well: see [`Wild`].

use super::schedule::{Kind, Schedule};
use super::wild::Wild;

/// No operation, no channel.
pub(super) const NONE: u32 = u32::MAX;
/// Bit of a message in a channel, which a receive does not have.
/// Encoding: operations have numbers of 30 bits.
const MESSAGE: u32 = 1 << 31;

/// State of an operation during a replay.
#[derive(Clone, Copy, Debug)]
pub(super) struct Live {
    /// Where it is matched.
    pub(super) channel: u32,
    /// The next one of the list that it is in.
    pub(super) next: u32,
    /// Dependencies that hold it; or how far it is: [`STARTED`], [`DONE`].
    pub(super) needs: u32,
    /// Its stamp; once it was sent, that of its message.
    pub(super) stamp: u32,
}

/// It has started.
pub(super) const STARTED: u32 = u32::MAX - 1;
/// It is over.
pub(super) const DONE: u32 = u32::MAX;

/// A list of operations, linked through [`Live::next`].
#[derive(Clone, Copy, Debug)]
pub(super) struct List {
    head: u32,
    tail: u32,
}

impl List {
    pub(super) const EMPTY: Self = Self { head: NONE, tail: NONE };

    /// The first, and whether there is one.
    #[inline]
    pub(super) fn first(self) -> Option<u32> {
        (self.head != NONE).then_some(self.head)
    }

    /// The last.
    #[inline]
    pub(super) fn last(self) -> Option<u32> {
        self.first().map(|_| self.tail)
    }

    /// Adds `op`; `mark` is a bit that it carries in the list.
    #[inline]
    pub(super) fn push(&mut self, live: &mut [Live], op: u32, mark: u32) {
        live[op as usize].next = NONE;
        if self.head == NONE {
            self.head = op | mark;
        } else {
            live[self.tail as usize].next = op | mark;
        }
        self.tail = op;
    }

    /// Takes the first, which carries no bit.
    #[inline]
    pub(super) fn pop(&mut self, live: &[Live]) -> Option<u32> {
        let op = self.first()? & !MESSAGE;
        self.head = live[op as usize].next;
        Some(op)
    }
}

/// All channels of a schedule.
#[derive(Debug)]
pub(super) struct Channels {
    lists: Vec<List>,
    wild: Option<Box<Wild>>,
}

impl Channels {
    /// The channels of `schedule`, all empty; each operation gets its own.
    pub(super) fn new(schedule: &Schedule, live: &mut [Live]) -> Self {
        let mut keys = keys(schedule);
        keys.sort_unstable();
        let mut channels: Vec<u128> = Vec::new();
        for key in keys {
            let channel = key >> 32;
            if channels.last() != Some(&channel) {
                channels.push(channel);
            }
            let op = u32::try_from(key & u128::from(u32::MAX)).expect("the lowest 32 bits");
            let number = u32::try_from(channels.len() - 1).expect("at most one an operation");
            live[op as usize].channel = number;
        }
        let wild = Wild::new(schedule, &channels);
        Self { lists: vec![List::EMPTY; channels.len()], wild }
    }

    /// Receive `op` begins: the message that waits for it, else it waits.
    #[inline]
    pub(super) fn receive(&mut self, live: &mut [Live], op: u32) -> Option<u32> {
        let channel = live[op as usize].channel;
        let list = &mut self.lists[channel as usize];
        if let Some(wild) = &mut self.wild
            && wild.has(channel)
        {
            let message = wild.take(channel);
            if message.is_none() {
                wild.post(op);
                list.push(live, op, 0);
            }
            return message;
        }
        if list.first().is_some_and(|head| head & MESSAGE != 0) {
            return list.pop(live);
        }
        list.push(live, op, 0);
        None
    }

    /// The message of `op` arrives: the receive that waits for it, else it waits.
    #[inline]
    pub(super) fn arrive(&mut self, live: &mut [Live], op: u32) -> Option<u32> {
        let channel = live[op as usize].channel;
        if let Some(wild) = &mut self.wild
            && wild.has(channel)
        {
            let posted = |channel: u32| self.lists[channel as usize].first();
            let Some(channel) = wild.earliest(channel, posted) else {
                wild.keep(channel, op);
                return None;
            };
            return self.lists[channel as usize].pop(live);
        }
        let list = &mut self.lists[channel as usize];
        if list.first().is_some_and(|head| head & MESSAGE == 0) {
            return list.pop(live);
        }
        list.push(live, op, MESSAGE);
        None
    }
}

/// The channel of each message and receive as (receiver, source, tag, operation) in one word.
fn keys(schedule: &Schedule) -> Vec<u128> {
    let ops = (0_u32..).zip(schedule.ops());
    let keys = ops.filter_map(|(number, op)| {
        let (receiver, source) = match op.kind {
            Kind::Compute => return None,
            Kind::Send => (op.peer, op.rank),
            Kind::Receive => (op.rank, op.peer),
        };
        Some(key(receiver, source, op.tag) << 32 | u128::from(number))
    });
    keys.collect()
}

/// A channel in one word.
pub(super) fn key(receiver: u32, source: u32, tag: u32) -> u128 {
    u128::from(receiver) << 64 | u128::from(source) << 32 | u128::from(tag)
}
