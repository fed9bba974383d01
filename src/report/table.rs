//! Tables for people: aligned text for a terminal, the same cells for the HTML page.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::numbers::{engineering, in_words, percent};
use experiment::results::{PointResult, RunResult};
use experiment::schema;

/// The most columns of values that a pivot table has; more would not fit a terminal.
const PIVOT_COLUMNS: usize = 8;

/// The axis whose values are replicas of one measurement.
const SEED: &str = "seed";

/// The word for a point without a value because it failed.
const FAILED: &str = "failed";

/// The metric that every workload has.
pub(super) const TIME: &str = "time";

/// A table whose cells are text; every column is aligned to the right.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table {
    /// The quantity of the cells, with unit.
    pub caption: String,
    /// Heading of each column.
    pub columns: Vec<String>,
    /// Rows of as many cells as there are columns; an empty cell has no value.
    pub rows: Vec<Vec<String>>,
}

/// The result as tables: a pivot per metric for a full sweep of two axes, one flat table
/// otherwise. Seeds are no axis: their mean is shown with half their range.
pub fn tables(result: &RunResult) -> Vec<Table> {
    let axes = axes(result);
    let groups = groups(result, &axes);
    let Some(places) = pivot_axes(result, &axes, groups.len()) else {
        return vec![flat(result, &axes, &groups)];
    };
    let grid = Grid { result, axes: &axes, groups: &groups, places };
    let mut names = varying(result, &groups);
    if names.len() > 1 {
        // How long it took follows from the others; it is in the CSV.
        names.retain(|name| *name != TIME);
    }
    let mut tables: Vec<Table> = names.iter().map(|name| grid.metric(name)).collect();
    if let Some(main) = names.first() {
        tables.insert(1, grid.relative(main));
    }
    tables.push(grid.busiest());
    tables
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

/// Metrics without those of [`constants`].
fn varying<'a>(result: &'a RunResult, groups: &[Group<'_>]) -> Vec<&'a str> {
    let constant = constants(result, groups);
    let mut names = metrics(result);
    names.retain(|name| !constant.iter().any(|(other, _)| other == name));
    names
}

/// Metrics that have one value wherever they were measured, with it; the main one is none of them, nor
/// any of a single point.
fn constants<'a>(result: &'a RunResult, groups: &[Group<'_>]) -> Vec<(&'a str, String)> {
    if groups.len() < 2 {
        return Vec::new();
    }
    let value = |name: &'a str| {
        let mut all = groups.iter().map(|group| value_text(&group.points, name));
        let first = all.next().filter(|text| !text.is_empty() && text != FAILED)?;
        all.all(|other| other == first).then_some((name, first))
    };
    metrics(result).into_iter().skip(1).filter_map(value).collect()
}

/// The text above the tables: the metrics that are the same at every point.
pub(super) fn constants_text(result: &RunResult) -> Option<String> {
    let axes = axes(result);
    let all = constants(result, &groups(result, &axes));
    let each = all.iter().map(|(name, value)| match unit_of(result, name) {
        "" => format!("{} {value}", in_words(name)),
        unit => format!("{} {value} {unit}", in_words(name)),
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| format!("the same at every point: {}", each.join(", ")))
}

/// The meaning of columns whose names do not say it.
pub(super) fn legend(result: &RunResult) -> Vec<(String, &'static str)> {
    let told = |name| Some((in_words(name), schema::legend(name)?));
    metrics(result).into_iter().filter_map(told).collect()
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

/// The swept values of a point, or its number where nothing is swept.
pub(super) fn point_name(point: &PointResult) -> String {
    if point.params.is_empty() {
        return format!("point {}", point.index);
    }
    let params = point.params.iter().map(|(path, value)| {
        format!("{} {value}", path.rsplit('.').next().unwrap_or(path).replace('_', " "))
    });
    params.collect::<Vec<_>>().join(", ")
}

/// Points that differ in nothing but the seed: replicas of one measurement.
struct Group<'a> {
    /// The values of the axes.
    at: Vec<&'a str>,
    points: Vec<&'a PointResult>,
}

impl Group<'_> {
    /// Whether all its points have the same metrics.
    fn is_one_value(&self) -> bool {
        self.points.iter().all(|point| point.metrics == self.points[0].metrics)
    }
}

/// The swept paths; without the seed, where there is another axis.
fn axes(result: &RunResult) -> Vec<&str> {
    let swept = result.points.first().map_or(&[][..], |point| &point.params);
    let paths = swept.iter().map(|(path, _)| path.as_str());
    if swept.len() < 2 { paths.collect() } else { paths.filter(|path| *path != SEED).collect() }
}

/// The points by their values of `axes`, in order of first occurrence.
fn groups<'a>(result: &'a RunResult, axes: &[&str]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: BTreeMap<Vec<&str>, usize> = BTreeMap::new();
    for point in &result.points {
        let at: Vec<&str> = axes.iter().map(|path| param(point, path).unwrap_or("")).collect();
        let place = *places.entry(at).or_insert_with_key(|at| {
            groups.push(Group { at: at.clone(), points: Vec::new() });
            groups.len() - 1
        });
        groups[place].points.push(point);
    }
    groups
}

