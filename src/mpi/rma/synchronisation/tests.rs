//! Which calls are in order, by the rules of each set.

mod legality;

use super::*;
use engine::Streams;

const ME: Rank = Rank(0);
const OTHER: Rank = Rank(1);
const FENCE: Event = Event::Fence { no_precede: false, no_succeed: false };
const LAST_FENCE: Event = Event::Fence { no_precede: false, no_succeed: true };
const PUT: Event = Event::Operation { target: OTHER, request: false };
const RPUT: Event = Event::Operation { target: OTHER, request: true };
const LOCK: Event = Event::Lock { target: OTHER, kind: LockKind::Shared };
const UNLOCK: Event = Event::Unlock { target: OTHER };
const FLUSH: Event = Event::Flush { target: OTHER };

fn post() -> Event {
    Event::Post { group: RankSet::from_iter([OTHER]) }
}

fn start() -> Event {
    Event::Start { group: RankSet::from_iter([OTHER]) }
}

/// Checks that only the last call is refused, under these rules.
#[track_caller]
fn check_refused(rules: &[Rules], calls: &[Event]) {
    for rules in rules {
        let mut state = Synchronisation::new(ME);
        let (last, before) = calls.split_last().expect("a call");
        for call in before {
            assert_eq!(state.call(*rules, call), Ok(()), "{rules:?}: {call:?}");
        }
        let kept = state.clone();
        assert!(state.call(*rules, last).is_err(), "{rules:?}: {last:?} in {state:?}");
        assert_eq!(state, kept, "a refused call changes nothing");
    }
}

#[track_caller]
fn check_accepted(rules: &[Rules], calls: &[Event]) {
    for rules in rules {
        let mut state = Synchronisation::new(ME);
        for call in calls {
            assert_eq!(state.call(*rules, call), Ok(()), "{rules:?}: {call:?} in {state:?}");
        }
    }
}

#[test]
fn an_error_names_call_state_and_what_is_allowed() {
    let mut state = Synchronisation::new(ME);
    let error = state.call(Rules::Document, &UNLOCK).unwrap_err();
    assert_eq!(
        error.to_string(),
        "MPI_ERR_RMA_SYNC: unlock of target 1 outside any access epoch; \
         allowed there for it: fence, post, start, lock, lock_all, free"
    );
    check_accepted(&Rules::ALL, &[Event::LockAll, PUT, FLUSH, Event::UnlockAll]);
    assert_eq!(state.call(Rules::Strict, &Event::LockAll), Ok(()));
    let error = state.call(Rules::Strict, &post()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "MPI_ERR_RMA_SYNC: post in a lock-all epoch; allowed there: unlock_all, flush, flush_all, \
         flush_local, flush_local_all, sync, an operation, a request operation"
    );
}

/// claim: rma-err-unmatched-unlock
// row: F7
#[test]
fn unlock_needs_a_lock_of_that_target() {
    check_refused(&Rules::ALL, &[UNLOCK]);
    check_refused(&Rules::ALL, &[LOCK, Event::Unlock { target: ME }]);
    check_refused(&Rules::ALL, &[LOCK, UNLOCK, UNLOCK]);
    check_refused(&Rules::ALL, &[Event::LockAll, UNLOCK]);
    check_refused(&Rules::ALL, &[Event::UnlockAll]);
    check_refused(&Rules::ALL, &[LOCK, Event::UnlockAll]);
}

/// claim: rma-err-unmatched-lock
#[test]
fn a_target_is_locked_once() {
    check_refused(&Rules::ALL, &[LOCK, LOCK]);
    let exclusive = Event::Lock { target: OTHER, kind: LockKind::Exclusive };
    check_refused(&Rules::ALL, &[LOCK, exclusive]);
    check_accepted(&Rules::ALL, &[LOCK, UNLOCK, LOCK, UNLOCK]);
}

/// claim: rma-err-mix-lock-lockall
#[test]
fn lock_and_lock_all_do_not_mix() {
    check_refused(&Rules::ALL, &[Event::LockAll, LOCK]);
    check_refused(&Rules::ALL, &[LOCK, Event::LockAll]);
    check_refused(&Rules::ALL, &[Event::LockAll, Event::LockAll]);
}

