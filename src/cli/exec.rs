//! `mpisim exec`: real MPI programs, run in the simulator.

use super::args::{ExecArguments, RunArguments, Where};
use super::run;
use super::terminal::{Outcome, Terminal};
use serde_json::json;

/// Runs a program on a machine, as the scenario that says the same.
pub(super) fn exec(terminal: Terminal, arguments: &ExecArguments) -> Outcome {
    let nodes = arguments.nodes;
    let per_node = arguments.processes.div_ceil(nodes.max(1));
    let scenario = json!({
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
    let run = RunArguments {
        scenario: "exec".to_owned(),
        text: Some(scenario.to_string()),
        loggops: None,
        machine: None,
        changes: arguments.changes.clone(),
        seed: arguments.seed,
        out: arguments.out.clone(),
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

/// The command as a title.
fn title(command: &[String]) -> String {
    let title = command.join(" ");
    title.chars().take(200).collect()
}
