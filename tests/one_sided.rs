//! One-sided communication, timed: recorded cases, and the bridge to the untimed world.
#![allow(clippy::unwrap_used, reason = "a test stops at its first surprise")]

mod common;

use mpisim::experiment::conform::{Cases, Simulated, Vectors, judge};
use mpisim::runtime::timed::Ending;
use mpisim::units::Bytes;

/// Every recorded case in the timed runtime, with each setting in turn, and over the bridge.
#[test]
fn recorded_cases_conform_timed_and_cross_the_bridge() {
    let text = include_str!("vectors/rma.json");
    let vectors = Vectors::read(text).unwrap();
    let Cases::OneSided(cases) = &vectors.cases else { panic!("another family") };
    for (case, turn) in cases.iter().zip(0_u64..) {
        // A turn of its own for each case, and the turn after the next.
        for schedule in [turn, turn + 2] {
            for (name, nodes) in [("ideal", 2), ("broadwell-edr", 1), ("broadwell-edr", 2)] {
                let settings = case.settings(schedule);
                let mut job = common::job(common::model(name, &[]), case.programs());
                job.rma = settings;
                job.nodes = nodes;
                job.eager_inter = (turn % 3 == 0).then(|| Bytes::new(8));
                let what = format!("case {} on {nodes} nodes of {name}, {settings:?}", case.id);
                let ran = common::cross(job).unwrap_or_else(|drift| panic!("{what}: {drift}"));
                assert_eq!(ran.outcome.ending, Ending::Finished, "{what}");
                assert_eq!(ran.outcome.violations, [], "{what}");
                assert_eq!(case.difference(&ran.memories), None, "{what}");
            }
        }
    }
    assert_eq!(cases.len(), 240);
}

/// The same through random orders of events, in every setting and with every way to connect.
#[test]
fn recorded_cases_conform_in_random_orders() {
    let vectors = Vectors::read(include_str!("vectors/rma.json")).unwrap();
    let verdict = judge(&vectors, &Simulated { seed: 1 }, 27);
    println!("{verdict}");
    assert_eq!(verdict.to_string(), "240 passed, 0 failed");
}
