//! Intercommunicators of endpoints over plain MPI: made by messages between processes and threads,
//! with the maps of the document, messages through both channels, and merges.

#![allow(clippy::wildcard_enum_match_arm, reason = "a few replies of many")]

use std::sync::Arc;

use crate::common::{ideal, job};
use crate::layouts::{Script, World, size, world_of};
use mpisim::mpi::envelope::Rank;
use mpisim::mpi::intercommunicator::Side;
use mpisim::protocols::call::{
    Buffer, Call, Comm, CommCall, Outcome as Ended, Peer, Reply, SendMode, Status,
};
use mpisim::protocols::contract::{Handle, Process, Thread};
use mpisim::protocols::rma::call::{Flavor, RmaCall, Win};
use mpisim::runtime::explore::{self, Budget};
use mpisim::runtime::timed::Ending;
use mpisim::runtime::untimed::Outcome;
use mpisim::workloads::xios_ep::Rules;
use mpisim::xios_ep::intercomm::{Case, Channel, Entry, Intercomm, Leaders};
use mpisim::xios_ep::library::EpThread;
use mpisim::xios_ep::rank_map::RankMap;
use mpisim::xios_ep::tag::USER_MAX;

const WORLD: Comm = Comm(0);
const SIDE: Comm = Comm(7);
const INTER: Comm = Comm(8);
const BOTH: Comm = Comm(9);

fn made(call: CommCall) -> Call {
    Call::Communicators(call)
}

fn isend(comm: Comm, id: u32, to: u32, tag: i32, bytes: u64) -> Call {
    let (to, buffer) = (Peer::Rank(Rank(to)), Buffer { id, bytes });
    Call::Isend { request: Handle(id), to, tag, comm, buffer, mode: SendMode::Standard }
}

fn recv(comm: Comm, source: Peer, tag: Option<i32>) -> Call {
    Call::Recv { source, tag, comm, buffer: Buffer { id: 100, bytes: 64 } }
}

fn from(rank: u32) -> Peer {
    Peer::Rank(Rank(rank))
}

fn wait(id: u32) -> Call {
    Call::Wait { request: Handle(id) }
}

fn window(comm: Comm) -> Call {
    let (win, flavor, memory, bytes, unit) = (Win(1), Flavor::Create, 0, 8, 8);
    Call::Rma(Arc::new(RmaCall::Create { win, comm, flavor, memory, bytes, unit }))
}

fn merge(high: bool) -> Call {
    made(CommCall::Merge { comm: INTER, high, new: BOTH })
}

/// Which endpoints of the world are on which side, in the order of their ranks, and who leads.
#[derive(Clone, Debug)]
struct Shape {
    counts: Vec<u16>,
    sides: [Vec<u32>; 2],
    leaders: [u32; 2],
}

impl Shape {
    fn new(counts: &[u16], a: &[u32], b: &[u32]) -> Self {
        Self { counts: counts.to_vec(), sides: [a.to_vec(), b.to_vec()], leaders: [0, 0] }
    }

    /// The side of an endpoint, and its rank there.
    fn of(&self, endpoint: u32) -> (usize, u32) {
        let place = |side: usize| self.sides[side].iter().position(|one| *one == endpoint);
        let side = usize::from(place(0).is_none());
        (side, u32::try_from(place(side).unwrap()).unwrap())
    }

    /// The calls that make both communicators and the one between them.
    fn begin(&self, endpoint: u32) -> Vec<Call> {
        let (side, rank) = self.of(endpoint);
        let color = i32::try_from(side).unwrap();
        let key = i32::try_from(rank).unwrap();
        let other = 1 - side;
        let remote = self.sides[other][self.leaders[other] as usize];
        let create = CommCall::Intercomm {
            comm: SIDE,
            leader: Rank(self.leaders[side]),
            peer: WORLD,
            remote_leader: Rank(remote),
            tag: 11,
            new: INTER,
        };
        vec![
            made(CommCall::Split { comm: WORLD, color: Some(color), key, new: SIDE }),
            made(create),
        ]
    }

