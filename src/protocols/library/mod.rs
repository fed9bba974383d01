//! The MPI library of one process: a conductor over parts that own their state.
//!
//! ```text
//!   program ──Call───▶ calls.rs ────▶ Messages ──▶ eager.rs | rendezvous/*
//!   channel ──Packet─▶ arrivals.rs ─▶ Messages ──▶ matching ──▶ the same roles ──▶ Wake
//!   Wake ────────────▶ arrivals.rs: the thread, or the collective, that goes on ──▶ waits.rs
//! ```
//!
//! `messages/` sends, receives and matches. What lies above it is there only while it is in use:
//! collectives, agreements on communicators, data in GPU memory, windows, buffers in pieces.
//! ADR 22 has the picture.
//!
//! Source: `endpoints` Sec. 4.3 (matching), `coop` Sec. I-A (protocols).

mod acting;
mod adapter;
mod agreeing;
mod agreements;
mod answers;
mod arrivals;
mod background;
mod buffer_numbers;
mod buffered;
mod calls;
mod carried;
mod collective;
mod communicators;
mod contexts;
mod device;
mod diagnosis;
mod duplicates;
mod endpoints;
mod intercommunicators;
mod joints;
mod lanes;
mod messages;
mod names;
mod one_sided;
mod partitions;
#[cfg(feature = "mutants")]
mod planted;
mod queues;
mod requests;
mod rtr;
#[cfg(feature = "mutants")]
mod schedule;
mod scratch;
mod site;
mod threads;
mod typed;
mod waits;
mod words;
mod work;

use std::hash::Hasher;
use std::num::NonZero;

use super::call::{Call, Outcome, Reply};
use super::contract::{
    Action, Awaited, Brought, Emit, Entry, Guard, Handle, Input, Keeps, Lanes, Machine, Process,
    ProtocolError, Region, Route, Space, Thread, Token, WaitSet,
};
pub use super::job::{Endpoints, Job, Progress, Queues, SharedJob, Threading, Vcis};
use super::note::Note;
use super::partitioned::OfPartitions;
use super::rendezvous::{Protocol, Scheme};
use super::rma::{self, Rma};
pub use super::wire::{
    ControlMessage, Key, LibraryAction, MessageHeader, Packet, ReadyToReceive, Wire,
};
use background::Background;
use collective::Collectives;
use diagnosis::Diagnosis;
use joints::Joints;
use messages::Messages;
use mpi::envelope::Selection;
use mpi::observation::{MessageId, ReceiveId};
use one_sided::OneSided;
use partitions::PartitionedOperations;
pub use queues::Longest;
use threads::Threads;
use typed::Typed;

impl Longest {
    /// The most of these libraries.
    pub fn of<'a>(libraries: impl IntoIterator<Item = &'a Library>) -> Self {
        libraries.into_iter().map(Library::longest).fold(Self::default(), |most, one| Self {
            posted: most.posted.max(one.posted),
            unexpected: most.unexpected.max(one.unexpected),
        })
    }
}

/// The MPI library of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Library {
    messages: Messages,
    threads: Threads,
    collectives: Collectives,
    /// Collectives under way; none in most processes.
    background: Option<Box<Background>>,
    /// Requests of several messages; none in most processes.
    joints: Option<Box<Joints>>,
    /// Partitioned operations; none in most processes.
    partitioned: Option<Box<PartitionedOperations>>,
    windows: OneSided,
    /// Messages whose buffers lie in pieces; none in most processes.
    typed: Option<Box<Typed>>,
}

impl Library {
    /// The library of process `me`, before the first call.
    pub fn new(job: SharedJob, me: Process) -> Self {
        let messages = Messages::new(job, me);
        Self {
            threads: Threads::new(messages.threads()),
            messages,
            collectives: Collectives::default(),
            background: None,
            joints: None,
            partitioned: None,
            windows: OneSided::default(),
            typed: None,
        }
    }

    /// The most entries that one of its queues has had so far.
    pub const fn longest(&self) -> Longest {
        self.messages.queues().longest()
    }

    /// The windows of this process.
    pub fn rma(&self) -> Option<&Rma> {
        self.windows.rma()
    }

    /// Puts the pieces of messages in the place of their staging buffers in the actions from `first` on.
    fn carry_typed(&mut self, thread: Thread, first: usize, out: &mut Vec<LibraryAction>) {
        let shared = self.messages.runs_beside_others();
        let in_use =
            self.typed.as_mut().is_some_and(|typed| typed.carry(thread, shared, first, out));
        if !in_use {
            self.typed = None;
        }
    }

    /// Takes an input that small messages do without.
    #[inline(never)]
    fn handle_seldom(
        &mut self,
        thread: Thread,
        input: &Input<Packet, Call>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        match *input {
            Input::Done(token) if rma::is_ours(token) => self.window_done(thread, token, out),
            Input::Done(token) if device::is_device(token) => self.device_done(token, out),
            Input::Done(token) => self.rdma_done(thread, token, out),
            Input::Polled(token) if work::is_between_chunks(token) => self.next_chunk(thread, out),
            Input::Polled(_) => self.test_polled(thread, out),
            Input::Counters { token, values } if rma::is_ours(token) => {
                self.window_numbers(thread, (token, values), out)
            }
            Input::Counters { token, values } => self.counters(thread, (token, values), out),
            Input::Resume(token) => {
                Err(self.messages.site().defect("no work outside the lock", token))
            }
            Input::Call(_) | Input::Packet { .. } => unreachable!("taken where messages are"),
        }
    }

