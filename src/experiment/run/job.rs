//! From a point of a plan to a job: the last step before something runs.

use std::sync::Arc;

use super::end;
use crate::collectives::Chosen;
use crate::host;
use crate::plan::connections::Connections;
use crate::plan::{
    Addressing, Lock, LongQueue, MpiOptions, Payload, Placement, PlacementOrder, Point, Topology,
    Workload,
};
use crate::program::{RankProgram, Statement, Step, Timer};
use engine::{JournalMode, Keep, LimitReached, Limits, Options};
use hardware::core::Scheme;
use hardware::topology::Shape;
use mpi::envelope::Rank;
use protocols::call::Call;
use protocols::collectives::Collective;
use protocols::library::{Endpoints, Library, Longest, Progress, Queues, Threading};
use protocols::xios_ep::library::{Counts, EpLibrary, EpThread};
use runtime::device::{self, bytes::Bytes};
use runtime::memory;
use runtime::memory_use::MemoryUse;
use runtime::timed::{self, Ending, Outcome, Ran};
use units::Time;
use workloads::agent::Assisted;
use workloads::backlog::{Backlog, Side};
use workloads::collective::Repeated;
use workloads::goal::calls::players;
use workloads::graph500::traffic::Totals;
use workloads::job::{AnyProgram, Disturbance, Job, JobError, draws, duplicate};
use workloads::packing::Packing;
use workloads::ping_pong::{END, PingPong, START};
use workloads::program::{self, Does, Programs};
use workloads::team::{self, Rounds};
use workloads::windowed::{Creation, Direction, Share, Windowed};
use workloads::xios_ep::{self, Rules};

/// The job of a point, without the progress threads that it may have.
pub fn build(point: &Point) -> Job {
    let MpiOptions {
        rendezvous,
        cooperation,
        kernel,
        counter_lag,
        eager_threshold,
        eager_threshold_intra,
        payload,
        connections,
        lock,
        rma,
    } = point.mpi.clone();
    let noise = point.noise.os_noise.map(|noise| (noise.period, noise.length));
    Job {
        profile: point.machine.profile.clone(),
        shape: shape(point.topology),
        nodes: nodes(point),
        threads: point.threads,
        pinning: point.placement.pinning,
        duplicates: match point.addressing {
            Addressing::Process | Addressing::Endpoints(_) | Addressing::EndpointLibrary => 0,
            Addressing::Duplicated => point.threads,
        },
        selves: funnels(point),
        endpoints: endpoints(point),
        scheme: match point.placement.order {
            PlacementOrder::Block => Scheme::Block,
            PlacementOrder::RoundRobin => Scheme::Cyclic,
        },
        rma,
        rendezvous,
        cooperation,
        kernel,
        counter_lag,
        eager_inter: Some(eager_threshold),
        eager_intra: Some(eager_threshold_intra),
        payload: match payload {
            Payload::Phantom => memory::Payload::Phantom,
            Payload::Real => memory::Payload::Real,
        },
        connections: match connections.how {
            Connections::PerPeer => timed::Connections::PerPeer,
            Connections::SharedReceiveQueue => timed::Connections::SharedReceiveQueue,
        },
        lock: match lock {
            Lock::Fair => timed::LockOrder::Fair,
            Lock::Unfair => timed::LockOrder::Unfair,
        },
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
        programs: programs(point),
    }
}

/// The limit of memory that a job passes before anything of it is built.
pub fn too_large(point: &Point) -> Option<LimitReached> {
    let processes = u64::from(point.placement.processes);
    let held = MemoryUse::at_start(processes, processes * u64::from(point.threads));
    held.beyond(host::memory_of(point.limits).0, 0)
}

/// Runs the job of a point: what it did, and what its libraries noted.
///
/// # Errors
///
/// [`JobError`] where it does not fit the machine.
pub fn run(point: &Point, keep: Keep) -> Result<(Outcome, Noted), JobError> {
    if let Workload::Packing(packing) = &point.workload {
        let none = Longest::of(&[]);
        let noted = Noted { longest: none, endpoints: None, looks: 0, search: None };
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
        }
        let longest = Longest::of(ran.machines.iter().map(EpLibrary::mpi));
        let endpoints = Some(xios_ep::counts(&ran));
        return Ok((ran.outcome, Noted { longest, endpoints, looks: 0, search: None }));
    }
    if point.progress_thread {
        return Ok(noted(point, without_agents(job.run_assisted()?)));
    }
    let contents = end::contents(point, job.payload);
    Ok(noted(point, job.run_from(&contents)?))
}

