//! Fields that several workloads have.

use super::backlog::{LongQueue, Queue};
use super::kind::{Processes, Reading};
use form::fields::{MAX_MESSAGE, POSITIVE, SIZE as SIZE_SHAPE, bytes};
use form::json::Node;
use form::shape::Shape;
use form::typed::{Entry, Object as _, Value, default, optional, required};
use units::Bytes;

/// How many rounds.
pub(super) static ROUND_COUNT: Shape = Shape::Count { min: 1, max: 1_000_000_000 };

/// The most entries of a queue that is made before a workload begins.
/// Limit: each entry is held in memory.
const MAX_QUEUE: u64 = 1 << 20;

/// The size of each message.
pub(super) const SIZE: Entry = required(&SIZE_SHAPE, "\"8 B\"").saying("Bytes of each message.");

/// How many messages are under way.
pub(super) const WINDOW: Entry =
    required(&POSITIVE, "64").saying("Messages that are under way before their sender waits.");

/// How many rounds are measured.
pub(super) const ROUNDS: Entry = required(&Rounds::SHAPE, "100")
    .saying("Measured rounds: a count, or one for small and one for large messages.");

/// How many rounds come before them.
pub(super) const WARMUP: Entry = default(&Shape::Count { min: 0, max: 1_000_000 }, "0")
    .saying("Rounds before the measured ones.");

form::object! {
    /// Rounds of small and of large messages.
    pub struct RoundsBySize {
        /// Rounds of messages up to the size `up_to`.
        first: u32 = required(&ROUND_COUNT, "50"),
        /// The greatest size that has `first` rounds.
        up_to: Bytes = required(&bytes(0, MAX_MESSAGE), "\"8 KiB\""),
        /// Rounds of greater messages.
        then: u32 = required(&ROUND_COUNT, "10"),
    }
}

/// Measured rounds.
#[derive(Clone, Debug, PartialEq)]
pub enum Rounds {
    /// So many, whatever the size of a message.
    All(u32),
    /// As the size of a message says.
    BySize(RoundsBySize),
}

impl Rounds {
    const SHAPE: Shape = Shape::Either(&[
        Shape::Count { min: 1, max: 1_000_000_000 },
        Shape::Object(RoundsBySize::FIELDS),
    ]);

    /// The rounds of messages of `size`.
    pub fn of(&self, size: Bytes) -> u32 {
        match self {
            Self::All(rounds) => *rounds,
            Self::BySize(rounds) if size <= rounds.up_to => rounds.first,
            Self::BySize(rounds) => rounds.then,
        }
    }
}

impl Value for Rounds {
    fn read(node: &Node) -> Self {
        if node.number().is_some() {
            Self::All(u32::read(node))
        } else {
            Self::BySize(RoundsBySize::read(node))
        }
    }
}

form::words! {
    /// Where the two processes of a pair are.
    pub enum Between {
        /// the two processes are on two nodes
        Nodes = "nodes",
        /// the two processes are on one node
        Cores = "cores",
    }
}

impl Between {
    /// Two processes, on one node or on two.
    pub(super) fn processes(self, reading: &mut Reading<'_>) -> Option<Processes> {
        match self {
            Self::Cores => Some(Processes { count: 2, per_node: 2, together: true }),
            Self::Nodes => {
                let mark = reading.diagnostics.mark();
                let there = reading.need_nodes(reading.nodes >= 2, "at least 2");
                let hint = "`workload.between` `cores` pairs those of one node";
                reading.diagnostics.explain(mark, hint);
                there?;
                Some(Processes::new(2, 1))
            }
        }
    }
}

/// Where the processes of a pair are.
pub(super) const BETWEEN: Entry =
    default(&Between::SHAPE, "nodes").saying("Where the two processes are.");

form::words! {
    /// Which of the two matching queues is long.
    pub enum QueueKind {
        /// posted receives that never match: every arrival walks past them
        Expected = "expected",
        /// messages that nobody asks for: every posted receive walks past them
        Unexpected = "unexpected",
    }
}

form::words! {
    /// The unit that the length of a queue is given for.
    pub enum LengthPer {
        /// all threads of a process share `length` entries
        Process = "process",
        /// `length` entries for each thread, all in the queue of the process
        Thread = "thread",
    }
}

const QUEUE_KIND: Entry = required(&QueueKind::SHAPE, "\"expected\"");
const LENGTH: Entry = required(&Shape::Count { min: 0, max: MAX_QUEUE }, "64");

form::object! {
    /// A queue that is long before the rounds begin.
    pub struct QueueForm {
        /// Which of the two matching queues is long.
        kind: QueueKind = QUEUE_KIND,
        /// Entries that stand in it through all rounds.
        length: u32 = LENGTH,
    }
}

form::object! {
    /// The same of a process with several threads.
    pub struct ThreadedQueueForm {
        /// Which of the two matching queues is long.
        kind: QueueKind = QUEUE_KIND,
        /// Entries that stand in it through all rounds.
        length: u32 = LENGTH,
        /// What the length counts for.
        length_per: LengthPer = default(&LengthPer::SHAPE, "process"),
    }
}

impl Value for LongQueue {
    fn read(node: &Node) -> Self {
        let QueueForm { kind, length } = QueueForm::read(node);
        Self { queue: kind.into(), length }
    }
}

impl Value for ThreadedQueueForm {
    fn read(node: &Node) -> Self {
        form::typed::Object::read(node)
    }
}

impl ThreadedQueueForm {
    /// The queue of a process with so many threads.
    pub fn of(&self, threads: u16) -> LongQueue {
        let each = match self.length_per {
            LengthPer::Process => 1,
            LengthPer::Thread => u32::from(threads),
        };
        LongQueue { queue: self.kind.into(), length: self.length * each }
    }
}

impl From<QueueKind> for Queue {
    fn from(kind: QueueKind) -> Self {
        match kind {
            QueueKind::Expected => Self::Expected,
            QueueKind::Unexpected => Self::Unexpected,
        }
    }
}

/// A queue of the process that answers.
pub(super) const QUEUE: Entry = optional(&Shape::Object(QueueForm::FIELDS))
    .saying("A queue that is long at the answering process.");

/// A queue of every receiver.
pub(super) const THREADED_QUEUE: Entry = optional(&Shape::Object(ThreadedQueueForm::FIELDS))
    .saying("A queue that is long at every receiver.");
