//! Datatypes that a program chooses by what they hold: numbers of Fortran by their precision and range, and pairs by
//! their value.

use crate::functions as mpi5;
use crate::mpi::asked::{Asked, listed};
use crate::mpi::fault::Fault;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, done};

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(types: &mut Types, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Type_create_f90_integer => like(types, asked, mpi5::COMBINER_F90_INTEGER, 1),
        F::Type_create_f90_real => like(types, asked, mpi5::COMBINER_F90_REAL, 2),
        F::Type_create_f90_complex => like(types, asked, mpi5::COMBINER_F90_COMPLEX, 2),
        F::Type_get_value_index => value_index(types, asked),
        _ => return None,
    })
}

/// The type of so many arguments, and behind them the place of its handle.
fn like(types: &mut Types, asked: &mut Asked<'_>, combiner: i32, count: usize) -> Answer {
    let integers: Vec<i64> = (0..count).map(|at| asked.int(at).into()).collect();
    let Some(handle) = types.like(combiner, &integers) else {
        let why = format!("no number here has the digits and exponents {}", listed(&integers));
        return Err(Fault::new(mpi5::ERR_ARG, why));
    };
    asked.put_word(count, handle);
    done()
}

/// The named pair of a value and an index, where there is one.
fn value_index(types: &Types, asked: &mut Asked<'_>) -> Answer {
    for at in [0, 1] {
        types.tree(asked.word(at))?;
    }
    let pair = match (asked.word(0), asked.word(1)) {
        (mpi5::FLOAT, mpi5::INT) => mpi5::FLOAT_INT,
        (mpi5::DOUBLE, mpi5::INT) => mpi5::DOUBLE_INT,
        (mpi5::LONG, mpi5::INT) => mpi5::LONG_INT,
        (mpi5::INT, mpi5::INT) => mpi5::TWO_INT,
        (mpi5::SHORT, mpi5::INT) => mpi5::SHORT_INT,
        (mpi5::LONG_DOUBLE, mpi5::INT) => mpi5::LONG_DOUBLE_INT,
        (mpi5::REAL, mpi5::REAL) => mpi5::TWO_REAL,
        (mpi5::DOUBLE_PRECISION, mpi5::DOUBLE_PRECISION) => mpi5::TWO_DOUBLE_PRECISION,
        (mpi5::INTEGER, mpi5::INTEGER) => mpi5::TWO_INTEGER,
        (_, _) => mpi5::DATATYPE_NULL,
    };
    asked.put_word(2, pair);
    done()
}
