use std::collections::BTreeSet;

use super::*;
use crate::rank_map::Place;
use crate::tag::Fields;
use engine::streams::{Stream, Streams};
use mpi::group::Group;
use mpi::intercommunicator as plain;

/// A thread, as `process.thread`.
fn thread(text: &str) -> Thread {
    let (process, thread) = text.split_once('.').unwrap();
    Thread { process: process.parse().unwrap(), thread: thread.parse().unwrap() }
}

fn members(text: &str) -> Arc<Members> {
    Arc::new(Members::in_order(text.split(' ').map(thread).collect()).unwrap())
}

/// Both calls, as programs make them that know each other's leader in `peer`.
pub(crate) fn callers(sides: [&Arc<Members>; 2], leaders: [u32; 2], peer: &Members) -> [Caller; 2] {
    let at = |side: usize| {
        let leader = sides[side].thread(Rank(leaders[side])).unwrap();
        peer.rank(leader).unwrap()
    };
    [0, 1].map(|side| Caller {
        members: Arc::clone(sides[side]),
        leader: Rank(leaders[side]),
        remote_leader: at(1 - side),
        tag: 5,
    })
}

/// The first thread of each side leads; peer is the world in the order of its threads.
fn of(a: &str, b: &str) -> Intercomm {
    let sides = [members(a), members(b)];
    let [a, b] = callers([&sides[0], &sides[1]], [0, 0], &world(&sides));
    create(&a, &b, &world(&sides)).unwrap()
}

/// All threads of both sides, in order.
fn world(sides: &[Arc<Members>; 2]) -> Members {
    let mut all: Vec<Thread> = sides.iter().flat_map(|side| &side.threads).copied().collect();
    all.sort_unstable();
    Members::in_order(all).unwrap()
}

/// Four processes with two threads each: A has the first of each, B the second.
pub(crate) fn example() -> Intercomm {
    of("0.0 1.0 2.0 3.0", "0.1 1.1 2.1 3.1")
}

fn pairs(entries: &[Entry]) -> Vec<(u32, u32)> {
    entries.iter().map(|entry| (entry.rank.0, entry.label)).collect()
}

fn places(map: &RankMap) -> Vec<(u32, u32)> {
    map.places().iter().map(|place| (place.local, place.process)).collect()
}

// claim: xep-map-A-local
// claim: xep-map-A-remote
// claim: xep-map-Ap-inter
// claim: xep-map-Ap-rank
// claim: xep-map-B-local
// claim: xep-map-Bp-rank
#[test]
fn the_maps_of_the_example() {
    let inter = example();
    let [a, b] = Side::BOTH.map(|side| pairs(inter.rank_map_of(side)));
    let a_local = [(1, 0), (0, 1), (2, 1), (4, 1)];
    let a_remote = [(0, 0), (1, 1), (3, 1), (5, 1)];
    assert_eq!((&a[..], &b[..]), (&a_local[..], &a_remote[..]));
    let [a_prime, b_prime] = Side::BOTH.map(|side| places(&inter.assigned_to(side).rank_map));
    assert_eq!(a_prime, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]);
    assert_eq!(b_prime, [(0, 0), (1, 0)]);
    let [a_inter, b_inter] = Side::BOTH.map(|side| places(inter.intercomm_rank_map(side).unwrap()));
    assert_eq!((a_inter, b_inter), (b_prime, a_prime));
    assert_eq!(inter.assigned_to(Side::A).processes, [1, 2, 3]);
    assert_eq!(inter.assigned_to(Side::B).processes, [0]);
}

// claim: xep-p2p-route-A0B0
#[test]
fn a0_reaches_b0_inside_b_prime() {
    let inter = example();
    let route = inter.route(Side::A, Rank(0), Rank(0)).unwrap();
    let expected =
        Route { channel: Channel::Intra { label: 0 }, sender: 1, receiver: 0, process: 0 };
    assert_eq!(route, expected);
    assert_eq!(route.tag(3), Fields { tag: 3, sender: 1, receiver: 0 }.encode());
    assert_eq!(inter.assigned_to(Side::B).processes[route.process as usize], 0);
}

