//! Operators of MPI on named types: which are defined on which, and the arithmetic that the library does not have:
//! complex numbers, truth values, pairs, and `long double`.

mod extended;

use std::cmp::Ordering;

use crate::functions as mpi5;
use ::mpi::operator::{Datatype, Operator, Reduction, Side};
use extended::Extended;

/// The groups of named types on which MPI defines its operators (MPI 4.1, Sec. 6.9.2).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Group {
    CInteger,
    FortranInteger,
    Floating,
    Logical,
    Complex,
    Byte,
    MultiLanguage,
    /// A value and its index (Sec. 6.9.4).
    Pair,
    /// `MPI_CHAR`, for which MPI defines no operator.
    Character,
}

impl Group {
    /// Whether an operator is defined on such elements: MPI's table. Beyond it, as in MPICH, the logical operators take
    /// multi-language types, and characters are numbers of one byte: many programs reduce them.
    pub(super) const fn takes(self, operator: Operator) -> bool {
        use Group::{
            Byte, CInteger, Character, Complex, Floating, FortranInteger, Logical, MultiLanguage,
            Pair,
        };
        match operator {
            Operator::Max | Operator::Min => {
                matches!(self, CInteger | FortranInteger | Floating | MultiLanguage | Character)
            }
            Operator::Sum | Operator::Prod => matches!(
                self,
                CInteger | FortranInteger | Floating | Complex | MultiLanguage | Character
            ),
            Operator::Land | Operator::Lor | Operator::Lxor => {
                matches!(self, CInteger | Logical | MultiLanguage | Character)
            }
            Operator::Band | Operator::Bor | Operator::Bxor => {
                matches!(self, CInteger | FortranInteger | Byte | MultiLanguage | Character)
            }
            Operator::MaxLoc | Operator::MinLoc => matches!(self, Pair),
            Operator::Affine { .. } | Operator::Program { .. } => false,
        }
    }
}

/// An element that an operator combines.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Element {
    /// One number, or a pair that the library knows.
    Number(Datatype),
    /// A `long double`.
    Extended,
    /// A real and an imaginary part.
    Complex(Value),
    /// A truth value.
    Truth {
        /// Its bytes.
        width: usize,
    },
    /// A value, and its index behind it.
    Located {
        /// The value that is compared.
        value: Value,
        /// An integer, or a number as the value is.
        index: Datatype,
    },
}

impl Element {
    /// The number of the library that is as wide, by which elements are compared and swapped: integers and truth values
    /// are (MPI 4.1, Sec. 12.3.4).
    pub(super) const fn swapped(self) -> Option<Datatype> {
        match self {
            Self::Number(number) if number.is_integer() => Some(number),
            Self::Truth { width: 1 } => Some(Datatype::Uint8),
            Self::Truth { width: 2 } => Some(Datatype::Uint16),
            Self::Truth { width: 4 } => Some(Datatype::Uint32),
            Self::Truth { width: 8 } => Some(Datatype::Uint64),
            Self::Number(_)
            | Self::Extended
            | Self::Complex(_)
            | Self::Truth { .. }
            | Self::Located { .. } => None,
        }
    }

    fn width(self) -> usize {
        match self {
            Self::Number(number) => Value::Number(number).width(),
            Self::Extended => extended::WIDTH,
            Self::Complex(part) => 2 * part.width(),
            Self::Truth { width } => width,
            Self::Located { value, index } => value.width() + Value::Number(index).width(),
        }
    }
}

/// A number that is a part of an element.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Value {
    /// One that the library knows.
    Number(Datatype),
    /// A `long double`.
    Extended,
}

impl Value {
    fn width(self) -> usize {
        match self {
            Self::Number(number) => usize::try_from(number.width()).expect("a few bytes"),
            Self::Extended => extended::WIDTH,
        }
    }

    /// One of the library's operators on two numbers.
    fn combined(self, operator: Operator, low: &[u8], high: &[u8]) -> Vec<u8> {
        let Self::Number(number) = self else { return of_extended(operator, low, high) };
        let mut result = high.to_vec();
        let reduction = Reduction::new(operator, number).expect("arithmetic is defined on numbers");
        reduction.combine(low, &mut result, Side::Before);
        result
    }

    /// The number with the other sign.
    fn negated(self, mut bytes: Vec<u8>) -> Vec<u8> {
        match self {
            Self::Extended => Extended::read(&bytes).negated().bytes().to_vec(),
            Self::Number(_) => {
                // The sign is the highest bit of the last byte.
                if let Some(last) = bytes.last_mut() {
                    *last ^= 0x80;
                }
                bytes
            }
        }
    }
}

