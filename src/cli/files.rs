//! The files of a results directory.

use super::machines;
use super::references::references;
use crate::experiment::claim::Figure as Wanted;
use crate::experiment::plan::Plan;
use crate::experiment::results::RunResult;
use crate::experiment::store::OutputFile;
use crate::report::csv::points_csv;
use crate::report::error::ReportError;
use crate::report::figure::{Figure, FigureSpec, Scale};
use crate::report::html::{self, Page, PageFigure};

/// One row per point and metric.
const POINTS: &str = "points.csv";
/// The page.
const PAGE: &str = "report.html";

/// The names of the files that a run of `plan` writes beside its manifest.
pub(super) fn names(plan: &Plan) -> Vec<String> {
    let figures = (0..plan.figures.len()).map(figure_name);
    let fixed = [POINTS, PAGE].map(str::to_owned);
    fixed.into_iter().chain(figures).collect()
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

/// Makes every file; `command` is the one that makes them again.
pub(super) fn files(plan: &Plan, result: &RunResult, command: &str) -> Result<Files, ReportError> {
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
    let page = html::page(&Page {
        result,
        source: plan.source.as_deref().unwrap_or_default(),
        command,
        seed: plan.points[0].seed,
        figures: &drawn,
        provenance: &machines::provenance(plan),
    })?;
    out.files.push(file(PAGE, page));
    Ok(out)
}

fn file(name: &str, text: String) -> OutputFile {
    OutputFile { name: name.to_owned(), bytes: text.into_bytes() }
}

fn draw(plan: &Plan, result: &RunResult, wanted: &Wanted) -> Result<(String, String), ReportError> {
    let spec = FigureSpec {
        x: wanted.x.clone(),
        y: wanted.y.clone(),
        series: wanted.series.clone(),
        at: wanted.at.clone(),
        title: wanted.title.clone(),
        replicas: None,
        x_scale: Some(if wanted.log_x { Scale::Log2 } else { Scale::Linear }),
        y_scale: Some(if wanted.log_y { Scale::Log10 } else { Scale::Linear }),
    };
    let figure = Figure::from_result(result, &spec, references(plan, result, wanted))?;
    Ok((figure.title.clone(), figure.to_svg()?))
}