/// The document prints the lookups the other way round: the source in the remote map, the
/// destination in the own one. That leaves the map of its own example.
// claim: xep-p2p-diff
#[test]
fn different_labels_go_through_mpi_s_intercommunicator() {
    let inter = example();
    // A3 has rank 4 in A', B0 rank 0 in B'.
    let route = inter.route(Side::A, Rank(3), Rank(0)).unwrap();
    assert_eq!(route, Route { channel: Channel::Inter, sender: 0, receiver: 0, process: 0 });
    let route = inter.route(Side::B, Rank(0), Rank(3)).unwrap();
    assert_eq!(route, Route { channel: Channel::Inter, sender: 0, receiver: 0, process: 2 });
    let (a3, a_inter) = (inter.rank_map_of(Side::A)[3], inter.intercomm_rank_map(Side::A));
    assert_eq!(a_inter.unwrap().place(a3.rank), None, "as printed, the lookup has no entry");
}

// claim: xep-ic-args
// claim: xep-ic-ex-args
#[test]
fn each_side_passes_its_own_leader_and_the_other_one_s_peer_rank() {
    let peer = members("0.0 0.1 0.2 1.0 1.1 1.2 2.0 2.1 2.2 3.0 3.1 3.2");
    // Rank 2 of A has peer rank 4, rank 3 of B has peer rank 9.
    let sides = [members("0.0 0.2 1.1 2.0 2.1"), members("0.1 1.0 1.2 3.0 3.1 3.2")];
    let [a, b] = callers([&sides[0], &sides[1]], [2, 3], &peer);
    assert_eq!([a.leader.0, a.remote_leader.0], [2, 9]);
    assert_eq!([b.leader.0, b.remote_leader.0], [3, 4]);
    let inter = create(&a, &b, &peer).unwrap();
    assert_eq!(inter.decided, Leaders::Apart);
    // Process 1 has A's leader; process 0 has none, and B's leader has the higher peer rank.
    let went: Vec<String> = inter.shared.iter().map(Shared::to_string).collect();
    assert_eq!(went, ["process 0 joins B' (case 1)", "process 1 joins A' (case 2)"]);
}

#[track_caller]
fn check_case(a: &str, b: &str, shared: &str, assigned: &[&[u32]]) {
    let inter = of(a, b);
    let went: Vec<String> = inter.shared.iter().map(Shared::to_string).collect();
    assert_eq!(went.join(", "), shared);
    let processes: Vec<&[u32]> = inter.assigned.iter().map(|group| &group.processes[..]).collect();
    assert_eq!(processes, assigned);
}

// claim: xep-ic-case1
#[test]
fn case_1_goes_to_the_higher_peer_rank() {
    check_case("0.0 1.0", "2.0 1.1", "process 1 joins B' (case 1)", &[&[0], &[2, 1]]);
    check_case("2.0 1.1", "0.0 1.0", "process 1 joins A' (case 1)", &[&[2, 1], &[0]]);
}

// claim: xep-ic-case2
#[test]
fn case_2_goes_to_the_leader_that_it_has() {
    check_case("1.0 0.0", "2.0 1.1", "process 1 joins A' (case 2)", &[&[1, 0], &[2]]);
    check_case("0.0 1.0", "1.1 2.0", "process 1 joins B' (case 2)", &[&[0], &[1, 2]]);
    let both = "process 0 joins A' (case 2), process 1 joins B' (case 2)";
    check_case("0.0 1.0", "1.1 0.1", both, &[&[0], &[1]]);
}

// claim: xep-ic-case3a
#[test]
fn case_3a_moves_the_leader_with_the_smaller_peer_rank() {
    check_case("0.0 1.0", "0.1", "process 0 joins B' (case 3a)", &[&[1], &[0]]);
    // Which side calls first does not matter, and the lower of two other processes leads.
    let inter = of("0.1", "0.0 2.0 1.0 1.1");
    assert_eq!(inter.decided, Leaders::LowerMoves(Side::B));
    assert_eq!(inter.leaders, [Rank(0), Rank(1)], "the master of process 2, its second one");
    assert_eq!(inter.assigned_to(Side::B).label, 2);
    check_case("0.1", "0.0 1.0", "process 0 joins A' (case 3a)", &[&[0], &[1]]);
}

// claim: xep-ic-case3b
#[test]
fn case_3b_moves_the_other_leader_where_the_first_cannot() {
    check_case("0.0", "0.1 1.0", "process 0 joins A' (case 3b)", &[&[0], &[1]]);
    check_case("0.1 1.0", "0.0", "process 0 joins B' (case 3b)", &[&[1], &[0]]);
}

