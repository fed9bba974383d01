//! Expressions: arithmetic on whole numbers and times that a text such as `(rank + 1) % size` spells out.
//!
//! | | |
//! |---|---|
//! | values | whole numbers of 64 bits, times in picoseconds, `true` and `false` |
//! | literals | `12`, `8 KiB` (the number of bytes), `1.5 us` |
//! | operators, the tightest first | `-a` `!a`; `*` `/` `%`; `+` `-`; `<` `<=` `>` `>=` `==` `!=`; `&&`; `\|\|`; `a ? b : c` |
//! | functions | `min(a, b)`, `max(a, b)`, `abs(a)` |
//!
//! `/` rounds down and `%` has the sign of its right side, as in Python, so that `(rank - 1) % size` is the
//! rank before in a ring. The language is total: an expression has no loop and no call of its own, every text
//! is parsed with bounded depth, and an evaluation fails only with a division by zero or a number that does
//! not fit 64 bits. Both name their place in the text.

use std::ops::Range;
use std::sync::Arc;

use crate::json::Node;
use units::{Dimension, parse_quantity};

mod parse;
#[cfg(test)]
mod tests;

/// The type of a value.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Type {
    /// A whole number of 64 bits.
    Integer,
    /// A length of time, in picoseconds.
    Time,
    /// `true` (1) or `false` (0).
    Truth,
}

impl Type {
    /// With its article, as messages have it.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::Integer => "a whole number",
            Self::Time => "a time",
            Self::Truth => "true or false",
        }
    }
}

/// A name that an expression may use; its value is at the same index of the values of an evaluation. No text can
/// use one without letters.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Variable<'a> {
    /// Its name.
    pub name: &'a str,
    /// The type of its values.
    pub of: Type,
}

/// The names that an expression may use.
pub trait Variables {
    /// The place of the value that a name stands for, and its type; of several with the name the last one hides the
    /// others.
    fn find(&self, name: &str) -> Option<(usize, Type)>;

    /// All names, in the order of their values.
    fn names(&self) -> Vec<&str>;
}

impl<const COUNT: usize> Variables for [Variable<'_>; COUNT] {
    fn find(&self, name: &str) -> Option<(usize, Type)> {
        let place = self.iter().rposition(|variable| variable.name == name)?;
        Some((place, self[place].of))
    }

    fn names(&self) -> Vec<&str> {
        self.iter().map(|variable| variable.name).collect()
    }
}

/// A text that is no expression.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wrong {
    /// The bytes of the text that are wrong.
    pub at: Range<usize>,
    /// The words that stand there.
    pub found: String,
    /// The words that may stand there.
    pub allowed: String,
}

/// An evaluation without a value.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Failure {
    /// The bytes of the text whose operator failed.
    pub at: Range<usize>,
    /// The reason.
    pub reason: Reason,
}

/// Why an evaluation has no value.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Reason {
    /// The right side of `/` or `%` is 0.
    DivisionByZero,
    /// The result needs more than 64 bits.
    Overflow,
}

/// Values that an evaluation holds at once.
const DEPTH: usize = 32;
/// Bytes of a text.
const LONGEST: usize = 1_000;

/// An expression, ready to be evaluated.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Expression {
    steps: Arc<[(Instruction, Range<u16>)]>,
    of: Type,
}

/// An instruction of an evaluation on a stack of values.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Instruction {
    Push(i64),
    Load(u16),
    Negate,
    Not,
    Absolute,
    Binary(Binary),
    /// Takes a value; where it is false, goes on at this step.
    Unless(u16),
    /// Goes on at this step.
    Jump(u16),
}

/// An operator or function of two values.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Equal,
    NotEqual,
    Least,
    Greatest,
}

