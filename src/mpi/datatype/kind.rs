//! How a type is made from others, and the one view that every walk takes of it: a list of blocks.

use super::{Datatype, Primitive};

/// Unit of strides and displacements.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Unit {
    /// Extents of the child.
    Extents,
    /// Bytes: the types whose names begin with `h`.
    Bytes,
}

/// Which index of a subarray moves fastest.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Order {
    /// The last one.
    C,
    /// The first one.
    Fortran,
}

/// One dimension of a subarray, in elements.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Dimension {
    /// Of the array, at least 1.
    pub size: u64,
    /// Of the part, from 1 to `size`.
    pub subsize: u64,
    /// Where the part begins, at most `size - subsize`.
    pub start: u64,
}

/// How a type is made. Sums over blocks begin with 0 and have one entry more than there are blocks.
#[derive(Debug, Eq, Hash, PartialEq)]
pub enum Kind {
    /// A named type.
    Named(Primitive),
    /// Elements one after the other.
    Contiguous {
        /// How many.
        count: u64,
        /// The type of each.
        child: Datatype,
    },
    /// Equal blocks at equal distances.
    Vector {
        /// How many blocks.
        count: u64,
        /// Elements of each.
        blocklength: u64,
        /// From the start of one block to that of the next.
        stride: i64,
        /// The unit of the stride.
        unit: Unit,
        /// The type of each element.
        child: Datatype,
    },
    /// Blocks of different lengths.
    Indexed {
        /// Sums of the lengths of the blocks before each, in elements.
        starts: Box<[u64]>,
        /// Where each block begins.
        displacements: Box<[i64]>,
        /// The unit of the displacements.
        unit: Unit,
        /// The type of each element.
        child: Datatype,
    },
    /// Equal blocks anywhere.
    IndexedBlock {
        /// Elements of each.
        blocklength: u64,
        /// Where each block begins.
        displacements: Box<[i64]>,
        /// The unit of the displacements.
        unit: Unit,
        /// The type of each element.
        child: Datatype,
    },
    /// Blocks of different types; displacements are in bytes.
    Struct {
        /// Elements of each block.
        blocklengths: Box<[u64]>,
        /// Where each block begins.
        displacements: Box<[i64]>,
        /// Sums of the data of the blocks before each, in bytes.
        packed: Box<[u64]>,
        /// The type of the elements of each block.
        children: Box<[Datatype]>,
    },
    /// A box in an array.
    Subarray {
        /// The slowest first.
        dimensions: Box<[Dimension]>,
        /// The order in which the dimensions were given.
        order: Order,
        /// The type of each element.
        child: Datatype,
    },
    /// A type with other bounds.
    Resized {
        /// The lower bound, in bytes.
        lb: i64,
        /// The extent, in bytes.
        extent: i64,
        /// Its content.
        child: Datatype,
    },
}

/// Elements of one type that follow each other at its extent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'t> {
    /// Where the first one's origin is, in bytes.
    pub(super) displacement: i64,
    /// How many.
    pub(super) count: u64,
    /// The type of each.
    pub(super) child: &'t Datatype,
}

impl Unit {
    /// So many units, in bytes.
    pub(super) fn bytes(self, number: i64, child: &Datatype) -> Option<i64> {
        match self {
            Self::Extents => number.checked_mul(child.extent()),
            Self::Bytes => Some(number),
        }
    }

    /// As [`Self::bytes`], of a number that was checked when the type was made.
    fn known(self, number: i64, child: &Datatype) -> i64 {
        match self {
            Self::Extents => number * child.extent(),
            Self::Bytes => number,
        }
    }
}

/// The last entry below or at `position`; for sums that begin with 0 and exceed `position`.
pub(super) fn holder(sums: &[u64], position: u64) -> usize {
    sums.partition_point(|sum| *sum <= position) - 1
}

fn size(number: usize) -> u64 {
    number as u64
}

fn index(number: u64) -> usize {
    usize::try_from(number).expect("it is below the length of a list")
}