/// The library's operator of this handle.
pub(super) const fn predefined(handle: u64) -> Option<Operator> {
    Some(match handle {
        mpi5::SUM => Operator::Sum,
        mpi5::PROD => Operator::Prod,
        mpi5::MAX => Operator::Max,
        mpi5::MIN => Operator::Min,
        mpi5::LAND => Operator::Land,
        mpi5::LOR => Operator::Lor,
        mpi5::LXOR => Operator::Lxor,
        mpi5::BAND => Operator::Band,
        mpi5::BOR => Operator::Bor,
        mpi5::BXOR => Operator::Bxor,
        mpi5::MAXLOC => Operator::MaxLoc,
        mpi5::MINLOC => Operator::MinLoc,
        _ => return None,
    })
}

/// `into = low ∘ high`, element by element.
pub(super) fn combine(operator: Operator, on: Element, from: &[u8], into: &mut [u8], side: Side) {
    let width = on.width();
    for (from, into) in from.chunks_exact(width).zip(into.chunks_exact_mut(width)) {
        let (low, high) = match side {
            Side::Before => (from, &*into),
            Side::After => (&*into, from),
        };
        let result = match on {
            Element::Number(_) => unreachable!("the library combines numbers"),
            Element::Extended => of_extended(operator, low, high),
            Element::Complex(part) => complex(operator, part, low, high),
            Element::Truth { .. } => truth(operator, low, high),
            Element::Located { value, index } => located(operator, (value, index), low, high),
        };
        into.copy_from_slice(&result);
    }
}

/// One of the library's operators on two `long double`.
fn of_extended(operator: Operator, low: &[u8], high: &[u8]) -> Vec<u8> {
    let (a, b) = (Extended::read(low), Extended::read(high));
    let result = match operator {
        Operator::Sum => a.plus(b),
        Operator::Prod => a.times(b),
        Operator::Max if a.compare(b) == Some(Ordering::Greater) => a,
        Operator::Min if a.compare(b) == Some(Ordering::Less) => a,
        Operator::Max
        | Operator::Min
        | Operator::Land
        | Operator::Lor
        | Operator::Lxor
        | Operator::Band
        | Operator::Bor
        | Operator::Bxor
        | Operator::MaxLoc
        | Operator::MinLoc
        | Operator::Affine { .. }
        | Operator::Program { .. } => b,
    };
    result.bytes().to_vec()
}

/// One of two truth values: what is not 0 is true, and true is 1.
fn truth(operator: Operator, low: &[u8], high: &[u8]) -> Vec<u8> {
    let [a, b] = [low, high].map(|bytes| bytes.iter().any(|byte| *byte != 0));
    let holds = if operator == Operator::Land {
        a && b
    } else if operator == Operator::Lor {
        a || b
    } else {
        a != b
    };
    let mut result = vec![0; low.len()];
    // The memory of the modelled machines is little endian.
    result[0] = holds.into();
    result
}

/// Sum or product of two complex numbers.
fn complex(operator: Operator, part: Value, low: &[u8], high: &[u8]) -> Vec<u8> {
    let half = low.len() / 2;
    let ((a, b), (c, d)) = (low.split_at(half), high.split_at(half));
    let sum = |x: &[u8], y: &[u8]| part.combined(Operator::Sum, x, y);
    let product = |x: &[u8], y: &[u8]| part.combined(Operator::Prod, x, y);
    let negative = |x: Vec<u8>| part.negated(x);
    let [real, imaginary] = if operator == Operator::Sum {
        [sum(a, c), sum(b, d)]
    } else {
        [sum(&product(a, c), &negative(product(b, d))), sum(&product(a, d), &product(b, c))]
    };
    [real, imaginary].concat()
}

/// The greater or lesser of two values with their indices; of two alike that with the lower index.
fn located(
    operator: Operator,
    (value, index): (Value, Datatype),
    low: &[u8],
    high: &[u8],
) -> Vec<u8> {
    let ((a, rest_a), (b, rest_b)) = (low.split_at(value.width()), high.split_at(value.width()));
    let extreme = if operator == Operator::MaxLoc { Operator::Max } else { Operator::Min };
    let best = value.combined(extreme, a, b);
    // Of a long double six bytes mean nothing.
    let is = |one: &[u8]| match value {
        Value::Number(_) => best == one,
        Value::Extended => best[..10] == one[..10],
    };
    let is_low = match (is(a), is(b)) {
        (true, true) => Value::Number(index).combined(Operator::Min, rest_a, rest_b) == rest_a,
        (is_low, _) => is_low,
    };
    if is_low { low.to_vec() } else { high.to_vec() }
}
