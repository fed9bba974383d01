//! The endpoint library at work: the MPI library of a process, and the memory that its threads share.
//!
//! ```text
//!   program (ranks are endpoints)                         P
//!     │ Isend, Irecv, Wait, Test, Barrier …
//!   the endpoint library, code of the thread that calls   thread.rs, start.rs, step.rs;
//!     │                        │                          collective.rs, joined.rs; making.rs,
//!     │                        │                          between.rs; one_sided.rs
//!     │ EpCall::Mpi            │ EpCall::Shared
//!   MPI library of the         lock, lists, pending       shared.rs
//!   process, unchanged         receives, barrier
//! ```
//!
//! [`EpThread`] turns each call of a program into the calls that the document lists; [`EpLibrary`]
//! hands those for MPI to the [`Library`] inside, which knows nothing of endpoints, and does the
//! others on the memory of the process.
//!
//! # Two locks
//!
//! - The *lock* of the library is held from a matched probe to the append of what it found, so that
//!   messages enter the lists in the order in which MPI gave them. It is a word of process memory,
//!   handed over in the order of arrival; who waits for it makes no progress in MPI.
//! - The *latch* keeps each access to process memory whole. It is a [`Guard`] beside those of MPI,
//!   so that the runtime prices it as every lock of a library: an atomic operation, and the way of
//!   its cache line from the core that had it last. Who is woken looks again, under the latch: that
//!   is when the line comes to its core.
//!
//! Source: `xios-ep` Sec. 2 to 8.
//! Left out: collectives between the groups of an intercommunicator, which are refused, and the few
//! instructions that encode a tag and look a rank up.

mod asking;
mod between;
mod collective;
mod joined;
mod making;
mod one_sided;
#[cfg(feature = "mutants")]
mod planted;
mod shared;
mod start;
mod step;
mod thread;

use std::hash::Hasher;
use std::sync::Arc;

use super::comm::{CreateError, Empty, layout};
use super::message::{Message, Probed, Wanted};
use super::rank_map::RankMap;
pub use between::Across;
use collectives::{Collective, Work};
pub use joined::among_processes;
pub use making::{Opened, Wish};
use mpi::envelope::Rank;
use mpi::operator::Reduction;
use protocols::call::{Call, Comm, Reply};
use protocols::contract::{
    Action, Awaited, Emit, Entry, Guard, Handle, Input, Keeps, Lane, Lanes, Machine, Process,
    ProtocolError, Region, Thread, Wait, WaitSet,
};
use protocols::library::{Library, Packet, SharedJob};
use protocols::note::Note;
use protocols::rma::call::Win;
use shared::Shared;
pub use shared::{Counts, Variant};
pub use thread::{EpThread, Member, Waiting};

/// The latch of process memory; MPI called by processes has the guard before it.
const LATCH: Guard = Guard(1);

/// Call by the code of the endpoint library.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum EpCall {
    /// MPI.
    Mpi(Call),
    /// The memory of the process.
    Shared(SharedOp),
}

/// Reply to such a call.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum EpReply {
    /// Reply of MPI.
    Mpi(Reply),
    /// Reply of process memory.
    Shared(SharedReply),
}

/// One access to the memory of the process, by the thread of one of its endpoints.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum SharedOp {
    /// Takes the lock, or waits for it.
    Lock,
    /// Files what the probe under the lock has found, and leaves the lock.
    Unlock {
        /// Place to whose lists it goes.
        seat: Seat,
        /// The communicator of MPI that was probed.
        at: Comm,
        /// The message, if there was one.
        found: Option<Probed<Found>>,
    },
    /// Looks again, after it was woken.
    Look(Comm),
    /// Appends a receive to the pending list of the endpoint, if one is given, and walks the list.
    Walk(Seat, Option<(Handle, Wanted)>),
    /// Looks for the first message in the endpoint's list.
    Peek(Seat, Wanted),
    /// Arrives at the barrier of the process.
    Arrive(Seat, Showing),
    /// Copies and combines what the threads of the process show.
    Move {
        /// Work, in order.
        work: Box<[Work]>,
        /// The operator, where elements are combined.
        reduction: Option<Reduction>,
    },
    /// The process calls MPI on its communicator in the order of its collectives: waits until the thread that calls for
    /// the one before has come back, where that has let the others go on.
    Turn(Comm),
    /// The collective is over: its buffers belong to the program again, and the communicator of MPI is the next caller's,
    /// where one is given.
    Leave(Arc<Collective>, Option<Comm>),
    /// A number for a communicator of MPI that is free in the process.
    Number,
    /// New communicators are there, for the threads of the process that are in them.
    Open(Box<[Opened]>),
    /// Takes the place in a new communicator.
    Join,
    /// The same, and waits for it: a thread of the other side makes it, where it makes it.
    Take,
    /// A communicator is freed.
    Close(Comm),
    /// The program's call is wrong: ends the run with these words.
    Refuse(Box<str>),
}

