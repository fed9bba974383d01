//! What shows one run in detail: its timeline, and what its ranks said to each other.

use std::path::{Path, PathBuf};

use super::args::RunArguments;
use super::terminal::{Failure, Problem};
use crate::engine::Keep;
use crate::experiment::codes;
use crate::experiment::plan::Plan;
use crate::experiment::run::timeline::{MOST_RANKS, sequence, timeline};
use crate::experiment::run::{self, PointError};
use crate::report::html::PageFigure;
use crate::report::sequence::sequence_svg;
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
        let ranks = plan.points[0].placement.processes;
        if sequence.is_some() && ranks > MOST_RANKS {
            let what =
                format!("`--sequence` draws at most {MOST_RANKS} ranks, and these are {ranks}");
            return Err(Problem::new(&codes::USAGE, what)
                .help("choose a smaller run, or `--trace FILE`")
                .into());
        }
        Ok(Some(Self { plan, trace, sequence }))
    }

    /// Runs the point once more, with everything noted, and writes the files; the figure is also for the
    /// page.
    pub(super) fn write(self) -> Result<Option<PageFigure>, Failure> {
        let point = &self.plan.points[0];
        let (_, recorded) = run::run_point(point, Keep::Messages).map_err(told)?;
        let Some(recorded) = recorded else { return Ok(None) };
        if let Some(path) = self.trace {
            let trace = perfetto(&timeline(point, &recorded), &self.plan.title);
            write(path, &trace)?;
        }
        self.sequence.map(|path| self.draw(path, &recorded)).transpose()
    }

    fn draw(&self, path: &Path, recorded: &Recorded) -> Result<PageFigure, Failure> {
        let point = &self.plan.points[0];
        let drawn = sequence(point, &self.plan.title, recorded).unwrap_or_default();
        let svg = sequence_svg(&drawn).map_err(|why| {
            Problem::new(&codes::USAGE, format!("`--sequence`: {why}"))
                .help("fewer rounds, smaller windows or a program of a few calls fit")
        })?;
        write(path, svg.as_bytes())?;
        let file = path.display().to_string();
        Ok(PageFigure { caption: format!("Messages: {}", self.plan.title), file, svg })
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

fn told(error: PointError) -> Failure {
    match error {
        PointError::Limit(reason) => Problem::new(&codes::POINT_LIMIT, reason).into(),
        PointError::Internal(message) => Problem::new(&codes::INTERNAL, message).into(),
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|why| {
        let what = format!("{} cannot be written: {why}", path.display());
        Problem::new(&codes::OUTPUT, what).help("name a file in a directory that exists").into()
    })
}
