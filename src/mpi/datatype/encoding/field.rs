//! Where the fields of a node stand, in words from its begin.

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