/// Information that a thread shows to the others of its process when it arrives at their barrier.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Showing {
    /// This, from now on.
    Shows(Shown),
    /// The same as before.
    Still,
    /// Nothing any more.
    Ends,
    /// Nothing any more, and it will call MPI while the others go on.
    Calls,
}

/// Information that the threads of a process show each other.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum Shown {
    /// Where the buffers of a collective are.
    Call(Arc<Collective>),
    /// That a communicator is to be made or freed.
    Makes(Wish),
    /// That this window is to be made.
    Windows(Win),
}

/// Which place in which communicator an access is about.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Seat {
    /// The communicator of MPI below: no two communicators of a process share one.
    pub mpi: Comm,
    /// The rank in the process.
    pub local: u32,
    /// MPI's intercommunicator beside it, where messages of two groups come through both.
    pub beside: Option<Comm>,
}

/// Reply of process memory.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub enum SharedReply {
    /// The lock is the thread's; its probe may use this handle for a message.
    Locked(Handle),
    /// Done.
    Done,
    /// All of the process have arrived, and show this, by in-process rank.
    Met(Box<[Shown]>),
    /// The condition that the thread waited for has come true: it looks again.
    Woken,
    /// The receives that leave the pending list, with their messages.
    Served(Box<[(Handle, Message<Found>)]>),
    /// The message that was looked for.
    Peeked(Option<Message<Found>>),
    /// A free number.
    Number(Comm),
    /// The place in the new communicator, if it has one.
    Joined(Option<Member>),
}

/// A message that a matched probe took, and that was not received yet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Found {
    /// MPI's message.
    pub handle: Handle,
    /// Its payload.
    pub bytes: u64,
}

/// Facts and settings that are the same for all endpoint libraries of a job.
#[derive(Clone, Debug)]
pub struct EpJob {
    mpi: SharedJob,
    map: Arc<RankMap>,
    variant: Variant,
    waiting: Waiting,
}

impl EpJob {
    /// Every thread of every process is an endpoint, numbered process by process.
    ///
    /// # Errors
    ///
    /// [`CreateError`] where a process has no thread.
    pub fn new(mpi: SharedJob) -> Result<Self, CreateError> {
        let counts: Vec<u32> = mpi.threads.iter().map(|&threads| u32::from(threads)).collect();
        let map = Arc::new(layout(&counts, Empty::Refused)?);
        Ok(Self { mpi, map, variant: Variant::default(), waiting: Waiting::default() })
    }

    /// The same with another lock.
    #[must_use]
    pub fn with_variant(self, variant: Variant) -> Self {
        Self { variant, ..self }
    }

    /// The same with another rule for waits.
    #[must_use]
    pub fn with_waiting(self, waiting: Waiting) -> Self {
        Self { waiting, ..self }
    }

    /// The library of a process, before the first call.
    pub fn library(&self, me: Process) -> EpLibrary {
        EpLibrary {
            inner: Library::new(self.mpi.clone(), me),
            shared: Shared::new(&self.map, me, self.variant, self.mpi.communicators.iter().len()),
        }
    }

    /// The libraries of all processes.
    pub fn libraries(&self) -> Vec<EpLibrary> {
        (0..self.map.process_count()).map(|me| self.library(Process(me))).collect()
    }

    /// `program` as the program of an endpoint.
    ///
    /// # Panics
    ///
    /// There is no such endpoint.
    pub fn thread<P>(&self, endpoint: Rank, program: P) -> EpThread<P> {
        let place = self.map.place(endpoint).expect("an endpoint of this job");
        let thread = EpThread::new(Arc::clone(&self.map), place, self.waiting, program);
        #[cfg(feature = "mutants")]
        let thread = thread.with(self.mpi.mutant());
        thread
    }

    /// The programs of all endpoints, in the order of their ranks.
    pub fn threads<P>(&self, programs: impl IntoIterator<Item = P>) -> Vec<EpThread<P>> {
        (0..).zip(programs).map(|(rank, program)| self.thread(Rank(rank), program)).collect()
    }
}

