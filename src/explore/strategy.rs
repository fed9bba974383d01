//! The strategies, and what is made of a failure: its explanation, its point of no return, its
//! fewest choices.

use std::fmt::Write as _;

use super::report::{Explored, Failed, Stopped, StoryStep};
use super::subject::{Start, Subject};
use super::{MayFail, Options, Size, Strategy};
use protocols::contract::{Machine, Program};
use runtime::explore::{
    self, Failure, Pct, Rule, Scope, Stop, Story, Survey, drive, failure_of, search, shrink, tell,
    walk,
};
use runtime::monitors::buffers::Lends;
use runtime::untimed::states::Known;
use runtime::untimed::{Choice, CrashReport, Outcome, World};

/// Tries the orders that the options ask for.
pub(super) fn explore<M: Machine, P: Program<M>>(start: &Start<M, P>, options: &Options) -> Explored
where
    M::Call: Lends,
{
    match options.strategy {
        Strategy::Exhaustive => exhaustive(start, options),
        Strategy::Walk => {
            let draw = |world: &mut World<M, P>, schedule: u32| {
                walk(world, options.seed, u64::from(schedule), options.steps)
            };
            one_by_one(start, options, draw)
        }
        Strategy::Pct { depth } => {
            // How long a run is, as a first one tells.
            let length = drive(&mut start.begin(MayFail::default()), options.steps, |_| Some(0))
                .choices
                .len();
            let draw = |world: &mut World<M, P>, schedule: u32| {
                let mut pct = Pct::new(options.seed, schedule, depth, length);
                drive(world, options.steps, |choices| pct.pick(choices))
            };
            one_by_one(start, options, draw)
        }
    }
}

fn exhaustive<M: Machine, P: Program<M>>(start: &Start<M, P>, options: &Options) -> Explored
where
    M::Call: Lends,
{
    let rule = if options.reduce { Rule::Alone } else { Rule::Nothing };
    let scope = Scope { states: options.states, memory: options.memory, rule, stop: options.stop };
    let first = start.begin(options.faults);
    let known = if options.by_name { Known::ByName } else { Known::ByPlace };
    let survey = search(&first, scope, known, start.judge());
    let mut explored = Explored {
        states: survey.states,
        transitions: survey.transitions,
        depth: survey.depth,
        finals: survey.finals,
        diagnosed: survey.diagnosed,
        memory: survey.memory,
        stopped: why_stopped(&survey),
        sometimes: survey.sometimes,
        ..Explored::default()
    };
    for (_, way) in &survey.diagnoses {
        let end = tell(&first, way).expect("it is a way of this world").end;
        explored.diagnoses.extend(struck(&end));
    }
    for (failure, way, point) in failures(survey) {
        explored.failures.push(failed(start, options, &failure, &way, point));
    }
    explored
}

/// Why a search did not come to its end, if so.
fn why_stopped(survey: &Survey) -> Option<Stopped> {
    if survey.complete {
        None
    } else if survey.interrupted {
        Some(Stopped::Asked)
    } else if survey.out_of_memory {
        Some(Stopped::Memory)
    } else {
        Some(Stopped::States)
    }
}

/// How a fault of the environment ended a run; `None` where none did.
fn struck<M: Machine, P: Program<M>>(world: &World<M, P>) -> Option<String>
where
    M::Call: Lends,
{
    let report = world.crash_report().map(|report| report.to_string());
    report.or_else(|| world.gave_up().map(|gave_up| gave_up.to_string()))
}

/// Every failure of a survey, with the shortest way to it and its point of no return.
fn failures(survey: Survey) -> Vec<(Failure, Vec<Choice>, Option<usize>)> {
    let laws = survey.violations.into_iter().map(|(one, way)| (Failure::Law(one), way, None));
    let faults = survey.faults.into_iter().map(|(one, way)| (Failure::Fault(one), way, None));
    let point = survey.point_of_no_return;
    let dead = survey.way_to_dead.map(|way| (Failure::Deadlock, way, point));
    let livelock = survey.way_to_livelock.map(|way| {
        let point = way.len();
        (Failure::Livelock, way, Some(point))
    });
    laws.chain(faults).chain(dead).chain(livelock).collect()
}