/// claim: rma-err-mix-active-passive
#[test]
fn active_and_passive_epochs_do_not_mix() {
    for passive in [LOCK, Event::LockAll, Event::FlushAll, Event::Sync, UNLOCK, Event::UnlockAll] {
        check_refused(&Rules::ALL, &[start(), passive]);
    }
    for opened in [LOCK, Event::LockAll] {
        for active in [FENCE, start(), Event::Complete, Event::Wait] {
            check_refused(&Rules::ALL, &[opened.clone(), active]);
        }
    }
    check_refused(&Rules::ALL, &[start(), FENCE]);
    check_refused(&Rules::ALL, &[post(), FENCE]);
}

/// claim: rma-err-flush-active
#[test]
fn flush_and_sync_need_a_passive_epoch() {
    let local = Event::FlushLocal { target: OTHER };
    for flush in [FLUSH, local, Event::FlushAll, Event::FlushLocalAll, Event::Sync] {
        check_refused(&Rules::ALL, std::slice::from_ref(&flush));
        check_refused(&Rules::ALL, &[FENCE, PUT, flush.clone()]);
        check_refused(&Rules::ALL, &[start(), flush.clone()]);
        check_refused(&Rules::ALL, &[post(), flush.clone()]);
        check_accepted(&Rules::ALL, &[LOCK, flush.clone(), UNLOCK]);
        check_accepted(&Rules::ALL, &[Event::LockAll, flush, Event::UnlockAll]);
    }
}

/// claim: rma-err-req-active
/// claim: rma-sem-request-passive
#[test]
fn request_operations_need_a_passive_epoch() {
    let ours = [Rules::Document, Rules::Strict];
    for active in [[FENCE].as_slice(), &[FENCE, PUT], &[start()]] {
        check_refused(&ours, &[active, &[RPUT]].concat());
        check_accepted(&[Rules::Mpich], &[active, &[RPUT]].concat());
    }
    check_refused(&Rules::ALL, &[RPUT]);
    check_accepted(&Rules::ALL, &[LOCK, RPUT, UNLOCK]);
    check_accepted(&Rules::ALL, &[Event::LockAll, RPUT, Event::UnlockAll]);
}

/// claim: rma-err-fence-ignored
#[test]
fn after_a_fence_either_kind_of_epoch_may_begin() {
    check_accepted(&Rules::ALL, &[FENCE, PUT, FENCE, FENCE]);
    check_accepted(&Rules::ALL, &[FENCE, LOCK, PUT, UNLOCK, FENCE]);
    check_accepted(&Rules::ALL, &[FENCE, Event::LockAll, PUT, Event::UnlockAll]);
    check_accepted(&Rules::ALL, &[FENCE, start(), PUT, Event::Complete, FENCE, PUT, FENCE]);
    check_accepted(&Rules::ALL, &[FENCE, post(), Event::Wait, FENCE]);
}

/// claim: rma-err-fence-nosucceed
#[test]
fn a_last_fence_opens_nothing() {
    check_refused(&Rules::ALL, &[LAST_FENCE, PUT]);
    check_refused(&Rules::ALL, &[FENCE, PUT, LAST_FENCE, PUT]);
    check_accepted(&Rules::ALL, &[FENCE, PUT, LAST_FENCE, LOCK, PUT, UNLOCK]);
}

/// Only the document stays silent where a fence epoch goes over into another kind.
///
/// claim: rma-err-fence-mixed-undetected
#[test]
fn a_mixed_fence_epoch_is_invalid_and_unnoticed() {
    let noticing = [Rules::Strict, Rules::Mpich];
    for other in [LOCK, Event::LockAll, start(), post()] {
        check_accepted(&[Rules::Document], &[FENCE, PUT, other.clone()]);
        check_refused(&noticing, &[FENCE, PUT, other]);
    }
    check_accepted(&[Rules::Document], &[FENCE, LOCK, UNLOCK, PUT]);
    check_refused(&noticing, &[FENCE, LOCK, UNLOCK, PUT]);
    let first_fence = Event::Fence { no_precede: true, no_succeed: false };
    check_accepted(&[Rules::Document, Rules::Mpich], &[FENCE, PUT, first_fence.clone()]);
    check_refused(&[Rules::Strict], &[FENCE, PUT, first_fence]);
}

