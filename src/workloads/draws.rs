//! Random numbers that programs are made of.

/// Streams of random numbers by their purpose: each call gives a stream from its beginning.
pub type Draws = dyn Fn(&'static str) -> Box<dyn FnMut() -> u64>;