    fn diagnosis(&self) -> Diagnosis<'_> {
        let Self { messages, threads, background, partitioned, windows, .. } = self;
        let (background, partitioned) = (background.as_deref(), partitioned.as_deref());
        Diagnosis { messages, threads, background, partitioned, windows }
    }
}

#[cfg(feature = "mutants")]
impl Library {
    /// Its messages, for a planted bug.
    pub(crate) const fn messages(&self) -> &Messages {
        &self.messages
    }

    /// Its messages, for a planted bug to change.
    pub(crate) const fn messages_mut(&mut self) -> &mut Messages {
        &mut self.messages
    }

    /// The job, which is the same for all its processes.
    pub(crate) fn job(&self) -> &Job {
        &self.messages.site().job
    }
}

impl Machine for Library {
    type Packet = Packet;
    type Call = Call;
    type Reply = Reply;

    fn name_of(packet: &Packet) -> String {
        names::name_of(packet)
    }

    fn touch(&self) -> u64 {
        self.messages.touch() ^ self.threads.touch() ^ self.collectives.touch()
    }

    #[inline]
    fn guard(&self, thread: Thread, entry: &Entry<'_, Call>) -> Option<Guard> {
        if self.threads.len() == 1 {
            return None;
        }
        let communicators = self.messages.communicators();
        if let Some(partitioned) = &self.partitioned
            && let Entry::Call(Call::OfPartitions { does, request, first, last, .. }) = entry
            && *does != OfPartitions::Arrived
            && partitioned.counts_only(&self.messages, *request, (last - first).saturating_add(1))
        {
            return None;
        }
        let caller = match entry {
            Entry::Call(call) => self.messages.caller(thread, call, |win| self.windows.number(win)),
            Entry::Packet(lane) | Entry::Done(lane) => {
                return communicators.lock_at(self.messages.site(), thread, *lane);
            }
            Entry::Polled | Entry::Resume | Entry::Poll => communicators.current(thread),
        };
        communicators.lock_of(self.messages.site(), caller)
    }

    #[inline]
    fn polls(&self, thread: Thread) -> Lanes {
        self.messages.communicators().polled_by(self.messages.site(), thread)
    }

    fn sweeps(&self, thread: Thread) -> Option<(Lanes, NonZero<u32>)> {
        self.messages.communicators().swept_by(self.messages.site(), thread)
    }

    fn handle(
        &mut self,
        thread: Thread,
        input: Input<Packet, Call>,
        out: &mut impl Emit<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.typed.is_some() {
            // Its part is to change what the others have listed.
            out.list();
        }
        let first = out.listed();
        self.messages.is_through(thread);
        if let Input::Call(call) = input {
            self.call(thread, call, out)?;
        } else if let Input::Packet { from, packet, landing } = input {
            self.packet(thread, from, packet, landing, out)?;
        } else {
            self.handle_seldom(thread, &input, out.list())?;
        }
        // Each of these has a part in an input only while it is in use.
        if self.background.is_some() {
            self.advance_background(thread, out.list())?;
        }
        if self.messages.has_work() {
            self.arrange(thread, out.list())?;
        }
        if self.typed.is_some() {
            self.carry_typed(thread, first, out.list());
        }
        Ok(())
    }

    fn waits(&self, thread: Thread) -> Option<WaitSet> {
        self.diagnosis().waits(thread)
    }

    fn awaits(&self, thread: Thread) -> Option<Awaited> {
        self.diagnosis().first_wait(thread)
    }

    fn call_so_far<H: Hasher>(&self, thread: Thread, to: &mut H) -> bool {
        self.diagnosis().call_so_far(thread, to)
    }

    fn adapter_takes(&self, brought: Brought<'_, Packet>) -> bool {
        // Only a core scatters what a receive takes in pieces.
        let has_pieces = self.typed.as_ref().is_some_and(|typed| typed.has_pieces());
        !has_pieces && adapter::takes(&self.messages, self.background.as_deref(), &brought)
    }

    fn is_exposed(&self) -> bool {
        let by_hca = self.messages.site().job.rma.transport != rma::Transport::Messages;
        self.windows.rma().is_some_and(|rma| by_hca || rma.shares())
    }

    fn exposes(&self, region: Region) -> Result<(), ProtocolError> {
        self.windows.check_exposed(&self.messages, region)
    }

    fn leftovers(&self) -> Vec<String> {
        self.diagnosis().open_ends()
    }

    fn keeps(&self) -> Keeps {
        let Longest { posted, unexpected } = self.messages.queues().lengths();
        Keeps { requests: self.messages.requests().places(), entries: posted + unexpected }
    }

    fn call_in_words(call: &Call) -> String {
        words::call(call)
    }

    fn packet_in_words(packet: &Packet) -> String {
        words::packet(packet)
    }
}
