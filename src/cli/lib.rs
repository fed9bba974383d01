//! The command line: every flag with its help text, the output of each command, and exit codes.
//!
//! | exit code | means |
//! |---|---|
//! | 0 | done |
//! | 1 | a check failed: a result moved, a simulated program failed |
//! | 2 | the command line is wrong |
//! | 3 | an input file is wrong |
//! | 4 | the operating system refused to read or write |
//! | 5 | a limit was hit |
//! | 70 | a defect of this program |
//! | 129, 130, 143 | stopped by SIGHUP, SIGINT, SIGTERM |

mod args;
mod check;
mod compared;
mod conform;
mod crash;
mod diff;
mod exec;
mod explore;
mod files;
mod fit;
mod fresh;
mod list;
mod loggops;
mod machines;
mod manual;
mod mpi_library;
mod output;
mod points;
mod programs;
mod references;
mod resolved;
mod run;
mod scenario;
mod sensitivity;
mod show;
mod signals;
mod single;
mod sweep;
mod terminal;
mod timings;
mod trace;
mod usage;
mod validate;

use std::path::Path;
use std::process::ExitCode;

use args::{Command, Document, RunArguments, SweepCommand, Where};
use sweep::Engine;
use terminal::{Failure, Outcome, Problem, Terminal, print};

use experiment::schema::SCENARIO;
use form::codes::{self, Code};
use form::shape::{export, nearest};
use report::json;

/// Runs the program with the arguments of this process.
pub fn main() -> ExitCode {
    if let Some(exit) = ::exec::supervise::is_supervisor() {
        return exit;
    }
    let arguments = match usage::parse() {
        Ok(arguments) => arguments,
        Err(exit) => return ExitCode::from(exit),
    };
    signals::outlive_long_files();
    signals::end_at_failed_allocations();
    let terminal = Terminal::new(arguments.error_format, arguments.color);
    let exit = match crash::guard(|| dispatch(terminal, arguments.command)) {
        Ok(Ok(exit) | Err(Failure::Said(exit))) => exit,
        Ok(Err(Failure::Problem(problem))) | Err(problem) => {
            let problem = crash::reported(problem);
            terminal.problem(&problem);
            problem.exit
        }
    };
    ExitCode::from(exit)
}

fn dispatch(terminal: Terminal, command: Command) -> Outcome {
    match command {
        Command::Run(arguments) => run(terminal, &arguments),
        Command::Sweep { step: SweepCommand::Plan(arguments) } => sweep::plan(terminal, &arguments),
        Command::Sweep { step: SweepCommand::Point(arguments) } => {
            sweep::point(terminal, &arguments)
        }
        Command::Sweep { step: SweepCommand::Gather(arguments) } => {
            sweep::gather(terminal, &arguments)
        }
        Command::Exec(arguments) => exec::exec(terminal, &arguments),
        Command::Cc { show, folder, arguments } => mpi_library::cc((show, folder), &arguments),
        Command::New(arguments) => fresh::new(terminal, &arguments),
        Command::Check(arguments) => check::check(terminal, &arguments),
        Command::Diff(arguments) => diff::diff(terminal, &arguments),
        Command::Sensitivity(arguments) => sensitivity::sensitivity(terminal, &arguments),
        Command::Fit(arguments) => fit::fit(terminal, &arguments),
        Command::Validate(arguments) => validate::validate(terminal, &arguments),
        Command::Show(arguments) => show::show(terminal, &arguments),
        Command::List { claims: false } => list::shipped(),
        Command::List { claims: true } => list::claims(terminal),
        Command::Schema { document } => schema(document),
        Command::Explain { code: None } => list_codes(),
        Command::Explain { code: Some(code) } => explain(&code),
        Command::Conform { files } => conform::conform(terminal, &files),
        Command::Explore(arguments) => explore::explore(terminal, &arguments),
        Command::Replay(arguments) => explore::replay(terminal, &arguments),
        Command::Trace { what } => trace::trace(terminal, &what),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { command, out } => manual::manual(&command, out.as_deref()),
    }
}

/// Runs a scenario, here or where an engine for tasks puts its points.
fn run(terminal: Terminal, arguments: &RunArguments) -> Outcome {
    let format = trace::format(terminal, Path::new(&arguments.scenario))?;
    if let (Some(format), Some(parameters)) = (format, loggops::asked(arguments, format)?) {
        return loggops::replay(terminal, arguments, format, parameters);
    }
    match arguments.on {
        Where::Local if arguments.dry_run => run::list(terminal, arguments),
        Where::Local => run::here(terminal, arguments),
        Where::Hq => sweep::elsewhere(terminal, arguments, Engine::Hq),
        Where::Slurm => sweep::elsewhere(terminal, arguments, Engine::Slurm),
    }
}

fn schema(document: Document) -> Outcome {
    let pretty = |value: serde_json::Value| format!("{value:#}\n");
    let text = match document {
        Document::Scenario => pretty(export::json_schema("mpisim scenario", &SCENARIO)),
        Document::Model => pretty(form::machine::model_schema("mpisim machine model")),
        Document::Results => json::results_schema(),
        Document::Check => json::check_schema(),
        Document::Diff => json::diff::diff_schema(),
    };
    print(&text)?;
    Ok(0)
}

fn list_codes() -> Outcome {
    let line = |entry: &Code| {
        format!("{}  exit code {:<2}  {}\n", entry.code, entry.exit.exit_code(), entry.title)
    };
    print(&codes::ALL.iter().map(line).collect::<String>())?;
    Ok(0)
}

fn explain(code: &str) -> Outcome {
    let Some(entry) = codes::find(code) else {
        let known = codes::ALL.iter().map(|entry| entry.code);
        let what = format!("there is no code `{}`", form::diagnostic::quote(code));
        let problem = Problem::new(&codes::USAGE, what);
        return Err(match nearest(code, known) {
            Some(near) => problem.help(format!("did you mean `{near}`?")),
            None => problem.help("`mpisim explain` lists the codes"),
        }
        .into());
    };
    let exit = entry.exit.exit_code();
    print(&format!("{}: {}\n\n{}\n\nexit code {exit}\n", entry.code, entry.title, entry.text))?;
    Ok(0)
}
