//! Causes: a log of moments, each with the moment that it waited for, and the resource and phase of
//! the time between them. A walk from one moment back to the beginning is the critical path to it.
//!
//! ```text
//!   beginning ◀── posted ◀── on the wire ◀── found by a poll ◀── copied ◀── returned
//!                 core        link            core                core       the end of the walk
//! ```
//!
//! A run has more moments than events: a core that runs ahead of the clock, or a packet that crosses
//! idle hops, records each piece of its way. First touches of pages cost as much as all other work of the
//! log, so the log is kept small. A *word* holds resource, phase and length of the time; words repeat, and
//! each chunk of the log numbers its own. A moment that follows the one recorded just before it, and whose
//! word has a number, takes a *unit* of 16 bits; most others take four. A word names its thread or resource,
//! so ten ranks have a few thousand words, and thousands of ranks have more words than numbers: a chunk has
//! at most 65,520. A word without a number is recorded itself.
//!
//! ```text
//!   word        took (32 bits) | resource (24) | phase (8)
//!   moment      number of its word                              follows the one before
//!               cause, word, kind                               any other
//!   cause       nothing, how far back (2 units) in this chunk, or back, its time (4), took's high half (2)
//!   word        its number, or itself (4)
//! ```
//!
//! The log keeps about [`Causes::LIMIT`] units and forgets the oldest, a chunk at a time: a walk says how
//! far back it came.

use std::collections::VecDeque;

use crate::tag::Tag;
use units::Time;

/// The causes that a run keeps.
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

/// The log of one run: the chunk that is written to, and those before it.
#[derive(Clone, Debug)]
pub struct Causes {
    newest: Chunk,
    older: VecDeque<Chunk>,
    /// The place of the newest moment.
    last: u64,
    /// Units of a chunk, at most, and chunks that are kept.
    room: usize,
    chunks: usize,
}

/// A part of the log that can be read without the others.
#[derive(Clone, Debug)]
struct Chunk {
    /// The place of its first unit.
    first: u64,
    units: Vec<u16>,
    /// Its words, each in the place that is its number; 0 where there is none. A word that it had before
    /// it grew may stand there twice.
    words: Vec<u64>,
    /// How many bits of a word's hash are beyond those that say its first place, and how many words there
    /// are.
    beyond: u32,
    numbered: usize,
}

/// A chunk has places for 2^14 words, and grows at once to as many as there are numbers: words that it
/// had before are in the way.
const LEAST_BITS: u32 = 14;
const MOST_BITS: u32 = 16;
/// Places in which a word may lie.
const TRIES: usize = 8;
/// A unit from `0xfff0` on ends a record of several units: its low bits hold the kind of the cause, and
/// whether the word itself follows instead of its number.
const KIND: u16 = 0xfff0;
const LITERAL: u16 = 1;
const FOLLOWS: u16 = 0 << 1;
const NEAR: u16 = 1 << 1;
const FAR: u16 = 2 << 1;
/// Units of a moment whose cause is near and whose word has a number; and of any moment, at most.
const NEAR_UNITS: u64 = 4;
const MOST: usize = 13;
/// Units of a chunk, at least, in a log of many chunks.
const CHUNK: usize = 1 << 16;
/// Chunks, at most: each begins with an empty table, which words that are gone no longer fill.
const CHUNKS: usize = 128;

/// Moments of one chunk that follow each other, of a unit each: to be noted once more, elsewhere.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// The chunk that its units are numbers of: by its first place.
    chunk: u64,
    units: Vec<u16>,
}

/// The units of a value, the lowest first.
fn units_of(value: u64) -> [u16; 4] {
    [0, 16, 32, 48].map(|below| (value >> below & 0xffff) as u16)
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
    /// Resource and phase of the time.
    pub tag: Tag,
}

impl Default for Causes {
    fn default() -> Self {
        Self::keeping(Self::LIMIT)
    }
}

