//! Computation beside a large message of a neighbour: who can go on, and who waits for whose core.
//!
//! The overlap of one side is (message + computation - both together) / message: 1 where the message
//! costs nothing beside the computation, 0 where one follows the other.

use crate::common::{Script, job, model, run};
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next, Process};
use mpisim::protocols::rendezvous::{Cooperation, Protocol, Rule, Scheme};
use mpisim::runtime::timed::{Ending, Mark, Outcome};
use mpisim::units::{Bytes, Time, TimeDelta};

const LARGE: u64 = 4 << 20;
const MS: u64 = 1_000_000_000;

fn send(to: u32, bytes: u64) -> Next<Call> {
    let (comm, mode, buffer) = (Comm::default(), SendMode::Standard, Buffer { id: 0, bytes });
    Next::Call(Call::Send { to: Peer::Rank(Rank(to)), tag: 0, comm, buffer, mode })
}

fn isend(to: u32, bytes: u64) -> Next<Call> {
    let (comm, mode, buffer) = (Comm::default(), SendMode::Standard, Buffer { id: 0, bytes });
    let (to, request) = (Peer::Rank(Rank(to)), Handle(0));
    Next::Call(Call::Isend { request, to, tag: 0, comm, buffer, mode })
}

fn recv(source: u32, bytes: u64) -> Next<Call> {
    let (comm, buffer) = (Comm::default(), Buffer { id: 1, bytes });
    Next::Call(Call::Recv { source: Peer::Rank(Rank(source)), tag: Some(0), comm, buffer })
}

fn irecv(request: u32, source: u32, bytes: u64) -> Next<Call> {
    let (comm, buffer) = (Comm::default(), Buffer { id: 10 + request, bytes });
    let (source, request) = (Peer::Rank(Rank(source)), Handle(request));
    Next::Call(Call::Irecv { request, source, tag: Some(0), comm, buffer })
}

fn wait(count: u32) -> Next<Call> {
    let requests = Requests::Range { first: Handle(0), count };
    Next::Call(Call::WaitAll { requests, statuses: false })
}

/// A look at the channels: what has arrived is taken.
fn look() -> Next<Call> {
    Next::Call(Call::Iprobe { source: Peer::Any, tag: None, comm: Comm::default() })
}

fn play(nodes: u32, cooperation: Cooperation, steps: Vec<Vec<Next<Call>>>) -> Outcome {
    play_by((nodes, Protocol::RGet), cooperation, steps)
}

/// `far` moves large messages between nodes.
fn play_by(
    (nodes, far): (u32, Protocol),
    cooperation: Cooperation,
    steps: Vec<Vec<Next<Call>>>,
) -> Outcome {
    let scripts = steps.into_iter().map(Script::of).collect();
    let mut near = job(model("broadwell-edr", &[]), scripts);
    (near.nodes, near.mpi.cooperation) = (nodes, cooperation);
    near.mpi.rendezvous = far;
    let outcome = run(near);
    assert_eq!((&outcome.ending, &outcome.violations), (&Ending::Finished, &Vec::new()));
    outcome
}

/// When a process came to a mark.
fn mark(outcome: &Outcome, process: u32, number: u32) -> TimeDelta {
    let of = |mark: &&Mark| mark.process == Process(process) && mark.number == number;
    outcome.marks.iter().find(of).unwrap().at.since(Time::ZERO)
}

/// Millionths by which the computation of one side hides its message. Their buffers were used once
/// before: what the HCA needs is pinned.
fn overlap(cooperation: &Cooperation, sender_computes: bool) -> u64 {
    let steps = |compute: u64| {
        let work = Next::Compute(compute);
        let (sender, receiver) = if sender_computes {
            let sender = vec![Next::Mark(0), isend(1, LARGE), work, wait(1), Next::Mark(1)];
            (sender, vec![recv(0, LARGE)])
        } else {
            // The receive finds the RTS in its queue: otherwise nobody answers before the wait.
            let early = vec![Next::Compute(MS / 10), look(), Next::Mark(0)];
            let receive = vec![irecv(0, 0, LARGE), work, wait(1), Next::Mark(1)];
            (vec![send(1, LARGE)], [early, receive].concat())
        };
        let first = if sender_computes { recv(0, LARGE) } else { irecv(0, 0, LARGE) };
        let ended = if sender_computes { Vec::new() } else { vec![wait(1)] };
        vec![[vec![send(1, LARGE)], sender].concat(), [vec![first], ended, receiver].concat()]
    };
    let computing = u32::from(!sender_computes);
    let lasts = |compute| {
        let outcome = play(1, cooperation.clone(), steps(compute));
        (mark(&outcome, computing, 1) - mark(&outcome, computing, 0)).as_ps()
    };
    let (message, both) = (lasts(0), lasts(MS));
    (message + MS).saturating_sub(both) * 1_000_000 / message
}

