//! Endpoints: created, used, freed; what they share and what they do not.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{finished, ideal, job, model};
use mpisim::engine::Streams;
use mpisim::hardware::profile::Profile;
use mpisim::mpi::communicator::Comparison;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Reply, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Lane, Machine, Next, Program, Thread};
use mpisim::protocols::library::{Endpoints, Library, Progress, Queues, Threading};
use mpisim::runtime::account::{Account, Part};
use mpisim::runtime::explore::{self, Budget, Final, compare, replay};
use mpisim::runtime::timed::{Ending, Outcome, Ran};
use mpisim::runtime::untimed::{self, Choice};
use mpisim::workloads::job::Job;

/// The first handle of the endpoints that a program makes.
const FIRST: u16 = 10;

/// A list of steps, and what its calls returned.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Script {
    steps: Arc<[Next<Call>]>,
    at: usize,
    replies: Vec<Reply>,
}

impl Script {
    fn new(steps: impl IntoIterator<Item = Next<Call>>) -> Self {
        Self { steps: steps.into_iter().collect(), at: 0, replies: Vec::new() }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Script {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        self.replies.extend(reply);
        let step = self.steps.get(self.at).cloned().unwrap_or(Next::End);
        self.at += 1;
        step
    }

    fn forks(&self) -> bool {
        self.steps.contains(&Next::Fork)
    }
}

fn calls(list: impl IntoIterator<Item = Call>) -> impl Iterator<Item = Next<Call>> {
    list.into_iter().map(Next::Call)
}

fn create(count: u16) -> Call {
    Call::CreateEndpoints { parent: Comm(0), count, first: Comm(FIRST) }
}

fn free(local: u16) -> Call {
    Call::FreeEndpoint { comm: Comm(FIRST + local) }
}

fn barrier(local: u16) -> Call {
    Call::Barrier { comm: Comm(FIRST + local) }
}

fn isend(comm: Comm, id: u32, to: u32, tag: i32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Call::Isend { request: Handle(id), to, tag, comm, buffer, mode: SendMode::Standard }
}

fn irecv(comm: Comm, id: u32, source: Peer, tag: Option<i32>, bytes: u64) -> Call {
    Call::Irecv { request: Handle(id), source, tag, comm, buffer: Buffer { id, bytes } }
}

fn wait_all(ids: &[u32]) -> Call {
    let requests = Requests::List(ids.iter().map(|&id| Handle(id)).collect());
    Call::WaitAll { requests, statuses: true }
}

/// The endpoints of each process make their own calls, thread by thread: the first thread creates
/// them and the threads, and in the end frees all.
fn with_endpoints(per_process: u16, bodies: Vec<Vec<Call>>) -> Vec<Script> {
    let threads = usize::from(per_process);
    assert_eq!(bodies.len() % threads, 0, "a body per endpoint");
    let mut bodies = bodies.into_iter();
    let mut programs = Vec::new();
    while let Some(body) = bodies.next() {
        let begin = [Next::Call(create(per_process)), Next::Fork];
        let end = [Next::Join].into_iter().chain(calls((0..per_process).map(free)));
        programs.push(Script::new(begin.into_iter().chain(calls(body)).chain(end)));
        programs.extend(bodies.by_ref().take(threads - 1).map(|body| Script::new(calls(body))));
    }
    programs
}

fn endpoints_job(
    profile: Profile,
    endpoints: Endpoints,
    threads: u16,
    programs: Vec<Script>,
) -> Job<Script> {
    let mut job = job(profile, programs);
    (job.threads, job.endpoints) = (threads, endpoints);
    job
}

fn own(lanes: u16) -> Endpoints {
    Endpoints {
        lanes,
        queues: Queues::Own,
        progress: Progress::Independent,
        threading: Threading::One,
        ..Endpoints::default()
    }
}

/// Every way to share.
fn every_kind(lanes: &[u16]) -> Vec<Endpoints> {
    let mut kinds = Vec::new();
    for &lanes in lanes {
        for queues in [Queues::Shared, Queues::Own] {
            for progress in [Progress::Process, Progress::Independent] {
                for threading in [Threading::Any, Threading::One] {
                    let kind = Endpoints { lanes, queues, progress, threading, ..own(1) };
                    kinds.push(kind);
                }
            }
        }
    }
    kinds
}

fn run(job: Job<Script>) -> Ran<Library, Script> {
    let ran = job.run().unwrap();
    assert_eq!(ran.outcome.ending, Ending::Finished, "{:?}", ran.outcome.ending);
    assert_eq!(ran.outcome.violations, []);
    ran
}

/// Messages of random ranks: what each of them calls, under its own communicator.
fn traffic(seed: u32, ranks: u32, comm_of: impl Fn(u32) -> Comm) -> Vec<Vec<Call>> {
    let mut draw = Streams::new(5).stream("endpoint traffic", seed);
    let mut below = |n: u64| u32::try_from(draw.below(n)).unwrap();
    let mut bodies = vec![Vec::new(); ranks as usize];
    let mut ids = vec![Vec::new(); ranks as usize];
    for message in 0..2 + below(7) {
        let (from, to) = (below(u64::from(ranks)), below(u64::from(ranks)));
        // One tag for a pair: receives of several messages must match in order.
        let tag = i32::try_from(from % 2).unwrap();
        let bytes = [0, 8, 300, 9_000][below(4) as usize];
        let (put, take) = (2 * message, 2 * message + 1);
        bodies[from as usize].push(isend(comm_of(from), put, to, tag, bytes));
        ids[from as usize].push(put);
        let source = Peer::Rank(Rank(from));
        bodies[to as usize].push(irecv(comm_of(to), take, source, Some(tag), 9_000));
        ids[to as usize].push(take);
    }
    for (body, ids) in bodies.iter_mut().zip(ids) {
        body.push(wait_all(&ids));
    }
    bodies
}

fn waited(programs: &[Script]) -> Vec<Reply> {
    let last = |program: &Script| {
        let mut all = program.replies.iter().filter(|reply| matches!(reply, Reply::All(_)));
        all.next_back().cloned().unwrap_or(Reply::Done)
    };
    programs.iter().map(last).collect()
}

/// claim: ep-sem-separate
/// claim: ep-sem-split-queue
/// claim: ep-sem-match-triple
/// claim: ep-sem-no-overtake
///
/// E9: the same program as processes and as endpoints, whatever these share, receives the same.
#[test]
fn endpoints_receive_what_processes_would() {
    for seed in 0..60 {
        let per_process = 1 + u16::try_from(seed % 3).unwrap();
        let ranks = 2 * u32::from(per_process);
        let as_processes = traffic(seed, ranks, |_| Comm(0)).into_iter();
        let programs = as_processes.map(|body| Script::new(calls(body))).collect();
        let reference = run(job(ideal(&[]), programs));
        for kind in every_kind(&[1, 2, 8]) {
            let handle =
                |rank: u32| Comm(FIRST + u16::try_from(rank % u32::from(per_process)).unwrap());
            let programs = with_endpoints(per_process, traffic(seed, ranks, handle));
            let job = endpoints_job(ideal(&[]), kind.clone(), per_process, programs);
            let ran = run(job);
            assert_eq!(waited(&ran.programs), waited(&reference.programs), "{seed}: {kind:?}");
        }
    }
}

/// The timed run of endpoints of every kind is one of the untimed world's.
#[test]
fn endpoints_cross_the_bridge() {
    for seed in 0..40 {
        for (index, kind) in every_kind(&[1, 2, 3]).into_iter().enumerate() {
            let (per_process, ranks) = (3, 6);
            let handle = |rank: u32| Comm(FIRST + u16::try_from(rank % 3).unwrap());
            let programs = with_endpoints(per_process, traffic(seed, ranks, handle));
            let profile = if index % 2 == 0 { ideal(&[]) } else { model("knc-qdr", &[]) };
            let job = endpoints_job(profile, kind.clone(), per_process, programs);
            let mut world = job.untimed().unwrap();
            let ran = run(job);
            let crossed = replay(&mut world, &ran.outcome.choices);
            crossed.unwrap_or_else(|drift| panic!("{seed}: {kind:?}: {drift}"));
            let programs = ran.programs.chunks(3).map(|programs| programs.iter().collect());
            let last = Final {
                processes: ran.machines.iter().zip(programs).collect(),
                memories: &ran.memories,
                ended: true,
            };
            compare(&world, &ran.outcome.choices, &last).unwrap();
        }
    }
}

/// One process makes endpoints 0 to `count`, does `then`, and leaves.
fn alone(count: u16, then: Vec<Call>) -> Outcome {
    let steps = calls([create(count)].into_iter().chain(then));
    let job = endpoints_job(ideal(&[]), own(1), 1, vec![Script::new(steps)]);
    job.run().unwrap().outcome
}

/// claim: ep-sem-aliased
#[test]
fn handles_compare_ident_aliased_or_unequal() {
    let compare = |a: u16, b: u16| Call::Compare { a: Comm(a), b: Comm(b) };
    let second = Call::CreateEndpoints { parent: Comm(0), count: 2, first: Comm(20) };
    let steps = [
        create(2),
        second,
        compare(FIRST, FIRST),
        compare(FIRST, FIRST + 1),
        compare(FIRST, 20),
        compare(0, FIRST),
        compare(0, 1),
        free(0),
        free(1),
        Call::FreeEndpoint { comm: Comm(20) },
        Call::FreeEndpoint { comm: Comm(21) },
    ];
    let ran = run(endpoints_job(ideal(&[]), own(1), 1, vec![Script::new(calls(steps))]));
    let compared = ran.programs[0].replies.iter().filter_map(|reply| {
        if let Reply::Compared(comparison) = reply { Some(*comparison) } else { None }
    });
    let expected = [
        Comparison::Ident,
        Comparison::Aliased,
        Comparison::Unequal,
        Comparison::Unequal,
        Comparison::Congruent,
    ];
    assert_eq!(compared.collect::<Vec<_>>(), expected);
}

/// claim: ep-sem-id-unique
#[test]
fn names_of_endpoints_are_never_given_again() {
    let again = Call::CreateEndpoints { parent: Comm(0), count: 3, first: Comm(20) };
    let outcome = alone(2, vec![free(0), free(1), again]);
    let words: Vec<String> = outcome.violations.iter().map(ToString::to_string).collect();
    for (id, handle) in [(2, 20), (3, 21), (4, 22)] {
        let word = format!("endpoint {id} (communicator {handle}) was never freed");
        assert!(words.iter().any(|found| found.contains(&word)), "{word}: {words:?}");
    }
    assert_eq!(words.len(), 3);
}

/// claim: ep-sem-free-once
#[test]
fn an_endpoint_is_freed_once() {
    let outcome = alone(2, vec![free(1), free(1)]);
    let Ending::Protocol { error, .. } = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(error.to_string().contains("it may be freed already"), "{error}");
}

/// claim: ep-sem-free-aggregate
#[test]
fn one_thread_frees_all_endpoints_and_only_the_last_free_communicates() {
    let packets = |frees: u16| {
        let steps =
            |frees: u16| Script::new(calls([create(4)].into_iter().chain((0..frees).map(free))));
        let endpoints = own(1);
        let job = endpoints_job(ideal(&[]), endpoints, 1, vec![steps(frees), steps(frees)]);
        let outcome = job.run().unwrap().outcome;
        assert_eq!(outcome.ending, Ending::Finished);
        outcome.packets
    };
    let created = packets(0);
    assert!(created > 0);
    assert_eq!([packets(1), packets(2), packets(3)], [created; 3], "no word before the last");
    assert_eq!(packets(4), created + 2, "then each tells the other");
}

/// claim: ep-sem-collective-all
/// claim: ep-sem-collective-single-thread
#[test]
fn blocking_collectives_of_two_endpoints_by_one_thread_hang() {
    let one_thread =
        |_: u32| Script::new(calls([create(2), barrier(0), barrier(1), free(0), free(1)]));
    let programs = (0..2).map(one_thread).collect();
    let outcome = endpoints_job(ideal(&[]), own(2), 1, programs).run().unwrap().outcome;
    let Ending::Deadlock(found) = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(found.to_string().contains("MPI_Barrier"), "{found}");

    let threads = with_endpoints(2, (0..4).map(|rank| vec![barrier(rank % 2)]).collect());
    for kind in every_kind(&[1, 2]) {
        run(endpoints_job(ideal(&[]), kind, 2, threads.clone()));
    }
}

/// claim: ep-sem-static
/// claim: ep-sem-attach-range
/// claim: ep-sem-attach-tls
#[test]
fn static_endpoints_are_the_world_and_threads_attach_to_them() {
    let attach = |id| Call::Attach { id };
    let fixed = |progress| Endpoints { at_start: Some(vec![2, 2]), progress, ..own(2) };
    let lookup = ideal(&[("mpi.step_lookup", "7 ns")]);
    let ring = |rank: u32| {
        let left = Peer::Rank(Rank((rank + 3) % 4));
        let body = [
            attach(u16::try_from(rank % 2).unwrap()),
            isend(Comm(0), 2 * rank, (rank + 1) % 4, 0, 0),
            irecv(Comm(0), 2 * rank + 1, left, None, 0),
            wait_all(&[2 * rank, 2 * rank + 1]),
        ];
        Script::new(calls(body))
    };
    for progress in [Progress::Process, Progress::Independent] {
        let library = |profile: Profile| {
            let ran = run(endpoints_job(profile, fixed(progress), 2, (0..4).map(ring).collect()));
            let of = |account: &Account| account.of(Part::Library).as_ps();
            ran.outcome.accounts.iter().map(of).collect::<Vec<_>>()
        };
        for (with, without) in library(lookup.clone()).iter().zip(library(ideal(&[]))) {
            assert_eq!(with - without, 3 * 7_000, "one lookup per operation");
        }
    }
    // Handles of dynamic endpoints name their endpoint themselves.
    let dynamic = || with_endpoints(1, vec![vec![barrier(0)], vec![barrier(0)]]);
    let end = |profile| run(endpoints_job(profile, own(1), 1, dynamic())).outcome.end;
    assert_eq!(end(lookup.clone()), end(ideal(&[])));

    let refused = |steps: Vec<Call>| {
        let programs = (0..4).map(|_| Script::new(calls(steps.clone()))).collect();
        let job = endpoints_job(ideal(&[]), fixed(Progress::Process), 2, programs);
        let outcome = job.run().unwrap().outcome;
        let Ending::Protocol { error, .. } = outcome.ending else { panic!("{:?}", outcome.ending) };
        error.to_string()
    };
    let range = refused(vec![attach(2)]);
    assert!(range.contains("2 endpoints, numbered from 0"), "{range}");
    assert!(refused(vec![create(2)]).contains("made at its start"));
    assert!(refused(vec![Call::Barrier { comm: Comm(0) }]).contains("attached to no endpoint"));
}

/// claim: ep-sem-lockless
#[test]
fn the_hint_of_one_thread_drops_the_lock_of_what_is_not_shared() {
    let bodies = || {
        let pair = |rank: u32| {
            let (comm, peer) = (Comm(FIRST + u16::try_from(rank % 2).unwrap()), (rank + 2) % 4);
            let receive = irecv(comm, 2 * rank, Peer::Rank(Rank(peer)), Some(0), 8);
            vec![
                receive,
                isend(comm, 2 * rank + 1, peer, 0, 8),
                wait_all(&[2 * rank, 2 * rank + 1]),
            ]
        };
        (0..4).map(pair).collect()
    };
    let taken = |kind: Endpoints| {
        let job = endpoints_job(model("knc-qdr", &[]), kind, 2, with_endpoints(2, bodies()));
        // The first thread of a process also creates and frees, under the lock of the process.
        let accounts = run(job).outcome.accounts;
        accounts[1].taken + accounts[3].taken
    };
    assert_eq!(taken(own(2)), 0);
    assert!(taken(Endpoints { threading: Threading::Any, ..own(2) }) > 0, "without the hint");
    assert!(taken(own(1)) > 0, "a shared lane needs its lock");
    assert!(taken(Endpoints { queues: Queues::Shared, ..own(2) }) > 0, "and shared queues");
    assert!(taken(Endpoints { progress: Progress::Process, ..own(2) }) > 0, "and all state");
}

/// claim: ep-sem-net-init
#[test]
fn endpoints_beyond_the_lanes_are_multiplexed() {
    let lanes_used = |lanes: u16, endpoints: u16| {
        let ranks = 2 * endpoints;
        let ring = |rank: u16| {
            let comm = Comm(FIRST + rank % endpoints);
            let (next, before) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
            let (a, b) = (u32::from(2 * rank), u32::from(2 * rank + 1));
            let source = Peer::Rank(Rank(u32::from(before)));
            vec![
                irecv(comm, a, source, None, 8),
                isend(comm, b, u32::from(next), 0, 8),
                wait_all(&[a, b]),
            ]
        };
        let programs = with_endpoints(endpoints, (0..ranks).map(ring).collect());
        let ran = run(endpoints_job(ideal(&[]), own(lanes), endpoints, programs));
        let taken = ran.outcome.choices.iter().filter_map(|choice| {
            let Choice::TakePacket { process, from, .. } = choice else { return None };
            (process.0 == 0).then_some(from.own)
        });
        taken.collect::<BTreeSet<Lane>>().len()
    };
    for (lanes, endpoints, used) in [(1, 4, 1), (2, 4, 2), (4, 4, 4), (8, 3, 3)] {
        assert_eq!(lanes_used(lanes, endpoints), used, "{endpoints} endpoints on {lanes} lanes");
    }
}

/// Process 0 has two endpoints and one thread for each; process 1 sends to both.
///
/// Endpoint A (rank 0) waits for a message that comes last; endpoint B (rank 1) is not called
/// before: may A's thread take B's packets?
fn world_of_two(progress: Progress) -> untimed::World<Library, Script> {
    let a = vec![irecv(Comm(FIRST), 0, Peer::Any, None, 8), wait_all(&[0])];
    let b = vec![irecv(Comm(FIRST + 1), 1, Peer::Any, None, 8), wait_all(&[1])];
    let to_b = isend(Comm(FIRST), 2, 1, 0, 8);
    let to_a = isend(Comm(FIRST + 1), 3, 0, 0, 8);
    let bodies = vec![a, b, vec![to_b, wait_all(&[2])], vec![to_a, wait_all(&[3])]];
    let endpoints = Endpoints { progress, ..own(2) };
    endpoints_job(ideal(&[]), endpoints, 2, with_endpoints(2, bodies)).untimed().unwrap()
}

/// claim: ep-sem-progress-proc
/// claim: ep-sem-progress-indep
/// claim: ep-sem-progress-final
///
/// E4: with independent progress no thread ever takes a packet of another endpoint; with the
/// process-wide rule some do. Every order ends well under both.
#[test]
fn the_progress_rule_decides_who_takes_packets() {
    for (progress, crosses) in [(Progress::Independent, false), (Progress::Process, true)] {
        let world = world_of_two(progress);
        let mut stranger = false;
        for seed in 0..200 {
            let mut world = world.clone();
            let mut draw = Streams::new(9).stream("progress", seed);
            loop {
                let choices = world.choices();
                stranger |= choices.iter().any(|choice| {
                    let Choice::TakePacket { process, thread, from, .. } = choice else {
                        return false;
                    };
                    process.0 == 0 && *thread == Thread(0) && from.own == Lane(1)
                });
                if choices.is_empty() {
                    break;
                }
                let pick = usize::try_from(draw.below(choices.len() as u64)).unwrap();
                world.apply(choices[pick]).unwrap();
            }
            assert_eq!(world.outcome(), untimed::Outcome::Finished, "{:?}", world.deadlock());
            assert_eq!((world.violations(), world.conclude()), (&[][..], vec![]));
        }
        assert_eq!(stranger, crosses, "{progress:?}");
    }
}

/// claim: ep-sem-dest-rank
/// claim: ep-sem-shared-queue
///
/// M6: two endpoints of a process post the same source and tag; each gets its own message, in
/// every order, however queues and lanes are shared.
#[test]
fn each_endpoint_gets_its_own_message_in_every_order() {
    let mut states = 0;
    for kind in every_kind(&[1, 2]) {
        let body = |local: u16, bytes| {
            let receive = irecv(Comm(FIRST + local), u32::from(local), Peer::Any, Some(0), 8);
            let _ = bytes;
            vec![receive, wait_all(&[u32::from(local)])]
        };
        let sends = vec![
            create(1),
            isend(Comm(FIRST), 0, 0, 0, 1),
            isend(Comm(FIRST), 1, 1, 0, 2),
            wait_all(&[0, 1]),
            free(0),
        ];
        let mut programs = with_endpoints(2, vec![body(0, 1), body(1, 2)]);
        programs.push(Script::new(calls(sends)));
        programs.push(Script::new([]));
        let job = endpoints_job(ideal(&[]), kind.clone(), 2, programs);
        let survey = explore::exhaustive(&job.untimed().unwrap(), Budget::default());
        assert!(survey.is_clean(), "{kind:?}: {survey:#?}");
        states += survey.states;
        let ran = run(job);
        for (program, bytes) in ran.programs.iter().zip([1, 2]) {
            let Reply::All(outcomes) = waited(std::slice::from_ref(program)).remove(0) else {
                panic!("each endpoint waits")
            };
            let text = format!("{outcomes:?}");
            assert!(text.contains(&format!("count: {bytes}")), "{kind:?}: {text}");
        }
    }
    assert!(states > 1_000, "{states} states");
}

/// E5: the frees of two processes and two endpoints end well in every order.
#[test]
fn frees_in_any_order_end_well() {
    let frees = |first: u16| vec![create(2), free(first), free(1 - first)];
    for (one, other) in [(0, 0), (0, 1), (1, 1)] {
        let programs = [frees(one), frees(other)].map(|list| Script::new(calls(list))).into();
        let job = endpoints_job(ideal(&[]), own(2), 1, programs);
        let survey = explore::exhaustive(&job.untimed().unwrap(), Budget::default());
        assert!(survey.is_clean(), "{survey:#?}");
        finished(job.run().unwrap().outcome);
    }
}

/// A process may make none where the switch allows it.
#[test]
fn a_process_may_make_no_endpoint_where_that_is_allowed() {
    let run = |allow_none| {
        let none = Script::new(calls([create(0)]));
        let one = Script::new(calls([create(1), barrier(0), free(0)]));
        let endpoints = Endpoints { allow_none, ..own(1) };
        endpoints_job(ideal(&[]), endpoints, 1, vec![one, none]).run().unwrap().outcome.ending
    };
    let Ending::Protocol { error, .. } = run(false) else { panic!("none is not allowed") };
    assert!(error.to_string().contains("at least one endpoint"), "{error}");
    assert_eq!(run(true), Ending::Finished, "who has nothing to free is not waited for");
}

/// claim: ep-sem-init-once
#[test]
fn the_library_is_initialised_once() {
    for at_start in [None, Some(vec![1])] {
        let endpoints = Endpoints { at_start, ..own(1) };
        let programs = vec![Script::new(calls([Call::Init]))];
        let outcome = endpoints_job(ideal(&[]), endpoints, 1, programs).run().unwrap().outcome;
        let Ending::Protocol { error, .. } = outcome.ending else { panic!("{:?}", outcome.ending) };
        assert!(error.to_string().contains("initialised already"), "{error}");
    }
}

/// claim: ep-sem-threads-collective
///
/// Two threads of one rank cannot both take part in a collective; two endpoints can.
#[test]
fn threads_of_one_rank_cannot_each_take_part_in_a_collective() {
    let world = Call::Barrier { comm: Comm(0) };
    let programs = (0..4).map(|_| Script::new(calls([world.clone()]))).collect();
    let outcome = endpoints_job(ideal(&[]), own(1), 2, programs).run().unwrap().outcome;
    let Ending::Protocol { error, .. } = outcome.ending else { panic!("{:?}", outcome.ending) };
    let words = error.to_string();
    assert!(words.contains("another thread of rank 0 is inside MPI_Barrier"), "{words}");
    let bodies = (0..4).map(|rank| vec![barrier(rank % 2)]).collect();
    run(endpoints_job(ideal(&[]), own(2), 2, with_endpoints(2, bodies)));
}

/// claim: ep-sem-wildcard-nondet
///
/// Which thread of a rank gets which message by a wildcard depends on the order of events; what a
/// thread has probed with `MPI_Mprobe`, only it receives.
#[test]
fn wildcards_of_threads_are_not_fixed_but_matched_probes_are() {
    let any = |id: u32| Call::Recv {
        source: Peer::Any,
        tag: None,
        comm: Comm(0),
        buffer: Buffer { id, bytes: 8 },
    };
    let probe =
        |id: u32| Call::Mprobe { message: Handle(id), source: Peer::Any, tag: None, comm: Comm(0) };
    let take = |id: u32| Call::Mrecv { message: Handle(id), buffer: Buffer { id, bytes: 8 } };
    let sender = |bytes| Script::new(calls([isend(Comm(0), 0, 0, 0, bytes), wait_all(&[0])]));
    let job = |receivers: [Vec<Call>; 2]| {
        let [one, other] = receivers.map(|list| Script::new(calls(list)));
        let idle = || Script::new([]);
        let programs = vec![one, other, sender(1), idle(), sender(2), idle()];
        endpoints_job(ideal(&[]), Endpoints::default(), 2, programs)
    };
    let plain = job([vec![any(0)], vec![any(1)]]).untimed().unwrap();
    let survey = explore::exhaustive(&plain, Budget::default());
    assert!(survey.is_clean(), "{survey:#?}");
    assert!(survey.finals > 1, "either thread may get either message");

    let probed = job([vec![probe(0), take(0)], vec![probe(1), take(1)]]).untimed().unwrap();
    let survey = explore::exhaustive(&probed, Budget::default());
    assert!(survey.is_clean(), "{survey:#?}");
    let mut kept = 0;
    for seed in 0..300 {
        let mut world = probed.clone();
        let mut draw = Streams::new(2).stream("probes", seed);
        while let choices @ [_, ..] = &world.choices()[..] {
            let pick = usize::try_from(draw.below(choices.len() as u64)).unwrap();
            world.apply(choices[pick]).unwrap();
        }
        for thread in [0, 1] {
            let program = world.program(mpisim::protocols::contract::Process(0), Thread(thread));
            let [Reply::Probed(Some(seen)), Reply::Outcome(taken)] = &program.replies[..] else {
                panic!("{:?}", program.replies)
            };
            let words = format!("{taken:?}");
            assert!(words.contains(&format!("{seen:?}")), "{seen:?} was probed, {words}");
            kept += 1;
        }
    }
    assert_eq!(kept, 600);
}
