//! The bridge gate: every timed run, replayed choice by choice in the untimed world, is enabled at
//! every step and ends in the same states of libraries, programs and memory.
//!
//! `random_programs` runs thousands of small jobs with unexpected arrivals, wildcards, probes,
//! tests and two threads on machines with drawn numbers; two planted defects of the timed runtime
//! must be refused.

use std::num::NonZero;
use std::sync::Arc;

use crate::common::{cross, ideal, job, model};
use mpisim::collectives::{Blocks, Collective};
use mpisim::engine::{Stream, Streams};
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{
    Asked, Buffer, Call, Comm, Exchange, OfPartitions, OfRequest, Partitioned, Peer, Reply,
    Requests, SendMode,
};
use mpisim::protocols::contract::{Handle, Machine, Next, Program, Region, Space};
use mpisim::protocols::library::{Library, Vcis};
use mpisim::protocols::partitioned::{Grouping, Side};
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::{Ending, LockOrder, Outcome, Planted};
use mpisim::units::{Bytes, TimeDelta};
use mpisim::workloads::job::{Flow, Job, ping_pong, windowed};

#[track_caller]
fn check_crosses<P: Program<Library>>(job: Job<P>) {
    let ran = cross(job).expect("the untimed world accepts the run");
    assert_eq!(ran.outcome.ending, Ending::Finished);
    assert_eq!(ran.outcome.violations, []);
}

#[test]
fn the_shipped_workloads_cross() {
    for name in ["ideal", "knc-qdr", "broadwell-edr"] {
        for bytes in [0, 8, 3_000, 300_000] {
            check_crosses(job(model(name, &[]), ping_pong(bytes, 1, 3)));
            for flow in [Flow::OneWay, Flow::BothWays, Flow::BothInOne] {
                check_crosses(job(model(name, &[]), windowed(2, flow, bytes, 4, 1, 2)));
            }
        }
        let mut near = job(model(name, &[]), ping_pong(300_000, 1, 3));
        near.nodes = 1;
        check_crosses(near);
        let mut get = job(model(name, &[]), windowed(2, Flow::BothWays, 400_000, 4, 1, 2));
        get.mpi.rendezvous = Protocol::RGet;
        check_crosses(get);
    }
}

/// A program that is a list of steps.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Script {
    steps: Arc<[Next<Call>]>,
    at: usize,
    replies: Vec<Reply>,
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Script {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        self.replies.extend(reply);
        let step = self.steps.get(self.at).cloned().unwrap_or(Next::End);
        self.at += 1;
        step
    }
}

struct Draw(Stream);

impl Draw {
    fn below(&mut self, n: u64) -> u32 {
        u32::try_from(self.0.below(n)).unwrap()
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len() as u64) as usize]
    }
}

/// A machine with some numbers drawn: orders of events that no real one has.
fn drawn_profile(draw: &mut Draw) -> Profile {
    let ns = |draw: &mut Draw| format!("{} ns", 1 + draw.below(5_000));
    let changes = [
        ("mpi.step_send", ns(draw)),
        ("mpi.step_receive", ns(draw)),
        ("mpi.step_arrival", ns(draw)),
        ("mpi.step_control", ns(draw)),
        ("mpi.step_handshake", ns(draw)),
        ("link.base_latency", ns(draw)),
        ("pcie.dma_read_round_trip", ns(draw)),
        ("coh.line_same_socket", ns(draw)),
        ("mpi.poll_per_channel", if draw.one_in(2) { "0 ns".to_owned() } else { ns(draw) }),
        ("mpi.lock_uncontended", ns(draw)),
        ("mpi.lock_handoff_same_socket", ns(draw)),
        ("hca.eager_credits", (1 + draw.below(4)).to_string()),
    ];
    let changes: Vec<_> = changes.iter().map(|(path, text)| (*path, text.as_str())).collect();
    ideal(&changes)
}