impl Kind {
    /// The number of blocks; a named type has none.
    pub(super) fn blocks(&self) -> u64 {
        match self {
            Self::Named(_) => 0,
            Self::Contiguous { .. } | Self::Resized { .. } => 1,
            Self::Vector { count, .. } => *count,
            Self::Indexed { displacements, .. }
            | Self::IndexedBlock { displacements, .. }
            | Self::Struct { displacements, .. } => size(displacements.len()),
            Self::Subarray { dimensions, .. } => rows(dimensions),
        }
    }

    /// A block by its number, which is below [`Self::blocks`].
    ///
    /// # Panics
    ///
    /// When there is no such block.
    pub(super) fn block(&self, number: u64) -> Block<'_> {
        match self {
            Self::Named(primitive) => panic!("{} has no block {number}", primitive.name()),
            Self::Contiguous { count, child } => Block { displacement: 0, count: *count, child },
            Self::Resized { child, .. } => Block { displacement: 0, count: 1, child },
            Self::Vector { blocklength, stride, unit, child, .. } => Block {
                displacement: number.cast_signed() * unit.known(*stride, child),
                count: *blocklength,
                child,
            },
            Self::Indexed { starts, displacements, unit, child } => {
                let at = index(number);
                let displacement = unit.known(displacements[at], child);
                Block { displacement, count: starts[at + 1] - starts[at], child }
            }
            Self::IndexedBlock { blocklength, displacements, unit, child } => {
                let displacement = unit.known(displacements[index(number)], child);
                Block { displacement, count: *blocklength, child }
            }
            Self::Struct { blocklengths, displacements, children, .. } => {
                let at = index(number);
                let (displacement, child) = (displacements[at], &children[at]);
                Block { displacement, count: blocklengths[at], child }
            }
            Self::Subarray { dimensions, child, .. } => row(dimensions, number, child),
        }
    }

    /// The block that holds the packed byte `position`, and that byte's position in the block.
    ///
    /// `position` is below the size of the type.
    pub(super) fn block_at(&self, position: u64) -> (u64, u64) {
        let equal = |blocklength: u64, child: &Datatype| {
            let bytes = blocklength * child.size();
            (position / bytes, position % bytes)
        };
        match self {
            Self::Named(_) | Self::Contiguous { .. } | Self::Resized { .. } => (0, position),
            Self::Vector { blocklength, child, .. }
            | Self::IndexedBlock { blocklength, child, .. } => equal(*blocklength, child),
            Self::Indexed { starts, child, .. } => {
                let block = holder(starts, position / child.size());
                (size(block), position - starts[block] * child.size())
            }
            Self::Struct { packed, .. } => {
                let block = holder(packed, position);
                (size(block), position - packed[block])
            }
            Self::Subarray { dimensions, child, .. } => equal(fastest(dimensions).subsize, child),
        }
    }
}

fn fastest(dimensions: &[Dimension]) -> &Dimension {
    dimensions.last().expect("a subarray has a dimension")
}

/// Rows of a subarray along its fastest dimension.
fn rows(dimensions: &[Dimension]) -> u64 {
    dimensions[..dimensions.len() - 1].iter().map(|dimension| dimension.subsize).product()
}

/// One row of a subarray.
fn row<'t>(dimensions: &[Dimension], number: u64, child: &'t Datatype) -> Block<'t> {
    let fastest = fastest(dimensions);
    let (mut rest, mut position, mut below) = (number, fastest.start, fastest.size);
    for dimension in dimensions.iter().rev().skip(1) {
        // Elements of extent 0 lie in one place, and their positions may be beyond 64 bits.
        let coordinate = dimension.start + rest % dimension.subsize;
        position = position.wrapping_add(coordinate.wrapping_mul(below));
        rest /= dimension.subsize;
        below = below.wrapping_mul(dimension.size);
    }
    let displacement = position.cast_signed().wrapping_mul(child.extent());
    Block { displacement, count: fastest.subsize, child }
}
