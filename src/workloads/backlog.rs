//! Matching queues that are long before the timed rounds begin, and that nothing of them shortens.
//!
//! ```text
//!   expected     holder: L x Irecv(NEVER)                … rounds …   L x Cancel, Waitall
//!   unexpected   feeder: L x Isend(NEVER), Send(FILLED)  … rounds …   Waitall
//!                holder: Recv(FILLED)                    … rounds …   L x Recv(NEVER)
//! ```
//!
//! Messages of one sender stay in order: when `FILLED` is received, all that went before it stand in
//! the unexpected queue. Every arrival of a round walks past the receives, every posted receive past
//! the messages.
//!
//! Source: `endpoints` Sec. 6, the expected and the unexpected queue variant.

use super::windowed::endpoint;
use mpi::envelope::{Rank, TAG_UB};
use protocols::call::{Buffer, Call, Comm, Peer, Requests, SendMode};
use protocols::contract::Handle;

/// Tag of what never matches a message of the rounds.
const NEVER: i32 = TAG_UB;
/// Tag of the message that tells that the queue is full.
const FILLED: i32 = TAG_UB - 1;

/// Which of the two queues is long.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Queue {
    /// Posted receives: every arrival walks past them.
    Expected,
    /// Messages that have arrived: every posted receive walks past them.
    Unexpected,
}

/// A matching queue that is long before the rounds begin.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct LongQueue {
    /// Which of the two.
    pub queue: Queue,
    /// Entries in one process.
    pub length: u32,
}

/// A rank's part in a long queue.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Side {
    /// It has the queue.
    Holds,
    /// It sends what stands in the partner's queue.
    Feeds,
}

/// The calls of one rank before and after the rounds of its program.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Backlog {
    queue: Queue,
    side: Side,
    length: u32,
    peer: Rank,
    bytes: u64,
    /// Endpoints that share the entries evenly; none where the process holds them itself.
    endpoints: u16,
    /// Its requests and buffers are numbered from here.
    first: u32,
    filled: u32,
    emptied: u32,
}

/// The part in a long queue of a rank, which holds it or feeds that of `peer`.
pub(super) fn backlog(
    queue: Option<LongQueue>,
    holds: bool,
    peer: Rank,
    bytes: u64,
) -> Option<Backlog> {
    let side = if holds { Side::Holds } else { Side::Feeds };
    queue.map(|LongQueue { queue, length }| Backlog::new(queue, side, length, peer, bytes))
}

impl Backlog {
    /// `length` entries of `bytes` in the `queue` of this rank or of `peer`.
    pub const fn new(queue: Queue, side: Side, length: u32, peer: Rank, bytes: u64) -> Self {
        Self { queue, side, length, peer, bytes, endpoints: 0, first: 0, filled: 0, emptied: 0 }
    }

    /// The same, dealt out to `endpoints` endpoints of this process and their partners; `peer` is
    /// the partner of the first.
    #[must_use]
    pub const fn over(self, endpoints: u16) -> Self {
        Self { endpoints, ..self }
    }

    /// The communicator and the partner of entry `step`.
    fn ends(&self, step: u32) -> (Comm, Peer) {
        if self.endpoints == 0 {
            return (Comm(0), Peer::Rank(self.peer));
        }
        let local = step % u32::from(self.endpoints);
        let comm = endpoint(u16::try_from(local).expect("below a u16"));
        (comm, Peer::Rank(Rank(self.peer.0 + local)))
    }

    /// Messages that tell that the queues are full: one from each endpoint.
    fn tellers(&self) -> u32 {
        u32::from(self.endpoints.max(1))
    }

    /// The same, with requests and buffers numbered from `first` on.
    #[must_use]
    pub const fn numbered_from(self, first: u32) -> Self {
        Self { first, ..self }
    }

