//! Schedules replayed under the LogGOPS model: a rank is CPUs and NICs with clocks, and nothing
//! else is modelled. No protocol, no topology, no library: what a message costs are six numbers.
//!
//! ```text
//!   send     |--o + (s-1)O--| CPU          receive: one that waits goes on; else it waits
//!            |--g + (s-1)G------| NIC
//!                   L
//!            |------+------> first byte    |--o + (s-1)max(O,G)--| CPU of the receiver
//!                                          |--g + (s-1)G-----| NIC of the receiver
//! ```
//!
//! Times are whole numbers of the unit in which the parameters are given. A message longer than S
//! is over for its sender only when it is received (rendezvous); the answer takes no time.
//!
//! Source: the model of LogGOPSim (`loggopsim`), whose end times are reproduced exactly: the
//! vectors in `traces/goal/`. Its order is (time, stamp): an element that finds its CPU or NIC busy
//! is put back to the time when both are free and keeps its stamp. The tool puts back every element
//! that waits, each time; here those that wait for the same CPU and NIC stand in a line, and only
//! the first is put back: clocks never run backwards, so that the one behind it could not
//! have gone first.
//!
//! Left out: noise, and that the tool orders more than 16 operations of one kind that become
//! executable at once on one rank by an unstable sort; here they keep their order. A message of no
//! bytes costs what one of one byte costs.

mod channels;
mod line;
mod queue;
mod replay;
pub mod schedule;
mod stuck;
mod wild;

pub use replay::{Replayed, TooLong, replay};
pub use stuck::{Stuck, Waits};

/// The cost of a message, in units of time. The letters are those of the model.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Parameters {
    /// L: from a NIC to another, for the first byte.
    pub latency: u64,
    /// o: of a CPU, for a message.
    pub overhead: u64,
    /// g: of a NIC, for a message.
    pub gap: u64,
    /// G: of a NIC, for each byte after the first.
    pub gap_per_byte: u64,
    /// O: of a CPU, for each byte after the first.
    pub overhead_per_byte: u64,
    /// S: the longest message that does not wait for its receiver, in bytes.
    pub eager_max: u64,
}
