//! Algorithms by themselves: all ranks in lockstep on plain byte arrays, without a library.

#![allow(clippy::cast_possible_truncation, reason = "small buffers")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use crate::reference::{COMBINING, Example, INPUT, MOVING, OUTPUT, reductions};
use mpisim::collectives::hierarchy::Units;
use mpisim::collectives::selection::{Bounds, Facts, Rule, Selection};
use mpisim::collectives::{
    Algorithm, At, BEGUN_AT_ONCE, Collective, Kind, Move, Round, Turn, Unfit, Work,
};
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::contract::{Region, Space};

const SCRATCH: Space = Space::Scratch(0);

/// Messages on their way between two ranks: bytes, and of whose entry they tell.
type Wire = VecDeque<(Vec<u8>, u64)>;

/// Messages of a run: how many, how many went from one unit to another, of whose entry each rank has heard, and bytes.
#[derive(Default)]
struct Traffic {
    wires: BTreeMap<(u32, u32), Wire>,
    sent: u32,
    between: u32,
    heard: Vec<u64>,
    /// Bytes that each rank has sent.
    bytes: Vec<usize>,
}

struct Place {
    at: At,
    round: Round,
    /// Moves of the round that are done.
    done: usize,
    begun: bool,
    ended: bool,
    memory: BTreeMap<Space, Vec<u8>>,
}

impl Place {
    fn read(&self, region: Region) -> Vec<u8> {
        let (start, len) = (region.offset as usize, region.len as usize);
        let stored = self.memory.get(&region.space).map_or(&[][..], |bytes| bytes);
        (start..start + len).map(|place| stored.get(place).copied().unwrap_or(0)).collect()
    }

    fn write(&mut self, region: Region, bytes: &[u8]) {
        let stored = self.memory.entry(region.space).or_default();
        let end = region.offset as usize + bytes.len();
        assert!(region.space == SCRATCH || end <= stored.len(), "{region:?} is out of bounds");
        if stored.len() < end {
            stored.resize(end, 0);
        }
        stored[region.offset as usize..end].copy_from_slice(bytes);
    }

    fn work(&mut self, reduction: Option<Reduction>) {
        for work in std::mem::take(&mut self.round.work) {
            match work {
                Work::Copy { from, to } => {
                    let bytes = self.read(from);
                    self.write(to, &bytes);
                }
                Work::Combine { from, into, side } => {
                    let mut sum = self.read(into);
                    reduction.expect("an operator").combine(&self.read(from), &mut sum, side);
                    self.write(into, &sum);
                }
            }
        }
    }
}

/// Lets every rank go on as far as it can until all have ended; `unit` names whose messages count.
#[track_caller]
fn run(example: &Example, unit: impl Fn(u32) -> u32) -> Traffic {
    let size = u32::try_from(example.calls.len()).unwrap();
    let mut traffic = Traffic {
        heard: (0..size).map(|rank| 1 << rank).collect(),
        bytes: vec![0; size as usize],
        ..Traffic::default()
    };
    let mut places: Vec<Place> = (0..size as usize)
        .map(|rank| Place {
            at: At::default(),
            round: Round::default(),
            done: 0,
            begun: false,
            ended: false,
            memory: [(INPUT, &example.inputs), (OUTPUT, &example.outputs)]
                .map(|(space, bytes)| (space, bytes[rank].clone()))
                .into(),
        })
        .collect();
    while places.iter().any(|place| !place.ended) {
        let before = (traffic.sent, places.iter().filter(|place| place.ended).count());
        let mut moved = false;
        for rank in 0..size {
            let (call, place) = (&example.calls[rank as usize], &mut places[rank as usize]);
            while !place.ended && step(call, (rank, size), place, &mut traffic, &unit) {
                moved = true;
            }
        }
        assert!(moved, "nobody can go on: {:?} after {before:?}", example.calls[0]);
    }
    assert!(traffic.wires.values().all(VecDeque::is_empty), "every message is received");
    for (rank, place) in places.iter().enumerate() {
        assert_eq!(place.memory[&INPUT], example.inputs[rank], "the input stays as it is");
        let expected = example.results[rank].as_ref().unwrap();
        // In place a reduced block lies at the beginning of the vector.
        let found = &place.memory[&OUTPUT][..expected.len()];
        assert_eq!(found, expected, "rank {rank} of {size}: {:?}", example.calls[rank]);
    }
    traffic
}

