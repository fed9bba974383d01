//! The files of a results directory.

use std::collections::BTreeSet;

use super::machines;
use super::references::{Drawn, references};
use crate::experiment::claim::figures::{Curves, Figure as Wanted, Stack as WantedStack};
use crate::experiment::plan::{Plan, Point};
use crate::experiment::results::RunResult;
use crate::experiment::run::account::part_in_words;
use crate::experiment::store::OutputFile;
use crate::report::csv::points_csv;
use crate::report::error::ReportError;
use crate::report::explain::explain_stack;
use crate::report::figure::{Figure, FigureSpec, Part, Scale, Stack, StackSpec};
use crate::report::html::{self, Page, PageFigure};
use crate::report::numbers::in_words;

/// One row per point and metric.
const POINTS: &str = "points.csv";
/// The page.
pub(super) const PAGE: &str = "report.html";
/// A bar for each point: where its time went.
const EXPLAINED: &str = "explain.svg";

/// The names of the files that a run of `plan` writes beside its manifest.
pub(super) fn names(plan: &Plan, explain: bool) -> Vec<String> {
    let explained = explain.then(|| EXPLAINED.to_owned());
    let figures = (0..plan.figures.len()).map(figure_name);
    let fixed = [POINTS, PAGE].map(str::to_owned);
    fixed.into_iter().chain(figures).chain(explained).collect()
}

fn figure_name(index: usize) -> String {
    format!("figure-{}.svg", index + 1)
}

/// The files, and why figures are missing.
#[derive(Debug)]
pub(super) struct Files {
    /// What can be written.
    pub(super) files: Vec<OutputFile>,
    /// Name and reason of each figure that cannot be drawn.
    pub(super) missing: Vec<(String, ReportError)>,
}

/// Makes every file; `command` is the one that makes them again. A sequence figure has a file of its own
/// elsewhere: the page shows it.
pub(super) fn files(
    plan: &Plan,
    result: &RunResult,
    command: &str,
    sequence: Option<PageFigure>,
) -> Result<Files, ReportError> {
    let mut out = Files { files: Vec::new(), missing: Vec::new() };
    out.files.push(file(POINTS, points_csv(result)?));
    let mut drawn = Vec::new();
    for (index, wanted) in plan.figures.iter().enumerate() {
        let name = figure_name(index);
        match draw(plan, result, wanted) {
            Ok((caption, svg)) => {
                out.files.push(file(&name, svg.clone()));
                drawn.push(PageFigure { caption, file: name, svg });
            }
            Err(why) => out.missing.push((name, why)),
        }
    }
    if let Some(stack) = explain_stack(result) {
        match stack.to_svg() {
            Ok(svg) => {
                out.files.push(file(EXPLAINED, svg.clone()));
                let (caption, file) = (stack.title, EXPLAINED.to_owned());
                drawn.push(PageFigure { caption, file, svg });
            }
            Err(why) => out.missing.push((EXPLAINED.to_owned(), why)),
        }
    }
    drawn.extend(sequence);
    let page = html::page(&Page {
        result,
        source: plan.source.as_deref().unwrap_or_default(),
        note: plan.note.as_deref().unwrap_or_default(),
        machine: &machines_of(plan),
        nodes: &of_points(plan, |point| point.nodes.to_string()),
        command,
        seed: plan.points[0].seed,
        figures: &drawn,
        provenance: &machines::provenance(plan),
    })?;
    out.files.push(file(PAGE, page));
    Ok(out)
}

/// The most values of a swept machine or number of nodes that the page tells.
const MOST_TOLD: usize = 8;

/// The names of the machines of all points.
pub(super) fn machines_of(plan: &Plan) -> String {
    of_points(plan, |point| point.machine.name.clone())
}

/// What the points have, each once, in their order.
fn of_points(plan: &Plan, what: impl Fn(&Point) -> String) -> String {
    let mut seen = BTreeSet::new();
    let all = plan.points.iter().map(what).filter(|one| seen.insert(one.clone()));
    let all: Vec<String> = all.collect();
    let more = all.len().saturating_sub(MOST_TOLD);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    all.iter().take(MOST_TOLD).cloned().collect::<Vec<_>>().join(", ") + &more
}

fn file(name: &str, text: String) -> OutputFile {
    OutputFile { name: name.to_owned(), bytes: text.into_bytes() }
}

/// Title and picture.
fn draw(plan: &Plan, result: &RunResult, wanted: &Wanted) -> Result<(String, String), ReportError> {
    match wanted {
        Wanted::Curves(curves) => draw_curves(plan, result, curves),
        Wanted::Stack(stack) => draw_stack(result, stack),
    }
}

fn draw_curves(
    plan: &Plan,
    result: &RunResult,
    wanted: &Curves,
) -> Result<(String, String), ReportError> {
    let spec = spec(wanted);
    let mut figure = Figure::from_result(result, &spec, Vec::new())?;
    let drawn = Drawn { figure: &figure, spec: &spec, wanted };
    figure.references = references(plan, result, &drawn);
    Ok((figure.title.clone(), figure.to_svg()?))
}

/// The curves of a figure, without what claims expect.
pub(super) fn curves(result: &RunResult, wanted: &Curves) -> Result<Figure, ReportError> {
    Figure::from_result(result, &spec(wanted), Vec::new())
}

/// What a figure with curves shows, as the report asks for it.
fn spec(wanted: &Curves) -> FigureSpec {
    FigureSpec {
        x: wanted.x.clone(),
        y: wanted.y.clone(),
        series: wanted.series.clone(),
        series_title: wanted.series_title.clone(),
        legend: wanted.legend.clone(),
        at: wanted.at.clone(),
        title: wanted.title.clone(),
        replicas: None,
        x_title: wanted.x_title.clone(),
        y_title: wanted.y_title.clone(),
        x_scale: (!wanted.far_x).then(|| linear_or(wanted.log_x, Scale::Log2)),
        y_scale: Some(linear_or(wanted.log_y, Scale::Log10)),
    }
}

fn linear_or(logarithmic: bool, scale: Scale) -> Scale {
    if logarithmic { scale } else { Scale::Linear }
}

fn draw_stack(result: &RunResult, wanted: &WantedStack) -> Result<(String, String), ReportError> {
    let names: Vec<&str> = wanted.parts.iter().map(|part| part.name).collect();
    let of_account = names.iter().all(|name| part_in_words(name).is_some());
    let part = |name: &str| Part {
        metric: name.to_owned(),
        label: part_in_words(name).map_or_else(|| in_words(name), str::to_owned),
    };
    let spec = StackSpec {
        x: wanted.x.clone(),
        parts: names.into_iter().map(part).collect(),
        at: wanted.at.clone(),
        title: wanted.title.clone(),
        sum: if of_account { "Time of all threads per message" } else { "Sum of the parts" }.into(),
        note: wanted.note.clone(),
    };
    let stack = Stack::from_result(result, &spec)?;
    Ok((stack.title.clone(), stack.to_svg()?))
}
