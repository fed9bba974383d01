//! The key `limits`: where a run stops.

use form::fields::{LONGEST, bytes, time};
use form::shape::Shape;
use form::typed::default;
use units::{Bytes, TimeDelta};

/// The most memory of a point where the scenario sets no limit: what a machine of today has.
pub const DEFAULT_MEMORY: u64 = 16 << 30;

form::object! {
    /// Where a run stops.
    pub struct LimitsForm {
        /// Events of a point, at most.
        events: u64 = default(&Shape::Count { min: 1, max: u64::MAX }, "100000000000"),
        /// Simulated time of a point, at most.
        time: TimeDelta = default(&time(1, LONGEST), "17280000 s"),
        /// What a point may hold, at most, as the program counts it (docs/guide/limits.md).
        memory: Option<Bytes> = default(&bytes(1, 1 << 50), "16 GiB"),
        /// Points of the sweep, at most.
        points: u64 = default(&Shape::Count { min: 1, max: 10_000_000 }, "100000"),
    }
}
