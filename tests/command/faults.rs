//! What `run` says of the faults of a plan.

use crate::binary::{SMALL, Scratch};

/// The small sweep under a plan.
fn with_faults(faults: &str) -> String {
    SMALL.replacen('{', &format!("{{ \"faults\": [ {faults} ],"), 1)
}

const NEVER: &str = r#"{ "kind": "crash", "process": 1, "at": "100 s" }"#;

#[test]
fn a_fault_that_never_fires_is_told_in_every_form() {
    let scratch = Scratch::new("unfired");
    scratch.write("never.json", &with_faults(NEVER));
    let said = "note: faults[0] (crash) did nothing at 3 of 3 points; at point 0 (";
    let table = scratch.run(&["run", "never.json"]).check(0, &[said, "begins at 100 s, and the"]);
    assert_eq!(table.err.matches("did nothing").count(), 1, "{}", table.err);
    let page = std::fs::read_to_string(scratch.path("results/never/report.html")).unwrap();
    assert!(page.contains("Faults that did nothing") && page.contains("faults[0] (crash)"));
    let json = scratch.run(&["run", "never.json", "--format", "json"]).check(0, &[said]).json();
    for point in json["points"].as_array().unwrap() {
        let [one] = point["unfired"].as_array().unwrap().as_slice() else { panic!("{point}") };
        assert_eq!((&one["fault"], &one["kind"]), (&0.into(), &"crash".into()));
        assert!(one["why"].as_str().unwrap().starts_with("it begins at 100 s"), "{one}");
    }
}

#[test]
fn points_where_a_fault_fired_are_not_counted() {
    let scratch = Scratch::new("fired");
    // Of a sweep over sizes only the largest has so many packets.
    scratch.write("some.json", &with_faults(r#"{ "kind": "packet_loss", "nth": 60 }"#));
    let some = ["run", "some.json", "--format", "json"];
    let json = scratch.run(&some).check(0, &[]).json();
    let silent: Vec<bool> =
        json["points"].as_array().unwrap().iter().map(|one| one.get("unfired").is_some()).collect();
    assert_eq!(silent, [true, true, false], "{json}");
    let said = "faults[0] (packet_loss) did nothing at 2 of 3 points";
    scratch.run(&["run", "some.json"]).check(0, &[said]);
    scratch.write("all.json", &with_faults(r#"{ "kind": "packet_loss", "nth": 1 }"#));
    let all = scratch.run(&["run", "all.json", "--format", "json"]).check(0, &[]);
    assert!(!all.err.contains("did nothing") && !all.out.contains("unfired"), "{}", all.err);
}

const CUT: &str = "messages cross the links of the fault plan packet by packet";

#[test]
fn what_a_loss_is_compared_with_is_told_and_has_the_same_wires() {
    let scratch = Scratch::new("wires");
    let loss = |key: &str| with_faults(&format!("{{ \"kind\": \"packet_loss\", {key} }}"));
    scratch.write("never.json", &loss("\"nth\": 4000000000"));
    scratch.write("none.json", &loss("\"probability\": 0"));
    scratch.write("slow.json", &with_faults("{ \"kind\": \"straggler\", \"factor\": 2 }"));
    scratch.run(&["run", "never.json"]).check(0, &[CUT, "\"probability\": 0 }]`"]);
    for quiet in ["none.json", "slow.json"] {
        let answer = scratch.run(&["run", quiet]).check(0, &[]);
        assert!(!answer.err.contains(CUT) && !answer.err.contains("did nothing"), "{}", answer.err);
    }
    let latencies = |name: &str| {
        let json = scratch.run(&["run", name, "--format", "json"]).check(0, &[]).json();
        let points = json["points"].as_array().unwrap().clone();
        points.iter().map(|point| point["metrics"]["latency"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(latencies("never.json"), latencies("none.json"));
    // A sweep that has a point without loss is its own comparison.
    let axis = "\"sweep\": { \"faults[0].probability\": [0, 0.01],";
    let swept = loss("\"probability\": 0").replace("\"sweep\": {", axis);
    let head = swept.split("\"figures\"").next().unwrap().trim_end().trim_end_matches(',');
    scratch.write("swept.json", &format!("{head} }}"));
    let answer = scratch.run(&["run", "swept.json"]).check(0, &[]);
    assert!(!answer.err.contains(CUT), "{}", answer.err);
}
