//! A counter that shows its value late: the one of an HCA, which software polls.
//!
//! Readers of the counter of large RDMA operations see the value that it had a fixed time ago. What a
//! process shares in memory is exact: other counters are read as they are.
//!
//! Source: `coop` Sec. II-B2 counts in software, since counters of the HCA are too old to decide by.
//! Left out: the polls of a real counter, between which its age grows from nothing; noticeable where
//! messages come in step with them.

use std::collections::{BTreeMap, VecDeque};

use protocols::contract::{COUNTERS, Counter};
use units::{Time, TimeDelta};

/// The past of the counters that are seen late.
#[derive(Clone, Debug, Default)]
pub(super) struct DelayedCounters {
    lag: TimeDelta,
    /// When each counter got which value; values that no reader can see any more are dropped, but the last.
    past: BTreeMap<Counter, VecDeque<(Time, u32)>>,
}

impl DelayedCounters {
    pub(super) const fn new(lag: TimeDelta) -> Self {
        Self { lag, past: BTreeMap::new() }
    }

    fn is_late(&self, counter: Counter) -> bool {
        self.lag > TimeDelta::ZERO && matches!(counter, Counter::Offloads(_))
    }

    /// The counter has this value from `at` on.
    pub(super) fn changed(&mut self, counter: Counter, at: Time, value: u32) {
        if !self.is_late(counter) {
            return;
        }
        let past = self.past.entry(counter).or_default();
        // Threads that run ahead of the clock change counters ahead of it.
        let place = past.partition_point(|(since, _)| *since <= at);
        past.insert(place, (at, value));
    }

    /// The values that a reader sees at `at` of counters that have these values.
    pub(super) fn seen(
        &mut self,
        counters: [Counter; COUNTERS],
        at: Time,
        mut values: [u32; COUNTERS],
    ) -> [u32; COUNTERS] {
        for (counter, value) in counters.into_iter().zip(&mut values) {
            if self.is_late(counter) {
                *value = self.ago(counter, at);
            }
        }
        values
    }

    /// The value that a counter had a lag before `at`.
    fn ago(&mut self, counter: Counter, at: Time) -> u32 {
        let lag = self.lag;
        let Some(past) = self.past.get_mut(&counter) else { return 0 };
        let known = past.partition_point(|(since, _)| *since + lag <= at);
        past.drain(..known.saturating_sub(1));
        if known == 0 { 0 } else { past[0].1 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::contract::Process;

    fn at(ns: u64) -> Time {
        Time::ZERO + TimeDelta::from_ns(ns)
    }

    #[test]
    fn the_counter_of_the_hca_is_seen_late_and_others_are_not() {
        let (hca, copies) = (Counter::Offloads(0), Counter::Copies(Process(0)));
        let asked = [copies, hca, Counter::Offloads(1)];
        let mut delayed = DelayedCounters::new(TimeDelta::from_ns(10));
        for (ns, value) in [(5, 1), (7, 2), (20, 1)] {
            delayed.changed(hca, at(ns), value);
            delayed.changed(copies, at(ns), 9);
        }
        for (ns, seen) in [(14, 0), (15, 1), (16, 1), (17, 2), (29, 2), (30, 1), (99, 1)] {
            assert_eq!(delayed.seen(asked, at(ns), [9, 7, 3]), [9, seen, 0], "{ns} ns");
        }
        let mut exact = DelayedCounters::new(TimeDelta::ZERO);
        exact.changed(hca, at(5), 1);
        assert_eq!(exact.seen(asked, at(5), [9, 7, 3]), [9, 7, 3]);
    }
}
