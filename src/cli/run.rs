//! `mpisim run`: a scenario with its sweep, its results kept and printed.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::args::{Changes, Format, Printed, RunArguments};
use super::crash::{command_line, internal};
use super::files::{self, Again, Files};
use super::mpi_library;
use super::output::keeps_inputs;
use super::points::{jobs, progress, why_failed};
use super::programs;
use super::resolved;
use super::scenario::{load, request};
use super::show::counted;
use super::signals::Interrupt;
use super::single::Single;
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use super::trace;
use ::exec::output::{Output, file_of};
use experiment::inputs::{self, Inputs};
use experiment::plan::connections::many_channels;
use experiment::plan::{Addressing, Plan, Point, Request};
use experiment::results::{PointResult, RunResult, Supposed};
use experiment::run::{self, RunError, RunOptions};
use experiment::schema::metrics_of;
use experiment::store::{
    self, JOURNAL, LOCK, MANIFEST, Mode, Opening, RunIdentity, Store, StoreError,
};
use experiment::what_if::WhatIf;
use form::codes;
use form::diagnostic::quote;
use language::statements::{Unfreed, never_freed, takes_any};
use report::csv::points_csv;
use report::json::run_json;
use report::numbers::in_parentheses;
use report::osu::{OsuSpec, osu_text};
use report::text::report_text;
use report::transient::transient_lines;
use report::unfired::unfired_lines;
use workloads::program::WrittenProgram;

/// Failed points that are listed one by one.
const FAILURES_SHOWN: usize = 10;

/// Prints the points that would be run.
pub(super) fn list(terminal: Terminal, arguments: &RunArguments) -> Outcome {
    let plan = load(terminal, &asked(terminal, arguments)?)?;
    let mut text = format!("{}: {}\n", plan.name, counted(plan.points.len(), "point"));
    for point in &plan.points {
        let _ = writeln!(text, "point {}{}", point.index, in_parentheses(&point.params));
    }
    print(&text)?;
    Ok(0)
}

/// The scenario; of a trace the scenario that replays it.
fn asked(terminal: Terminal, arguments: &RunArguments) -> Result<Request, Failure> {
    let mut request = request(&arguments.scenario, &arguments.changes, arguments.seed)?;
    request.text = match (&arguments.program, &arguments.machine) {
        (Some(program), _) => Some(program.text.clone()),
        (None, Some(machine)) => replayed(terminal, &arguments.scenario, machine)?,
        (None, None) => None,
    };
    Ok(request)
}

/// The scenario that replays a trace on a machine; `None` where the file is no trace.
fn replayed(terminal: Terminal, name: &str, machine: &str) -> Result<Option<String>, Failure> {
    let file = Path::new(name);
    let Some(format) = trace::format(terminal, file)? else { return Ok(None) };
    trace::scenario_of(terminal, format, file, machine).map(Some)
}

