//! Broadcast of a message of medium size: its parts are scattered down a binomial tree, then collected by recursive
//! doubling.
//!
//! It takes 2 log2 P rounds, where a [ring](super::bcast_scatter_ring_allgather) takes P and more. Where P is no power
//! of two, ranks are [folded](super::doubling) into one for the second half.
//!
//! Source: Thakur, Rabenseifner, Gropp 2005, Section 4.2 (medium messages).

use super::bcast_scatter::Scatter;
use super::doubling;
use crate::{Round, Task};

/// Scatter; collect.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let scatter = Scatter::new(task);
    scatter.then(k, round, |k, round| {
        let parts = |first, last| scatter.parts(first, last);
        doubling::collect((scatter.me, task.size), k, parts, round)
    })
}
