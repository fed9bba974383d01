//! `mpisim check` over the real binary: what counts as moved, and what is never a success.

use std::fs;

use crate::binary::{DEADLOCK, SMALL, Scratch};

const BASELINE: &str = "traces/baselines/main/a/small.json";

/// A checkout with one scenario and its baseline.
fn saved(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("scenarios/a/small.json", SMALL);
    scratch.run(&["check", "--save-baseline", "main"]).check(0, &[]);
    scratch
}

/// Changes the baseline.
fn change(scratch: &Scratch, change: impl Fn(&mut serde_json::Value)) {
    let path = scratch.path(BASELINE);
    let mut json = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    change(&mut json);
    fs::write(path, json.to_string()).unwrap();
}

#[test]
fn unchanged_results_are_the_same_and_small() {
    let scratch = saved("check-same");
    let answer = scratch.run(&["check"]).check(0, &[]);
    assert!(answer.out.starts_with("same     a/small"), "{}", answer.out);
    assert!(
        answer.out.ends_with("1 scenario: 1 same, 0 changed, 0 without a baseline, 0 failed\n")
    );
    let text = fs::read_to_string(scratch.path(BASELINE)).unwrap();
    assert_eq!(text.lines().filter(|line| line.contains("\"params\"")).count(), 3);
    let jobs = scratch.run(&["check", "--jobs", "2"]).check(0, &[]);
    assert_eq!(jobs.out, answer.out);
    scratch.run(&["check", "--save-baseline", "main"]).check(0, &[]);
    assert_eq!(fs::read_to_string(scratch.path(BASELINE)).unwrap(), text);
}

#[test]
fn every_difference_is_found_and_the_worst_told_first() {
    let scratch = saved("check-changed");
    change(&scratch, |json| {
        json["points"][0]["metrics"]["latency"] = 1.0.into();
        let value = &mut json["points"][2]["metrics"]["latency"];
        *value = (value.as_f64().unwrap() * 1.01).into();
        json["claims"][0]["status"] = "deviates".into();
    });
    let answer = scratch.run(&["check", "scenarios"]).check(1, &[]);
    let at = |text: &str| answer.out.find(text).unwrap_or_else(|| panic!("{text}: {}", answer.out));
    assert!(at("point 0 (workload.size = 8 B): latency") < at("point 2 (workload.size = 64 KiB)"));
    at("claim t-rises: pass, was deviates");
    let json = scratch.run(&["check", "--format", "json"]).check(1, &[]).json();
    let scenario = &json["scenarios"][0];
    assert_eq!((&json["schema"], &scenario["status"]), (&1.into(), &"changed".into()));
    assert_eq!(scenario["digest"], scenario["baseline_digest"]);
    let metrics = scenario["metrics"].as_array().unwrap();
    assert_eq!(metrics.len(), 9);
    let changed: Vec<_> = metrics.iter().filter(|one| one["status"] == "changed").collect();
    assert_eq!(changed.len(), 2);
    assert_eq!((&changed[0]["baseline"], &changed[0]["tolerance"]), (&1.0.into(), &0.0.into()));
    let claim = &scenario["claims"][0];
    assert_eq!((&claim["status"], &claim["baseline_status"]), (&"pass".into(), &"deviates".into()));
}

#[test]
fn a_tolerance_is_kept_when_a_baseline_is_saved_again() {
    let scratch = saved("check-tolerance");
    change(&scratch, |json| {
        json["metrics"]["latency"]["tolerance"] = 0.02.into();
        let value = &mut json["points"][2]["metrics"]["latency"];
        *value = (value.as_f64().unwrap() * 1.01).into();
    });
    scratch.run(&["check"]).check(0, &[]);
    scratch.run(&["check", "--save-baseline", "main"]).check(0, &[]);
    let text = fs::read_to_string(scratch.path(BASELINE)).unwrap();
    assert!(text.contains("\"latency\":{\"unit\":\"us\",\"tolerance\":0.02}"), "{text}");
}

#[test]
fn a_digest_alone_is_a_change() {
    let scratch = saved("check-digest");
    change(&scratch, |json| {
        json["points"][1]["digest"] = "00000000000000000000000000000000".into();
    });
    let answer = scratch.run(&["check"]).check(1, &[]);
    assert!(answer.out.contains("the first point with other events is point 1"), "{}", answer.out);
}

