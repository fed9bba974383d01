//! Operators of reductions: those of MPI, and functions of the program.
//!
//! Operators on integers and floating-point numbers are the library's. What it does not have (complex numbers,
//! truth values, pairs with other types than two ints, functions of the program) it hands to the process's
//! [`Client::combine`], by a number.

mod extended;

use std::cmp::Ordering;

use super::data::elements;
use super::{Answer, Asked, Client, Fault, Table, done, mpi5};
use crate::place::Place;
use ::mpi::datatype::Datatype as Tree;
use ::mpi::operator::{Datatype, Operator, Reduction, Side};
use extended::Extended;

/// The operators of a rank.
#[derive(Debug)]
pub(super) struct Operators {
    made: Table<Made>,
    /// What each number stands for.
    foreign: Vec<Foreign>,
}

/// A function of the program.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
struct Made {
    function: u64,
    commutes: bool,
    /// Whether it takes large counts.
    is_large: bool,
}

/// An operator that the library does not have, on elements of a type.
#[derive(Clone, Debug, PartialEq)]
enum Foreign {
    /// A function of the program.
    Function { made: Made, datatype: u64, tree: Tree },
    /// One of MPI's.
    Known { operator: u64, on: Element },
}

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

impl Operators {
    pub(super) const fn new() -> Self {
        Self { made: Table::new(6), foreign: Vec::new() }
    }