// claim: xep-ic-case3c
#[test]
fn case_3c_is_one_intracommunicator_with_a_label() {
    let inter = of("4.0 4.2", "4.1 4.3");
    assert_eq!(inter.decided, Leaders::Alone(Side::A));
    assert_eq!(inter.assigned.len(), 1);
    assert_eq!(Side::BOTH.map(|side| inter.mpi_create(side)), [None, None]);
    assert_eq!(Side::BOTH.map(|side| inter.intercomm_rank_map(side)), [None, None]);
    assert_eq!(pairs(inter.rank_map_of(Side::A)), [(0, 4), (1, 4)]);
    assert_eq!(pairs(inter.rank_map_of(Side::B)), [(2, 4), (3, 4)]);
    let route = inter.route(Side::B, Rank(1), Rank(0)).unwrap();
    assert_eq!(route.channel, Channel::Intra { label: 4 });
    check_case("4.1", "4.0", "process 4 stays in both groups (case 3c)", &[&[4]]);
    let swapped = of("4.1", "4.0");
    assert_eq!(swapped.assigned[0].members, [(Side::B, Rank(0)), (Side::A, Rank(0))]);
    assert_eq!(swapped.shared[0].to, Side::B);
    let printed = inter.to_string();
    assert!(printed.contains("one process, label 4: rank_map [(0, 0), (1, 0), (2, 0), (3, 0)]"));
}

/// A leader's move is decided in the peer communicator, what follows from it in the world.
// claim: xep-ic-case3
#[test]
fn after_a_move_the_world_is_the_peer_communicator() {
    // In peer B's leader stands first, so B has the smaller peer rank and is the one that moves.
    let sides = [members("1.0 2.0"), members("1.1 0.0 2.1")];
    let peer = members("1.1 1.0");
    let [a, b] = callers([&sides[0], &sides[1]], [0, 0], &peer);
    let inter = create(&a, &b, &peer).unwrap();
    assert_eq!(inter.decided, Leaders::LowerMoves(Side::B));
    assert_eq!(inter.leaders, [Rank(0), Rank(1)]);
    // In the world A's leader is on process 1 and B's on process 0 now.
    let went: Vec<String> = inter.shared.iter().map(Shared::to_string).collect();
    assert_eq!(went, ["process 1 joins A' (case 3a)", "process 2 joins A' (case 1)"]);
}

// claim: xep-ic-disjoint
#[test]
fn sides_may_share_a_process_but_no_thread() {
    let sides = [members("0.0 1.0"), members("2.0 1.0")];
    let peer = members("0.0 2.0");
    let [a, b] = callers([&sides[0], &sides[1]], [0, 0], &peer);
    assert_eq!(
        create(&a, &b, &peer).unwrap_err().to_string(),
        "thread 0 of process 1 is rank 1 of side A and rank 1 of side B; the sides may share \
         processes, not threads"
    );
    let none = of("0.0 1.0", "2.0 3.0");
    assert!(none.shared.is_empty());
    assert_eq!(of("0.0 1.0", "2.0 1.1").shared.len(), 1);
}

#[test]
fn calls_that_contradict_are_refused() {
    let sides = [members("0.0 1.0"), members("2.0 3.0")];
    let peer = members("0.0 1.0 2.0 3.0");
    let [a, b] = callers([&sides[0], &sides[1]], [0, 0], &peer);
    let refused = |a: Caller, b: Caller| create(&a, &b, &peer).unwrap_err().to_string();
    assert_eq!(
        refused(Caller { leader: Rank(2), ..a.clone() }, b.clone()),
        "side A: leader 2 is out of range, its communicator has 2 endpoints"
    );
    assert_eq!(
        refused(a.clone(), Caller { remote_leader: Rank(4), ..b.clone() }),
        "side B: remote leader 4 is out of range, the peer communicator has 4 endpoints"
    );
    assert_eq!(
        refused(a.clone(), Caller { remote_leader: Rank(1), ..b.clone() }),
        "side B takes rank 1 of the peer communicator for the other leader, which it is not"
    );
    assert_eq!(
        refused(a.clone(), Caller { tag: 6, ..b.clone() }),
        "side A passes tag 5, side B tag 6; the leaders' messages would never match"
    );
    let route = create(&a, &b, &peer).unwrap().route(Side::A, Rank(0), Rank(2)).unwrap_err();
    assert_eq!(route.to_string(), "rank 2 is out of range: side B has 2 endpoints");
}