// row: I9
#[test]
fn a_missing_baseline_is_never_a_success() {
    let scratch = Scratch::new("check-missing");
    scratch.write("scenarios/a/small.json", SMALL);
    let create = "create it with `mpisim check --save-baseline main`";
    let answer = scratch.run(&["check"]).check(3, &["error[E0901]", create]);
    assert!(answer.out.starts_with("new      a/small"), "{}", answer.out);
    let json = scratch.run(&["check", "--format", "json"]).check(3, &[]).json();
    assert_eq!(json["scenarios"][0]["status"], "new");
    scratch.run(&["check", "--baseline", "other"]).check(3, &["`other`"]);
    let one = ["check", "scenarios/a/small.json", "--baseline", "other"];
    let create = "`mpisim check scenarios/a/small.json --save-baseline other`";
    scratch.run(&one).check(3, &[create]);
}

#[test]
fn results_below_a_directory_are_no_scenarios() {
    let scratch = saved("check-results");
    scratch.run(&["run", "scenarios/a/small.json", "--out", "scenarios/a/out"]).check(0, &[]);
    let answer = scratch.run(&["check", "scenarios"]).check(0, &[]);
    assert!(answer.out.contains("1 scenario: 1 same"), "{}", answer.out);
    scratch.run(&["check", "scenarios/a/out"]).check(3, &["error[E0907]"]);
}

// row: I7
// row: I8
#[test]
fn baselines_of_other_scenarios_and_versions_are_refused() {
    let scratch = saved("check-other");
    scratch.write("scenarios/a/small.json", &SMALL.replace("\"rounds\": 5", "\"rounds\": 6"));
    scratch
        .run(&["check"])
        .check(3, &["error[E0902]", "workload.rounds was 5, is 6", "--save-baseline"]);
    scratch.write("scenarios/a/small.json", &SMALL.replace("\"Small\"", "\"Another title\""));
    scratch.run(&["check"]).check(0, &[]);
    change(&scratch, |json| json["version"] = "0.0.1".into());
    scratch.run(&["check"]).check(3, &["error[E0903]", "0.0.1", "--any-version"]);
    scratch.run(&["check", "--any-version"]).check(0, &[]);
}

#[test]
fn damaged_baselines_are_refused_before_anything_runs() {
    let scratch = saved("check-damaged");
    let text = fs::read_to_string(scratch.path(BASELINE)).unwrap();
    let refused = |from: &str, to: &str, says: &[&str]| {
        scratch.write(BASELINE, &text.replacen(from, to, 1));
        let answer = scratch.run(&["check"]).check(3, says);
        assert!(answer.out.is_empty(), "{}", answer.out);
    };
    refused("\"tolerance\":0.0", "\"tolerance\":1.5", &["error[E0905]", "metrics.bandwidth"]);
    refused("\"latency\":1", "\"latency\":-1", &["error[E0904]", "points[0].metrics.latency"]);
    refused("\"latency\":1", "\"latency\":null,\"x\":1", &["error[E0904]", ":10:"]);
    refused("}", "", &["error[E02"]);
    let save = ["check", "--save-baseline", "main"];
    scratch.run(&save).check(3, &["error[E02", "`--force` saves it anew"]);
    scratch.run(&[&save[..], &["--force"]].concat()).check(0, &["the old baseline is kept as"]);
    assert_eq!(fs::read_to_string(scratch.path(BASELINE)).unwrap(), text);
    let renamed = text.replace("\"latency\":", "\"a\":").replace("\"time\":", "\"b\":");
    scratch.write(BASELINE, &renamed.replace("\"bandwidth\":", "\"c\":"));
    scratch.run(&["check"]).check(3, &["error[E0906]", "0 were compared"]);
}

#[test]
fn a_scenario_that_cannot_be_run_leaves_the_others_checked() {
    let scratch = saved("check-one-bad");
    scratch.write("scenarios/a/bad.json", &SMALL.replace("\"rounds\": 5", "\"rounds\": -5"));
    scratch.write("scenarios/b/small.json", SMALL);
    scratch.write("traces/baselines/main/b/small.json", "{");
    let answer = scratch.run(&["check"]).check(3, &["error[E0303]", "a/bad.json", "error[E0916]"]);
    assert!(answer.out.starts_with("same     a/small"), "{}", answer.out);
    assert!(answer.out.contains("failed   scenarios/a/bad.json"), "{}", answer.out);
    assert!(answer.out.contains("failed   b/small"), "{}", answer.out);
    assert!(
        answer.out.ends_with("3 scenarios: 1 same, 0 changed, 0 without a baseline, 2 failed\n")
    );
    let json = scratch.run(&["check", "--format", "json"]).check(3, &[]).json();
    assert_eq!(json["scenarios"].as_array().unwrap().len(), 3);
    scratch.run(&["check", "--report", "page.html"]).check(3, &[]);
    assert!(fs::read_to_string(scratch.path("page.html")).unwrap().contains("bad.json"));
    // A baseline is of all scenarios, or there is none.
    let before = fs::read_to_string(scratch.path(BASELINE)).unwrap();
    scratch.run(&["check", "--save-baseline", "main"]).check(1, &["error[E0909]"]);
    assert_eq!(fs::read_to_string(scratch.path(BASELINE)).unwrap(), before);
}

