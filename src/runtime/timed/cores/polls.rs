//! Polling without events: where a thread is in its pass, and when it meets an arrival.
//!
//! ```text
//!   channels   0   1   2   3   0   1   2   3   …      each poll takes `cost`
//!              │ parked at 0          ▲
//!              └──────────────────────┴ arrival on 2 at this moment: found by the next poll of 2
//! ```
//!
//! A thread inside a call with no work left goes round its process's channels for ever. The end of the
//! first poll that meets an entry is computed, instead of an event for each poll.

use crate::timed::ports::{Polled, Port};
use protocols::contract::Token;
use units::{Time, TimeDelta};

/// Polls of a thread: what it polls, from where on, and what it will meet.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// The pass that a test requested, or that ends with the lock; without one it polls for ever.
    pass: Option<Pass>,
    position: Position,
    /// The channels that it polls.
    polled: Polled,
    /// Whether its next pass is one over all lanes.
    sweeps: bool,
    /// The channel that the next notice is about; `None` when the pass ends with it.
    target: Option<u32>,
    notice_at: Option<Time>,
    generation: u32,
}

/// Polls that come to an end.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Pass {
    /// Token of the end of a test's pass; a slice under the lock has none.
    token: Option<Token>,
    /// Polls that are left from the thread's position on.
    left: u32,
}

/// Where a thread is in its pass.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// The channel that is polled next.
    channel: u32,
    /// When its poll begins.
    since: Time,
}

/// Result of a notice.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Met {
    /// The channel holds an entry.
    Channel(u32),
    /// The pass of a test is over.
    EndOfPass(Token),
}

impl Polls {
    /// The channels of its present call.
    #[inline]
    pub(crate) fn look(&mut self, polled: Polled) {
        self.polled = polled;
        if !polled.contains(self.position.channel) {
            self.position.channel = polled.first;
        }
    }

    /// The channels that it polls.
    pub(crate) const fn polled(&self) -> Polled {
        self.polled
    }

    /// Its next pass is one over all lanes.
    pub(crate) const fn sweep(&mut self) {
        self.sweeps = true;
    }

    /// Whether its next pass is one over all lanes.
    pub(crate) const fn will_sweep(&self) -> bool {
        self.sweeps
    }

    /// Its pass over all lanes begins, if it is to make one.
    pub(crate) fn take_sweep(&mut self) -> bool {
        std::mem::take(&mut self.sweeps)
    }

    /// A test asks for one pass over the channels.
    pub(crate) const fn begin_test(&mut self, token: Token) {
        self.pass = Some(Pass { token: Some(token), left: self.polled.len });
    }

    /// A slice under a lock begins: one pass, unless it is part of a test's.
    pub(crate) fn begin_slice(&mut self) {
        self.pass.get_or_insert(Pass { token: None, left: self.polled.len });
    }

    /// A slice under a lock has found nothing: how long it took until `at`.
    pub(crate) fn end_slice(&mut self, at: Time) -> TimeDelta {
        (self.pass, self.notice_at) = (None, None);
        at.since(self.position.since)
    }

    /// Only the pass of a test goes on when a list is over.
    #[inline]
    pub(crate) fn end_list(&mut self) {
        if !self.is_test() {
            self.pass = None;
        }
    }

    /// Whether it makes the pass that a test requested.
    #[inline]
    pub(crate) fn is_test(&self) -> bool {
        self.pass.is_some_and(|pass| pass.token.is_some())
    }

    /// Whether its polls come to an end.
    #[inline]
    pub(crate) const fn is_pass(&self) -> bool {
        self.pass.is_some()
    }

