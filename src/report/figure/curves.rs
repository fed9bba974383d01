//! What a figure with curves shows: axes, curves, and what is drawn beside them.

use super::marks::{COLOURS, Looks};
use super::scale::{Axis, Scale};
use crate::numbers::read_parameter;

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
    /// Expected values of claims, or values of another run, drawn beside the curves.
    pub references: Vec<Reference>,
}

/// Heading of what claims expect.
pub const EXPECTED: &str = "expected by claims";
/// Heading of measured curves.
pub const MEASURED: &str = "measured";

/// The most curves of another run in one figure: more would hide each other.
const BESIDE: usize = 6;

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
    /// Smallest and largest value over the replicas, or the tenth and ninetieth percentile of what was measured.
    pub range: Option<(f64, f64)>,
}

/// The expectation of a claim, or a measured curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// The heading above it and others of its kind in the legend.
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
    /// Expected values, drawn as hollow markers before the pale band of their tolerance.
    Markers(Vec<Mark>),
    /// A curve.
    Line(Vec<Point>),
    /// The curve of this number in another run: in its colour, wide and pale behind it.
    Other(usize, Vec<Point>),
}

/// An expected value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Its place, with the spread of the measurement, where that is known.
    pub point: Point,
    /// The lowest and the highest value that is tolerated.
    pub tolerated: Option<(f64, f64)>,
    /// The number of the curve that should go through it, where it is drawn: it gives the colour.
    pub series: Option<usize>,
}

impl ReferenceShape {
    /// The values of both axes that must be visible.
    pub(super) fn extent(&self) -> (Vec<f64>, Vec<f64>) {
        match self {
            Self::Band { low, high } => (vec![], vec![*low, *high]),
            Self::Onset { low, high } => (vec![*low, *high], vec![]),
            Self::Level(value) => (vec![], vec![*value]),
            Self::Markers(marks) => {
                let (xs, mut ys) = extent_of(marks.iter().map(|mark| &mark.point));
                let tolerated = marks.iter().filter_map(|mark| mark.tolerated);
                ys.extend(tolerated.flat_map(|(low, high)| [low, high]));
                (xs, ys)
            }
            Self::Line(points) | Self::Other(_, points) => extent_of(points),
        }
    }

    /// The curve to which all of it belongs.
    pub(super) fn series(&self) -> Option<usize> {
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

impl Figure {
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

    /// How the curves look: from dark to light where they are many and in order.
    pub(super) fn looks(&self) -> Looks {
        let value = |series: &Series| read_parameter(&series.label).map(|reading| reading.value);
        let values: Option<Vec<f64>> = self.series.iter().map(value).collect();
        let is_ordered = |values: Vec<f64>| {
            let pairs = || values.windows(2);
            pairs().all(|pair| pair[0] < pair[1]) || pairs().all(|pair| pair[0] > pair[1])
        };
        let many = self.series.len() > COLOURS.len();
        if many && values.is_some_and(is_ordered) {
            return Looks::Ordered(self.series.len());
        }
        Looks::Apart
    }

    /// Whether the x axis has words instead of numbers.
    pub(super) fn is_over_words(&self) -> bool {
        matches!(self.x.scale, Scale::Words(_))
    }

    /// All values of the x axis and of the y axis, references included.
    pub(super) fn extents(&self) -> (Vec<f64>, Vec<f64>) {
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

/// The greatest relative difference of two curves, over the places that both have.
fn distance(left: &Series, right: &Series) -> f64 {
    let at = |x: f64| right.points.iter().find(|point| point.x.total_cmp(&x).is_eq());
    let both = left.points.iter().filter_map(|point| Some((point.y, at(point.x)?.y)));
    let relative =
        both.map(|(left, right)| (left - right).abs() / right.abs().max(f64::MIN_POSITIVE));
    relative.fold(0.0, f64::max)
}
