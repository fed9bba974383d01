//! Machine-readable output: `run --format json`, `check --format json`, and their schemas.
//!
//! The shapes are contracts: keys keep their names and order, values are finite and written as the
//! shortest decimal that reads back as the same number; a key without a value is left out, so
//! that `null` never occurs.

pub mod diff;

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::csv::finite;
use super::error::ReportError;
use experiment::results::{
    ClaimResult, ClaimStatus, Dependence, Explanation, Metric, NullModel, PointResult, RunResult,
    Supposed, Transient, Unfired,
};
use units::TimeDelta;

/// Version of both shapes, written under the key `schema`.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of `run`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(title = "mpisim results")]
pub struct ResultDocument {
    /// Version of this shape: 1.
    #[schemars(range(min = 1, max = 1))]
    pub schema: u32,
    /// The scenario's path under `scenarios/` without `.json`.
    pub scenario: String,
    /// Version of the program.
    pub version: String,
    /// Hash over the points' digests in point order.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub digest: String,
    /// The points of the sweep, in order.
    pub points: Vec<PointDocument>,
    /// The claims, in file order.
    pub claims: Vec<ClaimDocument>,
    /// The points with another cost of one resource; only under `--what-if`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<SupposedDocument>,
}

/// All points again, where one resource costs more or less.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Supposed")]
pub struct SupposedDocument {
    /// Resource and factor, as `pcie=0.5`.
    pub change: String,
    /// Metrics by name, of each point in order; empty where it failed.
    pub points: Vec<Ordered<ValueDocument>>,
}

/// One point of the sweep.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Point")]
pub struct PointDocument {
    /// Swept path and value as the scenario spells them, in axis order.
    pub params: Ordered<String>,
    /// Digest of the point's event stream.
    #[schemars(regex(pattern = "^[0-9a-f]{32}$"))]
    pub digest: String,
    /// Metrics by name.
    pub metrics: Ordered<ValueDocument>,
    /// Why the simulated program failed, or the limit that ended it; only where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub failure: Option<String>,
    /// Faults of the plan that did nothing; only where there are such.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unfired: Vec<UnfiredDocument>,
    /// The part of the measured time that is a start, and not a steady state; only where that is
    /// more than 5 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TransientDocument")]
    pub transient: Option<TransientDocument>,
    /// Where the measured time went; only under `--explain`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ExplanationDocument")]
    pub explanation: Option<ExplanationDocument>,
}

/// A fault of the plan that did nothing.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Unfired")]
pub struct UnfiredDocument {
    /// Its place in `faults` of the scenario, from 0.
    pub fault: usize,
    /// Its `kind`.
    pub kind: String,
    /// Why it did nothing.
    pub why: String,
}

/// The part of the measured time of a point that is a start.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Transient")]
pub struct TransientDocument {
    /// The first and the second half of the measured rounds in picoseconds; only where they differ by
    /// more than 5 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[u64; 2]")]
    pub halves_ps: Option<[u64; 2]>,
    /// The time that a thread pays once for its buffers, and its measured time, in picoseconds;
    /// only where the former is more than 5 %.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[u64; 2]")]
    pub once_ps: Option<[u64; 2]>,
    /// The key of the scenario that takes the start out, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub mend: Option<String>,
}

/// Where the measured time of a point went.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Explanation")]
pub struct ExplanationDocument {
    /// The measured time in picoseconds.
    pub total_ps: u64,
    /// Parts that sum to it exactly, the greatest first.
    pub parts: Vec<ShareDocument>,
    /// The longest waits, the longest first.
    pub waits: Vec<WaitDocument>,
}

/// A part of the measured time.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Share")]
pub struct ShareDocument {
    /// The owner of the time.
    pub resource: String,
    /// The kind of work.
    pub phase: String,
    /// How long, in picoseconds.
    pub ps: u64,
}

