//! Two results beside each other, as the page of `check --report` and `diff`.

use serde::Serialize;

use super::error::ReportError;
use super::html::{PageFigure, fill};

/// The page.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferencePage {
    /// Its heading.
    pub title: String,
    /// The result, in a line.
    pub summary: String,
    /// Names of the old side and the new one.
    pub heads: [&'static str; 2],
    /// The new side, in words.
    pub now: String,
    /// The old side, in words.
    pub before: String,
    /// Version of the program.
    pub version: &'static str,
    /// The command that makes it again.
    pub command: String,
    /// The scenarios, those that moved first.
    pub scenarios: Vec<Compared>,
}

/// One scenario of both sides.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Compared {
    /// Its path under `scenarios/` without `.json`.
    pub name: String,
    /// Whether nothing moved.
    pub same: bool,
    /// The verdict in words.
    pub verdict: String,
    /// Remarks beside the tables.
    pub notes: Vec<String>,
    /// Its figures, both sides in each.
    pub figures: Vec<PageFigure>,
    /// Metrics that moved, the greatest difference first.
    pub differences: Vec<DifferenceRow>,
    /// How many more there are.
    pub hidden: usize,
    /// Claims whose verdict moved.
    pub claims: Vec<ClaimRow>,
    /// The parts whose work moved.
    pub work: Vec<WorkRow>,
    /// The first events that differ, as text; empty where they were not looked for.
    pub events: String,
}

/// A metric of a point.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DifferenceRow {
    /// Number and swept values of the point.
    pub point: String,
    /// The metric.
    pub metric: String,
    /// Its value with unit, or that there is none.
    pub now: String,
    /// The same of the other side.
    pub before: String,
    /// The difference in percent.
    pub change: String,
    /// The tolerance, if there is one.
    pub tolerance: Option<String>,
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClaimRow {
    /// Its id.
    pub id: String,
    /// The verdict now.
    pub now: String,
    /// The verdict before.
    pub before: String,
    /// The new measurement.
    pub measured: String,
}

/// A kind of resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkRow {
    /// Which.
    pub what: String,
    /// Busy time with unit.
    pub now: String,
    /// The same of the other side.
    pub before: String,
    /// The difference in percent.
    pub change: String,
    /// Its part in the sum of all changes.
    pub part: String,
    /// The same as the width of a bar, in percent.
    pub width: String,
}

impl DifferencePage {
    /// The page as HTML: one file, no script, no network.
    ///
    /// # Errors
    ///
    /// [`ReportError::Writer`] where the template cannot be filled: a defect of this program.
    pub fn to_html(&self) -> Result<String, ReportError> {
        fill("difference.html", self)
    }
}
