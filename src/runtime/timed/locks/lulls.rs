//! Lulls: when no channel of a process held anything.
//!
//! A thread that waits for a lock only to poll waits for nothing in a lull, and for the lock outside one. Steps of
//! parked locks are taken later than they lie (`steps.rs`), when the channels may have changed: so the last changes
//! are kept, until every lock of the process has taken the steps before them.

use units::{Time, TimeDelta};

/// Beginnings and ends of lulls, from the oldest on before which a lock has steps to take.
#[derive(Clone, Debug, Default)]
pub(super) struct Lulls {
    /// Changes that every lock has seen, and that are gone.
    gone: u64,
    /// When the channels changed, and whether a lull ended with it. Steps of that moment come before the change.
    changes: Vec<(Time, bool)>,
}

/// Most changes that are kept.
/// Method: a lock looks through those since it was settled last; all locks are settled where there are so many.
const KEPT: usize = 64;

impl Lulls {
    /// A lull begins now, or ends.
    pub(super) fn change(&mut self, now: Time, ends: bool) {
        self.changes.push((now, ends));
    }

    /// Whether there are so many changes that every lock has to see them.
    pub(super) const fn are_many(&self) -> bool {
        self.changes.len() >= KEPT
    }

    /// Every lock has seen all changes.
    pub(super) fn forget(&mut self) {
        self.gone = self.seen();
        self.changes.clear();
    }

    /// How many changes there were so far.
    pub(super) fn seen(&self) -> u64 {
        self.gone + self.changes.len() as u64
    }

    /// The changes that a lock has not seen, which has seen so many.
    fn unseen(&self, seen: u64) -> &[(Time, bool)] {
        let first = seen.checked_sub(self.gone).expect("changes are kept until all locks saw them");
        &self.changes[usize::try_from(first).expect("few changes are kept")..]
    }

    /// Whether a step of such a lock at `at` lies in a lull; `None`: it lies behind all changes.
    pub(super) fn lies_in_one(&self, seen: u64, at: Time) -> Option<bool> {
        let mut unseen = self.unseen(seen).iter();
        unseen.find(|&&(change, _)| at <= change).map(|&(_, ended)| ended)
    }

    /// Of the moments `at + period`, `at + 2 * period` and so on, so many: how many do not lie in a lull, where `at`
    /// does, or the other way round.
    pub(super) fn differing(&self, seen: u64, at: Time, (period, times): (TimeDelta, u64)) -> u64 {
        let unseen = self.unseen(seen);
        // What holds up to a change is the other way round behind it.
        let Some(&(last, ended)) = unseen.last() else { return 0 };
        let here = self.lies_in_one(seen, at).unwrap_or(!ended);
        let up_to =
            |moment: Time| times.min(moment.as_ps().saturating_sub(at.as_ps()) / period.as_ps());
        let mut before = 0;
        let mut differ = 0;
        for &(change, ended) in unseen {
            let until = up_to(change);
            if ended != here {
                differ += until - before;
            }
            before = until;
        }
        if ended == here { differ + times - up_to(last) } else { differ }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Moments are counted as they lie one by one, for every lock and every first moment.
    #[test]
    fn moments_on_the_other_side_are_counted_as_one_by_one() {
        let at = |ps| Time::ZERO + TimeDelta::from_ps(ps);
        let mut lulls = Lulls::default();
        for (place, ps) in [5, 9, 9, 20, 33].into_iter().enumerate() {
            lulls.change(at(ps), place % 2 == 0);
        }
        let lies = |seen: u64, ps: u64| {
            let behind = lulls.seen() % 2 == 0;
            lulls.lies_in_one(seen, at(ps)).unwrap_or(behind)
        };
        assert!(lies(0, 5) && !lies(0, 6) && lies(0, 21) && !lies(0, 34));
        assert_eq!(lulls.lies_in_one(5, at(5)), None, "a lock that has seen all changes");
        for seen in 0..=lulls.seen() {
            for (first, period, times) in
                (0..40).flat_map(|first| (1..9).map(move |period| (first, period, first % 13)))
            {
                let moments = (1..=times).map(|time| first + time * period);
                let differ = moments.filter(|&ps| lies(seen, ps) != lies(seen, first)).count();
                let period = TimeDelta::from_ps(period);
                let counted = lulls.differing(seen, at(first), (period, times));
                assert_eq!(counted, differ as u64, "{seen}, {first}");
            }
        }
        lulls.forget();
        assert_eq!((lulls.seen(), lulls.are_many()), (5, false));
        assert_eq!(lulls.differing(5, at(0), (TimeDelta::from_ps(1), 50)), 0);
    }
}
