//! Every call in every situation that calls of one process can bring about, against a table.
//!
//! The table is written by hand, and where a process stands in it is found from the calls that it
//! has made, not from the state under test.

use std::collections::{BTreeSet, VecDeque};

use super::*;

/// The rules that allow the calls of a column in a situation: `A` all, `.` none, `d` the document, `m`
/// MPICH, `b` both of these. Where only some rules lead to a situation, the others are not checked.
///
/// Columns: fence, fence with no-precede; post; start, complete; wait and test; lock of the own
/// window, of another; unlock likewise; lock-all, unlock-all; flush of the own window, of another, of
/// all (as sync); operation on the own window, on another; request operation likewise; free.
const TABLE: [(Situation, &str); 16] = [
    (at(Place::Nowhere, false), "AA A A. . AA .. A. ... .. .. A"),
    (at(Place::Fenced, false), "AA A A. . AA .. A. ... AA mm A"),
    (at(Place::Fence, false), "Ab d d. . dd .. d. ... AA mm ."),
    (at(Place::Start, false), ".. A .A . .. .. .. ... .A .m ."),
    (at(Place::Own, false), ".. m .. . .A A. .. AmA Ab Ab ."),
    (at(Place::Other, false), ".. A .. . A. .A .. mAA bA bA ."),
    (at(Place::Both, false), ".. m .. . .. AA .. AAA AA AA ."),
    (at(Place::All, false), ".. m .. . .. .. .A AAA AA AA ."),
    (at(Place::Nowhere, true), ".. . A. A mA .. m. ... .. .. ."),
    (at(Place::Fenced, true), ".. . A. A mA .. m. ... bb mm ."),
    (at(Place::Fence, true), ".. . d. d .d .. .. ... dd .. ."),
    (at(Place::Start, true), ".. . .A A .. .. .. ... .A .m ."),
    (at(Place::Own, true), ".. . .. m .m m. .. mmm mm mm ."),
    (at(Place::Other, true), ".. . .. A m. .A .. mAA bA bA ."),
    (at(Place::Both, true), ".. . .. m .. mm .. mmm mm mm ."),
    (at(Place::All, true), ".. . .. m .. .. .m mmm mm mm ."),
];

/// A row of the table.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Situation {
    place: Place,
    exposed: bool,
}

#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
enum Place {
    Nowhere,
    /// After a fence, before any operation.
    Fenced,
    /// After a fence and an operation.
    Fence,
    Start,
    /// The own window is locked.
    Own,
    /// Another one is.
    Other,
    Both,
    All,
}

const fn at(place: Place, exposed: bool) -> Situation {
    Situation { place, exposed }
}

/// Every call with its column in the table: the start is towards another process only.
fn calls() -> Vec<(Event, usize)> {
    let fence = |no_precede, no_succeed| Event::Fence { no_precede, no_succeed };
    let lock = |target, kind| Event::Lock { target, kind };
    let operation = |target, request| Event::Operation { target, request };
    let mut calls = vec![
        (fence(false, false), 0),
        (fence(false, true), 0),
        (fence(true, false), 1),
        (fence(true, true), 1),
        (post(), 2),
        (start(), 3),
        (Event::Complete, 4),
        (Event::Wait, 5),
        (Event::Test { complete: false }, 5),
        (Event::Test { complete: true }, 5),
        (Event::LockAll, 10),
        (Event::UnlockAll, 11),
        (Event::FlushAll, 14),
        (Event::FlushLocalAll, 14),
        (Event::Sync, 14),
        (Event::Free, 19),
    ];
    for (target, place) in [(ME, 0), (OTHER, 1)] {
        calls.extend([
            (lock(target, LockKind::Shared), 6 + place),
            (lock(target, LockKind::Exclusive), 6 + place),
            (Event::Unlock { target }, 8 + place),
            (Event::Flush { target }, 12 + place),
            (Event::FlushLocal { target }, 12 + place),
            (operation(target, false), 15 + place),
            (operation(target, true), 17 + place),
        ]);
    }
    calls
}

/// Whether the table lets a call in this column pass.
fn expected(rules: Rules, situation: Situation, column: usize) -> bool {
    let (_, row) = TABLE.iter().find(|(row, _)| *row == situation).expect("a row for it");
    let cells: Vec<char> = row.chars().filter(|cell| *cell != ' ').collect();
    assert_eq!(cells.len(), 20, "{situation:?}");
    match cells[column] {
        'A' => true,
        '.' => false,
        'd' => rules == Rules::Document,
        'm' => rules == Rules::Mpich,
        'b' => rules != Rules::Strict,
        other => panic!("{other} is no entry"),
    }
}

/// Where a process stands that has made these calls, all of them in order.
fn situation(rules: Rules, made: &[Event]) -> Situation {
    let exposed_after = |made: &[Event]| {
        let ends = |event: &&Event| {
            matches!(event, Event::Post { .. } | Event::Wait | Event::Test { complete: true })
        };
        matches!(made.iter().rev().find(ends), Some(Event::Post { .. }))
    };
    let opens =
        |event: &Event| matches!(event, Event::Start { .. } | Event::Lock { .. } | Event::LockAll);
    let closes = |event: &Event| matches!(event, Event::Complete | Event::UnlockAll);
    let held = |target: Rank| {
        let of = |event: &&Event| matches!(event, Event::Lock { target: it, .. } | Event::Unlock { target: it } if *it == target);
        matches!(made.iter().rev().find(of), Some(Event::Lock { .. }))
    };
    let last = made
        .iter()
        .rev()
        .find(|event| closes(event) || matches!(event, Event::Start { .. } | Event::LockAll));
    let place = match (last, held(ME), held(OTHER)) {
        (Some(Event::Start { .. }), ..) => Place::Start,
        (Some(Event::LockAll), ..) => Place::All,
        (_, true, true) => Place::Both,
        (_, true, false) => Place::Own,
        (_, false, true) => Place::Other,
        (_, false, false) => fence_place(rules, made, opens, exposed_after),
    };
    Situation { place, exposed: exposed_after(made) }
}

