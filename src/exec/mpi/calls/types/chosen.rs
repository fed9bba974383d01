//! Datatypes that a program chooses by what they hold: numbers of Fortran by their precision and range, and pairs by
//! their value.

use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle};
use crate::mpi::families::Chosen as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::{Frame, listed};
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, RankState, done};

pub(in super::super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let types = &mut state.types;
    match call {
        F::Type_create_f90_integer(of) => {
            like(types, frame, mpi5::COMBINER_F90_INTEGER, &[of.r], of.newtype)
        }
        F::Type_create_f90_real(of) => {
            like(types, frame, mpi5::COMBINER_F90_REAL, &[of.p, of.r], of.newtype)
        }
        F::Type_create_f90_complex(of) => {
            like(types, frame, mpi5::COMBINER_F90_COMPLEX, &[of.p, of.r], of.newtype)
        }
        F::Type_get_value_index(of) => value_index(types, frame, of),
    }
}

/// The type of these digits and exponents.
fn like(
    types: &mut Types,
    frame: &mut Frame<'_>,
    combiner: i32,
    integers: &[i32],
    to: To<handle::Datatype>,
) -> Answer {
    let integers: Vec<i64> = integers.iter().copied().map(i64::from).collect();
    let Some(handle) = types.like(combiner, &integers) else {
        let why = format!("no number here has the digits and exponents {}", listed(&integers));
        return Err(Fault::new(mpi5::ERR_ARG, why));
    };
    frame.put_handle(to, handle);
    done()
}

/// The named pair of a value and an index, where there is one.
fn value_index(types: &Types, frame: &mut Frame<'_>, of: args::Type_get_value_index) -> Answer {
    types.tree(of.value_type)?;
    types.tree(of.index_type)?;
    let pair = match (of.value_type.0, of.index_type.0) {
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
    frame.put_handle(of.pair_type, pair);
    done()
}
