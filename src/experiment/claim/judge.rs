//! Judging a claim: the metrics of its points against what it says.
//!
//! A claim of several cases holds if every case does; what is reported as measured is the case
//! that is furthest off. A point without the metric (it failed) makes the claim deviate.

use super::super::results::{ClaimResult, ClaimStatus};
use super::super::shape::read::Tolerance;
use super::{Along, Claim, ClaimKind, Replicas, Trend};

/// What was found for one case or line.
struct Finding {
    holds: bool,
    /// How far off it is, on any scale that rises; only compared within one claim.
    badness: f64,
    measured: String,
}

impl Finding {
    fn new(holds: bool, badness: f64, measured: String) -> Self {
        Self { holds, badness, measured }
    }

    fn missing() -> Self {
        Self::new(false, f64::INFINITY, "a point has no such metric".to_owned())
    }
}

impl Claim {
    /// The verdict, where `metric` gives the value of this claim's metric at a point.
    pub fn judge(&self, metric: &dyn Fn(usize) -> Option<f64>) -> ClaimResult {
        let mean = |replicas: &Replicas| mean(replicas, metric);
        let unit = self.metric.unit;
        let findings: Vec<Finding> = match &self.kind {
            ClaimKind::Value { cases, value, tolerance } => cases
                .iter()
                .map(|case| match mean(case) {
                    Some(found) => {
                        near(found, *value, *tolerance, &format!("{} {unit}", show(found)))
                    }
                    None => Finding::missing(),
                })
                .collect(),
            ClaimKind::Ratio { cases, value, tolerance } => {
                let judge = |found| near(found, *value, *tolerance, &format!("x {}", show(found)));
                cases
                    .iter()
                    .map(|case| quotient(case, &mean).map_or_else(Finding::missing, judge))
                    .collect()
            }
            ClaimKind::Ordering { cases, below, times } => {
                let judge = |found: f64| ordering(found, *below, *times);
                cases
                    .iter()
                    .map(|case| quotient(case, &mean).map_or_else(Finding::missing, judge))
                    .collect()
            }
            ClaimKind::Crossover { lines, along, at, tolerance, times } => lines
                .iter()
                .map(|line| {
                    let quotients: Option<Vec<f64>> =
                        line.iter().map(|case| quotient(case, &mean)).collect();
                    quotients.map_or_else(Finding::missing, |quotients| {
                        crossover(&quotients, along, *at, *tolerance, *times)
                    })
                })
                .collect(),
            ClaimKind::Trend { lines, along, shape } => lines
                .iter()
                .map(|line| {
                    let values: Option<Vec<f64>> = line.iter().map(mean).collect();
                    values.map_or_else(Finding::missing, |values| trend(&values, along, *shape))
                })
                .collect(),
        };
        self.result(findings)
    }

