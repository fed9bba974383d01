//! `diff --format json` and its schema.

use schemars::JsonSchema;

use super::{Ordered, SCHEMA_VERSION, print};
use crate::error::ReportError;
use crate::explain::{PathShift, path_shifts};
use experiment::attribution::Shift;
use experiment::diff::{Closer, Difference, MetricPair, Pair, SideName};
use experiment::inputs::Change;
use experiment::results::{Happened, Parting, PointResult};

/// The result of `diff`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(title = "mpisim diff")]
pub struct DiffDocument {
    /// Version of this shape: 1.
    #[schemars(range(min = 1, max = 1))]
    pub schema: u32,
    /// One entry for each scenario; more than one where both sides are sets of baselines.
    pub scenarios: Vec<DiffedScenario>,
}

/// Two results of a scenario side by side.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct DiffedScenario {
    /// The scenario's path under `scenarios/` without `.json`; both, where they are two.
    pub scenario: String,
    /// The verdict.
    pub status: DiffStatus,
    /// The first side; left out where only the other one has the scenario.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SideDocument")]
    pub a: Option<SideDocument>,
    /// The second side.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SideDocument")]
    pub b: Option<SideDocument>,
    /// Swept paths with one value on each side, in which these differ.
    pub choices: Vec<ChoiceDocument>,
    /// Inputs that differ between the sides, as far as known.
    pub inputs: Vec<InputDocument>,
    /// The points of A in order, then those that only B has.
    pub points: Vec<DiffedPoint>,
    /// Busy time by kind of resource, over all points; empty where a side does not tell it.
    pub work: Vec<WorkDocument>,
    /// The point that was looked at event by event, if any was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "CloserDocument")]
    pub closer: Option<CloserDocument>,
    /// Events that could not be compared, and the reason.
    pub notes: Vec<String>,
}

/// The verdict on a scenario or a point.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffStatus {
    /// Equal events and equal metrics.
    Same,
    /// Something differs.
    Changed,
    /// Only A has it.
    OnlyA,
    /// Only B has it.
    OnlyB,
}

impl DiffStatus {
    /// The word for people.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Changed => "changed",
            Self::OnlyA => "only in A",
            Self::OnlyB => "only in B",
        }
    }
}

/// A side, in words.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Side")]
pub struct SideDocument {
    /// As the command called it.
    pub name: String,
    /// `run`, `results` or `baseline`.
    pub kind: String,
    /// Version of the program that made it.
    pub version: String,
    /// Hash over the points' digests in point order.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub digest: String,
}

/// A field that was chosen to differ.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "SideChoice")]
pub struct ChoiceDocument {
    /// The swept path.
    pub path: String,
    /// Its value on A; left out where A does not sweep it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub a: Option<String>,
    /// Its value on B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub b: Option<String>,
}

/// A field of the scenario, or a number of its machine, that is not the same for both sides.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "SideInput")]
pub struct InputDocument {
    /// As `--set` names it.
    pub path: String,
    /// Its value on A; `none` where A does not have it.
    pub a: String,
    /// Its value on B.
    pub b: String,
}

/// A point of both sides.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct DiffedPoint {
    /// Swept path and value as the scenario spells them, without those chosen to differ.
    pub params: Ordered<String>,
    /// The verdict.
    pub status: DiffStatus,
    /// The point of A.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SidePoint")]
    pub a: Option<SidePoint>,
    /// The point of B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SidePoint")]
    pub b: Option<SidePoint>,
    /// Every metric that a side has.
    pub metrics: Vec<DiffedMetric>,
}

/// The point of one side.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct SidePoint {
    /// Its number in the sweep of this side.
    pub index: usize,
    /// Digest of its event stream.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub digest: String,
    /// Why the simulated program failed, or the limit that ended it; only where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub failure: Option<String>,
}

/// A metric of both sides.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct DiffedMetric {
    /// Its name.
    pub name: String,
    /// The value of A; left out where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub a: Option<f64>,
    /// The value of B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub b: Option<f64>,
    /// Unit of both.
    pub unit: String,
    /// B less A in percent of A; left out where A has none or is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub change_percent: Option<f64>,
}

/// Busy time of a kind of resource.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Work")]
pub struct WorkDocument {
    /// Such as `threads: posting` or `link out`.
    pub what: String,
    /// Picoseconds on A.
    pub a_ps: u64,
    /// Picoseconds on B.
    pub b_ps: u64,
}

/// One point of both sides, event by event.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Closer")]
pub struct CloserDocument {
    /// The number of the point on A.
    pub a_point: usize,
    /// The number of the point on B.
    pub b_point: usize,
    /// Events of A.
    pub a_events: u64,
    /// Events of B.
    pub b_events: u64,
    /// The measured time by resource and phase along the critical path, the greatest difference first;
    /// empty where a program failed.
    pub path: Vec<PathDocument>,
    /// The number of the first event that differs, from 1; left out where none does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub first_difference: Option<u64>,
    /// The events around it.
    pub events: Vec<EventPair>,
}

/// A part of the measured time.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "PathPart")]
pub struct PathDocument {
    /// The kind of resource.
    pub resource: String,
    /// The phase of its time.
    pub phase: String,
    /// Picoseconds on A.
    pub a_ps: u64,
    /// Picoseconds on B.
    pub b_ps: u64,
}

/// The events of one number.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct EventPair {
    /// Their place in the runs, from 1.
    pub number: u64,
    /// The event of A; left out where A had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EventDocument")]
    pub a: Option<EventDocument>,
    /// The event of B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "EventDocument")]
    pub b: Option<EventDocument>,
}

