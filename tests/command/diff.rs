//! `mpisim diff` over the real binary, and the place where two runs part against whole journals.

use std::fs;

use serde_json::Value;

use crate::binary::{DEADLOCK, SMALL, Scratch};
use crate::schema::refusal;
use mpisim::engine::{EVENTS_PER_CHECKPOINT, Keep};
use mpisim::experiment::plan::{Plan, Point, Request, load};
use mpisim::experiment::run::events::{parting, traced};
use mpisim::experiment::run::job;
use mpisim::experiment::what_if::WhatIf;
use mpisim::protocols::rendezvous::Protocol;
use mpisim::runtime::event_text::EventText;
use mpisim::shipped;
use mpisim::units::TimeDelta;

/// A directory with the small sweep.
fn small(name: &str) -> Scratch {
    let scratch = Scratch::new(name);
    scratch.write("scenarios/a/small.json", SMALL);
    scratch
}

const FILE: &str = "scenarios/a/small.json";

#[track_caller]
fn plan(scenario: &str, overrides: &[&str]) -> Plan {
    let overrides = overrides.iter().map(|&text| text.to_owned()).collect();
    let request = Request {
        scenario: scenario.to_owned(),
        overrides,
        library: shipped::library(),
        ..Request::default()
    };
    let (plan, diagnostics) = load(&request);
    assert!(!diagnostics.has_errors(), "{}", diagnostics.human());
    plan.unwrap()
}

/// Every event of a run.
fn journal(point: &Point) -> Vec<EventText> {
    job::run(point, Keep::Events(1, u64::MAX)).unwrap().0.told
}

/// The first event that differs, by looking at all of them.
fn first_by_force(left: &[EventText], right: &[EventText]) -> Option<u64> {
    let key = |told: &EventText| {
        let record = told.record;
        (record.time, record.round, record.source, record.fingerprint)
    };
    let longest = left.len().max(right.len());
    let differs = |at: &usize| left.get(*at).map(key) != right.get(*at).map(key);
    (0..longest).find(differs).map(|at| at as u64 + 1)
}

/// Both ways of finding the place agree, whichever side is first; answers the place.
#[track_caller]
fn check_place(left: &Point, right: &Point) -> Option<u64> {
    let (all_left, all_right) = (journal(left), journal(right));
    let (traced_left, traced_right) = (traced(left).unwrap(), traced(right).unwrap());
    assert_eq!(all_left.len() as u64, traced_left.events, "the whole journal");
    assert_eq!(all_right.len() as u64, traced_right.events, "the whole journal");
    let there = parting((left, &traced_left), (right, &traced_right), 3).unwrap();
    let back = parting((right, &traced_right), (left, &traced_left), 3).unwrap();
    let wanted = first_by_force(&all_left, &all_right);
    assert_eq!(there.as_ref().map(|found| found.number), wanted);
    assert_eq!(back.as_ref().map(|found| found.number), wanted);
    if let (Some(there), Some(back)) = (there, back) {
        assert_eq!((&there.left, &there.right), (&back.right, &back.left));
        let numbers: Vec<u64> = there.left.iter().map(|event| event.number).collect();
        let first = there.number.saturating_sub(3).max(1);
        let last = (there.number + 3).min(traced_left.events);
        assert_eq!(numbers, (first..=last).collect::<Vec<_>>(), "the events around it");
    }
    wanted
}

#[test]
fn the_place_where_two_runs_part_is_that_of_whole_journals() {
    for (scenario, supposed) in [
        ("examples/ping_pong_broadwell", "link=2"),
        ("examples/ping_pong_broadwell", "copy=0.5"),
        ("coop/fig01_protocols", "copy=2"),
        ("rma/fig12_messages", "hca=2"),
        ("xios-ep/ext_message_rate", "library=0.5"),
        ("gpu-pack/fig04_vector8", "gpu=2"),
        ("gpu-pack/fig06_ping_pong", "pcie=0.5"),
    ] {
        let plan = plan(scenario, &[]);
        let other = WhatIf::parse(supposed).unwrap().of(&plan);
        let found = check_place(&plan.points[0], &other.points[0]);
        assert!(found.is_some(), "{scenario}: {supposed} moves something");
        assert_eq!(check_place(&plan.points[0], &plan.points[0]), None, "{scenario}");
    }
}

