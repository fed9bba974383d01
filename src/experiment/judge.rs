//! Judges claims: each is a sentence about metrics, measured on the points it names.
//!
//! A claim about several cases holds if it holds in each; what is reported is the worst one.

mod evidence;
mod words;

use self::words::{expected, shown, told, unit};
use super::claim::{Along, Claim, ClaimKind, Replicas, Trend};
use super::plan::Plan;
use super::results::{ClaimResult, ClaimStatus, PointResult};
use form::shape::read::Tolerance;

/// The verdicts on all claims of a plan, in file order.
pub fn claims(plan: &Plan, points: &[PointResult]) -> Vec<ClaimResult> {
    let judged = |(place, claim): (usize, &Claim)| ClaimResult {
        null_model: evidence::null_model(claim, &plan.claims[..place]),
        ..judge(claim, points)
    };
    plan.claims.iter().enumerate().map(judged).collect()
}

/// The finding for one case.
struct Found {
    holds: bool,
    /// How far it is inside the edge of what holds, negative outside; the least is reported. Each
    /// kind of claim has a measure of its own, which is compared between cases of one claim only. No
    /// finite number is the worst.
    margin: f64,
    measured: String,
}

impl Found {
    const fn holds(&self) -> bool {
        self.holds
    }

    fn order(&self, other: &Self) -> std::cmp::Ordering {
        order(self.margin, other.margin)
    }
}

/// Numbers in order, what is none first: the sign of one that is none differs between machines.
fn order(a: f64, b: f64) -> std::cmp::Ordering {
    let known = |value: f64| if value.is_nan() { f64::NEG_INFINITY } else { value };
    known(a).total_cmp(&known(b))
}

/// The verdict on one claim.
pub fn judge(claim: &Claim, points: &[PointResult]) -> ClaimResult {
    let bench = Bench::Measured { points, metric: claim.metric.name };
    let found = bench.cases(&claim.kind);
    let worst = found.map(|all| {
        if let ClaimKind::Ordering { majority: true, .. } = claim.kind {
            return in_most(all);
        }
        let all_hold = all.iter().all(|found| found.holds);
        let worst = all.into_iter().min_by(Found::order);
        (all_hold, worst.map_or_else(|| "no case".to_owned(), |worst| worst.measured))
    });
    // A point that failed has no metric: the claim cannot hold.
    let (holds, measured) = worst.unwrap_or((false, "a point of the claim has no result".into()));
    ClaimResult {
        id: claim.id.clone(),
        statement: claim.statement.clone().unwrap_or_else(|| told(claim, points)),
        status: if holds { ClaimStatus::Pass } else { ClaimStatus::Deviates },
        // What deviates could fail.
        cannot_fail: evidence::cannot_fail(claim, points).filter(|_| holds),
        null_model: None,
        undecided: Vec::new(),
        role: claim.role,
        measured,
        unit: unit(claim),
        expected: expected(claim, points),
        source: claim.source.clone(),
    }
}

/// More than half of the cases must hold; the one in the middle decides.
fn in_most(mut all: Vec<Found>) -> (bool, String) {
    let held = all.iter().filter(|found| found.holds).count();
    let count = all.len();
    all.sort_by(Found::order);
    let middle = all.get(count.saturating_sub(1) / 2).map_or("none", |found| &found.measured);
    (2 * held > count, format!("in {held} of {count} cases; the one in the middle: {middle}"))
}

/// Where the values of points come from.
enum Bench<'a> {
    /// They were measured.
    Measured { points: &'a [PointResult], metric: &'a str },
    /// They are the same at all points.
    Constant,
}

