//! The books that a stream keeps.

use super::*;
use mpi::communicator::Communicators;
use mpi::envelope::Rank;
use protocols::call::{Buffer, Call, Comm, Outcome, Peer, Reply, Requests, SendMode, Status};
use protocols::contract::{Handle, Next, Process};
use protocols::library::{Endpoints, Job, Library, SharedJob};
use protocols::rendezvous::{Cooperation, Protocol};
use runtime::deadlock::Blocked;
use runtime::memory::Payload;
use runtime::{explore, untimed};
use std::sync::Arc;
use units::{Bytes, TimeDelta};

const WORLD: Comm = Comm(0);

fn isend(request: u32, id: u32) -> Call {
    let (to, buffer, mode) = (Peer::Rank(Rank(1)), Buffer { id, bytes: 8 }, SendMode::Standard);
    Call::Isend { request: Handle(request), to, tag: 0, comm: WORLD, buffer, mode }
}

fn irecv(request: u32, id: u32) -> Call {
    let (source, buffer) = (Peer::Any, Buffer { id, bytes: 8 });
    Call::Irecv { request: Handle(request), source, tag: None, comm: WORLD, buffer }
}

fn wait(request: u32) -> Call {
    Call::Wait { request: Handle(request) }
}

fn requests(all: &[u32]) -> Requests {
    Requests::List(all.iter().copied().map(Handle).collect())
}

fn steps(all: impl IntoIterator<Item = Does>, line: u32) -> Arc<[Step]> {
    all.into_iter().zip(line..).map(|(does, line)| Step::new(line, does)).collect()
}

/// Rank 0 of two, which does this, one step a line from line 10 on.
fn stream(all: impl IntoIterator<Item = Does>) -> ProgramStream {
    Programs::checked(vec![steps(all, 10), [].into()]).stream(0)
}

fn calls<const N: usize>(all: [Call; N]) -> ProgramStream {
    stream(all.map(Does::Call))
}

#[test]
fn lines_follow_the_calls() {
    let mut stream = stream([Does::Call(isend(0, 0)), Does::Compute(TimeDelta::from_ns(3))]);
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
    let all = || requests(&[0, 1, 2]);
    let mut stream = calls([
        irecv(0, 0),
        irecv(1, 1),
        irecv(2, 2),
        Call::WaitAny { requests: all() },
        Call::WaitAny { requests: all() },
        Call::Test { request: Handle(1) },
        Call::WaitAll { requests: all(), statuses: true },
        Call::WaitAny { requests: all() },
    ]);
    for _ in 0..3 {
        stream.advance(Some(Reply::Done).filter(|_| stream.line().is_some()));
    }
    let outcome = Outcome::Cancelled;
    let asked = stream.advance(Some(Reply::Done));
    assert_eq!(asked, Next::Call(Call::WaitAny { requests: requests(&[0, 1, 2]) }));
    let asked = stream.advance(Some(Reply::Any { index: 1, outcome }));
    assert_eq!(asked, Next::Call(Call::WaitAny { requests: requests(&[0, 2]) }));
    let asked = stream.advance(Some(Reply::Any { index: 1, outcome }));
    assert_eq!(asked, Next::Call(Call::WaitAll { requests: requests(&[0]), statuses: true }));
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
    let improbe = |message| {
        let (message, source) = (Handle(message), Peer::Any);
        Call::Improbe { message, source, tag: None, comm: WORLD }
    };
    let receive =
        |message, id| Call::Mrecv { message: Handle(message), buffer: Buffer { id, bytes: 4 } };
    let mut stream = calls([improbe(0), receive(0, 0), improbe(1), receive(1, 1)]);
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

/// Two ranks that begin to send to each other and wait, above the eager threshold or below.
fn head_to_head(eager: u64) -> untimed::World<Library, ProgramStream> {
    let rank = |peer| {
        let (to, comm, mode) = (Peer::Rank(Rank(peer)), WORLD, SendMode::Standard);
        let buffer = |id| Buffer { id, bytes: 4096 };
        let send = Call::Isend { request: Handle(0), to, tag: 7, comm, buffer: buffer(0), mode };
        let receive = Call::Recv { source: to, tag: Some(7), comm, buffer: buffer(1) };
        steps([send, wait(0), receive].map(Does::Call), 10 * (peer + 1))
    };
    let programs = Programs::checked(vec![rank(1), rank(0)]);
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
