//! Collectives built from point-to-point messages, one algorithm a file.

pub mod agreement;
pub mod barrier;