/// A record as it is read back.
struct Record {
    /// Its first unit, in its chunk.
    begin: usize,
    cause: Cause,
    word: u64,
}

enum Cause {
    /// The moment before it.
    Before,
    /// So many places back, in its chunk.
    Near(u64),
    /// So many places back, or 0 for too many; when it was, and what `took` lacks.
    Far { back: u64, from: u64, high: u64 },
}

impl Chunk {
    fn new(first: u64) -> Self {
        let words = vec![0; 1 << LEAST_BITS];
        Self { first, units: Vec::new(), words, beyond: u64::BITS - LEAST_BITS, numbered: 0 }
    }

    /// An empty chunk, with its room and as many places as it has.
    fn again(mut self, first: u64) -> Self {
        self.units.clear();
        self.words.fill(0);
        Self { first, numbered: 0, ..self }
    }

    /// The first place of a word.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the highest 16 bits, or fewer")]
    const fn home(&self, word: u64) -> u16 {
        (word.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_shr(self.beyond)) as u16
    }

    /// The number of a word, if it stands in its first place.
    #[inline]
    fn known(&self, word: u64) -> Option<u16> {
        let number = self.home(word);
        (self.words.get(usize::from(number)) == Some(&word)).then_some(number)
    }

    /// The number of a word, which it gets now if there is a free place near its first.
    fn number(&mut self, word: u64) -> Option<u16> {
        let (home, all) = (usize::from(self.home(word)), self.words.len());
        let mut places = (0..TRIES).map(|step| (home + step) % all);
        match places.find(|&place| [0, word].contains(&self.words[place])) {
            Some(place) => {
                self.numbered += usize::from(self.words[place] == 0);
                self.words[place] = word;
                u16::try_from(place).ok()
            }
            None if self.beyond > u64::BITS - MOST_BITS && self.numbered > all / 4 => {
                self.beyond = u64::BITS - MOST_BITS;
                self.words.resize(usize::from(KIND), 0);
                self.number(word)
            }
            None => None,
        }
    }

    /// So many units of each value, and what ends the moment.
    #[cold]
    fn push(&mut self, values: &[(u64, usize)], kind: u16) {
        for &(value, units) in values {
            self.units.extend_from_slice(&units_of(value)[..units]);
        }
        self.units.push(kind);
    }

    /// The moment whose last unit is here.
    fn told(&self, end: usize) -> Option<Record> {
        let kind = *self.units.get(end)?;
        if kind & KIND != KIND {
            let word = self.words[usize::from(kind)];
            return Some(Record { begin: end, cause: Cause::Before, word });
        }
        let mut begin = end;
        let mut take = |units: usize| {
            let end = begin;
            begin = end.checked_sub(units)?;
            Some(
                self.units[begin..end].iter().rev().fold(0, |all, &one| all << 16 | u64::from(one)),
            )
        };
        let word = if kind & LITERAL == 0 {
            self.words[usize::try_from(take(1)?).ok()?]
        } else {
            take(4)?
        };
        let cause = match kind & !(KIND | LITERAL) {
            FOLLOWS => Cause::Before,
            NEAR => Cause::Near(take(2)?),
            _ => {
                let (high, from) = (take(2)?, take(4)?);
                Cause::Far { back: take(2)?, from, high }
            }
        };
        Some(Record { begin, cause, word })
    }

    /// Every moment of it, in order.
    fn moments(&self) -> Vec<Moment> {
        let step = |&end: &usize| self.told(end)?.begin.checked_sub(1);
        let ends: Vec<usize> =
            std::iter::successors(self.units.len().checked_sub(1), step).collect();
        let mut moments: Vec<Moment> = Vec::with_capacity(ends.len());
        for end in ends.into_iter().rev() {
            // The beginning of the run has no record.
            let Some(Record { cause, word, .. }) = self.told(end) else { continue };
            let place = self.first + end as u64;
            let took = word >> 32;
            let (from, took) = match cause {
                Cause::Before => (moments.last().map_or(0, |before| before.at.as_ps()), took),
                Cause::Near(back) => {
                    let cause = moments.binary_search_by_key(&(place - back), |one| one.place);
                    (cause.map_or(0, |cause| moments[cause].at.as_ps()), took)
                }
                Cause::Far { from, high, .. } => (from, high << 32 | took),
            };
            moments.push(Moment { place, at: Time::from_ps(from + took) });
        }
        moments
    }
}

