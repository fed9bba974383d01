//! Checks of programs as they are read, and of the books that a stream keeps.

use super::*;
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use protocols::call::{Call, Comm, Outcome, Peer, Reply, Requests, SendMode, Status};
use protocols::contract::{Handle, Next, Process};
use protocols::library::{Endpoints, Job, Library, SharedJob};
use protocols::rendezvous::{Cooperation, Protocol};
use runtime::deadlock::Blocked;
use runtime::memory::Payload;
use runtime::{explore, untimed};
use units::{Bytes, TimeDelta};

const WORLD: Comm = Comm(0);

fn isend(req: &str) -> OpKind {
    let (to, mode) = (Peer::Rank(Rank(1)), SendMode::Standard);
    OpKind::Isend { req: req.into(), to, tag: 0, comm: WORLD, bytes: 8, mode }
}

fn irecv(req: &str) -> OpKind {
    OpKind::Irecv { req: req.into(), src: Peer::Any, tag: None, comm: WORLD, bytes: 8 }
}

fn improbe(handle: &str) -> OpKind {
    OpKind::Improbe { handle: handle.into(), src: Peer::Any, tag: None, comm: WORLD }
}

fn wait(req: &str) -> OpKind {
    OpKind::Wait { req: req.into() }
}

fn names(all: &[&str]) -> Vec<String> {
    all.iter().map(|name| (*name).to_owned()).collect()
}

/// A two-rank job whose rank 0 does this, one operation per line from line 10 on.
fn programs(kinds: Vec<OpKind>) -> Result<Programs, Vec<ProgramError>> {
    let ops = kinds.into_iter().zip(10..).map(|(kind, line)| Op { line, kind }).collect();
    Programs::new(&[ops, Vec::new()])
}

fn stream(kinds: Vec<OpKind>) -> ProgramStream {
    programs(kinds).expect("a correct program").stream(0)
}

#[track_caller]
fn check_refused(kinds: Vec<OpKind>, line: u32, message: &str) {
    let errors = programs(kinds).expect_err("a wrong program");
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!((texts, errors[0].line), (vec![message.to_owned()], line));
}

#[test]
fn wrong_operations_are_refused_with_line_and_argument() {
    check_refused(
        vec![irecv("b"), isend("a"), wait("c")],
        12,
        "rank 0, operation 2, `req`: `c` was not begun before; begun are `a`, `b`",
    );
    check_refused(vec![wait("c")], 10, "rank 0, operation 0, `req`: `c` was not begun before");
    check_refused(
        vec![isend("a"), irecv("a"), wait("a")],
        11,
        "rank 0, operation 1, `req`: `a` was begun in line 10 and may still be open; wait for it \
         first",
    );
    check_refused(
        vec![isend("a"), wait("a"), wait("a")],
        12,
        "rank 0, operation 2, `req`: `a` was already completed in line 11",
    );
    check_refused(
        vec![isend("a"), OpKind::WaitAll { reqs: names(&["a", "a"]) }],
        11,
        "rank 0, operation 1, `reqs`: `a` stands in the list twice",
    );
    check_refused(
        vec![isend("a"), OpKind::Cancel { req: "a".into() }],
        11,
        "rank 0, operation 1, `req`: `a` is a send; only receives can be cancelled",
    );
    check_refused(
        vec![OpKind::Mrecv { handle: "m".into(), bytes: 1 }],
        10,
        "rank 0, operation 0, `handle`: `m` was not begun before",
    );
    check_refused(
        vec![OpKind::Barrier { comm: Comm(3) }],
        10,
        "rank 0, operation 0, `comm`: communicator 3 does not exist; 0 is all ranks, 1 a \
         duplicate, 2 all ranks reversed",
    );
}

#[test]
fn wrong_peers_and_tags_are_refused() {
    let send = |to, tag| {
        vec![OpKind::Send { to, tag, comm: WORLD, bytes: 0, mode: SendMode::Synchronous }]
    };
    check_refused(
        send(Peer::Rank(Rank(2)), 0),
        10,
        "rank 0, operation 0, `to`: the program has 2 ranks; a rank from 0 to 1 is needed, not 2",
    );
    check_refused(
        send(Peer::Any, 0),
        10,
        "rank 0, operation 0, `to`: a send needs one receiver; `any` is for receives and probes",
    );
    check_refused(
        send(Peer::Null, -1),
        10,
        "rank 0, operation 0, `tag`: tag -1 is out of range; 0 to 2147483647 is allowed",
    );
}

