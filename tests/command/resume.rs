//! Runs that are stopped: what they keep, and that they go on to the same bytes.

#![cfg(unix)]
use crate::binary;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::binary::{SMALL, Scratch};

/// Points long enough to be interrupted.
fn long() -> String {
    let sizes: Vec<String> = (1..=24).map(|size| format!("\"{} B\"", 8 * size)).collect();
    let text = SMALL.replace("\"rounds\": 5", "\"rounds\": 8000");
    text.replace("[\"8 B\", \"1 KiB\", \"64 KiB\"]", &format!("[{}]", sizes.join(", ")))
}

fn start(scratch: &Scratch, arguments: &[&str]) -> Child {
    scratch.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the journal holds a few points.
fn wait_for_points(journal: &Path) {
    for _ in 0..6_000 {
        let lines = fs::read(journal).map_or(0, |bytes| bytes.split(|byte| *byte == b'\n').count());
        if lines > 4 {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("no point was kept within 30 s");
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

// row: L7
#[test]
fn a_killed_run_goes_on_to_the_same_bytes() {
    let scratch = Scratch::new("kill");
    scratch.write("long.json", &long());
    scratch.run(&["run", "long.json", "--out", "whole"]).check(0, &[]);
    let mut child = start(&scratch, &["run", "long.json", "--out", "cut", "--jobs", "1"]);
    wait_for_points(&scratch.path("cut/points.journal"));
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!scratch.path("cut/manifest.json").exists(), "the run was too short to be killed");
    scratch
        .run(&["run", "long.json", "--out", "cut", "--jobs", "2", "--resume"])
        .check(0, &["points of the interrupted run are kept", "was taken over"]);
    assert_eq!(scratch.files("cut"), scratch.files("whole"));
    let before = scratch.files("cut");
    scratch.run(&["run", "long.json", "--out", "cut", "--resume"]).check(0, &["nothing to do"]);
    assert_eq!(scratch.files("cut"), before);
}

#[track_caller]
fn check_signal(name: &str, exit: i32) {
    let scratch = Scratch::new(&format!("signal{name}"));
    scratch.write("long.json", &long());
    let child = start(&scratch, &["run", "long.json", "--out", "out dir", "--jobs", "1"]);
    wait_for_points(&scratch.path("out dir/points.journal"));
    signal(&child, name);
    let answer = binary::Answer::from(child.wait_with_output().unwrap());
    let resume = "mpisim run long.json --out 'out dir' --jobs 1 --resume";
    let says = ["stopped by SIG", " points kept; go on with: ", resume];
    answer.check(exit, &says);
    assert!(!scratch.path("out dir/run.lock").exists(), "its lock went with it");
    assert!(!scratch.path("out dir/manifest.json").exists());
    scratch
        .run(&["run", "long.json", "--out", "out dir", "--resume"])
        .check(0, &["points of the interrupted run are kept"]);
}

// row: L1
#[test]
fn an_interrupted_run_says_how_to_go_on() {
    check_signal("-INT", 130);
}

// row: L3
#[test]
fn a_terminated_run_says_how_to_go_on() {
    check_signal("-TERM", 143);
}

// row: L10
#[test]
fn a_closed_terminal_stops_a_run() {
    check_signal("-HUP", 129);
}

/// A run of one point that takes minutes, at work.
fn endless(scratch: &Scratch) -> Child {
    let text = SMALL.replace("\"rounds\": 5", "\"rounds\": 1000000000");
    scratch.write("endless.json", &text);
    let child = start(scratch, &["run", "endless.json", "--out", "r", "--jobs", "2"]);
    for _ in 0..2_000 {
        if scratch.path("r/points.journal").exists() {
            return child;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let answer = child.wait_with_output();
    panic!("the run did not begin within 10 s: {answer:?}");
}

#[test]
fn a_long_point_is_abandoned() {
    let scratch = Scratch::new("abandon");
    let child = endless(&scratch);
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "-INT");
    let answer = binary::Answer::from(child.wait_with_output().unwrap());
    answer.check(130, &["stopped by SIGINT", "--resume"]);
    assert!(!scratch.path("r/manifest.json").exists());
}

// row: L2
#[test]
fn a_second_signal_ends_at_once() {
    let scratch = Scratch::new("impatient");
    let child = endless(&scratch);
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "-INT");
    std::thread::sleep(Duration::from_millis(200));
    signal(&child, "-INT");
    let answer = binary::Answer::from(child.wait_with_output().unwrap());
    let answer = answer.check(130, &[]);
    assert!(answer.err.is_empty(), "the grace was waited for: {}", answer.err);
}

// row: L6
#[test]
fn a_second_run_into_the_same_directory_is_refused() {
    let scratch = Scratch::new("twice");
    scratch.write("long.json", &long());
    let mut child = start(&scratch, &["run", "long.json", "--out", "r", "--jobs", "1"]);
    wait_for_points(&scratch.path("r/points.journal"));
    let owner = format!("process {}", child.id());
    scratch.run(&["run", "long.json", "--out", "r"]).check(4, &["error[E0803]", &owner]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn points_of_another_scenario_do_not_mix() {
    let scratch = Scratch::new("mix");
    scratch.write("small.json", SMALL);
    scratch.run(&["run", "small.json", "--out", "r"]).check(0, &[]);
    let before = scratch.files("r");
    scratch.write("small.json", &SMALL.replace("\"rounds\": 5", "\"rounds\": 6"));
    scratch
        .run(&["run", "small.json", "--out", "r", "--resume"])
        .check(3, &["error[E0804]", "workload.rounds was 5, is 6"]);
    scratch
        .run(&["run", "small.json", "--out", "r", "--resume", "--seed", "9"])
        .check(3, &["error[E0804]", "seed was 1, is 9"]);
    assert_eq!(scratch.files("r"), before);
}
