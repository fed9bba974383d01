//! Windows in programs: one source, in both runtimes.

use crate::binary::Scratch;

/// A scenario of one body on `ideal`, with `mpi.rma`.
fn scenario_with(rma: &str, processes: u32, body: &str) -> String {
    format!(
        r#"{{ "schema": 1, "title": "W", "machine": "ideal", "nodes": 4, "mpi": {{ "payload": "real", "rma": {rma} }},
"workload": {{ "kind": "program", "processes": {processes}, "body": [
{body}
] }} }}"#
    )
}

fn scenario(processes: u32, body: &str) -> String {
    scenario_with("{}", processes, body)
}

/// The exit codes and texts of `run` and of `explore`.
fn both(name: &str, text: &str) -> [(i32, String); 2] {
    let scratch = Scratch::new(name);
    scratch.write("p.json", text);
    [&["run", "p.json", "--out", "out"][..], &["explore", "--reduce", "p.json"]].map(|arguments| {
        let answer = scratch.run(arguments);
        (answer.exit, format!("{}{}", answer.out, answer.err))
    })
}

#[track_caller]
fn ends_well(name: &str, text: &str) {
    for (exit, said) in both(name, text) {
        assert_eq!(exit, 0, "{name}: {said}");
    }
}

/// Both runtimes end with exit code 1 and say all `words`.
#[track_caller]
fn fails(name: &str, text: &str, words: &[&str]) {
    for (exit, said) in both(name, text) {
        assert_eq!(exit, 1, "{name}: {said}");
        for words in words {
            assert!(said.contains(words), "{name}: no `{words}` in {said}");
        }
    }
}

/// Both commands refuse the file with a code at a path.
#[track_caller]
fn is_refused(name: &str, text: &str, code: &str, words: &str) {
    for (exit, said) in both(name, text) {
        assert_eq!(exit, 3, "{name}: {said}");
        assert!(said.contains(code) && said.contains(words), "{name}: {said}");
    }
}

/// A body between the creation of `w`, 64 B in units of 8 B, and its end.
fn within(body: &str) -> String {
    format!(
        r#"{{ "op": "win_allocate", "new": "w", "size": "64 B", "unit": 8 }},
{body},
{{ "op": "win_free", "win": "w" }}"#
    )
}

const PUT: &str = r#"{ "op": "put", "win": "w", "target": "= (rank + 1) % size", "disp": "= rank", "size": "8 B" }"#;

#[test]
fn a_put_between_fences_ends_well_in_every_order() {
    let fence = r#"{ "op": "win_fence", "win": "w" }"#;
    ends_well("fence", &scenario(2, &within(&format!("{fence},\n{PUT},\n{fence}"))));
}

#[test]
fn a_lock_a_flush_and_an_unlock_end_well_in_every_order() {
    for flush in ["flush", "flush_local"] {
        for kind in ["shared", "exclusive"] {
            let body = format!(
                r#"
{{ "op": "win_lock", "win": "w", "target": 0, "kind": "{kind}" }},
{{ "op": "get", "win": "w", "target": 0, "disp": "= rank", "type": "int64" }},
{{ "op": "win_{flush}", "win": "w", "target": 0 }},
{{ "op": "win_flush", "win": "w", "target": 0 }},
{{ "op": "put", "win": "w", "target": 0, "type": "int64", "disp": "= 2 * rank", "count": "= 1 + rank" }},
{{ "op": "win_unlock", "win": "w", "target": 0 }}"#
            );
            let text = scenario(2, &within(&body));
            if kind == "exclusive" {
                ends_well("lock", &text);
            } else {
                // The get of rank 1 and the put of rank 0 may meet.
                let [_, (exit, said)] = both("lock", &text);
                assert_eq!(exit, 0, "{said}");
            }
        }
    }
}