/// One thing that a rank can do; false where it must wait.
fn step(
    call: &Collective,
    (rank, size): (u32, u32),
    place: &mut Place,
    traffic: &mut Traffic,
    unit: impl Fn(u32) -> u32,
) -> bool {
    if !place.begun {
        place.round.clear();
        place.done = 0;
        if call.round((rank, size), SCRATCH, place.at, &mut place.round) {
            place.begun = true;
        } else {
            place.at = At { phase: place.at.phase + 1, round: 0 };
            place.ended = place.at.phase >= call.phases();
        }
        return true;
    }
    let Some(next) = place.round.moves.get(place.done).copied() else {
        place.work(call.reduction);
        place.at.round += 1;
        place.begun = false;
        return true;
    };
    match next {
        Move::Send { to, region, .. } => {
            assert!(to.0 < size && to.0 != rank, "rank {rank} sends to {to:?}");
            let bytes = place.read(region);
            traffic.sent += 1;
            traffic.bytes[rank as usize] += bytes.len();
            let heard = traffic.heard[rank as usize];
            traffic.wires.entry((rank, to.0)).or_default().push_back((bytes, heard));
            traffic.between += u32::from(unit(rank) != unit(to.0));
        }
        Move::Receive { from, region, .. } => {
            // What starts together must not wait for each other: sends come first here.
            let later = place.round.moves[place.done..].iter();
            if let Some(send) = later.clone().position(|one| matches!(one, Move::Send { .. })) {
                let turn = place.done + send;
                place.round.moves[place.done..=turn].rotate_right(1);
                return true;
            }
            let wire = traffic.wires.entry((from.0, rank)).or_default();
            let Some((bytes, heard)) = wire.pop_front() else { return false };
            traffic.heard[rank as usize] |= heard;
            assert_eq!(bytes.len() as u64, region.len, "{call:?}: {from:?} to {rank}");
            place.write(region, &bytes);
        }
    }
    place.done += 1;
    true
}

/// Runs an example by every algorithm that can do it; answers how many these are.
#[track_caller]
fn check(example: &Example) -> usize {
    let fitting = Algorithm::of(example.calls[0].kind);
    let fitting =
        fitting.filter(|one| example.calls.iter().all(|call| call.clone().by(*one).is_ok()));
    fitting
        .map(|algorithm| {
            run(&example.by(|call| call.by(algorithm).unwrap()), |rank| rank);
        })
        .count()
}

#[test]
fn bytes_come_where_they_belong_for_any_number_of_ranks_and_any_root() {
    let mut runs = 0;
    for kind in MOVING {
        for size in (1..=9).chain([12, 16, 17]) {
            let roots = if kind.has_root() { size } else { 1 };
            for root in 0..roots {
                for unit in [0, 1, 3, 20_000] {
                    if unit > 100 && (kind != Kind::Bcast || size > 5) {
                        continue;
                    }
                    for lists in [false, true] {
                        runs += check(&Example::moving(kind, size, root, unit, lists));
                    }
                }
            }
        }
    }
    assert!(runs > 3000, "{runs} runs");
}

