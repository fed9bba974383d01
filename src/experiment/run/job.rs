//! From a point of a plan to a job: the last step before something runs.

use super::end;
use crate::host;
use crate::plan::{Addressing, PlacementOrder, Point};
use ::xios_ep::library::{Counts, EpLibrary, EpThread};
use engine::{JournalMode, Keep, LimitReached, Limits, Options};
use hardware::core::Scheme;
use hardware::pace::Pace;
use protocols::library::{Endpoints, Library, Longest, Progress, Queues, Threading};
use runtime::device::{self, bytes::Bytes};
use runtime::memory::Payload;
use runtime::memory_use::MemoryUse;
use runtime::timed::{Ending, Outcome, Ran};
use units::Time;
use workloads::agent::Assisted;
use workloads::job::{AnyProgram, Disturbance, Job, JobError};
use workloads::packing::Packing;
use workloads::xios_ep::{self, Rules};

/// The job of a point, without the progress threads that it may have.
pub fn build(point: &Point) -> Job {
    let noise = point.noise.os_noise.as_ref().map(|noise| (noise.period, noise.length));
    Job {
        profile: point.machine.profile.clone(),
        shape: point.topology,
        nodes: point.used_nodes(),
        threads: point.threads,
        pinning: point.placement.pinning,
        duplicates: match point.addressing {
            Addressing::Process
            | Addressing::Partitioned
            | Addressing::Endpoints(_)
            | Addressing::EndpointLibrary => 0,
            Addressing::Duplicated => point.threads,
        },
        selves: point.workload.combines_threads(&point.ranks())
            || point.workload.runs_real_processes(),
        endpoints: endpoints(point),
        scheme: match point.placement.order {
            PlacementOrder::Block => Scheme::Fill(point.placement.per_node),
            PlacementOrder::RoundRobin => Scheme::Cyclic,
        },
        mpi: point.mpi.clone(),
        pace: Pace::NONE,
        disturbance: Disturbance {
            start_skew: point.noise.start_skew,
            os_noise: noise,
            faults: point.faults.clone(),
        },
        seed: point.seed,
        options: options(point),
        record: false,
        step_by_step: false,
        planted: None,
        programs: point.workload.programs(&point.ranks()),
    }
}

/// The limit of memory that a job passes before anything of it is built.
pub fn too_large(point: &Point) -> Option<LimitReached> {
    let processes = u64::from(point.placement.processes);
    let held = MemoryUse::at_start(processes, processes * u64::from(point.threads));
    held.beyond(host::memory_of(point.limits).0, 0)
}

/// Runs the job of a point; returns its outcome, and the notes of its libraries.
///
/// # Errors
///
/// [`JobError`] where it does not fit the machine.
pub fn run(point: &Point, keep: Keep) -> Result<(Outcome, Noted), JobError> {
    if let Some(packing) = point.workload.packing() {
        let noted = Noted { longest: Longest::of(&[]), endpoints: None, programs: Vec::new() };
        let mut setup = packed(point, packing);
        keep_causes(&mut setup.options, keep);
        return Ok((device::run(setup), noted));
    }
    let mut job = build(point);
    keep_causes(&mut job.options, keep);
    if point.addressing == Addressing::EndpointLibrary {
        let mut ran = job.run_over_xios_ep(Rules::default())?;
        if ran.outcome.ending == Ending::Finished {
            let programs = ran.programs.iter().map(EpThread::program);
            ran.outcome.violations.extend(end::broken(point, programs, &ran.memories));
            ran.outcome.violations.extend(end::unmeasured(&ran.outcome));
        }
        let longest = Longest::of(ran.machines.iter().map(EpLibrary::mpi));
        let endpoints = Some(xios_ep::counts(&ran));
        return Ok((ran.outcome, Noted { longest, endpoints, programs: Vec::new() }));
    }
    if point.progress_thread {
        return Ok(noted(point, without_agents(job.run_assisted()?)));
    }
    let contents = end::contents(point, job.mpi.payload);
    Ok(noted(point, job.run_from(&contents)?))
}

/// The run as its ranks see it.
fn without_agents(ran: Ran<Library, Assisted<AnyProgram>>) -> Ran<Library, AnyProgram> {
    let Ran { outcome, machines, programs, memories } = ran;
    let programs = programs.into_iter().filter_map(Assisted::into_program).collect();
    Ran { outcome, machines, programs, memories }
}

/// The outcome of a run with the violations that its programs found, and the notes of its libraries.
fn noted(point: &Point, mut ran: Ran<Library, AnyProgram>) -> (Outcome, Noted) {
    let longest = Longest::of(&ran.machines);
    if ran.outcome.ending == Ending::Finished {
        ran.outcome.violations.extend(end::broken(point, &ran.programs, &ran.memories));
        ran.outcome.violations.extend(end::unmeasured(&ran.outcome));
    }
    (ran.outcome, Noted { longest, endpoints: None, programs: ran.programs })
}

/// A run of which only some events are wanted keeps these and stops after them.
fn keep_causes(options: &mut Options, keep: Keep) {
    options.causes = keep;
    if let Keep::Events(first, last) = keep {
        options.journal = Some(JournalMode::Between(first, last));
        options.limits.events = options.limits.events.min(last);
    }
}

/// The run of a packing.
fn packed(point: &Point, packing: &Packing) -> device::Setup {
    let bytes = point.mpi.payload == Payload::Real;
    device::Setup {
        profile: point.machine.profile.clone(),
        layout: packing.layout.clone(),
        threads_per_block: packing.threads_per_block,
        programs: packing.programs().expect("the plan was checked for it"),
        take_turns: packing.take_turns(),
        bytes: bytes.then(|| Bytes::new(&packing.layout, packing.task)),
        options: options(point),
    }
}

fn options(point: &Point) -> Options {
    Options {
        limits: Limits {
            events: point.limits.events,
            time: Time::ZERO + point.limits.time,
            memory: host::memory_of(point.limits).0,
        },
        ..Options::default()
    }
}

/// The notes of the libraries of a run.
#[derive(Clone, Debug)]
pub struct Noted {
    /// Their longest queues.
    pub longest: Longest,
    /// Counts of the endpoint library, where there is one.
    pub endpoints: Option<Counts>,
    /// The programs of the ranks at their end; none over the endpoint library.
    pub programs: Vec<AnyProgram>,
}

fn endpoints(point: &Point) -> Endpoints {
    let Addressing::Endpoints(options) = point.addressing else {
        let combines = point.workload.combines_threads(&point.ranks());
        return if combines { inside_a_process(point.threads) } else { Endpoints::default() };
    };
    let counts = vec![point.threads; point.placement.processes as usize];
    Endpoints {
        lanes: options.nic_contexts,
        queues: options.queues,
        progress: options.progress,
        threading: options.threading,
        allow_none: false,
        at_start: options.at_start.then_some(counts),
    }
}

/// The endpoints of a team that combines in its process: they share memory, and no lock.
fn inside_a_process(threads: u16) -> Endpoints {
    Endpoints {
        lanes: threads,
        queues: Queues::Own,
        progress: Progress::Independent,
        threading: Threading::One,
        ..Endpoints::default()
    }
}