/// A call in which a rank found nothing to do.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Wait")]
pub struct WaitDocument {
    /// The rank.
    pub rank: String,
    /// The operation, as MPI spells it.
    pub operation: String,
    /// The ranks that could have ended the wait.
    pub peer: String,
    /// When the first such call was made, in picoseconds from the begin of the measured time.
    pub called_ps: u64,
    /// How long it waited, in picoseconds.
    pub waited_ps: u64,
    /// Calls of the rank that waited so, for the same and as long.
    pub times: u64,
}

/// A number and its unit.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Value")]
pub struct ValueDocument {
    /// A finite number.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// One claim and its verdict.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Claim")]
pub struct ClaimDocument {
    /// Id from the catalogue of claims.
    pub id: String,
    /// Whether it holds.
    pub status: ClaimVerdict,
    /// The measured value.
    pub measured: String,
    /// The expected value, with the tolerance.
    pub expected: String,
    /// Document and figure.
    pub source: String,
    /// Whether another model could have failed it.
    pub could_fail: bool,
    /// Why it could not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_fail: Option<String>,
    /// The verdict of a trivial model, where there is one for this kind of claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub null_model: Option<NullModelDocument>,
    /// Assumed numbers whose range holds the other verdict too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<DependenceDocument>,
}

/// An assumed number that a verdict hangs on.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "Dependence")]
pub struct DependenceDocument {
    /// Its path, as `--set` takes it.
    pub number: String,
    /// The value.
    pub value: String,
    /// Its lowest and its highest plausible value.
    pub range: [String; 2],
    /// The part of that range, around the value, in which the verdict is the same.
    pub same: [String; 2],
}

impl From<&Dependence> for DependenceDocument {
    fn from(one: &Dependence) -> Self {
        Self {
            number: one.number.clone(),
            value: one.value.clone(),
            range: one.range.clone(),
            same: one.same.clone(),
        }
    }
}

/// A model that knows nothing of the machine.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "NullModel")]
pub struct NullModelDocument {
    /// `no effect` or `copy`.
    pub name: &'static str,
    /// Whether the claim holds in it.
    pub status: ClaimVerdict,
}

/// Whether a claim holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClaimVerdict {
    /// Within its tolerance.
    Pass,
    /// Outside it.
    Deviates,
}

impl ClaimVerdict {
    /// The word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Deviates => "deviates",
        }
    }
}

impl From<ClaimStatus> for ClaimVerdict {
    fn from(status: ClaimStatus) -> Self {
        match status {
            ClaimStatus::Pass => Self::Pass,
            ClaimStatus::Deviates => Self::Deviates,
        }
    }
}

/// The result of `check`.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(title = "mpisim check")]
pub struct CheckDocument {
    /// Version of this shape: 1.
    #[schemars(range(min = 1, max = 1))]
    pub schema: u32,
    /// One entry per scenario checked, in the order of the command.
    pub scenarios: Vec<CheckedScenario>,
}

/// One scenario against its baseline.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct CheckedScenario {
    /// The scenario's path under `scenarios/` without `.json`.
    pub scenario: String,
    /// The verdict.
    pub status: CheckStatus,
    /// Digest of this run; left out where the run failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{32}$"))]
    pub digest: Option<String>,
    /// Digest of the baseline; left out where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String", regex(pattern = "^[0-9a-f]{32}$"))]
    pub baseline_digest: Option<String>,
    /// Numbers of machines that are not those of the baseline; empty where the baseline does not keep them.
    pub inputs: Vec<InputDocument>,
    /// Metrics compared.
    pub metrics: Vec<CheckedMetric>,
    /// Claims compared.
    pub claims: Vec<CheckedClaim>,
}

/// The verdict on a scenario.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckStatus {
    /// Digest, metrics and claims are those of the baseline; under `--metrics`, metrics and claims are.
    Same,
    /// Something moved.
    Changed,
    /// There is no baseline.
    New,
    /// The scenario could not be run to its end.
    Failed,
}

