//! The endpoint library over plain MPI: in every order, over the bridge, and against processes.

use std::sync::Arc;

use crate::common::{ideal, job, model};
use mpisim::engine::Streams;
use mpisim::hardware::profile::Profile;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{
    Buffer, Call, Comm, Outcome, Peer, Reply, Requests, SendMode, Status,
};
use mpisim::protocols::contract::{Action, Handle, Input, Machine, Next, Process, Program, Thread};
use mpisim::runtime::account::Part;
use mpisim::runtime::explore::{self, Budget, Final, Survey, compare, replay};
use mpisim::runtime::timed::{Ending, LockOrder, Outcome as Timing, Ran};
use mpisim::runtime::untimed::{self, World};
use mpisim::units::Bytes;
use mpisim::workloads::job::{Flow, Job, windowed};
use mpisim::workloads::windowed::{END, START};
use mpisim::workloads::xios_ep::{Rules, counts};
use mpisim::xios_ep::library::{
    Counts, EpCall, EpLibrary, EpReply, EpThread, SharedOp, Variant, Waiting,
};

/// A list of calls; where one returns something else than expected, the run is stopped.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Script {
    steps: Arc<[(Next<Call>, Option<Reply>)]>,
    at: usize,
    replies: Vec<Reply>,
}

impl Script {
    fn new(steps: impl IntoIterator<Item = (Next<Call>, Option<Reply>)>) -> Self {
        Self { steps: steps.into_iter().collect(), at: 0, replies: Vec::new() }
    }

    fn calls(calls: impl IntoIterator<Item = Call>) -> Self {
        Self::new(calls.into_iter().map(any))
    }
}

/// No program has such a communicator: a call that stops the run.
const WRONG: Comm = Comm(99);

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Script {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        let expected = self.at.checked_sub(1).and_then(|last| self.steps.get(last)?.1.clone());
        if let (Some(expected), Some(reply)) = (expected, &reply)
            && expected != *reply
        {
            return Next::Call(Call::Barrier { comm: WRONG });
        }
        // A test with a true flag makes the wait that follows it needless.
        self.at += usize::from(matches!(reply, Some(Reply::Tested(Some(_)))));
        self.replies.extend(reply);
        let step = self.steps.get(self.at).map_or(Next::End, |(step, _)| step.clone());
        self.at += 1;
        step
    }
}

/// A call that may return anything.
fn any(call: Call) -> (Next<Call>, Option<Reply>) {
    (Next::Call(call), None)
}

/// A call that returns this, in every order.
fn gives(call: Call, reply: Reply) -> (Next<Call>, Option<Reply>) {
    (Next::Call(call), Some(reply))
}

const WORLD: Comm = Comm(0);

fn isend(id: u32, to: u32, tag: i32, bytes: u64) -> Call {
    send_in(id, to, tag, bytes, SendMode::Standard)
}

fn send_in(id: u32, to: u32, tag: i32, bytes: u64, mode: SendMode) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Call::Isend { request: Handle(id), to, tag, comm: WORLD, buffer, mode }
}

fn irecv(id: u32, source: Peer, tag: Option<i32>, bytes: u64) -> Call {
    Call::Irecv { request: Handle(id), source, tag, comm: WORLD, buffer: Buffer { id, bytes } }
}

fn recv(id: u32, source: Peer, tag: Option<i32>, bytes: u64) -> Call {
    Call::Recv { source, tag, comm: WORLD, buffer: Buffer { id, bytes } }
}

fn wait(id: u32) -> Call {
    Call::Wait { request: Handle(id) }
}

fn wait_all(ids: &[u32]) -> Call {
    let requests = Requests::List(ids.iter().map(|&id| Handle(id)).collect());
    Call::WaitAll { requests, statuses: true }
}

fn rank(rank: u32) -> Peer {
    Peer::Rank(Rank(rank))
}

fn status(source: u32, tag: i32, count: u64) -> Status {
    Status { source: Some(Rank(source)), tag: Some(tag), count }
}

fn received(source: u32, tag: i32, count: u64) -> Reply {
    Reply::Outcome(Outcome::Received(status(source, tag, count)))
}

/// Polls take time: who waits by asking again and again must not do so in one moment.
fn machine() -> Profile {
    ideal(&[("mpi.poll_per_channel", "10 ns")])
}

