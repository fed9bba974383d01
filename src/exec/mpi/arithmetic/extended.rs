//! `long double` of x86-64: 80 bits, of which the first 64 are the fraction with its leading bit.
//!
//! Sums and products are rounded to the nearest, as the x87 unit does. Source: Intel 64 and IA-32 Architectures
//! Software Developer's Manual, volume 1, Sec. 4.2.2 and 8.2. What is no number has one form.

use std::cmp::Ordering;

/// Bytes of a number in memory, six of them unused.
pub(super) const WIDTH: usize = 16;
const BIAS: i32 = 16_383;
/// The exponent of infinity and of what is no number.
const GREATEST: i32 = 0x7fff;
const LEADING: u64 = 1 << 63;

/// A number: its value is `fraction / 2^63 * 2^(exponent - BIAS)`.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Extended {
    is_negative: bool,
    exponent: i32,
    fraction: u64,
}

impl Extended {
    const NAN: Self =
        Self { is_negative: true, exponent: GREATEST, fraction: LEADING | LEADING >> 1 };

    /// The number in these bytes, of which there are ten at least.
    pub(super) fn read(bytes: &[u8]) -> Self {
        let fraction = u64::from_le_bytes(std::array::from_fn(|at| bytes[at]));
        let head = u16::from_le_bytes([bytes[8], bytes[9]]);
        Self { is_negative: head >> 15 == 1, exponent: (head & 0x7fff).into(), fraction }
    }

    /// Its bytes in memory.
    pub(super) fn bytes(self) -> [u8; WIDTH] {
        let mut bytes = [0; WIDTH];
        bytes[..8].copy_from_slice(&self.fraction.to_le_bytes());
        let head = u16::try_from(self.exponent).expect("15 bits");
        let head = head | u16::from(self.is_negative) << 15;
        bytes[8..10].copy_from_slice(&head.to_le_bytes());
        bytes
    }

    /// The same with the other sign.
    pub(super) const fn negated(self) -> Self {
        Self { is_negative: !self.is_negative, ..self }
    }

    const fn is_nan(self) -> bool {
        self.exponent == GREATEST && self.fraction != LEADING
    }

    const fn is_infinite(self) -> bool {
        self.exponent == GREATEST && self.fraction == LEADING
    }

    const fn infinity(is_negative: bool) -> Self {
        Self { is_negative, exponent: GREATEST, fraction: LEADING }
    }

    /// The exponent of its fraction: subnormal numbers have that of the least normal one.
    const fn scale(self) -> i32 {
        if self.exponent == 0 { 1 } else { self.exponent }
    }

    /// The nearest number to `wide / 2^127 * 2^(exponent - BIAS)`; the lowest bit stands for all that were lost.
    fn rounded(is_negative: bool, exponent: i32, wide: u128) -> Self {
        if wide == 0 {
            return Self { is_negative, exponent: 0, fraction: 0 };
        }
        let zeros = wide.leading_zeros();
        let (mut wide, mut exponent) = (wide << zeros, exponent - zeros.cast_signed());
        if exponent <= 0 {
            wide = shifted(wide, (1 - exponent).unsigned_abs());
            exponent = 0;
        }
        let [top, rest] = [wide >> 64, wide & u128::from(u64::MAX)]
            .map(|half| u64::try_from(half).expect("64 bits"));
        let up = rest > LEADING || rest == LEADING && top & 1 == 1;
        let (mut fraction, carries) = top.overflowing_add(u64::from(up));
        if carries {
            (fraction, exponent) = (LEADING, exponent + 1);
        } else if exponent == 0 && fraction & LEADING != 0 {
            exponent = 1;
        }
        if exponent >= GREATEST {
            return Self::infinity(is_negative);
        }
        Self { is_negative, exponent, fraction }
    }

    /// The sum.
    pub(super) fn plus(self, other: Self) -> Self {
        if self.is_nan() || other.is_nan() {
            return Self::NAN;
        }
        match (self.is_infinite(), other.is_infinite()) {
            (true, true) if self.is_negative != other.is_negative => return Self::NAN,
            (true, _) => return self,
            (_, true) => return other,
            (false, false) => {}
        }
        let magnitude = |one: Self| (one.scale(), one.fraction);
        let (large, small) =
            if magnitude(self) >= magnitude(other) { (self, other) } else { (other, self) };
        let [mine, others] = [large, small].map(|one| u128::from(one.fraction) << 63);
        let distance = (large.scale() - small.scale()).unsigned_abs();
        let others = shifted(others, distance);
        let wide =
            if large.is_negative == small.is_negative { mine + others } else { mine - others };
        // A sum of opposites is +0.
        let is_negative = large.is_negative && (wide != 0 || self.is_negative == other.is_negative);
        Self::rounded(is_negative, large.scale() + 1, wide)
    }

