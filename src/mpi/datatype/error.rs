//! Why there can be no such type, or why it cannot be used so.

/// Levels of the deepest type, the named ones included.
pub const MAX_DEPTH: u32 = 32;

/// A measure that is too large for 64 bits.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Part {
    /// The bytes of data.
    Size,
    /// The distance of the bounds.
    Extent,
    /// A displacement, or a stride, in bytes.
    Displacement,
    /// The offsets that several elements touch.
    Span,
    /// The number of elements of the child.
    Count,
}

impl Part {
    const fn in_words(self) -> &'static str {
        match self {
            Self::Size => "the size",
            Self::Extent => "the extent",
            Self::Displacement => "a displacement in bytes",
            Self::Span => "the range of offsets",
            Self::Count => "the number of elements",
        }
    }
}

/// A mistake in a datatype or its use.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum DatatypeError {
    /// A number that counts something is negative.
    #[error("{what} is {found}; it may not be negative")]
    Negative {
        /// The parameter.
        what: &'static str,
        /// Its value.
        found: i64,
    },
    /// Lists that go together differ in length.
    #[error("{blocklengths} blocklengths, {displacements} displacements; each block has one")]
    Lists {
        /// Entries of the first.
        blocklengths: usize,
        /// Entries of the second.
        displacements: usize,
    },
    /// A struct has not one child for each block.
    #[error("{children} children for {blocks} blocks; each block has one")]
    Children {
        /// How many there are.
        children: usize,
        /// How many are needed.
        blocks: usize,
    },
    /// The lists of a subarray differ in length, or are empty.
    #[error(
        "{sizes} sizes, {subsizes} subsizes, {starts} starts; each dimension has one, and there is at least one dimension"
    )]
    Dimensions {
        /// Entries of the first.
        sizes: usize,
        /// Entries of the second.
        subsizes: usize,
        /// Entries of the third.
        starts: usize,
    },
    /// A subarray is not inside its array.
    #[error(
        "dimension {index}: subsize {subsize} from start {start} is not inside size {size}; a \
         subsize is at least 1, a start at least 0"
    )]
    Subarray {
        /// The dimension, from 0, in the order given.
        index: usize,
        /// Elements of the array.
        size: i64,
        /// Elements of the part.
        subsize: i64,
        /// Where the part begins.
        start: i64,
    },
    /// A number does not fit.
    #[error("{} is beyond 64 bits", part.in_words())]
    Overflow {
        /// Which one.
        part: Part,
    },
    /// The tree is too deep.
    #[error("the type has more than {MAX_DEPTH} levels")]
    Depth,
    /// The data is not all in the buffer.
    #[error(
        "the type touches offsets {low} to {high}, a buffer of {length} B with its origin at byte \
         {origin} has {} to {}", -i128::from(*origin), i128::from(*length) - i128::from(*origin)
    )]
    Outside {
        /// The lowest offset touched.
        low: i64,
        /// The first offset above the highest.
        high: i64,
        /// The byte of the buffer that offsets count from.
        origin: u64,
        /// Bytes of the buffer.
        length: u64,
    },
    /// A packed buffer is not of the right length.
    #[error("{found} B of packed data where {needed} B are needed")]
    Packed {
        /// Its length.
        found: u64,
        /// The right one.
        needed: u64,
    },
    /// A part of the packed data ends after the whole.
    #[error("bytes {from} to {to} of {packed} B of packed data")]
    Range {
        /// The first byte of the part.
        from: u64,
        /// The first byte after it.
        to: u64,
        /// All of them.
        packed: u64,
    },
    /// Data is received twice into one byte.
    #[error(
        "packed bytes {first} and {second} lie at the same offset {offset}; a receive may write a \
         byte only once"
    )]
    Overlaps {
        /// The earlier packed byte.
        first: u64,
        /// The later one.
        second: u64,
        /// Where both lie.
        offset: i64,
    },
    /// There are too many separate blocks to tell whether they overlap.
    #[error("the type has more than {limit} separate blocks; overlaps are not looked for")]
    TooManyBlocks {
        /// How many are looked at.
        limit: usize,
    },
}
