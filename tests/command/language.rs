//! Programs with loops, conditions, variables and expected values: one source, in both runtimes.

use crate::binary::Scratch;
use crate::both::{both, ends_well, fails};
use serde_json::{Value, json};

/// A scenario of one body on `ideal`.
fn scenario(processes: u32, body: &str) -> String {
    format!(
        r#"{{ "schema": 1, "title": "L", "machine": "ideal", "nodes": 2, "mpi": {{ "payload": "real" }},
"workload": {{ "kind": "program", "processes": {processes}, "body": [
{body}
] }} }}"#
    )
}

const RING: &str = r#"
{ "op": "set", "name": "right", "to": "= (rank + 1) % size" },
{ "op": "repeat", "times": 3, "with": "i", "do": [
  { "op": "if", "condition": "= rank == 0",
    "then": [
      { "op": "send", "to": "= right", "tag": "= i", "size": "= 8 * (i + 1)" },
      { "op": "recv", "src": "= (rank - 1) % size", "tag": "any", "max": "1 KiB",
        "expect": { "source": "= size - 1", "tag": "= i", "count": "= EXPECTED" } } ],
    "else": [
      { "op": "recv", "src": "any", "tag": "any", "max": "1 KiB", "into": { "tag": "t", "count": "n" } },
      { "op": "compute", "time": "= rank * 1 us" },
      { "op": "send", "to": "= right", "tag": "= t", "size": "= n" } ] } ] }"#;

#[test]
fn a_token_goes_around_a_ring_and_returns_as_it_was_sent() {
    ends_well("ring", &scenario(4, &RING.replace("EXPECTED", "8 * i + 8")));
}

/// In the third iteration only the expectation is another one.
#[test]
fn another_value_than_expected_ends_the_run_with_rank_line_iteration_and_both_values() {
    let text = scenario(4, &RING.replace("EXPECTED", "8 * i + 8 + i / 2"));
    fails(
        "unexpected",
        &text,
        &["rank 0 in line 9, column 7, iteration 2: count is 24 B, expected is 25 B"],
    );
}

/// A scatter of blocks has another buffer on its root: ranks of one body differ in it.
#[test]
fn collectives_of_a_body_are_those_of_each_rank() {
    let body = r#"{ "op": "repeat", "times": 2, "do": [
      { "op": "scatter", "root": 1, "size": "16 B" }, { "op": "allreduce", "count": 2 },
      { "op": "gather", "root": 2, "size": "16 B" } ] }"#;
    ends_well("collectives", &scenario(3, body));
}

/// Requests are begun in one iteration and completed in the next; ends of the line have no neighbour.
#[test]
fn a_halo_in_a_loop_keeps_requests_over_iterations() {
    let body = r#"
{ "op": "set", "name": "left", "to": "= rank == 0 ? proc_null : rank - 1" },
{ "op": "set", "name": "right", "to": "= rank == size - 1 ? proc_null : rank + 1" },
{ "op": "repeat", "times": 3, "with": "i", "do": [
  { "op": "if", "condition": "= i > 0", "then": [ { "op": "waitall", "reqs": [ "r", "s" ] } ] },
  { "op": "irecv", "src": "= left", "max": "64 B", "req": "r" },
  { "op": "isend", "to": "= right", "size": "= 16 + rank", "req": "s" } ] },
{ "op": "wait", "req": "s" },
{ "op": "wait", "req": "r", "into": { "count": "n" } },
{ "op": "if", "condition": "= rank > 0 && n != 15 + rank",
  "then": [ { "op": "set", "name": "n", "to": "= 1 / 0" } ] }"#;
    ends_well("halo", &scenario(3, body));
}

#[test]
fn a_request_is_not_begun_again_before_its_end() {
    let body = r#"
{ "op": "repeat", "times": 2, "do": [
  { "op": "if", "condition": "= rank == 0",
    "then": [ { "op": "isend", "to": 1, "size": "8 B", "req": "s" } ],
    "else": [ { "op": "recv", "src": 0, "max": "8 B" } ] } ] },
{ "op": "wait", "req": "s" }"#;
    fails(
        "open",
        &scenario(2, body),
        &["rank 0 in line 6, column 15, iteration 1: the request of the statement is still open"],
    );
}