#[test]
fn members_that_do_not_go_with_their_places_are_refused() {
    let map = RankMap::from_counts(&[2, 1]);
    let refused = |threads: &[&str]| {
        let threads = threads.iter().map(|text| thread(text)).collect();
        Members::new(map.clone(), threads).unwrap_err().to_string()
    };
    assert_eq!(refused(&["0.0"]), "1 threads for 3 endpoints");
    assert_eq!(refused(&["0.0", "0.1", "0.0"]), "thread 0 of process 0 has ranks 0 and 2");
    let split = "endpoints 1 and 2 disagree on whether they share a process";
    assert_eq!(refused(&["0.0", "0.1", "0.2"]), split);
    assert_eq!(
        refused(&["0.0", "1.0", "2.0"]),
        "endpoints 0 and 1 disagree on whether they share a process"
    );
}

/// Random sides over up to five processes, with random leaders and a shuffled peer communicator.
pub(crate) fn random(stream: &mut Stream) -> ([Caller; 2], Members) {
    loop {
        let mut below = |n: u64| u32::try_from(stream.below(n)).unwrap();
        let (processes, threads, both) = (1 + below(5), 1 + below(4), 2 + below(2));
        let mut sides = [Vec::new(), Vec::new(), Vec::new()];
        for process in 0..processes {
            for thread in 0..threads {
                sides[below(u64::from(both)) as usize].push(Thread { process, thread });
            }
        }
        let [a, b, _] = &mut sides;
        if a.is_empty() || b.is_empty() {
            continue;
        }
        // One side's processes are not numbered as in the world.
        if below(3) == 0 {
            b.reverse();
        }
        let mut peer: Vec<Thread> = [&a[..], &b[..]].concat();
        for last in (1..peer.len()).rev().filter(|_| both == 3) {
            peer.swap(last, below(last as u64 + 1) as usize);
        }
        let leaders = [below(a.len() as u64), below(b.len() as u64)];
        let [a, b] = [a, b].map(|side| Arc::new(Members::in_order(side.clone()).unwrap()));
        let peer = Members::in_order(peer).unwrap();
        return (callers([&a, &b], leaders, &peer), peer);
    }
}

/// Every law of the section on many layouts, and every case often.
// claim: xep-ic-final
// claim: xep-ic-steps
// claim: xep-map-mirror
// claim: xep-map-label
// claim: xep-p2p-same
#[test]
fn any_two_sides_get_disjoint_processes_and_reach_each_other() {
    let mut met = BTreeSet::new();
    let mut apart = false;
    for seed in 0..1500 {
        let ([a, b], peer) = random(&mut Streams::new(seed).stream("intercommunicators", 0));
        let inter = create(&a, &b, &peer).unwrap();
        check_leaders_and_cases(&inter, &a, &b);
        check_assigned(&inter);
        check_mpi_accepts(&inter);
        check_routes(&inter);
        check_sides_are_alike(&inter, &create(&b, &a, &peer).unwrap());
        apart |= inter.shared.is_empty();
        met.extend(inter.shared.iter().map(|shared| shared.case));
    }
    assert!(apart && met.len() == 5, "all cases were met: {met:?}");
}

fn check_leaders_and_cases(inter: &Intercomm, a: &Caller, b: &Caller) {
    let callers = [a, b];
    let home = |side: Side, rank: Rank| inter.groups[side as usize].thread(rank).unwrap().process;
    let before = Side::BOTH.map(|side| home(side, callers[side as usize].leader));
    let after = Side::BOTH.map(|side| home(side, inter.leaders[side as usize]));
    let alone = inter.assigned.len() == 1;
    assert_eq!(after[0] == after[1], alone);
    for side in Side::BOTH {
        let (was, is) = (callers[side as usize].leader, inter.leaders[side as usize]);
        let group = &inter.groups[side as usize];
        if was != is {
            assert_eq!(before[0], before[1], "leaders in two processes stay");
            assert_eq!(group.rank_map.place(is).unwrap().local, 0, "a master leads");
        }
        // Its own leader's process stays with each group.
        let label = inter.assigned_to(side).label;
        assert_eq!(label, after[side as usize]);
        assert!(inter.assigned_to(side).processes.contains(&label));
    }
    // Case 1: all such processes go one way, that of the higher rank.
    let ranks = if before[0] == before[1] {
        after
    } else {
        [b.remote_leader.0, a.remote_leader.0] // what the *other* side names
    };
    let higher = if ranks[0] > ranks[1] { Side::A } else { Side::B };
    for shared in inter.shared.iter().filter(|shared| shared.case == Case::NoLeader) {
        assert_eq!(shared.to, higher);
        assert!(!after.contains(&shared.process));
    }
}

