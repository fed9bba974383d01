//! One mutex and many contenders: the locks over one-sided communication.
//!
//! A [`Contender`] is a rank that acquires the mutex and releases it again and again; `Mutex` is the
//! algorithm, one file each. Marks 0 and 1 of every rank bracket its cycles; 2 and 3 stand where it
//! enters and leaves, if they are requested.
//!
//! The mutex lives on rank 0. Numbers are 4 bytes wide, as in the public code of `rma`'s authors.

mod byte_vector;
mod mcs;
mod steps;
mod test_and_set;

#[cfg(feature = "mutants")]
pub use mcs::Flaw;
pub use steps::Pauses;

use std::sync::Arc;

use super::assumption::Assumption;
use super::job::AnyProgram;
use super::kind::Kind;
use super::metric::{Measured, MetricSpec, TIME};
use super::one_sided::{
    PER_NODE, PER_NODE_PATH, PROCESSES, Task, WINDOW as WINDOW_KIND, WindowKind, measure_cycles,
    one_sided,
};
use form::fields::{LONG, POSITIVE, time};
use form::shape::Shape;
use form::typed::{Object as _, default, required};
use form::workload_field;
pub use language::marks::{END, START};
use mpi::observation::Observation;
use protocols::call::{Call, Comm, Reply};
use protocols::contract::{Machine, Next, Program, Region, Space};
use protocols::rma::Transport;
use protocols::rma::call::{Flavor, RmaCall, Spacing};
use steps::{HOST, LOCK, Me, Steps, Turn, WINDOW, WORD};
use units::TimeDelta;

/// Mark of a contender that enters the critical section.
/// Encoding: number of a mark.
pub const ENTERED: u32 = 2;
/// Mark of one that is about to leave it.
/// Encoding: number of a mark.
pub const LEAVES: u32 = 3;

form::words! {
    /// A mutex, by its published name.
    pub enum Algorithm {
        /// MPI-2: a byte for each rank, in exclusive epochs
        ByteVector = "byte_vector",
        /// MPI-3: a queue of ranks; the release reads its own `next` first
        Mcs = "mcs",
        /// the same, with the compare-and-swap first
        McsCasFirst = "mcs_cas_first",
        /// compare-and-swap until it succeeds, with growing pauses
        TestAndSet = "test_and_set",
    }
}

form::object! {
    /// All processes take one mutex on rank 0 and give it back.
    pub struct MutexForm {
        /// The mutex.
        algorithm: Algorithm = required(&Algorithm::SHAPE, "\"mcs\""),
        processes: u32 = PROCESSES,
        processes_per_node: u32 = PER_NODE,
        /// Times that each process takes the mutex.
        cycles: u32 = required(&POSITIVE, "200"),
        /// Work while it is held.
        inside: TimeDelta = default(&TIME_SHAPE, "0 s"),
        /// Work between two cycles.
        outside: TimeDelta = default(&TIME_SHAPE, "0 s"),
        /// First pause of test_and_set after a failure.
        first_pause: TimeDelta = default(&PAUSE, "2 us"),
        /// Failures that double its pause; at most 16.
        doublings: u32 = default(&Shape::Count { min: 0, max: 16 }, "6"),
        window: WindowKind = WINDOW_KIND,
    }
}

static TIME_SHAPE: Shape = time(0, LONG);
/// At most 1 ms.
static PAUSE: Shape = time(1, 1_000_000_000);

const CYCLE_TIME: MetricSpec =
    MetricSpec::time("cycle_time").titled("Mean time to take the mutex and give it back");
const HANDOVER: MetricSpec =
    MetricSpec::time("handover").titled("Mean time from one holder to the next");
const PACKETS: MetricSpec =
    MetricSpec::number("packets_per_cycle", "").titled("Packets of all processes for each cycle");
const BYPASSES: MetricSpec = MetricSpec::number("bypasses", "")
    .titled("The most times that a process was overtaken while it waited");

