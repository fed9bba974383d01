//! Named streams of random numbers: a new consumer moves no other.
//!
//! A stream is named by its purpose and by the number of the object that it serves. The
//! generator is `ChaCha8` by name, since a library's default may change. Sampling is our own and in
//! integers: no logarithm of a math library takes part in a run.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use units::TimeDelta;

/// All streams of one seed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Streams {
    seed: u64,
}

impl Streams {
    /// The streams of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The stream of `object` for `purpose`, from its beginning.
    pub fn stream(self, purpose: &str, object: u32) -> Stream {
        let mut name = blake3::Hasher::new_derive_key("mpisim random stream, one key per purpose");
        name.update(&self.seed.to_le_bytes());
        name.update(purpose.as_bytes());
        let mut generator = ChaCha8Rng::from_seed(*name.finalize().as_bytes());
        generator.set_stream(u64::from(object));
        Stream { generator }
    }
}

/// One stream of random numbers.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Stream {
    generator: ChaCha8Rng,
}

impl Stream {
    /// 64 random bits.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.generator.next_u64()
    }

    /// A number from 0 to `n - 1`, each equally likely.
    ///
    /// # Panics
    ///
    /// When `n` is zero.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "there is no number below zero");
        // Lemire's method: the product's high half is the answer; a low half below 2^64 mod n
        // belongs to an incomplete group and is drawn again.
        let incomplete = n.wrapping_neg() % n;
        loop {
            let [low, high] = halves(u128::from(self.next_u64()) * u128::from(n));
            if low >= incomplete {
                return high;
            }
        }
    }

    /// A length of time from zero to `longest`, both included, each equally likely.
    pub fn up_to(&mut self, longest: TimeDelta) -> TimeDelta {
        let ps = match longest.as_ps().checked_add(1) {
            Some(n) => self.below(n),
            None => self.next_u64(),
        };
        TimeDelta::from_ps(ps)
    }

    /// True in `numerator` of `denominator` draws.
    ///
    /// # Panics
    ///
    /// When `denominator` is zero.
    pub fn chance(&mut self, numerator: u64, denominator: u64) -> bool {
        self.below(denominator) < numerator
    }

    /// A memoryless (exponential) length of time of this mean, rounded down to a picosecond; off
    /// by at most 2 millionths of the mean.
    ///
    /// # Panics
    ///
    /// When the result passes 213 days: it is at most 46 times the mean.
    pub fn exponential(&mut self, mean: TimeDelta) -> TimeDelta {
        let product = u128::from(mean.as_ps()) * u128::from(unit_exponential(self.next_u64()));
        let ps = u64::try_from(product >> UNIT_BITS);
        TimeDelta::from_ps(ps.expect("a drawn delay is below 213 simulated days"))
    }
}

/// Fraction bits of a unit exponential: its largest value, 46, needs six bits in front of them.
const UNIT_BITS: u32 = 58;

/// Steps of the table: the first bits of the fraction choose one, the next ones interpolate.
const STEP_BITS: u32 = 8;
const STEPS: usize = 1 << STEP_BITS;

/// `MINUS_LN[i]` is -ln(1 - i / 512) with [`UNIT_BITS`] fraction bits; the last one is ln 2.
static MINUS_LN: [u64; STEPS + 1] = minus_ln_table();

/// Minus the logarithm of a uniform number, with [`UNIT_BITS`] fraction bits.
///
/// The leading zeros of `bits` are the halvings of the number (each has the chance 1/2), the bits
/// after the first one tell where it lies between the last two halves.
fn unit_exponential(bits: u64) -> u64 {
    let halvings = bits.leading_zeros();
    let fraction = bits.checked_shl(halvings + 1).unwrap_or(0);
    let step = usize::try_from(fraction >> (64 - STEP_BITS)).expect("a step is below 256");
    let within = (fraction << STEP_BITS) >> 32;
    let (from, to) = (MINUS_LN[step], MINUS_LN[step + 1]);
    let [_, share] = halves(u128::from(to - from) * u128::from(within << 32));
    u64::from(halvings) * MINUS_LN[STEPS] + from + share
}

/// -ln(1 - x) = 2 atanh(z) for z = x / (2 - x), by its series in integers of 60 fraction bits.
const fn minus_ln_table() -> [u64; STEPS + 1] {
    const WIDE: u32 = 60;
    let mut table = [0; STEPS + 1];
    let mut step = 1;
    while step <= STEPS {
        let z = ((step as u128) << WIDE) / (4 * STEPS - step) as u128;
        let (mut power, mut sum, mut odd) = (z, 0, 1);
        while power > 0 {
            sum += power / odd;
            power = (((power * z) >> WIDE) * z) >> WIDE;
            odd += 2;
        }
        #[expect(clippy::cast_possible_truncation, reason = "at most ln 2, with 58 fraction bits")]
        {
            table[step] = ((2 * sum) >> (WIDE - UNIT_BITS)) as u64;
        }
        step += 1;
    }
    table
}

/// The low and the high 64 bits.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the two halves are wanted")]
const fn halves(wide: u128) -> [u64; 2] {
    [wide as u64, (wide >> 64) as u64]
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "the law is stated in real numbers")]
mod tests {
    use super::*;

