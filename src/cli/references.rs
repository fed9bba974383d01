//! Expectations of claims, as marks on a figure.

use experiment::claim::figures::{Curves, Overlay};
use experiment::claim::{Along, Claim, ClaimKind, Replicas, Trend};
use experiment::measured::Measurement;
use experiment::plan::Plan;
use experiment::results::RunResult;
use form::shape::read::Tolerance;
use report::figure::{
    EXPECTED, Figure, FigureSpec, MEASURED, Mark, Point, Reference, ReferenceShape, place_on_x,
    words,
};
use report::numbers::read_parameter;

/// A figure as the scenario states it, as it was bound, and as it will be drawn.
pub(super) struct Drawn<'a> {
    pub(super) figure: &'a Figure,
    pub(super) spec: &'a FigureSpec,
    pub(super) wanted: &'a Curves,
}

/// The references of the claims about the metric of a figure.
pub(super) fn references(plan: &Plan, result: &RunResult, drawn: &Drawn<'_>) -> Vec<Reference> {
    let figure = drawn.wanted;
    let judged = plan.claims.iter().zip(&result.claims);
    let about = judged.filter(|(claim, _)| claim.metric.name == figure.y);
    let claimed = about.filter_map(|(claim, verdict)| {
        let shape = shape(plan, result, drawn, claim)?;
        Some(Reference {
            heading: EXPECTED.to_owned(),
            id: claim.id.clone(),
            label: verdict.expected.clone(),
            source: verdict.source.clone(),
            shape,
        })
    });
    claimed.chain(figure.measured.iter().map(|overlay| measured(figure, overlay))).collect()
}

/// A table, where its points have a place on the axes.
fn measured(figure: &Curves, overlay: &Overlay) -> Reference {
    let shown = |one: &&Measurement| {
        (one.size > 0 || !(figure.log_x || figure.far_x)) && (one.value > 0.0 || !figure.log_y)
    };
    let points = overlay.points.iter().filter(shown).map(|one| Point {
        x: to_f64(one.size),
        y: one.value,
        range: one.spread.filter(|(low, _)| *low > 0.0 || !figure.log_y),
    });
    let marks: Vec<Mark> =
        points.map(|point| Mark { point, tolerated: None, series: None }).collect();
    let label = match overlay.points.len() - marks.len() {
        0 => overlay.label.clone(),
        // A logarithmic axis has no place for zero.
        missing => format!("{} ({missing} at 0 not shown)", overlay.label),
    };
    let shape = ReferenceShape::Markers(marks);
    Reference {
        heading: MEASURED.to_owned(),
        id: String::new(),
        label,
        source: String::new(),
        shape,
    }
}

#[expect(clippy::cast_precision_loss, reason = "a size on an axis")]
fn to_f64(size: u64) -> f64 {
    size as f64
}

