//! `mpisim fit`: a machine model from measured tables, and from a topology.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::args::{CheckFormat, FitArguments, Pairs};
use super::crash::{command_line, internal};
use super::output::Output;
use super::points::jobs;
use super::scenario;
use super::signals::Interrupt;
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use ::fit::hwloc::{self, Topology};
use ::fit::profile::{self, About};
use ::fit::{self, Bench, BenchError, Between, Compared, Fit, Request, Role, Table, summary};
use experiment::model_file::by_name;
use form::codes;
use form::diagnostic::{Diagnostics, quote};
use form::machine::{Confidence, KnownNumber, Machine};
use report::table::Table as TextTable;
use shipped::SHIPPED;

/// Fits, tells how well, and writes the model.
pub(super) fn fit(terminal: Terminal, arguments: &FitArguments) -> Outcome {
    let request = request(arguments)?;
    let mut inputs = Vec::new();
    let topology = arguments.hwloc.as_deref().map(|path| topology(terminal, path, &mut inputs));
    let topology = topology.transpose()?;
    if arguments.measured.is_empty() && arguments.predict.is_empty() {
        let Some(topology) = topology else {
            let what = "nothing to fit on: `--measured FILE` or `--hwloc FILE` is needed";
            let help = "docs/method/fit.md names the benchmarks to run";
            return Err(Problem::new(&codes::USAGE, what).help(help).into());
        };
        return stub(terminal, arguments, &request, &topology, inputs);
    }
    let mut bench = bench(terminal, &request, &mut inputs)?;
    let output = output(arguments, &inputs)?;
    if let Some(topology) = &topology {
        bench.start = Arc::new(applied(arguments, &bench.start, topology)?);
    }
    let advice = "nothing is kept; run the command again".to_owned();
    let interrupt = Interrupt::listen(terminal, advice);
    let found = search(terminal, arguments, &bench, &interrupt)?;
    let doubts = fit::doubts(&bench, &found);
    let mut about = about(arguments, &bench.start, &bench.tables);
    let mut note = made_by(arguments);
    if !doubts.is_empty() {
        about.title.push_str(" (in doubt)");
        note = format!("in doubt: {}; {note}", doubts.join("; "));
    }
    let text = profile::text(&about, &note, &profile::numbers(&bench.start, &found, &about));
    print(&match arguments.format {
        CheckFormat::Human => human(arguments, &bench, &found),
        CheckFormat::Json => document(&bench, &found, &about, &doubts),
    })?;
    for remark in topology.iter().flat_map(|topology| &topology.remarks) {
        terminal.note(&format!("of the topology: {remark}"));
    }
    let exit = keep(terminal, output.as_ref(), &text)?;
    if doubts.is_empty() {
        return Ok(exit);
    }
    let problem = Problem::new(&codes::FIT_DOUBTFUL, doubts.join("; "));
    let nearest = fit::nearest(&request, &bench.tables, &interrupt.stop, jobs(arguments.jobs));
    Err(match nearest.filter(|(name, _)| *name != bench.start.name) {
        Some((name, factor)) => problem.help(format!(
            "of the machines that ship `{name}` is nearest to these tables as it is (a factor of {factor:.2} in the \
             mean): begin with it, by `--machine {name}`"
        )),
        None => problem.help("state the numbers that you know by `--set machine.PATH=VALUE`"),
    }
    .into())
}

/// The file of the model, if one was requested.
fn output(arguments: &FitArguments, inputs: &[PathBuf]) -> Result<Option<Output>, Failure> {
    arguments.out.as_ref().map(|path| Output::new("--out", path, inputs)).transpose()
}

fn keep(terminal: Terminal, output: Option<&Output>, text: &str) -> Outcome {
    match output {
        Some(output) => {
            output.write(text.as_bytes())?;
            terminal.note(&format!("the model is {}", output.path().display()));
        }
        None => terminal.note("no model is written; `--out FILE` names its file"),
    }
    Ok(0)
}

fn topology(
    terminal: Terminal,
    path: &Path,
    inputs: &mut Vec<PathBuf>,
) -> Result<Topology, Failure> {
    let mut diagnostics = Diagnostics::new();
    let topology = hwloc::read(&mut diagnostics, SHIPPED, path);
    inputs.extend_from_slice(diagnostics.files());
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    topology.ok_or_else(|| Failure::Said(diagnostics.exit_code()))
}

/// The machine with the numbers of its topology.
fn applied(
    arguments: &FitArguments,
    start: &Machine,
    topology: &Topology,
) -> Result<Machine, Failure> {
    let file = arguments.hwloc.as_deref().unwrap_or(Path::new("")).display().to_string();
    hwloc::applied(start, topology, &file_name(&file)).map_err(|why| {
        let what = format!("`{}` and `{}` make no machine: {why}", quote(&file), start.name);
        Problem::new(&codes::TOPOLOGY_FILE, what)
            .help("begin with another machine, by `--machine`")
            .into()
    })
}

