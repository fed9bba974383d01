//! Collectives of endpoints over plain MPI: the bytes of the sequential reference, whatever the
//! order; the same as flat ones; who calls MPI; and what is refused with words.

use std::sync::Arc;

use crate::binary::Scratch;
use crate::common::{ideal, job};
use crate::layouts::{Script, World, size, world_of};
use crate::reference::{COMBINING, Example, INPUT, MOVING, OUTPUT, reductions};
use mpisim::collectives::hierarchy::Units;
use mpisim::collectives::{Collective, Kind};
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::{Call, Comm};
use mpisim::protocols::contract::{Process, Region, Space};
use mpisim::runtime::explore::{self, Budget, Survey};
use mpisim::runtime::memory::Memories;
use mpisim::runtime::monitors::Violation;
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::Outcome;
use mpisim::workloads::xios_ep::{Rules, counts as counted};
use mpisim::xios_ep::rank_map::RankMap;

/// Where a buffer of an endpoint is in the memory of its process.
fn region(counts: &[u16], rank: usize, space: Space, bytes: &[u8]) -> (Process, Region) {
    let counts: Vec<u32> = counts.iter().map(|&count| count.into()).collect();
    let map = RankMap::from_counts(&counts);
    let place = map.place(Rank(u32::try_from(rank).unwrap())).unwrap();
    let Space::User(id) = space else { panic!("a buffer of a program, not {space:?}") };
    let id = id * map.local_size(place.process) + place.local;
    (Process(place.process), Region::new(Space::User(id), bytes.len() as u64))
}

fn buffers(example: &Example) -> impl Iterator<Item = (usize, Space, &Vec<u8>)> {
    let inputs = example.inputs.iter().enumerate().map(|(rank, bytes)| (rank, INPUT, bytes));
    let outputs = example.outputs.iter().enumerate().map(|(rank, bytes)| (rank, OUTPUT, bytes));
    inputs.chain(outputs)
}

fn begun(counts: &[u16], example: &Example) -> World {
    let calls = example.calls().into_iter().map(|call| vec![Call::Collective(call)]);
    let mut world = world_of(counts, calls);
    for (rank, space, bytes) in buffers(example) {
        let (process, region) = region(counts, rank, space, bytes);
        world.store(process, region, bytes);
    }
    world
}

/// The first rank whose result, or input, is not as it must be.
fn wrong(counts: &[u16], example: &Example, memories: &Memories) -> Option<String> {
    let found = |rank, space, expected: &Vec<u8>| {
        let (process, region) = region(counts, rank, space, expected);
        let found = memories.bytes(process, region);
        (&found != expected).then(|| format!("rank {rank}, {space:?}: {found:?}, not {expected:?}"))
    };
    (0..example.calls.len()).find_map(|rank| {
        let result = example.results[rank].as_ref().unwrap();
        found(rank, OUTPUT, result).or_else(|| found(rank, INPUT, &example.inputs[rank]))
    })
}

#[track_caller]
fn check_walk(counts: &[u16], example: &Example, seed: u64) {
    let call = &example.calls[0];
    let mut world = begun(counts, example);
    let walk = explore::walk(&mut world, 5, seed, 1_000_000);
    let why = world.fault().map(ToString::to_string);
    assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]), "{call:?}, {why:?}");
    assert_eq!(world.conclude(), [], "{call:?}");
    assert_eq!(wrong(counts, example, world.memories()), None, "{counts:?}: {call:?}");
}

