//! What a datatype was made of: `MPI_Type_get_envelope` and `MPI_Type_get_contents`.

use crate::functions as mpi5;
use crate::mpi::args::{To, handle, length};
use crate::mpi::families::Contents as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
use crate::mpi::objects::types::{Contents, Types};
use crate::mpi::rank_state::{Answer, RankState, done};

pub(in super::super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let types = &mut state.types;
    match call {
        F::Type_get_envelope(of) => {
            let (combiner, [integers, addresses, datatypes]) = envelope(types, of.datatype)?;
            frame.put_int(of.num_integers, int(integers));
            frame.put_int(of.num_addresses, int(addresses));
            frame.put_int(of.num_datatypes, int(datatypes));
            frame.put_int(of.combiner, combiner);
            done()
        }
        F::Type_get_envelope_c(of) => {
            let (combiner, [integers, addresses, datatypes]) = envelope(types, of.datatype)?;
            frame.put_long(of.num_integers, integers);
            frame.put_long(of.num_addresses, addresses);
            // The constructors' numbers are reported as integers.
            frame.put_long(of.num_large_counts, 0);
            frame.put_long(of.num_datatypes, datatypes);
            frame.put_int(of.combiner, combiner);
            done()
        }
        F::Type_get_contents(of) => {
            let rooms = [of.max_integers, of.max_addresses, of.max_datatypes].map(i64::from);
            let to = (of.array_of_integers, of.array_of_addresses, of.array_of_datatypes);
            contents(types, frame, of.datatype, rooms, to)
        }
        F::Type_get_contents_c(of) => {
            let rooms = [of.max_integers, of.max_addresses, of.max_datatypes].map(i64::from);
            let to = (of.array_of_integers, of.array_of_addresses, of.array_of_datatypes);
            contents(types, frame, of.datatype, rooms, to)
        }
    }
}

/// The combiner of a datatype, and how many integers, addresses and datatypes its contents are.
fn envelope(types: &Types, datatype: handle::Datatype) -> Result<(i32, [i64; 3]), Fault> {
    let (combiner, lengths) = match types.contents(datatype)?.as_deref() {
        Some(Contents { combiner, integers, addresses, types }) => {
            (*combiner, [integers.len(), addresses.len(), types.len()])
        }
        None => (mpi5::COMBINER_NAMED, [0; 3]),
    };
    Ok((combiner, lengths.map(|length| i64::try_from(length).expect("the length of a list"))))
}

/// A number of entries where an `int` has room for it.
fn int(length: i64) -> i32 {
    i32::try_from(length).unwrap_or(mpi5::UNDEFINED)
}

/// The arrays for the contents of a datatype.
type Arrays = (To<i32>, To<i64>, To<handle::Datatype>);

fn contents(
    types: &mut Types,
    frame: &mut Frame<'_>,
    datatype: handle::Datatype,
    rooms: [i64; 3],
    to: Arrays,
) -> Answer {
    let Some(contents) = types.contents(datatype)? else {
        return Err(Fault::new(mpi5::ERR_TYPE, "a named datatype has no contents"));
    };
    let Contents { integers, addresses, types: parts, .. } = &*contents;
    let needed = [integers.len(), addresses.len(), parts.len()];
    for (room, needed) in rooms.into_iter().zip(needed) {
        if length(room)? < needed {
            return Err(Fault::new(mpi5::ERR_ARG, format!("an array of {needed} is needed")));
        }
    }
    let integers = integers.iter().map(|number| i32::try_from(*number));
    let integers = integers.collect::<Result<Vec<_>, _>>();
    let integers = integers.map_err(|_| Fault::new(mpi5::ERR_TYPE, "a count is beyond an int"))?;
    frame.put_ints(to.0, integers);
    frame.put_longs(to.1, addresses.iter().copied());
    frame.put_handles(to.2, parts.iter().map(|part| types.add_part(part)));
    done()
}
