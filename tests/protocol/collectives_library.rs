//! Collectives by the real library: in both runtimes, with real payload, and under every order of
//! events in small worlds.

use std::sync::Arc;

use crate::common::{ideal, job};
use crate::reference::{COMBINING, Example, INPUT, MOVING, OUTPUT, reductions};
use mpisim::collectives::hierarchy::Units;
use mpisim::collectives::{Algorithm, Blocks, Collective, Kind};
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, Reply, SendMode};
use mpisim::protocols::contract::{Next, Process, Program, Region, Space};
use mpisim::protocols::library::{Endpoints, Job, Library, SharedJob};
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::memory::{Memories, Payload};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::{Outcome, World};
use mpisim::units::Bytes;

/// A list of calls.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
struct Script {
    calls: Arc<[Call]>,
    at: usize,
}

impl Program<Library> for Script {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        self.at += 1;
        self.calls.get(self.at - 1).map_or(Next::End, |call| Next::Call(call.clone()))
    }

    fn position(&self) -> Option<u32> {
        u32::try_from(self.at).ok()?.checked_sub(1)
    }
}

/// Above this a message goes by rendezvous.
const EAGER: u64 = 16;

fn processes(size: usize) -> impl Iterator<Item = Process> {
    (0..u32::try_from(size).unwrap()).map(Process)
}

/// One script a process; `node` names the node of each.
fn world(
    calls: Vec<Vec<Call>>,
    node: impl Fn(u32) -> u32,
    rendezvous: Protocol,
) -> World<Library, Script> {
    let size = u32::try_from(calls.len()).unwrap();
    let job = SharedJob::new(Job {
        communicators: Communicators::standard(size),
        node_of: (0..size).map(node).collect(),
        threads: vec![1; calls.len()],
        endpoints: Endpoints::default(),
        rendezvous,
        cooperation: mpisim::protocols::rendezvous::Cooperation::default(),
        eager_inter: Bytes::new(EAGER),
        eager_intra: Bytes::new(EAGER),
        header: Bytes::new(8),
        control: Bytes::new(8),
        cell: Bytes::new(EAGER),
        cells: 4,
        adapters: false,
        partitioned: mpisim::protocols::partitioned::Grouping::default(),
        vcis: mpisim::protocols::library::Vcis::default(),
        rma: mpisim::protocols::rma::Settings::default(),
    });
    let machines = processes(calls.len()).zip(calls).map(|(process, calls)| {
        (Library::new(job.clone(), process), vec![Script { calls: calls.into(), at: 0 }])
    });
    World::new(machines.collect(), Payload::Real)
}

fn region(space: Space, bytes: &[u8]) -> Region {
    Region::new(space, bytes.len() as u64)
}

/// The example's buffers in place.
fn begun(
    example: &Example,
    node: impl Fn(u32) -> u32,
    rendezvous: Protocol,
) -> World<Library, Script> {
    let calls = example.calls().into_iter().map(|call| vec![Call::Collective(call)]);
    let mut world = world(calls.collect(), node, rendezvous);
    for (process, rank) in processes(example.calls.len()).zip(0..) {
        for (space, bytes) in [(INPUT, &example.inputs[rank]), (OUTPUT, &example.outputs[rank])] {
            world.store(process, region(space, bytes), bytes);
        }
    }
    world
}

#[track_caller]
fn check_memories(example: &Example, memories: &Memories, words: &str) {
    for (process, rank) in processes(example.calls.len()).zip(0..) {
        let expected = example.results[rank].as_ref().unwrap();
        let found = memories.bytes(process, region(OUTPUT, expected));
        assert_eq!(&found, expected, "{words}: rank {rank}, {:?}", example.calls[rank]);
        let input = &example.inputs[rank];
        assert_eq!(&memories.bytes(process, region(INPUT, input)), input, "{words}: the input");
    }
}

/// One random order of events.
#[track_caller]
fn check_walk(example: &Example, seed: u64) {
    let protocol = Protocol::ALL[usize::try_from(seed % 2).unwrap()];
    let nodes = 1 + u32::try_from(seed / 2 % 3).unwrap();
    let mut world = begun(example, |rank| rank / nodes, protocol);
    let walk = explore::walk(&mut world, seed, 1, 1_000_000);
    let words = format!("seed {seed}");
    let call = &example.calls[0];
    let why = world.deadlock().map(|deadlock| deadlock.to_string());
    assert_eq!(walk.outcome, Outcome::Finished, "{words}: {call:?}, {why:?}");
    let broken = walk.violations.first().map(ToString::to_string);
    assert_eq!(broken, None, "{words}: {call:?}");
    assert_eq!(world.conclude(), [], "{words}: {call:?}");
    check_memories(example, world.memories(), &words);
}

