//! All-to-all at once: all receives are posted, all sends are started, and then all is waited for.
//!
//! Each rank begins with the next one, so that not all send to rank 0 first. A rank has two
//! requests for each other one at the same time.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.6 (medium messages).

use super::alltoall_scattered;
use crate::{Round, Task};

/// One round: every pair is under way.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    alltoall_scattered::round(&Task { outstanding: u32::MAX, ..*task }, k, round)
}