#[track_caller]
fn check_timed(threads: u16, example: &Example) {
    let counts = vec![threads; example.calls.len() / usize::from(threads)];
    let call = &example.calls[0];
    let programs = example.calls().into_iter().map(|call| Script::new([Call::Collective(call)]));
    let mut job = job(ideal(&[("mpi.poll_per_channel", "10 ns")]), programs.collect());
    job.threads = threads;
    let mut timed = job.timed_over_xios_ep(Rules::default()).unwrap();
    for (rank, space, bytes) in buffers(example) {
        let (process, region) = region(&counts, rank, space, bytes);
        timed.store(process, region, bytes);
    }
    let ran = timed.run();
    assert_eq!(ran.outcome.ending, Ending::Finished, "{call:?}");
    assert_eq!(ran.outcome.violations, [], "{call:?}");
    assert_eq!(wrong(&counts, example, &ran.memories), None, "{call:?}");
    // MPI has one participant for each process.
    assert_eq!(counted(&ran).mpi_collectives, counts.len() as u64, "{call:?}");
}

fn affine() -> Reduction {
    Reduction::new(Operator::Affine { modulus: 1_000_003 }, Datatype::Int64Pair).unwrap()
}

fn sum() -> Reduction {
    Reduction::new(Operator::Sum, Datatype::Int32).unwrap()
}

/// Every kind, from every root, with blocks of one size and of several.
fn examples(size: u32, root: u32, unit: u64) -> Vec<Example> {
    let mut all = Vec::new();
    for kind in MOVING {
        all.push(Example::moving(kind, size, root, unit, false));
        if matches!(kind, Kind::Scatter | Kind::Gather | Kind::Allgather) {
            all.push(Example::moving(kind, size, root, unit, true));
        }
    }
    for kind in COMBINING {
        all.push(Example::combining(kind, size, root, unit, affine()));
    }
    all
}

/// claim: xep-coll-pattern
/// claim: xep-allreduce
///
/// C1, C2: the result is the sequential one, which is that of flat collectives, for processes with
/// equal and with different numbers of endpoints; a root may be any endpoint of its process.
#[test]
fn collectives_of_endpoints_give_what_flat_ones_do() {
    let jobs: [&[u16]; 6] = [&[1], &[3], &[1, 1], &[2, 2], &[3, 1, 2], &[1, 4]];
    for counts in jobs {
        for root in 0..size(counts) {
            for unit in [0, 1, 5, 30] {
                for (example, seed) in examples(size(counts), root, unit).iter().zip(0..) {
                    check_walk(counts, example, seed);
                }
            }
        }
    }
    for reduction in reductions() {
        for kind in COMBINING {
            let example = Example::combining(kind, 4, 1, 2, reduction);
            check_walk(&[2, 2], &example, 3);
        }
    }
}

/// claim: xep-bcast-rootproc
/// claim: xep-bcast-mpiroot
///
/// The document's 4 processes with 3 endpoints, on the machine: from every root.
#[test]
fn four_processes_with_three_endpoints_run_every_collective() {
    for root in [0, 4, 11] {
        for unit in [1, 700] {
            for example in examples(12, root, unit) {
                check_timed(3, &example);
            }
        }
    }
}

fn survey(counts: &[u16], example: &Example) -> Survey {
    let (own, checked) = (counts.to_vec(), example.clone());
    let judge = move |world: &World| {
        let detail = wrong(&own, &checked, world.memories())?;
        let statement = "a hierarchical collective gives what a flat one does";
        Some(Violation { id: "C2", statement, objects: Vec::new(), detail })
    };
    explore::judged(&begun(counts, example), Budget::default(), &judge)
}

/// C2, in every order of 2 processes with 2 endpoints.
#[test]
fn two_processes_with_two_endpoints_end_well_in_every_order() {
    for root in [0, 3] {
        let bcast = Example::moving(Kind::Bcast, 4, root, 8, false);
        let gather = Example::moving(Kind::Gather, 4, root, 8, false);
        let reduce = Example::combining(Kind::Reduce, 4, root, 1, affine());
        for example in [bcast, gather, reduce] {
            let found = survey(&[2, 2], &example);
            assert!(found.is_clean(), "{:?}: {found:#?}", example.calls[0]);
        }
    }
    let allreduce = Example::combining(Kind::Allreduce, 4, 0, 1, affine());
    let found = survey(&[2, 2], &allreduce);
    assert!(found.is_clean() && found.states > 1_000, "{found:#?}");
}