    /// The same, and then `more(side, rank)`.
    fn calls(&self, more: impl Fn(usize, u32) -> Vec<Call>) -> Vec<Vec<Call>> {
        let of = |endpoint| {
            let (side, rank) = self.of(endpoint);
            [self.begin(endpoint), more(side, rank)].concat()
        };
        (0..size(&self.counts)).map(of).collect()
    }

    /// Everybody sends to everybody of the other side, and receives from each by its rank, the last
    /// one first; lengths tell who sent what.
    fn everybody(&self) -> Vec<Vec<Call>> {
        self.calls(|side, rank| {
            let others = u32::try_from(self.sides[1 - side].len()).unwrap();
            let send = |to: u32| isend(INTER, to, to, 2, u64::from(1 + 4 * rank + to));
            let take = |source: u32| recv(INTER, from(source), Some(2));
            let sends = (0..others).map(send);
            sends.chain((0..others).rev().map(take)).chain((0..others).map(wait)).collect()
        })
    }

    #[track_caller]
    fn check_everybody(&self, replies: &[Vec<Reply>]) {
        for (endpoint, replies) in (0..).zip(replies) {
            let (side, rank) = self.of(endpoint);
            let others = u32::try_from(self.sides[1 - side].len()).unwrap();
            let expected: Vec<(u32, u64)> = (0..others)
                .rev()
                .map(|source| (source, u64::from(1 + 4 * source + rank)))
                .collect();
            assert_eq!(heard(replies), expected, "endpoint {endpoint}");
        }
    }
}

/// Source and bytes of what was received.
fn heard(replies: &[Reply]) -> Vec<(u32, u64)> {
    let status = |reply: &Reply| match reply {
        Reply::Outcome(Ended::Received(Status { source, count, .. })) => {
            Some((source.unwrap().0, *count))
        }
        _ => None,
    };
    replies.iter().filter_map(status).collect()
}

fn threads<'a>(world: &'a World, counts: &[u16]) -> Vec<&'a EpThread<Script>> {
    let counts: Vec<u32> = counts.iter().map(|&count| count.into()).collect();
    let map = RankMap::from_counts(&counts);
    let of = |place: &mpisim::xios_ep::rank_map::Place| {
        world.program(Process(place.process), Thread(u16::try_from(place.local).unwrap()))
    };
    map.places().iter().map(of).collect()
}

#[track_caller]
fn walked(shape: &Shape, calls: &[Vec<Call>], seed: u64) -> World {
    let mut world = world_of(&shape.counts, calls.iter().cloned());
    let walk = explore::walk(&mut world, seed, 5, 1_000_000);
    let fault = world.fault().map(ToString::to_string);
    assert_eq!((walk.outcome, walk.violations), (Outcome::Finished, vec![]), "{seed}: {fault:?}");
    assert_eq!(world.conclude(), []);
    world
}

fn replies(world: &World, shape: &Shape) -> Vec<Vec<Reply>> {
    threads(world, &shape.counts).iter().map(|thread| thread.program().replies.clone()).collect()
}

/// The same on the simulated machine, where all processes have as many threads.
#[track_caller]
fn timed(shape: &Shape, calls: &[Vec<Call>]) -> Vec<Vec<Reply>> {
    let programs = calls.iter().cloned().map(Script::new).collect();
    let mut job = job(ideal(&[("mpi.poll_per_channel", "10 ns")]), programs);
    job.threads = shape.counts[0];
    let ran = job.timed_over_xios_ep(Rules::default()).unwrap().run();
    assert_eq!(ran.outcome.ending, Ending::Finished);
    assert_eq!(ran.outcome.violations, []);
    ran.programs.iter().map(|thread| thread.program().replies.clone()).collect()
}

