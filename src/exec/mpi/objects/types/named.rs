//! The named types of MPI for C, and those for Fortran whose size their name tells.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::functions as mpi5;
use crate::mpi::arithmetic::{Element, Value};
use ::mpi::datatype::{Datatype, Primitive};
use ::mpi::operator::Datatype as Number;

/// A named type.
#[derive(Debug)]
pub(super) struct Named {
    /// Its name, without `MPI_`.
    pub(super) name: &'static str,
    pub(super) tree: Datatype,
    /// What operators are defined on.
    pub(super) element: Option<Element>,
}

/// The named type of a handle.
pub(super) fn of(handle: u64) -> Option<&'static Named> {
    NAMED.get(&handle)
}

/// The shortest named type that has the decimal digits of an integer, or the digits and the exponent of a real number,
/// of which one may be open.
pub(super) fn like(combiner: i32, numbers: &[i64]) -> Option<u64> {
    let is_open = |number: i64| number == i64::from(mpi5::UNDEFINED);
    let fits = |digits: i64, exponent: i64, (most_digits, most_exponent): (i64, i64)| {
        (is_open(digits) || digits <= most_digits)
            && (is_open(exponent) || exponent <= most_exponent)
    };
    match (combiner, numbers) {
        (mpi5::COMBINER_F90_INTEGER, [digits]) => match digits {
            ..=2 => Some(mpi5::INT8_T),
            3..=4 => Some(mpi5::INT16_T),
            5..=9 => Some(mpi5::INT32_T),
            10..=18 => Some(mpi5::INT64_T),
            _ => None,
        },
        (mpi5::COMBINER_F90_REAL | mpi5::COMBINER_F90_COMPLEX, [digits, exponent]) => {
            let is_real = combiner == mpi5::COMBINER_F90_REAL;
            if fits(*digits, *exponent, (6, 37)) {
                Some(if is_real { mpi5::FLOAT } else { mpi5::C_FLOAT_COMPLEX })
            } else if fits(*digits, *exponent, (15, 307)) {
                Some(if is_real { mpi5::DOUBLE } else { mpi5::C_DOUBLE_COMPLEX })
            } else {
                None
            }
        }
        (_, _) => None,
    }
}

static NAMED: LazyLock<BTreeMap<u64, Named>> = LazyLock::new(|| {
    let pairs = pairs().into_iter();
    numbers().into_iter().chain(others()).chain(pairs).collect()
});

/// Integers and floating-point numbers.
fn numbers() -> Vec<(u64, Named)> {
    use Number::{Double, Float, Int8, Int16, Int32, Int64, Uint8, Uint16, Uint32, Uint64};
    let all = [
        (mpi5::SHORT, "SHORT", Int16),
        (mpi5::INT, "INT", Int32),
        (mpi5::LONG, "LONG", Int64),
        (mpi5::LONG_LONG, "LONG_LONG_INT", Int64),
        (mpi5::UNSIGNED_SHORT, "UNSIGNED_SHORT", Uint16),
        (mpi5::UNSIGNED, "UNSIGNED", Uint32),
        (mpi5::UNSIGNED_LONG, "UNSIGNED_LONG", Uint64),
        (mpi5::UNSIGNED_LONG_LONG, "UNSIGNED_LONG_LONG", Uint64),
        (mpi5::FLOAT, "FLOAT", Float),
        (mpi5::DOUBLE, "DOUBLE", Double),
        (mpi5::SIGNED_CHAR, "SIGNED_CHAR", Int8),
        (mpi5::UNSIGNED_CHAR, "UNSIGNED_CHAR", Uint8),
        (mpi5::BYTE, "BYTE", Uint8),
        (mpi5::INT8_T, "INT8_T", Int8),
        (mpi5::UINT8_T, "UINT8_T", Uint8),
        (mpi5::INT16_T, "INT16_T", Int16),
        (mpi5::UINT16_T, "UINT16_T", Uint16),
        (mpi5::INT32_T, "INT32_T", Int32),
        (mpi5::UINT32_T, "UINT32_T", Uint32),
        (mpi5::INT64_T, "INT64_T", Int64),
        (mpi5::UINT64_T, "UINT64_T", Uint64),
        (mpi5::AINT, "AINT", Int64),
        (mpi5::COUNT, "COUNT", Int64),
        (mpi5::OFFSET, "OFFSET", Int64),
        (mpi5::INTEGER, "INTEGER", Int32),
        (mpi5::REAL, "REAL", Float),
        (mpi5::DOUBLE_PRECISION, "DOUBLE_PRECISION", Double),
        (mpi5::INTEGER1, "INTEGER1", Int8),
        (mpi5::INTEGER2, "INTEGER2", Int16),
        (mpi5::INTEGER4, "INTEGER4", Int32),
        (mpi5::INTEGER8, "INTEGER8", Int64),
        (mpi5::REAL4, "REAL4", Float),
        (mpi5::REAL8, "REAL8", Double),
    ];
    let named = |(handle, name, number)| {
        let (tree, element) = (Datatype::named(primitive(number)), Some(Element::Number(number)));
        (handle, Named { name, tree, element })
    };
    all.map(named).into()
}

