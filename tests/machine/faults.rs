//! Faults that slow or stop: whole runs against arithmetic on the machine without costs.

use mpisim::engine::Keep;
use mpisim::experiment::plan::{Request, load};
use mpisim::experiment::run::job;
use mpisim::runtime::timed::{Ending, Outcome};
use mpisim::shipped;

/// One message of so many bytes from process 0 to process 1 of another node, under these faults.
fn run(bytes: u64, faults: &str) -> Outcome {
    let payload = if bytes > 1 << 20 { "phantom" } else { "real" };
    let text = format!(
        r#"{{ "schema": 1, "title": "t", "machine": "ideal", "mpi": {{ "payload": "{payload}" }},
        "workload": {{ "kind": "program", "ranks": [
            [ {{ "op": "compute", "time": "10 us" }}, {{ "op": "send", "to": 1, "tag": 1, "size": "{bytes} B" }} ],
            [ {{ "op": "recv", "src": 0, "tag": 1, "max": "{bytes} B" }} ] ] }},
        "faults": [ {faults} ] }}"#
    );
    let (plan, diagnostics) = load(&Request {
        scenario: "faults.json".to_owned(),
        text: Some(text),
        library: shipped::library(),
        ..Request::default()
    });
    let plan = plan.unwrap_or_else(|| panic!("{}", diagnostics.human()));
    let (outcome, _) = job::run(&plan.points[0], Keep::Nothing).unwrap();
    assert_eq!(outcome.ending, Ending::Finished);
    assert_eq!(outcome.violations, []);
    outcome
}

/// How much later than without faults the run ends, in picoseconds.
fn later(bytes: u64, faults: &str) -> u64 {
    run(bytes, faults).end.since(run(bytes, "").end).as_ps()
}

const US: u64 = 1_000_000;

#[test]
fn a_delay_is_added_once_to_what_crosses_it() {
    let spike = r#"{ "kind": "delay_spike", "where": "host 0 to switch 1.0", "extra": "50 us" }"#;
    assert_eq!(later(8, spike), 50 * US);
    assert_eq!(
        later(1 << 20, spike),
        2 * 50 * US,
        "the request, and the data with FIN right behind"
    );
    let past = r#"{ "kind": "delay_spike", "where": "host 0 to switch 1.0", "extra": "50 us", "for": "9 us" }"#;
    assert_eq!(later(8, past), 0, "it is over when the message leaves");
    let twice = format!("{spike}, {spike}");
    assert_eq!(later(8, &twice), 100 * US);
}

