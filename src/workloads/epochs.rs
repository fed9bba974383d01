//! Epochs again and again: every rank but the first does the same to the window of rank 0.
//!
//! Marks 0 and 1 of an origin bracket its timed epochs; one epoch is made before them, so that a lock
//! of all has touched its target. Rank 0 waits inside the library, or computes in stretches and looks
//! into the library between them; it may work on its own window meanwhile, under a lock that it takes
//! for the stretch and the look before it, so that who waits for the lock has it once between two stretches.
//!
//! Source: `rma` Sec. 5.1 (Fig. 4), 5.3 (Fig. 7), 5.4.2 (Fig. 11), 7.1.

use std::sync::Arc;

use super::job::AnyProgram;
use super::kind::{Kind, Reading};
use super::metric::{Measured, MetricSpec, TIME};
use super::one_sided::{
    PER_NODE, PER_NODE_PATH, PROCESSES, Task, WINDOW as WINDOW_KIND, WindowKind, measure_cycles,
    one_sided,
};
use super::score::{Score, Section};
use form::fields::{LONG, POSITIVE, SIZE, time};
use form::typed::{Object as _, default, required};
use form::workload_field;
use language::marks::{END, START};
use mpi::envelope::Rank;
use mpi::operator::{Datatype, Operator, Reduction};
use mpi::rma::update::Effect;
use protocols::call::{Buffer, Call, Comm, Peer, Reply, Requests, SendMode};
use protocols::contract::{Handle, Machine, Next, Program, Region, Space};
use protocols::rma::Transport;
use protocols::rma::call::{At, Flavor, LockKind, Operation, RmaCall, Spacing, Win};
use units::{Bytes, TimeDelta};

const HOST: u32 = 0;
const WINDOW: Win = Win(0);
const TAG: i32 = 1;
/// Region of the bytes that an origin gives, and that of the bytes that it gets.
const GIVEN: u32 = 0;
const GOT: u32 = 1;
/// Encoding: number of a buffer.
const MESSAGE: Buffer = Buffer { id: 2, bytes: 0 };

form::words! {
    /// How an origin reaches its target.
    pub enum Epoch {
        /// a lock alone around puts and gets
        Exclusive = "exclusive",
        /// a lock with others around operations of the accumulate family
        Shared = "shared",
        /// a flush after them, inside one lock of all
        LockAll = "lock_all",
        /// a flush after puts and gets, inside one lock of all
        LockAllPuts = "lock_all_puts",
    }
}

impl Epoch {
    /// Whether all epochs are inside one lock of all.
    pub const fn is_in_one_lock(self) -> bool {
        matches!(self, Self::LockAll | Self::LockAllPuts)
    }

    /// Whether bytes are moved by puts and gets.
    const fn puts(self) -> bool {
        matches!(self, Self::Exclusive | Self::LockAllPuts)
    }
}

form::words! {
    /// The operations of an origin in an epoch.
    pub enum Access {
        /// it writes
        Write = "write",
        /// it reads
        Read = "read",
        /// it writes and then reads the same place
        WriteRead = "write_read",
        /// it adds to one number that all share
        FetchAdd = "fetch_add",
    }
}

form::words! {
    /// The accesses of rank 0 to its own window meanwhile.
    pub enum Direct {
        /// rank 0 leaves its window alone
        None = "none",
        /// it works on it for `busy`, inside an exclusive lock
        Exclusive = "exclusive",
        /// it works on it for `busy`, without a lock
        Unified = "unified",
    }
}

form::object! {
    /// All processes but the first make epochs towards the window of rank 0, again and again.
    pub struct EpochsForm {
        /// How a process reaches the window.
        epoch: Epoch = required(&Epoch::SHAPE, "\"lock_all\""),
        /// What it does there.
        access: Access = required(&Access::SHAPE, "\"write\""),
        processes: u32 = PROCESSES,
        processes_per_node: u32 = PER_NODE,
        /// Measured epochs of each process.
        rounds: u32 = required(&POSITIVE, "100"),
        /// Operations of an epoch.
        operations: u32 = default(&POSITIVE, "1"),
        /// Bytes of an operation; 8 B where numbers are added.
        size: Bytes = default(&SIZE, "8 B"),
        /// Stretches of rank 0 outside MPI; 0: it waits inside.
        busy: TimeDelta = default(&time(0, LONG), "0 s"),
        /// What rank 0 does with its own window.
        direct: Direct = default(&Direct::SHAPE, "none"),
        window: WindowKind = WINDOW_KIND,
    }
}

