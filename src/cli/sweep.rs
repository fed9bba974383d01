//! `mpisim sweep`, and `mpisim run --on`: the points of a sweep by several processes, each where an
//! engine for tasks puts it, and gathered to the bytes that one process would have written.

mod engine;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(super) use engine::Engine;

use super::args::{Format, GatherArguments, PlanArguments, PointArguments, RunArguments};
use super::crash::{command_line, internal};
use super::files::{self, Again};
use super::points::{jobs, progress};
use super::programs;
use super::resolved;
use super::run::{self as local, printed};
use super::scenario::{load, request};
use super::show::counted;
use super::signals::Interrupt;
use super::terminal::{Failure, Outcome, Problem, Terminal, print};
use experiment::claim::figures::Figure;
use experiment::library::Library;
use experiment::plan::{self, Plan, Point, Request};
use experiment::results::PointResult;
use experiment::run::{self, RunError, RunOptions};
use experiment::store::{Mode, Opening, Spread, Store, SweepRequest};
use form::codes;

/// Tasks of a sweep, unless an option sets the points of each.
const TASKS: usize = 64;

/// Missing points that a command names.
const FEW: usize = 8;

/// Writes a plan.
pub(super) fn plan(terminal: Terminal, arguments: &PlanArguments) -> Outcome {
    let asked = Wanted {
        scenario: &arguments.scenario,
        changes: &arguments.changes,
        seed: arguments.seed,
        chunk: arguments.chunk,
        command: local::command(&arguments.scenario, &arguments.changes, arguments.seed),
    };
    let (spread, _) = asked.create(terminal, &arguments.out)?;
    let (points, tasks) = (counted(spread.points(), "point"), counted(spread.chunks(), "task"));
    print(&format!("{points} in {tasks}: {}\n", arguments.out.display()))?;
    Ok(0)
}

/// A scenario to be spread over tasks.
struct Wanted<'a> {
    scenario: &'a str,
    changes: &'a super::args::Changes,
    seed: Option<u64>,
    chunk: Option<usize>,
    command: String,
}

impl Wanted<'_> {
    fn create(&self, terminal: Terminal, directory: &Path) -> Result<(Spread, Plan), Failure> {
        let request = request(self.scenario, self.changes, self.seed)?;
        let plan = load(terminal, &request)?;
        let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let is_file = Path::new(self.scenario).symlink_metadata().is_ok();
        let scenario = if is_file {
            absolute(Path::new(self.scenario)).display().to_string()
        } else {
            self.scenario.to_owned()
        };
        let asked = SweepRequest {
            scenario,
            overrides: request.overrides,
            models: self.changes.models.as_deref().map(absolute),
            command: self.command.clone(),
        };
        let points = plan.points.len();
        let chunk = self.chunk.unwrap_or_else(|| points.div_ceil(TASKS));
        let spread = Spread::create(directory, resolved::identity(&plan), asked, points, chunk)?;
        Ok((spread, plan))
    }
}

/// The plan of a directory, made again from what it says and found to be the same.
fn opened(terminal: Terminal, directory: &Path) -> Result<(Spread, Plan), Failure> {
    let spread = Spread::open(directory)?;
    let asked = spread.asked();
    let models = asked.models.clone().into_iter().collect();
    let plan = load(
        terminal,
        &Request {
            scenario: asked.scenario.clone(),
            overrides: asked.overrides.clone(),
            library: Library { models, ..shipped::library() },
            ..Request::default()
        },
    )?;
    spread.check(&resolved::identity(&plan), plan.points.len())?;
    Ok((spread, plan))
}

