//! Programs that stand in scenarios: which of them a command runs, and what it says of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::binary::{Answer, Scratch};
use crate::exec::compiled;

/// A scenario whose rank leaves a file behind.
const LEAVES: &str = r#"{
  "schema": 1,
  "title": "A harmless ping-pong",
  "machine": "broadwell-edr",
  "nodes": 1,
  "workload": {
    "kind": "exec", "command": ["sh", "-c", "touch left"], "processes": 1, "processes_per_node": 1
  }
}
"#;

const SAYS: &str = "note: `leaves` runs `sh -c 'touch left'` on this computer, with your rights: 1 process at a time";

fn scratch(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("leaves.json", LEAVES);
    scratch.write("folder/leaves.json", LEAVES);
    scratch
}

/// Whether a command has run the program.
fn has_run(scratch: &Scratch, command: &[&str]) -> (Answer, bool) {
    let left = scratch.path("left");
    let _ = fs::remove_file(&left);
    (scratch.run(command), left.exists())
}

#[test]
fn a_scenario_that_is_named_runs_its_program_and_says_so() {
    let scratch = scratch("programs-named");
    for command in [
        &["run", "leaves.json"][..],
        &["check", "leaves.json"],
        &["check", "folder/leaves.json"],
        &["sensitivity", "leaves.json"],
        &["diff", "leaves.json", "--set-b", "seed=2"],
    ] {
        let (answer, ran) = has_run(&scratch, command);
        assert!(ran, "{command:?}");
        assert_eq!(answer.err.matches(SAYS).count(), 1, "{command:?}: {}", answer.err);
        let failed = answer.err.find("error[");
        assert!(failed.is_none_or(|at| answer.err.find(SAYS) < Some(at)), "{}", answer.err);
    }
    for command in [
        &["validate", "leaves.json"][..],
        &["show", "leaves.json", "--resolved"],
        &["run", "leaves.json", "--dry-run"],
        &["sweep", "plan", "leaves.json", "--out", "plan"],
    ] {
        let (answer, ran) = has_run(&scratch, command);
        assert_eq!((answer.exit, ran), (0, false), "{command:?}: {}", answer.err);
    }
}

#[test]
fn a_scenario_that_a_command_finds_runs_its_program_where_that_is_allowed_only() {
    let scratch = scratch("programs-found");
    scratch.run(&["sweep", "plan", "leaves.json", "--out", "plan"]).check(0, &[]);
    scratch.write("scenarios/leaves.json", LEAVES);
    for command in [&["check", "folder"][..], &["check"], &["sweep", "point", "plan", "0"]] {
        let (answer, ran) = has_run(&scratch, command);
        let says = ["error[E0706] ", "`sh -c 'touch left'`", "help: `--allow-exec` lets it run"];
        answer.check(2, &says);
        assert!(!ran, "{command:?}");
        let (answer, ran) = has_run(&scratch, &[command, &["--allow-exec"]].concat());
        assert!(ran && answer.err.contains(SAYS), "{command:?}: {}", answer.err);
    }
    // Scenarios beside it are checked all the same.
    scratch.write("folder/small.json", crate::binary::SMALL);
    let (answer, ran) = has_run(&scratch, &["check", "folder"]);
    assert!(!ran && answer.out.contains("new      small"), "{}{}", answer.out, answer.err);
    assert_eq!(answer.exit, 2, "{}", answer.err);
}

#[test]
fn tasks_of_a_scenario_that_is_named_may_run_its_program() {
    let scratch = scratch("programs-tasks");
    let tasks = scratch.run(&["run", "leaves.json", "--on", "slurm", "--dry-run"]).check(0, &[]);
    assert_eq!(tasks.out.matches(" --allow-exec").count(), 2, "{}", tasks.out);
    scratch.write("small.json", crate::binary::SMALL);
    let tasks = scratch.run(&["run", "small.json", "--on", "hq", "--dry-run"]).check(0, &[]);
    assert!(!tasks.out.contains("--allow-exec"), "{}", tasks.out);
}

const PING_PONG: &str = include_str!("../programs/c/ping_pong.c");

/// The options behind the program's own.
fn exec(scratch: &Scratch, out: &str, more: &[&str]) -> Answer {
    let words = ["exec", "-n", "2", "--machine", "knc-qdr", "--nodes", "2", "--out", out];
    scratch.run(&[&words[..], more, &["--", "./program", "1000000", "5"]].concat())
}

#[test]
fn kept_results_are_compared_without_their_program() {
    let scratch = Scratch::new("programs-kept");
    compiled(&scratch, PING_PONG);
    exec(&scratch, "a", &["--set", "mpi.rendezvous=rput"]).check(0, &[]);
    exec(&scratch, "b", &["--set", "mpi.rendezvous=rget"]).check(0, &[]);
    fs::rename(scratch.path("program"), scratch.path("elsewhere")).unwrap();
    let compared = scratch.run(&["diff", "a", "b"]).check(1, &[]);
    for part in [
        "inputs that differ: mpi.rendezvous rput -> rget",
        "time (us)",
        ": kept results have none, and `./program 1000000 5` runs for them with \
         `--allow-exec` only",
    ] {
        assert!(compared.out.contains(part), "{part}: {}", compared.out);
    }
    assert!(!compared.err.contains("libmpi"), "{}", compared.err);
    let same = scratch.run(&["diff", "a", "a"]).check(0, &[]);
    assert!(same.out.contains("the same events and metrics"), "{}", same.out);
    fs::rename(scratch.path("elsewhere"), scratch.path("program")).unwrap();
    let again = scratch.run(&["diff", "a", "b", "--allow-exec"]).check(1, &[]);
    assert!(again.out.contains("along the critical path"), "{}{}", again.out, again.err);
    assert!(!again.out.contains("kept results have none"), "{}", again.out);
}