    /// It polls from `at` on: when it meets something or ends; `None` while it is parked until
    /// something arrives, or another thread ends the call.
    pub(crate) fn begin(&mut self, at: Time, port: &Port) -> Option<Time> {
        self.position.since = at;
        self.notice_at = None;
        let polled = self.polled;
        let polls = match (port.next_ready(polled, self.position.channel), self.pass) {
            (Some(distance), pass) if pass.is_none_or(|pass| distance < pass.left) => {
                self.target = Some(polled.after(self.position.channel, distance));
                distance + 1
            }
            (_, Some(pass)) => {
                self.target = None;
                pass.left
            }
            (_, None) => return None,
        };
        Some(at + polled.cost * u64::from(polls))
    }

    /// It will meet something, or end, at `at`: the generation of the event, or `None` where the end of
    /// a slice that finds nothing is a step of its lock.
    pub(crate) fn plan(&mut self, at: Time) -> Option<u32> {
        self.notice_at = Some(at);
        if self.target.is_none() && self.pass.is_some_and(|pass| pass.token.is_none()) {
            return None;
        }
        self.generation += 1;
        Some(self.generation)
    }

    /// Cancels the planned notice: its thread does something else.
    pub(crate) const fn stop(&mut self) {
        self.generation += 1;
        self.notice_at = None;
    }

    /// Whether a notice is the one that was planned last.
    #[inline]
    pub(crate) const fn is_of(&self, generation: u32) -> bool {
        self.generation == generation
    }

    /// Since when it polls.
    #[inline]
    pub(crate) const fn since(&self) -> Time {
        self.position.since
    }

    /// The channel that it will poll next.
    pub(crate) const fn channel(&self) -> u32 {
        self.position.channel
    }

    /// The channel that its notice is about.
    #[inline]
    pub(crate) const fn target(&self) -> Option<u32> {
        self.target
    }

    /// How long it polled until `now`: before its last pass, for nothing, and in that.
    #[inline]
    pub(crate) fn spent(&self, now: Time) -> (TimeDelta, TimeDelta) {
        let spent = now.since(self.position.since);
        let last = spent.min(self.polled.cost * u64::from(self.polled.len));
        (spent - last, last)
    }

    /// Result of its notice; polling goes on behind that.
    #[inline]
    pub(crate) fn meet(&mut self) -> Met {
        self.notice_at = None;
        let polled = self.polled;
        let Some(channel) = self.target else {
            let pass = self.pass.take().expect("polls end only where they are a pass");
            let token = pass.token.expect("a slice that finds nothing is a step of its lock");
            return Met::EndOfPass(token);
        };
        if let Some(pass) = &mut self.pass {
            pass.left -= polled.distance(self.position.channel, channel) + 1;
        }
        self.position.channel = polled.after(channel, 1);
        Met::Channel(channel)
    }

    /// Something reaches a channel at `now`: when a poll finds it, if that is earlier than what was planned.
    pub(crate) fn arrives(&mut self, channel: u32, now: Time) -> Option<Time> {
        let polled = self.polled;
        if !polled.contains(channel) {
            return None;
        }
        let Position { channel: from, since } = self.position;
        let at = polled.meets((from, since), channel, now);
        let ahead = |to: u32| polled.distance(from, to);
        let missed = self.pass.is_some_and(|pass| {
            at > since + polled.cost * u64::from(pass.left) || ahead(channel) >= pass.left
        });
        if missed {
            return None;
        }
        match self.notice_at {
            Some(planned) if planned < at => None,
            // Polls that cost nothing meet everything at once: the next channel comes first.
            Some(planned) if planned == at && self.target.is_some() => {
                if self.target.is_some_and(|target| ahead(channel) < ahead(target)) {
                    self.target = Some(channel);
                }
                None
            }
            Some(_) | None => {
                self.target = Some(channel);
                Some(at)
            }
        }
    }

    /// All its moments come so much later.
    pub(crate) fn shift(&mut self, by: TimeDelta) {
        self.position.since += by;
        self.notice_at = self.notice_at.map(|at| at + by);
    }

    /// Reads where a pass begins: see `Timed::prefetch`.
    pub(crate) fn prefetch(&self) -> u64 {
        u64::from(self.position.channel ^ self.polled.len ^ self.generation)
    }
}
