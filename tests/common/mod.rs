//! What whole-run tests share: profiles read from `models/`, and jobs with defaults.
#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::print_stdout, reason = "the sizes of explorations are of interest")]
#![allow(clippy::unwrap_used, reason = "a test may stop where it stands")]

use std::collections::VecDeque;

use mpisim::engine::Options;
use mpisim::hardware::core::{Pinning, Scheme};
use mpisim::hardware::pace::Pace;
use mpisim::hardware::profile::{Parameter, Profile, ProfileBuilder};
use mpisim::hardware::topology::Shape;
use mpisim::protocols::call::{Call, Reply};
use mpisim::protocols::contract::{Next, Program};
use mpisim::protocols::library::{Endpoints, Library};
use mpisim::runtime::explore::{Drift, Final, Survey, compare, replay};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::{Connections, Ending, Outcome, Ran};
use mpisim::workloads::job::{Disturbance, Job, MpiOptions};
use mpisim::workloads::mutex::{Cycles, Pauses};

/// The profile in `models/<name>.json`, with some parameters replaced.
pub(crate) fn model(name: &str, changes: &[(&str, &str)]) -> Profile {
    let mut builder = numbers(name);
    for (path, text) in changes {
        let parameter = Parameter::find(path).unwrap();
        builder.set(path, parameter.kind.parse(text).unwrap()).unwrap();
    }
    builder.build().unwrap()
}

/// The numbers of a model, and of the one that it extends.
fn numbers(name: &str) -> ProfileBuilder {
    let path = format!("{}/models/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    let file: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut builder = file["extends"].as_str().map_or_else(ProfileBuilder::new, numbers);
    let mut set = |path: &str, text: &str| {
        let parameter = Parameter::find(path).unwrap();
        builder.set(path, parameter.kind.parse(text).unwrap()).unwrap();
    };
    for (section, members) in file.as_object().unwrap() {
        let Some(members) = members.as_object() else { continue };
        for (name, member) in members {
            let value = &member["value"];
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            set(&format!("{section}.{name}"), &text);
        }
    }
    builder
}

/// `models/ideal.json` with some parameters replaced.
pub(crate) fn ideal(changes: &[(&str, &str)]) -> Profile {
    model("ideal", changes)
}

/// A job of these programs on two nodes, with every default of a scenario and real payload.
pub(crate) fn job<P>(profile: Profile, programs: Vec<P>) -> Job<P> {
    Job {
        profile,
        shape: Shape::default(),
        nodes: 2,
        threads: 1,
        endpoints: Endpoints::default(),
        scheme: Scheme::Block,
        pinning: Pinning::Scatter,
        duplicates: 0,
        selves: false,
        mpi: MpiOptions { payload: Payload::Real, ..MpiOptions::default() },
        pace: Pace::NONE,
        disturbance: Disturbance::default(),
        seed: 1,
        options: Options::default(),
        record: true,
        step_by_step: false,
        planted: None,
        programs,
    }
}

/// Runs a job.
pub(crate) fn run<P: Program<Library>>(job: Job<P>) -> Outcome {
    job.run().unwrap().outcome
}

/// Runs the job and takes its choices over the bridge.
pub(crate) fn cross<P: Program<Library>>(job: Job<P>) -> Result<Ran<Library, P>, Drift> {
    let mut world = job.untimed().unwrap();
    let threads = usize::from(job.threads);
    let ran = job.run().unwrap();
    replay(&mut world, &ran.outcome.choices)?;
    let programs = ran.programs.chunks(threads).map(|programs| programs.iter().collect());
    let run = Final {
        processes: ran.machines.iter().zip(programs).collect(),
        memories: &ran.memories,
        ended: ran.outcome.ending == Ending::Finished,
    };
    compare(&world, &ran.outcome.choices, &run)?;
    Ok(ran)
}

/// A program that makes these steps one after the other, whatever its calls return.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(crate) struct Script(VecDeque<Next<Call>>);

impl Script {
    pub(crate) fn of(steps: Vec<Next<Call>>) -> Self {
        Self(steps.into())
    }
}

impl Program<Library> for Script {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        self.0.pop_front().unwrap_or(Next::End)
    }

    fn forks(&self) -> bool {
        self.0.contains(&Next::Fork)
    }
}

impl Script {
    /// These steps, one after the other.
    pub(crate) fn new(steps: impl IntoIterator<Item = Next<Call>>) -> Self {
        Self(steps.into_iter().collect())
    }
}

/// Runs one script a process on two nodes of `profile`.
pub(crate) fn play(profile: Profile, scripts: Vec<Vec<Next<Call>>>) -> Outcome {
    play_connected(profile, Connections::PerPeer, scripts)
}

/// The same with other channels.
pub(crate) fn play_connected(
    profile: Profile,
    connections: Connections,
    scripts: Vec<Vec<Next<Call>>>,
) -> Outcome {
    let programs: Vec<Script> = scripts.into_iter().map(|steps| Script(steps.into())).collect();
    let mut job = job(profile, programs);
    job.mpi.connections = connections;
    finished(run(job))
}

/// The outcome, if the run came to its end and broke no law.
#[track_caller]
pub(crate) fn finished(outcome: Outcome) -> Outcome {
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
    outcome
}

/// When `process` marked `mark`, in picoseconds.
#[track_caller]
pub(crate) fn at(outcome: &Outcome, process: u32, mark: u32) -> u64 {
    let found =
        outcome.marks.iter().find(|found| found.process.0 == process && found.number == mark);
    found.expect("the process marks this moment").at.as_ps()
}

/// How long a resource was busy, in picoseconds.
#[track_caller]
pub(crate) fn busy_time(outcome: &Outcome, resource: &str) -> u64 {
    let found = outcome.resources.iter().find(|used| used.name == resource);
    found.expect("the machine has this resource").stats.busy.as_ps()
}

/// So many cycles of a mutex, in which others may come at any point.
pub(crate) fn lingering(cycles: u32) -> Cycles {
    Cycles {
        cycles,
        inside: 0,
        outside: 0,
        marks: false,
        lingers: true,
        no_check: false,
        shared: false,
        pauses: Pauses::default(),
    }
}

/// Prints how large an exploration was, and what it found.
pub(crate) fn tell(what: &str, survey: &Survey) {
    let Survey { states, transitions, finals, .. } = survey;
    println!("{what}: {states} states, {transitions} transitions, {finals} final");
    let faults = survey.faults.iter().map(|(fault, way)| (fault.to_string(), way));
    let broken = survey.violations.iter().map(|(broken, way)| (broken.to_string(), way));
    let doomed = survey.way_to_doomed.iter().map(|way| ("doomed:".to_owned(), way));
    for (found, way) in faults.chain(broken).chain(doomed) {
        println!("{found}");
        for choice in way {
            println!("    {choice}");
        }
    }
}
