//! Time-independent traces of `SimGrid`: what is read runs as the program that a scenario writes out, what is
//! wrong or not read is refused with its line, and other formats are known by their content.

use std::fs;
use std::io::BufRead;
use std::sync::Arc;

use crate::binary::{Answer, Scratch};
use mpisim::workloads::import::lines::MOST_ERRORS;
use mpisim::workloads::import::{Read, of_kind};
use mpisim::workloads::trace::{ReadError, Source, Trace};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// A trace, and the rows of the same program as statements of a scenario, rank by rank.
const TRACE: &str = "\
# three ranks
0 init
1 init
2 init

0 compute 1e6
0 send 1 0 1e3
0 isend 2 7 100000
0 irecv 2 -444 16
0 wait 0 2 7
0 waitall
1 recv 0 0 1e3
2\trecv 0 7 100000
2 send 0 3 16

0 barrier
1 barrier
2 barrier
0 bcast 5e4
1 bcast 5e4
2 bcast 5e4
0 allreduce 100 5e5 0
1 allreduce 100 5e5 0
2 allreduce 100 5e5 0
0 reduce 10 0 1 1
1 reduce 10 0 1 1
2 reduce 10 0 1 1
0 alltoall 500 500
1 alltoall 500 500
2 alltoall 500 500
0 allgatherv 8 8 4 4
1 allgatherv 4 8 4 4
2 allgatherv 4 8 4 4
0 gather 64 64 0
1 gather 64 64 0
2 gather 64 64 0
0 sleep 0.0000015
0 finalize
1 finalize
2 finalize
";

const ALL: &str = r#"{ "op": "barrier" },
  { "op": "bcast", "size": "50000 B" },
  { "op": "allreduce", "count": 100, "type": "double" },
  { "op": "compute", "time": "500 us" },
  { "op": "reduce", "count": 10, "type": "int32", "root": 1 },
  { "op": "alltoall", "size": "500 B" },
  { "op": "allgatherv", "sizes": [ "8 B", "4 B", "4 B" ] },
  { "op": "gather", "size": "64 B" }"#;

fn program() -> String {
    let zero = format!(
        r#"[ {{ "op": "timer", "is": "start" }}, {{ "op": "compute", "time": "1 ms" }},
  {{ "op": "send", "to": 1, "size": "1000 B" }},
  {{ "op": "isend", "req": "a", "to": 2, "tag": 7, "size": "100000 B" }},
  {{ "op": "irecv", "req": "b", "src": 2, "tag": "any", "max": "16 B" }},
  {{ "op": "wait", "req": "a" }},
  {{ "op": "waitall", "reqs": [ "b" ] }},
  {ALL}, {{ "op": "compute", "time": "1500 ns" }}, {{ "op": "timer", "is": "stop" }} ]"#
    );
    let one = format!(
        r#"[ {{ "op": "timer", "is": "start" }}, {{ "op": "recv", "src": 0, "max": "1000 B" }}, {ALL},
  {{ "op": "timer", "is": "stop" }} ]"#
    );
    let two = format!(
        r#"[ {{ "op": "timer", "is": "start" }}, {{ "op": "recv", "src": 0, "tag": 7, "max": "100000 B" }},
  {{ "op": "send", "to": 0, "tag": 3, "size": "16 B" }}, {ALL}, {{ "op": "timer", "is": "stop" }} ]"#
    );
    format!(
        r#"{{ "schema": 1, "title": "t", "machine": "ideal", "nodes": 3,
  "workload": {{ "kind": "program", "ranks": [ {zero}, {one}, {two} ] }} }}"#
    )
}

#[track_caller]
fn point(answer: Answer) -> serde_json::Value {
    answer.check(0, &[]).json()["points"][0].clone()
}

