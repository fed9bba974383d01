//! What a profile parameter can hold: a quantity with its unit, a count, a ratio or a flag.

use std::fmt;

use units::{
    Bandwidth, Bytes, CostPerByte, Dimension, Frequency, QuantityError, Rate, TimeDelta,
    parse_quantity,
};

/// Millionths in a whole.
/// Encoding: a ratio is in millionths.
const PPM: u64 = 1_000_000;

/// A ratio in whole millionths, so that `0.9697` is exact.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Ratio(u64);

impl Ratio {
    /// One to one.
    pub const ONE: Self = Self(PPM);

    /// `ppm` millionths.
    pub const fn from_ppm(ppm: u64) -> Self {
        Self(ppm)
    }

    /// A plain decimal number with at most six digits after the point; `None` where it is none.
    pub fn parse(text: &str) -> Option<Self> {
        parse_ppm(text).map(Self)
    }

    /// Millionths.
    pub const fn as_ppm(self) -> u64 {
        self.0
    }

    /// `time` multiplied by this ratio, rounded up to a picosecond.
    pub fn of(self, time: TimeDelta) -> TimeDelta {
        time.scaled(self.0, PPM)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0 / PPM, self.0 % PPM);
        if rest == 0 {
            return write!(f, "{whole}");
        }
        let digits = format!("{rest:06}");
        write!(f, "{whole}.{}", digits.trim_end_matches('0'))
    }
}

/// The kind of value that a parameter takes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A length of time.
    Time,
    /// A number of bytes.
    Bytes,
    /// A data rate.
    Bandwidth,
    /// A rate of messages.
    Rate,
    /// A cost per byte.
    CostPerByte,
    /// A clock frequency.
    Frequency,
    /// A whole number.
    Count,
    /// A plain decimal number with at most six digits after the point.
    Ratio,
    /// `true` or `false`.
    Flag,
}

impl Kind {
    /// The dimension whose units a text of this kind carries; `None` for plain numbers and flags.
    pub const fn dimension(self) -> Option<Dimension> {
        match self {
            Self::Time => Some(Dimension::Time),
            Self::Bytes => Some(Dimension::Bytes),
            Self::Bandwidth => Some(Dimension::Bandwidth),
            Self::Rate => Some(Dimension::Rate),
            Self::CostPerByte => Some(Dimension::CostPerByte),
            Self::Frequency => Some(Dimension::Frequency),
            Self::Count | Self::Ratio | Self::Flag => None,
        }
    }

    /// The kind in words, with an article.
    pub const fn in_words(self) -> &'static str {
        match (self.dimension(), self) {
            (Some(dimension), _) => dimension.in_words(),
            (None, Self::Count) => "a whole number",
            (None, Self::Flag) => "true or false",
            (None, _) => "a plain number with at most six decimals",
        }
    }

    /// Reads a text, or the plain JSON form of a count, ratio or flag, as a value of this kind.
    ///
    /// # Errors
    ///
    /// A [`ValueError`] that says what is wrong with the text.
    pub fn parse(self, text: &str) -> Result<Value, ValueError> {
        let text = text.trim();
        let plain = match (self.dimension(), self) {
            (Some(dimension), _) => return Ok(self.value(parse_quantity(text, dimension)?)),
            (None, Self::Count) => text.parse().ok().map(Value::Count),
            (None, Self::Flag) => text.parse().ok().map(Value::Flag),
            (None, _) => parse_ppm(text).map(|ppm| Value::Ratio(Ratio(ppm))),
        };
        plain.ok_or_else(|| ValueError::Plain { found: text.to_owned(), expected: self.in_words() })
    }

    /// The value of `steps` smallest steps: picoseconds, bytes, bits per second, millionths, ...
    ///
    /// # Panics
    ///
    /// When a count passes 32 bits; [`Self::parse`] and [`Value::steps`] give none such.
    pub fn value(self, steps: u64) -> Value {
        match self {
            Self::Time => Value::Time(TimeDelta::from_ps(steps)),
            Self::Bytes => Value::Bytes(Bytes::new(steps)),
            Self::Bandwidth => Value::Bandwidth(Bandwidth::from_bit_per_s(steps)),
            Self::Rate => Value::Rate(Rate::from_per_s(steps)),
            Self::CostPerByte => Value::CostPerByte(CostPerByte::from_as_per_byte(steps)),
            Self::Frequency => Value::Frequency(Frequency::from_hz(steps)),
            Self::Count => Value::Count(u32::try_from(steps).expect("a count has 32 bits")),
            Self::Ratio => Value::Ratio(Ratio(steps)),
            Self::Flag => Value::Flag(steps != 0),
        }
    }
}

