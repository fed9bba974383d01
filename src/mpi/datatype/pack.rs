//! The serial reference: real bytes, one run after the other.
//!
//! A buffer comes with its `origin`: the index of the byte that displacement 0 means, since a type
//! may reach below it.

use std::ops::Range;

use super::{Datatype, DatatypeError, Segment};

/// The packed bytes of `count` elements.
///
/// # Errors
///
/// [`DatatypeError::Outside`] where the elements are not all in `source`.
pub fn pack(
    datatype: &Datatype,
    count: u64,
    source: &[u8],
    origin: usize,
) -> Result<Vec<u8>, DatatypeError> {
    let packed = datatype.packed(count)?;
    datatype.within(count, origin as u64, source.len() as u64)?;
    let mut into = vec![0; length(packed)];
    pack_part(datatype, count, source, origin, 0..packed, &mut into)?;
    Ok(into)
}

/// Packs the bytes `range` of the packed data into `into`, which has room for exactly these.
///
/// # Errors
///
/// As [`pack`]; [`DatatypeError::Range`] and [`DatatypeError::Packed`] where `range` or `into` are
/// not as said.
pub fn pack_part(
    datatype: &Datatype,
    count: u64,
    source: &[u8],
    origin: usize,
    range: Range<u64>,
    into: &mut [u8],
) -> Result<(), DatatypeError> {
    datatype.within(count, origin as u64, source.len() as u64)?;
    let mut rest = sized(into, &range)?;
    for segment in datatype.segments_of(count, range)? {
        let (part, after) = rest.split_at_mut(length(segment.length));
        part.copy_from_slice(&source[indices(segment, origin)]);
        rest = after;
    }
    Ok(())
}

/// Puts the packed bytes of `count` elements in their places; other bytes stay as they are.
///
/// # Errors
///
/// As [`pack`]; [`DatatypeError::Packed`] where `packed` is not of their size;
/// [`DatatypeError::Overlaps`] where two of them have one place.
pub fn unpack(
    datatype: &Datatype,
    count: u64,
    packed: &[u8],
    target: &mut [u8],
    origin: usize,
) -> Result<(), DatatypeError> {
    let range = 0..datatype.packed(count)?;
    datatype.receivable(count)?;
    unpack_part(datatype, count, packed, target, origin, range)
}

/// Puts the bytes `range` of the packed data, which are `packed`, in their places. Whether the type
/// may be received is checked before the first part, by [`Datatype::receivable`].
///
/// # Errors
///
/// As [`pack_part`].
pub fn unpack_part(
    datatype: &Datatype,
    count: u64,
    packed: &[u8],
    target: &mut [u8],
    origin: usize,
    range: Range<u64>,
) -> Result<(), DatatypeError> {
    datatype.within(count, origin as u64, target.len() as u64)?;
    let mut rest = sized(packed, &range)?;
    for segment in datatype.segments_of(count, range)? {
        let (part, after) = rest.split_at(length(segment.length));
        target[indices(segment, origin)].copy_from_slice(part);
        rest = after;
    }
    Ok(())
}

/// The buffer, where it is as long as the range.
fn sized<B: std::ops::Deref<Target = [u8]>>(
    buffer: B,
    range: &Range<u64>,
) -> Result<B, DatatypeError> {
    let (found, needed) = (buffer.len() as u64, range.end.saturating_sub(range.start));
    if found == needed { Ok(buffer) } else { Err(DatatypeError::Packed { found, needed }) }
}

fn length(bytes: u64) -> usize {
    usize::try_from(bytes).expect("it is at most that of a buffer")
}

/// Where a run lies in a buffer that was found to hold it.
fn indices(segment: Segment, origin: usize) -> Range<usize> {
    let offset = isize::try_from(segment.offset).expect("it is in a buffer");
    let start = origin.checked_add_signed(offset).expect("it is in a buffer");
    start..start + length(segment.length)
}
