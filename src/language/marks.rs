//! Marks: the moments that every program names, from which metrics are computed.

/// Mark at the start of the measured time of a thread.
pub const START: u32 = 0;
/// Mark at its end.
pub const END: u32 = 1;
/// Mark at the start of a thread's measured part where the clock of its partner measures the time, as that of
/// rank 0 does in `osu_latency` and `osu_bw`.
/// Encoding: number of a mark.
pub const PARTNER_START: u32 = 4;
/// Mark at the end of that part.
/// Encoding: number of a mark.
pub const PARTNER_END: u32 = 5;
/// Mark at the start of the measured time of a thread that comes to it from a warm-up without a barrier: the
/// measured time is the mean of what each thread takes.
/// Encoding: number of a mark.
pub const DRIFTED_START: u32 = 7;
/// Mark of a thread between two measured rounds, after the first half of them and before the second; it comes
/// twice around the middle one of an odd number, and not at all where there is one round.
/// Encoding: number of a mark.
pub const HALFWAY: u32 = 6;

/// Whether [`HALFWAY`] is due after `done` of so many rounds.
pub const fn is_halfway(done: u32, rounds: u32) -> bool {
    rounds > 1 && (done == rounds / 2 || done == rounds.div_ceil(2))
}