/// Messages between random threads. Every thread receives under a tag of its own, so that a
/// wildcard source can take no message that another receive needs. Messages go over any of `comms`.
fn drawn_programs(
    draw: &mut Draw,
    (processes, threads): (u32, u32),
    comms: &[Comm],
) -> Vec<Script> {
    let all = (processes * threads) as usize;
    let mut steps: Vec<Vec<Next<Call>>> = vec![Vec::new(); all];
    let mut handles: Vec<Vec<Handle>> = vec![Vec::new(); all];
    let mut next_handle = vec![0; processes as usize];
    for _ in 0..=draw.below(7) {
        let comm = if let [one] = comms { *one } else { draw.pick(comms) };
        let (from, to) = (draw.below(all as u64), draw.below(all as u64));
        let tag = i32::try_from(to).unwrap();
        let bytes = draw.pick(&[0, 1, 40, 200, 5_000, 9_000]);
        let mode = draw.pick(&[SendMode::Standard, SendMode::Synchronous]);
        let (sender, receiver) = (from / threads, to / threads);
        let mut handle = |process: u32| {
            let slot = &mut next_handle[process as usize];
            *slot += 1;
            Handle(*slot - 1)
        };
        let request = handle(sender);
        let send = Call::Isend {
            request,
            to: Peer::Rank(Rank(receiver)),
            tag,
            comm,
            buffer: Buffer { id: request.0, bytes },
            mode,
        };
        steps[from as usize].push(Next::Call(send));
        handles[from as usize].push(request);
        let request = handle(receiver);
        let room = 9_000;
        let receive = Call::Irecv {
            request,
            source: Peer::Any,
            tag: Some(tag),
            comm,
            buffer: Buffer { id: request.0, bytes: room },
        };
        let steps = &mut steps[to as usize];
        if draw.one_in(2) {
            // The message is likely to be there first.
            steps.push(Next::Compute(u64::from(draw.below(20_000_000))));
        }
        if draw.one_in(3) {
            steps.push(Next::Call(Call::Iprobe { source: Peer::Any, tag: Some(tag), comm }));
        }
        steps.push(Next::Call(receive));
        if draw.one_in(3) {
            steps.push(Next::Call(Call::TestAll { requests: Requests::List([].into()) }));
        }
        handles[to as usize].push(request);
    }
    let ends = |mut steps: Vec<Next<Call>>, handles: Vec<Handle>| {
        let requests = Requests::List(handles.into());
        steps.push(Next::Call(Call::WaitAll { requests, statuses: true }));
        Script { steps: steps.into(), at: 0, replies: Vec::new() }
    };
    steps.into_iter().zip(handles).map(|(steps, handles)| ends(steps, handles)).collect()
}

