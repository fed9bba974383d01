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
//! its schedule says by calls of MPI; [`record::record`] writes programs down as a schedule. Under the
//! LogGOPS model schedules are replayed by [`runtime::loggops`].
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

use std::sync::Arc;

use super::format::Format;
use crate::job::AnyProgram;
use crate::kind::{Kind, Processes, Reading, Workload};
use crate::metric::{Measured, TIME};
use crate::ranks::Ranks;
use crate::trace::{Trace, Unfit};
use calls::players;
use form::codes;
use form::fields::SOURCE;
use form::typed::{Object as _, required};
use runtime::loggops::schedule::{self, Schedule};

form::object! {
    /// A schedule of sends, receives and computations, replayed by calls of MPI.
    pub struct GoalForm {
        /// A schedule in GOAL, beside the scenario; a computation of 1 takes 1 ns.
        file: String = required(&SOURCE, "\"schedule.goal\""),
    }
}

/// GOAL.
pub static FORMAT: Format = Format {
    kind: &KIND,
    title: "GOAL (LogGOPSim, ATLAHS)",
    ending: Some("goal"),
    begins: |start| first_word(start.bytes) == Some(b"num_ranks"),
    read: |source| {
        let schedule = read(source.text())?;
        Ok(Arc::new(Replayable(Arc::new(schedule))))
    },
    schedules: true,
    form: &codes::GOAL,
    states: &[],
};

/// A schedule.
pub static KIND: Kind = Kind {
    name: "goal",
    fields: GoalForm::FIELDS,
    about: GoalForm::ABOUT,
    metrics: &[TIME],
    account: &[],
    processes: "workload",
    read: |reading| {
        let named = reading.node.get(GoalForm::FIELDS[0].key)?;
        let read = reading.traces.trace(reading.diagnostics, KIND.name, named)?;
        let Replayable(schedule) = read.trace.downcast_ref()?;
        Some(Arc::new(Replayed { schedule: Arc::clone(schedule), digest: read.digest }))
    },
};

/// The first word of a text, behind blanks and comments.
fn first_word(text: &[u8]) -> Option<&[u8]> {
    let mut comment = false;
    for bytes in text.split(|byte| matches!(byte, b'\n' | b'\r')) {
        let mut line = line::Line::new(bytes, comment);
        let first = line.next().what;
        if first != line::What::End {
            return if let line::What::Word(word) = first { Some(word.as_bytes()) } else { None };
        }
        comment = line.in_comment;
    }
    None
}

/// A schedule that was read.
#[derive(Debug)]
struct Replayable(Arc<Schedule>);

impl Trace for Replayable {
    fn ranks(&self) -> u32 {
        self.0.ranks()
    }

    fn operations(&self) -> usize {
        self.0.ops().len()
    }

    fn schedule(&self) -> Option<&Schedule> {
        Some(&self.0)
    }

    fn unfit(&self, longest_message: u64) -> Option<Unfit> {
        let (op, why) = calls::unfit(&self.0, longest_message)?;
        Some(Unfit {
            line: self.0.line(op).unwrap_or(1),
            found: why.to_string(),
            allowed: "a machine has cpu 0 and nic 0, and the tags and sizes of MPI",
            help: "replay it under the LogGOPS model: `mpisim run FILE.goal --loggops ...`",
            code: &codes::GOAL_MACHINE,
        })
    }
}

/// A schedule that a machine replays.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// The operations of all ranks.
    pub schedule: Arc<Schedule>,
    /// Hash of its text: 32 hexadecimal digits.
    pub digest: String,
}

impl Workload for Replayed {
    fn kind(&self) -> &'static Kind {
        &KIND
    }

    fn processes(&self, reading: &mut Reading<'_>) -> Option<Processes> {
        let processes = self.schedule.ranks();
        Some(Processes::new(processes, processes.div_ceil(reading.nodes)))
    }

    fn file_digest(&self) -> Option<&str> {
        Some(&self.digest)
    }

    fn programs(&self, _: &Ranks) -> Vec<AnyProgram> {
        let players = players(&self.schedule).into_iter();
        players.map(|player| AnyProgram::Goal(Box::new(player))).collect()
    }

    fn messages(&self, _: &Ranks) -> u64 {
        let sends = self.schedule.ops().iter().filter(|op| op.kind == schedule::Kind::Send);
        sends.count() as u64
    }

    fn measure(&self, _: &mut Measured<'_>) {}

    fn senders(&self, _: &Ranks) -> u64 {
        1
    }

    fn schedule(&self) -> Result<Option<Schedule>, String> {
        Ok(Some(Schedule::clone(&self.schedule)))
    }
}
