//! Real MPI programs in C: what `mpisim cc` compiles and `mpisim exec` runs. These tests need a C compiler.

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::thread;

use crate::binary::{Answer, Scratch};

const PING_PONG: &str = include_str!("../programs/c/ping_pong.c");
const WRONG: &str = include_str!("../programs/c/wrong.c");

/// A program of this text, compiled: these tests need a C compiler.
pub(crate) fn compiled(scratch: &Scratch, text: &str) {
    scratch.write("program.c", text);
    let words = ["cc", "--", "-O1", "-g", "-Wall", "-Werror", "program.c", "-o", "program", "-lm"];
    let answer = run(scratch, &words);
    assert_eq!(answer.exit, 0, "{}", answer.err);
}

/// Programs about one family of functions each: name, text, ranks, and what they print.
const FAMILIES: [(&str, &str, &str, &str); 13] = [
    (
        "collectives",
        include_str!("../programs/c/collectives.c"),
        "4",
        "\
sum, product below, greatest: 10 -1 13 10 1 13 10 2 13 10 6 13
in the order of ranks: 120 291 2 3 120 291 6 13 120 291 24 57 120 291 120 291
greatest and where, complex product: 4 2 -28 -36 4 2 -28 -36 4 2 -28 -36 4 2 -28 -36
every second of rank 1: 10 -7 11 -7 12 -7 10 -1 11 -1 12 -1 10 -7 11 -7 12 -7 10 -7 11 -7 12 -7
blocks of all: 0 100 200 300 1 2 101 102 2 3 4 102 3 4 5 6
of one half, of the other, rank, size: 22 24 1 2 24 22 1 2 22 24 0 2 24 22 0 2
begun and prepared: 2 0 30 23 33 3 1 30 20 30 2 0 30 21 31 3 1 30 22 32
",
    ),
    (
        "one_sided",
        include_str!("../programs/c/one_sided.c"),
        "4",
        "\
put into blocks apart: 0 3 0 0 13 23 0 0 0 0 10 20 0 1 0 0 11 21 0 2 0 0 12 22
fetched, added to, counted: 0 1 4 0 1 -1 0 1 -1 0 1 -1
got from the right: 0 0 0 1 0 0 2 0 0 3 0 0
loaded and got from shared memory: 201 8 4 101 202 8 4 102 203 8 4 103 200 8 4 100
attached by the right: 13 23 33 3
",
    ),
    (
        "callbacks",
        include_str!("../programs/c/callbacks.c"),
        "3",
        "\
copied, of 3 ranks
copied, of 3 ranks
deleted by 3 ranks: 0
deleted by 3 ranks: 0
finalize
deleted by 1 ranks: 0
deleted by 3 ranks: 0
",
    ),
    (
        "partitioned",
        include_str!("../programs/c/partitioned.c"),
        "3",
        "partitions seen: 8, wrong: 0, done: 1\n",
    ),
    (
        "edges",
        include_str!("../programs/c/edges.c"),
        "3",
        "\
0: the next one has 32 bytes in units of 2
1: the next one has 48 bytes in units of 4
2: the next one has 16 bytes in units of 1
empty status: 1 1 1 0
MPI_REPLACE commutes: 0
MPI_WIN_NULL 12
a class with a code stays: 1, without one it goes: 1
errors of statuses: 0 0
no type, no elements: 1 0, one element: 1
",
    ),
    (
        "attributes",
        include_str!("../programs/c/attributes.c"),
        "2",
        "delete of 2 with 9
copy of 1 with 9
copy of 4 with 9
copy of 3 with 9
value 1
value 4
no value
no value
value 5
freed 1
key error 1
delete of 4 with 9
refused 1
delete of 4 with 9
delete of 1 with 9
delete of 1 with 9
delete of 4 with 9
delete of 3 with 9
no value
delete of 1 of a datatype
kept 1
delete of 1 of a datatype
tags 1
universe 1
set by MPI 1
delete of 2 with 9
delete of 1 with 9
",
    ),
    (
        "infos",
        include_str!("../programs/c/infos.c"),
        "2",
        "1 keys: second=twenty(7,1)
2 keys: first=one(4,1) second=twenty(7,1)
length 6 1
cut twe, needs 7
third 0
no key 1
empty key 1
no info 1
no number 1
freed 1
",
    ),
    (
        "topologies",
        include_str!("../programs/c/topologies.c"),
        "4",
        "0 dims: 5 4 3
1 dims: 5 4 3
2 dims: 5 4 3
3 dims: 5 4 3
0 grid: 2 2 1 0 0 0
1 grid: 2 2 1 0 0 1
2 grid: 2 2 1 0 1 0
3 grid: 2 2 1 0 1 1
0 shift: 2 2 -3 1
1 shift: 3 3 0 -3
2 shift: 0 0 -3 3
3 shift: 1 1 2 -3
0 coords: 3 1 3
1 coords: 3 0 2
2 coords: 2 1 1
3 coords: 2 0 0
0 neighbours: 21 20 -1 12
1 neighbours: 31 30 3 -1
2 neighbours: 1 0 -1 32
3 neighbours: 11 10 23 -1
0 in pieces: 20 -1 21 20 -1 21 -1 -1 -1 10 -1 11
1 in pieces: 30 -1 31 30 -1 31 0 -1 1 -1 -1 -1
2 in pieces: 0 -1 1 0 -1 1 -1 -1 -1 30 -1 31
3 in pieces: 10 -1 11 10 -1 11 20 -1 21 -1 -1 -1
0 row: 2 0 1
1 row: 2 1 1
2 row: 2 0 1
3 row: 2 1 1
0 copy: 1
1 copy: 1
2 copy: 1
3 copy: 1
0 left out: 0
1 left out: 0
2 left out: 0
3 left out: 1
0 graph: 1 2 1 2
1 graph: 0 0
2 graph: 0 0
3 graph:
0 ring: 3 5 1 5 3
1 ring: 0 6 2 6 0
2 ring: 1 7 3 7 1
3 ring: 2 8 0 8 2
0 star: 1 7 1
1 star: 0 2 3 7 8 9 -1
2 star: 1 8 1
3 star: 1 9 1
",
    ),
    (
        "packs",
        include_str!("../programs/c/packs.c"),
        "2",
        "enough 1
no room 1
12 of 20: 00 00 00 01 00 00 00 03 00 00 00 05 3f e0 00 00 00 00 00 00
back 1 3 5, at 12
unknown form 1
",
    ),
    (
        "halos",
        include_str!("../programs/c/halos.c"),
        "3",
        "\
halo 0: 0 10 20 30
halo 1: 5 15 25 35
halo 2: 105 115 125 135
short 0: 0 10 20 30
short 1: -1 -2 120 130
short 2: -2 -3 220 230
begun 0: 7 10 20 30
begun 1: 7 110 120 130
begun 2: 7 210 220 230
seen before the wait 0: 0
seen before the wait 1: -1
seen before the wait 2: -2
",
    ),
    (
        "lifetimes",
        include_str!("../programs/c/lifetimes.c"),
        "3",
        "\
freed and used: 3 5 6
around: 11 -1 16, 10 -1 15
put into what stayed attached: 3
",
    ),
    ("order", include_str!("../programs/c/order.c"), "4", "rank 3\nrank 2\nrank 1\nrank 0\n"),
    (
        "sessions",
        include_str!("../programs/c/sessions.c"),
        "3",
        "2 sets, name of 12 bytes, sum 3
handle 1, world 1
no set 1
ended 1, 2 of them, first 0
pair 1
variables 1
over 1
",
    ),
];

