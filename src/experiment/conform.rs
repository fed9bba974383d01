//! Conformance: vectors recorded from a real MPI library, run against the simulator's MPI.
//!
//! A vector says what each rank calls and what its calls returned. A *strict* case must come out
//! as it was recorded under every schedule, a *racy* one as any of the outcomes that MPI allows.
//! What a receive got is told from the received bytes, not from the simulator's books.

mod simulated;
#[cfg(test)]
mod tests;
mod vectors;

use std::fmt;

use serde_json::{Map, Value, json};

pub use simulated::Simulated;
pub use vectors::{Case, Class, Sent, VectorError, Vectors};

use crate::protocols::call::{Outcome, Status};
use crate::workloads::program::{Ending, Programs, Record, Returned};

/// Schedules per case that `mpisim conform` tries: each way that [`Simulated`] has to connect the
/// processes comes up once.
pub const SCHEDULES: u64 = 27;

/// A world that can run programs to their end.
pub trait World {
    /// Runs the programs under one of many schedules; the same number is the same schedule.
    ///
    /// Every message has bytes of its own, by which a receiver can tell it from others.
    ///
    /// # Errors
    ///
    /// Why the programs did not reach their end, in words.
    fn run(&self, programs: &Programs, schedule: u64) -> Result<Box<dyn Finished>, String>;
}

/// A world after the end of all its programs.
pub trait Finished {
    /// What the calls of a rank returned.
    fn records(&self, rank: usize) -> &[Record];

    /// Whether a buffer of a rank begins with the first `bytes` bytes of a message.
    fn holds(&self, rank: usize, buffer: u32, bytes: u64, message: &Sent) -> bool;
}

/// How many cases came out right, and what was wrong with the others.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Verdict {
    /// Cases as recorded.
    pub passed: usize,
    /// One entry per failed case.
    pub mismatches: Vec<Mismatch>,
}

/// A case that came out wrong, under the first schedule that showed it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Mismatch {
    /// The case's `id`.
    pub case: u64,
    /// The schedule.
    pub schedule: u64,
    /// What was wrong.
    pub wrong: Wrong,
}

/// What can be wrong with an outcome.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Wrong {
    /// The programs did not end.
    Stopped(String),
    /// A call returned something else.
    Returned {
        /// Whose call.
        rank: usize,
        /// The entry among what this rank's calls returned, from 0.
        entry: usize,
        /// What MPI returns there: one value, or several where the case is racy.
        expected: Vec<Option<Value>>,
        /// What the simulator returned; `None` where its calls had returned nothing more.
        found: Option<Value>,
    },
}

impl Verdict {
    /// Adds the verdict on another file.
    pub fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.mismatches.extend(other.mismatches);
    }

    /// Whether every case passed.
    pub fn is_pass(&self) -> bool {
        self.mismatches.is_empty()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for mismatch in &self.mismatches {
            writeln!(f, "{mismatch}")?;
        }
        write!(f, "{} passed, {} failed", self.passed, self.mismatches.len())
    }
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "case {}, schedule {}: {}", self.case, self.schedule, self.wrong)
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stopped(why) => write!(f, "{why}"),
            Self::Returned { rank, entry, expected, found } => {
                let text = |value: &Option<Value>| {
                    value.as_ref().map_or_else(|| "nothing".to_owned(), Value::to_string)
                };
                let expected: Vec<_> = expected.iter().map(text).collect();
                let expected = expected.join(" or ");
                write!(f, "rank {rank}, entry {entry}: {} instead of {expected}", text(found))
            }
        }
    }
}

/// Runs every case under so many schedules.
pub fn judge(vectors: &Vectors, world: &impl World, schedules: u64) -> Verdict {
    let mut verdict = Verdict::default();
    for case in &vectors.cases {
        match (0..schedules).find_map(|schedule| wrong_case(case, world, schedule)) {
            Some(mismatch) => verdict.mismatches.push(mismatch),
            None => verdict.passed += 1,
        }
    }
    verdict
}

/// What is wrong with a case under one schedule.
fn wrong_case(case: &Case, world: &impl World, schedule: u64) -> Option<Mismatch> {
    let wrong = match world.run(&case.programs, schedule) {
        Ok(finished) => difference(&case.outcomes, &outcome(case, finished.as_ref()))?,
        Err(why) => Wrong::Stopped(why),
    };
    Some(Mismatch { case: case.id, schedule, wrong })
}