/// The run as its ranks see it.
fn without_agents(ran: Ran<Library, Assisted<AnyProgram>>) -> Ran<Library, AnyProgram> {
    let Ran { outcome, machines, programs, memories } = ran;
    let programs = programs.into_iter().filter_map(Assisted::into_program).collect();
    Ran { outcome, machines, programs, memories }
}

/// What the programs of a run found wrong joins its outcome; what its libraries noted.
fn noted(point: &Point, mut ran: Ran<Library, AnyProgram>) -> (Outcome, Noted) {
    let longest = Longest::of(&ran.machines);
    if ran.outcome.ending == Ending::Finished {
        ran.outcome.violations.extend(end::broken(point, &ran.programs, &ran.memories));
    }
    let looks = ran.programs.iter().map(AnyProgram::looks);
    let search = ran.programs.first().and_then(AnyProgram::search);
    (ran.outcome, Noted { longest, endpoints: None, looks: looks.sum(), search })
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

/// What the libraries of a run noted.
#[derive(Clone, Copy, Debug)]
pub struct Noted {
    /// Their longest queues.
    pub longest: Longest,
    /// What the endpoint library did, where there is one.
    pub endpoints: Option<Counts>,
    /// How often a pointer of a linked list was read.
    pub looks: u64,
    /// What a breadth-first search scanned and sent.
    pub search: Option<Totals>,
}

fn endpoints(point: &Point) -> Endpoints {
    let Addressing::Endpoints(options) = point.addressing else {
        return if funnels(point) { inside_a_process(point.threads) } else { Endpoints::default() };
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

/// What a team shares that combines in its process: memory, and no lock.
fn inside_a_process(threads: u16) -> Endpoints {
    Endpoints {
        lanes: threads,
        queues: Queues::Own,
        progress: Progress::Independent,
        threading: Threading::One,
        ..Endpoints::default()
    }
}

/// Both ranks of a pair on one node need no second one.
pub fn nodes(point: &Point) -> u32 {
    let Placement { processes, per_node, .. } = point.placement;
    if let Workload::Application(applied) = &point.workload {
        applied.application.nodes()
    } else if let Workload::OneSided(workload) = &point.workload {
        workload.nodes()
    } else if processes == per_node {
        1
    } else {
        point.nodes
    }
}

/// How the nodes of a point are wired.
pub fn shape(topology: Topology) -> Shape {
    match topology {
        Topology::Crossbar => Shape::Crossbar,
        Topology::FatTree { arity, levels, oversubscription } => {
            Shape::FatTree { arity, uplinks: (arity / oversubscription).max(1), levels }
        }
    }
}

fn programs(point: &Point) -> Vec<AnyProgram> {
    match &point.workload {
        Workload::PingPong { size, rounds, warmup, queue, .. } => {
            let (warmup, rounds, size) = (small(*warmup), small(*rounds), size.as_u64());
            let rank = |me: u32| {
                let program = PingPong::new(Rank(1 - me), me == 0, size, warmup, rounds);
                match backlog(*queue, me == 1, Rank(1 - me), size) {
                    Some(backlog) => program.with_backlog(backlog),
                    None => program,
                }
            };
            (0..2).map(|me| AnyProgram::PingPong(rank(me))).collect()
        }
        Workload::Bandwidth {
            size,
            window,
            rounds,
            warmup,
            pairs,
            one_buffer,
            bidirectional,
            ..
        } => {
            let (warmup, rounds) = (small(*warmup), small(*rounds));
            let direction = |me| match (bidirectional, me % 2) {
                (true, _) => Direction::Both,
                (false, 0) => Direction::Sends,
                (false, _) => Direction::Receives,
            };
            let rank = |me: u32| {
                // Neighbours are a pair; the even one sends.
                let peer = Rank(me ^ 1);
                let size = size.as_u64();
                let rank = Windowed::new(peer, direction(me), size, *window, warmup, rounds);
                let rank = if *one_buffer { rank.with_one_buffer() } else { rank };
                if *pairs > 1 { rank.with_common_start() } else { rank }
            };
            (0..2 * pairs).map(|me| AnyProgram::Windowed(rank(me))).collect()
        }
        Workload::MessageRate { .. } => message_rate(point),
        Workload::Collective { chosen, rounds, warmup, beside, .. } => {
            let (warmup, rounds) = (small(*warmup), small(*rounds));
            let call = Arc::new(placed(point, chosen));
            teams(point, &call, warmup, rounds).unwrap_or_else(|| {
                let rank = Repeated::new(call, warmup, rounds).beside(*beside);
                vec![AnyProgram::Collective(rank); point.placement.processes as usize]
            })
        }
        Workload::Tiles(tiles) => tiles.programs(),
        Workload::Packing(_) => unreachable!("a packing is no job of processes"),
        Workload::Application(applied) => {
            let reductions = applied.reductions.iter().map(|one| Arc::new(placed(point, one)));
            applied.application.programs(&*draws(point.seed), &reductions.collect::<Vec<_>>())
        }
        Workload::Gpu(workload) => workload.programs().into_iter().map(AnyProgram::Score).collect(),
        Workload::OneSided(workload) => workload.programs(),
        Workload::Goal(replayed) => {
            let players = players(&replayed.schedule).into_iter();
            players.map(|player| AnyProgram::Goal(Box::new(player))).collect()
        }
        Workload::Program(ranks) => {
            let programs = listed(point, ranks);
            (0..ranks.len()).map(|rank| AnyProgram::Program(programs.stream(rank))).collect()
        }
    }
}

/// Whether the threads of a process combine before one of them calls.
fn funnels(point: &Point) -> bool {
    matches!(point.workload, Workload::Collective { .. })
        && point.addressing == Addressing::Process
        && point.threads > 1
}

/// The threads of a collective; `None` where a process is one rank of one thread.
fn teams(
    point: &Point,
    call: &Arc<Collective>,
    warm_up: u32,
    measured: u32,
) -> Option<Vec<AnyProgram>> {
    let (processes, threads) = (point.placement.processes, point.threads);
    let rounds = Rounds { warm_up, measured };
    match point.addressing {
        Addressing::Endpoints(own) => {
            let creation = if own.at_start { Creation::Static } else { Creation::Dynamic };
            Some(team::by_endpoints(call, processes, threads, creation, rounds))
        }
        Addressing::EndpointLibrary => {
            // Each thread is a rank like any other, and none is created.
            let rank = Repeated::new(call.clone(), warm_up, measured);
            let threads = processes as usize * usize::from(threads);
            Some(vec![AnyProgram::Collective(rank); threads])
        }
        Addressing::Process | Addressing::Duplicated if threads == 1 => None,
        Addressing::Process | Addressing::Duplicated => {
            let teams = team::funnelled(call, processes, threads, rounds);
            Some(teams.expect("the plan was checked for it"))
        }
    }
}

/// All threads of all processes.
fn message_rate(point: &Point) -> Vec<AnyProgram> {
    let Workload::MessageRate { senders_per_node, size, window, rounds, warmup, both, queue } =
        point.workload
    else {
        unreachable!("asked for this workload only");
    };
    let (warmup, rounds, size) = (small(warmup), small(rounds), size.as_u64());
    let program = |process, thread| {
        let (peer, direction) = pair(point, process, senders_per_node, both);
        let peer = Rank(peer);
        let share = match point.addressing {
            Addressing::Process | Addressing::Endpoints(_) | Addressing::EndpointLibrary => {
                Share::tagged(thread)
            }
            Addressing::Duplicated => Share::on(thread, duplicate(thread)),
        };
        if point.addressing == Addressing::EndpointLibrary {
            // Each thread is a rank like any other: all are in the barrier, and none is created.
            let peer = Rank(peer.0 * u32::from(point.threads) + u32::from(thread));
            let program = Windowed::new(peer, direction, size, window, warmup, rounds);
            return AnyProgram::Windowed(program);
        }
        let (program, over) = if let Addressing::Endpoints(own) = point.addressing {
            let creation = if own.at_start { Creation::Static } else { Creation::Dynamic };
            // Ranks are grouped by process, in the order of threads.
            let peer = Rank(peer.0 * u32::from(point.threads) + u32::from(thread));
            let program = Windowed::new(peer, direction, size, window, warmup, rounds);
            (program.of_threads(point.threads, share).of_endpoints(creation), point.threads)
        } else {
            let program = Windowed::new(peer, direction, size, window, warmup, rounds);
            (program.of_threads(point.threads, share), 0)
        };
        let queue = queue.filter(|_| thread == 0);
        let first = Rank(peer.0 * u32::from(over.max(1)));
        let backlog = backlog(queue, direction == Direction::Receives, first, size);
        match backlog.map(|backlog| backlog.over(over)) {
            Some(backlog) => AnyProgram::Windowed(program.with_backlog(backlog)),
            None => AnyProgram::Windowed(program),
        }
    };
    let threads = |process| (0..point.threads).map(move |thread| (process, thread));
    let all = (0..point.placement.processes).flat_map(threads);
    all.map(|(process, thread)| program(process, thread)).collect()
}

/// The part of one rank in a long queue.
fn backlog(queue: Option<LongQueue>, holds: bool, peer: Rank, bytes: u64) -> Option<Backlog> {
    let side = if holds { Side::Holds } else { Side::Feeds };
    queue.map(|LongQueue { queue, length }| Backlog::new(queue, side, length, peer, bytes))
}

fn small(rounds: u64) -> u32 {
    u32::try_from(rounds).expect("the scenario's shape limits rounds")
}

/// Partner and direction of one process: the first half of the nodes is paired with the second,
/// and the i-th sender of a node has the i-th receiver of the other one.
fn pair(point: &Point, process: u32, senders: u32, both: bool) -> (u32, Direction) {
    let placement = &point.placement;
    let node = placement.node_of(process, point.nodes);
    let slot = placement.slot_of(process, point.nodes);
    let half = point.nodes / 2;
    let other = (node + half) % point.nodes;
    let (slot, direction) = match (both, slot < senders) {
        (true, true) => (slot + senders, Direction::Sends),
        (true, false) => (slot - senders, Direction::Receives),
        (false, _) if node < half => (slot, Direction::Sends),
        (false, _) => (slot, Direction::Receives),
    };
    (process_at(placement, point.nodes, other, slot), direction)
}

fn process_at(placement: &Placement, nodes: u32, node: u32, slot: u32) -> u32 {
    match placement.order {
        PlacementOrder::Block => node * placement.per_node + slot,
        PlacementOrder::RoundRobin => slot * nodes + node,
    }
}

/// The call, with the units of its ranks where they matter.
pub(super) fn placed(point: &Point, chosen: &Chosen) -> Collective {
    let node_of = |process| point.placement.node_of(process, point.nodes);
    let placed = chosen.placed(point.placement.processes, point.ranks_of_a_process(), node_of);
    placed.expect("the plan was checked for it")
}

/// The statements of the scenario, whose names were checked by its reader.
fn listed(point: &Point, ranks: &[RankProgram]) -> Programs {
    let step = |statement: &Statement| {
        let line = u32::try_from(statement.line).unwrap_or(u32::MAX);
        let does = match &statement.step {
            Step::Call(call) => Does::Call(call.clone()),
            Step::Collective(chosen) => {
                Does::Call(Call::Collective(Arc::new(placed(point, chosen))))
            }
            Step::Begun(chosen, request) => {
                let call = Arc::new(placed(point, chosen));
                Does::Call(Call::Icollective { request: *request, call })
            }
            Step::Compute(time) => Does::Compute(*time),
            Step::Timer(Timer::Start) => Does::Mark(START),
            Step::Timer(Timer::Stop) => Does::Mark(END),
        };
        program::Step { line, does }
    };
    Programs::checked(ranks.iter().map(|rank| rank.iter().map(step).collect()).collect())
}
