//! Programs whose buffers have names: values that they store, send, combine and expect, in both runtimes.

use crate::binary::Scratch;
use crate::both::{both, ends_well, fails, is_refused};

const BUFFERS: &str =
    r#""buffers": [ { "name": "x", "size": "64 B" }, { "name": "y", "size": "64 B" } ],"#;

fn scenario(processes: u32, body: &str) -> String {
    format!(
        r#"{{ "schema": 1, "title": "B", "machine": "broadwell-edr", "nodes": 2,
"workload": {{ "kind": "program", "processes": {processes}, {BUFFERS} "body": [
{body}
] }} }}"#
    )
}

/// Each rank passes 16 numbers to the next one, and adds the first two of all ranks.
const SHIFT: &str = r#"
{ "op": "repeat", "times": 16, "with": "i", "do": [
  { "op": "store", "buf": "x", "at": "= i", "values": [ "= 100 * rank + i" ] } ] },
{ "op": "isend", "to": "= (rank + 1) % size", "size": "64 B", "buf": "x", "req": "s" },
{ "op": "recv", "src": "= (rank - 1) % size", "max": "64 B", "buf": "y" },
{ "op": "wait", "req": "s" },
{ "op": "load", "buf": "y", "at": 15, "expect": { "values": [ "= LAST" ] }, "into": { "value": "v" } },
{ "op": "load", "buf": "x", "expect": { "values": [ "= 100 * rank", "= 100 * rank + 1" ] } },
{ "op": "allreduce", "count": 2, "sendbuf": "x", "recvbuf": "y" },
{ "op": "load", "buf": "y", "expect": { "values": [ 300, 303 ] } },
{ "op": "assert", "condition": "= v == 100 * ((rank - 1) % size) + 15" }"#;

#[test]
fn values_arrive_and_are_combined_as_they_were_stored() {
    let right = "100 * ((rank - 1) % size) + 15";
    ends_well("shift", &scenario(3, &SHIFT.replace("LAST", right)));
    let wrong = scenario(3, &SHIFT.replace("LAST", "7"));
    fails("wrong", &wrong, &["in line 9, column 1: number 15 is"]);
}

/// All predefined types, fractions and pairs: each comes back as it was written.
#[test]
fn numbers_of_every_type_are_stored_and_loaded() {
    let mut body = Vec::new();
    let cases = [
        ("int8", "[ -128, 127 ]"),
        ("uint8", "[ 0, 255 ]"),
        ("int16", "[ -32768, 32767 ]"),
        ("uint16", "[ 65535 ]"),
        ("int32", "[ -2147483648, \"= 3 - 5\" ]"),
        ("uint32", "[ 4294967295 ]"),
        ("int64", "[ -9223372036854775808 ]"),
        ("uint64", "[ 9223372036854775807, 18446744073709551615, 9223372036854775808 ]"),
        ("float", "[ 0.5, -3 ]"),
        ("double", "[ 0.1, \"= 2 * 3\", 1e300 ]"),
        ("int32_pair", "[ 7, 1, 9, 2 ]"),
        ("int64_pair", "[ -7, 1 ]"),
    ];
    for (datatype, values) in cases {
        body.push(format!(
            r#"{{ "op": "store", "buf": "x", "type": "{datatype}", "at": 1, "values": {values} }},
{{ "op": "load", "buf": "x", "type": "{datatype}", "at": 1, "expect": {{ "values": {values} }} }}"#
        ));
    }
    ends_well("types", &scenario(1, &body.join(",\n")));
    let wrong = r#"{ "op": "store", "buf": "x", "type": "double", "values": [ 0.25 ] },
{ "op": "load", "buf": "x", "type": "double", "expect": { "values": [ 0.5 ] } }"#;
    fails("double", &scenario(1, wrong), &["number 0 is 0.25, expected is 0.5"]);
}

/// -0 is 0 in every comparison of C, and so in `expect`; a product makes one of 0 and a number below 0.
#[test]
fn zeros_of_both_signs_are_equal() {
    for datatype in ["float", "double"] {
        let body = format!(
            r#"{{ "op": "store", "buf": "x", "type": "{datatype}", "values": [ -0.0, "= rank == 0 ? 0 : -2" ] }},
{{ "op": "load", "buf": "x", "type": "{datatype}", "expect": {{ "values": [ 0 ] }} }},
{{ "op": "load", "buf": "x", "type": "{datatype}", "expect": {{ "values": [ -0.0 ] }} }},
{{ "op": "allreduce", "count": 2, "type": "{datatype}", "operator": "prod", "sendbuf": "x", "recvbuf": "y" }},
{{ "op": "load", "buf": "y", "type": "{datatype}", "at": 1, "expect": {{ "values": [ 0 ] }} }}"#
        );
        ends_well(datatype, &scenario(2, &body));
    }
}