#[test]
fn the_command_that_is_advised_names_the_baseline_that_was_compared() {
    let scratch = saved("check-named");
    scratch.run(&["check", "--save-baseline", "other"]).check(0, &[]);
    scratch.write("scenarios/a/small.json", &SMALL.replace("\"rounds\": 5", "\"rounds\": 6"));
    scratch.run(&["check", "--baseline", "other"]).check(3, &["--save-baseline other"]);
}

// row: J8
#[test]
fn no_scenarios_are_no_success() {
    let scratch = Scratch::new("check-none");
    fs::create_dir_all(scratch.path("empty")).unwrap();
    scratch.run(&["check", "empty"]).check(3, &["error[E0907]", "0 files"]);
    scratch.run(&["check", "missing.json"]).check(3, &["there is no such file"]);
}

// row: I13
#[test]
fn a_scenario_that_fails_is_saved_only_by_force() {
    let scratch = saved("check-failed");
    scratch.write("scenarios/a/dead.json", DEADLOCK);
    let dead = "traces/baselines/main/a/dead.json";
    scratch.run(&["check"]).check(1, &["error[E1003]"]);
    scratch.run(&["check", "--save-baseline", "main"]).check(1, &["error[E0909]", "--force"]);
    assert!(!scratch.path(dead).exists());
    scratch.run(&["check", "--save-baseline", "main", "--force"]).check(0, &["is kept as"]);
    assert!(scratch.path(dead).exists());
    assert!(scratch.path("traces/baselines/main/a/small.json.bak").exists());
    scratch.run(&["check"]).check(0, &[]);
}

/// A message-rate scenario on a machine with real costs.
const RATE: &str = r#"{
  "schema": 1,
  "title": "Rate",
  "machine": "broadwell-edr",
  "workload": { "kind": "message_rate", "senders_per_node": 2, "size": "8 B", "window": 16, "rounds": 10 },
  "sweep": { "workload.size": ["8 B", "256 B"] },
  "figures": [ { "x": "workload.size", "y": "message_rate" } ]
}
"#;

/// A directory with the shipped machine, one of its numbers replaced.
fn with_machine(scratch: &Scratch, section: &str, key: &str, value: &str) {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/models/broadwell-edr.json");
    let mut model: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let number = &mut model[section][key]["value"];
    assert!(number.is_string() && number != value, "{number}");
    *number = value.into();
    scratch.write("changed/broadwell-edr.json", &model.to_string());
}

#[test]
fn a_slowdown_of_two_percent_is_caught_and_attributed_to_its_resource() {
    let scratch = Scratch::new("check-slower");
    scratch.write("scenarios/a/rate.json", RATE);
    scratch.run(&["check", "--save-baseline", "main"]).check(0, &[]);
    // 7 ns more work for each send: 2 % of the rate.
    with_machine(&scratch, "mpi", "step_send", "59 ns");
    let check = ["check", "--models", "changed", "--report", "page.html"];
    let answer = scratch.run(&check).check(1, &[]);
    let rate = answer.out.lines().find(|line| line.contains("message_rate")).unwrap();
    let percent: f64 =
        rate.split('(').next_back().unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!((-2.5..-1.5).contains(&percent), "{rate}");
    let blamed = answer.out.lines().find(|line| line.contains("work of")).unwrap();
    assert!(blamed.contains("threads: library code"), "{}", answer.out);

    let page = fs::read_to_string(scratch.path("page.html")).unwrap();
    for part in ["message_rate", "threads: library code", "<svg", "baseline"] {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script") && !page.contains("http-equiv=\"refresh\""));
}