impl Bench<'_> {
    /// The mean over replicas; `None` where a point failed.
    fn at(&self, replicas: &Replicas) -> Option<f64> {
        let Bench::Measured { points, metric } = self else { return Some(1.0) };
        let values = replicas
            .iter()
            .map(|&index| points.iter().find(|point| point.index == index)?.metric(metric));
        let values: Option<Vec<f64>> = values.map(|metric| Some(metric?.value)).collect();
        let values = values?;
        let count = u32::try_from(values.len()).expect("a sweep has fewer points than 2^32");
        Some(values.iter().sum::<f64>() / f64::from(count))
    }

    fn ratio(&self, (of, to): &(Replicas, Replicas)) -> Option<f64> {
        Some(self.at(of)? / self.at(to)?)
    }

    fn cases(&self, kind: &ClaimKind) -> Option<Vec<Found>> {
        match kind {
            ClaimKind::Value { cases, value, tolerance } => {
                cases.iter().map(|case| Some(near(self.at(case)?, *value, *tolerance))).collect()
            }
            ClaimKind::Ratio { cases, value, tolerance } => {
                cases.iter().map(|case| Some(near(self.ratio(case)?, *value, *tolerance))).collect()
            }
            ClaimKind::Bound { cases, below, value } => {
                cases.iter().map(|case| Some(bounded(self.at(case)?, *below, *value))).collect()
            }
            ClaimKind::Spread { cases, most } => {
                let values: Option<Vec<f64>> = cases.iter().map(|case| self.at(case)).collect();
                Some(vec![spread(&values?, *most)])
            }
            ClaimKind::Between { cases, least, most } => cases
                .iter()
                .map(|case| {
                    let ratio = self.ratio(case)?;
                    let margin = (ratio - least).min(most - ratio);
                    Some(Found { holds: margin >= 0.0, margin, measured: shown(ratio) })
                })
                .collect(),
            ClaimKind::Ordering { cases, bases, below, times, .. } => cases
                .iter()
                .enumerate()
                .map(|(index, case)| {
                    let base = bases.get(index).map_or(Some(1.0), |base| self.ratio(base))?;
                    let ratio = self.ratio(case)? / base;
                    let margin = if *below { times - ratio } else { ratio - times };
                    let measured = format!("a ratio of {}", shown(ratio));
                    Some(Found { holds: margin > 0.0, margin, measured })
                })
                .collect(),
            ClaimKind::Crossover { lines, along, at, tolerance, times } => lines
                .iter()
                .map(|line| self.crossover(line, along, *at, *tolerance, *times))
                .collect(),
            ClaimKind::RisingRatio { lines, least, .. } => {
                lines.iter().map(|line| self.rising_ratio(line, *least)).collect()
            }
            ClaimKind::Trend { lines, along, shape } => {
                lines.iter().map(|line| self.trend(line, along, *shape)).collect()
            }
        }
    }

    /// From which value of the axis on the ratio stays at or below `times`.
    fn crossover(
        &self,
        line: &[(Replicas, Replicas)],
        along: &Along,
        at: usize,
        tolerance: Tolerance,
        times: f64,
    ) -> Option<Found> {
        let ratios: Option<Vec<f64>> = line.iter().map(|pair| self.ratio(pair)).collect();
        let ratios = ratios?;
        let last_above = ratios.iter().rposition(|&ratio| ratio > times);
        let onset = last_above.map_or(0, |last| last + 1);
        let top = ratios[at..].iter().copied().fold(0.0, f64::max);
        let Some(value) = along.values.get(onset) else {
            let measured = format!(
                "never: the ratio at {} is {}, the greatest from there on {}",
                along.values[at],
                shown(ratios[at]),
                shown(top)
            );
            return Some(Found { holds: false, margin: f64::NEG_INFINITY, measured });
        };
        let measured =
            format!("from {value} on; greatest ratio from {} on: {}", along.values[at], shown(top));
        Some(Found { measured, ..near(position(along, onset), position(along, at), tolerance) })
    }

    /// How far the ratios rise with the axis, by ranks.
    fn rising_ratio(&self, line: &[(Replicas, Replicas)], least: f64) -> Option<Found> {
        let ratios: Option<Vec<f64>> = line.iter().map(|pair| self.ratio(pair)).collect();
        let rho = rank_correlation(&ratios?);
        let measured = format!("a rank correlation of {}", shown(rho));
        Some(Found { holds: rho >= least, margin: rho - least, measured })
    }

    fn trend(&self, line: &[Replicas], along: &Along, shape: Trend) -> Option<Found> {
        let values: Option<Vec<f64>> = line.iter().map(|point| self.at(point)).collect();
        let values = values?;
        Some(match shape {
            Trend::Rises { every_step } => steps(&values, along, every_step, 1.0),
            Trend::Falls { every_step } => steps(&values, along, every_step, -1.0),
            Trend::Flat(tolerance) => flat(&values, tolerance),
            Trend::Knee { at, tolerance } => knee(&values, along, at, tolerance),
            Trend::Dip { at, margin } => dip(&values, along, at, margin),
            Trend::Drop { at } => drop_at(&values, along, at),
            Trend::Slope { value, tolerance } => slope(&values, along, value, tolerance),
            Trend::Linear { r_squared } => linear(&values, along, r_squared),
        })
    }
}

