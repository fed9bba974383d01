//! `mpisim check`: every scenario against its baseline.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::iter;
use std::path::{Path, PathBuf};

use super::args::{CheckArguments, CheckOutput};
use super::compared;
use super::crash::{command_line, internal};
use super::output::Output;
use super::points::{jobs, progress, why_failed};
use super::programs;
use super::scenario::{library, load};
use super::show::counted;
use super::signals::Interrupt;
use super::terminal::{Failure, Outcome, Problem, Terminal, print, to_stderr};
use super::timings::Timings;
use experiment::baseline::{self, Baseline};
use experiment::check::{CheckError, Comparison, Rules, compare, fits};
use experiment::inputs::{self, Change, Numbers};
use experiment::plan::{Plan, Request, Simulated};
use experiment::results::{PointResult, RunResult};
use experiment::run::{self, RunError, RunOptions};
use experiment::store;
use form::codes;
use form::diagnostic::{Diagnostics, quote};
use report::difference::{Compared, DifferencePage};
use report::json::{CheckDocument, CheckStatus, CheckedClaim, CheckedScenario, check_json};
use report::junit::{Suite, junit};
use report::numbers::tolerated;
use shipped::SHIPPED;

/// The directory of scenarios in a checkout.
const SCENARIOS: &str = "scenarios";

/// One scenario with its baseline.
struct Job {
    plan: Plan,
    baseline: Option<Baseline>,
    /// Numbers of its machines that are not those of the baseline.
    inputs: Vec<Change>,
}

/// The outcome of one scenario.
struct Checked {
    scenario: String,
    status: CheckStatus,
    result: Option<RunResult>,
    comparison: Option<Comparison>,
    /// Why there is no comparison, or none that counts.
    problem: Option<Problem>,
}

impl Checked {
    /// A scenario that was not run; the errors of its files were reported with their places.
    fn refused(scenario: String, failure: Failure) -> Self {
        let problem = match failure {
            Failure::Problem(problem) => {
                Problem { what: format!("{scenario}: {}", problem.what), ..problem }
            }
            Failure::Said(exit) => {
                let what = format!("{scenario} was not run: see its errors");
                Problem { exit, ..Problem::new(&codes::SCENARIO_REFUSED, what) }
            }
        };
        let status = CheckStatus::Failed;
        Self { scenario, status, result: None, comparison: None, problem: Some(problem) }
    }

    /// Whether its only problem is a baseline without any of its metrics.
    fn compared_nothing(&self) -> bool {
        let code = self.problem.as_ref().map(|problem| problem.code.code);
        code == Some(codes::NOTHING_COMPARED.code)
    }
}

/// Checks scenarios, or saves their results as a baseline.
pub(super) fn check(terminal: Terminal, arguments: &CheckArguments) -> Outcome {
    let given = scenarios(&arguments.scenarios)?;
    let (jobs, refused) = prepare(terminal, arguments, &given)?;
    let page = report_file(arguments, &jobs)?;
    let rules = rules(arguments, &jobs)?;
    programs::tell(terminal, jobs.iter().map(|job| &job.plan));
    let advice = "no result was compared; run the command again".to_owned();
    let interrupt = Interrupt::listen(terminal, advice);
    let points = jobs.iter().map(|job| job.plan.points.len()).sum();
    let bar = progress(terminal, points);
    let (mut checked, mut timings) = (Vec::new(), Timings::begin());
    let mut simulated = Simulated::default();
    for job in &jobs {
        let done = simulated.of(&job.plan);
        bar.inc(done.len() as u64);
        let result = simulate(arguments, (&job.plan, &done), &interrupt, &|| bar.inc(1))?;
        simulated.keep(&job.plan, &result);
        timings.took(&job.plan.name);
        checked.push(judge(job, result, &rules, baseline_name(arguments)));
    }
    checked.extend(refused);
    bar.finish_and_clear();
    if arguments.timings {
        to_stderr(&timings.table());
    }
    if let Some(name) = &arguments.save_baseline {
        return save(terminal, arguments, name, &jobs, &checked);
    }
    report(terminal, arguments, page.as_ref(), &jobs, &checked)
}

