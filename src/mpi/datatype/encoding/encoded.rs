//! An encoded type: its nodes and its lists.

#[cfg(feature = "mutants")]
use super::flawed::Flaw;
use super::node::WORD;
use crate::datatype::error::DatatypeError;

/// Bytes of the largest fixed part: no block of threads has so much shared memory.
pub const FIXED_MAX: u64 = 1 << 20;
/// Bytes of the largest lookaside part.
pub const LOOKASIDE_MAX: u64 = 1 << 30;

/// `count` elements of a type, encoded.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Encoding {
    pub(super) fixed: Vec<u64>,
    pub(super) lookaside: Vec<u64>,
    pub(super) nodes: u32,
    pub(super) levels: u32,
    pub(super) count: u64,
    /// Primitives, bytes of data and extent of one element.
    pub(super) primitives: u64,
    pub(super) size: u64,
    pub(super) extent: i64,
    /// What all elements touch.
    pub(super) span: (i64, i64),
    #[cfg(feature = "mutants")]
    pub(super) flaw: Option<Flaw>,
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
