//! Quantities as types: time in integer picoseconds, bytes, rates. No floating point below `report`.
//!
//! Every quantity is parsed and printed with its unit. Accepted units: `ps ns us ms s`;
//! `B KiB MiB GiB kB MB GB`; `B/s kB/s MB/s GB/s Gb/s`; `msg/s Mmsg/s`; `ns/B`; `Hz MHz GHz`.

use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// A point on the simulated clock, in picoseconds; the run starts at [`Time::ZERO`].
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Time(u64);

/// A length of simulated time, in picoseconds (at most about 213 days).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct TimeDelta(u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bytes(u64);

/// A data rate in bits per second.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Bandwidth(u64);

/// A rate of events (messages, operations) per second.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Rate(u64);

/// A cost per byte, in attoseconds per byte (so that `0.007 ns/B` is exact).
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct CostPerByte(u64);

/// A clock frequency in hertz.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Frequency(u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Self = Self(0);
    /// The end of the representable clock.
    pub const MAX: Self = Self(u64::MAX);

    /// A point `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// The time that passed since `earlier`.
    ///
    /// # Panics
    ///
    /// When `earlier` is later than `self`: simulated time never goes back.
    #[inline]
    pub fn since(self, earlier: Self) -> TimeDelta {
        TimeDelta(self.0.checked_sub(earlier.0).expect("simulated time never goes back"))
    }
}

impl TimeDelta {
    /// No time at all.
    pub const ZERO: Self = Self(0);

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns * 1_000)
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self(us * 1_000_000)
    }

    /// Picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Microseconds, for reports only.
    #[expect(clippy::cast_precision_loss, reason = "report only")]
    pub fn as_us_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds, for reports only.
    #[expect(clippy::cast_precision_loss, reason = "report only")]
    pub fn as_s_f64(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// The difference, or zero where `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * numerator / denominator`, rounded up to a whole picosecond.
    ///
    /// # Panics
    ///
    /// When the denominator is zero or the result passes 213 days.
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let ps = (u128::from(self.0) * u128::from(numerator)).div_ceil(u128::from(denominator));
        Self(u64::try_from(ps).expect("a length of time is below 213 simulated days"))
    }
}

impl Bytes {
    /// `bytes` bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// `n` KiB, 1024 B each.
    pub const fn kib(n: u64) -> Self {
        Self(n * 1024)
    }

    /// `n` MiB, 1024 KiB each.
    pub const fn mib(n: u64) -> Self {
        Self(n * 1024 * 1024)
    }

    /// The number of bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
}

impl Bandwidth {
    /// `bits` bits per second.
    pub const fn from_bit_per_s(bits: u64) -> Self {
        Self(bits)
    }

    /// `mb` megabytes (1e6 bytes) per second.
    pub const fn from_mb_per_s(mb: u64) -> Self {
        Self(mb * 8_000_000)
    }

    /// `gbit` gigabits per second.
    pub const fn from_gbit_per_s(gbit: u64) -> Self {
        Self(gbit * 1_000_000_000)
    }

    /// Bits per second.
    pub const fn as_bit_per_s(self) -> u64 {
        self.0
    }

    /// Time to push `size` through a pipe of this rate.
    ///
    /// Rounds up to a whole picosecond: a transfer of at least one byte is never free, and the
    /// error is below 1 ps per *transfer*, not per byte.
    ///
    /// # Panics
    ///
    /// When the rate is zero; scenario validation refuses such a link before a run starts.
    pub fn transfer_time(self, size: Bytes) -> TimeDelta {
        assert!(self.0 > 0, "transfer of {} bytes over a link of rate 0", size.0);
        let ps = if let Some(product) = size.0.checked_mul(8 * PS_PER_S) {
            product.div_ceil(self.0)
        } else {
            let wide = u128::from(size.0) * 8 * u128::from(PS_PER_S);
            u64::try_from(wide.div_ceil(u128::from(self.0)))
                .expect("a transfer takes less than 213 simulated days")
        };
        TimeDelta(ps)
    }
}

impl Rate {
    /// `n` events per second.
    pub const fn from_per_s(n: u64) -> Self {
        Self(n)
    }

    /// Events per second.
    pub const fn as_per_s(self) -> u64 {
        self.0
    }

    /// The time one event takes at this rate, rounded up to a picosecond.
    ///
    /// # Panics
    ///
    /// When the rate is zero; validation refuses it.
    pub fn period(self) -> TimeDelta {
        assert!(self.0 > 0, "a rate of zero has no period");
        TimeDelta(PS_PER_S.div_ceil(self.0))
    }
}

