//! Figures: their content, apart from the drawing.
//!
//! A [`Figure`] is data: axes, series, references. [`Figure::to_svg`] draws it; the same figure
//! gives the same bytes on every run and every machine. A [`Stack`] is the same for stacked bars.

mod bars;
mod draw;
mod hatch;
mod legend;
mod marks;
mod page;
mod scale;
mod stack;
mod svg;
mod telling;
mod ticks;
mod tornado;
mod words;

use std::collections::BTreeMap;

use super::error::ReportError;
use super::numbers::{Reading, as_title, in_words, read_parameter};
use super::table::{axis_values, param};
use experiment::claim::figures::Width;
use experiment::results::{PointResult, RunResult};

pub(super) use legend::wrap;
use marks::Looks;
pub use scale::Scale;
pub use stack::{Bar, Part, Stack, StackSpec};
pub use tornado::{Swing, Tornado};

/// A figure, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Heading of the figure.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// Heading of the legend, the field in which the series differ; empty for a single series.
    pub series_title: String,
    /// The curves, in the order of the legend.
    pub series: Vec<Series>,
    /// What claims expect, or what another run gave, drawn beside the curves.
    pub references: Vec<Reference>,
}

/// Heading of what claims expect.
pub const EXPECTED: &str = "expected by claims";
/// Heading of measured curves.
pub const MEASURED: &str = "measured";

/// The most curves of another run in one figure: more would hide each other.
const BESIDE: usize = 6;

/// The most curves of one figure: of more, some are drawn, from the first to the last.
const CURVES: usize = 24;

/// One axis.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity, without unit.
    pub label: String,
    /// Unit of the values; empty for plain numbers. `B` makes ticks read 4 Ki, 1 Mi.
    pub unit: String,
    /// How values are placed.
    pub scale: Scale,
}

impl Axis {
    /// The axis' title: label and unit.
    pub fn title(&self) -> String {
        if self.unit.is_empty() {
            return self.label.clone();
        }
        format!("{} ({})", self.label, self.unit)
    }
}

/// One curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its entry in the legend.
    pub label: String,
    /// Its points, from left to right.
    pub points: Vec<Point>,
}

/// One point of a curve or of a reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Position on the x axis.
    pub x: f64,
    /// Position on the y axis.
    pub y: f64,
    /// Smallest and largest value over the replicas, or the tolerance of a reference.
    pub range: Option<(f64, f64)>,
}

/// The expectation of a claim, or a measured curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// What stands above it in the legend, and above others of its kind.
    pub heading: String,
    /// The claim's id; empty for a measured curve.
    pub id: String,
    /// Its entry in the legend: the claim's expectation in words, or the table's name.
    pub label: String,
    /// Document and figure that it comes from; empty where its entry says so.
    pub source: String,
    /// Its form.
    pub shape: ReferenceShape,
}

/// The form of a reference.
#[derive(Clone, Debug, PartialEq)]
pub enum ReferenceShape {
    /// Values of y that are expected for every x.
    Band {
        /// The lowest.
        low: f64,
        /// The highest.
        high: f64,
    },
    /// Values of x between which something is expected to happen: a crossover, a knee.
    Onset {
        /// The leftmost.
        low: f64,
        /// The rightmost.
        high: f64,
    },
    /// One value of y for every x.
    Level(f64),
    /// Expected values, drawn as hollow markers with their tolerance.
    Markers(Vec<Mark>),
    /// A curve.
    Line(Vec<Point>),
    /// The curve of this number in another run: in its colour, wide and pale behind it.
    Other(usize, Vec<Point>),
}

/// An expected value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Its place, with its tolerance.
    pub point: Point,
    /// The number of the curve that should go through it, where it is drawn: it gives the colour.
    pub series: Option<usize>,
}

impl ReferenceShape {
    /// The values of both axes that must be visible.
    fn extent(&self) -> (Vec<f64>, Vec<f64>) {
        match self {
            Self::Band { low, high } => (vec![], vec![*low, *high]),
            Self::Onset { low, high } => (vec![*low, *high], vec![]),
            Self::Level(value) => (vec![], vec![*value]),
            Self::Markers(marks) => extent_of(marks.iter().map(|mark| &mark.point)),
            Self::Line(points) | Self::Other(_, points) => extent_of(points),
        }
    }

    /// The curve to which all of it belongs.
    fn series(&self) -> Option<usize> {
        match self {
            Self::Markers(marks) => {
                let first = marks.first()?.series;
                first.filter(|_| marks.iter().all(|mark| mark.series == first))
            }
            Self::Other(series, _) => Some(*series),
            Self::Band { .. } | Self::Onset { .. } | Self::Level(_) | Self::Line(_) => None,
        }
    }
}

fn extent_of<'a>(points: impl IntoIterator<Item = &'a Point>) -> (Vec<f64>, Vec<f64>) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    for point in points {
        xs.push(point.x);
        ys.push(point.y);
        ys.extend(point.range.into_iter().flat_map(|(low, high)| [low, high]));
    }
    (xs, ys)
}