#[test]
fn each_family_of_functions_does_what_mpi_says() {
    for (name, text, ranks, printed) in FAMILIES {
        let scratch = Scratch::new(&format!("exec-{name}"));
        compiled(&scratch, text);
        let words = ["exec", "-n", ranks, "--machine", "broadwell-edr", "--output", "plain"];
        let ran = run(&scratch, &[&words[..], &["--", "./program"]].concat());
        assert_eq!(ran.exit, 0, "{name}: {}{}", ran.out, ran.err);
        assert!(ran.out.starts_with(printed), "{name}: {}", ran.out);
        // One of them receives into what it sends, which is not complete.
        let notes = ran.err.contains("MPI forbids");
        assert_eq!(notes, name == "halos", "{name}: {}", ran.err);
        if name == "lifetimes" {
            for said in [
                "requests that it has not completed, 1 in all: 1 of MPI_Isend (program.c:88)\n",
                "note: accesses to a window overlap",
                "note: a message of 4 B from rank 0 to rank 1 with tag 9 was never received\n",
            ] {
                assert_eq!(ran.err.matches(said).count(), 1, "{said}: {}", ran.err);
            }
        }
    }
}

/// The programs of `examples/programs`: text, arguments, and the result that they print.
const EXAMPLES: [(&str, &[&str], &str); 4] = [
    (
        include_str!("../../examples/programs/jacobi.c"),
        &["33", "4097", "10"],
        // 34 / 2 x 4098 / 2, times the 20th power of the mean of cos(pi / 34) and cos(2 pi / 4098).
        "sum of squares 33376.419218,",
    ),
    (
        include_str!("../../examples/programs/work_queue.c"),
        &["50000", "7"],
        "5133 primes below 50000\n",
    ),
    (
        include_str!("../../examples/programs/hash_table.c"),
        &["60", "251"],
        "240 words counted, 0 slots wrong\n",
    ),
    (
        include_str!("../../examples/programs/transpose.c"),
        &["124", "3"],
        "trace 953250, 0 elements wrong\n",
    ),
];

/// Machine, nodes, and a field that is set: what carries the messages has no part in the result.
const CARRIERS: [(&str, &str, &str); 4] = [
    ("broadwell-edr", "1", "mpi.rendezvous_intra=coop_load"),
    ("broadwell-edr", "2", "mpi.rma.transport=rdma"),
    ("knc-qdr", "2", "mpi.rendezvous=rget"),
    ("knl-edr", "4", "mpi.collectives.preset=mpich-4"),
];