fn ep_job(profile: Profile, threads: u16, programs: Vec<Script>) -> Job<Script> {
    let mut job = job(profile, programs);
    job.threads = threads;
    job
}

fn explored(job: &Job<Script>, rules: Rules) -> Survey {
    explore::exhaustive(&job.untimed_over_xios_ep(rules).unwrap(), Budget::default())
}

const fn lock(variant: Variant) -> Rules {
    Rules { variant, waiting: Waiting::AsWritten }
}

const fn waiting(waiting: Waiting) -> Rules {
    Rules { variant: Variant::Fair, waiting }
}

#[track_caller]
fn run(job: Job<Script>, rules: Rules) -> Ran<EpLibrary, EpThread<Script>> {
    let ran = job.timed_over_xios_ep(rules).unwrap().run();
    assert_eq!(ran.outcome.ending, Ending::Finished, "{:?}", ran.outcome.ending);
    assert_eq!(ran.outcome.violations, []);
    ran
}

/// Endpoint 0 sends two messages of one tag to endpoint 2; endpoint 3, in the same process, makes
/// a check meanwhile.
fn two_drain() -> Job<Script> {
    let programs = vec![
        Script::calls([isend(0, 2, 7, 1), isend(1, 2, 7, 2), wait_all(&[0, 1])]),
        Script::calls([]),
        Script::new([
            gives(recv(0, rank(0), Some(7), 8), received(0, 7, 1)),
            gives(recv(1, rank(0), Some(7), 8), received(0, 7, 2)),
        ]),
        Script::calls([Call::Iprobe { source: Peer::Any, tag: None, comm: WORLD }]),
    ];
    ep_job(machine(), 2, programs)
}

/// claim: xep-nonovertake
/// claim: xep-dequeue
///
/// M9: two threads drain one queue and keep the order, since a probe and its append are one step.
#[test]
fn two_threads_that_drain_one_queue_keep_the_order() {
    for variant in [Variant::Fair, Variant::LastFirst] {
        let survey = explored(&two_drain(), lock(variant));
        assert!(survey.is_clean(), "{variant:?}: {survey:#?}");
        assert!(survey.states > 1_000, "{} states", survey.states);
    }
    let survey = explored(&two_drain(), lock(Variant::Planted));
    let words: Vec<String> = survey.faults.iter().map(|(fault, _)| fault.to_string()).collect();
    assert!(words.iter().any(|word| word.contains("no such communicator")), "{words:?}");
}

/// Endpoints of two processes with two threads each, in every order: whatever carries the messages.
#[test]
fn messages_end_well_in_every_order() {
    for bytes in [0, 8, 40] {
        let to_one = || {
            let receive =
                |source| gives(recv(0, rank(source), Some(1), 64), received(source, 1, bytes));
            vec![
                Script::calls([isend(0, 3, 1, bytes), wait(0)]),
                Script::calls([]),
                Script::calls([]),
                Script::new([receive(0)]),
            ]
        };
        let to_both = || {
            let mut programs = to_one();
            let wild = irecv(0, Peer::Any, None, 64);
            let last = gives(wait(0), received(1, 2, bytes));
            programs[1] = Script::calls([isend(0, 2, 2, bytes), wait(0)]);
            programs[2] = Script::new([any(wild), last]);
            programs
        };
        for programs in [to_one(), to_both()] {
            let mut job = ep_job(machine(), 2, programs);
            job.mpi.eager_inter = Some(Bytes::new(16));
            let survey = explored(&job, Rules::default());
            assert!(survey.is_clean(), "{bytes}: {survey:#?}");
        }
    }
}

/// One endpoint a process, and messages that MPI moves by rendezvous.
fn large(programs: [Vec<(Next<Call>, Option<Reply>)>; 2]) -> Job<Script> {
    let mut job = ep_job(machine(), 1, programs.into_iter().map(Script::new).collect());
    job.mpi.eager_inter = Some(Bytes::new(16));
    job
}

