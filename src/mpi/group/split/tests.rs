//! The laws of splitting, over all small splits.

use super::*;

/// All choices that `size` ranks can make among these colors and keys.
fn all_choices(size: usize, colors: &[Option<i32>], keys: &[i32]) -> Vec<Vec<Choice>> {
    let single = |key: &i32| {
        let key = *key;
        colors.iter().map(move |color| Choice { color: *color, key })
    };
    let singles: Vec<Choice> = keys.iter().flat_map(single).collect();
    (0..size).fold(vec![Vec::new()], |lists, _| {
        let longer = |list: &Vec<Choice>| {
            let list = list.clone();
            singles.iter().map(move |choice| [&list[..], &[*choice]].concat())
        };
        lists.iter().flat_map(longer).collect()
    })
}

#[track_caller]
fn check_split(group: &Group, choices: &[Choice]) {
    let parts = group.split(choices).unwrap();
    let choice_of = |process: u32| choices[group.rank(process).unwrap().0 as usize];
    assert!(parts.windows(2).all(|pair| pair[0].color < pair[1].color), "by rising color");
    for part in &parts {
        let members = part.group.members();
        assert!(!members.is_empty(), "no color without a rank");
        assert!(members.iter().all(|process| choice_of(*process).color == Some(part.color)));
        let place = |process: &u32| (choice_of(*process).key, group.rank(*process));
        assert!(members.is_sorted_by_key(place), "by key, ties by old rank");
    }
    let mut placed: Vec<u32> =
        parts.iter().flat_map(|part| part.group.members().to_vec()).collect();
    let mut defined: Vec<u32> = group.members().to_vec();
    defined.retain(|process| choice_of(*process).color.is_some());
    placed.sort_unstable();
    defined.sort_unstable();
    assert_eq!(placed, defined, "every rank with a color stands in exactly one part");
}

#[test]
fn a_split_is_a_partition_ordered_by_key_and_old_rank() {
    let group = Group::new(vec![6, 2, 9, 0]).unwrap();
    let all = all_choices(4, &[None, Some(0), Some(7)], &[-1, 0, 5]);
    assert_eq!(all.len(), 6561);
    for choices in &all {
        check_split(&group, choices);
    }
}

proptest::proptest! {
    #[test]
    fn large_splits_are_partitions_too(
        said in proptest::collection::vec(
            (proptest::option::of(0..4_i32), proptest::num::i32::ANY), 0..200,
        ),
        reversed: bool,
    ) {
        let world = Group::world(u32::try_from(said.len()).unwrap());
        let group = if reversed { world.reversed() } else { world };
        let choices: Vec<_> =
            said.into_iter().map(|(color, key)| Choice { color, key }).collect();
        check_split(&group, &choices);
    }
}

#[test]
fn wrong_choices_are_named() {
    let group = Group::world(2);
    let choice = |color| Choice { color, key: 0 };
    let said = |choices: &[Choice]| group.split(choices).unwrap_err().to_string();
    assert_eq!(said(&[choice(None)]), "1 choices for a group of 2 processes; each rank has one");
    assert_eq!(
        said(&[choice(Some(0)), choice(Some(-3))]),
        "rank 1: color -3 is neither undefined nor 0 or more"
    );
}