/// A plain decimal number in millionths; `None` where it is not one or is finer than that.
fn parse_ppm(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || fraction.len() > 6 {
        return None;
    }
    let millionths: u64 = format!("{fraction:0<6}").parse().ok()?;
    whole.parse::<u64>().ok()?.checked_mul(PPM)?.checked_add(millionths)
}

/// Why a text is not a value of the wanted kind.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ValueError {
    /// A quantity with a wrong number or unit.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// Not a count, ratio or flag.
    #[error("`{found}` is not {expected}")]
    Plain {
        /// The text as written.
        found: String,
        /// The value that is needed, in words.
        expected: &'static str,
    },
}

/// The value of one parameter.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Value {
    /// A length of time.
    Time(TimeDelta),
    /// A number of bytes.
    Bytes(Bytes),
    /// A data rate.
    Bandwidth(Bandwidth),
    /// A rate of messages.
    Rate(Rate),
    /// A cost per byte.
    CostPerByte(CostPerByte),
    /// A clock frequency.
    Frequency(Frequency),
    /// A whole number.
    Count(u32),
    /// A plain number.
    Ratio(Ratio),
    /// A switch.
    Flag(bool),
}

impl Value {
    /// The kind of this value.
    pub const fn kind(self) -> Kind {
        match self {
            Self::Time(_) => Kind::Time,
            Self::Bytes(_) => Kind::Bytes,
            Self::Bandwidth(_) => Kind::Bandwidth,
            Self::Rate(_) => Kind::Rate,
            Self::CostPerByte(_) => Kind::CostPerByte,
            Self::Frequency(_) => Kind::Frequency,
            Self::Count(_) => Kind::Count,
            Self::Ratio(_) => Kind::Ratio,
            Self::Flag(_) => Kind::Flag,
        }
    }

    /// The value in the smallest steps of its kind.
    pub const fn steps(self) -> u64 {
        match self {
            Self::Time(v) => v.as_ps(),
            Self::Bytes(v) => v.as_u64(),
            Self::Bandwidth(v) => v.as_bit_per_s(),
            Self::Rate(v) => v.as_per_s(),
            Self::CostPerByte(v) => v.as_as_per_byte(),
            Self::Frequency(v) => v.as_hz(),
            Self::Count(v) => v as u64,
            Self::Ratio(v) => v.as_ppm(),
            Self::Flag(v) => v as u64,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Time(v) => v.fmt(f),
            Self::Bytes(v) => v.fmt(f),
            Self::Bandwidth(v) => v.fmt(f),
            Self::Rate(v) => v.fmt(f),
            Self::CostPerByte(v) => v.fmt(f),
            Self::Frequency(v) => v.fmt(f),
            Self::Count(v) => v.fmt(f),
            Self::Ratio(v) => v.fmt(f),
            Self::Flag(v) => v.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_round_trip(kind: Kind, text: &str, steps: u64) {
        let value = kind.parse(text).unwrap();
        assert_eq!((value.kind(), value.steps()), (kind, steps));
        assert_eq!(value.to_string(), text);
        assert_eq!(kind.value(steps), value);
    }

    #[test]
    fn values_of_every_kind_parse_and_print_exactly() {
        check_round_trip(Kind::Time, "2.9 ns", 2_900);
        check_round_trip(Kind::Bytes, "35 MiB", 35 << 20);
        check_round_trip(Kind::Bandwidth, "15.75 GB/s", 126_000_000_000);
        check_round_trip(Kind::Rate, "20 Mmsg/s", 20_000_000);
        check_round_trip(Kind::CostPerByte, "0.007 ns/B", 7_000_000);
        check_round_trip(Kind::Frequency, "1.053 GHz", 1_053_000_000);
        check_round_trip(Kind::Count, "60", 60);
        check_round_trip(Kind::Ratio, "0.9697", 969_700);
        check_round_trip(Kind::Ratio, "9", 9_000_000);
        check_round_trip(Kind::Flag, "false", 0);
    }

    #[test]
    fn plain_values_refuse_what_they_are_not() {
        for (kind, text) in [
            (Kind::Count, "-1"),
            (Kind::Count, "1.5"),
            (Kind::Count, "4294967296"),
            (Kind::Ratio, "0.1234567"),
            (Kind::Ratio, ".5"),
            (Kind::Ratio, "1e3"),
            (Kind::Flag, "1"),
        ] {
            assert!(matches!(kind.parse(text), Err(ValueError::Plain { .. })), "{kind:?} {text}");
        }
        assert!(matches!(Kind::Time.parse("7"), Err(ValueError::Quantity(_))));
    }

    #[test]
    fn a_ratio_scales_time_and_rounds_up() {
        assert_eq!(Ratio::from_ppm(500_000).of(TimeDelta::from_ps(5)), TimeDelta::from_ps(3));
        assert_eq!(Ratio::ONE.of(TimeDelta::from_ns(7)), TimeDelta::from_ns(7));
    }
}