/// By every algorithm that can do it.
fn variants(example: &Example) -> Vec<Example> {
    let all = Algorithm::of(example.calls[0].kind);
    let fit = |one: &Algorithm| example.calls.iter().all(|call| call.clone().by(*one).is_ok());
    all.filter(fit).map(|one| example.by(|call| call.by(one).unwrap())).collect()
}

/// The examples of one size, with a root that is not 0 where there may be one; `units` are bytes
/// of a block, `counts` elements.
fn examples(size: u32, units: &[u64], counts: &[u64], combine: &[Reduction]) -> Vec<Example> {
    let root = size / 2;
    let mut all = Vec::new();
    for kind in MOVING {
        for unit in units {
            for lists in [false, true] {
                all.push(Example::moving(kind, size, root, *unit, lists));
            }
        }
    }
    for kind in COMBINING {
        for count in counts {
            for reduction in combine {
                all.push(Example::combining(kind, size, root, *count, *reduction));
            }
        }
    }
    all.iter().flat_map(variants).collect()
}

fn reduction(operator: Operator, datatype: Datatype) -> Reduction {
    Reduction::new(operator, datatype).unwrap()
}

fn affine() -> Reduction {
    reduction(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair)
}

#[test]
fn results_are_the_sequential_ones_in_any_order_of_events() {
    let sum = reduction(Operator::Sum, Datatype::Int32);
    let mut seed = 0;
    for size in [1, 2, 3, 4, 5, 7, 8] {
        // Eager and by rendezvous; no element, one, fewer and more than ranks.
        for example in examples(size, &[0, 3, 24], &[0, 1, 3, 17], &[sum, affine()]) {
            check_walk(&example, seed);
            seed += 1;
        }
    }
    for reduction in reductions() {
        for kind in COMBINING {
            for example in variants(&Example::combining(kind, 5, 3, 5, reduction)) {
                check_walk(&example, seed);
                seed += 1;
            }
        }
    }
    assert!(seed > 1000, "{seed} runs");
}

#[test]
fn the_timed_runtime_gives_the_same_bytes() {
    let sum = reduction(Operator::Sum, Datatype::Int64);
    for size in [1, 2, 3, 5, 8] {
        for example in examples(size, &[3, 40_000], &[1, 9_000], &[sum, affine()]) {
            let calls = example
                .calls()
                .into_iter()
                .map(|call| Script { calls: [Call::Collective(call)].into(), at: 0 });
            let mut job = job(ideal(&[]), calls.collect());
            (job.nodes, job.record) = (size.div_ceil(2), false);
            let mut timed = job.timed().unwrap();
            for (process, rank) in processes(example.calls.len()).zip(0..) {
                for (space, bytes) in
                    [(INPUT, &example.inputs[rank]), (OUTPUT, &example.outputs[rank])]
                {
                    timed.store(process, region(space, bytes), bytes);
                }
            }
            let ran = timed.run();
            assert_eq!(ran.outcome.ending, Ending::Finished, "{:?}", example.calls[0]);
            assert_eq!(ran.outcome.violations, [], "{:?}", example.calls[0]);
            check_memories(&example, &ran.memories, "timed");
        }
    }
}

#[test]
fn steps_over_nodes_give_the_same_bytes() {
    let sum = reduction(Operator::Sum, Datatype::Int32);
    let mut seed = 0;
    for size in [2, 4, 6, 7] {
        for per_node in [1, 2, 3] {
            let units = Arc::new(Units::new(size, |rank| rank / per_node));
            for example in examples(size, &[3, 24], &[5, 20], &[sum, affine()]) {
                if example.calls[0].clone().over(Arc::clone(&units)).is_ok() {
                    check_walk(&example.by(|call| call.over(Arc::clone(&units)).unwrap()), seed);
                    seed += 1;
                }
            }
        }
    }
    assert!(seed > 100, "{seed} runs");
}

#[track_caller]
fn check_clean(world: &World<Library, Script>, words: &str) -> Survey {
    let survey = explore::exhaustive(world, Budget { reduce: true, ..Budget::default() });
    assert!(survey.is_clean(), "{words}: {survey:#?}");
    assert_eq!(survey.finals, 1, "{words}: the order of events decides nothing");
    survey
}

