//! The real library under every order of events, in small worlds.

use std::collections::BTreeSet;
use std::sync::Arc;

use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Reply, Requests, SendMode};
use mpisim::protocols::contract::{Handle, Next, Process, Program, Thread};
use mpisim::protocols::library::{Endpoints, Job, Library, SharedJob};
use mpisim::protocols::rendezvous::{Cooperation, Protocol};
use mpisim::runtime::explore::{self, Budget, Drift, Final, Survey};
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
        // A test with a true flag makes the wait that follows it needless.
        self.at += if matches!(reply, Some(Reply::Tested(Some(_)))) { 2 } else { 1 };
        self.replies.extend(reply);
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

/// Every protocol of the registry that carries messages from node to node.
fn between_nodes() -> impl Iterator<Item = Protocol> {
    Protocol::ALL.iter().copied().filter(|protocol| protocol.crosses_nodes())
}

/// A world of processes on nodes of their own; `calls[process][thread]`.
fn world(calls: &[&[Vec<Call>]], rendezvous: Protocol) -> World<Library, Script> {
    let processes = u32::try_from(calls.len()).expect("small worlds");
    world_on((0..processes).collect(), calls, rendezvous)
}

fn world_on(
    node_of: Vec<u32>,
    calls: &[&[Vec<Call>]],
    rendezvous: Protocol,
) -> World<Library, Script> {
    let job = SharedJob::new(Job {
        communicators: Communicators::standard(u32::try_from(calls.len()).expect("small worlds")),
        node_of,
        threads: calls.iter().map(|all| u16::try_from(all.len()).expect("small")).collect(),
        endpoints: Endpoints::default(),
        rendezvous,
        cooperation: Cooperation::default(),
        partitioned: mpisim::protocols::partitioned::Grouping::default(),
        vcis: mpisim::protocols::library::Vcis::default(),
        eager_inter: Bytes::new(EAGER),
        eager_intra: Bytes::new(EAGER),
        header: Bytes::new(8),
        control: Bytes::new(8),
        cell: Bytes::new(EAGER),
        cells: 4,
        adapters: false,
        rma: mpisim::protocols::rma::Settings::default(),
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
    for protocol in between_nodes() {
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
    for protocol in between_nodes() {
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
            "process 0: MPI_Send (line 0) waits for process 1: 17 B with tag 7 to process 1",
            "process 1: MPI_Send (line 0) waits for process 0: 17 B with tag 7 to process 0",
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
    assert!(words.contains("process 1: MPI_Recv (line 0) waits for process 0"), "{words}");
}

#[test]
fn order_is_kept_when_small_and_large_messages_mix_and_arrive_early() {
    for protocol in [Protocol::RPut, Protocol::RGet] {
        let sender =
            vec![isend(1, 7, 0, LARGE), isend(1, 7, 1, 8), isend(1, 7, 2, LARGE), wait_all(0, 3)];
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
        let found = check_clean(&world(
            &[&[sender(0)], &[sender(0)], std::slice::from_ref(&receiver)],
            protocol,
        ));
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
    // The two sending threads number their 2 and 2 messages in any order: 4! / (2! 2!).
    assert_eq!(found.finals, 6, "{found:?}");
    assert!(found.sometimes.unexpected > 0);
}

/// Everybody sends to the next, probes once, receives, tests once and waits if it must.
fn ring(ranks: u32, bytes: u64) -> Vec<[Vec<Call>; 1]> {
    let rank = |me: u32| {
        [vec![
            isend((me + 1) % ranks, 5, 0, bytes),
            Call::Iprobe { source: Peer::Any, tag: None, comm: WORLD },
            recv(Some((me + ranks - 1) % ranks), Some(5), 1, bytes),
            Call::Test { request: Handle(0) },
            Call::Wait { request: Handle(0) },
        ]]
    };
    (0..ranks).map(rank).collect()
}

#[test]
fn a_ring_that_polls_can_end_from_every_state() {
    let ranks = ring(3, LARGE);
    let calls: Vec<&[Vec<Call>]> = ranks.iter().map(|rank| &rank[..]).collect();
    // Each of 3 probes and 3 tests may come too early or not: 2^6. With RPUT, too: the FIN comes behind the write, so
    // that a rank may have received and its sender not have seen that the write is complete.
    for protocol in [Protocol::RPut, Protocol::RGet] {
        let found = check_clean(&world(&calls, protocol));
        assert_eq!(found.finals, 64, "{protocol:?}");
    }
}

#[test]
fn a_barrier_holds_everybody_until_the_last_one_comes() {
    let rank = |me: u32| {
        let barrier = Call::Barrier { comm: WORLD };
        // A message that is sent after the barrier cannot be probed before it.
        match me {
            0 => vec![barrier, send(1, 1, 0, 8)],
            1 => vec![Call::Barrier { comm: WORLD }, recv(None, Some(1), 0, 8)],
            _ => vec![barrier],
        }
    };
    let ranks = [[rank(0)], [rank(1)], [rank(2)]];
    let found = check_clean(&world(&[&ranks[0], &ranks[1], &ranks[2]], Protocol::RGet));
    assert_eq!(found.finals, 1);
}

#[test]
fn random_walks_end_as_the_full_search_says_and_can_be_replayed() {
    let sender =
        |first: u32| vec![isend(2, 1, first, 8), isend(2, 1, first + 1, LARGE), wait_all(first, 2)];
    let receiver: Vec<Call> = (0..4).map(|id| recv(None, None, id, LARGE)).collect();
    let calls: [&[Vec<Call>]; 3] = [&[sender(0)], &[sender(0)], &[receiver]];
    let start = world(&calls, Protocol::RGet);
    let mut ends = BTreeSet::new();
    for seed in 0..200 {
        let mut world = start.clone();
        let walk = explore::walk(&mut world, seed, 1, 10_000);
        assert_eq!((&walk.outcome, &walk.violations[..]), (&Outcome::Finished, &[][..]));
        ends.insert(world.fingerprint());
        let mut again = start.clone();
        explore::replay(&mut again, &walk.choices).expect("the walk was one of this world");
        let processes: Vec<_> = (0..3)
            .map(|rank| {
                let program = world.program(Process(rank), Thread(0));
                (world.machine(Process(rank)), vec![program])
            })
            .collect();
        let end = Final { processes, memories: world.memories(), ended: true };
        assert_eq!(explore::compare(&again, &walk.choices, &end), Ok(()));

        let short = &walk.choices[..walk.choices.len() - 1];
        let mut early = start.clone();
        explore::replay(&mut early, short).expect("a part of a way is a way");
        let drift = explore::compare(&early, short, &end).expect_err("one choice is missing");
        assert!(matches!(drift, Drift::Unfinished { .. }), "{drift}");
    }
    assert_eq!(ends.len(), 6, "the walks meet every end that the full search knows");
}

#[test]
fn a_record_that_drifted_is_refused_with_its_place_and_reason() {
    let calls: [&[Vec<Call>]; 2] = [&[vec![send(1, 7, 0, 8)]], &[vec![recv(Some(0), None, 0, 8)]]];
    let start = world(&calls, Protocol::RGet);
    let walk = explore::walk(&mut start.clone(), 1, 1, 100);
    for index in 1..walk.choices.len() {
        let mut record = walk.choices.clone();
        record.insert(index, record[0]);
        let mut world = start.clone();
        let drift = explore::replay(&mut world, &record).expect_err("it is not enabled twice");
        let words = drift.to_string();
        assert!(words.starts_with(&format!("choice {index}: `")), "{words}");
        assert!(words.contains("is not enabled: "), "{words}");
    }
    let other =
        world(&[&[vec![send(1, 7, 0, 8)]], &[vec![recv(Some(0), None, 0, 9)]]], Protocol::RGet);
    let mut ended = start.clone();
    explore::replay(&mut ended, &walk.choices).expect("its own record");
    let program = other.program(Process(0), Thread(0));
    let processes = vec![(ended.machine(Process(0)), vec![program])];
    let end = Final { processes, memories: ended.memories(), ended: true };
    let drift = explore::compare(&ended, &walk.choices, &end).expect_err("its program differs");
    assert!(drift.to_string().contains("program 0.0"), "{drift}");
}

#[test]
fn the_reduction_keeps_every_verdict() {
    let rings = ring(3, 8);
    let exchange = |peer, bytes| vec![send(peer, 7, 0, bytes), recv(Some(peer), Some(7), 1, bytes)];
    let sender = vec![isend(2, 1, 0, 8), isend(2, 1, 1, LARGE), wait_all(0, 2)];
    let receiver: Vec<Call> = (0..4).map(|id| recv(None, None, id, LARGE)).collect();
    let cases: [Vec<Vec<Vec<Call>>>; 5] = [
        rings.iter().map(|rank| rank.to_vec()).collect(),
        vec![vec![exchange(1, LARGE)], vec![exchange(0, LARGE)]],
        vec![vec![exchange(1, 8)], vec![exchange(0, 8)]],
        vec![vec![sender.clone()], vec![sender], vec![receiver]],
        // Rank 1 takes whatever comes first: the exact receive then waits for ever, in some orders.
        vec![
            vec![vec![send(1, 1, 0, 8)]],
            vec![vec![recv(None, None, 0, 8), recv(Some(2), None, 1, 8)]],
            vec![vec![send(1, 1, 0, 8)]],
        ],
    ];
    let (mut dead, mut visited) = (0, (0, 0));
    for calls in cases {
        let calls: Vec<&[Vec<Call>]> = calls.iter().map(|threads| &threads[..]).collect();
        for protocol in [Protocol::RPut, Protocol::RGet] {
            let world = world(&calls, protocol);
            let full = survey(&world);
            let reduced = explore::exhaustive(&world, Budget { reduce: true, ..Budget::default() });
            assert!(full.complete && reduced.complete);
            assert_eq!((full.finals, full.dead), (reduced.finals, reduced.dead));
            assert_eq!(full.doomed > 0, reduced.doomed > 0);
            assert!(reduced.states <= full.states);
            dead += full.dead;
            visited = (visited.0 + full.states, visited.1 + reduced.states);
        }
    }
    assert!(visited.1 * 3 < visited.0 * 2, "a third of the states are left out: {visited:?}");
    assert!(dead >= 4, "worlds with and without dead ends were compared: {dead}");
}

/// `cargo test --release --test protocol explore:: -- --ignored --nocapture` prints sizes and rates.
#[test]
#[ignore = "prints a table; the other tests assert"]
#[expect(clippy::print_stdout, reason = "a table for a reader")]
fn sizes_and_rates() {
    let sender = |to: u32, tag: i32, id: u32| {
        vec![isend(to, tag, id, 8), isend(to, tag, id + 1, LARGE), wait_all(id, 2)]
    };
    let wildcards: Vec<Call> = (0..4).map(|id| recv(None, None, id, LARGE)).collect();
    let receiver = |tag: i32, id: u32| {
        vec![
            irecv(Some(0), Some(tag), id, LARGE),
            irecv(Some(0), Some(tag), id + 1, LARGE),
            wait_all(id, 2),
        ]
    };
    let rings = ring(3, LARGE);
    for protocol in [Protocol::RPut, Protocol::RGet] {
        let one = vec![vec![vec![send(1, 7, 0, LARGE)]], vec![vec![recv(None, None, 0, LARGE)]]];
        let to_wildcards =
            vec![vec![sender(2, 1, 0)], vec![sender(2, 1, 0)], vec![wildcards.clone()]];
        let threads =
            vec![vec![sender(1, 1, 0), sender(1, 2, 2)], vec![receiver(1, 0), receiver(2, 2)]];
        let cases = [
            ("1 message", one),
            ("2 senders, wildcards", to_wildcards),
            ("2 x 2 threads", threads),
            ("ring of 3, polling", rings.iter().map(|rank| rank.to_vec()).collect()),
        ];
        for (name, calls) in cases {
            let calls: Vec<&[Vec<Call>]> = calls.iter().map(|threads| &threads[..]).collect();
            let world = world(&calls, protocol);
            #[expect(clippy::disallowed_types, reason = "measures this program, not the model")]
            let start = std::time::Instant::now();
            let found = survey(&world);
            let seconds = start.elapsed().as_secs_f64();
            let fewer = explore::exhaustive(&world, Budget { reduce: true, ..Budget::default() });
            println!(
                "{protocol:?} {name}: {} states, {} transitions, {} finals, {:.2} M states/s, {} reduced, {:?}",
                found.states,
                found.transitions,
                found.finals,
                f64::from(u32::try_from(found.states).expect("small worlds")) / seconds / 1e6,
                fewer.states,
                found.sometimes,
            );
        }
    }
}

#[test]
fn a_matched_probe_may_be_received_into_too_little_room() {
    let receiver = vec![
        Call::Mprobe { message: Handle(0), source: Peer::Any, tag: None, comm: WORLD },
        Call::Mrecv { message: Handle(0), buffer: Buffer { id: 0, bytes: 4 } },
    ];
    let found = survey(&world(&[&[vec![send(1, 7, 0, 8)]], &[receiver]], Protocol::RGet));
    assert!(found.is_clean(), "{:?}", found.violations.first().map(|v| v.0.to_string()));
}
