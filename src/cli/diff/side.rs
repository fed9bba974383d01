//! The sides of a comparison, as an argument names them, checked before anything runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::args::{Changes, DiffArguments};
use crate::check::below;
use crate::resolved;
use crate::scenario::{library, load, request_of_side};
use crate::terminal::{Failure, Problem, Terminal};
use crate::trace;
use experiment::attribution::Work;
use experiment::baseline::{self, Baseline};
use experiment::check::fits;
use experiment::diff::{DiffError, Sides};
use experiment::inputs::{self, Inputs};
use experiment::library::{Library, MAX_BYTES};
use experiment::plan::{self, Plan, Request};
use experiment::results::{PointResult, RunResult};
use experiment::store::{self, JOURNAL, MANIFEST, Manifest};
use form::codes;
use form::diagnostic::{Diagnostics, quote};
use report::csv::read_points;
use report::json::diff::DiffStatus;

/// A side before anything runs.
pub(super) struct Given {
    /// As the command called it.
    pub(super) label: String,
    /// Where its results come from.
    pub(super) source: Source,
}

/// Where results come from.
pub(super) enum Source {
    /// They are made now.
    Run(Box<Plan>),
    /// They are there.
    Stored(Box<Stored>),
}

/// Results that are there.
pub(super) struct Stored {
    /// `results` or `baseline`.
    pub(super) kind: &'static str,
    /// The results.
    pub(super) result: RunResult,
    /// The work of all points; empty if it is not stored.
    pub(super) work: Work,
    /// The values that decide about the results.
    pub(super) inputs: Inputs,
    /// The plan that made them, or the reason that it cannot be made again.
    pub(super) plan: Result<Plan, String>,
}

/// A scenario of both sides.
pub(super) enum Matched {
    /// Both have it.
    Both(Given, Given),
    /// Only one of two sets of baselines has it.
    One(String, DiffStatus),
}

impl Matched {
    /// Its sides, where it has both.
    pub(super) fn sides(&self) -> Vec<&Given> {
        match self {
            Self::Both(a, b) => vec![a, b],
            Self::One(..) => Vec::new(),
        }
    }
}

/// The kinds of things that an argument can name.
enum Named {
    One(Given),
    /// Baselines by scenario, and the name of the set.
    Set(String, BTreeMap<String, PathBuf>),
}

/// Data that every look-up needs.
#[derive(Clone, Copy)]
struct Finder<'a> {
    terminal: Terminal,
    library: &'a Library,
    /// The machine that replays traces.
    machine: Option<&'a str>,
}

impl Finder<'_> {
    /// The scenario that replays a trace; nothing where the file is none.
    fn replayed(self, name: &str) -> Result<Option<String>, Failure> {
        let Some(format) = trace::format(self.terminal, Path::new(name))? else { return Ok(None) };
        let Some(machine) = self.machine else {
            let what = if format.schedules { "a schedule" } else { "a trace" };
            let what = format!("`{}` is {what}: it needs a machine", quote(name));
            let help =
                "name one by `--machine NAME`, and another for one side by `--set-b machine=NAME`";
            return Err(Problem::new(&codes::USAGE, what).help(help).into());
        };
        trace::scenario_of(self.terminal, format, Path::new(name), machine).map(Some)
    }
}

