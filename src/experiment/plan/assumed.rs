//! Numbers of a scenario that no source gives: what a point takes for granted, with its range.
//!
//! A machine says so of its own numbers (`confidence`); these belong to programs and libraries.

use super::sources::Sourced;
use super::{Plan, Point, Workload};
use form::machine::Confidence;
use protocols::collectives::{Algorithm, Collective};
use protocols::rma::Issue;
use units::{Bytes, TimeDelta};
use workloads::gpu::GpuWorkload;
use workloads::mutex::Algorithm as Mutex;
use workloads::one_sided::Task;

/// One of them, where it plays a part.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Assumption {
    /// The scenario's path.
    pub path: String,
    /// What the point has.
    pub value: String,
    /// The lowest and the highest value that is plausible.
    pub range: Option<(String, String)>,
    /// Where it comes from.
    pub source: String,
    /// Why.
    pub note: Option<String>,
}

impl Assumption {
    /// A number that a mechanism needs and nobody states.
    fn estimate(path: &str, value: String, (low, high): (&str, &str), why: &str) -> Self {
        Self {
            path: path.to_owned(),
            value,
            range: Some((low.to_owned(), high.to_owned())),
            source: ESTIMATE.to_owned(),
            note: Some(why.to_owned()),
        }
    }
}

/// The source of an estimate, as in models.
const ESTIMATE: &str = "EST";

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

/// What a point assumes; nothing where it says nothing of the kind.
fn assumptions(point: &Point) -> Vec<Assumption> {
    if let Workload::Gpu(workload) = &point.workload {
        return [kernel(workload), chunks(workload)].concat();
    }
    if let Workload::Collective { chosen, .. } = &point.workload {
        return segments(&chosen.call);
    }
    let Workload::OneSided(workload) = &point.workload else { return Vec::new() };
    let mut found = Vec::new();
    if let Issue::Adaptive { operations, bytes } = point.mpi.rma.issue {
        found.extend(adaptive(operations, bytes));
    }
    if let Task::Mutex { algorithm: Mutex::TestAndSet, asked } = workload.task {
        found.extend(pauses(asked.pauses.first, asked.pauses.doublings));
    }
    found
}

/// The code of a stencil's kernel, where its work is counted.
fn kernel(workload: &GpuWorkload) -> Vec<Assumption> {
    let GpuWorkload::Stencil(stencil) = workload else { return Vec::new() };
    if stencil.point.is_some() {
        return Vec::new();
    }
    let assumed =
        |path, value: u32, range, why| Assumption::estimate(path, value.to_string(), range, why);
    let of_point = "nine loads of shared memory, eleven operations, addresses and bounds";
    let of_halo = "its place, the load, the store to shared memory";
    vec![
        assumed("workload.instructions", stencil.instructions, ("40", "120"), of_point),
        assumed("workload.halo_instructions", stencil.halo_instructions, ("3", "12"), of_halo),
    ]
}

/// How many kernels pack chunks of a message at once.
fn chunks(workload: &GpuWorkload) -> Vec<Assumption> {
    let GpuWorkload::PingPong(ping_pong) = workload else { return Vec::new() };
    if !ping_pong.sent.is_packed_in_parts() {
        return Vec::new();
    }
    let why = "one runs while the next is launched; more where a kernel is shorter than a launch";
    let ahead = ping_pong.sent.ahead.to_string();
    vec![Assumption::estimate("workload.ahead", ahead, ("1", "8"), why)]
}

/// The segments of a broadcast along a chain.
fn segments(call: &Collective) -> Vec<Assumption> {
    if call.algorithm != Algorithm::BcastPipelinedRing {
        return Vec::new();
    }
    let why = "libraries choose by message and ranks; no document states what it took";
    let segment = Bytes::new(call.segment).to_string();
    let range = ("1 KiB", "128 KiB");
    vec![Assumption::estimate("mpi.collectives.bcast_segment", segment, range, why)]
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

fn pauses(first: u64, doublings: u32) -> [Assumption; 2] {
    let first = TimeDelta::from_ps(first).to_string();
    let trip = "about a round trip on the machines modelled";
    let longest = "the longest pause is the round trips of 64 contenders";
    [
        Assumption::estimate("workload.first_pause", first, ("500 ns", "10 us"), trip),
        Assumption::estimate("workload.doublings", doublings.to_string(), ("0", "10"), longest),
    ]
}