/// Runs one by one, until one fails.
fn one_by_one<M: Machine, P: Program<M>>(
    start: &Start<M, P>,
    options: &Options,
    run: impl Fn(&mut World<M, P>, u32) -> explore::Walk,
) -> Explored
where
    M::Call: Lends,
{
    let mut explored = Explored::default();
    let first = start.begin(options.faults);
    for schedule in 0..options.schedules {
        if options.stop.is_some_and(Stop::came) {
            explored.stopped = Some(Stopped::Asked);
            return explored;
        }
        let mut world = first.clone();
        let walk = run(&mut world, schedule);
        explored.schedules += 1;
        explored.transitions += walk.choices.len();
        explored.depth = explored.depth.max(walk.choices.len());
        explored.sometimes = explored.sometimes.plus(world.sometimes());
        if let Some(failure) = failure_of(&world, start.judge()) {
            let class = failure.class();
            // The fewest choices, and no longer than it takes.
            let shrunk =
                shrink(&first, &walk.choices, &class, limit(walk.choices.len()), start.judge());
            let way = shrunk.map_or(walk.choices, |forced| forced.run);
            let (way, point) = cut(&first, way, &failure);
            explored.failures.push(failed(start, options, &failure, &way, point));
            return explored;
        }
        match walk.outcome {
            Outcome::Finished if world.gave_up().is_none() => explored.finals += 1,
            Outcome::Running => explored.unfinished += 1,
            Outcome::Finished | Outcome::Stuck | Outcome::Faulted(_) => {
                explored.diagnosed += 1;
                if explored.diagnoses.is_empty() {
                    explored.diagnoses.extend(struck(&world));
                }
            }
        }
    }
    explored
}

/// Steps that a shrunk run may take: as many as the run itself, and a fair tail.
const fn limit(steps: usize) -> usize {
    if steps < 500 { 1_000 } else { 2 * steps }
}

/// States that are searched for whether a good end can still be reached.
const BEYOND: Scope = Scope { states: 50_000, memory: usize::MAX, rule: Rule::Nothing, stop: None };

/// Where a failure could no longer be avoided; a livelock's way ends there.
fn cut<M: Machine, P: Program<M>>(
    first: &World<M, P>,
    mut way: Vec<Choice>,
    failure: &Failure,
) -> (Vec<Choice>, Option<usize>)
where
    M::Call: Lends,
{
    let point = match failure {
        Failure::Deadlock | Failure::Livelock => point_of_no_return(first, &way),
        Failure::Law(_) | Failure::Fault(_) => None,
    };
    if let (Failure::Livelock, Some(point)) = (failure, point) {
        way.truncate(point);
    }
    (way, point)
}

/// How many choices of a way that ends badly lead to the first state without a good end; `None`
/// where the states beyond are too many to tell. Once lost, a run stays lost: halving finds it.
fn point_of_no_return<M: Machine, P: Program<M>>(
    first: &World<M, P>,
    way: &[Choice],
) -> Option<usize>
where
    M::Call: Lends,
{
    let is_lost = |taken: usize| {
        let world = tell(first, &way[..taken]).ok()?.end;
        let beyond = search(&world, BEYOND, Known::ByPlace, |_| None);
        if beyond.finals + beyond.diagnosed > 0 {
            return Some(false);
        }
        beyond.complete.then_some(true)
    };
    let (mut low, mut high) = (0, way.len());
    while low < high {
        let middle = low + (high - low) / 2;
        if is_lost(middle)? { high = middle } else { low = middle + 1 }
    }
    Some(low)
}

