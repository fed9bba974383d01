//! Files that options name: inputs stay, links stay links, and into what is no file is written.

#![cfg(unix)]

use std::fs::{self, Permissions};
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};
use std::process::Command;

use crate::binary::{Answer, Scratch, program};

/// A single point.
const ONE: &str = r#"{
  "schema": 1,
  "title": "One",
  "machine": "knc-qdr",
  "workload": { "kind": "ping_pong", "size": "8 B", "rounds": 3 }
}
"#;

const TABLE: &str = "# OSU MPI Latency Test v7.1\n# Size          Latency (us)\n8  1.5\n16 1.6\n";

/// A program that fails in one order, so that `explore` has a way to draw.
const RACE: &str = r#"{
  "schema": 1,
  "title": "Race",
  "machine": "ideal",
  "nodes": 3,
  "workload": { "kind": "program", "ranks": [
    [ { "op": "recv", "src": "any", "max": "8 B" }, { "op": "recv", "src": 1, "max": "8 B" } ],
    [ { "op": "send", "to": 0, "size": "8 B" } ],
    [ { "op": "send", "to": 0, "size": "8 B" } ]
  ] }
}
"#;

/// Every command with an output option, but for the file of the output, and an input of each.
const COMMANDS: [(&[&str], &str); 7] = [
    (&["run", "one.json", "--trace"], "one.json"),
    (&["run", "one.json", "--sequence"], "one.json"),
    (&["check", "one.json", "--report"], "one.json"),
    (&["check", "one.json", "--report"], "traces/baselines/main/one.json"),
    (&["sensitivity", "one.json", "--figure"], "one.json"),
    (&["fit", "--measured", "latency=table.txt", "--out"], "table.txt"),
    (&["explore", "race.json", "--dot"], "race.json"),
];

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("one.json", ONE);
    scratch.write("race.json", RACE);
    scratch.write("table.txt", TABLE);
    scratch.run(&["check", "one.json", "--save-baseline", "main"]).check(0, &[]);
    scratch
}

#[test]
fn no_output_replaces_an_input_by_whatever_name() {
    let scratch = scratch("outputs-inputs");
    for (command, input) in COMMANDS {
        let before = fs::read(scratch.path(input)).unwrap();
        symlink(scratch.path(input), scratch.path("link")).unwrap();
        fs::hard_link(scratch.path(input), scratch.path("hard")).unwrap();
        for name in [input, &format!("./results/../{input}"), "link", "hard"] {
            fs::create_dir_all(scratch.path("results")).unwrap();
            let says = ["E0703", name, "which this command reads"];
            scratch.run(&[command, &[name]].concat()).check(2, &says);
            assert_eq!(fs::read(scratch.path(input)).unwrap(), before, "{command:?} {name}");
        }
        fs::remove_file(scratch.path("link")).unwrap();
        fs::remove_file(scratch.path("hard")).unwrap();
    }
}

/// A scenario whose ranks are processes: what they are, what they read, and what they have computed.
const RANKS: &str = r#"{
  "schema": 1,
  "title": "Ranks",
  "machine": "knc-qdr",
  "nodes": 1,
  "workload": {
    "kind": "exec", "command": ["./program", "script.py", "--from=data.txt"], "processes": 1,
    "processes_per_node": 1, "environment": ["LD_PRELOAD=/nowhere.so:./tool.so"],
    "compute": "recorded", "compute_file": "recording.json"
  }
}
"#;

/// What the scenario runs and reads.
const OF_RANKS: [&str; 6] =
    ["ranks.json", "program", "script.py", "data.txt", "tool.so", "recording.json"];

