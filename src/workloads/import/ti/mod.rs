//! Time-independent traces of `SimGrid` (SMPI): the actions of each rank, without times.
//!
//! ```text
//! 0 init
//! 0 compute 1e9             flops
//! 0 isend 1 0 4096          to rank 1, tag 0, 4096 elements: bytes, unless a type follows
//! 0 wait 0 1 0              source, destination, tag
//! 0 allreduce 8 0 0         8 elements, flops of the reduction, type 0: MPI_DOUBLE
//! 0 finalize
//! ```
//!
//! A file has the lines of all ranks, or names a file of each rank in the order of ranks. The actions
//! become statements of a written program: messages and collectives are calls of the simulated
//! library, a computation takes its flops over the key `speed`, and what follows a reduction as flops is
//! a computation behind it. Each message has a buffer of its own.
//!
//! Source: the replay of `SimGrid` (`simgrid`), `src/smpi/internals/smpi_replay.cpp`. Left out, and refused
//! with their lines: other communicators, nonblocking collectives, waits and tests for any of several
//! requests, displacements, receives of an unknown size (-1).

mod actions;
mod collectives;
mod read;
mod types;
mod words;

use std::sync::Arc;

use super::format::{Format, Stated};
use crate::job::AnyProgram;
use crate::kind::{Kind, Processes, Reading, Workload};
use crate::metric::{Measured, TIME};
use crate::program::WrittenProgram;
use crate::ranks::Ranks;
use actions::{Action, Actions, Work};
use form::codes;
use form::fields::{LONGEST, SOURCE};
use form::shape::Shape;
use form::typed::{Object as _, required};
use form::workload_field;
use language::collectives::{Choices, Chosen};
use language::marks::{END, START};
use language::program::{Does, Team};
use language::statements::{Calling, RankProgram, Statement, Work as StatementWork};
use units::{Dimension, Frequency, TimeDelta};

static SPEED: Shape =
    Shape::Quantity { dimension: Dimension::Frequency, min: 1_000, max: 1_000_000_000_000_000 };

form::object! {
    /// A time-independent trace of SimGrid (SMPI), replayed by calls of MPI.
    pub struct TiForm {
        /// The trace, beside the scenario: the lines of all ranks, or the names of files with those of one
        /// rank each.
        file: String = required(&SOURCE, "\"smpi_simgrid.txt\""),
        /// Flops that a rank computes in a second: at `1 GHz`, 1 flop takes 1 ns. A trace does not say it.
        speed: Frequency = required(&SPEED, "\"1 GHz\""),
    }
}

/// Time-independent traces.
pub static FORMAT: Format = Format {
    kind: &KIND,
    title: "the time-independent form of SimGrid (SMPI)",
    ending: None,
    begins: |start| {
        let Some(first) = read::first_line(start.bytes) else { return false };
        let is_trace = |bytes: Vec<u8>| read::first_line(&bytes).is_some_and(read::is_line);
        read::is_line(first) || (start.named)(first).is_some_and(is_trace)
    },
    read: |source| Ok(Arc::new(read::read(source)?)),
    schedules: false,
    form: &codes::TRACE,
    states: &[Stated {
        key: "speed",
        value: "1 GHz",
        note: "the trace counts flops, and 1 flop takes 1 ns",
    }],
};

/// A replayed trace.
pub static KIND: Kind = Kind {
    name: "ti",
    fields: TiForm::FIELDS,
    about: TiForm::ABOUT,
    metrics: &[TIME],
    account: &[],
    processes: "workload",
    read: |reading| {
        let named = reading.node.get(TiForm::FIELDS[0].key)?;
        let read = reading.traces.trace(reading.diagnostics, KIND.name, named)?;
        let actions: &Actions = read.trace.downcast_ref()?;
        let speed = TiForm::read(reading.node).speed;
        let ranks = actions.ranks.iter();
        let ranks: Result<Vec<RankProgram>, TooLong> =
            ranks.map(|own| statements(own, speed, reading.choices)).collect();
        let ranks = ranks.map_err(|TooLong { line, flops }| {
            let found = format!("line {line} of the trace computes {flops} flops");
            reading.refuse(
                workload_field!(TiForm, speed),
                found,
                "a computation takes at most 200 days",
            );
        });
        let program = WrittenProgram {
            ranks: ranks.ok()?,
            variables: 0,
            buffers: Arc::new([]),
            team: Team::ALONE,
        };
        Some(Arc::new(Replay { program, digest: read.digest }))
    },
};

/// A computation that takes longer than clocks go.
struct TooLong {
    line: u32,
    flops: u64,
}

/// The actions of a rank as statements of a program, between the marks of its time.
fn statements(
    actions: &[Action],
    speed: Frequency,
    choices: &Choices,
) -> Result<RankProgram, TooLong> {
    let statement = |Action { line, work }: &Action| {
        let work = match work {
            Work::Call(call) => StatementWork::Does(Does::Call(call.clone())),
            Work::Collective(call) => {
                StatementWork::Collective(choices.chosen((**call).clone()), Calling::Blocking)
            }
            Work::Time(time) => StatementWork::Does(Does::Compute(*time)),
            Work::Flops(flops) => {
                let time = time_of(*flops, speed);
                let time = time.ok_or(TooLong { line: *line, flops: *flops })?;
                StatementWork::Does(Does::Compute(time))
            }
        };
        Ok(at(*line, work))
    };
    let line = |action: Option<&Action>| action.map_or(1, |action| action.line);
    let mark = |line, mark| Ok(at(line, StatementWork::Does(Does::Mark(mark))));
    let (first, last) = (line(actions.first()), line(actions.last()));
    let all = actions.iter().map(statement);
    std::iter::once(mark(first, START)).chain(all).chain([mark(last, END)]).collect()
}

fn at(line: u32, work: StatementWork) -> Statement {
    Statement { work, line: line as usize, column: 1, extras: None }
}

/// The time of so many flops, rounded up to a whole picosecond; `None` beyond the longest one.
fn time_of(flops: u64, speed: Frequency) -> Option<TimeDelta> {
    let ps = (u128::from(flops) * 1_000_000_000_000).div_ceil(u128::from(speed.as_hz()));
    let ps = u64::try_from(ps).ok().filter(|ps| *ps <= LONGEST)?;
    Some(TimeDelta::from_ps(ps))
}

/// A trace that a machine replays.
#[derive(Debug)]
struct Replay {
    program: WrittenProgram,
    digest: String,
}

impl Workload for Replay {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        self.program.processes(reading)
    }

    fn file_digest(&self) -> Option<&str> {
        Some(&self.digest)
    }

    fn collectives(&self) -> Vec<&Chosen> {
        self.program.collectives()
    }

    fn programs(&self, ranks: &Ranks) -> Vec<AnyProgram> {
        self.program.programs(ranks)
    }

    fn measure(&self, _: &mut Measured<'_>) {}

    fn senders(&self, _: &Ranks) -> u64 {
        1
    }
}
