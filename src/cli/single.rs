//! One run in detail: its timeline, and the messages of its ranks.

use std::path::{Path, PathBuf};

use super::args::RunArguments;
use super::crash::{internal, this_command};
use super::output::Output;
use super::points::why_failed;
use super::terminal::{Failure, Problem, Terminal};
use engine::Keep;
use experiment::plan::{Plan, Point};
use experiment::run::timeline::{MOST_RANKS, sequence, timeline};
use experiment::run::{self, PointError};
use form::codes;
use report::html::PageFigure;
use report::sequence::{NotDrawn, sequence_svg};
use report::timeline::perfetto;
use runtime::causes::Recorded;

/// The options that name them.
const TRACE: &str = "--trace";
const SEQUENCE: &str = "--sequence";

/// The files that were requested for the only point of a plan.
#[derive(Debug)]
pub(super) struct Single<'a> {
    plan: &'a Plan,
    trace: Option<Output>,
    sequence: Option<Output>,
}

impl<'a> Single<'a> {
    /// The pictures that were requested, if any; checked before anything runs.
    pub(super) fn of(plan: &'a Plan, arguments: &'a RunArguments) -> Result<Option<Self>, Failure> {
        let (trace, sequence) = (arguments.trace.as_ref(), arguments.sequence.as_ref());
        let Some(option) = trace.map(|_| TRACE).or(sequence.map(|_| SEQUENCE)) else {
            return Ok(None);
        };
        if plan.points.len() > 1 {
            return Err(sweeps(plan, option));
        }
        if sequence.is_some() {
            has_messages(&plan.points[0]).map_err(|why| not_drawn(&why))?;
        }
        let output = |option, path: Option<&PathBuf>| {
            path.map(|path| Output::new(option, path, &plan.files)).transpose()
        };
        let (trace, sequence) = (output(TRACE, trace)?, output(SEQUENCE, sequence)?);
        if let (Some(trace), Some(sequence)) = (&trace, &sequence) {
            trace.differs(sequence, [TRACE, SEQUENCE])?;
        }
        Ok(Some(Self { plan, trace, sequence }))
    }

    /// Runs the point with everything noted: what cannot be shown is found before results are touched.
    pub(super) fn record(self) -> Result<Shown, Failure> {
        let point = &self.plan.points[0];
        let ran = run::run_point(point, Keep::Messages);
        let (result, recorded) = ran.map_err(|error| told(&error))?;
        // What is noted counts for the limit of memory: it can stop a run that ends well without.
        if result.limited {
            return Err(why_failed(&result).into());
        }
        let Some(recorded) = recorded else { return Ok(Shown::default()) };
        let drawn = self.sequence.as_ref().map(|output| self.draw(output.path(), &recorded));
        let sequence = self.sequence.zip(drawn.transpose()?);
        let trace = self.trace.map(|output| {
            let trace = perfetto(&timeline(point, &recorded), &self.plan.title);
            (output, trace)
        });
        Ok(Shown { trace, sequence })
    }

    fn draw(&self, path: &Path, recorded: &Recorded) -> Result<PageFigure, Failure> {
        let point = &self.plan.points[0];
        let title = self.title();
        let drawn = sequence(point, &title, recorded).unwrap_or_default();
        let svg = sequence_svg(&drawn).map_err(|why| not_drawn(&why))?;
        let (caption, file) = (format!("Messages: {title}"), path.display().to_string());
        Ok(PageFigure { caption, file, svg })
    }

    /// The scenario's title with the settings in which two pictures of one scenario differ.
    fn title(&self) -> String {
        match &self.plan.overrides[..] {
            [] => self.plan.title.clone(),
            set => format!("{}: {}", self.plan.title, set.join(", ")),
        }
    }
}

/// The pictures, for the requested paths.
#[derive(Debug, Default)]
pub(super) struct Shown {
    trace: Option<(Output, Vec<u8>)>,
    sequence: Option<(Output, PageFigure)>,
}

impl Shown {
    /// Writes the files; the figure is also for the page.
    pub(super) fn write(self, terminal: Terminal) -> Result<Option<PageFigure>, Failure> {
        if let Some((output, bytes)) = self.trace {
            output.write(&bytes)?;
            terminal.note(&format!(
                "the timeline in {} is a trace of Perfetto in its binary form (protobuf), \
                 whatever its name: open it at https://ui.perfetto.dev",
                output.path().display()
            ));
        }
        let Some((output, figure)) = self.sequence else { return Ok(None) };
        output.write(figure.svg.as_bytes())?;
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

/// Refuses a point whose messages make no picture, before it runs.
pub(super) fn has_messages(point: &Point) -> Result<(), NotDrawn> {
    if point.workload.packing().is_some() {
        return Err(NotDrawn::Packing);
    }
    let ranks = point.placement.processes;
    if ranks > MOST_RANKS { Err(NotDrawn::Ranks(ranks)) } else { Ok(()) }
}

fn not_drawn(why: &NotDrawn) -> Failure {
    Problem::new(&codes::USAGE, format!("`--sequence`: {why}")).help(why.help()).into()
}

fn told(error: &PointError) -> Failure {
    internal(&error.to_string(), &this_command()).into()
}
