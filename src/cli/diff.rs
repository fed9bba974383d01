//! `mpisim diff`: two runs, two baselines or two choices; where they part, and whose time moved.

mod files;
mod side;

use std::fmt::Write as _;
use std::path::PathBuf;

use super::args::{CheckFormat, DiffArguments};
use super::crash::{command_line, internal};
use super::mpi_library;
use super::points::{jobs, progress};
use super::programs::{self, ALLOW};
use super::show::counted;
use super::signals::Interrupt;
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use experiment::attribution::{self, Shift, Work};
use experiment::diff::{Closer, Difference, Pair, SideName, Sides};
use experiment::inputs::{Change, Inputs};
use experiment::plan::Plan;
use experiment::results::RunResult;
use experiment::run::events::{Traced, parting, traced};
use experiment::run::{self, PointError, RunError, RunOptions};
use files::Files;
use form::codes;
use report::diff::{diff_text, short_text};
use report::json::diff::{DiffStatus, DiffedScenario, diff_json};
use side::{Given, Matched, Source};

/// A side with its results.
struct Side {
    name: SideName,
    result: RunResult,
    inputs: Inputs,
    work: Work,
    plan: Result<Plan, String>,
    /// Whether its results were there before.
    is_kept: bool,
}

/// Compares the sides that the arguments name.
pub(super) fn diff(terminal: Terminal, arguments: &DiffArguments) -> Outcome {
    let matched = side::matched(terminal, arguments)?;
    check_point(arguments, &matched)?;
    let inputs: Vec<PathBuf> = matched.iter().flat_map(inputs_of).cloned().collect();
    let files = arguments.out.as_deref().map(|folder| Files::open(folder, &inputs)).transpose()?;
    programs::tell(terminal, matched.iter().flat_map(plans_to_run));
    let interrupt = Interrupt::listen(terminal, "nothing was compared".to_owned());
    let points = matched.iter().flat_map(plans_to_run).map(|plan| plan.points.len()).sum();
    let bar = progress(terminal, points);
    let ran = matched.into_iter().map(|one| {
        let (a, b) = match one {
            Matched::One(name, status) => return Ok(Ran::One(name, status)),
            Matched::Both(a, b) => (a, b),
        };
        let tick = || bar.inc(1);
        Ok(Ran::Both(Box::new([
            simulate(arguments, a, &interrupt, &tick)?,
            simulate(arguments, b, &interrupt, &tick)?,
        ])))
    });
    let ran = ran.collect::<Result<Vec<Ran>, Failure>>()?;
    bar.finish_and_clear();
    let reports = ran.iter().map(|one| report(arguments, one, &interrupt));
    let reports = reports.collect::<Result<Vec<Report<'_>>, Failure>>()?;
    if let Some(files) = files {
        files.write(arguments, &reports)?;
    }
    print(&match arguments.format {
        CheckFormat::Human => human(&reports),
        CheckFormat::Json => diff_json(reports.iter().map(Report::document).collect())?,
    })?;
    Ok(u8::from(!reports.iter().all(Report::is_same)))
}

/// A scenario whose sides have their results.
enum Ran {
    Both(Box<[Side; 2]>),
    One(String, DiffStatus),
}

/// Remarks about a scenario.
enum Report<'a> {
    Both(Box<Difference<'a>>, &'a [Side; 2]),
    One(&'a str, DiffStatus),
}

impl Report<'_> {
    fn is_same(&self) -> bool {
        matches!(self, Self::Both(difference, _) if difference.sides.is_same())
    }

    fn document(&self) -> DiffedScenario {
        match self {
            Self::Both(difference, _) => DiffedScenario::new(difference),
            Self::One(name, status) => DiffedScenario::of_one_side((*name).to_owned(), *status),
        }
    }
}

