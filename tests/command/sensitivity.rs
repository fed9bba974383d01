//! `mpisim sensitivity` over the real binary: which numbers move a result, and how claims follow.

use crate::binary::{SMALL, Scratch};

/// A latency whose claim lies just above what the machine gives.
const LATENCY: &str = r#"{
  "schema": 1,
  "title": "Latency",
  "machine": "broadwell-edr",
  "workload": { "kind": "ping_pong", "size": "8 B", "rounds": 5 },
  "sweep": { "workload.size": ["8 B", "64 KiB"] },
  "figures": [ { "x": "workload.size", "y": "latency" } ],
  "claims": [
    { "id": "t-rises", "trend": "latency", "along": "workload.size",
      "expect": { "shape": "rises" }, "role": "prediction", "source": "a test" }
  ]
}
"#;

fn numbers(scratch: &Scratch, extra: &[&str]) -> Vec<serde_json::Value> {
    let mut words = vec!["sensitivity", "a.json", "--format", "json", "--figure", "a.svg"];
    words.extend(extra);
    let json = scratch.run(&words).check(0, &["a.svg"]).json();
    assert_eq!((&json["schema"], &json["metric"]), (&1.into(), &"latency".into()));
    json["numbers"].as_array().unwrap().clone()
}

fn change(number: &serde_json::Value, end: &str) -> f64 {
    number[end]["change"].as_f64().unwrap()
}

#[test]
fn every_assumed_number_is_varied_and_the_greatest_swing_comes_first() {
    let scratch = Scratch::new("sensitivity");
    scratch.write("a.json", LATENCY);
    let assumed = numbers(&scratch, &[]);
    let swing =
        |one: &serde_json::Value| change(one, "at_low").abs().max(change(one, "at_high").abs());
    let swings: Vec<f64> = assumed.iter().map(swing).collect();
    assert!(swings.is_sorted_by(|left, right| left >= right), "{swings:?}");
    assert!(swings[0] > 0.0 && assumed.len() > 10, "{}", assumed.len());

    let all = numbers(&scratch, &["--all"]);
    assert!(all.len() > assumed.len());
    let send = all.iter().find(|one| one["path"] == "machine.mpi.step_send").unwrap();
    assert!(change(send, "at_low") < 0.0 && change(send, "at_high") > 0.0, "{send}");
    let elasticity = send["elasticity"].as_f64().unwrap();
    assert!((0.0..1.0).contains(&elasticity), "{send}");
}

#[test]
fn people_get_a_table_and_the_claims_that_fall() {
    let scratch = Scratch::new("sensitivity-table");
    scratch.write("a.json", LATENCY);
    let answer = scratch.run(&["sensitivity", "a.json"]).check(0, &["results/a-sensitivity.svg"]);
    for part in ["elasticity", "move no event", "no claim changes its verdict"] {
        assert!(answer.out.contains(part), "{part}: {}", answer.out);
    }
    let svg = std::fs::read_to_string(scratch.path("results/a-sensitivity.svg")).unwrap();
    assert!(svg.starts_with("<svg") && svg.contains("lowest"));
    let again = scratch.run(&["sensitivity", "a.json", "--jobs", "1"]).check(0, &[]);
    assert_eq!(again.out, answer.out);
}

#[test]
fn what_cannot_vary_is_refused_before_anything_runs() {
    let scratch = Scratch::new("sensitivity-none");
    scratch.write("a.json", LATENCY);
    scratch.write("small.json", SMALL);
    let unknown = ["sensitivity", "a.json", "--metric", "latncy"];
    scratch.run(&unknown).check(2, &["did you mean `latency`?"]);
    scratch.run(&["sensitivity", "small.json"]).check(3, &["error[E0912]", "--all"]);
    scratch.run(&["sensitivity", "a.json", "--figure", "none/a.svg"]).check(4, &["none/a.svg"]);
    assert!(!scratch.path("results").exists());
}

/// A number of a program is varied like one of a machine: `compute` here is all of a step's end.
#[test]
fn a_number_of_a_program_is_varied_by_its_source() {
    let scratch = Scratch::new("sensitivity-sources");
    let scenario = r#"{
  "schema": 1,
  "title": "Steps",
  "machine": "ideal",
  "sources": { "workload.compute": {
    "confidence": "assumed", "source": "fit: a step", "low": "50 us", "high": "200 us"
  } },
  "workload": { "kind": "stencil", "processes": 2, "processes_per_node": 1, "size": "8 B",
    "steps": 3, "compute": "100 us" }
}
"#;
    scratch.write("a.json", scenario);
    let words = ["sensitivity", "a.json", "--metric", "step_time", "--format", "json"];
    let json = scratch.run(&words).check(0, &[]).json();
    let numbers = json["numbers"].as_array().unwrap();
    let compute = numbers.iter().find(|one| one["path"] == "workload.compute").unwrap();
    assert!(change(compute, "at_low") < -0.4 && change(compute, "at_high") > 0.9, "{compute}");
    assert_eq!(compute["source"], "fit: a step");
}

