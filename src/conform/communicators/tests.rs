//! The recorded files pass, and any change to what they record is found.

use serde_json::{Map, Value, json};

use super::super::{Cases, VectorError, Vectors, Verdict};
use super::*;
use shipped::SHIPPED;

const WORLD4: &str = include_str!("../../../tests/vectors/comm_world4.json");
const WORLD6: &str = include_str!("../../../tests/vectors/comm_world6.json");

fn cases(text: &str) -> Vec<Case> {
    let Cases::Communicators(cases) = Vectors::read(text, SHIPPED).unwrap().cases else {
        panic!("another family")
    };
    cases
}

fn verdict(text: &str) -> Verdict {
    cases(text).iter().map(|case| case.mismatch(&(), 0)).collect()
}

#[test]
fn everything_recorded_is_what_our_definitions_give() {
    assert_eq!(verdict(WORLD4).to_string(), "216 passed, 0 failed");
    assert_eq!(verdict(WORLD6).to_string(), "266 passed, 0 failed");
}

/// Where MPI leaves the order open, our own rule is the one that the recorded library shows.
#[test]
fn merges_of_equal_flags_come_in_the_order_recorded() {
    let mut free = 0;
    for case in [cases(WORLD4), cases(WORLD6)].concat() {
        if let Operation::Intercommunicator { sides, .. } = &case.operation {
            let answer = case.operation.answer().unwrap();
            assert_eq!(answer["merged"], case.outcomes[0]["merged"], "case {}", case.id);
            let open = sides[0].high == sides[1].high;
            assert_eq!(case.outcomes.len(), if open { 2 } else { 1 });
            free += usize::from(open);
        }
    }
    assert!(free >= 20, "{free} merges of equal flags");
}

/// All fields of a case that hold a plain value, as JSON pointers.
fn pointers(path: &str, value: &Value) -> Vec<String> {
    let inner: Vec<(String, &Value)> = match (value.as_object(), value.as_array()) {
        (Some(fields), _) => fields.iter().map(|(name, value)| (name.clone(), value)).collect(),
        (_, Some(entries)) => (0..entries.len()).map(|i| (i.to_string(), &entries[i])).collect(),
        _ => Vec::new(),
    };
    if inner.is_empty() {
        return vec![path.to_owned()];
    }
    inner.iter().flat_map(|(name, value)| pointers(&format!("{path}/{name}"), value)).collect()
}

#[test]
fn every_recorded_value_matters() {
    let mut changed = 0;
    for case in cases(WORLD4) {
        let recorded = Value::Object(case.outcomes[0].clone());
        for pointer in pointers("", &recorded) {
            // The same change in every allowed outcome that has this field.
            let change = |outcome: &Map<String, Value>| {
                let mut outcome = Value::Object(outcome.clone());
                let value = outcome.pointer_mut(&pointer).unwrap();
                *value = json!("changed");
                outcome.as_object().unwrap().clone()
            };
            let mut wrong = case.clone();
            wrong.outcomes = case.outcomes.iter().map(change).collect();
            assert!(wrong.mismatch(&(), 0).is_some(), "case {}, {pointer}", case.id);
            changed += 1;
        }
    }
    assert!(changed > 3000, "{changed} values");
}

#[test]
fn either_order_of_an_open_merge_passes_and_no_mixture() {
    let text = |high_b: bool, merged: &str, ranks: [u32; 3]| {
        let told = |process: u32, merged_rank: u32| {
            let (rank, size, remote_size, local, remote, sum) = match process {
                3 => (0, 1, 2, vec![3], vec![1, 2], 32),
                _ => (process - 1, 2, 1, vec![1, 2], vec![3], 31),
            };
            json!({
                "rank": rank, "size": size, "remote_size": remote_size, "is_inter": true,
                "local": local, "remote": remote, "dup_compare": "congruent",
                "merged_rank": merged_rank,
                "inter_allreduce_of_world_rank_times_10_plus_1": sum,
            })
        };
        let (a, b) = (json!([told(3, ranks[2])]), json!([told(1, ranks[0]), told(2, ranks[1])]));
        one_case(&format!(
            r#""op":"intercomm","group_a":[3],"group_b":[1,2],"leader_a":0,"leader_b":1,
            "peer":[3,2],"high_a":false,"high_b":{high_b},"order_forced_by_standard":{high_b},
            "per_rank_a":{a},"per_rank_b":{b},"merged":{merged}"#
        ))
    };
    let passes = |text: String| verdict(&text).is_pass();
    assert!(passes(text(false, "[1,2,3]", [0, 1, 2])));
    assert!(passes(text(false, "[3,1,2]", [1, 2, 0])));
    assert!(!passes(text(false, "[3,2,1]", [2, 1, 0])));
    assert!(!passes(text(false, "[1,2,3]", [1, 2, 0])));
    assert!(passes(text(true, "[3,1,2]", [1, 2, 0])));
    assert!(!passes(text(true, "[1,2,3]", [0, 1, 2])));
}