/// A model with the numbers of the topology, without measurements.
fn stub(
    terminal: Terminal,
    arguments: &FitArguments,
    request: &Request,
    topology: &Topology,
    mut inputs: Vec<PathBuf>,
) -> Outcome {
    let mut diagnostics = Diagnostics::new();
    let start = by_name(&mut diagnostics, &request.library, &request.machine);
    inputs.extend_from_slice(diagnostics.files());
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    let start = start.ok_or_else(|| Failure::Said(diagnostics.exit_code()))?;
    let output = output(arguments, &inputs)?;
    let machine = applied(arguments, &start, topology)?;
    let about = about(arguments, &machine, &[]);
    let numbers: Vec<KnownNumber> =
        machine.numbers.iter().filter(|number| number.is_given()).cloned().collect();
    let told: Vec<&KnownNumber> =
        numbers.iter().filter(|number| number.confidence != Confidence::Assumed).collect();
    print(&match arguments.format {
        CheckFormat::Human => stub_text(&about, &numbers, &told, topology),
        CheckFormat::Json => stub_document(&about, &numbers, &told, topology),
    })?;
    keep(terminal, output.as_ref(), &profile::text(&about, &made_by(arguments), &numbers))
}

fn stub_text(
    about: &About,
    numbers: &[KnownNumber],
    told: &[&KnownNumber],
    topology: &Topology,
) -> String {
    let value = |number: &KnownNumber| number.value.map_or_else(String::new, |v| v.to_string());
    let row = |number: &&KnownNumber| {
        vec![number.path.to_owned(), value(number), number.note.clone().unwrap_or_default()]
    };
    let table = TextTable {
        caption: "told by the topology".to_owned(),
        columns: ["number", "value", "from"].map(str::to_owned).to_vec(),
        rows: told.iter().map(row).collect(),
    };
    let mut text = table.to_text();
    for remark in &topology.remarks {
        let _ = writeln!(text, "not told: {remark}");
    }
    let assumed = numbers.iter().filter(|number| number.confidence == Confidence::Assumed);
    let names: Vec<&str> = assumed.map(|number| number.path).collect();
    let _ = writeln!(text, "\nkept from {}, and assumed: {} numbers", about.start, names.len());
    let _ = writeln!(text, "  {}", names.join(", "));
    text
}

fn stub_document(
    about: &About,
    numbers: &[KnownNumber],
    told: &[&KnownNumber],
    topology: &Topology,
) -> String {
    let assumed = numbers.iter().filter(|number| number.confidence == Confidence::Assumed);
    let assumed: Vec<&str> = assumed.map(|number| number.path).collect();
    let told: Vec<Value> = told
        .iter()
        .map(|number| {
            let value = number.value.map(|value| value.to_string());
            json!({ "path": number.path, "value": value, "from": number.note })
        })
        .collect();
    let document = json!({
        "schema": 1, "machine": about.start, "name": about.name, "told": told,
        "remarks": topology.remarks, "kept": assumed,
    });
    format!("{document:#}\n")
}

fn made_by(arguments: &FitArguments) -> String {
    format!("made by `{}`", command(arguments))
}

fn request(arguments: &FitArguments) -> Result<Request, Failure> {
    let mut library = scenario::library(arguments.changes.models.as_deref())?;
    let path = Path::new(&arguments.machine);
    let mut machine = arguments.machine.clone();
    if path.extension().is_some_and(|extension| extension == "json") {
        (library, machine) = scenario::beside(library, path);
    }
    Ok(Request {
        machine,
        measured: arguments.measured.clone(),
        predicted: arguments.predict.clone(),
        between: match arguments.between {
            Pairs::Nodes => Between::Nodes,
            Pairs::Cores => Between::Cores,
        },
        overrides: arguments.changes.set.clone(),
        library,
        keep: arguments.keep.clone(),
        hold_out: arguments.hold_out,
        hwloc: arguments.hwloc.clone(),
    })
}

/// The command, to be run again.
fn command(arguments: &FitArguments) -> String {
    let mut words = vec!["fit".to_owned(), "--machine".to_owned(), arguments.machine.clone()];
    let mut put = |option: &str, values: &[String]| {
        if !values.is_empty() {
            words.push(option.to_owned());
            words.extend_from_slice(values);
        }
    };
    if arguments.between == Pairs::Cores {
        put("--between", &["cores".to_owned()]);
    }
    put("--measured", &arguments.measured);
    let keep: Vec<String> = arguments.keep.iter().map(|path| (*path).to_owned()).collect();
    put("--keep", &keep);
    if arguments.hold_out != 4 {
        put("--hold-out", &[arguments.hold_out.to_string()]);
    }
    for change in &arguments.changes.set {
        put("--set", std::slice::from_ref(change));
    }
    for (option, text) in [("--source", &arguments.source), ("--title", &arguments.title)] {
        if let Some(text) = text {
            put(option, std::slice::from_ref(text));
        }
    }
    for (option, path) in [("--hwloc", &arguments.hwloc), ("--out", &arguments.out)] {
        if let Some(path) = path {
            put(option, &[path.display().to_string()]);
        }
    }
    command_line(words)
}