/// One mutex, and all processes contend for it.
pub static KIND: Kind = Kind {
    name: "mutex",
    fields: MutexForm::FIELDS,
    about: MutexForm::ABOUT,
    metrics: &[CYCLE_TIME, HANDOVER, PACKETS, BYPASSES, TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let form = MutexForm::read(reading.node);
        let asked = Cycles {
            cycles: form.cycles,
            inside: form.inside.as_ps(),
            outside: form.outside.as_ps(),
            marks: false,
            lingers: false,
            // Locks are messages: over RDMA no library would answer them, and none could object.
            no_check: reading.rma.transport == Transport::Rdma,
            shared: form.window == WindowKind::Shared,
            pauses: Pauses { first: form.first_pause.as_ps(), doublings: form.doublings },
        };
        let processes = (form.processes, form.processes_per_node);
        Some(one_sided(processes, Contention { algorithm: form.algorithm, asked }))
    },
};

/// All processes take one mutex and give it back.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Contention {
    /// Which one.
    pub algorithm: Algorithm,
    /// The cycles of each process.
    pub asked: Cycles,
}

impl Task for Contention {
    fn kind() -> &'static Kind {
        &KIND
    }

    fn is_mapped(&self) -> bool {
        self.asked.shared
    }

    fn needs_bytes(&self) -> bool {
        true
    }

    fn locks_by_rdma(&self) -> bool {
        self.algorithm == Algorithm::ByteVector && self.asked.no_check
    }

    /// The pauses of test-and-set.
    fn assumptions(&self) -> Vec<Assumption> {
        if self.algorithm != Algorithm::TestAndSet {
            return Vec::new();
        }
        let Pauses { first, doublings } = self.asked.pauses;
        let first = TimeDelta::from_ps(first).to_string();
        let trip = "about a round trip on the machines modelled";
        let longest = "the longest pause is the round trips of 64 contenders";
        let estimate = Assumption::estimate;
        let (of_first, of_doublings) =
            (workload_field!(MutexForm, first_pause), workload_field!(MutexForm, doublings));
        vec![
            estimate(of_first, first, ("500 ns", "10 us"), trip),
            estimate(of_doublings, doublings.to_string(), ("0", "10"), longest),
        ]
    }

    fn programs(&self, processes: u32) -> Vec<AnyProgram> {
        let contenders = contenders(self.algorithm, processes, self.asked).into_iter();
        contenders.map(|one| AnyProgram::Mutex(Box::new(one))).collect()
    }

    fn measure(&self, processes: u32, run: &mut Measured<'_>) {
        let [cycle, handover, packets] = measure_cycles(run.outcome, self.asked.cycles, processes);
        run.add(CYCLE_TIME, cycle);
        run.add(HANDOVER, handover);
        run.add(PACKETS, packets);
        run.add(BYPASSES, f64::from(run.outcome.overtaken));
    }
}

impl Algorithm {
    /// Bytes of the window at a rank.
    pub const fn bytes(self, rank: u32, size: u32) -> u64 {
        match (self, rank) {
            (Self::ByteVector, HOST) => size as u64,
            (Self::Mcs | Self::McsCasFirst, HOST) => 2 * WORD,
            (Self::Mcs | Self::McsCasFirst, _) | (Self::TestAndSet, HOST) => WORD,
            (Self::ByteVector | Self::TestAndSet, _) => 0,
        }
    }

    /// Whether the ranks that wait stand in a queue that they know of.
    pub const fn queues(self) -> bool {
        matches!(self, Self::Mcs | Self::McsCasFirst)
    }

    /// Whether every rank holds a shared lock of all windows throughout.
    const fn locks_all(self) -> bool {
        !matches!(self, Self::ByteVector)
    }

    /// Rank `rank` of `size`.
    fn member(self, rank: u32, size: u32, shared: bool) -> Me {
        // Parts of memory that all map follow each other.
        let before = if shared { 0..rank } else { 0..0 };
        let offset = before.map(|rank| self.bytes(rank, size)).sum();
        let space = if shared { Space::Shared(0) } else { Space::Window(0) };
        Me { rank, size, part: Region { space, offset, len: 0 } }
    }