#[test]
fn a_test_is_repeated_until_it_succeeds_or_its_bound() {
    let body = |most: u32| {
        format!(
            r#"{{ "op": "if", "condition": "= rank == 0",
  "then": [ {{ "op": "compute", "time": "5 us" }}, {{ "op": "send", "to": 1, "size": "8 B" }} ],
  "else": [ {{ "op": "irecv", "src": 0, "max": "8 B", "req": "a" }},
    {{ "op": "until", "condition": "= done", "at_most": {most}, "do": [
      {{ "op": "compute", "time": "1 us" }},
      {{ "op": "test", "req": "a", "into": {{ "flag": "done" }} }} ] }} ] }}"#
        )
    };
    let [(exit, said), _] = both("until", &scenario(2, &body(100)));
    assert_eq!(exit, 0, "{said}");
    let [(exit, said), _] = both("until-few", &scenario(2, &body(3)));
    assert_eq!(exit, 1, "{said}");
    assert!(said.contains("its condition did not hold after 3 repetitions"), "{said}");
}

#[test]
fn values_out_of_range_and_expressions_without_a_value_end_the_run() {
    let send =
        |to: &str| scenario(2, &format!(r#"{{ "op": "send", "to": "= {to}", "size": "8 B" }}"#));
    fails("far", &send("rank + 2"), &["`to` is 2, and takes 0 to 1"]);
    fails("zero", &send("1 / (rank - rank)"), &["an expression divides by zero"]);
    fails("wide", &send("9223372036854775807 + 1 + rank"), &["a value needs more than 64 bits"]);
    let silent = r#"{ "op": "repeat", "times": 10000000, "do": [ { "op": "set", "name": "x", "to": "= x + 1" } ] }"#;
    fails("silent", &scenario(1, &silent.replace("= x + 1", "= rank")), &["without a call"]);
}

/// A name has one number on every way: the ranks of the two branches wait for requests of their own.
#[test]
fn names_of_requests_are_the_same_in_both_branches() {
    let body = r#"
{ "op": "if", "condition": "= rank == 0",
  "then": [ { "op": "isend", "to": 1, "size": "8 B", "req": "a" } ],
  "else": [ { "op": "irecv", "src": 0, "max": "8 B", "req": "b" } ] },
{ "op": "wait", "req": "a" },
{ "op": "wait", "req": "b", "into": { "count": "n" } },
{ "op": "if", "condition": "= n != 8 * rank", "then": [ { "op": "set", "name": "n", "to": "= 1 / 0" } ] }"#;
    ends_well("branches", &scenario(2, body));
}

/// A loop has its number of iterations, whatever becomes of the variable that shows it.
#[test]
fn variables_do_not_steer_loops() {
    let body = r#"
{ "op": "repeat", "times": 3, "with": "i", "do": [
  { "op": "repeat", "times": 2, "with": "i", "do": [ { "op": "set", "name": "n", "to": "= n + 1" } ] } ] },
{ "op": "if", "condition": "= n != 6 || i != 3", "then": [ { "op": "set", "name": "n", "to": "= 1 / 0" } ] },
{ "op": "repeat", "times": "= rank - 1", "do": [ { "op": "barrier" } ] }"#;
    let first = format!(r#"{{ "op": "set", "name": "n", "to": 0 }}, {body}"#);
    fails("steer", &scenario(2, &first), &["rank 0 in line 7, column 1: `times` is -1"]);
}

#[test]
fn messages_of_a_datatype_go_to_computed_ranks() {
    let text = scenario(
        2,
        r#"{ "op": "if", "condition": "= rank == 0",
  "then": [ { "op": "send", "to": "= rank + 1", "tag": "= 3", "datatype": { "kind": "named", "name": "double" } } ],
  "else": [ { "op": "recv", "src": "= 0", "tag": "= 3", "max": "8 B", "expect": { "count": "8 B" } } ] }"#,
    );
    ends_well("typed", &text);
}

/// The text cannot tell that one rank stops before another starts, or that no iteration starts.
#[test]
fn timers_that_measure_nothing_end_the_run() {
    let across = r#"{ "op": "if", "condition": "= rank == 0",
  "then": [ { "op": "timer", "is": "stop" } ],
  "else": [ { "op": "compute", "time": "1 ms" }, { "op": "timer", "is": "start" } ] }"#;
    let never = r#"{ "op": "repeat", "times": 0, "do": [ { "op": "timer", "is": "start" } ] },
{ "op": "timer", "is": "stop" }"#;
    for (name, body, words) in [
        ("across", across, "the first starts at 1 ms, and the last stops at 0 ps"),
        ("never", never, "a timer stops, and none starts"),
    ] {
        let [(exit, said), _] = both(name, &scenario(2, body));
        assert_eq!(exit, 1, "{said}");
        assert!(said.contains(words), "{said}");
    }
}

/// Each loop has two variables; the position is that of the loop that is too much.
#[test]
fn a_program_has_so_many_loops_and_variables() {
    let one = r#"{ "op": "repeat", "times": 0, "do": [] }"#;
    let body = vec![one; 33_000].join(",\n");
    let [(exit, said), _] = both("many", &scenario(1, &body));
    assert_eq!(exit, 3, "{said}");
    assert!(
        said.contains("p.json:32769:1 workload.body[32766]: a loop or a variable more"),
        "{said}"
    );
}

/// GOAL has no variables: a schedule of such a program would be another program.
#[test]
fn a_program_with_expressions_is_not_exported() {
    let scratch = Scratch::new("export");
    scratch.write("p.json", &scenario(2, &RING.replace("EXPECTED", "8 * i + 8")));
    let answer = scratch.run(&["trace", "export", "p.json"]);
    assert!(answer.err.contains("E0517"), "{}{}", answer.out, answer.err);
}

#[test]
fn mistakes_in_programs_are_reported_at_their_place() {
    let refused = |body: &str, words: &str| {
        let [(exit, said), _] = both("mistakes", &scenario(2, body));
        assert_eq!(exit, 3, "{said}");
        assert!(said.contains(words), "{said}");
    };
    refused(
        r#"{ "op": "send", "to": "= rnk", "size": "8 B" }"#,
        "p.json:3:26 workload.body[0].to: the name `rnk`; known here are rank, size, proc_null, undefined, thread, threads",
    );
    refused(
        r#"{ "op": "send", "to": "= 1 us", "size": "8 B" }"#,
        "the expression is a time; a whole number is needed",
    );
    refused(
        r#"{ "op": "set", "name": "rank", "to": 1 }"#,
        "rank, size, proc_null, undefined, thread, threads, mpi_root never change",
    );
    refused(r#"{ "op": "if", "condition": "= 1", "then": [] }"#, "true or false is needed");
    refused(
        r#"{ "op": "repeat", "times": 2, "do": [ { "op": "create_endpoints", "new": [ "c" ] } ] }"#,
        "endpoints are made and freed outside of them",
    );
    refused(
        r#"{ "op": "repeat", "times": 2, "do": [ { "op": "wait", "req": "a" } ] }"#,
        "`a` was never opened",
    );
}

/// A poll that finds nothing leaves the program where it was, however often it is repeated: both runtimes see that no
/// order of events ends the loop.
#[test]
fn a_loop_that_nothing_ends_is_found_before_its_bound() {
    let body = r#"
{ "op": "irecv", "src": "= 1 - rank", "max": "8 B", "req": "a" },
{ "op": "until", "condition": "= done", "at_most": 4000000000, "do": [
  { "op": "test", "req": "a", "into": { "flag": "done" } } ] }"#;
    let [(exit, said), (explored, how)] = both("endless", &scenario(2, body));
    assert_eq!((exit, explored), (1, 1), "{said}{how}");
    assert!(said.contains("the clock stands still") || said.contains("deadlock"), "{said}");
    assert!(how.contains("livelock"), "{how}");
}

/// An order of events has no time: in an exploration the bound of `until` means nothing.
#[test]
fn a_bound_of_repetitions_is_for_runs() {
    let body = r#"{ "op": "if", "condition": "= rank == 0",
  "then": [ { "op": "send", "to": 1, "size": "8 B" } ],
  "else": [ { "op": "irecv", "src": 0, "max": "8 B", "req": "a" },
    { "op": "until", "condition": "= done", "at_most": 100, "do": [
      { "op": "compute", "time": "1 us" },
      { "op": "test", "req": "a", "into": { "flag": "done", "count": "n" } } ] },
    { "op": "assert", "condition": "= n == 8" } ] }"#;
    ends_well("fair", &scenario(2, body));
}

/// What a call does not return is `undefined`, whatever the variable was before.
#[test]
fn a_variable_of_a_value_that_is_not_returned_is_undefined() {
    let body = r#"
{ "op": "set", "name": "s", "to": 7 },
{ "op": "iprobe", "src": "any", "tag": "any", "into": { "source": "s", "flag": "found" } },
{ "op": "assert", "condition": "= !found && s == undefined" },
{ "op": "recv", "src": "proc_null", "max": "8 B", "expect": { "source": "= proc_null", "tag": "= undefined" } }"#;
    ends_well("undefined", &scenario(2, body));
    fails(
        "asserted",
        &scenario(1, r#"{ "op": "assert", "condition": "= size == 2" }"#),
        &["rank 0 in line 3, column 1: the condition of `assert` does not hold"],
    );
}

#[test]
fn a_loop_begins_operations_of_an_array_and_waits_for_all() {
    let body = |last: &str| {
        format!(
            r#"
{{ "op": "repeat", "times": "= size", "with": "i", "do": [
  {{ "op": "irecv", "src": "= i", "tag": "= rank", "max": "64 B", "req": {{ "name": "r", "index": "= i" }} }},
  {{ "op": "isend", "to": "= i", "tag": "= i", "size": "= 8 * (rank + 1)", "req": {{ "name": "s", "index": "= i" }} }} ] }},
{{ "op": "waitall", "reqs": {{ "name": "s", "count": "= size" }} }},
{{ "op": "wait", "req": {{ "name": "r", "index": 1 }}, "expect": {{ "source": 1, "count": "16 B" }} }},
{{ "op": "waitall", "reqs": [ {{ "name": "r", "index": 0 }}, {{ "name": "r", "index": "= {last}" }} ] }},
{{ "op": "testall", "reqs": {{ "name": "r", "count": 100 }}, "expect": {{ "flag": true }} }}"#
        )
    };
    ends_well("array", &scenario(3, &body("size - 1")));
    fails("array-end", &scenario(3, &body("size - 4")), &["`index` is -1, and takes 0 to 99999"]);
    let [(exit, said), _] = both(
        "array-plain",
        &scenario(
            1,
            r#"{ "op": "wait", "req": { "name": "a", "index": 0 } }, { "op": "isend", "to": 0, "size": "8 B", "req": "a" }"#,
        ),
    );
    assert_eq!(exit, 3, "{said}");
    assert!(said.contains("`a` is an array here"), "{said}");
}

/// Which operation has begun a request is known when it is cancelled, on the way that was gone.
#[test]
fn only_requests_of_receives_are_cancelled() {
    let body = |rank: u32| {
        format!(
            r#"
{{ "op": "if", "condition": "= rank == {rank}",
  "then": [ {{ "op": "irecv", "src": "any", "max": "8 B", "req": "a" }} ],
  "else": [ {{ "op": "isend", "to": "proc_null", "size": "8 B", "req": "a" }} ] }},
{{ "op": "if", "condition": "= rank == 1", "then": [ {{ "op": "cancel", "req": "a" }} ] }},
{{ "op": "if", "condition": "= rank == 1", "then": [ {{ "op": "wait", "req": "a", "expect": {{ "cancelled": true }} }} ],
  "else": [ {{ "op": "wait", "req": "a" }} ] }}"#
        )
    };
    ends_well("cancel", &scenario(2, &body(1)));
    fails("cancel-send", &scenario(2, &body(2)), &["the request is not that of a receive"]);
}

#[test]
fn a_matched_message_is_received_before_its_name_is_used_again() {
    let body = r#"
{ "op": "repeat", "times": 2, "do": [ { "op": "isend", "to": "= rank", "size": "8 B", "req": { "name": "s", "index": 0 } },
  { "op": "mprobe", "handle": "m", "src": "any" }, { "op": "wait", "req": { "name": "s", "index": 0 } } ] },
{ "op": "mrecv", "handle": "m", "max": "8 B" }"#;
    fails("held", &scenario(1, body), &["the handle of the statement still holds a message"]);
}

/// Each way has a buffer of its own, and after the condition it may be attached.
#[test]
fn buffers_are_attached_on_both_ways_of_a_condition() {
    let body = r#"
{ "op": "if", "condition": "= rank == 0",
  "then": [ { "op": "buffer_attach", "size": "1 KiB" } ],
  "else": [ { "op": "buffer_attach", "size": "2 KiB" } ] },
{ "op": "bsend", "to": "= rank", "size": "8 B" }, { "op": "recv", "src": "= rank", "max": "8 B" },
{ "op": "buffer_detach" }"#;
    ends_well("attached", &scenario(2, body));
}

/// The endpoint library has fewer tags, in every statement and for every value.
#[test]
fn tags_over_the_endpoint_library_are_those_that_it_has() {
    let text = |tag: &str| {
        let body = format!(
            r#"{{ "op": "repeat", "times": 1, "do": [ {{ "op": "if", "condition": "= rank == 0",
  "then": [ {{ "op": "send", "to": 1, "size": "8 B", "tag": {tag} }} ],
  "else": [ {{ "op": "recv", "src": 0, "max": "8 B", "tag": "any" }} ] }} ] }}"#
        );
        let ranks = r#""nodes": 2, "ranks": { "threads_per_process": 1, "addressing": "xios_ep" }"#;
        scenario(2, &body).replace(r#""nodes": 2"#, ranks)
    };
    ends_well("ep-tag", &text("\"= 5 + rank\""));
    let [(exit, said), _] = both("ep-tag-written", &text("100000000"));
    assert_eq!(exit, 3, "{said}");
    assert!(said.contains("workload.body[0].do[0].then[0].tag: tag 100000000"), "{said}");
    fails(
        "ep-tag-computed",
        &text("\"= 100000000 + rank\""),
        &["`tag` is 100000000, and takes 0 to "],
    );
}