impl CostPerByte {
    /// `attoseconds` per byte; 1 ns/B is 10^9 as/B.
    pub const fn from_as_per_byte(attoseconds: u64) -> Self {
        Self(attoseconds)
    }

    /// Attoseconds per byte.
    pub const fn as_as_per_byte(self) -> u64 {
        self.0
    }

    /// The cost of `size` bytes, rounded up to a picosecond.
    ///
    /// # Panics
    ///
    /// When the product passes 213 simulated days.
    pub fn cost(self, size: Bytes) -> TimeDelta {
        let ps = (u128::from(self.0) * u128::from(size.0)).div_ceil(1_000_000);
        TimeDelta(u64::try_from(ps).expect("a cost is below 213 simulated days"))
    }
}

impl Frequency {
    /// `hz` cycles per second.
    pub const fn from_hz(hz: u64) -> Self {
        Self(hz)
    }

    /// Cycles per second.
    pub const fn as_hz(self) -> u64 {
        self.0
    }
}

impl Add<TimeDelta> for Time {
    type Output = Self;
    fn add(self, rhs: TimeDelta) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign<TimeDelta> for Time {
    fn add_assign(&mut self, rhs: TimeDelta) {
        self.0 += rhs.0;
    }
}

impl Add for TimeDelta {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for TimeDelta {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for TimeDelta {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul<u64> for TimeDelta {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0 * rhs)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

/// Why a text is not a quantity of the wanted dimension.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum QuantityError {
    /// There is no digit where the number should begin.
    #[error("`{0}` does not begin with a number")]
    NoNumber(String),
    /// A number without its unit.
    #[error("`{0}` has no unit")]
    NoUnit(String),
    /// A unit that no quantity has.
    #[error("`{0}` is not a unit that mpisim knows")]
    UnknownUnit(String),
    /// A unit of another dimension.
    #[error("`{found}` measures {dimension}")]
    WrongDimension {
        /// The unit as written.
        found: String,
        /// Its dimension, in words.
        dimension: &'static str,
    },
    /// The value is too large for its integer.
    #[error("`{0}` is out of range")]
    TooLarge(String),
    /// The value is not a whole number of the smallest unit, or rounds to zero.
    #[error("`{value}` is finer than the resolution of {resolution}")]
    TooFine {
        /// The text as written.
        value: String,
        /// The smallest step, with its unit.
        resolution: &'static str,
    },
}

/// The dimension of a unit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dimension {
    /// Time, in picoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Bandwidth,
    /// Events per second.
    Rate,
    /// Attoseconds per byte.
    CostPerByte,
    /// Hertz.
    Frequency,
}

impl Dimension {
    /// The dimension in words, with an article.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Time => "a length of time",
            Self::Bytes => "a number of bytes",
            Self::Bandwidth => "a bandwidth",
            Self::Rate => "a rate of messages",
            Self::CostPerByte => "a cost per byte",
            Self::Frequency => "a frequency",
        }
    }

    /// The units of this dimension, smallest first.
    pub fn units(self) -> Vec<&'static str> {
        UNITS.iter().filter(|unit| unit.dimension == self).map(|unit| unit.name).collect()
    }

    const fn resolution(self) -> &'static str {
        match self {
            Self::Time => "1 ps",
            Self::Bytes => "1 B",
            Self::Bandwidth => "1 bit/s",
            Self::Rate => "1 msg/s",
            Self::CostPerByte => "1e-9 ns/B",
            Self::Frequency => "1 Hz",
        }
    }
}

struct Unit {
    name: &'static str,
    dimension: Dimension,
    /// How many of the smallest step one unit holds.
    scale: u64,
}

const fn unit(name: &'static str, dimension: Dimension, scale: u64) -> Unit {
    Unit { name, dimension, scale }
}