/// The scenarios that the arguments name, each with both sides.
pub(super) fn matched(
    terminal: Terminal,
    arguments: &DiffArguments,
) -> Result<Vec<Matched>, Failure> {
    let b = match &arguments.b {
        Some(b) => b,
        None if !arguments.has_own() => {
            let what = "`diff` needs two sides, or one scenario and an option for one of them";
            let help = "for instance `mpisim diff SCENARIO --set-b mpi.rendezvous=rget`";
            return Err(Problem::new(&codes::USAGE, what).help(help).into());
        }
        None => &arguments.a,
    };
    let changes = [&arguments.models_a, &arguments.models_b].map(|own| Changes {
        set: arguments.changes.set.clone(),
        models: own.clone().or_else(|| arguments.changes.models.clone()),
    });
    let libraries =
        [library(changes[0].models.as_deref())?, library(changes[1].models.as_deref())?];
    let finders = libraries.each_ref().map(|library| Finder {
        terminal,
        library,
        machine: arguments.machine.as_deref(),
    });
    let [of_a, of_b] = finders;
    let format = |name: &str| trace::format(terminal, Path::new(name));
    if arguments.machine.is_some() && format(&arguments.a)?.is_none() && format(b)?.is_none() {
        let what = "`--machine` is for schedules and traces, and no side is one";
        let help = "choose a machine by `--set machine=NAME`, or for one side by `--set-b`";
        return Err(Problem::new(&codes::USAGE, what).help(help).into());
    }
    let left = named(of_a, &arguments.a, &changes[0], ("--set-a", &arguments.set_a))?;
    let right = named(of_b, b, &changes[1], ("--set-b", &arguments.set_b))?;
    let all = match (left, right) {
        (Named::One(a), Named::One(b)) => vec![Matched::Both(a, b)],
        (Named::One(a), Named::Set(name, set)) => {
            let b = member(of_b, &name, &set, a.scenario())?;
            vec![Matched::Both(a, b)]
        }
        (Named::Set(name, set), Named::One(b)) => {
            let a = member(of_a, &name, &set, b.scenario())?;
            vec![Matched::Both(a, b)]
        }
        (Named::Set(_, ours), Named::Set(_, theirs)) => both_sets(finders, &ours, &theirs)?,
    };
    for one in &all {
        if let Matched::Both(a, b) = one {
            Sides::new(&a.skeleton(), &b.skeleton()).map_err(|why| refusal(&why))?;
        }
    }
    Ok(all)
}

/// The report of an impossible comparison.
pub(super) fn refusal(error: &DiffError) -> Failure {
    let help = match error {
        DiffError::OneSided { side, path } => {
            let side = side.to_ascii_lowercase();
            format!("choose one of its values by `--set-{side} {path}=VALUE`")
        }
        DiffError::NothingCompared => "choose points that both sides have".to_owned(),
    };
    Problem::new(&codes::DIFF_SIDES, error.to_string()).help(help).into()
}

impl Given {
    /// The values that decide about the results of this side.
    pub(super) fn inputs(&self) -> Inputs {
        match &self.source {
            Source::Run(plan) => Inputs::of_resolved(&resolved::identity(plan).resolved),
            Source::Stored(stored) => stored.inputs.clone(),
        }
    }

    pub(super) fn scenario(&self) -> &str {
        match &self.source {
            Source::Run(plan) => &plan.name,
            Source::Stored(stored) => &stored.result.scenario,
        }
    }

    /// Its points, as far as they are known before anything runs.
    pub(super) fn skeleton(&self) -> RunResult {
        match &self.source {
            Source::Stored(stored) => stored.result.clone(),
            Source::Run(plan) => RunResult {
                scenario: plan.name.clone(),
                title: plan.title.clone(),
                version: String::new(),
                digest: String::new(),
                points: plan
                    .points
                    .iter()
                    .map(|point| PointResult::at(point.index, point.params.clone()))
                    .collect(),
                claims: Vec::new(),
                what_if: Vec::new(),
            },
        }
    }
}