/// A variable is known from its first `set` on, and 0 in the branch that was not taken.
#[test]
fn a_variable_has_its_first_statement_before_its_uses() {
    let sum = |before: &str| {
        let body = format!(
            r#"{before}{{ "op": "repeat", "times": 3, "do": [ {{ "op": "set", "name": "x", "to": "= x + 1" }} ] }},
{{ "op": "assert", "condition": "= x == 3" }},
{{ "op": "if", "condition": "= rank == 7", "then": [ {{ "op": "set", "name": "y", "to": 5 }} ] }},
{{ "op": "assert", "condition": "= y == 0" }}"#
        );
        scenario(2, &body)
    };
    is_refused("unknown", &sum(""), &["E0522", "the name `x`"]);
    ends_well("known", &sum("{ \"op\": \"set\", \"name\": \"x\", \"to\": 0 },\n"));
}

/// A pair has its greatest value, and the least index of it.
#[test]
fn the_place_of_the_greatest_value_is_found() {
    let body = r#"
{ "op": "store", "buf": "x", "type": "int32_pair", "values": [ "= rank == 0 ? 5 : 8", "= rank" ] },
{ "op": "allreduce", "count": 1, "type": "int32_pair", "operator": "maxloc", "sendbuf": "x", "recvbuf": "y" },
{ "op": "load", "buf": "y", "type": "int32_pair", "expect": { "values": [ 8, 1 ] } }"#;
    ends_well("maxloc", &scenario(4, body));
}

/// A wait for any of two messages whose values differ: `explore` finds the order that `run` does not have.
#[test]
fn a_race_of_values_is_found_by_the_exploration() {
    let body = r#"
{ "op": "if", "condition": "= rank == 0", "then": [
  { "op": "recv", "src": "any", "max": "4 B", "buf": "y" },
  { "op": "load", "buf": "y", "expect": { "values": [ 1 ] } },
  { "op": "recv", "src": "any", "max": "4 B", "buf": "y" } ],
  "else": [
  { "op": "compute", "time": "= rank * 50 us" },
  { "op": "store", "buf": "x", "values": [ "= rank" ] },
  { "op": "send", "to": 0, "size": "4 B", "buf": "x" } ] }"#;
    let [(run, _), (explored, said)] = both("race", &scenario(3, body));
    assert_eq!((run, explored), (0, 1), "{said}");
    assert!(said.contains("number 0 is 2, expected is 1"), "{said}");
}

