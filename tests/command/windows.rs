//! Windows in programs: one source, in both runtimes.

use crate::both::{both, ends_well, fails, is_refused};

/// A scenario of one body on `ideal`, with `mpi.rma`.
fn scenario_with(rma: &str, processes: u32, body: &str) -> String {
    format!(
        r#"{{ "schema": 1, "title": "W", "machine": "ideal", "nodes": 4, "mpi": {{ "payload": "real", "rma": {rma} }},
"workload": {{ "kind": "program", "processes": {processes},
"buffers": [ {{ "name": "x", "size": "64 B" }}, {{ "name": "y", "size": "64 B" }} ], "body": [
{body}
] }} }}"#
    )
}

fn scenario(processes: u32, body: &str) -> String {
    scenario_with("{}", processes, body)
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
    let words = ["in line 6", "count is 16 B, expected is 24 B"];
    fails("query-wrong", &one_node(scenario(2, &body.replace("16 B", "24 B"))), &words);
    let words = ["in line 5", "memory is shared inside a node: process 0 is on node 0, process 1"];
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
    let far = ["76 B at displacement 0 (of 8 B) leave the 64 B", "in line 8"];
    fails("far", &put(&vector(4, 6)), &far);
    is_refused("few", &put(&vector(3, 2)), &["E0503", "the target has 12 B, and the origin 16"]);
    is_refused("back", &put(&vector(4, -2)), &["E0511", "lie before the displacement"]);
    let double = vector(4, 2).replace("int32", "double");
    let indexed = |places: &str| {
        format!(
            r#"{{ "kind": "indexed_block", "blocklength": 1, "displacements": [ {places} ], "child": {int} }}"#
        )
    };
    ends_well("indexed", &put(&indexed("1, 4, 7, 10")));
    is_refused("uneven", &put(&indexed("1, 4, 7, 11")), &["E0511", "not alike"]);
    is_refused("type", &put(&double.replace("4,", "2,")), &["E0503", "elements of other types"]);
}

/// The second element of each pair, which an indexed type selects, and nothing else.
#[test]
fn pieces_behind_the_displacement_are_put_where_they_belong() {
    let body = r#"{ "op": "store", "buf": "x", "type": "int64", "values": [ 5, 6 ] },
{ "op": "win_fence", "win": "w" },
{ "op": "put", "win": "w", "target": "= (rank + 1) % size", "type": "int64", "count": 2, "origin": "x", "target_datatype":
  { "kind": "indexed_block", "blocklength": 1, "displacements": [ 1, 3 ], "child": { "kind": "named", "name": "int64" } } },
{ "op": "win_fence", "win": "w" },
{ "op": "load", "win": "w", "type": "int64", "expect": { "values": [ 0, 5, 0, 6, 0 ] } }"#;
    ends_well("indexed_put", &scenario(2, &within(body)));
}

#[test]
fn exposures_fences_and_own_requests_follow_each_other() {
    let body = r#"{ "op": "if", "condition": "= rank == 0", "then": [
  { "op": "win_start", "win": "w", "ranks": [ 1 ] }, { "op": "put", "win": "w", "target": 1, "size": "8 B" },
  { "op": "win_complete", "win": "w" } ], "else": [
  { "op": "win_post", "win": "w", "ranks": [ 0 ] }, { "op": "win_wait", "win": "w" } ] },
{ "op": "win_fence", "win": "w" },
{ "op": "if", "condition": "= rank == 0", "then": [ { "op": "put", "win": "w", "target": 1, "size": "8 B" } ] },
{ "op": "win_fence", "win": "w", "assert": [ "no_succeed" ] },
{ "op": "win_lock_all", "win": "w" },
{ "op": "rget", "win": "w", "target": "= rank", "size": "8 B", "origin": "x", "req": "a" }, { "op": "wait", "req": "a" },
{ "op": "put", "win": "w", "target": "= rank", "size": "8 B", "origin": "x" },
{ "op": "win_unlock_all", "win": "w" }, { "op": "barrier" }"#;
    ends_well("follow", &scenario(2, &within(body)));
}

