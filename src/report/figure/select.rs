//! Which points of a result a figure shows.

use std::collections::BTreeMap;

use super::curves::{Figure, Point, Reference, Series};
use super::scale::{Axis, Scale};
use crate::error::ReportError;
use crate::numbers::{Reading, as_title, in_words, read_parameter};
use crate::table::{axis_values, param};
use experiment::results::{PointResult, RunResult};

/// The most curves of one figure: of more, some are drawn, from the first to the last.
const CURVES: usize = 24;

/// A figure of a scenario.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FigureSpec {
    /// The swept path, or the metric, on the x axis.
    pub x: String,
    /// The metric on the y axis.
    pub y: String,
    /// The swept path that tells the curves apart.
    pub series: Option<String>,
    /// The title above the curves in the legend; the path's name by default.
    pub series_title: Option<String>,
    /// Values of that path with their names in the legend, where those are others.
    pub legend: Vec<(String, String)>,
    /// Swept paths with the value that points have which are drawn; empty for all points.
    pub at: Vec<(String, String)>,
    /// The heading; the scenario's title by default.
    pub title: Option<String>,
    /// The swept path whose values are replicas of one measurement: the mean is drawn, with a bar
    /// from the smallest to the largest. `seed` by default.
    pub replicas: Option<String>,
    /// Title of the x axis; the name of its quantity by default.
    pub x_title: Option<String>,
    /// Title of the y axis; the name of its quantity by default.
    pub y_title: Option<String>,
    /// Scale of the x axis; chosen from the values by default.
    pub x_scale: Option<Scale>,
    /// Scale of the y axis; chosen from the values by default.
    pub y_scale: Option<Scale>,
}

impl FigureSpec {
    /// The swept path whose values are replicas.
    fn replicas(&self) -> &str {
        self.replicas.as_deref().unwrap_or("seed")
    }
}

impl Figure {
    /// Chooses the points of `result` that `spec` asks for.
    ///
    /// Axes that are neither x nor replicas tell curves apart, unless x is a metric. An x axis with
    /// a word among its values shows all of them as words. Points that failed are left out. Of more
    /// than 24 curves, 24 are drawn, and the legend says so.
    ///
    /// # Errors
    ///
    /// An axis or metric that does not exist, an x axis of mixed units, no value at all.
    pub fn from_result(
        result: &RunResult,
        spec: &FigureSpec,
        references: Vec<Reference>,
    ) -> Result<Self, ReportError> {
        check_axes(result, spec)?;
        let unit = metric_unit(result, &spec.y)?;
        let words = words(result, &spec.x);
        let (curves, x_unit) = collect(result, spec, &words)?;
        let series: Vec<Series> = curves.into_iter().map(Curve::into_series).collect();
        let xs: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.x)).collect();
        let ys: Vec<f64> = series.iter().flat_map(|s| s.points.iter().map(|p| p.y)).collect();
        if ys.is_empty() {
            return Err(ReportError::NothingToDraw { metric: spec.y.clone() });
        }
        let named = || spec.series.as_deref().map(in_words).unwrap_or_default();
        let series_title = spec.series_title.clone().unwrap_or_else(named);
        let (series, series_title) = some_of(series, series_title);
        Ok(Self {
            title: spec.title.clone().unwrap_or_else(|| result.title.clone()),
            x: Axis {
                label: spec.x_title.clone().unwrap_or_else(|| as_title(&spec.x)),
                unit: x_unit.to_owned(),
                scale: x_scale(spec, words, &xs),
            },
            y: Axis {
                label: spec.y_title.clone().unwrap_or_else(|| as_title(&spec.y)),
                unit: unit.to_owned(),
                scale: spec.y_scale.clone().unwrap_or_else(|| Scale::of_metric(&ys)),
            },
            series_title,
            series,
            references,
        })
    }

    /// The number of the curve on which a point of `result` lies, if it is drawn.
    pub fn series_of(
        &self,
        result: &RunResult,
        spec: &FigureSpec,
        point: &PointResult,
    ) -> Option<usize> {
        let further = further_axes(result, spec, spec.replicas());
        let label = series_label(point, spec.series.as_deref(), &spec.legend, &further);
        self.series.iter().position(|series| series.label == label)
    }
}