fn human(reports: &[Report<'_>]) -> String {
    let each = reports.iter().map(|one| match one {
        Report::Both(difference, _) if reports.len() > 1 && one.is_same() => {
            short_text(&difference.scenario, DiffStatus::Same)
        }
        Report::Both(difference, _) => diff_text(difference),
        Report::One(name, status) => short_text(name, *status),
    });
    let mut text = each.collect::<String>();
    if reports.len() > 1 {
        let same = reports.iter().filter(|one| one.is_same()).count();
        let (all, other) = (counted(reports.len(), "scenario"), reports.len() - same);
        let _ = writeln!(text, "{all}: {same} same, {other} not");
    }
    text
}

/// `--point` must be a point of A that B has as well.
fn check_point(arguments: &DiffArguments, matched: &[Matched]) -> Result<(), Failure> {
    let Some(index) = arguments.point else { return Ok(()) };
    let refused = |what: String| Err(Failure::from(Problem::new(&codes::USAGE, what)));
    let [Matched::Both(a, b)] = matched else {
        return refused("`--point` needs sides of one scenario".to_owned());
    };
    let (left, right) = (a.skeleton(), b.skeleton());
    let count = left.points.len();
    if index >= count {
        return refused(format!("A has no point {index}: its {count} are numbered from 0"));
    }
    let sides = Sides::new(&left, &right).map_err(|why| side::refusal(&why))?;
    match named_pair(&sides, index) {
        Some(_) => Ok(()),
        None => refused(format!("B has no point with the swept values of point {index} of A")),
    }
}

/// The pair with this point of A, if B has it as well.
fn named_pair<'a, 'b>(sides: &'b Sides<'a>, index: usize) -> Option<&'b Pair<'a>> {
    sides.pairs.iter().find(|pair| {
        pair.points[0].is_some_and(|point| point.index == index) && pair.points[1].is_some()
    })
}

/// The plans whose points run for their results.
fn plans_to_run(matched: &Matched) -> impl Iterator<Item = &Plan> {
    matched.sides().into_iter().filter_map(|given| match &given.source {
        Source::Run(plan) => Some(&**plan),
        Source::Stored(_) => None,
    })
}

/// The files that a run of either side executes or reads.
fn inputs_of(matched: &Matched) -> impl Iterator<Item = &PathBuf> {
    let plans = matched.sides().into_iter().filter_map(|given| match &given.source {
        Source::Run(plan) => Some(&**plan),
        Source::Stored(stored) => stored.plan.as_ref().ok(),
    });
    plans.flat_map(|plan| &plan.files)
}

/// Runs the sides that have no results yet.
fn simulate(
    arguments: &DiffArguments,
    given: Given,
    interrupt: &Interrupt,
    tick: &(dyn Fn() + Sync),
) -> Result<Side, Failure> {
    let inputs = given.inputs();
    let is_kept = matches!(given.source, Source::Stored(_));
    let (kind, result, work, plan) = match given.source {
        Source::Stored(stored) => (stored.kind, stored.result, stored.work, stored.plan),
        Source::Run(plan) => {
            let stop = &interrupt.stop;
            let options = RunOptions { jobs: jobs(arguments.jobs), stop, explain: false };
            let ran = run::run(&plan, options, &[], &mut |_| {
                tick();
                Ok(())
            });
            let result = ran.map_err(|error| failure(error, &plan, arguments, interrupt))?;
            let work = attribution::work(&result.points);
            ("run", result, work, Ok(*plan))
        }
    };
    let (version, digest) = (result.version.clone(), result.digest.clone());
    let name = SideName { label: given.label, kind, version, digest };
    Ok(Side { name, result, inputs, work, plan, is_kept })
}

fn failure(
    error: RunError,
    plan: &Plan,
    arguments: &DiffArguments,
    interrupt: &Interrupt,
) -> Failure {
    if interrupt.came() {
        return Failure::Said(interrupt.stopped());
    }
    match error {
        RunError::Stopped { .. } => Failure::Said(interrupt.stopped()),
        RunError::Store(error) => error.into(),
        RunError::Internal { .. } => {
            let command = command_line(words(arguments));
            internal(&format!("{}: {error}", plan.name), &command).into()
        }
    }
}

/// The command again.
fn words(arguments: &DiffArguments) -> Vec<String> {
    let mut words = vec!["diff".to_owned(), arguments.a.clone()];
    words.extend(arguments.b.clone());
    let sets = [
        ("--set", &arguments.changes.set),
        ("--set-a", &arguments.set_a),
        ("--set-b", &arguments.set_b),
    ];
    for (flag, values) in sets {
        words.extend(values.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
    }
    let shown = |folder: &Option<PathBuf>| folder.as_ref().map(|it| it.display().to_string());
    let models = shown(&arguments.changes.models);
    let (models_a, models_b) = (shown(&arguments.models_a), shown(&arguments.models_b));
    let point = arguments.point.map(|point| point.to_string());
    let machine = arguments.machine.clone();
    for (flag, value) in [
        ("--machine", machine),
        ("--models", models),
        ("--models-a", models_a),
        ("--models-b", models_b),
        ("--point", point),
    ] {
        words.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
    words.extend(arguments.allow_exec.then(|| ALLOW.to_owned()));
    words
}

/// Lays the sides of a scenario beside each other, and looks at one point event by event.
fn report<'a>(
    arguments: &DiffArguments,
    ran: &'a Ran,
    interrupt: &Interrupt,
) -> Result<Report<'a>, Failure> {
    let sides = match ran {
        Ran::One(name, status) => return Ok(Report::One(name, *status)),
        Ran::Both(sides) => &**sides,
    };
    if interrupt.came() {
        return Err(Failure::Said(interrupt.stopped()));
    }
    let [a, b] = sides;
    let pairs = Sides::new(&a.result, &b.result).map_err(|why| side::refusal(&why))?;
    let pair = match arguments.point {
        Some(index) => named_pair(&pairs, index),
        None => pairs.most_different(),
    };
    let mut notes = Vec::new();
    let closer = match pair {
        Some(pair) => look_closer(arguments, sides, pair, &mut notes)?,
        None => None,
    };
    let scenario = if a.result.scenario == b.result.scenario {
        a.result.scenario.clone()
    } else {
        format!("{} and {}", a.result.scenario, b.result.scenario)
    };
    let names = [a.name.clone(), b.name.clone()];
    let work = work_moved(&pairs, sides);
    let inputs = inputs_that_differ(&pairs, sides);
    let difference = Difference { scenario, names, inputs, sides: pairs, work, closer, notes };
    Ok(Report::Both(Box::new(difference), sides))
}

/// Inputs that differ between the sides, without the axes that were chosen to differ: those have a line of their own.
fn inputs_that_differ(pairs: &Sides<'_>, [a, b]: &[Side; 2]) -> Vec<Change> {
    let mut changes = a.inputs.changes(&b.inputs);
    let chosen = |path: &str| {
        path.strip_prefix("sweep.")
            .is_some_and(|path| pairs.choices.iter().any(|one| one.path == path))
    };
    changes.retain(|change| !chosen(&change.path));
    changes
}

/// Parts whose work differs; nothing where a side keeps no work, or has points that the other
/// lacks.
fn work_moved(pairs: &Sides<'_>, [a, b]: &[Side; 2]) -> Vec<Shift> {
    let told = !a.work.is_empty() && !b.work.is_empty() && pairs.is_complete();
    if told { attribution::shifts(&b.work, &a.work) } else { Vec::new() }
}

/// Runs a point of both sides again, explained, and finds where they part.
fn look_closer(
    arguments: &DiffArguments,
    sides: &[Side; 2],
    pair: &Pair<'_>,
    notes: &mut Vec<String>,
) -> Result<Option<Closer>, Failure> {
    let [Some(left), Some(right)] = pair.points else { return Ok(None) };
    let untold = |letter: char, why: &str| format!("the events of {letter} cannot be told: {why}");
    let asked = [('A', &sides[0], left), ('B', &sides[1], right)];
    let kept = asked.iter().filter_map(|(letter, side, point)| {
        let command = programs::command(&side.plan.as_ref().ok()?.points[point.index])?;
        (side.is_kept && !arguments.allow_exec).then(|| {
            untold(
                *letter,
                &format!(
                    "kept results have none, and `{command}` runs for them with `{ALLOW}` only"
                ),
            )
        })
    });
    let before = notes.len();
    notes.extend(kept);
    if notes.len() > before {
        return Ok(None);
    }
    let mut both = Vec::new();
    for (letter, side, point) in asked {
        let untold = |why: &str| untold(letter, why);
        let plan = match &side.plan {
            Ok(plan) => plan,
            Err(why) => {
                notes.push(untold(why));
                continue;
            }
        };
        let planned = &plan.points[point.index];
        if planned.workload.runs_real_processes() {
            mpi_library::provide()?;
        }
        let again = match traced(planned) {
            Err(PointError::Limit(limit)) => {
                notes.push(untold(&limit.to_string()));
                continue;
            }
            again => again.map_err(|why| stopped(arguments, &why))?,
        };
        if again.result.digest == point.digest {
            both.push((planned, again));
        } else if again.result.limited {
            // What is noted counts for the limit of memory.
            notes.push(untold(again.result.failure.as_deref().unwrap_or_default()));
        } else {
            let (version, now) = (env!("CARGO_PKG_VERSION"), &again.result.digest);
            notes.push(untold(&format!(
                "this program, mpisim {version}, gives the point digest {now} and not {}, as it was \
                 made by mpisim {}",
                point.digest, side.name.version
            )));
        }
    }
    let Ok([(plan_a, a), (plan_b, b)]) = <[(_, Traced); 2]>::try_from(both) else {
        return Ok(None);
    };
    let found = parting((plan_a, &a), (plan_b, &b), arguments.context);
    Ok(Some(Closer {
        points: [left.index, right.index],
        params: pair.params.clone(),
        events: [a.events, b.events],
        explanations: [a.result.explanation, b.result.explanation],
        parting: found.map_err(|why| stopped(arguments, &why))?,
    }))
}

fn stopped(arguments: &DiffArguments, error: &PointError) -> Failure {
    internal(&error.to_string(), &command_line(words(arguments))).into()
}
