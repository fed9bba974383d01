//! Faults that slow or stop: whole runs against arithmetic on the machine without costs.

use mpisim::engine::Keep;
use mpisim::experiment::plan::{Request, load};
use mpisim::experiment::run::job;
use mpisim::runtime::timed::{Ending, Outcome};

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
        3 * 50 * US,
        "the request, the data, and FIN after its completion"
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
