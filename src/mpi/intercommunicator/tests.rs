//! The laws of intercommunicators, over all pairs of disjoint groups of a job of four processes.

use std::collections::BTreeSet;

use super::*;
use crate::group::Comparison as GroupComparison;

fn group(members: impl Into<Vec<u32>>) -> Arc<Group> {
    Arc::new(Group::new(members.into()).unwrap())
}

/// Every order of every set of two or more of these processes, cut in two at every place.
fn all_pairs(processes: u32) -> Vec<[Arc<Group>; 2]> {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new()];
    let mut pairs = Vec::new();
    let mut begun = 0;
    while let Some(list) = lists.get(begun).cloned() {
        let free = (0..processes).filter(|process| !list.contains(process));
        lists.extend(free.map(|process| [&list[..], &[process]].concat()));
        pairs.extend((1..list.len()).map(|cut| [group(&list[..cut]), group(&list[cut..])]));
        begun += 1;
    }
    pairs
}

/// The callers of both sides, with these leaders, over a peer communicator.
fn callers(groups: &[Arc<Group>; 2], leaders: [u32; 2], peer: &Group) -> [Caller; 2] {
    let in_peer =
        |side: usize| peer.rank(groups[side].process(Rank(leaders[side])).unwrap()).unwrap();
    let caller = |side: usize| Caller {
        group: Arc::clone(&groups[side]),
        leader: Rank(leaders[side]),
        remote_leader: in_peer(1 - side),
    };
    [caller(0), caller(1)]
}

fn made(groups: &[Arc<Group>; 2]) -> Intercommunicator {
    let mut table = Intercommunicators::default();
    let world = Group::world(8);
    let [a, b] = callers(groups, [0, 0], &world);
    let number = table.create(&a, &b, &world).unwrap();
    table.get(number).unwrap().clone()
}

/// The group of a merge in which all of a side say the same.
fn merged(inter: &Intercommunicator, high: [bool; 2]) -> Vec<u32> {
    let said = Side::BOTH.map(|side| vec![high[side as usize]; inter.group(side).members().len()]);
    inter.merge([&said[0], &said[1]]).unwrap().members().to_vec()
}

#[test]
fn local_and_remote_mirror_each_other() {
    let pairs = all_pairs(4);
    assert_eq!(pairs.len(), 12 + 2 * 24 + 3 * 24);
    for groups in pairs {
        let inter = made(&groups);
        for process in 0..5 {
            let sides = [&groups[0], &groups[1]].map(|group| group.rank(process).is_some());
            let expected = match sides {
                [true, false] => Some((&groups[0], &groups[1])),
                [false, true] => Some((&groups[1], &groups[0])),
                _ => None,
            };
            assert_eq!(inter.local(process).zip(inter.remote(process)), expected);
        }
    }
}

#[test]
fn every_choice_of_leaders_and_peer_gives_the_same_groups() {
    let peer = Group::new(vec![2, 3, 1, 0]).unwrap();
    for groups in all_pairs(4) {
        let mut table = Intercommunicators::default();
        for leader_a in 0..groups[0].size() {
            for leader_b in 0..groups[1].size() {
                let [a, b] = callers(&groups, [leader_a, leader_b], &peer);
                let number = table.create(&a, &b, &peer).unwrap();
                let inter = table.get(number).unwrap();
                assert_eq!(Side::BOTH.map(|side| inter.group(side).clone()), groups);
            }
        }
    }
}

#[test]
fn a_merge_holds_everybody_once_and_keeps_each_side_together() {
    for groups in all_pairs(4) {
        let inter = made(&groups);
        let [a, b] = [groups[0].members(), groups[1].members()];
        assert_eq!(merged(&inter, [false, true]), [a, b].concat());
        assert_eq!(merged(&inter, [true, false]), [b, a].concat());
        let lower_first = if a[0] < b[0] { [a, b] } else { [b, a] }.concat();
        assert_eq!(merged(&inter, [false, false]), lower_first);
        assert_eq!(merged(&inter, [true, true]), lower_first);
    }
}

#[test]
fn the_order_of_a_merge_does_not_depend_on_which_side_is_given_first() {
    for [a, b] in all_pairs(4) {
        let (one, other) = (made(&[a.clone(), b.clone()]), made(&[b, a]));
        for high in [[false, false], [false, true], [true, false], [true, true]] {
            assert_eq!(merged(&one, high), merged(&other, [high[1], high[0]]));
        }
    }
}

