//! Results against a baseline: what moved, and by how much.

use std::collections::BTreeMap;

use serde_json::Value;

use super::attribution::{self, Shift};
use super::baseline::{self, Baseline, SavedPoint};
use super::in_step::{groups, in_step};
use super::inputs::Change;
use super::plan::Plan;
use super::results::{ClaimResult, ClaimStatus, Metric, PointResult, RunResult};
use super::store::first_difference;

/// Why results cannot be compared with a baseline.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum CheckError {
    /// The scenario was changed.
    #[error("the baseline of `{scenario}` is of another scenario: {difference}")]
    OtherScenario {
        /// The scenario.
        scenario: String,
        /// The first difference: path, value in the baseline, value now.
        difference: String,
    },
    /// The program was changed.
    #[error("the baseline of `{scenario}` was saved by mpisim {found}, this is mpisim {wanted}")]
    OtherVersion {
        /// The scenario.
        scenario: String,
        /// The version that saved it.
        found: String,
        /// The version that runs.
        wanted: String,
    },
    /// A metric was saved in another unit: its values cannot be compared.
    #[error("the baseline of `{scenario}` has `{metric}` in `{found}`, and a run gives `{wanted}`")]
    OtherUnit {
        /// The scenario.
        scenario: String,
        /// The metric.
        metric: String,
        /// Its unit in the baseline.
        found: String,
        /// Its unit now.
        wanted: &'static str,
    },
    /// There is nothing that both have.
    #[error("`{scenario}` and its baseline have no metric in common: 0 were compared")]
    NothingCompared {
        /// The scenario.
        scenario: String,
    },
}

/// The way in which a number or a claim changed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Moved {
    /// Nothing, or no more than is tolerated.
    Same,
    /// It is another.
    Changed,
    /// The baseline does not have it.
    New,
    /// Only the baseline has it.
    Missing,
}

/// One metric of one point.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricCheck {
    /// Index of the point.
    pub point: usize,
    /// Its swept values.
    pub params: Vec<(String, String)>,
    /// Name of the metric.
    pub name: String,
    /// The value now.
    pub value: Option<f64>,
    /// The value in the baseline.
    pub baseline: Option<f64>,
    /// Unit of both.
    pub unit: String,
    /// The relative difference that is tolerated.
    pub tolerance: f64,
    /// The verdict.
    pub moved: Moved,
}

impl MetricCheck {
    /// The difference as a part of the baseline; infinite where only one of them has the metric.
    pub fn difference(&self) -> f64 {
        match (self.value, self.baseline) {
            (Some(value), Some(baseline)) => relative(value, baseline),
            _ => f64::INFINITY,
        }
    }
}

/// The rules by which a change counts, beside those of the baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    /// Whether metrics and claims decide, and the digest only informs.
    pub metrics_decide: bool,
    /// Tolerances that stand before those of the baseline.
    pub tolerances: Vec<Tolerance>,
}

/// A tolerance that was requested.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// The metric; every one that no other tolerance names, where there is none.
    pub metric: Option<String>,
    /// The relative difference that is tolerated, from 0 to 1.
    pub part: f64,
}

impl Rules {
    /// The tolerance of a metric: by its name, else that of every metric, else the baseline's.
    fn tolerance(&self, metric: &str, baseline: &Baseline) -> f64 {
        let of = |name: Option<&str>| {
            self.tolerances.iter().rfind(|one| one.metric.as_deref() == name).map(|one| one.part)
        };
        of(Some(metric)).or_else(|| of(None)).unwrap_or_else(|| baseline.tolerance(metric))
    }
}

/// One claim.
#[derive(Clone, Debug, PartialEq)]
pub struct ClaimCheck {
    /// The verdict now.
    pub claim: ClaimResult,
    /// Whether it held in the baseline.
    pub baseline: Option<ClaimStatus>,
}

impl ClaimCheck {
    /// The change of the verdict.
    pub fn moved(&self) -> Moved {
        match self.baseline {
            None => Moved::New,
            Some(status) if status == self.claim.status => Moved::Same,
            Some(_) => Moved::Changed,
        }
    }
}