#[test]
fn a_number_of_the_machine_that_differs_is_named_before_all() {
    let scratch = Scratch::new("check-inputs");
    scratch.write("scenarios/a/rate.json", RATE);
    scratch.run(&["check", "--save-baseline", "main"]).check(0, &[]);
    let machines = fs::read_dir(scratch.path("traces/machines")).unwrap();
    let names: Vec<_> = machines.map(|one| one.unwrap().file_name()).collect();
    assert!(names.len() == 1, "one machine, its numbers once: {names:?}");
    with_machine(&scratch, "mpi", "step_send", "59 ns");
    let moved = "inputs that differ: machine.mpi.step_send 51.7 ns -> 59 ns";
    let check = ["check", "--models", "changed"];
    let answer = scratch.run(&check).check(1, &[]);
    assert_eq!(answer.out.lines().nth(1), Some(format!("  {moved}").as_str()), "{}", answer.out);
    let json = scratch.run(&[&check[..], &["--format", "json"]].concat()).check(1, &[]).json();
    let input = &json["scenarios"][0]["inputs"][0];
    assert_eq!((&input["value"], &input["baseline"]), (&"59 ns".into(), &"51.7 ns".into()));
    let junit = scratch.run(&[&check[..], &["--format", "junit"]].concat()).check(1, &[]).out;
    assert!(junit.contains("machine.mpi.step_send") && junit.contains("point 0 (workload.size"));

    let numbers = scratch.path("traces/machines").join(&names[0]);
    let kept = fs::read_to_string(&numbers).unwrap();
    fs::write(&numbers, kept.replace("51.7 ns", "50 ns")).unwrap();
    let key = names[0].to_string_lossy().replace(".json", "");
    let other = format!("inputs that differ: machine {key} -> broadwell-edr");
    assert!(scratch.run(&check).check(1, &[]).out.contains(&other), "a damaged file is none");
    scratch.run(&["check"]).check(0, &[]);

    let path = scratch.path("traces/baselines/main/a/rate.json");
    let mut old: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    old.as_object_mut().unwrap().remove("machines");
    fs::write(path, old.to_string()).unwrap();
    let answer = scratch.run(&check).check(1, &[]);
    assert!(!answer.out.contains("inputs that differ"), "an old baseline has no numbers");
}

#[test]
fn metrics_decide_within_tolerances_of_the_command_line() {
    let scratch = Scratch::new("check-metrics");
    scratch.write("scenarios/a/rate.json", RATE);
    scratch.run(&["check", "--save-baseline", "main"]).check(0, &[]);
    // 2 % of the rate.
    with_machine(&scratch, "mpi", "step_send", "59 ns");
    let run = |more: &[&str], exit| {
        let check = [&["check", "--models", "changed", "--metrics"], more].concat();
        let junit = scratch.run(&[&check[..], &["--format", "junit"]].concat()).check(exit, &[]);
        let answer = scratch.run(&check).check(exit, &[]);
        let fails = usize::from(exit == 1);
        assert_eq!(junit.out.contains("<failure"), fails == 1, "{}", junit.out);
        assert!(answer.out.contains(&format!("{} same, {fails} changed", 1 - fails)));
        answer.out
    };
    let moved = run(&[], 1);
    assert!(moved.contains("%, tolerance 0 %), in step: "), "one fact, told once: {moved}");
    run(&["--tolerance", "message_rate=3%"], 1);
    run(&["--tolerance", "0.1%"], 1);
    let same = run(&["--tolerance", "3%", "--tolerance", "time = 2.5 %"], 0);
    assert!(same.contains("digest was") && same.contains(": not counted"), "{same}");
    assert!(same.contains("inputs that differ: machine.mpi.step_send"), "{same}");
    run(&["--tolerance", "3%", "--tolerance", "time=0%"], 1);
}

#[test]
fn junit_names_what_moved_and_passes_what_did_not() {
    let scratch = saved("check-junit");
    let same = scratch.run(&["check", "--format", "junit"]).check(0, &[]).out;
    assert!(same.contains("tests=\"6\" failures=\"0\" errors=\"0\""), "{same}");
    change(&scratch, |json| json["points"][1]["metrics"]["latency"] = 1.0.into());
    let moved = scratch.run(&["check", "--format", "junit"]).check(1, &[]).out;
    assert!(moved.contains("failures=\"1\" errors=\"0\""), "{moved}");
    assert!(moved.contains("name=\"latency\""), "{moved}");
    assert!(moved.contains("point 1 (workload.size = 1 KiB): "), "{moved}");
    fs::remove_file(scratch.path(BASELINE)).unwrap();
    let none = scratch.run(&["check", "--format", "junit"]).check(3, &["E0901"]).out;
    assert!(none.contains("errors=\"1\"") && none.contains("there is no baseline"), "{none}");
}

#[test]
fn a_page_that_cannot_be_written_is_refused_before_anything_runs() {
    let scratch = saved("check-page");
    let answer =
        scratch.run(&["check", "--report", "missing/page.html"]).check(4, &["missing/page.html"]);
    assert!(answer.out.is_empty(), "{}", answer.out);
    scratch.run(&["check", "--report", "scenarios"]).check(4, &["scenarios"]);
}
