//! Collectives by processes of several threads: as endpoints, flat and in steps, and funnelled.

use crate::reference;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{Script, ideal, job};
use crate::reference::{Example, elements};
use mpisim::collectives::hierarchy::Units;
use mpisim::collectives::{Collective, Kind};
use mpisim::mpi::communicator::Communicators;
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Buffer, Call, Comm, Peer, SendMode};
use mpisim::protocols::contract::{Handle, Next, Process, Region, Space};
use mpisim::protocols::library::{Endpoints, Library, Progress, Queues, Threading};
use mpisim::runtime::explore::walk;
use mpisim::runtime::timed::{Ending, Outcome, Ran};
use mpisim::runtime::untimed::{self, Choice};
use mpisim::workloads::job::{AnyProgram, Job};
use mpisim::workloads::team::{Rounds, by_endpoints, funnelled, funnelled_messages};
use mpisim::workloads::windowed::{Creation, endpoint};

const ONCE: Rounds = Rounds { warm_up: 0, measured: 1, creation: false };

fn sum() -> Reduction {
    Reduction::new(Operator::Sum, Datatype::Int64).unwrap()
}

/// An operator for which the order of ranks matters.
fn affine() -> Reduction {
    Reduction::new(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair).unwrap()
}

fn own_lanes(lanes: u16) -> Endpoints {
    Endpoints {
        lanes,
        queues: Queues::Own,
        progress: Progress::Independent,
        threading: Threading::One,
        ..Endpoints::default()
    }
}

fn job_of(threads: u16, endpoints: Endpoints, programs: Vec<AnyProgram>) -> Job {
    let mut job = job(ideal(&[]), programs);
    (job.threads, job.endpoints, job.selves) = (threads, endpoints, true);
    job
}

/// The buffers of each thread: those of the example's rank, moved behind those of the threads before.
fn of_rank(space: Space, rank: u32, threads: u16) -> (Process, Space) {
    let Space::User(id) = space else { panic!("examples use buffers of the program") };
    let threads = u32::from(threads);
    (Process(rank / threads), Space::User(id + 2 * (rank % threads)))
}

/// Runs the job on the example's inputs and compares the result of each thread.
#[track_caller]
fn check_results(example: &Example, threads: u16, job: Job) {
    let mut timed = job.timed().unwrap();
    let ranks = u32::try_from(example.calls.len()).unwrap();
    for (rank, place) in (0..ranks).zip(0..) {
        for (space, bytes) in [
            (reference::INPUT, &example.inputs[place]),
            (reference::OUTPUT, &example.outputs[place]),
        ] {
            let (process, space) = of_rank(space, rank, threads);
            timed.store(process, Region::new(space, bytes.len() as u64), bytes);
        }
    }
    let ran = timed.run();
    assert_eq!(ran.outcome.ending, Ending::Finished, "{:?}", ran.outcome.ending);
    assert_eq!(ran.outcome.violations, []);
    for (rank, expected) in (0..ranks).zip(&example.results) {
        let Some(expected) = expected else { continue };
        let (process, space) = of_rank(reference::OUTPUT, rank, threads);
        let found = ran.memories.bytes(process, Region::new(space, expected.len() as u64));
        assert_eq!(&found, expected, "rank {rank} of {:?}", example.calls[0]);
    }
}

fn over_processes(call: &Collective, ranks: u32, threads: u16) -> Collective {
    let units = Arc::new(Units::new(ranks, |rank| rank / u32::from(threads)));
    call.clone().over(units).unwrap()
}

/// claim: ep-sem-allreduce-omp
///
/// The result is the sequential one on all threads of all processes, however it is done.
#[test]
fn every_thread_has_the_result_of_all() {
    for (processes, threads) in [(1, 1), (1, 3), (2, 1), (2, 2), (3, 4), (4, 3)] {
        let ranks = processes * u32::from(threads);
        for (reduction, count) in [(sum(), 1), (sum(), 3_000), (affine(), 5)] {
            let example = Example::combining(Kind::Allreduce, ranks, 0, count, reduction);
            let flat = example.calls[0].clone();
            for call in [&flat, &over_processes(&flat, ranks, threads)] {
                for lanes in [1, threads] {
                    let dynamic = by_endpoints(call, processes, threads, Creation::Dynamic, ONCE);
                    check_results(&example, threads, job_of(threads, own_lanes(lanes), dynamic));
                    let fixed = by_endpoints(call, processes, threads, Creation::Static, ONCE);
                    let at_start = Some(vec![threads; processes as usize]);
                    let endpoints = Endpoints { at_start, ..own_lanes(lanes) };
                    check_results(&example, threads, job_of(threads, endpoints, fixed));
                }
            }
            let programs = funnelled(&flat, processes, threads, ONCE).unwrap();
            check_results(&example, threads, job_of(threads, own_lanes(threads), programs));
        }
    }
}

