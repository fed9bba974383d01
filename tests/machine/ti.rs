//! The times of a replayed trace against arithmetic, on the machine of round numbers.

use std::sync::atomic::AtomicBool;

use mpisim::experiment::plan::{Request, load};
use mpisim::experiment::run::{RunOptions, run};
use mpisim::shipped;

/// The time of `traces/ti/message.txt` where a rank computes so fast, in nanoseconds.
fn time(speed: &str) -> f64 {
    let text = format!(
        "{{ \"schema\": 1, \"title\": \"t\", \"machine\": \"ideal\", \"workload\": \
         {{ \"kind\": \"ti\", \"file\": \"message.txt\", \"speed\": \"{speed}\" }} }}"
    );
    let request = Request {
        scenario: "traces/ti/message.json".to_owned(),
        text: Some(text),
        library: shipped::library(),
        ..Request::default()
    };
    let (plan, diagnostics) = load(&request);
    let plan = plan.unwrap_or_else(|| panic!("{}", diagnostics.human()));
    let stop = AtomicBool::new(false);
    let options = RunOptions { jobs: 1, explain: false, stop: &stop };
    let result = run(&plan, options, &[], &mut |_| Ok(())).unwrap();
    let time = result.points[0].metric("time").expect("a trace has one");
    assert_eq!(time.unit, "us");
    time.value * 1e3
}

/// Flops over the speed, then an eager message of 8 bytes: see `closed_forms.rs` for its terms.
#[test]
fn a_trace_takes_its_flops_over_the_speed_and_the_time_of_its_messages() {
    let step = 100.0;
    let copy = 8.0 * 0.1;
    let (doorbell, cqe) = (0.080, 0.072);
    let (unit, wire) = (10.0, 8.0 * 0.080);
    let packet = doorbell + 0.001 + unit + wire + 1000.0 + wire + unit + cqe;
    let message = step + copy + packet + step + 1.0 + copy;
    for (speed, flop) in [("1 GHz", 1.0), ("4 GHz", 0.25), ("100 MHz", 10.0)] {
        let (found, expected) = (time(speed), 1e6 * flop + message);
        assert!((found - expected).abs() < 1e-3, "{speed}: {found} ns, not {expected}");
    }
}
