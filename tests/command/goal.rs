//! GOAL as text: what is written can be read again, what is wrong is told with its place, and
//! programs and schedules become each other.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::binary::Scratch;
use crate::common::{job, model};
use crate::schedules::{DEFAULTS, random};
use mpisim::collectives::{Algorithm, Collective, Kind as CollectiveKind};
use mpisim::language::collectives::messages;
use mpisim::mpi::operator::{Datatype, Operator, Reduction};
use mpisim::protocols::call::Comm;
use mpisim::protocols::contract::{Region, Space};
use mpisim::runtime::loggops::replay;
use mpisim::runtime::loggops::schedule::{Kind, Schedule};
use mpisim::runtime::memory::Payload;
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::workloads::collective::Repeated;
use mpisim::workloads::import::goal::calls::{players, unfit};
use mpisim::workloads::import::goal::record::record;
use mpisim::workloads::import::goal::{read, write};
use mpisim::workloads::import::lines::MOST_ERRORS;
use mpisim::workloads::job::{AnyProgram, ping_pong};
use mpisim::workloads::trace::{Fault, ReadError};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

const LOGGOPS: &str = "L=2500,o=1500,g=1000,G=6,O=0,S=65535";

fn vectors() -> Vec<PathBuf> {
    let files = fs::read_dir("traces/goal").unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = files.filter(|path| path.extension().unwrap() == "goal").collect();
    files.sort();
    assert_eq!(files.len(), 26);
    files
}

