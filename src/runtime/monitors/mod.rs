//! Monitors: laws that every run must keep, watched while it runs, in both runtimes.
//!
//! | id | law | file |
//! |---|---|---|
//! | M1, M3 | messages of one sender are not overtaken, wildcards included | [`matching`] |
//! | M2 | the earliest posted receive that satisfies a message gets it | [`matching`] |
//! | M4 | nothing is lost, duplicated or matched twice | [`matching`] |
//! | M5 | no match across contexts | [`matching`] |
//! | M6 | a message is matched by a receive of the rank that it is for | [`matching`] |
//! | `MPI_Rsend` | the receive of a ready send is posted before the send starts | [`matching`] |
//! | M8 | a receive that is too short reports truncation, and only then | [`matching`] |
//! | X1, X2, X3, X8 | a lock has one holder, is entered in the order of its queue, is free at the end, and overtakes no rank more often than it promises | [`mutex`] |
//! | V3 | what sender, receiver and HCA move of a large message is all of it, once | [`movers`] |
//! | E1 | endpoints are numbered process by process | [`groups`] |
//! | E6 | what names a communicator or an endpoint is never given again | [`groups`] |
//! | C3 | no rank leaves a barrier before the last enters | [`groups`] |
//! | C4 | ranks that leave their n-th collective leave the same one, and call the same fences | [`groups`], [`windows`] |
//! | C5 | the library does a collective in one way at all its ranks, whatever each of them gives | [`groups`] |
//! | `MPI_ERR_ROOT`, `_OP`, `_TYPE`, `_COUNT` | all ranks of a collective give the same root, operator, type and length | [`groups`] |
//! | `MPI_ERR_GROUP` | all processes of the group of a new communicator give the same group | [`groups`] |
//! | `MPI_ERR_TYPE` | a receive names the types that its message was sent with, one by one | [`buffers`] |
//! | R2 | accesses to a window that run together keep the table of its memory model | [`windows`] |
//! | V2 | no buffer is touched after completion nor before posting; bytes arrive as sent | [`buffers`] |
//! | `program` | a statement returns what its `expect` says, its expressions have values in range, and it touches no bytes of an open operation ([`protocols::loans`]) | `statements` |
//! | S3 | time never goes back; no effect before its cause | [`system`] |
//! | S4 | what was started is finished: messages, requests, queues, landing buffers | [`system`] |
//! | S5 | no resource is more than 100 % busy | [`system`] |
//! | S6 | equal runs have equal digests | [`system`] |
//!
//! S1 (termination) is [`super::deadlock`]. A monitor costs amortised constant time per fact in
//! programs whose messages are matched in order, and allocates only when it meets more open
//! messages than ever before. It never changes what a run does.

pub mod buffers;
pub mod groups;
mod law;
pub mod matching;
pub mod movers;
pub mod mutex;
mod statements;
pub mod system;
pub mod windows;

use crate::fingerprint::Shared;
pub use law::{Moment, Monitor, Sometimes, Violation};
use mpi::observation::{GroupFact, Observation, WindowFact};
use mpi::rma::access::Touch;
use protocols::contract::{Process, Region, Space};
pub use statements::STATEMENT;
pub use system::{LEFT_COUNTED, LEFT_OPEN, NEVER_RECEIVED, UNFINISHED};
pub use windows::UNDEFINED_VALUE;

/// All monitors that are fed by observations; [`buffers::Buffers`] observes buffers itself.
///
/// Parts that few facts change are shared between the states of a search until one changes them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Monitors {
    /// M1 to M6 and M8.
    pub matching: matching::Matching,
    /// X1 to X3 and X8.
    pub mutexes: Shared<mutex::Mutexes>,
    /// S4.
    pub conservation: system::Conservation,
    /// E1, E6, C3 and C4.
    pub groups: Shared<groups::Groups>,
    /// V3.
    pub movers: movers::Movers,
    /// R2, and C4 of fences.
    pub windows: Shared<windows::Windows>,
}

impl Monitors {
    /// Monitors of a run of `processes` processes.
    pub fn new(processes: usize) -> Self {
        Self {
            matching: matching::Matching::new(processes),
            mutexes: Shared::default(),
            conservation: system::Conservation::new(processes),
            groups: Shared::new(groups::Groups::new(processes)),
            movers: movers::Movers::default(),
            windows: Shared::default(),
        }
    }
}

impl Monitors {
    /// The branches that they reached.
    pub fn sometimes(&self) -> Sometimes {
        Sometimes {
            contended: self.mutexes.contended,
            shared_copies: self.movers.shared,
            side_by_side: self.windows.side_by_side,
            ..self.matching.sometimes
        }
    }

    /// The branches that they reached; they begin to count anew.
    pub fn take_sometimes(&mut self) -> Sometimes {
        let met = self.sometimes();
        self.matching.sometimes = Sometimes::default();
        self.movers.shared = 0;
        if met.contended > 0 {
            self.mutexes.change().contended = 0;
        }
        if met.side_by_side > 0 {
            self.windows.change().side_by_side = 0;
        }
        met
    }

    /// The program of a process touches memory by itself; `place` is where that stands in it.
    #[inline]
    pub fn touched(
        &mut self,
        process: Process,
        region: Region,
        touch: Touch,
        place: impl FnOnce() -> Option<u32>,
        found: &mut Vec<Violation>,
    ) {
        if region.is_in_a_window() && self.windows.watches() {
            self.windows.change().touched(process, region, touch, place(), found);
        }
    }