/// The file of the page, if one was requested.
fn report_file(arguments: &CheckArguments, jobs: &[Job]) -> Result<Option<Output>, Failure> {
    let Some(path) = &arguments.report else { return Ok(None) };
    let baseline = |job: &Job| baseline::path(baseline_name(arguments), &job.plan.name);
    let files = |job: &Job| [job.plan.files.clone(), vec![baseline(job)]].concat();
    let inputs: Vec<PathBuf> = jobs.iter().flat_map(files).collect();
    Output::new("--report", path, &inputs).map(Some)
}

/// Differences that count; a tolerance is for a metric of some baseline.
fn rules(arguments: &CheckArguments, jobs: &[Job]) -> Result<Rules, Failure> {
    let all = jobs.iter().filter_map(|job| job.baseline.as_ref());
    let known: BTreeSet<&str> =
        all.flat_map(|baseline| baseline.metrics.keys()).map(String::as_str).collect();
    for name in arguments.tolerance.iter().filter_map(|one| one.metric.as_deref()) {
        if !known.is_empty() && !known.contains(name) {
            let what = format!("`--tolerance`: no baseline has a metric `{}`", quote(name));
            let known = known.into_iter().collect::<Vec<_>>().join(", ");
            return Err(Problem::new(&codes::USAGE, what)
                .help(format!("there are {known}"))
                .into());
        }
    }
    Ok(Rules { metrics_decide: arguments.metrics, tolerances: arguments.tolerance.clone() })
}

/// The scenarios to check: files and names as given, every JSON file below a directory; and whether the command names
/// each by itself.
fn scenarios(given: &[String]) -> Result<Vec<(String, bool)>, Failure> {
    if given.is_empty() && !Path::new(SCENARIOS).is_dir() {
        let all = SHIPPED.scenarios.names();
        return Ok(all.map(|name| (name.to_owned(), false)).collect());
    }
    let default = [SCENARIOS.to_owned()];
    let given = if given.is_empty() { &default[..] } else { given };
    let is_named = |one: &String| given.contains(one);
    let mut all = Vec::new();
    for one in given {
        if Path::new(one).is_dir() {
            let inside = below(Path::new(one))?;
            if inside.is_empty() {
                let what = format!("`{}` holds 0 files with a scenario", quote(one));
                return Err(Problem::new(&codes::NO_SCENARIOS, what).into());
            }
            all.extend(inside.iter().map(|path| path.display().to_string()));
        } else {
            all.push(one.clone());
        }
    }
    let mut seen = BTreeSet::new();
    all.retain(|one| seen.insert(one.clone()));
    Ok(all.into_iter().map(|one| (one.clone(), is_named(&one))).collect())
}