/// C3: who ends a barrier knows that everybody has begun it.
#[test]
fn after_a_barrier_everybody_has_heard_of_everybody() {
    for size in 1..=33_u32 {
        let flat = Example::moving(Kind::Barrier, size, 0, 0, false);
        for algorithm in Algorithm::of(Kind::Barrier) {
            for per_unit in [1, 3, size] {
                let units = Arc::new(Units::new(size, |rank| rank / per_unit));
                let by = flat.by(|call| call.by(algorithm).unwrap());
                let stepped = by.by(|call| call.over(Arc::clone(&units)).unwrap());
                for example in [by, stepped] {
                    let heard = run(&example, |rank| rank).heard;
                    let all = (1 << size) - 1;
                    assert!(heard.iter().all(|&set| set == all), "{algorithm:?} of {size}");
                }
            }
        }
    }
}

#[test]
fn so_many_pairs_are_under_way_as_the_call_says() {
    for size in 1..=9_u32 {
        for outstanding in 1..=size {
            for lists in [false, true] {
                let example = Example::moving(Kind::Alltoall, size, 0, 3, lists).by(|call| {
                    let call = call.by(Algorithm::AlltoallScattered).unwrap();
                    Collective { outstanding, ..call }
                });
                run(&example, |rank| rank);
                let mut most = 0;
                let mut at = At::default();
                let mut round = Round::default();
                while example.calls[0].round((0, size), SCRATCH, at, &mut round) {
                    most = most.max(round.moves.len());
                    round.clear();
                    at.round += 1;
                }
                assert!(most <= 2 * outstanding as usize, "{size} ranks, {outstanding} pairs");
            }
        }
    }
}

fn int32_sum() -> Reduction {
    Reduction::new(Operator::Sum, Datatype::Int32).unwrap()
}

#[test]
fn segments_of_any_size_come_down_every_tree() {
    for size in 1..=12_u32 {
        for &algorithm in Algorithm::ALL.iter().filter(|one| one.has_segments()) {
            // A reduction sends whole elements of 4 B, so many as fit, and one at least.
            for (segment, of_bytes, of_elements) in [(1, 28, 7), (8, 4, 4), (13, 3, 3), (100, 1, 1)]
            {
                let root = size / 2;
                let (example, segments) = if algorithm.kind() == Kind::Bcast {
                    (Example::moving(Kind::Bcast, size, root, 28, false), of_bytes)
                } else {
                    (Example::combining(Kind::Reduce, size, root, 7, int32_sum()), of_elements)
                };
                let cut = |call: Collective| Collective { segment, ..call.by(algorithm).unwrap() };
                let sent = run(&example.by(cut), |rank| rank).sent;
                assert_eq!(sent, segments * (size - 1), "{algorithm:?} of {size}");
            }
        }
    }
}

#[test]
fn reductions_equal_the_sequential_one_for_every_operator() {
    let mut runs = 0;
    for kind in COMBINING {
        for reduction in reductions() {
            for size in [1, 2, 3, 4, 5, 7, 8, 13] {
                let roots = if kind.has_root() { size } else { 1 };
                for root in 0..roots {
                    // None, one, fewer than ranks, more than ranks.
                    for count in [0, 1, 3, 17] {
                        runs += check(&Example::combining(kind, size, root, count, reduction));
                    }
                }
            }
        }
    }
    assert!(runs > 5000, "{runs} runs");
}