/// Every unit, smallest first within its dimension.
static UNITS: [Unit; 24] = [
    unit("ps", Dimension::Time, 1),
    unit("ns", Dimension::Time, 1_000),
    unit("us", Dimension::Time, 1_000_000),
    unit("ms", Dimension::Time, 1_000_000_000),
    unit("s", Dimension::Time, PS_PER_S),
    unit("B", Dimension::Bytes, 1),
    unit("kB", Dimension::Bytes, 1_000),
    unit("KiB", Dimension::Bytes, 1 << 10),
    unit("MB", Dimension::Bytes, 1_000_000),
    unit("MiB", Dimension::Bytes, 1 << 20),
    unit("GB", Dimension::Bytes, 1_000_000_000),
    unit("GiB", Dimension::Bytes, 1 << 30),
    unit("B/s", Dimension::Bandwidth, 8),
    unit("kB/s", Dimension::Bandwidth, 8_000),
    unit("MB/s", Dimension::Bandwidth, 8_000_000),
    unit("Gb/s", Dimension::Bandwidth, 1_000_000_000),
    unit("GB/s", Dimension::Bandwidth, 8_000_000_000),
    unit("msg/s", Dimension::Rate, 1),
    unit("Mmsg/s", Dimension::Rate, 1_000_000),
    unit("ns/B", Dimension::CostPerByte, 1_000_000_000),
    unit("us/B", Dimension::CostPerByte, 1_000_000_000_000),
    unit("Hz", Dimension::Frequency, 1),
    unit("MHz", Dimension::Frequency, 1_000_000),
    unit("GHz", Dimension::Frequency, 1_000_000_000),
];

/// Parses a decimal number with its unit into the smallest steps of `dimension`.
///
/// The arithmetic is exact: `0.06 ns/B` is 60 000 000 as/B. A space before the unit may be left out.
///
/// # Errors
///
/// A [`QuantityError`] that says what is wrong: no number, no unit, an unknown unit, a unit of
/// another dimension, a value out of range or finer than the smallest step.
pub fn parse_quantity(text: &str, dimension: Dimension) -> Result<u64, QuantityError> {
    let text = text.trim();
    let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, name) = (&text[..split], text[split..].trim());
    if number.is_empty() || number.starts_with('.') || number.ends_with('.') {
        return Err(QuantityError::NoNumber(text.to_owned()));
    }
    if name.is_empty() {
        return Err(QuantityError::NoUnit(text.to_owned()));
    }
    let found = UNITS
        .iter()
        .find(|unit| unit.name == name)
        .ok_or_else(|| QuantityError::UnknownUnit(name.to_owned()))?;
    if found.dimension != dimension {
        return Err(QuantityError::WrongDimension {
            found: name.to_owned(),
            dimension: found.dimension.in_words(),
        });
    }
    scale_decimal(number, found.scale).map_err(|kind| match kind {
        DecimalError::NotANumber => QuantityError::NoNumber(text.to_owned()),
        DecimalError::TooLarge => QuantityError::TooLarge(text.to_owned()),
        DecimalError::TooFine => {
            QuantityError::TooFine { value: text.to_owned(), resolution: dimension.resolution() }
        }
    })
}

enum DecimalError {
    NotANumber,
    TooLarge,
    TooFine,
}

/// `number * scale` as a whole number, exactly.
fn scale_decimal(number: &str, scale: u64) -> Result<u64, DecimalError> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if fraction.contains('.') {
        return Err(DecimalError::NotANumber);
    }
    if whole.len() + fraction.len() > 38 {
        return Err(DecimalError::TooLarge);
    }
    let digits: u128 =
        format!("{whole}{fraction}").parse().map_err(|_| DecimalError::NotANumber)?;
    let divisor = 10_u128.pow(u32::try_from(fraction.len()).map_err(|_| DecimalError::TooLarge)?);
    let product = digits.checked_mul(u128::from(scale)).ok_or(DecimalError::TooLarge)?;
    if product % divisor != 0 {
        return Err(DecimalError::TooFine);
    }
    u64::try_from(product / divisor).map_err(|_| DecimalError::TooLarge)
}

/// Writes `steps` in the largest unit of `dimension` that shows it without a long fraction.
fn write_quantity(f: &mut fmt::Formatter<'_>, steps: u64, dimension: Dimension) -> fmt::Result {
    let binary = |unit: &Unit| dimension == Dimension::Bytes && unit.name.contains('i');
    let candidates = || UNITS.iter().filter(|unit| unit.dimension == dimension);
    let base = candidates().next().expect("every dimension has a unit");
    let best = if dimension == Dimension::Bytes {
        // Whole binary multiples first: message sizes are powers of two.
        candidates()
            .filter(|unit| (binary(unit) || unit.scale == 1) && steps.is_multiple_of(unit.scale))
            .rfind(|unit| steps >= unit.scale)
            .unwrap_or(base)
    } else {
        candidates()
            .filter(|unit| unit.name != "Gb/s" && unit.name != "us/B")
            .rfind(|unit| steps >= unit.scale)
            .unwrap_or(base)
    };
    let (whole, rest) = (steps / best.scale, steps % best.scale);
    if rest == 0 {
        return write!(f, "{whole} {}", best.name);
    }
    let mut fraction = String::new();
    let mut rest = u128::from(rest);
    while rest != 0 && fraction.len() < 18 {
        rest *= 10;
        let digit = rest / u128::from(best.scale);
        fraction.push(char::from(b'0' + u8::try_from(digit).expect("a decimal digit")));
        rest %= u128::from(best.scale);
    }
    write!(f, "{whole}.{fraction} {}", best.name)
}

