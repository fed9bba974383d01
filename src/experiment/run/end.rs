//! Laws of the end of a run beyond those of the monitors: the same in both runtimes.
//!
//! No monitor watches the content of a program. Its end is judged: each receive had room for its message, and
//! the memory holds the result that the workload defines.

use crate::plan::Point;
use language::marks::END;
use protocols::contract::{Process, Region};
use runtime::memory::{Memories, Payload};
use runtime::monitors::Violation;
use runtime::timed::Outcome;
use units::Time;
use workloads::job::AnyProgram;
use workloads::metric::{begin, marks};
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

/// The violation of a run whose measured time has no beginning, no end, or an end before its beginning: its
/// timers stand in loops, conditions or on several ranks, so that no reader of the text sees it. Explorations have
/// no clock to judge it by.
pub fn unmeasured(outcome: &Outcome) -> Option<Violation> {
    let first = begin(outcome);
    let last = marks(outcome, END).map(|mark| mark.at).max();
    let detail = match (first, last) {
        (None, None) => return None,
        (Some(first), Some(last)) if first <= last => return None,
        (Some(first), Some(last)) => {
            format!(
                "the first starts at {}, and the last stops at {}",
                first.since(Time::ZERO),
                last.since(Time::ZERO)
            )
        }
        (Some(_), None) => "a timer starts, and none stops".to_owned(),
        (None, Some(_)) => "a timer stops, and none starts".to_owned(),
    };
    let statement = "the measured time ends after it begins";
    Some(Violation {
        id: "timer",
        statement,
        objects: vec!["the timers of the program".to_owned()],
        detail,
    })
}

/// The content of buffers before the run, where bytes exist.
pub fn contents(point: &Point, payload: Payload) -> Vec<(Process, Region, Vec<u8>)> {
    match payload {
        Payload::Real => point.workload.contents(),
        Payload::Phantom => Vec::new(),
    }
}