/// The first entry in which `found` leaves all the outcomes that agreed with it until then.
fn difference(outcomes: &[Vec<Vec<Value>>], found: &[Vec<Value>]) -> Option<Wrong> {
    let mut left: Vec<_> = outcomes.iter().collect();
    for (rank, returned) in found.iter().enumerate() {
        let longest = left.iter().map(|outcome| outcome[rank].len()).max().unwrap_or(0);
        for entry in 0..returned.len().max(longest) {
            let found = returned.get(entry);
            let agree = |outcome: &&&Vec<Vec<Value>>| outcome[rank].get(entry) == found;
            let agreeing: Vec<_> = left.iter().filter(agree).copied().collect();
            if agreeing.is_empty() {
                let mut expected = Vec::new();
                for value in left.iter().map(|outcome| outcome[rank].get(entry).cloned()) {
                    if !expected.contains(&value) {
                        expected.push(value);
                    }
                }
                return Some(Wrong::Returned { rank, entry, expected, found: found.cloned() });
            }
            left = agreeing;
        }
    }
    None
}

/// What each rank's calls returned, in the words of the vectors.
fn outcome(case: &Case, finished: &dyn Finished) -> Vec<Vec<Value>> {
    let teller = |rank| Teller { case, finished, rank };
    (0..case.programs.size())
        .map(|rank| {
            let records = finished.records(rank).iter();
            records.map(|record| teller(rank).returned(&record.returned)).collect()
        })
        .collect()
}

/// Puts what a rank's calls returned into the words of the vectors.
struct Teller<'a> {
    case: &'a Case,
    finished: &'a dyn Finished,
    rank: usize,
}

impl Teller<'_> {
    fn returned(&self, returned: &Returned) -> Value {
        let flag = |value: bool| Map::from_iter([("flag".to_owned(), json!(value))]);
        let fields = match returned {
            Returned::Ended(ending) => self.ending(ending),
            Returned::All(endings) => self.endings(endings),
            Returned::Any(None) => Map::from_iter([("index".to_owned(), Value::Null)]),
            Returned::Any(Some((index, ending))) => {
                let mut fields = self.ending(ending);
                fields.insert("index".to_owned(), json!(index));
                fields
            }
            Returned::Tested(None) | Returned::AllTested(None) | Returned::MaybeProbed(None) => {
                flag(false)
            }
            Returned::Tested(Some(ending)) => join(flag(true), self.ending(ending)),
            Returned::AllTested(Some(endings)) => join(flag(true), self.endings(endings)),
            Returned::MaybeProbed(Some(probed)) => join(flag(true), status(probed)),
            Returned::Probed(probed) => status(probed),
        };
        Value::Object(fields)
    }

    fn endings(&self, endings: &[Ending]) -> Map<String, Value> {
        let all = endings.iter().map(|ending| Value::Object(self.ending(ending))).collect();
        Map::from_iter([("all".to_owned(), Value::Array(all))])
    }

    fn ending(&self, ending: &Ending) -> Map<String, Value> {
        let (outcome, buffer) = match ending {
            Ending::Over { outcome, buffer } => (outcome, *buffer),
            Ending::Inactive => return Map::from_iter([("inactive".to_owned(), json!(true))]),
        };
        match outcome {
            Outcome::Sent => Map::from_iter([("sent".to_owned(), json!(true))]),
            Outcome::Cancelled => Map::from_iter([("cancelled".to_owned(), json!(true))]),
            Outcome::Received(received) => {
                let mut fields = status(received);
                fields.insert("msg".to_owned(), self.message(buffer, received.count));
                fields
            }
            Outcome::Truncated(received) => {
                let mut fields = status(received);
                fields.remove("count");
                fields.insert("error".to_owned(), json!("truncate"));
                fields
            }
        }
    }

    /// Which of the case's messages lies in a buffer: its number, or words where that is not one.
    fn message(&self, buffer: u32, bytes: u64) -> Value {
        if bytes == 0 {
            return Value::Null;
        }
        let holds = |sent: &&Sent| {
            sent.bytes >= bytes && self.finished.holds(self.rank, buffer, bytes, sent)
        };
        let found: Vec<u64> = self.case.sent.iter().filter(holds).map(|sent| sent.msg).collect();
        match found[..] {
            [msg] => json!(msg),
            [] => json!("bytes that nobody sent"),
            _ => json!(format!("the bytes of all of {found:?}")),
        }
    }
}

fn status(status: &Status) -> Map<String, Value> {
    let source = status.source.map_or_else(|| json!("proc_null"), |rank| json!(rank.0));
    let tag = status.tag.map_or_else(|| json!("any"), |tag| json!(tag));
    let fields = [("source", source), ("tag", tag), ("count", json!(status.count))];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn join(mut fields: Map<String, Value>, more: Map<String, Value>) -> Map<String, Value> {
    fields.extend(more);
    fields
}
