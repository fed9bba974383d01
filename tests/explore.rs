//! The real library under every order of events, in small worlds.

use std::sync::Arc;

use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Reply, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next, Process, Program, Thread};
use mpisim::protocols::library::{Job, Library, SharedJob};
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::untimed::{Outcome, World};
use mpisim::units::Bytes;

/// A list of calls, and what they returned.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Script {
    calls: Arc<[Call]>,
    replies: Vec<Reply>,
    at: usize,
}

impl Program<Library> for Script {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        self.replies.extend(reply);
        self.at += 1;
        self.calls.get(self.at - 1).map_or(Next::End, |call| Next::Call(call.clone()))
    }

    fn position(&self) -> Option<u32> {
        u32::try_from(self.at).ok()?.checked_sub(1)
    }
}

const WORLD: Comm = Comm(0);
const EAGER: u64 = 16;
const LARGE: u64 = 40;

fn send(to: u32, tag: i32, id: u32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Call::Send { to, tag, comm: WORLD, buffer, mode: SendMode::Standard }
}

fn isend(to: u32, tag: i32, id: u32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Call::Isend { request: Handle(id), to, tag, comm: WORLD, buffer, mode: SendMode::Standard }
}

fn source(from: Option<u32>) -> Peer {
    from.map_or(Peer::Any, |from| Peer::Rank(Rank(from)))
}

fn recv(from: Option<u32>, tag: Option<i32>, id: u32, bytes: u64) -> Call {
    Call::Recv { source: source(from), tag, comm: WORLD, buffer: Buffer { id, bytes } }
}

fn irecv(from: Option<u32>, tag: Option<i32>, id: u32, bytes: u64) -> Call {
    let (source, buffer) = (source(from), Buffer { id, bytes });
    Call::Irecv { request: Handle(id), source, tag, comm: WORLD, buffer }
}

fn wait_all(first: u32, count: u32) -> Call {
    let requests = Requests::Range { first: Handle(first), count };
    Call::WaitAll { requests, statuses: true }
}

/// A world of processes on nodes of their own; `calls[process][thread]`.
fn world(calls: &[&[Vec<Call>]], rendezvous: Protocol) -> World<Library, Script> {
    let processes = u32::try_from(calls.len()).unwrap();
    world_on((0..processes).collect(), calls, rendezvous)
}

fn world_on(
    node_of: Vec<u32>,
    calls: &[&[Vec<Call>]],
    rendezvous: Protocol,
) -> World<Library, Script> {
    let job = SharedJob::new(Job {
        communicators: Communicators::standard(u32::try_from(calls.len()).unwrap()),
        node_of,
        threads: u16::try_from(calls[0].len()).unwrap(),
        rendezvous,
        eager_inter: Bytes::new(EAGER),
        eager_intra: Bytes::new(EAGER),
        header: Bytes::new(8),
        control: Bytes::new(8),
        cell: Bytes::new(EAGER),
    });
    let processes = (0u32..).zip(calls).map(|(process, threads)| {
        let programs = threads.iter().map(|calls| Script {
            calls: calls.clone().into(),
            replies: Vec::new(),
            at: 0,
        });
        (Library::new(job.clone(), Process(process)), programs.collect())
    });
    World::new(processes.collect(), Payload::Real)
}

fn survey(world: &World<Library, Script>) -> Survey {
    explore::exhaustive(world, Budget::default())
}

#[track_caller]
fn check_clean(world: &World<Library, Script>) -> Survey {
    let survey = survey(world);
    assert!(survey.is_clean(), "{survey:#?}");
    survey
}

#[test]
fn one_message_ends_well_in_every_order_whatever_carries_it() {
    for protocol in [Protocol::RPut, Protocol::RGet] {
        for bytes in [0, 1, EAGER, EAGER + 1, LARGE] {
            for room in [0, 1, EAGER, LARGE + 1] {
                for nodes in [vec![0, 1], vec![0, 0]] {
                    let calls: [&[Vec<Call>]; 2] =
                        [&[vec![send(1, 7, 0, bytes)]], &[vec![recv(Some(0), Some(7), 0, room)]]];
                    let found = check_clean(&world_on(nodes, &calls, protocol));
                    assert_eq!(found.finals, 1, "{protocol:?}, {bytes} B into {room} B");
                    assert_eq!(found.sometimes.truncated > 0, bytes > room);
                    assert!(found.sometimes.compared > 0 || bytes.min(room) == 0);
                }
            }
        }
    }
}

