//! What the ranks of a collective must give alike, or for each other: the same law in `run`, `explore` and `exec`.

use crate::binary::Scratch;
use crate::both::{ends_well, fails};
use crate::exec::{compiled, run};

/// A program of two ranks, one list of statements each.
fn two(ranks: [&str; 2]) -> String {
    let [first, second] = ranks;
    format!(
        r#"{{ "schema": 1, "title": "t", "machine": "broadwell-edr", "nodes": 2, "mpi": {{ "payload": "real" }},
        "workload": {{ "kind": "program", "datatypes": [
            {{ "name": "double", "type": {{ "kind": "named", "name": "double" }} }},
            {{ "name": "int", "type": {{ "kind": "named", "name": "int32" }} }} ],
        "ranks": [ [ {first} ], [ {second} ] ] }} }}"#
    )
}

#[test]
fn the_own_block_has_one_length() {
    let lists = |op: &str, sends: &str, receives: &str, more: &str| {
        format!(
            r#"{{ "op": "{op}", "send_sizes": [ {sends} ], "receive_sizes": [ {receives} ]{more} }}"#
        )
    };
    let (waits, starts) = (
        r#", { "op": "wait", "req": "r" }"#,
        r#", { "op": "start", "req": "r" }, { "op": "wait", "req": "r" }, { "op": "request_free", "req": "r" }"#,
    );
    for (op, more, after) in [
        ("alltoallv", "", ""),
        ("ialltoallv", r#", "req": "r""#, waits),
        ("alltoallv_init", r#", "req": "r""#, starts),
    ] {
        let good = lists(op, r#""4 B", "4 B""#, r#""4 B", "4 B""#, more) + after;
        for (own, taken, name) in [("8 B", "4 B", "longer"), ("0 B", "4 B", "nothing")] {
            let sends = format!(r#""{own}", "4 B""#);
            let bad = lists(op, &sends, &format!(r#""{taken}", "4 B""#), more) + after;
            let words = format!(
                "rank 0 waits for {taken} of itself (the arguments of the two do not agree): {own} come"
            );
            fails(&format!("own-{op}-{name}"), &two([&bad, &good]), &[&words]);
        }
        ends_well(&format!("own-{op}-good"), &two([&good, &good]));
    }
    let wide = |datatype: &str| {
        format!(
            r#"{{ "op": "alltoallw", "sends": [ {{ "datatype": "{datatype}" }}, {{ "datatype": "int" }} ],
            "receives": [ {{ "datatype": "int" }}, {{ "datatype": "int", "at": "4 B" }} ] }}"#
        )
    };
    let words = "MPI_Alltoallw: rank 0 waits for 4 B of itself (the arguments of the two do not agree): 8 B come";
    fails("own-alltoallw", &two([&wide("double"), &wide("int")]), &[words]);
}

/// Lists of which each rank knows its own entries only.
#[test]
fn what_a_rank_sends_is_what_the_other_receives() {
    let lists = |sends: [&str; 2], receives: [&str; 2]| {
        let list = |all: [&str; 2]| format!(r#""{}", "{}""#, all[0], all[1]);
        let (sends, receives) = (list(sends), list(receives));
        format!(
            r#"{{ "op": "alltoallv", "send_sizes": [ {sends} ], "receive_sizes": [ {receives} ] }}"#
        )
    };
    let good = lists(["4 B", "4 B"], ["4 B", "4 B"]);
    for (name, sends, receives, what) in [
        ("gives-more", ["4 B", "8 B"], ["4 B", "4 B"], "rank 0 sends 4 B more than rank 1"),
        ("gives-nothing", ["4 B", "0 B"], ["4 B", "4 B"], "rank 0 sends 4 B less than rank 1"),
        ("wants-nothing", ["4 B", "4 B"], ["4 B", "0 B"], "rank 1 sends 4 B more than rank 0"),
        ("wants-more", ["4 B", "4 B"], ["4 B", "8 B"], "rank 1 sends 4 B less than rank 0"),
    ] {
        let both = ["MPI_Alltoallv of rank 0 in line ", "MPI_Alltoallv of rank 1 in line "];
        let words = ["MPI_ERR_COUNT", both[0], both[1], what, "receives of it"];
        fails(&format!("pairs-{name}"), &two([&lists(sends, receives), &good]), &words);
    }
    let gather = |sizes: &str| format!(r#"{{ "op": "gatherv", "sizes": [ {sizes} ] }}"#);
    let words = ["MPI_ERR_COUNT", "rank 1 sends 4 B more than rank 0 receives of it"];
    let [root, other] = [r#""4 B", "0 B""#, r#""4 B", "4 B""#].map(gather);
    fails("pairs-gatherv", &two([&root, &other]), &words);
    let scatter = |sizes: &str| format!(r#"{{ "op": "scatterv", "sizes": [ {sizes} ] }}"#);
    let words = ["MPI_ERR_COUNT", "rank 0 sends 4 B more than rank 1 receives of it"];
    let [root, other] = [r#""4 B", "8 B""#, r#""4 B", "4 B""#].map(scatter);
    fails("pairs-scatterv", &two([&root, &other]), &words);
    // Of lists that all ranks have, all entries are compared, and not their sum alone.
    let all = |sizes: &str| format!(r#"{{ "op": "allgatherv", "sizes": [ {sizes} ] }}"#);
    let [one, turned] = [r#""4 B", "8 B""#, r#""8 B", "4 B""#].map(all);
    let words = ["MPI_ERR_COUNT", "the lists of lengths differ, and are both of 12 B in all"];
    fails("lists-allgatherv", &two([&one, &turned]), &words);
    let sums = |counts: &str| format!(r#"{{ "op": "reduce_scatter", "counts": [ {counts} ] }}"#);
    let words = ["MPI_ERR_COUNT", "the list of lengths of the one is of 8 B in all"];
    fails("lists-reduce-scatter", &two([&sums("1, 1"), &sums("1, 2")]), &words);
}

#[test]
fn blocks_with_datatypes_have_the_same_named_types() {
    let wide = |[to_other, from_other]: [&str; 2], own: usize| {
        let block = |datatype: &str, at: u32| {
            let count = if datatype == "int" { 2 } else { 1 };
            format!(r#"{{ "datatype": "{datatype}", "count": {count}, "at": "{at} B" }}"#)
        };
        let side = |other: &str| {
            let mut both = [block("int", 0), block(other, 8)];
            both.rotate_right(own);
            both.join(", ")
        };
        let (sends, receives) = (side(to_other), side(from_other));
        format!(r#"{{ "op": "alltoallw", "sends": [ {sends} ], "receives": [ {receives} ] }}"#)
    };
    let good = two([&wide(["double", "int"], 0), &wide(["int", "double"], 1)]);
    ends_well("types-alltoallw-good", &good);
    let words = [
        "MPI_ERR_TYPE",
        "what rank 0 sends and what rank 1 receives of it are not of the same named types",
    ];
    let bad = two([&wide(["double", "int"], 0), &wide(["int", "int"], 1)]);
    fails("types-alltoallw", &bad, &words);
}

/// Four endpoints of two processes.
fn over_xios_ep(ranks: [&str; 4]) -> String {
    let ranks = ranks.map(|ops| format!("[ {ops} ]")).join(", ");
    format!(
        r#"{{ "schema": 1, "title": "t", "machine": "broadwell-edr", "nodes": 2, "mpi": {{ "payload": "real" }},
        "ranks": {{ "addressing": "xios_ep", "threads_per_process": 2, "placement": "block" }},
        "workload": {{ "kind": "program", "ranks": [ {ranks} ] }} }}"#
    )
}

/// Over the endpoint library, too.
#[test]
fn a_message_between_endpoints_has_the_named_types_of_its_receive() {
    let send = r#"{ "op": "send", "to": 2, "datatype": { "kind": "named", "name": "double" }, "count": 1 }"#;
    let receive = |op: &str, name: &str, count: u32, more: &str| {
        format!(
            r#"{{ "op": "{op}", "src": 0, "datatype": {{ "kind": "named", "name": "{name}" }}, "count": {count}{more} }}"#
        )
    };
    let begun = |name: &str, count| {
        receive("irecv", name, count, r#", "req": "r""#) + r#", { "op": "wait", "req": "r" }"#
    };
    let words = ["MPI_ERR_TYPE", "the message has double where the receive has int32"];
    for (name, receive) in [("recv", receive("recv", "int32", 2, "")), ("irecv", begun("int32", 2))]
    {
        fails(&format!("xios-type-{name}"), &over_xios_ep([send, "", &receive, ""]), &words);
    }
    for (name, receive) in [
        ("recv", receive("recv", "double", 1, "")),
        ("irecv", begun("double", 1)),
        ("bytes", r#"{ "op": "recv", "src": 0, "max": "8 B" }"#.to_owned()),
    ] {
        ends_well(&format!("xios-type-good-{name}"), &over_xios_ep([send, "", &receive, ""]));
    }
    let sum = |of: &str, count: u32| {
        format!(r#"{{ "op": "allreduce", "type": "{of}", "count": {count} }}"#)
    };
    let (int, float, two) = (sum("int32", 1), sum("float", 1), sum("int32", 2));
    let types = ["MPI_Allreduce of endpoint ", "the type of the elements differs"];
    fails("xios-type-allreduce", &over_xios_ep([&int, &float, &int, &int]), &types);
    let lengths = ["MPI_Allreduce of endpoint ", "the lengths differ"];
    fails("xios-length-allreduce", &over_xios_ep([&int, &two, &int, &int]), &lengths);
}

/// The threads of a process call MPI for it in the order of its collectives.
#[test]
fn the_root_of_one_collective_may_be_another_thread_than_that_of_the_one_before() {
    let body = |first: &str, second: &str| {
        let all = format!("{first}, {second}");
        over_xios_ep([&all; 4])
    };
    let bcast = r#"{ "op": "bcast", "root": 1, "size": "8 B" }"#;
    let scatter = r#"{ "op": "scatter", "root": 1, "size": "8 B" }"#;
    for (name, first) in [
        ("reduce", r#"{ "op": "reduce", "root": 0, "count": 1 }"#),
        ("gather", r#"{ "op": "gather", "root": 0, "size": "8 B" }"#),
    ] {
        ends_well(&format!("xios-{name}-bcast"), &body(first, bcast));
        ends_well(&format!("xios-{name}-scatter"), &body(first, scatter));
    }
}

/// Choices of the library that depend on the length: with each of them, whatever is in place is right.
const CHOICES: [&str; 5] = ["", "mpich-4", "openmpi-4.1", "mvapich2-2.3", "own"];

#[test]
fn what_is_in_place_has_its_result_by_any_rules() {
    let scratch = Scratch::new("arguments-in-place");
    compiled(&scratch, include_str!("../programs/c/in_place.c"));
    let binomial = |kind: &str| {
        format!(
            r#""{kind}": [ {{ "algorithm": "binomial", "up_to": "64 B" }}, {{ "algorithm": "linear" }} ]"#
        )
    };
    let own = ["reduce", "gather", "scatter"].map(binomial).join(", ");
    for choice in CHOICES {
        for form in ["0", "1", "2"] {
            let mut words = vec![
                "exec",
                "-n",
                "5",
                "--machine",
                "broadwell-edr",
                "--nodes",
                "2",
                "--out",
                "out",
            ];
            let preset = format!("mpi.collectives.preset={choice}");
            if !choice.is_empty() {
                words.extend(["--set", &preset]);
            }
            words.extend(["--output", "plain", "--", "./program", form]);
            let scenario = format!(
                r#"{{ "schema": 1, "title": "t", "machine": "broadwell-edr", "nodes": 2,
                "mpi": {{ "collectives": {{ {own} }} }},
                "workload": {{ "kind": "exec", "command": [ "./program", "{form}" ], "processes": 5, "processes_per_node": 3 }} }}"#
            );
            scratch.write("own.json", &scenario);
            if choice == "own" {
                words = vec!["run", "own.json", "--out", "own"];
            }
            let ran = run(&scratch, &words);
            assert_eq!(ran.exit, 0, "{choice}, form {form}: {}{}", ran.out, ran.err);
            let right = ran.out.matches(": 0 wrong").count();
            assert!(right == 5, "{choice}, form {form}: {}", ran.out);
        }
    }
}

/// An operator has the number that a rank gives it: another one, where the rank has used others before.
#[test]
fn operators_of_the_program_are_the_same_at_ranks_that_used_them_in_another_order() {
    let scratch = Scratch::new("arguments-operators");
    compiled(&scratch, include_str!("../programs/c/operators_in_turn.c"));
    let ran = run(&scratch, &["exec", "-n", "3", "--machine", "broadwell-edr", "--", "./program"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    assert_eq!(ran.out.matches("sum 6").count(), 3, "{}", ran.out);
}

/// Arguments of `disagree.c`, and what is said.
const DISAGREE: [(&[&str], &[&str]); 19] = [
    (&["alltoall", "2", "0"], &["MPI_Alltoall: rank ", "B of itself", "): 8 B come"]),
    (&["ialltoall", "2", "0"], &["MPI_Ialltoall: rank ", "B of itself", "): 8 B come"]),
    (&["alltoallv wants", "0", "0"], &["MPI_Alltoallv: rank 0 waits for 0 B of itself"]),
    (&["ialltoallv gives", "4", "0"], &["MPI_Ialltoallv: rank 0 waits for 4 B of itself"]),
    (&["alltoallv_init wants", "4", "1"], &["MPI_Alltoallv_init: rank 1 waits for 16 B of itself"]),
    (
        &["alltoallw gives", "0", "0"],
        &["MPI_Alltoallw: rank 0 waits for 4 B of itself", "): 0 B come"],
    ),
    (&["alltoallv wants", "0", "0", "1"], &["MPI_ERR_COUNT", "MPI_Alltoallv of rank "]),
    (&["alltoallv gives", "0", "0", "1"], &["MPI_ERR_COUNT", "deadlock"]),
    (&["alltoallv_init wants", "0", "2", "1"], &["MPI_ERR_COUNT", "MPI_Alltoallv_init of rank "]),
    (&["gather", "4", "0"], &["MPI_Gather: rank 0 waits for 4 B of itself", "): 16 B come"]),
    (&["gather", "4", "1"], &["MPI_ERR_COUNT", "MPI_Gather of rank "]),
    (&["gatherv wants", "0", "0", "1"], &["MPI_ERR_COUNT", "MPI_Gatherv of rank "]),
    (&["scatter", "0", "0"], &["MPI_Scatter: rank 0 waits for 0 B of itself", "): 4 B come"]),
    (&["scatterv gives", "4", "0"], &["MPI_Scatterv: rank 0 waits for 4 B of itself"]),
    (&["allgather", "0", "0"], &["MPI_Allgather: rank 0 waits for 4 B of itself", "): 0 B come"]),
    (&["allgatherv", "4", "0"], &["MPI_Allgatherv: rank 0 waits for 4 B of itself"]),
    (&["allgatherv wants", "0", "1", "2"], &["MPI_ERR_COUNT", "the list of lengths of the one"]),
    (&["reduce_scatter gives", "2", "1"], &["MPI_ERR_COUNT", "the list of lengths of the one"]),
    (&["neighbours give", "4", "0"], &["MPI_ERR_COUNT", "MPI_Neighbor_allgather of several ranks"]),
];

/// Each ends the run, and the line of a call is named.
#[test]
fn real_programs_whose_counts_disagree_are_told_where() {
    let scratch = Scratch::new("arguments-disagree");
    compiled(&scratch, include_str!("../programs/c/disagree.c"));
    let words =
        ["exec", "-n", "3", "--machine", "broadwell-edr", "--out", "out", "--", "./program"];
    for (arguments, said) in DISAGREE {
        let ran = run(&scratch, &[&words[..], arguments].concat());
        assert_eq!(ran.exit, 1, "{arguments:?}: {}{}", ran.out, ran.err);
        for words in said.iter().chain(&["program.c:"]) {
            assert!(ran.out.contains(words), "{arguments:?}: no `{words}` in {}", ran.out);
        }
    }
    // The same calls with counts that agree.
    for operation in DISAGREE.map(|(arguments, _)| arguments[0]) {
        let ran = run(&scratch, &[&words[..], &[operation, "1", "0"]].concat());
        assert_eq!((ran.exit, ran.out.matches("end").count()), (0, 3), "{operation}: {}", ran.out);
    }
}

/// What MPI forbids and some libraries let pass is remarked upon, and the run goes on.
#[test]
fn buffers_that_are_given_twice_and_too_small_ones_get_a_note() {
    let scratch = Scratch::new("arguments-twice");
    compiled(&scratch, include_str!("../programs/c/given_twice.c"));
    let ran = run(&scratch, &["exec", "-n", "2", "--machine", "broadwell-edr", "--", "./program"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let place = |text: &str| {
        let lines = include_str!("../programs/c/given_twice.c").lines();
        format!("program.c:{}", lines.take_while(|line| !line.contains(text)).count() + 1)
    };
    for (function, text) in [
        ("MPI_Allreduce", "allreduce of one buffer"),
        ("MPI_Gather", "gather of one buffer"),
        ("MPI_Allgather", "allgather of a part"),
        ("MPI_Alltoallv", "blocks that overlap"),
    ] {
        let said = format!(", {function} ({}): what it gives and the room", place(text));
        assert_eq!(ran.err.matches(&said).count(), 1, "{said}: {}", ran.err);
    }
    let said = format!(
        "MPI_Bsend ({}): 40 bytes and MPI_BSEND_OVERHEAD (512) do not fit into the attached buffer of 60 bytes",
        place("no room")
    );
    assert_eq!(ran.err.matches(&said).count(), 1, "{said}: {}", ran.err);
    assert_eq!(ran.err.matches("overlap, which MPI forbids").count(), 4, "{}", ran.err);
}
