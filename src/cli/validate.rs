//! `mpisim validate`: checks a file by its kind: scenario, model, vectors or trace.

use std::fmt::Write as _;
use std::path::Path;

use super::args::ValidateArguments;
use super::scenario::{self, load, request};
use super::show::counted;
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use ::conform::Vectors;
use experiment::document::{Document, recognise};
use experiment::model_file::by_name;
use experiment::traces;
use form::codes;
use form::diagnostic::{Diagnostics, quote};
use form::machine::{Confidence, KnownNumber};
use shipped::SHIPPED;

/// Checks files.
pub(super) fn validate(terminal: Terminal, arguments: &ValidateArguments) -> Outcome {
    let mut worst = 0;
    let mut text = String::new();
    for file in &arguments.scenarios {
        match checked(terminal, arguments, file) {
            Ok(found) => {
                let _ = writeln!(text, "{file}: valid, {found}");
            }
            Err(Failure::Said(exit)) if worst == 0 => worst = exit,
            Err(Failure::Said(_)) => {}
            Err(problem @ Failure::Problem(_)) => return Err(problem),
        }
    }
    print(&text)?;
    Ok(worst)
}

/// The content of a file, in words.
fn checked(
    terminal: Terminal,
    arguments: &ValidateArguments,
    file: &str,
) -> Result<String, Failure> {
    let path = Path::new(file);
    let kind = recognise(path);
    if !matches!(kind, Document::Scenario) && !arguments.changes.set.is_empty() {
        let what = format!("`--set` changes scenarios, and `{}` is none", quote(file));
        return Err(Problem::new(&codes::USAGE, what).help("leave the option out").into());
    }
    let mut diagnostics = Diagnostics::new();
    let found = match kind {
        Document::Scenario => {
            let plan = load(terminal, &request(file, &arguments.changes, None)?)?;
            let (points, claims) = (plan.points.len(), plan.claims.len());
            return Ok(format!("{}, {}", counted(points, "point"), counted(claims, "claim")));
        }
        Document::Model => model(&mut diagnostics, arguments, path)?,
        Document::Vectors => Vectors::load(&mut diagnostics, SHIPPED, path).map(|vectors| {
            format!("vectors of {}, {}", vectors.library, counted(vectors.cases.len(), "case"))
        }),
        Document::Trace(format) => {
            traces::read(&mut diagnostics, SHIPPED, format, path).map(|read| {
                let what = if format.schedules { "a schedule" } else { "a trace" };
                let operations = counted(read.trace.operations(), "operation");
                let ranks = counted(read.trace.ranks() as usize, "rank");
                format!("{what} of {ranks}, {operations}")
            })
        }
        Document::Foreign(foreign) => {
            traces::refuse(&mut diagnostics, path, foreign);
            None
        }
    };
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    found.ok_or_else(|| Failure::Said(diagnostics.exit_code()))
}

/// A model with all that it extends, beside it or shipped.
fn model(
    diagnostics: &mut Diagnostics,
    arguments: &ValidateArguments,
    path: &Path,
) -> Result<Option<String>, Failure> {
    let library = scenario::library(arguments.changes.models.as_deref())?;
    let (library, name) = scenario::beside(library, path);
    let machine = by_name(diagnostics, &library, &name);
    Ok(machine.map(|machine| {
        let given: Vec<&KnownNumber> =
            machine.numbers.iter().filter(|number| number.is_given()).collect();
        let is_assumed = |number: &&&KnownNumber| number.confidence == Confidence::Assumed;
        let assumed = given.iter().filter(is_assumed).count();
        format!("a machine model of {}, {assumed} assumed", counted(given.len(), "number"))
    }))
}
