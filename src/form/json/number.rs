//! Numbers as they were written, with exact arithmetic on demand.

use std::fmt;

/// A JSON number: its text, which is the only thing that is exact.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Number {
    text: String,
}

/// Why a field does not take a number.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NumberError {
    /// It is below zero.
    Negative,
    /// It is minus zero.
    NegativeZero,
    /// It is not a whole number of the wanted steps.
    Fraction,
    /// It is whole, but written with a point or an exponent.
    WrittenAsFraction,
    /// It does not fit.
    TooLarge,
}

/// A number taken apart: `digits` times ten to the `exponent`.
struct Parts {
    negative: bool,
    digits: String,
    exponent: i64,
}

impl Number {
    /// Keeps `text`, which the reader has found to be a JSON number of at most 64 characters.
    pub(super) fn new(text: &str) -> Self {
        Self { text: text.to_owned() }
    }

    /// `text`, if it is a JSON number.
    pub fn parse(text: &str) -> Option<Self> {
        (text.len() <= 64 && is_number(text)).then(|| Self::new(text))
    }

    /// The number as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    fn parts(&self) -> Parts {
        let negative = self.text.starts_with('-');
        let text = self.text.trim_start_matches('-');
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        // An exponent beyond i64 is as good as the largest: both are far outside every range.
        let huge = if power.starts_with('-') { i64::MIN / 2 } else { i64::MAX / 2 };
        let power: i64 = power.trim_start_matches('+').parse().unwrap_or(huge);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let places = i64::try_from(fraction.len()).expect("a number has at most 64 characters");
        let trimmed = all.trim_end_matches('0');
        let zeros = i64::try_from(all.len() - trimmed.len()).expect("likewise");
        let digits = trimmed.trim_start_matches('0').to_owned();
        let power = power.clamp(i64::MIN / 4, i64::MAX / 4);
        Parts { negative, digits, exponent: power - places + zeros }
    }

    /// The number times ten to the `scale`, as a whole number.
    ///
    /// # Errors
    ///
    /// When it is negative, minus zero, not whole or beyond 64 bits: nothing is ever rounded.
    pub fn scaled(&self, scale: u8) -> Result<u64, NumberError> {
        let parts = self.parts();
        if parts.digits.is_empty() {
            return if parts.negative { Err(NumberError::NegativeZero) } else { Ok(0) };
        }
        if parts.negative {
            return Err(NumberError::Negative);
        }
        let exponent = parts.exponent + i64::from(scale);
        let exponent = match u32::try_from(exponent) {
            Ok(exponent) => exponent,
            Err(_) if exponent < 0 => return Err(NumberError::Fraction),
            Err(_) => return Err(NumberError::TooLarge),
        };
        let digits: u64 = parts.digits.parse().map_err(|_| NumberError::TooLarge)?;
        let power = 10_u64.checked_pow(exponent).ok_or(NumberError::TooLarge)?;
        digits.checked_mul(power).ok_or(NumberError::TooLarge)
    }

    /// The number as a count.
    ///
    /// # Errors
    ///
    /// As [`Number::scaled`], and when a whole number is written as `5.0` or `5e0`.
    pub fn whole(&self) -> Result<u64, NumberError> {
        let value = self.scaled(0)?;
        if self.text.contains(['.', 'e', 'E']) {
            return Err(NumberError::WrittenAsFraction);
        }
        Ok(value)
    }

    /// The number as a whole one that may be negative.
    ///
    /// # Errors
    ///
    /// As [`Number::whole`], except that a negative number is in order.
    pub fn integer(&self) -> Result<i64, NumberError> {
        let Some(text) = self.text.strip_prefix('-') else {
            return i64::try_from(self.whole()?).map_err(|_| NumberError::TooLarge);
        };
        match Self::new(text).whole()? {
            0 => Err(NumberError::NegativeZero),
            size => 0_i64.checked_sub_unsigned(size).ok_or(NumberError::TooLarge),
        }
    }

    /// The whole number below a number with a fraction, if it fits.
    pub fn floor(&self) -> Option<u64> {
        self.floor_scaled(0)
    }

    /// The whole number below the number times ten to the `scale`, if that has a fraction and it fits.
    pub fn floor_scaled(&self, scale: u8) -> Option<u64> {
        let parts = self.parts();
        let exponent = parts.exponent + i64::from(scale);
        if parts.negative || exponent >= 0 {
            return None;
        }
        let cut = usize::try_from(-exponent).unwrap_or(usize::MAX);
        let kept = parts.digits.len().saturating_sub(cut);
        if kept == 0 { Some(0) } else { parts.digits[..kept].parse().ok() }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Whether `text` is `-? (0 | [1-9][0-9]*) (. [0-9]+)? ([eE] [+-]? [0-9]+)?`.
pub fn is_number(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, power) = match text.split_once(['e', 'E']) {
        Some((mantissa, power)) => (mantissa, Some(power)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    digits(whole)
        && (whole == "0" || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && power.is_none_or(|power| digits(power.strip_prefix(['+', '-']).unwrap_or(power)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_scaled(text: &str, scale: u8, expected: Result<u64, NumberError>) {
        assert_eq!(Number::new(text).scaled(scale), expected, "{text} at 10^{scale}");
    }

    #[test]
    fn numbers_are_exact_or_refused() {
        check_scaled("5", 0, Ok(5));
        check_scaled("5.0", 0, Ok(5));
        check_scaled("0.03", 9, Ok(30_000_000));
        check_scaled("1.5e3", 0, Ok(1500));
        check_scaled("1e-3", 3, Ok(1));
        check_scaled("9007199254740993", 0, Ok(9_007_199_254_740_993));
        check_scaled("18446744073709551615", 0, Ok(u64::MAX));
        check_scaled("18446744073709551616", 0, Err(NumberError::TooLarge));
        check_scaled("1e400", 0, Err(NumberError::TooLarge));
        check_scaled("1e-400", 9, Err(NumberError::Fraction));
        check_scaled("1e99999999999999999999", 0, Err(NumberError::TooLarge));
        check_scaled("1e-99999999999999999999", 0, Err(NumberError::Fraction));
        check_scaled("0e99999999999999999999", 0, Ok(0));
        check_scaled("-0.0", 0, Err(NumberError::NegativeZero));
        check_scaled("-1", 0, Err(NumberError::Negative));
        check_scaled("5.5", 0, Err(NumberError::Fraction));
    }

    #[test]
    fn integers_are_exact_or_refused() {
        let check =
            |text: &str, expected| assert_eq!(Number::new(text).integer(), expected, "{text}");
        check("-9223372036854775808", Ok(i64::MIN));
        check("9223372036854775807", Ok(i64::MAX));
        check("-9223372036854775809", Err(NumberError::TooLarge));
        check("9223372036854775808", Err(NumberError::TooLarge));
        check("-0", Err(NumberError::NegativeZero));
        check("-1.5", Err(NumberError::Fraction));
        check("-2e0", Err(NumberError::WrittenAsFraction));
    }

    #[test]
    fn counts_are_written_as_counts() {
        assert_eq!(Number::new("5").whole(), Ok(5));
        assert_eq!(Number::new("5.0").whole(), Err(NumberError::WrittenAsFraction));
        assert_eq!(Number::new("5.5").floor(), Some(5));
        assert_eq!(Number::new("0.001").floor(), Some(0));
        assert_eq!(Number::new("5").floor(), None);
    }
}
