//! What a claim says of itself: what was measured and what was expected, in words.

use super::super::claim::{Claim, ClaimKind, Replicas, Trend};
use super::super::results::PointResult;
use form::shape::read::Tolerance;

/// A number as a reader wants it: four significant digits.
pub(super) fn shown(value: f64) -> String {
    if !value.is_finite() {
        return "no finite number".to_owned();
    }
    let digits = (3.0 - value.abs().max(1e-12).log10().floor()).clamp(0.0, 12.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped to 0..=12"
    )]
    let text = format!("{value:.*}", digits as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

const fn side(below: bool) -> &'static str {
    if below { "below" } else { "above" }
}

/// The unit of what is measured where that is a number.
pub(super) const fn unit(claim: &Claim) -> &'static str {
    match claim.kind {
        ClaimKind::Value { .. } | ClaimKind::Bound { .. } => claim.metric.unit,
        ClaimKind::Ratio { .. } | ClaimKind::Between { .. } => "x",
        ClaimKind::Spread { .. }
        | ClaimKind::Ordering { .. }
        | ClaimKind::Crossover { .. }
        | ClaimKind::RisingRatio { .. }
        | ClaimKind::Trend { .. } => "",
    }
}

/// A swept path's last word with its value: `workload.queue.length` is `length 64`.
fn setting((path, value): &(String, String)) -> String {
    let word = path.rsplit('.').next().unwrap_or(path).replace('_', " ");
    format!("{word} {value}")
}

/// The coordinates that all points of some cases have in common; their seeds do not count.
fn common<'a>(cases: impl Iterator<Item = &'a Replicas>, points: &[PointResult]) -> String {
    let found = cases.filter_map(|case| points.iter().find(|one| Some(&one.index) == case.first()));
    let all: Vec<&PointResult> = found.collect();
    let Some((first, others)) = all.split_first() else { return String::new() };
    let shared = first.params.iter().filter(|setting| {
        setting.0 != "seed" && others.iter().all(|one| one.params.contains(setting))
    });
    shared.map(setting).collect::<Vec<_>>().join(", ")
}

/// The coordinates of the second point of a ratio that the first one lacks.
fn base(cases: &[(Replicas, Replicas)], points: &[PointResult]) -> Option<String> {
    let (of, to) = cases.first()?;
    let point = |at: &Replicas| points.iter().find(|one| Some(&one.index) == at.first());
    let (of, to) = (point(of)?, point(to)?);
    let own = to.params.iter().filter(|one| one.0 != "seed" && !of.params.contains(one));
    let own: Vec<String> = own.map(setting).collect();
    (!own.is_empty()).then(|| own.join(", "))
}

/// The metric and the points of a claim whose scenario gives it no words.
pub(super) fn told(claim: &Claim, points: &[PointResult]) -> String {
    let metric = claim.metric.name.replace('_', " ");
    let at = |settings: String| {
        if settings.is_empty() { metric.clone() } else { format!("{metric} at {settings}") }
    };
    match &claim.kind {
        ClaimKind::Value { cases, .. } | ClaimKind::Bound { cases, .. } => {
            at(common(cases.iter(), points))
        }
        ClaimKind::Ratio { cases, .. } | ClaimKind::Between { cases, .. } => {
            let of = at(common(cases.iter().map(|(of, _)| of), points));
            base(cases, points).map_or_else(|| of.clone(), |to| format!("{of}, by that at {to}"))
        }
        ClaimKind::Spread { .. }
        | ClaimKind::Ordering { .. }
        | ClaimKind::Crossover { .. }
        | ClaimKind::RisingRatio { .. }
        | ClaimKind::Trend { .. } => String::new(),
    }
}

/// The claim's expectation in words.
pub(super) fn expected(claim: &Claim, points: &[PointResult]) -> String {
    let tolerance = |tolerance: Tolerance| match tolerance {
        Tolerance::Relative(millionths) => format!("± {} %", f64::from(millionths) / 1e4),
        Tolerance::Factor(millionths) => {
            format!("within a factor of {}", f64::from(millionths) / 1e6)
        }
    };
    match &claim.kind {
        ClaimKind::Value { value, tolerance: within, .. } => {
            let value = format!("{} {}", shown(*value), claim.metric.unit);
            format!("{} {}", value.trim_end(), tolerance(*within))
        }
        ClaimKind::Ratio { cases, value, tolerance: within } => {
            let (times, within) = (shown(*value), tolerance(*within));
            base(cases, points).map_or_else(
                || format!("{times} x {within}"),
                |base| format!("{times} x that at {base}, {within}"),
            )
        }
        ClaimKind::Bound { below, value, .. } => {
            format!("{} {} {}", side(*below), shown(*value), claim.metric.unit)
                .trim_end()
                .to_owned()
        }
        ClaimKind::Spread { most, .. } => format!("greatest over least at most {}", shown(*most)),
        ClaimKind::Between { least, most, .. } => {
            format!("from {} x to {} x", shown(*least), shown(*most))
        }
        ClaimKind::Ordering { below, times, majority, .. } => {
            let cases = if *majority { " in most cases" } else { "" };
            format!("{} a ratio of {}{cases}", side(*below), shown(*times))
        }
        ClaimKind::Crossover { along, at, tolerance: within, times, .. } => format!(
            "ratio at most {} from {} on ({})",
            shown(*times),
            along.values[*at],
            tolerance(*within)
        ),
        ClaimKind::RisingRatio { along, least, .. } => {
            format!("rises with {} (a rank correlation of at least {})", along.path, shown(*least))
        }
        ClaimKind::Trend { along, shape, .. } => match shape {
            Trend::Rises { every_step: true } => format!("rises with every step of {}", along.path),
            Trend::Rises { every_step: false } => format!("rises along {}", along.path),
            Trend::Falls { every_step: true } => format!("falls with every step of {}", along.path),
            Trend::Falls { every_step: false } => format!("falls along {}", along.path),
            Trend::Flat(within) => format!("flat along {} ({})", along.path, tolerance(*within)),
            Trend::Knee { at, tolerance: within } => {
                format!("a knee at {} ({})", along.values[*at], tolerance(*within))
            }
            Trend::Drop { at } => {
                format!("falls to {}, and more to {}", along.values[*at - 1], along.values[*at])
            }
            Trend::Slope { value, tolerance: within } => {
                let times = shown(*value);
                format!("grows {times} times as fast as {} ({})", along.path, tolerance(*within))
            }
            Trend::Linear { r_squared } => {
                format!("rises linearly with {} (R^2 at least {})", along.path, shown(*r_squared))
            }
            Trend::Dip { at, margin } => {
                format!(
                    "a dip at {}, deeper than the step before by {}",
                    along.values[*at],
                    shown(*margin)
                )
            }
        },
    }
}
