use std::sync::Arc;

use super::*;
use crate::comm;
use engine::streams::{Stream, Streams};
use mpi::group::Group;
use protocols::call::Comm;

fn choice(color: impl Into<Option<i32>>, key: i32) -> Choice {
    Choice { color: color.into(), key }
}

fn members(parts: &[Part]) -> Vec<(i32, Vec<u32>)> {
    let ranks = |part: &Part| part.members.iter().map(|rank| rank.0).collect();
    parts.iter().map(|part| (part.color, ranks(part))).collect()
}

/// A layout as a creation makes it.
fn random(stream: &mut Stream) -> (RankMap, Vec<Choice>) {
    let mut below = |n: u64| i32::try_from(stream.below(n)).unwrap();
    let counts: Vec<u32> = (0..=below(4)).map(|_| 1 + below(4).unsigned_abs()).collect();
    let map = RankMap::from_counts(&counts);
    let colors = 1 + below(4).unsigned_abs();
    let color = |below: &mut dyn FnMut(u64) -> i32| {
        let color = below(u64::from(colors) + 1);
        (color > 0).then_some(color - 1)
    };
    let choices = (0..map.size()).map(|_| choice(color(&mut below), below(3) - 1)).collect();
    (map, choices)
}

/// The same with ranks in any order, as after a merge.
fn shuffled(stream: &mut Stream) -> (RankMap, Vec<Choice>) {
    let (map, choices) = random(stream);
    let mut places = map.places().to_vec();
    for last in (1..places.len()).rev() {
        places.swap(last, usize::try_from(stream.below(last as u64 + 1)).unwrap());
    }
    (RankMap::new(places, map.process_count()).unwrap(), choices)
}

// claim: xep-split-example
#[test]
fn the_small_split() {
    let map = RankMap::from_counts(&[2, 2]);
    let choices: Vec<Choice> =
        [0, 1, 1, 0].into_iter().zip(0..).map(|(c, k)| choice(c, k)).collect();
    let parts = split(&map, &choices, KeyRule::InProcess).unwrap();
    assert_eq!(members(&parts), [(0, vec![0, 3]), (1, vec![1, 2])]);
    assert_eq!(parts[0].rank_map.to_string(), "[(0, 0), (0, 1)]");
}

// claim: xep-split-color
// claim: xep-split-steps
#[test]
fn each_color_is_one_split_of_mpi_in_which_a_process_joins_or_is_undefined() {
    let own = [choice(4, 1), choice(2, 0), choice(4, 0), choice(None, 0)];
    assert_eq!(colors(&own), [Some(4), Some(2), None], "a process has several colors");
    assert_eq!(mpi_split(4, 3, &own), MpiSplit { color: Some(1), key: 3 });
    assert_eq!(mpi_split(5, 3, &own), MpiSplit { color: None, key: 3 });
    assert_eq!([4, 2, 5].map(|color| local_count(color, &own)), [2, 1, 0]);
    assert_eq!(local_order(4, &[8, 6, 9, 7].map(Rank), &own), [Rank(9), Rank(8)]);
    let equal = [choice(4, 0); 3];
    assert_eq!(local_order(4, &[8, 6, 7].map(Rank), &equal), [6, 7, 8].map(Rank));
    let mut stream = Streams::new(7).stream("splits", 0);
    for _ in 0..200 {
        let (map, choices) = shuffled(&mut stream);
        let parts = split(&map, &choices, KeyRule::InProcess).unwrap();
        let defined = colors(&choices).into_iter().flatten();
        assert_eq!(
            parts.iter().map(|part| part.color).collect::<Vec<_>>(),
            defined.collect::<Vec<_>>()
        );
        for part in &parts {
            check_steps(&map, &choices, part);
        }
    }
}

/// MPI's own split, called as step 2 says, makes the group of processes; step 3's counts make the
/// endpoints.
fn check_steps(map: &RankMap, choices: &[Choice], part: &Part) {
    let own = |process: u32| -> Vec<Choice> {
        map.locals(process).iter().map(|rank| choices[rank.0 as usize]).collect()
    };
    let call = |process| mpi_split(part.color, process, &own(process));
    let calls: Vec<Choice> = (0..map.process_count())
        .map(|process| choice(call(process).color, i32::try_from(call(process).key).unwrap()))
        .collect();
    let [group] = &Group::world(map.process_count()).split(&calls).unwrap()[..] else {
        panic!("one communicator for each color");
    };
    assert_eq!(group.group.members(), part.processes);
    let counts: Vec<u32> =
        part.processes.iter().map(|process| local_count(part.color, &own(*process))).collect();
    assert!(counts.iter().all(|count| *count > 0));
    assert_eq!(part.rank_map, RankMap::from_counts(&counts));
    comm::validate(&comm::Part::<u64>::all(Comm(1), &Arc::new(part.rank_map.clone()))).unwrap();
}

