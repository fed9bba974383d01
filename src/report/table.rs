//! Tables for people: aligned text for a terminal, the same cells for the HTML page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::numbers::{engineering, in_words, percent};
use crate::experiment::results::{ClaimResult, ClaimRole, ClaimStatus, PointResult, RunResult};

/// The most columns of values that a pivot table has; more would not fit a terminal.
const PIVOT_COLUMNS: usize = 8;

/// A table whose cells are text; every column is aligned to the right.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table {
    /// What the cells show, with unit.
    pub caption: String,
    /// Heading of each column.
    pub columns: Vec<String>,
    /// Rows of as many cells as there are columns; an empty cell has no value.
    pub rows: Vec<Vec<String>>,
}

/// The whole human report: tables, failures, claims, digest.
pub fn report_text(result: &RunResult) -> String {
    let mut text = format!("{}\n{}\n", result.title, result.scenario);
    for table in tables(result) {
        let _ = write!(text, "\n{}", table.to_text());
    }
    text.push_str(&failures_text(result));
    text.push_str(&claims_text(&result.claims));
    let _ = writeln!(text, "\ndigest {}", result.digest);
    text
}

/// The result as tables: a pivot per metric for a full sweep of two axes, one flat table
/// otherwise.
pub fn tables(result: &RunResult) -> Vec<Table> {
    match pivot_axes(result) {
        Some((row, column)) => {
            metrics(result).iter().map(|name| pivot(result, &row, &column, name)).collect()
        }
        None => vec![flat(result)],
    }
}

impl Table {
    /// The table as lines of text with a caption, two spaces between columns.
    pub fn to_text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| &row[column]);
            let longest = cells.chain([&self.columns[column]]).map(|cell| cell.chars().count());
            longest.max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.columns.len()).map(width).collect();
        let mut text = String::new();
        if !self.caption.is_empty() {
            let _ = writeln!(text, "{}", self.caption);
        }
        for row in std::iter::once(&self.columns).chain(&self.rows) {
            let cells = row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:>width$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            let _ = writeln!(text, "{}", line.trim_end());
        }
        text
    }
}

/// Names of all metrics, in order of first occurrence.
fn metrics(result: &RunResult) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for metric in result.points.iter().flat_map(|point| &point.metrics) {
        if !names.contains(&metric.name.as_str()) {
            names.push(&metric.name);
        }
    }
    names
}

/// The values of `path` in order of first occurrence.
pub(super) fn axis_values<'a>(result: &'a RunResult, path: &str) -> Vec<&'a str> {
    let values = result.points.iter().filter_map(|point| param(point, path));
    let mut seen = BTreeSet::new();
    values.filter(|value| seen.insert(*value)).collect()
}

/// The value of a swept path at a point.
pub(super) fn param<'a>(point: &'a PointResult, path: &str) -> Option<&'a str> {
    point.params.iter().find(|(name, _)| name == path).map(|(_, value)| value.as_str())
}

/// The paths of rows and columns, where two axes span a full grid that is narrow enough.
fn pivot_axes(result: &RunResult) -> Option<(String, String)> {
    let [(first, _), (second, _)] = result.points.first()?.params.as_slice() else { return None };
    let (of_first, of_second) =
        (axis_values(result, first).len(), axis_values(result, second).len());
    let full = result.points.len() == of_first * of_second && of_first.min(of_second) > 1;
    if !full || of_first.min(of_second) > PIVOT_COLUMNS {
        return None;
    }
    let (row, column) = if of_first <= of_second { (second, first) } else { (first, second) };
    Some((row.clone(), column.clone()))
}

fn unit_of(result: &RunResult, name: &str) -> &'static str {
    result.points.iter().find_map(|point| point.metric(name)).map_or("", |metric| metric.unit)
}

fn pivot(result: &RunResult, row: &str, column: &str, name: &str) -> Table {
    let columns = axis_values(result, column);
    let places =
        result.points.iter().map(|point| ((param(point, row), param(point, column)), point));
    let points: BTreeMap<_, &PointResult> = places.collect();
    let cell = |at_row: &str, at_column: &str| {
        let point = points.get(&(Some(at_row), Some(at_column)));
        point.map_or_else(String::new, |point| value_text(point, name))
    };
    let rows = axis_values(result, row).into_iter().map(|at_row| {
        let cells = columns.iter().map(|at_column| cell(at_row, at_column));
        std::iter::once(at_row.to_owned()).chain(cells).collect()
    });
    let unit = unit_of(result, name);
    Table {
        caption: format!("{} in {unit}, columns: {}", in_words(name), in_words(column)),
        rows: rows.collect(),
        columns: std::iter::once(in_words(row))
            .chain(columns.iter().map(|&value| value.to_owned()))
            .collect(),
    }
}