fn failed<M: Machine, P: Program<M>>(
    start: &Start<M, P>,
    options: &Options,
    failure: &Failure,
    way: &[Choice],
    point_of_no_return: Option<usize>,
) -> Failed
where
    M::Call: Lends,
{
    let first = start.begin(options.faults);
    let class = failure.class();
    let story = tell(&first, way).expect("it is a way of this world");
    let shrunk = shrink(&first, way, &class, limit(way.len()), start.judge());
    let forced = shrunk.map(|shrunk| {
        let story = tell(&first, &shrunk.run).expect("it is a way of this world");
        let mut wanted = shrunk.forced.iter().peekable();
        let all = shrunk.run.iter().zip(&story.steps);
        // Forced choices come first, in their order.
        all.take_while(|(choice, _)| wanted.next_if_eq(choice).is_some())
            .map(|(_, told)| told.words.clone())
            .collect()
    });
    Failed {
        explanation: explain(&story.end, Some(failure)),
        steps: steps(&story),
        point_of_no_return,
        forced,
        choices: story.steps.iter().map(|step| step.index).collect(),
        end: story.end.fingerprint(),
        size: None,
        class,
    }
}

pub(super) fn steps<M: Machine, P: Program<M>>(story: &Story<M, P>) -> Vec<StoryStep> {
    let step = |told: &explore::StoryEvent| StoryStep {
        words: told.words.clone(),
        position: told.position,
    };
    story.steps.iter().map(step).collect()
}

/// A failure in words, with who waits for whom.
pub(super) fn explain<M: Machine, P: Program<M>>(
    world: &World<M, P>,
    failure: Option<&Failure>,
) -> String
where
    M::Call: Lends,
{
    let Some(failure) = failure else {
        let report = struck(world);
        return report.unwrap_or_else(|| "nothing is wrong at the end of this run".to_owned());
    };
    let mut words = format!("{failure}\n");
    if let Failure::Livelock = failure {
        words += &spinners(world);
    }
    if let Failure::Deadlock = failure {
        if let Some(victim) = world.crash().victim() {
            let _ = writeln!(
                words,
                "process {} died, and not every survivor is known to wait for it",
                victim.0
            );
        }
        let waits = world.deadlock().map(|deadlock| deadlock.to_string());
        words += &waits.unwrap_or_default();
    }
    words
}

/// Steps in turn of all ranks, after which a rank that goes on for ever does nothing else.
const IN_TURN: usize = 1_000;

/// The calls that ask for ever after a livelock.
fn spinners<M: Machine, P: Program<M>>(world: &World<M, P>) -> String
where
    M::Call: Lends,
{
    let later = explore::forced(world, &[], IN_TURN).world;
    let Some(asked) = later.asked_for_ever() else { return String::new() };
    match later.crash().victim() {
        Some(victim) => CrashReport::new(victim, asked).to_string(),
        None => asked.to_string(),
    }
}

/// The same failures in the smallest job in which they show: fewer ranks and operations first.
///
/// `build` gives the job of a size; `None` where there is none.
pub fn smallest(
    found: &mut Explored,
    size: Size,
    least: u32,
    options: &Options,
    build: impl Fn(Size) -> Option<Box<dyn Subject>>,
) {
    for failed in &mut found.failures {
        failed.size = Some(size);
    }
    let mut sizes: Vec<Size> = (least..=size.ranks)
        .flat_map(|ranks| (1..=size.ops).map(move |ops| Size { ranks, ops }))
        .filter(|smaller| *smaller != size)
        .collect();
    sizes.sort_by_key(|size| (size.ranks * size.ops, size.ranks));
    for smaller in sizes {
        if found.failures.iter().all(|failed| failed.size != Some(size)) {
            break;
        }
        let Some(subject) = build(smaller) else { continue };
        for mut failed in subject.explore(options).failures {
            let mut open = found.failures.iter_mut();
            let known = open.find(|one| one.class == failed.class && one.size == Some(size));
            if let Some(known) = known {
                failed.size = Some(smaller);
                *known = failed;
            }
        }
    }
}
