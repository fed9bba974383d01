use std::sync::Arc;

use super::*;
use crate::comm;
use crate::intercomm::tests::{example, random};
use crate::intercomm::{MpiCreate, create};
use engine::streams::Streams;
use mpi::group::Group;
use mpi::intercommunicator as plain;
use protocols::call::Comm;

/// All of each side say the same.
fn merged(intercomm: &Intercomm, high: [bool; 2]) -> Merged {
    let flags = Side::BOTH
        .map(|side| vec![high[side as usize]; intercomm.groups[side as usize].size() as usize]);
    merge(intercomm, [&flags[0], &flags[1]]).unwrap()
}

const HIGHS: [[bool; 2]; 4] = [[false, true], [true, false], [false, false], [true, true]];

// claim: xep-merge
#[test]
fn the_low_side_comes_first_while_endpoints_keep_their_places() {
    let low_a = merged(&example(), [false, true]);
    assert_eq!(low_a.to_string(), "[A0, A1, A2, A3, B0, B1, B2, B3]");
    assert_eq!(low_a.processes, [1, 2, 3, 0], "A' first, as its leader says low");
    let map = "[(1, 3), (0, 0), (0, 1), (0, 2), (0, 3), (1, 0), (1, 1), (1, 2)]";
    assert_eq!(low_a.members.rank_map.to_string(), map);
    let low_b = merged(&example(), [true, false]);
    assert_eq!(low_b.to_string(), "[B0, B1, B2, B3, A0, A1, A2, A3]");
    assert_eq!(low_b.processes, [0, 1, 2, 3]);
}

// claim: xep-merge-same-high
#[test]
fn where_both_say_the_same_the_lower_leader_comes_first() {
    // A's leader moved to process 1; B's is on process 0.
    for high in [false, true] {
        let merged = merged(&example(), [high, high]);
        assert_eq!(merged.to_string(), "[B0, B1, B2, B3, A0, A1, A2, A3]");
    }
}

// claim: xep-merge-high-uniform
#[test]
fn a_side_that_disagrees_with_itself_is_refused() {
    let (inter, yes) = (example(), [true; 4]);
    let refused = |high| merge(&inter, high).unwrap_err().to_string();
    assert_eq!(
        refused([&yes, &[false, false, true, false]]),
        "side B: rank 2 says high = true, rank 0 says false"
    );
    assert_eq!(refused([&[true; 3], &yes]), "side A: 3 flags for 4 processes; each rank has one");
}

/// On random sides and for all flags: a permutation, in order, in sound communicator objects, and
/// from it the two sides can be made again.
// claim: xep-merge-inverse
#[test]
fn a_merge_holds_each_endpoint_once_and_can_be_undone() {
    for seed in 0..400 {
        let ([a, b], peer) = random(&mut Streams::new(seed).stream("merges", 0));
        let inter = create(&a, &b, &peer).unwrap();
        for high in HIGHS {
            let merged = merged(&inter, high);
            let sizes = [&a, &b].map(|caller| caller.members.size());
            assert_eq!(merged.order.len(), (sizes[0] + sizes[1]) as usize);
            let mut sorted = merged.order.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), merged.order.len(), "each endpoint once");
            let side_of = |(side, _): &(Side, Rank)| *side != merged.order[0].0;
            assert!(merged.order.is_sorted_by_key(|entry| (side_of(entry), entry.1)));
            if high[0] != high[1] {
                assert_eq!(merged.order[0].0, if high[0] { Side::B } else { Side::A });
            }
            check_places(&inter, &merged);
            check_against_mpi(&inter, &merged, high);
            check_undone(&merged, [a.leader, b.leader], &inter);
        }
    }
}

fn check_places(inter: &Intercomm, merged: &Merged) {
    let map = Arc::new(merged.members.rank_map.clone());
    comm::validate(&comm::Part::<u64>::all(Comm(2), &map)).unwrap();
    for ((side, rank), place) in merged.order.iter().zip(map.places()) {
        let thread = inter.groups[*side as usize].thread(*rank).unwrap();
        assert_eq!(merged.processes[place.process as usize], thread.process);
    }
}

/// MPI orders processes likewise, where it prescribes an order.
fn check_against_mpi(inter: &Intercomm, merged: &Merged, high: [bool; 2]) {
    let caller = |side: Side| {
        let MpiCreate { local_leader, remote_leader } = inter.mpi_create(side)?;
        let group = Arc::new(Group::new(inter.assigned_to(side).processes.clone()).unwrap());
        let (leader, remote_leader) = (Rank(local_leader), Rank(remote_leader));
        Some(plain::Caller { group, leader, remote_leader })
    };
    let (Some(a), Some(b)) = (caller(Side::A), caller(Side::B)) else { return };
    if high[0] == high[1] {
        return;
    }
    let mut table = plain::Intercommunicators::default();
    let number = table.create(&a, &b, &Group::world(5)).unwrap();
    let flags = [&a, &b].map(|caller| caller.group.size() as usize);
    let flags = [vec![high[0]; flags[0]], vec![high[1]; flags[1]]];
    let group = table.get(number).unwrap().merge([&flags[0], &flags[1]]).unwrap();
    assert_eq!(group.members(), merged.processes);
}

/// The two sides are groups of the merged communicator: their threads in the old order.
fn check_undone(merged: &Merged, leaders: [Rank; 2], inter: &Intercomm) {
    for side in Side::BOTH {
        let own = merged.order.iter().zip(&merged.members.threads);
        let threads: Vec<Thread> =
            own.filter(|((of, _), _)| *of == side).map(|(_, thread)| *thread).collect();
        assert_eq!(threads, *inter.groups[side as usize].threads);
        let leader = threads[leaders[side as usize].0 as usize];
        assert!(merged.members.rank(leader).is_some());
    }
}