/// Every JSON file below a directory, sorted; results of this program are none.
pub(super) fn below(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |why: std::io::Error| {
        let what = format!("cannot list `{}`: {why}", quote(&folder.display().to_string()));
        Failure::from(Problem::new(&codes::IO, what))
    };
    let mut all = Vec::new();
    if store::is_results(folder) {
        return Ok(all);
    }
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() && !path.is_symlink() {
            all.extend(below(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            all.push(path);
        }
    }
    all.sort();
    Ok(all)
}

/// Reads and checks every scenario and every baseline, before anything runs: those that can be run,
/// and those that were refused.
fn prepare(
    terminal: Terminal,
    arguments: &CheckArguments,
    given: &[(String, bool)],
) -> Result<(Vec<Job>, Vec<Checked>), Failure> {
    let library = library(arguments.models.as_deref())?;
    let (mut jobs, mut refused) = (Vec::new(), Vec::new());
    for (scenario, is_named) in given {
        let request =
            Request { scenario: scenario.clone(), library: library.clone(), ..Request::default() };
        let job = load(terminal, &request).map_err(|failure| (scenario.clone(), failure)).and_then(
            |plan| {
                let name = plan.name.clone();
                programs::may_run(&plan, *is_named || arguments.allow_exec)
                    .and_then(|()| with_baseline(terminal, arguments, plan))
                    .map_err(|failure| (name, failure))
            },
        );
        match job {
            Ok(job) => jobs.push(job),
            Err((name, failure)) => refused.push(Checked::refused(name, failure)),
        }
    }
    no_name_twice(&jobs)?;
    if jobs.is_empty() {
        return Err(match refused.first_mut().and_then(|one| one.problem.take()) {
            Some(problem) => {
                refused
                    .iter()
                    .filter_map(|one| one.problem.as_ref())
                    .for_each(|one| terminal.problem(one));
                Failure::Problem(problem)
            }
            None => Problem::new(&codes::NO_SCENARIOS, "there are 0 scenarios to check").into(),
        });
    }
    Ok((jobs, refused))
}

/// Refuses two files of one name: they would share a baseline.
fn no_name_twice(jobs: &[Job]) -> Result<(), Failure> {
    let mut known: BTreeMap<&str, &Path> = BTreeMap::new();
    for plan in jobs.iter().map(|job| &job.plan) {
        let Some(file) = plan.file.as_deref() else { continue };
        let first = *known.entry(&plan.name).or_insert(file);
        if store::place(first) != store::place(file) {
            let [first, file] = [first, file].map(|file| quote(&file.display().to_string()));
            let what = format!("`{first}` and `{file}` are both called `{}`", plan.name);
            let help = "a baseline has the name of its scenario: the path below a folder \
                        `scenarios`, else the name of the file; put both below one, or check \
                        them by a command each, with a `--baseline` of its own";
            return Err(Problem::new(&codes::USAGE, what).help(help).into());
        }
    }
    Ok(())
}

/// The baseline of a scenario, if there is one; of the right scenario and version.
fn with_baseline(
    terminal: Terminal,
    arguments: &CheckArguments,
    plan: Plan,
) -> Result<Job, Failure> {
    let saving = arguments.save_baseline.as_deref();
    let path = baseline::path(saving.unwrap_or(baseline_name(arguments)), &plan.name);
    if path.symlink_metadata().is_err() {
        return Ok(Job { plan, baseline: None, inputs: Vec::new() });
    }
    let mut diagnostics = Diagnostics::new();
    let baseline = baseline::read(&mut diagnostics, plan.shipped, &path);
    let Some(baseline) = baseline else {
        terminal.diagnostics(&diagnostics);
        if saving.is_some() && arguments.force {
            // A copy of the file is kept.
            return Ok(Job { plan, baseline: None, inputs: Vec::new() });
        }
        if saving.is_some() {
            terminal.note("`--force` saves it anew, and keeps a copy of the old file");
        }
        return Err(Failure::Said(diagnostics.exit_code()));
    };
    if saving.is_none() {
        fits(&plan, &baseline, arguments.any_version)
            .map_err(|why| refusal(&why, baseline_name(arguments)))?;
    }
    let inputs = inputs::machines_moved(&plan, &path, &baseline.machines);
    Ok(Job { plan, baseline: Some(baseline), inputs })
}

fn baseline_name(arguments: &CheckArguments) -> &str {
    arguments.baseline.as_deref().unwrap_or(baseline::MAIN)
}

/// `name` is that of the baseline.
fn refusal(error: &CheckError, name: &str) -> Problem {
    let save = format!("`mpisim check --save-baseline {name} SCENARIO`");
    let (code, help) = match error {
        CheckError::OtherScenario { .. } => (
            &codes::OTHER_SCENARIO,
            format!("if the change is meant, save the baseline anew with {save}"),
        ),
        CheckError::OtherVersion { .. } => (
            &codes::OTHER_TOOL,
            format!("compare nevertheless with `--any-version`, or save it anew with {save}"),
        ),
        CheckError::OtherUnit { .. } => (
            &codes::OTHER_SCENARIO,
            format!(
                "units are the program's: a baseline is saved, not edited; save it anew with {save}"
            ),
        ),
        CheckError::NothingCompared { .. } => {
            (&codes::NOTHING_COMPARED, format!("save the baseline anew with {save}"))
        }
    };
    Problem::new(code, error.to_string()).help(help)
}

/// Runs the points of a scenario that are not done.
fn simulate(
    arguments: &CheckArguments,
    (plan, done): (&Plan, &[PointResult]),
    interrupt: &Interrupt,
    tick: &(dyn Fn() + Sync),
) -> Result<RunResult, Failure> {
    let options = RunOptions { jobs: jobs(arguments.jobs), stop: &interrupt.stop, explain: false };
    let result = run::run(plan, options, done, &mut |_| {
        tick();
        Ok(())
    });
    match result {
        Ok(result) => Ok(result),
        Err(_) if interrupt.came() => Err(Failure::Said(interrupt.stopped())),
        Err(RunError::Store(error)) => Err(error.into()),
        Err(error) => {
            let command = command_line(["check".to_owned(), plan.name.clone()]);
            Err(internal(&format!("{}: {error}", plan.name), &command).into())
        }
    }
}

fn judge(job: &Job, result: RunResult, rules: &Rules, name: &str) -> Checked {
    let scenario = job.plan.name.clone();
    let verdict = |status, result, comparison, problem| Checked {
        scenario: scenario.clone(),
        status,
        result,
        comparison,
        problem,
    };
    let expected = |point: &PointResult| {
        point.failure.is_none() || job.baseline.as_ref().is_some_and(|saved| saved.expects(point))
    };
    if let Some(point) = result.points.iter().find(|point| !expected(point)) {
        let problem = why_failed(point);
        let problem = Problem { what: format!("{scenario}: {}", problem.what), ..problem };
        return verdict(CheckStatus::Failed, Some(result), None, Some(problem));
    }
    let Some(baseline) = &job.baseline else {
        return verdict(CheckStatus::New, Some(result), None, None);
    };
    match compare(&result, baseline, rules) {
        Ok(comparison) => {
            let comparison = Comparison { inputs: job.inputs.clone(), ..comparison };
            let same = comparison.is_same();
            let status = if same { CheckStatus::Same } else { CheckStatus::Changed };
            verdict(status, Some(result), Some(comparison), None)
        }
        Err(error) => verdict(CheckStatus::Failed, Some(result), None, Some(refusal(&error, name))),
    }
}

/// Writes every result as a baseline; none if a scenario failed.
fn save(
    terminal: Terminal,
    arguments: &CheckArguments,
    name: &str,
    jobs: &[Job],
    checked: &[Checked],
) -> Outcome {
    let stands = |one: &&Checked| {
        let forced = arguments.force && one.result.is_some();
        one.problem.is_some()
            && !forced
            && one.status == CheckStatus::Failed
            && !one.compared_nothing()
    };
    let failed: Vec<&Checked> = checked.iter().filter(stands).collect();
    if !failed.is_empty() {
        failed.iter().filter_map(|one| one.problem.as_ref()).for_each(|one| terminal.problem(one));
        let what = format!("{} failed: no baseline is saved", counted(failed.len(), "scenario"));
        return Err(Problem::new(&codes::BASELINE_REFUSED, what)
            .help("save a failure as the result by `--force`")
            .into());
    }
    let (mut text, mut saved) = (String::new(), Vec::new());
    for (job, one) in jobs.iter().zip(checked) {
        let result = one.result.as_ref().expect("a scenario that did not fail has a result");
        let baseline = Baseline::new(&job.plan, result, job.baseline.as_ref());
        let path = baseline::path(name, &one.scenario);
        if arguments.force
            && let Some(copy) = baseline::back_up(&path)?
        {
            terminal.note(&format!("the old baseline is kept as {}", copy.display()));
        }
        Numbers::of(&job.plan).iter().try_for_each(|machine| machine.keep(&path))?;
        baseline.write(&path)?;
        let _ = writeln!(text, "saved {} digest {}", path.display(), result.digest);
        let comparison =
            compare(result, &baseline, &Rules::default()).map_err(|why| refusal(&why, name))?;
        saved.push(Checked {
            scenario: one.scenario.clone(),
            status: CheckStatus::Same,
            result: None,
            comparison: Some(comparison),
            problem: None,
        });
    }
    print(&match arguments.format {
        CheckOutput::Human => text,
        CheckOutput::Json => {
            let scenarios = saved.iter().map(document).collect();
            check_json(&CheckDocument { schema: 1, scenarios })?
        }
        CheckOutput::Junit => junit_of(&saved)?,
    })?;
    Ok(0)
}

/// Prints the verdicts; the exit code.
fn report(
    terminal: Terminal,
    arguments: &CheckArguments,
    file: Option<&Output>,
    jobs: &[Job],
    checked: &[Checked],
) -> Outcome {
    let count = |status| checked.iter().filter(|one| one.status == status).count();
    let (changed, new) = (count(CheckStatus::Changed), count(CheckStatus::New));
    let mut exit = u8::from(changed > 0);
    for problem in checked.iter().filter_map(|one| one.problem.as_ref()) {
        terminal.problem(problem);
        exit = if exit == 0 { problem.exit } else { exit };
    }
    if let Some(file) = file {
        file.write(page(arguments, jobs, checked).to_html()?.as_bytes())?;
    }
    match arguments.format {
        CheckOutput::Junit => print(&junit_of(checked)?)?,
        CheckOutput::Json => {
            let scenarios = checked.iter().map(document).collect();
            print(&check_json(&CheckDocument { schema: 1, scenarios })?)?;
        }
        CheckOutput::Human => {
            let mut text: String = checked.iter().map(human).collect();
            let (same, failed) = (count(CheckStatus::Same), count(CheckStatus::Failed));
            let total = counted(checked.len(), "scenario");
            let _ = writeln!(
                text,
                "{total}: {same} same, {changed} changed, {new} without a baseline, {failed} failed"
            );
            print(&text)?;
        }
    }
    if new > 0 {
        let name = baseline_name(arguments);
        let what = format!("{} without a baseline `{name}`", counted(new, "scenario"));
        terminal.problem(
            &Problem::new(&codes::NO_BASELINE, what)
                .help(format!("create it with `{}`", save_command(arguments, name))),
        );
        exit = if exit == 0 { 3 } else { exit };
    }
    Ok(exit)
}

/// A line for each scenario, and its differences below.
fn human(one: &Checked) -> String {
    let digest = one.result.as_ref().map_or("", |result| &result.digest);
    let mut text = format!("{:<8} {:<44} {digest}\n", word(one.status), one.scenario);
    let moved =
        |all: &&Comparison| one.status != CheckStatus::Same || all.digest != all.baseline_digest;
    for line in one.comparison.iter().filter(moved).flat_map(compared::lines) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

fn word(status: CheckStatus) -> &'static str {
    match status {
        CheckStatus::Same => "same",
        CheckStatus::Changed => "changed",
        CheckStatus::New => "new",
        CheckStatus::Failed => "failed",
    }
}

/// All scenarios for CI systems.
fn junit_of(checked: &[Checked]) -> Result<String, Failure> {
    let parts: Vec<(CheckedScenario, Option<&str>, Vec<String>)> = checked
        .iter()
        .map(|one| {
            let problem = one.problem.as_ref().map(|problem| problem.what.as_str());
            let remarks = one.comparison.as_ref().map(|all| {
                let inputs = compared::inputs_line(all);
                inputs.into_iter().chain(compared::work_lines(&all.work)).collect()
            });
            (document(one), problem, remarks.unwrap_or_default())
        })
        .collect();
    let counts = |one: &Checked| one.comparison.as_ref().is_none_or(|all| all.digest_counts);
    let suites: Vec<Suite<'_>> = parts
        .iter()
        .zip(checked)
        .map(|((scenario, problem, remarks), one)| {
            let digest_counts = counts(one);
            Suite { scenario, problem: *problem, digest_counts, remarks }
        })
        .collect();
    Ok(junit(&suites)?)
}

/// The page of all scenarios, those that moved first.
fn page(arguments: &CheckArguments, jobs: &[Job], all: &[Checked]) -> DifferencePage {
    let mut scenarios: Vec<Compared> = jobs
        .iter()
        .map(Some)
        .chain(iter::repeat(None))
        .zip(all)
        .map(|(job, one)| on_page(job, one))
        .collect();
    scenarios.sort_by_key(|one| one.same);
    let moved = scenarios.iter().filter(|one| !one.same).count();
    let version = env!("CARGO_PKG_VERSION");
    DifferencePage {
        title: "Results against their baselines".to_owned(),
        summary: format!("{}, {moved} not as before", counted(all.len(), "scenario")),
        heads: ["before", "now"],
        now: format!("mpisim {version}"),
        before: format!("baseline {}", baseline_name(arguments)),
        version,
        command: command_line(words(arguments)),
        scenarios,
    }
}

/// The command that saves the compared results.
fn save_command(arguments: &CheckArguments, name: &str) -> String {
    let anew = CheckArguments {
        baseline: None,
        report: None,
        metrics: false,
        tolerance: Vec::new(),
        ..arguments.clone()
    };
    let save = ["--save-baseline".to_owned(), name.to_owned()];
    command_line(words(&anew).into_iter().chain(save))
}

fn words(arguments: &CheckArguments) -> Vec<String> {
    let mut words = vec!["check".to_owned()];
    words.extend(arguments.scenarios.iter().cloned());
    let models = arguments.models.as_ref().map(|folder| folder.display().to_string());
    let report = arguments.report.as_ref().map(|file| file.display().to_string());
    let baseline = arguments.baseline.clone();
    for (flag, value) in [("--baseline", baseline), ("--models", models), ("--report", report)] {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    words.extend(arguments.metrics.then(|| "--metrics".to_owned()));
    words.extend(arguments.tolerance.iter().flat_map(|one| {
        let name = one.metric.iter().map(|name| format!("{name}="));
        let value = name.chain([tolerated(one.part).replace(' ', "")]).collect();
        ["--tolerance".to_owned(), value]
    }));
    words
}

/// A refused scenario has no job.
fn on_page(job: Option<&Job>, one: &Checked) -> Compared {
    let same = one.status == CheckStatus::Same;
    let mut page = Compared {
        name: one.scenario.clone(),
        same,
        verdict: word(one.status).to_owned(),
        notes: one.problem.iter().map(|problem| problem.what.clone()).collect(),
        ..Compared::default()
    };
    let Some(comparison) = one.comparison.as_ref().filter(|_| !same) else { return page };
    page.notes.extend(compared::inputs_line(comparison).map(|line| format!("{line}.")));
    if let Some(point) = comparison.first_point {
        page.notes.push(format!("The first point with other events is point {point}."));
    }
    let gone = comparison.missing_claims.iter();
    page.notes.extend(gone.map(|id| format!("Claim {id} is in the baseline only.")));
    let of_job = job.and_then(|job| Some((job, job.baseline.as_ref()?)));
    if let Some(((job, baseline), result)) = of_job.zip(one.result.as_ref()) {
        let before = baseline.as_result(result);
        page.figures = compared::overlays(&job.plan.figures, result, &before, ["now", "baseline"]);
    }
    compared::rows(comparison, page)
}

fn document(one: &Checked) -> CheckedScenario {
    let comparison = one.comparison.as_ref();
    let result = one.result.as_ref();
    let digest = result.map(|result| result.digest.clone());
    CheckedScenario {
        scenario: one.scenario.clone(),
        status: one.status,
        digest: digest.or_else(|| comparison.map(|comparison| comparison.digest.clone())),
        baseline_digest: comparison.map(|comparison| comparison.baseline_digest.clone()),
        inputs: comparison.map_or_else(Vec::new, compared::inputs),
        metrics: comparison
            .map_or_else(Vec::new, |all| all.metrics.iter().map(compared::metric).collect()),
        claims: match (comparison, result) {
            (Some(comparison), _) => compared::claims(comparison),
            (None, Some(result)) => {
                result.claims.iter().map(|claim| CheckedClaim::new(claim, None)).collect()
            }
            (None, None) => Vec::new(),
        },
    }
}