/// Rounds in which every process sends to one and receives from one by a single call, and requests that
/// are asked for in every way.
fn drawn_exchanges(draw: &mut Draw, processes: u32) -> Vec<Script> {
    let mut steps: Vec<Vec<Next<Call>>> = vec![Vec::new(); processes as usize];
    let mut open: Vec<Vec<Handle>> = vec![Vec::new(); processes as usize];
    let comm = Comm::default();
    for round in 0..=draw.below(4) {
        let (shift, missing) = (draw.below(u64::from(processes)), draw.below(6));
        let replaces = draw.one_in(2);
        let most = draw.pick(&[0, 1, 40, 200, 5_000, 9_000]);
        for process in 0..processes {
            let to = (process + shift) % processes;
            let from = (process + processes - shift) % processes;
            // One link of the round is missing now and then: MPI_PROC_NULL on both sides.
            let peer = |rank, link| {
                if link == missing { Peer::Null } else { Peer::Rank(Rank(rank)) }
            };
            let bytes = if replaces { most } else { draw.pick(&[0, most / 2, most]) };
            let buffer = Buffer { id: 2 * round, bytes };
            let id = 2 * round + u32::from(!replaces);
            let tag = i32::try_from(round).unwrap();
            let request = draw.one_in(2).then_some(Handle(round));
            let source = peer(from, from);
            let receive =
                Call::Recv { source, tag: Some(tag), comm, buffer: Buffer { id, bytes: most } };
            let to = peer(to, process);
            let mode = SendMode::Standard;
            if let Some(request) = request.filter(|_| !replaces && draw.one_in(3)) {
                // The same as two operations that were prepared.
                let (buffer, into) = (buffer, Buffer { id, bytes: most });
                let of_send = Handle(100 + round);
                let send = Call::Isend { request: of_send, to, tag, comm, buffer, mode };
                let receive = Call::Irecv { request, source, tag: Some(tag), comm, buffer: into };
                for (request, operation) in [(of_send, send), (request, receive)] {
                    let operation = Arc::new(operation);
                    steps[process as usize].push(Next::Call(Call::Start { request, operation }));
                    open[process as usize].push(request);
                }
                continue;
            }
            let send = Call::Send { to, tag, comm, buffer, mode };
            let steps = &mut steps[process as usize];
            if draw.one_in(3) {
                steps.push(Next::Compute(u64::from(draw.below(20_000_000))));
            }
            let exchange = Exchange { send, receive, request, replaces };
            steps.push(Next::Call(Call::Exchange(Arc::new(exchange))));
            let Some(request) = request else { continue };
            let requests = Requests::List([request].into());
            match draw.below(4) {
                0 => steps.push(Next::Call(Call::Ask { asks: Asked::WaitSome, requests })),
                1 => {
                    let does = OfRequest::Free;
                    steps.push(Next::Call(Call::OfRequest { does, request }));
                }
                2 => {
                    let does = OfRequest::GetStatus;
                    steps.push(Next::Call(Call::OfRequest { does, request }));
                    open[process as usize].push(request);
                }
                _ => open[process as usize].push(request),
            }
        }
    }
    if draw.one_in(2) {
        prepare_collectives(draw, &mut steps, &mut open);
    }
    let ends = |mut steps: Vec<Next<Call>>, handles: Vec<Handle>| {
        let requests = Requests::List(handles.into());
        steps.push(Next::Call(Call::WaitAll { requests, statuses: true }));
        steps.push(Next::Call(Call::Finalize));
        Script { steps: steps.into(), at: 0, replies: Vec::new() }
    };
    steps.into_iter().zip(open).map(|(steps, open)| ends(steps, open)).collect()
}

/// Two collectives that every process prepares, and starts in an order of its own.
fn prepare_collectives(draw: &mut Draw, steps: &mut [Vec<Next<Call>>], open: &mut [Vec<Handle>]) {
    let processes = u64::try_from(steps.len()).unwrap();
    let bytes = draw.pick(&[0, 8, 9_000]);
    let buffer = |id: u32, len| Region::new(Space::User(1_000 + id), len);
    let calls = [
        Collective::bcast(Comm::default(), Rank(draw.below(processes)), buffer(0, bytes)),
        Collective::allgather(
            Comm::default(),
            buffer(1, bytes),
            buffer(2, bytes * processes),
            Blocks::Equal(bytes),
        ),
    ];
    let operations = [(200, 0), (201, 1)].map(|(request, place): (u32, usize)| {
        let (request, call) = (Handle(request), Arc::new(calls[place].clone()));
        (request, Arc::new(Call::Icollective { request, call }))
    });
    for (steps, open) in steps.iter_mut().zip(open) {
        let prepare =
            |(_, operation): &(Handle, Arc<Call>)| Next::Call(Call::Prepare(Arc::clone(operation)));
        steps.extend(operations.iter().map(prepare));
        let mut order = operations.clone();
        if draw.one_in(2) {
            order.reverse();
        }
        for (request, operation) in order {
            steps.push(Next::Call(Call::Start { request, operation }));
            open.push(request);
        }
    }
}

