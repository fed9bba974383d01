//! The simulation: the clock, the queue, and the record of events.

use crate::causes::Keep;
use crate::digest::{Digest, OrderedDigest};
use crate::journal::{Journal, JournalMode, Record};
use crate::queue::{EventQueue, Popped};
use crate::source::SourceId;
use crate::tag::Tag;
use units::{Bytes, Time, TimeDelta};

/// An event at a point in time: a small value; large content lies in arenas that it points to.
pub trait Event: Copy {
    /// Kind and content as one number, equal on every machine ([`crate::mix`] helps):
    /// events that differ in anything that matters have different fingerprints.
    fn fingerprint(&self) -> u64;
}

/// An event whose time has come.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Fired<E> {
    /// Its place in the run, from 1.
    pub number: u64,
    /// When: the clock shows this time now.
    pub time: Time,
    /// Depth of zero-delay causes at that time.
    pub round: u32,
    /// Source that scheduled it.
    pub source: SourceId,
    /// The number of the event during whose handling it was scheduled; 0 before the first.
    pub cause: u64,
    /// The resource and phase that it is charged to.
    pub tag: Tag,
    /// The event.
    pub event: E,
}

/// When a run is stopped although events are pending.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Most events that may fire.
    pub events: u64,
    /// Latest time at which an event may fire.
    pub time: Time,
    /// Most bytes that a run may hold, as its runtime counts them: the simulation itself only stops
    /// where that is looked at ([`Simulation::pause_at`]).
    pub memory: Bytes,
}

impl Default for Limits {
    /// No limit.
    fn default() -> Self {
        Self { events: u64::MAX, time: Time::MAX, memory: Bytes::new(u64::MAX) }
    }
}

/// A limit that ended a run; the event that would have crossed it is still pending.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum LimitReached {
    /// As many events fired as were allowed.
    #[error("the limit of {limit} events was reached at {now}; {pending} more are pending")]
    Events {
        /// The limit.
        limit: u64,
        /// When the last event fired.
        now: Time,
        /// How many events are pending.
        pending: usize,
    },
    /// The next event lies after the latest time allowed.
    #[error(
        "the limit of {limit} of simulated time was reached after {events} events; the next one is \
         due at {next}"
    )]
    Time {
        /// The limit.
        limit: Time,
        /// When the next event would have fired.
        next: Time,
        /// When the last event fired.
        now: Time,
        /// How many events fired.
        events: u64,
    },
    /// The run holds more than it may.
    #[error(
        "the limit of {limit} of memory was reached {}: the run holds {held}, most of it {largest} \
         ({part}); raise `limits.memory`, or {remedy}", after(*events)
    )]
    Memory {
        /// The limit.
        limit: Bytes,
        /// Bytes that the run holds.
        held: Bytes,
        /// The largest kind of it.
        largest: &'static str,
        /// How much that is.
        part: Bytes,
        /// How many events fired; 0: the stop came before the run began.
        events: u64,
        /// How a run holds less of that.
        remedy: &'static str,
    },
}

/// When it was seen, in words.
fn after(events: u64) -> String {
    match events {
        0 => "before the first event".to_owned(),
        1 => "after 1 event".to_owned(),
        _ => format!("after {events} events"),
    }
}

/// How a simulation is watched and bounded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Options {
    /// When to stop although events are pending.
    pub limits: Limits,
    /// Which events to keep; none by default.
    pub journal: Option<JournalMode>,
    /// A seed that ranks the sources of simultaneous events; by their number by default. Digests
    /// of different seeds differ, figures must agree.
    pub tie_seed: Option<u64>,
    /// Whether the runtime keeps the causes of what it does ([`super::causes`]); the simulation itself
    /// does the same in both cases.
    pub causes: Keep,
    /// Leave the digest out. For the baseline of benchmarks only.
    pub without_digest: bool,
}

/// An event as it waits: cause and phase share a word, so that 16 bytes of event make an entry of
/// 48 bytes.
#[derive(Clone, Copy, Debug)]
struct Pending<E> {
    /// `cause << 8 | phase`: 2^56 events are more than a machine fires in its life.
    cause_and_phase: u64,
    resource: u32,
    event: E,
}

impl<E: Copy> Pending<E> {
    fn cause(&self) -> u64 {
        self.cause_and_phase >> 8
    }

    fn tag(&self) -> Tag {
        let [phase, ..] = self.cause_and_phase.to_le_bytes();
        Tag { resource: self.resource, phase }
    }
}

/// A clock, the pending events, and the record of those that fired.
#[derive(Clone, Debug)]
pub struct Simulation<E> {
    queue: EventQueue<Pending<E>>,
    events: u64,
    /// Events that may fire before the next check, at most as many as the limit.
    pause: u64,
    limits: Limits,
    digest: Option<OrderedDigest>,
    journal: Option<Box<Journal>>,
}

impl<E: Event> Simulation<E> {
    /// A simulation at time zero with nothing scheduled.
    pub fn new(options: Options) -> Self {
        let queue = options.tie_seed.map_or_else(EventQueue::new, EventQueue::with_shuffled_ties);
        Self {
            queue,
            events: 0,
            pause: options.limits.events,
            limits: options.limits,
            digest: (!options.without_digest).then(OrderedDigest::new),
            journal: options.journal.map(|mode| Box::new(Journal::new(mode))),
        }
    }

