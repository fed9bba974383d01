//! Baselines: the results that a scenario had when they were last found right.
//!
//! A baseline is a JSON file `traces/baselines/NAME/PATH OF THE SCENARIO.json` with one line for
//! each point, so that a change of one point is a change of one line. It names a tolerance for each
//! metric; saving keeps those that were set by hand.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attribution::{self, Work};
use super::dependence;
use super::inputs::Numbers;
use super::judge;
use super::library::{self, MAX_BYTES};
use super::plan::Plan;
use super::results::{ClaimResult, ClaimStatus, Metric, PointResult, RunResult, unit};
use super::schema::PRESENTATION;
use super::shipped::Shipped;
use super::store::{StoreError, create_folder_of, write_atomically};
use form::codes;
use form::diagnostic::{Diagnostic, Diagnostics, SourceId, Span, quote};
use form::json::{self, Node};

/// The baseline that is used where no other is named.
pub const MAIN: &str = "main";
/// Where baselines lie.
const FOLDER: &str = "traces/baselines";
/// Version of the file's shape.
const FORMAT: u32 = 1;
/// Where a definition keeps the options that changed its scenario.
const OVERRIDES: &str = "--set";

/// The results of one scenario as they were saved.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Baseline {
    /// Version of this shape: 1.
    pub schema: u32,
    /// Version of the program that saved it.
    pub version: String,
    /// The scenario's path under `scenarios/` without `.json`.
    pub scenario: String,
    /// The part of the scenario that decides about its results.
    pub definition: Value,
    /// The machines by name and hash of their numbers ([`Numbers::key`]); empty where an older version
    /// saved the file.
    #[serde(default)]
    pub machines: Vec<String>,
    /// Digest of the run.
    pub digest: String,
    /// Unit and tolerance of each metric.
    pub metrics: BTreeMap<String, Column>,
    /// The points in sweep order.
    pub points: Vec<SavedPoint>,
    /// The claims in the order of the scenario.
    pub claims: Vec<SavedClaim>,
    /// The work of all points by part; empty where an older version saved the file.
    #[serde(default)]
    pub work: Work,
}

/// A metric of all points.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    /// Unit of the values.
    pub unit: String,
    /// The relative difference that is tolerated, from 0 to 1; there in every checked baseline.
    pub tolerance: Option<f64>,
}

/// One point.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SavedPoint {
    /// The value of each axis.
    pub params: Vec<String>,
    /// Digest of the point.
    pub digest: String,
    /// Its metrics.
    pub metrics: BTreeMap<String, f64>,
    /// Why the simulated program did not finish, where that is the result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// One claim.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SavedClaim {
    /// Its id.
    pub id: String,
    /// Whether it held.
    pub status: Verdict,
    /// The measured value.
    pub measured: String,
}

/// [`ClaimStatus`] as it is written.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Within its tolerance.
    Pass,
    /// Outside it.
    Deviates,
}

impl From<ClaimStatus> for Verdict {
    fn from(status: ClaimStatus) -> Self {
        match status {
            ClaimStatus::Pass => Self::Pass,
            ClaimStatus::Deviates => Self::Deviates,
        }
    }
}

impl From<Verdict> for ClaimStatus {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Pass => Self::Pass,
            Verdict::Deviates => Self::Deviates,
        }
    }
}

/// The file of the baseline `name` of a scenario, from the root of a checkout.
pub fn path(name: &str, scenario: &str) -> PathBuf {
    folder(name).join(format!("{scenario}.json"))
}

/// The directory of the baselines `name`, from the root of a checkout.
pub fn folder(name: &str) -> PathBuf {
    Path::new(FOLDER).join(name)
}

impl Baseline {
    /// The scenario as far as it decides about results, under its own name, and its overrides.
    pub fn kept(&self) -> (Value, Vec<String>) {
        let mut definition = self.definition.clone();
        let overrides = definition.as_object_mut().and_then(|members| {
            members.entry("title").or_insert_with(|| self.scenario.clone().into());
            members.remove(OVERRIDES)
        });
        let overrides = overrides.as_ref().and_then(Value::as_array).into_iter().flatten();
        (definition, overrides.filter_map(Value::as_str).map(str::to_owned).collect())
    }

