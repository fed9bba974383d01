//! Stacked bars: the parts of a whole, one bar for each value of an axis.

use super::scale::{Axis, Scale};
use super::select::{FigureSpec, check_axes, further_axes, metric_unit, mixed, series_label};
use crate::error::ReportError;
use crate::numbers::in_words;
use crate::table::param;
use experiment::results::{PointResult, RunResult};

/// A figure with stacked bars, ready to be drawn.
#[derive(Clone, Debug, PartialEq)]
pub struct Stack {
    /// Heading of the figure.
    pub title: String,
    /// The field in which the bars differ.
    pub bars_title: String,
    /// The axis of the values; linear, since parts are added up along it.
    pub axis: Axis,
    /// The name of each part, from the foot of a bar on.
    pub parts: Vec<String>,
    /// The bars, from top to bottom.
    pub bars: Vec<Bar>,
    /// A remark below.
    pub note: Option<String>,
}

/// One bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// The label beside it.
    pub label: String,
    /// Length of each part, in the unit of the axis.
    pub values: Vec<f64>,
}

impl Bar {
    /// The whole.
    pub fn total(&self) -> f64 {
        self.values.iter().sum()
    }
}

/// A part of each bar.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Part {
    /// The metric.
    pub metric: String,
    /// Its entry in the legend.
    pub label: String,
}

/// Stacked bars of a scenario.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct StackSpec {
    /// The swept path with one bar per value.
    pub x: String,
    /// The parts, from the foot of a bar on.
    pub parts: Vec<Part>,
    /// Swept paths with the value that points have which are drawn; empty for all points.
    pub at: Vec<(String, String)>,
    /// The heading; the scenario's title by default.
    pub title: Option<String>,
    /// The quantity of the whole, without unit.
    pub sum: String,
    /// A remark below.
    pub note: Option<String>,
}

impl Stack {
    /// Chooses the points of `result` that `spec` asks for.
    ///
    /// Axes that are neither x nor fixed make bars of their own; replicas, which differ in their
    /// seed, are averaged. Points that failed are left out.
    ///
    /// # Errors
    ///
    /// An axis or metric that does not exist, metrics of different units, no value at all.
    pub fn from_result(result: &RunResult, spec: &StackSpec) -> Result<Self, ReportError> {
        let chosen = FigureSpec { x: spec.x.clone(), at: spec.at.clone(), ..FigureSpec::default() };
        check_axes(result, &chosen)?;
        let unit = one_unit(result, &spec.parts)?;
        let bars = collect(result, spec, &further_axes(result, &chosen, "seed"));
        if bars.is_empty() {
            let metric = spec.parts.first().map(|part| part.metric.clone()).unwrap_or_default();
            return Err(ReportError::NothingToDraw { metric });
        }
        Ok(Self {
            title: spec.title.clone().unwrap_or_else(|| result.title.clone()),
            bars_title: in_words(&spec.x),
            axis: Axis { label: spec.sum.clone(), unit: unit.to_owned(), scale: Scale::Linear },
            parts: spec.parts.iter().map(|part| part.label.clone()).collect(),
            bars,
            note: spec.note.clone(),
        })
    }
}

fn one_unit(result: &RunResult, parts: &[Part]) -> Result<&'static str, ReportError> {
    let mut one = None;
    for part in parts {
        let unit = metric_unit(result, &part.metric)?;
        let first = *one.get_or_insert(unit);
        if unit != first {
            return Err(mixed(&part.metric, first, unit));
        }
    }
    Ok(one.unwrap_or(""))
}

/// All bars in order of first occurrence.
fn collect(result: &RunResult, spec: &StackSpec, further: &[&str]) -> Vec<Bar> {
    let drawn = |point: &&PointResult| {
        spec.at.iter().all(|(path, value)| param(point, path) == Some(value.as_str()))
    };
    let values = |point: &PointResult| {
        let each = spec.parts.iter().map(|part| Some(point.metric(&part.metric)?.value));
        each.collect::<Option<Vec<f64>>>()
    };
    let mut gathered: Vec<(String, Vec<Vec<f64>>)> = Vec::new();
    for point in result.points.iter().filter(drawn) {
        let Some(values) = values(point) else { continue };
        let label = series_label(point, Some(&spec.x), &[], further);
        match gathered.iter_mut().find(|(known, _)| *known == label) {
            Some((_, replicas)) => replicas.push(values),
            None => gathered.push((label, vec![values])),
        }
    }
    let bars = gathered.into_iter();
    bars.map(|(label, replicas)| Bar { label, values: means(&replicas) }).collect()
}

/// The mean of each part over all replicas.
#[expect(clippy::cast_precision_loss, reason = "a count of replicas")]
fn means(replicas: &[Vec<f64>]) -> Vec<f64> {
    let parts = replicas.first().map_or(0, Vec::len);
    let sum = |part: usize| replicas.iter().map(|values| values[part]).sum::<f64>();
    (0..parts).map(|part| sum(part) / replicas.len() as f64).collect()
}

#[cfg(test)]
mod tests;