/// Partitioned operations from each process to the next one: divided as each side likes, prepared before
/// they are started, and started several times; partitions are ready in any order.
fn drawn_partitioned(draw: &mut Draw, processes: u32) -> Vec<Script> {
    let counts: Vec<u32> = (0..processes).map(|_| 1 + draw.below(3)).collect();
    let starts = 1 + draw.below(3);
    let bytes = draw.pick(&[0, 48, 240, 4_800, 24_000]);
    let mut program = |process: u32| {
        let mut steps = Vec::new();
        let (to, from) = ((process + 1) % processes, (process + processes - 1) % processes);
        let mut requests = Vec::new();
        for (side, peer, count) in [
            (Side::Receives, from, counts[from as usize]),
            (Side::Sends, to, counts[process as usize]),
        ] {
            for _ in 0..count {
                let id = u32::try_from(requests.len()).unwrap();
                let (request, buffer) = (Handle(id), Buffer { id, bytes });
                let (comm, partitions) = (Comm::default(), draw.pick(&[1, 2, 3, 4, 6]));
                let (peer, tag) = (Peer::Rank(Rank(peer)), 0);
                requests.push(Partitioned { request, side, peer, tag, comm, buffer, partitions });
            }
        }
        let prepared = |one: &Partitioned| Arc::new(Call::Partitioned(Arc::new(*one)));
        let prepare = |one: &Partitioned| Next::Call(Call::Prepare(prepared(one)));
        steps.extend(requests.iter().map(prepare));
        for _ in 0..starts {
            let start = |one: &Partitioned| {
                let operation = prepared(one);
                Next::Call(Call::Start { request: one.request, operation })
            };
            steps.extend(requests.iter().map(start));
            for &Partitioned { request, side, partitions, .. } in &requests {
                if side == Side::Receives {
                    continue;
                }
                let first = u16::try_from(draw.below(partitions.into())).unwrap();
                let ready = |first, last| {
                    let does = OfPartitions::ReadyRange;
                    Next::Call(Call::OfPartitions { does, request, first, last, thread: None })
                };
                if first > 0 {
                    steps.push(ready(0, first - 1));
                }
                if draw.one_in(2) {
                    steps.push(Next::Compute(u64::from(draw.below(20_000_000))));
                }
                steps.push(ready(first, partitions - 1));
            }
            if draw.one_in(2) {
                let (does, request) = (OfPartitions::Arrived, Handle(0));
                let (first, last, thread) = (0, 0, None);
                steps.push(Next::Call(Call::OfPartitions { does, request, first, last, thread }));
            }
            let all = requests.iter().map(|one| one.request).collect();
            let requests = Requests::List(all);
            steps.push(Next::Call(Call::WaitAll { requests, statuses: true }));
        }
        Script { steps: steps.into(), at: 0, replies: Vec::new() }
    };
    (0..processes).map(&mut program).collect()
}

/// Every protocol of the registry that carries messages from node to node.
fn between_nodes() -> Vec<Protocol> {
    Protocol::ALL.iter().copied().filter(|protocol| protocol.crosses_nodes()).collect()
}

fn drawn_job(seed: u32, planted: Option<Planted>) -> Job<Script> {
    let mut draw = Draw(Streams::new(11).stream("bridge", seed));
    let (processes, threads) = (2 + draw.below(3), 1 + draw.below(2));
    let programs = drawn_programs(&mut draw, (processes, threads), &[Comm(0)]);
    let mut job = job(drawn_profile(&mut draw), programs);
    job.threads = u16::try_from(threads).unwrap();
    job.nodes = 1 + draw.below(2);
    job.mpi.rendezvous = draw.pick(&between_nodes());
    job.mpi.eager_inter = Some(Bytes::new(draw.pick(&[0, 100, 6_000])));
    job.mpi.eager_intra = job.mpi.eager_inter;
    job.planted = planted;
    job
}

#[test]
fn random_programs_cross() {
    let mut met = mpisim::runtime::monitors::Sometimes::default();
    for seed in 0..3_000 {
        let ran = cross(drawn_job(seed, None)).unwrap_or_else(|drift| panic!("{seed}: {drift}"));
        assert_eq!(ran.outcome.ending, Ending::Finished, "seed {seed}");
        assert_eq!(ran.outcome.violations, [], "seed {seed}");
        met = met.plus(ran.outcome.sometimes);
    }
    assert!(met.unexpected > 500, "unexpected messages: {met:?}");
    assert!(met.wildcard_races > 50, "wildcard races: {met:?}");
    assert!(met.compared > 3_000, "compared payloads: {met:?}");
}