/// As many curves as a figure can show, evenly from all, and what stands above them.
fn some_of(series: Vec<Series>, title: String) -> (Vec<Series>, String) {
    let all = series.len();
    if all <= CURVES {
        return (series, title);
    }
    let chosen: Vec<usize> = (0..CURVES).map(|place| place * (all - 1) / (CURVES - 1)).collect();
    let kept = series.into_iter().enumerate().filter(|(place, _)| chosen.contains(place));
    let counts = format!("{CURVES} of {all} curves");
    let title = if title.is_empty() { counts } else { format!("{title}, {counts}") };
    (kept.map(|(_, series)| series).collect(), title)
}

pub(super) fn check_axes(result: &RunResult, spec: &FigureSpec) -> Result<(), ReportError> {
    let swept = result.points.first().map_or(&[][..], |point| &point.params);
    let x = Some(&spec.x).filter(|x| !is_metric(result, x));
    let fixed = spec.at.iter().map(|(path, _)| path);
    let asked = [x, spec.series.as_ref(), spec.replicas.as_ref()];
    for path in asked.into_iter().flatten().chain(fixed) {
        if !swept.iter().any(|(name, _)| name == path) {
            let known = swept.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>();
            return Err(ReportError::UnknownAxis { path: path.clone(), known: known.join(", ") });
        }
    }
    Ok(())
}

/// Whether points have such a metric, and no swept path hides it.
fn is_metric(result: &RunResult, name: &str) -> bool {
    let is_path = |point: &PointResult| param(point, name).is_some();
    let has = |point: &PointResult| point.metric(name).is_some();
    !result.points.iter().any(is_path) && result.points.iter().any(has)
}

/// The one unit of a metric.
pub(super) fn metric_unit(result: &RunResult, name: &str) -> Result<&'static str, ReportError> {
    let mut units = result.points.iter().filter_map(|point| point.metric(name)).map(|m| m.unit);
    let Some(first) = units.next() else { return Err(no_metric(result, name)) };
    match units.find(|unit| *unit != first) {
        None => Ok(first),
        Some(second) => Err(mixed(name, first, second)),
    }
}

fn no_metric(result: &RunResult, name: &str) -> ReportError {
    let mut known: Vec<String> = Vec::new();
    for metric in result.points.iter().flat_map(|point| &point.metrics) {
        let quoted = format!("`{}`", metric.name);
        if !known.contains(&quoted) {
            known.push(quoted);
        }
    }
    if known.is_empty() {
        return ReportError::NothingToDraw { metric: name.to_owned() };
    }
    ReportError::UnknownMetric { name: name.to_owned(), known: known.join(", ") }
}

pub(super) fn mixed(path: &str, first: &str, second: &str) -> ReportError {
    ReportError::MixedUnits {
        path: path.to_owned(),
        first: first.to_owned(),
        second: second.to_owned(),
    }
}

/// A curve while its replicas are gathered.
struct Curve {
    label: String,
    values: Vec<(f64, f64)>,
}

impl Curve {
    fn into_series(mut self) -> Series {
        self.values.sort_by(|(left, _), (right, _)| left.total_cmp(right));
        let replicas = self.values.chunk_by(|(left, _), (right, _)| left.total_cmp(right).is_eq());
        let points = replicas.map(|values| {
            let ys: Vec<f64> = values.iter().map(|(_, y)| *y).collect();
            summarise(values[0].0, &ys)
        });
        Series { points: points.collect(), label: self.label }
    }
}

/// Mean and range of the replicas; a single value has no range.
#[expect(clippy::cast_precision_loss, reason = "a count of replicas")]
fn summarise(x: f64, values: &[f64]) -> Point {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    // The sum rounds: a mean of equal values must not leave its own range.
    let y = if mean.is_finite() { mean.clamp(low, high) } else { mean };
    Point { x, y, range: (values.len() > 1).then_some((low, high)) }
}

