//! Nodes of an encoding, by their kinds.

use super::field;

/// Bytes of a word.
pub(super) const WORD: usize = 8;

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
    pub(super) const fn words(self) -> usize {
        match self {
            Self::Contiguous => field::COMMON,
            Self::Indexed | Self::Struct => field::COMMON + 1,
            Self::Vector | Self::Subarray | Self::IndexedBlock => field::COMMON + 2,
        }
    }
}
