//! Runtimes: the only place where protocols meet hardware, or an adversary.

pub mod fingerprint;
pub mod memory;
pub mod monitors;
pub mod timed;
