//! One line of a trace, word by word.

use super::super::lines::{Span, Wrong, shortened};
use crate::trace::Fault;
use form::json::{Number, NumberError};

/// A line that is read from left to right.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    pub(super) const fn new(line: &'a str) -> Self {
        Self { line, at: 0 }
    }

    /// The next word and its place; at the end of the line, nothing and that place.
    pub(super) fn next(&mut self) -> (Option<&'a str>, Span) {
        let blank = |c: char| c == ' ' || c == '\t';
        let rest = &self.line[self.at..];
        let begin = self.at + rest.len() - rest.trim_start_matches(blank).len();
        let rest = &self.line[begin..];
        let length = rest.find(blank).unwrap_or(rest.len());
        self.at = begin + length;
        let word = &rest[..length];
        if word.is_empty() { (None, (begin, begin + 1)) } else { (Some(word), (begin, self.at)) }
    }

    /// Whether a word is left.
    pub(super) fn has_more(&self) -> bool {
        let mut ahead = *self;
        ahead.next().0.is_some()
    }

    fn number(&mut self, what: &str) -> Result<(Number, Span), Wrong> {
        let (word, at) = self.next();
        let Some(word) = word else {
            return Err(Wrong::new(Fault::Form, at, "the line ends", format!("{what} is needed")));
        };
        Number::parse(word).map(|number| (number, at)).ok_or_else(|| {
            let found = format!("`{}` is no number", shortened(word));
            Wrong::new(Fault::Form, at, found, format!("{what} is needed"))
        })
    }

    /// A whole number up to `most`, which may be written as `1e6`.
    pub(super) fn count(&mut self, what: &str, most: u64) -> Result<(u64, Span), Wrong> {
        let (number, at) = self.number(what)?;
        match number.scaled(0) {
            Ok(count) if count <= most => Ok((count, at)),
            _ => {
                let found = format!("`{}`", shortened(number.text()));
                let allowed = format!("{what} is a whole number from 0 to {most}");
                Err(Wrong::new(Fault::Number, at, found, allowed))
            }
        }
    }

    /// A whole number that may be negative, without an exponent.
    pub(super) fn integer(&mut self, what: &str) -> Result<(i64, Span), Wrong> {
        let (number, at) = self.number(what)?;
        number.integer().map(|number| (number, at)).map_err(|_| {
            let found = format!("`{}`", shortened(number.text()));
            Wrong::new(Fault::Number, at, found, format!("{what} is a whole number"))
        })
    }

    /// An amount in units of ten to the `-scale`, rounded up.
    pub(super) fn amount(&mut self, what: &str, scale: u8) -> Result<u64, Wrong> {
        let (number, at) = self.number(what)?;
        let exact = number.scaled(scale);
        let amount = if exact == Err(NumberError::Fraction) {
            number.floor_scaled(scale).and_then(|below| below.checked_add(1))
        } else {
            exact.ok()
        };
        amount.ok_or_else(|| {
            let found = format!("`{}`", shortened(number.text()));
            let allowed = format!("{what} is a number from 0 on, below 2^64 with its last digit");
            Wrong::new(Fault::Number, at, found, allowed)
        })
    }

    /// The end of the line, behind what an action has.
    pub(super) fn end(mut self) -> Result<(), Wrong> {
        let (word, at) = self.next();
        let Some(word) = word else { return Ok(()) };
        let found = format!("`{}` behind the last argument", shortened(word));
        Err(Wrong::new(Fault::Form, at, found, "the line ends there"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_their_places() {
        let mut words = Words::new("\t12  send 1e6 ");
        assert_eq!(words.next(), (Some("12"), (1, 3)));
        assert_eq!(words.next(), (Some("send"), (5, 9)));
        assert_eq!(words.count("a size", 1 << 30).unwrap(), (1_000_000, (10, 13)));
        assert!(!words.has_more());
        assert_eq!(words.next(), (None, (14, 15)));
    }

    #[test]
    fn amounts_are_rounded_up() {
        let amount = |text: &str, scale| Words::new(text).amount("an amount", scale).ok();
        assert_eq!(amount("5e8", 0), Some(500_000_000));
        assert_eq!(amount("2.5", 0), Some(3));
        assert_eq!(amount("1e-30", 12), Some(1));
        assert_eq!(amount("0.0000000000015", 12), Some(2));
        assert_eq!(amount("0.25", 12), Some(250_000_000_000));
        assert_eq!(amount("-1", 0), None);
        assert_eq!(amount("1e30", 0), None);
    }
}