/// A file of one case of a job of four processes.
fn one_case(fields: &str) -> String {
    format!(
        r#"{{"family":"communicators","schema":1,"mpi":"M","seed":1,"world":4,"cases":[
        {{"id":7,{fields}}}]}}"#
    )
}

const COMPARE: &str =
    r#""op":"comm_compare","how":"subset","world":4,"members":[0,1],"result":"unequal""#;

const GRID: &str = r#""op":"cart","size":2,"dims":[2],"periods":[false],"shifts":[[0,1]],
    "remain":[false],"per_rank":[{"coords":[0],"shifts":[["proc_null",1]],"sub":[0]},
    {"coords":[1],"shifts":[[0,"proc_null"]],"sub":null}]"#;

#[track_caller]
fn check_verdict(fields: &str, expected: &str) {
    assert_eq!(verdict(&one_case(fields)).to_string(), expected);
}

#[test]
fn a_mismatch_names_case_field_and_values() {
    check_verdict(COMPARE, "1 passed, 0 failed");
    check_verdict(
        &COMPARE.replace("unequal", "similar"),
        "case 7: `result`: \"unequal\" instead of \"similar\"\n0 passed, 1 failed",
    );
    check_verdict(
        &format!("{COMPARE},\"more\":[1]"),
        "case 7: `more`: nothing instead of [1]\n0 passed, 1 failed",
    );
    let silent = one_case(&COMPARE.replace(r#","result":"unequal""#, ""));
    let error = Vectors::read(&silent, SHIPPED).unwrap_err().to_string();
    assert_eq!(error, "case 7: nothing is tested: it has no call, or no outcome");
    check_verdict(
        &GRID.replace(r#""coords":[1]"#, r#""coords":[0]"#),
        "case 7: `per_rank[1].coords`: [1] instead of [0]\n0 passed, 1 failed",
    );
}

#[test]
fn sub_grids_without_dimensions_may_be_for_all_ranks_or_for_the_first() {
    check_verdict(GRID, "1 passed, 0 failed");
    check_verdict(&GRID.replace("null}", "[1]}"), "1 passed, 0 failed");
    check_verdict(
        &GRID.replace("null}", "[0]}"),
        "case 7: `per_rank[1].sub`: [1] instead of [0]\n0 passed, 1 failed",
    );
    check_verdict(
        &GRID.replace("[false],\"per_rank", "[true],\"per_rank").replace("[0]},", "[0,1]},"),
        "case 7: `per_rank[1].sub`: [0,1] instead of null\n0 passed, 1 failed",
    );
}

#[test]
fn what_the_definitions_refuse_is_a_failure_with_the_reason() {
    check_verdict(
        &GRID.replace("\"dims\":[2]", "\"dims\":[3]"),
        "case 7: the extents make 3 positions for 2 ranks; the two must be equal\n\
         0 passed, 1 failed",
    );
}

#[track_caller]
fn check_unreadable(text: &str, message: &str) {
    let error: VectorError = Vectors::read(text, SHIPPED).expect_err("a wrong file");
    assert_eq!(error.to_string(), message);
}

#[test]
fn files_that_are_no_vectors_are_refused() {
    let good = one_case(COMPARE);
    let swap = |from: &str, to: &str| good.replacen(from, to, 1);
    check_unreadable(
        &swap(r#""world":4"#, r#""world":5000"#),
        "`world` is 5000; a number of processes up to 4096 is needed",
    );
    check_unreadable(
        &swap(r#""world":4,"#, ""),
        "`world` is missing; a number of processes up to 4096 is needed",
    );
    check_unreadable(&swap("comm_compare", "free"), "case 7: operation `free` is not known");
    check_unreadable(
        &swap("subset", "odd"),
        "case 7: unknown variant `odd`, expected one of `same`, `dup`, `create_same`, `subset`, \
         `reorder`",
    );
    check_unreadable(&swap(r#""how":"subset","#, ""), "case 7: missing field `how`");
    check_unreadable(&swap("[0,1]", "[0,4]"), "case 7: `members` has process 4 of a job of 4");
    check_unreadable(
        &swap("[0,1]", "[1,1]"),
        "case 7: `members`: process 1 is both rank 0 and rank 1 of one group",
    );
    check_unreadable(
        &one_case(r#""op":"comm_split","size":2,"colors":[1],"keys":[0,0]"#),
        "case 7: `colors` and `keys` need one entry for each of `size` ranks",
    );
    check_unreadable(
        &one_case(r#""op":"comm_split","size":5,"colors":[1],"keys":[0,0]"#),
        "case 7: 5 processes of a job of 4",
    );
    check_unreadable(
        &one_case(&GRID.replace("\"periods\":[false]", "\"periods\":[]")),
        "case 7: `dims` and `periods` need equally many entries",
    );
}
