//! The files of a comparison: figures with both sides, and a page.

use std::path::{Path, PathBuf};

use super::{Report, Side, words};
use crate::args::DiffArguments;
use crate::compared::{self, WORST_ON_PAGE};
use crate::crash::command_line;
use crate::output::keeps_inputs;
use crate::show::counted;
use crate::terminal::{Failure, Problem};
use experiment::claim::figures::Figure as Wanted;
use experiment::diff::{Difference, Fact};
use experiment::results::RunResult;
use experiment::store::write_atomically;
use form::codes;
use form::diagnostic::quote;
use report::diff::{
    change_text, events_text, inputs_line, pair_name, telling, verdict, with_others,
};
use report::difference::{Compared, DifferencePage, DifferenceRow};
use report::explain::shift_stack;
use report::html::PageFigure;
use report::numbers::engineering;

/// The page.
const PAGE: &str = "difference.html";

/// A directory for the files.
pub(super) struct Files(PathBuf);

impl Files {
    /// A directory that is empty, new, or of an earlier comparison, and that has none of the inputs.
    pub(super) fn open(folder: &Path, inputs: &[PathBuf]) -> Result<Self, Failure> {
        let shown = quote(&folder.display().to_string());
        let failed = |why: std::io::Error| {
            Failure::from(Problem::new(&codes::OUTPUT, format!("cannot use `{shown}`: {why}")))
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        for entry in std::fs::read_dir(folder).map_err(failed)? {
            let name = entry.map_err(failed)?.file_name().to_string_lossy().into_owned();
            if !is_ours(&name) {
                let what = format!("`{shown}` has `{}`, which no comparison wrote", quote(&name));
                let help = "choose another directory by `--out`";
                return Err(Problem::new(&codes::NOT_OURS, what).help(help).into());
            }
            keeps_inputs("--out", folder, [name], inputs)?;
        }
        Ok(Self(folder.to_owned()))
    }

    /// Writes the figures and the page, and removes those of an earlier comparison.
    pub(super) fn write(
        &self,
        arguments: &DiffArguments,
        reports: &[Report<'_>],
    ) -> Result<(), Failure> {
        let mut scenarios: Vec<Compared> = reports.iter().map(on_page).collect();
        if scenarios.len() > 1 {
            for one in &mut scenarios {
                let prefix = one.name.replace('/', "-");
                one.figures.iter_mut().for_each(|it| it.file = format!("{prefix}-{}", it.file));
            }
        }
        let same = reports.iter().filter(|one| one.is_same()).count();
        let [before, now] = match reports {
            [Report::Both(difference, _)] => {
                difference.names.each_ref().map(|one| one.label.clone())
            }
            _ => [arguments.a.clone(), arguments.b.as_ref().unwrap_or(&arguments.a).clone()],
        };
        let page = DifferencePage {
            title: "Two results side by side".to_owned(),
            summary: format!("{}, {same} the same", counted(reports.len(), "scenario")),
            heads: ["A", "B"],
            now,
            before,
            version: env!("CARGO_PKG_VERSION"),
            command: command_line(words(arguments)),
            scenarios,
        };
        let text = page.to_html()?;
        self.clear()?;
        for figure in page.scenarios.iter().flat_map(|one| &one.figures) {
            write_atomically(&self.0.join(&figure.file), figure.svg.as_bytes())?;
        }
        write_atomically(&self.0.join(PAGE), text.as_bytes())?;
        Ok(())
    }

    fn clear(&self) -> Result<(), Failure> {
        let failed = |why: std::io::Error| {
            let what = format!("cannot clear `{}`: {why}", self.0.display());
            Failure::from(Problem::new(&codes::OUTPUT, what))
        };
        for entry in std::fs::read_dir(&self.0).map_err(failed)? {
            std::fs::remove_file(entry.map_err(failed)?.path()).map_err(failed)?;
        }
        Ok(())
    }
}

fn is_ours(name: &str) -> bool {
    let number = name.rsplit_once("overlay-").and_then(|(_, end)| end.strip_suffix(".svg"));
    let numbered = number.is_some_and(|number| number.parse::<usize>().is_ok());
    name == PAGE || numbered || name == "shift.svg" || name.ends_with("-shift.svg")
}

fn on_page(report: &Report<'_>) -> Compared {
    let (difference, sides) = match report {
        Report::Both(difference, sides) => (&**difference, *sides),
        Report::One(name, status) => {
            let (name, verdict) = ((*name).to_owned(), status.word().to_owned());
            return Compared { name, verdict, ..Compared::default() };
        }
    };
    let worst = telling(&difference.sides);
    Compared {
        name: difference.scenario.clone(),
        same: difference.sides.is_same(),
        verdict: verdict(&difference.sides),
        notes: inputs_line(difference)
            .into_iter()
            .chain(difference.notes.iter().cloned())
            .collect(),
        figures: figures(difference, sides),
        differences: worst.iter().take(WORST_ON_PAGE).map(row).collect(),
        hidden: worst.len().saturating_sub(WORST_ON_PAGE),
        claims: Vec::new(),
        work: compared::work_rows(&difference.work),
        events: difference.closer.as_ref().map_or_else(String::new, events_text),
    }
}

fn labels(difference: &Difference<'_>) -> [String; 2] {
    let [a, b] = &difference.names;
    [format!("A: {}", a.label), format!("B: {}", b.label)]
}

fn row(Fact { pair, metric, in_step }: &Fact<'_, '_>) -> DifferenceRow {
    let shown = |value: Option<f64>| {
        let text = value.map(|value| format!("{} {}", engineering(value), metric.unit));
        text.map_or_else(|| "none".to_owned(), |text| text.trim_end().to_owned())
    };
    let [before, now] = metric.values.map(shown);
    DifferenceRow {
        point: pair_name(&pair.params, pair.index()),
        metric: with_others(&metric.name, in_step),
        now,
        before,
        change: change_text(metric),
        tolerance: None,
    }
}

/// The scenario's figures with both sides in each, and where the time of the point went that was looked at.
fn figures(difference: &Difference<'_>, [a, b]: &[Side; 2]) -> Vec<PageFigure> {
    let chosen = |path: &str| difference.sides.choices.iter().any(|choice| choice.path == path);
    let plain = |result: &RunResult| {
        let mut result = result.clone();
        for point in &mut result.points {
            point.params.retain(|(path, _)| !chosen(path));
        }
        result
    };
    let plans = [&b.plan, &a.plan].into_iter().flatten();
    let most = plans.max_by_key(|plan| plan.figures.len());
    let wanted: Vec<Wanted> = most
        .into_iter()
        .flat_map(|plan| plan.figures.iter().cloned())
        .map(|mut figure| {
            if let Wanted::Curves(curves) = &mut figure {
                curves.at.retain(|(path, _)| !chosen(path));
                curves.series = curves.series.take().filter(|path| !chosen(path));
            }
            figure
        })
        .collect();
    let [before, now] = labels(difference);
    let names = [now.as_str(), before.as_str()];
    let mut all = compared::overlays(&wanted, &plain(&b.result), &plain(&a.result), names);
    for (index, figure) in all.iter_mut().enumerate() {
        figure.file = format!("overlay-{}.svg", index + 1);
    }
    all.extend(shift(difference));
    all
}

/// Where the time of the point went that was looked at.
fn shift(difference: &Difference<'_>) -> Option<PageFigure> {
    let closer = difference.closer.as_ref()?;
    let [Some(a), Some(b)] = &closer.explanations else { return None };
    let point = match &closer.params[..] {
        [] => String::new(),
        params => format!(": {}", pair_name(params, closer.points[0])),
    };
    let caption = format!("Where the measured time of {} went{point}", difference.scenario);
    let svg = shift_stack(&caption, &labels(difference), [a, b]).to_svg().ok()?;
    Some(PageFigure { caption, file: "shift.svg".to_owned(), svg })
}