#[test]
fn random_exchanges_cross() {
    let mut met = mpisim::runtime::monitors::Sometimes::default();
    for seed in 0..1_500 {
        let mut draw = Draw(Streams::new(11).stream("exchanges", seed));
        let programs = {
            let processes = 2 + draw.below(3);
            drawn_exchanges(&mut draw, processes)
        };
        let mut job = job(drawn_profile(&mut draw), programs);
        job.nodes = 1 + draw.below(2);
        job.mpi.rendezvous = draw.pick(&between_nodes());
        job.mpi.eager_inter = Some(Bytes::new(draw.pick(&[0, 100, 6_000])));
        job.mpi.eager_intra = job.mpi.eager_inter;
        let ran = cross(job).unwrap_or_else(|drift| panic!("{seed}: {drift}"));
        assert_eq!(ran.outcome.ending, Ending::Finished, "seed {seed}");
        assert_eq!(ran.outcome.violations, [], "seed {seed}");
        met = met.plus(ran.outcome.sometimes);
    }
    assert!(met.unexpected > 300, "unexpected messages: {met:?}");
    assert!(met.compared > 3_000, "compared payloads: {met:?}");
}

#[test]
fn random_partitioned_operations_cross() {
    let mut unexpected = 0;
    for seed in 0..600 {
        let mut draw = Draw(Streams::new(11).stream("partitioned", seed));
        let processes = 2 + draw.below(3);
        let programs = drawn_partitioned(&mut draw, processes);
        let mut job = job(drawn_profile(&mut draw), programs);
        job.nodes = 1 + draw.below(2);
        job.mpi.rendezvous = draw.pick(&between_nodes());
        job.mpi.eager_inter = Some(Bytes::new(draw.pick(&[0, 100, 6_000])));
        job.mpi.eager_intra = job.mpi.eager_inter;
        job.mpi.partitioned = draw.pick(&[Grouping::One, Grouping::Each]);
        let ran = cross(job).unwrap_or_else(|drift| panic!("{seed}: {drift}"));
        assert_eq!(ran.outcome.ending, Ending::Finished, "seed {seed}");
        assert_eq!(ran.outcome.violations, [], "seed {seed}");
        unexpected += ran.outcome.sometimes.unexpected;
    }
    assert!(unexpected > 100, "unexpected messages: {unexpected}");
}

/// A thread that is alone runs ahead of the clock; what it does happens at the same moments.
///
/// Nothing is free on this machine: where a packet needs no time, a poll and an arrival of one
/// moment are a tie, which the two modes may decide differently.
#[test]
fn running_ahead_moves_nothing() {
    for seed in 0..600 {
        let run = |step_by_step| {
            let mut job = drawn_job(seed, None);
            job.step_by_step = step_by_step;
            job.profile.mpi.poll_per_channel = TimeDelta::from_ps(7_013);
            job.profile.cache.l1d_latency = TimeDelta::from_ps(1_009);
            let ran = job.run().unwrap();
            let outcome = ran.outcome;
            (outcome.ending, outcome.end, outcome.accounts, outcome.entries_visited, ran.programs)
        };
        assert_eq!(run(false), run(true), "seed {seed}");
    }
}

/// Without bytes, a thread that is alone carries out actions while its library emits them; with bytes its
/// core works through a list.
#[test]
fn carrying_out_at_once_moves_nothing() {
    for seed in 0..1_000 {
        let run = |payload| {
            let mut job = drawn_job(seed, None);
            (job.mpi.payload, job.record) = (payload, true);
            let ran = job.run().unwrap();
            let Outcome { ending, end, digest, accounts, entries_visited, choices, .. } =
                ran.outcome;
            (ending, end, digest, accounts, entries_visited, choices, ran.machines, ran.programs)
        };
        assert_eq!(run(Payload::Phantom), run(Payload::Real), "seed {seed}");
    }
}

/// Two to four threads a process that wait inside calls and work in between, under locks and polls of
/// drawn cost; some wait for ever.
fn threaded_job(seed: u32, step_by_step: bool) -> Job<Script> {
    let mut draw = Draw(Streams::new(12).stream("turns", seed));
    let (processes, threads) = (2 + draw.below(2), 2 + draw.below(3));
    let programs = drawn_programs(&mut draw, (processes, threads), &[Comm(0)]);
    waiting_job(&mut draw, threads, programs, step_by_step)
}

