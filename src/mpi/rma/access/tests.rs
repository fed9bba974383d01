//! The tables, cell by cell, and the checker against one that compares every pair.

use super::*;
use engine::Streams;

/// The printed tables: rows and columns load, store, get, put, accumulate.
const PRINTED: [[[&str; 5]; 5]; 2] = [
    [
        ["OV+NOV", "OV+NOV", "OV+NOV", "NOV", "NOV"],
        ["OV+NOV", "OV+NOV", "NOV", "X", "X"],
        ["OV+NOV", "NOV", "OV+NOV", "NOV", "NOV"],
        ["NOV", "X", "NOV", "NOV", "NOV"],
        ["NOV", "X", "NOV", "NOV", "OV+NOV"],
    ],
    [
        ["OV+NOV", "OV+NOV", "OV+NOV", "NOV+BOV", "NOV+BOV"],
        ["OV+NOV", "OV+NOV", "NOV", "NOV", "NOV"],
        ["OV+NOV", "NOV", "OV+NOV", "NOV", "NOV"],
        ["NOV+BOV", "NOV", "NOV", "NOV", "NOV"],
        ["NOV+BOV", "NOV", "NOV", "NOV", "OV+NOV"],
    ],
];

/// Two accesses of 4 bytes that lie so.
fn lying(overlap: Overlap) -> [Range<u64>; 2] {
    match overlap {
        Overlap::SameBytes => [0..4, 0..4],
        Overlap::SameWord => [0..4, 4..8],
        Overlap::Disjoint => [0..4, 64..68],
    }
}

fn touch(kind: Kind) -> Touch {
    match kind {
        Kind::Load => Touch::Load,
        Kind::Store => Touch::Store,
        Kind::Get => Touch::Get,
        Kind::Put => Touch::Put,
        Kind::Acc => Touch::Acc(Change::Reduce(Operator::Sum), Datatype::Int32),
    }
}

/// An access by rank 0, the owner, where it is local, and by this origin where not.
fn access(touch: Touch, bytes: Range<u64>, origin: u32, place: u32) -> Access {
    let by = if touch.is_local() { Rank(0) } else { Rank(origin) };
    let local = Under::Local { fences: 0, lock: None };
    let under = if touch.is_local() { local } else { Under::Lock(LockKind::Shared) };
    Access { by, touch, bytes, under, place: Some(place) }
}

