//! Messages of a datatype, and those whose buffers in host memory lie in pieces: copies by a core.
//!
//! ```text
//!   data (noncontiguous) ── gathered by a core ──▶ packed bytes ──▶ message ──▶ packed bytes ──▶ data
//! ```
//!
//! The packed bytes of a message are what a contiguous one has: size, truncation and status count them.
//! A type may meet another one of the same named types, or none, at the other side: see
//! [`Elements::mismatch`]. Source: MPI-3.1, Sec. 3.3.1 and 4.1.11.

use std::ops::Range;
use std::sync::Arc;

use super::packing::Task;
use super::space::{Region, Space};
use mpi::datatype::{Datatype, DatatypeError, Difference, Rows, Signature};

/// Elements of a datatype in a buffer of the program.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Elements {
    datatype: Datatype,
    count: u64,
    /// Bytes of data.
    packed: u64,
    /// Which byte of the buffer displacement 0 is, and the bytes that the buffer has.
    origin: u64,
    extent: u64,
    /// Whether no byte is selected twice.
    apart: bool,
    /// The first byte of the buffer that is data, where the data is one run of bytes.
    one_piece: Option<u64>,
}

impl Elements {
    /// `count` elements, in the smallest buffer that has displacement 0, or the lowest below it.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Overflow`] where they are beyond 64 bits.
    pub fn new(datatype: Datatype, count: u64) -> Result<Self, DatatypeError> {
        let (low, high) = datatype.span(count)?;
        let packed = datatype.packed(count)?;
        let low = low.min(0);
        let (origin, extent) = (low.unsigned_abs(), high.abs_diff(low));
        let apart = datatype.receivable(count).is_ok();
        let mut made = Self { datatype, count, packed, origin, extent, apart, one_piece: None };
        made.one_piece = made.one_run();
        Ok(made)
    }

    /// The first byte of the buffer that is data, where the data is one run of bytes.
    fn one_run(&self) -> Option<u64> {
        if let Some(rows) = self.rows() {
            return (rows.count <= 1).then_some(rows.first.unsigned_abs());
        }
        let mut runs = self.runs(0..self.packed);
        let first = runs.next().map_or(0, |(at, _)| at);
        runs.next().is_none().then_some(first)
    }

    /// Bytes of data: those of the message.
    pub const fn packed(&self) -> u64 {
        self.packed
    }

    /// Bytes of the buffer, from displacement 0, or the lowest below it, to the end of the highest.
    pub const fn extent(&self) -> u64 {
        self.extent
    }

    /// The displacement of the buffer's first byte: 0, or the lowest one below it.
    pub const fn lowest(&self) -> i64 {
        self.origin.cast_signed().wrapping_neg()
    }

    /// Elements of named types in all of them.
    pub fn primitives(&self) -> u64 {
        self.datatype.primitives() * self.count
    }

    /// Whether no byte is selected twice.
    pub const fn are_apart(&self) -> bool {
        self.apart
    }

    /// That they can be received: no byte is written twice.
    ///
    /// # Errors
    ///
    /// [`DatatypeError::Overlaps`] with the first such byte.
    pub fn receivable(&self) -> Result<(), DatatypeError> {
        self.datatype.receivable(self.count)
    }

    /// Whether the data is one run of bytes: libraries send it as it is.
    pub const fn is_one_piece(&self) -> bool {
        self.one_piece.is_some()
    }

    /// Whether the data is one run of bytes from the first byte of the buffer on.
    pub const fn is_from_start(&self) -> bool {
        matches!(self.one_piece, Some(0))
    }

    /// The data in buffer `id` of the program, where it is one run of bytes.
    pub fn piece(&self, id: u32) -> Option<Region> {
        let offset = self.one_piece?;
        Some(Region { offset, ..Region::new(Space::User(id), self.packed) })
    }

    /// Where the named types of a message of these elements part from those of a receive of `room`, one
    /// by one and as far as both go.
    pub fn mismatch(&self, room: &Self) -> Option<Difference> {
        if self.datatype == room.datatype {
            return None;
        }
        let difference = self.signature().difference(room.signature());
        difference.filter(|parted| parted.left.is_some() && parted.right.is_some())
    }

    /// Their named types, one by one.
    ///
    /// # Panics
    ///
    /// Never: their packed size was found.
    pub fn signature(&self) -> Signature<'_> {
        Signature::of(&self.datatype, self.count).expect("their packed size was found")
    }

    /// All runs, where these are alike; the first byte is one of the buffer.
    pub fn rows(&self) -> Option<Rows> {
        let rows = Rows::of(&self.datatype, self.count)?;
        Some(Rows { first: rows.first.checked_add_unsigned(self.origin)?, ..rows })
    }

    /// Where buffer `id` of the program has them.
    pub const fn data(&self, id: u32) -> Region {
        Region::new(Space::User(id), self.extent)
    }

    /// The runs of these packed bytes, in packing order: first byte in the buffer, and length.
    ///
    /// # Panics
    ///
    /// When there are no such bytes.
    pub fn runs(&self, bytes: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let segments = self.datatype.segments_of(self.count, bytes);
        let origin = self.origin;
        segments.expect("the span was found, and the bytes are of the message").map(move |run| {
            let at = origin.checked_add_signed(run.offset).expect("no byte lies before the buffer");
            (at, run.length)
        })
    }
}

/// Copy by a core between a buffer in pieces and packed bytes.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct TypedCopy {
    /// Which way.
    pub task: Task,
    /// The program's buffer.
    pub buffer: u32,
    /// Elements in the buffer.
    pub elements: Arc<Elements>,
    /// The packed bytes.
    pub packed: Region,
    /// The first of them, among all of the message.
    pub first: u64,
}

impl TypedCopy {
    /// The program's buffer.
    pub fn data(&self) -> Region {
        self.elements.data(self.buffer)
    }

    /// Which packed bytes of the message these are.
    pub const fn bytes(&self) -> Range<u64> {
        self.first..self.first + self.packed.len
    }

    /// Region that is read, and region that is written.
    pub fn ends(&self) -> (Region, Region) {
        match self.task {
            Task::Pack => (self.data(), self.packed),
            Task::Unpack => (self.packed, self.data()),
        }
    }
}