fn bench(
    terminal: Terminal,
    request: &Request,
    inputs: &mut Vec<PathBuf>,
) -> Result<Bench, Failure> {
    let mut diagnostics = Diagnostics::new();
    let tables = fit::tables(&mut diagnostics, request);
    let bench = tables.and_then(|tables| Bench::new(&mut diagnostics, request, tables));
    inputs.extend_from_slice(diagnostics.files());
    if !diagnostics.is_empty() {
        terminal.diagnostics(&diagnostics);
    }
    bench.ok_or_else(|| Failure::Said(diagnostics.exit_code()))
}

fn search(
    terminal: Terminal,
    arguments: &FitArguments,
    bench: &Bench,
    interrupt: &Interrupt,
) -> Result<Fit, Failure> {
    let bar = progress(terminal);
    let mut tell = |runs: usize| bar.set_position(runs as u64);
    let between = match arguments.between {
        Pairs::Nodes => Between::Nodes,
        Pairs::Cores => Between::Cores,
    };
    let found = fit::fit(bench, between, &interrupt.stop, jobs(arguments.jobs), &mut tell);
    bar.finish_and_clear();
    found.map_err(|error| match error {
        _ if interrupt.came() => Failure::Said(interrupt.stopped()),
        error @ BenchError::Failed { .. } => {
            Problem::new(&codes::FIT_ROW, error.to_string()).into()
        }
        BenchError::TooFew { numbers, .. } => {
            let help = format!(
                "at least {} rows are needed; measure more sizes, or keep a number with `--keep`",
                numbers + 1
            );
            Problem::new(&codes::MEASURED, error.to_string()).help(help).into()
        }
        error @ (BenchError::Run(_) | BenchError::Stopped) => {
            internal(&error.to_string(), &command(arguments)).into()
        }
    })
}

/// Rows that have run: how many a search needs is known when it is over.
fn progress(terminal: Terminal) -> ProgressBar {
    if !terminal.shows_progress() {
        return ProgressBar::hidden();
    }
    let form = "{spinner} {human_pos} runs, {per_sec}, {elapsed}";
    let style = ProgressStyle::with_template(form).expect("the template is well formed");
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.tick();
    bar
}

fn about(arguments: &FitArguments, start: &Machine, tables: &[Table]) -> About {
    let stem = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let name = arguments.out.as_deref().and_then(stem);
    let fitted = tables.iter().filter(|table| table.fitted).map(|table| file_name(&table.file));
    let topology = arguments.hwloc.iter().map(|path| file_name(&path.display().to_string()));
    let files = topology.chain(fitted);
    let what = if tables.is_empty() { "topology known" } else { "fitted" };
    let title = format!("{}, {what}", start.title);
    let start = start.name.clone();
    About {
        name: name.unwrap_or_else(|| format!("{start}-fitted")),
        title: arguments.title.clone().unwrap_or(title),
        source: arguments
            .source
            .clone()
            .unwrap_or_else(|| files.collect::<Vec<String>>().join(", ")),
        start,
    }
}

fn file_name(path: &str) -> String {
    Path::new(path)
        .file_name()
        .map_or_else(|| path.to_owned(), |n| n.to_string_lossy().into_owned())
}

fn human(arguments: &FitArguments, bench: &Bench, found: &Fit) -> String {
    let mut text = format!("{}\n{}\n\n", bench.start.title, quote(&command(arguments)));
    text.push_str(&numbers_text(found));
    text.push_str(&kept_text(bench, found));
    for (index, table) in bench.tables.iter().enumerate() {
        let rows: Vec<&Compared> = found.rows.iter().filter(|row| row.table == index).collect();
        text.push_str(&rows_text(table, &rows));
    }
    text.push_str(&summary_text(bench, found));
    text
}

fn numbers_text(found: &Fit) -> String {
    if found.fitted.is_empty() {
        return String::new();
    }
    let columns = ["number", "start", "fitted", "from", "to", "told by"];
    let row = |number: &fit::Number| {
        vec![
            number.path.to_owned(),
            number.start.to_string(),
            number.value.to_string(),
            number.range.0.to_string(),
            number.range.1.to_string(),
            number.told_by.to_owned(),
        ]
    };
    let table = TextTable {
        caption: format!("fitted numbers ({} runs)", found.runs),
        columns: columns.map(str::to_owned).to_vec(),
        rows: found.fitted.iter().map(row).collect(),
    };
    table.to_text()
}

