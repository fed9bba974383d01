//! Results for the tests of this layer.

use experiment::results::{
    ClaimResult, ClaimRole, ClaimStatus, Metric, PointResult, ResourceUse, RunResult,
};
use units::{Bytes, TimeDelta};

/// Two points, one axis, two metrics, no claims.
pub(super) fn ping_pong() -> RunResult {
    let point = |index, size: &str, latency: f64, bytes: f64| PointResult {
        digest: format!("{index:032x}"),
        metrics: vec![
            metric("latency", latency, "us"),
            metric("bandwidth", bytes / latency, "MB/s"),
        ],
        ..PointResult::at(index, vec![("workload.size".into(), size.into())])
    };
    RunResult {
        scenario: "examples/ping_pong".into(),
        title: "Ping-pong latency".into(),
        version: "0.1.0".into(),
        digest: "00112233445566778899aabbccddeeff".into(),
        points: vec![point(0, "1 B", 1.3, 1.0), point(1, "4 KiB", 4.25, 4096.0)],
        claims: vec![],
        what_if: Vec::new(),
    }
}

/// The form of `endpoints` Fig. 3: five families of 23 sizes, made of a small rate model.
pub(super) fn message_rate() -> RunResult {
    let mut points = Vec::new();
    for senders in [1_u32, 2, 4, 8, 16] {
        for power in 0..23_u32 {
            points.push(message_rate_point(points.len(), senders, power));
        }
    }
    RunResult {
        scenario: "endpoints/fig03_message_rate".into(),
        title: "Message rate against sending processes".into(),
        version: "0.1.0".into(),
        digest: "0123456789abcdef0123456789abcdef".into(),
        points,
        claims: claims(),
        what_if: Vec::new(),
    }
}

fn message_rate_point(index: usize, senders: u32, power: u32) -> PointResult {
    let size = Bytes::new(1 << power);
    let bytes = f64::from(1_u32 << power);
    let contention = 1.0 + 0.015 * f64::from(senders - 1);
    let rate_by_cores = f64::from(senders) / (3.1e-6 * contention + bytes * 0.45e-9);
    let rate = rate_by_cores.min(5.2e9 / bytes);
    let used = |name: &str, share: f64| ResourceUse {
        name: name.into(),
        busy: TimeDelta::from_ps(permille(share) * 1000),
        elapsed: TimeDelta::from_ps(1_000_000),
        bytes: 1 << power,
        packets: 64,
        queue_max: u64::from(senders),
    };
    PointResult {
        index,
        params: vec![
            ("workload.senders_per_node".into(), senders.to_string()),
            ("workload.size".into(), size.to_string()),
        ],
        digest: format!("{index:032x}"),
        metrics: vec![metric("message_rate", rate, "msg/s")],
        resources: vec![
            used("cores (mean)", 0.9),
            used("node 0 link out", (rate * bytes / 5.2e9).min(1.0)),
            used("node 0 pcie to device", (rate * bytes / 6.0e9).min(1.0)),
        ],
        spent: vec![],
        failure: None,
        limited: false,
        exit_status: None,
        unfired: Vec::new(),
        transient: None,
        explanation: None,
    }
}

/// The number of steps of 1/1000 in `share`.
fn permille(share: f64) -> u64 {
    (0..1000_u32).take_while(|&step| f64::from(step) < share * 1000.0).count() as u64
}

fn claims() -> Vec<ClaimResult> {
    let claim =
        |id: &str, statement: &str, status, role, measured: &str, expected: &str| ClaimResult {
            id: id.into(),
            statement: statement.into(),
            status,
            role,
            measured: measured.into(),
            unit: "",
            expected: expected.into(),
            source: "endpoints Fig. 3".into(),
            cannot_fail: None,
            null_model: None,
            undecided: Vec::new(),
        };
    let (pass, input) = (ClaimStatus::Pass, ClaimRole::Input);
    let prediction = ClaimRole::Prediction;
    vec![
        claim(
            "ep-fig3-13x",
            "16 senders reach 13 times the rate of one",
            pass,
            input,
            "13.06",
            "13 +-10 %",
        ),
        claim(
            "ep-fig3-monotone",
            "The rate rises with every doubling",
            pass,
            prediction,
            "rises 4 of 4 times",
            "rises",
        ),
        claim(
            "ep-fig3-dip64",
            "The rate dips at 64 B",
            ClaimStatus::Deviates,
            prediction,
            "0.998",
            "below 0.968",
        ),
    ]
}

pub(super) fn metric(name: &str, value: f64, unit: &'static str) -> Metric {
    Metric { name: name.into(), value, unit }
}