/// claim: xep-progress-pair
///
/// Of a send and its receive both complete, in every order, whichever kind the send is of.
#[test]
fn a_started_pair_completes() {
    for rule in [Waiting::AsWritten, Waiting::Serving] {
        for mode in [SendMode::Standard, SendMode::Synchronous] {
            for bytes in [1, 40] {
                let send = vec![
                    any(send_in(0, 1, 3, bytes, mode)),
                    gives(wait(0), Reply::Outcome(Outcome::Sent)),
                ];
                let receive = vec![
                    any(irecv(0, rank(0), Some(3), 64)),
                    gives(wait(0), received(0, 3, bytes)),
                ];
                let survey = explored(&large([send, receive]), waiting(rule));
                assert!(survey.is_clean(), "{rule:?}, {mode:?}, {bytes} B: {survey:#?}");
            }
        }
    }
}

/// Two pairs can block each other where a wait serves no pending receive: the document's Wait on a
/// send is MPI's. That its receives come first avoids it, and so does a wait that makes checks.
#[test]
fn a_wait_for_a_send_must_serve_pending_receives() {
    let crossing = |order: [u32; 2]| {
        let endpoint = |peer: u32| {
            let started = [isend(0, peer, 3, 40), irecv(1, rank(peer), Some(3), 64)];
            started.into_iter().chain(order.map(wait)).map(any).collect()
        };
        large([endpoint(1), endpoint(0)])
    };
    let survey = explored(&crossing([0, 1]), waiting(Waiting::AsWritten));
    assert!(survey.dead > 0, "{survey:#?}");
    assert!(survey.violations.is_empty() && survey.faults.is_empty(), "{survey:#?}");
    for (order, rule) in
        [([1, 0], Waiting::AsWritten), ([0, 1], Waiting::Serving), ([1, 0], Waiting::Serving)]
    {
        let survey = explored(&crossing(order), waiting(rule));
        assert!(survey.is_clean(), "{order:?}, {rule:?}: {survey:#?}");
    }
    let stuck = crossing([0, 1]).timed_over_xios_ep(Rules::default()).unwrap().run();
    let Ending::Deadlock(found) = stuck.outcome.ending else {
        panic!("{:?}", stuck.outcome.ending)
    };
    assert!(found.to_string().contains("MPI_Send"), "{found}");
    run(crossing([0, 1]), waiting(Waiting::Serving));
}

/// claim: xep-send-complete
///
/// The first message is received after the second, which is sent when the first send is complete:
/// a standard one is, since its buffer is free; a synchronous one never, although a check has taken
/// its message out of MPI's queue.
#[test]
fn a_send_is_complete_as_mpi_has_it() {
    let job = |mode| {
        let send = vec![
            any(send_in(0, 1, 1, 8, mode)),
            any(wait(0)),
            any(isend(1, 1, 2, 8)),
            any(wait(1)),
        ];
        let receive = vec![
            gives(recv(0, rank(0), Some(2), 8), received(0, 2, 8)),
            gives(recv(1, rank(0), Some(1), 8), received(0, 1, 8)),
        ];
        large([send, receive])
    };
    let survey = explored(&job(SendMode::Standard), Rules::default());
    assert!(survey.is_clean(), "{survey:#?}");
    let survey = explored(&job(SendMode::Synchronous), Rules::default());
    assert!(survey.complete && survey.finals == 0, "{survey:#?}");
    assert!(survey.violations.is_empty() && survey.faults.is_empty(), "{survey:#?}");
}

/// The calls of one endpoint, where the lock is free; the first probes find `probes`, all others
/// nothing.
fn expand(calls: Vec<Call>, probes: Vec<Option<Status>>) -> (Vec<EpCall>, Vec<Reply>) {
    let job = ep_job(machine(), 2, (0..4).map(|_| Script::calls([])).collect());
    let job = job.endpoint_job(Rules::default()).unwrap();
    let mut library = job.library(Process(1));
    let mut thread = job.thread(Rank(2), Script::calls(calls));
    let (mut made, mut reply, mut probes) = (Vec::new(), None, probes.into_iter());
    while let Next::Call(call) = thread.next(reply.take()) {
        made.push(call.clone());
        assert!(made.len() < 100, "{made:?}");
        reply = Some(match call {
            EpCall::Shared(SharedOp::Refuse(_)) => break,
            EpCall::Shared(op) => answered(&mut library, op),
            EpCall::Mpi(Call::Improbe { .. }) => {
                EpReply::Mpi(Reply::Probed(probes.next().flatten()))
            }
            EpCall::Mpi(Call::Test { .. }) => {
                EpReply::Mpi(Reply::Tested(Some(Outcome::Received(status(0, 0, 8)))))
            }
            EpCall::Mpi(Call::Wait { .. }) => {
                EpReply::Mpi(Reply::Outcome(Outcome::Received(status(0, 0, 8))))
            }
            EpCall::Mpi(_) => EpReply::Mpi(Reply::Done),
        });
    }
    (made, thread.program().replies.clone())
}