/// A number of a machine against the baseline.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
#[schemars(rename = "CheckedInput")]
pub struct InputDocument {
    /// Such as `machine.mem.core_copy_bw`.
    pub path: String,
    /// Its value now, with its unit.
    pub value: String,
    /// Its value in the baseline.
    pub baseline: String,
}

/// One metric of one point against the baseline.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct CheckedMetric {
    /// Index of the point.
    pub point: usize,
    /// Swept path and value as the scenario spells them.
    pub params: Ordered<String>,
    /// Name of the metric.
    pub name: String,
    /// The value now; left out where the metric is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub value: Option<f64>,
    /// The value in the baseline; left out where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64")]
    pub baseline: Option<f64>,
    /// Unit of both values.
    pub unit: String,
    /// The relative difference that is tolerated, 0.01 for one percent.
    pub tolerance: f64,
    /// The verdict.
    pub status: MetricStatus,
}

/// The verdict on a metric.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MetricStatus {
    /// Within its tolerance.
    Same,
    /// Outside it.
    Changed,
    /// The baseline does not have it.
    New,
    /// Only the baseline has it.
    Missing,
}

/// One claim against the baseline.
#[derive(Clone, Debug, PartialEq, serde::Serialize, JsonSchema)]
pub struct CheckedClaim {
    /// Id from the catalogue of claims.
    pub id: String,
    /// Whether it holds now.
    pub status: ClaimVerdict,
    /// The measured value.
    pub measured: String,
    /// The expected value, with the tolerance.
    pub expected: String,
    /// Document and figure.
    pub source: String,
    /// Whether it held in the baseline; left out where the baseline does not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ClaimVerdict")]
    pub baseline_status: Option<ClaimVerdict>,
}

impl CheckedClaim {
    /// A claim of this run beside its verdict in the baseline.
    pub fn new(claim: &ClaimResult, baseline: Option<ClaimStatus>) -> Self {
        let ClaimDocument { id, status, measured, expected, source, .. } = claim_document(claim);
        let baseline_status = baseline.map(ClaimVerdict::from);
        Self { id, status, measured, expected, source, baseline_status }
    }
}

/// A map that keeps the order of its entries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ordered<T>(pub Vec<(String, T)>);

impl<T: Serialize> Serialize for Ordered<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<T: JsonSchema> JsonSchema for Ordered<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        BTreeMap::<String, T>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, T>::json_schema(generator)
    }
}

/// The result as `run --format json` prints it, with a line feed at the end.
///
/// # Errors
///
/// [`ReportError::NotFinite`] where a metric is not a finite number.
pub fn run_json(result: &RunResult) -> Result<String, ReportError> {
    let points = result.points.iter().map(point_document).collect::<Result<_, _>>()?;
    print(&ResultDocument {
        schema: SCHEMA_VERSION,
        scenario: result.scenario.clone(),
        version: result.version.clone(),
        digest: result.digest.clone(),
        points,
        claims: result.claims.iter().map(claim_document).collect(),
        what_if: what_if_documents(result)?,
    })
}

/// The comparison as `check --format json` prints it, with a line feed at the end.
///
/// # Errors
///
/// [`ReportError::NotFinite`] where a value, a baseline or a tolerance is not a finite number.
pub fn check_json(document: &CheckDocument) -> Result<String, ReportError> {
    let metrics = document.scenarios.iter().flat_map(|scenario| &scenario.metrics);
    for metric in metrics {
        let numbers = [metric.value, metric.baseline, Some(metric.tolerance)];
        if let Some(value) = numbers.into_iter().flatten().find(|value| !value.is_finite()) {
            let (point, metric) = (metric.point, metric.name.clone());
            return Err(ReportError::NotFinite { point, metric, value: value.to_string() });
        }
    }
    print(document)
}

/// JSON Schema of `run --format json`.
///
/// # Panics
///
/// Never: a schema is a JSON value.
pub fn results_schema() -> String {
    print(&schemars::schema_for!(ResultDocument)).expect("a schema is a JSON value")
}