/// Runs a scenario in this process.
pub(super) fn here(terminal: Terminal, arguments: &RunArguments) -> Outcome {
    let request = asked(terminal, arguments)?;
    let plan = load(terminal, &request)?;
    check_metrics(&plan, &arguments.metrics)?;
    if arguments.format == Format::Osu {
        osu_spec(&plan)?;
    }
    check_time(arguments, &plan)?;
    check_repeats(arguments, &plan)?;
    check_folders(arguments, &plan)?;
    let single = Single::of(&plan, arguments)?;
    if arguments.program.is_none() {
        programs::tell(terminal, [&plan]);
    }
    let interrupt = Interrupt::listen(terminal, resume_advice(arguments));
    let shown = single.map(Single::record).transpose()?;
    let Some(mut store) = open(terminal, arguments, &plan)? else { return Ok(0) };
    interrupt.frees(store.lock());
    // Pictures and what-if run the same program again: its output is seen once.
    mpi_library::print(output(arguments, &plan));
    let mut result = simulate(terminal, arguments, &plan, &mut store, &interrupt)?;
    mpi_library::print(Output::Nothing);
    for what_if in &arguments.what_if {
        result.what_if.push(suppose(arguments, &plan, *what_if, &interrupt)?);
    }
    let drawn = shown.map(|shown| shown.write(terminal)).transpose()?.flatten();
    let files = files::files(&plan, &result, &normal_command(arguments, &plan), drawn)?;
    let exit = verdict(terminal, &result, &files, arguments.format);
    store.finish(&result, &files.files)?;
    if arguments.format == Format::Table {
        keep_metrics(&mut result, &arguments.metrics);
    }
    print(&printed(&plan, &result, arguments.format)?)?;
    if let (Format::Table, Some(note)) = (arguments.format, many_channels(&plan.points)) {
        terminal.note(&note);
    }
    if let (Format::Table, Some(note)) = (arguments.format, packets_alone(&plan.points)) {
        terminal.note(note);
    }
    if arguments.format == Format::Table && is_measured_here(&plan) {
        terminal.note(
            "computation took the CPU time of this host, which is never the same twice: \
             `workload.compute` `recorded` repeats a run (`--compute recorded=FILE`)",
        );
    }
    tell_where(terminal, arguments.format, &directory(arguments, &plan));
    if arguments.format == Format::Table {
        tell_of_orders(terminal, arguments, &plan);
        if exit == 0 {
            tell_of_communicators(terminal, &plan);
        }
    }
    Ok(program_status(arguments, &result).unwrap_or(exit))
}

/// Where the output of ranks goes; of several points nothing would say whose lines they are.
fn output(arguments: &RunArguments, plan: &Plan) -> Output {
    let to_error = arguments.format != Format::Table;
    match arguments.program.as_ref().map(|program| &program.printed) {
        Some(Printed::Plain) => Output::Lines { to_error, is_labelled: false },
        Some(Printed::Folder(folder)) => Output::Folder(folder.clone()),
        None if plan.points.len() > 1 => Output::Nothing,
        Some(Printed::Labelled) | None => Output::Lines { to_error, is_labelled: true },
    }
}

/// Refuses folders in which a file of this run would replace one that it executes or reads.
fn check_folders(arguments: &RunArguments, plan: &Plan) -> Result<(), Failure> {
    let names = files::names(plan, arguments.explain);
    keeps_results(&directory(arguments, plan), names, plan)?;
    let printed = arguments.program.as_ref().map(|program| &program.printed);
    let Some(Printed::Folder(folder)) = printed else { return Ok(()) };
    let ranks = plan.points.iter().map(|point| point.placement.processes).max().unwrap_or(0);
    keeps_inputs("--output", folder, (0..ranks).map(file_of), &plan.files)
}

/// Refuses a folder of results in which one of these files, or one of the store's own, would replace an input.
pub(super) fn keeps_results(folder: &Path, names: Vec<String>, plan: &Plan) -> Result<(), Failure> {
    let own = [MANIFEST, JOURNAL, LOCK].map(str::to_owned);
    keeps_inputs("--out", folder, names.into_iter().chain(own), &plan.files)
}

/// Refuses what runs a program again whose computation is measured: it would be another run.
fn check_repeats(arguments: &RunArguments, plan: &Plan) -> Result<(), Failure> {
    let option = if !arguments.what_if.is_empty() {
        "--what-if"
    } else if arguments.trace.is_some() {
        "--trace"
    } else if arguments.sequence.is_some() {
        "--sequence"
    } else {
        return Ok(());
    };
    if !is_measured_here(plan) {
        return Ok(());
    }
    let what = format!("`{option}` runs the program again, and CPU time is never the same twice");
    let help = "measure first, and give the recording to this run: `--compute recorded=FILE`";
    Err(Problem::new(&codes::USAGE, what).help(help).into())
}

/// Whether its times are those of this computer.
pub(super) fn is_measured_here(plan: &Plan) -> bool {
    plan.points.iter().any(|point| point.workload.is_measured_here())
}