/// A whole scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Digest of this run.
    pub digest: String,
    /// Digest of the baseline.
    pub baseline_digest: String,
    /// The first point whose digest or failure is another.
    pub first_point: Option<usize>,
    /// Every metric of every point, in point order.
    pub metrics: Vec<MetricCheck>,
    /// Every claim of the scenario.
    pub claims: Vec<ClaimCheck>,
    /// Claims that only the baseline has.
    pub missing_claims: Vec<String>,
    /// Parts whose work moved; empty where the baseline keeps no work.
    pub work: Vec<Shift>,
    /// Whether other events alone count as moved.
    pub digest_counts: bool,
    /// Numbers of the machine that are not those of the baseline; empty where they were not compared.
    pub inputs: Vec<Change>,
}

/// Metrics of a point that moved in step: one, and the names of those that follow from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact<'a> {
    /// The one that is shown.
    pub metric: &'a MetricCheck,
    /// The others.
    pub in_step: Vec<&'a str>,
}

impl<'a> Fact<'a> {
    fn of(group: &[&'a MetricCheck]) -> Self {
        let (metric, others) = group.split_first().expect("a group has an item");
        Self { metric, in_step: others.iter().map(|other| other.name.as_str()).collect() }
    }
}

impl Comparison {
    /// Whether nothing moved.
    pub fn is_same(&self) -> bool {
        let same_events = self.digest == self.baseline_digest && self.first_point.is_none();
        (same_events || !self.digest_counts)
            && self.missing_claims.is_empty()
            && self.metrics.iter().all(|metric| metric.moved == Moved::Same)
            && self.claims.iter().all(|claim| claim.moved() == Moved::Same)
    }

    /// The metrics that moved, the greatest difference first; those that moved in step at a point are one
    /// fact, shown by the first of them.
    pub fn worst(&self) -> Vec<Fact<'_>> {
        let of_point = self.metrics.chunk_by(|left, right| left.point == right.point);
        let mut all: Vec<Fact<'_>> = of_point
            .flat_map(|metrics| {
                let moved = metrics.iter().filter(|metric| metric.moved != Moved::Same);
                groups(moved, |left, right| is_in_step(left, right))
            })
            .map(|group| Fact::of(&group))
            .collect();
        let difference = |fact: &Fact<'_>| fact.metric.difference();
        all.sort_by(|left, right| difference(right).total_cmp(&difference(left)));
        all
    }

    /// How many metrics moved.
    pub fn moved(&self) -> usize {
        self.metrics.iter().filter(|metric| metric.moved != Moved::Same).count()
    }
}

/// Whether two metrics of a point, tolerated alike, moved by the same factor.
fn is_in_step(left: &MetricCheck, right: &MetricCheck) -> bool {
    let values = |metric: &MetricCheck| Some([metric.baseline?, metric.value?]);
    let alike = left.tolerance.total_cmp(&right.tolerance).is_eq();
    alike && values(left).zip(values(right)).is_some_and(|(left, right)| in_step(left, right))
}

/// Whether a baseline is one of this scenario and, unless any will do, of this version.
///
/// # Errors
///
/// [`CheckError`] with the first difference.
///
/// # Panics
///
/// Never: what was printed as JSON is JSON.
pub fn fits(plan: &Plan, baseline: &Baseline, any_version: bool) -> Result<(), CheckError> {
    let scenario = plan.name.clone();
    // What was saved went through text, and so does this.
    let text = baseline::definition(plan).to_string();
    let now: Value = serde_json::from_str(&text).expect("what was printed as JSON is JSON");
    if let Some(difference) = first_difference("", &baseline.definition, &now) {
        return Err(CheckError::OtherScenario { scenario, difference });
    }
    let wanted = env!("CARGO_PKG_VERSION");
    if baseline.version != wanted && !any_version {
        let (found, wanted) = (baseline.version.clone(), wanted.to_owned());
        return Err(CheckError::OtherVersion { scenario, found, wanted });
    }
    Ok(())
}