    /// The results of a run as a baseline, with the tolerances of the one before it.
    pub fn new(plan: &Plan, result: &RunResult, before: Option<&Self>) -> Self {
        let mut metrics = BTreeMap::new();
        for metric in result.points.iter().flat_map(|point| &point.metrics) {
            metrics.entry(metric.name.clone()).or_insert_with(|| {
                let old = before.and_then(|before| before.metrics.get(&metric.name));
                let tolerance = old.map_or(Some(0.0), |old| old.tolerance);
                Column { unit: metric.unit.to_owned(), tolerance }
            });
        }
        let points = result.points.iter().map(|point| SavedPoint {
            params: point.params.iter().map(|(_, value)| value.clone()).collect(),
            digest: point.digest.clone(),
            metrics: point.metrics.iter().map(|one| (one.name.clone(), one.value)).collect(),
            failure: point.failure.clone(),
        });
        let claims = result.claims.iter().map(|claim| SavedClaim {
            id: claim.id.clone(),
            status: claim.status.into(),
            measured: claim.measured.clone(),
        });
        Self {
            schema: FORMAT,
            version: result.version.clone(),
            scenario: result.scenario.clone(),
            definition: definition(plan),
            machines: Numbers::of(plan).iter().map(Numbers::key).collect(),
            digest: result.digest.clone(),
            metrics,
            points: points.collect(),
            claims: claims.collect(),
            work: attribution::work(&result.points),
        }
    }

    /// The points as a result, with the names of `like`, a result of the same scenario.
    pub fn as_result(&self, like: &RunResult) -> RunResult {
        let names = like.points.first().map_or(&[][..], |point| &point.params);
        let names: Vec<&str> = names.iter().map(|(name, _)| name.as_str()).collect();
        self.result(&names, &like.title)
    }

    /// The points as a result, with the names of the swept paths.
    pub fn result(&self, names: &[&str], title: &str) -> RunResult {
        let metric = |(name, value): (&String, &f64)| {
            let unit = unit(&self.metrics.get(name)?.unit);
            Some(Metric { name: name.clone(), value: *value, unit })
        };
        let point = |(index, saved): (usize, &SavedPoint)| {
            let names = names.iter().map(|name| (*name).to_owned());
            let mut point = PointResult::at(index, names.zip(saved.params.clone()).collect());
            point.digest.clone_from(&saved.digest);
            point.metrics = saved.metrics.iter().filter_map(metric).collect();
            point.failure.clone_from(&saved.failure);
            point
        };
        RunResult {
            scenario: self.scenario.clone(),
            title: title.to_owned(),
            version: self.version.clone(),
            digest: self.digest.clone(),
            points: self.points.iter().enumerate().map(point).collect(),
            claims: Vec::new(),
            what_if: Vec::new(),
        }
    }

    /// The claims of a scenario, judged on these points; none where its points are others.
    pub fn judged(&self, plan: &Plan) -> Vec<ClaimResult> {
        let first = plan.points.first().map_or(&[][..], |point| &point.params);
        let names: Vec<&str> = first.iter().map(|(name, _)| name.as_str()).collect();
        let points = self.result(&names, &plan.title).points;
        let same = points
            .iter()
            .map(|point| &point.params)
            .eq(plan.points.iter().map(|point| &point.params));
        if !same {
            return Vec::new();
        }
        let mut claims = judge::claims(plan, &points);
        dependence::mark(&mut claims, plan.shipped, &self.scenario, &self.digest);
        claims
    }

    /// Whether the claim `id` held.
    pub fn claim(&self, id: &str) -> Option<ClaimStatus> {
        self.claims.iter().find(|claim| claim.id == id).map(|claim| claim.status.into())
    }

    /// The tolerance of a metric; exact where the baseline does not have it.
    pub fn tolerance(&self, metric: &str) -> f64 {
        self.metrics.get(metric).and_then(|column| column.tolerance).unwrap_or_default()
    }

    /// Whether a point is saved with this failure as its result.
    pub fn expects(&self, point: &PointResult) -> bool {
        let same = |saved: &SavedPoint| {
            let params = point.params.iter().map(|(_, value)| value);
            saved.failure == point.failure && saved.params.iter().eq(params)
        };
        self.points.iter().any(same)
    }

    /// The file's text: one line for each point and claim.
    pub fn to_text(&self) -> String {
        let mut text = String::from("{\n");
        let _ = writeln!(text, "\"schema\": {},", self.schema);
        for (key, value) in [("version", &self.version), ("scenario", &self.scenario)] {
            let _ = writeln!(text, "\"{key}\": {},", written(value));
        }
        let _ = writeln!(text, "\"definition\": {},", self.definition);
        if !self.machines.is_empty() {
            let _ = writeln!(text, "\"machines\": {},", written(&self.machines));
        }
        let _ = writeln!(text, "\"digest\": {},", written(&self.digest));
        let _ = writeln!(text, "\"metrics\": {},", written(&self.metrics));
        let _ = writeln!(text, "\"points\": {},", lines(&self.points));
        let _ = writeln!(text, "\"claims\": {},", lines(&self.claims));
        let _ = writeln!(text, "\"work\": {}", written(&self.work));
        text.push_str("}\n");
        text
    }