/// The exit status of the program that `mpisim exec` has run, where it ended with one: as a shell has it, in 8 bits.
fn program_status(arguments: &RunArguments, result: &RunResult) -> Option<u8> {
    arguments.program.as_ref()?;
    let status = result.points.first()?.exit_status?;
    u8::try_from(status & 0xff).ok().filter(|status| *status != 0)
}

/// Refuses columns that no point has.
fn check_metrics(plan: &Plan, asked: &[String]) -> Result<(), Failure> {
    let known: Vec<&str> = metrics_of(&*plan.points[0].workload, plan.points[0].account)
        .into_iter()
        .map(|metric| metric.name)
        .collect();
    let Some(unknown) = asked.iter().find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let what = format!("`--metrics`: there is no metric `{unknown}` here");
    let help = format!("choose from {}", known.join(", "));
    Err(Problem::new(&codes::USAGE, what).help(help).into())
}

/// Keeps the metrics that were requested, in that order; all where none was.
fn keep_metrics(result: &mut RunResult, asked: &[String]) {
    if asked.is_empty() {
        return;
    }
    for point in &mut result.points {
        point.metrics = asked.iter().filter_map(|name| point.metric(name).cloned()).collect();
    }
}

/// Prints the place of the results, unless the output is for programs.
pub(super) fn tell_where(terminal: Terminal, format: Format, directory: &Path) {
    if format == Format::Table {
        let (directory, page) = (quote(&directory.display().to_string()), files::PAGE);
        terminal.note(&format!("results in {directory} ({page})"));
    }
}

/// The point to compare with if messages cross links packet by packet and the sweep lacks one.
fn packets_alone(points: &[Point]) -> Option<&'static str> {
    let cut = points.iter().any(|point| point.faults.cuts_messages());
    let same = points.iter().any(|point| point.faults.only_cuts_messages());
    (cut && !same).then_some(
        "messages cross the links of the fault plan packet by packet, which moves times a little \
         even where nothing is lost: compare with the faults \
         `[{ \"kind\": \"packet_loss\", \"probability\": 0 }]`, not with none (docs/method/faults.md)",
    )
}

/// Where the results go.
fn directory(arguments: &RunArguments, plan: &Plan) -> PathBuf {
    arguments.out.clone().unwrap_or_else(|| Path::new("results").join(&plan.name))
}

/// Refuses a limit of the command line that ends before the first event.
fn check_time(arguments: &RunArguments, plan: &Plan) -> Result<(), Failure> {
    let given =
        |one: &String| one.split('=').next().is_some_and(|path| path.trim() == "limits.time");
    if !arguments.changes.set.iter().any(given) {
        return Ok(());
    }
    match run::ends_at_once(&plan.points[0]) {
        Some(why) => Err(Problem::new(&codes::SHORT_LIMIT, why).help("allow more time").into()),
        None => Ok(()),
    }
}

/// A result in the form that was requested.
pub(super) fn printed(plan: &Plan, result: &RunResult, format: Format) -> Result<String, Failure> {
    Ok(match format {
        Format::Osu => osu_text(result, &osu_spec(plan)?)?,
        Format::Csv => points_csv(result)?,
        Format::Json => run_json(result)?,
        Format::Table => report_text(result, &files::machines_of(plan)),
    })
}

/// The results directory, or nothing where a finished run is there already.
fn open(
    terminal: Terminal,
    arguments: &RunArguments,
    plan: &Plan,
) -> Result<Option<Store>, Failure> {
    let directory = directory(arguments, plan);
    let mode = if arguments.resume { Mode::Resume } else { Mode::Fresh };
    let identity = resolved::identity(plan);
    // Each `exec` of a program without a folder of its own has that of the last one.
    let is_default = directory.starts_with(Path::new("results").join(&plan.name));
    let others = if arguments.program.is_some() && is_default {
        None
    } else {
        others_there(&directory, &identity)
    };
    match Store::open(&directory, identity, mode, &files::names(plan, arguments.explain))? {
        Opening::Ready(store, notes) => {
            for note in notes.iter().chain(&others) {
                terminal.note(note);
            }
            Ok(Some(store))
        }
        Opening::NothingToDo(manifest) => {
            let shown = directory.display();
            let digest = manifest.digest;
            terminal.note(&format!("nothing to do: `{shown}` is complete, digest {digest}"));
            Ok(None)
        }
    }
}