#[test]
fn a_stalled_hca_begins_when_the_stall_is_over() {
    let stall = |at: u64, length: u64| {
        format!(r#"{{ "kind": "hca_stall", "node": 0, "at": "{at} us", "for": "{length} us" }}"#)
    };
    let first = run(8, &stall(5, 100)).end;
    let second = run(8, &stall(5, 150)).end;
    assert_eq!(second.since(first).as_ps(), 50 * US);
    // The message leaves its core soon after 10 us, and waits for what is left of the stall.
    let waited = later(8, &stall(5, 100));
    assert!((94 * US..=95 * US).contains(&waited), "{waited} ps");
}

#[test]
fn a_flow_stands_still_through_a_stall() {
    let clean = run(64 << 20, "").end.as_ps();
    let stall = r#"{ "kind": "hca_stall", "node": 1, "at": "200 us", "for": "500 us" }"#;
    let stalled = run(64 << 20, stall).end.as_ps();
    // It creeps at a byte a microsecond: 500 bytes less to move afterwards.
    let missing = (clean + 500 * US).abs_diff(stalled);
    assert!(missing < US, "{missing} ps from 500 us later");
}

#[test]
fn a_cut_rate_stretches_a_flow_by_its_inverse() {
    let cut = |left: &str, more: &str| {
        format!(
            r#"{{ "kind": "rate_cut", "where": "host 0 to switch 1.0", "left": {left}{more} }}"#
        )
    };
    let bytes = 64 << 20;
    let half = later(bytes, &cut("0.5", ""));
    let quarter = later(bytes, &cut("0.25", ""));
    // 1/left - 1 times what the link takes alone: 1 and 3.
    let off = (3 * half).abs_diff(quarter);
    assert!(off < quarter / 1_000, "{half} and {quarter}");
    let a_while = later(bytes, &cut("0.5", r#", "at": "100 us", "for": "200 us""#));
    assert!(a_while.abs_diff(100 * US) < US, "200 us at half speed cost 100 us: {a_while}");
}

#[test]
fn a_straggler_computes_for_longer_while_it_is_one() {
    let slow = r#"{ "kind": "straggler", "process": 0, "factor": 3, "at": "2 us", "for": "9 us" }"#;
    // Of the first 10 us of work 2 are done before and 3 inside; the other 5 follow.
    assert_eq!(later(8, slow), 6 * US);
    let other =
        r#"{ "kind": "straggler", "process": 1, "factor": 3, "at": "2 us", "for": "9 us" }"#;
    assert_eq!(later(8, other), 0, "it waits");
}

#[test]
fn noise_of_a_plan_takes_its_share() {
    let noise = r#"{ "kind": "os_noise", "process": 0, "period": "4 us", "length": "1 us", "phase": "2 us" }"#;
    // 10 us of work lose 2 to 3, 6 to 7 and 10 to 11 us.
    assert_eq!(later(8, noise), 3 * US);
}

/// Kind and reason of each fault that did nothing.
fn unfired(faults: &str) -> Vec<(&'static str, String)> {
    run(8, faults).unfired.into_iter().map(|one| (one.kind, one.why)).collect()
}

/// Which of all kinds do nothing at `when`.
fn silent_at(when: &str) -> Vec<&'static str> {
    let resource = r#""where": "host 0 to switch 1.0""#;
    let all = [
        format!(r#""kind": "delay_spike", {resource}, "extra": "1 us""#),
        format!(r#""kind": "rate_cut", {resource}, "left": 0.5"#),
        r#""kind": "hca_stall", "node": 0, "for": "1 us""#.to_owned(),
        r#""kind": "straggler", "factor": 2"#.to_owned(),
        r#""kind": "link_down", "for": "1 us""#.to_owned(),
        r#""kind": "packet_loss", "nth": 1"#.to_owned(),
        r#""kind": "packet_duplication", "probability": 1"#.to_owned(),
        r#""kind": "packet_reordering", "probability": 1, "late": "1 ns""#.to_owned(),
        r#""kind": "credit_loss", "from": 0, "to": 1, "credits": 1"#.to_owned(),
    ];
    let each = all.iter().map(|fault| unfired(&format!("{{ {fault}, {when} }}")));
    each.flatten().map(|(kind, _)| kind).collect()
}

#[test]
fn a_fault_that_did_nothing_is_told_and_one_that_fired_is_not() {
    // The link is up again before the message leaves; all others are there when it crosses.
    assert_eq!(silent_at(r#""at": "0 s""#), ["link_down"]);
    let every = [
        "delay_spike",
        "rate_cut",
        "hca_stall",
        "straggler",
        "link_down",
        "packet_loss",
        "packet_duplication",
        "packet_reordering",
        "credit_loss",
    ];
    assert_eq!(silent_at(r#""at": "100 s""#), every);
    assert_eq!(later(8, r#"{ "kind": "hca_stall", "node": 0, "at": "1 s", "for": "1 us" }"#), 0);
}

#[test]
fn why_a_fault_did_nothing_is_told() {
    let check = |fault: &str, kind: &str, parts: &[&str]| {
        let told = unfired(fault);
        let [(found, why)] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!(*found, kind);
        assert!(parts.iter().all(|part| why.contains(part)), "{why}");
    };
    let crash = |when: &str| format!(r#"{{ "kind": "crash", "process": 0, {when} }}"#);
    check(&crash(r#""at": "100 s""#), "crash", &["begins at 100 s", "the run ended at "]);
    check(&crash(r#""at_call": 9"#), "crash", &["begins with call 9 of process 0, which made 1"]);
    check(&crash(r#""at_packet": 7"#), "crash", &["begins with packet 7, and 1 left"]);
    let lost = r#"{ "kind": "packet_loss", "nth": 40 }"#;
    check(lost, "packet_loss", &["hit none of the 2 packets and answers"]);
    let before = r#"{ "kind": "link_down", "for": "1 us" }"#;
    check(before, "link_down", &["no packet crossed its links"]);
    let noise = r#"{ "kind": "os_noise", "period": "1 s", "length": "1 us", "phase": "500 ms" }"#;
    check(noise, "os_noise", &["before the first interruption"]);
    let often = r#"{ "kind": "os_noise", "period": "2 us", "length": "1 us" }"#;
    assert_eq!(unfired(often), []);
    check(&format!("{noise}, {often}"), "os_noise", &["a later `os_noise` takes its place"]);
    assert_eq!(unfired(r#"{ "kind": "packet_loss", "probability": 0 }"#), [], "it asks for none");
}

#[test]
fn a_process_that_has_ended_does_not_die() {
    let late = r#"{ "kind": "crash", "process": 0, "at": "40 us" }"#;
    let slow = r#"{ "kind": "delay_spike", "where": "host 0 to switch 1.0", "extra": "50 us" }"#;
    let told = unfired(&format!("{slow}, {late}"));
    assert_eq!(told, [("crash", "process 0 had ended, or another had died".to_owned())]);
}
