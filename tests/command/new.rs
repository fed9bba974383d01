//! `mpisim new` over the real binary: what it writes can be run as it is.

use crate::binary::Scratch;

#[test]
fn a_new_scenario_runs_and_explains_its_keys() {
    let scratch = Scratch::new("new");
    let answer = scratch.run(&["new", "first.json", "--workload", "bandwidth"]).check(0, &[]);
    assert!(answer.out.contains("mpisim run first.json"), "{}", answer.out);
    let text = std::fs::read_to_string(scratch.path("first.json")).unwrap();
    for part in ["\"note\"", "Bytes of each message", "window: ", "May be added:"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    scratch.run(&["run", "first.json", "--set", "workload.size=8 B"]).check(0, &[]);
    scratch.run(&["new", "first.json"]).check(4, &["exists"]);
    assert_eq!(std::fs::read_to_string(scratch.path("first.json")).unwrap(), text);
}

#[test]
fn every_kind_can_be_validated_and_unknown_ones_are_named() {
    let scratch = Scratch::new("new-kinds");
    let answer = scratch.run(&["new", "a.json", "--workload", "pingpong"]);
    let said = answer.check(2, &["did you mean `ping_pong`?"]).err;
    let kinds = said.split("there are ").nth(1).unwrap().lines().next().unwrap();
    let kinds: Vec<&str> = kinds.split(", ").collect();
    assert!(kinds.len() > 10, "{kinds:?}");
    for kind in kinds {
        let file = format!("{kind}.json");
        scratch.run(&["new", &file, "--workload", kind]).check(0, &[]);
        scratch.run(&["validate", &file]).check(0, &[]);
    }
    scratch.run(&["new", "b.json", "--machine", "knc"]).check(2, &["there is no machine"]);
    assert!(!scratch.path("b.json").exists());
}