/// Says that results of other inputs lie where this run will put its own, if they do.
fn others_there(directory: &Path, identity: &RunIdentity) -> Option<String> {
    let there = Inputs::of_resolved(&store::manifest(directory)?.resolved);
    let changes = there.changes(&Inputs::of_resolved(&identity.resolved));
    let (shown, inputs) = (directory.display(), inputs::in_words(&changes));
    (!changes.is_empty()).then(|| {
        format!(
            "`{shown}` holds results of other inputs ({inputs}): this run replaces them when it \
             ends; `--out DIR` keeps both"
        )
    })
}

/// The lists of a program that the scenario writes out.
fn written(plan: &Plan) -> Option<&WrittenProgram> {
    plan.points[0].workload.downcast_ref::<WrittenProgram>()
}

/// Says how to see the other orders of a program in which the order of arrivals decides.
fn tell_of_orders(terminal: Terminal, arguments: &RunArguments, plan: &Plan) {
    let Some(WrittenProgram { ranks, team, .. }) = written(plan) else { return };
    let Some((rank, line)) = takes_any(ranks, team.of_a_rank()) else { return };
    let mut words = vec!["explore".to_owned(), arguments.scenario.clone()];
    let swept = plan.points[0].params.iter().map(|(path, value)| format!("{path}={value}"));
    words.extend(
        arguments
            .changes
            .set
            .iter()
            .cloned()
            .chain(swept)
            .flat_map(|one| ["--set".to_owned(), one]),
    );
    let command = command_line(words);
    let receiver = match rank {
        Some(rank) => format!("rank {rank}"),
        None => format!("the statement in line {line}"),
    };
    terminal.note(&format!(
        "{receiver} receives from any source, and this is one order of events: `{command}` tries \
         every order, also for deadlocks"
    ));
}

/// Communicators that are listed one by one.
const UNFREED_SHOWN: usize = 4;

/// Says which communicators a program that ended well has never freed.
fn tell_of_communicators(terminal: Terminal, plan: &Plan) {
    let Some(WrittenProgram { ranks, team, .. }) = written(plan) else { return };
    if plan.points[0].addressing == Addressing::EndpointLibrary {
        // It cannot free all that it makes.
        return;
    }
    let unfreed = never_freed(ranks, team.of_a_rank());
    let (shown, rest) = unfreed.split_at(unfreed.len().min(UNFREED_SHOWN));
    if shown.is_empty() {
        return;
    }
    let place = |Unfreed { rank, line, function }: &Unfreed| {
        format!("{function} of rank {rank} in line {line}")
    };
    let words = shown.iter().map(place).collect::<Vec<_>>().join(", ");
    let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
    terminal.note(&format!(
        "communicators that are never freed were made by {words}{more}; a library of MPI keeps them until \
         the job ends, `comm_free` ends them before"
    ));
}

/// Runs the points that the store does not have.
fn simulate(
    terminal: Terminal,
    arguments: &RunArguments,
    plan: &Plan,
    store: &mut Store,
    interrupt: &Interrupt,
) -> Result<RunResult, Failure> {
    let done = store.done().to_vec();
    let bar = progress(terminal, plan.points.len() - done.len());
    if arguments.program.is_none() {
        interrupt.keeps(done.len(), plan.points.len());
    }
    let mut keep = |point: &PointResult| -> Result<(), StoreError> {
        store.append(point)?;
        interrupt.keeps_one();
        bar.inc(1);
        Ok(())
    };
    let (jobs, explain) = (jobs(arguments.jobs), arguments.explain);
    let options = RunOptions { jobs, explain, stop: &interrupt.stop };
    let result = run::run(plan, options, &done, &mut keep);
    bar.finish_and_clear();
    result.map_err(|error| failure(error, plan, arguments, interrupt))
}

