//! Numbers in memory that the processes of a node share: see [`Counter`].

use std::collections::BTreeMap;

use super::monitors::{LEFT_COUNTED, Violation};
use mpi::rma::ticket_lock::{Number, TicketLock};
use protocols::contract::{COUNTERS, Change, Counter};

const V5: &str = "a shared counter is never negative";

fn broken(counter: Counter, statement: &'static str, detail: String) -> Violation {
    Violation { id: "V5", statement, objects: vec![counter.to_string()], detail }
}

/// All counters of a job; those that were never changed are 0.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub struct Counters {
    /// None of them is 0: equal situations are equal values.
    values: BTreeMap<Counter, u32>,
}

impl Counters {
    /// The values of some counters.
    pub fn read(&self, counters: [Counter; COUNTERS]) -> [u32; COUNTERS] {
        counters.map(|counter| self.value(counter))
    }

    /// The value of one counter.
    pub fn value(&self, counter: Counter) -> u32 {
        self.values.get(&counter).copied().unwrap_or(0)
    }

    /// Changes a counter, and says what it is then; one that would become negative stays 0, and the
    /// law is broken.
    pub fn change(&mut self, counter: Counter, change: Change, found: &mut Vec<Violation>) -> u32 {
        let value = self.values.entry(counter).or_insert(0);
        match (change, *value) {
            (Change::Up, _) => *value += 1,
            (Change::Down, 0) => {
                found.push(broken(counter, V5, "it would be -1".to_owned()));
            }
            (Change::Down, _) => *value -= 1,
        }
        let now = *value;
        if now == 0 {
            self.values.remove(&counter);
        }
        if let Counter::Lock(lock, _) = counter {
            self.forget_if_idle(lock);
        }
        now
    }

    /// A lock whose three numbers are equal is free, and no process waits: it counts from 0 again.
    /// No process can tell, and equal situations are equal values.
    fn forget_if_idle(&mut self, lock: TicketLock) {
        let numbers = Number::ALL.map(|number| Counter::Lock(lock, number));
        let [tickets, readers, writers] = self.read(numbers);
        if tickets == readers && readers == writers {
            for counter in numbers {
                self.values.remove(&counter);
            }
        }
    }

    /// Everything is done: all counters of the library are 0 again, but for those that only go up. A lock
    /// that a program keeps is what it left open, which its window tells.
    pub fn end(&self, found: &mut Vec<Violation>) {
        let goes_down =
            |counter: &Counter| !matches!(counter, Counter::Lock(..) | Counter::Given(_));
        let left = self.values.iter().filter(|(counter, _)| goes_down(counter));
        found.extend(left.map(|(counter, value)| {
            broken(*counter, LEFT_COUNTED, format!("it is {value} at the end"))
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocols::contract::Process;

    #[test]
    fn counters_go_up_and_down_and_back_to_nothing() {
        let (one, other) = (Counter::Copies(Process(1)), Counter::Offloads(0));
        let (mut counters, mut found) = (Counters::default(), Vec::new());
        counters.change(one, Change::Up, &mut found);
        counters.change(one, Change::Up, &mut found);
        counters.change(other, Change::Up, &mut found);
        assert_eq!(counters.read([one, other, Counter::Offloads(1)]), [2, 1, 0]);
        counters.change(one, Change::Down, &mut found);
        counters.change(one, Change::Down, &mut found);
        counters.change(other, Change::Down, &mut found);
        counters.end(&mut found);
        assert!(found.is_empty(), "{found:?}");
        assert_eq!(counters, Counters::default());
    }

    #[test]
    fn a_lock_that_nobody_has_is_as_it_was_before() {
        let lock = TicketLock { memory: 0, rank: 1 };
        let (mut counters, mut found) = (Counters::default(), Vec::new());
        let mut up = |counters: &mut Counters, number| {
            counters.change(Counter::Lock(lock, number), Change::Up, &mut found);
        };
        for number in [Number::Tickets, Number::Writers] {
            up(&mut counters, number);
            assert_ne!(counters, Counters::default());
        }
        up(&mut counters, Number::Readers);
        assert_eq!(counters, Counters::default());
        up(&mut counters, Number::Tickets);
        assert_ne!(counters, Counters::default());
        counters.end(&mut found);
        assert!(found.is_empty(), "its window tells of a lock that is kept: {found:?}");
    }

    #[test]
    fn a_negative_counter_and_one_that_is_left_are_reported() {
        let (mut counters, mut found) = (Counters::default(), Vec::new());
        counters.change(Counter::Offloads(0), Change::Down, &mut found);
        assert_eq!(found.len(), 1);
        counters.change(Counter::Copies(Process(0)), Change::Up, &mut found);
        counters.change(Counter::Given(Process(0)), Change::Up, &mut found);
        counters.end(&mut found);
        assert_eq!(found.len(), 2, "what was given stays: {found:?}");
    }
}
