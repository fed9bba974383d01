//! A schedule in a file, as a workload that a machine replays.

use std::sync::Arc;

use runtime::loggops::schedule::Schedule;

/// A schedule that a machine replays.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The operations of the ranks.
    pub schedule: Arc<Schedule>,
    /// Hash of its text: 32 hexadecimal digits.
    pub digest: String,
}