/// What the running library has made, as the endpoints of a walk have it: all have the same.
#[track_caller]
fn made_by(shape: &Shape, seed: u64) -> Intercomm {
    let world = walked(shape, &shape.calls(|_, _| vec![]), seed);
    let threads = threads(&world, &shape.counts);
    let of = |endpoint: usize| threads[endpoint].across(INTER).unwrap();
    for (endpoint, number) in (0..threads.len()).zip(0..) {
        let (side, rank) = shape.of(number);
        let across = of(endpoint);
        assert_eq!((across.side as usize, across.rank), (side, Rank(rank)));
        assert_eq!(across.inter, of(0).inter);
        assert_eq!(across.beside.is_some(), across.inter.assigned.len() == 2);
    }
    (*of(0).inter).clone()
}

/// The document's example: 4 processes, A has the first thread of each, B the second.
fn example() -> Shape {
    Shape::new(&[2; 4], &[0, 2, 4, 6], &[1, 3, 5, 7])
}

fn pairs(entries: &[Entry]) -> Vec<(u32, u32)> {
    entries.iter().map(|entry| (entry.rank.0, entry.label)).collect()
}

fn places(map: &RankMap) -> Vec<(u32, u32)> {
    map.places().iter().map(|place| (place.local, place.process)).collect()
}

