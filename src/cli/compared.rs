//! A comparison of two results: lines for people, documents for programs, rows of a page.

use super::files::curves;
use experiment::attribution::Shift;
use experiment::check::{ClaimCheck, Comparison, Fact, MetricCheck, Moved};
use experiment::claim::figures::Figure as Wanted;
use experiment::inputs::{self, Change};
use experiment::results::{ClaimStatus, RunResult};
use report::diff::with_others;
use report::difference::{ClaimRow, Compared, DifferenceRow, WorkRow};
use report::html::PageFigure;
use report::json::{CheckedClaim, CheckedMetric, InputDocument, MetricStatus, Ordered};
use report::numbers::{self, apart, engineering, exact, in_parentheses, percent, tolerated};
use units::TimeDelta;

/// Differences of one scenario that are written out.
const WORST_SHOWN: usize = 10;
/// Differences of one scenario on a page.
pub(super) const WORST_ON_PAGE: usize = 50;
/// Kinds of resources whose work moved that are written out.
const SHIFTS_SHOWN: usize = 4;

/// The differences, a line each.
pub(super) fn lines(comparison: &Comparison) -> Vec<String> {
    let mut lines: Vec<String> = inputs_line(comparison).into_iter().collect();
    if comparison.digest != comparison.baseline_digest {
        let counts = if comparison.digest_counts { "" } else { ": not counted" };
        lines.push(format!("digest was {}{counts}", comparison.baseline_digest));
    }
    if let Some(point) = comparison.first_point {
        lines.push(format!("the first point with other events is point {point}"));
    }
    let worst = comparison.worst();
    lines.extend(worst.iter().take(WORST_SHOWN).map(fact));
    if worst.len() > WORST_SHOWN {
        let told: usize = worst[..WORST_SHOWN].iter().map(|fact| 1 + fact.in_step.len()).sum();
        let (more, all) = (comparison.moved() - told, comparison.metrics.len());
        lines.push(format!("and {more} more of {all} metrics"));
    }
    for ClaimCheck { claim, baseline } in moved_claims(comparison) {
        let was = baseline.map_or("not in the baseline", verdict);
        let now = verdict(claim.status);
        lines.push(format!("claim {}: {now}, was {was}; simulated {}", claim.id, claim.measured));
    }
    for id in &comparison.missing_claims {
        lines.push(format!("claim {id}: gone, was in the baseline"));
    }
    lines.extend(work_lines(&comparison.work));
    lines
}

/// The numbers of machines that are not those of the baseline, if any is not.
pub(super) fn inputs_line(comparison: &Comparison) -> Option<String> {
    let changes = &comparison.inputs;
    (!changes.is_empty()).then(|| format!("inputs that differ: {}", inputs::in_words(changes)))
}

fn moved_claims(comparison: &Comparison) -> impl Iterator<Item = &ClaimCheck> {
    comparison.claims.iter().filter(|claim| claim.moved() != Moved::Same)
}

/// A verdict in a word.
pub(super) const fn verdict(status: ClaimStatus) -> &'static str {
    match status {
        ClaimStatus::Pass => "pass",
        ClaimStatus::Deviates => "deviates",
    }
}

fn fact(fact: &Fact<'_>) -> String {
    let told = difference(fact.metric);
    if fact.in_step.is_empty() {
        told
    } else {
        format!("{told}, in step: {}", fact.in_step.join(", "))
    }
}

fn difference(metric: &MetricCheck) -> String {
    let MetricCheck { point, name, unit, tolerance, .. } = metric;
    let place = in_parentheses(&metric.params);
    let text = |value: f64| format!("{} {unit}", exact(value));
    match (metric.value, metric.baseline) {
        (Some(value), Some(old)) => {
            let [now, was] = apart([value, old]).map(|number| format!("{number} {unit}"));
            let (moved, allowed) = (numbers::change(old, value, 4), tolerated(*tolerance));
            format!("point {point}{place}: {name} {now}, was {was} ({moved}, tolerance {allowed})")
        }
        (Some(value), None) => format!("point {point}{place}: {name} {}, new", text(value)),
        (None, Some(old)) => format!("point {point}{place}: {name} gone, was {}", text(old)),
        (None, None) => format!("point {point}{place}: {name} has no value"),
    }
}

/// Parts whose work moved, one line each; the greatest shift first.
pub(super) fn work_lines(shifts: &[Shift]) -> Vec<String> {
    let all = all_shifts(shifts);
    let line = |shift: &Shift| {
        let WorkRow { what, now, before, change, part, .. } = work_row(shift, all);
        format!("work of {what}: {now}, was {before} ({change}), {part} of what moved")
    };
    shifts.iter().take(SHIFTS_SHOWN).map(line).collect()
}

fn all_shifts(shifts: &[Shift]) -> f64 {
    to_f64(shifts.iter().map(|shift| shift.difference().abs()).sum())
}

