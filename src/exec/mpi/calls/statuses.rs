//! What a program reads from a status and writes into it.

use crate::functions as mpi5;
use crate::mpi::args::{self, To, handle};
use crate::mpi::families::Statuses as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, RankState, done};
use crate::mpi::status;
use ::mpi::datatype::{basic_elements, bytes_of_basics};

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let types = &state.types;
    match call {
        F::Get_count(of) => get_count(types, frame, of),
        F::Get_elements(of) => {
            let count = elements(types, frame, of.status, of.datatype)?;
            frame.put_count(of.count, count);
            done()
        }
        F::Get_elements_x(of) => {
            let count = elements(types, frame, of.status, of.datatype)?;
            frame.put_long(of.count, count.unwrap_or(mpi5::UNDEFINED.into()));
            done()
        }
        F::Status_set_elements(of) | F::Status_set_elements_x(of) => set_elements(types, frame, of),
        F::Status_set_cancelled(of) => set(frame, of.status, status::CANCELLED, of.flag),
        F::Status_set_source(of) => set(frame, of.status, status::SOURCE, of.source),
        F::Status_set_tag(of) => set(frame, of.status, status::TAG, of.tag),
        F::Status_set_error(of) => set(frame, of.status, status::ERROR, of.error),
        F::Test_cancelled(of) => get(frame, of.status, status::CANCELLED, of.flag),
        F::Status_get_source(of) => get(frame, of.status, status::SOURCE, of.source),
        F::Status_get_tag(of) => get(frame, of.status, status::TAG, of.tag),
        F::Status_get_error(of) => get(frame, of.status, status::ERROR, of.error),
    }
}

fn get_count(types: &Types, frame: &mut Frame<'_>, of: args::Get_count) -> Answer {
    let size = types.tree(of.datatype)?.size();
    let bytes = frame.word_at(of.status.address + status::COUNT)?;
    let count = match (bytes, size) {
        (0, _) => Some(0),
        (_, 0) => None,
        (bytes, size) => (bytes % size == 0).then_some(bytes / size),
    };
    frame.put_count(of.count, count.and_then(|count| i64::try_from(count).ok()));
    done()
}

/// The basic elements that a status counts, where a count has room for them.
fn elements(
    types: &Types,
    frame: &mut Frame<'_>,
    status: To<args::Status>,
    datatype: handle::Datatype,
) -> Result<Option<i64>, Fault> {
    let tree = types.tree(datatype)?;
    let bytes = frame.word_at(status.address + status::COUNT)?;
    Ok(basic_elements(tree, bytes).and_then(|count| i64::try_from(count).ok()))
}

fn set_elements(types: &Types, frame: &mut Frame<'_>, of: args::Status_set_elements) -> Answer {
    let tree = types.tree(of.datatype)?;
    let count = of.count.natural()?;
    let Some(bytes) = bytes_of_basics(tree, count) else {
        let why = format!("{count} elements of a datatype of {} bytes", tree.size());
        return Err(Fault::new(mpi5::ERR_COUNT, why));
    };
    let to = of.status.address + status::COUNT;
    frame.place.process.put(to, &bytes.to_ne_bytes());
    done()
}

/// A field of a status gets a value.
fn set(frame: &mut Frame<'_>, status: To<args::Status>, field: u64, value: i32) -> Answer {
    frame.put_int(To::new(status.address + field), value);
    done()
}

/// The process gets a field of a status.
fn get(frame: &mut Frame<'_>, status: To<args::Status>, field: u64, to: To<i32>) -> Answer {
    let value = frame.int(To::new(status.address + field))?;
    frame.put_int(to, value);
    done()
}