#[test]
fn fences_that_one_rank_calls_alone_are_told_when_the_window_is_freed() {
    let body = r#"{ "op": "if", "condition": "= rank == 0", "then": [ { "op": "win_fence", "win": "w" } ] }"#;
    let words = ["C4: the ranks of a window call the same fences on it"];
    fails("alone", &scenario(2, &within(body)), &words);
    let two_groups = r#"{ "op": "comm_split", "new": "c", "color": "= rank % 2", "key": 0 },
{ "op": "win_allocate", "new": "w", "size": "8 B", "unit": 8, "comm": "c" },
{ "op": "repeat", "times": "= 1 + rank % 2", "do": [ { "op": "win_fence", "win": "w" } ] },
{ "op": "win_free", "win": "w" }, { "op": "comm_free", "comm": "c" }"#;
    ends_well("two_groups", &scenario(4, two_groups));
}

#[test]
fn separate_memory_is_synchronised_by_its_owner() {
    let lock = r#"{ "op": "win_lock", "win": "w", "target": 1, "kind": "exclusive" }"#;
    let unlock = r#"{ "op": "win_unlock", "win": "w", "target": 1 }"#;
    let of = |origin: &str, before: &str, after: &str| {
        let body = format!(
            r#"{{ "op": "if", "condition": "= rank == 1", "then": [ {before} {{ "op": "barrier" }} ], "else": [ {{ "op": "barrier" }} ] }},
{{ "op": "if", "condition": "= rank == 0", "then": [ {lock}, {{ "op": "{origin}", "win": "w", "target": 1, "size": "8 B" }}, {unlock} ] }},
{{ "op": "barrier" }}, {{ "op": "if", "condition": "= rank == 1", "then": [ {after} ] }}, {{ "op": "barrier" }}"#
        );
        scenario_with(r#"{ "model": "separate" }"#, 2, &within(&body))
    };
    let (load, store) = (
        r#"{ "op": "load", "win": "w", "type": "int64" }"#,
        r#"{ "op": "store", "win": "w", "type": "int64", "values": [ 1 ] },"#,
    );
    let own = format!("{lock}, {load}, {unlock}");
    ends_well("synchronised", &of("put", "", &own));
    fails("unseen", &of("put", "", load), &["R2", "load of bytes 0..8 by rank 1"]);
    fails("unpublished", &of("get", store, &own), &["R2", "store of bytes 0..8 by rank 1"]);
    ends_well("published", &of("get", &format!("{lock}, {store} {unlock},"), &own));
}

#[test]
fn the_own_part_of_a_shared_window_needs_no_query() {
    let body = r#"{ "op": "win_allocate_shared", "new": "w", "size": "8 B", "unit": 8 },
{ "op": "store", "win": "w", "type": "int64", "values": [ "= 7 + rank" ] }, { "op": "barrier" },
{ "op": "load", "win": "w", "type": "int64", "expect": { "values": [ "= 7 + rank" ] } },
{ "op": "win_shared_query", "win": "w", "target": 0, "expect": { "count": "8 B" } },
{ "op": "load", "win": "w", "target": 0, "type": "int64", "expect": { "values": [ 7 ] } },
{ "op": "win_free", "win": "w" }"#;
    ends_well("own_part", &scenario(2, body).replace("\"nodes\": 4", "\"nodes\": 1"));
}

#[test]
fn an_operation_outside_any_epoch_is_told_by_its_line() {
    let words = ["MPI_ERR_RMA_SYNC", "in line 5", "outside any access epoch", "MPI_Put"];
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
        ["R2", "put of bytes 0..8 by rank 1 in line 8", "put of bytes 0..16 by rank 0 in line 10"];
    fails("overlap", &scenario(2, &within(body)), &words);
}

#[test]
fn names_of_windows_are_followed_from_their_creation_to_their_end() {
    let allocate = r#"{ "op": "win_allocate", "new": "w", "size": "8 B" }"#;
    let free = r#"{ "op": "win_free", "win": "w" }"#;
    let refused = |name: &str, body: &str, words: &str| {
        is_refused(name, &scenario(2, body), &["E0525", words]);
    };
    refused("never", free, "p.json:4:28 workload.body[0].win: window `w` was never made");
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
        is_refused(name, &scenario(2, &within(body)), &[code, words]);
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
        &["`target` is 5, and takes 0 to 1", "in line 5"],
    );
}

