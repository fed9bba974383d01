//! Derived datatypes: where the bytes of a message lie in memory.
//!
//! A [`Datatype`] is a tree over named types. It is data: it can be cloned (children are shared),
//! compared and hashed, and its measures are computed when it is made. Two algorithms find the bytes
//! that a type selects, and must agree:
//!
//! | way | for | file |
//! |---|---|---|
//! | one block after the other, as a CPU does | packing any part of a message | `segments.rs`, `pack.rs` |
//! | one primitive by its number, as a thread of a GPU does | packing all at once | `encoding.rs` |
//!
//! Source: MPI-3.1, Chapter 4; MPI 4.0, Sec. 5.1.6 and 5.1.7; `gpu-pack` Sec. 2.1 and 3. The alignment of
//! a named type, which MPI leaves open, is its size: see docs/model/datatypes.md.

mod basics;
mod construct;
pub mod encoding;
mod error;
mod kind;
mod measures;
mod overlap;
mod pack;
mod parts;
mod primitive;
mod rows;
mod segments;
mod signature;
mod tree;

pub use basics::{basic_elements, bytes_of_basics};
pub use encoding::{Element, Encoding, EncodingError, NodeKind, Observer};
pub use error::{DatatypeError, MAX_DEPTH, Part};
pub use kind::{Dimension, Kind, Order, Unit};
pub use overlap::Overlap;
pub use pack::{pack, pack_part, unpack, unpack_part};
pub use primitive::Primitive;
pub use rows::Rows;
pub use segments::{Segment, Segments};
pub use signature::{Difference, Signature};
pub use tree::Datatype;

#[cfg(test)]
mod tests;