// claim: xep-split-key
#[test]
fn processes_stay_in_order_and_a_key_acts_within_one() {
    let map = RankMap::from_counts(&[2, 2]);
    let choices = [choice(0, 9), choice(0, 8), choice(0, 1), choice(0, 0)];
    let of = |rule| members(&split(&map, &choices, rule).unwrap());
    assert_eq!(of(KeyRule::InProcess), [(0, vec![1, 0, 3, 2])]);
    assert_eq!(of(KeyRule::Mpi), [(0, vec![3, 2, 1, 0])]);
    let mut stream = Streams::new(8).stream("splits", 0);
    for _ in 0..200 {
        let (map, choices) = shuffled(&mut stream);
        for part in split(&map, &choices, KeyRule::InProcess).unwrap() {
            let place = |rank: &Rank| map.place(*rank).unwrap();
            let sorted_by =
                |rank: &Rank| (place(rank).process, choices[rank.0 as usize].key, *rank);
            assert!(part.members.is_sorted_by_key(sorted_by), "{part} of {choices:?}");
            assert!(part.rank_map.is_process_ordered());
        }
    }
}

// claim: xep-split-keyrank
#[test]
fn with_the_rank_as_key_the_split_is_mpi_s() {
    let mut stream = Streams::new(9).stream("splits", 0);
    for _ in 0..300 {
        let (map, mut choices) = random(&mut stream);
        for (choice, rank) in choices.iter_mut().zip(0..) {
            choice.key = rank;
        }
        check_like_mpi(&map, &choices, KeyRule::InProcess);
    }
}

#[test]
fn the_strict_rule_is_mpi_s_for_all_keys() {
    let mut stream = Streams::new(10).stream("splits", 0);
    for _ in 0..300 {
        let (map, choices) = shuffled(&mut stream);
        check_like_mpi(&map, &choices, KeyRule::Mpi);
    }
}

/// MPI's split of as many processes as there are endpoints.
fn check_like_mpi(map: &RankMap, choices: &[Choice], rule: KeyRule) {
    let mut parts = split(map, choices, rule).unwrap();
    parts.sort_by_key(|part| part.color);
    let expected = Group::world(map.size()).split(choices).unwrap();
    let expected: Vec<_> =
        expected.iter().map(|part| (part.color, part.group.members().to_vec())).collect();
    assert_eq!(members(&parts), expected);
    for part in &parts {
        for (new, old) in (0..).zip(&part.members) {
            let place = part.rank_map.place(Rank(new)).unwrap();
            let process = part.processes[place.process as usize];
            assert_eq!(process, map.place(*old).unwrap().process, "endpoints do not move");
            assert_eq!(part.rank(*old), Some(Rank(new)));
        }
    }
}

// claim: xep-split-undefined
#[test]
fn undefined_is_collected_but_has_no_communicator() {
    let map = RankMap::from_counts(&[2, 1]);
    let choices = [choice(None, 0), choice(3, 0), choice(None, 0)];
    assert_eq!(colors(&choices), [None, Some(3)]);
    let parts = split(&map, &choices, KeyRule::InProcess).unwrap();
    assert_eq!(members(&parts), [(3, vec![1])]);
    assert_eq!([0, 1, 2].map(|rank| parts[0].rank(Rank(rank))), [None, Some(Rank(0)), None]);
    let nobody = split(&map, &[choice(None, 0); 3], KeyRule::InProcess).unwrap();
    assert!(nobody.is_empty());
}

#[test]
fn equal_keys_keep_the_order_of_ranks() {
    let map = RankMap::from_counts(&[3]);
    let parts = split(&map, &[choice(0, 5); 3], KeyRule::InProcess).unwrap();
    assert_eq!(members(&parts), [(0, vec![0, 1, 2])]);
}

#[test]
fn wrong_choices_are_refused() {
    let map = RankMap::from_counts(&[2]);
    let split = |choices: &[Choice]| split(&map, choices, KeyRule::InProcess).unwrap_err();
    assert_eq!(split(&[choice(0, 0)]), SplitError::ChoiceCount { found: 1, size: 2 });
    let negative = SplitError::NegativeColor { rank: Rank(1), color: -4 };
    assert_eq!(split(&[choice(0, 0), choice(-4, 0)]), negative);
}