#[test]
fn a_trace_runs_as_the_program_that_a_scenario_writes_out() {
    let scratch = Scratch::new("ti-program");
    scratch.write("a.txt", TRACE);
    scratch.write("b.json", &program());
    let trace = point(scratch.run(&["run", "a.txt", "--machine", "ideal", "--format", "json"]));
    let program = point(scratch.run(&["run", "b.json", "--format", "json"]));
    assert!(trace["metrics"]["time"]["value"].as_f64().unwrap() > 1500.0, "{trace}");
    assert_eq!(trace["metrics"], program["metrics"]);
    // The order of events is that of the program, too: one digest.
    assert_eq!(trace["digest"], program["digest"]);
}

/// A text in memory.
struct Text<'a>(&'a [u8]);

impl Source for Text<'_> {
    fn text(&mut self) -> &mut dyn BufRead {
        &mut self.0
    }

    fn named(&mut self, _: &str) -> Option<Box<dyn BufRead>> {
        None
    }
}

fn read(text: &[u8]) -> Read {
    (of_kind("ti").unwrap().read)(&mut Text(text))
}

#[test]
fn every_wrong_line_is_told_once_in_the_order_of_lines() {
    let text = "0 init\n1 sned 0\n0 send 9 0 8\n0 wait 0 1 0\n1 init\n1 recv 0 0 x\n";
    let errors = read(text.as_bytes()).unwrap_err();
    let lines: Vec<u32> = errors.iter().map(|error: &ReadError| error.line).collect();
    assert_eq!(lines, [2, 3, 4, 6]);
    assert_eq!(read("0 sned\n".repeat(10_000).as_bytes()).unwrap_err().len(), MOST_ERRORS);
    assert_eq!(read(b" # nothing\n").unwrap_err()[0].found, "the file is empty");
    let long = format!("0 init\n0 {}\n", "x".repeat(1_000_000));
    assert!(read(long.as_bytes()).unwrap_err()[0].text.len() <= 1 << 16);
    let trace: Arc<dyn Trace> = read(TRACE.replace('\n', "\r\n").as_bytes()).unwrap();
    assert_eq!((trace.ranks(), trace.operations()), (3, 34));
}

/// Any change of a trace is read or refused.
#[test]
fn random_changes_are_read_or_refused() {
    let random = &mut ChaCha8Rng::seed_from_u64(5);
    let pieces =
        ["0", "2", "-555", "1e9", "99999999999", "wait", "send", " ", "\n", "\0", "\u{ff}", "."];
    let (mut good, mut bad) = (0, 0);
    for _ in 0..3000 {
        let mut text = TRACE.as_bytes().to_vec();
        for _ in 0..random.random_range(1..3) {
            let at = random.random_range(0..text.len());
            let to = random.random_range(at..text.len().min(at + 12) + 1);
            match random.random_range(0..4) {
                0 => drop(text.drain(at..to)),
                1 => {
                    let piece = text[at..to].to_vec();
                    text.splice(at..at, piece);
                }
                2 => text[at] ^= 1 << random.random_range(0..8),
                _ => {
                    let piece = pieces[random.random_range(0..pieces.len())];
                    text.splice(at..at, piece.bytes());
                }
            }
        }
        match read(&text) {
            Ok(trace) => {
                good += 1;
                assert!(trace.ranks() <= 65_536);
            }
            Err(errors) => {
                bad += 1;
                assert!(errors.is_sorted_by_key(|one| one.line), "{errors:?}");
            }
        }
    }
    assert!(good > 100 && bad > 1000, "{good} were read, {bad} refused");
}

