//! `mpisim trace`, and traces where a command takes a scenario: the formats that are read, GOAL and tables
//! of the OSU benchmarks out.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use serde_json::json;

use super::args::Trace;
use super::scenario::{load as load_scenario, request};
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use experiment::traces::{self, Kind};
use experiment::{measured, run};
use form::codes;
use form::diagnostic::{Diagnostics, quote};
use shipped::SHIPPED;
use workloads::import::Format;
use workloads::import::goal::write;

/// The longest title of a scenario, in letters.
/// Limit: as of any scenario.
const LONGEST_TITLE: usize = 200;

/// The format of the trace that a file is; `None` where it is no trace. Refuses formats that are not read.
pub(super) fn format(terminal: Terminal, name: &Path) -> Result<Option<&'static Format>, Failure> {
    match traces::kind(name) {
        Kind::Trace(format) => Ok(Some(format)),
        Kind::Other => Ok(None),
        Kind::Foreign(foreign) => {
            let mut diagnostics = Diagnostics::new();
            traces::refuse(&mut diagnostics, name, foreign);
            terminal.diagnostics(&diagnostics);
            Err(Failure::Said(diagnostics.exit_code()))
        }
    }
}

/// The trace of a file, after everything there is to say about it was written.
pub(super) fn load(
    terminal: Terminal,
    format: &Format,
    file: &Path,
) -> Result<Arc<dyn workloads::trace::Trace>, Failure> {
    let mut diagnostics = Diagnostics::new();
    let read = traces::read(&mut diagnostics, SHIPPED, format, file);
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    read.map(|read| read.trace).ok_or_else(|| Failure::Said(diagnostics.exit_code()))
}

/// A scenario that lies beside the trace `file` and replays it on `machine`, a rank a node. A note says
/// which keys the trace leaves open.
pub(super) fn scenario_of(
    terminal: Terminal,
    format: &Format,
    file: &Path,
    machine: &str,
) -> Result<String, Failure> {
    let ranks = load(terminal, format, file)?.ranks();
    let mut stated = String::new();
    for one in format.states {
        let [key, value] = [json!(one.key), json!(one.value)];
        let _ = write!(stated, ", {key}: {value}");
        let (key, value) = (one.key, one.value);
        terminal.note(&format!(
            "`workload.{key}` is {value}: {}; `--set \"workload.{key}=VALUE\"` changes it",
            one.note
        ));
    }
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let title: String = file.chars().take(LONGEST_TITLE).collect();
    let [title, machine, file] = [json!(title), json!(machine), json!(file)];
    let kind = json!(format.kind.name);
    Ok(format!(
        "{{\n  \"schema\": 1,\n  \"title\": {title},\n  \"machine\": {machine},\n  \
         \"nodes\": {ranks},\n  \"workload\": {{ \"kind\": {kind}, \"file\": {file}{stated} }}\n}}\n"
    ))
}

/// Carries out one conversion.
pub(super) fn trace(terminal: Terminal, what: &Trace) -> Outcome {
    match what {
        Trace::Import { file, machine } => match (format(terminal, file)?, machine) {
            (Some(format), Some(machine)) => {
                print(&scenario_of(terminal, format, file, machine)?)?;
                Ok(0)
            }
            (Some(format), None) => Err(needs_machine(format)),
            (None, None) => import_table(terminal, file),
            (None, Some(_)) => {
                let shown = quote(&file.display().to_string());
                let what =
                    format!("`--machine` is for schedules and traces, and `{shown}` is none");
                let help = "a trace is recognised by its first line: `num_ranks N`, or `0 init`";
                Err(Problem::new(&codes::USAGE, what).help(help).into())
            }
        },
        Trace::Export { scenario, changes } => {
            let plan = load_scenario(terminal, &request(scenario, changes, None)?)?;
            let schedule = run::goal::schedule(&plan).map_err(|why| {
                let what = format!("`{}` cannot be written in GOAL: {why}", quote(scenario));
                let help = "one value for each swept field is given by `--set PATH=VALUE`";
                Failure::from(Problem::new(&codes::NOT_IN_GOAL, what).help(help))
            })?;
            let mut text = Vec::new();
            write(&schedule, &mut text).expect("writing to memory does not fail");
            print(&String::from_utf8_lossy(&text))?;
            Ok(0)
        }
    }
}

fn needs_machine(format: &Format) -> Failure {
    let what = if format.schedules { "a schedule" } else { "a trace" };
    let what = format!("{what} becomes a scenario, which needs `--machine NAME`");
    let help = if format.schedules {
        "`mpisim list` names the machines; `run FILE.goal --loggops ...` needs none"
    } else {
        "`mpisim list` names the machines"
    };
    Problem::new(&codes::USAGE, what).help(help).into()
}

fn import_table(terminal: Terminal, file: &Path) -> Outcome {
    let mut diagnostics = Diagnostics::new();
    let table = measured::read(&mut diagnostics, SHIPPED, file);
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    let table = table.ok_or_else(|| Failure::Said(diagnostics.exit_code()))?;
    print(&table.to_csv())?;
    Ok(0)
}
