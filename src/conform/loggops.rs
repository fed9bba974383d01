//! Schedules replayed under LogGOPS: the end times that LogGOPSim gives, to the unit.
//!
//! The file is of a form of its own: an object with the `tool` and its `vectors`, each with the name
//! of a GOAL file that lies beside it.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::error::VectorError;
use super::family::Judged;
use super::verdict::{Mismatch, Wrong};
use runtime::loggops::schedule::Schedule;
use runtime::loggops::{Parameters, replay};
use workloads::import::goal;
use workloads::trace::ReadError;

/// A schedule, its parameters, and what the tool says.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its place in the file, from 1.
    pub id: u64,
    /// Its name.
    pub name: String,
    /// The operations of the ranks.
    pub schedule: Schedule,
    /// The six numbers of the model.
    pub parameters: Parameters,
    /// The answers of the tool, by field.
    expected: Vec<(&'static str, Value)>,
}

/// The whole file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "all fields of the file are named, so that others are refused")]
struct RawFile {
    tool: String,
    commit: String,
    time_unit: String,
    vectors: Vec<RawCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "all fields of the file are named, so that others are refused")]
struct RawCase {
    name: String,
    goal: String,
    what: String,
    source: String,
    params: RawParameters,
    ranks: u64,
    cpus: u64,
    nics: u64,
    events: u64,
    end_times: Vec<u64>,
    end_time_max: u64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(non_snake_case, reason = "the letters of the model differ in case alone")]
struct RawParameters {
    L: u64,
    o: u64,
    g: u64,
    G: u64,
    O: u64,
    S: u64,
}

/// The name of the tool, and its cases; schedules are read from `folder`.
pub(super) fn read(text: &str, folder: &Path) -> Result<(String, Vec<Case>), VectorError> {
    let file: RawFile = serde_json::from_str(text)?;
    let cases = (1..).zip(file.vectors).map(|(id, case)| case.checked(id, folder));
    Ok((file.tool, cases.collect::<Result<_, _>>()?))
}

impl RawCase {
    fn checked(self, id: u64, folder: &Path) -> Result<Case, VectorError> {
        let wrong =
            |why: String| VectorError::Case { case: id, problem: format!("{}: {why}", self.goal) };
        let file = File::open(folder.join(&self.goal)).map_err(|why| wrong(why.to_string()))?;
        let schedule = goal::read(BufReader::new(file)).map_err(|errors| wrong(first(&errors)))?;
        let RawParameters { L, o, g, G, O, S } = self.params;
        Ok(Case {
            id,
            name: self.name,
            schedule,
            parameters: Parameters {
                latency: L,
                overhead: o,
                gap: g,
                gap_per_byte: G,
                overhead_per_byte: O,
                eager_max: S,
            },
            expected: vec![
                ("ranks", json!(self.ranks)),
                ("cpus", json!(self.cpus)),
                ("nics", json!(self.nics)),
                ("end_times", json!(self.end_times)),
                ("end_time_max", json!(self.end_time_max)),
                ("events", json!(self.events)),
            ],
        })
    }
}

fn first(errors: &[ReadError]) -> String {
    let first = errors.first().expect("a refused text has an error");
    format!("line {}: {}; {}", first.line, first.found, first.allowed)
}

impl<W> Judged<W> for Case {
    const IS_SCHEDULED: bool = false;

    fn mismatch(&self, _: &W, _: u64) -> Option<Mismatch> {
        let wrong = match replay(&self.schedule, self.parameters) {
            Err(why) => Wrong::Stopped(format!("{}: {why}", self.name)),
            Ok(replayed) => {
                let (cpus, nics) = self.schedule.width();
                let found = [
                    json!(self.schedule.ranks()),
                    json!(cpus),
                    json!(nics),
                    json!(replayed.end_times),
                    json!(replayed.end_times.iter().max()),
                    json!(replayed.events),
                ];
                let pairs = self.expected.iter().zip(found);
                let (field, expected, found) = pairs
                    .map(|((field, expected), found)| (field, expected, found))
                    .find(|(_, expected, found)| *expected != found)?;
                Wrong::Differs {
                    field: format!("{}.{field}", self.name),
                    expected: vec![Some(expected.clone())],
                    found: Some(found),
                }
            }
        };
        Some(Mismatch { case: self.id, schedule: None, wrong })
    }
}
