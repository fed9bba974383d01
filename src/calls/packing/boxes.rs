//! A layout as boxes: equal rows at equal distances, and equal slices of them at equal distances.
//!
//! Rows are joined in packing order while width and distance stay and they do not overlap; slices
//! likewise, where they lie a whole number of rows apart. A call of `memcpy2D` or `memcpy3D` moves one
//! box.

use super::{DeviceCall, End, Layout, MOST_CALLS, MOST_ROWS, Memory, Refusal};
use mpi::datatype::Segment;

/// Equal rows of bytes at equal distances, in packing order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Piece {
    /// Where the first row begins, from the origin of the data.
    pub offset: i64,
    /// Where its bytes are in the packed data.
    pub packed: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub rows: u64,
    /// From row to row, in bytes; 0 where there is one.
    pub pitch: i64,
    /// Slices.
    pub slices: u64,
    /// From slice to slice, in bytes; 0 where there is one.
    pub slice: i64,
}

impl Piece {
    fn row(segment: Segment, packed: u64) -> Self {
        let Segment { offset, length: width } = segment;
        Self { offset, packed, width, rows: 1, pitch: 0, slices: 1, slice: 0 }
    }

    /// Takes the row as its next one; false where it is not in line.
    fn take_row(&mut self, row: &Self) -> bool {
        let after = self.width == row.width;
        let pitch = row.offset.wrapping_sub(self.offset).wrapping_sub(self.last_row());
        let fits = if self.rows == 1 { pitch > 0 } else { pitch == self.pitch };
        if after && fits && pitch.cast_unsigned() >= self.width {
            (self.pitch, self.rows) = (pitch, self.rows + 1);
            return true;
        }
        false
    }

    /// From the first row to the last one.
    fn last_row(&self) -> i64 {
        self.pitch.wrapping_mul((self.rows - 1).cast_signed())
    }

    /// Takes the rows as its next slice; false where they are not in line.
    fn take_slice(&mut self, next: &Self) -> bool {
        let alike = (self.width, self.rows, self.pitch) == (next.width, next.rows, next.pitch);
        let last = self.slice.wrapping_mul((self.slices - 1).cast_signed());
        let slice = next.offset.wrapping_sub(self.offset).wrapping_sub(last);
        // The driver knows slices by how many rows they are apart.
        let whole = self.pitch > 0 && slice >= self.pitch * self.rows.cast_signed();
        let first = whole && slice % self.pitch == 0;
        let fits = if self.slices == 1 { first } else { slice == self.slice };
        if alike && fits {
            (self.slice, self.slices) = (slice, self.slices + 1);
            return true;
        }
        false
    }

    /// The copy of this piece out of the data.
    pub(super) const fn copy(&self, to: Memory) -> DeviceCall {
        let (width, rows) = (self.width.cast_signed(), self.rows.cast_signed());
        DeviceCall::Copy {
            from: End {
                memory: Memory::Data,
                offset: self.offset,
                pitch: self.pitch,
                slice: self.slice,
            },
            to: End {
                memory: to,
                offset: self.packed.cast_signed(),
                pitch: width,
                slice: width * rows,
            },
            width: self.width,
            rows: self.rows,
            slices: self.slices,
        }
    }
}

/// How far rows are joined.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Joined {
    /// Each row is a piece.
    Nothing,
    /// Rows at equal distances.
    Rows,
    /// And slices of them.
    Slices,
}

/// The pieces of a layout, in packing order.
///
/// # Errors
///
/// [`Refusal`] where there are too many.
pub fn pieces(layout: &Layout, joined: Joined) -> Result<Vec<Piece>, Refusal> {
    check_rows(layout)?;
    let mut packed = 0;
    let rows = layout.datatype.segments(layout.count)?.map(|segment| {
        let row = Piece::row(segment, packed);
        packed += segment.length;
        row
    });
    let join_rows =
        if joined == Joined::Nothing { |_: &mut _, _: &_| false } else { Piece::take_row };
    let pieces = join(rows, join_rows)?;
    if joined < Joined::Slices {
        return Ok(pieces);
    }
    join(pieces.into_iter(), Piece::take_slice)
}

/// Refuses a layout of too many rows to look at each.
pub(super) fn check_rows(layout: &Layout) -> Result<(), Refusal> {
    if rows_of(layout) > u128::from(MOST_ROWS) { Err(Refusal::Rows) } else { Ok(()) }
}

/// Contiguous blocks of the layout, at most.
fn rows_of(layout: &Layout) -> u128 {
    if layout.datatype.is_one_run() {
        return u128::from(layout.count);
    }
    u128::from(layout.encoding.primitives())
}

/// Joins neighbours where the first takes the second.
fn join(
    items: impl Iterator<Item = Piece>,
    take: fn(&mut Piece, &Piece) -> bool,
) -> Result<Vec<Piece>, Refusal> {
    let mut all: Vec<Piece> = Vec::new();
    for item in items {
        if all.last_mut().is_some_and(|last| take(last, &item)) {
            continue;
        }
        if all.len() == MOST_CALLS {
            return Err(Refusal::Calls);
        }
        all.push(item);
    }
    Ok(all)
}
