//! Collectives in scenarios, over the real program.

use crate::binary::Scratch;
use crate::both::fails;

/// A program of statements, one list a rank, with real bytes.
fn program(mpi: &str, ranks: &[&str]) -> String {
    let lists: Vec<String> = ranks.iter().map(|ops| format!("[ {ops} ]")).collect();
    format!(
        "{{ \"schema\": 1, \"title\": \"t\", \"machine\": \"ideal\", \
         \"mpi\": {{ \"payload\": \"real\"{mpi} }}, \"workload\": {{ \"kind\": \"program\", \
         \"ranks\": [ {} ] }} }}",
        lists.join(", ")
    )
}

const EVERY: &str = r#"
    { "op": "barrier" },
    { "op": "bcast", "root": 1, "size": "100 KiB", "algorithm": "pipelined_ring" },
    { "op": "bcast", "size": "8 B", "over": "nodes", "comm": 2 },
    { "op": "scatter", "root": 2, "size": "9 B", "algorithm": "binomial" },
    { "op": "scatterv", "root": 2, "sizes": [ "0 B", "70 kB", "5 B" ] },
    { "op": "gather", "size": "9 B", "algorithm": "linear" },
    { "op": "gatherv", "sizes": [ "3 B", "0 B", "5 B" ], "comm": 2 },
    { "op": "allgather", "size": "70 kB" },
    { "op": "allgatherv", "sizes": [ "3 B", "0 B", "5 B" ], "algorithm": "recursive_doubling" },
    { "op": "reduce", "root": 1, "count": 3, "type": "int64_pair", "operator": "affine" },
    { "op": "allreduce", "count": 3, "type": "double", "over": "nodes" },
    { "op": "allreduce", "count": 30000, "algorithm": "reduce_scatter_allgather" },
    { "op": "reduce_scatter", "counts": [ 0, 4, 1 ], "operator": "bxor", "algorithm": "pairwise" },
    { "op": "reduce_scatter_block", "count": 4, "type": "int32_pair", "operator": "maxloc" },
    { "op": "alltoall", "size": "9 B", "comm": 1 },
    { "op": "scan", "count": 2 },
    { "op": "exscan", "count": 2, "algorithm": "linear" }"#;

