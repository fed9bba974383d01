//! Where the measured time went: along the critical path, from its end back to its begin.
//!
//! Every piece of the path is time of one resource and one phase; the pieces sum to the measured time,
//! to the picosecond.

use crate::plan::Point;
use crate::results::{Explanation, Share, Spends, Waited};
use hardware::fabric::{Boundary, Kind};
use protocols::contract::{Process, Thread};
use runtime::causes::{Blocked, Recorded, Spender, Spent};
use runtime::timed::Outcome;
use units::Time;
use workloads::metric::between_marks;
use workloads::windowed::END;

/// The explanation of a run whose causes were kept.
pub fn explanation(point: &Point, outcome: &Outcome) -> Option<Explanation> {
    let recorded = outcome.causes.as_deref()?;
    let (from, to) = interval(point, outcome);
    let mut parts: Vec<Share> = recorded
        .split(from, to, END)
        .into_iter()
        .map(|(tag, time)| match tag {
            Some(tag) => {
                let resource = spender(point, recorded, tag.resource);
                let kind = kind_of(recorded.spenders.get(tag.resource as usize));
                Share { resource, kind, phase: Spent::of(tag.phase).name(), time }
            }
            None => {
                Share { resource: "record".to_owned(), kind: Spends::Other, phase: NOT_KEPT, time }
            }
        })
        .collect();
    parts.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| key(a).cmp(&key(b))));
    // A receiver may wait for the first measured message before its sender's clock starts.
    let is_measured = |wait: &&Blocked| wait.called < to && wait.called + wait.waited > from;
    let waits = recorded.waits.iter().filter(is_measured);
    let waits = waits.map(|wait| waited(point, wait, from)).collect();
    Some(Explanation { total: to.since(from), parts, waits })
}

/// The measured time: a packing is measured as a whole.
pub(super) fn interval(point: &Point, outcome: &Outcome) -> (Time, Time) {
    let packs = point.workload.packing().is_some();
    if packs { (Time::ZERO, outcome.end) } else { between_marks(outcome) }
}

/// The phase of the time before the oldest moment that was kept.
const NOT_KEPT: &str = "before the oldest moment kept";

fn key(share: &Share) -> (&str, &str) {
    (&share.resource, share.phase)
}

fn waited(point: &Point, wait: &Blocked, from: Time) -> Waited {
    let peers: Vec<String> = wait.peers.iter().take(PEERS).map(|peer| peer.0.to_string()).collect();
    let more = wait.peers.len().saturating_sub(PEERS);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    Waited {
        rank: thread(point, wait.process, wait.thread),
        operation: wait.operation.to_owned(),
        peer: if peers.is_empty() { "any".to_owned() } else { peers.join(", ") + &more },
        called: wait.called.max(from).since(from),
        time: wait.waited,
        times: wait.times,
    }
}

/// Peers of a wait that are named.
const PEERS: usize = 4;

fn kind_of(spender: Option<&Spender>) -> Spends {
    match spender {
        Some(Spender::Thread(..)) => Spends::Core,
        Some(Spender::Resource(_, Kind::Copies)) => Spends::CoreAndMemory,
        Some(Spender::Resource(_, Kind::Boundary(Boundary::Link))) => Spends::Link,
        Some(Spender::Resource(..) | Spender::Device(_)) | None => Spends::Other,
    }
}

/// The name in reports of the resource of a tag.
pub fn spender(point: &Point, recorded: &Recorded, resource: u32) -> String {
    let spender = recorded.spenders.get(resource as usize);
    spender.map_or_else(|| "run".to_owned(), |spender| spender_name(point, spender))
}

/// The name in reports of a resource or a thread.
pub fn spender_name(point: &Point, spender: &Spender) -> String {
    match spender {
        Spender::Resource(name, _) | Spender::Device(name) => name.clone(),
        Spender::Thread(process, inner) => thread(point, *process, *inner),
    }
}

/// The name in reports of a thread.
pub fn thread(point: &Point, process: Process, thread: Thread) -> String {
    if point.progress_thread && thread != Thread(0) {
        format!("progress thread of rank {}", process.0)
    } else if point.threads > 1 {
        format!("process {} thread {}", process.0, thread.0)
    } else {
        format!("rank {}", process.0)
    }
}