/// Compares a result with its baseline under `rules`.
///
/// # Errors
///
/// [`CheckError::NothingCompared`] where they have no metric in common, [`CheckError::OtherUnit`]
/// where they have one in two units.
pub fn compare(
    result: &RunResult,
    baseline: &Baseline,
    rules: &Rules,
) -> Result<Comparison, CheckError> {
    same_units(result, baseline)?;
    let saved: BTreeMap<Vec<&str>, &SavedPoint> = baseline
        .points
        .iter()
        .map(|point| (point.params.iter().map(String::as_str).collect(), point))
        .collect();
    let pairs: Vec<(&PointResult, Option<&SavedPoint>)> = result
        .points
        .iter()
        .map(|point| {
            let values: Vec<&str> = point.params.iter().map(|(_, value)| value.as_str()).collect();
            (point, saved.get(&values).copied())
        })
        .collect();
    let checks =
        |(point, saved): &(&PointResult, _)| point_checks(point, *saved, (baseline, rules));
    let metrics: Vec<MetricCheck> = pairs.iter().flat_map(checks).collect();
    let compared = |metric: &MetricCheck| metric.value.is_some() && metric.baseline.is_some();
    let stopped = |(point, saved): &(&PointResult, Option<&SavedPoint>)| {
        point.failure.is_some() && saved.is_some_and(|saved| saved.failure == point.failure)
    };
    if !metrics.iter().any(compared) && !pairs.iter().any(stopped) {
        return Err(CheckError::NothingCompared { scenario: result.scenario.clone() });
    }
    let digest_moved = |(point, saved): &&(&PointResult, Option<&SavedPoint>)| {
        saved.is_none_or(|saved| saved.digest != point.digest || saved.failure != point.failure)
    };
    let known: Vec<&str> = result.claims.iter().map(|claim| claim.id.as_str()).collect();
    let gone = baseline.claims.iter().filter(|claim| !known.contains(&claim.id.as_str()));
    let claim = |claim: &ClaimResult| ClaimCheck {
        claim: claim.clone(),
        baseline: baseline.claim(&claim.id),
    };
    Ok(Comparison {
        digest: result.digest.clone(),
        baseline_digest: baseline.digest.clone(),
        first_point: pairs.iter().find(digest_moved).map(|(point, _)| point.index),
        metrics,
        claims: result.claims.iter().map(claim).collect(),
        missing_claims: gone.map(|claim| claim.id.clone()).collect(),
        work: work_moved(result, baseline),
        digest_counts: !rules.metrics_decide,
        inputs: Vec::new(),
    })
}

fn work_moved(result: &RunResult, baseline: &Baseline) -> Vec<Shift> {
    if baseline.work.is_empty() {
        return Vec::new();
    }
    attribution::shifts(&attribution::work(&result.points), &baseline.work)
}

/// Refuses a metric that the baseline has in another unit.
fn same_units(result: &RunResult, baseline: &Baseline) -> Result<(), CheckError> {
    for metric in result.points.iter().flat_map(|point| &point.metrics) {
        let saved = baseline.metrics.get(&metric.name);
        if let Some(saved) = saved.filter(|saved| saved.unit != metric.unit) {
            return Err(CheckError::OtherUnit {
                scenario: result.scenario.clone(),
                metric: metric.name.clone(),
                found: saved.unit.clone(),
                wanted: metric.unit,
            });
        }
    }
    Ok(())
}

/// Every metric that a point or its saved form has.
fn point_checks(
    point: &PointResult,
    saved: Option<&SavedPoint>,
    (baseline, rules): (&Baseline, &Rules),
) -> Vec<MetricCheck> {
    let check = |name: &str, unit: &str, value: Option<f64>, old: Option<f64>| {
        let tolerance = rules.tolerance(name, baseline);
        let moved = match (value, old) {
            (Some(value), Some(old)) if relative(value, old) <= tolerance => Moved::Same,
            (Some(_), Some(_)) => Moved::Changed,
            (Some(_), None) => Moved::New,
            (None, _) => Moved::Missing,
        };
        MetricCheck {
            point: point.index,
            params: point.params.clone(),
            name: name.to_owned(),
            value,
            baseline: old,
            unit: unit.to_owned(),
            tolerance,
            moved,
        }
    };
    let old = |name: &str| saved.and_then(|saved| saved.metrics.get(name)).copied();
    let present =
        |metric: &Metric| check(&metric.name, metric.unit, Some(metric.value), old(&metric.name));
    let mut all: Vec<MetricCheck> = point.metrics.iter().map(present).collect();
    for (name, value) in saved.into_iter().flat_map(|saved| &saved.metrics) {
        if point.metric(name).is_none() {
            let unit = baseline.metrics.get(name).map_or("", |column| &column.unit);
            all.push(check(name, unit, None, Some(*value)));
        }
    }
    all
}

