//! Programs with loops, conditions, variables and expected values: one source, in both runtimes.

use crate::binary::Scratch;

/// A scenario of one body on `ideal`.
fn scenario(processes: u32, body: &str) -> String {
    format!(
        r#"{{ "schema": 1, "title": "L", "machine": "ideal", "nodes": 2, "mpi": {{ "payload": "real" }},
"workload": {{ "kind": "program", "processes": {processes}, "body": [
{body}
] }} }}"#
    )
}

/// The exit codes and texts of `run` and of `explore`.
fn both(name: &str, text: &str) -> [(i32, String); 2] {
    let scratch = Scratch::new(name);
    scratch.write("p.json", text);
    [&["run", "p.json", "--out", "out"][..], &["explore", "p.json"]].map(|arguments| {
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

/// Both runtimes end with exit code 1 and say `words`.
#[track_caller]
fn fails(name: &str, text: &str, words: &str) {
    for (exit, said) in both(name, text) {
        assert_eq!(exit, 1, "{name}: {said}");
        assert!(said.contains(words), "{name}: {said}");
    }
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
    fails("unexpected", &text, "rank 0 in line 9, iteration 2: count is 24 B, expected is 25 B");
}

/// A scatter of blocks has another buffer on its root: ranks of one body are still told apart.
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
        "rank 0 in line 6, iteration 1: the request of the statement is still open",
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
    fails("far", &send("rank + 2"), "`to` is 2, and takes -1 to 1");
    fails("zero", &send("1 / (rank - rank)"), "an expression divides by zero");
    fails("wide", &send("9223372036854775807 + 1 + rank"), "a value needs more than 64 bits");
    let silent = r#"{ "op": "repeat", "times": 10000000, "do": [ { "op": "set", "name": "x", "to": "= x + 1" } ] }"#;
    fails("silent", &scenario(1, &silent.replace("= x + 1", "= rank")), "without a call");
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
    fails("steer", &scenario(2, &first), "rank 0 in line 7: `times` is -1");
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
        "p.json:3:26 workload.body[0].to: the name `rnk`; known here are rank, size, proc_null",
    );
    refused(
        r#"{ "op": "send", "to": "= 1 us", "size": "8 B" }"#,
        "the expression is a time; a whole number is needed",
    );
    refused(r#"{ "op": "set", "name": "rank", "to": 1 }"#, "rank, size, proc_null never change");
    refused(r#"{ "op": "if", "condition": "= 1", "then": [] }"#, "true or false is needed");
    refused(
        r#"{ "op": "repeat", "times": 2, "do": [ { "op": "comm_dup", "new": "c" } ] }"#,
        "communicators are made and freed outside of them",
    );
    refused(
        r#"{ "op": "repeat", "times": 2, "do": [ { "op": "wait", "req": "a" } ] }"#,
        "`a` was never opened",
    );
}
