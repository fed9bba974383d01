//! Faults of the plan without an effect on the run.

use super::numbers::in_parentheses;
use experiment::results::{PointResult, RunResult, Unfired};

/// One sentence for each fault that did nothing at some point, in the order of the plan.
pub fn unfired_lines(result: &RunResult) -> Vec<String> {
    let all = result.points.iter().flat_map(|point| &point.unfired);
    let mut faults: Vec<(usize, &str)> = all.map(|one| (one.fault, one.kind.as_str())).collect();
    faults.sort_unstable();
    faults.dedup();
    faults.into_iter().map(|fault| line(result, fault)).collect()
}

fn line(result: &RunResult, (fault, kind): (usize, &str)) -> String {
    let of = |point: &'_ PointResult| -> Option<Unfired> {
        point.unfired.iter().find(|one| one.fault == fault && one.kind == kind).cloned()
    };
    let silent: Vec<(&PointResult, Unfired)> =
        result.points.iter().filter_map(|point| Some((point, of(point)?))).collect();
    let Some((first, unfired)) = silent.first() else { return String::new() };
    let (why, total) = (&unfired.why, result.points.len());
    let params = in_parentheses(&first.params);
    match silent.len() {
        1 if total == 1 => format!("faults[{fault}] ({kind}) did nothing: {why}"),
        count => format!(
            "faults[{fault}] ({kind}) did nothing at {count} of {total} points; at point \
             {}{params}: {why}",
            first.index
        ),
    }
}