/// Two collectives one after the other use the same slots and buffers.
#[test]
fn collectives_follow_each_other() {
    let region = |id, len| Region::new(Space::User(id), len);
    let all = || {
        let bcast = |root| Collective::bcast(Comm(0), Rank(root), region(0, 40));
        let sum = Collective::allreduce(Comm(0), region(0, 40), region(1, 40), sum());
        let blocks = mpisim::collectives::Blocks::Equal(10);
        let scatter = Collective::scatter(Comm(0), Rank(2), region(1, 40), blocks, region(2, 10));
        let calls = [bcast(1), bcast(2), sum.clone(), scatter, sum, bcast(0), bcast(3)];
        calls.map(|call| Call::Collective(Arc::new(call))).to_vec()
    };
    let start = world_of(&[2, 2], (0..4).map(|_| all()));
    for seed in 0..200 {
        let walk = explore::walk(&mut start.clone(), 5, seed, 1_000_000);
        assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]), "seed {seed}");
    }
}

/// A collective with a root, of 8 B or of blocks of 8 B, over four endpoints.
fn rooted(kind: Kind, root: u32, rank: u32) -> Call {
    let region = |id, len| Region::new(Space::User(id), len);
    let blocks = mpisim::collectives::Blocks::Equal(8);
    let (comm, own) = (Comm(0), if root == rank { 32 } else { 0 });
    let root = Rank(root);
    Call::Collective(Arc::new(match kind {
        Kind::Bcast => Collective::bcast(comm, root, region(0, 8)),
        Kind::Scatter => Collective::scatter(comm, root, region(0, own), blocks, region(1, 8)),
        Kind::Gather => Collective::gather(comm, root, region(0, 8), region(1, own), blocks),
        Kind::Reduce => Collective::reduce(comm, root, region(0, 8), region(1, 8), sum()),
        Kind::Barrier
        | Kind::Allgather
        | Kind::Allreduce
        | Kind::ReduceScatter
        | Kind::ReduceScatterBlock
        | Kind::Alltoall
        | Kind::Scan
        | Kind::Exscan => unreachable!("it has no root"),
    }))
}

/// Whatever the two are, and whichever endpoints are their roots, those of one process included: in MPI each process is
/// in one collective at a time. An allreduce follows, so that the order of the third is looked at, too.
#[test]
fn collectives_with_roots_follow_each_other_in_the_order_of_the_program() {
    let kinds = [Kind::Bcast, Kind::Scatter, Kind::Gather, Kind::Reduce];
    let region = |id, len| Region::new(Space::User(id), len);
    let last = || {
        Call::Collective(Arc::new(Collective::allreduce(
            Comm(0),
            region(0, 8),
            region(1, 8),
            sum(),
        )))
    };
    for (first, second) in kinds.into_iter().flat_map(|one| kinds.map(|other| (one, other))) {
        for (one, other) in (0..2).flat_map(|one| (0..4).map(move |other| (one, other))) {
            let calls = |rank| vec![rooted(first, one, rank), rooted(second, other, rank), last()];
            let start = world_of(&[2, 2], (0..4).map(calls));
            let place = format!("{first:?} {one}, {second:?} {other}");
            for seed in 0..4 {
                let mut world = start.clone();
                let walk = explore::walk(&mut world, 5, seed, 1_000_000);
                let why = world.fault().map(ToString::to_string);
                let ended = (walk.outcome, walk.violations);
                assert_eq!(ended, (Outcome::Finished, vec![]), "{place}, seed {seed}: {why:?}");
            }
            let lets_go = matches!(first, Kind::Gather | Kind::Reduce);
            if lets_go && matches!(second, Kind::Bcast | Kind::Scatter) {
                let two = |rank| vec![rooted(first, one, rank), rooted(second, other, rank)];
                let start = world_of(&[2, 2], (0..4).map(two));
                let budget = Budget { reduce: true, ..Budget::default() };
                let found = explore::judged(&start, budget, |_: &World| None);
                assert!(found.is_clean(), "{place}: {found:#?}");
            }
        }
    }
}