/// The places of rows and columns among the axes, where two axes span a full grid that is narrow
/// enough.
fn pivot_axes(result: &RunResult, axes: &[&str], groups: usize) -> Option<(usize, usize)> {
    let [first, second] = axes else { return None };
    let (first, second) = (axis_values(result, first).len(), axis_values(result, second).len());
    let columns = first.min(second);
    if groups != first * second || !(2..=PIVOT_COLUMNS).contains(&columns) {
        return None;
    }
    Some(if first <= second { (1, 0) } else { (0, 1) })
}

fn unit_of(result: &RunResult, name: &str) -> &'static str {
    result.points.iter().find_map(|point| point.metric(name)).map_or("", |metric| metric.unit)
}

/// A full sweep of two axes: a row per value of one, a column per value of the other.
struct Grid<'a> {
    result: &'a RunResult,
    axes: &'a [&'a str],
    groups: &'a [Group<'a>],
    /// The axes of rows and of columns.
    places: (usize, usize),
}

impl Grid<'_> {
    /// One metric, with its unit.
    fn metric(&self, name: &str) -> Table {
        let (metric, unit) = (in_words(name), unit_of(self.result, name));
        let unit = if unit.is_empty() { String::new() } else { format!(" in {unit}") };
        let caption = format!("{metric}{unit}, columns: {}", in_words(self.column_path()));
        let caption = format!("{caption}{}", replicas_text(self.groups));
        self.table(caption, |group, _| value_text(&group.points, name))
    }

    /// One metric divided by that of the first column.
    fn relative(&self, name: &str) -> Table {
        let first = axis_values(self.result, self.column_path());
        let first = first.first().copied().unwrap_or_default();
        let caption =
            format!("{} relative to {} {first}", in_words(name), in_words(self.column_path()));
        self.table(caption, |group, base| {
            let ratio = mean(&group.points, name).zip(mean(&base.points, name));
            ratio.map_or_else(String::new, |(of, to)| engineering(of / to))
        })
    }

    /// The resource that served for the largest part of the run: the first suspect.
    fn busiest(&self) -> Table {
        let caption = "busiest resource and its share of the run".to_owned();
        self.table(caption, |group, _| {
            let used = group.points.iter().flat_map(|point| &point.resources);
            let used = used.filter(|used| used.serves());
            let most = used.max_by(|left, right| left.share().total_cmp(&right.share()));
            most.map_or_else(String::new, |used| {
                format!("{} {:.0} %", without_node(&used.name), 100.0 * used.share())
            })
        })
    }

    fn column_path(&self) -> &str {
        self.axes[self.places.1]
    }

    /// A cell for each group; it gets the group in the first column of its row.
    fn table(&self, caption: String, cell: impl Fn(&Group<'_>, &Group<'_>) -> String) -> Table {
        let (row, column) = self.places;
        let cells: BTreeMap<(&str, &str), &Group<'_>> =
            self.groups.iter().map(|group| ((group.at[row], group.at[column]), group)).collect();
        let columns = axis_values(self.result, self.axes[column]);
        let rows = axis_values(self.result, self.axes[row]).into_iter().map(|at_row| {
            let base = columns.first().and_then(|first| cells.get(&(at_row, *first)));
            let values = columns.iter().map(|&at_column| {
                let group = cells.get(&(at_row, at_column)).zip(base);
                group.map_or_else(String::new, |(group, base)| cell(group, base))
            });
            std::iter::once(at_row.to_owned()).chain(values).collect()
        });
        Table {
            caption,
            rows: rows.collect(),
            columns: std::iter::once(in_words(self.axes[row]))
                .chain(columns.iter().map(|&value| value.to_owned()))
                .collect(),
        }
    }
}