/// Every collective by every algorithm, in every order; eager and by rendezvous.
#[track_caller]
fn check_every_order(size: u32, units: &[u64], counts: &[u64]) -> usize {
    let mut states = 0;
    for example in examples(size, units, counts, &[affine()]) {
        for protocol in [Protocol::RPut, Protocol::RGet] {
            let world = begun(&example, |rank| rank, protocol);
            let words = format!("{protocol:?}, {:?}", example.calls[0]);
            states += check_clean(&world, &words).states;
            let mut end = world.clone();
            explore::walk(&mut end, 1, 1, 1_000_000);
            check_memories(&example, end.memories(), &words);
        }
    }
    states
}

#[test]
fn two_ranks_end_well_in_every_order() {
    let states = check_every_order(2, &[0, 5, 24], &[0, 1, 2]);
    assert!(states > 1000, "{states} states");
}

#[test]
fn three_ranks_end_well_in_every_order() {
    let states = check_every_order(3, &[5, 24], &[1, 2]);
    assert!(states > 10_000, "{states} states");
}

/// `cargo test --release --test protocol collectives_library -- --ignored --nocapture`
#[test]
#[ignore = "prints a table; the other tests assert"]
#[expect(clippy::print_stdout, reason = "a table for a reader")]
fn sizes() {
    for size in [2, 3] {
        for example in examples(size, &[5, 24], &[1, 2], &[affine()]) {
            let call = &example.calls[0];
            let world = begun(&example, |rank| rank, Protocol::RGet);
            let full = explore::exhaustive(&world, Budget::default());
            let fewer = explore::exhaustive(&world, Budget { reduce: true, ..Budget::default() });
            println!(
                "{size} ranks, {} {} B by {}: {} states, {} reduced, {} transitions, complete {}",
                call.function(),
                call.input.len.max(call.output.len),
                call.algorithm.name(),
                full.states,
                fewer.states,
                full.transitions,
                full.complete
            );
        }
    }
}

#[test]
fn nobody_leaves_a_barrier_before_the_last_enters() {
    let send = |to| Call::Send {
        to: Peer::Rank(Rank(to)),
        tag: 1,
        comm: Comm(0),
        buffer: Buffer { id: 0, bytes: 8 },
        mode: SendMode::Standard,
    };
    let receive = |from| Call::Recv {
        source: Peer::Rank(Rank(from)),
        tag: Some(1),
        comm: Comm(0),
        buffer: Buffer { id: 1, bytes: 8 },
    };
    let probe = Call::Iprobe { source: Peer::Any, tag: None, comm: Comm(0) };
    let units = Arc::new(Units::new(3, |rank| rank / 2));
    let flat = Algorithm::of(Kind::Barrier).map(|one| Collective::barrier(Comm(0)).by(one));
    let flat: Vec<Collective> = flat.map(Result::unwrap).collect();
    let stepped = flat.clone().into_iter().map(|flat| flat.over(Arc::clone(&units)).unwrap());
    for barrier in flat.iter().cloned().chain(stepped) {
        let barrier = Call::Collective(Arc::new(barrier));
        // What is sent after the barrier cannot be there before it: the probe never finds it.
        let calls = vec![
            vec![barrier.clone(), send(1)],
            vec![probe.clone(), barrier.clone(), receive(0)],
            vec![barrier],
        ];
        let found = check_clean(&world(calls, |rank| rank, Protocol::RGet), "barrier");
        assert_eq!(found.finals, 1);
    }
}

/// What a stuck world says; every order of events must end stuck or with the words of a fault.
fn deadlock(calls: Vec<Vec<Call>>) -> String {
    let mut world = world(calls, |rank| rank, Protocol::RGet);
    let survey = explore::exhaustive(&world, Budget::default());
    assert_eq!(survey.finals, 0, "{survey:#?}");
    explore::replay(&mut world, &survey.way_to_dead.expect("a dead end")).unwrap();
    assert_eq!(world.outcome(), Outcome::Stuck);
    world.deadlock().expect("nobody can go on").to_string()
}

fn user(id: u32, len: u64) -> Region {
    Region::new(Space::User(id), len)
}

#[track_caller]
fn check_words(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "`{word}` is missing in:\n{text}");
    }
}

#[test]
fn different_collectives_are_diagnosed_by_their_names() {
    let sum = reduction(Operator::Sum, Datatype::Int32);
    let bcast = Collective::bcast(Comm(0), Rank(1), user(0, 40));
    let reduce = Collective::reduce(Comm(0), Rank(1), user(0, 40), user(1, 40), sum);
    let calls = [bcast, reduce].map(|call| vec![Call::Collective(Arc::new(call))]);
    let text = deadlock(calls.to_vec());
    check_words(
        &text,
        &[
            "deadlock: 2 threads wait in a cycle",
            "process 0: MPI_Bcast (line 0) waits for process 1",
            "process 1: MPI_Reduce (line 0) waits for process 0",
        ],
    );
}