    /// The next call that fills the queue; `None` once it is filled.
    pub fn fill(&mut self) -> Option<Call> {
        let step = self.filled;
        self.filled += 1;
        let (comm, peer) = self.ends(step);
        match (self.queue, self.side) {
            (Queue::Expected, Side::Holds) if step < self.length => Some(Call::Irecv {
                request: Handle(self.first + step),
                source: peer,
                tag: Some(NEVER),
                comm,
                buffer: self.buffer(step),
            }),
            (Queue::Unexpected, Side::Feeds) if step < self.length => Some(Call::Isend {
                request: Handle(self.first + step),
                to: peer,
                tag: NEVER,
                comm,
                buffer: self.buffer(step),
                mode: SendMode::Standard,
            }),
            (Queue::Unexpected, Side::Feeds) if step - self.length < self.tellers() => {
                let (comm, to) = self.ends(step - self.length);
                let buffer = Buffer { bytes: 0, ..self.buffer(step) };
                Some(Call::Send { to, tag: FILLED, comm, buffer, mode: SendMode::Standard })
            }
            (Queue::Unexpected, Side::Holds) if step < self.tellers() => {
                let told = Buffer { bytes: 0, ..self.buffer(self.length) };
                Some(self.receive(step, FILLED, told))
            }
            (Queue::Expected | Queue::Unexpected, Side::Holds | Side::Feeds) => None,
        }
    }

    /// The next call that empties the queue; `None` once it is empty.
    pub fn empty(&mut self) -> Option<Call> {
        let step = self.emptied;
        self.emptied += 1;
        match (self.queue, self.side) {
            (Queue::Expected, Side::Holds) if step < self.length => {
                Some(Call::Cancel { request: Handle(self.first + step) })
            }
            (Queue::Expected, Side::Holds) if step == self.length => Some(self.wait()),
            (Queue::Unexpected, Side::Feeds) if step == 0 => Some(self.wait()),
            (Queue::Unexpected, Side::Holds) if step < self.length => {
                Some(self.receive(step, NEVER, self.buffer(step)))
            }
            (Queue::Expected | Queue::Unexpected, Side::Holds | Side::Feeds) => None,
        }
    }

    const fn buffer(&self, step: u32) -> Buffer {
        Buffer { id: self.first + step, bytes: self.bytes }
    }

    fn receive(&self, step: u32, tag: i32, buffer: Buffer) -> Call {
        let (comm, source) = self.ends(step);
        Call::Recv { source, tag: Some(tag), comm, buffer }
    }

    const fn wait(&self) -> Call {
        let requests = Requests::Range { first: Handle(self.first), count: self.length };
        Call::WaitAll { requests, statuses: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(mut next: impl FnMut() -> Option<Call>) -> Vec<String> {
        let name = |call: Call| {
            let text = format!("{call:?}");
            let name = text.split([' ', '{']).next().unwrap_or_default().to_owned();
            if let Call::Recv { tag, .. } = call {
                format!("{name} {}", tag.unwrap())
            } else if let Call::Send { tag, .. } | Call::Isend { tag, .. } = call {
                format!("{name} {tag}")
            } else {
                name
            }
        };
        std::iter::from_fn(|| next().map(name)).collect()
    }

    #[track_caller]
    fn check(queue: Queue, side: Side, fills: &[&str], empties: &[&str]) {
        let mut backlog = Backlog::new(queue, side, 2, Rank(1), 8).numbered_from(10);
        assert_eq!(calls(|| backlog.fill()), fills);
        assert_eq!(calls(|| backlog.empty()), empties);
    }

    #[test]
    fn what_is_filled_is_emptied() {
        let (never, filled) = (NEVER.to_string(), FILLED.to_string());
        let with = |name: &str, tag: &str| format!("{name} {tag}");
        let (isend, send) = (with("Isend", &never), with("Send", &filled));
        let (told, taken) = (with("Recv", &filled), with("Recv", &never));
        check(Queue::Expected, Side::Holds, &["Irecv", "Irecv"], &["Cancel", "Cancel", "WaitAll"]);
        check(Queue::Expected, Side::Feeds, &[], &[]);
        check(Queue::Unexpected, Side::Feeds, &[&isend, &isend, &send], &["WaitAll"]);
        check(Queue::Unexpected, Side::Holds, &[&told], &[&taken, &taken]);
    }
}