impl Binary {
    fn of(self, left: i64, right: i64) -> Result<i64, Reason> {
        let fits = |value: Option<i64>| value.ok_or(Reason::Overflow);
        match self {
            Self::Add => fits(left.checked_add(right)),
            Self::Subtract => fits(left.checked_sub(right)),
            Self::Multiply => fits(left.checked_mul(right)),
            Self::Divide | Self::Remainder if right == 0 => Err(Reason::DivisionByZero),
            Self::Divide => {
                let quotient = fits(left.checked_div(right))?;
                let rounded_up = left % right != 0 && (left < 0) != (right < 0);
                Ok(quotient - i64::from(rounded_up))
            }
            Self::Remainder => {
                let rest = left.wrapping_rem(right);
                let other_sign = rest != 0 && (rest < 0) != (right < 0);
                Ok(if other_sign { rest + right } else { rest })
            }
            Self::Less => Ok(i64::from(left < right)),
            Self::LessOrEqual => Ok(i64::from(left <= right)),
            Self::Greater => Ok(i64::from(left > right)),
            Self::GreaterOrEqual => Ok(i64::from(left >= right)),
            Self::Equal => Ok(i64::from(left == right)),
            Self::NotEqual => Ok(i64::from(left != right)),
            Self::Least => Ok(left.min(right)),
            Self::Greatest => Ok(left.max(right)),
        }
    }
}

/// The text of an expression behind its sign, if `node` is one.
pub fn text_of(node: &Node) -> Option<&str> {
    node.text().and_then(|text| text.strip_prefix('='))
}

impl Expression {
    /// Reads `text`, which may use `variables`.
    ///
    /// # Errors
    ///
    /// The first place that is wrong.
    pub fn new(text: &str, variables: &dyn Variables) -> Result<Self, Wrong> {
        let (steps, of) = parse::parse(text, variables)?;
        Ok(Self { steps: steps.into(), of })
    }

    /// The expression that is this number.
    pub fn constant(value: i64) -> Self {
        Self { steps: [(Instruction::Push(value), 0..0)].into(), of: Type::Integer }
    }

    /// The type of its value.
    pub const fn of(&self) -> Type {
        self.of
    }

    /// Its value, where `values` has those of the variables in their order.
    ///
    /// # Errors
    ///
    /// The operator that has no result.
    ///
    /// # Panics
    ///
    /// Where `values` are fewer than the variables that it was read with.
    pub fn value(&self, values: &[i64]) -> Result<i64, Failure> {
        let mut stack = [0_i64; DEPTH];
        let (mut top, mut at) = (0, 0);
        while let Some((step, place)) = self.steps.get(at) {
            at += 1;
            let failed =
                |reason| Failure { at: usize::from(place.start)..usize::from(place.end), reason };
            match *step {
                Instruction::Push(value) => {
                    stack[top] = value;
                    top += 1;
                }
                Instruction::Load(slot) => {
                    stack[top] = values[usize::from(slot)];
                    top += 1;
                }
                Instruction::Negate => {
                    let negated = stack[top - 1].checked_neg();
                    stack[top - 1] = negated.ok_or_else(|| failed(Reason::Overflow))?;
                }
                Instruction::Absolute => {
                    let absolute = stack[top - 1].checked_abs();
                    stack[top - 1] = absolute.ok_or_else(|| failed(Reason::Overflow))?;
                }
                Instruction::Not => stack[top - 1] = 1 - stack[top - 1],
                Instruction::Binary(binary) => {
                    top -= 1;
                    stack[top - 1] = binary.of(stack[top - 1], stack[top]).map_err(failed)?;
                }
                Instruction::Unless(to) => {
                    top -= 1;
                    if stack[top] == 0 {
                        at = usize::from(to);
                    }
                }
                Instruction::Jump(to) => at = usize::from(to),
            }
        }
        Ok(stack[0])
    }
}

/// A number with a unit: its value in smallest steps, and whether it is a time.
fn with_unit(text: &str) -> Option<(i64, Type)> {
    let of = |dimension, of| {
        let steps = parse_quantity(text, dimension).ok()?;
        Some((i64::try_from(steps).ok()?, of))
    };
    of(Dimension::Bytes, Type::Integer).or_else(|| of(Dimension::Time, Type::Time))
}
