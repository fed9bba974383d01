//! Points whose measured time is in part that of a start, and what takes it out.

use super::numbers::in_parentheses;
use experiment::results::{PointResult, RunResult, Transient};
use units::TimeDelta;

/// Sentences about points that are not in a steady state: on the halves of the measured rounds, and on
/// what is paid once.
pub fn transient_lines(result: &RunResult) -> Vec<String> {
    let halves = |one: &Transient| one.halves.map(|[first, second]| change(first, second));
    let once = |one: &Transient| one.once.map(|[once, measured]| percent(once, measured));
    let halves = line(result, halves, |change| {
        let more = if change > 0 { "more" } else { "less" };
        let percent = change.unsigned_abs();
        format!(
            "the second half of the measured rounds takes {percent} % {more} time than the first"
        )
    });
    let once = line(result, once, |percent| {
        format!(
            "{percent} % of the measured time of a thread is paid once for each buffer \
             (registration, first touch of mapped pages)"
        )
    });
    halves.into_iter().chain(once).collect()
}

/// A sentence about the point where `share` is farthest from zero, and about how many have one.
fn line(
    result: &RunResult,
    share: impl Fn(&Transient) -> Option<i64>,
    words: impl Fn(i64) -> String,
) -> Option<String> {
    let of = |point: &'_ PointResult| point.transient.as_ref().and_then(&share);
    let all: Vec<(&PointResult, i64)> =
        result.points.iter().filter_map(|point| Some((point, of(point)?))).collect();
    let (worst, percent) = all.iter().max_by_key(|(point, percent)| {
        // The first of several that are alike.
        (percent.unsigned_abs(), usize::MAX - point.index)
    })?;
    let (count, total) = (all.len(), result.points.len());
    let place = if total == 1 {
        String::new()
    } else {
        let params = in_parentheses(&worst.params);
        let points =
            if total == count { "all points".into() } else { format!("{count} of {total} points") };
        format!(", at point {}{params}; it is more than 5 % at {points}", worst.index)
    };
    let mend = worst.transient.as_ref().and_then(|one| one.mend.as_deref()).map_or_else(
        String::new,
        |key| match key.rsplit_once('.') {
            Some((_, "warmup")) => format!(": a larger `{key}` takes the start out"),
            _ => format!(": a larger `{key}` makes the start small"),
        },
    );
    Some(format!("{}{place}{mend}", words(*percent)))
}

/// A part of a whole in per cent, to the nearest.
fn percent(part: TimeDelta, whole: TimeDelta) -> i64 {
    let (part, whole) = (i128::from(part.as_ps()), i128::from(whole.as_ps().max(1)));
    i64::try_from((200 * part + whole) / (2 * whole)).unwrap_or(i64::MAX)
}

fn change(first: TimeDelta, second: TimeDelta) -> i64 {
    percent(second, first) - 100
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn the_farthest_point_is_told_with_the_key_that_takes_the_start_out() {
        let mut result = sample::ping_pong();
        assert_eq!(transient_lines(&result), [""; 0]);
        let ns = TimeDelta::from_ns;
        let of = |halves, once, mend: &str| {
            Some(Transient { halves, once, mend: Some(mend.to_owned()) })
        };
        result.points[0].transient = of(Some([ns(100), ns(90)]), None, "workload.warmup");
        result.points[1].transient =
            of(Some([ns(100), ns(130)]), Some([ns(30), ns(200)]), "workload.steps");
        let params = in_parentheses(&result.points[1].params);
        assert_eq!(
            transient_lines(&result),
            [
                format!(
                    "the second half of the measured rounds takes 30 % more time than the first, at point \
                     1{params}; it is more than 5 % at all points: a larger `workload.steps` makes the start \
                     small"
                ),
                format!(
                    "15 % of the measured time of a thread is paid once for each buffer (registration, \
                     first touch of mapped pages), at point 1{params}; it is more than 5 % at 1 of 2 points: a larger `workload.steps` makes the start small"
                ),
            ]
        );
        result.points.truncate(1);
        assert_eq!(
            transient_lines(&result),
            [
                "the second half of the measured rounds takes 10 % less time than the first: a larger \
              `workload.warmup` takes the start out"
            ]
        );
    }
}
