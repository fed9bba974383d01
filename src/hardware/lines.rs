//! Which cores have which lines of a piece of memory: what several cores read and write goes to and
//! fro between their caches.
//!
//! ```text
//!   read    by a core that has no copy ─▶ comes from the nearest core that has one, and both have it
//!   write   by a core that has it alone ─▶ at once
//!           by another one ─▶ comes from, or is taken away from, all that have it
//! ```
//!
//! Neighbouring lines that lie with the same cores are one run: an access is as much work as it meets
//! runs, however many lines it has.
//!
//! Source: a line is modified, exclusive, shared or invalid, and a cache that shares it supplies it
//! (`MESI`). Left out: a line is in no cache before its first use, which costs nothing here, and
//! stays in one for ever after it. Noticeable in memory that is larger than the caches.

use std::collections::BTreeMap;
use std::ops::Range;

use super::core::Place;
use units::TimeDelta;

/// Access of a core to cache lines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Use {
    /// It needs copies.
    Reads,
    /// It needs them for itself.
    Writes,
}

/// Lines that a core has to wait for.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Coming {
    /// The longest of their ways.
    pub way: TimeDelta,
    /// How many come; from others that only lose their copies, nothing does.
    pub lines: u64,
}

/// Cores that have the cache lines of one piece of memory, numbered from its beginning.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Lines {
    /// By their first line.
    runs: BTreeMap<u64, Run>,
}

/// Lines that lie with the same cores.
#[derive(Clone, Debug, Eq, PartialEq)]
struct Run {
    /// The line behind the last one.
    end: u64,
    /// The core that wrote them last, or read them first.
    writer: Place,
    /// Other cores that have read them since; in order.
    readers: Vec<Place>,
}

impl Run {
    const fn of(end: u64, writer: Place) -> Self {
        Self { end, writer, readers: Vec::new() }
    }

    fn lies_as(&self, other: &Self) -> bool {
        self.writer == other.writer && self.readers == other.readers
    }

    fn is_with(&self, by: Place) -> bool {
        self.writer == by || self.readers.binary_search(&by).is_ok()
    }

    /// How far a core has to go for them; `None` where it has what it needs.
    fn way(&self, by: Place, does: Use, way: impl Fn(Place) -> TimeDelta) -> Option<TimeDelta> {
        let all = self.readers.iter().chain([&self.writer]);
        match does {
            Use::Reads if self.is_with(by) => None,
            Use::Reads => all.map(|place| way(*place)).min(),
            Use::Writes => all.filter(|place| **place != by).map(|place| way(*place)).max(),
        }
    }

    fn is_read(&mut self, by: Place) {
        if self.writer != by
            && let Err(place) = self.readers.binary_search(&by)
        {
            self.readers.insert(place, by);
        }
    }
}

impl Lines {
    /// A core uses lines: which of them it has to wait for; `way` is how long one takes from another
    /// core.
    pub fn reach(
        &mut self,
        lines: Range<u64>,
        (by, does): (Place, Use),
        way: impl Fn(Place) -> TimeDelta,
    ) -> Coming {
        if self.has(&lines, by, does) {
            return Coming::default();
        }
        self.split(lines.start);
        self.split(lines.end);
        let mut coming = Coming::default();
        for (first, run) in self.runs.range(lines.clone()) {
            if let Some(way) = run.way(by, does, &way) {
                coming.way = coming.way.max(way);
                coming.lines += if run.is_with(by) { 0 } else { run.end - first };
            }
        }
        match does {
            Use::Reads => self.read(lines.clone(), by),
            Use::Writes => self.write(lines.clone(), by),
        }
        self.join(lines);
        coming
    }

    /// Whether the lines are of one run that a core needs nothing of: it stays as it is.
    fn has(&self, lines: &Range<u64>, by: Place, does: Use) -> bool {
        let Some((_, run)) = self.runs.range(..=lines.start).next_back() else { return false };
        run.end >= lines.end && run.way(by, does, |_| TimeDelta::ZERO).is_none()
    }

    /// A run begins at this line, if one contains it.
    fn split(&mut self, line: u64) {
        let Some((_, run)) = self.runs.range_mut(..line).next_back() else { return };
        if run.end > line {
            let rest = run.clone();
            run.end = line;
            self.runs.insert(line, rest);
        }
    }

    fn write(&mut self, lines: Range<u64>, by: Place) {
        while let Some((&first, _)) = self.runs.range(lines.clone()).next() {
            self.runs.remove(&first);
        }
        self.runs.insert(lines.start, Run::of(lines.end, by));
    }

    /// Lines that no core had are the reader's own.
    fn read(&mut self, lines: Range<u64>, by: Place) {
        let mut free = Vec::new();
        let mut next = lines.start;
        for (&first, run) in self.runs.range_mut(lines.clone()) {
            if next < first {
                free.push(next..first);
            }
            run.is_read(by);
            next = run.end;
        }
        if next < lines.end {
            free.push(next..lines.end);
        }
        self.runs.extend(free.into_iter().map(|one| (one.start, Run::of(one.end, by))));
    }

