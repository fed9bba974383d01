//! A sweep by several processes: the gathered bytes are those of one process, a killed worker loses
//! nothing, and the commands for engines are the ones that engines take.
//!
//! Slurm is run for real where `sbatch` can start a job; elsewhere, and for `HyperQueue`, a script
//! of the same name takes the command and runs its tasks.

use std::fs;
use std::process::Command;

use crate::binary::{Answer, DEADLOCK, SMALL, Scratch};

/// Twelve points that take long enough to be killed among them.
const LONG: &str = r#"{
  "schema": 1,
  "title": "Long",
  "machine": "broadwell-edr",
  "workload": { "kind": "message_rate", "senders_per_node": 4, "size": "8 B", "window": 64, "rounds": 400 },
  "sweep": { "workload.size": ["1 B", "2 B", "4 B", "8 B", "16 B", "32 B", "64 B", "128 B", "256 B", "512 B", "1 KiB", "2 KiB"] },
  "figures": [ { "x": "workload.size", "y": "message_rate" } ]
}
"#;

/// What one process writes for a scenario.
fn local(scratch: &Scratch) -> Vec<(String, Vec<u8>)> {
    scratch.run(&["run", "a.json", "--out", "local"]).check(0, &[]);
    scratch.files("local")
}

/// The results of a gathered sweep; no lock is left.
fn gathered(scratch: &Scratch, name: &str) -> Vec<(String, Vec<u8>)> {
    let mut files = scratch.files(name);
    files.retain(|(name, _)| name != "run.lock");
    files
}

#[test]
fn the_gathered_bytes_are_those_of_one_process() {
    let scratch = Scratch::new("spread");
    scratch.write("a.json", SMALL);
    let wanted = local(&scratch);
    let plan = scratch.run(&["sweep", "plan", "a.json", "--out", "plan", "--chunk", "2"]);
    assert_eq!(plan.check(0, &[]).out, "3 points in 2 tasks: plan\n");
    let missing = scratch.run(&["sweep", "gather", "plan", "--out", "far"]);
    missing.check(1, &["error[E1005]", "3 of 3 points are missing: 0-2"]);
    assert!(!scratch.path("far").exists());
    let run = scratch.run(&["sweep", "point", "plan", "--task", "1"]).check(0, &[]);
    assert_eq!(run.out, "1 point run, 0 there already\n");
    scratch.run(&["sweep", "gather", "plan"]).check(1, &["missing: 0-1"]);
    let run = scratch.run(&["sweep", "point", "plan", "0", "1", "2"]).check(0, &[]);
    assert_eq!(run.out, "2 points run, 1 there already\n");
    let answer = scratch.run(&["sweep", "gather", "plan", "--out", "far"]).check(0, &[]);
    assert!(answer.out.contains("digest"), "{}", answer.out);
    assert_eq!(gathered(&scratch, "far"), wanted);
    // A plan that is there stays, and so do its points.
    scratch.run(&["sweep", "plan", "a.json", "--out", "plan"]).check(0, &[]);
    let run = scratch.run(&["sweep", "point", "plan", "0", "1", "2"]).check(0, &[]);
    assert_eq!(run.out, "0 points run, 3 there already\n");
}

#[test]
fn points_of_another_scenario_do_not_mix_and_wrong_numbers_are_refused() {
    let scratch = Scratch::new("spread-other");
    scratch.write("a.json", SMALL);
    scratch.run(&["sweep", "plan", "a.json", "--out", "plan"]).check(0, &[]);
    scratch.run(&["sweep", "point", "plan", "3"]).check(2, &["there is no point 3"]);
    scratch.run(&["sweep", "point", "plan", "--task", "9"]).check(2, &["there is no task 9"]);
    scratch.run(&["sweep", "point", "plan"]).check(2, &["--task"]);
    scratch.run(&["sweep", "point", "nowhere", "0"]).check(4, &["there is no plan"]);
    scratch.write("a.json", &SMALL.replace("\"rounds\": 5", "\"rounds\": 6"));
    scratch.run(&["sweep", "point", "plan", "0"]).check(3, &["workload.rounds was"]);
    scratch.run(&["sweep", "plan", "a.json", "--out", "plan"]).check(3, &["workload.rounds was"]);
    scratch.write("full/mine.txt", "mine");
    scratch.run(&["sweep", "plan", "a.json", "--out", "full"]).check(4, &["mine.txt"]);
}

#[test]
fn a_damaged_point_is_found_and_a_failed_one_is_a_result() {
    let scratch = Scratch::new("spread-damage");
    scratch.write("a.json", DEADLOCK);
    scratch.run(&["sweep", "plan", "a.json", "--out", "plan"]).check(0, &[]);
    scratch.run(&["sweep", "point", "plan", "0"]).check(0, &[]);
    scratch.run(&["sweep", "gather", "plan", "--out", "far"]).check(1, &["error[E1003]"]);
    let point = scratch.path("plan/points/000/000000");
    let mut bytes = fs::read(&point).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&point, bytes).unwrap();
    scratch.run(&["sweep", "gather", "plan", "--out", "far"]).check(3, &["000000", "checksum"]);
}

#[test]
fn a_killed_worker_loses_nothing() {
    let scratch = Scratch::new("spread-kill");
    scratch.write("a.json", LONG);
    scratch.run(&["sweep", "plan", "a.json", "--out", "plan", "--chunk", "12"]).check(0, &[]);
    let task = ["sweep", "point", "plan", "--task", "0", "--jobs", "1"];
    let mut worker = scratch.command(&task).spawn().unwrap();
    let first = scratch.path("plan/points/000/000000");
    while !first.exists() && worker.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    worker.kill().unwrap();
    worker.wait().unwrap();
    // Another one takes the same task, and a third one does it at the same time.
    let mut third = scratch.command(&task).spawn().unwrap();
    scratch.run(&task).check(0, &[]);
    assert!(third.wait().unwrap().success());
    scratch.run(&["sweep", "gather", "plan", "--out", "far"]).check(0, &[]);
    assert_eq!(gathered(&scratch, "far"), local(&scratch));
}