/// claim: rma-err-op-outside
#[test]
fn an_operation_needs_an_epoch() {
    check_refused(&Rules::ALL, &[PUT]);
    check_refused(&Rules::ALL, &[LOCK, PUT, UNLOCK, PUT]);
    check_refused(&Rules::ALL, &[Event::LockAll, Event::UnlockAll, PUT]);
    check_refused(&Rules::ALL, &[start(), PUT, Event::Complete, PUT]);
    check_refused(&Rules::ALL, &[post(), PUT]);
    let elsewhere = Event::Operation { target: Rank(2), request: false };
    check_refused(&Rules::ALL, &[start(), elsewhere]);
}

#[test]
fn what_needs_a_lock_of_its_own_target_depends_on_the_rules() {
    let mine = Event::Operation { target: ME, request: false };
    check_accepted(&[Rules::Document, Rules::Mpich], &[LOCK, mine.clone()]);
    check_refused(&[Rules::Strict], &[LOCK, mine]);
    check_accepted(&[Rules::Mpich], &[LOCK, Event::Flush { target: ME }]);
    check_refused(&[Rules::Document, Rules::Strict], &[LOCK, Event::Flush { target: ME }]);
    check_accepted(&Rules::ALL, &[LOCK, Event::FlushAll]);
}

#[test]
fn a_window_is_not_locked_by_its_owner_while_it_is_exposed() {
    let ours = [Rules::Document, Rules::Strict];
    let mine = Event::Lock { target: ME, kind: LockKind::Shared };
    for own in [mine, Event::LockAll] {
        check_refused(&ours, &[post(), own.clone()]);
        check_refused(&ours, &[own.clone(), post()]);
        check_accepted(&[Rules::Mpich], &[post(), own.clone()]);
        check_accepted(&[Rules::Mpich], &[own, post()]);
    }
    check_accepted(&Rules::ALL, &[post(), LOCK, PUT, UNLOCK, Event::Wait]);
    check_accepted(&Rules::ALL, &[LOCK, post(), UNLOCK, Event::Wait]);
}

/// claim: rma-sem-multi-lock
#[test]
fn several_targets_are_locked_at_a_time_since_mpi_3() {
    let second = Event::Lock { target: Rank(2), kind: LockKind::Exclusive };
    check_accepted(&Rules::ALL, &[LOCK, second.clone(), PUT, UNLOCK]);
    for rules in Rules::ALL {
        let mut old = Synchronisation::with_interface(ME, Interface::Mpi2);
        assert_eq!(old.call(rules, &LOCK), Ok(()));
        assert!(old.call(rules, &second).is_err());
        assert!(old.call(rules, &FLUSH).is_err());
        assert!(old.call(rules, &RPUT).is_err());
        assert_eq!(old.call(rules, &UNLOCK), Ok(()));
        assert_eq!(old.call(rules, &second), Ok(()));
    }
}

/// claim: rma-sem-origin-is-target
#[test]
fn a_process_may_be_its_own_target() {
    let group = RankSet::from_iter([ME]);
    let mine = Event::Operation { target: ME, request: false };
    let locked = Event::Lock { target: ME, kind: LockKind::Exclusive };
    check_accepted(&Rules::ALL, &[FENCE, mine.clone(), FENCE]);
    check_accepted(&Rules::ALL, &[locked, mine.clone(), Event::Unlock { target: ME }]);
    let (post, start) = (Event::Post { group: group.clone() }, Event::Start { group });
    check_accepted(&Rules::ALL, &[post, start, mine, Event::Complete, Event::Wait]);
}

