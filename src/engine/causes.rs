//! Causes: a log of moments, each with the moment that it had to wait for, and what took the time
//! between them. A walk from one moment back to the beginning is the critical path to it.
//!
//! ```text
//!   beginning ◀── posted ◀── on the wire ◀── found by a poll ◀── copied ◀── returned
//!                 core        link            core                core       the end of the walk
//! ```
//!
//! A run has more moments than events: a core that runs ahead of the clock, or a packet that crosses
//! free hops, notes each piece of its way. So a moment that follows the one noted just before it, as
//! nearly all do, is one word of 8 bytes: what took the time, and how long. Any other takes three. The
//! log keeps the last [`Causes::LIMIT`] words and forgets the oldest: a walk says how far back it came.
//!
//! ```text
//!   one word      took (32 bits) | resource (24) | 0 | phase (7)
//!   three words   from ; took, its high half | distance to the cause ; took | resource | 1 | phase
//! ```

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

/// The log of one run: the newest words, and as many before them.
#[derive(Clone, Debug)]
pub struct Causes {
    older: Vec<u64>,
    newer: Vec<u64>,
    /// Words before those of `newer`, which is never empty.
    before: u64,
    /// The place of the newest moment.
    last: u64,
    /// Room of each half.
    half: usize,
}

/// In the last word of a moment of three.
const LONG: u64 = 1 << 7;
/// Words of such a moment.
const WORDS: u64 = 3;
/// What a tag may take of a word.
const TAG: u64 = u32::MAX as u64 & !LONG;

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
    /// Words that are kept, unless told otherwise: 512 MiB of them.
    pub const LIMIT: usize = 1 << 26;

    /// The beginning of every run: time zero.
    pub const BEGINNING: Moment = Moment { place: 0, at: Time::ZERO };

    /// An empty log that keeps between half of so many words and all of them.
    pub fn keeping(limit: usize) -> Self {
        let half = limit.div_ceil(2).max(4);
        Self { older: Vec::new(), newer: vec![LONG], before: 0, last: 0, half }
    }

    /// Adds the moment `at`: everything from `cause` on was time of `tag`. Answers `cause` itself
    /// where no time has passed.
    ///
    /// # Panics
    ///
    /// When the cause lies after it, or a resource has no 24 bits or a phase no 7: our own defect.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a few comparisons and a word, for nearly all")]
    pub fn add(&mut self, at: Time, cause: Moment, tag: Tag) -> Moment {
        let word = u64::from(tag.resource) << 8 | u64::from(tag.phase);
        // 0, and a cause that lies after it, are beyond all that a short moment can take.
        let took = at.as_ps().wrapping_sub(cause.at.as_ps());
        let short = took.wrapping_sub(1) < u64::from(u32::MAX) && word & !TAG == 0;
        if !short || cause.place != self.last || self.newer.len() == self.half {
            return self.add_other(at, cause, word);
        }
        self.newer.push(took << 32 | word);
        self.last += 1;
        Moment { place: self.last, at }
    }

    /// Adds a moment that takes three words, or none.
    #[inline(never)]
    fn add_other(&mut self, at: Time, cause: Moment, word: u64) -> Moment {
        if cause.at == at {
            return cause;
        }
        assert!(word & !TAG == 0, "resources are counted in 24 bits and phases in 7");
        assert!(cause.at < at, "a cause lies before what it causes");
        if self.newer.len() + 3 > self.half {
            self.forget();
        }
        self.last = self.before + self.newer.len() as u64 + WORDS - 1;
        // 0: too far to tell.
        let back = u32::try_from(self.last - cause.place).unwrap_or(0);
        let took = at.since(cause.at).as_ps();
        let high = took >> 32 << 32;
        self.newer.extend([cause.at.as_ps(), high | u64::from(back), took << 32 | LONG | word]);
        Moment { place: self.last, at }
    }

    /// The older half goes, and its room is used again.
    #[cold]
    fn forget(&mut self) {
        std::mem::swap(&mut self.older, &mut self.newer);
        self.newer.clear();
        self.before += self.older.len() as u64;
    }

    fn word(&self, place: u64) -> Option<u64> {
        let (words, first) = match place.checked_sub(self.before) {
            Some(place) => (&self.newer, place),
            None => (&self.older, place.checked_sub(self.forgotten())?),
        };
        words.get(usize::try_from(first).ok()?).copied()
    }

    /// How many words are kept.
    pub const fn len(&self) -> usize {
        self.older.len() + self.newer.len()
    }

    /// Whether nothing was added.
    pub const fn is_empty(&self) -> bool {
        self.before == 0 && self.newer.len() == 1
    }

    /// How many words were forgotten.
    pub const fn forgotten(&self) -> u64 {
        self.before - self.older.len() as u64
    }

    /// What led to a moment; `None` at the beginning, or where its cause was forgotten.
    fn stretch(&self, end: Moment) -> Option<Stretch> {
        let word = self.word(end.place)?;
        let cause = if word & LONG == 0 {
            Moment { place: end.place - 1, at: Time::from_ps(end.at.as_ps() - (word >> 32)) }
        } else {
            let from = self.word(end.place.checked_sub(2)?)?;
            let back = self.word(end.place - 1)? & u64::from(u32::MAX);
            let place = end.place.checked_sub(back).filter(|_| back > 0)?;
            Moment { place, at: Time::from_ps(from) }
        };
        self.word(cause.place)?;
        let [phase, ..] = (word & !LONG).to_le_bytes();
        let resource = u32::try_from(word >> 8 & 0xff_ffff).expect("masked to 24 bits");
        Some(Stretch { end, cause, from: cause.at, to: end.at, tag: Tag { resource, phase } })
    }

    /// The way to a moment, from its end back: each stretch begins where the next one ends. It ends
    /// at the beginning, or with the first moment whose cause was forgotten.
    pub fn way(&self, end: Moment) -> impl Iterator<Item = Stretch> + '_ {
        std::iter::successors(self.stretch(end), |stretch| self.stretch(stretch.cause))
    }

    /// Every stretch that is kept, in the order in which it was noted.
    pub fn all(&self) -> impl Iterator<Item = Stretch> + '_ {
        self.moments().into_iter().filter_map(|moment| self.stretch(moment))
    }

    /// Every moment that is kept. Where one ends is known from the last one back, when it was from the
    /// first one on.
    fn moments(&self) -> Vec<Moment> {
        let first = self.forgotten();
        let step = |&place: &u64| {
            let words = if self.word(place)? & LONG == 0 { 1 } else { WORDS };
            place.checked_sub(words).filter(|&before| before >= first)
        };
        let last = first + self.len() as u64 - 1;
        let places: Vec<u64> = std::iter::successors(Some(last), step).collect();
        let mut at = Time::ZERO;
        let moment = |&place: &u64| {
            let word = self.word(place)?;
            let mut took = word >> 32;
            if word & LONG != 0 && place > 0 {
                at = Time::from_ps(self.word(place - 2)?);
                took |= self.word(place - 1)? >> 32 << 32;
            }
            at += TimeDelta::from_ps(took);
            Some(Moment { place, at })
        };
        places.iter().rev().filter_map(moment).collect()
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
        let mut causes = Causes::keeping(16);
        let mut last = Causes::BEGINNING;
        for step in 1..=100 {
            last = causes.add(at(step * 5), last, tag(1));
        }
        assert!(causes.len() <= 16 && causes.forgotten() > 80);
        let way: Vec<Stretch> = causes.way(last).collect();
        assert!((5..16).contains(&way.len()), "{way:?}");
        assert_eq!(way[0].to, at(500), "the newest are kept");
        assert!(way.windows(2).all(|pair| pair[1].to == pair[0].from), "no gap");
        let old = causes.add(at(600), Causes::BEGINNING, tag(2));
        assert_eq!(causes.way(old).count(), 0, "its cause was forgotten");
    }

    #[test]
    fn every_moment_is_told_as_it_was_noted_whatever_its_length() {
        let tag = |resource: u32| Tag { resource, phase: 127 };
        let mut causes = Causes::default();
        let mut noted = vec![(Time::ZERO, Causes::BEGINNING, Causes::BEGINNING)];
        for step in 0..200_usize {
            // Half of them follow the last one, some after more than 2^32 ps, and more than 2^33.
            let cause = if step % 2 == 0 { noted.len() - 1 } else { noted.len() / 2 };
            let cause = noted[cause].2;
            let took = [1, 70, u64::from(u32::MAX), 1 << 32, (1 << 33) + 9][step % 5];
            let to = at(cause.at().as_ps() + took);
            let resource = u32::try_from(step).unwrap() << 16 & 0xff_ffff;
            noted.push((to, cause, causes.add(to, cause, tag(resource))));
        }
        let all: Vec<Stretch> = causes.all().collect();
        assert_eq!(all.len(), 200);
        for (step, (told, (to, cause, end))) in (0_u32..).zip(all.iter().zip(&noted[1..])) {
            assert_eq!((told.end, told.cause), (*end, *cause));
            assert_eq!((told.from, told.to), (cause.at(), *to));
            assert_eq!(told.tag, tag(step << 16 & 0xff_ffff));
            assert_eq!(causes.way(*end).next(), Some(*told));
        }
    }
}
