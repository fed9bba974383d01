//! `mpisim new` over the real binary: what it writes can be run as it is.

use crate::binary::Scratch;
use mpisim::experiment::fresh::kinds;
use mpisim::form::shape::{Shape, Variant};

#[test]
fn a_new_scenario_runs_and_explains_its_keys() {
    let scratch = Scratch::new("new");
    let answer = scratch.run(&["new", "first.json", "--workload", "bandwidth"]).check(0, &[]);
    assert!(answer.out.contains("mpisim run first.json"), "{}", answer.out);
    let text = std::fs::read_to_string(scratch.path("first.json")).unwrap();
    for part in ["\"note\"", "\"warmup\": 10", "Bytes of each message", "window: ", "May be added:"]
    {
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
    // Its settings are those of a study of the library, without what that is about.
    let stencil = std::fs::read_to_string(scratch.path("stencil.json")).unwrap();
    assert!(stencil.contains("\"warmup\": 10") && !stencil.contains("\"mpi\""), "{stencil}");
    scratch.run(&["new", "b.json", "--machine", "knc"]).check(2, &["there is no machine"]);
    assert!(!scratch.path("b.json").exists());
}

/// What a rank of a program may do.
fn statements() -> &'static [Variant] {
    let program = kinds().into_iter().find(|kind| kind.name == "program").unwrap();
    let Shape::List { of: Shape::List { of: Shape::Defined { shape, .. }, .. }, .. } =
        program.fields[0].shape
    else {
        panic!("lists of statements")
    };
    let Shape::Tagged { variants, .. } = shape else { panic!("statements") };
    variants
}

#[test]
fn a_new_program_sends_a_message_and_names_its_statements() {
    let scratch = Scratch::new("new-program");
    scratch.run(&["new", "a.json", "--workload", "program"]).check(0, &[]);
    let text = std::fs::read_to_string(scratch.path("a.json")).unwrap();
    for part in
        ["\"op\": \"send\"", "\"op\": \"recv\"", "a buffer of its own", "docs/guide/programs.md"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    let words: Vec<&str> = text.split([' ', ',', '"']).collect();
    for statement in statements() {
        assert!(words.contains(&statement.name), "{}: {text}", statement.name);
    }
    let ran = scratch.run(&["run", "a.json", "--format", "json"]).check(0, &[]).json();
    assert!(ran["points"][0]["metrics"]["time"]["value"].as_f64().unwrap() > 0.0, "{ran}");
}
