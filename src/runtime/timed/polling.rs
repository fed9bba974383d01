//! Polling without events: when does a pass that never stops meet an arrival?
//!
//! ```text
//!   channels   0   1   2   3   0   1   2   3   …      each poll takes `cost`
//!              │ parked at 0          ▲
//!              └──────────────────────┴ arrival on 2 at this moment: met by the next poll of 2
//! ```
//!
//! A thread inside a call with no work left goes round its process's channels for ever. Instead of
//! an event for each poll, [`Poller`] keeps which channels hold something and computes the end of
//! the first poll that meets one.
//!
//! Left out: an arrival on a channel that the pass of a test has already planned to skip is met by
//! the next pass. Noticeable as one pass of delay.

use std::collections::VecDeque;

use super::{Arrived, Connections};
use crate::hardware::core::Place;
use crate::hardware::profile::Profile;
use crate::units::{Time, TimeDelta};

/// The channels of one process.
#[derive(Debug)]
pub(super) struct Poller<P> {
    queues: Vec<VecDeque<Arrived<P>>>,
    /// One bit for each channel that holds something.
    ready: Vec<u64>,
    /// Which channel an arrival of each process joins.
    from_process: Vec<u32>,
    /// Core time of one poll.
    pub(super) cost: TimeDelta,
    /// The longest queue of one channel.
    pub(super) longest: usize,
}

/// Where a thread is in its pass.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Position {
    /// The channel that is polled next.
    pub(super) channel: u32,
    /// When its poll begins.
    pub(super) since: Time,
}

/// The completion queue is polled like a channel.
const COMPLETIONS: u32 = 0;

impl<P> Poller<P> {
    /// The poller of `process`; `homes` are the places of all processes.
    pub(super) fn new(
        process: usize,
        homes: &[Place],
        connections: Connections,
        profile: &Profile,
    ) -> Self {
        let mut channels = 1;
        let mut shared = None;
        let from_process = (0..homes.len())
            .map(|peer| {
                let near = homes[peer].node == homes[process].node;
                if connections == Connections::SharedReceiveQueue && !near {
                    return *shared.get_or_insert_with(|| open(&mut channels));
                }
                open(&mut channels)
            })
            .collect();
        let cost = super::Costs::new(profile.clone()).poll(channels);
        Self {
            queues: (0..channels).map(|_| VecDeque::new()).collect(),
            ready: vec![0; (channels as usize).div_ceil(64)],
            from_process,
            cost,
            longest: 0,
        }
    }

    pub(super) fn channels(&self) -> u32 {
        u32::try_from(self.queues.len()).expect("channels are counted in u32")
    }

    /// Entries that nobody has taken.
    pub(super) fn waiting(&self) -> u64 {
        self.queues.iter().map(|queue| queue.len() as u64).sum()
    }

    /// An arrival; answers its channel.
    pub(super) fn push(&mut self, arrived: Arrived<P>) -> u32 {
        let channel = match &arrived {
            Arrived::Packet { from, .. } => self.from_process[from.0 as usize],
            Arrived::Done(_) | Arrived::SendDone => COMPLETIONS,
        };
        let queue = &mut self.queues[channel as usize];
        queue.push_back(arrived);
        self.longest = self.longest.max(queue.len());
        self.ready[channel as usize / 64] |= 1 << (channel % 64);
        channel
    }

    /// Takes the head of a channel; its newest entry where that defect is planted.
    pub(super) fn take(&mut self, channel: u32, newest: bool) -> Option<Arrived<P>> {
        let queue = &mut self.queues[channel as usize];
        let head = if newest { queue.pop_back() } else { queue.pop_front() };
        if queue.is_empty() {
            self.ready[channel as usize / 64] &= !(1 << (channel % 64));
        }
        head
    }

    /// The first channel at or after `from`, going round once, that holds something: its distance.
    pub(super) fn next_ready(&self, from: u32) -> Option<u32> {
        let channels = self.channels();
        let start = from as usize / 64;
        let words = self.ready.len();
        for step in 0..=words {
            let index = (start + step) % words;
            let mut word = self.ready[index];
            if step == 0 {
                word &= u64::MAX << (from % 64);
            } else if step == words {
                word &= !(u64::MAX << (from % 64));
            }
            if word != 0 {
                let found = u32::try_from(index * 64).expect("below u32") + word.trailing_zeros();
                return Some((found + channels - from) % channels);
            }
        }
        None
    }

    /// The channel `distance` polls after `from`.
    pub(super) fn after(&self, from: u32, distance: u32) -> u32 {
        (from + distance) % self.channels()
    }

    /// When a thread that polls from `position` on meets something that reached `channel` at `now`.
    pub(super) fn meets(&self, position: Position, channel: u32, now: Time) -> Time {
        if self.cost == TimeDelta::ZERO {
            // It may begin to poll later than now only.
            return now.max(position.since);
        }
        // Polls that began before the arrival did not see it.
        let waited = now.as_ps().saturating_sub(position.since.as_ps());
        let begun = waited.div_ceil(self.cost.as_ps());
        let channels = u64::from(self.channels());
        let current = (u64::from(position.channel) + begun) % channels;
        let distance = (u64::from(channel) + channels - current) % channels;
        position.since + self.cost * (begun + distance + 1)
    }
}

fn open(channels: &mut u32) -> u32 {
    let channel = *channels;
    *channels += 1;
    channel
}
