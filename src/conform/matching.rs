//! The family `matching`: point-to-point programs and what their calls returned.
//!
//! A *strict* case must come out as it was recorded under every schedule, a *racy* one as any of
//! the outcomes that MPI allows. What a receive got is read from the received bytes, not from the
//! simulator's books.

mod calls;
mod read;

use serde_json::{Map, Value, json};

pub(super) use read::RawCase;
pub use read::{Case, Class, Sent};

use super::family::Judged;
use super::verdict::{Mismatch, Wrong, distinct};
use language::program::{Ending, Programs, Record, Returned};
use protocols::call::{Outcome, Status};

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
    /// The records of the calls of a rank.
    fn records(&self, rank: usize) -> &[Record];

    /// Whether a buffer of a rank begins with the first `bytes` bytes of a message.
    fn holds(&self, rank: usize, buffer: u32, bytes: u64, message: &Sent) -> bool;
}

impl<W: World> Judged<W> for Case {
    const IS_SCHEDULED: bool = true;

    fn mismatch(&self, world: &W, schedule: u64) -> Option<Mismatch> {
        let wrong = match world.run(&self.programs, schedule) {
            Ok(finished) => difference(&self.outcomes, &outcome(self, finished.as_ref()))?,
            Err(why) => Wrong::Stopped(why),
        };
        Some(Mismatch { case: self.id, schedule: Some(schedule), wrong })
    }
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
                let expected =
                    distinct(left.iter().map(|outcome| outcome[rank].get(entry).cloned()));
                return Some(Wrong::Returned { rank, entry, expected, found: found.cloned() });
            }
            left = agreeing;
        }
    }
    None
}

/// The returns of each rank's calls, in the words of the vectors.
pub(super) fn outcome(case: &Case, finished: &dyn Finished) -> Vec<Vec<Value>> {
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
            Returned::Any(Some(ended)) => self.indexed(ended),
            Returned::Some(ended) => {
                let all = |ended: &[(u32, Ending)]| {
                    ended.iter().map(|ended| Value::Object(self.indexed(ended))).collect()
                };
                let ended = ended.as_deref().map_or(Value::Null, |it| Value::Array(all(it)));
                Map::from_iter([("some".to_owned(), ended)])
            }
            Returned::AnyTested(None) => flag(false),
            Returned::AnyTested(Some(ended)) => {
                let ended = Returned::Any(*ended);
                let Value::Object(fields) = self.returned(&ended) else { return Value::Null };
                join(flag(true), fields)
            }
            Returned::Tested(None) | Returned::AllTested(None) | Returned::MaybeProbed(None) => {
                flag(false)
            }
            Returned::Tested(Some(ending)) => join(flag(true), self.ending(ending)),
            Returned::AllTested(Some(endings)) => join(flag(true), self.endings(endings)),
            Returned::MaybeProbed(Some(probed)) => join(flag(true), status(probed)),
            Returned::Probed(probed) => status(probed),
            Returned::WindowTested(over) => flag(*over),
            Returned::Place(seat) => Map::from_iter([
                ("rank".to_owned(), json!(seat.rank)),
                ("size".to_owned(), json!(seat.size)),
            ]),
            Returned::Part(part) => Map::from_iter([("count".to_owned(), json!(part.len))]),
        };
        Value::Object(fields)
    }

    fn indexed(&self, (index, ending): &(u32, Ending)) -> Map<String, Value> {
        let mut fields = self.ending(ending);
        fields.insert("index".to_owned(), json!(index));
        fields
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
