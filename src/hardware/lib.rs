//! Hardware: how long things take. Knows bytes and times, not ranks and tags.

pub mod cluster;
pub mod copies;
pub mod core;
pub mod fabric;
pub mod gpu;
pub mod last_level;
pub mod lines;
pub mod memory;
pub mod pace;
pub mod parameters;
pub mod parts;
pub mod pinning;
pub mod profile;
pub mod registration;
pub mod reliable;
pub mod slow_core;
pub mod topology;
pub mod value;
pub mod what_if;