/// The same, with two or three threads a process whose communicators are spread over VCIs.
fn threaded_job_on_vcis(seed: u32, step_by_step: bool) -> Job<Script> {
    let mut draw = Draw(Streams::new(12).stream("vcis", seed));
    let (processes, threads) = (2 + draw.below(2), 2 + draw.below(2));
    let programs = drawn_programs(&mut draw, (processes, threads), &COPIES);
    let vcis = drawn_vcis(&mut draw);
    let mut waiting = waiting_job(&mut draw, threads, programs, step_by_step);
    (waiting.mpi.vcis, waiting.duplicates) = (vcis, 2);
    waiting
}

/// The world, and its duplicates where a job has two more than the standard one.
const COPIES: [Comm; 4] = [Comm(0), Comm(1), Comm(3), Comm(4)];

/// Two to four VCIs, and a pass over all of them in few or in many.
fn drawn_vcis(draw: &mut Draw) -> Vcis {
    let count = draw.pick(&[2, 3, 4]);
    Vcis { count, sweep: NonZero::new(draw.pick(&[0, 1, 2, 7, 256])) }
}

fn waiting_job(
    draw: &mut Draw,
    threads: u32,
    mut programs: Vec<Script>,
    step_by_step: bool,
) -> Job<Script> {
    for script in &mut programs {
        let mut steps = script.steps.to_vec();
        for _ in 0..draw.below(3) {
            let place = draw.below(steps.len() as u64) as usize;
            steps.insert(place, Next::Compute(u64::from(draw.below(1_000_000_000))));
        }
        if draw.one_in(40) {
            let (source, comm) = (Peer::Any, Comm::default());
            let buffer = Buffer { id: 900, bytes: 0 };
            steps.push(Next::Call(Call::Recv { source, tag: Some(99), comm, buffer }));
        }
        script.steps = steps.into();
    }
    let mut profile = model(draw.pick(&["ideal", "knc-qdr"]), &[]);
    let mut ps = |most: u64| TimeDelta::from_ps(u64::from(draw.below(most)));
    profile.mpi.poll_per_channel = ps(60_000);
    profile.cache.l1d_latency = ps(5_000);
    profile.mpi.lock_uncontended = ps(200_000);
    profile.mpi.lock_handoff_same_socket = ps(2_000_000);
    profile.mpi.lock_handoff_cross_socket = ps(3_000_000);
    profile.coh.line_same_socket = ps(500_000);
    profile.coh.line_cross_socket = ps(900_000);
    // A thread that yields for less than a hand-over takes an unfair lock again, for ever.
    profile.os.syscall = TimeDelta::from_us(3) + ps(3_000_000);
    if draw.one_in(4) {
        // Round numbers: many things happen at one moment.
        profile.mpi.poll_per_channel = TimeDelta::from_ns(10);
        profile.cache.l1d_latency = TimeDelta::from_ns(10);
        profile.mpi.lock_uncontended = TimeDelta::from_ns(draw.pick(&[0, 10]));
        profile.mpi.lock_handoff_same_socket = TimeDelta::from_ns(draw.pick(&[0, 50]));
        profile.mpi.lock_handoff_cross_socket = TimeDelta::from_ns(100);
        profile.os.syscall = TimeDelta::from_ns(draw.pick(&[100, 500]));
    }
    let mut job = job(profile, programs);
    job.threads = u16::try_from(threads).unwrap();
    job.nodes = 1 + draw.below(2);
    job.mpi.lock = draw.pick(&[LockOrder::Fair, LockOrder::Unfair]);
    job.mpi.rendezvous = draw.pick(&between_nodes());
    if draw.one_in(8) {
        job.disturbance.os_noise = Some((TimeDelta::from_us(20), TimeDelta::from_us(2)));
    }
    job.step_by_step = step_by_step;
    job
}

