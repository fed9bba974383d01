//! The datatypes of a trace, by their numbers.

use super::super::lines::{Span, Wrong};
use super::words::Words;
use crate::trace::Fault;
use form::fields::MAX_MESSAGE;
use mpi::operator::Datatype;

/// Numbers and names of datatypes, as SMPI gives them, and the elements that they have here.
/// Source: the predefined datatypes of SMPI (`simgrid`).
const TYPES: [(u64, &str, Datatype); 22] = [
    (0, "MPI_DOUBLE", Datatype::Double),
    (1, "MPI_INT", Datatype::Int32),
    (2, "MPI_CHAR", Datatype::Int8),
    (3, "MPI_SHORT", Datatype::Int16),
    (4, "MPI_LONG", Datatype::Int64),
    (5, "MPI_FLOAT", Datatype::Float),
    (6, "MPI_BYTE", Datatype::Uint8),
    (7, "MPI_LONG_LONG", Datatype::Int64),
    (8, "MPI_SIGNED_CHAR", Datatype::Int8),
    (9, "MPI_UNSIGNED_CHAR", Datatype::Uint8),
    (10, "MPI_UNSIGNED_SHORT", Datatype::Uint16),
    (11, "MPI_UNSIGNED", Datatype::Uint32),
    (12, "MPI_UNSIGNED_LONG", Datatype::Uint64),
    (13, "MPI_UNSIGNED_LONG_LONG", Datatype::Uint64),
    (17, "MPI_INT8_T", Datatype::Int8),
    (18, "MPI_INT16_T", Datatype::Int16),
    (19, "MPI_INT32_T", Datatype::Int32),
    (20, "MPI_INT64_T", Datatype::Int64),
    (21, "MPI_UINT8_T", Datatype::Uint8),
    (22, "MPI_UINT16_T", Datatype::Uint16),
    (23, "MPI_UINT32_T", Datatype::Uint32),
    (24, "MPI_UINT64_T", Datatype::Uint64),
];

/// The type of a line that names none, behind an `init` with an argument.
pub(super) const OF_MPE: Datatype = Datatype::Double;
/// The same behind an `init` without one.
pub(super) const OF_TAU: Datatype = Datatype::Uint8;

/// The type that stands next in a line, or the one of lines without.
pub(super) fn take(words: &mut Words<'_>, otherwise: Datatype) -> Result<Datatype, Wrong> {
    if !words.has_more() {
        return Ok(otherwise);
    }
    let (number, at) = words.integer("the number of a datatype")?;
    let known = TYPES.iter().find(|(one, ..)| i64::try_from(*one) == Ok(number));
    known.map(|(.., datatype)| *datatype).ok_or_else(|| {
        let named = |(number, name, _): &(u64, &str, Datatype)| format!("{number} {name}");
        let first: Vec<String> = TYPES[..7].iter().map(named).collect();
        let allowed = format!("{}, and the other integers up to 24", first.join(", "));
        Wrong::new(Fault::Action, at, format!("the datatype {number} is not read"), allowed)
    })
}

/// A number of elements or bytes, and its place.
pub(super) type Count = (u64, Span);

/// The bytes of so many elements.
pub(super) fn sized((count, at): Count, datatype: Datatype) -> Result<Count, Wrong> {
    let bytes = count * datatype.width();
    if bytes <= MAX_MESSAGE {
        return Ok((bytes, at));
    }
    let found = format!("{count} elements of {} B", datatype.width());
    Err(Wrong::new(Fault::Number, at, found, format!("a message has at most {MAX_MESSAGE} B")))
}
