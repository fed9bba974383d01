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
use crate::units::Time;

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
    /// No log, but the events numbered from the first to the last, both included, in words; the journal
    /// must keep the same.
    Events(u64, u64),
}

/// A moment in the log, with its time.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Moment {
    place: u64,
    at: Time,
}

impl Moment {
    /// When it was.
    #[inline]
    pub const fn at(self) -> Time {
        self.at
    }
}

/// 16 bytes: the resource has 24 bits, and the cause is told by its distance.
#[derive(Clone, Copy, Debug)]
struct Node {
    at: Time,
    /// How many places before it its cause stands; 0: at the beginning, or too far to tell.
    back: u32,
    /// `resource << 8 | phase`.
    tag: u32,
}

/// The log of one run: the newest moments, and as many before them.
#[derive(Clone, Debug)]
pub struct Causes {
    older: Vec<Node>,
    newer: Vec<Node>,
    /// Moments before those of `newer`.
    before: u64,
    /// Room of each half.
    half: usize,
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
    /// Moments that are kept, unless told otherwise: 512 MiB of them.
    pub const LIMIT: usize = 1 << 25;

    /// The beginning of every run: time zero.
    pub const BEGINNING: Moment = Moment { place: 0, at: Time::ZERO };

    /// An empty log that keeps between half of so many moments and all of them.
    pub fn keeping(limit: usize) -> Self {
        let half = limit.div_ceil(2).max(1);
        let beginning = Node { at: Time::ZERO, back: 0, tag: 0 };
        Self { older: Vec::new(), newer: vec![beginning], before: 0, half }
    }

    /// Adds the moment `at`: everything from `cause` on was time of `tag`. Answers `cause` itself
    /// where no time has passed.
    ///
    /// # Panics
    ///
    /// When the cause lies after it, or a resource has no 24 bits: our own defect.
    #[inline]
    pub fn add(&mut self, at: Time, cause: Moment, tag: Tag) -> Moment {
        if cause.at == at {
            return cause;
        }
        assert!(cause.at < at, "a cause lies before what it causes");
        assert!(tag.resource < 1 << 24, "resources are counted in 24 bits");
        if self.newer.len() == self.half {
            self.forget();
        }
        let place = self.before + self.newer.len() as u64;
        let back = u32::try_from(place - cause.place).unwrap_or(0);
        self.newer.push(Node { at, back, tag: tag.resource << 8 | u32::from(tag.phase) });
        Moment { place, at }
    }

    /// The older half goes, and its room is used again.
    #[cold]
    fn forget(&mut self) {
        std::mem::swap(&mut self.older, &mut self.newer);
        self.newer.clear();
        self.before += self.older.len() as u64;
    }

    fn node(&self, place: u64) -> Option<&Node> {
        let (nodes, first) = match place.checked_sub(self.before) {
            Some(place) => (&self.newer, place),
            None => (&self.older, place.checked_sub(self.forgotten())?),
        };
        nodes.get(usize::try_from(first).ok()?)
    }

    /// How many moments are kept.
    pub const fn len(&self) -> usize {
        self.older.len() + self.newer.len()
    }

    /// Whether nothing was added.
    pub const fn is_empty(&self) -> bool {
        self.before == 0 && self.newer.len() == 1
    }

    /// How many moments were forgotten.
    pub const fn forgotten(&self) -> u64 {
        self.before - self.older.len() as u64
    }

    fn stretch(&self, end: Moment) -> Option<Stretch> {
        let node = self.node(end.place).filter(|node| node.back > 0)?;
        let place = end.place - u64::from(node.back);
        let cause = Moment { place, at: self.node(place)?.at };
        let [phase, ..] = node.tag.to_le_bytes();
        let tag = Tag { resource: node.tag >> 8, phase };
        Some(Stretch { end, cause, from: cause.at, to: node.at, tag })
    }

    /// The way to a moment, from its end back: each stretch begins where the next one ends. It ends
    /// at the beginning, or with the first moment whose cause was forgotten.
    pub fn way(&self, end: Moment) -> impl Iterator<Item = Stretch> + '_ {
        std::iter::successors(self.stretch(end), |stretch| self.stretch(stretch.cause))
    }

    /// Every stretch that is kept, in the order in which it was noted.
    pub fn all(&self) -> impl Iterator<Item = Stretch> + '_ {
        let kept = self.forgotten()..self.before + self.newer.len() as u64;
        kept.filter_map(|place| {
            let at = self.node(place)?.at;
            self.stretch(Moment { place, at })
        })
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
        let times = causes.way(done).map(|stretch| (stretch.from.as_ps(), stretch.to.as_ps()));
        assert_eq!(times.collect::<Vec<_>>(), [(70, 75), (10, 70), (0, 10)], "no gap");
        assert_eq!(causes.way(elsewhere).count(), 1);
        assert_eq!(causes.all().count(), 4);
    }

    #[test]
    fn a_log_that_is_full_forgets_the_oldest_and_says_how_much_is_missing() {
        let mut causes = Causes::keeping(8);
        let mut last = Causes::BEGINNING;
        for step in 1..=100 {
            last = causes.add(at(step * 5), last, tag(1));
        }
        assert!(causes.len() <= 8 && causes.forgotten() > 80);
        let way: Vec<Stretch> = causes.way(last).collect();
        assert!((3..8).contains(&way.len()), "{way:?}");
        assert_eq!(way[0].to, at(500), "the newest are kept");
        let old = causes.add(at(600), Causes::BEGINNING, tag(2));
        assert_eq!(causes.way(old).count(), 0, "its cause was forgotten");
    }
}