fn kept_text(bench: &Bench, found: &Fit) -> String {
    let mut text = String::new();
    if !found.kept.is_empty() {
        let _ = writeln!(text, "\nkept as in {}, and assumed", bench.start.name);
    }
    for kept in &found.kept {
        let _ = writeln!(text, "  {}: {}", kept.name, kept.why);
    }
    text
}

fn rows_text(table: &Table, rows: &[&Compared]) -> String {
    let first = table.benchmark.first_column();
    let unit = table.benchmark.unit();
    let columns = [first.to_owned(), format!("measured ({unit})"), format!("simulated ({unit})")];
    let columns =
        columns.into_iter().chain(["error".to_owned(), "if held out".to_owned()]).collect();
    let percent = |error: f64| format!("{:+.1} %", error * 100.0);
    let row = |row: &&Compared| {
        vec![
            table.benchmark.label(row.key),
            digits(row.measured),
            digits(row.simulated),
            percent(row.error()),
            row.unseen_error().map_or_else(String::new, percent),
        ]
    };
    let table = TextTable {
        caption: format!("{} ({})", table.file, table.benchmark.name()),
        columns,
        rows: rows.iter().map(row).collect(),
    };
    format!("\n{}", table.to_text())
}

/// Four digits or more.
fn digits(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

/// Errors of rows by their use: of fitted ones, of the same ones held out,
/// and of those only compared, table by table.
fn groups(bench: &Bench, found: &Fit) -> Vec<(String, Vec<f64>)> {
    let of = |table: usize| {
        found.rows.iter().filter(move |row| row.table == table).map(Compared::error).collect()
    };
    let fitted = found.rows.iter().filter(|row| row.role != Role::Predicted);
    let mut groups = vec![
        ("fitted".to_owned(), fitted.map(Compared::error).collect()),
        ("held out".to_owned(), found.rows.iter().filter_map(Compared::unseen_error).collect()),
    ];
    for (index, table) in bench.tables.iter().enumerate().filter(|(_, table)| !table.fitted) {
        groups.push((format!("predicted {}", table.file), of(index)));
    }
    groups.retain(|(_, errors): &(String, Vec<f64>)| !errors.is_empty());
    groups
}

fn summary_text(bench: &Bench, found: &Fit) -> String {
    let row = |(name, errors): (String, Vec<f64>)| {
        let (count, median, worst) = summary(errors.into_iter()).expect("a group has rows");
        let percent = |part: f64| format!("{:.1} %", part * 100.0);
        vec![name, count.to_string(), percent(median), percent(worst)]
    };
    let columns = ["rows", "count", "median error", "worst error"];
    let table = TextTable {
        caption: "deviation of the simulation".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: groups(bench, found).into_iter().map(row).collect(),
    };
    format!("\n{}", table.to_text())
}

fn document(bench: &Bench, found: &Fit, about: &About, doubts: &[String]) -> String {
    let parameters: Vec<Value> = found
        .fitted
        .iter()
        .map(|number| {
            json!({
                "path": number.path, "start": number.start.to_string(),
                "value": number.value.to_string(), "low": number.range.0.to_string(),
                "high": number.range.1.to_string(), "told_by": number.told_by,
                "effect": number.effect,
            })
        })
        .collect();
    let kept: Vec<Value> = found
        .kept
        .iter()
        .map(|kept| json!({ "name": kept.name, "paths": kept.paths, "why": kept.why }))
        .collect();
    let rows: Vec<Value> = found.rows.iter().map(|row| row_json(bench, row)).collect();
    let summaries: Vec<Value> = groups(bench, found)
        .into_iter()
        .map(|(name, errors)| {
            let (count, median, worst) = summary(errors.into_iter()).expect("a group has rows");
            json!({ "rows": name, "count": count, "median": median, "worst": worst })
        })
        .collect();
    let document = json!({
        "schema": 1, "machine": about.start, "name": about.name, "runs": found.runs,
        "fitted": parameters, "kept": kept, "rows": rows, "summary": summaries, "doubts": doubts,
    });
    format!("{document:#}\n")
}

fn row_json(bench: &Bench, row: &Compared) -> Value {
    let table = &bench.tables[row.table];
    let first = table.benchmark.first_column();
    let key = match table.benchmark.operations() {
        Some(_) => Value::from(table.benchmark.label(row.key)),
        None => Value::from(row.key),
    };
    json!({
        "file": table.file, "benchmark": table.benchmark.name(), first: key,
        "unit": table.benchmark.unit(), "measured": row.measured, "simulated": row.simulated,
        "error": row.error(), "error_held_out": row.unseen_error(), "role": row.role.word(),
    })
}
