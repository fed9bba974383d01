//! Elements that the program packs and unpacks itself, in this machine's form and in `external32`.
//!
//! Left out: `external32` of types that have another size there, or another form than their bytes from last to first.

use std::ffi::c_char;

use crate::functions as mpi5;
use crate::mpi::args::{self, Address, Count, To, handle};
use crate::mpi::data::Data;
use crate::mpi::families::Packs as F;
use crate::mpi::fault::Fault;
use crate::mpi::frame::Frame;
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

/// A buffer of packed elements: where it begins, its bytes, and where the position in it stands.
#[derive(Clone, Copy, Debug)]
struct Packed {
    address: Address,
    bytes: i64,
    position: Position,
}

/// Where a position stands.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// Of elements as in the memory of this machine.
    Native(To<Count>),
    /// Of elements with the highest byte first.
    External(To<i64>),
}

impl Packed {
    const fn native(address: Address, size: Count, position: To<Count>) -> Self {
        Self { address, bytes: size.0, position: Position::Native(position) }
    }

    const fn external(address: Address, bytes: i64, position: To<i64>) -> Self {
        Self { address, bytes, position: Position::External(position) }
    }

    const fn is_external(self) -> bool {
        matches!(self.position, Position::External(_))
    }
}

pub(super) fn call(state: &mut RankState, frame: &mut Frame<'_>, call: F) -> Answer {
    let types = &state.types;
    match call {
        F::Pack(of) => {
            pack(types, frame, of.inbuf, Packed::native(of.outbuf, of.outsize, of.position))
        }
        F::Unpack(of) => {
            unpack(types, frame, of.outbuf, Packed::native(of.inbuf, of.insize, of.position))
        }
        F::Pack_size(of) => {
            let bytes = pack_size(types, of.incount, of.datatype)?;
            frame.put_count(of.size, i64::try_from(bytes).ok());
            done()
        }
        F::Pack_external(of) => {
            check_external(types, frame, of.datarep, of.inbuf.datatype)?;
            pack(types, frame, of.inbuf, Packed::external(of.outbuf, of.outsize, of.position))
        }
        F::Unpack_external(of) => {
            check_external(types, frame, of.datarep, of.outbuf.datatype)?;
            unpack(types, frame, of.outbuf, Packed::external(of.inbuf, of.insize, of.position))
        }
        F::Pack_external_size(of) => {
            check_external(types, frame, of.datarep, of.datatype)?;
            let bytes = pack_size(types, of.incount, of.datatype)?;
            frame.put_long(of.size, bytes.cast_signed());
            done()
        }
    }
}

fn pack_size(types: &Types, count: Count, datatype: handle::Datatype) -> Result<u64, Fault> {
    let tree = types.tree(datatype)?;
    tree.packed(count.natural()?)
        .map_err(|error| Fault::new(mpi5::ERR_COUNT, format!("data without end: {error}")))
}

/// Whether a function may have this representation, and a datatype in it.
fn check_external(
    types: &Types,
    frame: &mut Frame<'_>,
    name: To<c_char>,
    datatype: handle::Datatype,
) -> Result<(), Fault> {
    let name = frame.text(name)?;
    if name != "external32" {
        let why = format!("there is no data representation `{name}`");
        return Err(Fault::new(mpi5::ERR_UNSUPPORTED_DATAREP, why));
    }
    if types.is_made_of(datatype, &LEFT_OUT) {
        return Err(Fault::not_carried(
            "the simulator does not carry long, wchar_t and long double in external32",
        ));
    }
    Ok(())
}

/// Elements go into a buffer of packed ones.
fn pack(types: &Types, frame: &mut Frame<'_>, from: args::Buffer, to: Packed) -> Answer {
    let data = types.data(from)?;
    let mut bytes = data.gather(frame.place)?;
    if to.is_external() {
        turn(types, from, &mut bytes)?;
    }
    frame.place.takes_no_time(Some(frame.function), bytes.len() as u64);
    let position = position(frame, to, bytes.len())?;
    let packed = to.address.0.wrapping_add(position);
    if !bytes.is_empty() {
        frame.place.process.write(packed, &bytes)?;
    }
    data.is_read_for(&Data::Plain { address: packed, bytes: data.bytes() }, frame);
    put_position(frame, to, position + bytes.len() as u64);
    done()
}

/// The other way.
fn unpack(types: &Types, frame: &mut Frame<'_>, to: args::Buffer, from: Packed) -> Answer {
    let data = types.data(to)?;
    let length = usize::try_from(data.bytes()).expect("no more than the memory of a process");
    let position = position(frame, from, length)?;
    let packed = from.address.0.wrapping_add(position);
    let mut bytes = frame.bytes(packed, length)?;
    Data::Plain { address: packed, bytes: data.bytes() }.is_read_for(&data, frame);
    if from.is_external() {
        turn(types, to, &mut bytes)?;
    }
    frame.place.takes_no_time(Some(frame.function), bytes.len() as u64);
    data.scatter(frame.place, &bytes)?;
    put_position(frame, from, position + length as u64);
    done()
}

/// The bytes of each number from last to first.
fn turn(types: &Types, elements: args::Buffer, bytes: &mut [u8]) -> Result<(), Fault> {
    let tree = types.tree(elements.datatype)?;
    let signature = Signature::of(tree, elements.count.natural()?)
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
fn position(frame: &mut Frame<'_>, packed: Packed, length: usize) -> Result<u64, Fault> {
    let size = packed.bytes;
    let at = match packed.position {
        Position::Native(position) => frame.counts(position, 1)?[0],
        Position::External(position) => frame.longs(position, 1)?[0],
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

fn put_position(frame: &mut Frame<'_>, packed: Packed, position: u64) {
    match packed.position {
        Position::Native(to) => frame.put_count(to, i64::try_from(position).ok()),
        Position::External(to) => frame.put_long(to, position.cast_signed()),
    }
}
