//! How much results depend on numbers without a measurement: each at its lowest and its highest
//! plausible value, all others as they are.

use super::plan::{self, Plan, Request, assumed};
use super::results::{ClaimStatus, PointResult, RunResult};
use form::machine::{Confidence, KnownNumber};
use hardware::value::Value;

/// A number that can be another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertain {
    /// Its path, as `--set` takes it.
    pub path: String,
    /// The value.
    pub value: String,
    /// The lowest value that is plausible.
    pub low: String,
    /// The highest.
    pub high: String,
    /// The ratio of the highest to the lowest value; `None` where the lowest is zero.
    pub span: Option<f64>,
    /// Where it comes from.
    pub source: String,
    /// Its lowest value, itself and its highest value, for a number of a machine.
    pub known: Option<[Value; 3]>,
}

/// The value halfway between two of a kind, by ratio where neither is zero; `None` where there is none
/// between them.
pub fn halfway(from: Value, to: Value) -> Option<Value> {
    let (a, b) = (from.steps(), to.steps());
    let middle = if a > 0 && b > 0 { (to_f64(a) * to_f64(b)).sqrt() } else { to_f64(a + b) / 2.0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between two numbers that are not negative"
    )]
    let middle = middle.round() as u64;
    let inside = a.min(b) < middle && middle < a.max(b);
    inside.then(|| from.kind().value(middle))
}

/// Which end of a number's range.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum End {
    /// The lowest value.
    Low,
    /// The highest value.
    High,
}

/// The effect of one end of a number's range.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The metric's change: the mean over all points of its ratio, less 1.
    pub change: f64,
    /// The change of the point that changes most.
    pub most: f64,
    /// Claims with another verdict, and that verdict.
    pub claims: Vec<(String, ClaimStatus)>,
    /// Whether anything at all is as before, event by event.
    pub same: bool,
}

/// Numbers of the plan that have a range: those assumed, or with `all` every one.
///
/// A number of several machines is named once: `--set` changes it in all of them.
pub fn uncertain(plan: &Plan, all: bool) -> Vec<Uncertain> {
    let mut found: Vec<Uncertain> = Vec::new();
    let mut add = |one: Uncertain| {
        if one.low != one.high && !found.iter().any(|known| known.path == one.path) {
            found.push(one);
        }
    };
    for point in &plan.points {
        let numbers = point.machine.numbers.iter();
        let open = |number: &&KnownNumber| all || number.confidence == Confidence::Assumed;
        numbers.filter(open).filter_map(of_machine).for_each(&mut add);
    }
    let sourced = plan.sourced.iter().filter(|_| all).map(|one| one.number.clone());
    for one in assumed::of(plan).into_iter().chain(sourced) {
        let Some((low, high)) = one.range else { continue };
        let (path, value) = (one.path, one.value);
        let source = one.note.unwrap_or(one.source);
        add(Uncertain { path, value, low, high, span: None, source, known: None });
    }
    found
}

fn of_machine(number: &KnownNumber) -> Option<Uncertain> {
    let (value, low, high) = (number.value?, number.low?, number.high?);
    let span = (low.steps() > 0).then(|| to_f64(high.steps()) / to_f64(low.steps()));
    Some(Uncertain {
        path: format!("machine.{}", number.path),
        value: value.to_string(),
        low: low.to_string(),
        high: high.to_string(),
        span,
        source: number.source.clone(),
        known: Some([low, value, high]),
    })
}

#[expect(clippy::cast_precision_loss, reason = "a ratio for people")]
fn to_f64(steps: u64) -> f64 {
    steps as f64
}

/// The plan with one number at an end of its range; else why that is refused.
///
/// # Errors
///
/// What is wrong with the scenario then, in a line.
pub fn varied(request: &Request, number: &Uncertain, end: End) -> Result<Plan, String> {
    let value = match end {
        End::Low => &number.low,
        End::High => &number.high,
    };
    changed(request, &number.path, value)
}