/// A list names a file of each rank, in the order of ranks.
#[test]
fn a_list_of_files_is_the_trace_that_they_are_together() {
    let scratch = Scratch::new("ti-list");
    scratch.write("a.txt", TRACE);
    for rank in 0..3 {
        let own = TRACE.lines().filter(|line| line.starts_with(&rank.to_string()));
        let own: Vec<&str> = own.collect();
        scratch.write(&format!("t/rank-{rank}.txt"), &own.join("\n"));
    }
    scratch.write("list", "rank-0.txt\nrank-1.txt\nrank-2.txt\n");
    fs::rename(scratch.path("list"), scratch.path("t/list")).unwrap();
    let run =
        |file: &str| point(scratch.run(&["run", file, "--machine", "ideal", "--format", "json"]));
    let (one, list) = (run("a.txt"), run("t/list"));
    assert_eq!(one["digest"], list["digest"]);
    assert_eq!(one["metrics"], list["metrics"]);
    let valid = scratch.run(&["validate", "t/list"]).check(0, &[]).out;
    assert_eq!(valid, "t/list: valid, a trace of 3 ranks, 34 operations\n");
    // Names from where the command runs are fine, too; files of another place are not.
    scratch.write("here", "t/rank-0.txt\nt/rank-1.txt\nt/rank-2.txt\n");
    assert_eq!(run("here")["digest"], one["digest"]);
    scratch.write("t/swapped", "rank-1.txt\nrank-0.txt\nrank-2.txt\n");
    let says = ["error[E0504] rank-1.txt:1:1", "a line of rank 1 in the file of rank 0"];
    scratch.run(&["run", "t/swapped", "--machine", "ideal"]).check(3, &says);
    scratch.write("t/short", "rank-0.txt\nrank-9.txt\n");
    scratch.run(&["run", "t/short", "--machine", "ideal"]).check(3, &["E0101", "rank-9.txt"]);
}

#[test]
fn an_import_states_the_speed_and_a_scenario_must() {
    let scratch = Scratch::new("ti-speed");
    scratch.write("a.txt", "0 init\n0 compute 3e9\n0 finalize\n");
    let import = scratch.run(&["trace", "import", "a.txt", "--machine", "ideal"]);
    let import = import.check(0, &["note: `workload.speed` is 1 GHz", "1 flop takes 1 ns"]).out;
    let stated = "{ \"kind\": \"ti\", \"file\": \"a.txt\", \"speed\": \"1 GHz\" }";
    assert!(import.contains(stated), "{import}");
    scratch.write("s.json", &import);
    let time = |arguments: &[&str]| {
        let point = point(scratch.run(&[&["run"], arguments, &["--format", "json"]].concat()));
        point["metrics"]["time"]["value"].as_f64().unwrap()
    };
    // 3e9 flops: 3 s at 1 GHz, 1.5 s at twice the speed.
    let close = |found: f64, wanted: f64| assert!((found - wanted).abs() < 1e-6, "{found}");
    close(time(&["s.json"]), 3e6);
    close(time(&["a.txt", "--machine", "ideal"]), 3e6);
    close(time(&["s.json", "--set", "workload.speed=2 GHz"]), 1.5e6);
    scratch.write("b.json", &import.replace(", \"speed\": \"1 GHz\"", ""));
    scratch.run(&["run", "b.json"]).check(3, &["workload.speed", "is missing"]);
    scratch.write("long.txt", "0 init\n0 compute 1e18\n");
    let says = ["error[E0503]", "workload.speed: line 2 of the trace computes", "200 days"];
    scratch.run(&["run", "long.txt", "--machine", "ideal"]).check(3, &says);
    let swept = import
        .replace("\n}\n", ",\n  \"sweep\": { \"workload.speed\": [ \"1 GHz\", \"3 GHz\" ] }\n}\n");
    scratch.write("c.json", &swept);
    scratch.run(&["run", "c.json"]).check(0, &[]);
}

