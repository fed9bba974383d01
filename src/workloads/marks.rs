//! Marks: the moments that every program names, from which metrics are computed.

/// Mark at the start of the measured time of a thread.
pub const START: u32 = 0;
/// Mark at its end.
pub const END: u32 = 1;
