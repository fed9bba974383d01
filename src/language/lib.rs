//! The language of written programs: the statements of a scenario, and how they run.
//!
//! ```text
//!   scenario ─▶ statements ─▶ Statement ─▶ program::Step ─▶ ProgramStream ─▶ calls
//!                   │                           ▲
//!               collectives ─ units of a job ───┘
//! ```
//!
//! | begin with | to |
//! |---|---|
//! | [`statements`] | read the statements that a scenario writes out |
//! | [`program`] | run them, and see what their calls returned |
//! | [`collectives`] | see which collective a statement or a workload calls, by which algorithm |
//! | [`datatypes`] | read a datatype |
//! | [`marks`] | name the moments that metrics are computed from |

pub mod collectives;
pub mod datatypes;
pub mod marks;
mod presets;
pub mod program;
pub mod seat;
pub mod selection;
pub mod statements;
