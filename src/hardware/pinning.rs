//! Pages of one address space that several callers pin at once.
//!
//! ```text
//!   one caller     page, page, page …           each takes the page cost
//!   n callers      each page of each takes the page cost x (1 + k (n - 1))
//! ```
//!
//! They share the lock of the address space: k is the part of a page's cost that grows with each
//! further caller, and the speed of all changes when one joins or leaves.
//!
//! Source: the form of the cost is that of kernel-assisted copies in `coop`'s own sources (contention
//! study of CLUSTER 2017). Left out: who comes first among callers; all advance alike. Noticeable in
//! the order in which copies of one root end.

use super::value::Ratio;
use units::{Time, TimeDelta};

/// One, as [`Ratio`]s count.
/// Encoding: a ratio is in millionths.
const PARTS: u128 = 1_000_000;

/// The callers that pin pages of one address space.
#[derive(Debug, Default)]
pub struct Pinning {
    /// Callers, and of each the rest of the time it would take alone, in [`PARTS`] of a picosecond.
    callers: Vec<(u32, u128)>,
    /// Until when that is accounted for.
    until: Time,
    /// Changes with every caller that joins or leaves: an end computed before is stale.
    generation: u32,
}

impl Pinning {
    /// Time that each of the present callers needs for work that takes one alone [`PARTS`].
    fn slowdown(&self, growth: Ratio) -> u128 {
        let others = (self.callers.len() as u128).saturating_sub(1);
        PARTS + u128::from(growth.as_ppm()) * others
    }

    /// All callers advance until `now`.
    fn advance(&mut self, now: Time, growth: Ratio) {
        let elapsed = now.since(self.until);
        let passed = u128::from(elapsed.as_ps()) * PARTS;
        let slowdown = self.slowdown(growth);
        let alone = passed * PARTS / slowdown;
        for (_, left) in &mut self.callers {
            *left = left.saturating_sub(alone);
        }
        self.until = now;
    }

    /// `caller` begins to pin pages that take `alone` if no other process does.
    pub fn join(&mut self, now: Time, caller: u32, alone: TimeDelta, growth: Ratio) {
        self.advance(now, growth);
        self.callers.push((caller, u128::from(alone.as_ps()) * PARTS));
        self.generation += 1;
    }

    /// When to look again, and the generation that this holds for; `None` when no process pins.
    ///
    /// # Panics
    ///
    /// Where that is more than 213 simulated days away.
    pub fn next_end(&self, growth: Ratio) -> Option<(Time, u32)> {
        let least = self.callers.iter().map(|(_, left)| *left).min()?;
        let ps = (least * self.slowdown(growth)).div_ceil(PARTS * PARTS);
        let ps = u64::try_from(ps).expect("pinning takes less than 213 simulated days");
        Some((self.until + TimeDelta::from_ps(ps), self.generation))
    }

    /// Whether an end computed for this generation still holds.
    pub const fn is_of(&self, generation: u32) -> bool {
        self.generation == generation
    }

    /// Those whose pages are pinned at `now`; none where `generation` is stale.
    pub fn ended(&mut self, now: Time, generation: u32, growth: Ratio) -> Vec<u32> {
        if !self.is_of(generation) {
            return Vec::new();
        }
        // The end of a pinning was computed for this moment: rounding leaves less than a picosecond.
        let slack = PARTS;
        self.advance(now, growth);
        let done = self.callers.iter().filter(|(_, left)| *left < slack).map(|(who, _)| *who);
        let done = done.collect();
        self.callers.retain(|(_, left)| *left >= slack);
        self.generation += 1;
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: Ratio = Ratio::from_ppm(700_000);

    fn us(us: u64) -> Time {
        Time::ZERO + TimeDelta::from_us(us)
    }

    #[test]
    fn a_caller_alone_takes_the_page_cost() {
        let mut lock = Pinning::default();
        lock.join(us(1), 7, TimeDelta::from_us(10), K);
        let (at, generation) = lock.next_end(K).unwrap();
        assert_eq!(at, us(11));
        assert_eq!(lock.ended(at, generation, K), [7]);
        assert_eq!(lock.next_end(K), None);
    }

    #[test]
    fn n_equal_callers_take_one_plus_k_times_the_others() {
        let mut lock = Pinning::default();
        for caller in 0..27 {
            lock.join(us(0), caller, TimeDelta::from_us(10), K);
        }
        let (at, generation) = lock.next_end(K).unwrap();
        // 10 us x (1 + 0.7 x 26).
        assert_eq!(at, us(192));
        assert_eq!(lock.ended(at, generation, K).len(), 27);
    }

    #[test]
    fn one_that_joins_slows_the_other_from_then_on() {
        let mut lock = Pinning::default();
        lock.join(us(0), 0, TimeDelta::from_us(10), K);
        let (_, stale) = lock.next_end(K).unwrap();
        lock.join(us(5), 1, TimeDelta::from_us(10), K);
        assert!(lock.ended(us(10), stale, K).is_empty());
        // 5 us are left at 1 / 1.7 of the speed.
        let (at, generation) = lock.next_end(K).unwrap();
        assert_eq!(at, us(5) + TimeDelta::from_ns(8_500));
        assert_eq!(lock.ended(at, generation, K), [0]);
        // The other has 5 us left, and is alone.
        let (end, generation) = lock.next_end(K).unwrap();
        assert_eq!(end, at + TimeDelta::from_us(5));
        assert_eq!(lock.ended(end, generation, K), [1]);
    }
}