#[test]
fn all_errors_are_reported_at_once() {
    let errors = programs(vec![wait("x"), isend("a"), wait("y")]).unwrap_err();
    assert_eq!(errors.iter().map(|error| error.op).collect::<Vec<_>>(), [0, 2]);
}

#[test]
fn a_name_is_free_again_after_its_wait_and_keeps_its_handle() {
    let mut stream = stream(vec![isend("a"), wait("a"), irecv("a"), wait("a")]);
    let mut reply = None;
    let mut requests = Vec::new();
    while let Next::Call(call) = stream.advance(reply.take()) {
        let begun = matches!(call, Call::Isend { .. } | Call::Irecv { .. });
        reply = Some(if begun { Reply::Done } else { Reply::Outcome(Outcome::Sent) });
        if let Call::Isend { request, buffer, .. } | Call::Irecv { request, buffer, .. } = call {
            requests.push((request, buffer.id));
        }
    }
    assert_eq!(requests, [(Handle(0), 0), (Handle(0), 1)], "each operation has its own buffer");
}

#[test]
fn lines_follow_the_calls() {
    let mut stream = stream(vec![isend("a"), OpKind::Compute { time: TimeDelta::from_ns(3) }]);
    assert_eq!(stream.line(), None);
    stream.advance(None);
    assert_eq!(stream.line(), Some(10));
    assert_eq!(stream.advance(Some(Reply::Done)), Next::Compute(3000));
    assert_eq!(stream.line(), Some(11));
    assert_eq!(stream.advance(None), Next::End);
}