/// Runs the points of one task, or those named; points that are there stay.
pub(super) fn point(terminal: Terminal, arguments: &PointArguments) -> Outcome {
    let (spread, plan) = opened(terminal, &arguments.plan)?;
    programs::may_run(&plan, arguments.allow_exec)?;
    let wanted = wanted_points(&spread, arguments)?;
    let mut open = BTreeSet::new();
    for index in &wanted {
        if spread.read(*index)?.is_none() {
            open.insert(*index);
        }
    }
    let there = wanted.len() - open.len();
    let points: Vec<&Point> =
        plan.points.iter().filter(|point| open.contains(&point.index)).collect();
    let advice = "run the command again".to_owned();
    let interrupt = Interrupt::listen(terminal, advice);
    if !points.is_empty() {
        programs::tell(terminal, [&plan]);
    }
    let bar = progress(terminal, points.len());
    interrupt.keeps(there, wanted.len());
    let mut keep = |point: &PointResult| {
        bar.inc(1);
        spread.write(point)?;
        interrupt.keeps_one();
        Ok(())
    };
    let options = RunOptions { jobs: jobs(arguments.jobs), explain: false, stop: &interrupt.stop };
    let ran = run::run_points(&plan::runs(&points), options, &mut keep);
    bar.finish_and_clear();
    ran.map_err(|error| failure(error, &interrupt))?;
    if interrupt.came() {
        return Err(Failure::Said(interrupt.stopped()));
    }
    print(&format!("{} run, {there} there already\n", counted(open.len(), "point")))?;
    Ok(0)
}

fn wanted_points(spread: &Spread, arguments: &PointArguments) -> Result<Vec<usize>, Failure> {
    let refused = |what: String| Failure::from(Problem::new(&codes::USAGE, what));
    if let Some(task) = arguments.task {
        let points = spread.chunk(task);
        if points.is_empty() {
            let tasks = spread.chunks();
            return Err(refused(format!("there is no task {task}: {tasks} are numbered from 0")));
        }
        return Ok(points.collect());
    }
    if arguments.points.is_empty() {
        return Err(refused("name points, or a task by `--task`".to_owned()));
    }
    if let Some(wrong) = arguments.points.iter().find(|index| **index >= spread.points()) {
        let points = spread.points();
        return Err(refused(format!("there is no point {wrong}: {points} are numbered from 0")));
    }
    Ok(arguments.points.clone())
}

fn failure(error: RunError, interrupt: &Interrupt) -> Failure {
    if interrupt.came() {
        return Failure::Said(interrupt.stopped());
    }
    match error {
        RunError::Store(error) => error.into(),
        RunError::Stopped { .. } => Failure::Said(interrupt.stopped()),
        error @ RunError::Internal { .. } => {
            internal(&error.to_string(), "mpisim sweep point").into()
        }
    }
}

/// Makes the results directory of a sweep whose points are all there.
pub(super) fn gather(terminal: Terminal, arguments: &GatherArguments) -> Outcome {
    let (spread, plan) = opened(terminal, &arguments.plan)?;
    let default = || Path::new("results").join(&plan.name);
    let out = arguments.out.clone().unwrap_or_else(default);
    if plan.figures.iter().any(|figure| matches!(figure, Figure::Messages(_))) {
        // Their point runs once more.
        programs::may_run(&plan, arguments.allow_exec)?;
    }
    gather_into(terminal, &spread, &plan, &out, arguments.format)
}

fn gather_into(
    terminal: Terminal,
    spread: &Spread,
    plan: &Plan,
    out: &Path,
    format: Format,
) -> Outcome {
    let (points, missing) = spread.gathered()?;
    if !missing.is_empty() {
        let (count, of) = (missing.len(), spread.points());
        let what = format!("{count} of {of} points are missing: {}", ranges(&missing));
        let plan = spread.directory().display().to_string();
        let points = missing.iter().take(FEW).map(ToString::to_string);
        let command = ["sweep", "point", &plan].map(str::to_owned).into_iter().chain(points);
        let command = command_line(command);
        let more = if missing.len() > FEW { " and so on" } else { "" };
        let help = format!("run them by `{command}`{more}; those that are there are kept");
        return Err(Problem::new(&codes::POINTS_MISSING, what).help(help).into());
    }
    local::keeps_results(out, files::names(plan, false), plan)?;
    let result = run::gather(plan, points);
    let identity = resolved::identity(plan);
    let store = match Store::open(out, identity, Mode::Fresh, &files::names(plan, false))? {
        Opening::Ready(store, notes) => {
            for note in &notes {
                terminal.note(note);
            }
            store
        }
        Opening::NothingToDo(_) => return Ok(0),
    };
    let command = spread.asked().command.clone();
    let again = Again { command, to_the_digest: !local::is_measured_here(plan) };
    let files = files::files(plan, &result, &again, None)?;
    let exit = local::verdict(terminal, &result, &files, format);
    store.finish(&result, &files.files)?;
    print(&printed(plan, &result, format)?)?;
    local::tell_where(terminal, format, out);
    Ok(exit)
}

