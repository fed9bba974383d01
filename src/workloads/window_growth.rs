//! A window that becomes twice as large, by a new window or by more memory.
//!
//! ```text
//!   recreate   create a window of 2 S · copy the old S bytes · free the old window
//!   attach     attach S more bytes to a dynamic window
//! ```
//!
//! Each round begins with the size S again: what a rank does to get there lies outside its marks, and
//! a barrier follows it. Getting memory from the operating system is not priced, in either.
//!
//! Source: `rma` Sec. 2.2.3, 5.5 and Fig. 13.

use std::collections::VecDeque;
use std::sync::Arc;

use super::job::AnyProgram;
use super::kind::Kind;
use super::metric::{Measured, MetricSpec, TIME, marks, to_f64};
use super::one_sided::{PER_NODE, PER_NODE_PATH, PROCESSES, Task, one_sided};
use form::fields::{POSITIVE, SIZE};
use form::typed::{Object as _, default, required};
pub use language::marks::{END, START};
use protocols::call::{Call, Comm, Reply};
use protocols::contract::{Machine, Next, Program, Region, Space};
use protocols::rma::call::{Flavor, RmaCall, Win};
use runtime::timed::Mark;
use units::{Bytes, Time};

form::words! {
    /// How the window grows.
    pub enum By {
        /// MPI-2: a larger window, a copy, and the end of the old one
        Recreate = "recreate",
        /// MPI-3: more memory for a dynamic window
        Attach = "attach",
    }
}

form::object! {
    /// All processes make their window twice as large.
    pub struct GrowthForm {
        /// How it grows.
        by: By = required(&By::SHAPE, "\"attach\""),
        processes: u32 = PROCESSES,
        processes_per_node: u32 = PER_NODE,
        /// Bytes of each process before.
        size: Bytes = required(&SIZE, "\"1 MB\""),
        /// Times that it grows; it begins with `size` each time.
        rounds: u32 = default(&POSITIVE, "1"),
    }
}

const GROWTH_TIME: MetricSpec =
    MetricSpec::time("growth_time").titled("Mean time to double the window");

/// One window becomes twice as large.
pub static KIND: Kind = Kind {
    name: "window_growth",
    fields: GrowthForm::FIELDS,
    about: GrowthForm::ABOUT,
    metrics: &[GROWTH_TIME, TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let GrowthForm { by, processes, processes_per_node, size, rounds } =
            GrowthForm::read(reading.node);
        Some(one_sided((processes, processes_per_node), Growth { by, size: size.as_u64(), rounds }))
    },
};

impl Task for Growth {
    fn kind() -> &'static Kind {
        &KIND
    }

    fn programs(&self, processes: u32) -> Vec<AnyProgram> {
        let growers = growers(processes, *self).into_iter();
        growers.map(|one| AnyProgram::Growth(Box::new(one))).collect()
    }

    /// The mean time from a start mark to the end mark of the same process that follows it.
    fn measure(&self, _: u32, run: &mut Measured<'_>) {
        let at = |mark: &Mark| mark.at.since(Time::ZERO).as_us_f64();
        let sum = |number| marks(run.outcome, number).map(at).sum::<f64>();
        let ends = marks(run.outcome, END).count() as u64;
        run.add(GROWTH_TIME, (sum(END) - sum(START)) / to_f64(ends));
    }
}

/// The values of the workload.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Growth {
    /// How.
    pub by: By,
    /// Bytes of the window of a rank before.
    pub size: u64,
    /// How often.
    pub rounds: u32,
}

const OLD: Win = Win(0);
const LARGER: Win = Win(1);

/// A rank whose window grows.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Grower {
    growth: Growth,
    done: u32,
    stage: Stage,
    steps: VecDeque<Next<Call>>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Stage {
    Begin,
    Round,
    Over,
}

impl Grower {
    /// Any rank.
    pub const fn new(growth: Growth) -> Self {
        Self { growth, done: 0, stage: Stage::Begin, steps: VecDeque::new() }
    }

    fn rma(&mut self, call: RmaCall) {
        self.steps.push_back(Next::Call(Call::Rma(Arc::new(call))));
    }

    fn create(&mut self, win: Win, memory: u32, bytes: u64) {
        let flavor = match self.growth.by {
            By::Recreate => Flavor::Create,
            By::Attach => Flavor::Dynamic,
        };
        let comm = Comm::default();
        self.rma(RmaCall::Create { win, comm, flavor, memory, bytes, unit: 1 });
    }

    fn decide(&mut self) {
        let Growth { by, size, rounds } = self.growth;
        self.stage = match self.stage {
            Stage::Begin => {
                match by {
                    By::Recreate => self.create(OLD, 0, size),
                    By::Attach => {
                        self.create(OLD, 0, 0);
                        self.rma(RmaCall::Attach { win: OLD, memory: 0, bytes: size });
                    }
                }
                Stage::Round
            }
            Stage::Round if self.done == rounds => {
                self.rma(RmaCall::Free { win: OLD });
                Stage::Over
            }
            Stage::Round => {
                self.steps.push_back(Next::Call(Call::Barrier { comm: Comm::default() }));
                self.steps.push_back(Next::Mark(START));
                self.grow();
                self.steps.push_back(Next::Mark(END));
                self.shrink();
                self.done += 1;
                Stage::Round
            }
            Stage::Over => {
                self.steps.push_back(Next::End);
                Stage::Over
            }
        };
    }

    fn grow(&mut self) {
        let size = self.growth.size;
        match self.growth.by {
            By::Recreate => {
                self.create(LARGER, 1, 2 * size);
                let of = |memory| Region::new(Space::Window(memory), size);
                self.steps.push_back(Next::Copy(of(0), of(1)));
                self.rma(RmaCall::Free { win: OLD });
            }
            By::Attach => self.rma(RmaCall::Attach { win: OLD, memory: 1, bytes: size }),
        }
    }

    /// As before, for the next round.
    fn shrink(&mut self) {
        match self.growth.by {
            By::Recreate => {
                self.create(OLD, 0, self.growth.size);
                self.rma(RmaCall::Free { win: LARGER });
            }
            By::Attach => self.rma(RmaCall::Detach { win: OLD, memory: 1 }),
        }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Grower {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        loop {
            if let Some(step) = self.steps.pop_front() {
                return step;
            }
            self.decide();
        }
    }
}

/// All ranks of the window.
pub fn growers(size: u32, growth: Growth) -> Vec<Grower> {
    vec![Grower::new(growth); size as usize]
}