/// The printed maps, found in the memory of the running library.
///
/// claim: xep-map-A-local
/// claim: xep-map-A-remote
/// claim: xep-map-Ap-inter
/// claim: xep-map-Ap-rank
/// claim: xep-map-B-local
/// claim: xep-map-Bp-rank
/// claim: xep-map-mirror
/// claim: xep-map-label
/// claim: xep-p2p-route-A0B0
#[test]
fn the_running_library_has_the_maps_of_the_example() {
    for seed in 0..10 {
        let inter = made_by(&example(), seed);
        assert_eq!(pairs(inter.rank_map_of(Side::A)), [(1, 0), (0, 1), (2, 1), (4, 1)]);
        assert_eq!(pairs(inter.rank_map_of(Side::B)), [(0, 0), (1, 1), (3, 1), (5, 1)]);
        let [a, b] = Side::BOTH.map(|side| places(&inter.assigned_to(side).rank_map));
        assert_eq!(a, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
        assert_eq!(b, [(0, 0), (1, 0)]);
        let [a, b] = Side::BOTH.map(|side| places(inter.intercomm_rank_map(side).unwrap()));
        assert_eq!((a.len(), b.len()), (2, 6));
        let route = inter.route(Side::A, Rank(0), Rank(0)).unwrap();
        assert_eq!(route.channel, Channel::Intra { label: 0 });
        assert_eq!((route.sender, route.receiver, route.process), (1, 0, 0));
    }
}

/// Each pair of the example sends both ways: eight within A' or B', the rest between them.
///
/// claim: xep-p2p-same
/// claim: xep-p2p-diff
#[test]
fn all_pairs_of_the_example_hear_each_other() {
    let shape = example();
    let calls = shape.everybody();
    for seed in 0..15 {
        shape.check_everybody(&replies(&walked(&shape, &calls, seed), &shape));
    }
    shape.check_everybody(&timed(&shape, &calls));
}

/// Which shared processes went where, and why.
type Went = Vec<(u32, Case, Side)>;

/// A shape for each case, and where its shared processes went.
fn cases() -> Vec<(Shape, Went)> {
    vec![
        // Disjoint: nothing is shared.
        (Shape::new(&[1, 1], &[0], &[1]), vec![]),
        (Shape::new(&[2, 1], &[0, 1], &[2]), vec![]),
        // 1: process 1 has no leader; B's has the higher rank.
        (
            Shape { leaders: [0, 1], ..Shape::new(&[1, 2, 1], &[0, 1], &[2, 3]) },
            vec![(1, Case::NoLeader, Side::B)],
        ),
        // 2: process 0 has A's leader, process 1 has B's.
        (
            Shape { leaders: [0, 1], ..Shape::new(&[2, 2], &[0, 3], &[1, 2]) },
            vec![(0, Case::OneLeader, Side::A), (1, Case::OneLeader, Side::B)],
        ),
        // 3a: both in process 0, and A has another process.
        (Shape::new(&[2, 1], &[0, 2], &[1]), vec![(0, Case::BothLowerMoves, Side::B)]),
        // 3b: only B has another process.
        (Shape::new(&[2, 1], &[0], &[1, 2]), vec![(0, Case::BothHigherMoves, Side::A)]),
        // 3c: neither has; the side of the lower leader comes first.
        (Shape::new(&[2], &[0], &[1]), vec![(0, Case::BothAlone, Side::A)]),
        (Shape::new(&[3], &[0, 2], &[1]), vec![(0, Case::BothAlone, Side::A)]),
    ]
}

/// claim: xep-ic-disjoint
/// claim: xep-ic-case1
/// claim: xep-ic-case2
/// claim: xep-ic-case3
/// claim: xep-ic-case3a
/// claim: xep-ic-case3b
/// claim: xep-ic-case3c
/// claim: xep-ic-final
#[test]
fn each_case_is_made_by_messages_and_carries_them() {
    for (shape, shared) in cases() {
        let calls = shape.everybody();
        for seed in 0..25 {
            let inter = made_by(&shape, seed);
            let went: Vec<_> =
                inter.shared.iter().map(|one| (one.process, one.case, one.to)).collect();
            assert_eq!(went, shared, "{:?}", shape.sides);
            if !matches!(inter.decided, Leaders::Alone(_)) {
                let [a, b] = Side::BOTH.map(|side| &inter.assigned_to(side).processes);
                assert!(a.iter().all(|process| !b.contains(process)));
            }
            shape.check_everybody(&replies(&walked(&shape, &calls, seed), &shape));
        }
    }
}

/// A world in which each endpoint sends one message to the other side.
fn one_message_each(shape: &Shape) -> World {
    let sizes = [0, 1].map(|side| u32::try_from(shape.sides[side].len()).unwrap());
    let calls = shape.calls(|side, rank| {
        let (own, other) = (sizes[side], sizes[1 - side]);
        let takes = (0..other).filter(|sender| sender % own == rank);
        let takes = takes.map(|_| recv(INTER, Peer::Any, None));
        let send = isend(INTER, 0, rank % other, 2, 4);
        std::iter::once(send).chain(takes).chain([wait(0)]).collect()
    });
    world_of(&shape.counts, calls)
}

/// What is found in the first `states` states, by the rule of partial order: nothing. Answers whether
/// these were all.
#[track_caller]
fn check_orders(shape: &Shape, states: usize) -> bool {
    let budget = Budget { reduce: true, states };
    let survey = explore::exhaustive(&one_message_each(shape), budget);
    let sound = survey.violations.is_empty() && survey.faults.is_empty();
    assert!(sound && survey.dead + survey.doomed == 0, "{shape:?}: {survey:#?}");
    survey.complete
}

/// Two endpoints, in two processes and in one (disjoint and 3c), in every order; of the other cases
/// the first 10,000 states.
#[test]
fn creation_ends_well_in_every_order() {
    for (shape, _) in cases() {
        let all = check_orders(&shape, 10_000);
        assert_eq!(all, size(&shape.counts) == 2, "{shape:?}");
    }
}

/// Three endpoints in one process have 190,000 states, disjoint ones in two processes 96,000; of the
/// other cases the first 400,000 are seen.
#[test]
#[cfg_attr(debug_assertions, ignore = "a minute: `.ci/run test` runs it")]
fn creation_of_three_endpoints_ends_well_in_every_order() {
    for (shape, shared) in cases() {
        let all = check_orders(&shape, 400_000);
        let ends = matches!(&shared[..], [] | [(_, Case::BothAlone, _)]);
        assert_eq!(all, ends, "{shape:?}");
    }
}

/// A receive of any source finds what came inside the assigned group and what came from the other.
#[test]
fn any_source_hears_both_channels() {
    // 3a: A0 and B0 are in process 0, which is B'; A1 alone is A'.
    let shape = Shape::new(&[2, 1], &[0, 2], &[1]);
    let calls = shape.calls(|side, rank| match side {
        0 => vec![isend(INTER, 0, 0, 3, 5 + u64::from(rank)), wait(0)],
        _ => vec![recv(INTER, Peer::Any, None), recv(INTER, Peer::Any, Some(3))],
    });
    let mut first = [0, 0];
    for seed in 0..60 {
        let world = walked(&shape, &calls, seed);
        let mut found = heard(&replies(&world, &shape)[1]);
        first[found[0].0 as usize] += 1;
        found.sort_unstable();
        assert_eq!(found, [(0, 5), (1, 6)]);
    }
    assert!(first.iter().all(|times| *times > 0), "either may be first: {first:?}");
}

/// claim: xep-merge
/// claim: xep-merge-same-high
/// claim: xep-merge-inverse
#[test]
fn a_merge_orders_both_sides_by_their_flags() {
    for (shape, _) in cases() {
        // Where both say the same: the side whose leader, after a move, is the lower thread.
        let inter = made_by(&shape, 0);
        let leader = |side: usize| inter.groups[side].thread(inter.leaders[side]).unwrap();
        let lower = usize::from(leader(0) > leader(1));
        for (high, low) in [([false, true], 0), ([true, false], 1), ([true, true], lower)] {
            check_merge(&shape, high, low);
        }
    }
}

/// Everybody sends round the ring of the merged communicator, in which side `low` comes first.
#[track_caller]
fn check_merge(shape: &Shape, high: [bool; 2], low: usize) {
    let order: Vec<u32> = [&shape.sides[low][..], &shape.sides[1 - low][..]].concat();
    let total = u32::try_from(order.len()).unwrap();
    let place = |endpoint: u32| {
        u32::try_from(order.iter().position(|one| *one == endpoint).unwrap()).unwrap()
    };
    let calls = shape.calls(|side, rank| {
        let me = place(shape.sides[side][rank as usize]);
        let (next, before) = ((me + 1) % total, (me + total - 1) % total);
        vec![
            merge(high[side]),
            isend(BOTH, 1, next, 1, u64::from(me)),
            recv(BOTH, from(before), Some(1)),
            wait(1),
            Call::Barrier { comm: BOTH },
        ]
    });
    for seed in 0..6 {
        let world = walked(shape, &calls, seed);
        for (endpoint, replies) in (0..).zip(replies(&world, shape)) {
            let before = (place(endpoint) + total - 1) % total;
            assert_eq!(heard(&replies), [(before, u64::from(before))], "{high:?}");
        }
    }
}

/// MPI reads the tag at the leaders: one that moved is followed by an endpoint that said another.
#[test]
fn only_the_leaders_say_the_tag() {
    for (shape, _) in cases() {
        let mut calls = shape.everybody();
        for (endpoint, calls) in (0..).zip(&mut calls) {
            let (side, rank) = shape.of(endpoint);
            let leads = shape.leaders[side] == rank;
            for call in calls {
                if let Call::Communicators(CommCall::Intercomm { tag, .. }) = call {
                    *tag = if leads { 5 } else { 0 };
                }
            }
        }
        for seed in 0..10 {
            shape.check_everybody(&replies(&walked(&shape, &calls, seed), &shape));
        }
    }
}

/// Thread 0 of each process meets thread 1 of the other one, under one tag and in the world: each
/// pair sends its words over the same two processes as the other pair.
fn crossed() -> (Shape, Vec<Vec<Call>>) {
    let other = |endpoint: u32| 3 - endpoint;
    let calls = |endpoint: u32| {
        let color = Some(i32::try_from(endpoint).unwrap());
        let create = CommCall::Intercomm {
            comm: SIDE,
            leader: Rank(0),
            peer: WORLD,
            remote_leader: Rank(other(endpoint)),
            tag: 11,
            new: INTER,
        };
        vec![
            made(CommCall::Split { comm: WORLD, color, key: 0, new: SIDE }),
            made(create),
            isend(INTER, 1, 0, 2, u64::from(1 + endpoint)),
            recv(INTER, from(0), Some(2)),
            wait(1),
        ]
    };
    (Shape::new(&[2, 2], &[0, 1], &[2, 3]), (0..4).map(calls).collect())
}

#[test]
fn two_pairs_with_crossed_leaders_meet_at_once() {
    let (shape, calls) = crossed();
    let check = |replies: &[Vec<Reply>]| {
        for (endpoint, replies) in (0..).zip(replies) {
            assert_eq!(heard(replies), [(0, 1 + 3 - endpoint)], "endpoint {endpoint}");
        }
    };
    for seed in 0..300 {
        check(&replies(&walked(&shape, &calls, seed), &shape));
    }
    check(&timed(&shape, &calls));
    let start = world_of(&shape.counts, calls);
    let survey = explore::exhaustive(&start, Budget { reduce: true, states: 20_000 });
    let sound = survey.violations.is_empty() && survey.faults.is_empty();
    assert!(sound && survey.dead + survey.doomed == 0, "{survey:#?}");
}

/// What the first refusal of a shape's calls says.
fn refused(shape: &Shape, calls: Vec<Vec<Call>>) -> String {
    let mut world = world_of(&shape.counts, calls);
    explore::walk(&mut world, 1, 5, 100_000);
    world.fault().expect("it is refused").to_string()
}

/// claim: xep-merge-high-uniform
/// claim: xep-tag-overflow
#[test]
fn what_cannot_be_is_refused_with_words() {
    let shape = Shape::new(&[2, 1], &[0, 2], &[1]);
    let create = |leader: u32, remote: u32, tag: i32| {
        let (leader, remote_leader) = (Rank(leader), Rank(remote));
        let (comm, peer, new) = (WORLD, WORLD, INTER);
        made(CommCall::Intercomm { comm, leader, peer, remote_leader, tag, new })
    };
    let all_call = |call: Call| vec![vec![call.clone()], vec![call.clone()], vec![call]];
    let then =
        |calls: &[Call]| shape.calls(|side, _| if side == 0 { calls.to_vec() } else { vec![] });
    for (calls, words) in [
        (all_call(create(3, 1, 0)), "the leader is endpoint 3 of 3"),
        (all_call(create(0, 3, 0)), "the other leader is endpoint 3 of 3"),
        (
            all_call(create(0, 0, 0)),
            "thread 0 of process 0 is rank 0 of side A and rank 0 of side B",
        ),
        (all_call(create(0, 1, USER_MAX + 1)), "tag 32768 is out of range"),
        (then(&[isend(INTER, 0, 1, 0, 4)]), "side B has 1 endpoints"),
        (then(&[isend(INTER, 0, 0, USER_MAX + 1, 4)]), "tag 32768 is out of range"),
        (then(&[recv(INTER, from(1), None)]), "there is no endpoint 1 of 1"),
        (then(&[Call::Barrier { comm: INTER }]), "point-to-point messages and a merge only"),
        (then(&[made(CommCall::Free { comm: INTER })]), "point-to-point messages and a merge only"),
        (then(&[window(INTER)]), "point-to-point messages and a merge only"),
        (
            then(&[made(CommCall::Merge { comm: SIDE, high: true, new: BOTH })]),
            "no intercommunicator",
        ),
    ] {
        let found = refused(&shape, calls);
        assert!(found.contains(words), "{words}: {found}");
    }
    let differ = shape.calls(|side, rank| vec![merge(side == 0 && rank == 1)]);
    let found = refused(&shape, differ);
    assert!(found.contains("says high"), "{found}");
    // The assigned group of B has the two processes that a window asks for.
    let shape = Shape { leaders: [0, 1], ..Shape::new(&[1, 2, 1], &[0, 1], &[2, 3]) };
    let found = refused(&shape, shape.calls(|_, _| vec![window(INTER)]));
    assert!(found.contains("point-to-point messages and a merge only"), "{found}");
}
