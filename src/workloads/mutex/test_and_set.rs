//! Test and set: compare-and-swap until it succeeds, with pauses that double. It is the bad example: every
//! try is an operation on the host, and a rank may wait for ever.
//!
//! Source: Mellor-Crummey and Scott, 1991 (the baseline of that paper).

use super::steps::{
    HOST, LOCK, Me, NOBODY, Pauses, Steps, Turn, WORD, buffer, compare_and_swap, swap,
};
use mpi::observation::Observation;
use protocols::contract::{Next, Region};
use protocols::rma::call::At;

const OWNER: At = At::contiguous(0, WORD);
/// No rank, and then this rank.
/// Encoding: number of a buffer.
const OPERANDS: Region = buffer(0, 2 * WORD);
const FOUND: Region = buffer(1, WORD);
/// Encoding: number of a buffer.
const EMPTY: Region = buffer(2, WORD);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Point {
    Try,
    Tried,
    Found,
    Judge,
    Pause,
    GiveBack,
    GivenBack,
    Over,
}

/// One rank of the mutex.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct TestAndSet {
    at: Point,
    failures: u32,
    pauses: Pauses,
}

/// The words that a rank writes before the first cycle.
pub(super) fn preparation(step: u8, me: Me) -> Option<(Region, u64)> {
    match step {
        0 => Some((OPERANDS, u64::from(me.rank) << 32 | NOBODY)),
        1 => Some((EMPTY, NOBODY)),
        2 if me.rank == HOST => Some((me.own(0, WORD), NOBODY)),
        _ => None,
    }
}

impl TestAndSet {
    pub(super) const fn new(pauses: Pauses) -> Self {
        Self { at: Point::Try, failures: 0, pauses }
    }

    fn go(&mut self, at: Point, turn: Turn) -> Turn {
        self.at = at;
        turn
    }
}

impl Steps for TestAndSet {
    fn acquire(&mut self, value: u64) -> Turn {
        match self.at {
            Point::Try => {
                self.go(Point::Tried, Turn::operate(HOST, OWNER, compare_and_swap(OPERANDS, FOUND)))
            }
            Point::Tried => self.go(Point::Found, Turn::flush(HOST)),
            Point::Found => self.go(Point::Judge, Turn::consume(FOUND)),
            Point::Judge if value == NOBODY => {
                self.failures = 0;
                self.go(Point::GiveBack, Turn::Done)
            }
            // The mutex promises no order. The monitor counts from the first try that fails.
            Point::Judge if self.failures == 0 => {
                let fact = Observation::LockWaits { lock: LOCK, most: None };
                self.go(Point::Pause, Turn::Step(Next::Tell(fact)))
            }
            Point::Judge | Point::Pause => {
                let Pauses { first, doublings } = self.pauses;
                let pause = first << self.failures;
                self.failures = (self.failures + 1).min(doublings);
                self.go(Point::Try, Turn::Step(Next::Compute(pause)))
            }
            Point::GiveBack | Point::GivenBack | Point::Over => Turn::Done,
        }
    }

    fn release(&mut self, _: u64) -> Turn {
        match self.at {
            Point::GiveBack => {
                self.go(Point::GivenBack, Turn::operate(HOST, OWNER, swap(EMPTY, None)))
            }
            Point::GivenBack => self.go(Point::Over, Turn::flush(HOST)),
            Point::Try
            | Point::Tried
            | Point::Found
            | Point::Judge
            | Point::Pause
            | Point::Over => self.go(Point::Try, Turn::Done),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses of a rank that never succeeds.
    fn pauses(first: u64, doublings: u32, count: usize) -> Vec<u64> {
        let mut mutex = TestAndSet::new(Pauses { first, doublings });
        let someone = 0;
        let steps = std::iter::repeat_with(|| mutex.acquire(someone));
        let pause = |turn| match turn {
            Turn::Step(Next::Compute(pause)) => Some(pause),
            Turn::Step(_) | Turn::Done => None,
        };
        steps.filter_map(pause).take(count).collect()
    }

    #[test]
    fn a_pause_is_twice_as_long_as_the_one_before_it_up_to_the_last_doubling() {
        assert_eq!(pauses(5, 2, 5), [5, 10, 20, 20, 20]);
        assert_eq!(pauses(7, 0, 3), [7, 7, 7]);
        let Pauses { first, doublings } = Pauses::default();
        assert_eq!(pauses(first, doublings, 8).last(), Some(&(first << 6)));
    }
}
