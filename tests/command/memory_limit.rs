//! A limit of memory: points that pass it fail by name, before they begin or after the same event
//! everywhere, and the others go on.

#[cfg(target_os = "linux")]
use crate::binary::{Answer, program};
use crate::binary::{SMALL, Scratch};

/// Barriers of a few ranks and of many.
fn ranks() -> String {
    let workload = r#"{ "kind": "collective", "operation": "barrier", "algorithm": "dissemination",
        "ranks_per_node": 2, "rounds": 3 }"#;
    let small = SMALL.replace(r#"{ "kind": "ping_pong", "size": "8 B", "rounds": 5 }"#, workload);
    let axis = r#""workload.size": ["8 B", "1 KiB", "64 KiB"]"#;
    let text = small.replace(axis, r#""workload.ranks_per_node": [2, 50, 4]"#);
    let head = text.split("\"figures\"").next().unwrap().trim_end().trim_end_matches(',');
    format!("{head}\n}}")
}

/// Ping-pongs with bytes.
fn bytes() -> String {
    SMALL.replace("\"workload\"", "\"mpi\": { \"payload\": \"real\" },\n  \"workload\"")
}

// row: K9
#[test]
fn ranks_that_do_not_fit_are_not_begun_and_the_other_points_are_there() {
    let scratch = Scratch::new("memory-ranks");
    scratch.write("ranks.json", &ranks());
    // 100 ranks with a thread each: 100 * (4096 + 1024) bytes.
    let run = ["run", "ranks.json", "--set", "limits.memory=500000 B", "--format", "csv"];
    let answer = scratch.run(&run).check(
        5,
        &[
            "error[E1001]",
            "a limit ended 1 of 3 points",
            "point 1 (workload.ranks_per_node = 50)",
            "reached before the first event: the run holds 500 KiB, most of it its processes (400 KiB)",
            "simulate fewer ranks",
        ],
    );
    for (ranks, there) in [("0,2,latency", true), ("1,50,latency", false), ("2,4,latency", true)] {
        assert_eq!(answer.out.contains(ranks), there, "{}", answer.out);
    }
    let enough = ["run", "ranks.json", "--set", "limits.memory=2 MiB", "--format", "csv"];
    assert!(scratch.run(&enough).check(0, &[]).out.contains("1,50,latency"));
}

// row: K9
#[test]
fn a_run_that_grows_beyond_it_stops_after_the_same_event_whoever_runs_beside_it() {
    let scratch = Scratch::new("memory-bytes");
    scratch.write("bytes.json", &bytes());
    let run = |jobs: &str| {
        let set = "limits.memory=100 KiB";
        let arguments = ["run", "bytes.json", "--jobs", jobs, "--set", set, "--format", "json"];
        scratch.run(&arguments).check(5, &["a limit ended 1 of 3 points", "64 KiB"])
    };
    let (one, two) = (run("1"), run("2"));
    assert_eq!(one.out, two.out);
    let json = one.json();
    let points = json["points"].as_array().unwrap();
    assert_eq!((&points[0]["failure"], &points[1]["failure"]), (&().into(), &().into()));
    // The number holds in debug and release: `.ci/run test release-tests` runs both.
    let said = points[2]["failure"].as_str().unwrap();
    assert!(said.contains("reached after 32 events: the run holds 143936 B,"), "{said}");
    assert!(said.contains("most of it bytes of payload (128 KiB)"), "{said}");
    assert!(said.contains("`mpi.payload` \"phantom\""), "{said}");
    let phantom = ["run", "bytes.json", "--set", "limits.memory=100 KiB", "--set"];
    scratch.run(&[&phantom[..], &["mpi.payload=phantom"]].concat()).check(0, &[]);
}

// row: K9
#[test]
fn a_limit_that_is_not_met_changes_no_byte() {
    let scratch = Scratch::new("memory-unmet");
    scratch.write("bytes.json", &bytes());
    let run = |limit: &str| {
        let set = format!("limits.memory={limit}");
        scratch.run(&["run", "bytes.json", "--set", &set, "--format", "csv"]).check(0, &[]).out
    };
    assert_eq!(run("1 MiB"), run("1024 GiB"));
}

// row: K9
#[test]
fn the_log_of_an_explained_run_counts() {
    let scratch = Scratch::new("memory-log");
    scratch.write("small.json", &SMALL.replace("\"rounds\": 5", "\"rounds\": 20000"));
    let run = |more: &[&str]| {
        let set = "limits.memory=1 MiB";
        scratch.run(
            &[&["run", "small.json", "--set", set, "--set", "workload.size=8 B"], more].concat(),
        )
    };
    run(&[]).check(0, &[]);
    let answer = run(&["--explain"]).check(5, &["E1001", "run without `--explain`"]);
    assert!(answer.err.contains("most of it the log of `--explain`"), "{}", answer.err);
    assert!(answer.err.contains("reached after ") && answer.err.contains(" events"), "it ran");
}

// row: K9
#[test]
fn a_run_that_fits_only_without_a_picture_is_not_drawn_in_part() {
    let scratch = Scratch::new("memory-picture");
    scratch.write("small.json", &SMALL.replace("\"rounds\": 5", "\"rounds\": 20000"));
    let run = ["run", "small.json", "--set", "limits.memory=1 MiB", "--set", "workload.size=8 B"];
    scratch.run(&run).check(0, &[]);
    let before = scratch.files("results");
    for option in ["--trace", "--sequence"] {
        let answer = scratch.run(&[&run[..], &[option, "file"]].concat());
        answer
            .check(5, &["E1001", "limit of 1 MiB of memory", "without `--trace` and `--sequence`"]);
        assert!(!scratch.path("file").exists());
    }
    assert_eq!(scratch.files("results"), before);
}

// row: K9
#[test]
fn points_that_were_not_begun_are_not_called_the_same() {
    let scratch = Scratch::new("memory-diff");
    scratch.write("ranks.json", &ranks());
    let diff = ["diff", "ranks.json", "ranks.json", "--set"];
    let answer = scratch.run(&[&diff[..], &["limits.memory=500000 B"]].concat());
    let answer = answer.check(1, &[]);
    assert!(answer.out.contains("events differ at 1 of 3 points"), "{}", answer.out);
    assert!(answer.out.contains("cannot be told: the limit of"), "{}", answer.out);
    scratch.run(&[&diff[..], &["limits.memory=2 MiB"]].concat()).check(0, &[]);
}

// row: K9
#[test]
fn a_log_that_does_not_fit_is_no_difference_between_versions() {
    let scratch = Scratch::new("memory-told");
    scratch.write("small.json", &SMALL.replace("\"rounds\": 5", "\"rounds\": 20000"));
    let diff = ["diff", "small.json", "small.json", "--set", "workload.size=8 B"];
    let more = ["--set", "limits.memory=1 MiB", "--set-b", "workload.rounds=20001"];
    let answer = scratch.run(&[&diff[..], &more].concat()).check(1, &[]);
    assert!(answer.out.contains("run without `--explain`"), "{}", answer.out);
    assert!(!answer.out.contains("as it was made by"), "{}", answer.out);
}

// row: K9
#[test]
fn few_events_that_take_much_are_seen() {
    let scratch = Scratch::new("memory-few");
    scratch.write("bytes.json", &bytes());
    // Far less than the 64 events between two looks.
    let run = ["run", "bytes.json", "--set", "workload.size=16 MiB", "--set", "workload.rounds=1"];
    let answer = scratch.run(&[&run[..], &["--set", "limits.memory=1 MiB"]].concat());
    answer.check(5, &["E1001", "reached after 7 events:", "most of it bytes of payload (16 MiB)"]);
    let window = r#"{ "kind": "bandwidth", "size": "8 B", "window": 65536, "rounds": 1 }"#;
    let ping = r#"{ "kind": "ping_pong", "size": "8 B", "rounds": 5 }"#;
    let text = SMALL.replace(ping, window);
    let head = text.split("\"figures\"").next().unwrap().trim_end().trim_end_matches(',');
    scratch.write("queue.json", &format!("{head}\n}}"));
    let run = ["run", "queue.json", "--set", "workload.size=8 B", "--set", "limits.memory=4 MiB"];
    let answer = scratch.run(&run).check(5, &["E1001", "reached after "]);
    let (_, after) = answer.err.split_once("reached after ").unwrap();
    let events: u64 = after.split(' ').next().unwrap().parse().unwrap();
    assert!(events < 100, "the queue is there long before 4,096 events: {}", answer.err);
}

/// The program where the system allows it so many KiB of address space.
#[cfg(target_os = "linux")]
fn in_address_space(scratch: &Scratch, kib: u32, arguments: &str) -> Answer {
    let program = program();
    let program = program.display();
    let line = format!("ulimit -v {kib} && exec '{program}' {arguments}");
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", &line]).env("RUST_BACKTRACE", "0").current_dir(&scratch.0);
    Answer::from(shell.output().unwrap())
}

#[test]
#[cfg(target_os = "linux")]
fn where_the_scenario_says_nothing_a_point_may_hold_what_the_process_can_have() {
    let scratch = Scratch::new("memory-host");
    scratch.write("ranks.json", &ranks());
    // 131,072 ranks with a thread each take 640 MiB.
    let run = "run ranks.json --set workload.ranks_per_node=64 --set nodes=2048 --jobs 1";
    let said = [
        "the limit of 500000 KiB of memory was reached before the first event",
        "the limit is that of its address space (`ulimit -v`), as the scenario gives none",
    ];
    in_address_space(&scratch, 500_000, run).check(5, &said);
}

#[test]
#[cfg(target_os = "linux")]
fn an_allocation_that_fails_ends_with_a_sentence_and_five() {
    let scratch = Scratch::new("memory-fails");
    let large = bytes().replace(r#"["8 B", "1 KiB", "64 KiB"]"#, r#"["1 GiB"]"#);
    let head = large.split("\"figures\"").next().unwrap().trim_end().trim_end_matches(',');
    scratch.write("large.json", &format!("{head} }}"));
    let run = "run large.json --set limits.memory='64 GiB' --jobs 1";
    let answer = in_address_space(&scratch, 600_000, run).check(5, &[" bytes failed"]);
    assert!(answer.err.starts_with("memory allocation of "), "{}", answer.err);
}

#[test]
#[cfg(target_os = "linux")]
fn without_threads_the_points_are_run_one_after_the_other() {
    let scratch = Scratch::new("memory-threads");
    scratch.write("small.json", SMALL);
    let whole = scratch.run(&["run", "small.json", "--format", "csv"]).check(0, &[]).out;
    // There is no address space for the stacks of so many threads.
    let run = "run small.json --format csv --jobs 1000";
    assert_eq!(in_address_space(&scratch, 300_000, run).check(0, &[]).out, whole);
}