fn answered(library: &mut EpLibrary, op: SharedOp) -> EpReply {
    let mut list = Vec::new();
    library.handle(Thread(0), Input::Call(EpCall::Shared(op)), &mut list).unwrap();
    let Some(Action::Return { reply, .. }) = list.pop() else { panic!("it returns at once") };
    reply
}

fn names(calls: &[EpCall]) -> Vec<&'static str> {
    let name = |call: &EpCall| match call {
        EpCall::Shared(SharedOp::Lock) => "lock",
        EpCall::Shared(SharedOp::Unlock { found: None, .. }) => "unlock",
        EpCall::Shared(SharedOp::Unlock { found: Some(_), .. }) => "append, unlock",
        EpCall::Shared(SharedOp::Walk(_, None)) => "walk",
        EpCall::Shared(SharedOp::Walk(_, Some(_))) => "post, walk",
        EpCall::Mpi(Call::Improbe { source: Peer::Any, tag: None, .. }) => "probe any",
        EpCall::Mpi(Call::Imrecv { .. }) => "Imrecv",
        EpCall::Mpi(Call::Test { .. }) => "Test",
        EpCall::Mpi(Call::Wait { .. }) => "Wait",
        other @ (EpCall::Mpi(_) | EpCall::Shared(_)) => panic!("{other:?}"),
    };
    calls.iter().map(name).collect()
}

const NOTHING: [&str; 3] = ["lock", "probe any", "unlock"];
const SOMETHING: [&str; 3] = ["lock", "probe any", "append, unlock"];

/// A message of endpoint 1 to endpoint 2, as MPI sees it.
fn probed(tag: i32) -> Status {
    status(0, tag << 16 | 1 << 8, 8)
}

/// claim: xep-irecv
/// claim: xep-anysource
///
/// Irecv empties the queue, appends its request and walks the list; wildcards stay in the library.
#[test]
fn a_receive_is_the_documents_sequence() {
    for (source, tag) in [(rank(1), Some(5)), (Peer::Any, None), (Peer::Any, Some(5))] {
        let (calls, _) = expand(vec![irecv(0, source, tag, 8)], vec![]);
        assert_eq!(names(&calls), [&NOTHING[..], &["post, walk"]].concat());
        let (calls, _) =
            expand(vec![irecv(0, source, tag, 8)], vec![Some(probed(5)), Some(probed(6))]);
        let drained = [SOMETHING, SOMETHING, NOTHING].concat();
        assert_eq!(names(&calls), [&drained[..], &["post, walk", "Imrecv"]].concat());
    }
}

/// claim: xep-test2
/// claim: xep-wait2
///
/// Test makes one check more, and asks MPI in the same call where that finds the message; Wait
/// repeats it until it does.
#[test]
fn test_and_wait_are_the_documents_sequences() {
    let post = [&NOTHING[..], &["post, walk"]].concat();
    let again = [&NOTHING[..], &["walk"]].concat();
    let found = [&SOMETHING[..], &NOTHING, &["walk", "Imrecv"]].concat();
    let receive = || irecv(0, rank(1), Some(5), 8);
    let test = || Call::Test { request: Handle(0) };
    let (calls, replies) = expand(vec![receive(), test()], vec![]);
    assert_eq!(names(&calls), [&post[..], &again].concat());
    assert_eq!(replies, [Reply::Done, Reply::Tested(None)]);

    // The message comes after the receive.
    let late = |calls: Vec<Call>, nothing: usize| {
        let probes = std::iter::repeat_n(None, nothing).chain([Some(probed(5))]).collect();
        let (made, replies) = expand(calls, probes);
        (names(&made), replies)
    };
    let (calls, replies) = late(vec![receive(), test()], 1);
    assert_eq!(calls, [&post[..], &found, &["Test"]].concat());
    assert_eq!(replies[1], Reply::Tested(Some(Outcome::Received(status(1, 5, 8)))));
    let (calls, replies) = late(vec![receive(), wait(0)], 3);
    assert_eq!(calls, [&post[..], &again, &again, &found, &["Wait"]].concat());
    assert_eq!(replies[1], received(1, 5, 8));
}

