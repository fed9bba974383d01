//! The recorded programs, and what must be found wrong.

use serde_json::Value;

use crate::{Cases, Simulated, Vectors, Verdict, judge};
use shipped::SHIPPED;

const RECORDED: [(&str, &str); 13] = [
    ("between_groups", include_str!("../../../tests/vectors/programs_between_groups.json")),
    ("communicators", include_str!("../../../tests/vectors/programs_communicators.json")),
    ("exchange", include_str!("../../../tests/vectors/programs_exchange.json")),
    ("exchange_begun", include_str!("../../../tests/vectors/programs_exchange_begun.json")),
    ("in_place", include_str!("../../../tests/vectors/programs_in_place.json")),
    ("intercommunicators", include_str!("../../../tests/vectors/programs_intercommunicators.json")),
    (
        "intercommunicators_split",
        include_str!("../../../tests/vectors/programs_intercommunicators_split.json"),
    ),
    ("neighbours_graph", include_str!("../../../tests/vectors/programs_neighbours_graph.json")),
    ("neighbours_grid", include_str!("../../../tests/vectors/programs_neighbours_grid.json")),
    ("partitioned", include_str!("../../../tests/vectors/programs_partitioned.json")),
    ("persistent", include_str!("../../../tests/vectors/programs_persistent.json")),
    (
        "persistent_collectives",
        include_str!("../../../tests/vectors/programs_persistent_collectives.json"),
    ),
    ("requests", include_str!("../../../tests/vectors/programs_requests.json")),
];

const VARIANCE: [&str; 4] = [
    include_str!("../../../tests/vectors/programs_between_groups_variance.json"),
    include_str!("../../../tests/vectors/programs_neighbours_grid_variance.json"),
    include_str!("../../../tests/vectors/programs_persistent_collectives_variance.json"),
    include_str!("../../../tests/vectors/programs_persistent_variance.json"),
];

fn verdict(text: &str, schedules: u64) -> Verdict {
    let vectors = Vectors::read(text, SHIPPED).expect("the file is in order");
    judge(&vectors, &Simulated { seed: 1 }, schedules)
}

#[test]
fn the_simulators_library_conforms_however_its_processes_are_connected() {
    for (name, text) in RECORDED {
        let verdict = verdict(text, super::WAYS.len() as u64);
        assert!(verdict.is_pass() && verdict.passed >= 8, "{name}: {verdict}");
    }
}

#[test]
fn where_libraries_differ_each_case_has_its_answer() {
    let mut all = Verdict::default();
    for text in VARIANCE {
        all.add(verdict(text, 2));
    }
    assert!(!all.judges() && !all.is_pass(), "no case has one right answer");
    let follow = |library: &str| {
        let follows = |one: &&crate::Followed| one.libraries == [library];
        all.followed.iter().filter(follows).count()
    };
    // tests/vectors/README.md says what each library does in them.
    let counts = (all.followed.len(), follow("MPICH 4.0.2"), follow("Open MPI 4.1.4"));
    assert_eq!(counts, (16, 1, 15), "{all}");
}

/// Changes the first value that a statement of a case expects.
fn bend(value: &mut Value) -> bool {
    match value {
        Value::Object(keys) => keys.iter_mut().any(|(key, value)| match (&**key, &*value) {
            ("expect", Value::Object(_)) => bend_leaf(value),
            _ => bend(value),
        }),
        Value::Array(list) => list.iter_mut().any(bend),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn bend_leaf(value: &mut Value) -> bool {
    match value {
        Value::Object(keys) => keys.values_mut().any(bend_leaf),
        Value::Array(list) => list.iter_mut().any(bend_leaf),
        Value::Number(number) => {
            *value = Value::from(number.as_i64().unwrap_or(0) + 1);
            true
        }
        Value::Bool(flag) => {
            *value = Value::from(!*flag);
            true
        }
        Value::Null | Value::String(_) => false,
    }
}

/// One value of one case says something else: that case fails, and no other one.
#[test]
fn a_wrong_value_fails_its_case_alone() {
    for (name, text) in RECORDED {
        let mut file: Value = serde_json::from_str(text).expect("JSON");
        let cases = file["cases"].as_array_mut().expect("a list");
        let bent = cases.len() / 2;
        assert!(bend(&mut cases[bent]["program"]["ranks"]), "{name}: a value to bend");
        let id = cases[bent]["id"].as_u64();
        let verdict = verdict(&file.to_string(), 1);
        let failed: Vec<_> = verdict.mismatches.iter().map(|one| Some(one.case)).collect();
        assert_eq!(failed, [id], "{name}: {verdict}");
    }
}

fn file(statements: &str) -> String {
    format!(
        r#"{{"family":"programs","schema":1,"mpi":"M","seed":1,"cases":[
        {{"id":3,"program":{{"buffers":[{{"name":"b","size":"8 B"}}],"ranks":[[{statements}],[]]}}}}]}}"#
    )
}

#[test]
fn a_mismatch_names_rank_and_statement() {
    let text = file(
        r#"{"op":"store","buf":"b","values":[4,5]},
        {"op":"load","buf":"b","expect":{"values":[4,6]}}"#,
    );
    assert_eq!(
        verdict(&text, 1).to_string(),
        "case 3, schedule 0: timed: rank 0 in statement 1: number 1 is 5, expected is 6 \
         (program: memory holds what the program expects)\n0 passed, 1 failed"
    );
}

#[track_caller]
fn check_refused(text: &str, message: &str) {
    assert_eq!(Vectors::read(text, SHIPPED).expect_err("a wrong file").to_string(), message);
}

#[test]
fn files_that_are_no_programs_are_refused() {
    let load = r#"{"op":"load","buf":"b","expect":{"values":[0]}}"#;
    let Cases::Programs(cases) = Vectors::read(&file(load), SHIPPED).expect("in order").cases
    else {
        panic!("another family")
    };
    assert_eq!(cases.len(), 1);
    check_refused(
        &file(r#"{"op":"load","buf":"b"}"#),
        "case 3: nothing is tested: it has no call, or no outcome",
    );
    check_refused(
        &file(&load.replace(r#""b""#, r#""c""#)),
        "case 3: `workload.ranks[0][0].buf`: there is no buffer `c`; `workload.buffers` has b",
    );
    check_refused(
        &file(load).replace(r#""id":3"#, r#""id":3,"nodes":2"#),
        "case 3: `nodes` is 1, or left out",
    );
}