#[test]
fn buffers_that_are_not_there_or_too_small_are_refused() {
    let of = |body: &str| scenario(2, body);
    let send = |more: &str| of(&format!(r#"{{ "op": "send", "to": "proc_null", {more} }}"#));
    is_refused(
        "unknown",
        &send(r#""size": "8 B", "buf": "z""#),
        &["E0524", "there is no buffer `z`"],
    );
    let large = send(r#""size": "65 B", "buf": "x""#);
    is_refused("large", &large, &["E0524", "a buffer of 64 B; the call needs 65 B"]);
    let twice = of(r#"{ "op": "allreduce", "count": 1, "sendbuf": "x", "recvbuf": "x" }"#);
    is_refused("twice", &twice, &["E0524", "`x` is both buffers"]);
    let long = of(r#"{ "op": "allgather", "size": "33 B", "recvbuf": "x" }"#);
    is_refused("allgather", &long, &["the call needs 66 B"]);
    let huge = of(r#"{ "op": "store", "buf": "x", "type": "float", "values": [ 1e39 ] }"#);
    is_refused("huge", &huge, &["a `float` is a number from -3.4028235e38 to 3.4028235e38"]);
    let beyond =
        r#"{ "op": "store", "buf": "x", "type": "uint64", "values": [ 18446744073709551616 ] }"#;
    is_refused("beyond", &of(beyond), &["a whole number from 0 to 18446744073709551615"]);
    let fraction = of(r#"{ "op": "store", "buf": "x", "values": [ 1.5 ] }"#);
    is_refused("fraction", &fraction, &["values[0]", "a `int32` is a whole number"]);
    let text = of(r#"{ "op": "store", "buf": "x", "values": [ "1" ] }"#);
    is_refused("text", &text, &["a number or an expression is needed"]);
    let kept = of(r#"{ "op": "load", "buf": "x", "type": "double", "into": { "value": "v" } }"#);
    is_refused("kept", &kept, &["into.value", "variables are whole numbers"]);
    let phantom = of(r#"{ "op": "load", "buf": "x" }"#)
        .replace(r#""nodes": 2,"#, r#""nodes": 2, "mpi": { "payload": "phantom" },"#);
    is_refused("phantom", &phantom, &["mpi.payload", "`real` is needed"]);
}

#[test]
fn computed_places_and_sizes_stay_inside_their_buffers() {
    let at = r#"{ "op": "store", "buf": "x", "at": "= 15 + rank", "values": [ 1 ] }"#;
    fails("at", &scenario(2, at), &["`at` is 16, and takes 0 to 15"]);
    let value = r#"{ "op": "store", "buf": "x", "type": "uint8", "values": [ "= -1 - rank" ] }"#;
    fails("value", &scenario(2, value), &["takes 0 to 255"]);
    let size = r#"{ "op": "bcast", "size": "= 60 + 8 * rank - 8 * rank + 8", "buf": "x" }"#;
    fails("size", &scenario(2, size), &["the call needs 68 B, and the buffer has 64"]);
}

/// Bytes that an operation still reads are not written, and those that it still writes are not touched: not by the
/// program, and not by another operation.
#[test]
fn a_buffer_that_an_operation_has_is_left_alone() {
    let send = r#"{ "op": "isend", "to": "= 1 - rank", "size": "8 B", "buf": "x", "req": "s" }"#;
    let recv = r#"{ "op": "irecv", "src": "= 1 - rank", "max": "8 B", "buf": "y", "req": "r" }"#;
    let wait = r#"{ "op": "waitall", "reqs": [ "s", "r" ] }"#;
    let store = r#"{ "op": "store", "buf": "x", "at": 1, "values": [ 7 ] }"#;
    let load = |buf: &str, at: u32| format!(r#"{{ "op": "load", "buf": "{buf}", "at": {at} }}"#);
    let program = |between: &str| scenario(2, &[send, recv, between, wait].join(",\n"));
    fails(
        "store",
        &program(store),
        &["in line 5, column 1: the operation that line 3 has begun still reads"],
    );
    let words = "in line 5, column 1: the operation that line 4 has begun still writes these bytes";
    fails("load", &program(&load("y", 0)), &[words]);
    ends_well("reads", &program(&load("x", 0)));
    ends_well("beside", &program(&load("y", 2)));
    let again = r#"{ "op": "recv", "src": "= 1 - rank", "tag": 1, "max": "8 B", "buf": "x" }"#;
    fails(
        "both",
        &program(again),
        &["the operation that line 3 has begun still reads these bytes"],
    );
    let twice = r#"{ "op": "send", "to": "proc_null", "size": "8 B", "buf": "x" }"#;
    ends_well("twice", &program(twice));
    let after = [send, recv, wait, store, &load("y", 0)].join(",\n");
    ends_well("after", &scenario(2, &after));
}

/// Programs that touch bytes of an open operation of another kind than a message, and those that are near them.
#[test]
fn bytes_of_every_kind_of_operation_are_left_alone() {
    let text = |name: &str| {
        let root = env!("CARGO_MANIFEST_DIR");
        std::fs::read_to_string(format!("{root}/tests/programs/in_use/{name}.json")).unwrap()
    };
    let reads = |line: u32| format!("the operation that line {line} has begun still reads these");
    let writes = |line: u32| format!("the operation that line {line} has begun still writes these");
    for (name, at, words) in [
        ("pready_then_store", "rank 0 in line 14", reads(13)),
        ("recv_into_active_precv", "rank 1 in line 18", writes(17)),
        ("get_then_isend", "rank 0 in line 13", writes(12)),
        ("store_after_request_free", "rank 0 in line 12", reads(10)),
        ("store_into_block", "rank 0 in line 18", reads(14)),
        ("overlapping_buffers", "rank 0 in line 10", writes(10)),
    ] {
        fails(name, &text(name), &[at, &words]);
    }
    for name in ["arrived_partition", "blocks_and_gaps", "freed_and_answered"] {
        ends_well(name, &text(name));
    }
}

/// RDMA registers a buffer once: a name is one buffer, and statements without it have one each.
#[test]
fn a_buffer_with_a_name_is_registered_once() {
    let program = |buf: &str| {
        let send = format!(r#"{{ "op": "send", "to": 1, "size": "256 KiB"{buf} }}"#);
        let recv = format!(r#"{{ "op": "recv", "src": 0, "max": "256 KiB"{buf} }}"#);
        let (sends, recvs) = ([&*send; 4].join(", "), [&*recv; 4].join(", "));
        format!(
            r#"{{ "schema": 1, "title": "R", "machine": "broadwell-edr", "nodes": 2,
"workload": {{ "kind": "program", "buffers": [ {{ "name": "x", "size": "256 KiB" }} ],
"ranks": [ [ {sends} ], [ {recvs} ] ] }} }}"#
        )
    };
    let time = |name: &str, buf: &str| {
        let scratch = Scratch::new(name);
        scratch.write("p.json", &program(buf));
        let answer = scratch.run(&["run", "p.json", "--format", "json", "--out", "out"]);
        assert_eq!(answer.exit, 0, "{}", answer.err);
        answer.json()["points"][0]["metrics"]["time"]["value"].as_f64().expect("a time")
    };
    let (own, named) = (time("own", ""), time("named", r#", "buf": "x""#));
    assert!(named < 0.6 * own, "{named} us with one buffer, {own} us with one for each statement");
}