const EPOCH_TIME: MetricSpec = MetricSpec::time("epoch_time").titled("Mean time of an epoch");
const EPOCH_EVERY: MetricSpec =
    MetricSpec::time("epoch_every").titled("Mean time from one epoch of any process to the next");
const EPOCH_PACKETS: MetricSpec =
    MetricSpec::number("packets_per_epoch", "").titled("Packets of its origin for each epoch");

/// Epochs of all but the first process towards its window.
pub static KIND: Kind = Kind {
    name: "rma_epochs",
    fields: EpochsForm::FIELDS,
    about: EpochsForm::ABOUT,
    metrics: &[EPOCH_TIME, EPOCH_EVERY, EPOCH_PACKETS, TIME],
    account: &[],
    processes: PER_NODE_PATH,
    read: |reading| {
        let form = EpochsForm::read(reading.node);
        let epochs = Epochs {
            epoch: form.epoch,
            access: form.access,
            operations: form.operations,
            size: if form.access == Access::FetchAdd { 8 } else { form.size.as_u64() },
            rounds: form.rounds,
            busy: form.busy.as_ps(),
            direct: form.direct,
            no_check: reading.rma.transport == Transport::Rdma,
            shared: form.window == WindowKind::Shared,
        };
        Some(one_sided((form.processes, form.processes_per_node), epochs))
    },
};

impl Task for Epochs {
    fn kind() -> &'static Kind {
        &KIND
    }

    fn is_mapped(&self) -> bool {
        self.shared
    }

    fn locks_by_rdma(&self) -> bool {
        let locks = !self.epoch.is_in_one_lock() || self.direct == Direct::Exclusive;
        locks && self.no_check
    }

    fn check(&self, processes: u32, reading: &mut Reading<'_>) {
        if processes < 2 {
            reading.refuse(
                workload_field!(EpochsForm, processes),
                "nobody reaches the window of the first process",
                "at least 2 processes are needed",
            );
        }
        if self.direct != Direct::None && self.busy == 0 {
            reading.refuse(
                workload_field!(EpochsForm, busy),
                "rank 0 works on its window for no time",
                "a time is needed where `workload.direct` is not `none`",
            );
        }
    }

    fn programs(&self, processes: u32) -> Vec<AnyProgram> {
        self.programs(processes)
    }

    fn measure(&self, processes: u32, run: &mut Measured<'_>) {
        let [epoch, every, packets] = measure_cycles(run.outcome, self.rounds, processes - 1);
        run.add(EPOCH_TIME, epoch);
        run.add(EPOCH_EVERY, every);
        run.add(EPOCH_PACKETS, packets);
    }
}

/// The values of the workload.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Epochs {
    /// How an origin reaches its target.
    pub epoch: Epoch,
    /// The operation of an origin.
    pub access: Access,
    /// How often in one epoch.
    pub operations: u32,
    /// Bytes of one operation; each of an origin's epoch has a place of its own.
    pub size: u64,
    /// Timed epochs of each origin.
    pub rounds: u32,
    /// A stretch of rank 0 outside the library, in picoseconds; 0: it waits inside.
    pub busy: u64,
    /// The direct access of rank 0.
    pub direct: Direct,
    /// Whether no process requests locks that could conflict (`MPI_MODE_NOCHECK`).
    pub no_check: bool,
    /// Whether all processes map the memory of all (`MPI_Win_allocate_shared`).
    pub shared: bool,
}

impl Epochs {
    /// The programs of all ranks.
    pub fn programs(&self, processes: u32) -> Vec<AnyProgram> {
        let host = Host::new(*self, processes);
        let origins = (1..processes).map(|rank| AnyProgram::Score(self.origin(rank, processes)));
        [AnyProgram::Host(Box::new(host))].into_iter().chain(origins).collect()
    }