#[test]
fn comparison_goes_side_by_side_in_either_order() {
    let all: Vec<_> = all_pairs(3);
    let mut table = Intercommunicators::default();
    let world = Group::world(3);
    for groups in all.iter().chain(&all) {
        let [a, b] = callers(groups, [0, 0], &world);
        table.create(&a, &b, &world).unwrap();
    }
    let sets = |inter: &Intercommunicator| -> BTreeSet<BTreeSet<u32>> {
        let set = |side| inter.group(side).members().iter().copied().collect();
        Side::BOTH.map(set).into()
    };
    let lists = |inter: &Intercommunicator| -> BTreeSet<Vec<u32>> {
        Side::BOTH.map(|side| inter.group(side).members().to_vec()).into()
    };
    for (i, one) in table.iter().enumerate() {
        for (j, other) in table.iter().enumerate() {
            let expected = match (i == j, lists(one) == lists(other), sets(one) == sets(other)) {
                (true, _, _) => Comparison::Ident,
                (_, true, _) => Comparison::Congruent,
                (_, _, true) => Comparison::Similar,
                _ => Comparison::Unequal,
            };
            assert_eq!(one.compare(other), expected, "{one:?} and {other:?}");
        }
    }
}

#[test]
fn a_duplicate_is_congruent_and_no_two_contexts_of_a_job_are_equal() {
    let mut table = Intercommunicators::default();
    let world = Group::world(2);
    let [a, b] = callers(&[group([0]), group([1])], [0, 0], &world);
    let first = table.create(&a, &b, &world).unwrap();
    let copy = table.duplicate(first).unwrap();
    let compared = table.get(first).unwrap().compare(table.get(copy).unwrap());
    assert_eq!(compared, Comparison::Congruent);
    let mut communicators = Communicators::world(2);
    while communicators.duplicate(0).is_ok() {}
    let intra = communicators.iter().flat_map(|comm| [comm.context, comm.internal]);
    let inter = table.iter().flat_map(|comm| [comm.context, comm.internal]);
    let contexts: BTreeSet<_> = intra.chain(inter).collect();
    assert_eq!(contexts.len(), 2 * (65536 + 2));
}

#[test]
fn wrong_callers_are_named() {
    let peer = Group::new(vec![0, 2, 5, 7]).unwrap();
    let good = callers(&[group([1, 0]), group([2, 3])], [1, 0], &peer);
    let said = |change: &dyn Fn(&mut [Caller; 2])| {
        let mut wrong = good.clone();
        change(&mut wrong);
        let mut table = Intercommunicators::default();
        let error = table.create(&wrong[0], &wrong[1], &peer).unwrap_err();
        assert_eq!(table.iter().len(), 0, "nothing was added");
        error.to_string()
    };
    assert_eq!(
        said(&|callers| callers[1].leader = Rank(2)),
        "side B: leader 2 is out of range, the group has 2 processes"
    );
    assert_eq!(
        said(&|callers| callers[0].group = group([])),
        "side A: leader 1 is out of range, the group has 0 processes"
    );
    assert_eq!(
        said(&|callers| callers[0].leader = Rank(0)),
        "side A: its leader, process 1, is not in the peer communicator"
    );
    assert_eq!(
        said(&|callers| callers[0].remote_leader = Rank(4)),
        "side A: remote leader 4 is out of range, the peer communicator has 4 ranks"
    );
    assert_eq!(
        said(&|callers| callers[1].remote_leader = Rank(3)),
        "side B takes process 7 for the leader of the other side, which is process 0"
    );
    assert_eq!(
        said(&|callers| callers[1].group = group([2, 0])),
        "process 0 is rank 1 of side A and rank 1 of side B"
    );
    let mut table = Intercommunicators::default();
    assert_eq!(
        table.duplicate(0).unwrap_err().to_string(),
        "intercommunicator 0 does not exist; there are 0, numbered from 0"
    );
    table.create(&good[0], &good[1], &peer).unwrap();
    while table.iter().len() < 65536 {
        table.duplicate(0).unwrap();
    }
    assert_eq!(table.duplicate(0), Err(IntercommunicatorError::Full));
}

#[test]
fn flags_must_be_one_for_each_rank_and_agree_within_a_side() {
    let inter = made(&[group([4, 1]), group([0, 2, 3])]);
    let said = |a: &[bool], b: &[bool]| inter.merge([a, b]).unwrap_err().to_string();
    assert_eq!(
        said(&[true, true], &[false, false, true]),
        "side B: rank 2 says high = true, rank 0 says false"
    );
    assert_eq!(
        said(&[true, false], &[true, true, true]),
        "side A: rank 1 says high = false, rank 0 says true"
    );
    assert_eq!(said(&[true], &[true; 3]), "side A: 1 flags for 2 processes; each rank has one");
    assert_eq!(said(&[true; 2], &[]), "side B: 0 flags for 3 processes; each rank has one");
}

#[test]
fn the_worse_side_decides_a_comparison() {
    use GroupComparison::{Ident, Similar, Unequal};
    for (index, a) in [Ident, Similar, Unequal].into_iter().enumerate() {
        for (other, b) in [Ident, Similar, Unequal].into_iter().enumerate() {
            assert_eq!(worse(a, b), [Ident, Similar, Unequal][index.max(other)]);
        }
    }
}
