//! Arithmetic that the library does not have: complex numbers, truth values, pairs, and `long double`.

mod extended;

use std::cmp::Ordering;

use crate::functions as mpi5;
use ::mpi::operator::{Datatype, Operator, Reduction, Side};
use extended::Extended;

/// Elements that the library's operators do not know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Element {
    /// One number.
    Number(Datatype),
    /// A `long double`.
    Extended,
    /// A real and an imaginary part.
    Complex(Value),
    /// A truth value of one byte.
    Bool,
    /// A value, and an `int` behind it.
    Located(Value),
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

/// Whether an operator of MPI's is defined on such elements.
pub(super) const fn takes(operator: Operator, on: Element) -> bool {
    match operator {
        Operator::Sum | Operator::Prod => matches!(on, Element::Complex(_) | Element::Extended),
        Operator::Max | Operator::Min => matches!(on, Element::Extended),
        Operator::Land | Operator::Lor | Operator::Lxor => matches!(on, Element::Bool),
        Operator::MaxLoc | Operator::MinLoc => matches!(on, Element::Located(_)),
        Operator::Band
        | Operator::Bor
        | Operator::Bxor
        | Operator::Affine { .. }
        | Operator::Program { .. } => false,
    }
}

/// `into = low ∘ high`, element by element.
pub(super) fn combine(operator: u64, on: Element, from: &[u8], into: &mut [u8], side: Side) {
    let width = match on {
        Element::Number(number) => Value::Number(number).width(),
        Element::Extended => extended::WIDTH,
        Element::Complex(part) => 2 * part.width(),
        Element::Bool => 1,
        Element::Located(value) => value.width() + 4,
    };
    for (from, into) in from.chunks_exact(width).zip(into.chunks_exact_mut(width)) {
        let (low, high) = match side {
            Side::Before => (from, &*into),
            Side::After => (&*into, from),
        };
        let result = match on {
            Element::Number(_) => unreachable!("the library combines numbers"),
            Element::Extended => {
                let known = predefined(operator).expect("an operator of MPI's");
                of_extended(known, low, high)
            }
            Element::Complex(part) => complex(operator, part, low, high),
            Element::Bool => vec![truth(operator, low[0] != 0, high[0] != 0).into()],
            Element::Located(value) => located(operator, value, low, high),
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

const fn truth(operator: u64, low: bool, high: bool) -> bool {
    match operator {
        mpi5::LAND => low && high,
        mpi5::LOR => low || high,
        _ => low != high,
    }
}

/// Sum or product of two complex numbers.
fn complex(operator: u64, part: Value, low: &[u8], high: &[u8]) -> Vec<u8> {
    let half = low.len() / 2;
    let ((a, b), (c, d)) = (low.split_at(half), high.split_at(half));
    let sum = |x: &[u8], y: &[u8]| part.combined(Operator::Sum, x, y);
    let product = |x: &[u8], y: &[u8]| part.combined(Operator::Prod, x, y);
    let negative = |x: Vec<u8>| part.negated(x);
    let [real, imaginary] = if operator == mpi5::SUM {
        [sum(a, c), sum(b, d)]
    } else {
        [sum(&product(a, c), &negative(product(b, d))), sum(&product(a, d), &product(b, c))]
    };
    [real, imaginary].concat()
}

/// The greater or lesser of two values with their indices; of two alike that with the lower index.
fn located(operator: u64, value: Value, low: &[u8], high: &[u8]) -> Vec<u8> {
    let ((a, i), (b, j)) = (low.split_at(value.width()), high.split_at(value.width()));
    let index = |bytes: &[u8]| i32::from_ne_bytes(std::array::from_fn(|at| bytes[at]));
    let extreme = if operator == mpi5::MAXLOC { Operator::Max } else { Operator::Min };
    let best = value.combined(extreme, a, b);
    // Of a long double six bytes mean nothing.
    let is = |one: &[u8]| match value {
        Value::Number(_) => best == one,
        Value::Extended => best[..10] == one[..10],
    };
    let is_low = match (is(a), is(b)) {
        (true, true) => index(i) <= index(j),
        (is_low, _) => is_low,
    };
    if is_low { low.to_vec() } else { high.to_vec() }
}
