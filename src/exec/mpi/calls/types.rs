//! Datatypes: their sizes, bounds and names.

mod chosen;
mod constructors;
mod contents;

use super::attributes;
use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::datatype::Datatype;

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    let types = &mut state.types;
    Some(match asked.function {
        F::Type_size => types.tree(asked.word(0)).map(Datatype::size).and_then(|size| {
            asked.put_count(1, i64::try_from(size).ok());
            done()
        }),
        F::Type_size_x => types.tree(asked.word(0)).map(Datatype::size).and_then(|size| {
            asked.put_word(1, size);
            done()
        }),
        F::Type_get_extent | F::Type_get_extent_x => {
            bounds(types, asked, |tree| (tree.lb(), tree.extent()))
        }
        F::Type_get_true_extent | F::Type_get_true_extent_x => {
            bounds(types, asked, |tree| (tree.true_lb(), tree.true_extent().cast_signed()))
        }
        F::Type_commit => commit(types, asked),
        F::Type_free => free(state, asked),
        F::Type_set_name => set_name(types, asked),
        F::Type_get_name => get_name(types, asked),
        F::Type_match_size => match_size(asked),
        _ => {
            return constructors::call(state, asked)
                .or_else(|| contents::call(&mut state.types, asked))
                .or_else(|| chosen::call(&mut state.types, asked));
        }
    })
}

fn bounds(types: &Types, asked: &mut Asked<'_>, which: impl Fn(&Datatype) -> (i64, i64)) -> Answer {
    let (lower, extent) = which(types.tree(asked.word(0))?);
    asked.put_long(1, lower);
    asked.put_long(2, extent);
    done()
}

fn commit(types: &mut Types, asked: &mut Asked<'_>) -> Answer {
    types.commit(asked.at(0)?)?;
    done()
}

fn free(state: &mut RankState, asked: &mut Asked<'_>) -> Answer {
    let handle = asked.at(0)?;
    if state.types.contents(handle)?.is_none() {
        return Err(Fault::new(mpi5::ERR_TYPE, "a predefined datatype cannot be freed"));
    }
    let remove = move |state: &mut RankState, asked: &mut Asked<'_>| {
        state.types.remove(handle);
        asked.put_word(0, mpi5::DATATYPE_NULL);
        done()
    };
    attributes::delete_all(state, asked, (Kind::Type, handle), Box::new(remove))
}

fn set_name(types: &mut Types, asked: &mut Asked<'_>) -> Answer {
    types.rename(asked.word(0), asked.text(1)?)?;
    done()
}

fn get_name(types: &Types, asked: &mut Asked<'_>) -> Answer {
    asked.put_text((1, 2), &types.name(asked.word(0))?, 128);
    done()
}

/// The named type of a class with a size.
fn match_size(asked: &mut Asked<'_>) -> Answer {
    let (class, size) = (asked.int(0), asked.int(1));
    let found = match (class, size) {
        (mpi5::TYPECLASS_INTEGER, 1) => mpi5::INT8_T,
        (mpi5::TYPECLASS_INTEGER, 2) => mpi5::INT16_T,
        (mpi5::TYPECLASS_INTEGER, 4) => mpi5::INT32_T,
        (mpi5::TYPECLASS_INTEGER, 8) => mpi5::INT64_T,
        (mpi5::TYPECLASS_REAL, 4) => mpi5::FLOAT,
        (mpi5::TYPECLASS_REAL, 8) => mpi5::DOUBLE,
        (mpi5::TYPECLASS_REAL, 16) => mpi5::LONG_DOUBLE,
        (mpi5::TYPECLASS_COMPLEX, 8) => mpi5::C_FLOAT_COMPLEX,
        (mpi5::TYPECLASS_COMPLEX, 16) => mpi5::C_DOUBLE_COMPLEX,
        (mpi5::TYPECLASS_COMPLEX, 32) => mpi5::C_LONG_DOUBLE_COMPLEX,
        (_, _) => {
            let why = format!("no named type of class {class} has {size} bytes");
            return Err(Fault::new(mpi5::ERR_ARG, why));
        }
    };
    asked.put_word(2, found);
    done()
}