fn named(
    finder: Finder<'_>,
    text: &str,
    changes: &Changes,
    (option, own): (&'static str, &[String]),
) -> Result<Named, Failure> {
    let path = Path::new(text);
    let altered = !changes.set.is_empty() || !own.is_empty();
    let stored = |given: Result<Given, Failure>| {
        if altered {
            let what = format!("`{}` is finished: options cannot change it", quote(text));
            let help = "name its scenario to run it changed";
            return Err(Failure::from(Problem::new(&codes::DIFF_SIDES, what).help(help)));
        }
        given.map(Named::One)
    };
    if path.join(MANIFEST).is_file() {
        return stored(results(finder, text, path));
    }
    if path.join(JOURNAL).is_file() {
        let what = format!("`{}` holds a run that is not finished", quote(text));
        let help = "finish it by `mpisim run SCENARIO --resume`";
        return Err(Problem::new(&codes::DIFF_SIDES, what).help(help).into());
    }
    if is_baseline(path) {
        return stored(of_baseline(finder, text, path));
    }
    let is_name = text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    let folder = if path.is_dir() { path.to_owned() } else { baseline::folder(text) };
    if path.is_dir() || (is_name && folder.is_dir()) {
        let set = set_of(&folder)?;
        if !set.is_empty() && set.values().all(|path| is_baseline(path)) && !altered {
            return Ok(Named::Set(text.to_owned(), set));
        }
    }
    let mut request = request_of_side(text, changes, option, own)?;
    request.text = finder.replayed(text)?;
    let plan = load(finder.terminal, &request)?;
    let label = std::iter::once(text.to_owned()).chain(request.overrides);
    let label = label.collect::<Vec<_>>().join(", ");
    Ok(Named::One(Given { label, source: Source::Run(Box::new(plan)) }))
}

/// Baselines below a directory, by scenario.
fn set_of(folder: &Path) -> Result<BTreeMap<String, PathBuf>, Failure> {
    let name = |path: &PathBuf| {
        let inside = path.strip_prefix(folder).unwrap_or(path).with_extension("");
        let parts = inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        parts.collect::<Vec<_>>().join("/")
    };
    Ok(below(folder)?.into_iter().map(|path| (name(&path), path)).collect())
}

/// Whether a file has the form of a baseline; its errors are reported when it is read.
fn is_baseline(path: &Path) -> bool {
    let small = |meta: &std::fs::Metadata| meta.is_file() && meta.len() <= MAX_BYTES;
    if !std::fs::metadata(path).is_ok_and(|meta| small(&meta)) {
        return false;
    }
    let bytes = std::fs::read(path).unwrap_or_default();
    let value: Option<Value> = serde_json::from_slice(&bytes).ok();
    value.is_some_and(|value| ["definition", "points"].iter().all(|key| value.get(key).is_some()))
}

fn member(
    finder: Finder<'_>,
    name: &str,
    set: &BTreeMap<String, PathBuf>,
    scenario: &str,
) -> Result<Given, Failure> {
    let Some(path) = set.get(scenario) else {
        let what = format!("the baselines `{}` have none of `{scenario}`", quote(name));
        let help = format!("create it with `mpisim check {scenario} --save-baseline NAME`");
        return Err(Problem::new(&codes::NO_BASELINE, what).help(help).into());
    };
    of_baseline(finder, &path.display().to_string(), path)
}

/// Every scenario of two sets.
fn both_sets(
    [of_a, of_b]: [Finder<'_>; 2],
    ours: &BTreeMap<String, PathBuf>,
    theirs: &BTreeMap<String, PathBuf>,
) -> Result<Vec<Matched>, Failure> {
    let mut all = Vec::new();
    let given = |finder, path: &PathBuf| of_baseline(finder, &path.display().to_string(), path);
    for (scenario, path) in ours {
        all.push(match theirs.get(scenario) {
            Some(other) => Matched::Both(given(of_a, path)?, given(of_b, other)?),
            None => Matched::One(scenario.clone(), DiffStatus::OnlyA),
        });
    }
    let only = theirs.keys().filter(|scenario| !ours.contains_key(*scenario));
    all.extend(only.map(|scenario| Matched::One(scenario.clone(), DiffStatus::OnlyB)));
    Ok(all)
}

/// A baseline; its swept paths are those of the scenario that it was saved of.
fn of_baseline(finder: Finder<'_>, label: &str, path: &Path) -> Result<Given, Failure> {
    let mut diagnostics = Diagnostics::new();
    let Some(saved) = baseline::read(&mut diagnostics, finder.library.shipped, path) else {
        finder.terminal.diagnostics(&diagnostics);
        return Err(Failure::Said(diagnostics.exit_code()));
    };
    let plan = plan_of(finder.library, &saved).map_err(|diagnostics| {
        finder.terminal.diagnostics(&diagnostics);
        let what = format!("the scenario in `{}` cannot be read", quote(label));
        Failure::from(Problem::new(&codes::DIFF_SIDES, what).help("save the baseline anew"))
    })?;
    let names: Vec<&str> = plan.sweep.axes.iter().map(|axis| axis.path.as_str()).collect();
    let result = saved.result(&names, &plan.title);
    let inputs = Inputs::of_resolved(&resolved::identity(&plan).resolved);
    let inputs = inputs.on_machines_of(path, &saved.machines);
    let stored = Stored { kind: "baseline", result, work: saved.work, inputs, plan: Ok(plan) };
    Ok(Given { label: label.to_owned(), source: Source::Stored(Box::new(stored)) })
}

/// The scenario of this name where it is still the one that was saved, for its figures; else what the
/// baseline keeps of it.
fn plan_of(library: &Library, saved: &Baseline) -> Result<Plan, Diagnostics> {
    let file = format!("scenarios/{}.json", saved.scenario);
    let library = || library.clone();
    let named = Request { scenario: file.clone(), library: library(), ..Request::default() };
    if let Some(plan) = plan::load(&named).0
        && fits(&plan, saved, true).is_ok()
    {
        return Ok(plan);
    }
    let (definition, overrides) = saved.kept();
    let text = Some(definition.to_string());
    let library = library();
    let (plan, diagnostics) =
        plan::load(&Request { scenario: file, overrides, library, text, ..Request::default() });
    plan.ok_or(diagnostics)
}

/// A results directory.
fn results(finder: Finder<'_>, label: &str, directory: &Path) -> Result<Given, Failure> {
    let (manifest, text) = store::finished(directory, "points.csv")?;
    let read = read_points(&text)
        .map_err(|why| Problem::new(&codes::DAMAGED, format!("`{}`: {why}", quote(label))))?;
    let plan = plan_again(finder.library, &manifest);
    let mut known: BTreeMap<usize, PointResult> =
        read.into_iter().map(|point| (point.index, point)).collect();
    let points = manifest.points.iter().enumerate().map(|(index, digest)| {
        let params = |plan: &Plan| plan.points.get(index).map(|point| point.params.clone());
        let point = known.remove(&index).unwrap_or_else(|| {
            // Without a metric: it did not finish.
            PointResult::at(index, plan.as_ref().ok().and_then(params).unwrap_or_default())
        });
        PointResult { digest: digest.clone(), ..point }
    });
    let result = RunResult {
        scenario: manifest.scenario.clone(),
        title: manifest.resolved["title"].as_str().unwrap_or(&manifest.scenario).to_owned(),
        version: manifest.version.clone(),
        digest: manifest.digest.clone(),
        points: points.collect(),
        claims: Vec::new(),
        what_if: Vec::new(),
    };
    let inputs = Inputs::of_resolved(&manifest.resolved);
    let stored = Stored { kind: "results", result, work: Work::new(), inputs, plan };
    Ok(Given { label: label.to_owned(), source: Source::Stored(Box::new(stored)) })
}

/// The plan that made the results, if it reads today as it did then.
fn plan_again(library: &Library, manifest: &Manifest) -> Result<Plan, String> {
    let request = Request {
        scenario: format!("scenarios/{}.json", manifest.scenario),
        overrides: manifest.overrides.clone(),
        library: library.clone(),
        text: Some(manifest.scenario_text.clone()),
        ..Request::default()
    };
    let Some(plan) = plan::load(&request).0 else {
        return Err("its scenario cannot be read without the files it names".to_owned());
    };
    let now = Inputs::of_resolved(&resolved::identity(&plan).resolved);
    let changes = Inputs::of_resolved(&manifest.resolved).changes(&now);
    if changes.is_empty() {
        return Ok(plan);
    }
    let changes = inputs::in_words(&changes);
    Err(format!("its scenario means something else today: {changes}"))
}
