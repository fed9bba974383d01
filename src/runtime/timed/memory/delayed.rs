//! A counter that shows its value late: that of hardware, which somebody polls.
//!
//! Readers of the counter of large RDMA operations see the value that it had a fixed time ago. What a
//! process shares in memory is exact: other counters are read as they are.
//!
//! Source: `coop` Sec. II-B2 counts in software, since counters of the HCA are too old to decide by.
//! Left out: the polls of a real counter, between which its age grows from nothing; noticeable where
//! messages come in step with them.

use std::collections::{BTreeMap, VecDeque};

use protocols::contract::{ASKED, Counter};
use units::{Time, TimeDelta};

/// The past of the counters that are seen late.
#[derive(Clone, Debug, Default)]
pub(in crate::timed) struct Stale {
    lag: TimeDelta,
    /// When each counter got which value; nothing is kept that nobody can see any more, but the last.
    past: BTreeMap<Counter, VecDeque<(Time, u32)>>,
}

impl Stale {
    pub(in crate::timed) const fn new(lag: TimeDelta) -> Self {
        Self { lag, past: BTreeMap::new() }
    }

    fn is_late(&self, counter: Counter) -> bool {
        self.lag > TimeDelta::ZERO && matches!(counter, Counter::Offloads(_))
    }

    /// The counter has this value from `at` on.
    pub(in crate::timed) fn changed(&mut self, counter: Counter, at: Time, value: u32) {
        if !self.is_late(counter) {
            return;
        }
        let past = self.past.entry(counter).or_default();
        // Threads that run ahead of the clock change counters ahead of it.
        let place = past.partition_point(|(since, _)| *since <= at);
        past.insert(place, (at, value));
    }

    /// What somebody who reads at `at` sees of counters that have these values.
    pub(in crate::timed) fn seen(
        &mut self,
        counters: [Counter; ASKED],
        at: Time,
        mut values: [u32; ASKED],
    ) -> [u32; ASKED] {
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
        let mut stale = Stale::new(TimeDelta::from_ns(10));
        for (ns, value) in [(5, 1), (7, 2), (20, 1)] {
            stale.changed(hca, at(ns), value);
            stale.changed(copies, at(ns), 9);
        }
        for (ns, seen) in [(14, 0), (15, 1), (16, 1), (17, 2), (29, 2), (30, 1), (99, 1)] {
            assert_eq!(stale.seen(asked, at(ns), [9, 7, 3]), [9, seen, 0], "{ns} ns");
        }
        let mut exact = Stale::new(TimeDelta::ZERO);
        exact.changed(hca, at(5), 1);
        assert_eq!(exact.seen(asked, at(5), [9, 7, 3]), [9, 7, 3]);
    }
}