#[test]
fn post_start_complete_and_wait_end_well_in_every_order() {
    let body = |wait: &str| {
        format!(
            r#"
{{ "op": "if", "condition": "= rank == 0",
  "then": [ {{ "op": "win_post", "win": "w", "ranks": [ 1, "= size - 1" ] }}, {wait} ],
  "else": [
    {{ "op": "win_start", "win": "w", "ranks": [ "= 0" ], "assert": [ "no_check" ] }},
    {{ "op": "put", "win": "w", "target": 0, "disp": "= rank", "type": "double" }},
    {{ "op": "win_complete", "win": "w" }} ] }}"#
        )
    };
    ends_well("pscw", &scenario(3, &within(&body(r#"{ "op": "win_wait", "win": "w" }"#))));
    let test = r#"{ "op": "until", "condition": "= over", "at_most": 1000, "do": [
      { "op": "compute", "time": "1 us" }, { "op": "win_test", "win": "w", "into": { "flag": "over" } } ] }"#;
    let [(exit, said), _] = both("pscw-test", &scenario(3, &within(&body(test))));
    assert_eq!(exit, 0, "{said}");
}

/// Request forms in a loop: their requests are those of an array.
#[test]
fn request_operations_of_a_loop_end_in_one_wait() {
    let body = r#"
{ "op": "win_lock_all", "win": "w" },
{ "op": "repeat", "times": 3, "with": "i", "do": [
  { "op": "rput", "win": "w", "target": 1, "disp": "= 3 * rank + i", "size": "8 B",
    "req": { "name": "a", "index": "= i" } } ] },
{ "op": "waitall", "reqs": { "name": "a", "count": 3 } },
{ "op": "win_unlock_all", "win": "w" }"#;
    ends_well("array", &scenario(2, &within(body)));
}

/// All operations inside a lock of all; their requests end in waits and tests.
#[test]
fn every_operation_and_its_request_form_end_well_in_every_order() {
    let operations = [
        r#""op": "put", "disp": "= rank", "size": "8 B""#,
        r#""op": "get", "disp": "= rank", "size": "= 8""#,
        r#""op": "accumulate", "type": "int32", "count": 4"#,
        r#""op": "get_accumulate", "type": "float", "operator": "max""#,
        r#""op": "get_accumulate", "type": "uint16", "operator": "no_op", "count": 3"#,
        r#""op": "fetch_and_op", "type": "int8", "operator": "bxor""#,
        r#""op": "fetch_and_op", "type": "int32_pair", "operator": "minloc""#,
        r#""op": "accumulate", "type": "int64_pair", "operator": "replace""#,
        r#""op": "compare_and_swap", "type": "uint64""#,
    ];
    for operation in operations {
        let body = format!(
            r#"
{{ "op": "win_lock_all", "win": "w" }},
{{ {operation}, "win": "w", "target": 1 }},
{{ "op": "win_flush_local_all", "win": "w" }}, {{ "op": "win_flush_all", "win": "w" }},
{{ "op": "win_sync", "win": "w" }},
{{ {operation}, "win": "w", "target": "= proc_null" }},
{{ "op": "win_unlock_all", "win": "w" }}"#
        );
        ends_well(operation, &scenario(2, &within(&body)));
    }
    for operation in &operations[..5] {
        let operation = operation.replace(r#""op": ""#, r#""op": "r"#);
        let body = format!(
            r#"
{{ "op": "win_lock_all", "win": "w", "no_check": true }},
{{ {operation}, "win": "w", "target": 1, "req": "a" }}, {{ "op": "wait", "req": "a" }},
{{ {operation}, "win": "w", "target": "proc_null", "req": "a" }},
{{ "op": "test", "req": "a", "expect": {{ "flag": true }} }},
{{ "op": "win_unlock_all", "win": "w" }}"#
        );
        ends_well(&operation, &scenario(2, &within(&body)));
    }
}

#[test]
fn windows_of_every_flavour_end_well_in_every_order() {
    let epoch = r#"{ "op": "win_fence", "win": "w", "assert": [ "no_precede" ] },
{ "op": "put", "win": "w", "target": "= 1 - rank", "disp": 8, "size": "8 B"MEMORY },
{ "op": "win_fence", "win": "w", "assert": [ "no_succeed", "no_put" ] }"#;
    for make in [
        r#""op": "win_create", "size": "64 B", "comm": 2"#,
        r#""op": "win_create", "size": "= 16 * (rank + 1)", "memory": "m""#,
        r#""op": "win_allocate", "size": "64 B""#,
        r#""op": "win_allocate_shared", "size": "64 B""#,
        r#""op": "win_allocate_shared", "size": "64 B", "page": "4 KiB""#,
        r#""op": "win_create_dynamic""#,
    ] {
        let attached = make.contains("dynamic");
        let epoch = epoch.replace("MEMORY", if attached { r#", "memory": "m""# } else { "" });
        let (attach, detach) = if attached {
            (
                r#"{ "op": "win_attach", "win": "w", "memory": "m", "size": "16 B" }, { "op": "barrier" },"#,
                r#"{ "op": "barrier" }, { "op": "win_detach", "win": "w", "memory": "m" },"#,
            )
        } else {
            ("", "")
        };
        let body = format!(
            r#"{{ {make}, "new": "w" }}, {attach} {epoch}, {detach} {{ "op": "win_free", "win": "w" }}"#
        );
        let one_node = scenario(2, &body).replace(r#""nodes": 4"#, r#""nodes": 1"#);
        ends_well(make, &one_node);
    }
}

#[test]
fn two_windows_and_messages_go_beside_each_other() {
    let body = r#"
{ "op": "win_allocate", "new": "a", "size": "8 B" },
{ "op": "win_allocate", "new": "b", "size": "8 B", "comm": 1 },
{ "op": "win_lock", "win": "a", "target": 0, "kind": "exclusive" },
{ "op": "win_lock", "win": "b", "target": 0, "kind": "shared" },
{ "op": "put", "win": "a", "target": 0, "size": "8 B" },
{ "op": "accumulate", "win": "b", "target": 0 },
{ "op": "win_unlock", "win": "b", "target": 0 },
{ "op": "win_unlock", "win": "a", "target": 0 },
{ "op": "isend", "to": "= 1 - rank", "size": "8 B", "req": "s" },
{ "op": "recv", "src": "= 1 - rank", "max": "8 B" }, { "op": "wait", "req": "s" },
{ "op": "win_free", "win": "b" }, { "op": "win_free", "win": "a" }"#;
    ends_well("two", &scenario(2, body));
}

#[test]
fn a_part_of_a_shared_window_is_asked_for() {
    let body = r#"
{ "op": "win_allocate_shared", "new": "w", "size": "= 8 * (rank + 1)" },
{ "op": "win_shared_query", "win": "w", "target": 1, "expect": { "count": "16 B" } },
{ "op": "win_free", "win": "w" }"#;
    let one_node = |text: String| text.replace(r#""nodes": 4"#, r#""nodes": 1"#);
    ends_well("query", &one_node(scenario(2, body)));
    let words = ["in line 5", "count is 16 B, expected is 24 B"];
    fails("query-wrong", &one_node(scenario(2, &body.replace("16 B", "24 B"))), &words);
    let words = ["in line 4", "memory is shared inside a node: process 0 is on node 0, process 1"];
    fails("query-nodes", &scenario(2, body), &words);
}

/// A column of a matrix at the target; types that are no such pieces are refused.
#[test]
fn the_target_may_have_the_bytes_in_pieces() {
    let int = r#"{ "kind": "named", "name": "int32" }"#;
    let put = |tree: &str| {
        let put = format!(
            r#"
{{ "op": "win_fence", "win": "w" }},
{{ "op": "if", "condition": "= rank == 0", "then": [
  {{ "op": "accumulate", "win": "w", "target": 1, "count": 4, "target_datatype": {tree} }} ] }},
{{ "op": "win_fence", "win": "w" }}"#
        );
        scenario(2, &within(&put))
    };
    let vector = |count: u32, stride: i32| {
        format!(
            r#"{{ "kind": "vector", "count": {count}, "blocklength": 1, "stride": {stride}, "child": {int} }}"#
        )
    };
    ends_well("column", &put(&vector(4, 2)));
    let far = ["76 B at displacement 0 (of 8 B) leave the 64 B", "in line 7"];
    fails("far", &put(&vector(4, 6)), &far);
    is_refused("few", &put(&vector(3, 2)), "E0503", "the target has 12 B, and the origin 16");
    is_refused("back", &put(&vector(4, -2)), "E0511", "do not begin at displacement 0");
    let double = vector(4, 2).replace("int32", "double");
    is_refused("type", &put(&double.replace("4,", "2,")), "E0503", "elements of other types");
}

#[test]
fn an_operation_outside_any_epoch_is_told_by_its_line() {
    let words = ["MPI_ERR_RMA_SYNC", "in line 4", "outside any access epoch", "MPI_Put"];
    fails("outside", &scenario(2, &within(PUT)), &words);
}

#[test]
fn overlapping_puts_between_fences_are_told_by_both_lines() {
    let body = r#"
{ "op": "win_fence", "win": "w" },
{ "op": "if", "condition": "= rank == 1",
  "then": [ { "op": "put", "win": "w", "target": 0, "size": "8 B" } ],
  "else": [
    { "op": "put", "win": "w", "target": 0, "size": "16 B" } ] },
{ "op": "win_fence", "win": "w" }"#;
    let words =
        ["R2", "put of bytes 0..8 by rank 1 in line 7", "put of bytes 0..16 by rank 0 in line 9"];
    fails("overlap", &scenario(2, &within(body)), &words);
}

#[test]
fn names_of_windows_are_followed_from_their_creation_to_their_end() {
    let allocate = r#"{ "op": "win_allocate", "new": "w", "size": "8 B" }"#;
    let free = r#"{ "op": "win_free", "win": "w" }"#;
    let refused = |name: &str, body: &str, words: &str| {
        is_refused(name, &scenario(2, body), "E0525", words);
    };
    refused("never", free, "p.json:3:28 workload.body[0].win: window `w` was never made");
    refused("freed", &format!("{allocate}, {free}, {free}"), "window `w` was freed");
    refused("again", &format!("{allocate}, {allocate}"), "window `w` is made again");
    refused("open", allocate, "window `w` is never freed");
    let inside = format!(r#"{{ "op": "repeat", "times": 2, "do": [ {allocate}, {free} ] }}"#);
    refused("loop", &inside, "`win_allocate` inside a loop or a condition");
    let attach = r#"{ "op": "win_attach", "win": "w", "memory": "m", "size": "8 B" }"#;
    refused("attach", &within(attach), "the window has memory from its creation on");
}

#[test]
fn what_a_statement_cannot_say_is_refused_at_its_place() {
    let refused = |name: &str, body: &str, code: &str, words: &str| {
        is_refused(name, &scenario(2, &within(body)), code, words);
    };
    let op = |keys: &str| format!(r#"{{ {keys}, "win": "w", "target": 1 }}"#);
    refused("amount", &op(r#""op": "put""#), "E0306", "the key `size` is missing");
    let both = op(r#""op": "put", "size": "8 B", "type": "int32""#);
    refused("both", &both, "E0503", "both `size` and `type`");
    let count = op(r#""op": "get", "size": "8 B", "count": 2"#);
    refused("count", &count, "E0503", "`count` without `type`");
    let band = op(r#""op": "accumulate", "type": "double", "operator": "band""#);
    refused("band", &band, "E0503", "`band` is not defined on `double`");
    let swap = op(r#""op": "compare_and_swap", "type": "float""#);
    refused("swap", &swap, "E0503", "integers are needed");
    let rank = op(r#""op": "put", "size": "8 B""#).replace(": 1 }", ": 2 }");
    refused("rank", &rank, "E0504", "rank 2 does not exist");
    let memory = op(r#""op": "put", "size": "8 B", "memory": "m""#);
    refused("memory", &memory, "E0503", "it is for windows of `win_create_dynamic`");
    let query = op(r#""op": "win_shared_query""#);
    refused("query", &query, "E0525", "the window is not shared");
    let post = r#"{ "op": "win_post", "win": "w", "ranks": [ 0, 7 ] }"#;
    refused("post", post, "E0504", "ranks[1]: rank 7 does not exist");
    let operator = op(r#""op": "accumulate", "operator": "affine""#);
    refused("operator", &operator, "E0307", "affine");
    let target = op(r#""op": "win_flush""#).replace(": 1 }", r#": "= 5" }"#);
    fails(
        "target",
        &scenario(2, &within(&target)),
        &["`target` is 5, and takes 0 to 1", "in line 4"],
    );
}