#[test]
fn what_is_open_can_be_asked() {
    let mut state = Synchronisation::new(ME);
    let second = Event::Lock { target: ME, kind: LockKind::Exclusive };
    for call in [FENCE, LOCK, second] {
        assert_eq!(state.call(Rules::Strict, &call), Ok(()));
    }
    assert_eq!(state.locks(), [(ME, LockKind::Exclusive), (OTHER, LockKind::Shared)]);
    assert_eq!(state.lock_of(OTHER), Some(LockKind::Shared));
    assert_eq!(state.lock_of(Rank(2)), None);
    assert!(state.epoch().is_passive() && !state.is_fenced());
    for call in [UNLOCK, Event::Unlock { target: ME }, start(), post()] {
        assert_eq!(state.call(Rules::Strict, &call), Ok(()));
    }
    assert_eq!((state.epoch(), state.locks()), (Epoch::Start, [].as_slice()));
    assert_eq!(state.started().map(RankSet::ranks), Some([OTHER].as_slice()));
    assert!(state.exposure().is_some_and(|origins| origins.contains(OTHER)));
    assert_eq!(state.call(Rules::Strict, &Event::Test { complete: false }), Ok(()));
    assert!(state.exposure().is_some());
    assert_eq!(state.call(Rules::Strict, &Event::Test { complete: true }), Ok(()));
    assert_eq!(state.exposure(), None);
    assert_eq!(size_of::<Synchronisation>(), 72);
}

/// A trace that the standard allows: epochs of all kinds, one after the other, some while the
/// window is exposed to others.
fn valid_trace(seed: u64) -> Vec<Event> {
    let mut random = Streams::new(seed).stream("trace", 0);
    let mut trace = Vec::new();
    let mut exposed = false;
    for _ in 0..8 {
        let kind = random.below(6);
        let fencing = kind == 0;
        if exposed && (fencing || random.below(3) == 0) {
            trace.push(if random.below(2) == 0 {
                Event::Wait
            } else {
                Event::Test { complete: true }
            });
            exposed = false;
        }
        if !exposed && !fencing && random.below(3) == 0 {
            trace.push(post());
            exposed = true;
        }
        // A process does not lock its own window while that is exposed.
        let own = u64::from(exposed);
        let mut pick = || Rank(u32::try_from(own + random.below(4 - own)).expect("a small number"));
        let (one, two) = (pick(), pick());
        let request = random.below(2) == 0;
        let use_of = |target| Event::Operation { target, request };
        match kind {
            0 => {
                let fence = |no_precede, no_succeed| Event::Fence { no_precede, no_succeed };
                let plain = Event::Operation { target: one, request: false };
                trace.extend([fence(true, false), plain.clone(), fence(false, false)]);
                trace.extend([plain, fence(false, random.below(2) == 0)]);
            }
            1 => {
                let plain = |target| Event::Operation { target, request: false };
                let group = RankSet::from_iter([one, two]);
                trace.extend([Event::Start { group }, plain(two), plain(one), Event::Complete]);
            }
            2 if !exposed => {
                trace.extend([Event::LockAll, use_of(one), Event::Flush { target: two }]);
                trace.extend([use_of(two), Event::FlushLocalAll, Event::UnlockAll]);
            }
            3 if one != two => {
                let lock = |target, kind| Event::Lock { target, kind };
                trace.extend([lock(one, LockKind::Shared), use_of(one)]);
                trace.extend([lock(two, LockKind::Exclusive), use_of(two), Event::FlushAll]);
                trace.push(Event::FlushLocal { target: two });
                trace.extend([Event::Unlock { target: one }, Event::Unlock { target: two }]);
            }
            _ => {
                trace.push(Event::Lock { target: one, kind: LockKind::Exclusive });
                trace.extend([use_of(one), Event::Flush { target: one }, Event::Sync]);
                trace.push(Event::Unlock { target: one });
            }
        }
    }
    if exposed {
        trace.push(Event::Wait);
    }
    trace.push(Event::Free);
    trace
}

/// claim: rma-err-no-false-positive
#[test]
fn valid_traces_are_accepted() {
    for seed in 0..2000 {
        check_accepted(&Rules::ALL, &valid_trace(seed));
    }
}