/// Turns of polling that find nothing are passed over by arithmetic: nothing moves, ties included.
#[test]
fn idle_turns_are_passed_over_exactly() {
    let (mut passed, mut taken, mut deadlocks) = (0, 0, 0);
    for seed in 0..800 {
        let run = |step_by_step| {
            let ran = cross(threaded_job(seed, step_by_step));
            let ran = ran.unwrap_or_else(|drift| panic!("{seed}, {step_by_step}: {drift}"));
            let outcome = ran.outcome;
            assert_eq!(outcome.violations, [], "seed {seed}");
            let times = (outcome.end, outcome.accounts, outcome.marks);
            let counts = (outcome.entries_visited, outcome.packets, outcome.rnr);
            (outcome.events, (outcome.ending, times, counts, outcome.choices, ran.programs))
        };
        let ((few, passing), (many, stepping)) = (run(false), run(true));
        assert_eq!(passing, stepping, "seed {seed}");
        assert!(few <= many, "seed {seed}: {few} {many}");
        deadlocks += u32::from(matches!(passing.0, Ending::Deadlock(_)));
        (passed, taken) = (passed + few, taken + many);
    }
    assert!(taken > 20 * passed, "few turns were passed over: {passed} events of {taken}");
    assert!((20..400).contains(&deadlocks), "{deadlocks} deadlocks");
}

/// The same on VCIs, with passes over all of them.
#[test]
fn idle_turns_on_vcis_are_passed_over_exactly() {
    let (mut passed, mut taken) = (0, 0);
    for seed in 0..600 {
        let run = |step_by_step| {
            let ran = cross(threaded_job_on_vcis(seed, step_by_step));
            let ran = ran.unwrap_or_else(|drift| panic!("{seed}, {step_by_step}: {drift}"));
            let outcome = ran.outcome;
            assert_eq!(outcome.violations, [], "seed {seed}");
            let times = (outcome.end, outcome.accounts, outcome.marks);
            let counts = (outcome.entries_visited, outcome.packets, outcome.rnr);
            (outcome.events, (outcome.ending, times, counts, outcome.choices, ran.programs))
        };
        let ((few, passing), (many, stepping)) = (run(false), run(true));
        assert_eq!(passing, stepping, "seed {seed}");
        (passed, taken) = (passed + few, taken + many);
    }
    assert!(taken > 5 * passed, "few turns were passed over: {passed} events of {taken}");
}

/// Every program ends, however its messages are spread over VCIs: in the end each thread waits on all that
/// it uses.
#[test]
fn random_programs_cross_on_vcis() {
    let mut unexpected = 0;
    for seed in 0..2_000 {
        let mut job = drawn_job(seed, None);
        let mut draw = Draw(Streams::new(11).stream("vcis", seed));
        let threads = u32::from(job.threads);
        let processes = u32::try_from(job.programs.len()).unwrap() / threads;
        job.programs = drawn_programs(&mut draw, (processes, threads), &COPIES);
        (job.mpi.vcis, job.duplicates) = (drawn_vcis(&mut draw), 2);
        if job.mpi.rendezvous == Protocol::Rtr {
            // RTRs are counted by pairs of processes.
            job.mpi.rendezvous = Protocol::RPut;
        }
        let ran = cross(job).unwrap_or_else(|drift| panic!("{seed}: {drift}"));
        assert_eq!(ran.outcome.ending, Ending::Finished, "seed {seed}");
        assert_eq!(ran.outcome.violations, [], "seed {seed}");
        unexpected += ran.outcome.sometimes.unexpected;
    }
    assert!(unexpected > 500, "unexpected messages: {unexpected}");
}

#[test]
fn planted_drifts_are_refused() {
    for planted in [Planted::NewestFirst, Planted::NoLock] {
        // A defect may also stop the machine itself: only what the gate says counts.
        let refused = (0..600).filter(|&seed| {
            let crossed = std::panic::catch_unwind(|| cross(drawn_job(seed, Some(planted))));
            matches!(crossed, Ok(Err(_)))
        });
        assert!(refused.count() > 20, "{planted:?} passes the gate");
    }
}