/// The axis value as a number; its index where it is none.
#[expect(clippy::cast_precision_loss, reason = "an axis is compared as floats, in a report")]
fn position(along: &Along, index: usize) -> f64 {
    along.steps[index].map_or(index as f64 + 1.0, |steps| steps as f64)
}

fn bounds(expected: f64, tolerance: Tolerance) -> (f64, f64) {
    match tolerance {
        Tolerance::Relative(millionths) => {
            let part = expected.abs() * f64::from(millionths) / 1e6;
            (expected - part, expected + part)
        }
        Tolerance::Factor(millionths) => {
            let factor = f64::from(millionths) / 1e6;
            (expected / factor, expected * factor)
        }
    }
}

fn within(value: f64, expected: f64, tolerance: Tolerance) -> bool {
    let (low, high) = bounds(expected, tolerance);
    // Powers of two along an axis are exact; the slack is for the division above.
    (low * (1.0 - 1e-12)..=high * (1.0 + 1e-12)).contains(&value)
}

/// Its margin is a part of what is expected; where that is 0, it is in the unit of the value.
fn near(value: f64, expected: f64, tolerance: Tolerance) -> Found {
    let (low, high) = bounds(expected, tolerance);
    let whole = if expected == 0.0 { 1.0 } else { expected.abs() };
    let margin = (value - low).min(high - value) / whole;
    Found { holds: within(value, expected, tolerance), margin, measured: shown(value) }
}

/// Every step, or the ends, go up (`sign` 1) or down (-1).
fn steps(values: &[f64], along: &Along, every_step: bool, sign: f64) -> Found {
    let ends = [values[0], values[values.len() - 1]];
    let pairs: Vec<(usize, f64)> = if every_step {
        values.windows(2).enumerate().map(|(i, pair)| (i, pair[1] / pair[0])).collect()
    } else {
        vec![(0, ends[1] / ends[0])]
    };
    let grows = |growth: f64| (growth - 1.0) * sign;
    let worst = pairs.iter().min_by(|a, b| order(grows(a.1), grows(b.1)));
    let &(at, growth) = worst.expect("a trend has at least two values");
    let to = if every_step { at + 1 } else { values.len() - 1 };
    let measured = format!(
        "the {} step is a factor of {} from {} to {}",
        if sign > 0.0 { "least" } else { "greatest" },
        shown(growth),
        along.values[at],
        along.values[to]
    );
    Found { holds: grows(growth) > 0.0, margin: grows(growth), measured }
}

fn flat(values: &[f64], tolerance: Tolerance) -> Found {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (_, high) = bounds(least, tolerance);
    let measured = format!("greatest over least: {}", shown(greatest / least));
    Found { holds: greatest <= high, margin: (high - greatest) / least, measured }
}

fn knee(values: &[f64], along: &Along, at: usize, tolerance: Tolerance) -> Found {
    let growth: Vec<f64> = values.windows(2).map(|pair| (pair[1] / pair[0]).ln()).collect();
    let change = |i: usize| (growth[i] - growth[i - 1]).abs();
    let found = (1..growth.len()).max_by(|&a, &b| order(change(a), change(b)));
    let found = found.expect("a knee has at least three values");
    let measured = format!("the growth changes most at {}", along.values[found]);
    Found { measured, ..near(position(along, found), position(along, at), tolerance) }
}

fn dip(values: &[f64], along: &Along, at: usize, margin: f64) -> Found {
    let here = values[at] / values[at - 1];
    let before = values[at - 1] / values[at - 2];
    let left = before - margin - here;
    let measured = format!(
        "the step to {} is a factor of {}, the one before {}",
        along.values[at],
        shown(here),
        shown(before)
    );
    Found { holds: left > 0.0, margin: left, measured }
}