    /// Bytes of rank 0's window: places for each origin, or one that all share.
    fn window(&self, processes: u32) -> u64 {
        let places = u64::from(processes) * u64::from(self.operations);
        self.size * if self.access == Access::FetchAdd { 1 } else { places }
    }

    fn create(&self, rank: u32, processes: u32) -> Next<Call> {
        let bytes = if rank == HOST { self.window(processes) } else { 0 };
        let (comm, memory, unit) = (Comm::default(), 0, 1);
        let shared = Flavor::Shared(Spacing::Contiguous);
        let flavor = if self.shared { shared } else { Flavor::Allocate };
        rma(RmaCall::Create { win: WINDOW, comm, flavor, memory, bytes, unit })
    }

    fn origin(&self, rank: u32, processes: u32) -> Score {
        let win = WINDOW;
        let all = self.epoch.is_in_one_lock();
        let lock = all.then(|| rma(RmaCall::LockAll { win, no_check: self.no_check }));
        let unlock = all.then(|| rma(RmaCall::UnlockAll { win }));
        let epoch = self.epoch(rank);
        let given = Region::new(Space::User(GIVEN), 8);
        let done = Call::Send {
            to: Peer::Rank(Rank(HOST)),
            tag: TAG,
            comm: Comm::default(),
            buffer: MESSAGE,
            mode: SendMode::Standard,
        };
        let begin = [Next::Store(given, 1), self.create(rank, processes), barrier()];
        let begin = begin.into_iter().chain(lock).chain(epoch.iter().cloned());
        let end = [Next::Mark(END)].into_iter().chain(unlock);
        let last = [Next::Call(done), barrier(), rma(RmaCall::Free { win })];
        let before = [Section::once(begin.chain([Next::Mark(START)]))].into_iter();
        let measured = Section::measured(epoch, self.rounds);
        Score::new(before.chain(measured).chain([Section::once(end.chain(last))]))
    }

    /// The steps of one epoch.
    fn epoch(&self, rank: u32) -> Vec<Next<Call>> {
        let first = u64::from(rank) * u64::from(self.operations);
        let operate = |place: u32, does| {
            let own = self.access != Access::FetchAdd;
            let disp = if own { (first + u64::from(place)) * self.size } else { 0 };
            let (win, target, at) = (WINDOW, Some(HOST), At::contiguous(disp, self.size));
            rma(RmaCall::Operate { win, target, at, does, request: None })
        };
        let times = |does: &[Operation]| {
            let one = |place| does.iter().map(move |does| operate(place, *does));
            (0..self.operations).flat_map(one).collect::<Vec<_>>()
        };
        let (write, read) = (self.write(), self.read());
        match self.access {
            Access::Write => self.closed(times(&[write])),
            Access::Read => self.closed(times(&[read])),
            Access::WriteRead if self.epoch == Epoch::Exclusive => {
                [self.closed(times(&[write])), self.closed(times(&[read]))].concat()
            }
            Access::WriteRead => self.closed(times(&[write, read])),
            Access::FetchAdd => self.closed(times(&[self.add()])),
        }
    }

    /// Operations, with what opens and closes their epoch.
    fn closed(&self, operations: Vec<Next<Call>>) -> Vec<Next<Call>> {
        let (win, target) = (WINDOW, HOST);
        let locked = |kind| {
            let open = rma(RmaCall::Lock { win, target, kind, no_check: false });
            (Some(open), rma(RmaCall::Unlock { win, target }))
        };
        let (open, close) = match self.epoch {
            Epoch::Exclusive => locked(LockKind::Exclusive),
            Epoch::Shared => locked(LockKind::Shared),
            Epoch::LockAll | Epoch::LockAllPuts => {
                (None, rma(RmaCall::Flush { win, target, local: false }))
            }
        };
        open.into_iter().chain(operations).chain([close]).collect()
    }

    fn write(&self) -> Operation {
        let origin = Region::new(Space::User(GIVEN), self.size);
        if self.epoch.puts() {
            return Operation::Put { origin };
        }
        let update = Effect::Replace(Datatype::Int64);
        Operation::Update { update, origin: Some(origin), result: None }
    }

