//! The family `programs`: programs of the workload `program` that expect what a real library returned.
//!
//! A case is run in both runtimes, and each schedule connects its processes in another way. In the family
//! `programs_variance` two libraries differ: there the answer is whose program the simulator passes.

mod read;

use std::collections::BTreeMap;

pub(super) use read::{RawCase, RawDisputed};

use super::family::Judged;
use super::verdict::{Followed, Mismatch, Wrong};
use experiment::library::Library;
use experiment::plan::{self, Plan, Request};
use experiment::shipped::Shipped;
use form::diagnostic::Diagnostic;

/// A world that can run the program of a scenario.
pub trait World {
    /// Runs the only point of a plan to its end, under one of many schedules.
    ///
    /// # Errors
    ///
    /// What is wrong at its end, or why it has none; a world of messages alone has no scenarios.
    fn program(&self, plan: &Plan, schedule: u64) -> Result<(), String> {
        Err(format!("a world without scenarios, asked for schedule {schedule} of `{}`", plan.title))
    }
}

/// How the processes of a job are connected.
struct Way {
    /// Whether each is on a node of its own; else all are on one.
    apart: bool,
    /// The options under which the scenario runs.
    overrides: &'static [&'static str],
}

/// In turn: the messages of the recorded programs are eager, and in rendezvous of each kind.
const WAYS: [Way; 6] = [
    Way { apart: false, overrides: &[] },
    Way { apart: true, overrides: &[] },
    Way {
        apart: false,
        overrides: &["mpi.eager_threshold_intra=0 B", "mpi.rendezvous_intra=rget"],
    },
    Way { apart: true, overrides: &["mpi.eager_threshold=0 B", "mpi.rendezvous=rget"] },
    Way {
        apart: false,
        overrides: &["mpi.eager_threshold_intra=256 KiB", "mpi.collectives.preset=mpich-4"],
    },
    Way {
        apart: true,
        overrides: &["mpi.eager_threshold=16 B", "mpi.collectives.preset=openmpi-4.1"],
    },
];

/// One recorded program.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the file.
    pub id: u64,
    scenario: Scenario,
    /// Where its machine is found.
    shipped: Shipped,
}

/// A program, and what it returns on libraries that differ.
#[derive(Clone, Debug)]
pub struct Disputed {
    /// Its number in the file.
    pub id: u64,
    /// The program as each library passes it, by the library's name.
    pub results: BTreeMap<String, Case>,
}

/// The text of a scenario.
#[derive(Clone, Debug)]
struct Scenario {
    text: String,
    /// Rank and number of the statement in each line of the text, both from 0.
    statements: Vec<Option<(usize, usize)>>,
    ranks: usize,
    /// Whether the program is one of processes on one node.
    on_one_node: bool,
}

impl Case {
    /// The plan in which its processes are connected in one way.
    fn plan(&self, way: &Way) -> Result<Plan, String> {
        let nodes = if way.apart { self.scenario.ranks } else { 1 };
        let mut overrides = vec![format!("nodes={nodes}")];
        overrides.extend(way.overrides.iter().map(|&one| one.to_owned()));
        let text = Some(self.scenario.text.clone());
        let scenario = format!("case {}", self.id);
        let library = Library { shipped: self.shipped, ..Library::default() };
        let request = Request { scenario, overrides, library, text, ..Request::default() };
        let (plan, reports) = plan::load(&request);
        plan.ok_or_else(|| reports.sorted().first().map_or_else(String::new, |one| problem(one)))
    }

    fn broken<W: World>(&self, world: &W, schedule: u64) -> Option<String> {
        let ways = WAYS.iter().filter(|way| !(way.apart && self.scenario.on_one_node));
        let ways: Vec<&Way> = ways.collect();
        let way = usize::try_from(schedule % ways.len() as u64).expect("there are few ways");
        let ran = self.plan(ways[way]).and_then(|plan| world.program(&plan, schedule));
        ran.err().map(|why| self.scenario.in_statements(&why))
    }
}

impl<W: World> Judged<W> for Case {
    const IS_SCHEDULED: bool = true;

    fn mismatch(&self, world: &W, schedule: u64) -> Option<Mismatch> {
        let wrong = Wrong::Stopped(self.broken(world, schedule)?);
        Some(Mismatch { case: self.id, schedule: Some(schedule), wrong })
    }
}

impl Disputed {
    /// Whom the simulator follows under all of these schedules.
    pub(super) fn followed(&self, world: &impl World, schedules: u64) -> Followed {
        let passes =
            |case: &Case| (0..schedules).all(|schedule| case.broken(world, schedule).is_none());
        let libraries = self.results.iter().filter(|(_, case)| passes(case));
        let libraries = libraries.map(|(library, _)| library.clone()).collect();
        Followed { case: self.id, libraries }
    }
}

impl Scenario {
    /// The words of a report in which statements are words by rank and number instead of by lines of this text.
    fn in_statements(&self, report: &str) -> String {
        let mut parts = report.split("line ");
        let mut words = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let digits = part.len() - part.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = part.split_at(digits);
            let line = number.parse().ok().and_then(|line: usize| line.checked_sub(1));
            let statement = line.and_then(|line| *self.statements.get(line)?);
            if let Some((_, statement)) = statement {
                let rest = rest
                    .strip_prefix(", column ")
                    .map_or(rest, |rest| rest.trim_start_matches(|c: char| c.is_ascii_digit()));
                words.push_str(&["statement ", &statement.to_string(), rest].concat());
            } else {
                words.push_str("line ");
                words.push_str(part);
            }
        }
        words
    }
}

fn problem(one: &Diagnostic) -> String {
    format!("`{}`: {}; {}", one.path, one.found, one.allowed)
}

#[cfg(test)]
mod tests;