/// It falls to the value before `at`, and by a greater factor from there on.
fn drop_at(values: &[f64], along: &Along, at: usize) -> Found {
    let here = values[at] / values[at - 1];
    let before = values[at - 1] / values[at - 2];
    let left = (1.0 - before).min(before - here);
    let measured = format!(
        "a factor of {} from {} to {}, then {} to {}",
        shown(before),
        along.values[at - 2],
        along.values[at - 1],
        shown(here),
        along.values[at]
    );
    Found { holds: left > 0.0, margin: left, measured }
}

/// The growth of the metric by the growth of the axis, from the first value to each other.
fn slope(values: &[f64], along: &Along, value: f64, tolerance: Tolerance) -> Found {
    let each = (1..values.len()).map(|index| {
        let metric = values[index] / values[0];
        let axis = position(along, index) / position(along, 0);
        let found = near(metric / axis, value, tolerance);
        let measured = format!("{} up to {}", found.measured, along.values[index]);
        Found { measured, ..found }
    });
    let worst = each.min_by(Found::order);
    worst.expect("a trend has at least two values")
}

/// The straight line of least squares: it rises, and explains so much of the variance.
fn linear(values: &[f64], along: &Along, least: f64) -> Found {
    let places: Vec<f64> = (0..values.len()).map(|index| position(along, index)).collect();
    let count = values.iter().map(|_| 1.0).sum::<f64>();
    let (x, y) = (places.iter().sum::<f64>() / count, values.iter().sum::<f64>() / count);
    let off: Vec<(f64, f64)> = places.iter().zip(values).map(|(a, b)| (a - x, b - y)).collect();
    let sum = |product: fn(&(f64, f64)) -> f64| off.iter().map(product).sum::<f64>();
    let (xx, xy, yy) = (sum(|d| d.0 * d.0), sum(|d| d.0 * d.1), sum(|d| d.1 * d.1));
    // Values that do not differ lie on a line that does not rise.
    let r_squared = if yy > 0.0 { xy * xy / (xx * yy) } else { 0.0 };
    let rises = xy > 0.0;
    let line = if rises { "a rising line" } else { "no rising line" };
    let measured = format!("{line}, R^2 {}", shown(r_squared));
    let margin = if rises { r_squared - least } else { -r_squared - least };
    Found { holds: rises && r_squared >= least, margin, measured }
}

/// Spearman's rho of values with their places: Pearson's correlation of their ranks. It is 0 where
/// all values are equal, and no number where one of them is none.
#[expect(clippy::cast_precision_loss, reason = "places on an axis are few")]
fn rank_correlation(values: &[f64]) -> f64 {
    if values.iter().any(|value| value.is_nan()) {
        return f64::NAN;
    }
    // The mean of the ranks is the same with and without equal values among them.
    let mean = (values.len() as f64 - 1.0) / 2.0;
    let off = |(place, &value): (usize, &f64)| (place as f64 - mean, rank(value, values) - mean);
    let off: Vec<(f64, f64)> = values.iter().enumerate().map(off).collect();
    let sum = |product: fn(&(f64, f64)) -> f64| off.iter().map(product).sum::<f64>();
    let (xx, xy, yy) = (sum(|d| d.0 * d.0), sum(|d| d.0 * d.1), sum(|d| d.1 * d.1));
    // Ranks and their mean are halves: their sums are exact.
    if xx == 0.0 || yy == 0.0 { 0.0 } else { xy / (xx * yy).sqrt() }
}

/// The rank of one of `values` among them, from 0 on; equal values share the mean of their ranks.
#[expect(clippy::cast_precision_loss, reason = "places on an axis are few")]
fn rank(value: f64, values: &[f64]) -> f64 {
    let below = values.iter().filter(|other| **other < value).count();
    let above = values.iter().filter(|other| **other > value).count();
    (below as f64 + (values.len() - above) as f64 - 1.0) / 2.0
}

fn bounded(measured: f64, below: bool, value: f64) -> Found {
    let margin = if below { value - measured } else { measured - value };
    Found { holds: margin > 0.0, margin, measured: shown(measured) }
}

fn spread(values: &[f64], most: f64) -> Found {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ratio = greatest / least;
    let measured = format!("greatest over least: {}", shown(ratio));
    Found { holds: ratio <= most, margin: most - ratio, measured }
}

#[cfg(test)]
mod tests;