#[test]
fn in_place_every_algorithm_gives_the_same() {
    let mut runs = 0;
    let (mut aside, mut there) = (BTreeSet::new(), BTreeSet::new());
    let mut all = Vec::new();
    for size in 1..=9 {
        for kind in MOVING {
            let lists = &[false, true][..if kind == Kind::Alltoall { 1 } else { 2 }];
            for lists in lists {
                all.push(Example::moving(kind, size, size / 2, 3, *lists));
            }
        }
        for kind in COMBINING {
            for reduction in reductions() {
                all.push(Example::combining(kind, size, size / 2, 17, reduction));
            }
        }
    }
    for example in
        all.iter().filter(|one| !matches!(one.calls[0].kind, Kind::Barrier | Kind::Bcast))
    {
        for algorithm in Algorithm::of(example.calls[0].kind) {
            if example.calls.iter().any(|call| call.clone().by(algorithm).is_err()) {
                continue;
            }
            let by = example.by(|call| call.by(algorithm).unwrap());
            let placed = by.in_place(true);
            let puts_aside =
                placed.calls.iter().any(|call| call.in_place && call.input.space == INPUT);
            let scatters = placed.calls[0].kind == Kind::Scatter;
            let group = if puts_aside && !scatters { &mut aside } else { &mut there };
            group.insert(algorithm.name());
            run(&placed, |rank| rank);
            runs += 1;
        }
    }
    assert!(runs > 1_000, "{runs} runs");
    assert!(there.contains("ring"), "what lies in its place stays there: {there:?}");
    assert!(aside.contains("pairwise"), "an exchange writes over what it sends later: {aside:?}");
}

/// Every kind that has steps over units, with all operators that fit.
fn stepped(size: u32, root: u32) -> Vec<Example> {
    let mut all = vec![
        Example::moving(Kind::Barrier, size, 0, 0, false),
        Example::moving(Kind::Bcast, size, root, 5, false),
    ];
    for reduction in reductions() {
        for kind in [Kind::Reduce, Kind::Allreduce] {
            all.push(Example::combining(kind, size, root, 3, reduction));
        }
    }
    all
}

#[test]
fn steps_over_units_equal_the_flat_algorithms() {
    let mut refused = 0;
    for size in 1..=9_u32 {
        for root in 0..size {
            for per_unit in 1..=size {
                for scattered in [false, true] {
                    let unit = |rank: u32| {
                        if scattered { rank % size.div_ceil(per_unit) } else { rank / per_unit }
                    };
                    let units = Arc::new(Units::new(size, unit));
                    for example in stepped(size, root) {
                        if let Err(why) = example.calls[0].clone().over(Arc::clone(&units)) {
                            assert_eq!(why, Unfit::ScatteredUnits);
                            refused += 1;
                            continue;
                        }
                        let change = |call: Collective| call.over(Arc::clone(&units)).unwrap();
                        check(&example.by(change));
                    }
                }
            }
        }
    }
    assert!(refused > 0, "scattered units do not keep the order of ranks");
}

#[test]
fn messages_between_units_do_not_grow_with_the_ranks_of_a_unit() {
    for units in [2, 3, 4, 7] {
        for root_unit in 0..units {
            let between = |per_unit: u32| -> Vec<u32> {
                let unit = |rank: u32| rank / per_unit;
                let shared = Arc::new(Units::new(units * per_unit, unit));
                let examples = stepped(units * per_unit, root_unit * per_unit + per_unit / 2);
                let stepped = examples.iter().map(|example| {
                    let call = example.by(|call| call.over(Arc::clone(&shared)).unwrap());
                    run(&call, unit).between
                });
                stepped.collect()
            };
            assert_eq!(between(1), between(2));
            assert_eq!(between(1), between(5));
        }
    }
    let flat = Example::combining(Kind::Allreduce, 16, 0, 1, reductions()[0]);
    let units = Arc::new(Units::new(16, |rank| rank / 4));
    let stepped = flat.by(|call| call.over(Arc::clone(&units)).unwrap());
    let unit = |rank| rank / 4;
    assert_eq!((run(&flat, unit).between, run(&stepped, unit).between), (32, 8));
}