/// All points again with another cost of one resource.
fn suppose(
    arguments: &RunArguments,
    plan: &Plan,
    what_if: WhatIf,
    interrupt: &Interrupt,
) -> Result<Supposed, Failure> {
    let plan = what_if.of(plan);
    let jobs = jobs(arguments.jobs);
    let options = RunOptions { jobs, explain: false, stop: &interrupt.stop };
    let result = run::run(&plan, options, &[], &mut |_| Ok(()));
    let result = result.map_err(|error| failure(error, &plan, arguments, interrupt))?;
    let points = result.points.into_iter().map(|point| point.metrics).collect();
    Ok(Supposed { change: what_if.in_words(), points })
}

fn failure(
    error: RunError,
    plan: &Plan,
    arguments: &RunArguments,
    interrupt: &Interrupt,
) -> Failure {
    if interrupt.came() {
        return Failure::Said(interrupt.stopped());
    }
    match error {
        RunError::Store(error) => Failure::from(error),
        RunError::Stopped { .. } => Failure::Said(interrupt.stopped()),
        RunError::Internal { index, .. } => {
            let narrowed = narrowed_command(plan, index, arguments);
            internal(&error.to_string(), &narrowed).into()
        }
    }
}

/// Reports failures of a run that came to its end, and returns the exit code.
pub(super) fn verdict(terminal: Terminal, result: &RunResult, files: &Files, format: Format) -> u8 {
    let failed: Vec<&PointResult> =
        result.points.iter().filter(|point| point.failure.is_some()).collect();
    // The table tells them on standard output.
    let shown = if format == Format::Table { 0 } else { FAILURES_SHOWN };
    for point in failed.iter().take(shown) {
        terminal.problem(&why_failed(point));
    }
    let (limited, failed): (Vec<&PointResult>, _) =
        failed.into_iter().partition(|point| point.limited);
    let total = counted(result.points.len(), "point");
    for line in transient_lines(result).iter().chain(&unfired_lines(result)) {
        terminal.note(line);
    }
    let mut exit = 0;
    if let Some(first) = limited.first() {
        let what = format!(
            "a limit ended {} of {total}; the first: {}",
            limited.len(),
            why_failed(first).what
        );
        let problem = Problem::new(&codes::POINT_LIMIT, what).help(
            "raise `limits` in the scenario, or by `--set limits.events=N` (`time`, `memory`)",
        );
        terminal.problem(&problem);
        exit = problem.exit;
    }
    if let Some(first) = failed.first() {
        // The whole explanation stands in the table, or above.
        let (point, count) = (why_failed(first).what, failed.len());
        let what = match &first.failure {
            Some(why) if result.points.len() == 1 => first_line(why).to_owned(),
            Some(_) | None => format!(
                "the simulated program failed at {count} of {total}; the first: {}",
                first_line(&point)
            ),
        };
        let problem = Problem::new(&codes::STOPPED, what);
        terminal.problem(&problem);
        exit = problem.exit;
    }
    for (name, why) in &files.missing {
        let mut problem = Problem::from(why.clone());
        problem.what = format!("{name} is not drawn: {}", problem.what);
        terminal.warning(&problem);
    }
    if exit == 0 { u8::from(!files.missing.is_empty()) } else { exit }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Which benchmark of OSU the workload is.
fn osu_spec(plan: &Plan) -> Result<OsuSpec, Failure> {
    let refused = || {
        let what = "`--format osu` needs one of the workloads ping_pong, bandwidth, \
                    bidirectional_bandwidth and message_rate";
        Failure::from(Problem::new(&codes::USAGE, what).help("use `--format table`, csv or json"))
    };
    let benchmark = plan.points[0].workload.osu_benchmark().ok_or_else(refused)?;
    let settings = benchmark.settings.into_iter();
    Ok(OsuSpec {
        test: benchmark.test,
        settings: settings.map(|(path, value)| (path.to_owned(), value)).collect(),
        size: "workload.size".to_owned(),
        pairs: "workload.senders_per_node".to_owned(),
        window: "workload.window".to_owned(),
    })
}

/// The command that gives the results again, without what does not change them; and whether its digest is the same.
fn normal_command(arguments: &RunArguments, plan: &Plan) -> Again {
    let mut words = match &arguments.program {
        None => [vec!["run".to_owned(), arguments.scenario.clone()], Vec::new()],
        Some(program) => program.words.clone(),
    };
    let mut to_the_digest = true;
    if is_measured_here(plan) {
        let repeats = arguments.program.as_ref().and_then(|program| program.repeats.clone());
        let repeats = repeats.filter(|(_, recording)| recording.is_file());
        to_the_digest = repeats.is_some();
        words[0].extend(repeats.into_iter().flat_map(|(words, _)| words));
    }
    words[0].extend(changes(&arguments.changes, arguments.seed));
    words[0].extend(arguments.explain.then(|| "--explain".to_owned()));
    words[0].extend(supposed(arguments));
    Again { command: command_line(words.concat()), to_the_digest }
}

/// The machine of a trace and the what-if factors of resources, as options.
fn supposed(arguments: &RunArguments) -> impl Iterator<Item = String> {
    let machine = arguments.machine.iter();
    let machine = machine.flat_map(|name| ["--machine".to_owned(), name.clone()]);
    let supposed = arguments.what_if.iter();
    machine.chain(supposed.flat_map(|one| ["--what-if".to_owned(), one.in_words()]))
}

/// The command that runs a scenario so changed.
pub(super) fn command(scenario: &str, changes: &Changes, seed: Option<u64>) -> String {
    command_line(words(scenario, changes, seed))
}

fn words(scenario: &str, changed: &Changes, seed: Option<u64>) -> Vec<String> {
    [vec!["run".to_owned(), scenario.to_owned()], changes(changed, seed)].concat()
}

/// Changes and seed as options.
fn changes(changes: &Changes, seed: Option<u64>) -> Vec<String> {
    let mut words = Vec::new();
    for one in &changes.set {
        words.extend(["--set".to_owned(), one.clone()]);
    }
    if let Some(models) = &changes.models {
        words.extend(["--models".to_owned(), models.display().to_string()]);
    }
    if let Some(seed) = seed {
        words.extend(["--seed".to_owned(), seed.to_string()]);
    }
    words
}

fn resume_advice(arguments: &RunArguments) -> String {
    if arguments.program.is_some() {
        // `exec` has one point, and no scenario that a later command could name.
        return "nothing is kept".to_owned();
    }
    let mut words = words(&arguments.scenario, &arguments.changes, arguments.seed);
    // Points that were kept are not explained.
    words.extend(supposed(arguments));
    if let Some(out) = &arguments.out {
        words.extend(["--out".to_owned(), out.display().to_string()]);
    }
    if let Some(jobs) = arguments.jobs {
        words.extend(["--jobs".to_owned(), jobs.to_string()]);
    }
    words.push("--resume".to_owned());
    format!("go on with: {}", command_line(words))
}

/// The command that runs one point alone.
fn narrowed_command(plan: &Plan, index: usize, arguments: &RunArguments) -> String {
    let mut narrowed = arguments.clone();
    for (path, value) in &plan.points[index].params {
        narrowed.changes.set.retain(|one| one.split('=').next() != Some(path));
        narrowed.changes.set.push(format!("{path}={value}"));
    }
    normal_command(&narrowed, plan).command
}
