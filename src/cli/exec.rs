//! `mpisim exec`: real MPI programs, run in the simulator.

use std::env;
use std::fs::Metadata;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::args::{ClockOf, Computation, ExecArguments, RunArguments, Where};
use super::run;
use super::terminal::{Failure, Outcome, Problem, Terminal};
use form::codes;
use serde_json::{Value, json};

/// Runs a program on a machine, as the scenario that says the same.
pub(super) fn exec(terminal: Terminal, arguments: &ExecArguments) -> Outcome {
    check_program(&arguments.command[0])?;
    let nodes = arguments.nodes;
    let per_node = arguments.processes.div_ceil(nodes.max(1));
    let out = arguments.out.clone().unwrap_or_else(|| Path::new("results").join(NAME));
    let mut scenario = json!({
        "schema": 1,
        "title": title(&arguments.command),
        "machine": arguments.machine,
        "nodes": nodes,
        "mpi": { "payload": "real" },
        "workload": {
            "kind": "exec",
            "command": arguments.command,
            "processes": arguments.processes,
            "processes_per_node": per_node,
        },
    });
    let workload = &mut scenario["workload"];
    if arguments.clock == ClockOf::Simulated {
        workload["clock"] = json!("simulated");
    }
    match &arguments.compute {
        Computation::None => {}
        Computation::Measured(factor) => {
            workload["compute"] = json!("measured");
            workload["compute_factor"] = number(factor);
            workload["compute_file"] = json!(out.join(RECORDING).display().to_string());
        }
        Computation::Recorded(file) => {
            workload["compute"] = json!("recorded");
            workload["compute_file"] = json!(file.display().to_string());
        }
    }
    let run = RunArguments {
        scenario: NAME.to_owned(),
        text: Some(format!("{scenario:#}\n")),
        printed: Some(arguments.output.clone()),
        loggops: None,
        machine: None,
        changes: arguments.changes.clone(),
        seed: arguments.seed,
        out: Some(out),
        jobs: Some(1),
        resume: false,
        on: Where::Local,
        chunk: None,
        dry_run: false,
        format: arguments.format,
        metrics: Vec::new(),
        explain: arguments.explain,
        what_if: arguments.what_if.clone(),
        trace: arguments.trace.clone(),
        sequence: arguments.sequence.clone(),
    };
    run::here(terminal, &run)
}

/// The name of the scenario, and of the folder of its results.
const NAME: &str = "exec";
/// Where a measured run writes what it has computed, in the folder of its results.
const RECORDING: &str = "compute.json";

/// A number as a scenario has it; what is none is a text, which the scenario's form refuses.
fn number(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| json!(text))
}

/// Refuses a program that is not there before anything is written.
fn check_program(name: &str) -> Result<(), Failure> {
    if name.starts_with('-') {
        let what =
            format!("`{name}` is no program: options of `exec` are those that its help lists");
        return Err(Problem::new(&codes::USAGE, what).help("mpisim exec --help").into());
    }
    let found = if name.contains('/') {
        is_program(Path::new(name))
    } else {
        let folders = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&folders).any(|folder| is_program(&folder.join(name)))
    };
    if found {
        return Ok(());
    }
    let problem = Problem::new(&codes::USAGE, format!("there is no program `{name}`"));
    let here = format!("./{name}");
    Err(if !name.contains('/') && is_program(Path::new(&here)) {
        problem.help(format!("that of this folder is `{here}`")).into()
    } else {
        problem.help("name a file that can be executed, or one that the shell finds").into()
    })
}

fn is_program(path: &Path) -> bool {
    let executable = |about: Metadata| about.is_file() && about.permissions().mode() & 0o111 != 0;
    path.metadata().is_ok_and(executable)
}

/// The command as a title.
fn title(command: &[String]) -> String {
    let title = command.join(" ");
    title.chars().take(200).collect()
}