/// claim: xep-test2
///
/// In every order a test before and after the arrival tells the truth, and loses nothing.
#[test]
fn tests_before_and_after_the_arrival_end_well() {
    let test = Call::Test { request: Handle(0) };
    let receive = [irecv(0, rank(0), Some(1), 8), test, wait(0)];
    let programs = vec![
        Script::calls([isend(0, 2, 1, 8), wait(0)]),
        Script::calls([]),
        Script::calls(receive),
        Script::calls([]),
    ];
    let survey = explored(&ep_job(machine(), 2, programs), Rules::default());
    assert!(survey.is_clean(), "{survey:#?}");
}

/// claim: xep-progress
///
/// What an endpoint does for another one is to file its messages: nobody else's call matches them,
/// so that a rendezvous does not begin before the receiver's own call.
#[test]
fn a_check_of_another_endpoint_files_messages_and_no_more() {
    let later = [Next::Compute(50_000_000)];
    let receive = [recv(0, rank(0), Some(1), 9_000)];
    let late = later.map(|step| (step, None)).into_iter().chain(receive.map(any));
    let checks = |_| any(Call::Iprobe { source: Peer::Any, tag: None, comm: WORLD });
    let programs = vec![
        Script::calls([isend(0, 2, 1, 9_000), wait(0)]),
        Script::calls([]),
        Script::new(late),
        Script::new((0..200).map(checks)),
    ];
    let mut job = ep_job(machine(), 2, programs);
    job.mpi.eager_inter = Some(Bytes::new(16));
    let ran = run(job, Rules::default());
    let counts = counts(&ran);
    assert_eq!((counts.drained, counts.longest_list), (1, 1), "{counts:?}");
    assert!(ran.outcome.end.as_ps() > 50_000_000, "the payload moves after the receiver's call");
    assert_eq!(ran.programs[2].program().replies.last(), Some(&received(0, 1, 9_000)));
}

/// Messages of random endpoints: what each of them calls.
fn traffic(seed: u32, ranks: u32) -> Vec<Vec<Call>> {
    let mut draw = Streams::new(6).stream("endpoint library traffic", seed);
    let mut below = |n: u64| u32::try_from(draw.below(n)).unwrap();
    let mut bodies = vec![Vec::new(); ranks as usize];
    let mut ids = vec![Vec::new(); ranks as usize];
    for message in 0..2 + below(9) {
        let (from, to) = (below(u64::from(ranks)), below(u64::from(ranks)));
        // One tag for a pair: receives of several messages must match in order.
        let tag = i32::try_from(from % 2).unwrap();
        let bytes = u64::from(message) + [0, 8, 300, 9_000][below(4) as usize];
        let (put, take) = (2 * message, 2 * message + 1);
        bodies[from as usize].push(isend(put, to, tag, bytes));
        ids[from as usize].push(put);
        bodies[to as usize].push(irecv(take, rank(from), Some(tag), 9_100));
        ids[to as usize].push(take);
    }
    for (body, ids) in bodies.iter_mut().zip(ids) {
        body.push(wait_all(&ids));
        body.push(Call::Barrier { comm: WORLD });
    }
    bodies
}

fn replies(programs: &[EpThread<Script>]) -> Vec<Vec<Reply>> {
    programs.iter().map(|thread| thread.program().replies.clone()).collect()
}

