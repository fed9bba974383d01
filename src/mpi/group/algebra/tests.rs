//! The laws of the algebra, over all pairs of groups of a job of four processes.

use super::*;

/// Every group that a job of so many processes can have.
fn all_groups(processes: u32) -> Vec<Group> {
    let mut groups = vec![Vec::new()];
    let mut begun = 0;
    while begun < groups.len() {
        for process in 0..processes {
            if !groups[begun].contains(&process) {
                let longer = [&groups[begun][..], &[process]].concat();
                groups.push(longer);
            }
        }
        begun += 1;
    }
    groups.into_iter().map(group).collect()
}

fn group(members: impl Into<Vec<u32>>) -> Group {
    Group::new(members.into()).unwrap()
}

fn ranks<const N: usize>(ranks: [u32; N]) -> [Rank; N] {
    ranks.map(Rank)
}

fn range(first: u32, last: u32, stride: i32) -> Range {
    Range { first: Rank(first), last: Rank(last), stride }
}

#[track_caller]
fn check_pairs(law: impl Fn(&Group, &Group) -> bool) {
    let groups = all_groups(4);
    assert_eq!(groups.len(), 65);
    for a in &groups {
        for b in &groups {
            assert!(law(a, b), "{:?} and {:?}", a.members(), b.members());
        }
    }
}

#[test]
fn sets_have_the_members_that_their_names_say() {
    check_pairs(|a, b| {
        let (union, common) = (a.union(b), a.intersection(b));
        let only = a.difference(b);
        (0..5).all(|process| {
            let (in_a, in_b) = (a.rank(process).is_some(), b.rank(process).is_some());
            union.rank(process).is_some() == (in_a || in_b)
                && common.rank(process).is_some() == (in_a && in_b)
                && only.rank(process).is_some() == (in_a && !in_b)
        })
    });
}

#[test]
fn sizes_of_sets_add_up() {
    check_pairs(|a, b| {
        let (union, common) = (a.union(b), a.intersection(b));
        union.size() + common.size() == a.size() + b.size()
            && common.size() + a.difference(b).size() == a.size()
    });
}

#[test]
fn sets_follow_the_first_group_and_then_the_second() {
    check_pairs(|a, b| {
        let appended = [a.members(), b.difference(a).members()].concat();
        let follows = |part: &Group| {
            let places: Vec<_> = part.members().iter().map(|process| a.rank(*process)).collect();
            places.is_sorted()
        };
        a.union(b).members() == appended && follows(&a.intersection(b)) && follows(&a.difference(b))
    });
}

#[test]
fn comparison_is_what_set_and_order_say() {
    check_pairs(|a, b| {
        let same = a.difference(b).size() == 0 && b.difference(a).size() == 0;
        let expected = match (same, a.members() == b.members()) {
            (true, true) => Comparison::Ident,
            (true, false) => Comparison::Similar,
            (false, _) => Comparison::Unequal,
        };
        a.compare(b) == expected && b.compare(a) == expected
    });
}

#[test]
fn translation_back_is_the_inverse() {
    check_pairs(|a, b| {
        let all: Vec<_> = (0..a.size()).map(|rank| Some(Rank(rank))).collect();
        let there = a.translate(&all, b).unwrap();
        all.iter().zip(there).all(|(rank, there)| match there {
            Translation::Rank(there) => {
                b.process(there) == a.process(rank.unwrap())
                    && b.translate(&[Some(there)], a).unwrap() == [Translation::Rank(rank.unwrap())]
            }
            Translation::Undefined => b.rank(a.process(rank.unwrap()).unwrap()).is_none(),
            Translation::ProcNull => false,
        })
    });
}

#[test]
fn the_null_process_translates_into_itself_everywhere() {
    check_pairs(|a, b| a.translate(&[None, None], b).unwrap() == [Translation::ProcNull; 2]);
}

#[test]
fn incl_follows_the_list_and_excl_is_the_rest() {
    for a in all_groups(4) {
        for list in all_groups(a.size()) {
            let list: Vec<_> = list.members().iter().copied().map(Rank).collect();
            let chosen = a.incl(&list).unwrap();
            let expected: Vec<_> = list.iter().map(|rank| a.process(*rank).unwrap()).collect();
            assert_eq!(chosen.members(), expected);
            assert_eq!(a.excl(&list).unwrap(), a.difference(&chosen));
        }
    }
}