/// The command in the report of a results directory.
fn made_again_by(scratch: &Scratch, out: &str) -> String {
    let page = fs::read_to_string(scratch.path(out).join("report.html")).unwrap();
    let (_, command) = page.split_once("<pre><code>").unwrap();
    let (command, _) = command.split_once("</code>").unwrap();
    let plain = [("&#x27;", "'"), ("&quot;", "\""), ("&lt;", "<"), ("&gt;", ">"), ("&#x2f;", "/")];
    let command = plain.iter().fold(command.to_owned(), |text, (code, c)| text.replace(code, c));
    command.replace("&amp;", "&")
}

fn digest(text: &str) -> &str {
    text.lines().find_map(|line| line.strip_prefix("digest ")).unwrap_or_else(|| panic!("{text}"))
}

#[track_caller]
fn check_made_again(scratch: &Scratch, out: &str, first: &Answer) {
    assert_eq!(first.exit, 0, "{}{}", first.out, first.err);
    let command = made_again_by(scratch, out);
    assert!(command.starts_with("mpisim exec -n "), "{command}");
    let command = command.replacen("mpisim", env!("CARGO_BIN_EXE_mpisim"), 1);
    let again = Command::new("sh").args(["-c", &command]).current_dir(&scratch.0).output().unwrap();
    let again = Answer::from(again);
    assert_eq!(again.exit, 0, "{command}: {}{}", again.out, again.err);
    assert_eq!(digest(&again.out), digest(&first.out), "{command}");
}

#[test]
fn the_report_of_a_program_names_the_command_that_makes_it_again() {
    let scratch = Scratch::new("programs-again");
    compiled(&scratch, PING_PONG);
    let set = ["--set", "mpi.eager_threshold=4 KiB", "--seed", "3", "--clock", "simulated"];
    let more = [&set[..], &["--explain", "--what-if", "library=0.5"]].concat();
    let first = exec(&scratch, "first", &more);
    check_made_again(&scratch, "first", &first);
    let page = fs::read_to_string(scratch.path("first/report.html")).unwrap();
    assert!(page.contains("<dt>ranks</dt><dd>2</dd>"), "{page}");
    assert!(page.contains("to the same digest"), "{page}");
    let measured = exec(&scratch, "measured", &["--compute", "measured=2.5"]);
    check_made_again(&scratch, "measured", &measured);
    let recorded = exec(
        &scratch,
        "recorded",
        &["--compute", "recorded=measured/compute.json", "--set", "workload.compute_factor=3"],
    );
    check_made_again(&scratch, "recorded", &recorded);
}

#[test]
fn each_program_has_a_folder_of_its_own_for_its_results() {
    let scratch = Scratch::new("programs-folders");
    compiled(&scratch, PING_PONG);
    fs::copy(scratch.path("program"), scratch.path("other")).unwrap();
    let permissions = fs::metadata(scratch.path("other")).unwrap().permissions();
    assert_eq!(permissions.mode() & 0o100, 0o100);
    for program in ["./program", "./other", "./program"] {
        let words = ["exec", "-n", "2", "--machine", "knc-qdr", "--", program, "8", "5"];
        let ran = scratch.run(&words).check(0, &["results in results/exec/"]);
        assert_eq!(ran.err.matches("note: ").count(), 1, "{program}: {}", ran.err);
    }
    for program in ["program", "other"] {
        assert!(scratch.path(&format!("results/exec/{program}/manifest.json")).is_file());
    }
}

#[test]
fn a_recording_of_computation_beyond_the_clock_ends_the_run_at_its_limit() {
    let scratch = Scratch::new("programs-clock");
    compiled(&scratch, PING_PONG);
    exec(&scratch, "measured", &["--compute", "measured"]).check(0, &[]);
    let text = fs::read_to_string(scratch.path("measured/compute.json")).unwrap();
    let mut recording: serde_json::Value = serde_json::from_str(&text).unwrap();
    for (ns, name) in [(17_000_000_000_000_000_u64, "long.json"), (u64::MAX, "longest.json")] {
        for call in recording["ranks"]
            .as_array_mut()
            .unwrap()
            .iter_mut()
            .flat_map(|rank| rank.as_array_mut().unwrap().iter_mut())
        {
            call[1] = ns.into();
        }
        scratch.write(name, &recording.to_string());
        exec(&scratch, "recorded", &["--compute", &format!("recorded={name}")])
            .check(5, &["E1001"]);
    }
}