#[test]
fn message_counts_are_those_of_the_literature() {
    let sum = reductions()[0];
    let sent = |example: Example, name: &str| {
        let kind = example.calls[0].kind;
        let algorithm = Algorithm::named(kind, name).unwrap();
        run(&example.by(|call| call.by(algorithm).unwrap()), |rank| rank).sent
    };
    let moving = |kind| Example::moving(kind, 8, 3, 2, false);
    let combining = |kind, size| Example::combining(kind, size, 2, 16, sum);
    assert_eq!(sent(moving(Kind::Barrier), "dissemination"), 8 * 3);
    assert_eq!(sent(moving(Kind::Barrier), "recursive_doubling"), 8 * 3);
    assert_eq!(sent(moving(Kind::Barrier), "tree"), 2 * 7);
    assert_eq!(sent(moving(Kind::Barrier), "linear"), 2 * 7);
    for name in ["binomial", "linear", "knomial", "binary_tree", "chain", "pipelined_ring"] {
        assert_eq!(sent(moving(Kind::Bcast), name), 7, "{name}");
    }
    for name in ["linear", "binary_tree", "pipelined_ring"] {
        assert_eq!(sent(combining(Kind::Reduce, 8), name), 7, "{name}");
    }
    let long = || Example::moving(Kind::Bcast, 8, 3, 8, false);
    assert_eq!(sent(long(), "scatter_ring_allgather"), 7 + 8 * 7);
    assert_eq!(sent(long(), "scatter_recursive_doubling_allgather"), 7 + 8 * 3);
    assert_eq!(sent(moving(Kind::Scatter), "binomial"), 7);
    assert_eq!(sent(moving(Kind::Allgather), "ring"), 8 * 7);
    assert_eq!(sent(moving(Kind::Allgather), "recursive_doubling"), 8 * 3);
    assert_eq!(sent(moving(Kind::Allgather), "bruck"), 8 * 3);
    assert_eq!(sent(moving(Kind::Allgather), "neighbour_exchange"), 8 * 4);
    assert_eq!(sent(Example::moving(Kind::Allgather, 7, 0, 2, false), "neighbour_exchange"), 7 * 6);
    assert_eq!(sent(Example::moving(Kind::Allgather, 11, 0, 2, false), "bruck"), 11 * 4);
    assert_eq!(sent(moving(Kind::Alltoall), "pairwise"), 8 * 7);
    assert_eq!(sent(moving(Kind::Alltoall), "scattered"), 8 * 7);
    assert_eq!(sent(moving(Kind::Alltoall), "bruck"), 8 * 3);
    assert_eq!(sent(Example::moving(Kind::Alltoall, 11, 0, 2, false), "bruck"), 11 * 4);
    assert_eq!(sent(combining(Kind::Allreduce, 8), "ring"), 8 * 7 * 2);
    assert_eq!(sent(combining(Kind::Allreduce, 11), "ring"), 11 * 10 * 2);
    assert_eq!(sent(combining(Kind::Allreduce, 11), "reduce_bcast"), 2 * 10);
    assert_eq!(sent(combining(Kind::ReduceScatterBlock, 8), "ring"), 8 * 7);
    assert_eq!(sent(combining(Kind::Allreduce, 8), "recursive_doubling"), 8 * 3);
    assert_eq!(sent(combining(Kind::Allreduce, 11), "recursive_doubling"), 8 * 3 + 2 * 3);
    assert_eq!(sent(combining(Kind::Allreduce, 8), "reduce_scatter_allgather"), 8 * 6);
    assert_eq!(sent(combining(Kind::Reduce, 8), "reduce_scatter_gather"), 8 * 3 + 7);
    // Three are folded; of the core, all but the one that gathers send once more.
    assert_eq!(sent(combining(Kind::Reduce, 11), "reduce_scatter_gather"), 3 + 8 * 3 + 7 + 1);
    assert_eq!(sent(combining(Kind::Reduce, 8), "reduce_scatter_linear_gather"), 8 * 3 + 7);
    // A root outside the core has no part of its own.
    assert_eq!(sent(combining(Kind::Reduce, 11), "reduce_scatter_linear_gather"), 3 + 8 * 3 + 8);
    assert_eq!(sent(combining(Kind::ReduceScatterBlock, 8), "pairwise"), 8 * 7);
    assert_eq!(sent(combining(Kind::ReduceScatterBlock, 8), "halving"), 8 * 3);
}

