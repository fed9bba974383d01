//! The simulator's own library as a world for the vectors: the untimed runtime under random
//! schedules.
//!
//! Each schedule number also stands for one way to connect the processes, so that a few schedules
//! already meet every path that a message can take.

use std::sync::Arc;

use super::collectives::{self, Taking};
use super::matching::{self, Finished, Sent};
use super::{one_sided, programs};
use ::explore::scenario::subject;
use ::explore::{Options, Strategy};
use engine::Keep;
use experiment::plan::Plan;
use experiment::run::run_point;
use language::program::{Does, ProgramStream, Programs, Record, Step};
use mpi::communicator::Communicators;
use protocols::call::Call;
use protocols::contract::{Process, Program, Region, Space, Thread};
use protocols::library::{Job, Library, SharedJob};
use protocols::rendezvous::{Cooperation, Protocol, Scheme};
use runtime::explore::{self, Walk};
use runtime::memory::{Memories, Payload};
use runtime::untimed::{self, Outcome};
use units::Bytes;

/// The library under the untimed runtime.
#[derive(Clone, Copy, Debug)]
pub struct Simulated {
    /// Which family of schedules.
    pub seed: u64,
}

type Untimed = untimed::World<Library, ProgramStream>;

/// Eager thresholds, in turn: next to nothing, some messages of the vectors, all of them.
const THRESHOLDS: [u64; 3] = [16, 4096, 1 << 20];

/// More steps than any recorded program takes: a run that is longer makes no progress.
const STEPS_MAX: usize = 1_000_000;

impl matching::World for Simulated {
    fn run(&self, programs: &Programs, schedule: u64) -> Result<Box<dyn Finished>, String> {
        let mut world = start(programs, job(programs.size(), schedule));
        let walk = explore::walk(&mut world, self.seed, schedule, STEPS_MAX);
        match defect(&walk, &world) {
            Some(defect) => Err(defect),
            None => Ok(Box::new(world)),
        }
    }
}

impl collectives::World for Simulated {
    fn collective(&self, ranks: &[Taking], schedule: u64) -> Result<Vec<Vec<u8>>, String> {
        let step = |taking: &Taking| {
            let call = Call::Collective(Arc::new(taking.call.clone()));
            Step::new(1, Does::Call(call))
        };
        let programs = Programs::checked(ranks.iter().map(|one| [step(one)].into()).collect());
        let mut world = start(&programs, job(programs.size(), schedule));
        let buffers = |taking: &Taking| [taking.call.input, taking.call.output];
        for (rank, taking) in ranks.iter().enumerate() {
            for (region, bytes) in buffers(taking).into_iter().zip([&taking.input, &taking.output])
            {
                world.store(process(rank), region, bytes);
            }
        }
        let walk = explore::walk(&mut world, self.seed, schedule, STEPS_MAX);
        if let Some(defect) = defect(&walk, &world) {
            return Err(defect);
        }
        let result = |(rank, taking): (usize, &Taking)| {
            world.memories().bytes(process(rank), taking.call.output)
        };
        Ok(ranks.iter().enumerate().map(result).collect())
    }
}

impl one_sided::World for Simulated {
    fn one_sided(&self, case: &one_sided::Case, schedule: u64) -> Result<Memories, String> {
        let programs = case.programs();
        // Every settings meets every way to connect the processes.
        let nodes = schedule / one_sided::SETTINGS.len() as u64 + schedule;
        let job = Job { rma: case.settings(schedule), ..job(programs.len(), nodes) };
        let job = SharedJob::new(job);
        let library = |rank| Library::new(job.clone(), process(rank));
        let processes = programs.into_iter().enumerate();
        let processes = processes.map(|(rank, program)| (library(rank), vec![program])).collect();
        let mut world = untimed::World::new(processes, Payload::Real);
        let walk = explore::walk(&mut world, self.seed, schedule, STEPS_MAX);
        match defect(&walk, &world) {
            Some(defect) => Err(format!("{}: {defect}", case.settings(schedule))),
            None => Ok(world.memories().clone()),
        }
    }
}