/// Checks the 75 cells of a model: the verdict, and what the checker does with two such accesses.
#[track_caller]
fn check_model(model: MemoryModel) {
    let mut cells = 0;
    for (row, a) in Kind::ALL.into_iter().enumerate() {
        for (column, b) in Kind::ALL.into_iter().enumerate() {
            let printed = PRINTED[model as usize][row][column];
            for overlap in Overlap::ALL {
                let same = overlap == Overlap::SameBytes;
                let expected = match printed {
                    "X" => Verdict::Forbidden,
                    "NOV" if same => Verdict::Overlapping,
                    "NOV+BOV" if same => Verdict::ByteByByte,
                    _ => Verdict::Allowed,
                };
                let found = allowed(model, a, b, overlap);
                assert_eq!(found, expected, "{model:?} {a:?} {b:?} {overlap:?}");
                let mut open = Accesses::new(model, AccumulateOps::SameOpNoOp, true);
                let [first, second] = lying(overlap);
                let (first, second) =
                    (access(touch(a), first, 1, 10), access(touch(b), second, 2, 11));
                assert_eq!(open.begin(&first), Ok(()));
                let answer = open.begin(&second);
                assert_eq!(
                    answer.is_ok(),
                    expected.is_allowed(),
                    "{model:?} {a:?} {b:?} {overlap:?}"
                );
                if let Err(conflict) = answer {
                    assert_eq!((conflict.first, conflict.second), (first, second));
                }
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 75);
}

/// claim: rma-tab1a-load-load
/// claim: rma-tab1a-load-store
/// claim: rma-tab1a-load-get
/// claim: rma-tab1a-load-put
/// claim: rma-tab1a-load-acc
/// claim: rma-tab1a-store-load
/// claim: rma-tab1a-store-store
/// claim: rma-tab1a-store-get
/// claim: rma-tab1a-store-put
/// claim: rma-tab1a-store-acc
/// claim: rma-tab1a-get-load
/// claim: rma-tab1a-get-store
/// claim: rma-tab1a-get-get
/// claim: rma-tab1a-get-put
/// claim: rma-tab1a-get-acc
/// claim: rma-tab1a-put-load
/// claim: rma-tab1a-put-store
/// claim: rma-tab1a-put-get
/// claim: rma-tab1a-put-put
/// claim: rma-tab1a-put-acc
/// claim: rma-tab1a-acc-load
/// claim: rma-tab1a-acc-store
/// claim: rma-tab1a-acc-get
/// claim: rma-tab1a-acc-put
/// claim: rma-tab1a-acc-acc
#[test]
fn the_separate_table_is_as_printed() {
    check_model(MemoryModel::Separate);
}

/// claim: rma-tab1b-load-load
/// claim: rma-tab1b-load-store
/// claim: rma-tab1b-load-get
/// claim: rma-tab1b-load-put
/// claim: rma-tab1b-load-acc
/// claim: rma-tab1b-store-load
/// claim: rma-tab1b-store-store
/// claim: rma-tab1b-store-get
/// claim: rma-tab1b-store-put
/// claim: rma-tab1b-store-acc
/// claim: rma-tab1b-get-load
/// claim: rma-tab1b-get-store
/// claim: rma-tab1b-get-get
/// claim: rma-tab1b-get-put
/// claim: rma-tab1b-get-acc
/// claim: rma-tab1b-put-load
/// claim: rma-tab1b-put-store
/// claim: rma-tab1b-put-get
/// claim: rma-tab1b-put-put
/// claim: rma-tab1b-put-acc
/// claim: rma-tab1b-acc-load
/// claim: rma-tab1b-acc-store
/// claim: rma-tab1b-acc-get
/// claim: rma-tab1b-acc-put
/// claim: rma-tab1b-acc-acc
#[test]
fn the_unified_table_is_as_printed() {
    check_model(MemoryModel::Unified);
}

/// claim: rma-tab1a-symmetric
/// claim: rma-tab1b-symmetric
#[test]
fn the_order_of_two_accesses_does_not_matter() {
    for model in MemoryModel::ALL {
        for a in Kind::ALL {
            for b in Kind::ALL {
                assert_eq!(together(model, a, b), together(model, b, a), "{model:?} {a:?} {b:?}");
            }
        }
    }
}

/// claim: rma-tab1-relaxes
#[test]
fn the_unified_model_relaxes_four_pairs() {
    let mut relaxed = Vec::new();
    for (place, a) in Kind::ALL.into_iter().enumerate() {
        for b in Kind::ALL.into_iter().skip(place) {
            let [separate, unified] = MemoryModel::ALL.map(|model| together(model, a, b));
            if separate != unified {
                relaxed.push((a, b, separate, unified));
            }
        }
    }
    let (byte, never, disjoint) = (Together::ByteByByte, Together::Never, Together::Disjoint);
    assert_eq!(
        relaxed,
        [
            (Kind::Load, Kind::Put, disjoint, byte),
            (Kind::Load, Kind::Acc, disjoint, byte),
            (Kind::Store, Kind::Put, never, disjoint),
            (Kind::Store, Kind::Acc, never, disjoint),
        ]
    );
    for model in MemoryModel::ALL.into_iter().rev() {
        for (a, b, overlap) in every_pair() {
            let tight = allowed(MemoryModel::Separate, a, b, overlap).is_allowed();
            assert!(!tight || allowed(model, a, b, overlap).is_allowed(), "nothing is tightened");
        }
    }
}

fn every_pair() -> impl Iterator<Item = (Kind, Kind, Overlap)> {
    let overlaps = |(a, b)| Overlap::ALL.map(|overlap| (a, b, overlap));
    Kind::ALL.into_iter().flat_map(|a| Kind::ALL.map(|b| (a, b))).flat_map(overlaps)
}

/// claim: rma-sem-conc-store-sep
#[test]
fn a_store_beside_remote_updates_is_wrong_anywhere_in_a_separate_window() {
    for update in [Touch::Put, touch(Kind::Acc)] {
        let mut open = Accesses::new(MemoryModel::Separate, AccumulateOps::Any, true);
        assert_eq!(open.begin(&access(update, 0..8, 3, 1)), Ok(()));
        let conflict = open.begin(&access(Touch::Store, 4096..4104, 0, 2)).unwrap_err();
        assert_eq!((conflict.first.place, conflict.second.place), (Some(1), Some(2)));
        assert_eq!(conflict.why, Clash::Forbidden);
    }
}

#[test]
fn a_conflict_names_both_accesses() {
    let mut open = Accesses::new(MemoryModel::Unified, AccumulateOps::SameOpNoOp, true);
    let sum = Touch::Acc(Change::Reduce(Operator::Sum), Datatype::Int64);
    assert_eq!(open.begin(&access(sum, 8..16, 2, 7)), Ok(()));
    assert_eq!(
        open.begin(&access(Touch::Put, 0..12, 3, 9)).unwrap_err().to_string(),
        "put of bytes 0..12 by rank 3 in line 9 conflicts with accumulate (sum, int64) of bytes \
         8..16 by rank 2 in line 7: they overlap, and neither is complete before the other"
    );
}

/// The conflict of a second accumulate on the same element, by this origin.
fn second_accumulate(
    ops: AccumulateOps,
    ordered: bool,
    origin: u32,
    [first, second]: [(Change, Datatype); 2],
) -> Option<Clash> {
    let mut open = Accesses::new(MemoryModel::Unified, ops, ordered);
    assert_eq!(open.begin(&access(Touch::Acc(first.0, first.1), 0..8, 1, 0)), Ok(()));
    let second = open.begin(&access(Touch::Acc(second.0, second.1), 0..8, origin, 1));
    second.err().map(|conflict| conflict.why)
}

/// claim: rma-sem-acc-sameop
#[test]
fn overlapping_accumulates_need_operators_that_may_meet() {
    use AccumulateOps::{Any, SameOp, SameOpNoOp};
    let (sum, max) = (Change::Reduce(Operator::Sum), Change::Reduce(Operator::Max));
    let of = |a, b| [(a, Datatype::Int64), (b, Datatype::Int64)];
    for (ops, pair, expected) in [
        (SameOp, of(sum, sum), None),
        (SameOp, of(sum, max), Some(Clash::Operators)),
        (SameOp, of(sum, Change::NoOp), Some(Clash::Operators)),
        (SameOpNoOp, of(sum, Change::NoOp), None),
        (SameOpNoOp, of(Change::NoOp, Change::Replace), None),
        (SameOpNoOp, of(sum, Change::Replace), Some(Clash::Operators)),
        (SameOpNoOp, of(sum, max), Some(Clash::Operators)),
        (Any, of(sum, max), None),
        (SameOp, of(Change::CompareAndSwap, Change::Replace), None),
        (Any, [(sum, Datatype::Int64), (sum, Datatype::Double)], Some(Clash::Datatypes)),
    ] {
        assert_eq!(second_accumulate(ops, true, 2, pair), expected, "{ops:?} {pair:?}");
        let [first, second] = pair;
        assert_eq!(second_accumulate(ops, true, 2, [second, first]), expected);
    }
    // One origin's own follow each other, unless the window does without.
    assert_eq!(second_accumulate(SameOp, true, 1, of(sum, max)), None);
    assert_eq!(second_accumulate(SameOp, false, 1, of(sum, max)), Some(Clash::Operators));
}

/// claim: rma-sem-acc-putget
#[test]
fn accumulates_are_not_atomic_with_puts_and_gets() {
    for model in MemoryModel::ALL {
        for plain in [Touch::Put, Touch::Get] {
            for change in [Change::Replace, Change::NoOp, Change::CompareAndSwap] {
                let mut open = Accesses::new(model, AccumulateOps::Any, true);
                let atomic = Touch::Acc(change, Datatype::Int64);
                assert_eq!(open.begin(&access(atomic, 0..8, 1, 0)), Ok(()));
                assert_eq!(
                    open.begin(&access(Touch::Acc(Change::NoOp, Datatype::Int64), 0..8, 2, 1)),
                    Ok(())
                );
                assert!(open.begin(&access(plain, 0..8, 3, 2)).is_err());
            }
        }
    }
}

#[test]
fn what_is_complete_conflicts_with_nothing() {
    let mut open = Accesses::new(MemoryModel::Unified, AccumulateOps::SameOpNoOp, true);
    let put = |origin| access(Touch::Put, 0..8, origin, 0);
    assert_eq!(open.begin(&put(1)), Ok(()));
    assert!(open.begin(&put(1)).is_err(), "puts of one origin have no order");
    assert_eq!(open.len(), 1);
    open.arrived(Rank(1));
    assert!(open.begin(&put(2)).is_err(), "what is told of gets says nothing of puts");
    open.complete(Rank(1));
    open.complete(Rank(2));
    assert!(open.is_empty());
    assert_eq!(open.begin(&access(Touch::Get, 0..8, 1, 0)), Ok(()));
    open.arrived(Rank(1));
    assert!(open.is_empty());
    let store = access(Touch::Store, 0..8, 0, 0);
    assert_eq!(open.begin(&store), Ok(()));
    open.complete(Rank(0));
    assert!(open.begin(&put(2)).is_err(), "a flush orders no store");
    open.complete(Rank(2));
    open.synchronise(Rank(0));
    assert!(open.is_empty());
    assert_eq!(open.begin(&put(2)), Ok(()));
    assert_eq!(open.begin(&Access { bytes: 3..3, ..put(3) }), Ok(()));
    assert_eq!(open.len(), 1);
}

/// Whether an access of rank 2 under `second` conflicts with one of rank 1 under `first`.
fn meet(first: (Touch, Under), second: (Touch, Under)) -> bool {
    let mut open = Accesses::new(MemoryModel::Unified, AccumulateOps::SameOpNoOp, true);
    let of = |by, (touch, under)| Access { under, ..access(touch, 0..8, by, 0) };
    assert_eq!(open.begin(&of(1, first)), Ok(()));
    open.begin(&of(2, second)).is_err()
}

#[test]
fn synchronisation_keeps_accesses_apart() {
    use LockKind::{Exclusive, Shared};
    use Under::{Fence, Lock, Unchecked};
    let exposure = |number, fences| Under::Exposure { number, fences };
    let local = |fences, lock| Under::Local { fences, lock };
    for (a, b, together) in [
        (Lock(Shared), Lock(Shared), true),
        (Lock(Shared), Lock(Exclusive), false),
        (Lock(Exclusive), Lock(Exclusive), false),
        (Lock(Exclusive), Unchecked, true),
        (Unchecked, Unchecked, true),
        (Fence(1), Fence(1), true),
        (Fence(1), Fence(2), false),
        (exposure(1, 0), exposure(1, 0), true),
        (exposure(1, 0), exposure(2, 0), false),
        (exposure(1, 0), Fence(0), true),
        (exposure(1, 0), Fence(1), false),
        (exposure(0, 2), Fence(1), false),
    ] {
        let puts = |a, b| meet((Touch::Put, a), (Touch::Put, b));
        assert_eq!((puts(a, b), puts(b, a)), (together, together), "{a:?} {b:?}");
    }
    for (own, other, together) in [
        (local(0, None), Lock(Exclusive), true),
        (local(0, Some(Shared)), Lock(Shared), true),
        (local(0, Some(Shared)), Lock(Exclusive), false),
        (local(0, Some(Exclusive)), Lock(Shared), false),
        (local(2, None), Fence(2), true),
        (local(1, None), Fence(2), false),
        (local(1, None), exposure(0, 0), true),
    ] {
        let first = meet((Touch::Put, other), (Touch::Store, own));
        let second = meet((Touch::Store, own), (Touch::Put, other));
        assert_eq!((first, second), (together, together), "{own:?} {other:?}");
    }
}

#[test]
fn an_origin_under_an_exclusive_lock_meets_itself() {
    let mut open = Accesses::new(MemoryModel::Unified, AccumulateOps::SameOpNoOp, true);
    let put =
        |by| Access { under: Under::Lock(LockKind::Exclusive), ..access(Touch::Put, 0..8, by, 0) };
    assert_eq!((open.begin(&put(1)), open.begin(&put(2))), (Ok(()), Ok(())));
    assert!(open.begin(&put(1)).is_err());
    assert!(open.is_shared_with(Rank(1)) && open.len() == 2);
    open.complete(Rank(1));
    assert!(!open.is_shared_with(Rank(2)) && open.len() == 1);
}

#[test]
fn the_owner_of_unified_memory_comes_after_what_has_been_applied() {
    for (model, owner_conflicts) in [(MemoryModel::Unified, false), (MemoryModel::Separate, true)] {
        let mut open = Accesses::new(model, AccumulateOps::SameOpNoOp, true);
        let link = access(touch(Kind::Acc), 0..4, 1, 0);
        assert_eq!(open.begin(&link), Ok(()));
        open.applied(Rank(1), &(0..8));
        assert!(open.begin(&access(Touch::Store, 0..4, 0, 1)).is_err(), "other bytes were");
        open.synchronise(Rank(0));
        open.applied(Rank(1), &(0..4));
        open.applied(Rank(1), &(0..4));
        assert_eq!(open.len(), 1);
        assert_eq!(open.begin(&access(Touch::Store, 0..4, 0, 1)).is_err(), owner_conflicts);
        open.synchronise(Rank(0));
        assert!(open.begin(&access(Touch::Put, 0..4, 2, 2)).is_err(), "nobody else has heard");
        open.complete(Rank(2));
        open.complete(Rank(1));
        assert_eq!(open.is_empty(), model == MemoryModel::Unified, "the owner has not seen them");
        open.sees_all();
        assert!(open.is_empty());
    }
}

#[test]
fn an_epoch_ends_for_all_its_origins() {
    let mut open = Accesses::new(MemoryModel::Unified, AccumulateOps::SameOpNoOp, true);
    let put = |by, under| Access { under, ..access(Touch::Put, 0..8, by, 0) };
    assert_eq!(open.begin(&put(1, Under::Fence(1))), Ok(()));
    assert_eq!(open.begin(&put(2, Under::Fence(2))), Ok(()));
    open.complete(Rank(1));
    assert_eq!(open.len(), 2, "no flush ends it");
    open.end_epochs(2, 0);
    assert_eq!(open.len(), 1);
    assert!(open.begin(&put(3, Under::Fence(2))).is_err());
    open.end_epochs(3, 0);
    assert_eq!(open.begin(&put(1, Under::Exposure { number: 0, fences: 3 })), Ok(()));
    open.end_epochs(3, 1);
    assert!(open.is_empty());
}

/// Whether two open accesses conflict, from the printed tables and the words on accumulates.
fn conflicts(model: MemoryModel, a: &Access, b: &Access) -> bool {
    let row = |access: &Access| Kind::ALL.iter().position(|kind| *kind == access.touch.kind());
    let printed = PRINTED[model as usize][row(a).unwrap()][row(b).unwrap()];
    let share = a.bytes.start < b.bytes.end && b.bytes.start < a.bytes.end;
    let accumulates = match (a.touch, b.touch) {
        (Touch::Acc(change, datatype), Touch::Acc(other, of)) => {
            let free = [change, other].contains(&Change::NoOp)
                || [change, other].contains(&Change::CompareAndSwap)
                || change == other
                || a.by == b.by;
            datatype != of || !free
        }
        _ => false,
    };
    printed == "X" || share && (printed == "NOV" || accumulates)
}

#[test]
fn the_checker_agrees_with_comparing_every_pair() {
    let touches = [
        Touch::Load,
        Touch::Store,
        Touch::Get,
        Touch::Put,
        Touch::Acc(Change::Replace, Datatype::Int64),
        Touch::Acc(Change::NoOp, Datatype::Int64),
        Touch::Acc(Change::Reduce(Operator::Sum), Datatype::Int64),
        Touch::Acc(Change::Reduce(Operator::Sum), Datatype::Int32),
    ];
    let (mut wrong, mut right) = (0, 0);
    for seed in 0..400 {
        let mut random = Streams::new(seed).stream("accesses", 0);
        let model = MemoryModel::ALL[usize::from(random.below(2) == 1)];
        let mut open = Accesses::new(model, AccumulateOps::SameOpNoOp, true);
        let mut list: Vec<Access> = Vec::new();
        for place in 0..60 {
            if random.below(12) == 0 {
                let by = Rank(u32::try_from(random.below(4)).unwrap());
                open.complete(by);
                open.sees_all();
                open.synchronise(by);
                list.retain(|open| open.by != by);
            }
            // Few kinds in a run, so that many accesses are open side by side.
            let kind = touches[usize::try_from((seed + random.below(3)) % 8).unwrap()];
            let start = random.below(4000);
            let longest = 2 << random.below(9);
            let bytes = start..start + 1 + random.below(longest);
            let origin = 1 + u32::try_from(random.below(3)).unwrap();
            let access = access(kind, bytes, origin, place);
            let expected = list.iter().filter(|open| conflicts(model, open, &access));
            let expected: Vec<&Access> = expected.collect();
            match open.begin(&access) {
                Ok(()) => assert!(expected.is_empty(), "{access} misses {}", expected[0]),
                Err(conflict) => assert!(expected.contains(&&conflict.first), "{conflict}"),
            }
            if expected.is_empty() {
                right += 1;
            } else {
                wrong += 1;
            }
            list.push(access);
        }
    }
    assert!(wrong > 2000 && right > 2000, "both are drawn: {wrong}, {right}");
}

/// Comparing all pairs would take tens of thousands of millions of steps.
#[test]
fn a_big_epoch_is_searched_in_its_neighbourhoods() {
    let mut open = Accesses::new(MemoryModel::Unified, AccumulateOps::SameOpNoOp, true);
    let count = 200_000;
    for place in 0..count {
        let start = 8 * u64::from(place);
        assert_eq!(open.begin(&access(Touch::Put, start..start + 8, 1, place)), Ok(()));
        // The word behind them all is read and summed up again and again.
        let word = 8 * u64::from(count);
        let sum = touch(Kind::Acc);
        assert_eq!(open.begin(&access(sum, word..word + 4, place, place)), Ok(()));
        assert_eq!(open.begin(&access(Touch::Get, word + 4..word + 8, place, place)), Ok(()));
    }
    assert_eq!(open.len(), 3 * count as usize);
    let all = access(Touch::Get, 0..8, 9, count);
    assert_eq!(open.begin(&all).unwrap_err().first.place, Some(0));
}
