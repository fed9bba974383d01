//! The files of a results directory.

use std::collections::BTreeSet;

use super::machines;
use super::references::{Drawn, references};
use super::single;
use engine::Keep;
use experiment::claim::figures::{Curves, Figure as Wanted, Messages, Stack as WantedStack};
use experiment::plan::{Plan, Point};
use experiment::results::RunResult;
use experiment::run;
use experiment::run::account::part_in_words;
use experiment::run::timeline::sequence;
use experiment::store::OutputFile;
use report::csv::points_csv;
use report::error::ReportError;
use report::explain::explain_stack;
use report::figure::{Figure, FigureSpec, Part, Scale, Stack, StackSpec};
use report::html::{self, Page, PageFigure};
use report::numbers::{in_parentheses, in_words};
use report::sequence::{NotDrawn, sequence_svg};

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
    /// A kind of output file.
    pub(super) files: Vec<OutputFile>,
    /// Name and reason of each figure that cannot be drawn.
    pub(super) missing: Vec<(String, ReportError)>,
}

/// The command that gives results again.
#[derive(Debug)]
pub(super) struct Again {
    pub(super) command: String,
    /// Whether its digest is the same.
    pub(super) to_the_digest: bool,
}

/// Makes every file; `again` is the command that makes them again. A sequence figure has a file of its own
/// elsewhere: the page shows it.
pub(super) fn files(
    plan: &Plan,
    result: &RunResult,
    again: &Again,
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
    let guesses = guesses(plan);
    for figure in &mut drawn {
        figure.caption.push_str(&guesses);
    }
    let page = html::page(&Page {
        result,
        source: plan.source.as_deref().unwrap_or_default(),
        note: plan.note.as_deref().unwrap_or_default(),
        machine: &machines_of(plan),
        nodes: &of_points(plan, |point| point.nodes.to_string()),
        ranks: &ranks_of(plan),
        command: &again.command,
        to_the_digest: again.to_the_digest,
        seed: plan.points[0].seed,
        figures: &drawn,
        provenance: &machines::provenance(plan),
    })?;
    out.files.push(file(PAGE, page));
    Ok(out)
}

/// The most values of a swept machine or number of nodes that the page tells.
const MOST_TOLD: usize = 8;

/// The names of the machines of all points, and what those stand on that are guesses.
pub(super) fn machines_of(plan: &Plan) -> String {
    of_points(plan, |point| {
        let (name, standing) = (&point.machine.name, point.machine.standing());
        if standing.is_guessed() { format!("{name} ({standing})") } else { name.clone() }
    })
}

/// The machines of a plan that are guesses, for the captions of its figures.
fn guesses(plan: &Plan) -> String {
    let mut all = String::new();
    for machine in machines::machines(plan) {
        let (name, standing) = (&machine.machine.name, machine.machine.standing());
        let one = format!(" · {name}: {standing}");
        if standing.is_guessed() && !all.contains(&one) {
            all.push_str(&one);
        }
    }
    all
}

/// How many processes of this computer the points have; nothing where they have none.
fn ranks_of(plan: &Plan) -> String {
    if plan.points.iter().all(|point| !point.workload.runs_real_processes()) {
        return String::new();
    }
    of_points(plan, |point| point.placement.processes.to_string())
}

/// Values of the points, each once, in their order.
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
        Wanted::Messages(messages) => draw_messages(plan, messages),
    }
}

/// The messages of a point, which is run once more with everything noted.
fn draw_messages(plan: &Plan, wanted: &Messages) -> Result<(String, String), ReportError> {
    let point = &plan.points[wanted.point];
    single::has_messages(point).map_err(ReportError::Messages)?;
    let noted = run::run_point(point, Keep::Messages);
    let (noted, recorded) = noted.map_err(|why| ReportError::writer("a sequence", why))?;
    if noted.limited {
        return Err(ReportError::Messages(NotDrawn::Limit(noted.failure.unwrap_or_default())));
    }
    let title = wanted.title.clone();
    let title = title.unwrap_or_else(|| plan.title.clone() + &in_parentheses(&point.params));
    let drawn = recorded.and_then(|recorded| sequence(point, &title, &recorded));
    let svg = sequence_svg(&drawn.unwrap_or_default()).map_err(ReportError::Messages)?;
    Ok((title, svg))
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
    Ok((figure.caption(), figure.printed(wanted.width)?))
}