macro_rules! quantity {
    ($type:ident, $dimension:ident) => {
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_quantity(f, self.0, Dimension::$dimension)
            }
        }

        impl std::str::FromStr for $type {
            type Err = QuantityError;
            fn from_str(text: &str) -> Result<Self, QuantityError> {
                parse_quantity(text, Dimension::$dimension).map(Self)
            }
        }
    };
}

quantity!(TimeDelta, Time);
quantity!(Bytes, Bytes);
quantity!(Bandwidth, Bandwidth);
quantity!(Rate, Rate);
quantity!(CostPerByte, CostPerByte);
quantity!(Frequency, Frequency);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_quantity(f, self.0, Dimension::Time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_round_trip(text: &str, dimension: Dimension, steps: u64, printed: &str) {
        assert_eq!(parse_quantity(text, dimension), Ok(steps));
        let shown = match dimension {
            Dimension::Time => TimeDelta(steps).to_string(),
            Dimension::Bytes => Bytes(steps).to_string(),
            Dimension::Bandwidth => Bandwidth(steps).to_string(),
            Dimension::Rate => Rate(steps).to_string(),
            Dimension::CostPerByte => CostPerByte(steps).to_string(),
            Dimension::Frequency => Frequency(steps).to_string(),
        };
        assert_eq!(shown, printed);
        assert_eq!(parse_quantity(printed, dimension), Ok(steps), "what is printed parses back");
    }

    #[test]
    fn quantities_parse_exactly_and_print_with_one_space() {
        check_round_trip("1.3us", Dimension::Time, 1_300_000, "1.3 us");
        check_round_trip("250 ns", Dimension::Time, 250_000, "250 ns");
        check_round_trip("0.06 ns/B", Dimension::CostPerByte, 60_000_000, "0.06 ns/B");
        check_round_trip("12.5 GB/s", Dimension::Bandwidth, 100_000_000_000, "12.5 GB/s");
        check_round_trip("32 Gb/s", Dimension::Bandwidth, 32_000_000_000, "4 GB/s");
        check_round_trip("256 KiB", Dimension::Bytes, 262_144, "256 KiB");
        check_round_trip("5120 B", Dimension::Bytes, 5_120, "5 KiB");
        check_round_trip("6.2 Mmsg/s", Dimension::Rate, 6_200_000, "6.2 Mmsg/s");
        check_round_trip("1.053 GHz", Dimension::Frequency, 1_053_000_000, "1.053 GHz");
    }

    #[test]
    fn wrong_quantities_say_what_is_wrong() {
        let time = |text| parse_quantity(text, Dimension::Time).unwrap_err();
        assert_eq!(time("250"), QuantityError::NoUnit("250".into()));
        assert_eq!(time("-3 ns"), QuantityError::NoNumber("-3 ns".into()));
        assert!(matches!(time("3 parsec"), QuantityError::UnknownUnit(_)));
        assert!(matches!(time("3 GB/s"), QuantityError::WrongDimension { .. }));
        assert!(matches!(time("0.5 ps"), QuantityError::TooFine { .. }));
        assert!(matches!(time("99999999999 s"), QuantityError::TooLarge(_)));
    }

    #[test]
    fn a_transfer_of_one_byte_is_never_free() {
        let fast = Bandwidth::from_gbit_per_s(100_000);
        assert_eq!(fast.transfer_time(Bytes::new(1)), TimeDelta::from_ps(1));
        let link = Bandwidth::from_gbit_per_s(100);
        assert_eq!(link.transfer_time(Bytes::mib(4)), TimeDelta::from_ps(335_544_320));
        assert_eq!(link.transfer_time(Bytes::new(1 << 40)).as_ps(), 87_960_930_222_080);
    }

    #[test]
    fn scaling_rounds_up() {
        assert_eq!(TimeDelta::from_ps(10).scaled(1, 3), TimeDelta::from_ps(4));
    }
}