/// The target loads what was put, and the origin what it got.
#[test]
fn values_of_windows_and_buffers_are_expected_after_synchronisation() {
    let body = |sum: i32| {
        format!(
            r#"
{{ "op": "store", "win": "w", "type": "int64", "at": 1, "values": [ "= 10 * rank", 7 ] }},
{{ "op": "store", "buf": "x", "type": "int64", "values": [ 5, 6 ] }},
{{ "op": "win_fence", "win": "w" }},
{{ "op": "put", "win": "w", "target": "= 1 - rank", "type": "int64", "disp": "= 4 + rank", "origin": "x", "origin_at": "= rank" }},
{{ "op": "get", "win": "w", "target": "= 1 - rank", "type": "int64", "disp": 1, "count": 2, "origin": "y", "origin_at": 1 }},
{{ "op": "win_fence", "win": "w" }},
{{ "op": "load", "win": "w", "type": "int64", "at": "= 4 + (1 - rank)", "expect": {{ "values": [ "= 6 - rank" ] }} }},
{{ "op": "load", "buf": "y", "type": "int64", "at": 1, "expect": {{ "values": [ "= 10 * (1 - rank)", 7 ] }} }},
{{ "op": "barrier" }},
{{ "op": "win_lock", "win": "w", "target": 0, "kind": "exclusive" }},
{{ "op": "fetch_and_op", "win": "w", "target": 0, "type": "int64", "disp": 2, "origin": "x", "result": "y", "result_at": 3 }},
{{ "op": "win_unlock", "win": "w", "target": 0 }},
{{ "op": "load", "buf": "y", "type": "int64", "at": 3, "into": {{ "value": "old" }} }},
{{ "op": "assert", "condition": "= old == 7 || old == 12" }},
{{ "op": "barrier" }},
{{ "op": "if", "condition": "= rank == 0", "then": [
  {{ "op": "win_lock", "win": "w", "target": 0, "kind": "shared" }},
  {{ "op": "load", "win": "w", "type": "int64", "at": 2, "expect": {{ "values": [ {sum} ] }} }},
  {{ "op": "win_unlock", "win": "w", "target": 0 }} ] }}"#
        )
    };
    ends_well("values", &scenario(2, &within(&body(17))));
    fails(
        "values-wrong",
        &scenario(2, &within(&body(18))),
        &["number 2 is 17, expected is 18", "in line 23"],
    );
}

/// The first element is the one that is expected, and the second one the new one.
#[test]
fn one_of_two_ranks_swaps() {
    let body = r#"
{ "op": "store", "buf": "x", "values": [ 0, "= rank + 1" ] },
{ "op": "win_lock_all", "win": "w" },
{ "op": "compare_and_swap", "win": "w", "target": 0, "type": "int32", "origin": "x", "result": "y" },
{ "op": "win_unlock_all", "win": "w" },
{ "op": "load", "buf": "y", "into": { "value": "old" } },
{ "op": "assert", "condition": "= old == 0 || old == 2 - rank" }"#;
    ends_well("swap", &scenario(2, &within(body)));
    let sure = body.replace("old == 0 ||", "");
    fails("swap-sure", &scenario(2, &within(&sure)), &["in line 11"]);
}

/// Pairs: the least value, and its index.
#[test]
fn the_least_of_pairs_is_found() {
    let body = r#"
{ "op": "store", "win": "w", "type": "int32_pair", "values": [ 100, 9 ] },
{ "op": "store", "buf": "x", "type": "int32_pair", "values": [ "= 7 - rank", "= rank" ] },
{ "op": "win_fence", "win": "w" },
{ "op": "accumulate", "win": "w", "target": 0, "type": "int32_pair", "operator": "minloc", "origin": "x" },
{ "op": "win_fence", "win": "w" },
{ "op": "if", "condition": "= rank == 0", "then": [
  { "op": "load", "win": "w", "type": "int32_pair", "expect": { "values": [ 6, 1 ] } } ] }"#;
    ends_well("pairs", &scenario(2, &within(body)));
}

