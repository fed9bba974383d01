//! Conformance of a small ideal MPI and of the simulator's: what is judged right, and what must be
//! found wrong.

mod ideal;

use ideal::{Fault, Ideal};

use super::matching::{Class, World as _};
use super::*;
use protocols::call::{Outcome, Reply};
use protocols::contract::{Handle, Next};
use shipped::SHIPPED;

const RECORDED: &str = include_str!("../../tests/vectors/matching.json");

fn recorded() -> Vectors {
    Vectors::read(RECORDED, SHIPPED).expect("the recorded file is in order")
}

#[test]
fn an_ideal_library_conforms_under_every_schedule_tried() {
    let vectors = recorded();
    assert_eq!(vectors.library, "MPICH 4.0.2");
    let verdict = judge(&vectors, &Ideal(Fault::None), 20);
    assert_eq!(verdict.to_string(), "300 passed, 0 failed");
}

#[test]
fn a_faulty_library_does_not_conform() {
    for fault in [
        Fault::Overtaking,
        Fault::OneContext,
        Fault::DeafCancel,
        Fault::NoTruncation,
        Fault::WrongBytes,
        Fault::OpenBarrier,
    ] {
        let verdict = judge(&recorded(), &Ideal(fault), 3);
        let failed = verdict.mismatches.len();
        assert!(failed >= 10, "{fault:?}: {failed} cases see it");
        assert_eq!(verdict.passed + failed, 300);
        let last = format!("{} passed, {failed} failed", verdict.passed);
        assert_eq!(verdict.to_string().lines().last(), Some(last.as_str()));
    }
}

/// A file of one case in which rank 0 receives what rank 1 sends, 4 bytes each way round.
fn one_case(outcome: &str, receive: &str) -> String {
    let send = r#"{"op":"isend","req":"s","dst":0,"tag":3,"comm":0,"msg":258,"bytes":4}"#;
    let wait = r#"{"op":"wait","req":"s"}"#;
    format!(
        r#"{{"family":"matching","schema":1,"mpi":"M","seed":1,"cases":[
        {{"id":7,"phases":["token"],"ranks":2,{outcome},
        "program":[[{receive}],[{send},{wait}]]}}]}}"#
    )
}

const RECEIVE: &str = r#"{"op":"recv","src":1,"tag":"any","comm":0,"max":9}"#;

#[track_caller]
fn check_verdict(outcome: &str, expected: &str) {
    let vectors = Vectors::read(&one_case(outcome, RECEIVE), SHIPPED).expect("a file in order");
    assert_eq!(judge(&vectors, &Ideal(Fault::None), 2).to_string(), expected);
}