fn shape(
    plan: &Plan,
    result: &RunResult,
    drawn: &Drawn<'_>,
    claim: &Claim,
) -> Option<ReferenceShape> {
    let figure = drawn.wanted;
    let markers = |marks: Vec<Mark>| (!marks.is_empty()).then_some(ReferenceShape::Markers(marks));
    let words = words(result, &figure.x);
    let mark = |at: &Replicas, y, tolerance| {
        let point = mark(plan, figure, &words, at, y)?;
        let tolerated = Some(range(y, tolerance));
        let judged = at.first().and_then(|index| result.points.get(*index));
        let series = judged.and_then(|one| drawn.figure.series_of(result, drawn.spec, one));
        Some(Mark { point, tolerated, series })
    };
    match &claim.kind {
        ClaimKind::Value { cases, value, tolerance } => {
            markers(cases.iter().filter_map(|at| mark(at, *value, *tolerance)).collect())
        }
        ClaimKind::Ratio { cases, value, tolerance } => {
            let expected = |(of, to): &(Replicas, Replicas)| {
                let base = mean(result, to, claim.metric.name)?;
                mark(of, base * value, *tolerance)
            };
            markers(cases.iter().filter_map(expected).collect())
        }
        ClaimKind::Crossover { lines, along, at, tolerance, .. } => {
            let both = |(of, to): &(Replicas, Replicas)| {
                is_drawn(plan, figure, of) && is_drawn(plan, figure, to)
            };
            let drawn = lines.iter().any(|line| line.iter().all(both));
            onset(figure, along, *at, *tolerance).filter(|_| drawn)
        }
        ClaimKind::Trend { lines, along, shape } => {
            let drawn = lines.iter().any(|line| line.iter().all(|at| is_drawn(plan, figure, at)));
            let mark = match shape {
                Trend::Knee { at, tolerance } => onset(figure, along, *at, *tolerance),
                Trend::Dip { at, .. } => onset(figure, along, *at, Tolerance::Relative(0)),
                Trend::Rises { .. }
                | Trend::Falls { .. }
                | Trend::Flat(_)
                | Trend::Drop { .. }
                | Trend::Slope { .. }
                | Trend::Linear { .. } => None,
            };
            mark.filter(|_| drawn)
        }
        ClaimKind::Bound { cases, value, .. } => {
            let drawn = cases.iter().any(|at| is_drawn(plan, figure, at));
            drawn.then_some(ReferenceShape::Level(*value))
        }
        ClaimKind::Spread { .. }
        | ClaimKind::RisingRatio { .. }
        | ClaimKind::Between { .. }
        | ClaimKind::Ordering { .. } => None,
    }
}

/// Whether the figure has these points.
fn is_drawn(plan: &Plan, figure: &Curves, points: &Replicas) -> bool {
    let has = |point: &usize| {
        let params = &plan.points[*point].params;
        figure.at.iter().all(|fixed| params.contains(fixed))
    };
    points.first().is_some_and(has)
}

/// An expected value at the place of its points on the x axis.
fn mark(plan: &Plan, figure: &Curves, words: &[&str], points: &Replicas, y: f64) -> Option<Point> {
    if !is_drawn(plan, figure, points) {
        return None;
    }
    let point = &plan.points[*points.first()?];
    let (_, x) = point.params.iter().find(|(path, _)| *path == figure.x)?;
    let x = place_on_x(words, x)?.value;
    (y.is_finite() && y > 0.0).then_some(Point { x, y, range: None })
}

fn mean(result: &RunResult, points: &Replicas, metric: &str) -> Option<f64> {
    let values = points.iter().map(|index| Some(result.points.get(*index)?.metric(metric)?.value));
    let values: Vec<f64> = values.collect::<Option<_>>()?;
    let count = u32::try_from(values.len()).ok().filter(|count| *count > 0)?;
    Some(values.iter().sum::<f64>() / f64::from(count))
}

/// Where along the x axis something is expected to happen.
fn onset(
    figure: &Curves,
    along: &Along,
    at: usize,
    tolerance: Tolerance,
) -> Option<ReferenceShape> {
    if along.path != figure.x {
        return None;
    }
    let x = read_parameter(along.values.get(at)?)?.value;
    let (low, high) = range(x, tolerance);
    (x > 0.0).then_some(ReferenceShape::Onset { low, high })
}

fn range(value: f64, tolerance: Tolerance) -> (f64, f64) {
    match tolerance {
        Tolerance::Relative(millionths) => {
            let part = f64::from(millionths) / 1e6;
            (value * (1.0 - part), value * (1.0 + part))
        }
        Tolerance::Factor(millionths) => {
            let factor = f64::from(millionths) / 1e6;
            (value / factor, value * factor)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerances_become_ranges() {
        assert_eq!(range(10.0, Tolerance::Relative(100_000)), (9.0, 11.0));
        assert_eq!(range(10.0, Tolerance::Factor(2_000_000)), (5.0, 20.0));
    }
}