    fn mutex(self, me: Me, pauses: Pauses) -> Mutex {
        match self {
            Self::ByteVector => Mutex::ByteVector(byte_vector::ByteVector::new(me)),
            Self::Mcs => Mutex::Mcs(mcs::Mcs::new(me, mcs::Release::ReadsFirst)),
            Self::McsCasFirst => Mutex::Mcs(mcs::Mcs::new(me, mcs::Release::CasFirst)),
            Self::TestAndSet => Mutex::TestAndSet(test_and_set::TestAndSet::new(pauses)),
        }
    }
}

/// Any mutex.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
enum Mutex {
    ByteVector(byte_vector::ByteVector),
    Mcs(mcs::Mcs),
    TestAndSet(test_and_set::TestAndSet),
}

impl Mutex {
    fn steps(&mut self) -> &mut dyn Steps {
        match self {
            Self::ByteVector(mutex) => mutex,
            Self::Mcs(mutex) => mutex,
            Self::TestAndSet(mutex) => mutex,
        }
    }
}

/// The cycles of a contender.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct Cycles {
    /// Times that every rank takes the mutex.
    pub cycles: u32,
    /// Work inside, in picoseconds.
    pub inside: u64,
    /// Work outside, in picoseconds.
    pub outside: u64,
    /// Whether it marks where it enters and leaves.
    pub marks: bool,
    /// Whether others may come between entering and leaving, and before the first cycle, where time
    /// does not exist.
    pub lingers: bool,
    /// Whether no rank asks for a lock that could conflict (`MPI_MODE_NOCHECK`).
    pub no_check: bool,
    /// Whether all ranks map the memory of the window (`MPI_Win_allocate_shared`).
    pub shared: bool,
    /// How long test-and-set waits before it tries again.
    pub pauses: Pauses,
}

/// A rank that contends for the mutex.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Contender {
    me: Me,
    algorithm: Algorithm,
    asked: Cycles,
    mutex: Mutex,
    stage: Stage,
    done: u32,
    value: u64,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Stage {
    Create,
    Prepare(u8),
    LockAll,
    Barrier,
    Start,
    Gate,
    Cycle,
    Acquiring,
    Entered,
    Entry,
    Inside,
    Lingers,
    Leaves,
    Exit,
    Releasing,
    Outside,
    Ended,
    Unlock,
    Free,
    Over,
}

impl Contender {
    /// Rank `rank` of `size`.
    pub fn new(algorithm: Algorithm, rank: u32, size: u32, asked: Cycles) -> Self {
        let me = algorithm.member(rank, size, asked.shared);
        let mutex = algorithm.mutex(me, asked.pauses);
        Self { me, algorithm, asked, mutex, stage: Stage::Create, done: 0, value: 0 }
    }

    /// The same with a planted bug, where the algorithm is MCS.
    #[cfg(feature = "mutants")]
    #[must_use]
    pub fn with(mut self, flaw: Flaw) -> Self {
        if let Mutex::Mcs(mutex) = &mut self.mutex {
            mutex.plant(flaw);
        }
        self
    }

    fn call(call: RmaCall) -> Next<Call> {
        Next::Call(Call::Rma(Arc::new(call)))
    }