#[test]
fn a_mismatch_names_case_schedule_and_entry() {
    let right = r#"[[{"source":1,"tag":3,"count":4,"msg":258}],[{"sent":true}]]"#;
    let wrong = right.replace("258", "null");
    let missing = right.replace(r#"{"sent":true}"#, r#"{"sent":true},{"sent":true}"#);
    let entry = r#"{"count":4,"msg":258,"source":1,"tag":3} instead of"#;
    let other = r#"{"count":4,"msg":null,"source":1,"tag":3}"#;
    check_verdict(&format!(r#""class":"strict","observed":{right}"#), "1 passed, 0 failed");
    check_verdict(&format!(r#""class":"racy","allowed":[{wrong},{right}]"#), "1 passed, 0 failed");
    check_verdict(
        &format!(r#""class":"racy","allowed":[{wrong},{wrong},[[],[]]]"#),
        &format!(
            "case 7, schedule 0: rank 0, entry 0: {entry} {other} or nothing\n0 passed, 1 failed"
        ),
    );
    check_verdict(
        &format!(r#""class":"strict","observed":{missing}"#),
        "case 7, schedule 0: rank 1, entry 1: nothing instead of {\"sent\":true}\n\
         0 passed, 1 failed",
    );
}

#[test]
fn a_racy_outcome_must_be_one_of_the_allowed_as_a_whole() {
    let none = r#"{"source":1,"tag":3,"count":4,"msg":258}"#;
    let allowed = format!(
        r#""class":"racy","allowed":[[[{none}],[]],[[{{"flag":false}}],[{{"sent":true}}]]]"#
    );
    check_verdict(
        &allowed,
        "case 7, schedule 0: rank 1, entry 0: {\"sent\":true} instead of nothing\n\
         0 passed, 1 failed",
    );
}

#[test]
fn programs_that_stop_are_failures_with_a_reason() {
    let outcome = r#""class":"strict","observed":[[],[]]"#;
    let other_tag = RECEIVE.replace(r#""any""#, "4");
    let vectors = Vectors::read(&one_case(outcome, &other_tag), SHIPPED).expect("a file in order");
    let verdict = judge(&vectors, &Ideal(Fault::None), 1);
    let text = "case 7, schedule 0: the programs do not end\n0 passed, 1 failed";
    assert_eq!((verdict.to_string().as_str(), verdict.is_pass()), (text, false));
}

#[track_caller]
fn check_unreadable(text: &str, message: &str) {
    assert_eq!(Vectors::read(text, SHIPPED).expect_err("a wrong file").to_string(), message);
}

#[test]
fn files_that_are_no_vectors_are_refused() {
    let good = one_case(r#""class":"strict","observed":[[],[]]"#, RECEIVE);
    let swap = |from: &str, to: &str| good.replacen(from, to, 1);
    check_unreadable("{", "EOF while parsing an object at line 1 column 1");
    check_unreadable(
        &swap("matching", "chess"),
        "family `chess` is not known; `matching`, `communicators`, `collectives`, `rma`, \
         `rma_misuse`, `rma_misuse_two`, `datatypes`, `datatypes_variance`, \
         `programs` and `programs_variance` are",
    );
    check_unreadable(&swap(r#""schema":1"#, r#""schema":2"#), "schema 2 is not known; 1 is");
    check_unreadable(
        &swap("recv", "receive"),
        "case 7, rank 0, operation 0: operation `receive` is not known",
    );
    check_unreadable(
        &swap(r#""tag":"any""#, r#""tag":1.5"#),
        "case 7, rank 0, operation 0: `tag` is 1.5; a number or `any` is needed",
    );
    check_unreadable(&swap(r#","max":9"#, ""), "case 7, rank 0, operation 0: `recv` needs `max`");
    check_unreadable(
        &swap(r#""src":1"#, r#""src":5"#),
        "case 7, rank 0, operation 0, `src`: the program has 2 ranks; a rank from 0 to 1 is \
         needed, not 5",
    );
    check_unreadable(
        &swap("strict", "racy"),
        "case 7: a strict case has `observed`, a racy one `allowed`",
    );
    check_unreadable(
        &swap(r#""ranks":2"#, r#""ranks":3"#),
        "case 7: `program` needs one list for each of `ranks`",
    );
}

#[track_caller]
fn check_refused(operations: &[&str], message: &str) {
    let text = one_case(r#""class":"strict","observed":[[],[]]"#, &operations.join(","));
    check_unreadable(&text, &format!("case 7, rank 0, operation {message}"));
}

#[test]
fn wrong_operations_are_refused_with_their_place_and_argument() {
    let isend = r#"{"op":"isend","req":"a","dst":1,"tag":0,"comm":0,"msg":1,"bytes":8}"#;
    let irecv = r#"{"op":"irecv","req":"b","src":"any","tag":"any","comm":0,"max":8}"#;
    let wait = |name: &str| format!(r#"{{"op":"wait","req":"{name}"}}"#);
    let again = irecv.replace(r#""b""#, r#""a""#);
    let of = |operations: &[&str], message: &str| check_refused(operations, message);
    of(&[irecv, isend, &wait("c")], "2, `req`: `c` was not begun before; begun are `a`, `b`");
    of(&[&wait("c")], "0, `req`: `c` was not begun before");
    of(
        &[isend, &again, &wait("a")],
        "1, `req`: `a` was begun in line 1 and may still be open; wait for it first",
    );
    of(&[isend, &wait("a"), &wait("a")], "2, `req`: `a` was already completed in line 2");
    of(&[isend, r#"{"op":"waitall","reqs":["a","a"]}"#], "1, `reqs`: `a` stands in the list twice");
    of(
        &[isend, r#"{"op":"cancel","req":"a"}"#],
        "1, `req`: `a` is a send; only receives can be cancelled",
    );
    of(&[r#"{"op":"mrecv","handle":"m","max":1}"#], "0, `handle`: `m` was not begun before");
    of(
        &[&irecv.replace(r#""comm":0"#, r#""comm":3"#)],
        "0, `comm`: communicator 3 does not exist; 0 is all ranks, 1 a duplicate, 2 all ranks \
         reversed",
    );
    of(
        &[&isend.replace(r#""dst":1"#, r#""dst":2"#)],
        "0, `dst`: the program has 2 ranks; a rank from 0 to 1 is needed, not 2",
    );
    of(
        &[&isend.replace(r#""dst":1"#, r#""dst":"any""#)],
        "0, `dst`: a send needs one receiver; `any` is for receives and probes",
    );
    of(
        &[&isend.replace(r#""tag":0"#, r#""tag":-1"#)],
        "0, `tag`: tag -1 is out of range; 0 to 2147483647 is allowed",
    );
}

/// A name is free again after its wait, and keeps its handle; each operation has its own buffer.
#[test]
fn names_keep_their_handles() {
    let isend = r#"{"op":"isend","req":"a","dst":1,"tag":0,"comm":0,"msg":1,"bytes":8}"#;
    let irecv = r#"{"op":"irecv","req":"a","src":1,"tag":0,"comm":0,"max":8}"#;
    let wait = r#"{"op":"wait","req":"a"}"#;
    let text =
        one_case(r#""class":"strict","observed":[[],[]]"#, &[isend, wait, irecv, wait].join(","));
    let vectors = Vectors::read(&text, SHIPPED).expect("a file in order");
    let Cases::Matching(cases) = &vectors.cases else { panic!("another family") };
    let mut stream = cases[0].programs.stream(0);
    let (mut reply, mut begun) = (None, Vec::new());
    while let Next::Call(call) = stream.advance(reply.take()) {
        begun.extend(call.begins().zip(call.buffer()).map(|(request, of)| (request, of.id)));
        let begins = call.begins().is_some();
        reply = Some(if begins { Reply::Done } else { Reply::Outcome(Outcome::Sent) });
    }
    assert_eq!(begun, [(Handle(0), 0), (Handle(0), 1)]);
}

// claim: ep-sem-match-triple
// claim: ep-sem-match-order
// claim: ep-sem-no-overtake
// claim: ep-sem-uq-first
#[test]
fn the_simulators_library_conforms() {
    let verdict = judge(&recorded(), &Simulated { seed: 1 }, SCHEDULES);
    assert_eq!(verdict.to_string(), "300 passed, 0 failed");
}

/// Where MPI leaves a choice, the schedules differ enough to show it.
#[test]
fn schedules_reach_several_outcomes_of_racy_cases() {
    let vectors = recorded();
    let Cases::Matching(cases) = &vectors.cases else { panic!("another family") };
    let racy: Vec<_> = cases.iter().filter(|case| case.class == Class::Racy).collect();
    let varied = racy.iter().filter(|case| {
        let outcome = |schedule| {
            let world = Simulated { seed: 1 }.run(&case.programs, schedule);
            matching::outcome(case, world.expect("it ends").as_ref())
        };
        let first = outcome(0);
        (1..SCHEDULES).any(|schedule| outcome(schedule) != first)
    });
    let varied = varied.count();
    assert!(3 * varied > racy.len(), "{varied} of {} cases", racy.len());
}