/// How far `value` is from `baseline`, as a part of it.
fn relative(value: f64, baseline: f64) -> f64 {
    let difference = (value - baseline).abs();
    if difference > 0.0 { difference / baseline.abs() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::baseline::Column;

    fn result(values: &[f64]) -> RunResult {
        let point = |(index, value): (usize, &f64)| PointResult {
            index,
            params: vec![("workload.size".to_owned(), format!("{} B", 1 << index))],
            digest: format!("{:032x}", value.to_bits()),
            metrics: vec![Metric { name: "latency".to_owned(), value: *value, unit: "us" }],
            resources: Vec::new(),
            spent: Vec::new(),
            unfired: Vec::new(),
            transient: None,
            explanation: None,
            failure: None,
            limited: false,
            exit_status: None,
        };
        RunResult {
            scenario: "a".to_owned(),
            title: "A".to_owned(),
            version: "0.1.0".to_owned(),
            digest: format!(
                "{:032x}",
                values.iter().map(|value| u128::from(value.to_bits())).sum::<u128>()
            ),
            points: values.iter().enumerate().map(point).collect(),
            claims: Vec::new(),
            what_if: Vec::new(),
        }
    }

    fn saved(values: &[f64], tolerance: f64) -> Baseline {
        let result = result(values);
        let point = |point: &PointResult| SavedPoint {
            params: point.params.iter().map(|(_, value)| value.clone()).collect(),
            digest: point.digest.clone(),
            metrics: point.metrics.iter().map(|one| (one.name.clone(), one.value)).collect(),
            failure: point.failure.clone(),
        };
        let column = Column { unit: "us".to_owned(), tolerance: Some(tolerance) };
        Baseline {
            schema: 1,
            version: result.version.clone(),
            scenario: result.scenario.clone(),
            definition: Value::Null,
            machines: Vec::new(),
            digest: result.digest.clone(),
            metrics: BTreeMap::from([("latency".to_owned(), column)]),
            points: result.points.iter().map(point).collect(),
            claims: Vec::new(),
            work: attribution::Work::new(),
        }
    }

    fn compare(result: &RunResult, baseline: &Baseline) -> Result<Comparison, CheckError> {
        super::compare(result, baseline, &Rules::default())
    }

    #[test]
    fn equal_results_are_the_same_and_a_last_bit_is_not() {
        let same = compare(&result(&[1.5, 2.0]), &saved(&[1.5, 2.0], 0.0)).unwrap();
        assert!(same.is_same() && same.first_point.is_none());
        let next = f64::from_bits(2.0_f64.to_bits() + 1);
        let moved = compare(&result(&[1.5, next]), &saved(&[1.5, 2.0], 0.0)).unwrap();
        assert!(!moved.is_same());
        assert_eq!((moved.first_point, moved.worst().len()), (Some(1), 1));
    }

    #[test]
    fn a_tolerance_forgives_the_metric_but_not_the_digest() {
        let moved = compare(&result(&[1.01]), &saved(&[1.0], 0.02)).unwrap();
        assert_eq!(moved.metrics[0].moved, Moved::Same);
        assert!(!moved.is_same());
        let far = compare(&result(&[1.03]), &saved(&[1.0], 0.02)).unwrap();
        assert_eq!(far.metrics[0].moved, Moved::Changed);
    }

    #[test]
    fn the_greatest_difference_comes_first_and_a_missing_metric_before_all() {
        let mut now = result(&[1.1, 3.0, 1.0]);
        now.points[2].metrics.clear();
        let moved = compare(&now, &saved(&[1.0, 1.0, 1.0], 0.0)).unwrap();
        let order: Vec<usize> = moved.worst().iter().map(|one| one.metric.point).collect();
        assert_eq!(order, [2, 1, 0]);
        assert_eq!(moved.worst()[0].metric.moved, Moved::Missing);
    }

    #[test]
    fn metrics_decide_where_they_are_asked_to_and_a_named_tolerance_stands_before_all() {
        let named = |metric: Option<&str>, part| Tolerance { metric: metric.map(Into::into), part };
        let moved = |tolerances: Vec<Tolerance>| {
            let rules = Rules { metrics_decide: true, tolerances };
            super::compare(&result(&[1.01]), &saved(&[1.0], 0.02), &rules).unwrap()
        };
        let forgiven = moved(Vec::new());
        assert!(forgiven.is_same() && forgiven.digest != forgiven.baseline_digest);
        assert!(!moved(vec![named(None, 0.001)]).is_same());
        assert!(moved(vec![named(Some("latency"), 0.02), named(None, 0.001)]).is_same());
    }

    #[test]
    fn a_rate_that_follows_from_a_time_is_told_with_it() {
        let with_rate = |mut point: PointResult| {
            let latency = point.metrics[0].value;
            let one = |name: &str, value| Metric { name: name.to_owned(), value, unit: "us" };
            point.metrics.push(one("rate", 1.0 / latency));
            point.metrics.push(one("copies", latency * latency));
            point.metrics.push(one("time", latency * 20.0));
            point
        };
        let all = |values: &[f64]| {
            let mut all = result(values);
            all.points = all.points.into_iter().map(with_rate).collect();
            all
        };
        let mut old = saved(&[1.5, 2.0], 0.0);
        for (saved, point) in old.points.iter_mut().zip(all(&[1.5, 2.0]).points) {
            saved.metrics = point.metrics.into_iter().map(|one| (one.name, one.value)).collect();
        }
        let moved = compare(&all(&[1.5, 2.1]), &old).unwrap();
        let facts = moved.worst().into_iter().map(|one| (one.metric.name.as_str(), one.in_step));
        let facts: Vec<_> = facts.collect();
        assert_eq!(facts, [("copies", vec![]), ("latency", vec!["rate", "time"])]);
        assert_eq!(moved.moved(), 4);
    }

    #[test]
    fn comparing_nothing_is_an_error() {
        let mut now = result(&[1.0]);
        now.points[0].metrics[0].name = "bandwidth".to_owned();
        let error = compare(&now, &saved(&[1.0], 0.0)).unwrap_err();
        assert!(error.to_string().contains("0 were compared"), "{error}");
    }

    #[test]
    fn a_failure_that_was_saved_is_a_result_and_another_is_not() {
        let mut now = result(&[1.0]);
        now.points[0].metrics.clear();
        now.points[0].failure = Some("rank 0 waits for rank 1".to_owned());
        let mut old = saved(&[1.0], 0.0);
        old.points[0].metrics.clear();
        assert!(compare(&now, &old).is_err());
        old.points[0].failure = now.points[0].failure.clone();
        assert!(compare(&now, &old).unwrap().is_same() && old.expects(&now.points[0]));
        now.points[0].failure = Some("rank 1 waits for rank 0".to_owned());
        assert!(compare(&now, &old).is_err() && !old.expects(&now.points[0]));
    }

    #[test]
    fn a_metric_in_another_unit_is_told() {
        let now = result(&[1.0, 2.0]);
        let mut old = saved(&[1.0, 2.0], 0.0);
        old.metrics.get_mut("latency").unwrap().unit = "s".to_owned();
        let why = compare(&now, &old).unwrap_err().to_string();
        assert_eq!(why, "the baseline of `a` has `latency` in `s`, and a run gives `us`");
    }

    #[test]
    fn zero_is_compared_without_dividing_by_it() {
        assert!(relative(0.0, 0.0) == 0.0);
        assert!(relative(1.0, 0.0).is_infinite());
    }
}
