//! A core that loses time: to the operating system, and because it is slower for a while.

use super::core::Noise;
use super::profile::Ratio;
use units::{Time, TimeDelta};

/// A while in which work takes `factor` times as long.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Slow {
    /// When it begins.
    pub from: Time,
    /// When it ends; `None`: never.
    pub until: Option<Time>,
    /// At least one.
    pub factor: Ratio,
}

impl Slow {
    fn holds_at(&self, now: Time) -> bool {
        self.from <= now && self.until.is_none_or(|until| now < until)
    }
}

/// Noise and slowdown of a core.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SlowCore {
    /// Interruptions by the operating system.
    pub noise: Option<Noise>,
    /// When it is slower; where several hold at a time, their factors multiply.
    pub slow: Vec<Slow>,
}

impl SlowCore {
    /// When `work` that begins at `start` is done.
    pub fn end_of(&self, start: Time, work: TimeDelta) -> Time {
        let (mut now, mut left) = (start, work);
        loop {
            let factor = self.factor_at(now);
            let end = self.after_noise(now, factor.of(left));
            let Some(change) = self.next_change(now).filter(|&change| change < end) else {
                return end;
            };
            let free =
                self.noise.map_or(change.since(now), |noise| noise.free_between(now, change));
            left = left.saturating_sub(free.scaled(Ratio::ONE.as_ppm(), factor.as_ppm()));
            now = change;
        }
    }

    fn after_noise(&self, start: Time, work: TimeDelta) -> Time {
        self.noise.map_or(start + work, |noise| noise.end_of(start, work))
    }

    fn factor_at(&self, now: Time) -> Ratio {
        let slow = self.slow.iter().filter(|slow| slow.holds_at(now));
        slow.fold(Ratio::ONE, |all, slow| {
            let product = u128::from(all.as_ppm()) * u128::from(slow.factor.as_ppm());
            let ppm = u64::try_from(product / u128::from(Ratio::ONE.as_ppm()));
            Ratio::from_ppm(ppm.expect("a few factors below a million each"))
        })
    }

    fn next_change(&self, now: Time) -> Option<Time> {
        let moments = self.slow.iter().flat_map(|slow| [Some(slow.from), slow.until]);
        moments.flatten().filter(|&moment| moment > now).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ps(ps: u64) -> TimeDelta {
        TimeDelta::from_ps(ps)
    }

    fn at(ps: u64) -> Time {
        Time::from_ps(ps)
    }

    fn slow(from: u64, until: Option<u64>, factor_ppm: u64) -> Slow {
        Slow { from: at(from), until: until.map(at), factor: Ratio::from_ppm(factor_ppm) }
    }

    fn core(slow: &[Slow]) -> SlowCore {
        SlowCore { noise: None, slow: slow.to_vec() }
    }

    #[test]
    fn a_slow_while_stretches_the_work_inside_it() {
        let core = core(&[slow(100, Some(200), 2_000_000)]);
        assert_eq!(core.end_of(at(0), ps(80)), at(80), "before");
        assert_eq!(core.end_of(at(50), ps(60)), at(120), "50 before, 10 at half speed");
        assert_eq!(core.end_of(at(50), ps(150)), at(250), "50 before, 50 inside, 50 after");
        assert_eq!(core.end_of(at(300), ps(7)), at(307), "after");
    }

    #[test]
    fn factors_multiply_and_may_last() {
        let core = core(&[slow(0, None, 2_000_000), slow(10, None, 1_500_000)]);
        assert_eq!(core.end_of(at(10), ps(10)), at(40));
    }

    #[test]
    fn noise_takes_its_part_of_a_slow_while() {
        let noise = Noise::new(ps(1_000), ps(50), ps(0));
        let slow = vec![slow(500, Some(1_500), 3_000_000)];
        let both = SlowCore { noise: Some(noise), slow };
        // Until 500: 450 of free time; until 1,500: 950 of free time are 317 of work.
        assert_eq!(noise.free_between(at(0), at(500)), ps(450));
        assert_eq!(noise.free_between(at(500), at(1_500)), ps(950));
        assert_eq!(both.end_of(at(0), ps(450 + 317 + 10)), at(1_510));
    }
}
