//! What the end of a run must hold beyond the laws that monitors watch: the same in both runtimes.
//!
//! A program that nobody watches while it runs is judged by what it leaves: its receives had room for
//! their messages, and its memory holds what its workload says.

use crate::plan::Point;
use protocols::contract::{Process, Region};
use runtime::memory::{Memories, Payload};
use runtime::monitors::Violation;
use workloads::job::AnyProgram;
use workloads::truncation::truncations;

/// What is wrong at the end of a run in which every program ended. `programs` are those of the ranks,
/// in their order.
pub fn broken<'a>(
    point: &Point,
    programs: impl IntoIterator<Item = &'a AnyProgram>,
    memories: &Memories,
) -> Vec<Violation> {
    let mut found = point.workload.broken(memories);
    found.extend(truncations(programs));
    found
}

/// What buffers hold before the run, where bytes exist.
pub fn contents(point: &Point, payload: Payload) -> Vec<(Process, Region, Vec<u8>)> {
    match payload {
        Payload::Real => point.workload.contents(),
        Payload::Phantom => Vec::new(),
    }
}
