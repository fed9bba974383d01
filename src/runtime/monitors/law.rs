//! Laws, and how they are watched: what all monitors have in common.

use std::fmt;

use mpi::observation::Observation;
use protocols::contract::Process;
use units::Time;

/// A law that was broken.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Violation {
    /// Which law, as `M1`.
    pub id: &'static str,
    /// The law in one sentence.
    pub statement: &'static str,
    /// Objects that broke it: messages, receives, buffers, processes.
    pub objects: Vec<String>,
    /// Description of the case.
    pub detail: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.objects.is_empty() {
            write!(f, "{}: ", self.objects.join(", "))?;
        }
        write!(f, "{} ({}: {})", self.detail, self.id, self.statement)
    }
}

/// When something happens, and where that stands in the program.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Moment {
    /// When, where there is a clock.
    pub at: Option<Time>,
    /// The line.
    pub line: Option<u32>,
}

impl Moment {
    /// The line in words, to come after what stands there.
    pub(super) fn place(self) -> String {
        self.line.map_or_else(String::new, |line| format!(" in line {line}"))
    }
}

/// Watches a run; what it finds is appended to `found`.
pub trait Monitor {
    /// A fact from the library of `process`.
    fn observe(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>);

    /// The run is over and every program ended; `undelivered` packets were never taken.
    fn end(&mut self, undelivered: u64, found: &mut Vec<Violation>);
}

/// How often a run came through the branches that make a check worth its name.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, PartialEq)]
pub struct Sometimes {
    /// A message arrived before its receive was posted.
    pub unexpected: u64,
    /// A wildcard receive was matched while it could have taken another sender's message.
    pub wildcard_races: u64,
    /// A receive was matched while another one that was posted earlier stayed open.
    pub posted_skipped: u64,
    /// A message was longer than its receive.
    pub truncated: u64,
    /// The bytes of a received message were compared.
    pub compared: u64,
    /// A process queued for a lock behind another one.
    pub contended: u64,
    /// More than one moved a part of a large message.
    pub shared_copies: u64,
    /// An access to a window began while another process had one open there.
    pub side_by_side: u64,
    /// A wire lost a packet or an answer.
    pub lost: u64,
    /// A wire delivered one twice.
    pub repeated: u64,
    /// One overtook another on a wire.
    pub overtaken: u64,
    /// A transport timer ran out.
    pub timed_out: u64,
    /// A receiver had a packet before, or missed one before it.
    pub not_taken: u64,
}

impl Sometimes {
    /// Every count with its name.
    pub const fn named(self) -> [(&'static str, u64); 13] {
        [
            ("unexpected", self.unexpected),
            ("wildcard_races", self.wildcard_races),
            ("posted_skipped", self.posted_skipped),
            ("truncated", self.truncated),
            ("compared", self.compared),
            ("contended", self.contended),
            ("shared_copies", self.shared_copies),
            ("side_by_side", self.side_by_side),
            ("lost", self.lost),
            ("repeated", self.repeated),
            ("overtaken", self.overtaken),
            ("timed_out", self.timed_out),
            ("not_taken", self.not_taken),
        ]
    }

    /// The counts of two runs together.
    pub fn plus(self, other: Self) -> Self {
        self.each(other, |a, b| a + b)
    }

    /// Counts since `earlier`, in the same run.
    pub fn since(self, earlier: Self) -> Self {
        self.each(earlier, |a, b| a - b)
    }

    fn each(self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            unexpected: join(self.unexpected, other.unexpected),
            wildcard_races: join(self.wildcard_races, other.wildcard_races),
            posted_skipped: join(self.posted_skipped, other.posted_skipped),
            truncated: join(self.truncated, other.truncated),
            compared: join(self.compared, other.compared),
            contended: join(self.contended, other.contended),
            shared_copies: join(self.shared_copies, other.shared_copies),
            side_by_side: join(self.side_by_side, other.side_by_side),
            lost: join(self.lost, other.lost),
            repeated: join(self.repeated, other.repeated),
            overtaken: join(self.overtaken, other.overtaken),
            timed_out: join(self.timed_out, other.timed_out),
            not_taken: join(self.not_taken, other.not_taken),
        }
    }
}