/// Three receives, a `waitany` that ends the middle one, and everything after it.
#[test]
fn requests_that_are_over_are_left_out_of_sets() {
    let all = names(&["a", "b", "c"]);
    let mut stream = stream(vec![
        irecv("a"),
        irecv("b"),
        irecv("c"),
        OpKind::WaitAny { reqs: all.clone() },
        OpKind::WaitAny { reqs: all.clone() },
        OpKind::Test { req: "b".into() },
        OpKind::WaitAll { reqs: all.clone() },
        OpKind::WaitAny { reqs: all },
    ]);
    for _ in 0..3 {
        stream.advance(Some(Reply::Done).filter(|_| stream.line().is_some()));
    }
    let outcome = Outcome::Cancelled;
    let handles = |all: &[u32]| Requests::List(all.iter().copied().map(Handle).collect());
    let asked = stream.advance(Some(Reply::Done));
    assert_eq!(asked, Next::Call(Call::WaitAny { requests: handles(&[0, 1, 2]) }));
    let asked = stream.advance(Some(Reply::Any { index: 1, outcome }));
    assert_eq!(asked, Next::Call(Call::WaitAny { requests: handles(&[0, 2]) }));
    let asked = stream.advance(Some(Reply::Any { index: 1, outcome }));
    assert_eq!(asked, Next::Call(Call::WaitAll { requests: handles(&[0]), statuses: true }));
    assert_eq!(stream.advance(Some(Reply::All([outcome].into()))), Next::End);

    let over = |buffer| Ending::Over { outcome, buffer };
    // The test in line 15 found nothing open and made no call.
    assert_eq!([5, 6].map(|call| stream.line_of_call(call)), [Some(16), None]);

    let expected = [
        (3, Returned::Any(Some((1, over(1))))),
        (4, Returned::Any(Some((2, over(2))))),
        (5, Returned::Tested(Some(Ending::Inactive))),
        (6, Returned::All([over(0), Ending::Inactive, Ending::Inactive].into())),
        (7, Returned::Any(None)),
    ];
    let found: Vec<_> = stream.records().iter().map(|it| (it.op, it.returned.clone())).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_probed_message_is_received_only_where_there_was_one() {
    let receive = |handle: &str| OpKind::Mrecv { handle: handle.into(), bytes: 4 };
    let mut stream = stream(vec![improbe("m"), receive("m"), improbe("n"), receive("n")]);
    let status = Status { source: Some(Rank(1)), tag: Some(0), count: 4 };
    stream.advance(None);
    let asked = stream.advance(Some(Reply::Probed(None)));
    assert!(matches!(asked, Next::Call(Call::Improbe { message: Handle(1), .. })), "{asked:?}");
    let asked = stream.advance(Some(Reply::Probed(Some(status))));
    assert!(matches!(asked, Next::Call(Call::Mrecv { message: Handle(1), .. })), "{asked:?}");
    let outcome = Outcome::Received(status);
    assert_eq!(stream.advance(Some(Reply::Outcome(outcome))), Next::End);
    let returned: Vec<_> = stream.records().iter().map(|it| it.returned.clone()).collect();
    assert_eq!(
        returned,
        [
            Returned::MaybeProbed(None),
            Returned::Ended(Ending::Inactive),
            Returned::MaybeProbed(Some(status)),
            Returned::Ended(Ending::Over { outcome, buffer: 1 }),
        ]
    );
}

/// Calls that somebody else has checked are the same program.
#[test]
fn checked_steps_are_taken_as_they_are() {
    let buffer = Buffer { id: 0, bytes: 8 };
    let (to, tag, comm, mode) = (Peer::Rank(Rank(1)), 0, WORLD, SendMode::Standard);
    let send = Call::Isend { request: Handle(0), to, tag, comm, buffer, mode };
    let calls = [send, Call::Wait { request: Handle(0) }].into_iter().zip(10..);
    let steps = calls.map(|(call, line)| Step::new(line, Does::Call(call))).collect();
    let checked = Programs::checked(vec![steps, [].into()]);
    assert_eq!(checked, programs(vec![isend("a"), wait("a")]).unwrap());
}

/// Two ranks that begin to send to each other and wait, above the eager threshold or below.
fn head_to_head(eager: u64) -> untimed::World<Library, ProgramStream> {
    let rank = |peer| {
        let mode = SendMode::Standard;
        let (to, comm) = (Peer::Rank(Rank(peer)), WORLD);
        let request = OpKind::Isend { req: "a".into(), to, tag: 7, comm, bytes: 4096, mode };
        let receive = OpKind::Recv { src: to, tag: Some(7), comm, bytes: 4096 };
        let line = 10 * (peer + 1);
        let kinds = [request, OpKind::Wait { req: "a".into() }, receive];
        kinds.into_iter().zip(line..).map(|(kind, line)| Op { line, kind }).collect()
    };
    let programs = Programs::new(&[rank(1), rank(0)]).expect("a correct program");
    let job = SharedJob::new(Job {
        communicators: Communicators::standard(2),
        node_of: vec![0, 1],
        threads: vec![1; 2],
        endpoints: Endpoints::default(),
        rendezvous: Protocol::RPut,
        cooperation: Cooperation::default(),
        eager_inter: Bytes::new(eager),
        eager_intra: Bytes::new(eager),
        header: Bytes::new(64),
        control: Bytes::new(64),
        cell: Bytes::new(8192),
        cells: 4,
        adapters: false,
        partitioned: protocols::partitioned::Grouping::default(),
        vcis: protocols::library::Vcis::default(),
        rma: protocols::rma::Settings::default(),
    });
    let library = |rank| Library::new(job.clone(), Process(rank));
    let processes = (0..2).map(|rank| (library(rank), vec![programs.stream(rank as usize)]));
    untimed::World::new(processes.collect(), Payload::Real)
}

#[test]
fn sends_head_to_head_above_the_threshold_are_a_deadlock_that_names_its_lines() {
    for seed in 0..20 {
        let mut world = head_to_head(4095);
        let walk = explore::walk(&mut world, seed, 0, 10_000);
        assert_eq!((walk.outcome, walk.violations), (untimed::Outcome::Stuck, Vec::new()));
        let cycles = world.deadlock().expect("both wait for ever").cycles;
        let lines = |blocked: &Blocked| (blocked.process.0, blocked.wait.origin, blocked.position);
        let mut found: Vec<_> = cycles[0].iter().map(lines).collect();
        found.sort_unstable();
        // Begun by the send, noticed in the wait one line below.
        assert_eq!(found, [(0, 20, Some(21)), (1, 10, Some(11))]);
    }
}

#[test]
fn sends_head_to_head_below_the_threshold_end() {
    for seed in 0..20 {
        let mut world = head_to_head(4096);
        let walk = explore::walk(&mut world, seed, 0, 10_000);
        assert_eq!((walk.outcome, walk.violations), (untimed::Outcome::Finished, Vec::new()));
        assert_eq!(world.deadlock(), None);
    }
}

#[test]
fn buffers_are_numbered_by_operation() {
    let programs = programs(vec![OpKind::Barrier { comm: WORLD }, isend("a"), irecv("b")]).unwrap();
    assert_eq!(programs.buffer(0, 0), None);
    assert_eq!(programs.buffer(0, 2), Some(Buffer { id: 1, bytes: 8 }));
    assert_eq!(programs.buffers(0).map(|buffer| buffer.id).collect::<Vec<_>>(), [0, 1]);
    assert_eq!((programs.size(), programs.buffers(1).count()), (2, 0));
}
