//! Laws of the end of a run beyond those of the monitors: the same in both runtimes.
//!
//! No monitor watches the content of a program. Its end is judged: each receive had room for its message, and
//! the memory holds the result that the workload defines.

use crate::plan::Point;
use protocols::contract::{Process, Region};
use runtime::memory::{Memories, Payload};
use runtime::monitors::Violation;
use workloads::job::AnyProgram;
use workloads::truncation::truncations;

/// Violations at the end of a run in which every program ended. `programs` are those of the ranks,
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

/// The content of buffers before the run, where bytes exist.
pub fn contents(point: &Point, payload: Payload) -> Vec<(Process, Region, Vec<u8>)> {
    match payload {
        Payload::Real => point.workload.contents(),
        Payload::Phantom => Vec::new(),
    }
}
