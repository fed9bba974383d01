//! Programs of this computer that scenarios run: said before the first of them starts, and started only by a command
//! that names the scenario's file, or that says that they may.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::crash::quoted;
use super::show::counted;
use super::terminal::{Failure, Problem, Terminal};
use experiment::plan::{Plan, Point};
use form::codes;
use form::diagnostic::{escaped, quote};

/// The option that lets them run where a command has found their scenario by itself.
pub(super) const ALLOW: &str = "--allow-exec";

/// Commands that a note names one by one.
const SHOWN: usize = 3;

/// Whether a path is a file that may be executed.
pub(super) fn is_program(path: &Path) -> bool {
    let executable = |about: Metadata| about.is_file() && about.permissions().mode() & 0o111 != 0;
    path.metadata().is_ok_and(executable)
}

/// Says what plans run that are about to run, each once, if they run programs.
pub(super) fn tell<'a>(terminal: Terminal, plans: impl IntoIterator<Item = &'a Plan>) {
    let mut said = BTreeSet::new();
    for note in plans.into_iter().filter_map(what_runs) {
        if said.insert(note.clone()) {
            terminal.note(&note);
        }
    }
}

/// The commands that the points of a plan run, if they run programs.
fn what_runs(plan: &Plan) -> Option<String> {
    let commands = commands(plan);
    let ranks = plan.points.iter().map(|point| point.placement.processes).max()?;
    if commands.is_empty() {
        return None;
    }
    let (name, commands) = (quote(&plan.name), in_words(&commands));
    let most = if plan.points.len() > 1 { "at most " } else { "" };
    let each = if ranks == 1 { "process" } else { "processes" };
    Some(format!(
        "`{name}` runs {commands} on this computer, with your rights: {most}{ranks} {each} at a time"
    ))
}

/// Refuses a plan that runs programs, unless the command that found it says that they may.
pub(super) fn may_run(plan: &Plan, allowed: bool) -> Result<(), Failure> {
    let commands = commands(plan);
    if allowed || commands.is_empty() {
        return Ok(());
    }
    let what = format!(
        "`{}` runs {}, a program of this computer, and its file is not named by itself in the command",
        quote(&plan.name),
        in_words(&commands)
    );
    let help = format!("`{ALLOW}` lets it run, if you know what it does");
    Err(Problem::new(&codes::NOT_ALLOWED, what).help(help).into())
}

/// The program of a point as a shell would read it, if the point has one: whole, since its end decides as much as its
/// begin, and with the variables that may decide which program it is.
pub(super) fn command(point: &Point) -> Option<String> {
    let command = point.workload.command()?.iter();
    let words = point.workload.variables().iter().chain(command).map(|word| quoted(word));
    Some(escaped(&words.collect::<Vec<_>>().join(" ")).into_owned())
}

/// The commands of all points, each once, in their order.
fn commands(plan: &Plan) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for command in plan.points.iter().filter_map(command) {
        if !all.contains(&command) {
            all.push(command);
        }
    }
    all
}

fn in_words(commands: &[String]) -> String {
    let shown = commands.iter().take(SHOWN).map(|command| format!("`{command}`"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match commands.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {}", counted(more, "other command")),
    }
}
