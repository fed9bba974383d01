//! Wrong programs: `run` and `explore` know the same laws, and say who broke them and where.
//!
//! A row of [`WRONG`] is a program that MPI calls erroneous, and what both must say. A row of
//! [`RIGHT`] is one that is near such a program and allowed: it ends well, and in every order.
//! Statements stand in lines of their own, from line 2 on, rank after rank.

use crate::binary::{Answer, Scratch, debug_text};

/// A program, by rank and statement.
type Ranks = &'static [&'static [&'static str]];

/// Name, program, and what must be said.
type Wrong = (&'static str, Ranks, &'static [&'static str]);

const WRONG: &[Wrong] = &[
    (
        "a receive that is too short",
        &[&["send to 1 size 8"], &["recv src 0 max 4"]],
        &["MPI_ERR_TRUNCATE", "rank 1 that ended in line 3", "the message of rank 0 with tag 0"],
    ),
    (
        "a short receive that is waited for",
        &[&["send to 1 size 8"], &["irecv src 0 max 4 req a", "wait req a"]],
        &["MPI_ERR_TRUNCATE", "rank 1 that ended in line 4"],
    ),
    (
        "a short receive among others",
        &[
            &["send to 1 size 4", "send to 1 size 8"],
            &["irecv src 0 max 4 req a", "irecv src 0 max 4 req b", "waitall reqs a,b"],
        ],
        &["MPI_ERR_TRUNCATE", "rank 1 that ended in line 6"],
    ),
    (
        "a short matched receive",
        &[&["send to 1 size 8"], &["mprobe src 0 handle m", "mrecv handle m max 4"]],
        &["MPI_ERR_TRUNCATE", "rank 1 that ended in line 4"],
    ),
    (
        "a large message into a short receive",
        &[&["send to 1 size 1048576"], &["recv src 0 max 4"]],
        &["MPI_ERR_TRUNCATE", "rank 1 that ended in line 3"],
    ),
    (
        "a ready send before its receive",
        &[&["rsend to 1 size 8"], &["compute time 5", "recv src 0 max 8"]],
        &["MPI_Rsend", "the ready send of rank 0 in line 2"],
    ),
    (
        "a large ready send before its receive",
        &[
            &["irsend to 1 size 1048576 req a", "wait req a"],
            &["compute time 5", "recv src 0 max 1048576"],
        ],
        &["MPI_Rsend", "the ready send of rank 0 in line 2"],
    ),
    (
        "a ready send whose receive an earlier message takes",
        &[
            &["recv src 1 tag 1 max 0", "send to 1 size 8", "rsend to 1 size 8"],
            &[
                "irecv src 0 max 8 req a",
                "send to 0 tag 1 size 0",
                "wait req a",
                "compute time 9",
                "recv src 0 max 8",
            ],
        ],
        &["MPI_Rsend", "the ready send of rank 0 in line 4"],
    ),
    (
        "two roots",
        &[&["bcast root 0 size 8"], &["bcast root 1 size 8"]],
        &[
            "MPI_ERR_ROOT",
            "MPI_Bcast of rank 0 in line 2",
            "MPI_Bcast of rank 1 in line 3",
            "rank 0",
            "rank 1",
        ],
    ),
    (
        "two operators",
        &[
            &["allreduce operator sum type int32 count 2"],
            &["allreduce operator max type int32 count 2"],
        ],
        &[
            "MPI_ERR_OP",
            "MPI_Allreduce of rank 0 in line 2",
            "MPI_Allreduce of rank 1 in line 3",
            "sum",
            "max",
        ],
    ),
    (
        "two types",
        &[
            &["allreduce operator sum type int32 count 2"],
            &["allreduce operator sum type float count 2"],
        ],
        &[
            "MPI_ERR_TYPE",
            "MPI_Allreduce of rank 0 in line 2",
            "MPI_Allreduce of rank 1 in line 3",
            "int32",
            "float",
        ],
    ),
    (
        "two lengths",
        &[&["bcast root 0 size 8"], &["bcast root 0 size 4"]],
        &[
            "MPI_ERR_COUNT",
            "MPI_Bcast of rank 0 in line 2",
            "MPI_Bcast of rank 1 in line 3",
            "8 B",
            "4 B",
        ],
    ),
    (
        "two roots of what is only begun",
        &[
            &["ireduce root 0 operator sum type int32 count 2 req a", "wait req a"],
            &["ireduce root 1 operator sum type int32 count 2 req a", "wait req a"],
        ],
        &["MPI_ERR_ROOT", "MPI_Ireduce of rank 0 in line 2", "MPI_Ireduce of rank 1 in line 4"],
    ),
    (
        "integers received as numbers of the same width",
        &[&["send to 1 datatype int64 count 2"], &["recv src 0 datatype double count 2"]],
        &[
            "MPI_ERR_TYPE",
            "the send of rank 0 in line 2 with tag 0",
            "the receive of rank 1 in line 3",
            "the message has int64 where the receive has double",
            "give both the same named types",
        ],
    ),
    (
        "a column of floats received as doubles",
        &[&["send to 1 datatype column:float"], &["recv src 0 datatype column:double"]],
        &["MPI_ERR_TYPE", "the message has float where the receive has double"],
    ),
    (
        "a record received as its first type",
        &[
            &["isend to 1 datatype record count 2 req a", "wait req a"],
            &["irecv src 0 datatype int32 count 8 req a", "wait req a"],
        ],
        &[
            "MPI_ERR_TYPE",
            "the send of rank 0 in line 2",
            "the receive of rank 1 in line 4",
            "the message has double where the receive has int32, after 1 element",
        ],
    ),
    (
        "other types in a matched receive",
        &[
            &["send to 1 datatype int32 count 2"],
            &["mprobe src 0 handle m", "mrecv handle m datatype float count 2"],
        ],
        &["MPI_ERR_TYPE", "the receive of rank 1 in line 4", "int32 where the receive has float"],
    ),
    (
        "other types in a matched receive that is only begun",
        &[
            &["send to 1 datatype int32 count 2"],
            &[
                "mprobe src any handle m",
                "imrecv handle m datatype float count 2 req a",
                "wait req a",
            ],
        ],
        &["MPI_ERR_TYPE", "the receive of rank 1 in line 4"],
    ),
    (
        "one of two senders has other types than a receive from anybody",
        &[
            &["recv src any datatype int32", "recv src any datatype int32"],
            &["send to 0 datatype int32"],
            &["send to 0 datatype float"],
        ],
        &["MPI_ERR_TYPE", "the send of rank 2 in line 5", "float where the receive has int32"],
    ),
    (
        "a large message of other types",
        &[
            &["send to 1 datatype column:double count 4000"],
            &["recv src 0 datatype int64 count 8000"],
        ],
        &["MPI_ERR_TYPE", "double where the receive has int64"],
    ),
    (
        "a buffered message of other types",
        &[
            &["buffer_attach size 4096", "bsend to 1 datatype char count 4", "buffer_detach"],
            &["recv src 0 datatype int8 count 4"],
        ],
        &["MPI_ERR_TYPE", "the send of rank 0 in line 3", "char where the receive has int8"],
    ),
    (
        "bytes received as a type",
        &[&["send to 1 datatype byte count 8"], &["recv src 0 datatype double"]],
        &["MPI_ERR_TYPE", "byte where the receive has double"],
    ),
    (
        "other types, and too short",
        &[&["send to 1 datatype int32 count 4"], &["recv src 0 datatype float count 2"]],
        &["MPI_ERR_TYPE", "int32 where the receive has float"],
    ),
];

const RIGHT: &[(&str, Ranks)] = &[
    ("a receive with more room", &[&["send to 1 size 4"], &["recv src 0 max 8"]]),
    (
        "a probe that tells how much room is needed",
        &[&["send to 1 size 8"], &["mprobe src 0 handle m", "mrecv handle m max 8"]],
    ),
    (
        "a ready send after its receiver has said that it may come",
        &[
            &["recv src 1 tag 1 max 0", "rsend to 1 size 8"],
            &["irecv src 0 max 8 req a", "send to 0 tag 1 size 0", "wait req a"],
        ],
    ),
    (
        "keys below zero",
        &[
            &["comm_split color 0 key 0 new a", "barrier comm a"],
            &["comm_split color 0 key -3 new a", "barrier comm a"],
        ],
    ),
    (
        "a cancelled receive, or not",
        &[&["irecv src 1 max 8 tag 3 req a", "cancel req a", "wait req a"], &["compute time 1"]],
    ),
    (
        "two collectives of one root each",
        &[
            &["bcast root 0 size 8", "bcast root 1 size 4"],
            &["bcast root 0 size 8", "bcast root 1 size 4"],
        ],
    ),
    (
        "a receive of more elements of the same type",
        &[&["send to 1 datatype int32 count 2"], &["recv src 0 datatype int32 count 5"]],
    ),
    (
        "a message that ends within a record",
        &[&["send to 1 datatype int32 count 1"], &["recv src 0 datatype record count 2"]],
    ),
    (
        "a column received as a row",
        &[&["send to 1 datatype column:double"], &["recv src 0 datatype double count 2"]],
    ),
    (
        "a datatype on one side",
        &[
            &["send to 1 datatype double", "send to 1 size 8"],
            &["recv src 0 max 8", "recv src 0 datatype int64"],
        ],
    ),
    (
        "nothing of another type",
        &[&["send to 1 datatype double count 0"], &["recv src 0 datatype int32 count 2"]],
    ),
    (
        "other types to nobody",
        &[&["send to proc_null datatype double"], &["recv src proc_null datatype int32"]],
    ),
];

/// A named type, two of them apart (`column:float`), or an integer before a number (`record`).
fn datatype(word: &str) -> String {
    let named = |name: &str| format!(r#"{{ "kind": "named", "name": "{name}" }}"#);
    if word == "record" {
        let (int, double) = (named("int32"), named("double"));
        let blocks = r#""blocklengths": [1, 1], "displacements": [0, 8]"#;
        return format!(r#"{{ "kind": "struct", {blocks}, "children": [{int}, {double}] }}"#);
    }
    let Some(child) = word.strip_prefix("column:") else { return named(word) };
    let blocks = r#""count": 2, "blocklength": 1, "stride": 3"#;
    format!(r#"{{ "kind": "vector", {blocks}, "child": {} }}"#, named(child))
}

/// `op key value key value` as a statement; sizes are bytes.
fn statement(words: &str) -> String {
    let mut words = words.split(' ');
    let mut fields = vec![format!(r#""op": "{}""#, words.next().unwrap())];
    while let Some((key, value)) = words.next().zip(words.next()) {
        let number = value.parse::<i64>().is_ok();
        let value = match key {
            "size" | "max" => format!(r#""{value} B""#),
            "datatype" => datatype(value),
            "time" => format!(r#""{value} us""#),
            "reqs" => format!("{:?}", value.split(',').collect::<Vec<_>>()),
            _ if number => value.to_owned(),
            _ => format!("{value:?}"),
        };
        fields.push(format!(r#""{key}": {value}"#));
    }
    format!("{{ {} }}", fields.join(", "))
}

fn scenario(ranks: Ranks) -> String {
    let head = format!(
        r#"{{ "schema": 1, "title": "t", "machine": "ideal", "nodes": {}, "workload": {{ "kind": "program", "ranks": ["#,
        ranks.len().max(2)
    );
    let list = |rank: &&[&str]| {
        let statements: Vec<String> = rank.iter().map(|words| statement(words)).collect();
        format!("[{}]", statements.join(",\n"))
    };
    let lists: Vec<String> = ranks.iter().map(list).collect();
    format!("{head}\n{}] }} }}\n", lists.join(",\n"))
}

/// What `run` and `explore`, without leaving orders out and with it, say of a program.
fn ask(scratch: &Scratch, ranks: Ranks) -> [(&'static str, Answer); 3] {
    scratch.write("t.json", &scenario(ranks));
    [
        ("run", scratch.run(&["run", "t.json"])),
        ("explore", scratch.run(&["explore", "t.json"])),
        ("explore --reduce", scratch.run(&["explore", "t.json", "--reduce"])),
    ]
}

#[test]
fn a_wrong_program_is_told_alike_by_both_runtimes() {
    let scratch = Scratch::new("misuse-wrong");
    let mut missing = Vec::new();
    for (name, ranks, says) in WRONG {
        for (command, answer) in ask(&scratch, ranks) {
            let text = format!("{}{}", answer.out, answer.err);
            let unsaid: Vec<_> = says.iter().filter(|part| !text.contains(**part)).collect();
            if answer.exit != 1 || !unsaid.is_empty() {
                let exit = answer.exit;
                missing.push(format!("{name}: {command} ends with {exit}, no {unsaid:?}\n{text}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

#[test]
fn a_program_that_is_nearly_wrong_ends_well_in_every_order() {
    let scratch = Scratch::new("misuse-right");
    for (name, ranks) in RIGHT {
        for (command, answer) in ask(&scratch, ranks) {
            assert_eq!(answer.exit, 0, "{name}: {command}\n{}{}", answer.out, answer.err);
        }
    }
}

/// The receive comes in time on the machine, and not in every order.
#[test]
fn a_ready_send_that_comes_in_time_by_luck_is_found_by_orders() {
    let scratch = Scratch::new("misuse-luck");
    let ranks: Ranks = &[&["compute time 50", "rsend to 1 size 8"], &["recv src 0 max 8"]];
    let [(_, run), explored @ ..] = ask(&scratch, ranks);
    assert_eq!(run.exit, 0, "{}{}", run.out, run.err);
    for (command, answer) in explored {
        assert_eq!(answer.exit, 1, "{command}: {}", answer.out);
        assert!(answer.out.contains("the ready send of rank 0 in line 3"), "{}", answer.out);
    }
}

#[test]
fn values_as_programmers_see_them_are_found() {
    for text in ["calls Cancel { request: Handle(0) }", "a\nIt is Rank(3)", "Counts { sent: 0 }"] {
        assert!(debug_text(text).is_some(), "{text}");
    }
    for text in
        ["MPI_Send(8 B to rank 1)", "{ \"a\": { \"b\": 1 } }", "scenario { op: x }", "row(1)"]
    {
        assert_eq!(debug_text(text), None);
    }
}
