//! What a run holds, counted in bytes of its own: the same number on every machine.
//!
//! Bytes of the host depend on its allocator and on the layout of values, so that a limit in them would
//! stop a run at another event elsewhere. Here each kind of what a run keeps has a price that is near
//! what it takes on a machine of 64 bits; the runtime counts them, and multiplies. `tests/machine/memory.rs`
//! holds the prices against the allocator.

use engine::LimitReached;
use units::Bytes;

/// Kind of object that a run keeps many of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kind {
    /// A process: its library, its memory's tables, its monitors.
    Process,
    /// A thread, with its program.
    Thread,
    /// One direction of a queue pair that was used.
    Connection,
    /// An event that is to happen.
    Event,
    /// A message, an RDMA operation or an answer that is under way.
    Message,
    /// A request that is open.
    Request,
    /// A posted receive or an unexpected message in a queue.
    QueueEntry,
    /// A byte of a buffer, or of a message under way, where bytes exist.
    Payload,
    /// A moment that a program marked.
    Mark,
    /// A byte of the log of an explained run.
    Log,
    /// A message that is kept for a picture.
    Kept,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Process,
        Self::Thread,
        Self::Connection,
        Self::Event,
        Self::Message,
        Self::Request,
        Self::QueueEntry,
        Self::Payload,
        Self::Mark,
        Self::Log,
        Self::Kept,
    ];

    /// Name in messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Process => "its processes",
            Self::Thread => "its threads",
            Self::Connection => "connections",
            Self::Event => "pending events",
            Self::Message => "messages under way",
            Self::Request => "open requests",
            Self::QueueEntry => "matching queues",
            Self::Payload => "bytes of payload",
            Self::Mark => "marks of its programs",
            Self::Log => "the log of `--explain`",
            Self::Kept => "messages kept for a picture",
        }
    }

    /// Price of one of them, in bytes.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Process => 4096,
            Self::Thread => 1024,
            Self::Request => 512,
            Self::Message | Self::Connection => 256,
            Self::QueueEntry | Self::Mark | Self::Kept => 128,
            Self::Event => 64,
            Self::Payload | Self::Log => 1,
        }
    }

    /// How a run comes to hold less of it.
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Process | Self::Connection => "simulate fewer ranks",
            Self::Thread => "simulate fewer ranks or threads",
            Self::Event | Self::Message | Self::Request => {
                "have fewer messages under way at once (a smaller window)"
            }
            Self::QueueEntry => "receive what was sent before more is sent",
            Self::Payload => "leave bytes out by `mpi.payload` \"phantom\"",
            Self::Mark => "simulate fewer rounds",
            Self::Log => "run without `--explain`",
            Self::Kept => "run without `--trace` and `--sequence`",
        }
    }
}

/// How many of each kind a run keeps.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct MemoryUse([u64; Kind::ALL.len()]);

impl MemoryUse {
    /// Memory use of a job before any event: a run never holds less.
    pub fn at_start(processes: u64, threads: u64) -> Self {
        let mut held = Self::default();
        held.add(Kind::Process, processes);
        held.add(Kind::Thread, threads);
        held
    }

    /// So many more of one kind.
    pub fn add(&mut self, kind: Kind, count: u64) {
        let sum = &mut self.0[kind as usize];
        *sum = sum.saturating_add(count);
    }

    /// Bytes that all objects of one kind count for.
    pub fn part(&self, kind: Kind) -> Bytes {
        Bytes::new(self.0[kind as usize].saturating_mul(kind.bytes()))
    }

    /// Bytes that all objects count for.
    pub fn total(&self) -> Bytes {
        let parts = Kind::ALL.map(|kind| self.part(kind).as_u64());
        Bytes::new(parts.into_iter().fold(0, u64::saturating_add))
    }

    /// Whichever holds more.
    pub fn more(self, other: Self) -> Self {
        if other.total() > self.total() { other } else { self }
    }

    /// The limit that is passed after so many events, if it is.
    pub fn beyond(&self, limit: Bytes, events: u64) -> Option<LimitReached> {
        let held = self.total();
        // The first of several that are as large.
        let largest = Kind::ALL.into_iter().rev().max_by_key(|&kind| self.part(kind))?;
        (held > limit).then(|| LimitReached::Memory {
            limit,
            held,
            largest: largest.name(),
            part: self.part(largest),
            events,
            remedy: largest.remedy(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stand_in_their_own_places() {
        for (place, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, place);
            let mut held = MemoryUse::default();
            held.add(kind, 3);
            assert_eq!(held.total(), Bytes::new(3 * kind.bytes()));
            assert_eq!(held.beyond(held.total(), 1), None, "what is allowed may be held");
        }
    }

    #[test]
    fn what_is_beyond_a_limit_names_its_largest_part() {
        let mut held = MemoryUse::at_start(2, 2);
        held.add(Kind::Payload, 20_000);
        let words = |events| held.beyond(Bytes::new(30_000), events).unwrap().to_string();
        assert_eq!(
            words(64),
            "the limit of 30000 B of memory was reached after 64 events: the run holds 30240 B, most \
             of it bytes of payload (20000 B); raise `limits.memory`, or leave bytes out by \
             `mpi.payload` \"phantom\""
        );
        assert!(words(0).contains("reached before the first event: the run holds"), "{}", words(0));
        assert_eq!(held.beyond(Bytes::new(30_240), 64), None);
    }

    #[test]
    fn no_count_is_too_large() {
        let held = MemoryUse::at_start(u64::MAX, u64::MAX);
        assert_eq!(held.total(), Bytes::new(u64::MAX));
    }
}
