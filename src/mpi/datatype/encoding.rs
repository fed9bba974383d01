//! A type as a GPU reads it: nodes back to back, and the lists that they refer to.
//!
//! Every primitive of a message has a number, its *id*; consecutive ids are consecutive in the packed
//! data. A thread finds from its id alone where its primitive lies and where it goes, and needs no
//! other thread for that. Numbers are words of 8 bytes.
//!
//! | node | fixed part | lists, in the lookaside part |
//! |---|---|---|
//! | every one | bits, count, size, extent, primitives (the last three of one child) | |
//! | contiguous | | |
//! | vector | stride in bytes, blocklength | |
//! | subarray | number of dimensions, lookaside offset | sizes, subsizes, starts; the slowest first |
//! | indexed block | blocklength, lookaside offset | displacements in bytes |
//! | indexed | lookaside offset | sums of blocklengths, displacements in bytes |
//! | struct | lookaside offset | sums of blocklengths, displacements, sums of primitives, sums of packed bytes; of each child its place and its extent |
//!
//! The bits say the kind and, of a leaf, the named type of its children: named types are no nodes.
//! Nodes stand in preorder, so that the child of a node is the next one; the children of a struct
//! are found by their places. A resized type is no node either: what holds it steps by its extent.
//! The fixed part is what a block of threads copies into its shared memory.
//!
//! Source: `gpu-pack` Sec. 3.1, Table 1, Fig. 3. The source counts strides in elements where it makes
//! a type and in bytes where it packs: they are turned into bytes here. It names no widths: all are 8
//! bytes here. What it keeps of a struct's children beyond their places is not said.

#[cfg(feature = "mutants")]
mod flawed;
mod traverse;
mod write;

use super::{Datatype, DatatypeError, Primitive};

#[cfg(feature = "mutants")]
pub use flawed::Flaw;
pub use traverse::{Element, Observer};

/// Bytes of the largest fixed part: no block of threads has so much shared memory.
pub const FIXED_MAX: u64 = 1 << 20;
/// Bytes of the largest lookaside part.
pub const LOOKASIDE_MAX: u64 = 1 << 30;

/// Bytes of a word.
const WORD: usize = 8;

/// The kinds of nodes; types in bytes are those in elements, with their numbers converted.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum NodeKind {
    /// Elements one after the other.
    Contiguous,
    /// Equal blocks at equal distances.
    Vector,
    /// A box in an array.
    Subarray,
    /// Blocks of different lengths: takes a search.
    Indexed,
    /// Equal blocks anywhere.
    IndexedBlock,
    /// Blocks of different types: takes a search, and threads part.
    Struct,
}

impl NodeKind {
    /// Every kind; the place in this list is its number in the bits of a node.
    pub const ALL: [Self; 6] = [
        Self::Contiguous,
        Self::Vector,
        Self::Subarray,
        Self::Indexed,
        Self::IndexedBlock,
        Self::Struct,
    ];

    /// Words of such a node in the fixed part.
    const fn words(self) -> usize {
        match self {
            Self::Contiguous => field::COMMON,
            Self::Indexed | Self::Struct => field::COMMON + 1,
            Self::Vector | Self::Subarray | Self::IndexedBlock => field::COMMON + 2,
        }
    }
}

/// Where the fields of a node stand, in words from its begin.
mod field {
    pub(super) const BITS: usize = 0;
    pub(super) const COUNT: usize = 1;
    pub(super) const SIZE: usize = 2;
    pub(super) const EXTENT: usize = 3;
    pub(super) const PRIMITIVES: usize = 4;
    /// The parameters of all nodes end here.
    pub(super) const COMMON: usize = 5;
    pub(super) const STRIDE: usize = 5;
    pub(super) const BLOCKLENGTH: usize = 6;
    pub(super) const DIMENSIONS: usize = 6;
    /// Of an indexed block; a vector has its stride here.
    pub(super) const LOOKASIDE: usize = 5;
}

/// The bit field at the begin of a node, and the place of a struct's child.
mod bits {
    use super::{NodeKind, Primitive};

    const LEAF: u64 = 1 << 3;

    /// Of a node: its kind, and the named type of its children if it is a leaf.
    pub(super) fn of_node(kind: NodeKind, leaf: Option<Primitive>) -> u64 {
        kind as u64 | of_leaf(leaf)
    }

    /// Of a child: its named type, or the word where its node begins.
    pub(super) fn of_child(leaf: Option<Primitive>, node: usize) -> u64 {
        (node as u64) << 8 | of_leaf(leaf)
    }

    fn of_leaf(leaf: Option<Primitive>) -> u64 {
        leaf.map_or(0, |primitive| (primitive as u64) << 4 | LEAF)
    }

    /// The kind of a node.
    pub(super) fn kind(bits: u64) -> NodeKind {
        NodeKind::ALL[(bits & 7) as usize]
    }

    /// The named type below, if there is one.
    pub(super) fn leaf(bits: u64) -> Option<Primitive> {
        (bits & LEAF != 0).then(|| Primitive::ALL[(bits >> 4 & 7) as usize])
    }

    /// The word where the node of a child begins.
    pub(super) fn node(bits: u64) -> usize {
        (bits >> 8) as usize
    }
}

/// `count` elements of a type, encoded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Encoding {
    fixed: Vec<u64>,
    lookaside: Vec<u64>,
    nodes: u32,
    levels: u32,
    count: u64,
    /// Primitives, bytes of data and extent of one element.
    primitives: u64,
    size: u64,
    extent: i64,
    /// What all elements touch.
    span: (i64, i64),
    #[cfg(feature = "mutants")]
    flaw: Option<Flaw>,
}

/// Why a type cannot be encoded.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq, thiserror::Error)]
pub enum EncodingError {
    /// So many elements are too many.
    #[error(transparent)]
    Datatype(#[from] DatatypeError),
    /// There are too many nodes.
    #[error("the nodes take more than {FIXED_MAX} B; a block of threads holds them in its memory")]
    Fixed,
    /// The lists are too long.
    #[error("the lists take more than {LOOKASIDE_MAX} B")]
    Lookaside,
}

impl Encoding {
    /// Of `count` elements.
    ///
    /// # Errors
    ///
    /// Where sizes are beyond 64 bits, or an encoding beyond its limits.
    pub fn new(datatype: &Datatype, count: u64) -> Result<Self, EncodingError> {
        write::encode(datatype, count)
    }

    /// How many elements there are.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many primitives there are; ids are below this.
    pub fn primitives(&self) -> u64 {
        self.primitives * self.count
    }

    /// Bytes of data.
    pub fn packed(&self) -> u64 {
        self.size * self.count
    }

    /// Bytes of the nodes.
    pub fn fixed_bytes(&self) -> u64 {
        (self.fixed.len() * WORD) as u64
    }

    /// Bytes of the lists.
    pub fn lookaside_bytes(&self) -> u64 {
        (self.lookaside.len() * WORD) as u64
    }

    /// The nodes, as words.
    pub fn fixed(&self) -> &[u64] {
        &self.fixed
    }

    /// The lists, as words.
    pub fn lookaside(&self) -> &[u64] {
        &self.lookaside
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }

    /// The nodes on the longest way from the root to a leaf.
    pub fn levels(&self) -> u32 {
        self.levels
    }

    /// The bytes that all elements touch: the lowest offset, and the first above the highest.
    pub fn span(&self) -> (i64, i64) {
        self.span
    }
}

#[cfg(test)]
mod tests;
