//! Elements that the program packs and unpacks itself, in this machine's form and in `external32`.
//!
//! Left out: `external32` of types that have another size there, or another form than their bytes from last to first.

use crate::functions as mpi5;
use crate::mpi::asked::Asked;
use crate::mpi::data::Data;
use crate::mpi::fault::Fault;
use crate::mpi::objects::types::Types;
use crate::mpi::rank_state::{Answer, RankState, done};
use ::mpi::datatype::Signature;

/// Named types that are left out in `external32`: `long` and `wchar_t` are shorter there, and `long double` is another
/// number.
const LEFT_OUT: [u64; 10] = [
    mpi5::LONG,
    mpi5::UNSIGNED_LONG,
    mpi5::WCHAR,
    mpi5::LONG_DOUBLE,
    mpi5::C_LONG_DOUBLE_COMPLEX,
    mpi5::CXX_LONG_DOUBLE_COMPLEX,
    mpi5::LONG_INT,
    mpi5::LONG_DOUBLE_INT,
    mpi5::REAL16,
    mpi5::COMPLEX32,
];

/// How packed elements lie.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// As in the memory of this machine.
    Native,
    /// With the highest byte first.
    External,
}

#[allow(clippy::wildcard_enum_match_arm, reason = "one family of hundreds of functions")]
pub(super) fn call(state: &mut RankState, asked: &mut Asked<'_>) -> Option<Answer> {
    use mpi5::Function as F;
    let types = &state.types;
    Some(match asked.function {
        F::Pack => pack(types, asked, [0, 1, 2], [3, 4, 5], Form::Native),
        F::Unpack => unpack(types, asked, [3, 4, 5], [0, 1, 2], Form::Native),
        F::Pack_size => pack_size(types, asked, [0, 1]).and_then(|bytes| {
            asked.put_count(3, i64::try_from(bytes).ok());
            done()
        }),
        F::Pack_external => check_external(types, asked, 3)
            .and_then(|()| pack(types, asked, [1, 2, 3], [4, 5, 6], Form::External)),
        F::Unpack_external => check_external(types, asked, 6)
            .and_then(|()| unpack(types, asked, [4, 5, 6], [1, 2, 3], Form::External)),
        F::Pack_external_size => check_external(types, asked, 2).and_then(|()| {
            let bytes = pack_size(types, asked, [1, 2])?;
            asked.put_word(3, bytes);
            done()
        }),
        _ => return None,
    })
}

fn pack_size(
    types: &Types,
    asked: &Asked<'_>,
    [count, datatype]: [usize; 2],
) -> Result<u64, Fault> {
    let tree = types.tree(asked.word(datatype))?;
    tree.packed(asked.count(count)?)
        .map_err(|error| Fault::new(mpi5::ERR_COUNT, format!("data without end: {error}")))
}

/// Whether a function may have this representation, and the datatype of argument `datatype` in it.
fn check_external(types: &Types, asked: &mut Asked<'_>, datatype: usize) -> Result<(), Fault> {
    let name = asked.text(0)?;
    if name != "external32" {
        let why = format!("there is no data representation `{name}`");
        return Err(Fault::new(mpi5::ERR_UNSUPPORTED_DATAREP, why));
    }
    if types.is_made_of(asked.word(datatype), &LEFT_OUT) {
        return Err(Fault::not_carried(
            "the simulator does not carry long, wchar_t and long double in external32",
        ));
    }
    Ok(())
}

/// Elements of the arguments `from` (address, count, datatype) go into the buffer of the arguments `to` (address,
/// size, position).
fn pack(
    types: &Types,
    asked: &mut Asked<'_>,
    from: [usize; 3],
    to: [usize; 3],
    form: Form,
) -> Answer {
    let [address, count, datatype] = from;
    let (count, datatype) = (asked.count(count)?, asked.word(datatype));
    let data = types.elements(asked.word(address), count, datatype)?;
    let mut bytes = data.gather(asked.place)?;
    if form == Form::External {
        turn(types, datatype, count, &mut bytes)?;
    }
    asked.place.takes_no_time(Some(asked.function), bytes.len() as u64);
    let position = position(asked, to, bytes.len(), form)?;
    let packed = asked.word(to[0]).wrapping_add(position);
    if !bytes.is_empty() {
        asked.place.process.write(packed, &bytes)?;
    }
    data.is_read_for(&Data::Plain { address: packed, bytes: data.bytes() }, asked);
    put_position(asked, to[2], position + bytes.len() as u64, form);
    done()
}

/// The other way.
fn unpack(
    types: &Types,
    asked: &mut Asked<'_>,
    to: [usize; 3],
    from: [usize; 3],
    form: Form,
) -> Answer {
    let [address, count, datatype] = to;
    let (count, datatype) = (asked.count(count)?, asked.word(datatype));
    let data = types.elements(asked.word(address), count, datatype)?;
    let length = usize::try_from(data.bytes()).expect("no more than the memory of a process");
    let position = position(asked, from, length, form)?;
    let packed = asked.word(from[0]).wrapping_add(position);
    let mut bytes = asked.bytes(packed, length)?;
    Data::Plain { address: packed, bytes: data.bytes() }.is_read_for(&data, asked);
    if form == Form::External {
        turn(types, datatype, count, &mut bytes)?;
    }
    asked.place.takes_no_time(Some(asked.function), bytes.len() as u64);
    data.scatter(asked.place, &bytes)?;
    put_position(asked, from[2], position + length as u64, form);
    done()
}

/// The bytes of each number from last to first.
fn turn(types: &Types, datatype: u64, count: u64, bytes: &mut [u8]) -> Result<(), Fault> {
    let tree = types.tree(datatype)?;
    let signature = Signature::of(tree, count)
        .map_err(|error| Fault::new(mpi5::ERR_COUNT, format!("data without end: {error}")))?;
    let mut rest = bytes;
    for (primitive, number) in signature {
        let width = usize::try_from(primitive.width()).expect("a few bytes");
        let length = width * usize::try_from(number).expect("no more than there are bytes");
        let (run, behind) = rest.split_at_mut(length);
        for number in run.chunks_exact_mut(width) {
            number.reverse();
        }
        rest = behind;
    }
    Ok(())
}

/// The place in a packed buffer from which so many bytes are free, or left.
fn position(
    asked: &mut Asked<'_>,
    [_, size, position]: [usize; 3],
    length: usize,
    form: Form,
) -> Result<u64, Fault> {
    let size = asked.long(size);
    let at = match form {
        Form::Native => asked.counts(position, 1)?[0],
        Form::External => asked.longs(position, 1)?[0],
    };
    let end = i64::try_from(length).ok().and_then(|length| at.checked_add(length));
    match u64::try_from(at) {
        Ok(at) if end.is_some_and(|end| end <= size) => Ok(at),
        Ok(_) | Err(_) => {
            let why = format!("{length} bytes from {at} on do not lie in {size} bytes");
            Err(Fault::new(mpi5::ERR_ARG, why))
        }
    }
}

fn put_position(asked: &mut Asked<'_>, at: usize, position: u64, form: Form) {
    match form {
        Form::Native => asked.put_count(at, i64::try_from(position).ok()),
        Form::External => asked.put_word(at, position),
    }
}