/// All curves in order of first occurrence, and the unit of the x axis.
fn collect(
    result: &RunResult,
    spec: &FigureSpec,
    words: &[&str],
) -> Result<(Vec<Curve>, &'static str), ReportError> {
    let further = further_axes(result, spec, spec.replicas());
    let mut curves: Vec<Curve> = Vec::new();
    let mut by_label: BTreeMap<String, usize> = BTreeMap::new();
    let mut unit = None;
    let drawn = |point: &&PointResult| {
        spec.at.iter().all(|(path, value)| param(point, path) == Some(value.as_str()))
    };
    for point in result.points.iter().filter(drawn) {
        let Some(metric) = point.metric(&spec.y) else { continue };
        let x = position(point, &spec.x, words);
        let first = *unit.get_or_insert(x.unit);
        if x.unit != first {
            return Err(mixed(&spec.x, first, x.unit));
        }
        let label = series_label(point, spec.series.as_deref(), &spec.legend, &further);
        let at = *by_label.entry(label).or_insert_with_key(|label| {
            curves.push(Curve { label: label.clone(), values: Vec::new() });
            curves.len() - 1
        });
        curves[at].values.push((x.value, metric.value));
    }
    Ok((curves, unit.unwrap_or("")))
}

/// The axes that vary and are neither x, nor series, nor replicas, nor fixed; none over a metric,
/// which follows them.
pub(super) fn further_axes<'a>(
    result: &'a RunResult,
    spec: &FigureSpec,
    replicas: &str,
) -> Vec<&'a str> {
    if is_metric(result, &spec.x) {
        return Vec::new();
    }
    let swept = result.points.first().map_or(&[][..], |point| &point.params);
    let fixed = spec.at.iter().map(|(path, _)| Some(path.as_str()));
    let used = [Some(spec.x.as_str()), spec.series.as_deref(), Some(replicas)];
    let used: Vec<Option<&str>> = used.into_iter().chain(fixed).collect();
    let paths = swept.iter().map(|(path, _)| path.as_str());
    paths
        .filter(|path| !used.contains(&Some(*path)) && axis_values(result, path).len() > 1)
        .collect()
}

fn position(point: &PointResult, path: &str, words: &[&str]) -> Reading {
    let Some(value) = param(point, path) else {
        let metric = point.metric(path).map(|metric| (metric.value, metric.unit));
        let (value, unit) = metric.unwrap_or((f64::NAN, ""));
        return Reading { value, unit };
    };
    place_on_x(words, value).expect("a value that is no number is among the words")
}

/// The values of a swept path as words, in the order of the sweep; none where all are numbers.
pub fn words<'a>(result: &'a RunResult, path: &str) -> Vec<&'a str> {
    let values = axis_values(result, path);
    let is_word = |value: &&str| read_parameter(value).is_none();
    if values.iter().any(is_word) { values } else { Vec::new() }
}

/// Where a swept value stands on an x axis with these [`words`]; `None` for a word that is not
/// among them.
pub fn place_on_x(words: &[&str], value: &str) -> Option<Reading> {
    if words.is_empty() {
        return read_parameter(value);
    }
    let at = words.iter().position(|word| *word == value)?;
    Some(Reading { value: f64::from(u32::try_from(at).ok()?), unit: "" })
}

/// As requested; words have a scale of their own.
fn x_scale(spec: &FigureSpec, words: Vec<&str>, xs: &[f64]) -> Scale {
    if words.is_empty() {
        return spec.x_scale.clone().unwrap_or_else(|| Scale::of_parameter(xs));
    }
    Scale::Words(words.into_iter().map(str::to_owned).collect())
}

/// The value of the series path, then `name = value` of every further axis.
pub(super) fn series_label(
    point: &PointResult,
    series: Option<&str>,
    legend: &[(String, String)],
    further: &[&str],
) -> String {
    let name = |value: &str| {
        let entry = legend.iter().find(|(known, _)| known == value);
        entry.map_or(value, |(_, name)| name).to_owned()
    };
    let first = series.and_then(|path| param(point, path)).map(name);
    let named = further
        .iter()
        .map(|path| format!("{} = {}", in_words(path), param(point, path).unwrap_or_default()));
    first.into_iter().chain(named).collect::<Vec<_>>().join(", ")
}