    /// The product.
    pub(super) fn times(self, other: Self) -> Self {
        let is_negative = self.is_negative != other.is_negative;
        let is_zero = |one: Self| one.fraction == 0;
        if self.is_nan() || other.is_nan() {
            return Self::NAN;
        }
        if self.is_infinite() || other.is_infinite() {
            let of_nothing = is_zero(self) || is_zero(other);
            return if of_nothing { Self::NAN } else { Self::infinity(is_negative) };
        }
        let wide = u128::from(self.fraction) * u128::from(other.fraction);
        Self::rounded(is_negative, self.scale() + other.scale() - BIAS + 1, wide)
    }

    /// Which is greater; what is no number is neither.
    pub(super) fn compare(self, other: Self) -> Option<Ordering> {
        if self.is_nan() || other.is_nan() {
            return None;
        }
        let signed = |one: Self| {
            let magnitude = i128::from(one.exponent) << 64 | i128::from(one.fraction);
            if one.is_negative { -magnitude } else { magnitude }
        };
        Some(signed(self).cmp(&signed(other)))
    }
}

/// A number shifted to the right; its lowest bit stands for those that are lost, too.
fn shifted(wide: u128, by: u32) -> u128 {
    match by {
        0 => wide,
        1..128 => wide >> by | u128::from(wide & ((1 << by) - 1) != 0),
        _ => u128::from(wide != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A double is a long double with eleven bits of its fraction less.
    fn of(value: f64) -> Extended {
        let bits = value.to_bits();
        let (exponent, fraction) = ((bits >> 52 & 0x7ff) as i32, bits << 11 & (LEADING - 1));
        let is_negative = bits >> 63 == 1;
        match exponent {
            0 => Extended { is_negative, exponent: 0, fraction: 0 },
            0x7ff if fraction != 0 => Extended::NAN,
            0x7ff => Extended::infinity(is_negative),
            _ => Extended {
                is_negative,
                exponent: exponent - 1023 + BIAS,
                fraction: LEADING | fraction,
            },
        }
    }

    #[test]
    fn whole_numbers_and_halves_are_exact() {
        for (a, b) in [(1.5, 2.25), (-3.0, 3.0), (1e15, -0.5), (7.0, 0.0), (-0.125, 1e10)] {
            assert_eq!(of(a).plus(of(b)), of(a + b), "{a} + {b}");
            assert_eq!(of(b).plus(of(a)), of(a + b), "{b} + {a}");
            assert_eq!(of(a).times(of(b)), of(a * b), "{a} * {b}");
            assert_eq!(of(a).compare(of(b)), a.partial_cmp(&b));
        }
        assert_eq!(Extended::read(&of(-12.75).bytes()), of(-12.75));
    }

    #[test]
    fn the_nearest_is_taken_and_of_two_the_even_one() {
        let one = of(1.0);
        let last = Extended { is_negative: false, exponent: BIAS - 63, fraction: LEADING };
        let half = Extended { exponent: BIAS - 64, ..last };
        let below = Extended { exponent: BIAS - 65, ..last };
        assert_eq!(one.plus(last), Extended { fraction: LEADING + 1, ..one });
        assert_eq!(one.plus(half), one);
        assert_eq!(one.plus(last).plus(half), Extended { fraction: LEADING + 2, ..one });
        assert_eq!(one.plus(half.plus(below)), Extended { fraction: LEADING + 1, ..one });
        let all = Extended { fraction: u64::MAX, ..one };
        assert_eq!(all.plus(half.plus(below)), of(2.0));
        assert_eq!(all.times(all).exponent, BIAS + 1);
    }

    #[test]
    fn what_is_too_large_is_infinite_and_what_is_too_small_loses_bits() {
        let large = Extended { is_negative: true, exponent: GREATEST - 1, fraction: LEADING };
        assert_eq!(large.plus(large), Extended::infinity(true));
        assert!(large.plus(large).plus(Extended::infinity(false)).is_nan());
        let small = Extended { is_negative: false, exponent: 1, fraction: LEADING };
        let half = small.times(of(0.5));
        assert_eq!((half.exponent, half.fraction), (0, LEADING >> 1));
        assert_eq!(half.plus(half), small);
        assert_eq!(small.times(small), of(0.0));
    }
}