    fn number(&mut self, foreign: Foreign) -> Result<u16, Fault> {
        let at = self.foreign.iter().position(|known| *known == foreign).unwrap_or_else(|| {
            self.foreign.push(foreign);
            self.foreign.len() - 1
        });
        u16::try_from(at).map_err(|_| {
            Fault::not_carried("the simulator does not carry more than 65,536 operators of a rank")
        })
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

impl Client {
    /// The operator of a handle on elements of a datatype.
    pub(super) fn reduction(&mut self, handle: u64, datatype: u64) -> Result<Reduction, Fault> {
        let tree = self.types.committed(datatype)?.clone();
        if let Some(made) = self.operators.made.get(handle).copied() {
            let width = tree.size();
            let number = self.operators.number(Foreign::Function { made, datatype, tree })?;
            return foreign(number, width, made.commutes);
        }
        let Some(operator) = predefined(handle) else {
            return Err(Fault::new(mpi5::ERR_OP, format!("{handle:#x} is no operator")));
        };
        let Some(on) = self.types.element(datatype) else {
            return Err(undefined(operator, datatype));
        };
        if let Element::Number(number) = on
            && let Some(reduction) = Reduction::new(operator, number)
        {
            return Ok(reduction);
        }
        if !takes(operator, on) {
            return Err(undefined(operator, datatype));
        }
        let number = self.operators.number(Foreign::Known { operator: handle, on })?;
        foreign(number, tree.size(), true)
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
    pub(super) fn operator_call(&mut self, asked: &mut Asked<'_>) -> Option<Answer> {
        use mpi5::Function as F;
        Some(match asked.function {
            F::Op_create => {
                let (function, commutes) = (asked.word(0), asked.int(1) != 0);
                let made = Made { function, commutes, is_large: false };
                let handle = self.operators.made.add(made);
                asked.put_word(2, handle);
                done()
            }
            F::Op_create_c => {
                let (function, commutes) = (asked.word(0), asked.int(1) != 0);
                let handle = self.operators.made.add(Made { function, commutes, is_large: true });
                asked.put_word(2, handle);
                done()
            }
            F::Op_commutative => {
                let made = self.operators.made.get(asked.word(0));
                let commutes = made.map(|made| made.commutes);
                match commutes.or_else(|| predefined(asked.word(0)).map(|_| true)) {
                    Some(commutes) => {
                        asked.put_flag(1, commutes);
                        done()
                    }
                    None => Err(Fault::new(mpi5::ERR_OP, "it is no operator")),
                }
            }
            F::Op_free => asked.at(0).and_then(|handle| {
                if self.operators.made.remove(handle).is_none() {
                    return Err(Fault::new(mpi5::ERR_OP, "the program has made no such operator"));
                }
                asked.put_word(0, mpi5::OP_NULL);
                done()
            }),
            F::Reduce_local => self.reduce_local(asked),
            _ => return None,
        })
    }

    fn reduce_local(&mut self, asked: &mut Asked<'_>) -> Answer {
        let (count, datatype) = (asked.count(2)?, asked.word(3));
        let reduction = self.reduction(asked.word(4), datatype)?;
        let [from, into] = [0, 1].map(|at| {
            self.types.committed(datatype).and_then(|tree| elements(asked.word(at), count, tree))
        });
        let (from, into) = (from?, into?);
        let lower = from.gather(asked.place)?;
        let mut result = into.gather(asked.place)?;
        match reduction.of_a_program() {
            Some(number) => self.combine(asked.place, number, &lower, &mut result, Side::Before)?,
            None => reduction.combine(&lower, &mut result, Side::Before),
        }
        into.scatter(asked.place, &result)?;
        done()
    }

    /// Combines elements by an operator that the library does not have.
    pub(crate) fn combine(
        &mut self,
        place: &mut Place,
        number: u16,
        from: &[u8],
        into: &mut [u8],
        side: Side,
    ) -> Result<(), Fault> {
        match self.operators.foreign[usize::from(number)].clone() {
            Foreign::Known { operator, on } => {
                known(operator, on, from, into, side);
                Ok(())
            }
            Foreign::Function { made, datatype, tree } => {
                self.apply(place, made, (datatype, &tree), (from, into), side)
            }
        }
    }

    /// The process runs a function of its own on elements: `inout = in ∘ inout`, in its own memory.
    fn apply(
        &mut self,
        place: &mut Place,
        made: Made,
        (datatype, tree): (u64, &Tree),
        (from, into): (&[u8], &mut [u8]),
        side: Side,
    ) -> Result<(), Fault> {
        let count = if tree.size() == 0 { 0 } else { into.len() as u64 / tree.size() };
        let (lowest, highest) = tree.span(count).map_err(|error| {
            Fault::new(mpi5::ERR_COUNT, format!("elements without end: {error}"))
        })?;
        let extent = highest.abs_diff(lowest).next_multiple_of(64);
        let room = place.room(2 * extent + 64)?;
        // The first 64 bytes have the length and the datatype.
        let first = (room + 64).wrapping_add_signed(-lowest);
        let second = first + extent;
        let (low, high) = match side {
            Side::Before => (from, &*into),
            Side::After => (&*into, from),
        };
        elements(first, count, tree)?.scatter(place, low)?;
        let result = elements(second, count, tree)?;
        result.scatter(place, high)?;
        if made.is_large {
            place.process.put(room, &count.to_ne_bytes());
        } else {
            let count = i32::try_from(count).expect("an int counts the elements");
            place.process.put(room, &count.to_ne_bytes());
        }
        place.process.put(room + 8, &datatype.to_ne_bytes());
        self.call_back(place, made.function, [first, second, room, room + 8, 0, 0])?;
        into.copy_from_slice(&result.gather(place)?);
        Ok(())
    }
}

fn foreign(number: u16, width: u64, commutes: bool) -> Result<Reduction, Fault> {
    match u16::try_from(width) {
        Ok(width) if width > 0 => Ok(Reduction::of_program(number, width, commutes)),
        Ok(_) | Err(_) => Err(Fault::not_carried(format!(
            "the simulator does not carry reductions of elements of {width} bytes"
        ))),
    }
}

fn undefined(operator: Operator, datatype: u64) -> Fault {
    Fault::new(
        mpi5::ERR_OP,
        format!("`{operator}` is not defined on datatype {datatype:#x}, or not carried on it"),
    )
}

/// Whether an operator of MPI's is defined on such elements.
const fn takes(operator: Operator, on: Element) -> bool {
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
fn known(operator: u64, on: Element, from: &[u8], into: &mut [u8], side: Side) {
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