    fn result(&self, findings: Vec<Finding>) -> ClaimResult {
        let count = findings.len();
        let failed = findings.iter().filter(|finding| !finding.holds).count();
        let worst = findings.into_iter().max_by(|a, b| {
            (!a.holds, a.badness)
                .partial_cmp(&(!b.holds, b.badness))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        let measured = worst.map_or_else(|| "nothing".to_owned(), |worst| worst.measured);
        let measured = match (failed, count) {
            (_, 1) => measured,
            (0, _) => format!("all {count} cases hold; at worst {measured}"),
            (failed, _) => format!("{failed} of {count} cases deviate; at worst {measured}"),
        };
        ClaimResult {
            id: self.id.clone(),
            statement: self.statement.clone().unwrap_or_else(|| self.in_words()),
            status: if failed == 0 && count > 0 {
                ClaimStatus::Pass
            } else {
                ClaimStatus::Deviates
            },
            role: self.role,
            measured,
            expected: self.expected(),
            source: self.source.clone(),
        }
    }

    /// The claim as a sentence, for scenarios that give none.
    fn in_words(&self) -> String {
        let name = self.metric.name;
        match &self.kind {
            ClaimKind::Value { .. } => format!("{name} has the value {}", self.expected()),
            ClaimKind::Ratio { .. } => {
                format!("{name} of two points has the ratio {}", self.expected())
            }
            ClaimKind::Ordering { .. } => format!("{name} is {}", self.expected()),
            ClaimKind::Crossover { along, .. } => {
                format!("{name} of two lines meets along {}: {}", along.path, self.expected())
            }
            ClaimKind::Trend { along, .. } => {
                format!("{name} along {}: {}", along.path, self.expected())
            }
        }
    }

    /// What is expected, with its tolerance.
    pub fn expected(&self) -> String {
        match &self.kind {
            ClaimKind::Value { value, tolerance, .. } => {
                format!("{} {} {}", show(*value), self.metric.unit, allowance(*tolerance))
            }
            ClaimKind::Ratio { value, tolerance, .. } => {
                format!("x {} {}", show(*value), allowance(*tolerance))
            }
            ClaimKind::Ordering { below, times, .. } => {
                format!(
                    "{} x {} of the other",
                    if *below { "below" } else { "above" },
                    show(*times)
                )
            }
            ClaimKind::Crossover { along, at, tolerance, times, .. } => format!(
                "at or below x {} of the other from {} on {}",
                show(*times),
                along.values[*at],
                allowance(*tolerance)
            ),
            ClaimKind::Trend { shape, along, .. } => match shape {
                Trend::Rises { every_step: true } => "rises with every step".to_owned(),
                Trend::Rises { every_step: false } => "rises from end to end".to_owned(),
                Trend::Falls { every_step: true } => "falls with every step".to_owned(),
                Trend::Falls { every_step: false } => "falls from end to end".to_owned(),
                Trend::Flat(tolerance) => format!("flat {}", allowance(*tolerance)),
                Trend::Knee { at, tolerance } => {
                    format!("bends most at {} {}", along.values[*at], allowance(*tolerance))
                }
                Trend::Dip { at, margin } => {
                    format!(
                        "a step to {} worse than the one before by {}",
                        along.values[*at],
                        show(*margin)
                    )
                }
            },
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a handful of replicas")]
fn mean(replicas: &Replicas, metric: &dyn Fn(usize) -> Option<f64>) -> Option<f64> {
    let sum: f64 = replicas.iter().map(|point| metric(*point)).sum::<Option<f64>>()?;
    Some(sum / replicas.len() as f64)
}

fn quotient(
    (of, to): &(Replicas, Replicas),
    mean: &dyn Fn(&Replicas) -> Option<f64>,
) -> Option<f64> {
    let quotient = mean(of)? / mean(to)?;
    quotient.is_finite().then_some(quotient)
}

/// Four significant digits, without an exponent for everyday numbers.
fn show(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let (mut digits, mut rest) = (3_usize, value.abs());
    while rest >= 10.0 && digits > 0 {
        (rest, digits) = (rest / 10.0, digits - 1);
    }
    while rest < 1.0 && digits < 12 {
        (rest, digits) = (rest * 10.0, digits + 1);
    }
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn allowance(tolerance: Tolerance) -> String {
    match tolerance {
        Tolerance::Relative(ppm) => format!("+-{} %", show(f64::from(ppm) / 1e4)),
        Tolerance::Factor(ppm) => format!("within a factor of {}", show(f64::from(ppm) / 1e6)),
    }
}

/// Whether `found` is `expected` within `tolerance`.
fn within(found: f64, expected: f64, tolerance: Tolerance) -> bool {
    match tolerance {
        Tolerance::Relative(ppm) => {
            (found - expected).abs() <= expected.abs() * f64::from(ppm) / 1e6
        }
        Tolerance::Factor(ppm) => {
            let factor = f64::from(ppm) / 1e6;
            found >= expected / factor && found <= expected * factor
        }
    }
}

fn near(found: f64, expected: f64, tolerance: Tolerance, measured: &str) -> Finding {
    let off = (found / expected - 1.0).abs();
    Finding::new(within(found, expected, tolerance), off, measured.to_owned())
}

fn ordering(found: f64, below: bool, times: f64) -> Finding {
    let holds = if below { found < times } else { found > times };
    let badness = if below { found / times } else { times / found };
    Finding::new(holds, badness, format!("x {} of the other", show(found)))
}

/// Whether index `found` of the axis is `expected` within `tolerance`.
fn near_along(along: &Along, found: usize, expected: usize, tolerance: Tolerance) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "sizes and counts of a sweep")]
    let steps = |index: usize| along.steps[index].map(|steps| steps as f64);
    match (steps(found), steps(expected)) {
        (Some(found), Some(expected)) => within(found, expected, tolerance),
        _ => found == expected,
    }
}

fn crossover(
    quotients: &[f64],
    along: &Along,
    at: usize,
    tolerance: Tolerance,
    times: f64,
) -> Finding {
    let onset = quotients.iter().rposition(|quotient| *quotient > times).map_or(0, |last| last + 1);
    let Some(value) = along.values.get(onset) else {
        let last = quotients.last().copied().unwrap_or(f64::NAN);
        return Finding::new(false, f64::MAX, format!("never: x {} at the end", show(last)));
    };
    let holds = near_along(along, onset, at, tolerance);
    #[expect(clippy::cast_precision_loss, reason = "an index of an axis")]
    let off = onset.abs_diff(at) as f64;
    Finding::new(holds, off, format!("from {value} on (x {} there)", show(quotients[onset])))
}

fn trend(values: &[f64], along: &Along, shape: Trend) -> Finding {
    match shape {
        Trend::Rises { every_step } => steps(values, along, every_step, |a, b| b / a),
        Trend::Falls { every_step } => steps(values, along, every_step, |a, b| a / b),
        Trend::Flat(tolerance) => {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            near(high / low, 1.0, tolerance, &format!("greatest / least = {}", show(high / low)))
        }
        Trend::Knee { at, tolerance } => {
            let growth = |i: usize| (values[i + 1] / values[i]).ln();
            let bend = |i: usize| (growth(i) - growth(i - 1)).abs();
            let most = (1..values.len() - 1)
                .max_by(|a, b| bend(*a).total_cmp(&bend(*b)))
                .expect("a knee has three values");
            let holds = near_along(along, most, at, tolerance);
            let measured = format!("bends most at {}", along.values[most]);
            Finding::new(holds, if holds { 0.0 } else { 1.0 }, measured)
        }
        Trend::Dip { at, margin } => {
            let (this, before) = (values[at] / values[at - 1], values[at - 1] / values[at - 2]);
            let measured = format!("step x {}, the one before x {}", show(this), show(before));
            Finding::new(this < before - margin, this - before, measured)
        }
    }
}

/// Whether `gain` of each step, or of both ends, is above one.
fn steps(values: &[f64], along: &Along, every_step: bool, gain: fn(f64, f64) -> f64) -> Finding {
    let last = values.len() - 1;
    let pairs: Vec<(usize, usize)> =
        if every_step { (0..last).map(|i| (i, i + 1)).collect() } else { vec![(0, last)] };
    let gains = pairs.into_iter().map(|(a, b)| (gain(values[a], values[b]), a, b));
    let (worst, a, b) =
        gains.min_by(|x, y| x.0.total_cmp(&y.0)).expect("a line has two values at least");
    let change = values[b] / values[a];
    let measured = format!("x {} from {} to {}", show(change), along.values[a], along.values[b]);
    Finding::new(worst > 1.0, 1.0 / worst, measured)
}

#[cfg(test)]
mod tests {
    use super::super::super::results::ClaimRole;
    use super::super::super::schema::metrics;
    use super::*;

    fn along(sizes: &[u64]) -> Along {
        Along {
            path: "workload.size".to_owned(),
            values: sizes.iter().map(|size| format!("{size} B")).collect(),
            steps: sizes.iter().copied().map(Some).collect(),
        }
    }

    #[track_caller]
    fn check_verdict(kind: ClaimKind, values: &[f64], holds: bool, measured: &str) {
        let metric = &metrics("message_rate")[0];
        let (id, source, role) = ("x".to_owned(), "s".to_owned(), ClaimRole::Prediction);
        let claim = Claim { id, statement: None, role, source, metric, kind };
        let result = claim.judge(&|point| values.get(point).copied());
        assert_eq!(
            (result.status == ClaimStatus::Pass, result.measured.as_str()),
            (holds, measured)
        );
        assert!(!result.expected.is_empty() && !result.statement.is_empty());
    }

    fn line(count: usize) -> Vec<Vec<Replicas>> {
        vec![(0..count).map(|point| vec![point]).collect()]
    }

    #[test]
    fn values_and_ratios_hold_within_their_tolerance() {
        let ten = Tolerance::Relative(100_000);
        let value = |cases| ClaimKind::Value { cases, value: 100.0, tolerance: ten };
        check_verdict(value(vec![vec![0, 1]]), &[90.0, 130.0], true, "110 msg/s");
        check_verdict(
            value(vec![vec![0], vec![1]]),
            &[90.0, 130.0],
            false,
            "1 of 2 cases deviate; at worst 130 msg/s",
        );
        check_verdict(value(vec![vec![7]]), &[90.0], false, "a point has no such metric");
        let ratio =
            || ClaimKind::Ratio { cases: vec![(vec![0], vec![1])], value: 13.0, tolerance: ten };
        check_verdict(ratio(), &[24.0, 2.0], true, "x 12");
        check_verdict(ratio(), &[30.0, 2.0], false, "x 15");
        check_verdict(ratio(), &[30.0, 0.0], false, "a point has no such metric");
    }

    #[test]
    fn orderings_are_strict() {
        let below =
            || ClaimKind::Ordering { cases: vec![(vec![0], vec![1])], below: true, times: 16.0 };
        check_verdict(below(), &[15.0, 1.0], true, "x 15 of the other");
        check_verdict(below(), &[16.0, 1.0], false, "x 16 of the other");
    }

    #[test]
    fn a_crossover_is_where_it_stays_below() {
        let pairs: Vec<_> = (0..4).map(|i| (vec![i], vec![4])).collect();
        let claim = |at| ClaimKind::Crossover {
            lines: vec![pairs.clone()],
            along: along(&[8, 16, 32, 64]),
            at,
            tolerance: Tolerance::Factor(2_000_000),
            times: 1.25,
        };
        // Below at 8 B already, but above again at 16 B: the crossover is at 32 B.
        check_verdict(claim(3), &[1.0, 2.0, 1.2, 1.0, 1.0], true, "from 32 B on (x 1.2 there)");
        check_verdict(claim(0), &[1.0, 2.0, 1.2, 1.0, 1.0], false, "from 32 B on (x 1.2 there)");
        check_verdict(claim(3), &[1.0, 2.0, 1.2, 3.0, 1.0], false, "never: x 3 at the end");
    }

    #[test]
    fn trends_name_their_worst_step() {
        let trend = |shape| ClaimKind::Trend { lines: line(4), along: along(&[1, 2, 4, 8]), shape };
        let every = Trend::Rises { every_step: true };
        check_verdict(trend(every), &[1.0, 2.0, 3.0, 4.0], true, "x 1.333 from 4 B to 8 B");
        check_verdict(trend(every), &[1.0, 2.0, 2.0, 4.0], false, "x 1 from 2 B to 4 B");
        let ends = Trend::Rises { every_step: false };
        check_verdict(trend(ends), &[1.0, 9.0, 2.0, 4.0], true, "x 4 from 1 B to 8 B");
        let falls = Trend::Falls { every_step: true };
        check_verdict(trend(falls), &[4.0, 3.0, 2.0, 1.0], true, "x 0.75 from 1 B to 2 B");
        let flat = Trend::Flat(Tolerance::Relative(100_000));
        check_verdict(trend(flat), &[1.0, 1.05, 1.0, 1.09], true, "greatest / least = 1.09");
        let knee = Trend::Knee { at: 2, tolerance: Tolerance::Relative(0) };
        check_verdict(trend(knee), &[1.0, 2.0, 4.0, 4.0], true, "bends most at 4 B");
        let dip = Trend::Dip { at: 2, margin: 0.03 };
        check_verdict(trend(dip), &[1.0, 1.0, 0.9, 1.0], true, "step x 0.9, the one before x 1");
        check_verdict(
            trend(dip),
            &[1.0, 0.95, 0.9, 1.0],
            false,
            "step x 0.9474, the one before x 0.95",
        );
    }
}
