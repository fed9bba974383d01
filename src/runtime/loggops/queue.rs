//! What is due, in the order (time, stamp): the engine's queue, and a heap for its exceptions.
//!
//! An element has its stamp for life: put back to a later time, it still goes before those of that
//! time that were made after it. The engine's queue gives this order with the stamp as source,
//! since what is pushed to the time being processed joins its next round, and is new there. Two
//! kinds of element do not fit, and wait in the heap: an old one that is due at once (work that
//! takes no time), and one that is due in the past (a dependant on another CPU than the one whose
//! clock the dependency moved).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use engine::{EventQueue, Popped, SourceId};
use units::Time;

/// When, stamp, and what.
pub(super) type Due = (u64, u32, u32);

/// Elements in the order (time, stamp).
#[derive(Debug, Default)]
pub(super) struct Queue {
    wheel: EventQueue<u32>,
    aside: BinaryHeap<Reverse<Due>>,
    /// The first of the wheel, while it is compared with the heap.
    held: Option<Due>,
    /// The next stamp.
    stamps: u32,
}

impl Queue {
    /// Adds a new element; its stamp.
    #[inline]
    pub(super) fn push_new(&mut self, time: u64, what: u32) -> u32 {
        let stamp = self.stamps;
        self.stamps += 1;
        if time >= self.wheel.now().as_ps() {
            self.wheel.push(Time::from_ps(time), SourceId(stamp), what);
        } else {
            self.aside.push(Reverse((time, stamp, what)));
        }
        stamp
    }

    /// A stamp for an element that is made now and pushed later.
    #[inline]
    pub(super) fn push_back(&mut self, time: u64, stamp: u32, what: u32) {
        if time > self.wheel.now().as_ps() {
            self.wheel.push(Time::from_ps(time), SourceId(stamp), what);
        } else {
            self.aside.push(Reverse((time, stamp, what)));
        }
    }

    /// Takes the next element.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Due> {
        if self.aside.is_empty() && self.held.is_none() {
            return self.wheel.pop().map(due);
        }
        self.pop_beside()
    }

    #[inline(never)]
    fn pop_beside(&mut self) -> Option<Due> {
        let aside = self.aside.peek().map(|Reverse(first)| *first);
        if let (None, Some((until, ..))) = (self.held, aside) {
            self.held = self.wheel.pop_until(Time::from_ps(until)).map(due);
        }
        match (self.held, aside) {
            (Some(held), Some(first)) if first < held => self.pop_aside(),
            (None, Some(_)) => self.pop_aside(),
            (Some(_), _) => self.held.take(),
            (None, None) => None,
        }
    }

    fn pop_aside(&mut self) -> Option<Due> {
        self.aside.pop().map(|Reverse(first)| first)
    }
}

fn due(popped: Popped<u32>) -> Due {
    (popped.time.as_ps(), popped.source.0, popped.event)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng as _};
    use rand_chacha::ChaCha8Rng;

    /// The same with one heap.
    #[derive(Default)]
    struct Plain(BinaryHeap<Reverse<Due>>);

    #[test]
    fn the_order_is_that_of_one_heap_whatever_is_put_back() {
        let mut random = ChaCha8Rng::seed_from_u64(7);
        for _ in 0..200 {
            let (mut queue, mut plain) = (Queue::default(), Plain::default());
            for what in 0..40 {
                let time = random.random_range(0..4);
                let stamp = queue.push_new(time, what);
                plain.0.push(Reverse((time, stamp, what)));
            }
            for what in 40..2000 {
                let (time, stamp, popped) = queue.pop().unwrap();
                assert_eq!(plain.0.pop(), Some(Reverse((time, stamp, popped))));
                if random.random_bool(0.5) {
                    // Put back, at times without any delay.
                    let later = time + random.random_range(0..3);
                    queue.push_back(later, stamp, popped);
                    plain.0.push(Reverse((later, stamp, popped)));
                    if queue.stamps.is_multiple_of(7) {
                        continue;
                    }
                }
                // New, at times in the past.
                let at = (time + random.random_range(0..5)).saturating_sub(1);
                let new = queue.push_new(at, what);
                plain.0.push(Reverse((at, new, what)));
            }
            while let Some(Reverse(wanted)) = plain.0.pop() {
                assert_eq!(queue.pop(), Some(wanted));
            }
            assert_eq!(queue.pop(), None);
        }
    }
}