#[test]
fn mistakes_have_their_line_and_what_is_not_read_its_reason() {
    let scratch = Scratch::new("ti-wrong");
    let check = |lines: &str, says: &[&str]| {
        scratch.write("a.txt", &format!("0 init\n1 init\n{lines}\n"));
        scratch.run(&["run", "a.txt", "--machine", "ideal"]).check(3, says);
    };
    check(
        "0 comm_split 3",
        &["error[E0527] a.txt:3:3", "`comm_split` is not read", "communicator"],
    );
    check("0 ibcast 8 0", &["error[E0527]", "does not name the request"]);
    check("0 waitAny 2", &["error[E0527]", "`waitAny` is not read"]);
    check("0 sned 1 0 8", &["error[E0526] a.txt:3:3", "there is no action `sned`", "`send`?"]);
    check("0 send 1 0", &["error[E0526] a.txt:3", "the line ends", "have no tag"]);
    check("0 send 2 0 8", &["error[E0504] a.txt:3:8", "rank 2 does not exist; ranks are 0 to 1"]);
    check("0 send -555 0 8", &["error[E0504] a.txt:3:8", "rank -555"]);
    check("0 send 1 -1 8", &["a.txt:3:10", "the tag -1"]);
    check("0 send 1 0 -1", &["a.txt:3:12", "`-1`"]);
    check("0 recv 1 0 2.5", &["a.txt:3:12", "`2.5`"]);
    check("0 recv 1 0 3e9", &["a.txt:3:12", "`3e9`"]);
    check(
        "0 recv 1 0 8 30",
        &["error[E0527] a.txt:3:14", "the datatype 30 is not read", "0 MPI_DOUBLE"],
    );
    check("0 send 1 0 8 6 9", &["error[E0526] a.txt:3:16", "behind the last argument"]);
    check("0 wait 0 1 5", &["error[E0507] a.txt:3:8", "no request from 0 to 1 with tag 5 is open"]);
    check("0 alltoall 4 8", &["error[E0526] a.txt:3:12", "4 B are sent and 8 B received"]);
    check("0 allgatherv 4 8 8", &["4 B are sent and 8 B received"]);
    check("0 gatherv 8 8 8 0 6 6 0", &["behind the last argument"]);
    check("0 bcast 8 2", &["rank 2 does not exist"]);
    check("0 finalize\n0 barrier", &["a.txt:4:3", "`barrier` behind `finalize`"]);
    check("3 barrier", &["error[E0513] a.txt", "rank 3 has lines and rank 2 has none"]);
    check("x barrier", &["a.txt:3:1", "`x` is no number"]);
    check("1", &["a.txt:3", "an action follows the rank"]);
    // A text that breaks off, or has bytes that are no text.
    fs::write(scratch.path("b.txt"), b"0 init\n0 s\xffnd 1\n").unwrap();
    let answer = scratch.run(&["run", "b.txt", "--machine", "ideal"]);
    let answer = answer.check(3, &["E0526", "b.txt:2:3"]);
    assert!(!answer.err.contains('\u{fffd}'), "{}", answer.err);
}