#[test]
fn each_example_has_its_result_on_any_machine() {
    for (text, arguments, printed) in EXAMPLES {
        let scratch = Scratch::new(&format!("exec-example-{}", arguments[0]));
        compiled(&scratch, text);
        for (machine, nodes, field) in CARRIERS {
            let words = ["exec", "-n", "4", "--machine", machine, "--nodes", nodes, "--set", field];
            let program = ["--out", "out", "--output", "plain", "--", "./program"];
            let ran = run(&scratch, &[&words[..], &program, arguments].concat());
            let place = format!("{machine}, {nodes} nodes, {field}: {}{}", ran.out, ran.err);
            assert_eq!(ran.exit, 0, "{place}");
            assert!(ran.out.starts_with(printed), "{place}");
        }
    }
}

/// The scenarios beside the programs are sound, those of Python included.
#[test]
fn the_scenarios_of_the_examples_are_valid() {
    let scratch = Scratch::new("exec-example-scenarios");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/programs");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let scenarios: Vec<_> =
        files.filter(|path| path.extension().is_some_and(|suffix| suffix == "json")).collect();
    assert_eq!(scenarios.len(), 5, "{scenarios:?}");
    for path in scenarios {
        let answer = run(&scratch, &["validate", path.to_str().unwrap()]);
        assert_eq!(answer.exit, 0, "{}{}", answer.out, answer.err);
    }
}

/// The number that a program has printed behind these words.
fn printed(ran: &Answer, words: &str) -> f64 {
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let number = ran.out.lines().find_map(|line| line.strip_prefix(words));
    number.expect(&ran.out).parse().unwrap()
}

/// A metric of the only point of a scenario.
fn stated(scratch: &Scratch, scenario: &str, metric: &str) -> f64 {
    scratch.write("same.json", scenario);
    let ran = run(scratch, &["run", "same.json", "--format", "json", "--out", "same"]);
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    result["points"][0]["metrics"][metric]["value"].as_f64().unwrap()
}

/// Runs mpisim with a cache of the test's own.
pub(crate) fn run(scratch: &Scratch, arguments: &[&str]) -> Answer {
    let mut command = scratch.command(arguments);
    command.env("XDG_CACHE_HOME", scratch.path("cache"));
    Answer::from(command.output().unwrap())
}

/// Bytes of a message, what the program measures, and what the scenario says of the same.
#[test]
fn a_ping_pong_measures_what_the_scenario_does() {
    let scratch = Scratch::new("exec-ping-pong");
    compiled(&scratch, PING_PONG);
    for size in ["0", "8", "4096", "20000", "1000000"] {
        for (nodes, between) in [("2", "nodes"), ("1", "cores")] {
            let mut words = vec!["exec", "-n", "2", "--machine", "broadwell-edr", "--nodes", nodes];
            words.extend(["--out", "exec", "--output", "plain", "--", "./program", size, "20"]);
            let measured = printed(&run(&scratch, &words), "latency ");
            let scenario = format!(
                r#"{{ "schema": 1, "title": "The same", "machine": "broadwell-edr", "nodes": {nodes},
                "mpi": {{ "payload": "real" }},
                "workload": {{ "kind": "ping_pong", "size": "{size} B", "rounds": 20, "warmup": 10,
                "between": "{between}" }} }}"#
            );
            let stated = stated(&scratch, &scenario, "latency");
            // The program reads the clock once more than the rounds take: 25 ns.
            let stated = stated + 0.025 / 40.0;
            assert!(
                (measured - stated).abs() < 1e-6,
                "{size} B between {between}: {measured}, {stated} us"
            );
        }
    }
}

/// Loops as those of `osu_mbw_mr` give the message rate of the workload of that name: the clock, which the program
/// reads, and the interval between the first and the last reading of it make less than 1 %.
#[test]
fn loops_measure_the_message_rate_of_the_scenario() {
    let scratch = Scratch::new("exec-message-rate");
    compiled(&scratch, include_str!("../programs/c/message_rate.c"));
    for (machine, pairs) in [("broadwell-edr", 1_u32), ("broadwell-edr", 14), ("knl-edr", 4)] {
        for size in ["8", "4096", "65536"] {
            let ranks = (2 * pairs).to_string();
            let words =
                ["exec", "-n", &ranks, "--machine", machine, "--nodes", "2", "--out", "exec"];
            let program = ["--output", "plain", "--", "./program", size, "10"];
            let ran = run(&scratch, &[&words[..], &program].concat());
            let measured = printed(&ran, "message rate ");
            let scenario = format!(
                r#"{{ "schema": 1, "title": "The same", "machine": "{machine}", "nodes": 2,
                "mpi": {{ "payload": "real" }},
                "workload": {{ "kind": "message_rate", "senders_per_node": {pairs}, "size": "{size} B",
                "window": 64, "rounds": 10, "direction": "one" }} }}"#
            );
            let ratio = measured / stated(&scratch, &scenario, "message_rate");
            assert!(
                (0.99..=1.01).contains(&ratio),
                "{pairs} pairs, {size} B on {machine}: {ratio}"
            );
        }
    }
}