/// An expression of the command line is one like those of a file, and has its place.
#[test]
fn expressions_are_set_from_the_command_line() {
    let scratch = Scratch::new("set");
    scratch.write(
        "p.json",
        &scenario(
            2,
            r#"{ "op": "set", "name": "n", "to": 1 }, { "op": "assert", "condition": "= n == 1" }"#,
        ),
    );
    let set = |value: &str| scratch.run(&["run", "p.json", "--set", value]);
    assert_eq!(set("workload.body[0].to== size - 1").exit, 0);
    set("workload.body[0].to== rnk")
        .check(3, &["<command line>:1:29 workload.body[0].to: the name `rnk`"]);
}

#[test]
fn a_statement_takes_the_values_that_its_call_returns() {
    let body = r#"{ "op": "recv", "src": 0, "max": "8 B", "expect": { "index": 0 } }"#;
    let [(exit, said), _] = both("values", &scenario(2, body));
    assert_eq!(exit, 3, "{said}");
    assert!(said.contains("p.json:3:"), "{said}");
    assert!(said.contains("allowed are source, tag, count"), "{said}");
}

/// A communicator of a loop is made again after its free; ranks that a computed color leaves out have none.
#[test]
fn communicators_are_made_and_freed_in_loops() {
    let body = |free: &str| {
        format!(
            r#"
{{ "op": "repeat", "times": 3, "with": "i", "do": [
  {{ "op": "comm_split", "color": "= rank == i ? undefined : 0", "key": "= -rank", "new": "c" }},
  {{ "op": "if", "condition": "= rank != i", "then": [ {{ "op": "barrier", "comm": "c" }} {free} ] }} ] }}"#
        )
    };
    ends_well("comm-loop", &scenario(3, &body(r#", { "op": "comm_free", "comm": "c" }"#)));
    let [(exit, said), _] = both("comm-kept", &scenario(3, &body("")));
    assert_eq!(exit, 1, "{said}");
    assert!(said.contains("in use"), "{said}");
}

/// Root, size and count are those of each iteration, in the order of ranks and in reverse.
#[test]
fn collectives_have_computed_arguments() {
    let body = |last: &str| {
        format!(
            r#"
{{ "op": "repeat", "times": "= size", "with": "r", "do": [
  {{ "op": "scatter", "root": "= r", "size": "= 8 * (r + 1)" }},
  {{ "op": "gather", "root": "= {last}", "size": "= 8 * r", "comm": 2 }},
  {{ "op": "alltoall", "size": "= 4 * r" }}, {{ "op": "reduce_scatter_block", "count": "= r" }},
  {{ "op": "iallreduce", "count": "= r + 1", "req": {{ "name": "q", "index": "= r" }} }} ] }},
{{ "op": "waitall", "reqs": {{ "name": "q", "count": "= size" }} }}"#
        )
    };
    ends_well("computed", &scenario(3, &body("size - 1 - r")));
    fails("root", &scenario(3, &body("size - r")), &["`root` is 3, and takes 0 to 2"]);
    fails(
        "roots",
        &scenario(2, r#"{ "op": "bcast", "root": "= rank", "size": "8 B" }"#),
        &["MPI_ERR_ROOT"],
    );
}

/// Each status of a wait for several requests is compared by itself.
#[test]
fn statuses_of_a_wait_for_all_are_expected_one_by_one() {
    let body = |source: u32| {
        format!(
            r#"
{{ "op": "repeat", "times": 2, "with": "i", "do": [
  {{ "op": "isend", "to": "= 1 - rank", "tag": "= i", "size": "= 8 + i", "req": {{ "name": "s", "index": "= i" }} }},
  {{ "op": "irecv", "src": "= 1 - rank", "tag": "= i", "max": "64 B", "req": {{ "name": "r", "index": "= i" }} }} ] }},
{{ "op": "waitall", "reqs": {{ "name": "s", "count": 2 }} }},
{{ "op": "waitall", "reqs": {{ "name": "r", "count": 2 }},
  "expect": {{ "statuses": [ {{ "tag": 0 }}, {{ "source": "= {source} - rank", "tag": 1, "count": "9 B" }} ] }} }}"#
        )
    };
    ends_well("statuses", &scenario(2, &body(1)));
    fails("status", &scenario(2, &body(2)), &["source of request 1 is "]);
}

/// Operations that a loop begins are open at once: each has a buffer of its own, so that the bytes of every message are
/// compared.
#[test]
fn operations_of_an_array_have_buffers_of_their_own() {
    let body = r#"
{ "op": "repeat", "times": 2, "with": "i", "do": [
  { "op": "irecv", "src": "= 1 - rank", "tag": "= i", "max": "= 64 - i", "req": { "name": "r", "index": "= i" } } ] },
{ "op": "repeat", "times": 2, "with": "i", "do": [
  { "op": "isend", "to": "= 1 - rank", "tag": "= i", "size": "= 64 - i", "req": { "name": "s", "index": "= i" } } ] },
{ "op": "waitall", "reqs": { "name": "s", "count": 2 } }, { "op": "waitall", "reqs": { "name": "r", "count": 2 } }"#;
    for (exit, said) in &both("buffers", &scenario(2, body))[1..] {
        assert_eq!(*exit, 0, "{said}");
        assert!(said.contains("compared"), "{said}");
    }
}

/// A matched message has its place in an array as a request has.
#[test]
fn matched_messages_stand_in_arrays() {
    let body = r#"
{ "op": "isend", "to": "= rank", "size": "8 B", "req": "a" }, { "op": "isend", "to": "= rank", "size": "16 B", "req": "b" },
{ "op": "repeat", "times": 2, "with": "i", "do": [ { "op": "mprobe", "src": "any", "handle": { "name": "m", "index": "= i" } } ] },
{ "op": "repeat", "times": 2, "with": "i", "do": [
  { "op": "mrecv", "handle": { "name": "m", "index": "= 1 - i" }, "max": "16 B", "expect": { "count": "= 16 - 8 * i" } } ] },
{ "op": "waitall", "reqs": [ "a", "b" ] }"#;
    ends_well("messages", &scenario(1, body));
}

/// Time of a program of two ranks.
fn time_of(scratch: &Scratch, ranks: &[Vec<Value>; 2]) -> String {
    let scenario = json!({
        "schema": 1, "title": "T", "machine": "ideal", "nodes": 2,
        "workload": { "kind": "program", "ranks": ranks },
    });
    scratch.write("t.json", &scenario.to_string());
    let out = scratch.run(&["run", "t.json", "--out", "here"]).check(0, &[]).out;
    std::fs::remove_dir_all(scratch.path("here")).expect("the results were kept there");
    let time = out.lines().skip_while(|line| !line.starts_with("time")).nth(1);
    time.unwrap_or_else(|| panic!("{scenario} has no time: {out}")).to_owned()
}

/// A statement of rank 0 with the statements around it, and those of rank 1.
struct Case {
    before: Value,
    statement: Value,
    after: Value,
    other: Value,
}

fn in_a_window(statement: &Value) -> Case {
    let opens = json!([{ "op": "win_allocate", "size": "64 B", "new": "w" }, { "op": "win_fence", "win": "w" }]);
    let closes = json!([{ "op": "win_fence", "win": "w" }, { "op": "win_free", "win": "w" }]);
    let other = [list(&opens), list(&closes)].concat();
    Case { before: opens, statement: statement.clone(), after: closes, other: other.into() }
}

fn list(statements: &Value) -> Vec<Value> {
    statements.as_array().expect("a list").clone()
}

/// Statements whose keys take expressions.
fn cases() -> Vec<Case> {
    let case = |before, statement, after, other| Case { before, statement, after, other };
    let wait = json!([{ "op": "wait", "req": "a" }]);
    let starts = json!([{ "op": "start", "req": "a" }, { "op": "wait", "req": "a" }, { "op": "request_free", "req": "a" }]);
    let recv = json!([{ "op": "recv", "src": 0, "tag": 3, "max": "8 B" }]);
    let send = json!([{ "op": "send", "to": 0, "tag": 3, "size": "8 B" }]);
    let taken = json!([{ "op": "recv", "src": 1, "tag": 3, "max": "8 B" }]);
    let back = json!([{ "op": "sendrecv", "to": 0, "src": 0, "send_tag": 4, "recv_tag": 3, "size": "8 B", "max": "8 B" }]);
    let attach = json!([{ "op": "buffer_attach", "size": "1 MiB" }]);
    let psend = json!({ "op": "psend_init", "to": 1, "tag": 3, "size": "8 B", "partitions": 2, "req": "a" });
    let precv = json!([{ "op": "precv_init", "src": 0, "tag": 3, "size": "8 B", "partitions": 2, "req": "b" },
        { "op": "start", "req": "b" }, { "op": "wait", "req": "b" }, { "op": "request_free", "req": "b" }]);
    let parted = json!([psend, { "op": "start", "req": "a" }]);
    let ends = json!([{ "op": "wait", "req": "a" }, { "op": "request_free", "req": "a" }]);
    let alike =
        |statement: Value| case(json!([]), statement.clone(), json!([]), json!([statement]));
    let mut all = vec![
        case(
            json!([]),
            json!({ "op": "isend", "to": 1, "tag": 3, "size": "8 B", "req": "a" }),
            wait.clone(),
            recv.clone(),
        ),
        case(
            json!([]),
            json!({ "op": "ssend", "to": 1, "tag": 3, "size": "8 B" }),
            json!([]),
            recv.clone(),
        ),
        case(
            attach,
            json!({ "op": "bsend", "to": 1, "tag": 3, "size": "8 B" }),
            json!([{ "op": "buffer_detach" }]),
            recv.clone(),
        ),
        case(
            json!([]),
            json!({ "op": "send_init", "to": 1, "tag": 3, "size": "8 B", "req": "a" }),
            starts.clone(),
            recv,
        ),
        case(
            json!([]),
            json!({ "op": "recv", "src": 1, "tag": 3, "max": "8 B" }),
            json!([]),
            send.clone(),
        ),
        case(
            json!([]),
            json!({ "op": "irecv", "src": 1, "tag": 3, "max": "8 B", "req": "a" }),
            wait.clone(),
            send.clone(),
        ),
        case(
            json!([]),
            json!({ "op": "recv_init", "src": 1, "tag": 3, "max": "8 B", "req": "a" }),
            starts,
            send.clone(),
        ),
        case(json!([]), json!({ "op": "probe", "src": 1, "tag": 3 }), taken.clone(), send.clone()),
        case(json!([]), json!({ "op": "iprobe", "src": 1, "tag": 3 }), taken, send.clone()),
        case(
            json!([]),
            json!({ "op": "mprobe", "src": 1, "tag": 3, "handle": "m" }),
            json!([{ "op": "mrecv", "handle": "m", "max": "8 B" }]),
            send.clone(),
        ),
        case(
            json!([{ "op": "mprobe", "src": 1, "tag": 3, "handle": "m" }]),
            json!({ "op": "imrecv", "handle": "m", "max": "8 B", "req": "a" }),
            wait.clone(),
            send,
        ),
        case(
            json!([]),
            json!({ "op": "sendrecv", "to": 1, "src": 1, "send_tag": 3, "recv_tag": 4, "size": "8 B", "max": "8 B" }),
            json!([]),
            back.clone(),
        ),
        case(
            json!([]),
            json!({ "op": "isendrecv", "to": 1, "src": 1, "send_tag": 3, "recv_tag": 4, "size": "8 B", "max": "8 B", "req": "a" }),
            wait.clone(),
            back.clone(),
        ),
        case(
            json!([]),
            json!({ "op": "isendrecv_replace", "to": 1, "src": 1, "send_tag": 3, "recv_tag": 4, "size": "8 B", "req": "a" }),
            wait,
            back,
        ),
        case(
            parted.clone(),
            json!({ "op": "pready_range", "req": "a", "first": 0, "last": 1 }),
            ends.clone(),
            precv.clone(),
        ),
        case(
            [list(&parted), list(&json!([{ "op": "pready", "req": "a", "partition": 0 }]))]
                .concat()
                .into(),
            json!({ "op": "pready", "req": "a", "partition": 1 }),
            ends,
            precv,
        ),
        case(
            json!([]),
            json!({ "op": "comm_split", "color": 0, "key": 0, "new": "c" }),
            json!([]),
            json!([{ "op": "comm_split", "color": 0, "key": 1, "new": "c" }]),
        ),
    ];
    all.extend(
        [
            json!({ "op": "put", "win": "w", "target": 1, "size": "8 B", "disp": 8 }),
            json!({ "op": "get", "win": "w", "target": 1, "size": "8 B", "disp": 8 }),
            json!({ "op": "accumulate", "win": "w", "target": 1, "count": 2, "disp": 8, "operator": "sum", "type": "int64" }),
            json!({ "op": "get_accumulate", "win": "w", "target": 1, "count": 2, "disp": 8, "operator": "sum", "type": "int64" }),
            json!({ "op": "fetch_and_op", "win": "w", "target": 1, "disp": 8, "operator": "sum", "type": "int64" }),
            json!({ "op": "compare_and_swap", "win": "w", "target": 1, "disp": 8, "type": "int64" }),
        ]
        .iter()
        .map(in_a_window),
    );
    all.extend(
        [
            json!({ "op": "bcast", "root": 0, "size": "8 B" }),
            json!({ "op": "reduce", "root": 0, "count": 2, "type": "int64" }),
            json!({ "op": "allreduce", "count": 2, "type": "int64" }),
            json!({ "op": "scatter", "root": 0, "size": "8 B" }),
            json!({ "op": "alltoall", "size": "8 B" }),
        ]
        .map(alike),
    );
    all
}

/// An expression finds the field of its call by name: a name that no field has would end the program.
#[test]
fn a_computed_key_does_what_its_literal_does() {
    let scratch = Scratch::new("literals");
    let mut compared = 0;
    for Case { before, statement, after, other } in cases() {
        let time = |statement: Value| {
            let own = [list(&before), vec![statement], list(&after)].concat();
            time_of(&scratch, &[own, list(&other)])
        };
        let literal = time(statement.clone());
        for key in COMPUTED {
            let Some(value) = statement.get(key) else { continue };
            let mut computed = statement.clone();
            computed[key] =
                format!("= {}", value.as_str().map_or(value.to_string(), str::to_owned)).into();
            assert_eq!(time(computed), literal, "`{key}` of {statement}");
            compared += 1;
        }
    }
    assert!(compared > 70, "{compared} keys were computed");
}

/// Keys that take numbers, sizes and ranks.
const COMPUTED: [&str; 17] = [
    "to",
    "src",
    "tag",
    "send_tag",
    "recv_tag",
    "size",
    "max",
    "first",
    "last",
    "partition",
    "color",
    "key",
    "target",
    "disp",
    "count",
    "root",
    "thread",
];
