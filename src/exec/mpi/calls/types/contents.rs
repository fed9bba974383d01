//! What a datatype was made of: `MPI_Type_get_envelope` and `MPI_Type_get_contents`.

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::fault::Fault;
use crate::mpi::objects::types::{Contents, Types};
use crate::mpi::rank_state::{Answer, done};

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(types: &mut Types, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    Some(match asked.function {
        F::Type_get_envelope => envelope(types, asked, false),
        F::Type_get_envelope_c => envelope(types, asked, true),
        F::Type_get_contents => contents(types, asked, false),
        F::Type_get_contents_c => contents(types, asked, true),
        _ => return None,
    })
}

fn envelope(types: &Types, asked: &mut Asked<'_>, is_large: bool) -> Answer {
    let (combiner, lengths) = match types.contents(asked.word(0))?.as_deref() {
        Some(Contents { combiner, integers, addresses, types }) => {
            (*combiner, [integers.len(), addresses.len(), types.len()])
        }
        None => (mpi5::COMBINER_NAMED, [0; 3]),
    };
    let lengths = lengths.map(|length| i64::try_from(length).expect("the length of a list"));
    if is_large {
        // No large counts: the constructors' numbers are reported as integers.
        for (at, length) in [lengths[0], lengths[1], 0, lengths[2]].into_iter().enumerate() {
            asked.put_long(1 + at, length);
        }
        asked.put_int(5, combiner);
    } else {
        for (at, length) in lengths.into_iter().enumerate() {
            asked.put_count(1 + at, Some(length));
        }
        asked.put_int(4, combiner);
    }
    done()
}

fn contents(types: &mut Types, asked: &mut Asked<'_>, is_large: bool) -> Answer {
    let Some(contents) = types.contents(asked.word(0))? else {
        return Err(Fault::new(mpi5::ERR_TYPE, "a named datatype has no contents"));
    };
    let Contents { integers, addresses, types: parts, .. } = &*contents;
    let (rooms, places) = if is_large { ([1, 2, 4], [5, 6, 8]) } else { ([1, 2, 3], [4, 5, 6]) };
    let needed = [integers.len(), addresses.len(), parts.len()];
    for (room, needed) in rooms.into_iter().zip(needed) {
        if asked.length(room)? < needed {
            return Err(Fault::new(mpi5::ERR_ARG, format!("an array of {needed} is needed")));
        }
    }
    let integers = integers.iter().map(|number| i32::try_from(*number));
    let integers = integers.collect::<Result<Vec<_>, _>>();
    let integers = integers.map_err(|_| Fault::new(mpi5::ERR_TYPE, "a count is beyond an int"))?;
    asked.put_ints(places[0], integers);
    asked.put_words(places[1], addresses.iter().map(|address| address.cast_unsigned()));
    asked.put_words(places[2], parts.iter().map(|part| types.add_part(part)));
    done()
}
