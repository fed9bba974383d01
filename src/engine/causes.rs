//! Causes: a log of moments, each with the moment that it had to wait for, and what took the time
//! between them. A walk from one moment back to the beginning is the critical path to it.
//!
//! ```text
//!   beginning ◀── posted ◀── on the wire ◀── found by a poll ◀── copied ◀── returned
//!                 core        link            core                core       the end of the walk
//! ```
//!
//! A run has more moments than events: a core that runs ahead of the clock, or a packet that crosses
//! free hops, notes each piece of its way. A moment takes 16 bytes. The log keeps the last
//! [`Causes::LIMIT`] of them and forgets the oldest: a walk says how far back it came.

use crate::engine::simulation::Tag;
use crate::units::{Time, TimeDelta};

/// What a run keeps of its causes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Keep {
    /// Nothing: it costs nothing.
    #[default]
    Nothing,
    /// The log of causes.
    Causes,
    /// The log, and every message with its times.
    Messages,
}

/// A moment in the log.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Moment(u64);

/// 16 bytes: the resource has 24 bits, and the cause is told by its distance.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: Time,
    /// How many places before it its cause stands; 0: at the beginning, or too far to tell.
    back: u32,
    /// `resource << 8 | phase`.
    tag: u32,
}

/// The log of one run.
#[derive(Clone, Debug)]
pub struct Causes {
    nodes: Vec<Node>,
    /// Moments that were forgotten.
    forgotten: u64,
    limit: usize,
}

/// A piece of the way from the beginning to a moment.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Stretch {
    /// Its end.
    pub end: Moment,
    /// The moment that it began with, which caused its end.
    pub cause: Moment,
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Time,
    /// What took the time.
    pub tag: Tag,
}

impl Default for Causes {
    fn default() -> Self {
        Self::keeping(Self::LIMIT)
    }
}

impl Causes {
    /// Moments that are kept, unless told otherwise: 256 MiB of them.
    pub const LIMIT: usize = 1 << 24;

    /// The beginning of every run: time zero.
    pub const BEGINNING: Moment = Moment(0);

    /// An empty log that keeps between half of so many moments and all of them.
    pub fn keeping(limit: usize) -> Self {
        let beginning = Node { at: Time::ZERO, back: 0, tag: 0 };
        Self { nodes: vec![beginning], forgotten: 0, limit: limit.max(2) }
    }

    /// Adds the moment `at`: everything from `cause` on was time of `tag`. Answers `cause` itself
    /// where no time has passed.
    ///
    /// # Panics
    ///
    /// When the cause lies after it, or a resource has no 24 bits: our own defect.
    #[inline]
    pub fn add(&mut self, at: Time, cause: Moment, tag: Tag) -> Moment {
        let known = self.node(cause).map(|node| node.at);
        if known == Some(at) {
            return cause;
        }
        assert!(known.is_none_or(|known| known < at), "a cause lies before what it causes");
        assert!(tag.resource < 1 << 24, "resources are counted in 24 bits");
        if self.nodes.len() >= self.limit {
            self.forget();
        }
        let own = self.forgotten + self.nodes.len() as u64;
        let back = u32::try_from(own - cause.0).unwrap_or(0);
        self.nodes.push(Node { at, back, tag: tag.resource << 8 | u32::from(tag.phase) });
        Moment(own)
    }

    /// The older half goes.
    #[cold]
    fn forget(&mut self) {
        let half = self.nodes.len() / 2;
        self.nodes.drain(..half);
        self.forgotten += half as u64;
    }

    #[inline]
    fn node(&self, moment: Moment) -> Option<&Node> {
        let place = moment.0.checked_sub(self.forgotten)?;
        self.nodes.get(usize::try_from(place).ok()?)
    }

    /// When a moment was; the time of the oldest one kept where it was forgotten.
    #[inline]
    pub fn at(&self, moment: Moment) -> Time {
        self.node(moment).unwrap_or(&self.nodes[0]).at
    }