/// What the algorithms are for: rings and scatters send the least bytes, Bruck's and trees the fewest messages.
#[test]
fn bytes_that_each_rank_sends_are_those_of_the_literature() {
    let sent = |example: Example, name: &str| {
        let algorithm = Algorithm::named(example.calls[0].kind, name).unwrap();
        run(&example.by(|call| call.by(algorithm).unwrap()), |rank| rank).bytes
    };
    let allreduce = || Example::combining(Kind::Allreduce, 8, 0, 64, int32_sum());
    let vector = 64 * 4;
    assert_eq!(sent(allreduce(), "recursive_doubling"), [3 * vector; 8]);
    assert_eq!(sent(allreduce(), "reduce_scatter_allgather"), [2 * vector * 7 / 8; 8]);
    assert_eq!(sent(allreduce(), "ring"), [2 * vector * 7 / 8; 8]);
    let bcast = || Example::moving(Kind::Bcast, 8, 0, 800, false);
    assert_eq!(sent(bcast(), "binomial")[0], 3 * 800);
    assert_eq!(sent(bcast(), "linear")[0], 7 * 800);
    assert_eq!(sent(bcast(), "chain")[0], 4 * 800);
    assert_eq!(sent(bcast(), "binary_tree")[0], 2 * 800);
    // Seven eighths in the scatter, and as much when its parts are collected.
    assert_eq!(sent(bcast(), "scatter_ring_allgather")[0], 2 * 700);
    assert_eq!(sent(bcast(), "scatter_recursive_doubling_allgather")[0], 2 * 700);
    let blocks = |kind| Example::moving(kind, 8, 0, 10, false);
    for name in ["ring", "recursive_doubling", "bruck", "neighbour_exchange"] {
        assert_eq!(sent(blocks(Kind::Allgather), name), [70; 8], "{name}");
    }
    assert_eq!(sent(blocks(Kind::Alltoall), "pairwise"), [70; 8]);
    assert_eq!(sent(blocks(Kind::Alltoall), "bruck"), [3 * 4 * 10; 8]);
    let scatter = || Example::combining(Kind::ReduceScatterBlock, 8, 0, 1, int32_sum());
    assert_eq!(sent(scatter(), "ring"), [7 * 4; 8]);
    assert_eq!(sent(scatter(), "halving"), [7 * 4; 8]);
}

#[test]
fn what_does_not_fit_is_refused() {
    let affine = reductions().into_iter().find(|one| !one.operator().commutes()).unwrap();
    let scatter = Example::combining(Kind::ReduceScatter, 3, 0, 1, affine).calls[0].clone();
    let named = |kind, name| Algorithm::named(kind, name).unwrap();
    assert_eq!(scatter.clone().by(named(Kind::ReduceScatter, "pairwise")), Err(Unfit::Order));
    let of_lists = Example::moving(Kind::Scatter, 3, 0, 2, true).calls[0].clone();
    assert_eq!(of_lists.clone().by(named(Kind::Scatter, "binomial")), Err(Unfit::Blocks));
    let wrong = of_lists.clone().by(named(Kind::Gather, "linear"));
    assert_eq!(wrong, Err(Unfit::Kind { algorithm: Kind::Gather, operation: Kind::Scatter }));
    let units = Arc::new(Units::new(3, |rank| rank));
    assert_eq!(of_lists.over(units), Err(Unfit::NoHierarchy(Kind::Scatter)));
    assert!(matches!(affine.operator(), Operator::Affine { .. }));
}

