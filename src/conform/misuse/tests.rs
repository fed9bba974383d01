//! The recorded cases, under the rules of the library that was recorded and under others.

use super::*;
use crate::{Cases, SCHEDULES, Simulated, Vectors, judge};
use shipped::SHIPPED;

const RECORDED: [(&str, usize); 4] = [
    (include_str!("../../../tests/vectors/rma_misuse_len2.json"), 506),
    (include_str!("../../../tests/vectors/rma_misuse_len3.json"), 700),
    (include_str!("../../../tests/vectors/rma_misuse_long.json"), 400),
    (include_str!("../../../tests/vectors/rma_misuse_two_ranks.json"), 44),
];

#[test]
fn the_rules_of_mpich_give_what_mpich_gives() {
    for (text, cases) in RECORDED {
        let vectors = Vectors::read(text, SHIPPED).expect("the recorded file is in order");
        assert_eq!(vectors.library, "MPICH 4.0.2");
        let verdict = judge(&vectors, &Simulated { seed: 1 }, SCHEDULES);
        assert_eq!(verdict.to_string(), format!("{cases} passed, 0 failed"));
    }
}

/// Ids of the cases of two processes that fail under these rules.
fn failing(rules: Rules) -> Vec<u64> {
    let vectors = Vectors::read(RECORDED[3].0, SHIPPED).expect("the recorded file is in order");
    let Cases::Misuse(cases) = vectors.cases else { panic!("another family") };
    cases.iter().filter_map(|case| case.mismatch(rules)).map(|wrong| wrong.case).collect()
}

#[test]
fn other_rules_differ_from_the_recorded_ones_where_they_should() {
    // Put and flush towards a target that is not locked, lock after an operation in a fence epoch,
    // request operations in active epochs, and a lock of the own window while it is exposed.
    assert_eq!(failing(Rules::Mpich), [0_u64; 0]);
    assert_eq!(failing(Rules::Document), [20_u64, 31, 35, 36, 43]);
    assert_eq!(failing(Rules::Strict), [19_u64, 20, 35, 36, 43]);
}

/// A file of one case of two processes.
fn two(calls: &str, returns: &str) -> String {
    format!(
        r#"{{"family":"rma_misuse_two","schema":1,"mpi":"M","seed":0,"cases":[
        {{"id":5,"name":"n","calls":{calls},"returns":{returns}}}]}}"#
    )
}

#[track_caller]
fn check_verdict(calls: &str, returns: &str, expected: &str) {
    let vectors = Vectors::read(&two(calls, returns), SHIPPED).expect("a file in order");
    assert_eq!(judge(&vectors, &Simulated { seed: 1 }, 1).to_string(), expected);
}

#[test]
fn what_passes_between_two_processes_is_waited_for() {
    let good = "1 passed, 0 failed";
    check_verdict(
        r#"[["start","put","complete"],["post","wait","test"]]"#,
        r#"[["ok","ok","ok"],["ok","ok","rma_sync"]]"#,
        good,
    );
    check_verdict(r#"[["start"],[]]"#, r#"[["hang"],[]]"#, good);
    check_verdict(r#"[["fence"],[]]"#, r#"[["hang"],[]]"#, good);
    check_verdict(r#"[["barrier"],["barrier"]]"#, r#"[["ok"],["ok"]]"#, good);
    check_verdict(r#"[["free"],["free"]]"#, r#"[["ok"],["ok"]]"#, good);
    check_verdict(r#"[["start"],["post","wait"]]"#, r#"[["ok"],["ok","hang"]]"#, good);
    check_verdict(
        r#"[["start","complete","barrier"],["post","barrier","test","test"]]"#,
        r#"[["ok","ok","ok"],["ok","ok","ok:true","rma_sync"]]"#,
        good,
    );
}

#[test]
fn a_wrong_answer_is_named() {
    check_verdict(
        r#"[["put"],["lock_all","unlock"]]"#,
        r#"[["rma_sync"],["ok","ok"]]"#,
        "case 5: rank 1, entry 1: \"MPI_ERR_RMA_SYNC: unlock of target 0 in a lock-all epoch; allowed \
         there for it: post, unlock_all, flush, flush_all, flush_local, flush_local_all, sync, an \
         operation, a request operation\" instead of \"ok\"\n0 passed, 1 failed",
    );
    check_verdict(r#"[["unlock"],[]]"#, r#"[["hang_or_stopped"],[]]"#, "1 passed, 0 failed");
    check_verdict(
        r#"[["flush"],[]]"#,
        r#"[["hang_or_stopped"],[]]"#,
        "case 5: rank 0, entry 0: \"MPI_ERR_RMA_SYNC: flush of target 1 outside any access epoch; \
         allowed there for it: fence, post, start, lock, lock_all, free\" instead of \"hang\"\n\
         0 passed, 1 failed",
    );
}

#[track_caller]
fn check_unreadable(text: &str, message: &str) {
    assert_eq!(Vectors::read(text, SHIPPED).unwrap_err().to_string(), message);
}

#[test]
fn files_that_are_no_vectors_are_refused() {
    let none = "[[],[]]";
    check_unreadable(
        &two(r#"[["put"],["puts"]]"#, r#"[["ok"],["ok"]]"#),
        "case 5, rank 1, operation 0: operation `puts` is not known",
    );
    check_unreadable(
        &two(r#"[["put","put"],[]]"#, r#"[["ok","fine"],[]]"#),
        "case 5, rank 0, operation 1: answer `fine` is not known",
    );
    let missing = "case 5: `returns` needs an answer to each call up to the first hang";
    check_unreadable(&two(r#"[["put"],[]]"#, none), missing);
    check_unreadable(&two(r#"[["put"],[]]"#, r#"[["ok"],["ok"]]"#), missing);
    let nothing = "case 5: nothing is tested: it has no call, or no outcome";
    check_unreadable(&two(none, none), nothing);
}

#[test]
fn sequences_of_one_and_of_two_processes_know_every_operation() {
    let one = |name: &str| {
        format!(
            r#"{{"family":"rma_misuse","schema":1,"mpi":"M","seed":0,"cases":[
            {{"id":1,"calls":["lock_all","{name}","unlock_all"],"returns":["ok","ok","ok"]}}]}}"#
        )
    };
    for name in OPERATIONS.into_iter().chain(REQUEST_OPERATIONS) {
        let calls = format!(r#"[["lock_all","{name}","{name}_self","unlock_all"],[]]"#);
        check_verdict(&calls, r#"[["ok","ok","ok","ok"],[]]"#, "1 passed, 0 failed");
        let vectors = Vectors::read(&one(name), SHIPPED).expect("a file in order");
        assert_eq!(judge(&vectors, &Simulated { seed: 1 }, 1).to_string(), "1 passed, 0 failed");
    }
}