    /// Runs that touch each other in these lines, or at their ends, and lie with the same cores
    /// become one.
    fn join(&mut self, lines: Range<u64>) {
        let before = self.runs.range(..lines.start).next_back();
        let mut from = before.map_or(lines.start, |(first, _)| *first);
        while from < lines.end
            && let Some((&next, run)) = self.runs.range(from + 1..=lines.end).next()
        {
            let known = self.runs.get(&from);
            let joins = known.is_some_and(|one| one.end == next && one.lies_as(run));
            if joins {
                let end = run.end;
                self.runs.remove(&next);
                self.runs.get_mut(&from).expect("it was looked at").end = end;
            } else {
                from = next;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const fn core(core: u32) -> Place {
        Place { node: 0, socket: 0, core, thread: 0 }
    }

    /// The way is as long as the numbers of the two cores are apart.
    fn way(by: u32) -> impl Fn(Place) -> TimeDelta {
        move |from| TimeDelta::from_ns(u64::from(from.core.abs_diff(by)))
    }

    fn reach(lines: &mut Lines, which: Range<u64>, by: u32, does: Use) -> (u64, u64) {
        let Coming { way, lines } = lines.reach(which, (core(by), does), way(by));
        (way.as_ps() / 1000, lines)
    }

    #[test]
    fn a_line_comes_from_whoever_wrote_it_and_is_taken_from_all_that_read_it() {
        let lines = &mut Lines::default();
        assert_eq!(reach(lines, 0..1, 2, Use::Writes), (0, 0), "its first use is free");
        assert_eq!(reach(lines, 0..1, 2, Use::Reads), (0, 0), "it is at hand");
        assert_eq!(reach(lines, 0..1, 5, Use::Reads), (3, 1), "it comes from core 2");
        assert_eq!(reach(lines, 0..1, 5, Use::Reads), (0, 0), "it is a copy");
        assert_eq!(reach(lines, 0..1, 9, Use::Reads), (4, 1), "it comes from core 5");
        assert_eq!(reach(lines, 0..1, 2, Use::Reads), (0, 0), "its writer keeps it");
        assert_eq!(
            reach(lines, 0..1, 2, Use::Writes),
            (7, 0),
            "core 9 is the farthest that has it, and no bytes come"
        );
        assert_eq!(reach(lines, 0..1, 2, Use::Writes), (0, 0));
        assert_eq!(reach(lines, 0..1, 5, Use::Reads), (3, 1), "its copy was taken away");
    }

    #[test]
    fn a_line_comes_from_the_nearest_core_that_has_it() {
        let lines = &mut Lines::default();
        reach(lines, 0..1, 0, Use::Writes);
        assert_eq!(reach(lines, 0..1, 14, Use::Reads), (14, 1), "only core 0 has it");
        assert_eq!(reach(lines, 0..1, 15, Use::Reads), (1, 1), "core 14 read it");
        assert_eq!(reach(lines, 0..1, 2, Use::Reads), (2, 1), "core 0 wrote it");
        assert_eq!(reach(lines, 0..1, 15, Use::Writes).0, 15, "core 0 is the farthest");
    }

    #[test]
    fn an_access_waits_for_the_longest_way_and_for_what_others_have() {
        let lines = &mut Lines::default();
        reach(lines, 0..4, 1, Use::Writes);
        reach(lines, 4..8, 7, Use::Writes);
        assert_eq!(reach(lines, 2..6, 7, Use::Reads), (6, 2), "two are core 1's");
        assert_eq!(reach(lines, 0..100, 3, Use::Writes), (4, 8), "the rest nobody had");
        assert_eq!(lines.runs.len(), 1, "all lie with one core");
    }

    /// Every line by itself: its writer and its readers.
    #[derive(Default)]
    struct Oracle(BTreeMap<u64, (u32, BTreeSet<u32>)>);

    impl Oracle {
        fn reach(&mut self, which: Range<u64>, by: u32, does: Use) -> (u64, u64) {
            let (mut longest, mut count) = (0, 0);
            for line in which {
                let (writer, readers) = self.0.entry(line).or_insert((by, BTreeSet::new()));
                let all: BTreeSet<u32> = readers.iter().copied().chain([*writer]).collect();
                let others = all.iter().filter(|one| **one != by);
                let needed: Vec<u32> = match does {
                    Use::Reads if all.contains(&by) => vec![],
                    Use::Reads => {
                        all.iter().min_by_key(|one| one.abs_diff(by)).copied().into_iter().collect()
                    }
                    Use::Writes => others.copied().collect(),
                };
                let farthest = needed.iter().map(|one| u64::from(one.abs_diff(by))).max();
                count += u64::from(!all.contains(&by));
                longest = longest.max(farthest.unwrap_or(0));
                match does {
                    Use::Reads => _ = readers.insert(by),
                    Use::Writes => (*writer, *readers) = (by, BTreeSet::new()),
                }
            }
            (longest, count)
        }
    }

    #[test]
    fn runs_are_what_their_lines_are_one_by_one() {
        let (mut lines, mut oracle) = (Lines::default(), Oracle::default());
        let mut state = 1_u64;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for step in 0..20_000 {
            let (start, by) = (draw(40), u32::try_from(draw(4)).unwrap());
            let end = start + 1 + draw(9);
            let does = if draw(3) == 0 { Use::Writes } else { Use::Reads };
            let found = reach(&mut lines, start..end, by, does);
            assert_eq!(found, oracle.reach(start..end, by, does), "step {step}");
            let ends = lines.runs.values().map(|run| run.end);
            assert!(lines.runs.keys().skip(1).zip(ends).all(|(next, end)| end <= *next));
            let pairs = lines.runs.iter().zip(lines.runs.iter().skip(1));
            let split = |((_, one), (next, two)): ((_, &Run), (&u64, &Run))| {
                one.end == *next && one.lies_as(two)
            };
            assert!(!pairs.into_iter().any(split), "step {step}: neighbours are joined");
        }
    }
}