/// Segments of a chain and kernels ahead are keys: nothing moves where they have their defaults, and
/// both are among what is varied.
#[test]
fn segments_and_kernels_ahead_are_chosen_and_assumed() {
    let scratch = Scratch::new("sensitivity-keys");
    let digest = |words: &[&str]| {
        let all = ["run"].iter().chain(words).chain(&["--format", "json"]).copied();
        let all: Vec<&str> = all.collect();
        scratch.run(&all).check(0, &[]).json()["digest"].clone()
    };
    for (scenario, key, default, other, small) in [
        (
            "coop/fig10_chunks",
            "mpi.collectives.bcast_segment",
            "8 KiB",
            "16 KiB",
            ["workload.size=64 KiB", "mpi.cooperation.chunks=1"],
        ),
        (
            "gpu-pack/ext_pipelined",
            "workload.ahead",
            "2",
            "1",
            ["workload.size=1 MiB", "workload.chunk=64 KiB"],
        ),
    ] {
        let small = ["--set", small[0], "--set", small[1]];
        let set = |value: &str| {
            let option = format!("{key}={value}");
            digest(&[&[scenario][..], &small, &["--set", &option]].concat())
        };
        let as_it_is = digest(&[&[scenario][..], &small].concat());
        assert_eq!(set(default), as_it_is, "{key}");
        assert_ne!(set(default), set(other), "{key}");
        let shown = [&["show", scenario, "--resolved"][..], &small].concat();
        let shown = scratch.run(&shown).check(0, &[]).json();
        let assumed = shown["assumed"].as_array().unwrap();
        assert!(assumed.iter().any(|one| one["path"] == key && one["value"] == default), "{key}");
    }
}

/// A claim that an assumed number decides is undecided in the run whose numbers were varied, and in no
/// other. One that compares a run with itself could not fail.
#[test]
fn what_hangs_on_assumed_numbers_is_undecided() {
    let scratch = Scratch::new("sensitivity_kept");
    let claims = r#""claims": [
    { "id": "t-eight", "value": "latency", "at": { "workload.size": "8 B" }, "role": "prediction",
      "source": "a test", "expect": { "value": "1.124 us", "tolerance": "2 %" } },
    { "id": "t-same", "ratio": "latency", "of": { "workload.size": "8 B" }, "to": { "workload.size": "8 B" },
      "role": "prediction", "source": "a test", "expect": { "value": 1, "tolerance": "1 %" } },"#;
    scratch.write("a.json", &LATENCY.replace("\"claims\": [", claims));
    let saves = ["sensitivity", "a.json", "--save", "--figure", "a.svg"];
    let answer = scratch.run(&saves);
    assert!(
        answer.err.contains("what claims hang on is in traces/sensitivity/a.json"),
        "{}",
        answer.err
    );
    let (_, kept) = &scratch.files("traces/sensitivity")[0];
    let kept: serde_json::Value = serde_json::from_slice(kept).unwrap();
    let found = kept["claims"].as_array().unwrap();
    assert!(!found.is_empty() && found.iter().all(|one| one["claim"] == "t-eight"), "{kept}");
    let rate = found.iter().find(|one| one["number"] == "machine.hca.msg_rate_total").unwrap();
    // At the other end of the range that was found, the verdict is another; inside, it is the same.
    let [from, low] = [&rate["same"][0], &rate["range"][0]].map(|end| end.as_str().unwrap());
    let verdict = |out: &str, value: &str| {
        let set = format!("machine.hca.msg_rate_total={value}");
        let words = ["run", "a.json", "--set", &set, "--out", out, "--format", "json"];
        scratch.run(&words).check(0, &[]).json()["claims"].clone()
    };
    let (inside, outside) = (verdict("inside", from), verdict("outside", low));
    assert_eq!((&inside[0]["status"], &outside[0]["status"]), (&"pass".into(), &"deviates".into()));
    assert!(inside[0]["undecided"].is_null(), "its numbers were not varied");
    let answer = scratch.run(&["run", "a.json", "--out", "out"]);
    let stands = format!("undecided: the verdict stands for hca.msg_rate_total from {from} to");
    assert!(answer.out.contains(&stands), "{}", answer.out);
    let worth = "claims, predictions: 3 of 3 hold, 2 of which could not fail";
    assert!(answer.out.contains(worth), "{}", answer.out);
    assert_eq!((&inside[0]["could_fail"], &inside[1]["could_fail"]), (&true.into(), &false.into()));
}