impl Causes {
    /// The default number of units that are kept: 512 MiB of them.
    pub const LIMIT: usize = 1 << 28;

    /// The beginning of every run: time zero.
    pub const BEGINNING: Moment = Moment { place: 0, at: Time::ZERO };

    /// An empty log that keeps so many units, but for the chunk that is forgotten at once; those of two
    /// moments at least.
    ///
    /// A chunk begins with a table to be cleared: it is not worth that for a few units.
    pub fn keeping(limit: usize) -> Self {
        let chunks = (limit / CHUNK).clamp(2, CHUNKS);
        let room = limit.div_ceil(chunks).max(MOST);
        let mut newest = Chunk::new(0);
        newest.units.push(KIND);
        Self { newest, older: VecDeque::new(), last: 0, room, chunks }
    }

    /// Adds the moment `at`: everything from `cause` on was time of `tag`. Answers `cause` itself
    /// where no time has passed.
    ///
    /// # Panics
    ///
    /// When the cause lies after it, or a resource has no 24 bits: our own defect.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a few comparisons and a unit, for nearly all")]
    pub fn add(&mut self, at: Time, cause: Moment, tag: Tag) -> Moment {
        // 0, and a cause that lies after it, are beyond all that a short moment can take.
        let took = at.as_ps().wrapping_sub(cause.at.as_ps());
        let short = took.wrapping_sub(1) < u64::from(u32::MAX);
        let word = took << 32 | u64::from(tag.resource) << 8 | u64::from(tag.phase);
        let other = !short || cause.place != self.last || tag.resource >= 1 << 24;
        let Some(number) = self.newest.known(word) else { return self.add_other(at, cause, tag) };
        if other || self.newest.units.len() == self.room {
            return self.add_other(at, cause, tag);
        }
        self.newest.units.push(number);
        self.last += 1;
        Moment { place: self.last, at }
    }

    /// The `moments` that were noted last, after `begin`, if they can be noted once more.
    pub fn run(&self, begin: Moment, moments: usize) -> Option<Run> {
        let Chunk { first, units, .. } = &self.newest;
        let begin = usize::try_from((begin.place + 1).checked_sub(*first)?).ok()?;
        let units = units.get(begin..)?;
        // So many units for so many moments: one for each.
        let alike = units.len() == moments && units.iter().all(|unit| unit & KIND != KIND);
        alike.then(|| Run { chunk: *first, units: units.to_vec() })
    }

    /// Notes all moments of a run once more, the last of them at `at`: as if each were added after the
    /// one before, the first after `cause`. `None`, and nothing is noted, where `cause` is not the moment
    /// that was noted last, or the run is of another chunk, or has no room in it.
    #[inline]
    pub fn again(&mut self, run: &Run, cause: Moment, at: Time) -> Option<Moment> {
        let Chunk { first, units, .. } = &mut self.newest;
        let fits = run.chunk == *first && units.len() + run.units.len() <= self.room;
        if !fits || cause.place != self.last {
            return None;
        }
        units.extend_from_slice(&run.units);
        self.last += run.units.len() as u64;
        Some(Moment { place: self.last, at })
    }

