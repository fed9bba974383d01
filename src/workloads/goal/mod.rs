//! GOAL: schedules of sends, receives and computations with dependencies, as text and as programs.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//! a: calc 100                      // units of time; ns on a machine
//! b: send 8b to 1 tag 5 cpu 0 nic 0
//! b requires a                     // begins when a is over; irequires: when a has begun
//! }
//! rank 1 {
//! recv 8b from -1 tag -1           // any source, any tag
//! }
//! ```
//!
//! [`read()`] takes such a text, [`write()`] makes one, and [`calls::Player`] is a rank that does what
//! its schedule says by calls of MPI; [`record::record`] writes programs down as a schedule. Under the LogGOPS model schedules are replayed by
//! [`runtime::loggops`].
//!
//! Source: the schedule language of LogGOPSim (`loggopsim`). Beyond what its scanner takes,
//! comments may stand between any two words, and `tag`, `cpu` and `nic` come in any order.

pub mod calls;
mod labels;
mod line;
pub mod read;
pub mod record;
mod write;

pub use read::read;
pub use write::write;