fn check_assigned(inter: &Intercomm) {
    let all: Vec<u32> = inter.assigned.iter().flat_map(|group| &group.processes).copied().collect();
    let distinct: BTreeSet<u32> = all.iter().copied().collect();
    assert_eq!(all.len(), distinct.len(), "no process is in both groups");
    let of = |side: Side| inter.groups[side as usize].processes();
    let expected: BTreeSet<u32> = Side::BOTH.into_iter().flat_map(of).collect();
    assert_eq!(distinct, expected);
    let labels: BTreeSet<u32> = inter.assigned.iter().map(|group| group.label).collect();
    assert_eq!(labels.len(), inter.assigned.len());
    for side in Side::BOTH {
        let group = &inter.groups[side as usize];
        for (entry, rank) in inter.rank_map_of(side).iter().zip(0..) {
            assert!(labels.contains(&entry.label));
            let at = inter.assigned.iter().find(|group| group.label == entry.label).unwrap();
            assert_eq!(at.members[entry.rank.0 as usize], (side, Rank(rank)));
            let place = at.rank_map.place(entry.rank).unwrap();
            let process = at.processes[place.process as usize];
            assert_eq!(process, group.thread(Rank(rank)).unwrap().process, "threads do not move");
        }
        let own = inter.intercomm_rank_map(side.other());
        assert_eq!(own, (inter.assigned.len() == 2).then_some(&inter.assigned_to(side).rank_map));
    }
}

/// MPI makes an intercommunicator of what phase 2 passes, in every case but 3c.
fn check_mpi_accepts(inter: &Intercomm) {
    let caller = |side: Side| {
        let create = inter.mpi_create(side)?;
        let group = Group::new(inter.assigned_to(side).processes.clone()).unwrap();
        let (leader, remote_leader) = (Rank(create.local_leader), Rank(create.remote_leader));
        Some(plain::Caller { group: Arc::new(group), leader, remote_leader })
    };
    let (Some(a), Some(b)) = (caller(Side::A), caller(Side::B)) else {
        assert!(matches!(inter.decided, Leaders::Alone(_)));
        return;
    };
    plain::Intercommunicators::default().create(&a, &b, &Group::world(5)).unwrap();
}

/// Checks each route: the message is addressed to the thread meant, and its receiver finds out its
/// sender.
fn check_routes(inter: &Intercomm) {
    for side in Side::BOTH {
        let [senders, receivers] =
            [side, side.other()].map(|side| inter.groups[side as usize].size());
        for (sender, receiver) in (0..senders).flat_map(|s| (0..receivers).map(move |r| (s, r))) {
            let (sender, receiver) = (Rank(sender), Rank(receiver));
            let route = inter.route(side, sender, receiver).unwrap();
            let from = inter.rank_map_of(side)[sender.0 as usize];
            let to = inter.rank_map_of(side.other())[receiver.0 as usize];
            let intra = Channel::Intra { label: from.label };
            let expected = if from.label == to.label { intra } else { Channel::Inter };
            assert_eq!(route.channel, expected);
            let find = |label| inter.assigned.iter().find(|group| group.label == label).unwrap();
            let at = Place { local: route.receiver, process: route.process };
            let reached = find(to.label).rank_map.rank(at).unwrap();
            assert_eq!(find(to.label).members[reached.0 as usize], (side.other(), receiver));
            let origin = find(from.label).rank_map.place(from.rank).unwrap();
            assert_eq!(route.sender, origin.local);
            let told = inter.sender(side.other(), to.label, route.channel, origin);
            assert_eq!(told, Some(sender));
        }
    }
}

/// Which side is called A changes names only.
fn check_sides_are_alike(inter: &Intercomm, swapped: &Intercomm) {
    for side in Side::BOTH {
        assert_eq!(inter.rank_map_of(side), swapped.rank_map_of(side.other()));
        let [own, other] = [inter.assigned_to(side), swapped.assigned_to(side.other())];
        assert_eq!((&own.processes, &own.rank_map), (&other.processes, &other.rank_map));
        assert_eq!(inter.leaders[side as usize], swapped.leaders[side.other() as usize]);
    }
}