impl programs::World for Simulated {
    /// First in simulated time, then untimed in one random order of events.
    fn program(&self, plan: &Plan, schedule: u64) -> Result<(), String> {
        let [point] = &plan.points[..] else { return Err("there are several points".to_owned()) };
        let (timed, _) = run_point(point, Keep::Nothing).map_err(|why| why.to_string())?;
        if let Some(failure) = timed.failure {
            return Err(format!("timed: {failure}"));
        }
        let subject = subject(plan).map_err(|why| why.to_string())?;
        let (strategy, seed) = (Strategy::Walk, self.seed.wrapping_add(schedule));
        let options =
            Options { schedules: 1, steps: STEPS_MAX, strategy, seed, ..Options::default() };
        let explored = subject.explore(&options);
        match explored.failures.first() {
            Some(failed) => Err(format!("untimed: {}: {}", failed.class, failed.explanation)),
            None if explored.finals == 1 => Ok(()),
            None => Err(format!("untimed: no end after {STEPS_MAX} steps")),
        }
    }
}

impl Finished for Untimed {
    fn records(&self, rank: usize) -> &[Record] {
        self.program(process(rank), Thread(0)).records()
    }

    /// A send buffer holds its message, or the inverse of it once the send is complete.
    fn holds(&self, rank: usize, buffer: u32, bytes: u64, message: &Sent) -> bool {
        let read = |rank, buffer| {
            self.memories().bytes(process(rank), Region::new(Space::User(buffer), bytes))
        };
        let (received, sent) = (read(rank, buffer), read(message.rank, message.buffer));
        received == sent || received.iter().zip(&sent).all(|(one, other)| *one == !*other)
    }
}

fn process(rank: usize) -> Process {
    Process(u32::try_from(rank).expect("a case has few ranks"))
}

/// How the processes of a schedule are connected: nodes, protocol and thresholds in turn.
fn job(size: usize, schedule: u64) -> Job {
    let pick = |stride: u64, choices: usize| {
        usize::try_from(schedule / stride % choices as u64).expect("below the number of choices")
    };
    let node = |rank: u32| match pick(1, 3) {
        0 => 0,
        1 => rank,
        _ => rank / 2,
    };
    // RTR refuses to cancel a receive on offer, which some cases do.
    let near = Protocol::ALL.iter().copied().filter(|protocol| *protocol != Protocol::Rtr);
    let near: Vec<Protocol> = near.collect();
    let crossing = near.iter().copied().filter(|protocol| protocol.crosses_nodes());
    let crossing: Vec<Protocol> = crossing.collect();
    let protocols = near.len();
    let threshold = Bytes::new(THRESHOLDS[pick(3 * protocols as u64, THRESHOLDS.len())]);
    Job {
        communicators: Communicators::standard(process(size).0),
        node_of: (0..process(size).0).map(node).collect(),
        threads: vec![1; size],
        endpoints: protocols::library::Endpoints::default(),
        rendezvous: crossing[pick(3, crossing.len())],
        cooperation: Cooperation::by(Scheme::Fixed(near[pick(3, protocols)])),
        eager_inter: threshold,
        eager_intra: threshold,
        header: Bytes::new(64),
        control: Bytes::new(64),
        cell: Bytes::new(8192),
        cells: 4,
        adapters: false,
        partitioned: protocols::partitioned::Grouping::default(),
        vcis: protocols::library::Vcis::default(),
        rma: protocols::rma::Settings::default(),
    }
}

fn start(programs: &Programs, job: Job) -> Untimed {
    let job = SharedJob::new(job);
    let library = |rank| Library::new(job.clone(), process(rank));
    let processes = (0..programs.size()).map(|rank| (library(rank), vec![programs.stream(rank)]));
    Untimed::new(processes.collect(), Payload::Real)
}

/// Why a run is not one of a correct library under correct programs; `None` where it is.
fn defect<P: Program<Library>>(walk: &Walk, world: &untimed::World<Library, P>) -> Option<String> {
    let broken = || walk.violations.first().map(ToString::to_string);
    match &walk.outcome {
        Outcome::Finished => broken(),
        Outcome::Faulted(fault) => Some(fault.to_string()),
        Outcome::Running => broken().or_else(|| Some(format!("no end after {STEPS_MAX} steps"))),
        Outcome::Stuck => broken().or_else(|| {
            let deadlock = world.deadlock().map(|deadlock| deadlock.to_string());
            deadlock.or_else(|| Some("nothing can happen any more".to_owned()))
        }),
    }
}