/// The named type of trees that is as wide.
fn primitive(number: Number) -> Primitive {
    match number {
        Number::Int8 => Primitive::Int8,
        Number::Uint8 => Primitive::Byte,
        Number::Int16 | Number::Uint16 => Primitive::Int16,
        Number::Int32 | Number::Uint32 => Primitive::Int32,
        Number::Int64 | Number::Uint64 => Primitive::Int64,
        Number::Float => Primitive::Float,
        Number::Double => Primitive::Double,
        Number::Int32Pair | Number::Int64Pair | Number::Program => {
            unreachable!("it is no single number")
        }
    }
}

/// What is no number: characters, truth values, complex numbers, extended precision.
fn others() -> Vec<(u64, Named)> {
    use Primitive::{Byte, Char, Double, Float, Int16, Int32, Int64};
    let complex = |number| Some(Element::Complex(number));
    let [single, double] =
        [Number::Float, Number::Double].map(|number| complex(Value::Number(number)));
    // `long double` has its 80 bits on x86-64 only.
    let is_known = cfg!(target_arch = "x86_64");
    let extended = Some(Element::Extended).filter(|_| is_known);
    let wide = complex(Value::Extended).filter(|_| is_known);
    let truth = Some(Element::Bool);
    let all = [
        (mpi5::CHAR, "CHAR", Char, 1, None),
        (mpi5::CHARACTER, "CHARACTER", Char, 1, None),
        (mpi5::WCHAR, "WCHAR", Int32, 1, None),
        (mpi5::PACKED, "PACKED", Byte, 1, None),
        (mpi5::C_BOOL, "C_BOOL", Byte, 1, truth),
        (mpi5::CXX_BOOL, "CXX_BOOL", Byte, 1, truth),
        (mpi5::LOGICAL1, "LOGICAL1", Byte, 1, truth),
        (mpi5::LOGICAL, "LOGICAL", Int32, 1, None),
        (mpi5::LOGICAL2, "LOGICAL2", Int16, 1, None),
        (mpi5::LOGICAL4, "LOGICAL4", Int32, 1, None),
        (mpi5::LOGICAL16, "LOGICAL16", Int64, 2, None),
        (mpi5::INTEGER16, "INTEGER16", Int64, 2, None),
        (mpi5::REAL2, "REAL2", Int16, 1, None),
        (mpi5::REAL16, "REAL16", Int64, 2, None),
        (mpi5::COMPLEX4, "COMPLEX4", Int16, 2, None),
        (mpi5::COMPLEX32, "COMPLEX32", Int64, 4, None),
        (mpi5::LOGICAL8, "LOGICAL8", Int64, 1, None),
        (mpi5::C_FLOAT_COMPLEX, "C_COMPLEX", Float, 2, single),
        (mpi5::CXX_FLOAT_COMPLEX, "CXX_FLOAT_COMPLEX", Float, 2, single),
        (mpi5::COMPLEX, "COMPLEX", Float, 2, single),
        (mpi5::COMPLEX8, "COMPLEX8", Float, 2, single),
        (mpi5::C_DOUBLE_COMPLEX, "C_DOUBLE_COMPLEX", Double, 2, double),
        (mpi5::CXX_DOUBLE_COMPLEX, "CXX_DOUBLE_COMPLEX", Double, 2, double),
        (mpi5::DOUBLE_COMPLEX, "DOUBLE_COMPLEX", Double, 2, double),
        (mpi5::COMPLEX16, "COMPLEX16", Double, 2, double),
        (mpi5::LONG_DOUBLE, "LONG_DOUBLE", Int64, 2, extended),
        (mpi5::C_LONG_DOUBLE_COMPLEX, "C_LONG_DOUBLE_COMPLEX", Int64, 4, wide),
        (mpi5::CXX_LONG_DOUBLE_COMPLEX, "CXX_LONG_DOUBLE_COMPLEX", Int64, 4, wide),
    ];
    let named = |(handle, name, primitive, times, element)| {
        let one = Datatype::named(primitive);
        let tree = if times == 1 { one } else { made(Datatype::contiguous(times, &one)) };
        (handle, Named { name, tree, element })
    };
    all.map(named).into()
}