    /// Writes the file whole or not at all.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`].
    pub fn write(&self, path: &Path) -> Result<(), StoreError> {
        create_folder_of(path)?;
        write_atomically(path, self.to_text().as_bytes())
    }
}

/// Keeps a copy of the file at `path` beside it, if there is one; says where.
///
/// # Errors
///
/// [`StoreError::Io`].
pub fn back_up(path: &Path) -> Result<Option<PathBuf>, StoreError> {
    let copy = path.with_extension("json.bak");
    match std::fs::copy(path, &copy) {
        Ok(_) => Ok(Some(copy)),
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(why) => Err(StoreError::Io { action: "copy", path: path.to_owned(), why }),
    }
}

fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("texts and finite numbers are JSON")
}

fn lines(all: &[impl Serialize]) -> String {
    if all.is_empty() {
        return "[]".to_owned();
    }
    format!("[\n{}\n]", all.iter().map(written).collect::<Vec<_>>().join(",\n"))
}

/// The part of a scenario that decides about its results, from its file and the options.
///
/// # Panics
///
/// Never: a plan was made from the file.
pub fn definition(plan: &Plan) -> Value {
    let mut diagnostics = Diagnostics::new();
    let source = json::decode(&mut diagnostics, &plan.name, &plan.bytes);
    let text = diagnostics.text(source.expect("a plan was made from these bytes"));
    let mut value: Value = serde_json::from_str(text).expect("a plan was made from this text");
    if let Value::Object(members) = &mut value {
        members.retain(|key, _| !PRESENTATION.contains(&key.as_str()));
        if !plan.overrides.is_empty() {
            members.insert(OVERRIDES.to_owned(), plan.overrides.clone().into());
        }
    }
    value
}

/// Reads and checks a baseline; what is wrong is reported.
pub fn read(diagnostics: &mut Diagnostics, shipped: Shipped, path: &Path) -> Option<Baseline> {
    let bytes = library::read(diagnostics, shipped, path, MAX_BYTES)?;
    parse(diagnostics, &path.display().to_string(), &bytes)
}

/// Reads and checks the text of a baseline; what is wrong is reported.
pub fn parse(diagnostics: &mut Diagnostics, shown: &str, bytes: &[u8]) -> Option<Baseline> {
    let before = diagnostics.errors();
    let source = json::decode(diagnostics, shown, bytes)?;
    let tree = json::parse(diagnostics, source)?;
    check_values(diagnostics, &tree);
    if diagnostics.errors() > before {
        return None;
    }
    let text = diagnostics.text(source).to_owned();
    match serde_json::from_str(&text) {
        Ok(baseline) => Some(baseline),
        Err(why) => {
            let span = place(&text, source, why.line(), why.column());
            let found = why.to_string();
            let found = found.split(" at line ").next().unwrap_or_default().to_owned();
            push(diagnostics, &codes::BASELINE_VALUE, span, "", found, "the form of a baseline");
            None
        }
    }
}

fn push(
    diagnostics: &mut Diagnostics,
    code: codes::Code,
    span: Span,
    path: &str,
    found: String,
    allowed: &str,
) {
    let help = "save the baseline anew with `mpisim check --save-baseline NAME`";
    diagnostics.push(
        Diagnostic::error(code, span, path, found, format!("{allowed} is needed")).help(help),
    );
}

/// The place of a line and column that the library counts from 1, in bytes.
fn place(text: &str, source: SourceId, line: usize, column: usize) -> Span {
    let before: usize = text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
    let start = (before + column.saturating_sub(1)).min(text.len());
    let start = (0..=start).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let offset = u32::try_from(start).expect("the size of a file is limited");
    Span { source, start: offset, end: offset }
}

/// Reports numbers and digests that no run can give, and tolerances out of range.
fn check_values(diagnostics: &mut Diagnostics, tree: &Node) {
    for member in tree.get("metrics").and_then(Node::members).unwrap_or(&[]) {
        let path = format!("metrics.{}.tolerance", member.key);
        check_tolerance(diagnostics, &member.node, &path);
    }
    for (index, point) in
        tree.get("points").and_then(Node::elements).unwrap_or(&[]).iter().enumerate()
    {
        for metric in point.get("metrics").and_then(Node::members).unwrap_or(&[]) {
            let path = format!("points[{index}].metrics.{}", metric.key);
            if !number(&metric.node).is_some_and(|value| value >= 0.0) {
                let found = format!("found {}", shown(&metric.node));
                let code = &codes::BASELINE_VALUE;
                push(diagnostics, code, metric.node.span, &path, found, "a number from 0 up");
            }
        }
        check_digest(diagnostics, point, &format!("points[{index}].digest"));
    }
    check_digest(diagnostics, tree, "digest");
}