/// An event.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Event")]
pub struct EventDocument {
    /// Simulated time in picoseconds.
    pub at_ps: u64,
    /// The rank or the resource.
    pub place: String,
    /// The event, in words.
    pub what: String,
    /// The number of the event that it follows from; 0 where it was planned from the beginning.
    pub cause: u64,
}

impl DiffedScenario {
    /// A scenario that only one side has.
    pub const fn of_one_side(scenario: String, status: DiffStatus) -> Self {
        Self {
            scenario,
            status,
            a: None,
            b: None,
            choices: Vec::new(),
            inputs: Vec::new(),
            points: Vec::new(),
            work: Vec::new(),
            closer: None,
            notes: Vec::new(),
        }
    }

    /// Remarks about a scenario.
    pub fn new(difference: &Difference<'_>) -> Self {
        let Difference { scenario, names, inputs, sides, work, closer, notes } = difference;
        let [a, b] = names.each_ref().map(|name| Some(side(name)));
        let choices = sides.choices.iter().map(|choice| {
            let [a, b] = choice.values.clone();
            ChoiceDocument { path: choice.path.clone(), a, b }
        });
        Self {
            scenario: scenario.clone(),
            status: if sides.is_same() { DiffStatus::Same } else { DiffStatus::Changed },
            a,
            b,
            choices: choices.collect(),
            inputs: inputs.iter().map(input).collect(),
            points: sides.pairs.iter().map(point).collect(),
            work: work.iter().map(work_document).collect(),
            closer: closer.as_ref().map(closer_document),
            notes: notes.clone(),
        }
    }
}

/// The comparison as `diff --format json` prints it, with a line feed at the end.
///
/// # Errors
///
/// [`ReportError::NotFinite`] where a value is not a finite number.
pub fn diff_json(scenarios: Vec<DiffedScenario>) -> Result<String, ReportError> {
    for (point, all) in scenarios.iter().flat_map(|one| &one.points).enumerate() {
        for metric in &all.metrics {
            let numbers = [metric.a, metric.b].into_iter().flatten();
            if let Some(value) = numbers.into_iter().find(|value| !value.is_finite()) {
                let (metric, value) = (metric.name.clone(), value.to_string());
                return Err(ReportError::NotFinite { point, metric, value });
            }
        }
    }
    print(&DiffDocument { schema: SCHEMA_VERSION, scenarios })
}

/// JSON Schema of `diff --format json`.
///
/// # Panics
///
/// Never: a schema is a JSON value.
pub fn diff_schema() -> String {
    print(&schemars::schema_for!(DiffDocument)).expect("a schema is a JSON value")
}

fn side(name: &SideName) -> SideDocument {
    SideDocument {
        name: name.label.clone(),
        kind: name.kind.to_owned(),
        version: name.version.clone(),
        digest: name.digest.clone(),
    }
}

fn input(change: &Change) -> InputDocument {
    let [a, b] = change.values.clone();
    InputDocument { path: change.path.clone(), a, b }
}

fn point(pair: &Pair<'_>) -> DiffedPoint {
    let one = |point: &PointResult| SidePoint {
        index: point.index,
        digest: point.digest.clone(),
        failure: point.failure.clone(),
    };
    let [a, b] = pair.points.map(|point| point.map(one));
    let status = match (&a, &b) {
        (Some(_), None) => DiffStatus::OnlyA,
        (None, _) => DiffStatus::OnlyB,
        (Some(_), Some(_)) if pair.is_same() => DiffStatus::Same,
        (Some(_), Some(_)) => DiffStatus::Changed,
    };
    let params = Ordered(pair.params.clone());
    DiffedPoint { params, status, a, b, metrics: pair.metrics.iter().map(metric).collect() }
}

fn metric(metric: &MetricPair) -> DiffedMetric {
    let [a, b] = metric.values;
    DiffedMetric {
        name: metric.name.clone(),
        a,
        b,
        unit: metric.unit.to_owned(),
        change_percent: metric.change(),
    }
}

fn work_document(shift: &Shift) -> WorkDocument {
    WorkDocument { what: shift.what.clone(), a_ps: shift.before, b_ps: shift.now }
}

fn closer_document(closer: &Closer) -> CloserDocument {
    let ([a_point, b_point], [a_events, b_events]) = (closer.points, closer.events);
    let path = match &closer.explanations {
        [Some(a), Some(b)] => path_shifts([a, b]).iter().map(path_document).collect(),
        _ => Vec::new(),
    };
    CloserDocument {
        a_point,
        b_point,
        a_events,
        b_events,
        path,
        first_difference: closer.parting.as_ref().map(|parting| parting.number),
        events: event_pairs(closer),
    }
}

fn path_document(shift: &PathShift) -> PathDocument {
    let [a_ps, b_ps] = shift.times.map(units::TimeDelta::as_ps);
    let phase = shift.phase.to_owned();
    PathDocument { resource: shift.resource.clone(), phase, a_ps, b_ps }
}

fn event_pairs(closer: &Closer) -> Vec<EventPair> {
    let pairs = closer.parting.as_ref().map_or_else(Vec::new, Parting::pairs);
    let event = |event: &Happened| EventDocument {
        at_ps: event.at.as_ps(),
        place: event.place.clone(),
        what: event.what.clone(),
        cause: event.cause,
    };
    let pair = |(number, [a, b]): (u64, [Option<&Happened>; 2])| EventPair {
        number,
        a: a.map(event),
        b: b.map(event),
    };
    pairs.into_iter().map(pair).collect()
}