    /// Adds a moment that takes several units, or none, or whose word is new or not in its first place.
    #[inline(never)]
    fn add_other(&mut self, at: Time, cause: Moment, tag: Tag) -> Moment {
        if cause.at == at {
            return cause;
        }
        assert!(tag.resource < 1 << 24, "resources are counted in 24 bits");
        assert!(cause.at < at, "a cause lies before what it causes");
        if self.newest.units.len() + MOST > self.room {
            self.begin_chunk();
        }
        let took = at.since(cause.at).as_ps();
        let word = took << 32 | u64::from(tag.resource) << 8 | u64::from(tag.phase);
        let chunk = &mut self.newest;
        let near = cause.place >= chunk.first && !chunk.units.is_empty() && took >> 32 == 0;
        let number = if near { chunk.known(word).or_else(|| chunk.number(word)) } else { None };
        let (place, follows) = (self.last + NEAR_UNITS, cause.place == self.last);
        match number {
            Some(number) if follows => chunk.units.push(number),
            Some(number) => {
                let [low, high, ..] = units_of(place - cause.place);
                chunk.units.extend_from_slice(&[low, high, number, KIND | NEAR]);
            }
            None if near && follows => chunk.push(&[(word, 4)], KIND | FOLLOWS | LITERAL),
            None => {
                let place = chunk.first + (chunk.units.len() + MOST) as u64 - 1;
                // 0: too far to tell.
                let back = u64::from(u32::try_from(place - cause.place).unwrap_or(0));
                let from = cause.at.as_ps();
                let values = [(back, 2), (from, 4), (took >> 32, 2), (word, 4)];
                chunk.push(&values, KIND | FAR | LITERAL);
            }
        }
        self.last = chunk.first + chunk.units.len() as u64 - 1;
        Moment { place: self.last, at }
    }

    /// The next chunk: where there are as many as are kept, the oldest one goes, and its room is used
    /// again.
    #[cold]
    fn begin_chunk(&mut self) {
        let first = self.newest.first + self.newest.units.len() as u64;
        let forgets = self.older.len() + 1 == self.chunks;
        let oldest = if forgets { self.older.pop_front() } else { None };
        let next = match oldest {
            Some(oldest) => oldest.again(first),
            None => Chunk::new(first),
        };
        self.older.push_back(std::mem::replace(&mut self.newest, next));
    }

    fn parts(&self) -> impl Iterator<Item = &Chunk> {
        self.older.iter().chain([&self.newest])
    }

    /// The chunk that a place lies in, if it is kept.
    fn chunk_of(&self, place: u64) -> Option<&Chunk> {
        if place >= self.newest.first {
            return Some(&self.newest);
        }
        let after = self.older.partition_point(|chunk| chunk.first <= place);
        self.older.get(after.checked_sub(1)?)
    }

    /// How many units are kept.
    pub fn len(&self) -> usize {
        self.parts().map(|chunk| chunk.units.len()).sum()
    }

    /// Memory of the log.
    pub fn bytes(&self) -> usize {
        let words: usize = self.parts().map(|chunk| chunk.words.len()).sum();
        size_of::<u16>() * self.len() + size_of::<u64>() * words
    }

    /// Whether nothing was added.
    pub fn is_empty(&self) -> bool {
        self.last == 0
    }

    /// How many units were forgotten.
    pub fn forgotten(&self) -> u64 {
        self.older.front().unwrap_or(&self.newest).first
    }

