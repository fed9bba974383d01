//! Queue pairs with a pace: messages that wait for the window, and acknowledgements under way.
//!
//! Only jobs with a pace have this. The adapter takes messages of a queue pair in order, so that a
//! message behind one that waits also waits. Every message is acknowledged, as its queue pair does,
//! whether or not the process requested a completion.
//!
//! Left out: the failure of a queue pair whose receiver has died. Its window stays full; noticeable as
//! processes that wait for a completion at the end of such a run.

use std::collections::{BTreeMap, VecDeque};

use hardware::pace::Controller;
use units::{Time, TimeDelta};

/// All queue pairs that have sent, by channel.
#[derive(Debug)]
pub(super) struct Paced {
    make: fn() -> Box<dyn Controller>,
    channels: BTreeMap<u32, Lane>,
}

/// One direction of a queue pair.
#[derive(Debug)]
struct Lane {
    controller: Box<dyn Controller>,
    /// Bytes of messages that have started and are not acknowledged.
    under_way: u64,
    /// Flights that wait for the window, with their bytes.
    waiting: VecDeque<(u32, u64)>,
    /// Bytes of the messages whose acknowledgement is on its way, oldest first.
    acknowledgements: VecDeque<u64>,
}

impl Paced {
    pub(super) const fn new(make: fn() -> Box<dyn Controller>) -> Self {
        Self { make, channels: BTreeMap::new() }
    }

    fn lane(&mut self, channel: u32) -> &mut Lane {
        self.channels.entry(channel).or_insert_with(|| Lane {
            controller: (self.make)(),
            under_way: 0,
            waiting: VecDeque::new(),
            acknowledgements: VecDeque::new(),
        })
    }

    /// A message would begin; answers whether the window lets it, else it waits.
    pub(super) fn admit(&mut self, channel: u32, flight: u32, bytes: u64) -> bool {
        let lane = self.lane(channel);
        let begins = lane.waiting.is_empty() && lane.has_room(bytes);
        if begins {
            lane.under_way += bytes;
        } else {
            lane.waiting.push_back((flight, bytes));
        }
        begins
    }

    /// Time from the beginning of a message to that of the next one, at least.
    pub(super) fn spacing(&mut self, channel: u32, bytes: u64) -> TimeDelta {
        let rate = self.lane(channel).controller.rate();
        rate.map_or(TimeDelta::ZERO, |rate| rate.transfer_time(units::Bytes::new(bytes)))
    }

    /// A message leaves the adapter.
    pub(super) fn sent(&mut self, channel: u32, now: Time, bytes: u64) {
        self.lane(channel).controller.sent(now, bytes);
    }

    /// A message has arrived, and its acknowledgement leaves.
    pub(super) fn arrived(&mut self, channel: u32, bytes: u64) {
        self.lane(channel).acknowledgements.push_back(bytes);
    }

    /// The oldest acknowledgement is at the adapter.
    pub(super) fn acknowledged(&mut self, channel: u32, now: Time) {
        let lane = self.lane(channel);
        let bytes = lane.acknowledgements.pop_front().expect("one is under way");
        lane.under_way -= bytes;
        lane.controller.acknowledged(now, bytes);
    }

    /// The next message that waits, if the window lets it begin now.
    pub(super) fn next(&mut self, channel: u32) -> Option<u32> {
        let lane = self.lane(channel);
        let &(flight, bytes) = lane.waiting.front()?;
        if !lane.has_room(bytes) {
            return None;
        }
        lane.waiting.pop_front();
        lane.under_way += bytes;
        Some(flight)
    }
}

impl Lane {
    /// Whether a message may begin; a message larger than the window goes alone.
    fn has_room(&self, bytes: u64) -> bool {
        let window = self.controller.window();
        self.under_way == 0 || window.is_none_or(|window| self.under_way + bytes <= window)
    }
}