/// A rank that waits for a message which is never sent stands where its trace says.
#[test]
fn a_trace_that_cannot_end_is_a_result_with_its_lines() {
    let scratch = Scratch::new("ti-stuck");
    scratch.write("a.txt", "0 init\n1 init\n0 recv 1 0 8\n0 finalize\n1 finalize\n");
    let answer = scratch.run(&["run", "a.txt", "--machine", "ideal"]);
    assert_eq!(answer.exit, 1, "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("line 3"), "{}", answer.out);
    // A receive that is too short is an error of the program.
    scratch.write("b.txt", "0 init\n1 init\n0 recv 1 0 8\n1 send 0 0 16\n");
    let answer = scratch.run(&["run", "b.txt", "--machine", "ideal"]);
    assert_eq!(answer.exit, 1, "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("MPI_ERR_TRUNCATE"), "{}", answer.out);
}

/// A request that a test has completed is not waited for again; what is open at the end is.
#[test]
fn tests_and_open_requests_are_replayed_as_smpi_does() {
    let scratch = Scratch::new("ti-test");
    let text = "0 init\n1 init\n0 isend 1 0 8\n0 isend 1 0 8\n0 compute 1e6\n0 test 0 1 0\n\
                0 test 0 1 0\n0 wait 0 1 0\n1 irecv 0 0 8\n1 recv 0 0 8\n";
    scratch.write("a.txt", text);
    let point = point(scratch.run(&["run", "a.txt", "--machine", "ideal", "--format", "json"]));
    // Work outside the library is 1 ms, and each message is sent before it.
    let time = point["metrics"]["time"]["value"].as_f64().unwrap();
    assert!((1000.0..1001.0).contains(&time), "{point}");
    let export = ["trace", "export", "b.json"];
    let import = scratch.run(&["trace", "import", "a.txt", "--machine", "ideal"]).check(0, &[]);
    scratch.write("b.json", &import.out);
    scratch.run(&export).check(3, &["E0517"]);
    scratch.write("a.txt", &text.replace("0 test 0 1 0\n", ""));
    let schedule = scratch.run(&export).check(0, &[]).out;
    assert!(schedule.contains("num_ranks 2") && schedule.contains("send 8b to 1"), "{schedule}");
}

#[test]
fn options_that_do_not_fit_a_trace_are_refused() {
    let scratch = Scratch::new("ti-usage");
    scratch.write("a.txt", "0 init\n");
    scratch.run(&["run", "a.txt"]).check(2, &["SimGrid (SMPI) needs `--machine NAME`"]);
    scratch
        .run(&["run", "a.txt", "--loggops", "L=1,o=1,g=1,G=1,O=1,S=1"])
        .check(2, &["`--loggops` replays schedules"]);
    scratch.run(&["trace", "import", "a.txt"]).check(2, &["a trace becomes a scenario"]);
    scratch.run(&["diff", "a.txt", "--set-b", "nodes=2"]).check(2, &["is a trace: it needs"]);
    scratch
        .run(&["diff", "a.txt", "--machine", "ideal", "--set-b", "workload.speed=2 GHz"])
        .check(0, &[]);
    scratch.write("m.txt", "# Size  Latency (us)\n8 1.5\n");
    scratch.run(&["run", "m.txt", "--machine", "ideal"]).check(2, &["`m.txt` is none"]);
}

/// Content decides: a schedule with any name is one, and a trace in another format is named.
#[test]
fn files_are_known_by_their_content() {
    let scratch = Scratch::new("ti-content");
    scratch.write("schedule.txt", "/* a\n */ num_ranks 1\nrank 0 {\ncalc 5\n}\n");
    let valid = scratch.run(&["validate", "schedule.txt"]).check(0, &[]).out;
    assert_eq!(valid, "schedule.txt: valid, a schedule of 1 rank, 1 operation\n");
    scratch.run(&["run", "schedule.txt", "--machine", "ideal"]).check(0, &[]);
    let foreign: [(&str, &[u8], &str); 6] = [
        ("traces.otf2", b"\x03\x45OTF2\0\x03\x01\xff\xfe", "OTF2"),
        ("schedule.goal", b"\x7f\x10\0\0\0\0\0\0\x02\0\0\0\xff", "binary form of GOAL"),
        ("dumpi-2026-0000.bin", b"\0\x01\xff\xfe", "DUMPI"),
        ("pmpi-trace-rank-0.txt", b"# htor\nMPI_Init:123.4:-:456\n", "liballprof"),
        ("et.json", b"{ \"schema\": \"1.1.0-chakra.0.0.4\", \"nodes\": [] }", "Chakra"),
        ("paje.trace", b"#Paje\n%EventDef PajeDefineContainerType 0\n", "Paj\u{e9}"),
    ];
    for (name, bytes, says) in foreign {
        fs::write(scratch.path(name), bytes).unwrap();
        for command in [
            &["run", name, "--machine", "ideal"][..],
            &["run", name],
            &["validate", name],
            &["trace", "import", name],
            &["diff", name, "--machine", "ideal", "--set-b", "nodes=2"],
        ] {
            let answer = scratch.run(command).check(3, &["error[E0528]", says, "help: "]);
            assert!(!answer.err.contains('\u{fffd}'), "{}", answer.err);
        }
    }
}