/// Numbers in ranges: `3, 7-9`.
fn ranges(numbers: &[usize]) -> String {
    let runs = numbers.chunk_by(|left, right| left + 1 == *right);
    let each = runs.map(|run| match run {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    each.collect::<Vec<_>>().join(", ")
}

/// Refuses options whose answer no file of a point keeps.
fn refuse_what_one_process_shows(arguments: &RunArguments) -> Result<(), Failure> {
    let given = [
        ("--explain", arguments.explain),
        ("--what-if", !arguments.what_if.is_empty()),
        ("--trace", arguments.trace.is_some()),
        ("--sequence", arguments.sequence.is_some()),
    ];
    match given.into_iter().find(|(_, given)| *given) {
        None => Ok(()),
        Some((option, _)) => {
            let what =
                format!("`{option}` and `--on` contradict each other: tasks keep results only");
            let help = "leave `--on` out; `--set` narrows the sweep to the points of interest";
            Err(Problem::new(&codes::USAGE, what).help(help).into())
        }
    }
}

/// The job of a plan whose scenario the command has named: its tasks may run what stands there.
fn job_of(
    plan: &Plan,
    directory: &Path,
    out: &Path,
    tasks: usize,
    jobs: Option<usize>,
) -> Result<engine::Job, Failure> {
    let mut options = jobs.map_or_else(String::new, |jobs| format!(" --jobs {jobs}"));
    let mut last = String::new();
    if plan.points.iter().any(|point| point.workload.runs_real_processes()) {
        last = format!(" {}", programs::ALLOW);
        options.push_str(&last);
    }
    engine::Job::new(directory, out, tasks, [options, last])
}

/// `run --on`: plans, hands the tasks to an engine, gathers.
pub(super) fn elsewhere(terminal: Terminal, arguments: &RunArguments, engine: Engine) -> Outcome {
    refuse_what_one_process_shows(arguments)?;
    let wanted = Wanted {
        scenario: &arguments.scenario,
        changes: &arguments.changes,
        seed: arguments.seed,
        chunk: arguments.chunk,
        command: local::command(&arguments.scenario, &arguments.changes, arguments.seed),
    };
    let plan = load(terminal, &request(wanted.scenario, wanted.changes, wanted.seed)?)?;
    let default = || Path::new("results").join(&plan.name);
    let out = arguments.out.clone().unwrap_or_else(default);
    let mut directory = out.clone().into_os_string();
    directory.push(".sweep");
    let directory = PathBuf::from(directory);
    if arguments.dry_run {
        let points = plan.points.len();
        let chunk = arguments.chunk.unwrap_or_else(|| points.div_ceil(TASKS));
        let job = job_of(&plan, &directory, &out, points.div_ceil(chunk), arguments.jobs)?;
        print(&job.commands(engine))?;
        return Ok(0);
    }
    let (spread, plan) = wanted.create(terminal, &directory)?;
    let job = job_of(&plan, &directory, &out, spread.chunks(), arguments.jobs)?;
    match engine {
        Engine::Hq => {
            engine::run(&job.submit(engine))?;
            gather_into(terminal, &spread, &plan, &out, arguments.format)
        }
        Engine::Slurm => {
            let first = engine::run(&job.submit(engine))?;
            let id = engine::slurm_id(&first)?;
            let second = engine::run(&job.gather(&id))?;
            let gathering = engine::slurm_id(&second)?;
            print(&format!(
                "submitted {} as job {id}; job {gathering} gathers them into {}\n",
                counted(spread.chunks(), "task"),
                out.display()
            ))?;
            Ok(0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_that_follow_each_other_are_one_range() {
        assert_eq!(ranges(&[3, 7, 8, 9, 11, 12]), "3, 7-9, 11-12");
        assert_eq!(ranges(&[]), "");
    }
}
