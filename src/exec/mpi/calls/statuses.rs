//! What a program reads from a status and writes into it.

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, RankState, done};
use crate::mpi::status;
use ::mpi::datatype::{basic_elements, bytes_of_basics};

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Get_count => get_count(&state.types, asked),
        F::Get_elements => get_elements(&state.types, asked),
        F::Get_elements_x => {
            asked.is_large = true;
            get_elements(&state.types, asked)
        }
        F::Status_set_elements | F::Status_set_elements_x => set_elements(&state.types, asked),
        F::Status_set_cancelled => set(asked, status::CANCELLED),
        F::Status_set_source => set(asked, 0),
        F::Status_set_tag => set(asked, 4),
        F::Status_set_error => set(asked, status::ERROR),
        F::Test_cancelled => get(asked, status::CANCELLED),
        F::Status_get_source => get(asked, 0),
        F::Status_get_tag => get(asked, 4),
        F::Status_get_error => get(asked, status::ERROR),
        _ => return None,
    })
}

fn get_count(types: &Types, asked: &mut Asked<'_>) -> Answer {
    let size = types.tree(asked.word(1))?.size();
    let bytes = asked.word_at(asked.word(0) + status::COUNT)?;
    let count = match (bytes, size) {
        (0, _) => Some(0),
        (_, 0) => None,
        (bytes, size) => (bytes % size == 0).then_some(bytes / size),
    };
    asked.put_count(2, count.and_then(|count| i64::try_from(count).ok()));
    done()
}

fn get_elements(types: &Types, asked: &mut Asked<'_>) -> Answer {
    let tree = types.tree(asked.word(1))?;
    let bytes = asked.word_at(asked.word(0) + status::COUNT)?;
    let count = basic_elements(tree, bytes).and_then(|count| i64::try_from(count).ok());
    asked.put_count(2, count);
    done()
}

fn set_elements(types: &Types, asked: &mut Asked<'_>) -> Answer {
    let tree = types.tree(asked.word(1))?;
    let count = asked.count(2)?;
    let Some(bytes) = bytes_of_basics(tree, count) else {
        let why = format!("{count} elements of a datatype of {} bytes", tree.size());
        return Err(Fault::new(mpi5::ERR_COUNT, why));
    };
    let to = asked.word(0) + status::COUNT;
    asked.place.process.put(to, &bytes.to_ne_bytes());
    done()
}

fn set(asked: &mut Asked<'_>, at: u64) -> Answer {
    let (to, value) = (asked.word(0) + at, asked.int(1));
    asked.place.process.put(to, &value.to_ne_bytes());
    done()
}

fn get(asked: &mut Asked<'_>, at: u64) -> Answer {
    let bytes = asked.bytes(asked.word(0) + at, 4)?;
    asked.put(1, &bytes);
    done()
}