    /// The HCA of `owner` has updated an element that `origin` requested.
    pub fn updated(&mut self, origin: Process, owner: Process, region: Region) {
        if let Space::Window(memory) = region.space
            && self.windows.watches()
        {
            let bytes = region.offset..region.offset + region.len;
            self.windows.change().applied(origin.0, (owner.0, memory), bytes);
        }
    }

    /// A process tells others something.
    #[inline]
    fn speaks(&mut self, process: Process) {
        if self.windows.listens_to(process) {
            self.windows.change().speaks(process);
        }
    }

    /// Keeps from now on when receives are posted: some program sends in ready mode.
    pub fn expect_ready_sends(&mut self) {
        self.matching.expect_ready_sends();
    }

    /// A fact from a library; `moment` is when it happens, where there is a clock, and where the call that
    /// the thread is in stands.
    #[inline]
    pub fn told(
        &mut self,
        process: Process,
        fact: &Observation,
        moment: impl Fn() -> Moment,
        found: &mut Vec<Violation>,
    ) {
        let is_rare = matches!(fact, Observation::Window(..) | Observation::Group(_));
        if is_rare || self.matching.watches_ready(fact) {
            self.told_rarely(process, fact, moment(), found);
        } else {
            self.observe(process, fact, found);
        }
    }

    /// A fact of windows or communicators, or where programs send in ready mode.
    #[inline(never)]
    fn told_rarely(
        &mut self,
        process: Process,
        fact: &Observation,
        moment: Moment,
        found: &mut Vec<Violation>,
    ) {
        if let Observation::Window(window, fact) = fact {
            return self.told_of_window(process, (*window, *fact), moment.line, found);
        }
        if let Observation::Group(group) = *fact {
            return self.told_of_group(process, group, moment.line, found);
        }
        self.matching.of_ready(fact, moment, found);
        self.observe(process, fact, found);
    }

    #[inline(never)]
    fn told_of_group(
        &mut self,
        process: Process,
        fact: GroupFact,
        line: Option<u32>,
        found: &mut Vec<Violation>,
    ) {
        if Observation::Group(fact).tells_others() {
            self.speaks(process);
        }
        self.groups.change().told(process, fact, line, found);
    }

    #[inline(never)]
    fn told_of_window(
        &mut self,
        process: Process,
        (window, fact): (u32, WindowFact),
        place: Option<u32>,
        found: &mut Vec<Violation>,
    ) {
        self.windows.change().told(process, window, fact, place, found);
    }
}

/// The facts of a message, each in a function of its own: one for all would save the registers of each
/// for every fact.
impl Monitors {
    #[inline(never)]
    fn sent(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        let Observation::Sent { message, envelope, to, bytes, .. } = *fact else { return };
        self.speaks(process);
        self.matching.sent(message, (to, envelope, bytes), found);
        self.conservation.sent(process, found);
    }

    #[inline(never)]
    fn posted(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        let Observation::Posted { receive, selection, bytes } = *fact else { return };
        self.matching.posted(receive, selection, bytes);
        self.conservation.posted(process, found);
    }

    #[inline(never)]
    fn arrived(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        let Observation::Arrived { message, taken_by } = *fact else { return };
        self.matching.arrived(process, message, taken_by, found);
    }

    #[inline(never)]
    fn matched(&mut self, fact: &Observation, found: &mut Vec<Violation>) {
        let Observation::Matched { message, receive } = *fact else { return };
        self.matching.matched(message, receive, found);
    }

    #[inline(never)]
    fn send_complete(&mut self, process: Process, found: &mut Vec<Violation>) {
        self.conservation.send_complete(process, found);
    }

    #[inline(never)]
    fn cancelled(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        let Observation::Cancelled { receive } = *fact else { return };
        self.matching.cancelled(receive, found);
        self.conservation.cancelled(process, found);
    }

    #[inline(never)]
    fn of_locks(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        self.mutexes.change().observe(process, fact, found);
    }

    #[inline(never)]
    fn received(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        let Observation::Received { receive, message, bytes, truncated } = *fact else { return };
        self.matching.received(receive, message, (bytes, truncated), found);
        self.conservation.received(process, found);
        self.movers.observe(process, fact, found);
    }
}

impl Monitor for Monitors {
    #[inline]
    fn observe(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        // Each fact goes to the monitors that keep something of it.
        match fact {
            Observation::Sent { .. } => self.sent(process, fact, found),
            Observation::Posted { .. } => self.posted(process, fact, found),
            Observation::Arrived { .. } => self.arrived(process, fact, found),
            Observation::Matched { .. } => self.matched(fact, found),
            Observation::Received { .. } => self.received(process, fact, found),
            Observation::SendComplete { .. } => self.send_complete(process, found),
            Observation::Cancelled { .. } => self.cancelled(process, fact, found),
            Observation::Moved { .. } => self.movers.observe(process, fact, found),
            Observation::LockWaits { .. }
            | Observation::LockQueued { .. }
            | Observation::LockEntered { .. }
            | Observation::LockLeft { .. } => self.of_locks(process, fact, found),
            Observation::Group(group) => {
                self.told_of_group(process, *group, None, found);
            }
            Observation::Window(window, fact) => {
                self.told_of_window(process, (*window, *fact), None, found);
            }
            Observation::Failed(failure) => found.push(statements::violation(failure)),
        }
    }

    fn end(&mut self, undelivered: u64, found: &mut Vec<Violation>) {
        self.matching.end(undelivered, found);
        self.mutexes.change().end(undelivered, found);
        self.conservation.end(undelivered, found);
        self.movers.end(undelivered, found);
    }
}