/// What the library says where endpoints of one process make these calls.
fn refused(calls: [Collective; 2]) -> String {
    let mut all: Vec<Vec<Call>> = calls.map(|call| vec![Call::Collective(Arc::new(call))]).into();
    all.extend([vec![], vec![]]);
    let mut world = world_of(&[2, 2], all);
    explore::walk(&mut world, 5, 1, 10_000);
    world.fault().expect("it is refused").to_string()
}

/// What contradicts is named, and so is what the library does not offer.
#[test]
fn what_does_not_go_together_is_refused_with_words() {
    let region = |id, len| Region::new(Space::User(id), len);
    let sum_of = |len| Collective::allreduce(Comm(0), region(0, len), region(1, len), sum());
    let reduce = |root| Collective::reduce(Comm(0), Rank(root), region(0, 8), region(1, 8), sum());
    let gather = |len| {
        let blocks = mpisim::collectives::Blocks::Equal(8);
        Collective::gather(Comm(0), Rank(3), region(0, len), region(1, 0), blocks)
    };
    let lists = mpisim::collectives::Blocks::packed(&[1, 1, 1, 1]);
    let ragged =
        Collective::alltoall(Comm(0), (region(0, 4), lists.clone()), (region(1, 4), lists));
    let units = Arc::new(Units::new(4, |rank| rank / 2));
    for (calls, words) in [
        ([sum_of(8), sum_of(16)], "the lengths differ"),
        ([reduce(0), reduce(1)], "the root differs"),
        ([sum_of(8), gather(8)], "the operation differs"),
        ([Collective::barrier(Comm(0)), sum_of(8)], "the operation differs"),
        ([reduce(4), reduce(4)], "there is no endpoint 4 of 4"),
        ([gather(4), gather(4)], "its input has 4 B, and the call needs 8 B"),
        ([ragged.clone(), ragged], "MPI_Alltoallv"),
        ([sum_of(8).over(units).unwrap(), sum_of(8)], "processes for units"),
    ] {
        let found = refused(calls);
        assert!(found.contains(words), "{words}: {found}");
    }
}

/// A scenario measures each operation over the endpoint library: as many ranks as threads, and one
/// participant a process in MPI, which sends fewer messages than ranks would.
#[test]
fn a_scenario_measures_collectives_of_endpoints() {
    let scratch = Scratch::new("xios-ep-collectives");
    for operation in ["barrier", "bcast", "allreduce", "gather", "alltoall", "exscan"] {
        let run = |addressing: &str| {
            let scenario = format!(
                "{{ \"schema\": 1, \"title\": \"t\", \"machine\": \"knc-qdr\", \"nodes\": 4, \
                 \"ranks\": {{ \"threads_per_process\": 3, \"addressing\": \"{addressing}\" }}, \
                 \"mpi\": {{ \"payload\": \"real\" }}, \"workload\": {{ \"kind\": \"collective\", \
                 \"operation\": \"{operation}\", \"ranks_per_node\": 1, {} \"rounds\": 3 }} }}",
                if operation == "barrier" { "" } else { "\"size\": \"80 B\"," }
            );
            scratch.write("s.json", &scenario);
            let answer = scratch.run(&["run", "s.json", "--format", "csv", "--out", "r"]);
            let text = answer.check(0, &[]).out;
            let metric = |name: &str| {
                let line = text.lines().find(|line| line.contains(name)).unwrap();
                line.split(',').nth(2).unwrap().parse::<f64>().unwrap()
            };
            // Messages of a call.
            metric(",message_rate,") * metric(",latency,")
        };
        assert!(run("xios_ep") < run("endpoints"), "{operation}");
    }
}
