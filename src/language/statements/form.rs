//! Keys of statements, by what they are about.

pub mod buffers;
pub mod collectives;
pub(super) mod communicators;
pub(super) mod partitions;
pub mod pieces;
pub(super) mod returned;
pub(crate) mod windows;