fn with_ranks(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("ranks.json", RANKS);
    for name in ["script.py", "data.txt", "tool.so"] {
        scratch.write(name, "kept");
    }
    let program = scratch.write("program", "#!/bin/sh\nexit 1\n");
    fs::set_permissions(program, Permissions::from_mode(0o755)).unwrap();
    let command = r#"["./program", "script.py", "--from=data.txt"]"#;
    let recording =
        format!(r#"{{ "schema": 1, "command": {command}, "functions": [], "ranks": [[]] }}"#);
    scratch.write("recording.json", &recording);
    scratch
}

#[test]
fn no_output_replaces_what_ranks_execute_or_read() {
    let scratch = with_ranks("outputs-ranks");
    let by_scenario: [&[&str]; 4] = [
        &["run", "ranks.json", "--trace"],
        &["run", "ranks.json", "--sequence"],
        &["check", "ranks.json", "--report"],
        &["sensitivity", "ranks.json", "--figure"],
    ];
    for command in by_scenario {
        for input in OF_RANKS {
            let before = fs::read(scratch.path(input)).unwrap();
            symlink(scratch.path(input), scratch.path("link")).unwrap();
            fs::hard_link(scratch.path(input), scratch.path("hard")).unwrap();
            for name in [input, "link", "hard"] {
                let says = ["E0703", name, "which this command reads"];
                scratch.run(&[command, &[name]].concat()).check(2, &says);
                assert_eq!(fs::read(scratch.path(input)).unwrap(), before, "{command:?} {name}");
            }
            fs::remove_file(scratch.path("link")).unwrap();
            fs::remove_file(scratch.path("hard")).unwrap();
        }
    }
}

#[test]
fn no_output_of_exec_replaces_its_program_or_its_recording() {
    let scratch = with_ranks("outputs-exec");
    let words = ["--compute", "recorded=recording.json", "--", "./program", "script.py"];
    let words = [&words[..], &["--from=data.txt"]].concat();
    for option in ["--trace", "--sequence"] {
        for input in ["program", "./script.py", "data.txt", "recording.json"] {
            let before = fs::read(scratch.path(input)).unwrap();
            let options = ["exec", "--machine", "ideal", option, input];
            let command = [&options[..], &words].concat();
            scratch.run(&command).check(2, &["E0703", input, "which this command reads"]);
            assert_eq!(fs::read(scratch.path(input)).unwrap(), before, "{option} {input}");
        }
    }
    assert!(!scratch.path("results").exists(), "nothing ran");
}

#[test]
fn no_file_of_a_folder_replaces_what_ranks_read() {
    let scratch = with_ranks("outputs-folders");
    let command = |arguments: &[&str], input: &str| {
        let words = ["exec", "--machine", "ideal"];
        let all = [&words[..], arguments, &["--", "./program", input]];
        scratch.write(input, "kept");
        scratch.run(&all.concat()).check(2, &["E0703", input, "which this command reads"]);
        assert_eq!(fs::read_to_string(scratch.path(input)).unwrap(), "kept", "{input}");
    };
    command(&["--output", "printed"], "printed/rank-0.txt");
    command(&["--out", "kept"], "kept/points.csv");
    command(&["--out", "kept"], "kept/manifest.json");
}

#[test]
fn a_model_beside_the_scenario_is_an_input() {
    let scratch = scratch("outputs-models");
    scratch.write("own.json", r#"{ "name": "own", "title": "Own", "extends": "knc-qdr" }"#);
    scratch.write("two.json", &ONE.replace("knc-qdr", "own"));
    scratch.run(&["run", "two.json", "--trace", "own.json"]).check(2, &["`--trace own.json`"]);
    let fit = ["fit", "--measured", "latency=table.txt", "--out", "own.json", "--machine"];
    scratch.run(&[&fit[..], &["own.json"]].concat()).check(2, &["`--out own.json`"]);
    scratch.run(&[&fit[..], &["own", "--models", "."]].concat()).check(2, &["`--out own.json`"]);
}

#[test]
fn two_options_do_not_share_a_file() {
    let scratch = scratch("outputs-two");
    let command = ["run", "one.json", "--trace", "x", "--sequence", "./x"];
    scratch.run(&command).check(2, &["`--trace` and `--sequence` both name `x`"]);
    assert!(!scratch.path("x").exists() && !scratch.path("results").exists());
}

#[test]
fn a_link_is_followed_and_stays_one() {
    let scratch = scratch("outputs-links");
    for (command, _) in COMMANDS {
        fs::create_dir_all(scratch.path("folder")).unwrap();
        // The second leads nowhere yet.
        for (link, target) in [("old", "folder/there"), ("new", "folder/fresh")] {
            fs::write(scratch.path("folder/there"), "x").unwrap();
            symlink(target, scratch.path(link)).unwrap();
            let _ = scratch.run(&[command, &[link]].concat());
            let found = fs::symlink_metadata(scratch.path(link)).unwrap();
            assert!(found.is_symlink(), "{command:?} {link}");
            assert!(fs::metadata(scratch.path(target)).unwrap().len() > 1, "{command:?} {link}");
            fs::remove_file(scratch.path(link)).unwrap();
        }
        fs::remove_dir_all(scratch.path("folder")).unwrap();
    }
}

#[test]
fn into_a_pipe_is_written() {
    let scratch = scratch("outputs-pipes");
    for (command, _) in COMMANDS {
        let pipe = scratch.path("pipe");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let reader = Command::new("cat").arg(&pipe).stdout(std::process::Stdio::piped()).spawn();
        let _ = scratch.run(&[command, &["pipe"]].concat());
        let read = reader.unwrap().wait_with_output().unwrap().stdout;
        assert!(!read.is_empty(), "{command:?}");
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo(), "{command:?}");
        fs::remove_file(&pipe).unwrap();
    }
}

#[test]
fn a_device_stays_one() {
    let scratch = scratch("outputs-devices");
    for (command, _) in COMMANDS {
        let _ = scratch.run(&[command, &["/dev/null"]].concat());
        let found = fs::symlink_metadata("/dev/null").unwrap();
        assert!(found.file_type().is_char_device(), "{command:?}");
    }
    // Standard output may be a pipe: both go into it.
    let command = ["run", "one.json", "--format", "json", "--sequence", "/dev/stdout"];
    let text = scratch.run(&command).check(0, &[]).out;
    assert!(text.contains("<svg") && text.contains("\"digest\""), "{text}");
}

/// The names of everything below the folder, but for what was there before.
fn made(scratch: &Scratch, before: &[&str]) -> Vec<String> {
    let all = scratch.files("").into_iter().map(|(name, _)| name);
    all.filter(|name| !before.contains(&name.as_str())).collect()
}

#[test]
fn no_path_of_a_scenario_leads_results_or_baselines_out_of_their_folders() {
    let scratch = Scratch::new("outputs-upwards");
    scratch.write("in/scenarios/a/b.json", ONE);
    scratch.write("in/zz.json", ONE);
    let given = "scenarios/a/../../zz.json";
    let run = |arguments: &[&str]| {
        let mut command = scratch.command(arguments);
        assert!(command.current_dir(scratch.path("in")).output().unwrap().status.success());
    };
    run(&["run", given]);
    run(&["check", given, "--save-baseline", "main"]);
    run(&["sensitivity", given]);
    let made = made(&scratch, &["in/scenarios/a/b.json", "in/zz.json"]);
    let inside = |name: &String| {
        name.starts_with("in/results/zz")
            || name == "in/traces/baselines/main/zz.json"
            || name.starts_with("in/traces/machines/")
    };
    assert!(made.len() > 3 && made.iter().all(inside), "{made:?}");
}

#[test]
fn files_of_one_name_share_neither_baseline_nor_results() {
    let scratch = Scratch::new("outputs-names");
    scratch.write("x/my.json", ONE);
    scratch.write("y/my.json", &ONE.replace("8 B", "16 B"));
    let save = ["check", "x", "y", "--save-baseline", "main"];
    scratch.run(&save).check(2, &["`x/my.json` and `y/my.json` are both called `my`"]);
    assert!(!scratch.path("traces").exists());
    scratch.run(&["run", "x/my.json"]).check(0, &[]);
    let before = scratch.files("results");
    let other = scratch
        .run(&["run", "y/my.json"])
        .check(4, &["E0802", "of scenario `x/my.json`, not of `y/my.json`"]);
    assert!(other.err.contains("--out"), "{}", other.err);
    assert_eq!(scratch.files("results"), before);
    // By another path it is the same file, and a file that is gone claims nothing.
    scratch.run(&["run", "./y/../x/my.json"]).check(0, &[]);
    let absolute = scratch.path("x/my.json").display().to_string();
    scratch.run(&["run", &absolute]).check(0, &[]);
    std::fs::remove_file(scratch.path("x/my.json")).unwrap();
    scratch.run(&["run", "y/my.json"]).check(0, &[]);
}

#[test]
fn a_file_that_may_not_grow_so_long_is_an_error_of_writing_it() {
    let scratch = Scratch::new("outputs-limit");
    scratch.write("one.json", ONE);
    let program = program();
    let program = program.display();
    let mut shell = Command::new("bash");
    shell.args(["-c", &format!("ulimit -f 1; exec {program} run one.json")]);
    let answer = Answer::from(shell.current_dir(&scratch.0).output().unwrap());
    answer.check(4, &["E0801", "bytes needed"]);
}

#[test]
fn names_of_files_reach_the_terminal_escaped() {
    let scratch = Scratch::new("outputs-escape");
    scratch.write("a\u{1b}[31mred\u{202e}.json", ONE);
    let answer = scratch.run(&["run", "a\u{1b}[31mred\u{202e}.json"]).check(0, &[]);
    let wild = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!answer.out.contains(wild), "{:?}", answer.out);
    assert!(!answer.err.contains(wild), "{:?}", answer.err);
}