/// One row per point: swept values, then metrics with their unit in the heading.
fn flat(result: &RunResult) -> Table {
    let paths: Vec<&str> = result
        .points
        .first()
        .map_or(&[][..], |point| &point.params)
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    let names = metrics(result);
    let headings =
        names.iter().map(|name| format!("{} ({})", in_words(name), unit_of(result, name)));
    let rows = result.points.iter().map(|point| {
        let swept = paths.iter().map(|path| param(point, path).unwrap_or_default().to_owned());
        swept.chain(names.iter().map(|name| value_text(point, name))).collect()
    });
    Table {
        caption: String::new(),
        rows: rows.collect(),
        columns: paths.iter().map(|path| in_words(path)).chain(headings).collect(),
    }
}

/// How busy each resource was: one row per point, one column per resource, at most `columns` of
/// them, the busiest first.
///
/// Shares are of the measured interval; a resource that a point does not have is left empty.
pub fn utilisation(points: &[&PointResult], columns: usize) -> Table {
    let mut peaks: BTreeMap<&str, f64> = BTreeMap::new();
    for used in points.iter().flat_map(|point| &point.resources) {
        let peak = peaks.entry(used.name.as_str()).or_insert(0.0);
        *peak = peak.max(used.share());
    }
    let mut names: Vec<(&str, f64)> = peaks.into_iter().collect();
    names.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    names.truncate(columns);
    let paths: Vec<&str> = points
        .first()
        .map_or(&[][..], |point| &point.params)
        .iter()
        .map(|(path, _)| path.as_str())
        .collect();
    let rows = points.iter().map(|point| {
        let swept = paths.iter().map(|path| param(point, path).unwrap_or_default().to_owned());
        let shares = names.iter().map(|(name, _)| {
            let used = point.resources.iter().find(|used| used.name == *name);
            used.map_or_else(String::new, |used| percent(used.share(), 1.0))
        });
        swept.chain(shares).collect()
    });
    Table {
        caption: "busy share of the measured interval".into(),
        rows: rows.collect(),
        columns: paths
            .iter()
            .map(|path| in_words(path))
            .chain(names.iter().map(|(name, _)| (*name).to_owned()))
            .collect(),
    }
}

fn value_text(point: &PointResult, name: &str) -> String {
    match (point.metric(name), &point.failure) {
        (Some(metric), _) => engineering(metric.value),
        (None, Some(_)) => "failed".into(),
        (None, None) => String::new(),
    }
}

/// What did not finish, one paragraph per point.
fn failures_text(result: &RunResult) -> String {
    let mut text = String::new();
    for point in &result.points {
        if let Some(failure) = &point.failure {
            let _ = write!(text, "\npoint {}", point.index);
            for (path, value) in &point.params {
                let _ = write!(text, ", {path} = {value}");
            }
            let _ = writeln!(text, " did not finish:\n{failure}");
        }
    }
    text
}

/// The claims with their verdicts: predictions first, inputs apart, deviations with their number.
pub fn claims_text(claims: &[ClaimResult]) -> String {
    let mut text = String::new();
    for (role, heading) in [
        (ClaimRole::Prediction, "predictions"),
        (ClaimRole::Input, "inputs (the model was calibrated on them)"),
    ] {
        let chosen: Vec<_> = claims.iter().filter(|claim| claim.role == role).collect();
        if chosen.is_empty() {
            continue;
        }
        let held = chosen.iter().filter(|claim| claim.status == ClaimStatus::Pass).count();
        let _ = writeln!(text, "\nclaims, {heading}: {held} of {} hold", chosen.len());
        for claim in chosen {
            text.push_str(&claim_text(claim));
        }
    }
    text
}

fn claim_text(claim: &ClaimResult) -> String {
    let verdict = match claim.status {
        ClaimStatus::Pass => "pass    ",
        ClaimStatus::Deviates => "DEVIATES",
    };
    let ClaimResult { id, statement, measured, expected, source, .. } = claim;
    format!(
        "  {verdict}  {id}: measured {measured}, expected {expected}\n            {statement} ({source})\n"
    )
}

#[cfg(test)]
mod tests;