/// The same program as processes and as endpoints of the library returns the same from each call.
#[test]
fn endpoints_of_the_library_receive_what_processes_would() {
    let (mut met, mut lists) = (Counts::default(), 0);
    for seed in 0..150 {
        let threads = 1 + u16::try_from(seed % 3).unwrap();
        let ranks = 2 * u32::from(threads);
        let programs: Vec<Script> = traffic(seed, ranks).into_iter().map(Script::calls).collect();
        let reference = job(machine(), programs.clone()).run().unwrap();
        assert_eq!(reference.outcome.ending, Ending::Finished, "seed {seed}");
        let expected: Vec<_> = reference.programs.iter().map(|p| p.replies.clone()).collect();
        for variant in [Variant::Fair, Variant::LastFirst] {
            let rules = Rules { variant, waiting: Waiting::Serving };
            let ran = run(ep_job(machine(), threads, programs.clone()), rules);
            assert_eq!(replies(&ran.programs), expected, "seed {seed}, {variant:?}");
            let counts = counts(&ran);
            met = met.plus(counts);
            lists += usize::from(counts.longest_list > 1);
            assert_eq!(
                counts.probes,
                counts.checks + counts.drained,
                "the last probe finds nothing"
            );
        }
    }
    assert!(met.drained > 500 && met.lock_waits > 100 && lists > 10, "{met:?}, {lists} lists");
}

/// The timed run of the library is one of the untimed world's.
#[test]
fn the_library_crosses_the_bridge() {
    for seed in 0..120 {
        let threads = 1 + u16::try_from(seed % 4).unwrap();
        let ranks = 2 * u32::from(threads);
        let programs: Vec<Script> = traffic(seed, ranks).into_iter().map(Script::calls).collect();
        let profile = if seed % 2 == 0 { machine() } else { model("knc-qdr", &[]) };
        let variant = [Variant::Fair, Variant::LastFirst][seed as usize / 2 % 2];
        let mut job = ep_job(profile, threads, programs);
        job.nodes = 1 + seed / 4 % 2;
        job.mpi.lock = [LockOrder::Fair, LockOrder::Unfair][seed as usize / 8 % 2];
        let rules = Rules { variant, waiting: Waiting::Serving };
        let mut world: World<_, _> = job.untimed_over_xios_ep(rules).unwrap();
        let ran = run(job, rules);
        let crossed = replay(&mut world, &ran.outcome.choices);
        crossed.unwrap_or_else(|drift| panic!("{seed}: {drift}"));
        let programs = ran.programs.chunks(usize::from(threads));
        let programs = programs.map(|programs| programs.iter().collect());
        let last = Final {
            processes: ran.machines.iter().zip(programs).collect(),
            memories: &ran.memories,
            ended: true,
        };
        compare(&world, &ran.outcome.choices, &last)
            .unwrap_or_else(|drift| panic!("{seed}: {drift}"));
    }
}

/// A barrier of 4 x 3 endpoints is one of 4 processes for MPI; nobody leaves it before all are in.
#[test]
fn a_barrier_of_all_endpoints_has_one_caller_a_process() {
    let barrier = || any(Call::Barrier { comm: WORLD });
    let mark = |number| (Next::Mark(number), None);
    let program = |rank: u64| {
        let late = (Next::Compute((rank * 7 % 12) * 1_000_000), None);
        Script::new([late, mark(0), barrier(), mark(1), barrier()])
    };
    let ran = run(ep_job(machine(), 3, (0..12).map(program).collect()), Rules::default());
    assert_eq!(counts(&ran).mpi_collectives, 2 * 4);
    let at = |number| {
        let marks = ran.outcome.marks.iter().filter(move |mark| mark.number == number);
        marks.map(|mark| mark.at).collect::<Vec<_>>()
    };
    assert_eq!((at(0).len(), at(1).len()), (12, 12));
    assert!(at(0).iter().max() <= at(1).iter().min());

    // Every order in one process; of two processes with two threads, random ones.
    let mut alone =
        ep_job(machine(), 2, (0..2).map(|_| Script::new([barrier(), barrier()])).collect());
    alone.nodes = 1;
    let survey = explored(&alone, Rules::default());
    assert!(survey.is_clean(), "{survey:#?}");
    let programs = (0..4).map(|_| Script::new([barrier(), barrier()])).collect();
    let world = ep_job(machine(), 2, programs).untimed_over_xios_ep(Rules::default()).unwrap();
    for seed in 0..300 {
        let walk = explore::walk(&mut world.clone(), 5, seed, 10_000);
        assert_eq!((walk.outcome, walk.violations), (untimed::Outcome::Finished, vec![]));
    }

    let mut one_is_missing: Vec<Script> = (0..4).map(|_| Script::new([barrier()])).collect();
    one_is_missing[3] = Script::calls([]);
    let job = ep_job(machine(), 2, one_is_missing);
    let outcome = job.timed_over_xios_ep(Rules::default()).unwrap().run().outcome;
    let Ending::Deadlock(found) = outcome.ending else { panic!("{:?}", outcome.ending) };
    assert!(found.to_string().contains("barrier of the process"), "{found}");
}