/// The plan with one number at another value; else why that is refused.
///
/// # Errors
///
/// What is wrong with the scenario then, in a line.
pub fn changed(request: &Request, path: &str, value: &str) -> Result<Plan, String> {
    let mut request = request.clone();
    request.overrides.push(format!("{path}={value}"));
    let (plan, diagnostics) = plan::load(&request);
    plan.ok_or_else(|| diagnostics.human().lines().next().unwrap_or_default().to_owned())
}

/// The change of `metric` and of the claims in another result; `None` where no point of both has
/// it.
pub fn effect(base: &RunResult, other: &RunResult, metric: &str) -> Option<Effect> {
    let value = |point: &PointResult| point.metric(metric).map(|metric| metric.value);
    let pairs = base.points.iter().zip(&other.points);
    let ratios: Vec<f64> = pairs
        .filter_map(|(base, other)| Some((value(base)?, value(other)?)))
        .filter(|(base, other)| *base > 0.0 && *other > 0.0)
        .map(|(base, other)| other / base)
        .collect();
    if ratios.is_empty() {
        return None;
    }
    let most = ratios.iter().map(|ratio| ratio - 1.0).max_by(|a, b| a.abs().total_cmp(&b.abs()));
    let moved = base.claims.iter().zip(&other.claims).filter(|(a, b)| a.status != b.status);
    Some(Effect {
        change: ratios.iter().sum::<f64>() / to_f64(ratios.len() as u64) - 1.0,
        most: most.unwrap_or_default(),
        claims: moved.map(|(_, claim)| (claim.id.clone(), claim.status)).collect(),
        same: base.digest == other.digest && [base, other].iter().all(|one| is_whole(one)),
    })
}

/// Whether no limit ended a point: of those that were not started, digests are equal.
fn is_whole(result: &RunResult) -> bool {
    !result.points.iter().any(|point| point.limited)
}

/// By how many percent a metric moves where the number moves by one: over the whole range.
pub fn elasticity(number: &Uncertain, low: &Effect, high: &Effect) -> Option<f64> {
    let span = number.span.filter(|span| *span > 1.0)?;
    Some(((1.0 + high.change) / (1.0 + low.change)).ln() / span.ln())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::Metric;

    fn result(values: &[f64]) -> RunResult {
        let point = |(index, value): (usize, &f64)| PointResult {
            index,
            params: Vec::new(),
            digest: format!("{:032x}", value.to_bits()),
            metrics: vec![Metric { name: "latency".into(), value: *value, unit: "us" }],
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
            scenario: "a".into(),
            title: "A".into(),
            version: "0.1.0".into(),
            digest: format!("{values:?}"),
            points: values.iter().enumerate().map(point).collect(),
            claims: Vec::new(),
            what_if: Vec::new(),
        }
    }

    fn number(span: Option<f64>) -> Uncertain {
        Uncertain {
            path: "machine.mpi.step_send".into(),
            value: "2 us".into(),
            low: "1 us".into(),
            high: "4 us".into(),
            span,
            source: "EST".into(),
            known: None,
        }
    }

    #[test]
    fn a_result_in_proportion_to_a_number_has_elasticity_one() {
        let base = result(&[2.0, 6.0]);
        let low = effect(&base, &result(&[1.0, 3.0]), "latency").unwrap();
        let high = effect(&base, &result(&[4.0, 12.0]), "latency").unwrap();
        assert!((low.change + 0.5).abs() < 1e-12 && (high.most - 1.0).abs() < 1e-12);
        let found = elasticity(&number(Some(4.0)), &low, &high).unwrap();
        assert!((found - 1.0).abs() < 1e-12, "{found}");
        assert_eq!(elasticity(&number(None), &low, &high), None);
    }

    #[test]
    fn what_a_limit_ended_is_not_the_same() {
        let mut base = result(&[2.0, 6.0]);
        base.points[1].limited = true;
        assert!(!effect(&base, &base, "latency").unwrap().same);
    }

    #[test]
    fn what_no_event_reads_is_the_same_and_another_metric_is_none() {
        let base = result(&[2.0]);
        assert!(effect(&base, &base, "latency").unwrap().same);
        assert!(!effect(&base, &result(&[2.5]), "latency").unwrap().same);
        assert_eq!(effect(&base, &base, "bandwidth"), None);
    }
}