/// The words of every event are asked for on both sides, completions included.
#[test]
fn every_rendezvous_protocol_differs_from_every_other_in_words() {
    let of = |protocol: Protocol| {
        let protocol = format!("mpi.rendezvous={}", protocol.name());
        let small = ["workload.size=8 KiB", "workload.rounds=2", "workload.warmup=1"];
        let overrides = [&[protocol.as_str()], &small[..]].concat();
        plan("examples/rput_immediate", &overrides).points[0].clone()
    };
    let between_nodes = Protocol::ALL.iter().copied().filter(|protocol| protocol.crosses_nodes());
    let points: Vec<(Protocol, Point)> =
        between_nodes.map(|protocol| (protocol, of(protocol))).collect();
    for (index, (one, left)) in points.iter().enumerate() {
        for (other, right) in &points[index + 1..] {
            assert!(check_place(left, right).is_some(), "{one:?} and {other:?}");
        }
    }
}

/// What arrives with a write is named while it is under way, and not when the write completes.
#[test]
fn a_write_that_has_brought_its_word_completes_as_a_write() {
    let small = ["workload.size=8 KiB", "workload.rounds=1", "workload.warmup=0"];
    let one = ["mpi.rendezvous=rput_immediate"];
    let told = journal(&plan("examples/rput_immediate", &[&one, &small[..]].concat()).points[0]);
    let writes = |end: &str| {
        let all = told.iter().map(|event| event.words.what.as_str());
        all.filter(|what| what.starts_with("write") && what.ends_with(end)).collect::<Vec<_>>()
    };
    let arrivals = writes("arrives");
    assert!(arrivals.iter().all(|what| what.starts_with("write, FIN (8192 B)")), "{arrivals:?}");
    let completions = writes("has its completion in host memory");
    assert!(completions.iter().all(|what| what.starts_with("write (8192 B)")), "{completions:?}");
    assert_eq!((arrivals.len(), completions.len()), (2, 2), "one a message");
}

#[test]
fn runs_that_part_after_many_events_are_bisected() {
    let scratch = small("diff-late");
    let file = scratch.path(FILE).display().to_string();
    let of = |rounds: &str| plan(&file, &["workload.size=8 B", rounds]).points[0].clone();
    let (short, long) = (of("workload.rounds=15000"), of("workload.rounds=15001"));
    let place = check_place(&short, &long).unwrap();
    assert!(place > 2 * EVENTS_PER_CHECKPOINT, "two stretches are passed over: {place}");
    let slow = ["workload.size=8 B", "workload.rounds=15000", "machine.link.base_latency=2 us"];
    let slow = plan(&file, &slow).points[0].clone();
    assert!(check_place(&short, &slow).unwrap() < 100, "a slow link shows at once");
}

#[test]
fn equal_sides_are_the_same_and_say_so() {
    let scratch = small("diff-same");
    let answer = scratch.run(&["diff", FILE, FILE]).check(0, &[]);
    let first = "a/small: the same events and metrics at all 3 points\n";
    assert!(answer.out.starts_with(first), "{}", answer.out);
    assert_eq!(answer.out.lines().count(), 3, "nothing else than the sides: {}", answer.out);
    let json = scratch.run(&["diff", FILE, FILE, "--format", "json"]).check(0, &[]).json();
    assert_eq!(json["scenarios"][0]["status"], "same");
    // A number that nothing uses changes nothing either.
    let unused = ["diff", FILE, "--set-b", "machine.os.thread_create=5 us"];
    scratch.run(&unused).check(0, &[]);
    let point = scratch.run(&["diff", FILE, FILE, "--point", "1"]).check(0, &[]);
    assert!(point.out.contains("size 1 KiB: the same 63 events in A and B"), "{}", point.out);
}