/// What the library says of a first call, and how many packets had left.
fn refused(call: Call) -> (String, u64) {
    let programs = [Script::calls([call])].into_iter().chain((0..3).map(|_| Script::calls([])));
    let job = ep_job(machine(), 2, programs.collect());
    let outcome = job.timed_over_xios_ep(Rules::default()).unwrap().run().outcome;
    let Ending::Protocol { error, .. } = outcome.ending else { panic!("{:?}", outcome.ending) };
    (error.to_string(), outcome.packets)
}

/// claim: xep-tag-overflow
///
/// What no tag can hold is an error before anything is sent.
#[test]
fn what_does_not_fit_is_refused_before_it_is_sent() {
    for (call, words) in [
        (isend(0, 2, 32_768, 8), "tag 32768 is out of range"),
        (isend(0, 2, -1, 8), "tag -1 is out of range"),
        (irecv(0, rank(1), Some(32_768), 8), "tag 32768 is out of range"),
        (isend(0, 4, 0, 8), "there is no endpoint 4 of 4"),
        (irecv(0, rank(4), None, 8), "there is no endpoint 4 of 4"),
        (wait(3), "no such request is open"),
        (Call::Cancel { request: Handle(0) }, "does not offer"),
        (Call::Barrier { comm: Comm(1) }, "has no such communicator"),
        (isend(u32::MAX, 1, 0, 8), "too large"),
    ] {
        let (error, packets) = refused(call);
        assert!(error.contains(words), "{error}");
        assert_eq!(packets, 0, "{error}");
    }
    let fits = vec![
        Script::calls([isend(0, 2, 32_767, 8), wait(0)]),
        Script::calls([]),
        Script::new([gives(recv(0, Peer::Any, None, 8), received(0, 32_767, 8))]),
        Script::calls([]),
    ];
    run(ep_job(machine(), 2, fits), Rules::default());
}

/// The rate of 8-byte messages between pairs: one pair for each endpoint, as processes, as threads
/// that share a process, and as endpoints of the library.
#[test]
fn pairs_of_endpoints_exchange_windows() {
    let (threads, window, rounds) = (4, 16, 10);
    let pairs = || windowed(u32::from(threads), Flow::OneWay, 8, window, 1, rounds);
    let profile = || model("broadwell-edr", &[]);
    let processes = job(profile(), pairs()).run().unwrap().outcome;
    assert_eq!(processes.ending, Ending::Finished);
    let mut over = job(profile(), pairs());
    over.threads = threads;
    let ran = over.timed_over_xios_ep(Rules::default()).unwrap().run();
    assert_eq!((&ran.outcome.ending, &ran.outcome.violations[..]), (&Ending::Finished, &[][..]));
    let counts = counts(&ran);
    // A window, the empty message of each round, and one warm-up.
    let messages = u64::from(threads) * u64::from(window + 1) * u64::from(rounds + 1);
    assert_eq!(counts.drained, messages);
    assert!(counts.probes > messages, "a check ends with a probe that finds nothing");
    let marks = |outcome: &Timing, number| {
        let of = outcome.marks.iter().filter(|mark| mark.number == number);
        of.map(|mark| mark.at.as_ps()).collect::<Vec<u64>>()
    };
    let took = |outcome: &Timing| {
        let (start, end) = (marks(outcome, START), marks(outcome, END));
        end.iter().max().unwrap() - start.iter().min().unwrap()
    };
    let (fast, slow) = (took(&processes), took(&ran.outcome));
    assert!(slow > 2 * fast, "one queue, two locks and probes cost: {fast} ps, {slow} ps");
    let lock =
        |part| ran.outcome.accounts.iter().map(|account| account.of(part).as_ps()).sum::<u64>();
    assert!(lock(Part::Lock) > 0 && lock(Part::Walk) > 0);
}