#[test]
fn every_collective_runs_in_a_program() {
    let scratch = Scratch::new("collectives-every");
    let both = r#", { "op": "alltoallv", "algorithm": "linear", "send_sizes": [ "1 B", "2 B", "3 B" ],
        "receive_sizes": [ SIZES ] }"#;
    let ranks: Vec<String> = ["1 B", "2 B", "3 B"]
        .iter()
        .map(|own| {
            EVERY.to_owned() + &both.replace("SIZES", &format!("\"{own}\", \"{own}\", \"{own}\""))
        })
        .collect();
    let ranks: Vec<&str> = ranks.iter().map(String::as_str).collect();
    scratch.write("all.json", &program("", &ranks));
    scratch.run(&["run", "all.json", "--out", "r"]).check(0, &[]);
    // Other choices of the library give other times.
    let time = |mpi: &str, out: &str| {
        scratch.write("all.json", &program(mpi, &ranks));
        scratch.run(&["run", "all.json", "--format", "csv", "--out", out]).check(0, &[]).out
    };
    let (ring, doubling) = (
        time(r#", "collectives": { "allgather": "ring" }"#, "a"),
        time(r#", "collectives": { "allgather": "recursive_doubling" }"#, "b"),
    );
    assert_ne!(ring, doubling);
    assert_eq!(ring, time("", "c"), "the ring is the default");
}

/// The statements of [`EVERY`] as those that only begin, with requests `r0` and so on.
fn begun() -> (String, Vec<String>) {
    let (mut lines, mut names) = (Vec::new(), Vec::new());
    for line in EVERY.lines().filter(|line| line.contains("\"op\"")) {
        let name = format!("r{}", names.len());
        let begins = line.trim().trim_end_matches(',').replacen("\"op\": \"", "\"op\": \"i", 1);
        lines.push(format!("{}, \"req\": \"{name}\" }}", begins.trim_end_matches('}').trim_end()));
        names.push(format!("\"{name}\""));
    }
    (lines.join(",\n"), names)
}

#[test]
fn every_collective_is_begun_in_a_program() {
    let scratch = Scratch::new("collectives-begun");
    let (lines, names) = begun();
    assert_eq!(names.len(), 17, "every statement but one");
    let reversed: Vec<String> = names.iter().rev().cloned().collect();
    // One waits in the order in which they began, one tests one of them first, one waits backwards after a
    // computation.
    let all = format!("{lines}, {{ \"op\": \"waitall\", \"reqs\": [{}] }}", names.join(", "));
    let tested = format!(
        "{lines}, {{ \"op\": \"test\", \"req\": \"r3\" }}, {{ \"op\": \"waitall\", \"reqs\": [{}] }}",
        reversed.join(", ")
    );
    let late = format!(
        "{lines}, {{ \"op\": \"compute\", \"time\": \"1 ms\" }}, {{ \"op\": \"waitall\", \"reqs\": [{}] }}",
        reversed.join(", ")
    );
    scratch.write("begun.json", &program("", &[&all, &tested, &late]));
    scratch.run(&["run", "begun.json", "--out", "r"]).check(0, &[]);
    // A barrier has no buffers: it goes over any communicator, and goes on when that is freed.
    let split = r#"{ "op": "comm_split", "color": 1, "new": "half" },
        { "op": "ibarrier", "comm": "half", "req": "a" }, { "op": "comm_free", "comm": "half" },
        { "op": "wait", "req": "a" }"#;
    scratch.write("split.json", &program("", &[split, split, split]));
    scratch.run(&["run", "split.json", "--out", "s"]).check(0, &[]);
}

#[test]
fn what_cannot_be_begun_is_refused() {
    let scratch = Scratch::new("collectives-refused");
    let begin = r#"{ "op": "ibcast", "size": "8 B", "req": "a" }"#;
    let no_name = r#"{ "op": "ibcast", "size": "8 B" }"#;
    scratch.write("name.json", &program("", &[no_name, no_name]));
    scratch.run(&["run", "name.json"]).check(3, &["E0306", "`req`"]);
    let twice = format!("{begin}, {begin}");
    scratch.write("twice.json", &program("", &[&twice, &twice]));
    scratch.run(&["run", "twice.json"]).check(3, &["`a` is still open"]);
    let wait = r#"{ "op": "wait", "req": "a" }"#;
    let cancelled = format!("{begin}, {{ \"op\": \"cancel\", \"req\": \"a\" }}, {wait}");
    scratch.write("cancel.json", &program("", &[&cancelled, &cancelled]));
    let answer = scratch.run(&["run", "cancel.json"]);
    answer.check(3, &["E0507", "`a` is a request of `ibcast`"]);
    let measured = |ranks: &str| {
        format!(
            "{{ \"schema\": 1, \"title\": \"t\", \"machine\": \"broadwell-edr\", {ranks} \"workload\": \
             {{ \"kind\": \"nonblocking_collective\", \"operation\": \"allreduce\", \"size\": \"8 B\", \
             \"ranks_per_node\": 2, \"rounds\": 2, \"compute\": \"10 us\" }} }}"
        )
    };
    scratch.write("threads.json", &measured(r#""ranks": { "threads_per_process": 2 },"#));
    let answer = scratch.run(&["run", "threads.json"]);
    answer.check(3, &["E0503", "workload.kind", "processes of 2 threads"]);
    for addressing in ["endpoints", "xios_ep"] {
        let ranks = format!("\"ranks\": {{ \"addressing\": \"{addressing}\" }},");
        scratch.write("endpoints.json", &measured(&ranks));
        scratch.run(&["run", "endpoints.json"]).check(3, &["E0503", "ranks.addressing"]);
    }
    scratch.write("whole.json", &measured(""));
    let whole = scratch.run(&["run", "whole.json", "--out", "w"]).check(0, &[]);
    assert!(whole.out.contains("exposed"), "{}", whole.out);
}

/// The simulated program does not finish, and the report says why.
#[track_caller]
fn check_stopped(scratch: &Scratch, file: &str, words: &[&str]) {
    let answer = scratch.run(&["run", file]).check(1, &["error[E1003]"]);
    for word in words {
        assert!(answer.out.contains(word), "does not say `{word}`: {}", answer.out);
    }
}

#[test]
fn different_collectives_end_in_a_deadlock_with_their_names() {
    let scratch = Scratch::new("collectives-names");
    let text = program(
        "",
        &[
            r#"{ "op": "bcast", "root": 1, "size": "8 B" }"#,
            r#"{ "op": "reduce", "root": 1, "count": 2 }"#,
        ],
    );
    scratch.write("names.json", &text);
    // What rank 0 waits for never comes; rank 1 waits for rank 0.
    let words = ["deadlock", "process 0: MPI_Bcast", "process 1: MPI_Reduce", "communicator 0"];
    check_stopped(&scratch, "names.json", &words);
}

#[test]
fn collectives_in_different_order_on_two_communicators_end_in_a_deadlock() {
    let scratch = Scratch::new("collectives-order");
    let one = r#"{ "op": "allreduce", "count": 1, "comm": 0 }"#;
    let two = r#"{ "op": "scan", "count": 1, "comm": 1 }"#;
    let (ahead, behind) = (format!("{one}, {two}"), format!("{two}, {one}"));
    scratch.write("order.json", &program("", &[&ahead, &behind]));
    let words = ["deadlock", "MPI_Allreduce", "MPI_Scan", "communicator 0", "communicator 1"];
    check_stopped(&scratch, "order.json", &words);
}

#[test]
fn different_counts_are_told_with_both_ranks() {
    let scratch = Scratch::new("collectives-counts");
    let op = |count| format!(r#"{{ "op": "allreduce", "count": {count} }}"#);
    scratch.write("counts.json", &program("", &[&op(2), &op(3)]));
    let words = ["MPI_Allreduce: rank 1 waits for 12 B of rank 0", "do not agree", "): 8 B come"];
    check_stopped(&scratch, "counts.json", &words);
    let op = |root| format!(r#"{{ "op": "bcast", "root": {root}, "size": "8 B" }}"#);
    scratch.write("roots.json", &program("", &[&op(1), &op(0)]));
    check_stopped(&scratch, "roots.json", &["deadlock", "process 0: MPI_Bcast"]);
}

/// Latency in microseconds of one measured collective.
fn latency(scratch: &Scratch, more: &str) -> f64 {
    let text = format!(
        "{{ \"schema\": 1, \"title\": \"t\", \"machine\": \"broadwell-edr\", \"workload\": \
         {{ \"kind\": \"collective\", \"ranks_per_node\": 4, \"rounds\": 4, \"warmup\": 1, {more} }} }}"
    );
    scratch.write("one.json", &text);
    let out = scratch.run(&["run", "one.json", "--format", "csv"]).check(0, &[]).out;
    let line = out.lines().find(|line| line.contains(",latency,")).unwrap();
    line.split(',').nth(2).unwrap().parse().unwrap()
}

#[test]
fn the_shape_of_measured_collectives_is_that_of_their_algorithms() {
    let scratch = Scratch::new("collectives-shape");
    let allreduce = |algorithm: &str, size: &str| {
        let more = format!(
            "\"operation\": \"allreduce\", \"algorithm\": \"{algorithm}\", \"size\": \"{size}\""
        );
        latency(&scratch, &more)
    };
    // Fewer messages win where they are short, fewer bytes where they are long.
    let (doubling, halves) = ("recursive_doubling", "reduce_scatter_allgather");
    assert!(allreduce(doubling, "8 B") < allreduce(halves, "8 B"));
    assert!(allreduce(halves, "1 MiB") < allreduce(doubling, "1 MiB"));
    for operation in [
        "barrier",
        "bcast",
        "scatter",
        "gather",
        "allgather",
        "reduce",
        "reduce_scatter_block",
        "alltoall",
        "scan",
        "exscan",
    ] {
        let at = |size: &str| {
            latency(&scratch, &format!("\"operation\": \"{operation}\", \"size\": \"{size}\""))
        };
        let (short, long) = (at("8 B"), at("64 KiB"));
        assert!(short > 0.0 && (short < long || operation == "barrier"), "{operation}");
    }
}

/// Three ranks that broadcast so much, and a scenario's choices.
fn broadcast(collectives: &str, size: &str) -> String {
    let statement = format!("{{ \"op\": \"bcast\", \"size\": {size} }}");
    let mpi = format!(", \"collectives\": {{ {collectives} }}");
    program(&mpi, &[&statement, &statement, &statement])
}

const RULES: &str = r#""bcast": [ { "algorithm": "linear", "up_to": "1 KiB" },
    { "algorithm": "chain", "ranks_up_to": 2 },
    { "algorithm": "pipelined_ring", "segment": "16 KiB", "source": "a test" } ]"#;

#[test]
fn the_first_rule_that_fits_chooses_the_algorithm() {
    let scratch = Scratch::new("collectives-rules");
    let time = |collectives: &str, size: &str| {
        scratch.write("b.json", &broadcast(collectives, size));
        scratch.run(&["run", "b.json", "--format", "csv", "--out", "r"]).check(0, &[]).out
    };
    let by = |name: &str, segment: &str| {
        format!("\"bcast\": \"{name}\", \"bcast_segment\": \"{segment}\"")
    };
    // Known when the scenario is read, and computed when it is called.
    for (size, computed) in [("\"1 KiB\"", "\"= 1024\""), ("\"100 KiB\"", "\"= 102400\"")] {
        let (linear, ring) = (by("linear", "8 KiB"), by("pipelined_ring", "16 KiB"));
        let chosen = if size == "\"1 KiB\"" { &linear } else { &ring };
        let other = if size == "\"1 KiB\"" { &ring } else { &linear };
        assert_eq!(time(RULES, size), time(chosen, size), "{size}");
        assert_ne!(time(RULES, size), time(other, size), "{size}");
        assert_eq!(time(RULES, computed), time(chosen, computed), "{computed}");
        assert_ne!(time(RULES, computed), time(other, computed), "{computed}");
    }
}

#[test]
fn rules_are_about_the_ranks_of_a_communicator_that_was_made() {
    let rules = r#", "collectives": { "allreduce": [
        { "algorithm": "ring", "ranks_up_to": 2, "over": "nodes" }, { "algorithm": "reduce_bcast" } ] }"#;
    let split = |color| format!(r#"{{ "op": "comm_split", "color": {color}, "new": "part" }}"#);
    let calls = split(0) + r#", { "op": "allreduce", "comm": "part", "count": 1 }"#;
    // Rank 1 does not call it.
    let text = program(rules, &[&calls, &split(0), &split(1)]);
    fails("collectives-rules-of-a-part", &text, &["of `ring` on communicator"]);
}

#[test]
fn the_resolved_scenario_says_which_rule_chose_and_where_it_stands() {
    let scratch = Scratch::new("collectives-resolved");
    let shown = |collectives: &str, size: &str| {
        scratch.write("b.json", &broadcast(collectives, size));
        scratch.run(&["show", "b.json", "--resolved"]).check(0, &[]).out
    };
    let text = shown(RULES, "\"100 KiB\"");
    let chosen = "\"path\": \"mpi.collectives.bcast\", \"value\": \"pipelined_ring\", \
        \"confidence\": \"chosen\", \"source\": \"a test\", \"reason\": \"rule 3 of mpi.collectives (always): \
        100 KiB, 3 ranks, 2 of a node at most\"";
    assert!(text.contains(chosen), "{text}");
    let text = shown("\"preset\": \"openmpi-4.1\"", "\"512 B\"");
    let chosen = "\"value\": \"knomial\", \"confidence\": \"spec\", \"source\": \"OMPITUNED\", \
        \"reason\": \"rule 4 of openmpi-4.1 (up to 1023 B, up to 3 ranks): 512 B, 3 ranks, 2 of a node at most\"";
    assert!(text.contains(chosen), "{text}");
    assert!(!text.contains("\"bcast\": \"binomial\""), "no default holds: {text}");
    assert!(text.contains("\"scan\": \"recursive_doubling\""), "the preset knows none: {text}");
    assert!(!shown("\"bcast\": \"linear\"", "\"8 B\"").contains("mpi.collectives.bcast"));
}