/// A row about a kind of resource; `all` is the sum of all differences.
fn work_row(shift: &Shift, all: f64) -> WorkRow {
    let time = |ps| TimeDelta::from_ps(ps).to_string();
    let moved = to_f64(shift.difference());
    let change = match shift.before {
        0 => "new".to_owned(),
        before => numbers::change(to_f64(i128::from(before)), to_f64(i128::from(shift.now)), 2),
    };
    WorkRow {
        what: shift.what.clone(),
        now: time(shift.now),
        before: time(shift.before),
        change,
        part: percent(moved.abs(), all),
        width: exact((moved.abs() / all * 1000.0).round() / 10.0),
    }
}

#[expect(clippy::cast_precision_loss, reason = "for people")]
fn to_f64(ps: i128) -> f64 {
    ps as f64
}

/// The rows of a page about one scenario.
pub(super) fn rows(comparison: &Comparison, start: Compared) -> Compared {
    let worst = comparison.worst();
    let claim = |one: &ClaimCheck| ClaimRow {
        id: one.claim.id.clone(),
        now: verdict(one.claim.status).to_owned(),
        before: one.baseline.map_or("none", verdict).to_owned(),
        measured: one.claim.measured.clone(),
    };
    Compared {
        differences: worst.iter().take(WORST_ON_PAGE).map(difference_row).collect(),
        hidden: worst.len().saturating_sub(WORST_ON_PAGE),
        claims: moved_claims(comparison).map(claim).collect(),
        work: work_rows(&comparison.work),
        ..start
    }
}

/// The rows of a page about whose work moved.
pub(super) fn work_rows(shifts: &[Shift]) -> Vec<WorkRow> {
    let all = all_shifts(shifts);
    shifts.iter().take(2 * SHIFTS_SHOWN).map(|shift| work_row(shift, all)).collect()
}

fn difference_row(Fact { metric, in_step }: &Fact<'_>) -> DifferenceRow {
    let shown = |value: Option<f64>| {
        let text = value.map(|value| format!("{} {}", engineering(value), metric.unit));
        text.map_or_else(|| "none".to_owned(), |text| text.trim_end().to_owned())
    };
    let change = match (metric.value, metric.baseline) {
        (Some(value), Some(old)) => numbers::change(old, value, 3),
        (Some(_), None) => "new".to_owned(),
        (None, _) => "gone".to_owned(),
    };
    DifferenceRow {
        point: format!("{}{}", metric.point, in_parentheses(&metric.params)),
        metric: with_others(&metric.name, in_step),
        now: shown(metric.value),
        before: shown(metric.baseline),
        change,
        tolerance: Some(tolerated(metric.tolerance)),
    }
}

/// A scenario's figures with the other result beside; those that cannot be drawn are left out,
/// since the tables say the same.
pub(super) fn overlays(
    figures: &[Wanted],
    now: &RunResult,
    before: &RunResult,
    names: [&str; 2],
) -> Vec<PageFigure> {
    let wanted = figures.iter().filter_map(|wanted| match wanted {
        Wanted::Curves(curves) => Some(curves),
        Wanted::Stack(_) | Wanted::Messages(_) => None,
    });
    let drawn = wanted.filter_map(|wanted| {
        let mut figure = curves(now, wanted).ok()?;
        let other = curves(before, wanted).ok()?;
        figure.beside(&other, names);
        let svg = figure.to_svg().ok()?;
        Some(PageFigure { caption: figure.title.clone(), file: String::new(), svg })
    });
    drawn.collect()
}

/// A metric as `check --format json` has it.
pub(super) fn metric(metric: &MetricCheck) -> CheckedMetric {
    CheckedMetric {
        point: metric.point,
        params: Ordered(metric.params.clone()),
        name: metric.name.clone(),
        value: metric.value,
        baseline: metric.baseline,
        unit: metric.unit.clone(),
        tolerance: metric.tolerance,
        status: match metric.moved {
            Moved::Same => MetricStatus::Same,
            Moved::Changed => MetricStatus::Changed,
            Moved::New => MetricStatus::New,
            Moved::Missing => MetricStatus::Missing,
        },
    }
}

/// The inputs that differ as `check --format json` has them.
pub(super) fn inputs(comparison: &Comparison) -> Vec<InputDocument> {
    let document = |change: &Change| {
        let [baseline, value] = change.values.clone();
        InputDocument { path: change.path.clone(), value, baseline }
    };
    comparison.inputs.iter().map(document).collect()
}

/// The claims as `check --format json` has them.
pub(super) fn claims(comparison: &Comparison) -> Vec<CheckedClaim> {
    let claims = comparison.claims.iter();
    claims.map(|claim| CheckedClaim::new(&claim.claim, claim.baseline)).collect()
}
