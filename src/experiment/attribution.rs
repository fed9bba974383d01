//! What the time of a whole scenario went into, and which part of it moved.
//!
//! Work is counted for each kind of resource: at each point the mean over all resources whose names
//! differ in numbers only, and the sum over points. Waiting is left out, since it follows from work
//! elsewhere.

use std::collections::BTreeMap;

use super::results::PointResult;
use runtime::account::Part;

/// Busy time by kind of resource, in picoseconds.
pub type Work = BTreeMap<String, u64>;

/// Parts of the time of threads that do not count as work.
const WAITING: [Part; 4] = [Part::Poll, Part::Wait, Part::Lock, Part::Outside];

/// How the work of one kind of resource moved.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Shift {
    /// Such as `threads: posting` or `link out`.
    pub what: String,
    /// Busy time now, in picoseconds.
    pub now: u64,
    /// Busy time before.
    pub before: u64,
}

impl Shift {
    /// The difference in picoseconds.
    pub fn difference(&self) -> i128 {
        i128::from(self.now) - i128::from(self.before)
    }
}

/// The work behind some points; a sum that leaves 64 bits stays at their limit.
pub fn work(points: &[PointResult]) -> Work {
    let mut work = Work::new();
    for (what, ps) in points.iter().flat_map(work_of) {
        let sum = work.entry(what).or_insert(0_u64);
        *sum = sum.saturating_add(ps);
    }
    work
}

/// The work of one point.
fn work_of(point: &PointResult) -> impl Iterator<Item = (String, u64)> {
    let works = |part: &str| !WAITING.iter().any(|waiting| waiting.name() == part);
    let spent = point.spent.iter().filter(move |spent| works(&spent.part));
    let threads = spent.map(|spent| (format!("threads: {}", spent.part), spent.time.as_ps()));
    let mut kinds: BTreeMap<String, (u128, u128)> = BTreeMap::new();
    // The two lines of the cores are what `spent` says in full.
    for used in point.resources.iter().filter(|used| !used.is_of_cores()) {
        let (sum, count) = kinds.entry(kind(&used.name)).or_default();
        *sum += u128::from(used.busy.as_ps());
        *count += 1;
    }
    let mean = |(sum, count)| u64::try_from(sum / count).expect("a mean of times is a time");
    threads.chain(kinds.into_iter().map(move |(what, sum)| (what, mean(sum))))
}

/// A resource's name without its numbers: `node 3 link out` is a `node link out`.
fn kind(name: &str) -> String {
    let is_number = |word: &&str| word.chars().all(|c| c.is_ascii_digit());
    name.split(' ').filter(|word| !is_number(word)).collect::<Vec<_>>().join(" ")
}

/// Every kind of resource whose work moved, the greatest difference first.
pub fn shifts(now: &Work, before: &Work) -> Vec<Shift> {
    let at = |work: &Work, what: &str| work.get(what).copied().unwrap_or_default();
    let gone = before.keys().filter(|what| !now.contains_key(*what));
    let mut all: Vec<Shift> = now
        .keys()
        .chain(gone)
        .map(|what| Shift { what: what.clone(), now: at(now, what), before: at(before, what) })
        .filter(|shift| shift.now != shift.before)
        .collect();
    all.sort_by(|left, right| {
        let by_size = right.difference().abs().cmp(&left.difference().abs());
        by_size.then_with(|| left.what.cmp(&right.what))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::{ResourceUse, Spent};
    use units::TimeDelta;

    fn point(walk: u64, wait: u64, link: u64) -> PointResult {
        let spent = |part: &str, ps| Spent { part: part.into(), time: TimeDelta::from_ps(ps) };
        let used = |name: &str, ps| ResourceUse {
            name: name.into(),
            busy: TimeDelta::from_ps(ps),
            elapsed: TimeDelta::from_ps(1000),
            bytes: 1,
            packets: 1,
            queue_max: 0,
        };
        PointResult {
            index: 0,
            params: Vec::new(),
            digest: String::new(),
            metrics: Vec::new(),
            resources: vec![
                used("cores", 7),
                used("node 0 link out", link),
                used("node 12 link out", 2),
            ],
            spent: vec![spent("queue walk", walk), spent("waiting", wait)],
            unfired: Vec::new(),
            transient: None,
            explanation: None,
            failure: None,
            limited: false,
            exit_status: None,
        }
    }

    #[test]
    fn of_resources_of_one_kind_the_mean_counts_and_waiting_is_no_work() {
        let work = work(&[point(5, 900, 10), point(6, 900, 20)]);
        let wanted = [("node link out", 17), ("threads: queue walk", 11)];
        assert_eq!(work, wanted.map(|(what, ps)| (what.to_owned(), ps)).into());
    }

    #[test]
    fn the_greatest_shift_comes_first_and_what_stayed_is_left_out() {
        let before = work(&[point(5, 1, 10)]);
        let mut now = work(&[point(50, 2, 10)]);
        assert_eq!(shifts(&before, &before), []);
        now.insert("node bus".to_owned(), 3);
        let found = shifts(&now, &before);
        let differences: Vec<_> = found.iter().map(|s| (s.what.as_str(), s.difference())).collect();
        assert_eq!(differences, [("threads: queue walk", 45), ("node bus", 3)]);
        assert_eq!(shifts(&before, &now)[1].difference(), -3);
    }
}