/// The curves of a figure, without what claims expect.
pub(super) fn curves(result: &RunResult, wanted: &Curves) -> Result<Figure, ReportError> {
    Figure::from_result(result, &spec(wanted), Vec::new())
}

/// The content of a figure with curves, as the report needs it.
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
    Ok((stack.title.clone(), stack.printed(wanted.width)?))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use experiment::plan::{self, Request};
    use experiment::results::{Metric, PointResult};

    /// The points of a plan with made-up values of the metrics that a figure shows.
    fn made_up(plan: &Plan, figure: &Wanted) -> RunResult {
        let names: Vec<&str> = match figure {
            Wanted::Curves(curves) => vec![&curves.y, &curves.x],
            Wanted::Stack(stack) => stack.parts.iter().map(|part| part.name).collect(),
            Wanted::Messages(_) => Vec::new(),
        };
        let point = |(index, point): (usize, &Point)| {
            let value = f64::from(u16::try_from(index % 97).unwrap()) * 1.5 + 1.0;
            let metric = |name: &&str| Metric { name: (*name).into(), value, unit: "us" };
            PointResult {
                metrics: names.iter().map(metric).collect(),
                ..PointResult::at(index, point.params.clone())
            }
        };
        RunResult {
            scenario: plan.name.clone(),
            title: plan.title.clone(),
            version: String::new(),
            digest: String::new(),
            points: plan.points.iter().enumerate().map(point).collect(),
            claims: vec![],
            what_if: vec![],
        }
    }

    /// A text of a picture: where it stands, which of its ends stands there, whether it is turned.
    struct Text<'a> {
        at: (i32, i32),
        anchor: &'a str,
        is_turned: bool,
        words: &'a str,
    }

    fn texts(svg: &str) -> Vec<Text<'_>> {
        svg.split("<text").skip(1).filter_map(text).collect()
    }

    fn text(tag: &str) -> Option<Text<'_>> {
        let (head, rest) = tag.split_once(">\n")?;
        let place = |name| field(head, name).and_then(|value| value.parse().ok());
        Some(Text {
            at: (place(" x")?, place(" y")?),
            anchor: field(head, " text-anchor")?,
            is_turned: head.contains("rotate"),
            words: rest.lines().next()?,
        })
    }

    fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
        let (_, value) = head.split_once(&format!("{name}=\""))?;
        value.split('"').next()
    }

    #[track_caller]
    fn check_distinct<'a>(name: &str, words: impl Iterator<Item = &'a str>) {
        let mut all: Vec<&str> = words.collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "two ticks read alike in {name}: {all:?}");
    }

    #[test]
    fn no_two_ticks_of_an_axis_have_one_text_or_touch() {
        for name in shipped::SHIPPED.scenarios.names() {
            let (scenario, library) = (name.to_owned(), shipped::library());
            let request = Request { scenario, library, ..Request::default() };
            let plan = plan::load(&request).0.expect("what ships is valid");
            for (index, figure) in plan.figures.iter().enumerate() {
                if matches!(figure, Wanted::Messages(_)) {
                    continue;
                }
                let (_, svg) = draw(&plan, &made_up(&plan, figure), figure).unwrap();
                let name = format!("{name}, figure {}", index + 1);
                let level = |anchor: &'static str| {
                    texts(&svg).into_iter().filter(move |t| t.anchor == anchor && !t.is_turned)
                };
                let mut columns: BTreeMap<i32, String> = BTreeMap::new();
                let mut rows: BTreeMap<i32, BTreeMap<i32, usize>> = BTreeMap::new();
                for text in level("middle") {
                    *columns.entry(text.at.0).or_default() += text.words;
                    rows.entry(text.at.1)
                        .or_default()
                        .insert(text.at.0, text.words.chars().count());
                }
                if matches!(figure, Wanted::Curves(_)) {
                    check_distinct(&name, columns.values().map(String::as_str));
                    check_distinct(&name, level("end").map(|text| text.words));
                    let turned = texts(&svg).into_iter();
                    let turned = turned.filter(|text| text.is_turned && text.anchor == "end");
                    check_distinct(&name, turned.map(|text| text.words));
                }
                for row in rows.values() {
                    let row: Vec<(&i32, &usize)> = row.iter().collect();
                    for pair in row.windows(2) {
                        let letters = i32::try_from(pair[0].1 + pair[1].1).unwrap();
                        assert!(pair[1].0 - pair[0].0 >= 3 * letters, "{name}: {row:?}");
                    }
                }
            }
        }
    }
}
