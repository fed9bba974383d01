//! How a run failed, and the fewest choices that make it fail so.

use std::fmt;

use super::{Scope, search};
use crate::monitors::Violation;
use crate::monitors::buffers::Lends;
use crate::rules::{Defect, Fault};
use crate::untimed::states::Known;
use crate::untimed::{Choice, Outcome, World};
use protocols::contract::{Machine, Program};

/// How a run failed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Failure {
    /// A law was broken.
    Law(Violation),
    /// A protocol has a defect.
    Fault(Fault),
    /// Nothing can happen any more, and a program has not ended.
    Deadlock,
    /// Something happens for ever, and no program can end any more.
    Livelock,
}

impl Failure {
    /// Kind of the failure, which shrinking preserves.
    pub fn class(&self) -> String {
        match self {
            Self::Law(violation) => format!("law {}", violation.id),
            Self::Fault(Fault { defect: Defect::Refused(error), .. }) => {
                format!("refusal by {}", error.machine)
            }
            Self::Fault(Fault { defect: Defect::Broke(_), .. }) => "broken contract".to_owned(),
            Self::Deadlock => "deadlock".to_owned(),
            Self::Livelock => "livelock".to_owned(),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Law(violation) => violation.fmt(f),
            Self::Fault(fault) => fault.fmt(f),
            Self::Deadlock => {
                f.write_str("deadlock: nothing can happen any more, and not every program ended")
            }
            Self::Livelock => {
                f.write_str("livelock: from here on no order of events ends the programs")
            }
        }
    }
}

/// The states that are searched from where a run was cut off, before it is called a livelock.
/// Method: where there are more, the run is not called one.
const BEYOND: Scope =
    Scope { states: 200_000, memory: usize::MAX, rule: super::Rule::Nothing, stop: None };

/// How the run that led to this state failed; `None` where it did not, as far as is known.
///
/// A run that was cut off has failed only where the whole graph of states from there on, which
/// must be small, has no end: an unfair order alone is no livelock.
pub fn failure_of<M: Machine, P: Program<M>>(
    world: &World<M, P>,
    judge: impl Fn(&World<M, P>) -> Option<Violation>,
) -> Option<Failure>
where
    M::Call: Lends,
{
    if let Some(violation) = world.violations().first() {
        return Some(Failure::Law(violation.clone()));
    }
    match world.outcome() {
        Outcome::Faulted(fault) => Some(Failure::Fault(fault)),
        Outcome::Finished | Outcome::Stuck if world.gave_up().is_some() => None,
        Outcome::Finished if world.crash().victim().is_some() => None,
        Outcome::Finished => {
            let mut found = world.conclude().into_iter().chain(judge(world));
            found.next().map(Failure::Law)
        }
        Outcome::Stuck => world.crash_report().is_none().then_some(Failure::Deadlock),
        Outcome::Running => {
            let beyond = search(world, BEYOND, Known::ByPlace, judge);
            let endless = beyond.complete && beyond.livelocked == beyond.states;
            let broken = !beyond.violations.is_empty() || !beyond.faults.is_empty();
            (endless && !broken).then_some(Failure::Livelock)
        }
    }
}

/// A run by some choices and, after them, all threads in turn.
#[derive(Clone, Debug)]
pub struct Forced<M: Machine, P: Program<M>> {
    /// The choices that were requested and could be made.
    pub forced: Vec<Choice>,
    /// All choices of the run.
    pub run: Vec<Choice>,
    /// Where it ended.
    pub world: World<M, P>,
}

/// Makes those of `wanted` that can be made when their turn comes, then lets the processes act in
/// turn, up to `limit` choices in all.
pub fn forced<M: Machine, P: Program<M>>(
    start: &World<M, P>,
    wanted: &[Choice],
    limit: usize,
) -> Forced<M, P>
where
    M::Call: Lends,
{
    let mut world = start.clone();
    let stops = |world: &World<M, P>| !world.violations().is_empty() || world.fault().is_some();
    let mut made = Vec::new();
    for &choice in wanted {
        if stops(&world) {
            break;
        }
        if world.apply(choice).is_ok() {
            made.push(choice);
        }
    }
    let mut turns = Turns::default();
    let tail = if stops(&world) {
        Vec::new()
    } else {
        let limit = limit.saturating_sub(made.len());
        super::drive(&mut world, limit, |choices| turns.pick(choices)).choices
    };
    let run = made.iter().copied().chain(tail).collect();
    Forced { forced: made, run, world }
}

/// A fair order: process by process, and of each process one choice after the other.
#[derive(Clone, Debug, Default)]
struct Turns {
    next: u32,
    taken: Vec<usize>,
}

impl Turns {
    fn pick(&mut self, choices: &[Choice]) -> Option<usize> {
        let acting = || choices.iter().filter(|choice| !choice.is_fault());
        let processes = || acting().map(|choice| choice.process().0);
        let due = processes().filter(|&process| process >= self.next).min();
        let process = due.or_else(|| processes().min())?;
        let own: Vec<usize> = (0..choices.len())
            .filter(|&at| !choices[at].is_fault() && choices[at].process().0 == process)
            .collect();
        let place = process as usize;
        if self.taken.len() <= place {
            self.taken.resize(place + 1, 0);
        }
        let index = own[self.taken[place] % own.len()];
        self.taken[place] += 1;
        self.next = process + 1;
        Some(index)
    }
}

/// Leaves out every choice of `run` without which the failure of this class still comes, by delta
/// debugging; `None` where the run does not fail so.
pub fn shrink<M: Machine, P: Program<M>>(
    start: &World<M, P>,
    run: &[Choice],
    class: &str,
    limit: usize,
    judge: impl Fn(&World<M, P>) -> Option<Violation>,
) -> Option<Forced<M, P>>
where
    M::Call: Lends,
{
    let fails = |wanted: &[Choice]| {
        let forced = forced(start, wanted, limit);
        let failure = failure_of(&forced.world, &judge);
        failure.is_some_and(|failure| failure.class() == class).then_some(forced)
    };
    if let Some(nothing) = fails(&[]) {
        return Some(nothing);
    }
    let mut best = fails(run)?;
    let mut size = best.forced.len().div_ceil(2);
    while size > 0 {
        let mut first = 0;
        let before = best.forced.len();
        while first < best.forced.len() {
            let last = (first + size).min(best.forced.len());
            let fewer = [&best.forced[..first], &best.forced[last..]].concat();
            match fails(&fewer) {
                Some(forced) if forced.forced.len() < best.forced.len() => best = forced,
                Some(_) | None => first = last,
            }
        }
        // Again with pieces of one as long as that leaves something out.
        if size > 1 || best.forced.len() == before {
            size /= 2;
        }
    }
    Some(best)
}