    /// The stretch of time that led to a moment; `None` at the beginning, or where its cause was forgotten.
    fn stretch(&self, end: Moment) -> Option<Stretch> {
        let chunk = self.chunk_of(end.place)?;
        let Record { begin, cause, word } =
            chunk.told(usize::try_from(end.place - chunk.first).ok()?)?;
        let before = |back: u64| end.place.checked_sub(back).filter(|_| back > 0);
        let (place, from) = match cause {
            Cause::Before => {
                ((chunk.first + begin as u64).checked_sub(1)?, end.at.as_ps() - (word >> 32))
            }
            Cause::Near(back) => (before(back)?, end.at.as_ps() - (word >> 32)),
            Cause::Far { back, from, .. } => (before(back)?, from),
        };
        let cause = Moment { place, at: Time::from_ps(from) };
        self.chunk_of(cause.place)?;
        let [phase, ..] = word.to_le_bytes();
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
        self.parts().flat_map(Chunk::moments).filter_map(|moment| self.stretch(moment))
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

    /// Notes ways of some legs, one after the other from moments of long ago: each leg by itself, or what
    /// comes after the first leg as a run.
    fn ways(causes: &mut Causes, whole: bool) -> (Vec<Moment>, usize) {
        let mut runs = vec![None; 5];
        let (mut ends, mut again) = (vec![Causes::BEGINNING], 0);
        for step in 0..20_000_u32 {
            let kind = step % 5;
            let legs = |leg: u32| (u64::from(3 + 7 * kind + leg), tag(9 * kind + leg));
            let after = |causes: &mut Causes, from: Moment, leg: u32| {
                let (took, tag) = legs(leg);
                causes.add(at(from.at().as_ps() + took), from, tag)
            };
            let from = ends[ends.len().saturating_sub(4)];
            let first = after(causes, from, 0);
            let end = at(first.at().as_ps() + (1..=kind).map(|leg| legs(leg).0).sum::<u64>());
            let known: Option<&Run> = runs[kind as usize].as_ref().filter(|_| whole);
            let noted = known.and_then(|run| causes.again(run, first, end));
            again += usize::from(noted.is_some());
            let last = noted.unwrap_or_else(|| {
                let last = (1..=kind).fold(first, |from, leg| after(causes, from, leg));
                runs[kind as usize] = causes.run(first, kind as usize);
                last
            });
            assert_eq!(last.at(), end);
            ends.push(last);
        }
        (ends, again)
    }

    #[test]
    fn a_run_that_is_noted_again_is_told_as_if_each_moment_had_been_added() {
        for limit in [64, 1_000, 3 * CHUNK, Causes::LIMIT] {
            let (mut whole, mut single) = (Causes::keeping(limit), Causes::keeping(limit));
            let ((ends, again), (others, none)) =
                (ways(&mut whole, true), ways(&mut single, false));
            assert!(none == 0 && (limit <= 1_000 || again > 19_000), "{limit}: {again}");
            assert_eq!(ends, others, "{limit}: the same places");
            assert_eq!(whole.forgotten(), single.forgotten());
            let all = |causes: &Causes| causes.all().collect::<Vec<Stretch>>();
            assert_eq!(all(&whole), all(&single), "{limit}");
        }
    }

    #[test]
    fn a_run_is_not_noted_behind_another_moment_or_in_another_chunk() {
        let mut causes = Causes::keeping(64);
        let step = |causes: &mut Causes, from: Moment, resource| {
            causes.add(at(from.at().as_ps() + 5), from, tag(resource))
        };
        let first = step(&mut causes, Causes::BEGINNING, 1);
        let mut last = step(&mut causes, first, 1);
        let run = causes.run(first, 1).expect("one unit");
        assert!(causes.run(first, 2).is_none(), "there is one moment");
        assert_eq!(causes.again(&run, first, at(15)), None, "it is not the last moment");
        last = causes.again(&run, last, at(15)).expect("it follows");
        assert_eq!(causes.way(last).map(|one| one.to.as_ps()).collect::<Vec<_>>(), [15, 10, 5]);
        let long = causes.add(at(1 << 40), last, tag(1));
        assert!(causes.run(last, 1).is_none(), "several units");
        last = long;
        while causes.newest.first == 0 {
            last = step(&mut causes, last, 2);
        }
        let next = at(last.at().as_ps() + 5);
        assert_eq!(causes.again(&run, last, next), None, "numbers of another chunk");
    }

    #[test]
    fn a_log_that_is_full_forgets_the_oldest_and_says_how_much_is_missing() {
        let mut causes = Causes::keeping(64);
        let mut last = Causes::BEGINNING;
        for step in 1..=100 {
            last = causes.add(at(step * 5), last, tag(1));
        }
        assert!(causes.len() <= 64 && causes.forgotten() > 60);
        let way: Vec<Stretch> = causes.way(last).collect();
        assert!((20..64).contains(&way.len()), "{way:?}");
        assert_eq!(way[0].to, at(500), "the newest are kept");
        assert!(way.windows(2).all(|pair| pair[1].to == pair[0].from), "no gap");
        let old = causes.add(at(600), Causes::BEGINNING, tag(2));
        assert_eq!(causes.way(old).count(), 0, "its cause was forgotten");
    }

    #[test]
    fn a_log_keeps_no_more_than_two_moments_however_little_it_may_keep() {
        for limit in [0, 1, 25, 26] {
            let mut causes = Causes::keeping(limit);
            let mut last = Causes::BEGINNING;
            for step in 1..=1_000 {
                last = causes.add(at(step * 5), last, tag(1));
            }
            assert!(causes.len() <= 2 * MOST, "{limit}: {}", causes.len());
            assert_eq!(causes.way(last).next().unwrap().to, at(5_000));
        }
    }

    #[test]
    fn words_of_thousands_of_threads_have_numbers() {
        let mut causes = Causes::default();
        let mut last = Causes::BEGINNING;
        // Each thread does eight things: 2^15 words, each four times.
        for step in 0..1 << 17_u32 {
            let (thread, took) = (step % (1 << 12), 1 + u64::from(step >> 12) % 8);
            last = causes.add(at(last.at().as_ps() + took), last, tag(thread));
        }
        // Five units where a word is new to a table that cannot grow, and one for all others.
        assert!(causes.len() < 3 * (1 << 17) / 2, "{}", causes.len());
        assert_eq!(causes.newest.words.len(), usize::from(KIND));
        let all: Vec<Stretch> = causes.all().collect();
        assert_eq!((all.len(), causes.way(last).count()), (1 << 17, 1 << 17));
        for (step, told) in all.iter().enumerate() {
            assert_eq!(told.tag, tag(u32::try_from(step % (1 << 12)).unwrap()));
            assert_eq!(told.to.since(told.from).as_ps(), 1 + (step as u64 >> 12) % 8);
        }
    }

    #[test]
    fn moments_are_told_alike_in_every_chunk_and_with_words_that_have_no_number() {
        let mut causes = Causes::keeping(4 * CHUNK);
        let mut noted = vec![(Causes::BEGINNING, Causes::BEGINNING, tag(0))];
        let mut random = 1_u64;
        let mut draw = |below: u64| {
            random = random.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (random >> 33) % below
        };
        for _ in 0..200_000 {
            let back = if draw(3) == 0 { draw(noted.len().min(500) as u64) } else { 0 };
            let cause = noted[noted.len() - 1 - usize::try_from(back).unwrap()].0;
            // Few words of some resources, and many of others.
            let resource = u32::try_from(draw(40)).unwrap();
            let took = if resource < 30 { 1 + u64::from(resource % 3) } else { 1 + draw(1 << 34) };
            let to = at(cause.at().as_ps() + took);
            noted.push((causes.add(to, cause, tag(resource)), cause, tag(resource)));
        }
        assert!(causes.forgotten() > 0 && causes.len() > 3 * CHUNK - 4 * MOST);
        let kept = noted.iter().filter(|one| one.1.place >= causes.forgotten());
        // The first of those that are left has no cause that is left.
        let kept: Vec<_> = kept.filter(|one| one.0.place > causes.forgotten()).collect();
        let all: Vec<Stretch> = causes.all().collect();
        assert_eq!(all.len(), kept.len());
        for (told, (end, cause, tag)) in all.iter().zip(kept) {
            assert_eq!((told.end, told.cause, told.tag), (*end, *cause, *tag));
            assert_eq!(causes.way(*end).next(), Some(*told));
        }
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