#[test]
fn two_blocking_sends_head_to_head_hang_above_the_threshold_only() {
    for protocol in [Protocol::RPut, Protocol::RGet] {
        let exchange =
            |peer, bytes| vec![send(peer, 7, 0, bytes), recv(Some(peer), Some(7), 1, bytes)];
        let calls = |bytes| [[exchange(1, bytes)], [exchange(0, bytes)]];
        let eager = calls(EAGER);
        check_clean(&world(&[&eager[0], &eager[1]], protocol));

        let large = calls(EAGER + 1);
        let mut world = world(&[&large[0], &large[1]], protocol);
        let found = survey(&world);
        assert!(found.complete && found.violations.is_empty() && found.faults.is_empty());
        assert_eq!((found.finals, found.dead, found.doomed), (0, 1, found.states));
        assert_eq!(found.way_to_doomed, Some(vec![]), "the programs are doomed from the start");
        explore::replay(&mut world, &found.way_to_dead.expect("a dead state"))
            .expect("it is a way");
        assert_eq!(world.outcome(), Outcome::Stuck);
        let words = world.deadlock().expect("nobody can go on").to_string();
        for part in [
            "deadlock: 2 threads wait in a cycle",
            "process 0: MPI_Send (call 0) waits for process 1: 17 B to process 1",
            "process 1: MPI_Send (call 0) waits for process 0: 17 B to process 0",
        ] {
            assert!(words.contains(part), "`{part}` is missing in:\n{words}");
        }
    }
}

#[test]
fn a_receive_that_nobody_answers_is_explained_without_a_cycle() {
    let mut world = world(&[&[vec![]], &[vec![recv(Some(0), Some(7), 0, 8)]]], Protocol::RGet);
    let way = survey(&world).way_to_dead.expect("rank 1 waits for ever");
    explore::replay(&mut world, &way).expect("it is a way");
    let words = world.deadlock().expect("rank 0 has ended").to_string();
    assert!(words.contains("nobody is left to answer 1 wait"), "{words}");
    assert!(words.contains("process 1: MPI_Recv (call 0) waits for process 0"), "{words}");
}

#[test]
fn order_is_kept_when_small_and_large_messages_mix_and_arrive_early() {
    for protocol in [Protocol::RPut, Protocol::RGet] {
        let sender =
            vec![isend(1, 7, 0, 8), isend(1, 7, 1, LARGE), isend(1, 7, 2, 9), wait_all(0, 3)];
        let receiver = vec![
            recv(Some(0), Some(7), 0, LARGE),
            irecv(None, None, 1, LARGE),
            irecv(Some(0), None, 2, LARGE),
            wait_all(1, 2),
        ];
        let found = check_clean(&world(&[&[sender], &[receiver]], protocol));
        assert_eq!(found.finals, 1, "{found:?}");
        assert!(found.sometimes.unexpected > 0 && found.sometimes.compared > 0);
    }
}

#[test]
fn wildcards_take_either_sender_and_keep_the_order_of_each() {
    let sender =
        |first: u32| vec![isend(2, 1, first, 8), isend(2, 1, first + 1, LARGE), wait_all(first, 2)];
    let receiver: Vec<Call> = (0..4).map(|id| recv(None, None, id, LARGE)).collect();
    for protocol in [Protocol::RPut, Protocol::RGet] {
        let found =
            check_clean(&world(&[&[sender(0)], &[sender(0)], &[receiver.clone()]], protocol));
        assert_eq!(found.finals, 6, "interleavings of 2 and 2 messages: {found:?}");
        assert!(found.sometimes.wildcard_races > 0);
    }
}

#[test]
fn two_threads_under_the_lock_share_matching() {
    let sender = |tag: i32, id: u32| vec![send(1, tag, id, 8), send(1, tag, id + 1, LARGE)];
    let receiver = |tag: i32, id: u32| {
        vec![recv(Some(0), Some(tag), id, 8), recv(Some(0), Some(tag), id + 1, LARGE)]
    };
    let senders = [sender(1, 0), sender(2, 2)];
    let receivers = [receiver(1, 0), receiver(2, 2)];
    let found = check_clean(&world(&[&senders, &receivers], Protocol::RGet));
    println!("two threads: {found:?}");
    assert!(found.sometimes.unexpected > 0);
}

#[test]
fn a_ring_of_three_with_tests_and_probes_ends_from_every_state() {
    let rank = |me: u32| {
        vec![
            isend((me + 1) % 3, 5, 0, LARGE),
            Call::Iprobe { source: Peer::Any, tag: None, comm: WORLD },
            recv(Some((me + 2) % 3), Some(5), 1, LARGE),
            Call::Test { request: Handle(0) },
        ]
    };
    let _ = rank;
}