#[test]
fn a_planted_change_is_named_by_resource_and_first_event() {
    let scratch = small("diff-planted");
    let change = "machine.link.base_latency=2 us";
    let answer = scratch.run(&["diff", FILE, "--set-b", change]).check(1, &[]);
    let says = |text: &str| assert!(answer.out.contains(text), "no `{text}`: {}", answer.out);
    says("a/small: events differ at 3 of 3 points");
    let mut words = answer.out.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let path = words.find(|words| words.starts_with(&["latency", "link"])).unwrap();
    assert_eq!(path[2..], ["10", "us", "20", "us", "+10", "us"], "10 messages of 1 us, then of 2");
    let arguments = ["diff", FILE, "--set-b", change, "--format", "json"];
    let json = scratch.run(&arguments).check(1, &[]).json();
    let closer = &json["scenarios"][0]["closer"];
    assert_eq!(
        (&closer["path"][0]["resource"], &closer["path"][0]["phase"]),
        (&"link".into(), &"latency".into())
    );
    let sum = |side: &str| -> u64 {
        let parts = closer["path"].as_array().unwrap().iter();
        parts.map(|part| part[side].as_u64().unwrap()).sum()
    };
    let time = &json["scenarios"][0]["points"][0]["metrics"];
    let time = time.as_array().unwrap().iter().find(|one| one["name"] == "time").unwrap();
    for (value, parts) in [("a", "a_ps"), ("b", "b_ps")] {
        let us = TimeDelta::from_ps(sum(parts)).as_us_f64();
        assert!((time[value].as_f64().unwrap() - us).abs() < 1e-6, "{time} and {us}");
    }
    let (left, right) = (plan_of(&scratch, &[]), plan_of(&scratch, &[change]));
    let wanted = first_by_force(&journal(&left.points[0]), &journal(&right.points[0]));
    assert_eq!(closer["a_point"], 0, "the shortest message differs most");
    assert_eq!(closer["first_difference"].as_u64(), wanted);
}

fn plan_of(scratch: &Scratch, overrides: &[&str]) -> Plan {
    plan(&scratch.path(FILE).display().to_string(), overrides)
}

#[test]
fn work_that_moved_is_that_of_whoever_got_slower() {
    let scratch = small("diff-work");
    let change = "machine.mem.core_copy_bw=5 GB/s";
    let json = scratch.run(&["diff", FILE, "--set-b", change, "--format", "json"]).check(1, &[]);
    let json = json.json();
    let work = &json["scenarios"][0]["work"][0];
    assert_eq!(work["what"], "threads: copy", "{work}");
    assert!(work["b_ps"].as_u64() > work["a_ps"].as_u64());
    let path = &json["scenarios"][0]["closer"]["path"][0];
    assert_eq!(path["phase"], "copy", "{path}");
}