fn check_tolerance(diagnostics: &mut Diagnostics, column: &Node, path: &str) {
    let given = column.get("tolerance");
    if given.and_then(number).is_some_and(|value| (0.0..=1.0).contains(&value)) {
        return;
    }
    let span = given.map_or(column.span, |node| node.span);
    let found =
        given.map_or_else(|| "there is none".to_owned(), |node| format!("found {}", shown(node)));
    let allowed = "a number from 0 (exact) to 1 (100 %)";
    push(diagnostics, &codes::BASELINE_TOLERANCE, span, path, found, allowed);
}

fn check_digest(diagnostics: &mut Diagnostics, node: &Node, path: &str) {
    let Some(digest) = node.get("digest") else { return };
    let plain = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    if !digest.text().is_some_and(|text| text.len() == 32 && text.chars().all(plain)) {
        let found = format!("found {}", shown(digest));
        let allowed = "a digest of 32 lower-case hexadecimal digits";
        push(diagnostics, &codes::BASELINE_VALUE, digest.span, path, found, allowed);
    }
}

fn number(node: &Node) -> Option<f64> {
    let json::Value::Number(number) = &node.value else { return None };
    number.text().parse().ok().filter(|value: &f64| value.is_finite())
}

fn shown(node: &Node) -> String {
    if let json::Value::Number(number) = &node.value {
        return number.text().to_owned();
    }
    if let json::Value::Word(word) = &node.value {
        return quote(word);
    }
    node.kind().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Baseline {
        let metrics = BTreeMap::from([("latency".to_owned(), 1.25), ("time".to_owned(), 1e-9)]);
        let column = |unit: &str| Column { unit: unit.to_owned(), tolerance: Some(0.01) };
        let columns = [("latency", "us"), ("time", "us")];
        let point = |value: &str| SavedPoint {
            params: vec![value.to_owned()],
            digest: "0123456789abcdef0123456789abcdef".to_owned(),
            metrics: metrics.clone(),
            failure: None,
        };
        let claim = SavedClaim {
            id: "c-1".to_owned(),
            status: Verdict::Deviates,
            measured: "13 \"times\"".to_owned(),
        };
        Baseline {
            schema: FORMAT,
            version: "0.1.0".to_owned(),
            scenario: "a/b".to_owned(),
            definition: serde_json::json!({ "machine": "ideal" }),
            machines: vec!["ideal-0123456789abcdef".to_owned()],
            digest: "0123456789abcdef0123456789abcdef".to_owned(),
            metrics: columns
                .iter()
                .map(|(name, unit)| ((*name).to_owned(), column(unit)))
                .collect(),
            points: vec![point("1 B"), point("2 B")],
            claims: vec![claim],
            work: Work::from([("threads: posting".to_owned(), u64::MAX)]),
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut diagnostics = Diagnostics::new();
        let text = sample().to_text();
        assert_eq!(parse(&mut diagnostics, "x.json", text.as_bytes()), Some(sample()));
        assert!(diagnostics.is_empty());
        assert_eq!(text.lines().filter(|line| line.contains("\"params\"")).count(), 2, "{text}");
    }

    #[track_caller]
    fn check_refused(from: &str, to: &str, code: &str, place: &str) {
        let mut diagnostics = Diagnostics::new();
        let text = sample().to_text().replacen(from, to, 1);
        assert_ne!(text, sample().to_text());
        assert_eq!(parse(&mut diagnostics, "x.json", text.as_bytes()), None);
        let said = diagnostics.human();
        assert!(said.starts_with(&format!("error[{code}] x.json:{place}")), "{said}");
        assert_eq!(diagnostics.exit_code(), 3);
    }

    #[test]
    fn a_damaged_baseline_is_refused_with_its_place() {
        check_refused("1.25", "NaN", "E0904", "10:");
        check_refused("1.25", "null", "E0904", "10:");
        check_refused("1.25", "-1.25", "E0904", "10:");
        check_refused("0.01", "1.5", "E0905", "8:");
        check_refused("0.01", "-0.5", "E0905", "8:");
        check_refused(",\"tolerance\":0.01", "", "E0905", "8:");
        check_refused("\"0123456789abcdef", "\"0123456789abcdeX", "E0904", "7:");
        check_refused("\"params\"", "\"param\"", "E0904", "10:");
    }
}