#[test]
fn the_side_that_does_not_copy_computes_meanwhile() {
    // claim: coop-fig2-overlap
    let (rput, rget) = (
        Cooperation::by(Scheme::Fixed(Protocol::RPut)),
        Cooperation::by(Scheme::Fixed(Protocol::RGet)),
    );
    assert!(overlap(&rput, false) >= 800_000, "{}", overlap(&rput, false));
    assert!(overlap(&rput, true) <= 200_000, "{}", overlap(&rput, true));
    assert!(overlap(&rget, false) <= 200_000, "{}", overlap(&rget, false));
    assert!(overlap(&rget, true) >= 800_000, "{}", overlap(&rget, true));
}

#[test]
fn what_the_hca_moves_is_hidden() {
    // claim: coop-sec2a2-overlap
    let by_hca = Cooperation {
        hca_share_ppm: 1_000_000,
        ..Cooperation::by(Scheme::Fixed(Protocol::CoopHca))
    };
    assert!(overlap(&by_hca, false) >= 900_000, "{}", overlap(&by_hca, false));
    assert!(overlap(&by_hca, true) >= 900_000, "{}", overlap(&by_hca, true));
}

/// When rank 1's copy into rank 0 and rank 2's message over the wire have ended: rank 2 speaks while
/// rank 0 copies.
fn while_a_core_copies(
    by: Protocol,
    chunk: Option<u64>,
    neighbour: bool,
) -> (TimeDelta, TimeDelta) {
    let small = 64 << 10;
    let receiver = vec![irecv(0, 1, LARGE), irecv(1, 2, small), wait(2)];
    // Without a neighbour's copy in the way, that message comes much later.
    let late = if neighbour { 0 } else { 2 * MS };
    let near = vec![Next::Compute(late), send(0, LARGE), Next::Mark(0)];
    let far = vec![Next::Compute(MS / 20), send(0, small), Next::Mark(0)];
    let chunk = chunk.map(Bytes::new);
    let cooperation = Cooperation { chunk, ..Cooperation::by(Scheme::Fixed(Protocol::RGet)) };
    let outcome = play_by((2, by), cooperation, vec![receiver, near, far]);
    (mark(&outcome, 1, 0), mark(&outcome, 2, 0))
}

#[test]
fn a_message_of_another_node_waits_for_the_copy_or_for_one_chunk() {
    // claim: coop-fig3-lost
    let (copied, far) = while_a_core_copies(Protocol::RGet, None, true);
    assert!(far > copied, "{far} after {copied}");
    // By RPUT the other node is done when its own write is: what it waits for is its start, the CTS.
    // claim: coop-fig3-chunk
    // claim: coop-sem-chunk
    let (_, alone) = while_a_core_copies(Protocol::RPut, None, false);
    let chunk = 64 << 10;
    let (copied, far) = while_a_core_copies(Protocol::RPut, Some(chunk), true);
    assert!(far < copied, "{far} before {copied}");
    // A chunk from memory, at 6 GB/s, with its call and pages; a pass and a control message.
    let one = TimeDelta::from_ns(chunk * 1_000 / 6_000 + 1_000 + 16 * 100);
    let control = TimeDelta::from_us(1);
    let most = (one + control).scaled(11, 10);
    assert!(far <= alone + most, "{far}, alone {alone}, at most {most} more");
}

/// When rank 1's copy into rank 0 and rank 2's own message have ended, all on one node: rank 2 waits for
/// the CTS of rank 0, which copies.
fn while_a_neighbour_copies(chunk: Option<u64>, neighbour: bool) -> (TimeDelta, TimeDelta) {
    let small = 64 << 10;
    let receiver = vec![irecv(0, 1, LARGE), irecv(1, 2, small), wait(2)];
    let late = if neighbour { 0 } else { 2 * MS };
    let first = vec![Next::Compute(late), send(0, LARGE), Next::Mark(0)];
    let third = vec![Next::Compute(MS / 20), send(0, small), Next::Mark(0)];
    let rule = |from, protocol| Rule { from, blocking: None, scheme: Scheme::Fixed(protocol) };
    let by_size =
        vec![rule(Bytes::new(LARGE), Protocol::RGet), rule(Bytes::new(0), Protocol::RPut)];
    let chunk = chunk.map(Bytes::new);
    let cooperation = Cooperation { rules: by_size, chunk, ..Cooperation::default() };
    let outcome = play(1, cooperation, vec![receiver, first, third]);
    (mark(&outcome, 1, 0), mark(&outcome, 2, 0))
}

#[test]
fn a_third_neighbour_waits_for_the_copy_or_for_one_chunk() {
    // claim: coop-sec2c-intra
    let (copied, third) = while_a_neighbour_copies(None, true);
    assert!(third > copied, "{third} after {copied}");
    let (_, alone) = while_a_neighbour_copies(None, false);
    let chunk = 64 << 10;
    let (copied, third) = while_a_neighbour_copies(Some(chunk), true);
    assert!(third < copied, "{third} before {copied}");
    let one = TimeDelta::from_ns(chunk * 1_000 / 6_000 + 1_000 + 16 * 100);
    let most = (one + TimeDelta::from_us(1)).scaled(11, 10);
    assert!(third <= alone + most, "{third}, alone {alone}, at most {most} more");
}
