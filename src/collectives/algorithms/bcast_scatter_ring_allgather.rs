//! Broadcast of a long message: its parts are scattered down a binomial tree, then collected round a ring.
//!
//! A rank receives the message about once, and the root sends it about twice, whatever the number of ranks: for long
//! messages that beats a binomial tree, whose root sends it log2 P times.
//!
//! Source: Barnett, Gupta, Payne, Shuler, van de Geijn, Watts: Interprocessor collective communication library, 1994;
//! Thakur, Rabenseifner, Gropp 2005, Section 4.2 (long messages).

use super::bcast_scatter::Scatter;
use super::ring;
use crate::{Round, Task};

/// Scatter; collect.
pub(super) fn round(task: &Task<'_>, k: u32, round: &mut Round) -> bool {
    let scatter = Scatter::new(task);
    let part = |rank: u32| scatter.parts(rank, rank + 1);
    scatter.then(k, round, |k, round| ring::collect((scatter.me, task.size), k + 1, part, round))
}
