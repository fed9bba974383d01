//! Marks: the moments that every program names, from which metrics are computed.

/// Mark at the start of the measured time of a thread.
pub const START: u32 = 0;
/// Mark at its end.
pub const END: u32 = 1;
/// Mark at the start of a thread's measured part where the clock of its partner measures the time, as that of
/// rank 0 does in `osu_latency` and `osu_bw`.
pub const PARTNER_START: u32 = 4;
/// Mark at the end of that part.
pub const PARTNER_END: u32 = 5;