#[test]
fn other_collectives_have_their_results_too() {
    let (processes, threads) = (3, 3);
    let ranks = processes * u32::from(threads);
    let by_threads = |example: &Example| {
        let programs = by_endpoints(&example.calls[0], processes, threads, Creation::Dynamic, ONCE);
        check_results(example, threads, job_of(threads, own_lanes(threads), programs));
    };
    let by_one = |example: &Example| {
        let programs = funnelled(&example.calls[0], processes, threads, ONCE).unwrap();
        check_results(example, threads, job_of(threads, own_lanes(threads), programs));
    };
    for kind in [Kind::Bcast, Kind::Allgather, Kind::Alltoall, Kind::Barrier] {
        by_threads(&Example::moving(kind, ranks, 0, 24, false));
    }
    for kind in [Kind::Reduce, Kind::Scan, Kind::Exscan] {
        by_threads(&Example::combining(kind, ranks, 0, 7, affine()));
    }
    by_one(&Example::moving(Kind::Bcast, ranks, 0, 24, false));
    by_one(&Example::moving(Kind::Barrier, ranks, 0, 24, false));
    by_one(&Example::combining(Kind::Reduce, ranks, 0, 7, affine()));
    let scan = Example::combining(Kind::Scan, ranks, 0, 7, affine());
    assert_eq!(funnelled(&scan.calls[0], processes, threads, ONCE), None);
}

/// Packets that processes take from others, for one call more.
fn packets_of_a_call(programs: impl Fn(Rounds) -> Vec<AnyProgram>, threads: u16) -> (u64, u64) {
    let taken = |measured| {
        let programs = programs(Rounds { warm_up: 0, measured, creation: false });
        let ran = job_of(threads, own_lanes(threads), programs).run().unwrap();
        assert_eq!(ran.outcome.ending, Ending::Finished);
        let (mut inside, mut between) = (0, 0);
        for choice in &ran.outcome.choices {
            if let Choice::TakePacket { process, from, .. } = choice {
                *(if *process == from.peer { &mut inside } else { &mut between }) += 1;
            }
        }
        (inside, between)
    };
    let (one, two) = (taken(1), taken(2));
    (two.0 - one.0, two.1 - one.1)
}

/// claim: ep-sem-hier-allreduce
#[test]
fn messages_between_processes_do_not_grow_with_threads_in_steps() {
    let processes = 4;
    let allreduce =
        |ranks: u32| Example::combining(Kind::Allreduce, ranks, 0, 1, sum()).calls[0].clone();
    let mut flat_before = 0;
    for threads in [1, 2, 3, 5] {
        let ranks = processes * u32::from(threads);
        let others = u64::from(threads - 1);
        let flat = allreduce(ranks);
        let steps = over_processes(&flat, ranks, threads);
        let of = |call: &Collective| {
            let programs =
                |rounds| by_endpoints(call, processes, threads, Creation::Dynamic, rounds);
            packets_of_a_call(programs, threads)
        };
        // Recursive doubling of four ranks: each sends twice. Inside: up and down a tree.
        let inside = 4 * 2 * others;
        assert_eq!(of(&steps), (inside, 8), "{threads} threads in steps");
        let (_, between) = of(&flat);
        assert!(between > flat_before, "{threads} threads, all alike: {between}");
        flat_before = between;
        let programs = |rounds| funnelled(&flat, processes, threads, rounds).unwrap();
        assert_eq!(packets_of_a_call(programs, threads), (inside, 8), "{threads} funnelled");
        assert_eq!(funnelled_messages(&flat, processes, threads), inside + 8);
    }
}

fn create(parent: u16, count: u16) -> Next<Call> {
    Next::Call(Call::CreateEndpoints { parent: Comm(parent), count, first: endpoint(0) })
}

fn free(local: u16) -> Next<Call> {
    Next::Call(Call::FreeEndpoint { comm: endpoint(local) })
}

fn run(threads: u16, selves: bool, programs: Vec<Script>) -> Ran<Library, Script> {
    let mut job = job(ideal(&[]), programs);
    (job.threads, job.endpoints, job.selves) = (threads, own_lanes(threads), selves);
    job.run().unwrap()
}

fn allreduce(comm: Comm, thread: u32, count: u64) -> Next<Call> {
    let region = |id| Region::new(Space::User(id), 8 * count);
    let (input, output) = (region(2 * thread), region(2 * thread + 1));
    Next::Call(Call::Collective(Collective::allreduce(comm, input, output, sum()).into()))
}