/// A figure of a scenario.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct FigureSpec {
    /// The swept path, or the metric, on the x axis.
    pub x: String,
    /// The metric on the y axis.
    pub y: String,
    /// The swept path that tells the curves apart.
    pub series: Option<String>,
    /// What stands above the curves in the legend; the path's name by default.
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

    /// Adds the curves of another run that are not as here, those that differ most, behind its own; `names`
    /// are those of this run and of the other one.
    pub fn beside(&mut self, other: &Self, [ours, theirs]: [&str; 2]) {
        let same = |label: &str| other.series.iter().find(|series| series.label == label);
        let both = self.series.iter().enumerate();
        let mut moved: Vec<(f64, usize, &Series)> = both
            .filter_map(|(place, own)| {
                let other = same(&own.label)?;
                Some((distance(own, other), place, other))
            })
            .filter(|(distance, ..)| *distance > 0.0)
            .collect();
        moved.sort_by(|(left, ..), (right, ..)| right.total_cmp(left));
        let added = moved.into_iter().take(BESIDE).map(|(_, place, series)| Reference {
            heading: String::new(),
            id: String::new(),
            label: theirs.to_owned(),
            source: String::new(),
            shape: ReferenceShape::Other(place, series.points.clone()),
        });
        self.references.extend(added.collect::<Vec<_>>());
        match &mut self.series[..] {
            [only] if only.label.is_empty() => ours.clone_into(&mut only.label),
            _ if self.series_title.is_empty() => ours.clone_into(&mut self.series_title),
            _ => self.series_title = format!("{ours}, by {}", self.series_title),
        }
    }

    /// Draws the figure as an SVG document, for a screen.
    ///
    /// # Errors
    ///
    /// As [`Figure::printed`].
    pub fn to_svg(&self) -> Result<String, ReportError> {
        self.printed(None)
    }

    /// The same in a width of a printed page, where one is asked for: without the title, which is
    /// the caption's.
    ///
    /// # Errors
    ///
    /// [`ReportError::NothingToDraw`] where no series has a finite value,
    /// [`ReportError::NotDrawable`] where some values are not finite,
    /// [`ReportError::NotPositive`] where a logarithmic axis has zero or negative values.
    pub fn printed(&self, width: Option<Width>) -> Result<String, ReportError> {
        draw::svg(self, width)
    }

    /// The title, and the claims that the figure shows by their ids.
    pub fn caption(&self) -> String {
        telling::caption(self)
    }

    /// How the curves look: from dark to light where they are many and in order.
    fn looks(&self) -> Looks {
        let value = |series: &Series| read_parameter(&series.label).map(|reading| reading.value);
        let values: Option<Vec<f64>> = self.series.iter().map(value).collect();
        let is_ordered = |values: Vec<f64>| {
            let pairs = || values.windows(2);
            pairs().all(|pair| pair[0] < pair[1]) || pairs().all(|pair| pair[0] > pair[1])
        };
        let many = self.series.len() > marks::COLOURS.len();
        if many && values.is_some_and(is_ordered) {
            return Looks::Ordered(self.series.len());
        }
        Looks::Apart
    }

    /// Whether the x axis has words instead of numbers.
    fn is_over_words(&self) -> bool {
        matches!(self.x.scale, Scale::Words(_))
    }

    /// All values of the x axis and of the y axis, references included.
    fn extents(&self) -> (Vec<f64>, Vec<f64>) {
        let series = self.series.iter().map(|series| extent_of(&series.points));
        let references = self.references.iter().map(|reference| reference.shape.extent());
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        for (some_xs, some_ys) in series.chain(references) {
            xs.extend(some_xs);
            ys.extend(some_ys);
        }
        (xs, ys)
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

/// The greatest relative difference of two curves, over the places that both have.
fn distance(left: &Series, right: &Series) -> f64 {
    let at = |x: f64| right.points.iter().find(|point| point.x.total_cmp(&x).is_eq());
    let both = left.points.iter().filter_map(|point| Some((point.y, at(point.x)?.y)));
    let relative =
        both.map(|(left, right)| (left - right).abs() / right.abs().max(f64::MIN_POSITIVE));
    relative.fold(0.0, f64::max)
}

fn check_axes(result: &RunResult, spec: &FigureSpec) -> Result<(), ReportError> {
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
fn metric_unit(result: &RunResult, name: &str) -> Result<&'static str, ReportError> {
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

fn mixed(path: &str, first: &str, second: &str) -> ReportError {
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
fn further_axes<'a>(result: &'a RunResult, spec: &FigureSpec, replicas: &str) -> Vec<&'a str> {
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

/// As asked for; words have a scale of their own.
fn x_scale(spec: &FigureSpec, words: Vec<&str>, xs: &[f64]) -> Scale {
    if words.is_empty() {
        return spec.x_scale.clone().unwrap_or_else(|| Scale::of_parameter(xs));
    }
    Scale::Words(words.into_iter().map(str::to_owned).collect())
}

/// The value of the series path, then `name = value` of every further axis.
fn series_label(
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

#[cfg(test)]
mod tests;