#[test]
fn protocols_differ_where_they_are_used_and_in_the_order_of_the_sides() {
    let scratch = small("diff-protocols");
    let run = |a: &str, b: &str| {
        let (a, b) = (format!("mpi.rendezvous={a}"), format!("mpi.rendezvous={b}"));
        let arguments = ["diff", FILE, "--set-a", &a, "--set-b", &b, "--format", "json"];
        scratch.run(&arguments).check(1, &[]).json()["scenarios"][0].clone()
    };
    let (there, back) = (run("rput", "rget"), run("rget", "rput"));
    let status = |json: &Value| -> Vec<String> {
        let points = json["points"].as_array().unwrap().iter();
        points.map(|point| point["status"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(status(&there), ["same", "same", "changed"], "only the last is not eager");
    assert_eq!(status(&back), status(&there));
    let (ours, theirs) = (&there["closer"], &back["closer"]);
    assert_eq!(ours["first_difference"], theirs["first_difference"]);
    assert_eq!((&ours["a_events"], &ours["b_events"]), (&theirs["b_events"], &theirs["a_events"]));
    for (one, other) in
        ours["events"].as_array().unwrap().iter().zip(theirs["events"].as_array().unwrap())
    {
        assert_eq!((&one["a"], &one["b"]), (&other["b"], &other["a"]));
    }
    let words = ours["events"].to_string();
    assert!(words.contains("CTS") && words.contains("read request"), "{words}");
    let change = |json: &Value| -> f64 {
        let metrics = json["points"][2]["metrics"].as_array().unwrap();
        let latency = metrics.iter().find(|one| one["name"] == "latency").unwrap();
        latency["change_percent"].as_f64().unwrap()
    };
    assert!(change(&there) * change(&back) < 0.0, "{} {}", change(&there), change(&back));
}

#[test]
fn a_swept_choice_pairs_the_points_of_both_values() {
    let scratch = small("diff-swept");
    let mut swept: Value = serde_json::from_str(SMALL).unwrap();
    swept["sweep"]["mpi.rendezvous"] = serde_json::json!(["rput", "rget"]);
    swept["claims"] = serde_json::json!([]);
    scratch.write("swept.json", &swept.to_string());
    let arguments = ["diff", "swept.json", "--set-a", "mpi.rendezvous=rput", "--set-b"];
    let arguments: Vec<&str> = arguments.into_iter().chain(["mpi.rendezvous=rget"]).collect();
    let answer = scratch.run(&arguments).check(1, &[]);
    assert!(answer.out.contains("mpi.rendezvous is rput in A, rget in B"), "{}", answer.out);
    assert!(answer.out.contains("events differ at 1 of 3 points"), "{}", answer.out);
    let said = ["error[E0913]", "only A sweeps over `mpi.rendezvous`", "--set-a mpi.rendezvous="];
    scratch.run(&["diff", "swept.json", FILE]).check(3, &said);
}

#[test]
fn the_json_is_what_its_schema_says() {
    let scratch = small("diff-schema");
    let schema = scratch.run(&["schema", "diff"]).check(0, &[]).json();
    for change in ["machine.link.base_latency=2 us", "workload.size=8 B"] {
        let arguments = ["diff", FILE, "--set-b", change, "--format", "json"];
        let json = scratch.run(&arguments).check(1, &[]).json();
        assert_eq!(refusal(&schema, &json, ""), None, "{change}");
        let mut wrong = json.clone();
        wrong["scenarios"][0]["points"][0]["status"] = "other".into();
        assert!(refusal(&schema, &wrong, "").is_some(), "the schema refuses something");
    }
}

#[test]
fn figures_show_both_sides_and_nothing_foreign_is_touched() {
    let scratch = small("diff-files");
    let change = "machine.link.base_latency=2 us";
    scratch.run(&["diff", FILE, "--set-b", change, "--out", "o"]).check(1, &[]);
    let names: Vec<String> = scratch.files("o").into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["difference.html", "overlay-1.svg", "shift.svg"]);
    let overlay = fs::read_to_string(scratch.path("o/overlay-1.svg")).unwrap();
    for text in ["A: ", "B: ", "base_latency"] {
        assert!(overlay.contains(text), "no `{text}` in the overlay");
    }
    let page = fs::read_to_string(scratch.path("o/difference.html")).unwrap();
    assert!(page.contains("is the first that differs") && page.contains("<svg"), "{page}");
    assert!(!page.contains("<script"), "no script");
    let before = scratch.files("o");
    scratch.run(&["diff", FILE, "--set-b", change, "--out", "o"]).check(1, &[]);
    assert_eq!(scratch.files("o"), before, "the same comparison writes the same bytes");
    scratch.run(&["diff", FILE, FILE, "--out", "o"]).check(0, &[]);
    assert_eq!(scratch.files("o").len(), 2, "no shift of what is the same");
    scratch.write("mine/notes.txt", "mine");
    scratch.run(&["diff", FILE, FILE, "--out", "mine"]).check(4, &["error[E0802]", "notes.txt"]);
    assert_eq!(scratch.files("mine").len(), 1);
}

#[test]
fn finished_results_are_made_again_for_their_events() {
    let scratch = small("diff-results");
    scratch.run(&["run", FILE]).check(0, &[]);
    let change = "machine.link.base_latency=2 us";
    scratch.run(&["run", FILE, "--set", change, "--out", "slow"]).check(0, &[]);
    scratch.run(&["diff", "results/a/small", FILE]).check(0, &[]);
    let stored =
        scratch.run(&["diff", "results/a/small", "slow", "--format", "json"]).check(1, &[]);
    let fresh = scratch.run(&["diff", FILE, "--set-b", change, "--format", "json"]).check(1, &[]);
    let (stored, fresh) = (stored.json(), fresh.json());
    for key in ["points", "closer"] {
        assert_eq!(stored["scenarios"][0][key], fresh["scenarios"][0][key], "{key}");
    }
    // Where the scenario reads differently, metrics and digests are all there is.
    let manifest = scratch.path("slow/manifest.json");
    let text = fs::read_to_string(&manifest).unwrap();
    fs::write(&manifest, text.replacen("machine.link.base_latency=2 us", "nodes=2", 1)).unwrap();
    let answer = scratch.run(&["diff", "results/a/small", "slow"]).check(1, &[]);
    assert!(answer.out.contains("inputs that differ: machine.link.base_latency 1 us -> 2 us\n"));
    let note = "the events of B cannot be told: its scenario means something else today";
    assert!(answer.out.contains(note), "{}", answer.out);
    assert!(answer.out.contains("metrics that differ"), "{}", answer.out);
    let said = ["error[E0913]", "options cannot change it"];
    scratch.run(&["diff", "slow", FILE, "--set", "nodes=2"]).check(3, &said);
    fs::write(scratch.path("slow/points.csv"), "point,metric,value,unit\n").unwrap();
    scratch.run(&["diff", "slow", FILE]).check(3, &["error[E0805]", "points.csv"]);
}

#[test]
fn each_side_finds_its_own_models() {
    let scratch = small("diff-models");
    let model = include_str!("../../models/ideal.json");
    for (folder, latency) in [("one", "1 us"), ("two", "2 us")] {
        let mut model: Value = serde_json::from_str(model).unwrap();
        model["link"]["base_latency"]["value"] = latency.into();
        scratch.write(&format!("{folder}/ideal.json"), &model.to_string());
    }
    let moved = "inputs that differ: machine.link.base_latency 1 us -> 2 us\n";
    let told = |arguments: &[&str]| {
        let answer = scratch.run(&[&["diff"], arguments].concat()).check(1, &[]);
        assert!(answer.out.contains(moved), "{}", answer.out);
        assert!(answer.out.contains("is the first that differs"), "{}", answer.out);
        answer.out
    };
    let both = told(&[FILE, "--models-a", "one", "--models-b", "two"]);
    assert_eq!(told(&[FILE, "--models", "one", "--models-b", "two"]), both);
    for folder in ["one", "two"] {
        scratch
            .run(&["run", FILE, "--models", folder, "--out", &format!("r{folder}")])
            .check(0, &[]);
    }
    told(&["rone", "rtwo", "--models-a", "one", "--models-b", "two"]);
    scratch.run(&["check", FILE, "--models", "one", "--save-baseline", "main"]).check(0, &[]);
    told(&["main", FILE, "--models-a", "one", "--models-b", "two"]);
    // Of both sides, the folder makes the baseline's events again as well: they are others.
    let answer = scratch.run(&["diff", "main", FILE, "--models", "two"]).check(1, &[]);
    assert!(answer.out.contains(moved), "the baseline knows its machine: {}", answer.out);
    assert!(answer.out.contains("the events of A cannot be told"), "{}", answer.out);
    scratch.run(&["diff", FILE, "--models-b", "none"]).check(3, &["error[E0101]", "no directory"]);
}

#[test]
fn baselines_are_named_by_file_by_set_or_by_what_they_are_compared_with() {
    let scratch = small("diff-baselines");
    scratch.run(&["check", "--save-baseline", "main"]).check(0, &[]);
    scratch.run(&["check", "--save-baseline", "next"]).check(0, &[]);
    let file = "traces/baselines/next/a/small.json";
    for arguments in [["main", FILE], ["main", "next"], [FILE, file], [file, "main"]] {
        scratch.run(&["diff", arguments[0], arguments[1]]).check(0, &[]);
    }
    let mut json: Value =
        serde_json::from_str(&fs::read_to_string(scratch.path(file)).unwrap()).unwrap();
    json["points"][1]["digest"] = "00000000000000000000000000000000".into();
    json["points"][1]["metrics"]["latency"] = 1.0.into();
    fs::write(scratch.path(file), json.to_string()).unwrap();
    let answer = scratch.run(&["diff", "main", "next"]).check(1, &[]);
    let says = |text: &str| assert!(answer.out.contains(text), "no `{text}`: {}", answer.out);
    says("events differ at 1 of 3 points, 1 of 9 metrics");
    says("the events of B cannot be told: this program, mpisim");
    fs::create_dir_all(scratch.path("traces/baselines/next/b")).unwrap();
    fs::rename(scratch.path(file), scratch.path("traces/baselines/next/b/other.json")).unwrap();
    let answer = scratch.run(&["diff", "main", "next"]).check(1, &[]);
    let lines: Vec<&str> = answer.out.lines().collect();
    assert_eq!(lines, ["a/small: only in A", "b/other: only in B", "2 scenarios: 0 same, 2 not"]);
    scratch.run(&["diff", "next", FILE]).check(3, &["error[E0901]", "`a/small`"]);
}

#[test]
fn programs_that_do_not_finish_are_compared_as_well() {
    let scratch = Scratch::new("diff-stuck");
    scratch.write("stuck.json", DEADLOCK);
    scratch.run(&["diff", "stuck.json", "stuck.json"]).check(0, &[]);
    let cured = DEADLOCK.replacen("{ \"op\": \"recv\", \"src\": 1, \"max\": \"8 B\" },", "", 1);
    scratch.write(
        "cured.json",
        &cured.replacen(
            "\"size\": \"8 B\" } ],",
            "\"size\": \"8 B\" }, { \"op\": \"recv\", \"src\": 1, \"max\": \"8 B\" } ],",
            1,
        ),
    );
    let answer = scratch.run(&["diff", "stuck.json", "cured.json"]).check(1, &[]);
    assert!(answer.out.contains("is the first that differs"), "{}", answer.out);
    assert!(answer.out.starts_with("stuck and cured: events differ"), "{}", answer.out);
}

#[test]
fn what_cannot_be_compared_is_refused_before_anything_runs() {
    let scratch = small("diff-refused");
    for (arguments, exit, says) in [
        (&["diff", FILE][..], 2, &["error[E0703]", "--set-b"][..]),
        (&["diff", FILE, "nothing.json"], 3, &["error[E0101]", "nothing.json"]),
        (&["diff", FILE, "."], 3, &["error[E0102]"]),
        (
            &["diff", FILE, "--set-b", "workload.sizes=8 B"],
            2,
            &["E0701", "--set-b workload.sizes=8 B", "1:9 workload.sizes"],
        ),
        (&["diff", FILE, FILE, "--point", "3"], 2, &["E0703", "3 are numbered from 0"]),
        (&["diff", FILE, FILE, "--context", "5000"], 2, &["E0703", "5000"]),
        (
            &[
                "diff",
                FILE,
                "--set-a",
                "workload.size=8 B",
                "--point",
                "0",
                "--set-b",
                "workload.size=1 KiB",
            ],
            1,
            &[],
        ),
        (
            &["diff", FILE, "--set-b", "workload.size=8 B", "--point", "2"],
            2,
            &["B has no point with the swept values of point 2"],
        ),
        (&["diff", FILE, "--set-b", "workload.size=2 B"], 3, &["E0913", "0 were compared"]),
    ] {
        scratch.run(arguments).check(exit, says);
        assert!(!scratch.path("results").exists(), "{arguments:?}");
    }
}

/// Rank 0 sends to rank 1.
const GOAL: &str =
    "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 5\n}\nrank 1 {\nb: recv 8b from 0 tag 5\n}\n";

#[test]
fn a_schedule_may_be_a_side_on_a_machine() {
    let scratch = Scratch::new("diff-goal");
    scratch.write("a.goal", GOAL);
    scratch.write("b.goal", &GOAL.replace("8b", "64b"));
    let both = ["diff", "a.goal", "b.goal"];
    scratch.run(&both).check(2, &["error[E0703]", "it needs a machine", "--machine NAME"]);
    let answer = scratch.run(&[&both[..], &["--machine", "ideal"]].concat()).check(1, &[]);
    assert!(answer.out.contains("run       b.goal"), "{}", answer.out);
    let machines = ["diff", "a.goal", "--machine", "ideal", "--set-b", "machine=knc-qdr"];
    scratch.run(&machines).check(1, &[]);
    scratch.run(&["diff", "a.goal", "a.goal", "--machine", "ideal"]).check(0, &[]);
    let none = ["diff", "examples/ping_pong_knc", "--set-b", "seed=2", "--machine", "ideal"];
    scratch.run(&none).check(2, &["no side is one"]);
}

#[test]
fn the_document_quotes_what_the_program_prints() {
    let document = fs::read_to_string("docs/guide/diff.md").unwrap();
    let (_, quoted) = document.split_once("$ mpisim diff ").unwrap();
    let (command, quoted) = quoted.split_once('\n').unwrap();
    let (quoted, _) = quoted.split_once("```").unwrap();
    let scratch = Scratch::new("diff-document");
    let words: Vec<&str> = std::iter::once("diff").chain(command.split(' ')).collect();
    let answer = scratch.run(&words).check(1, &[]);
    assert_eq!(answer.out, quoted, "`mpisim diff {command}` prints something else now");
}