    /// The stage that follows, and what is done in this one; `None` where nothing is.
    fn turn(&mut self) -> Option<Next<Call>> {
        let win = WINDOW;
        let (next, does) = match self.stage {
            Stage::Create => {
                let bytes = self.algorithm.bytes(self.me.rank, self.me.size);
                let shared = Flavor::Shared(Spacing::Contiguous);
                let flavor = if self.asked.shared { shared } else { Flavor::Allocate };
                let (comm, memory, unit) = (Comm::default(), 0, 1);
                let call = RmaCall::Create { win, comm, flavor, memory, bytes, unit };
                (Stage::Prepare(0), Some(Self::call(call)))
            }
            Stage::Prepare(step) => match self.preparation(step) {
                Some((region, value)) => {
                    (Stage::Prepare(step + 1), Some(Next::Store(region, value)))
                }
                None => (Stage::LockAll, None),
            },
            Stage::LockAll => {
                let no_check = self.asked.no_check;
                let call = Self::call(RmaCall::LockAll { win, no_check });
                (Stage::Barrier, self.algorithm.locks_all().then_some(call))
            }
            Stage::Barrier => {
                let call = Call::Barrier { comm: Comm::default() };
                (Stage::Start, Some(Next::Call(call)))
            }
            Stage::Start => (Stage::Gate, Some(Next::Mark(START))),
            Stage::Gate => {
                (Stage::Cycle, self.asked.lingers.then_some(Next::Load(self.me.own(0, 0))))
            }
            Stage::Cycle if self.done == self.asked.cycles => (Stage::Ended, Some(Next::Mark(END))),
            Stage::Cycle => (Stage::Acquiring, None),
            Stage::Acquiring => match self.mutex.steps().acquire(self.value) {
                Turn::Step(step) => (Stage::Acquiring, Some(self.step(step))),
                Turn::Done => {
                    self.value = 0;
                    (Stage::Entered, None)
                }
            },
            Stage::Entered => {
                let fact = Observation::LockEntered { lock: LOCK };
                (Stage::Entry, Some(Next::Tell(fact)))
            }
            Stage::Entry => (Stage::Inside, self.asked.marks.then_some(Next::Mark(ENTERED))),
            Stage::Inside => (Stage::Lingers, compute(self.asked.inside)),
            Stage::Lingers => {
                (Stage::Leaves, self.asked.lingers.then_some(Next::Load(self.me.own(0, 0))))
            }
            Stage::Leaves => (Stage::Exit, self.asked.marks.then_some(Next::Mark(LEAVES))),
            Stage::Exit => {
                let fact = Observation::LockLeft { lock: LOCK };
                (Stage::Releasing, Some(Next::Tell(fact)))
            }
            Stage::Releasing => match self.mutex.steps().release(self.value) {
                Turn::Step(step) => (Stage::Releasing, Some(self.step(step))),
                Turn::Done => {
                    (self.done, self.value) = (self.done + 1, 0);
                    (Stage::Outside, None)
                }
            },
            Stage::Outside => (Stage::Cycle, compute(self.asked.outside)),
            Stage::Ended => {
                // Who is done still answers: it waits inside the library for the others.
                let call = Call::Barrier { comm: Comm::default() };
                (Stage::Unlock, Some(Next::Call(call)))
            }
            Stage::Unlock => {
                let call = Self::call(RmaCall::UnlockAll { win });
                (Stage::Free, self.algorithm.locks_all().then_some(call))
            }
            Stage::Free => (Stage::Over, Some(Self::call(RmaCall::Free { win }))),
            Stage::Over => (Stage::Over, Some(Next::End)),
        };
        self.stage = next;
        does
    }

    /// A step of the mutex: what was read before a call has been looked at.
    fn step(&mut self, step: Next<Call>) -> Next<Call> {
        if matches!(step, Next::Call(_)) {
            self.value = 0;
        }
        step
    }

    /// The word that this rank writes into its own memory before any rank begins.
    fn preparation(&self, step: u8) -> Option<(Region, u64)> {
        match &self.mutex {
            Mutex::Mcs(_) => mcs::preparation(step, self.me),
            Mutex::ByteVector(_) => byte_vector::preparation(step),
            Mutex::TestAndSet(_) => test_and_set::preparation(step, self.me),
        }
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Contender {
    fn next(&mut self, _: Option<Reply>) -> Next<Call> {
        loop {
            if let Some(next) = self.turn() {
                return next;
            }
        }
    }

    fn loaded(&mut self, value: u64) {
        self.value = value;
    }
}

fn compute(work: u64) -> Option<Next<Call>> {
    (work > 0).then_some(Next::Compute(work))
}

/// All contenders for one mutex.
pub fn contenders(algorithm: Algorithm, size: u32, asked: Cycles) -> Vec<Contender> {
    (0..size).map(|rank| Contender::new(algorithm, rank, size, asked)).collect()
}
