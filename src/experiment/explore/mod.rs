//! Protocols under every order of events, or many: what `mpisim explore` and `replay` do.
//!
//! ```text
//!   registry | scenario ─▶ Subject ─ strategy ─▶ Explored ─ shrink ─▶ Failed: words, Token
//!   Token ─▶ Subject ─▶ Replayed: the same words
//! ```
//!
//! A [`Subject`] is a job before its first step, whatever its library and its programs are; the
//! [`registry`] builds one from a name and a [`Size`], [`scenario`] from a point of a plan.

pub mod drawing;
pub mod registry;
pub mod report;
pub mod scenario;
mod script;
mod strategy;
pub mod subject;
pub mod token;

pub use report::{Explored, Failed, Replayed, Step, Stopped};
pub use strategy::smallest;
pub use subject::{Start, Subject};
pub use token::{Token, TokenError};

/// How large a protocol's job is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Size {
    /// Ranks, or what the entry says instead.
    pub ranks: u32,
    /// Operations of each.
    pub ops: u32,
}

/// Which orders of events are tried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Strategy {
    /// All of them, breadth first.
    Exhaustive,
    /// Each next event drawn at random.
    Walk,
    /// Random priorities that change at `depth - 1` random steps.
    Pct {
        /// How many ordered steps a failure may need.
        depth: u32,
    },
}

/// How to explore.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Options {
    /// Which orders are tried.
    pub strategy: Strategy,
    /// The most states of an exhaustive search.
    pub states: usize,
    /// The most bytes of an exhaustive search.
    pub memory: usize,
    /// Whether orders that another one stands for are left out.
    pub reduce: bool,
    /// Whether states are told apart that differ only in what messages are called: for comparison.
    pub by_name: bool,
    /// Runs, where not every order is tried.
    pub schedules: u32,
    /// The most steps of one of them.
    pub steps: usize,
    /// Seed of what is drawn.
    pub seed: u64,
    /// Whether a process may die, at any moment.
    pub crash: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            strategy: Strategy::Exhaustive,
            states: 20_000_000,
            memory: 4 << 30,
            reduce: false,
            by_name: false,
            schedules: 10_000,
            steps: 10_000,
            seed: 1,
            crash: false,
        }
    }
}
