//! Numbers of a scenario that no source gives: what a point takes for granted, with its range.
//!
//! A machine says so of its own numbers (`confidence`); these belong to programs and libraries.

use super::{Point, Workload};
use crate::protocols::rma::Issue;
use crate::units::{Bytes, TimeDelta};
use crate::workloads::gpu::GpuWorkload;
use crate::workloads::mutex::Algorithm;
use crate::workloads::one_sided::Task;

/// One of them, where it plays a part.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Assumption {
    /// The scenario's path.
    pub path: &'static str,
    /// What the point has.
    pub value: String,
    /// The lowest value that is plausible.
    pub low: &'static str,
    /// The highest.
    pub high: &'static str,
    /// Why.
    pub note: &'static str,
}

/// What a point assumes; nothing where it says nothing of the kind.
pub fn assumptions(point: &Point) -> Vec<Assumption> {
    if let Workload::Gpu(workload) = &point.workload {
        return kernel(workload);
    }
    let Workload::OneSided(workload) = &point.workload else { return Vec::new() };
    let mut found = Vec::new();
    if let Issue::Adaptive { operations, bytes } = point.mpi.rma.issue {
        found.extend(adaptive(operations, bytes));
    }
    if let Task::Mutex { algorithm: Algorithm::TestAndSet, asked } = workload.task {
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
    let assumed = |path, value: u32, low, high, note| Assumption {
        path,
        value: value.to_string(),
        low,
        high,
        note,
    };
    let of_point = "nine loads of shared memory, eleven operations, addresses and bounds";
    let of_halo = "its place, the load, the store to shared memory";
    vec![
        assumed("workload.instructions", stencil.instructions, "40", "120", of_point),
        assumed("workload.halo_instructions", stencil.halo_instructions, "3", "12", of_halo),
    ]
}

fn adaptive(operations: u32, bytes: u64) -> [Assumption; 2] {
    let note = "`rma` Sec. 7.1 leaves the thresholds of adaptive issue to another paper";
    [
        Assumption {
            path: "mpi.rma.adaptive_operations",
            value: operations.to_string(),
            low: "2",
            high: "64",
            note,
        },
        Assumption {
            path: "mpi.rma.adaptive_bytes",
            value: Bytes::new(bytes).to_string(),
            low: "1 KiB",
            high: "256 KiB",
            note,
        },
    ]
}

fn pauses(first: u64, doublings: u32) -> [Assumption; 2] {
    [
        Assumption {
            path: "workload.first_pause",
            value: TimeDelta::from_ps(first).to_string(),
            low: "500 ns",
            high: "10 us",
            note: "about a round trip on the machines modelled",
        },
        Assumption {
            path: "workload.doublings",
            value: doublings.to_string(),
            low: "0",
            high: "10",
            note: "the longest pause is the round trips of 64 contenders",
        },
    ]
}