/// claim: ep-sem-self-parent
///
/// Each process makes as many as it likes, when it likes: all ranks are local.
#[test]
fn endpoints_over_one_process_are_its_threads() {
    let own = Communicators::SELF;
    let thread = |process: u16, thread: u16| {
        let (first, count) = (thread == 0, 3 - process);
        let mut steps = Vec::new();
        if first {
            steps.extend([create(own, count), Next::Fork]);
        }
        if thread < count {
            steps.push(allreduce(endpoint(thread), thread.into(), 1));
        }
        if first {
            steps.push(Next::Join);
            steps.extend((0..count).map(free));
        }
        Script::new(steps)
    };
    let programs = (0..6).map(|index| thread(index / 3, index % 3)).collect::<Vec<_>>();
    let mut job = job(ideal(&[]), programs);
    (job.threads, job.endpoints, job.selves) = (3, own_lanes(3), true);
    let mut timed = job.timed().unwrap();
    for (process, thread) in [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)] {
        let value = 10_u64.pow(3 * process + thread).to_le_bytes();
        timed.store(Process(process), Region::new(Space::User(2 * thread), 8), &value);
    }
    let ran = timed.run();
    assert_eq!((ran.outcome.ending, ran.outcome.violations), (Ending::Finished, vec![]));
    for choice in &ran.outcome.choices {
        if let Choice::TakePacket { process, from, .. } = choice {
            assert_eq!(*process, from.peer, "all ranks are local");
        }
    }
    for (process, thread, expected) in [(0, 0, 111), (0, 2, 111), (1, 0, 11_000), (1, 1, 11_000)] {
        let found =
            ran.memories.bytes(Process(process), Region::new(Space::User(2 * thread + 1), 8));
        assert_eq!(found, u64::to_le_bytes(expected), "thread {thread} of process {process}");
    }

    let without = run(1, false, vec![Script::new([create(own, 1)])]);
    let Ending::Protocol { error, .. } = without.outcome.ending else { panic!("there is none") };
    assert!(error.to_string().contains("no such communicator"), "{error}");
}

/// claim: ep-sem-threads-collective
///
/// The second thread of a rank is one call too many: it is refused while the first is inside.
#[test]
fn threads_that_share_a_rank_cannot_each_take_part_in_a_collective() {
    let world = Comm(Communicators::WORLD);
    let once = |thread| Script::new([allreduce(world, thread, 1)]);
    let outcome = |programs| -> Outcome { run(2, false, programs).outcome };
    let good = outcome(vec![once(0), Script::new([]), once(0), Script::new([])]);
    assert_eq!(good.ending, Ending::Finished);
    let both = outcome(vec![once(0), once(1), once(0), Script::new([])]);
    let Ending::Protocol { error, .. } = both.ending else { panic!("{:?}", both.ending) };
    let words = error.to_string();
    assert!(words.contains("another thread of rank 0 is inside MPI_Allreduce"), "{words}");
}

/// What two threads of rank 1 receive from ranks 0 and 2, in random orders of events: the bytes of
/// a message tell it from the other one.
fn received(first: &[Next<Call>], second: &[Next<Call>]) -> BTreeSet<[Vec<u8>; 2]> {
    let send = |id: u32| {
        let buffer = Buffer { id, bytes: 1 };
        let (to, tag, comm) = (Peer::Rank(Rank(1)), 0, Comm(0));
        Script::new([Next::Call(Call::Send { to, tag, comm, buffer, mode: SendMode::Standard })])
    };
    let nothing = || Script::new([]);
    let both = [Script::new(first.iter().cloned()), Script::new(second.iter().cloned())];
    let [first, second] = both;
    let mut job = job(ideal(&[]), vec![send(8), nothing(), first, second, send(9), nothing()]);
    (job.threads, job.nodes) = (2, 3);
    let mut seen = BTreeSet::new();
    for seed in 0..60 {
        let mut world = job.untimed().unwrap();
        assert_eq!(walk(&mut world, seed, 0, 10_000).outcome, untimed::Outcome::Finished);
        let at =
            |process, id| world.memories().bytes(Process(process), Region::new(Space::User(id), 1));
        seen.insert([at(1, 0), at(1, 1)]);
    }
    seen
}

/// claim: ep-sem-wildcard-nondet
#[test]
fn wildcards_of_two_threads_get_what_the_schedule_gives_them() {
    let buffer = |id| Buffer { id, bytes: 1 };
    let receive = |id| {
        let (source, tag, comm) = (Peer::Any, Some(0), Comm(0));
        Next::Call(Call::Recv { source, tag, comm, buffer: buffer(id) })
    };
    let by_wildcards = received(&[receive(0)], &[receive(1)]);
    assert_eq!(by_wildcards.len(), 2, "{by_wildcards:?}");
    for [one, other] in &by_wildcards {
        assert!(one != other && by_wildcards.contains(&[other.clone(), one.clone()]));
    }

    // One thread takes both messages out of the queue by matched probes, and gives one away.
    let probe = |message, source| {
        let (message, source) = (Handle(message), Peer::Rank(Rank(source)));
        Next::Call(Call::Mprobe { message, source, tag: Some(0), comm: Comm(0) })
    };
    let take = |id| Next::Call(Call::Mrecv { message: Handle(id), buffer: buffer(id) });
    let first = [probe(0, 0), probe(1, 2), Next::Fork, take(0), Next::Join];
    let by_probes = received(&first, &[take(1)]);
    assert_eq!(by_probes.len(), 1, "the first thread has the message of rank 0");
    assert!(by_probes.is_subset(&by_wildcards));
}

/// What a thread gives is told apart from what others give: the test data says something.
#[test]
fn threads_give_different_elements() {
    let all: BTreeSet<Vec<u8>> = (0..12).map(|rank| elements(sum(), rank, 1)).collect();
    assert_eq!(all.len(), 12);
}
