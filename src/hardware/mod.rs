//! Hardware: how long things take. Knows bytes and times, not ranks and tags.

pub mod parameters;
pub mod profile;
pub mod value;