/// Steps one by one from `first`, as the standard's formula says, as long as `last` is not passed.
fn stepped(range: Range) -> Vec<Rank> {
    let (first, last) = (i64::from(range.first.0), i64::from(range.last.0));
    let mut ranks = Vec::new();
    let mut rank = first;
    while (rank - first).abs() <= (last - first).abs() {
        ranks.push(Rank(u32::try_from(rank).unwrap()));
        rank += i64::from(range.stride);
    }
    ranks
}

#[test]
fn a_range_is_the_list_of_its_ranks() {
    let world = Group::world(6);
    let mut seen = 0;
    for (first, last) in (0..6).flat_map(|first| (0..6).map(move |last| (first, last))) {
        for stride in [-7, -3, -2, -1, 1, 2, 3, 7] {
            let range = range(first, last, stride);
            if first != last && (first < last) != (stride > 0) {
                let error = world.range_incl(&[range]).unwrap_err();
                assert!(matches!(error, SelectionError::WrongWay { entry: 0, .. }), "{error}");
                continue;
            }
            assert_eq!(world.range_incl(&[range]), world.incl(&stepped(range)));
            assert_eq!(world.range_excl(&[range]), world.excl(&stepped(range)));
            seen += 1;
        }
    }
    assert_eq!(seen, 6 * 8 + 30 * 4);
    let two = world.range_incl(&[range(5, 3, -2), range(0, 3, 2)]).unwrap();
    assert_eq!(two.members(), [5, 3, 0, 2]);
}

#[test]
fn a_range_may_end_between_two_steps_outside_the_group() {
    let chosen = Group::world(4).range_incl(&[range(0, 4, 3)]).unwrap();
    assert_eq!(chosen.members(), [0, 3]);
}

#[test]
fn wrong_ranks_are_named() {
    let a = group([7, 5, 9]);
    let said = |result: Result<Group, SelectionError>| result.unwrap_err().to_string();
    let outside = "entry 1: rank 3 is out of range, the group has 3 processes";
    assert_eq!(said(a.incl(&ranks([0, 3]))), outside);
    assert_eq!(said(a.excl(&ranks([0, 3]))), outside);
    let twice = "rank 2 is selected twice, by entries 0 and 2";
    assert_eq!(said(a.incl(&ranks([2, 0, 2]))), twice);
    assert_eq!(said(a.excl(&ranks([2, 0, 2]))), twice);
    let overlap = "rank 2 is selected twice, by entries 0 and 1";
    assert_eq!(said(a.range_incl(&[range(0, 2, 2), range(1, 2, 1)])), overlap);
    assert_eq!(said(a.range_excl(&[range(0, 2, 2), range(1, 2, 1)])), overlap);
    let beyond = "entry 0: rank 3 is out of range, the group has 3 processes";
    assert_eq!(said(a.range_incl(&[range(1, u32::MAX, 1)])), beyond);
    assert_eq!(said(a.range_incl(&[range(1, 1, 0)])), "range 0: the stride is 0");
    assert_eq!(
        said(a.range_incl(&[range(0, 0, -1), range(2, 1, 1)])),
        "range 1: stride 1 does not lead from rank 2 to 1"
    );
    let error = a.translate(&[None, Some(Rank(3))], &a).unwrap_err();
    assert_eq!(error.to_string(), outside);
    assert_eq!(group([]).translate(&[None], &a), Ok(vec![Translation::ProcNull]));
}

#[test]
fn strides_at_the_ends_of_their_type_do_not_overflow() {
    let world = Group::world(3);
    assert_eq!(world.range_incl(&[range(2, 0, i32::MIN)]).unwrap().members(), [2]);
    assert_eq!(world.range_incl(&[range(2, 2, i32::MAX)]).unwrap().members(), [2]);
    let far = world.range_incl(&[range(u32::MAX, 0, i32::MIN)]).unwrap_err();
    assert!(matches!(far, SelectionError::RankOutOfRange { rank: Rank(u32::MAX), .. }), "{far}");
}
