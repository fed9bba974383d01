//! What a timed run leaves behind.

use crate::account::Account;
use crate::causes::Recorded;
use crate::crash::CrashReport;
use crate::deadlock::{Blocked, Deadlock};
use crate::event_text::EventText;
use crate::faults::Failure;
use crate::memory::Memories;
use crate::memory_use::MemoryUse;
use crate::monitors::{Sometimes, Violation};
use crate::untimed::Choice;
use engine::{Digest, LimitReached};
use hardware::fabric::{Kind, ResourceStats};
use protocols::contract::{Process, ProtocolError, Thread};
use units::Time;

/// A run that is over: what it did, and the states it ended in.
#[derive(Clone, Debug)]
pub struct Ran<M, P> {
    /// Its outcome.
    pub outcome: Outcome,
    /// The libraries, by process.
    pub machines: Vec<M>,
    /// The programs, by process and thread.
    pub programs: Vec<P>,
    /// The memories.
    pub memories: Memories,
}

/// How a run ended.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Ending {
    /// Every program came to its end.
    Finished,
    /// Nothing can happen any more, and threads still wait.
    Deadlock(Deadlock),
    /// Threads ask again and again in no time: what is under way never arrives.
    ClockStands {
        /// Where it stands.
        at: Time,
        /// Threads that retry, with their waits.
        askers: Vec<Blocked>,
    },
    /// A protocol got an input that it does not know.
    Protocol {
        /// Where.
        process: Process,
        /// The line of the call that its thread was in, where the scenario has it.
        line: Option<u32>,
        /// The error.
        error: ProtocolError,
    },
    /// A limit was reached.
    Limit(LimitReached),
    /// A fault of the plan ended it by a failure that has a name.
    Fault(Failure),
    /// A process died, and nothing can happen any more.
    Crashed {
        /// When it died.
        at: Time,
        /// Report on the threads that wait for it.
        report: CrashReport,
    },
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How it ended.
    pub ending: Ending,
    /// When the last event happened.
    pub end: Time,
    /// Events handled.
    pub events: u64,
    /// Digest of the ordered event stream.
    pub digest: Digest,
    /// Moments that programs marked, in order of time.
    pub marks: Vec<Mark>,
    /// Laws that were broken.
    pub violations: Vec<Violation>,
    /// Branches that were reached.
    pub sometimes: Sometimes,
    /// The most times that a process was overtaken while it waited for a lock without a queue.
    pub overtaken: u32,
    /// Use of every resource.
    pub resources: Vec<Used>,
    /// Where the time of every thread went.
    pub accounts: Vec<Account>,
    /// Messages that left a core.
    pub packets: u64,
    /// Queue entries that were compared, in all processes.
    pub entries_visited: u64,
    /// Receiver-not-ready pauses.
    pub rnr: u64,
    /// The most that it held at once, where a limit of memory had it counted.
    pub held: MemoryUse,
    /// Effects of faults, counted.
    pub faults: Tally,
    /// Faults that did nothing.
    pub unfired: Vec<Unfired>,
    /// The choices, where they were recorded.
    pub choices: Vec<Choice>,
    /// The causes, where they were requested.
    pub causes: Option<Box<Recorded>>,
    /// The digest after each whole stretch of events ([`engine::bisect`]).
    pub checkpoints: Vec<Digest>,
    /// The events in words, where they were requested.
    pub told: Vec<EventText>,
}

/// Effects of the faults of a run on packets, counted.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Tally {
    /// Packets and answers that links lost.
    pub lost: u64,
    /// Those that they delivered twice.
    pub duplicated: u64,
    /// Those that they delivered late.
    pub late: u64,
    /// Packets that were sent again.
    pub sent_again: u64,
}

/// A fault that did nothing in a run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unfired {
    /// Its place in the plan, from 0.
    pub fault: usize,
    /// Kind of the fault, as scenarios call it.
    pub kind: &'static str,
    /// Why it did not.
    pub why: String,
}

/// Use of one resource.
#[derive(Clone, Debug)]
pub struct Used {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: Kind,
    /// How many serve side by side: busy time counts each.
    pub servers: u32,
    /// Its statistics.
    pub stats: ResourceStats,
}

/// A moment that a program marked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Mark {
    /// Its process.
    pub process: Process,
    /// Its thread.
    pub thread: Thread,
    /// Which mark.
    pub number: u32,
    /// When.
    pub at: Time,
    /// Where the thread's time had gone until then.
    pub account: Account,
}
