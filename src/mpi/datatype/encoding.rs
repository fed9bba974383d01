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

mod bits;
mod encoded;
mod field;
#[cfg(feature = "mutants")]
mod flawed;
mod node;
mod traverse;
mod write;

pub use encoded::{Encoding, EncodingError, FIXED_MAX, LOOKASIDE_MAX};
#[cfg(feature = "mutants")]
pub use flawed::Flaw;
pub use node::NodeKind;
pub use traverse::{Element, Observer};

#[cfg(test)]
mod tests;