    /// Lets `event` happen at `at`, accounted to `tag`; its cause is the event being handled. At
    /// the present time it joins the next round.
    ///
    /// # Panics
    ///
    /// When `at` lies in the past: every delay is a length of time, so this is our own defect.
    #[inline]
    pub fn schedule(&mut self, at: Time, source: SourceId, tag: Tag, event: E) {
        let cause_and_phase = (self.events << 8) | u64::from(tag.phase);
        self.queue.push(at, source, Pending { cause_and_phase, resource: tag.resource, event });
    }

    /// Lets `event` happen after `delay`, as [`Simulation::schedule`] does.
    #[inline]
    pub fn schedule_in(&mut self, delay: TimeDelta, source: SourceId, tag: Tag, event: E) {
        self.schedule(self.now() + delay, source, tag, event);
    }

    /// Fires the next event: the clock moves to it, digest and journal take note. `None` when
    /// nothing is pending.
    ///
    /// # Errors
    ///
    /// [`LimitReached`] when the next event would cross a limit; it stays pending.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass what fired through memory")]
    #[expect(clippy::should_implement_trait, reason = "the caller schedules between two events")]
    pub fn next(&mut self) -> Result<Option<Fired<E>>, LimitReached> {
        let Some(popped) = self.fire() else {
            return self.limit_reached().map_or(Ok(None), Err);
        };
        Ok(Some(self.fired(popped)))
    }

    /// Fires the next event as [`Simulation::next`] does and answers only what happens: the clock
    /// tells when. `None` when nothing is pending or a limit was reached
    /// ([`Simulation::limit_reached`] tells which).
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass what fired through memory")]
    pub fn next_event(&mut self) -> Option<E> {
        self.fire().map(|popped| popped.event.event)
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call would pass what fired through memory")]
    fn fire(&mut self) -> Option<Popped<Pending<E>>> {
        if self.events == self.pause {
            return None;
        }
        let popped = self.queue.pop_until(self.limits.time)?;
        self.events += 1;
        if let Some(digest) = &mut self.digest {
            let Popped { time, round, source, event } = &popped;
            digest.record(*time, *round, *source, event.event.fingerprint());
        }
        if self.journal.is_some() {
            self.note(popped);
        }
        Some(popped)
    }

    #[inline]
    fn fired(&self, popped: Popped<Pending<E>>) -> Fired<E> {
        let Popped { time, round, source, event: pending } = popped;
        let (cause, tag, event) = (pending.cause(), pending.tag(), pending.event);
        Fired { number: self.events, time, round, source, cause, tag, event }
    }

    /// The limits of this run.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Fires no more than so many events in all, until the next call. Asking for it costs
    /// nothing: it is the number that is compared for the limit.
    pub fn pause_at(&mut self, events: u64) {
        self.pause = events.max(self.events).min(self.limits.events);
    }

    /// Whether the next event waits for another [`Simulation::pause_at`], and not for a limit.
    pub fn pauses(&self) -> bool {
        self.events == self.pause && self.events < self.limits.events
    }

    /// Simulated time: that of the last event fired.
    pub fn now(&self) -> Time {
        self.queue.now()
    }

    /// How many events fired; while one is handled, its number.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// How many events are pending.
    pub fn pending(&self) -> usize {
        self.queue.len()
    }

    /// When the next event is due.
    pub fn next_time(&self) -> Option<Time> {
        self.queue.peek_time()
    }

    /// The digest of all events fired so far.
    ///
    /// # Panics
    ///
    /// When it was left out by [`Options::without_digest`].
    pub fn digest(&self) -> Digest {
        self.recorded().digest()
    }

    /// The digest after each whole [`super::digest::EVENTS_PER_CHECKPOINT`] events: two runs are
    /// bisected by them.
    ///
    /// # Panics
    ///
    /// When the digest was left out by [`Options::without_digest`].
    pub fn checkpoints(&self) -> &[Digest] {
        self.recorded().checkpoints()
    }

    /// The journal, where one was requested.
    pub fn journal(&self) -> Option<&Journal> {
        self.journal.as_deref()
    }

    fn recorded(&self) -> &OrderedDigest {
        self.digest.as_ref().expect("only benchmarks leave the digest out, and they do not ask it")
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, popped: Popped<Pending<E>>) {
        let Fired { number, time, round, source, cause, tag, event } = self.fired(popped);
        let fingerprint = event.fingerprint();
        if let Some(journal) = &mut self.journal {
            journal.record(Record { number, time, round, source, cause, tag, fingerprint });
        }
    }

    /// The limit that keeps the next event from firing; `None` where there is none, or nothing is
    /// pending.
    #[cold]
    #[inline(never)]
    pub fn limit_reached(&self) -> Option<LimitReached> {
        let next = self.next_time()?;
        let (now, events, pending) = (self.now(), self.events, self.pending());
        let Limits { events: limit, time, .. } = self.limits;
        if events == limit {
            Some(LimitReached::Events { limit, now, pending })
        } else {
            (next > time).then_some(LimitReached::Time { limit: time, next, now, events })
        }
    }
}

#[cfg(test)]
mod tests;
