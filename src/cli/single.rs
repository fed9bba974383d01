//! What shows one run in detail: its timeline, and what its ranks said to each other.

use std::path::{Path, PathBuf};

use super::args::RunArguments;
use super::crash::{internal, this_command};
use super::run::why_failed;
use super::terminal::{Failure, Problem, Terminal};
use crate::engine::Keep;
use crate::experiment::codes;
use crate::experiment::plan::{Plan, Workload};
use crate::experiment::run::timeline::{MOST_RANKS, sequence, timeline};
use crate::experiment::run::{self, PointError};
use crate::experiment::store::{check_writable, write_atomically};
use crate::report::html::PageFigure;
use crate::report::sequence::{NotDrawn, sequence_svg};
use crate::report::timeline::perfetto;
use crate::runtime::causes::Recorded;

/// The files that were asked for of the only point of a plan.
#[derive(Debug)]
pub(super) struct Single<'a> {
    plan: &'a Plan,
    trace: Option<&'a PathBuf>,
    sequence: Option<&'a PathBuf>,
}

impl<'a> Single<'a> {
    /// What was asked for, if anything was: checked before anything runs.
    pub(super) fn of(plan: &'a Plan, arguments: &'a RunArguments) -> Result<Option<Self>, Failure> {
        let (trace, sequence) = (arguments.trace.as_ref(), arguments.sequence.as_ref());
        let Some(option) = trace.map(|_| "--trace").or(sequence.map(|_| "--sequence")) else {
            return Ok(None);
        };
        if plan.points.len() > 1 {
            return Err(sweeps(plan, option));
        }
        if sequence.is_some() && matches!(plan.points[0].workload, Workload::Packing(_)) {
            return Err(no_messages());
        }
        let ranks = plan.points[0].placement.processes;
        if sequence.is_some() && ranks > MOST_RANKS {
            let what =
                format!("`--sequence` draws at most {MOST_RANKS} ranks, and these are {ranks}");
            return Err(Problem::new(&codes::USAGE, what)
                .help("choose a smaller run, or `--trace FILE`")
                .into());
        }
        trace.into_iter().chain(sequence).try_for_each(|path| check_writable(path))?;
        Ok(Some(Self { plan, trace, sequence }))
    }

    /// Runs the point with everything noted: what cannot be shown is found before results are touched.
    pub(super) fn record(self) -> Result<Shown<'a>, Failure> {
        let point = &self.plan.points[0];
        let ran = run::run_point(point, Keep::Messages);
        let (result, recorded) = ran.map_err(|error| told(&error))?;
        // What is noted counts for the limit of memory: it can stop a run that ends well without.
        if result.limited {
            return Err(why_failed(&result).into());
        }
        let Some(recorded) = recorded else { return Ok(Shown::default()) };
        let trace = self.trace.map(|path| {
            let trace = perfetto(&timeline(point, &recorded), &self.plan.title);
            (path.as_path(), trace)
        });
        let sequence = self.sequence.map(|path| self.draw(path, &recorded)).transpose()?;
        Ok(Shown { trace, sequence })
    }

    fn draw(&self, path: &'a Path, recorded: &Recorded) -> Result<(&'a Path, PageFigure), Failure> {
        let point = &self.plan.points[0];
        let title = self.title();
        let drawn = sequence(point, &title, recorded).unwrap_or_default();
        let svg = sequence_svg(&drawn).map_err(|why| {
            let help = match why {
                NotDrawn::Nothing => "`--trace FILE` shows what its cores and devices do",
                NotDrawn::TooMany(_) => {
                    "fewer rounds, smaller windows or a program of a few calls fit"
                }
            };
            Problem::new(&codes::USAGE, format!("`--sequence`: {why}")).help(help)
        })?;
        let (caption, file) = (format!("Messages: {title}"), path.display().to_string());
        Ok((path, PageFigure { caption, file, svg }))
    }

    /// The scenario's title with what was set: two pictures of one scenario differ in it.
    fn title(&self) -> String {
        match &self.plan.overrides[..] {
            [] => self.plan.title.clone(),
            set => format!("{}: {}", self.plan.title, set.join(", ")),
        }
    }
}

/// What was drawn, for the paths that were asked for.
#[derive(Debug, Default)]
pub(super) struct Shown<'a> {
    trace: Option<(&'a Path, Vec<u8>)>,
    sequence: Option<(&'a Path, PageFigure)>,
}

impl Shown<'_> {
    /// Writes the files; the figure is also for the page.
    pub(super) fn write(self, terminal: Terminal) -> Result<Option<PageFigure>, Failure> {
        if let Some((path, bytes)) = self.trace {
            write_atomically(path, &bytes)?;
            let path = path.display();
            terminal.note(&format!(
                "the timeline in {path} is a trace of Perfetto in its binary form (protobuf), \
                 whatever its name: open it at https://ui.perfetto.dev"
            ));
        }
        let Some((path, figure)) = self.sequence else { return Ok(None) };
        write_atomically(path, figure.svg.as_bytes())?;
        Ok(Some(figure))
    }
}

/// The option shows one point: how to choose it.
fn sweeps(plan: &Plan, option: &str) -> Failure {
    let point = &plan.points[0];
    let choice = point.params.iter().map(|(path, value)| format!("--set \'{path}={value}\'"));
    let choice = choice.collect::<Vec<_>>().join(" ");
    let what = format!("`{option}` shows one point, and the sweep has {}", plan.points.len());
    Problem::new(&codes::USAGE, what).help(format!("choose one, for instance by {choice}")).into()
}

/// A packing has no ranks.
fn no_messages() -> Failure {
    let what = "`--sequence` draws messages between ranks, and a packing sends none";
    Problem::new(&codes::USAGE, what)
        .help("`--trace FILE` shows what its parts do over time, `--explain` where it went")
        .into()
}

fn told(error: &PointError) -> Failure {
    internal(&error.to_string(), &this_command()).into()
}