/// Neighbours read and write the parts of a shared window, once they know where these lie.
#[test]
fn parts_of_a_shared_window_are_loaded_and_stored() {
    let body = r#"
{ "op": "win_allocate_shared", "new": "w", "size": "16 B" },
QUERY
{ "op": "win_lock_all", "win": "w" },
{ "op": "store", "win": "w", "target": "= 1 - rank", "at": 3, "values": [ "= 5 + rank" ] },
{ "op": "win_sync", "win": "w" }, { "op": "barrier" }, { "op": "win_sync", "win": "w" },
{ "op": "load", "win": "w", "target": "= rank", "at": 3, "expect": { "values": [ "= 6 - rank" ] } },
{ "op": "win_unlock_all", "win": "w" },
{ "op": "win_free", "win": "w" }"#;
    let query = r#"{ "op": "win_shared_query", "win": "w", "target": 0 },
{ "op": "win_shared_query", "win": "w", "target": "= 1" },"#;
    let one_node = |text: String| text.replace(r#""nodes": 4"#, r#""nodes": 1"#);
    ends_well("shared", &one_node(scenario(2, &body.replace("QUERY", query))));
    let words = ["no `win_shared_query` of rank 1 comes before", "rank 0 in line 8"];
    fails("shared-unknown", &one_node(scenario(2, &body.replace("QUERY", ""))), &words);
}

/// Memory that a rank attaches is its own to load and store.
#[test]
fn attached_memory_has_values() {
    let body = r#"
{ "op": "win_create_dynamic", "new": "w" },
{ "op": "win_attach", "win": "w", "memory": "m", "size": "8 B" },
{ "op": "win_attach", "win": "w", "memory": "n", "size": "8 B" }, { "op": "barrier" },
{ "op": "store", "buf": "x", "values": [ "= 3 + rank" ] },
{ "op": "win_lock_all", "win": "w" },
{ "op": "accumulate", "win": "w", "target": 1, "memory": "n", "disp": 4, "origin": "x" },
{ "op": "win_unlock_all", "win": "w" }, { "op": "barrier" },
{ "op": "if", "condition": "= rank == 1", "then": [
  { "op": "load", "win": "w", "memory": "n", "at": 1, "expect": { "values": [ 7 ] } } ] },
{ "op": "win_detach", "win": "w", "memory": "m" }, { "op": "win_detach", "win": "w", "memory": "n" },
{ "op": "win_free", "win": "w" }"#;
    ends_well("attached", &scenario(2, body));
    let late =
        body.replace(r#""memory": "n", "size": "8 B" }"#, r#""memory": "k", "size": "8 B" }"#);
    fails("attached-not", &scenario(2, &late), &["MPI_Accumulate", "in line 10"]);
}

#[test]
fn buffers_of_operations_are_checked() {
    let refused = |name: &str, keys: &str, code: &str, words: &str| {
        let body = format!(r#"{{ {keys}, "win": "w", "target": 1 }}"#);
        is_refused(name, &scenario(2, &within(&body)), &[code, words]);
    };
    refused(
        "unknown",
        r#""op": "put", "size": "8 B", "origin": "z""#,
        "E0",
        "there is no buffer `z`",
    );
    let long = r#""op": "get", "type": "int64", "count": 8, "origin": "x", "origin_at": 1"#;
    refused("long", long, "E0", "the call needs 72 B");
    let place = r#""op": "put", "size": "8 B", "origin_at": 1"#;
    refused("place", place, "E0503", "`origin_at` without `origin`");
    let nothing = r#""op": "get_accumulate", "operator": "no_op", "origin": "x""#;
    refused("no_op", nothing, "E0503", "`no_op` has none");
    refused("other", r#""op": "load""#, "E0503", "leave it out");
    let computed = r#"{ "op": "win_fence", "win": "w" },
{ "op": "put", "win": "w", "target": 1, "size": "8 B", "origin": "x", "origin_at": "= 60 + rank" },
{ "op": "win_fence", "win": "w" }"#;
    let words = ["in line 6", "the call needs 68 B, and the buffer has 64"];
    fails("computed", &scenario(2, &within(computed)), &words);
}

/// A program, the words of its refusal, and the sets of rules that refuse it.
const SYNCHRONISED: [(&str, &str, &str); 22] = [
    ("U", "unlock of target 1 outside any access epoch", "document strict mpich"),
    ("L L U U", "lock of target 1 in a lock epoch", "document strict mpich"),
    ("LA L U UA", "lock of target 1 in a lock-all epoch", "document strict mpich"),
    ("L LA UA U", "lock_all in a lock epoch", "document strict mpich"),
    ("F PUT FLUSH F", "flush of target 1 in a fence epoch", "document strict mpich"),
    ("FLUSH_ALL", "flush_all outside any access epoch", "document strict mpich"),
    ("F RPUT F WAIT", "a request operation of target 1 after a fence", "document strict"),
    ("PUT", "an operation of target 1 outside any access epoch", "document strict mpich"),
    ("F NS PUT F", "an operation of target 1 outside any access epoch", "document strict mpich"),
    ("F PUT LA UA F", "lock_all in a fence epoch", "strict mpich"),
    ("F PUT L U F", "lock of target 1 in a fence epoch", "strict mpich"),
    ("F L PUT U F", "", ""),
    ("L PUT0 U", "an operation of target 0 in a lock epoch", "strict"),
    ("L F U", "fence in a lock epoch", "document strict mpich"),
    ("COMPLETE", "complete outside any access epoch", "document strict mpich"),
    ("WIN_WAIT", "wait outside any access epoch", "document strict mpich"),
    ("WIN_TEST", "test outside any access epoch", "document strict mpich"),
    (
        "POST START OWN COMPLETE WIN_WAIT",
        "in a start epoch, exposed by post",
        "document strict mpich",
    ),
    ("SYNC", "sync outside any access epoch", "document strict mpich"),
    (
        "POST LOCK_OWN UNLOCK_OWN START COMPLETE WIN_WAIT",
        "outside any access epoch, exposed by post",
        "document strict",
    ),
    ("LA", "free in a lock-all epoch", "document strict mpich"),
    ("F PUT NS POST START COMPLETE WIN_WAIT L PUT FLUSH U LA RPUT WAIT SYNC UA", "", ""),
];

/// `rma` Fig. 3: which calls are out of order, by each set of rules. The run and every order agree.
#[test]
fn calls_out_of_order_are_told_as_each_set_of_rules_says() {
    let statement = |word: &str| {
        let keys = match word {
            "L" => r#""op": "win_lock", "target": 1, "kind": "shared""#,
            "U" => r#""op": "win_unlock", "target": 1"#,
            "LA" => r#""op": "win_lock_all""#,
            "UA" => r#""op": "win_unlock_all""#,
            "F" => r#""op": "win_fence""#,
            "NS" => r#""op": "win_fence", "assert": [ "no_succeed" ]"#,
            "PUT" => r#""op": "put", "target": 1, "disp": "= rank", "size": "8 B""#,
            "PUT0" => r#""op": "put", "target": 0, "disp": "= rank", "size": "8 B""#,
            "OWN" => r#""op": "put", "target": "= rank", "size": "8 B""#,
            "RPUT" => r#""op": "rput", "target": 1, "disp": "= rank", "size": "8 B", "req": "a""#,
            "WAIT" => return r#"{ "op": "wait", "req": "a" }"#.to_owned(),
            "FLUSH" => r#""op": "win_flush", "target": 1"#,
            "FLUSH_ALL" => r#""op": "win_flush_all""#,
            "POST" => r#""op": "win_post", "ranks": [ "= 1 - rank" ]"#,
            "START" => r#""op": "win_start", "ranks": [ "= 1 - rank" ]"#,
            "COMPLETE" => r#""op": "win_complete""#,
            "WIN_WAIT" => r#""op": "win_wait""#,
            "WIN_TEST" => r#""op": "win_test""#,
            "SYNC" => r#""op": "win_sync""#,
            "LOCK_OWN" => r#""op": "win_lock", "target": "= rank", "kind": "exclusive""#,
            "UNLOCK_OWN" => r#""op": "win_unlock", "target": "= rank""#,
            other => panic!("no statement `{other}`"),
        };
        format!(r#"{{ {keys}, "win": "w" }}"#)
    };
    for (words, law, by) in SYNCHRONISED {
        let body: Vec<String> = words.split(' ').map(statement).collect();
        for rules in ["document", "strict", "mpich"] {
            let rma = format!(r#"{{ "checking": "{rules}" }}"#);
            let text = scenario_with(&rma, 2, &within(&body.join(",\n")));
            let name = format!("{words}, {rules}");
            if by.contains(rules) {
                fails(&name, &text, &["MPI_ERR_RMA_SYNC", " in line ", law]);
            } else {
                ends_well(&name, &text);
            }
        }
    }
}

/// Accesses to eight bytes of one window, and to those behind them, as `rma` Fig. 1 names them.
const ACCESSES: [&str; 5] = ["load", "store", "get", "put", "accumulate"];

/// `rma` Fig. 1: by memory model, the pairs that never run together, those that may share no byte, and the
/// others, which may. Two loads or stores are of one rank, which orders them.
#[test]
fn accesses_that_run_together_are_told_as_the_table_says() {
    let may = |model: &str, a: &str, b: &str| -> &str {
        let pair = [a, b];
        let has = |one: &str| pair.contains(&one);
        let remote = |one: &str| matches!(one, "put" | "accumulate");
        if a == b {
            return if a == "put" { "apart" } else { "together" };
        }
        if has("store") && pair.iter().any(|one| remote(one)) {
            return if model == "separate" { "never" } else { "apart" };
        }
        if has("load") && pair.iter().any(|one| remote(one)) {
            return if model == "separate" { "apart" } else { "together" };
        }
        if has("load") && (has("store") || has("get")) { "together" } else { "apart" }
    };
    // Rank 0 owns the window; the second access of two operations is that of rank 2.
    let access = |what: &str, at: u32| match what {
        "load" => format!(r#"{{ "op": "load", "win": "w", "type": "int64", "at": {at} }}"#),
        "store" => {
            format!(
                r#"{{ "op": "store", "win": "w", "type": "int64", "at": {at}, "values": [ 1 ] }}"#
            )
        }
        _ => format!(
            r#"{{ "op": "{what}", "win": "w", "target": 0, "type": "int64", "disp": {at} }}"#
        ),
    };
    let is_local = |what: &str| matches!(what, "load" | "store");
    for model in ["separate", "unified"] {
        for (number, a) in ACCESSES.iter().enumerate() {
            for b in &ACCESSES[number..] {
                if is_local(a) && is_local(b) {
                    continue;
                }
                for at in [0, 1] {
                    let first = if is_local(a) { 0 } else { 2 };
                    let body = format!(
                        r#"
{{ "op": "win_lock_all", "win": "w" }},
{{ "op": "if", "condition": "= rank == {first}", "then": [ {} ] }},
{{ "op": "if", "condition": "= rank == 1", "then": [ {} ] }},
{{ "op": "win_unlock_all", "win": "w" }}"#,
                        access(a, 0),
                        access(b, at)
                    );
                    let rma = format!(r#"{{ "model": "{model}" }}"#);
                    let text = scenario_with(&rma, 3, &within(&body));
                    let allowed = may(model, a, b);
                    let is_allowed = allowed == "together" || allowed == "apart" && at == 1;
                    let name = format!("{model} {a} {b} {at}");
                    let [_, (exit, said)] = both(&name, &text);
                    assert_eq!(exit, i32::from(!is_allowed), "{name}: {said}");
                    assert!(
                        is_allowed || said.contains("R2") && said.contains(" in line "),
                        "{said}"
                    );
                }
            }
        }
    }
}

/// Clients of one process reach a server; the endpoint library has windows of the program's memory only.
#[test]
fn windows_go_over_the_endpoint_library_as_far_as_it_has_them() {
    let body = |make: &str| {
        let body = format!(
            r#"
{{ "op": "{make}", "new": "w", "size": "64 B", "unit": 8 }},
{{ "op": "store", "buf": "x", "type": "int64", "values": [ "= 10 + rank" ] }},
{{ "op": "win_fence", "win": "w" }},
{{ "op": "if", "condition": "= rank < 2", "then": [
  {{ "op": "put", "win": "w", "target": 2, "disp": "= rank", "type": "int64", "origin": "x" }} ] }},
{{ "op": "win_fence", "win": "w" }},
{{ "op": "if", "condition": "= rank == 2", "then": [
  {{ "op": "load", "win": "w", "type": "int64", "expect": {{ "values": [ 10, 11 ] }} }} ] }},
{{ "op": "win_free", "win": "w" }}"#
        );
        let ranks = r#""ranks": { "threads_per_process": 2, "addressing": "xios_ep" }, "mpi""#;
        scenario(4, &body).replacen(r#""mpi""#, ranks, 1)
    };
    ends_well("endpoints", &body("win_create"));
    let words = "line 5 calls `MPI_Win_allocate`, which that library does not offer";
    is_refused("endpoints-allocate", &body("win_allocate"), &["E0503", words]);
}

/// A program in which rank 0 asks its own part again and again, by these calls, for what rank 1 puts there.
fn asks_its_own_part(before: &str, calls: &str, after: &str) -> String {
    format!(
        r#"{{ "schema": 1, "title": "W", "machine": "broadwell-edr", "nodes": 2, "mpi": {{ "payload": "real" }},
"workload": {{ "kind": "program", "processes": 2,
"buffers": [ {{ "name": "one", "size": "4 B" }}, {{ "name": "seen", "size": "4 B" }} ], "body": [
{{ "op": "win_allocate", "new": "w", "size": "4 B", "unit": 4 }},
{{ "op": "store", "buf": "one", "type": "int32", "values": [ 1 ] }},
{{ "op": "barrier" }},
{{ "op": "if", "condition": "= rank == 0", "then": [
  {before}
  {{ "op": "set", "name": "flag", "to": "= 0" }},
  {{ "op": "until", "condition": "= flag == 1", "at_most": 2000, "do": [ {calls} ] }}{after} ], "else": [
  {{ "op": "win_lock", "win": "w", "target": 0, "kind": "shared" }},
  {{ "op": "accumulate", "win": "w", "target": 0, "type": "int32", "operator": "replace", "origin": "one" }},
  {{ "op": "win_unlock", "win": "w", "target": 0 }} ] }},
{{ "op": "barrier" }},
{{ "op": "win_free", "win": "w" }} ] }} }}"#
    )
}

/// Operations on a part must complete whatever its rank does, and certainly while that calls.
#[test]
fn a_rank_that_asks_its_own_part_lets_others_in() {
    let load = r#"{ "op": "load", "win": "w", "type": "int32", "into": { "value": "flag" } }"#;
    let fetch = r#"{ "op": "fetch_and_op", "win": "w", "target": 0, "type": "int32", "operator": "no_op", "result": "seen" }"#;
    let loaded = r#"{ "op": "load", "buf": "seen", "type": "int32", "into": { "value": "flag" } }"#;
    let unlock = r#"{ "op": "win_unlock", "win": "w", "target": 0 }"#;
    for kind in ["shared", "exclusive"] {
        let lock = format!(r#"{{ "op": "win_lock", "win": "w", "target": 0, "kind": "{kind}" }}"#);
        let fetches = format!("{lock}, {fetch}, {unlock}, {loaded}");
        ends_well(&format!("own-{kind}-fetch"), &asks_its_own_part("", &fetches, ""));
        let loads = format!("{lock}, {load}, {unlock}");
        ends_well(&format!("own-{kind}-load"), &asks_its_own_part("", &loads, ""));
    }
    let [lock_all, unlock_all, sync] = ["lock_all", "unlock_all", "sync"]
        .map(|call| format!(r#"{{ "op": "win_{call}", "win": "w" }}"#));
    let calls = format!("{lock_all}, {fetch}, {unlock_all}, {loaded}");
    ends_well("own-lock-all", &asks_its_own_part("", &calls, ""));
    let (before, after) = (format!("{lock_all},"), format!(", {unlock_all}"));
    let calls = format!("{sync}, {load}");
    ends_well("own-sync", &asks_its_own_part(&before, &calls, &after));
}

/// Rank 0 changes its own part twice, under a lock each time: rank 1 may come in between, whatever it expects.
#[test]
fn another_rank_may_come_between_two_locks_of_the_own_part() {
    let change = |value: u32| {
        format!(
            r#"
{{ "op": "win_lock", "win": "w", "target": 0, "kind": "exclusive" }},
{{ "op": "store", "win": "w", "type": "int64", "values": [ {value} ] }},
{{ "op": "win_unlock", "win": "w", "target": 0 }}"#
        )
    };
    let body = format!(
        r#"
{{ "op": "barrier" }},
{{ "op": "if", "condition": "= rank == 0", "then": [ {}, {} ], "else": [
  {{ "op": "win_lock", "win": "w", "target": 0, "kind": "shared" }},
  {{ "op": "get", "win": "w", "target": 0, "type": "int64", "origin": "x" }},
  {{ "op": "win_unlock", "win": "w", "target": 0 }},
  {{ "op": "load", "buf": "x", "type": "int64", "into": {{ "value": "seen" }} }},
  {{ "op": "if", "condition": "= seen == 1", "then": [
    {{ "op": "load", "buf": "x", "type": "int64", "expect": {{ "values": [ 2 ] }} }} ] }} ] }}"#,
        change(1),
        change(2)
    );
    let [_, (exit, said)] = both("own-between", &scenario(2, &within(&body)));
    assert_eq!(exit, 1, "{said}");
    assert!(said.contains("number 0 is 1, expected is 2"), "{said}");
}
