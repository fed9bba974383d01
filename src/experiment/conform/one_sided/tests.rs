//! The recorded cases through the library under random orders of events, for every way to set it.

use super::*;
use crate::experiment::conform::{Cases, Simulated, Vectors, judge};

const RECORDED: &str = include_str!("../../../../tests/vectors/rma.json");

fn recorded() -> Vectors {
    Vectors::read(RECORDED).expect("the recorded file is in order")
}

#[test]
fn the_simulators_library_conforms_in_every_setting() {
    let vectors = recorded();
    let schedules = 3 * SETTINGS.len() as u64;
    let verdict = judge(&vectors, &Simulated { seed: 1 }, schedules);
    assert_eq!(verdict.to_string(), "240 passed, 0 failed");
    let Cases::OneSided(cases) = &vectors.cases else { panic!("another family") };
    let suit = |settings: &Settings| cases.iter().filter(|case| case.suits(settings)).count();
    let counts: Vec<usize> = SETTINGS.iter().map(suit).collect();
    assert!(counts.iter().all(|count| *count >= 20), "cases for each setting: {counts:?}");
}