#[test]
fn collectives_on_two_communicators_in_different_order_are_diagnosed() {
    let on = |comm, root| {
        Call::Collective(Arc::new(Collective::bcast(Comm(comm), Rank(root), user(0, 40))))
    };
    // Rank 0 waits for rank 1 on one communicator, rank 1 for rank 0 on the other.
    let text = deadlock(vec![vec![on(0, 1), on(1, 0)], vec![on(1, 0), on(0, 1)]]);
    check_words(&text, &["process 0: MPI_Bcast", "process 1: MPI_Bcast", "on communicator 0"]);
    check_words(&text, &["on communicator 1"]);
    let barriers = |comms: [u16; 2]| comms.map(|comm| Call::Barrier { comm: Comm(comm) }).to_vec();
    let text = deadlock(vec![barriers([0, 1]), barriers([1, 0])]);
    check_words(&text, &["process 0: MPI_Barrier", "process 1: MPI_Barrier"]);
}

#[test]
fn a_collective_that_a_rank_does_not_call_is_diagnosed() {
    let barrier = Call::Barrier { comm: Comm(0) };
    let text = deadlock(vec![vec![barrier.clone()], vec![barrier], vec![]]);
    check_words(&text, &["nobody is left to answer", "MPI_Barrier", "process 2"]);
}

#[test]
fn different_counts_are_found_where_the_two_meet() {
    let walked = |calls: Vec<Collective>| {
        let calls = calls.into_iter().map(|call| vec![Call::Collective(Arc::new(call))]);
        let mut world = world(calls.collect(), |rank| rank, Protocol::RPut);
        let walk = explore::walk(&mut world, 1, 1, 10_000);
        (world, walk.outcome)
    };
    // Lengths that all ranks must give alike are compared when the second rank enters.
    for lengths in [[8, 12], [12, 8]] {
        let bcast = |len| Collective::bcast(Comm(0), Rank(0), user(0, len));
        let (world, _) = walked(lengths.map(bcast).to_vec());
        let words = world.violations()[0].to_string();
        check_words(&words, &["MPI_ERR_COUNT", "MPI_Bcast of rank 1", "8 B", "12 B"]);
    }
    // Those of lists, when all have entered.
    for len in [0, 4, 12] {
        let gather = |own, room, lengths: &[u64]| {
            let blocks = Blocks::packed(lengths);
            Collective::gather(Comm(0), Rank(0), user(0, own), user(1, room), blocks)
        };
        let (world, _) = walked(vec![gather(8, 16, &[8, 8]), gather(len, 0, &[8, len])]);
        let found = world.violations()[0].to_string();
        check_words(&found, &["MPI_ERR_COUNT", "MPI_Gatherv of rank 1", "receives of it"]);
    }
    // A rank's own block, when it enters.
    for len in [0, 4, 12] {
        let blocks = || Blocks::packed(&[8, 8]);
        let gather = Collective::gather(Comm(0), Rank(0), user(0, len), user(1, 16), blocks());
        let other = Collective::gather(Comm(0), Rank(0), user(0, 8), user(1, 0), blocks());
        let (_, outcome) = walked(vec![gather, other]);
        let Outcome::Faulted(fault) = outcome else { panic!("{outcome:?}") };
        let words = format!(
            "rank 0 waits for 8 B of itself (the arguments of the two do not agree): {len} B come"
        );
        check_words(&fault.to_string(), &["MPI_Gatherv", &words]);
    }
}

#[test]
fn a_leftover_message_of_a_collective_is_named() {
    let bcast = Collective::bcast(Comm(0), Rank(0), user(0, 8));
    // The barrier on another communicator lets rank 1 take what came before.
    let barrier = Call::Barrier { comm: Comm(1) };
    let calls = vec![vec![Call::Collective(Arc::new(bcast)), barrier.clone()], vec![barrier]];
    let mut world = world(calls, |rank| rank, Protocol::RGet);
    let walk = explore::walk(&mut world, 1, 1, 10_000);
    assert_eq!(walk.outcome, Outcome::Finished);
    let found: Vec<String> = world.conclude().iter().map(ToString::to_string).collect();
    check_words(
        &found.join("\n"),
        &["a message of MPI_Bcast of 8 B from rank 0 to rank 1 was never received"],
    );
}
