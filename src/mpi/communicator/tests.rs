//! Tables of communicators: their numbers, contexts and parents.

use std::collections::BTreeSet;

use super::*;

#[test]
fn the_standard_three_have_the_groups_they_promise() {
    let table = Communicators::standard(4);
    let members = |number| table.get(number).unwrap().group.members().to_vec();
    assert_eq!(members(Communicators::WORLD), [0, 1, 2, 3]);
    assert_eq!(members(Communicators::DUPLICATE), [0, 1, 2, 3]);
    assert_eq!(members(Communicators::REVERSED), [3, 2, 1, 0]);
    assert_eq!(table.get(3), None);
    let reversed = table.get(2).unwrap();
    assert_eq!(reversed.rank(0), Some(Rank(3)));
    assert_eq!(reversed.process(Rank(3)), Some(0));
    assert_eq!((reversed.rank(4), reversed.process(Rank(4))), (None, None));
}

#[test]
fn no_two_contexts_of_a_job_are_equal() {
    let mut table = Communicators::standard(3);
    let of_duplicate = table.duplicate(1).unwrap();
    table.reverse(of_duplicate).unwrap();
    let contexts: BTreeSet<_> =
        table.iter().flat_map(|comm| [comm.context, comm.internal]).collect();
    assert_eq!(contexts.len(), 2 * table.iter().len());
}

#[test]
fn duplicates_share_one_table_of_members() {
    let table = Communicators::standard(1000);
    let group = |number| &table.get(number).unwrap().group;
    assert!(Arc::ptr_eq(group(0), group(1)));
    assert_eq!(table.clone(), table);
}

fn choice(color: Option<i32>, key: i32) -> Choice {
    Choice { color, key }
}

fn group(members: impl Into<Vec<u32>>) -> Arc<Group> {
    Arc::new(Group::new(members.into()).unwrap())
}

#[test]
fn a_split_gives_every_rank_the_communicator_of_its_color() {
    let mut table = Communicators::standard(5);
    let choices = [
        choice(Some(9), 1),
        choice(None, 0),
        choice(Some(4), 0),
        choice(Some(9), 1),
        choice(Some(9), 0),
    ];
    let numbers = table.split(Communicators::REVERSED, &choices).unwrap();
    assert_eq!(numbers, [Some(4), None, Some(3), Some(4), Some(4)]);
    let members = |number| table.get(number).unwrap().group.members().to_vec();
    assert_eq!((members(3), members(4)), (vec![2], vec![0, 4, 1]));
}

#[test]
fn communicators_compare_by_context_and_then_by_group() {
    let mut table = Communicators::standard(3);
    let part = table.create(Communicators::WORLD, group([0, 1])).unwrap().unwrap();
    let same = table.create(Communicators::REVERSED, group([0, 1, 2])).unwrap().unwrap();
    let compared = |a: u16, b: u16| table.get(a).unwrap().compare(table.get(b).unwrap());
    for number in 0..5 {
        assert_eq!(compared(number, number), Comparison::Ident);
    }
    assert_eq!(compared(Communicators::WORLD, Communicators::DUPLICATE), Comparison::Congruent);
    assert_eq!(compared(Communicators::WORLD, same), Comparison::Congruent);
    assert_eq!(compared(Communicators::WORLD, Communicators::REVERSED), Comparison::Similar);
    assert_eq!(compared(Communicators::WORLD, part), Comparison::Unequal);
}

/// Only endpoints give a process more than one rank.
// claim: ep-sem-parent-subset
#[test]
fn no_communicator_has_a_member_twice_or_one_that_its_parent_has_not() {
    let mut table = Communicators::world(4);
    let colors = [None, Some(0), Some(1)];
    let all = (0..81_usize).map(|code| [1, 3, 9, 27].map(|place| colors[code / place % 3]));
    for (index, colors) in all.enumerate() {
        let of = u16::try_from(index % table.iter().len()).unwrap();
        let parent = Arc::clone(&table.get(of).unwrap().group);
        let size = parent.members().len();
        let choices: Vec<_> = colors.map(|color| choice(color, 0))[..size].to_vec();
        let mut made = table.split(of, &choices).unwrap();
        made.push(Some(table.duplicate(of).unwrap()));
        made.push(Some(table.reverse(of).unwrap()));
        made.push(table.create(of, Arc::new(parent.excl(&[Rank(0)]).unwrap())).unwrap());
        for number in made.into_iter().flatten() {
            let mut members = table.get(number).unwrap().group.members().to_vec();
            assert!(members.iter().all(|process| parent.rank(*process).is_some()));
            members.sort_unstable();
            assert!(members.windows(2).all(|pair| pair[0] < pair[1]), "{members:?}");
        }
    }
    assert!(Group::new(vec![0, 0]).is_err(), "a group cannot be made with one twice");
}

#[test]
fn what_cannot_be_made_is_named_and_adds_nothing() {
    let mut table = Communicators::standard(2);
    let unknown = "communicator 3 does not exist; there are 3, numbered from 0";
    assert_eq!(table.duplicate(3).unwrap_err().to_string(), unknown);
    assert_eq!(table.reverse(3).unwrap_err().to_string(), unknown);
    assert_eq!(table.split(3, &[]).unwrap_err().to_string(), unknown);
    assert_eq!(table.create(3, group([0])).unwrap_err().to_string(), unknown);
    assert_eq!(
        table.create(0, group([1, 2])).unwrap_err().to_string(),
        "process 2 is no member of communicator 0"
    );
    assert_eq!(
        table.split(0, &[choice(Some(1), 0), choice(Some(-1), 0)]).unwrap_err().to_string(),
        "rank 1: color -1 is neither undefined nor 0 or more"
    );
    assert_eq!(table.create(0, group([])), Ok(None));
    assert_eq!(table, Communicators::standard(2));
}

#[test]
fn a_full_table_takes_no_more() {
    let mut table = Communicators::world(2);
    while table.iter().len() < 65535 {
        table.duplicate(0).unwrap();
    }
    let two = [choice(Some(0), 0), choice(Some(1), 0)];
    assert_eq!(
        table.split(0, &two).unwrap_err().to_string(),
        "2 more communicators do not fit: a job has 65535 and at most 65536"
    );
    assert_eq!(table.duplicate(0), Ok(65535));
    let full = CommunicatorError::Full { wanted: 1, known: 65536 };
    assert_eq!(table.duplicate(0), Err(full));
    assert_eq!(table.reverse(0), Err(full));
    assert_eq!(table.create(0, group([1])), Err(full));
}
