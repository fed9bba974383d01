//! Long programs are read in time that is proportional to their length: the work is counted, and not timed.

use std::fmt::Write as _;

use mpisim::experiment::plan::{Request, load};
use mpisim::shipped;

/// A program of one rank with so many statements, in one line.
fn scenario(statements: impl Iterator<Item = String>) -> String {
    let mut text = String::from(
        r#"{ "schema": 1, "title": "L", "machine": "broadwell-edr", "nodes": 1, "workload": { "kind": "program", "processes": 1, "buffers": [ { "name": "x", "size": "8 B" } ], "body": [ "#,
    );
    for (number, statement) in statements.enumerate() {
        let comma = if number > 0 { ", " } else { "" };
        let _ = write!(text, "{comma}{statement}");
    }
    text + " ] } }"
}

/// Bytes that are allocated while it is read.
fn allocated(text: String) -> u64 {
    let request = Request {
        scenario: "l.json".to_owned(),
        text: Some(text),
        library: shipped::library(),
        ..Request::default()
    };
    let used = allocation_counter::measure(|| {
        let (plan, diagnostics) = load(&request);
        assert!(plan.is_some(), "{}", diagnostics.human());
    });
    used.bytes_total
}

#[test]
fn a_program_of_twice_the_length_is_twice_the_work() {
    type Statement = fn(usize) -> String;
    let families: [(&str, Statement); 6] = [
        ("computations", |_| r#"{ "op": "compute", "time": "1 us" }"#.to_owned()),
        ("variables", |number| {
            format!(r#"{{ "op": "set", "name": "v{number}", "to": "= rank + {number}" }}"#)
        }),
        ("requests", |number| {
            format!(
                r#"{{ "op": "isend", "to": "proc_null", "size": "8 B", "req": "r{number}" }}, {{ "op": "wait", "req": "r{number}" }}"#
            )
        }),
        ("requests of conditions", |number| {
            format!(
                r#"{{ "op": "if", "condition": "= rank == 0", "then": [ {{ "op": "isend", "to": "proc_null", "size": "8 B", "req": "r{number}" }}, {{ "op": "wait", "req": "r{number}" }} ] }}"#
            )
        }),
        ("values", |_| r#"{ "op": "store", "buf": "x", "values": [ "= rank" ] }"#.to_owned()),
        ("loops", |_| {
            r#"{ "op": "repeat", "times": 2, "do": [ { "op": "barrier" } ] }"#.to_owned()
        }),
    ];
    for (name, statement) in families {
        let of = |count: usize| allocated(scenario((0..count).map(statement)));
        // What does not depend on the length.
        let fixed = of(1);
        let [short, long] = [1_000, 2_000].map(|count| of(count) - fixed);
        // Lists double their room, and that for 2,000 entries may be twice that of half of them.
        assert!(long < short * 5 / 2, "{name}: {short} bytes, and {long} for twice the length");
    }
}

#[test]
fn a_set_of_many_requests_is_read_once() {
    let of = |count: usize| {
        let begun = (0..count).map(|number| {
            format!(r#"{{ "op": "isend", "to": "proc_null", "size": "8 B", "req": "r{number}" }}"#)
        });
        let names: Vec<String> = (0..count).map(|number| format!(r#""r{number}""#)).collect();
        let waits = format!(r#"{{ "op": "waitall", "reqs": [ {} ] }}"#, names.join(", "));
        allocated(scenario(begun.chain([waits])))
    };
    let [short, long] = [1_000, 2_000].map(of);
    assert!(long < short * 5 / 2, "{short} bytes, and {long} for twice the length");
}