/// The mean over replicas; `None` where one failed.
fn mean(points: &[&PointResult], name: &str) -> Option<f64> {
    let values: Option<Vec<f64>> =
        points.iter().map(|point| Some(point.metric(name)?.value)).collect();
    let values = values?;
    let count = u32::try_from(values.len()).ok().filter(|count| *count > 0)?;
    Some(values.iter().sum::<f64>() / f64::from(count))
}

/// `node 3 PCIe to HCA` is `PCIe to HCA`: nodes are alike in what limits them.
pub(super) fn without_node(name: &str) -> &str {
    let rest = name.strip_prefix("node ").and_then(|rest| rest.split_once(' '));
    rest.map_or(name, |(_, what)| what)
}

/// One row per group: swept values, then metrics with their unit in the heading.
fn flat(result: &RunResult, axes: &[&str], groups: &[Group<'_>]) -> Table {
    let names = varying(result, groups);
    let headings = names.iter().map(|name| match unit_of(result, name) {
        "" => in_words(name),
        unit => format!("{} ({unit})", in_words(name)),
    });
    let rows = groups.iter().map(|group| {
        let swept = group.at.iter().map(|&value| value.to_owned());
        swept.chain(names.iter().map(|name| value_text(&group.points, name))).collect()
    });
    Table {
        caption: replicas_text(groups).trim_start_matches("; ").to_owned(),
        rows: rows.collect(),
        columns: axes.iter().map(|path| in_words(path)).chain(headings).collect(),
    }
}

/// The quantity of the cells if there are replicas; where all replicas are the same their range says nothing.
fn replicas_text(groups: &[Group<'_>]) -> String {
    match groups.iter().map(|group| group.points.len()).max() {
        Some(most) if most > 1 && groups.iter().all(Group::is_one_value) => {
            format!("; {most} seeds, all with the same values: the seed changes nothing here")
        }
        Some(most) if most > 1 => format!("; mean of {most} seeds ±half the range"),
        Some(_) | None => String::new(),
    }
}

/// How busy each resource that serves was: one row per point, one column per resource, at most
/// `columns` of them, the busiest first.
///
/// Shares are of the whole run; a resource that a point does not have is left empty.
pub fn utilisation(points: &[&PointResult], columns: usize) -> Table {
    let mut peaks: BTreeMap<&str, f64> = BTreeMap::new();
    for used in points.iter().flat_map(|point| &point.resources).filter(|used| used.serves()) {
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
        caption: "busy share of the run".into(),
        rows: rows.collect(),
        columns: paths
            .iter()
            .map(|path| in_words(path))
            .chain(names.iter().map(|(name, _)| (*name).to_owned()))
            .collect(),
    }
}

/// The value of the only point, or mean and spread of the replicas.
#[expect(clippy::cast_precision_loss, reason = "a count of replicas")]
fn value_text(points: &[&PointResult], name: &str) -> String {
    let values: Vec<f64> =
        points.iter().filter_map(|point| point.metric(name)).map(|metric| metric.value).collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    match (values.as_slice(), points.iter().any(|point| point.failure.is_some())) {
        ([], true) => FAILED.into(),
        ([], false) => String::new(),
        ([value], _) => engineering(*value),
        (values, _) => {
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            if low.total_cmp(&high).is_eq() {
                return engineering(mean);
            }
            format!("{} ±{}", engineering(mean), percent((high - low) / 2.0, mean.abs()))
        }
    }
}

#[cfg(test)]
mod tests;