/// A script called as an engine's command, first on the path.
#[expect(clippy::disallowed_methods, reason = "the script comes before what is on the path")]
fn with_engine(scratch: &Scratch, name: &str, script: &str, words: &[&str]) -> Answer {
    use std::os::unix::fs::PermissionsExt as _;
    let path = scratch.write(&format!("bin/{name}"), script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let old = std::env::var("PATH").unwrap();
    let path = format!("{}:{old}", scratch.path("bin").display());
    Answer::from(scratch.command(words).env("PATH", path).output().unwrap())
}

/// Takes `hq submit --wait --array=0-N -- COMMAND...` and runs every task.
const HQ: &str = r#"#!/bin/sh
[ "$1 $2" = "submit --wait" ] || exit 9
last=${3#--array=0-}; [ "$4" = "--" ] || exit 9; shift 4
for id in $(seq 0 "$last"); do HQ_TASK_ID=$id "$@" || exit 1; done
"#;

/// Takes two `sbatch` commands: runs the tasks of the array, then what depends on them.
const SBATCH: &str = r#"#!/bin/sh
last=
for word in "$@"; do case $word in
    --array=0-*) last=${word#--array=0-};;
    --dependency=afterok:17) dependent=yes;;
    --wrap=*) wrap=${word#--wrap=};;
esac; done
if [ -n "$last" ]; then
    for id in $(seq 0 "$last"); do SLURM_ARRAY_TASK_ID=$id sh -c "$wrap" > /dev/null || exit 1; done
    echo "17;here"
elif [ "$dependent" = yes ]; then sh -c "$wrap" > /dev/null && echo 18
else exit 9; fi
"#;

#[test]
fn engines_get_commands_whose_results_are_those_of_one_process() {
    for (engine, name, script) in [("hq", "hq", HQ), ("slurm", "sbatch", SBATCH)] {
        let scratch = Scratch::new(&format!("spread-{engine}"));
        scratch.write("a.json", SMALL);
        let words = ["run", "a.json", "--on", engine, "--chunk", "2", "--out", "far"];
        let dry = with_engine(&scratch, name, script, &[&words[..], &["--dry-run"]].concat());
        let dry = dry.check(0, &[]).out;
        assert!(dry.contains("0-1") && dry.contains("sweep gather"), "{dry}");
        assert!(!scratch.path("far").exists() && !scratch.path("far.sweep").exists());
        with_engine(&scratch, name, script, &words).check(0, &[]);
        assert_eq!(gathered(&scratch, "far"), local(&scratch), "{engine}");
        let broken = with_engine(&scratch, name, "#!/bin/sh\necho no nodes >&2; exit 3\n", &words);
        broken.check(1, &["error[E1006]", "no nodes"]);
    }
}

#[test]
fn an_engine_that_is_not_installed_is_named() {
    let scratch = Scratch::new("spread-none");
    scratch.write("a.json", SMALL);
    let mut command = scratch.command(&["run", "a.json", "--on", "hq"]);
    let answer = Answer::from(command.env("PATH", scratch.path("bin")).output().unwrap());
    answer.check(1, &["error[E1006]", "`hq`", "--dry-run"]);
}

#[test]
fn what_tasks_would_not_keep_is_refused_and_jobs_reach_them() {
    let scratch = Scratch::new("spread-options");
    scratch.write("a.json", SMALL);
    let on = ["run", "a.json", "--on", "slurm", "--dry-run"];
    for option in [&["--explain"][..], &["--trace", "t"], &["--what-if", "link=0.5"]] {
        let answer = scratch.run(&[&on[..], option].concat());
        answer.check(2, &[option[0], "`--on` contradict each other"]);
    }
    let dry = scratch.run(&[&on[..], &["--jobs", "3"]].concat()).check(0, &[]).out;
    assert!(dry.contains("$SLURM_ARRAY_TASK_ID --jobs 3"), "{dry}");
}

#[test]
fn a_dry_run_lists_every_point_and_leaves_nothing() {
    let scratch = Scratch::new("spread-dry");
    scratch.write("a.json", SMALL);
    let out = scratch.run(&["run", "a.json", "--dry-run"]).check(0, &[]).out;
    assert_eq!(out.lines().count(), 4, "{out}");
    assert!(out.contains("point 2 (workload.size = 64 KiB)"), "{out}");
    assert!(!scratch.path("results").exists());
}

#[test]
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn slurm_runs_it_for_real_where_it_is_installed() {
    let idle = Command::new("sinfo").args(["-h", "-t", "idle,mix,alloc"]).output();
    if !idle.is_ok_and(|nodes| nodes.status.success() && !nodes.stdout.is_empty()) {
        println!("skipped: there is no Slurm with a node here");
        return;
    }
    let scratch = Scratch::new("spread-slurm-real");
    scratch.write("a.json", SMALL);
    let wanted = local(&scratch);
    let words = ["run", "a.json", "--on", "slurm", "--chunk", "2", "--out", "far"];
    let submitted = scratch.run(&words).check(0, &[]).out;
    let queue = || Command::new("squeue").args(["-h", "-n", "mpisim,mpisim-gather"]).output();
    while !queue().unwrap().stdout.is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    assert_eq!(gathered(&scratch, "far"), wanted, "{submitted}");
}