    fn draws(stream: &mut Stream) -> Vec<u64> {
        (0..100).map(|_| stream.next_u64()).collect()
    }

    #[test]
    fn a_stream_is_the_same_whoever_else_draws() {
        let alone = draws(&mut Streams::new(7).stream("noise", 3));
        let streams = Streams::new(7);
        let mut other = streams.stream("skew", 3);
        let mut neighbour = streams.stream("noise", 4);
        let mut noise = streams.stream("noise", 3);
        let among_others: Vec<u64> = (0..100)
            .map(|_| {
                other.next_u64();
                neighbour.next_u64();
                noise.next_u64()
            })
            .collect();
        assert_eq!(among_others, alone);
    }

    #[test]
    fn seed_purpose_and_object_each_give_another_stream() {
        let named = [(7, "noise", 3), (8, "noise", 3), (7, "skew", 3), (7, "noise", 4)];
        let all: std::collections::BTreeSet<u64> = named
            .iter()
            .flat_map(|&(seed, purpose, object)| {
                draws(&mut Streams::new(seed).stream(purpose, object))
            })
            .collect();
        assert_eq!(all.len(), 400);
    }

    #[test]
    fn the_first_numbers_never_change() {
        let mut stream = Streams::new(1).stream("noise", 2);
        let first: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(
            first,
            [3_138_039_231_753_631_918, 7_401_386_246_911_538_570, 4_657_961_019_810_936_196]
        );
        assert_eq!(stream.below(1000), 929);
        assert_eq!(stream.exponential(TimeDelta::from_us(1)).as_ps(), 1_959_477);
    }

    #[test]
    fn below_hits_each_number_equally_often() {
        let mut stream = Streams::new(1).stream("below", 0);
        let mut hits = [0_u32; 6];
        for _ in 0..60_000 {
            hits[usize::try_from(stream.below(6)).unwrap()] += 1;
        }
        // Standard deviation 91: five of them.
        assert!(hits.iter().all(|&hits| hits.abs_diff(10_000) < 460), "{hits:?}");
        assert_eq!(stream.below(1), 0);
    }

    #[test]
    fn below_has_no_bias_where_a_remainder_would_have_one() {
        // Of 3 * 2^62 numbers, `next_u64() % n` would take the lower third twice as often.
        let (mut stream, third) = (Streams::new(1).stream("below", 1), 1 << 62);
        let low = (0..30_000).filter(|_| stream.below(3 * third) < third).count();
        assert!(low.abs_diff(10_000) < 410, "{low}");
    }

    #[test]
    fn up_to_reaches_both_ends() {
        let mut stream = Streams::new(1).stream("up to", 0);
        let drawn: std::collections::BTreeSet<u64> =
            (0..100).map(|_| stream.up_to(TimeDelta::from_ps(2)).as_ps()).collect();
        assert_eq!(drawn, [0, 1, 2].into());
        stream.up_to(TimeDelta::from_ps(u64::MAX));
    }

    #[test]
    fn the_table_is_the_logarithm() {
        for (step, &fixed) in MINUS_LN.iter().enumerate() {
            let exact = -(1.0 - step as f64 / 512.0).ln() * 2_f64.powi(58);
            assert!((fixed as f64 - exact).abs() < 2_f64.powi(12), "{step}: {fixed} {exact}");
        }
    }

    #[test]
    fn unit_exponentials_are_logarithms_within_two_millionths() {
        let mut stream = Streams::new(1).stream("bits", 0);
        for _ in 0..10_000 {
            let bits = stream.next_u64();
            let halvings = bits.leading_zeros();
            let fraction = (bits << (halvings + 1)) as f64 / 2_f64.powi(64);
            let exact = f64::from(halvings) * 2_f64.ln() - (1.0 - fraction / 2.0).ln();
            let fixed = unit_exponential(bits) as f64 / 2_f64.powi(58);
            assert!((fixed - exact).abs() < 2e-6, "{bits:x}: {fixed} {exact}");
        }
        let shortest = unit_exponential(1 << 63);
        let longest = [0, 1].map(unit_exponential);
        assert_eq!(shortest, 0);
        assert!(longest.iter().all(|&longest| longest < 46 << UNIT_BITS), "{longest:?}");
    }

    #[test]
    fn exponential_delays_have_the_mean_and_the_spread_of_the_law() {
        let (mut stream, n) = (Streams::new(1).stream("delay", 0), 200_000_u32);
        let mean = TimeDelta::from_us(3);
        let drawn: Vec<f64> = (0..n).map(|_| stream.exponential(mean).as_us_f64() / 3.0).collect();
        let average = drawn.iter().sum::<f64>() / f64::from(n);
        let square = drawn.iter().map(|delay| delay * delay).sum::<f64>() / f64::from(n);
        // E = 1 with standard error 0.0022; E^2 = 2 with standard error 0.01.
        assert!((average - 1.0).abs() < 0.011, "{average}");
        assert!((square - 2.0).abs() < 0.05, "{square}");
        assert_eq!(stream.exponential(TimeDelta::ZERO), TimeDelta::ZERO);
    }
}