/// JSON Schema of `check --format json`.
///
/// # Panics
///
/// Never: a schema is a JSON value.
pub fn check_schema() -> String {
    print(&schemars::schema_for!(CheckDocument)).expect("a schema is a JSON value")
}

fn print(document: &impl Serialize) -> Result<String, ReportError> {
    let mut text =
        serde_json::to_string_pretty(document).map_err(|why| ReportError::writer("JSON", why))?;
    text.push('\n');
    Ok(text)
}

fn point_document(point: &PointResult) -> Result<PointDocument, ReportError> {
    Ok(PointDocument {
        params: Ordered(point.params.clone()),
        digest: point.digest.clone(),
        metrics: values(point, &point.metrics)?,
        failure: point.failure.clone(),
        unfired: point.unfired.iter().map(unfired_document).collect(),
        transient: point.transient.as_ref().map(transient_document),
        explanation: point.explanation.as_ref().map(explanation_document),
    })
}

fn transient_document(one: &Transient) -> TransientDocument {
    let ps = |times: [TimeDelta; 2]| times.map(TimeDelta::as_ps);
    TransientDocument {
        halves_ps: one.halves.map(ps),
        once_ps: one.once.map(ps),
        mend: one.mend.clone(),
    }
}

fn unfired_document(one: &Unfired) -> UnfiredDocument {
    UnfiredDocument { fault: one.fault, kind: one.kind.clone(), why: one.why.clone() }
}

fn what_if_documents(result: &RunResult) -> Result<Vec<SupposedDocument>, ReportError> {
    let points = |supposed: &Supposed| -> Result<Vec<_>, ReportError> {
        let pairs = result.points.iter().zip(&supposed.points);
        pairs.map(|(point, metrics)| values(point, metrics)).collect()
    };
    let document = |supposed: &Supposed| {
        Ok(SupposedDocument { change: supposed.change.clone(), points: points(supposed)? })
    };
    result.what_if.iter().map(document).collect()
}

/// Metrics by name.
fn values(point: &PointResult, metrics: &[Metric]) -> Result<Ordered<ValueDocument>, ReportError> {
    let values = metrics.iter().map(|metric| {
        // Adding zero turns -0 into 0.
        let value = finite(point, metric)? + 0.0;
        Ok((metric.name.clone(), ValueDocument { value, unit: metric.unit.to_owned() }))
    });
    Ok(Ordered(values.collect::<Result<_, _>>()?))
}

fn explanation_document(explanation: &Explanation) -> ExplanationDocument {
    let parts = explanation.parts.iter().map(|share| ShareDocument {
        resource: share.resource.clone(),
        phase: share.phase.to_owned(),
        ps: share.time.as_ps(),
    });
    let waits = explanation.waits.iter().map(|wait| WaitDocument {
        rank: wait.rank.clone(),
        operation: wait.operation.clone(),
        peer: wait.peer.clone(),
        called_ps: wait.called.as_ps(),
        waited_ps: wait.time.as_ps(),
        times: wait.times,
    });
    ExplanationDocument {
        total_ps: explanation.total.as_ps(),
        parts: parts.collect(),
        waits: waits.collect(),
    }
}

fn claim_document(claim: &ClaimResult) -> ClaimDocument {
    ClaimDocument {
        id: claim.id.clone(),
        status: claim.status.into(),
        measured: claim.measured.clone(),
        expected: claim.expected.clone(),
        source: claim.source.clone(),
        could_fail: claim.cannot_fail.is_none(),
        cannot_fail: claim.cannot_fail.clone(),
        null_model: claim
            .null_model
            .map(|NullModel { name, status }| NullModelDocument { name, status: status.into() }),
        undecided: claim.undecided.iter().map(DependenceDocument::from).collect(),
    }
}

#[cfg(test)]
mod tests;