fn written(schedule: &Schedule) -> String {
    let mut text = Vec::new();
    write(schedule, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

#[track_caller]
fn parsed(text: &str) -> Schedule {
    read(text.as_bytes()).unwrap_or_else(|errors| panic!("{errors:#?}\n{text}"))
}

#[test]
fn what_is_written_can_be_read_again() {
    for seed in 0..2000 {
        let schedule = random(seed);
        let text = written(&schedule);
        assert_eq!(parsed(&text), schedule, "seed {seed}\n{text}");
        assert_eq!(written(&parsed(&text)), text, "seed {seed}");
    }
    for file in vectors() {
        let schedule = parsed(&fs::read_to_string(&file).unwrap());
        let again = parsed(&written(&schedule));
        assert_eq!(again, schedule, "{}", file.display());
        let labels = |one: &Schedule| -> Vec<Option<String>> {
            (0..).zip(one.ops()).map(|(op, _)| one.label(op).map(str::to_owned)).collect()
        };
        assert_eq!(labels(&again), labels(&schedule), "{}", file.display());
    }
}

#[test]
fn line_ends_and_comments_change_nothing() {
    let text = fs::read_to_string("traces/goal/h21_halo1d_3it.goal").unwrap();
    let schedule = parsed(&text);
    assert_eq!(parsed(&text.replace('\n', "\r\n")), schedule);
    assert_eq!(parsed(&text.replace('\n', "\r")), schedule);
    assert_eq!(parsed(&text.replace('\n', " // x\n")), schedule);
    assert_eq!(parsed(&text.replace(" {", " /* a */ {")), schedule);
    assert_eq!(parsed(&text.replace("\n\n", " /* a\nb */\n")), schedule);
    assert_eq!(parsed(text.trim_end()), schedule);
}

/// A text of one rank with this line.
fn within(line: &str) -> String {
    format!("num_ranks 2\nrank 0 {{\na: calc 5\n{line}\n}}\nrank 1 {{\n}}\n")
}

#[track_caller]
fn check_wrong(text: &str, fault: Fault, line: u32, column: usize, says: &str) {
    let errors = read(text.as_bytes()).expect_err("it is wrong");
    let ReadError { found, allowed, bytes, .. } = &errors[0];
    assert_eq!((errors[0].fault, errors[0].line), (fault, line), "{text}\n{errors:#?}");
    assert_eq!(bytes.0 + 1, column, "{text}\n{errors:#?}");
    let all = format!("{found}; {allowed}");
    assert!(all.contains(says), "`{all}` does not say `{says}`");
}

#[test]
fn what_is_wrong_is_told_with_line_column_and_what_is_allowed() {
    let check = |line: &str, fault, column, says: &str| {
        check_wrong(&within(line), fault, 4, column, says);
    };
    check("sned 8b to 1", Fault::Form, 1, "`sned`; `send`, `recv` or `calc` is expected");
    check("l send 8b to 1", Fault::Form, 3, "`:`, `requires` or `irequires` is expected");
    check("send 8 to 1", Fault::Form, 8, "`b` is expected");
    check("send 8b from 1", Fault::Form, 9, "`to` is expected");
    check("send b to 1", Fault::Form, 6, "a number of bytes is expected");
    check("send 8b to 1 tag 1 tag 2", Fault::Form, 20, "`tag` is there twice");
    check("send 8b to 1 tga 1", Fault::Form, 14, "`tag`, `cpu`, `nic`");
    check("calc 5 nic 1", Fault::Form, 8, "`cpu`, the end of the line");
    check("send 8b to 2", Fault::Rank, 12, "rank 2 does not exist; ranks are 0 to 1");
    check("send 8b to -1", Fault::Wildcard, 12, "a send names its receiver");
    check("send 8b to 1 tag -1", Fault::Wildcard, 18, "any tag is for receives only");
    check("recv 8b from -2", Fault::Form, 14, "`-2`");
    check("send 8b to 1 cpu 256", Fault::Number, 18, "the number of a CPU is 0 to 255");
    check("send 8b to 1 tag 4294967295", Fault::Number, 18, "a tag is 0 to 4294967294");
    check("calc 18446744073709551616", Fault::Number, 6, "is too large");
    check("a: calc 7", Fault::Label, 1, "the label `a` is there twice; it stands in line 3");
    check("a requires b", Fault::Label, 12, "the label `b` is not known");
    check("a requires", Fault::Form, 11, "the line ends; a label is expected");
    check("a requires a b", Fault::Form, 14, "the end of the line");
    check("\u{1}", Fault::Form, 1, "\\u{1}");
    check("rank 1 {", Fault::Form, 1, "`rank`");
    check_wrong(
        &within("a requires a"),
        Fault::Circle,
        3,
        1,
        "rank 0: operations wait for each other: a -> a",
    );
}

#[test]
fn blocks_come_in_order_each_once() {
    let check = |text: &str, fault, line, says: &str| check_wrong(text, fault, line, 1, says);
    check("", Fault::Empty, 0, "the file is empty");
    check("\n \n", Fault::Empty, 0, "the file is empty");
    check("num_ranks 2\nrank 0 {\n}\n", Fault::Block, 0, "rank 1 is missing; `num_ranks` says 2");
    check("num_ranks 5\nrank 0 {\n}\n", Fault::Block, 0, "ranks 1 to 4 are missing");
    check("num_ranks 4000000000\n", Fault::Block, 0, "ranks 0 to 3999999999 are missing");
    check("num_ranks 1\nrank 0 {\ncalc 1\n", Fault::Unclosed, 0, "inside the block of line 2");
    check("num_ranks 1 /*\nrank 0 {\n", Fault::Unclosed, 0, "inside the comment of line 1");
    check("rank 0 {\n}\n", Fault::Form, 1, "a rank comes before `num_ranks`");
    check_wrong("num_ranks 0\n", Fault::Number, 1, 11, "at least 1 rank");
    check_wrong(
        "num_ranks 2\nrank 1 {\n}\n",
        Fault::Block,
        2,
        6,
        "rank 0 is missing before rank 1",
    );
    check_wrong(
        "num_ranks 2\nrank 0 {\n}\nrank 0 {\n}\n",
        Fault::Block,
        4,
        6,
        "rank 0 is there twice",
    );
    check_wrong("num_ranks 2\nrank 2 {\n}\n", Fault::Rank, 2, 6, "rank 2 does not exist");
}

#[test]
fn every_wrong_line_is_told_once_and_not_without_end() {
    let text = within("sned 8b to 1\nb: recv 8b from 9\nb requires a\ncalc x");
    let lines: Vec<u32> = read(text.as_bytes()).unwrap_err().iter().map(|one| one.line).collect();
    assert_eq!(lines, [4, 5, 7], "the label of a wrong line is no second error");
    let many = "x\n".repeat(10_000);
    assert_eq!(read(many.as_bytes()).unwrap_err().len(), MOST_ERRORS);
    let long = within(&"x".repeat(1_000_000));
    let errors = read(long.as_bytes()).unwrap_err();
    assert!(errors[0].text.len() <= 1 << 16);
}

/// Any change of a schedule is read or refused: no panic, and memory in proportion to the text.
#[test]
fn random_changes_are_read_or_refused() {
    let random = &mut ChaCha8Rng::seed_from_u64(3);
    let pieces = [
        "rank",
        "num_ranks",
        "{",
        "}",
        ":",
        "-1",
        "requires",
        "irequires",
        "99999999999999999999",
        "4294967295",
        "/*",
        "*/",
        "//",
        "\r",
        "\n",
        "\0",
        "\u{ff}",
        "cpu 255",
        "b",
        "l1",
        " ",
    ];
    let (mut good, mut bad) = (0, 0);
    for file in vectors() {
        let text = fs::read(&file).unwrap();
        let text = &text[..text.len().min(4000)];
        for _ in 0..150 {
            let mut changed = text.to_vec();
            for _ in 0..random.random_range(1..4) {
                let at = random.random_range(0..changed.len());
                let to = random.random_range(at..changed.len().min(at + 40) + 1);
                match random.random_range(0..4) {
                    0 => drop(changed.drain(at..to)),
                    1 => {
                        let piece = changed[at..to].to_vec();
                        changed.splice(at..at, piece);
                    }
                    2 => changed[at] ^= 1 << random.random_range(0..8),
                    _ => {
                        let piece = pieces[random.random_range(0..pieces.len())];
                        changed.splice(at..at, piece.bytes());
                    }
                }
                if changed.is_empty() {
                    changed.push(b'x');
                }
            }
            let mut result = Err(Vec::new());
            let held = allocation_counter::measure(|| result = read(changed.as_slice())).bytes_max;
            // A line of `calc 1` takes 7 bytes, and some 80 in memory with room to grow.
            let most = 40 * changed.len() as u64 + (1 << 18);
            assert!(held < most, "{held} B for a text of {}", changed.len());
            match result {
                Ok(schedule) => {
                    good += 1;
                    // It may take long or never end; it does not panic.
                    let _ = replay(&schedule, DEFAULTS);
                    assert_eq!(parsed(&written(&schedule)), schedule);
                }
                Err(errors) => {
                    bad += 1;
                    assert!(!errors.is_empty());
                    assert!(errors.is_sorted_by_key(|one| if one.line == 0 {
                        u32::MAX
                    } else {
                        one.line
                    }));
                }
            }
        }
    }
    assert!(good > 50 && bad > 1000, "{good} were read, {bad} refused");
}

fn run(programs: Vec<AnyProgram>) -> Outcome {
    let mut job = job(model("ideal", &[]), programs);
    (job.mpi.payload, job.record) = (Payload::Phantom, false);
    job.nodes = u32::try_from(job.programs.len()).unwrap();
    job.run().unwrap().outcome
}

fn played(schedule: Schedule) -> Outcome {
    assert_eq!(unfit(&schedule, 2 << 30), None);
    let players = players(&Arc::new(schedule)).into_iter();
    run(players.map(|player| AnyProgram::Goal(Box::new(player))).collect())
}

#[test]
fn schedules_of_one_cpu_run_to_their_end_on_a_machine() {
    let mut done = 0;
    for file in vectors() {
        let schedule = parsed(&fs::read_to_string(&file).unwrap());
        if unfit(&schedule, 2 << 30).is_some() || schedule.ranks() > 16 {
            continue;
        }
        let outcome = played(schedule);
        assert_eq!(outcome.ending, Ending::Finished, "{}", file.display());
        assert_eq!(outcome.violations, [], "{}", file.display());
        done += 1;
    }
    assert_eq!(done, 23, "two use a second NIC, one has 128 ranks");
}

/// A schedule written down from a program, and played again, takes as long as the program.
#[test]
fn a_ping_pong_keeps_its_time_as_a_schedule() {
    let schedule = record(ping_pong(1000, 0, 5)).unwrap();
    // What the program does before its first message is a barrier.
    let (program, again) = (run(ping_pong(1000, 0, 5)), played(schedule.clone()));
    assert_eq!(again.end, program.end);
    assert_eq!(again.packets, program.packets);
    assert_eq!(parsed(&written(&schedule)), schedule);
}

fn allreduce(ranks: u32, algorithm: Algorithm) -> Vec<AnyProgram> {
    let sum = Reduction::new(Operator::Sum, Datatype::Double).unwrap();
    let [input, output] = [0, 1].map(|id| Region::new(Space::User(id), 800));
    let call = Collective::allreduce(Comm(0), input, output, sum).by(algorithm).unwrap();
    let rank = Repeated::new(Arc::new(call), 0, 2).at_once();
    vec![AnyProgram::Collective(rank); ranks as usize]
}

#[test]
fn collectives_are_written_as_the_messages_of_their_algorithm() {
    for algorithm in Algorithm::of(CollectiveKind::Allreduce) {
        for ranks in 2..10 {
            let name = format!("{} of {ranks}", algorithm.name());
            let sum = Reduction::new(Operator::Sum, Datatype::Double).unwrap();
            let [input, output] = [0, 1].map(|id| Region::new(Space::User(id), 800));
            let call = Collective::allreduce(Comm(0), input, output, sum).by(algorithm).unwrap();
            let schedule = record(allreduce(ranks, algorithm)).unwrap();
            let sends = schedule.ops().iter().filter(|op| op.kind == Kind::Send).count() as u64;
            assert_eq!(sends, 2 * messages(&call, ranks), "{name}");
            assert_eq!(replay(&schedule, DEFAULTS).unwrap().stuck, [], "{name}");
            assert_eq!(parsed(&written(&schedule)), schedule, "{name}");
            assert_eq!(played(schedule).ending, Ending::Finished, "{name}");
        }
    }
}

#[test]
fn the_command_prints_end_times_as_table_csv_and_json() {
    let scratch = Scratch::new("goal-run");
    let text = fs::read_to_string("traces/goal/h01_eager_1msg.goal").unwrap();
    scratch.write("a.goal", &text);
    let run = |format| {
        scratch.run(&["run", "a.goal", "--loggops", LOGGOPS, "--format", format]).check(0, &[]).out
    };
    let wanted = "{\"schema\":1,\"ranks\":[{\"rank\":0,\"end_time\":1500},{\"rank\":1,\"end_time\":5542}]}\n";
    assert_eq!(run("json"), wanted);
    assert_eq!(run("csv"), "rank,end_time\n0,1500\n1,5542\n");
    assert!(run("table").ends_with("2 ranks, 3 events, the last ends at 5542\n"));
    let folder = fs::canonicalize("traces/goal/expected.json").unwrap();
    let answer = scratch.run(&["conform", folder.to_str().unwrap()]).check(0, &[]);
    assert_eq!(answer.out, "26 passed, 0 failed\n");
    assert_eq!(scratch.files("results"), [], "a replay keeps nothing");
}

#[test]
fn a_wrong_command_is_told_what_is_right() {
    let scratch = Scratch::new("goal-usage");
    scratch.write("a.goal", "num_ranks 1\nrank 0 {\ncalc 5\n}\n");
    let check = |arguments: &[&str], exit, says: &[&str]| {
        let mut all = vec!["run"];
        all.extend(arguments);
        scratch.run(&all).check(exit, says);
    };
    check(
        &["a.goal"],
        2,
        &["error[E0703]", "`--loggops L=N,o=N,...` or `--machine NAME`", LOGGOPS],
    );
    check(&["a.goal", "--loggops", "L=1,o=2"], 2, &["error[E0704]", "g, G, O, S are missing"]);
    check(&["a.goal", "--loggops", "L=-1"], 2, &["error[E0704]", "negative"]);
    check(&["a.goal", "--loggops", LOGGOPS, "--set", "nodes=2"], 2, &["`--loggops` and `--set`"]);
    check(&["a.goal", "--loggops", LOGGOPS, "--machine", "ideal"], 2, &["cannot be used with"]);
    check(&["a.json", "--loggops", LOGGOPS], 2, &["`a.json` is none", ".goal"]);
    check(
        &["b.goal", "--loggops", LOGGOPS],
        3,
        &["error[E0101]", "there is no such file", "did you mean `./a.goal`"],
    );
    check(&[".", "--loggops", LOGGOPS], 2, &["`.` is none"]);
    check(&["a.goal", "--machine", "idael"], 3, &["error[E0401]", "did you mean `ideal`?"]);
    let huge = "L=18446744073709551615,o=1,g=0,G=0,O=0,S=1";
    scratch.write("s.goal", "num_ranks 1\nrank 0 {\nsend 8b to 0\nrecv 8b from 0\n}\n");
    check(&["s.goal", "--loggops", huge], 3, &["error[E0502]", "passes 2^64"]);
    scratch.write("gz.goal", "\u{1f}\u{fffd}");
    fs::write(scratch.path("gz.goal"), [0x1f, 0x8b, 8, 0]).unwrap();
    check(&["gz.goal", "--loggops", LOGGOPS], 3, &["error[E0109]", "compressed (gzip)"]);
}

#[test]
fn what_never_ends_is_a_result() {
    let scratch = Scratch::new("goal-stuck");
    let text = "num_ranks 2\nrank 0 {\na: recv 8b from 1\nb: send 8b to 1\nb requires a\n}\n\
                rank 1 {\na: recv 8b from 0\nb: send 8b to 0\nb requires a\n}\n";
    scratch.write("a.goal", text);
    let answer = scratch.run(&["run", "a.goal", "--loggops", LOGGOPS, "--format", "json"]);
    let answer = answer.check(
        1,
        &[
            "error[E1003] 4 operations never end",
            "rank 0, line 3: a: recv 8b from 1 tag 0: waits for a message",
        ],
    );
    assert_eq!(
        answer.json()["stuck"][3]["what"],
        "rank 1, line 9: b: send 8b to 0 tag 0: waits for 1 dependency"
    );
    // The machine says the same in its own words, with lines of the schedule.
    let answer = scratch.run(&["run", "a.goal", "--machine", "ideal"]);
    assert_eq!(answer.exit, 1, "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("line 3"), "{}", answer.out);
    scratch.write("lost.goal", "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\n}\n");
    scratch
        .run(&["run", "lost.goal", "--loggops", LOGGOPS])
        .check(0, &["warning[E1003] 1 messages were never received"]);
    scratch.write(
        "short.goal",
        "num_ranks 2\nrank 0 {\nsend 8b to 1\n}\nrank 1 {\nrecv 4b from 0\n}\n",
    );
    let answer = scratch.run(&["run", "short.goal", "--machine", "ideal"]);
    assert_eq!(answer.exit, 1, "{}{}", answer.out, answer.err);
    assert!(answer.out.contains("MPI_ERR_TRUNCATE"), "{}", answer.out);
}

#[test]
fn traces_go_out_and_come_in() {
    let scratch = Scratch::new("goal-trace");
    let export = ["trace", "export", "examples/ping_pong_knc", "--set", "workload.size=8 B"];
    let text =
        scratch.run(&[&export[..], &["--set", "workload.rounds=2"]].concat()).check(0, &[]).out;
    assert!(parsed(&text).ops().len() > 8, "{text}");
    scratch.write("p.goal", &text);
    scratch.run(&["run", "p.goal", "--loggops", LOGGOPS]).check(0, &[]);
    let import =
        scratch.run(&["trace", "import", "p.goal", "--machine", "ideal"]).check(0, &[]).out;
    scratch.write("p.json", &import);
    scratch.run(&["run", "p.json", "--format", "json"]).check(0, &[]);
    let again = scratch.run(&["trace", "export", "p.json"]).check(0, &[]).out;
    assert_eq!(parsed(&again), parsed(&text));
    scratch.run(&["trace", "import", "p.goal"]).check(2, &["needs `--machine NAME`"]);
    scratch
        .run(&["trace", "export", "examples/ping_pong_knc"])
        .check(3, &["error[E0517]", "a sweep of"]);
    let table = "# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n1   1.30\n4096  4.25\n";
    scratch.write("t.txt", table);
    let rows = scratch.run(&["trace", "import", "t.txt"]).check(0, &[]).out;
    assert_eq!(rows, "size,metric,value,unit\n1,latency,1.3,us\n4096,latency,4.25,us\n");
    scratch.write("x.txt", "# Size   Latency (us)\n1 x\n");
    scratch
        .run(&["trace", "import", "x.txt"])
        .check(3, &["error[E0911] x.txt:2:3", "`x` is no number"]);
}

#[test]
fn measured_tables_are_drawn_over_figures() {
    let scratch = Scratch::new("goal-measured");
    let scenario = |measured: &str| {
        format!(
            "{{\n  \"schema\": 1, \"title\": \"t\", \"machine\": \"ideal\",\n  \
             \"workload\": {{ \"kind\": \"ping_pong\", \"size\": \"8 B\", \"rounds\": 2 }},\n  \
             \"sweep\": {{ \"workload.size\": [\"8 B\", \"1 KiB\"] }},\n  \
             \"figures\": [ {{ \"x\": \"workload.size\", \"y\": \"latency\", \"measured\": [ {measured} ] }} ]\n}}\n"
        )
    };
    scratch.write(
        "m.txt",
        "# OSU MPI Latency Test v7.1\n# Size  Latency (us)\n0 1.0\n8 1.30\n1024  4.25\n",
    );
    scratch.write("bw.txt", "# Size  MB/s\n8 1.30\n");
    scratch.write("a.json", &scenario("{ \"file\": \"m.txt\", \"name\": \"a cluster\" }"));
    scratch.run(&["run", "a.json"]).check(0, &[]);
    let figure = fs::read_to_string(scratch.path("results/a/figure-1.svg")).unwrap();
    // A logarithmic axis has no zero; the legend wraps.
    assert!(figure.contains("a cluster (1 at 0 not"), "{figure}");
    scratch.write("b.json", &scenario("{ \"file\": \"bw.txt\" }"));
    scratch
        .run(&["run", "b.json"])
        .check(3, &["error[E0911] b.json:5", "`bw.txt` has no column of `latency`"]);
    // Of a column of latencies, too, the benchmark is that of the curve.
    for (title, program) in [
        ("OSU MPI Allreduce Latency Test v7.1", "osu_allreduce"),
        ("OSU MPI_Put Latency Test v7.1", "osu_put_latency"),
        ("OSU MPI Multi Latency Test v7.1", "osu_multi_lat"),
    ] {
        scratch.write("other.txt", &format!("# {title}\n# Size  Avg Latency (us)\n8 1.30\n"));
        scratch.write("b.json", &scenario("{ \"file\": \"other.txt\" }"));
        let says = [
            "error[E0911] b.json:5",
            &format!("`other.txt` is a table of {program}"),
            "the workload is ping_pong, as in osu_latency or IMB PingPong",
        ];
        scratch.run(&["run", "b.json"]).check(3, &says);
    }
    let of_collective = |operation: &str| {
        let ping_pong = "\"kind\": \"ping_pong\", \"size\": \"8 B\"";
        let collective = format!(
            "\"kind\": \"collective\", \"operation\": \"{operation}\", \"ranks_per_node\": 2"
        );
        let text = scenario("{ \"file\": \"other.txt\" }").replace(ping_pong, &collective);
        scratch.write("b.json", &text);
        scratch.run(&["validate", "b.json"])
    };
    scratch.write(
        "other.txt",
        "# OSU MPI Broadcast Latency Test v7.1\n# Size  Avg Latency(us)\n8 1\n",
    );
    of_collective("bcast").check(0, &[]);
    let says =
        ["is a table of osu_bcast", "the workload is collective of reduce, as in osu_reduce"];
    of_collective("reduce").check(3, &says);
    of_collective("barrier")
        .check(3, &["no benchmark that is read measures collective of barrier"]);
    scratch.write("other.txt", "# Entries   Latency (us)\n0 1.0\n8 1.3\n");
    scratch.write("b.json", &scenario("{ \"file\": \"other.txt\" }"));
    scratch.run(&["run", "b.json"]).check(3, &["`other.txt` goes over `entries`, not sizes"]);
    scratch.write("c.json", &scenario("{ \"file\": \"none.txt\" }"));
    scratch.run(&["run", "c.json"]).check(3, &["error[E0101]", "there is no such file"]);
}
