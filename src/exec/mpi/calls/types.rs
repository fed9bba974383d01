//! Datatypes: their sizes, bounds and names.

pub(super) mod chosen;
pub(super) mod constructors;
pub(super) mod contents;

use super::attributes;
use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle};
use crate::mpi::families::Types as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::attributes::Kind;
use crate::mpi::rank_state::{Answer, RankState, done};

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let types = &mut state.types;
    match call {
        F::Type_size(of) => {
            let size = types.tree(of.datatype)?.size();
            frame.put_count(of.size, i64::try_from(size).ok());
            done()
        }
        F::Type_size_x(of) => {
            let size = types.tree(of.datatype)?.size();
            frame.put_long(of.size, size.cast_signed());
            done()
        }
        F::Type_get_extent(of) | F::Type_get_extent_x(of) => {
            let tree = types.tree(of.datatype)?;
            frame.put_long(of.lb, tree.lb());
            frame.put_long(of.extent, tree.extent());
            done()
        }
        F::Type_get_true_extent(of) | F::Type_get_true_extent_x(of) => {
            let tree = types.tree(of.datatype)?;
            frame.put_long(of.true_lb, tree.true_lb());
            frame.put_long(of.true_extent, tree.true_extent().cast_signed());
            done()
        }
        F::Type_commit(of) => {
            types.commit(frame.handle(of.datatype)?)?;
            done()
        }
        F::Type_free(of) => free(state, frame, of.datatype),
        F::Type_set_name(of) => {
            let name = frame.text(of.type_name)?;
            types.rename(of.datatype, name)?;
            done()
        }
        F::Type_get_name(of) => {
            let name = types.name(of.datatype)?;
            frame.put_text((of.type_name, of.resultlen), &name, 128);
            done()
        }
        F::Type_match_size(of) => match_size(frame, of),
    }
}

fn free(state: &mut RankState, frame: &mut Frame<'_>, variable: To<handle::Datatype>) -> Answer {
    let handle = frame.handle(variable)?;
    if state.types.contents(handle)?.is_none() {
        return Err(Fault::new(mpi5::ERR_TYPE, "a predefined datatype cannot be freed"));
    }
    let handle::Datatype(handle) = handle;
    let remove = move |state: &mut RankState, frame: &mut Frame<'_>| {
        state.types.remove(handle);
        frame.put_handle(variable, mpi5::DATATYPE_NULL);
        done()
    };
    attributes::delete_all(state, frame, (Kind::Type, handle), Box::new(remove))
}

/// The named type of a class with a size.
fn match_size(frame: &mut Frame<'_>, of: args::Type_match_size) -> Answer {
    let (class, size) = (of.typeclass, of.size);
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
    frame.put_handle(of.datatype, found);
    done()
}