    fn read(&self) -> Operation {
        let into = Region::new(Space::User(GOT), self.size);
        if self.epoch.puts() {
            return Operation::Get { into };
        }
        let update = Effect::NoOp(Datatype::Int64);
        Operation::Update { update, origin: None, result: Some(into) }
    }

    fn add(&self) -> Operation {
        let sum = Reduction::new(Operator::Sum, Datatype::Int64).expect("integers have a sum");
        let origin = Some(Region::new(Space::User(GIVEN), self.size));
        let result = Some(Region::new(Space::User(GOT), self.size));
        Operation::Update { update: Effect::Reduce(sum), origin, result }
    }
}

fn rma(call: RmaCall) -> Next<Call> {
    Next::Call(Call::Rma(Arc::new(call)))
}

fn barrier() -> Next<Call> {
    Next::Call(Call::Barrier { comm: Comm::default() })
}

/// Rank 0: its window is the target.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Host {
    create: Next<Call>,
    busy: u64,
    direct: Direct,
    origins: u32,
    stage: Stage,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Stage {
    Create,
    Barrier,
    /// So many receives are posted.
    Posting(u32),
    Lock,
    Work,
    Unlock,
    Look,
    Looked,
    LastUnlock,
    Closing,
    Free,
    Over,
}

impl Host {
    fn new(asked: Epochs, processes: u32) -> Self {
        let Epochs { busy, direct, .. } = asked;
        let create = asked.create(HOST, processes);
        Self { create, busy, direct, origins: processes - 1, stage: Stage::Create }
    }

    fn requests(&self) -> Requests {
        Requests::Range { first: Handle(0), count: self.origins }
    }

    fn receive(origin: u32) -> Next<Call> {
        Next::Call(Call::Irecv {
            request: Handle(origin - 1),
            source: Peer::Rank(Rank(origin)),
            tag: Some(TAG),
            comm: Comm::default(),
            buffer: MESSAGE,
        })
    }

    /// The next stage, and what is done in this one; `None` where nothing is.
    fn turn(&mut self, over: bool) -> Option<Next<Call>> {
        let (win, target, kind) = (WINDOW, HOST, LockKind::Exclusive);
        let locks = self.direct == Direct::Exclusive;
        let (next, does) = match self.stage {
            Stage::Create => (Stage::Barrier, Some(self.create.clone())),
            Stage::Barrier => (Stage::Posting(0), Some(barrier())),
            Stage::Posting(done) if done < self.origins => {
                (Stage::Posting(done + 1), Some(Self::receive(done + 1)))
            }
            Stage::Posting(_) if self.busy > 0 => (Stage::Lock, None),
            Stage::Posting(_) => {
                let requests = self.requests();
                let call = Call::WaitAll { requests, statuses: false };
                (Stage::Closing, Some(Next::Call(call)))
            }
            Stage::Lock => {
                let lock = rma(RmaCall::Lock { win, target, kind, no_check: false });
                (if locks { Stage::Look } else { Stage::Work }, locks.then_some(lock))
            }
            Stage::Work => (Stage::Unlock, Some(Next::Compute(self.busy))),
            Stage::Unlock if locks => (Stage::Lock, Some(rma(RmaCall::Unlock { win, target }))),
            Stage::Unlock => (Stage::Look, None),
            Stage::Look => {
                let call = Call::TestAll { requests: self.requests() };
                (Stage::Looked, Some(Next::Call(call)))
            }
            Stage::Looked => {
                let goes_on = if locks { Stage::Work } else { Stage::Lock };
                (if over { Stage::LastUnlock } else { goes_on }, None)
            }
            Stage::LastUnlock => {
                (Stage::Closing, locks.then(|| rma(RmaCall::Unlock { win, target })))
            }
            Stage::Closing => (Stage::Free, Some(barrier())),
            Stage::Free => (Stage::Over, Some(rma(RmaCall::Free { win }))),
            Stage::Over => (Stage::Over, Some(Next::End)),
        };
        self.stage = next;
        does
    }
}

impl<M: Machine<Call = Call, Reply = Reply>> Program<M> for Host {
    fn next(&mut self, reply: Option<Reply>) -> Next<Call> {
        let over = matches!(reply, Some(Reply::AllTested(Some(_))));
        loop {
            if let Some(next) = self.turn(over) {
                return next;
            }
        }
    }
}
