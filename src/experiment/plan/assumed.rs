//! Numbers of a scenario that no source gives: what a point takes for granted, with its range.
//!
//! A machine says so of its own numbers (`confidence`); these belong to programs and libraries.

use super::sources::Sourced;
use super::values::{Plan, Point};
use form::machine::Confidence;
use protocols::rma::Issue;
use units::Bytes;

pub use workloads::assumption::Assumption;

/// What the points of a plan assume, each value once: what the scenario says so of, and what its
/// mechanisms need besides.
pub fn of(plan: &Plan) -> Vec<Assumption> {
    let is_assumed = |one: &&Sourced| one.confidence == Confidence::Assumed;
    let mut all: Vec<Assumption> =
        plan.sourced.iter().filter(is_assumed).map(|one| one.number.clone()).collect();
    for one in plan.points.iter().flat_map(assumptions) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
    all
}

/// The assumptions of a point.
fn assumptions(point: &Point) -> Vec<Assumption> {
    let mut found = Vec::new();
    if let (Issue::Adaptive { operations, bytes }, true) =
        (point.mpi.rma.issue, point.workload.has_windows())
    {
        found.extend(adaptive(operations, bytes));
    }
    found.extend(point.workload.assumptions());
    found
}

fn adaptive(operations: u32, bytes: u64) -> [Assumption; 2] {
    let why = "`rma` Sec. 7.1 leaves the thresholds of adaptive issue to another paper";
    let bytes = Bytes::new(bytes).to_string();
    let operations = operations.to_string();
    [
        Assumption::estimate("mpi.rma.adaptive_operations", operations, ("2", "64"), why),
        Assumption::estimate("mpi.rma.adaptive_bytes", bytes, ("1 KiB", "256 KiB"), why),
    ]
}