#[test]
fn names_are_found_and_told_apart() {
    for kind in Kind::ALL {
        let names: Vec<&str> = Algorithm::of(kind).map(Algorithm::name).collect();
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{kind:?}: {name} twice");
            assert_eq!(Algorithm::named(kind, name).map(Algorithm::kind), Some(kind));
        }
        for own in [0, u16::MAX] {
            assert_eq!(Kind::function_of_tag(kind.tag(own)), Some(kind.functions().waits));
            for number in [0, 1, BEGUN_AT_ONCE - 1] {
                let functions = kind.functions();
                for (turn, function) in [
                    (Turn::Begun(number), functions.begins),
                    (Turn::Prepared(number), functions.prepares),
                ] {
                    let found = Kind::function_of_tag(kind.tag_begun(turn, own));
                    assert_eq!(found, Some(function));
                }
            }
        }
    }
}

#[test]
fn a_call_takes_the_first_rule_whose_bounds_hold_and_whose_algorithm_can_do_it() {
    let rule = |bounds: Bounds, algorithm: Algorithm| Rule {
        bounds,
        algorithm,
        units: None,
        segment: 64,
        outstanding: 1,
    };
    let everywhere = Bounds::default();
    let rules = vec![
        rule(Bounds { up_to: Some(16), ..everywhere }, Algorithm::AllreduceReduceBcast),
        rule(
            Bounds { ranks_up_to: Some(3), ..everywhere },
            Algorithm::AllreduceReduceScatterAllgather,
        ),
        rule(Bounds { ranks_per_node_up_to: Some(1), ..everywhere }, Algorithm::AllreduceRing),
        rule(Bounds { power_of_two: Some(false), ..everywhere }, Algorithm::AllreduceRing),
        rule(
            Bounds { enough_elements: Some(false), ..everywhere },
            Algorithm::AllreduceReduceBcast,
        ),
        rule(
            Bounds { commutative: Some(false), ..everywhere },
            Algorithm::AllreduceReduceScatterAllgather,
        ),
    ];
    let chosen = |(ranks, ranks_per_node): (u32, u32), count: u64, reduction: Reduction| {
        let call = Example::combining(Kind::Allreduce, ranks, 0, count, reduction).calls[0].clone();
        let selection = Selection { rules: rules.clone(), ranks, ranks_per_node };
        call.chosen_by(&selection).map(|(number, call)| {
            assert_eq!((call.algorithm, call.segment), (rules[number].algorithm, 64));
            number
        })
    };
    let sum = int32_sum();
    let affine = reductions().into_iter().find(|one| !one.operator().commutes()).unwrap();
    assert_eq!(chosen((8, 8), 4, sum), Some(0), "16 B");
    assert_eq!(chosen((3, 3), 5, sum), Some(1), "20 B, 3 ranks");
    assert_eq!(chosen((8, 1), 5, sum), Some(2), "1 of a node");
    assert_eq!(chosen((6, 6), 5, sum), Some(3), "6 is no power of two");
    assert_eq!(chosen((6, 6), 5, affine), Some(5), "a ring needs an operator that commutes");
    assert_eq!(chosen((8, 8), 7, sum), Some(4), "7 elements among 8 ranks");
    assert_eq!(chosen((8, 8), 8, sum), None, "no rule fits");
}

/// All ranks look at what all of them know, so that they choose alike.
#[test]
fn what_not_everybody_knows_is_within_no_bound() {
    let facts = |kind, lists| Example::moving(kind, 4, 1, 3, lists).calls[2].facts(4, 2);
    let known = |facts: Facts| (facts.bytes, facts.total);
    assert_eq!(known(facts(Kind::Alltoall, false)), (Some(3), Some(12)));
    assert_eq!(known(facts(Kind::Alltoall, true)), (None, None));
    assert_eq!(known(facts(Kind::Scatter, true)), (None, None));
    assert_eq!(facts(Kind::Allgather, true).bytes, None);
    assert!(facts(Kind::Allgather, true).total.is_some(), "all ranks have all counts");
    let bounds = Bounds { up_to: Some(u64::MAX), ..Bounds::default() };
    assert!(
        bounds.hold(&facts(Kind::Alltoall, false)) && !bounds.hold(&facts(Kind::Alltoall, true))
    );
}
