//! Reading a tree that the checker has passed: every access is by a key of the tables.
//!
//! # Panics
//!
//! Every function here, where the tree was not checked against its shape.

#![expect(clippy::missing_panics_doc, reason = "all of them panic alike, as the header says")]

use super::super::json::{Node, Value};
use super::NOTE;
use units::{Bytes, Dimension, Frequency, TimeDelta, parse_quantity};

const CHECKED: &str = "the tree was checked against its shape";

/// How far a measured value may be from the expected one.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Tolerance {
    /// So many millionths of the expected value, up and down.
    Relative(u32),
    /// Between the expected value divided and multiplied by this factor, in millionths.
    Factor(u32),
}

/// Reads `"10 %"` or `"x2"`.
pub fn parse_tolerance(text: &str) -> Option<Tolerance> {
    let text = text.trim();
    let millionths = |number: &str, scale: u64| -> Option<u64> {
        let number = number.trim();
        let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 4 || whole.len() > 4 {
            return None;
        }
        let parts: u64 = format!("{fraction:0<4}").parse().ok()?;
        Some((whole.parse::<u64>().ok()? * 10_000 + parts) * scale)
    };
    if let Some(percent) = text.strip_suffix('%') {
        let value = millionths(percent, 1).filter(|value| *value <= 1_000_000)?;
        return Some(Tolerance::Relative(u32::try_from(value).ok()?));
    }
    let factor = millionths(text.strip_prefix('x')?, 100)?;
    (1_000_000..=1_000_000_000)
        .contains(&factor)
        .then(|| u32::try_from(factor).ok().map(Tolerance::Factor))?
}

impl Node {
    /// The quantity under `key`, in smallest steps.
    pub fn quantity(&self, key: &str, dimension: Dimension) -> Option<u64> {
        let text = self.get(key)?.text().expect(CHECKED);
        Some(parse_quantity(text, dimension).expect(CHECKED))
    }

    /// The bytes under `key`.
    pub fn bytes(&self, key: &str) -> Option<Bytes> {
        self.quantity(key, Dimension::Bytes).map(Bytes::new)
    }

    /// This node as a number of bytes.
    pub fn own_bytes(&self) -> Bytes {
        let text = self.text().expect(CHECKED);
        Bytes::new(parse_quantity(text, Dimension::Bytes).expect(CHECKED))
    }

    /// This node as a length of time.
    pub fn own_time(&self) -> TimeDelta {
        let text = self.text().expect(CHECKED);
        TimeDelta::from_ps(parse_quantity(text, Dimension::Time).expect(CHECKED))
    }

    /// This node as a frequency.
    pub fn own_frequency(&self) -> Frequency {
        let text = self.text().expect(CHECKED);
        Frequency::from_hz(parse_quantity(text, Dimension::Frequency).expect(CHECKED))
    }

    /// The length of time under `key`.
    pub fn time(&self, key: &str) -> Option<TimeDelta> {
        self.quantity(key, Dimension::Time).map(TimeDelta::from_ps)
    }

    /// The count under `key`.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.get(key).map(Self::as_count)
    }

    /// The count under `key`, which its shape keeps below 2^32.
    pub fn small(&self, key: &str) -> Option<u32> {
        self.count(key).map(|value| u32::try_from(value).expect(CHECKED))
    }

    /// This node as a count.
    pub fn as_count(&self) -> u64 {
        let Value::Number(number) = &self.value else { panic!("{CHECKED}") };
        number.whole().expect(CHECKED)
    }

    /// This node as a whole number that may be negative.
    pub fn as_integer(&self) -> i64 {
        let Value::Number(number) = &self.value else { panic!("{CHECKED}") };
        number.integer().expect(CHECKED)
    }

    /// The whole number under `key`, which may be negative.
    pub fn integer(&self, key: &str) -> Option<i64> {
        self.get(key).map(Self::as_integer)
    }

    /// The decimal number under `key`, in billionths.
    pub fn billionths(&self, key: &str) -> Option<u64> {
        self.get(key).map(Self::as_billionths)
    }

    /// This node as a decimal number, in billionths.
    pub fn as_billionths(&self) -> u64 {
        let Value::Number(number) = &self.value else { panic!("{CHECKED}") };
        number.scaled(9).expect(CHECKED)
    }

    /// The text under `key`.
    ///
    /// # Panics
    ///
    /// Where something else stands there: the tree is checked against its shape before.
    pub fn word(&self, key: &str) -> Option<&str> {
        self.get(key).map(|node| node.text().expect(CHECKED))
    }

    /// The note of an object, its lines one below the other.
    pub fn note(&self) -> Option<String> {
        let note = self.get(NOTE.key)?;
        let lines = note.elements().unwrap_or(std::slice::from_ref(note));
        let lines: Vec<&str> = lines.iter().map(|line| line.text().expect(CHECKED)).collect();
        Some(lines.join("\n"))
    }

    /// The text under `key`, which its shape requires.
    pub fn required_word(&self, key: &str) -> &str {
        self.word(key).expect(CHECKED)
    }

    /// The boolean under `key`.
    pub fn flag(&self, key: &str) -> Option<bool> {
        let Value::Bool(flag) = self.get(key)?.value else { panic!("{CHECKED}") };
        Some(flag)
    }

    /// The tolerance under `key`.
    pub fn tolerance(&self, key: &str) -> Option<Tolerance> {
        self.word(key).map(|text| parse_tolerance(text).expect(CHECKED))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_are_percentages_or_factors() {
        assert_eq!(parse_tolerance("10 %"), Some(Tolerance::Relative(100_000)));
        assert_eq!(parse_tolerance("0.5%"), Some(Tolerance::Relative(5_000)));
        assert_eq!(parse_tolerance("x2"), Some(Tolerance::Factor(2_000_000)));
        for wrong in ["101 %", "-1 %", "x0.5", "x", "10", "", "%", "x2000", "1e1 %", "x.5"] {
            assert_eq!(parse_tolerance(wrong), None, "{wrong}");
        }
    }
}
