//! How to explore: the size of a job, the orders of events, the faults, and the limits.

use runtime::explore::Stop;
use runtime::faults::Allowed;

/// The most operations of a job.
pub const MOST_OPS: u32 = 100;

/// How large a protocol's job is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Size {
    /// Ranks, or the number that the description of the job calls `R`.
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
    /// Whether orders are left out that another one represents.
    pub reduce: bool,
    /// Whether states differ that differ only in the IDs of messages: for comparison.
    pub by_name: bool,
    /// Runs, where not every order is tried.
    pub schedules: u32,
    /// The most steps of one of them.
    pub steps: usize,
    /// Seed of random choices.
    pub seed: u64,
    /// Faults of the environment.
    pub faults: MayFail,
    /// A request to stop before the end.
    pub stop: Option<Stop>,
}

/// Faults of the environment: choices that no process may wait for. One of the two, since the HCA of a
/// process that dies retransmits nothing.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct MayFail {
    /// Whether a process may die, at any moment.
    pub crash: bool,
    /// Faults of wires to packets below the messages.
    pub packets: Allowed,
}

impl MayFail {
    /// A process may die, at any moment.
    pub const DEATH: Self =
        Self { crash: true, packets: Allowed { losses: 0, repeats: 0, overtakings: 0 } };

    /// Branches that an exploration under these faults must reach.
    pub fn reaches(self) -> Vec<&'static str> {
        let Allowed { losses, repeats, overtakings } = self.packets;
        let names = [
            (losses > 0, "lost"),
            (losses > 0, "timed_out"),
            (repeats > 0, "repeated"),
            (overtakings > 0, "overtaken"),
            (repeats > 0 || overtakings > 0, "not_taken"),
        ];
        names.into_iter().filter_map(|(asked, name)| asked.then_some(name)).collect()
    }
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
            faults: MayFail::default(),
            stop: None,
        }
    }
}