    /// How many moments are kept.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.forgotten == 0 && self.nodes.len() == 1
    }

    /// How many moments were forgotten.
    pub const fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn stretch(&self, end: Moment) -> Option<Stretch> {
        let node = self.node(end).filter(|node| node.back > 0)?;
        let cause = Moment(end.0 - u64::from(node.back));
        let from = self.node(cause)?.at;
        let [phase, ..] = node.tag.to_le_bytes();
        let tag = Tag { resource: node.tag >> 8, phase };
        Some(Stretch { end, cause, from, to: node.at, tag })
    }

    /// The way to a moment, from its end back: each stretch begins where the next one ends. It ends
    /// at the beginning, or with the first moment whose cause was forgotten.
    pub fn way(&self, end: Moment) -> impl Iterator<Item = Stretch> + '_ {
        std::iter::successors(self.stretch(end), |stretch| self.stretch(stretch.cause))
    }

    /// Every stretch that is kept, in the order in which it was noted.
    pub fn all(&self) -> impl Iterator<Item = Stretch> + '_ {
        let kept = self.forgotten..self.forgotten + self.nodes.len() as u64;
        kept.filter_map(|place| self.stretch(Moment(place)))
    }

    /// Splits the time from `from` to the moment `end` over what took it. The parts sum to
    /// `self.at(end) - from`: what came before the oldest moment kept is `None`.
    pub fn split(&self, from: Time, end: Moment) -> Vec<(Option<Tag>, TimeDelta)> {
        let mut parts: std::collections::BTreeMap<Option<Tag>, TimeDelta> = Default::default();
        let mut reached = self.at(end).max(from);
        for stretch in self.way(end) {
            if stretch.to <= from {
                break;
            }
            let begun = stretch.from.max(from);
            *parts.entry(Some(stretch.tag)).or_default() += stretch.to.since(begun);
            reached = begun;
        }
        if reached > from {
            *parts.entry(None).or_default() += reached.since(from);
        }
        parts.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn tag(resource: u32) -> Tag {
        Tag { resource, phase: 1 }
    }

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    #[test]
    fn the_way_to_a_moment_follows_causes_and_not_the_order_of_notes() {
        let mut causes = Causes::default();
        let posted = causes.add(at(10), Causes::BEGINNING, tag(1));
        let elsewhere = causes.add(at(40), Causes::BEGINNING, tag(2));
        let arrived = causes.add(at(70), posted, tag(3));
        let same = causes.add(at(70), arrived, tag(9));
        assert_eq!(same, arrived, "no time has passed");
        let done = causes.add(at(75), arrived, tag(2));
        let tags: Vec<u32> = causes.way(done).map(|stretch| stretch.tag.resource).collect();
        assert_eq!(tags, [2, 3, 1]);
        let ps = |parts: Vec<(Option<Tag>, TimeDelta)>| {
            parts.into_iter().map(|(tag, time)| (tag.map(|tag| tag.resource), time.as_ps()))
        };
        let split: Vec<_> = ps(causes.split(at(4), done)).collect();
        assert_eq!(split, [(Some(1), 6), (Some(2), 5), (Some(3), 60)]);
        assert_eq!(ps(causes.split(at(0), elsewhere)).collect::<Vec<_>>(), [(Some(2), 40)]);
        assert_eq!(causes.split(at(75), done), []);
    }

    #[test]
    fn a_log_that_is_full_forgets_the_oldest_and_says_how_much_is_missing() {
        let mut causes = Causes::keeping(8);
        let mut last = Causes::BEGINNING;
        for step in 1..=100 {
            last = causes.add(at(step * 5), last, tag(1));
        }
        assert!(causes.len() <= 8 && causes.forgotten() > 80);
        let split = causes.split(at(100), last);
        let sum: u64 = split.iter().map(|(_, time)| time.as_ps()).sum();
        assert_eq!(sum, 400, "known and forgotten parts are the whole");
        assert!(split[0].0.is_none() && split[0].1.as_ps() >= 360, "{split:?}");
        let old = causes.add(at(600), Causes::BEGINNING, tag(2));
        assert_eq!(causes.way(old).count(), 0, "its cause was forgotten");
    }
}