/// A value and an `int` behind it, with the extent that C gives such a structure.
fn pairs() -> Vec<(u64, Named)> {
    use Primitive::{Double, Float, Int16, Int32, Int64};
    let value = |number| Some(Element::Located(Value::Number(number)));
    let extended = Some(Element::Located(Value::Extended)).filter(|_| cfg!(target_arch = "x86_64"));
    let all = [
        (mpi5::FLOAT_INT, "FLOAT_INT", Float, 1, 8, value(Number::Float)),
        (mpi5::DOUBLE_INT, "DOUBLE_INT", Double, 1, 16, value(Number::Double)),
        (mpi5::LONG_INT, "LONG_INT", Int64, 1, 16, value(Number::Int64)),
        (mpi5::SHORT_INT, "SHORT_INT", Int16, 1, 8, value(Number::Int16)),
        (mpi5::LONG_DOUBLE_INT, "LONG_DOUBLE_INT", Int64, 2, 32, extended),
    ];
    let pair = |(handle, name, primitive, times, extent, element)| {
        let one = Datatype::named(primitive);
        let value = if times == 1 { one } else { made(Datatype::contiguous(times, &one)) };
        let behind = i64::try_from(value.size().max(4)).expect("a few bytes");
        let index = Datatype::named(Int32);
        let both = made(Datatype::structure(&[1, 1], &[0, behind], &[value, index]));
        (handle, Named { name, tree: made(Datatype::resized(0, extent, &both)), element })
    };
    let two = |(handle, name, primitive, element)| {
        let tree = made(Datatype::contiguous(2, &Datatype::named(primitive)));
        (handle, Named { name, tree, element })
    };
    let alike = [
        (mpi5::TWO_INT, "2INT", Int32, Some(Element::Number(Number::Int32Pair))),
        (mpi5::TWO_INTEGER, "2INTEGER", Int32, Some(Element::Number(Number::Int32Pair))),
        (mpi5::TWO_REAL, "2REAL", Float, None),
        (mpi5::TWO_DOUBLE_PRECISION, "2DOUBLE_PRECISION", Double, None),
    ];
    all.map(pair).into_iter().chain(alike.map(two)).collect()
}

fn made(tree: Result<Datatype, ::mpi::datatype::DatatypeError>) -> Datatype {
    tree.expect("a type of a few bytes")
}