/// Where it stands with its last fence, when nothing else is open.
fn fence_place(
    rules: Rules,
    made: &[Event],
    opens: impl Fn(&Event) -> bool,
    exposed_after: impl Fn(&[Event]) -> bool,
) -> Place {
    let is_fence = |event: &Event| matches!(event, Event::Fence { .. });
    let Some(fence) = made.iter().rposition(is_fence) else { return Place::Nowhere };
    let ignored = made[fence..].iter().any(|event| match rules {
        Rules::Document => false,
        Rules::Strict => opens(event) || matches!(event, Event::Post { .. }),
        Rules::Mpich => opens(event),
    });
    if ignored || matches!(made[fence], Event::Fence { no_succeed: true, .. }) {
        return Place::Nowhere;
    }
    // Operations since the fence and since any other epoch are in the epoch of the fence.
    let since = made.iter().rposition(|event| {
        opens(event) || matches!(event, Event::Complete | Event::UnlockAll | Event::Unlock { .. })
    });
    let since = since.map_or(fence, |since| since.max(fence));
    let used = (since..made.len()).any(|place| {
        let seen = rules != Rules::Mpich || !exposed_after(&made[..place]);
        matches!(made[place], Event::Operation { .. }) && seen
    });
    if used { Place::Fence } else { Place::Fenced }
}

/// Checks every call after these, and answers which pass.
#[track_caller]
fn check_calls(rules: Rules, state: &Synchronisation, made: &[Event]) -> Vec<Event> {
    let here = situation(rules, made);
    let mut passing = Vec::new();
    for (call, column) in calls() {
        let mut next = state.clone();
        let answer = next.call(rules, &call);
        let right = expected(rules, here, column);
        assert_eq!(answer.is_ok(), right, "{rules:?}, {here:?}: {call:?} after {made:?}");
        if right {
            passing.push(call);
        } else {
            assert_eq!(&next, state, "a refused call changes nothing");
        }
    }
    passing
}

/// Follows all sequences of this many more calls that are in order.
fn follow(rules: Rules, state: &Synchronisation, made: &mut Vec<Event>, more: usize) -> u64 {
    let passing = check_calls(rules, state, made);
    if more == 0 {
        return 1;
    }
    let mut sequences = 1;
    for call in passing {
        let mut next = state.clone();
        next.call(rules, &call).expect("it has passed");
        made.push(call);
        sequences += follow(rules, &next, made, more - 1);
        made.pop();
    }
    sequences
}

/// A refused call changes nothing, so sequences without one are all that there are.
#[test]
fn every_sequence_of_calls_is_judged_by_the_table() {
    for rules in Rules::ALL {
        let sequences = follow(rules, &Synchronisation::new(ME), &mut Vec::new(), 4);
        assert!(sequences > 10_000, "{rules:?}: {sequences} sequences are followed");
    }
}

/// A shortest way into each state that up to six calls lead to.
fn ways(rules: Rules) -> Vec<(Synchronisation, Vec<Event>)> {
    let mut found = vec![(Synchronisation::new(ME), Vec::new())];
    let mut next = 0;
    while let Some((state, made)) = found.get(next).cloned() {
        next += 1;
        if made.len() == 6 {
            continue;
        }
        for (call, _) in calls() {
            let mut after = state.clone();
            if after.call(rules, &call).is_ok() && found.iter().all(|(known, _)| *known != after) {
                found.push((after, [made.as_slice(), &[call]].concat()));
            }
        }
    }
    found
}

#[test]
fn every_pair_of_state_and_call_is_judged_by_the_table() {
    for (rules, situations) in [(Rules::Document, 13), (Rules::Strict, 11), (Rules::Mpich, 15)] {
        let ways = ways(rules);
        for (state, made) in &ways {
            check_calls(rules, state, made);
        }
        let rows: BTreeSet<Situation> =
            ways.iter().map(|(_, made)| situation(rules, made)).collect();
        assert_eq!(rows.len(), situations, "{rules:?}: {rows:?}");
        let longest = ways.iter().map(|(_, made)| made.len()).max();
        assert!(longest < Some(6), "six calls lead to no state that fewer do not");
    }
}

/// Whatever passes under the strict rules passes under those of the document, and more does.
#[test]
fn strict_refuses_all_that_the_document_refuses_and_more() {
    let start = (Synchronisation::new(ME), Synchronisation::new(ME));
    let mut known = vec![start.clone()];
    let mut next = VecDeque::from([start]);
    let mut looser = 0;
    while let Some((strict, document)) = next.pop_front() {
        for (call, _) in calls() {
            let (mut strict, mut document) = (strict.clone(), document.clone());
            let answers = (
                strict.call(Rules::Strict, &call).is_ok(),
                document.call(Rules::Document, &call).is_ok(),
            );
            assert_ne!(answers, (true, false), "{call:?} in {strict:?}");
            looser += u32::from(answers == (false, true));
            let after = (strict, document);
            if answers == (true, true) && !known.contains(&after) {
                known.push(after.clone());
                next.push_back(after);
            }
        }
    }
    assert!(looser > 20, "{looser} calls are refused by the strict rules only");
}
