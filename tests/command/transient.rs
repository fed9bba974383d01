//! What `run` says of a measured time that is in part that of a start.

use crate::binary::Scratch;
use serde_json::Value;

const PING_PONG: &str = r#"{ "schema": 1, "title": "t", "machine": "broadwell-edr", "nodes": 2,
  "workload": { "kind": "ping_pong", "size": "1 MiB", "rounds": 4 } }"#;

#[test]
fn a_run_without_a_warm_up_names_what_is_paid_once_and_the_key_that_takes_it_out() {
    let scratch = Scratch::new("transient");
    scratch.write("cold.json", PING_PONG);
    let half = "note: the second half of the measured rounds takes ";
    let once = "% of the measured time of a thread is paid once for each buffer";
    let mend = ": a larger `workload.warmup` takes the start out";
    let table = scratch.run(&["run", "cold.json"]).check(0, &[half, once, mend]);
    assert_eq!(table.err.matches(mend).count(), 2, "{}", table.err);
    let page = std::fs::read_to_string(scratch.path("results/cold/report.html")).unwrap();
    assert!(page.contains("<h2>No steady state</h2>") && page.contains(once), "{page}");
    let json = scratch.run(&["run", "cold.json", "--format", "json"]).check(0, &[half]).json();
    let found = &json["points"][0]["transient"];
    let time = |of: &str, at: usize| found[of][at].as_u64().unwrap();
    // Two rounds each: the first one of the first half pins four buffers.
    let pinned = time("halves_ps", 0) - time("halves_ps", 1);
    assert!(pinned.abs_diff(time("once_ps", 0) * 2) * 1_000 < pinned, "{found}");
    assert_eq!(found["mend"], "workload.warmup");
    let warm = ["run", "cold.json", "--set", "workload.warmup=1", "--format", "json", "--out", "w"];
    let warm = scratch.run(&warm).check(0, &[]);
    assert!(!warm.err.contains(half) && warm.json()["points"][0].get("transient").is_none());
}

#[test]
fn steps_behind_a_warm_up_are_timed_without_a_barrier() {
    let scratch = Scratch::new("drifted");
    let step = r#""kind": "stencil", "processes": 16, "processes_per_node": 4, "size": "1 MB""#;
    scratch.write(
        "stencil.json",
        &PING_PONG.replace("\"nodes\": 2", "\"nodes\": 4").replace(
            r#""kind": "ping_pong", "size": "1 MiB", "rounds": 4"#,
            &format!(r#"{step}, "steps": 4"#),
        ),
    );
    let point = |sets: &[&str]| {
        let sets = sets.iter().flat_map(|set| ["--set", set]);
        let args: Vec<&str> =
            ["run", "stencil.json", "--format", "json"].into_iter().chain(sets).collect();
        scratch.run(&args).check(0, &[]).json()["points"][0].clone()
    };
    let of = |point: &Value, metric: &str| point["metrics"][metric]["value"].as_f64().unwrap();
    let cold = point(&["workload.steps=7"]);
    let warm = point(&["workload.steps=4", "workload.warmup=3"]);
    let warmer = point(&["workload.steps=2", "workload.warmup=5"]);
    // Seven steps each, and nothing but the marks between them differs.
    assert_eq!([&warm["digest"], &warmer["digest"]], [&cold["digest"]; 2]);
    assert!(of(&warmer, "time") < of(&warm, "time") && of(&warm, "time") < of(&cold, "time"));
    for one in [warm, warmer] {
        // Ranks do nothing else, and no rank waits for another one before its clock starts.
        let (communication, step) = (of(&one, "communication_time"), of(&one, "step_time"));
        assert!((communication / step - 1.0).abs() < 1e-9, "{communication} of {step}");
    }
}