/// A collective in a loop takes what the workload `collective` says, and one reading of the clock.
#[test]
fn loops_measure_the_collectives_of_the_scenario() {
    let scratch = Scratch::new("exec-collectives");
    compiled(&scratch, include_str!("../programs/c/collective_loop.c"));
    for (operation, size) in
        [("allreduce", "8"), ("allgather", "40000"), ("alltoall", "8"), ("bcast", "4096")]
    {
        let words = ["exec", "-n", "8", "--machine", "broadwell-edr", "--nodes", "2"];
        let program = ["--output", "plain", "--", "./program", operation, size, "20"];
        let ran = run(&scratch, &[&words[..], &program].concat());
        let measured = printed(&ran, "took ");
        let scenario = format!(
            r#"{{ "schema": 1, "title": "The same", "machine": "broadwell-edr", "nodes": 2,
            "workload": {{ "kind": "collective", "operation": "{operation}", "ranks_per_node": 4,
            "size": "{size} B", "rounds": 20 }} }}"#
        );
        let stated = stated(&scratch, &scenario, "time");
        // Ranks that read the clock come a little later to what they share.
        assert!((measured - stated).abs() < 0.1, "{operation}: {measured}, {stated} us");
    }
}

/// The workload `exec` of a scenario that is swept, without `mpisim exec`.
#[test]
fn a_scenario_runs_the_program_at_each_point() {
    let scratch = Scratch::new("exec-scenario");
    compiled(&scratch, PING_PONG);
    let scenario = r#"{ "schema": 1, "title": "Swept", "machine": "broadwell-edr", "nodes": 1,
        "workload": { "kind": "exec", "command": ["./program", "100000", "5"], "processes": 2, "processes_per_node": 2 },
        "sweep": { "mpi.rendezvous_intra": ["rget", "coop_p2p"] } }"#;
    scratch.write("swept.json", scenario);
    let ran = run(&scratch, &["run", "swept.json", "--out", "out"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    // Whose lines they are nothing would say: those of a sweep are not shown.
    assert!(!ran.out.contains("latency "), "{}", ran.out);
    let one = scenario.replace(r#", "coop_p2p""#, "");
    scratch.write("one.json", &one);
    let ran = run(&scratch, &["run", "one.json", "--out", "one"]);
    assert!(ran.out.starts_with("[0] latency "), "{}", ran.out);
    let wrong = one.replace(r#""processes": 2"#, r#""environment": ["A=b", "=c"], "processes": 2"#);
    scratch.write("wrong.json", &wrong);
    let ran = run(&scratch, &["run", "wrong.json", "--out", "one"]);
    assert_eq!(ran.exit, 3, "{}", ran.err);
    assert!(ran.err.contains("workload.environment"), "{}", ran.err);
}

/// With simulated clocks a program that measures by the clocks of the C library measures the machine.
#[test]
fn clocks_tell_simulated_time_where_the_user_says_so() {
    let scratch = Scratch::new("exec-clocks");
    compiled(&scratch, include_str!("../programs/c/clocks.c"));
    let exec = || {
        let words = ["exec", "-n", "2", "--machine", "broadwell-edr", "--clock", "simulated"];
        run(&scratch, &[&words[..], &["--", "./program"]].concat())
    };
    let ran = exec();
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    for rank in ["[0] 0: 1 1 1, ", "[1] 1: 1 1 1, "] {
        let line = ran.out.lines().find(|line| line.starts_with(rank)).expect(&ran.out);
        assert!(line.ends_with(" readings, year 2026"), "{line}");
    }
    assert_eq!(ran.out, exec().out);
}

/// A number that the program prints is a metric of each point: in results, figures and claims.
#[test]
fn numbers_that_a_program_prints_are_metrics() {
    let scratch = Scratch::new("exec-prints");
    compiled(&scratch, PING_PONG);
    let scenario = |pattern: &str| {
        let prints = format!(r#"{{ "name": "one_way", "unit": "us", "pattern": "{pattern}" }}"#);
        format!(
            r#"{{ "schema": 1, "title": "Printed", "machine": "broadwell-edr", "nodes": 1,
            "workload": {{ "kind": "exec", "command": ["./program", "100000", "5"], "processes": 2,
                "processes_per_node": 2, "prints": [ {prints} ] }},
            "sweep": {{ "mpi.rendezvous_intra": ["rget", "coop_p2p"] }},
            "figures": [ {{ "x": "mpi.rendezvous_intra", "y": "one_way" }} ] }}"#
        )
    };
    scratch.write("printed.json", &scenario("^latency ([0-9.]+)"));
    let ran = run(&scratch, &["run", "printed.json", "--out", "out", "--format", "json"]);
    assert_eq!(ran.exit, 0, "{}{}", ran.out, ran.err);
    let result: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let words = ["exec", "-n", "2", "--machine", "broadwell-edr", "--output", "plain"];
    for (point, scheme) in ["rget", "coop_p2p"].into_iter().enumerate() {
        let metric = &result["points"][point]["metrics"]["one_way"];
        assert_eq!(metric["unit"], "us");
        let set = format!("mpi.rendezvous_intra={scheme}");
        let more = ["--set", &set, "--", "./program", "100000", "5"];
        let ran = run(&scratch, &[&words[..], &more].concat());
        let printed = ran.out.lines().find_map(|line| line.strip_prefix("latency "));
        let printed: f64 = printed.expect(&ran.out).parse().unwrap();
        let value = metric["value"].as_f64().unwrap();
        assert!((value - printed).abs() < 1e-9, "{scheme}: {value} and {printed}");
    }
    assert!(scratch.path("out/figure-1.svg").exists());
    scratch.write("missing.json", &scenario("^bandwidth ([0-9.]+)"));
    let ran = run(&scratch, &["run", "missing.json", "--out", "missing"]);
    assert_eq!(ran.exit, 1, "{}", ran.err);
    assert!(
        ran.out.contains("no rank has printed a line with a number that matches"),
        "{}",
        ran.out
    );
    for wrong in ["^latency", "(["] {
        scratch.write("wrong.json", &scenario(wrong));
        let ran = run(&scratch, &["run", "wrong.json", "--out", "wrong"]);
        assert_eq!(ran.exit, 3, "{}", ran.err);
        assert!(ran.err.contains("workload.prints[0].pattern"), "{}", ran.err);
    }
}

/// Each rank computes as long as its number says, and prints what it has read and waited for.
const COMPUTES: &str = include_str!("../programs/c/computes.c");

/// The times that the program has printed, one line for each rank.
fn times(ran: &Answer) -> Vec<&str> {
    ran.out.lines().filter(|line| line.contains("] rank ")).collect()
}

#[test]
fn a_recording_of_computation_gives_the_same_times_again() {
    let scratch = Scratch::new("exec-compute");
    compiled(&scratch, COMPUTES);
    let exec = |out: &str, compute: &str, more: &[&str]| {
        let words = ["exec", "-n", "3", "--machine", "broadwell-edr", "--compute", compute];
        let out = ["--out", out];
        run(&scratch, &[&words[..], &out, more, &["--", "./program"]].concat())
    };
    let none = exec("none", "none", &[]);
    assert_eq!(none.exit, 0, "{}{}", none.out, none.err);
    let measured = exec("measured", "measured", &[]);
    assert_eq!(measured.exit, 0, "{}{}", measured.out, measured.err);
    let recorded = exec("recorded", "recorded=measured/compute.json", &[]);
    assert_eq!(recorded.exit, 0, "{}{}", recorded.out, recorded.err);
    assert_eq!(times(&measured), times(&recorded));
    assert_eq!(times(&measured).len(), 3);
    assert_ne!(times(&none), times(&recorded));
    let time = |ran: &Answer| -> f64 {
        let line = ran.out.lines().find_map(|line| line.strip_prefix("[0] rank 0: "));
        let (seconds, _) = line.and_then(|line| line.split_once(' ')).expect(&ran.out);
        seconds.parse().unwrap()
    };
    let slower =
        exec("slower", "recorded=measured/compute.json", &["--set", "workload.compute_factor=3"]);
    let ratio = time(&slower) / time(&recorded);
    assert!((2.5..=3.5).contains(&ratio), "{ratio}: {}{}", slower.out, slower.err);
    // Another number of ranks has computed something else, and a file that is not there is no recording: nothing runs.
    let words = ["exec", "-n", "2", "--machine", "broadwell-edr", "--out", "other", "--compute"];
    for (file, said) in [
        ("measured/compute.json", "measured/compute.json is of 3 ranks, not of 2"),
        ("absent.json", "the recording absent.json cannot be read"),
        ("program.c", "program.c is no recording of computation"),
    ] {
        let compute = format!("recorded={file}");
        let other = run(&scratch, &[&words[..], &[&compute, "--", "./program"]].concat());
        assert_eq!(other.exit, 3, "{}{}", other.out, other.err);
        assert!(other.err.contains("workload.compute_file"), "{}", other.err);
        assert!(other.err.contains(said), "{}", other.err);
        assert!(!scratch.path("other").exists());
    }
    // So have other arguments.
    let words = ["exec", "-n", "3", "--machine", "broadwell-edr", "--out", "other", "--compute"];
    let command = ["recorded=measured/compute.json", "--", "./program", "more"];
    let other = run(&scratch, &[&words[..], &command].concat());
    assert_eq!(other.exit, 3, "{}{}", other.out, other.err);
    assert!(other.err.contains("is the recording of `./program`, not of"), "{}", other.err);
    // What runs again, or several times, computes something else each time.
    for (more, exit) in [
        (["--what-if", "library=0.5"], 2),
        (["--trace", "trace.pftrace"], 2),
        (["--set", "mpi.rendezvous_intra=[\"rget\", \"rput\"]"], 3),
    ] {
        let again = exec("again", "measured", &more);
        assert_eq!(again.exit, exit, "{more:?}: {}{}", again.out, again.err);
    }
    let recording = fs::read(scratch.path("measured/compute.json")).unwrap();
    let drawn = exec("measured", "recorded=measured/compute.json", &["--sequence", "sequence.svg"]);
    assert_eq!(times(&drawn), times(&recorded), "{}", drawn.err);
    assert_eq!(fs::read(scratch.path("measured/compute.json")).unwrap(), recording);
    for (wrong, exit) in [("recorded", 2), ("recorded=", 2), ("sometimes", 2), ("measured=fast", 3)]
    {
        assert_eq!(exec("wrong", wrong, &[]).exit, exit, "{wrong}");
    }
}

/// Twenty runs, five at a time, of five processes each: the host gives its cores to them in any order.
#[test]
fn runs_on_a_busy_host_are_the_same_bytes() {
    let scratch = Scratch::new("exec-busy");
    compiled(&scratch, COMPUTES);
    let exec = |out: &str, compute: &str| {
        let words = ["exec", "-n", "5", "--machine", "knl-edr", "--nodes", "2", "--out", out];
        run(&scratch, &[&words[..], &["--compute", compute, "--", "./program"]].concat())
    };
    let measured = exec("measured", "measured");
    assert_eq!(measured.exit, 0, "{}{}", measured.out, measured.err);
    for compute in ["none", "recorded=measured/compute.json"] {
        let runs: Vec<Answer> = (0..2)
            .flat_map(|turn| {
                thread::scope(|scope| {
                    let exec = &exec;
                    let run =
                        |number| scope.spawn(move || exec(&format!("{turn}-{number}"), compute));
                    let runs: Vec<_> = (0..5).map(run).collect();
                    runs.into_iter().map(|run| run.join().unwrap()).collect::<Vec<_>>()
                })
            })
            .collect();
        assert!(runs[0].out.contains("digest "), "{}{}", runs[0].out, runs[0].err);
        for other in &runs[1..] {
            assert_eq!(runs[0].out, other.out);
        }
    }
}

/// Lines come in the order of simulated time, behind the rank, plain or into a folder.
#[test]
fn the_output_of_ranks_goes_where_the_user_says() {
    let scratch = Scratch::new("exec-output");
    compiled(&scratch, COMPUTES);
    let exec = |more: &[&str]| {
        let words = ["exec", "-n", "2", "--machine", "broadwell-edr"];
        run(&scratch, &[&words[..], more, &["--", "./program"]].concat())
    };
    let labelled = exec(&[]);
    let mut ranks: Vec<&str> = times(&labelled).iter().map(|line| &line[..3]).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, ["[0]", "[1]"], "{}", labelled.out);
    assert!(labelled.out.contains("[1] a line without end\n"), "{}", labelled.out);
    let plain = exec(&["--output", "plain"]);
    assert_eq!(labelled.out.replace("[0] ", "").replace("[1] ", ""), plain.out);
    let json = exec(&["--format", "json"]);
    serde_json::from_str::<serde_json::Value>(&json.out).expect("standard output is the result");
    assert!(json.err.contains("[1] a line without end"), "{}", json.err);
    let folder = exec(&["--output", "said"]);
    assert!(!folder.out.contains("a line"), "{}", folder.out);
    let said = fs::read_to_string(scratch.path("said/rank-1.txt")).unwrap();
    assert!(said.ends_with("a line without end"), "{said}");
}

#[test]
fn the_same_program_gives_the_same_digest() {
    let scratch = Scratch::new("exec-digest");
    compiled(&scratch, PING_PONG);
    let digest = || {
        let words = [
            "exec",
            "-n",
            "4",
            "--machine",
            "knc-qdr",
            "--nodes",
            "2",
            "--",
            "./program",
            "100",
            "5",
        ];
        let ran = run(&scratch, &words);
        ran.out.lines().find(|line| line.starts_with("digest ")).map(str::to_owned).expect(&ran.out)
    };
    assert_eq!(digest(), digest());
}

/// What a program does wrong, the exit status of the run, and what is said, with `{text}` for the place of the line of
/// the program that has this text.
const SAID: [(&str, u8, &str); 18] = [
    ("before", 1, "rank 0, MPI_Barrier ({\"before\"}): it is called before MPI_Init"),
    ("after", 1, "MPI_Barrier ({\"after\"}): it is called after MPI_Finalize"),
    (
        "crash",
        1,
        "rank 1: its process has ended by SIGSEGV before MPI_Finalize; its last call was MPI_Comm_rank ({Comm_rank})",
    ),
    (
        "exit",
        5,
        "rank 1: its process has ended by exit status 5 before MPI_Finalize; its last call was MPI_Comm_rank ({Comm_rank})",
    ),
    ("abort", 7, "rank 1 calls MPI_Abort ({\"abort\"}) with 7"),
    (
        "deadlock",
        1,
        "deadlock: 2 threads wait in a cycle
  process 0: MPI_Recv ({\"deadlock\"}) waits for process 1 since 43.4 ns: 4 B from rank 1",
    ),
    (
        "waits",
        1,
        "process 1: MPI_Irecv ({Irecv}, waited for in MPI_Waitall, {Waitall}) waits for process 0 since",
    ),
    ("rank", 1, "rank 0, MPI_Send ({\"rank\"}): rank 5 of 2 does not exist"),
    (
        "missing",
        1,
        "rank 0, MPI_Open_port ({Open_port}): the simulator does not carry this function yet",
    ),
    ("status", 4, "its process has ended by exit status 4"),
    ("handler", 6, "rank 1 calls MPI_Abort ({comm, 6}) with 6"),
    ("again", 1, "100 operators and error handlers run within one another"),
    (
        "operator",
        3,
        "its process has ended by exit status 3; its last call was MPI_Allreduce ({Allreduce})",
    ),
    ("address", 1, "memory of rank 0 at 0x10 cannot be reached: "),
    (
        "constant",
        1,
        "cannot be reached: Bad address (os error 14); its last call was MPI_Recv ({(void *)&constant})",
    ),
    (
        "truncated",
        1,
        "rank 1, MPI_Recv ({if (rank) MPI_Recv(&number}): the message of rank 0 with tag 0 is longer than the 4 bytes of its buffer",
    ),
    (
        "changed",
        1,
        "rank 0, MPI_Wait ({Wait(}): the 300000 bytes that MPI_Isend ({Isend}) sends were changed before the send was complete",
    ),
    (
        "refused",
        9,
        "calls MPI_Abort ({MPI_Abort(MPI_COMM_WORLD, 9)}) with 9 (it was refused before: MPI_File_open: the simulator does not carry files)",
    ),
];

/// A sentence with the places of lines of [`WRONG`] in it.
fn placed(sentence: &str) -> String {
    let mut parts = sentence.split(['{', '}']);
    let mut placed = parts.next().unwrap().to_owned();
    while let (Some(text), Some(more)) = (parts.next(), parts.next()) {
        let line = WRONG.lines().position(|line| line.contains(text)).expect(text) + 1;
        write!(placed, "program.c:{line}{more}").unwrap();
    }
    placed
}

#[test]
fn what_goes_wrong_is_said_and_ends_the_run() {
    let scratch = Scratch::new("exec-wrong");
    compiled(&scratch, WRONG);
    let words =
        ["exec", "-n", "2", "--machine", "broadwell-edr", "--out", "out", "--", "./program"];
    // Many calls that find nothing are no deadlock where the program ends them.
    for fine in ["fine", "probes", "restarted", "starts", "handled"] {
        let ran = run(&scratch, &[&words[..], &[fine]].concat());
        assert_eq!(ran.exit, 0, "{fine}: {}{}", ran.out, ran.err);
    }
    // The process that calls MPI may be a child of the one that was started, and may leave children behind.
    let wrapped =
        run(&scratch, &[&words[..words.len() - 1], &["sh", "-c", "./program fine; true"]].concat());
    assert_eq!(wrapped.exit, 0, "{}{}", wrapped.out, wrapped.err);
    let forks = run(&scratch, &[&words[..], &["forks"]].concat());
    assert_eq!(forks.exit, 0, "{}{}", forks.out, forks.err);
    let child =
        forks.out.lines().find_map(|line| line.strip_prefix("[1] child ")).expect(&forks.out);
    let stat = Path::new("/proc").join(child).join("stat");
    while fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
        thread::yield_now();
    }
    for (how, exit, said) in SAID {
        let ran = run(&scratch, &[&words[..], &[how]].concat());
        assert_eq!(ran.exit, i32::from(exit), "{how}: {}", ran.out);
        assert!(ran.out.contains(&placed(said)), "{how}: {}\n{}", ran.out, placed(said));
    }
    let result = fs::read(scratch.path("out/manifest.json")).unwrap();
    for (program, said) in [
        ("./absent", "there is no program `./absent`"),
        ("program", "help: that of this folder is `./program`"),
        ("./program.c", "`./program.c` is a file that may not be executed"),
        ("-x", "`-x` is no program"),
    ] {
        let absent = run(&scratch, &[&words[..words.len() - 1], &[program]].concat());
        assert_eq!(absent.exit, 2, "{program}: {}{}", absent.out, absent.err);
        assert!(absent.err.contains(said), "{program}: {}", absent.err);
    }
    assert_eq!(fs::read(scratch.path("out/manifest.json")).unwrap(), result);
}

/// A rank that does not call MPI is named; a simulator that is killed leaves no process behind.
#[test]
fn a_rank_that_hangs_is_named_and_does_not_outlive_the_simulator() {
    let scratch = Scratch::new("exec-killed");
    compiled(&scratch, WRONG);
    let words = [
        "exec",
        "-n",
        "2",
        "--machine",
        "broadwell-edr",
        "--output",
        "plain",
        "--",
        "./program",
        "pause",
    ];
    let mut command = scratch.command(&words);
    command.env("XDG_CACHE_HOME", scratch.path("cache"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut simulator = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(simulator.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let rank = Path::new("/proc").join(line.trim());
    assert!(rank.exists(), "rank {line} runs");
    let mut lines = BufReader::new(simulator.stderr.take().unwrap()).lines().map(Result::unwrap);
    let said = lines.find(|line| line.contains("has not called MPI")).unwrap();
    let last = placed("; its last call was MPI_Comm_rank ({Comm_rank})");
    assert!(said.starts_with("note: rank ") && said.ends_with(&last), "{said}");
    assert!(
        said.contains(" has not called MPI for 10 s, in which its process has used "),
        "{said}"
    );
    simulator.kill().unwrap();
    simulator.wait().unwrap();
    while rank.exists()
        && !fs::read_to_string(rank.join("stat")).is_ok_and(|stat| stat.contains(") Z "))
    {
        thread::yield_now();
    }
}

/// Blocking one-sided calls make progress, also of a rank's own part; of calls that make none there is a note.
#[test]
fn a_rank_that_asks_its_own_part_lets_others_in_or_is_spoken_of() {
    let scratch = Scratch::new("exec-own-part");
    compiled(&scratch, include_str!("../programs/c/own_part.c"));
    let asks = |how: u32, calls: &str| {
        let words = "exec -n 2 --nodes 2 --machine broadwell-edr --output plain -- ./program";
        let how = how.to_string();
        let words: Vec<&str> = words.split(' ').chain([how.as_str(), calls]).collect();
        run(&scratch, &words)
    };
    for how in 0..4 {
        let ran = asks(how, "1000");
        assert_eq!(ran.exit, 0, "{how}: {}", ran.err);
        assert!(ran.out.starts_with("arrived\n"), "{how}: {}", ran.out);
        assert!(!ran.err.contains("wait for nothing"), "{how}: {}", ran.err);
    }
    for (how, call) in [(4, "MPI_Test"), (5, "MPI_Testall"), (6, "MPI_Send"), (7, "MPI_Barrier")] {
        let few = asks(how, "90000");
        assert!(few.out.starts_with("not arrived\n"), "{how}: {}", few.out);
        assert!(!few.err.contains("wait for nothing"), "{how}: {}", few.err);
        let many = asks(how, "110000");
        assert_eq!(many.exit, 0, "{how}: {}", many.err);
        let said = format!(
            "note: rank 0 has made 100000 calls in a row that wait for nothing and make no progress, the last {call} ("
        );
        assert!(many.err.contains(&said), "{how}: {}", many.err);
        assert!(many.err.contains("program.c:"), "{how}: {}", many.err);
    }
}

/// Users write what they know from `mpiexec` and from makefiles.
#[test]
fn options_of_mpiexec_and_makefiles_mean_what_they_mean_there() {
    let scratch = Scratch::new("exec-options");
    let words = ["exec", "-np", "2", "--machine", "broadwell-edr", "--output", "plain"];
    // What follows the program is its own: it does not call MPI, and prints its arguments.
    let echo = run(&scratch, &[&words[..], &["/bin/echo", "-np", "3"]].concat());
    assert!(echo.out.starts_with("-np 3\n"), "{}{}", echo.out, echo.err);
    assert!(echo.out.contains("a program that uses another MPI library"), "{}", echo.out);
    let mut shown = scratch.command(&["cc", "--show", "a.c"]);
    shown.env("XDG_CACHE_HOME", scratch.path("cache")).env("CC", "mpisim cc");
    let shown = Answer::from(shown.output().unwrap());
    assert!(shown.out.starts_with("cc -I"), "{}{}", shown.out, shown.err);
    let folder = run(&scratch, &["cc", "--folder"]);
    assert!(Path::new(folder.out.trim_end()).join("bin/mpicc").exists(), "{}", folder.out);
}

#[test]
fn real_processes_are_not_explored() {
    let scratch = Scratch::new("exec-explore");
    std::fs::write(scratch.path("a.out"), b"\x7fELF\x02\x01\x01\x90").unwrap();
    let said = run(&scratch, &["explore", "a.out"]);
    assert_eq!(said.exit, 3, "{}", said.err);
    let words = ["the file is a program", "mpisim exec -n N"];
    assert!(words.iter().all(|words| said.err.contains(words)), "{}", said.err);
    let scenario = r#"{ "schema": 1, "title": "Real", "machine": "broadwell-edr", "nodes": 1,
        "workload": { "kind": "exec", "command": ["./program"], "processes": 2, "processes_per_node": 2 } }"#;
    scratch.write("real.json", scenario);
    let explored = run(&scratch, &["explore", "real.json"]);
    assert_ne!(explored.exit, 0);
    assert!(explored.err.contains("real processes"), "{}", explored.err);
}