/// The endpoint library of one process, with the MPI library that it calls.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct EpLibrary {
    inner: Library,
    shared: Shared,
}

impl EpLibrary {
    /// Counts so far.
    pub fn counts(&self) -> Counts {
        self.shared.counts.0
    }

    /// The MPI library below.
    pub const fn mpi(&self) -> &Library {
        &self.inner
    }
}

type EpAction = Action<Packet, EpReply>;

impl Machine for EpLibrary {
    type Packet = Packet;
    type Call = EpCall;
    type Reply = EpReply;

    fn name_of(packet: &Packet) -> String {
        protocols::library::Library::name_of(packet)
    }

    fn guard(&self, thread: Thread, entry: &Entry<'_, EpCall>) -> Option<Guard> {
        let entry = match entry {
            // Each thread touches its own buffers, and what the others show until they meet again.
            Entry::Call(EpCall::Shared(SharedOp::Move { .. } | SharedOp::Leave(_, None))) => {
                return None;
            }
            Entry::Call(EpCall::Shared(_)) => return self.shared.is_shared().then_some(LATCH),
            Entry::Call(EpCall::Mpi(call)) => Entry::Call(call),
            Entry::Packet(lane) => Entry::Packet(*lane),
            Entry::Done(lane) => Entry::Done(*lane),
            Entry::Polled => Entry::Polled,
            Entry::Resume => Entry::Resume,
            Entry::Poll => Entry::Poll,
        };
        self.inner.guard(thread, &entry)
    }

    fn polls(&self, thread: Thread) -> Lanes {
        if self.shared.waits_for(thread).is_some() {
            return Lanes { first: Lane(0), count: 0 };
        }
        self.inner.polls(thread)
    }

    fn handle(
        &mut self,
        thread: Thread,
        input: Input<Packet, EpCall>,
        out: &mut impl Emit<EpAction>,
    ) -> Result<(), ProtocolError> {
        let out = out.list();
        let input = match input {
            Input::Call(EpCall::Shared(op)) => return self.shared.access(thread, op, out),
            Input::Call(EpCall::Mpi(call)) => {
                self.shared.note_call(&call);
                Input::Call(call)
            }
            Input::Packet { from, packet, landing } => Input::Packet { from, packet, landing },
            Input::Done(token) => Input::Done(token),
            Input::Polled(token) => Input::Polled(token),
            Input::Resume(token) => Input::Resume(token),
            Input::Counters { token, values } => Input::Counters { token, values },
        };
        let mut list = Vec::with_capacity(8);
        self.inner.handle(thread, input, &mut list)?;
        out.extend(list.into_iter().map(|action| action.map_reply(EpReply::Mpi)));
        Ok(())
    }

    fn waits(&self, thread: Thread) -> Option<WaitSet> {
        let Some(operation) = self.shared.waits_for(thread) else {
            return self.inner.waits(thread);
        };
        let peers = vec![self.shared.process()];
        let detail = "another endpoint of the process".to_owned();
        Some(WaitSet::All(vec![Wait { operation, peers, thread: None, detail, origin: 0 }]))
    }

    fn awaits(&self, thread: Thread) -> Option<Awaited> {
        match self.shared.waits_for(thread) {
            Some(operation) => Some(Awaited { operation, peers: vec![self.shared.process()] }),
            None => self.inner.awaits(thread),
        }
    }

    fn call_so_far<H: Hasher>(&self, thread: Thread, to: &mut H) -> bool {
        self.shared.waits_for(thread).is_none() && self.inner.call_so_far(thread, to)
    }

    fn is_exposed(&self) -> bool {
        self.inner.is_exposed()
    }

    fn exposes(&self, region: Region) -> Result<(), ProtocolError> {
        self.inner.exposes(region)
    }

    fn keeps(&self) -> Keeps {
        self.inner.keeps()
    }

    fn call_in_words(call: &EpCall) -> String {
        match call {
            EpCall::Mpi(call) => Library::call_in_words(call),
            EpCall::Shared(_) => "an operation on what the threads of its process share".to_owned(),
        }
    }

    fn packet_in_words(packet: &Packet) -> String {
        Library::packet_in_words(packet)
    }

    fn leftovers(&self) -> Vec<String> {
        let mut left = self.inner.leftovers();
        left.extend(self.shared.open_ends());
        left
    }
}
