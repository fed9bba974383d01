//! `mpisim exec`: real MPI programs, run in the simulator.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::args::{ClockOf, Computation, ExecArguments, ProgramGiven, RunArguments, Where};
use super::programs::is_program;
use super::run;
use super::scenario;
use super::terminal::{Failure, Outcome, Problem, Terminal};
use experiment::model_file::by_name;
use form::codes;
use form::diagnostic::{Diagnostics, escaped, quote};
use serde_json::{Value, json};
use workloads::exec::places;

/// Runs a program on a machine, as the scenario that says the same.
pub(super) fn exec(terminal: Terminal, arguments: &ExecArguments) -> Outcome {
    let command = in_utf8(&arguments.command)?;
    check_program(&command[0])?;
    check_machine(&arguments.machine)?;
    check_room(arguments)?;
    let nodes = arguments.nodes;
    let per_node = arguments.processes.div_ceil(nodes.max(1));
    let default = || Path::new("results").join(NAME).join(file_name(&command[0]));
    let out = arguments.out.clone().unwrap_or_else(default);
    let mut scenario = json!({
        "schema": 1,
        "title": title(&command),
        "machine": arguments.machine,
        "nodes": nodes,
        "mpi": { "payload": "real" },
        "workload": {
            "kind": "exec",
            "command": command,
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
    let program = ProgramGiven {
        text: format!("{scenario:#}\n"),
        printed: arguments.output.clone(),
        words: words(arguments, &command),
        repeats: repeats(arguments, &out.join(RECORDING)),
    };
    let run = RunArguments {
        scenario: NAME.to_owned(),
        program: Some(program),
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

/// The name of the scenario, and of the folder of the results of all programs.
const NAME: &str = "exec";
/// Where a measured run writes what it has computed, in the folder of its results.
const RECORDING: &str = "compute.json";

/// The command in words, without the options that `run` has, too: before those, and behind them.
fn words(arguments: &ExecArguments, command: &[String]) -> [Vec<String>; 2] {
    let ExecArguments { processes, machine, nodes, compute, clock, .. } = arguments;
    let mut words = vec![NAME.to_owned(), "-n".to_owned(), processes.to_string()];
    words.extend(["--machine".to_owned(), machine.clone()]);
    if *nodes != 1 {
        words.extend(["--nodes".to_owned(), nodes.to_string()]);
    }
    let compute = match compute {
        Computation::None | Computation::Measured(_) => None,
        Computation::Recorded(file) => Some(format!("recorded={}", file.display())),
    };
    let clock = (*clock == ClockOf::Simulated).then(|| "simulated".to_owned());
    for (option, value) in [("--compute", compute), ("--clock", clock)] {
        words.extend(value.into_iter().flat_map(|value| [option.to_owned(), value]));
    }
    [words, [&["--".to_owned()], command].concat()]
}

/// The options that repeat a measured run, and the recording that it keeps.
fn repeats(arguments: &ExecArguments, recording: &Path) -> Option<(Vec<String>, PathBuf)> {
    let Computation::Measured(factor) = &arguments.compute else { return None };
    let mut words = vec!["--compute".to_owned(), format!("recorded={}", recording.display())];
    if factor != "1" {
        words.extend(["--set".to_owned(), format!("workload.compute_factor={factor}")]);
    }
    Some((words, recording.to_owned()))
}

/// The last part of a program's name, as a folder has it.
fn file_name(program: &str) -> String {
    let name = Path::new(program).file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// A number as a scenario has it; what is none is a text, which the scenario's form refuses.
fn number(text: &str) -> Value {
    serde_json::from_str(text).ok().filter(Value::is_number).unwrap_or_else(|| json!(text))
}

/// Refuses a file in place of a machine's name: machines lie in folders.
fn check_machine(machine: &str) -> Result<(), Failure> {
    let file = Path::new(machine);
    if file.extension().is_none_or(|extension| extension != "json") {
        return Ok(());
    }
    let what = format!("`--machine` takes a machine's name, and `{}` is a file", quote(machine));
    let name = file.file_stem().unwrap_or_default().display();
    let folder = file.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new(".")).display();
    let help = format!("take it by its name: `--machine {name} --models {folder}`");
    Err(Problem::new(&codes::USAGE, what).help(help).into())
}

/// Refuses more ranks than the nodes have cores, in words of the command: the scenario is none of the user's.
fn check_room(arguments: &ExecArguments) -> Result<(), Failure> {
    let ExecArguments { processes, machine, nodes, changes, .. } = arguments;
    // What options change of the machine, or of its ranks, the scenario's own check knows.
    let is_changed = |one: &String| one.starts_with("machine") || one.starts_with("ranks");
    let library = scenario::library(changes.models.as_deref())?;
    let found = by_name(&mut Diagnostics::new(), &library, machine);
    let Some(found) = found.filter(|_| !changes.set.iter().any(is_changed)) else { return Ok(()) };
    let cpu = &found.profile.cpu;
    let cores = cpu.sockets.saturating_mul(cpu.cores_per_socket).max(1);
    if processes.div_ceil(*nodes) <= cores {
        return Ok(());
    }
    let name = quote(machine);
    let what =
        format!("{processes} ranks on {nodes} of `{name}`, whose nodes have {cores} cores each");
    let needed = processes.div_ceil(cores);
    let help =
        format!("`--nodes {needed}`; or several ranks a core by `--set ranks.oversubscribe=true`");
    Err(Problem::new(&codes::USAGE, what).help(help).into())
}

/// Refuses a program that is not there before anything is written.
fn check_program(name: &str) -> Result<(), Failure> {
    if name.starts_with('-') {
        let what =
            format!("`{name}` is no program: options of `exec` are those that its help lists");
        return Err(Problem::new(&codes::USAGE, what).help("mpisim exec --help").into());
    }
    if places(name, None).iter().any(|place| is_program(place)) {
        return Ok(());
    }
    if let Some(place) = places(name, None).iter().find(|place| place.is_file()) {
        let place = quote(&place.display().to_string());
        let what = format!("`{place}` is a file that may not be executed");
        let help = format!("if it is a program: `chmod +x {place}`");
        return Err(Problem::new(&codes::USAGE, what).help(help).into());
    }
    let problem = Problem::new(&codes::USAGE, format!("there is no program `{name}`"));
    let here = format!("./{name}");
    Err(if !name.contains('/') && is_program(Path::new(&here)) {
        problem.help(format!("that of this folder is `{here}`")).into()
    } else {
        problem.help("name a file that can be executed, or one that the shell finds").into()
    })
}

/// The words of the command as a scenario has them.
fn in_utf8(command: &[OsString]) -> Result<Vec<String>, Failure> {
    let word = |(at, word): (usize, &OsString)| {
        word.to_str().map(str::to_owned).ok_or_else(|| {
            let shown = word.to_string_lossy();
            let what = match at {
                0 => format!("the name of the program, `{shown}`, is no UTF-8"),
                at => format!("argument {at} of the program, `{shown}`, is no UTF-8"),
            };
            let help = "a run is written down as a scenario, and JSON has UTF-8 only: give the file another name, or a link, or \
                        let the program read the argument from a file";
            Problem::new(&codes::USAGE, what).help(help).into()
        })
    };
    command.iter().enumerate().map(word).collect()
}

/// The command as a title.
fn title(command: &[String]) -> String {
    let title = command.join(" ").replace(['\n', '\t'], " ");
    // A blank name is a program's as well.
    let title: String = escaped(&title).chars().take(200).collect();
    if title.trim().is_empty() { NAME.to_owned() } else { title }
}
