//! `mpisim trace`: GOAL and tables of the OSU benchmarks, in and out.

use std::path::Path;

use super::args::Trace;
use super::loggops;
use super::scenario::{load, request};
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use experiment::{measured, run};
use form::codes;
use form::diagnostic::{Diagnostics, quote};
use shipped::SHIPPED;
use workloads::import::goal::write;

/// Carries out one conversion.
pub(super) fn trace(terminal: Terminal, what: &Trace) -> Outcome {
    match what {
        Trace::Import { file, machine } if loggops::is_schedule(file) => {
            import_schedule(terminal, file, machine.as_deref())
        }
        Trace::Import { file, machine: None } => import_table(terminal, file),
        Trace::Import { file, machine: Some(_) } => {
            let shown = quote(&file.display().to_string());
            let what = format!("`--machine` is for schedules, and `{shown}` is none");
            Err(Problem::new(&codes::USAGE, what).help("schedules end in `.goal`").into())
        }
        Trace::Export { scenario, changes } => {
            let plan = load(terminal, &request(scenario, changes, None)?)?;
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

/// A scenario that replays the schedule, to be kept beside it.
fn import_schedule(terminal: Terminal, file: &Path, machine: Option<&str>) -> Outcome {
    let Some(machine) = machine else {
        let what = "a schedule becomes a scenario, which needs `--machine NAME`";
        let help = "`mpisim list` names the machines; `run FILE.goal --loggops ...` needs none";
        return Err(Problem::new(&codes::USAGE, what).help(help).into());
    };
    print(&loggops::scenario_of(terminal, file, machine)?)?;
    Ok(0)
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
