//! The MPI library of one process: matching, requests and protocols behind one [`Machine`].
//!
//! ```text
//!   program ──Call──▶ calls.rs ──▶ eager.rs | rendezvous/*      requests.rs: who waits for what
//!   channel ──Packet─▶ arrivals.rs ──▶ matching ──▶ the same roles
//! ```
//!
//! Source: `endpoints` Sec. 4.3 (matching), `coop` Sec. I-A (protocols).
//! One-sided operations are a family of their own, behind `one_sided.rs`. Buffers in pieces are
//! contiguous ones to all this: `typed.rs` puts the pieces in their place, `device.rs` those of a GPU.

mod adapter;
mod agreeing;
mod arrivals;
mod background;
mod buffered;
mod calls;
mod collective;
mod communicators;
mod contexts;
mod device;
mod diagnosis;
mod endpoints;
mod intercommunicators;
mod names;
mod offers;
mod one_sided;
#[cfg(feature = "mutants")]
mod planted;
mod requests;
#[cfg(feature = "mutants")]
mod schedule;
mod staging;
mod typed;
mod words;
mod work;

use std::sync::Arc;

use super::call::{Call, Outcome, Reply};
use super::collectives::{Collective, Round};
use super::contract::{
    Action, Awaited, Brought, Emit, Entry, Guard, Handle, Input, Keeps, Lanes, Machine, Process,
    ProtocolError, Region, Route, Space, Thread, Token, Via, WaitSet,
};
pub use super::job::{Endpoints, Job, Progress, Queues, SharedJob, Threading};
use super::note::Note;
use super::rendezvous::{Protocol, Scheme};
use super::rma::{self, Rma};
pub use super::wire::{Key, LibraryAction, MessageHeader, Offer, Packet, Wire, Word};
use background::Background;
use buffered::Attached;
use communicators::Made;
use contexts::Contexts;
use endpoints::Caller;
use endpoints::EndpointTable;
use mpi::envelope::Selection;
use mpi::matching::{MatchingEngine, Search};
use mpi::observation::{MessageId, Names, Observation, ReceiveId};
use offers::Offers;
use requests::{Pending, RequestTable};
use typed::Typed;
use words::InWords;
use work::Works;

/// A posted receive, as the matching engine keeps it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Posted {
    key: Key,
    id: ReceiveId,
}

/// A message that arrived before its receive.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Unexpected {
    header: MessageHeader,
    from: Route,
    body: UnexpectedBody,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum UnexpectedBody {
    /// The payload is kept in a buffer of the library.
    Eager { kept: Option<Region> },
    /// Only the envelope is here.
    Rts { scheme: Scheme, remote: Region },
}

/// The most entries that any one of a process's matching queues has had.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Longest {
    /// Posted receives.
    pub posted: usize,
    /// Unexpected messages.
    pub unexpected: usize,
}

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
    job: SharedJob,
    me: Process,
    /// Messages sent so far.
    sent: Names,
    /// Receives and matched probes so far.
    posted: Names,
    /// Calls made by each thread so far.
    calls: Note<Vec<u32>>,
    /// The matching engine of each endpoint, or one for all.
    matching: Vec<MatchingEngine<Posted, Unexpected>>,
    longest: Note<Longest>,
    endpoints: EndpointTable,
    made: Made,
    /// The contexts that this process may give to new communicators.
    contexts: Contexts,
    requests: RequestTable,
    /// The windows; none in most processes.
    rma: Option<Box<Rma>>,
    /// Messages taken by matched probes, with their receive, by the program's message handle.
    probed: Vec<(Handle, ReceiveId, Unexpected, Caller)>,
    /// What each thread is blocked in.
    pending: Vec<Option<Pending>>,
    /// Library buffers in use for unexpected messages.
    kept: Vec<bool>,
    /// Copies and choices that each thread has begun and not ended; none where a job needs none.
    works: Option<Box<[Works]>>,
    /// The room for buffered sends, while there is one.
    attached: Option<Box<Attached>>,
    /// Collectives under way; none in most processes.
    background: Option<Box<Background>>,
    /// Messages whose buffers lie in pieces; none in most processes.
    typed: Option<Box<Typed>>,
    /// Receives offered to their senders; none where a job has no RTR.
    offers: Option<Box<Offers>>,
    /// Room for the round that is looked at, kept from one to the next.
    round: Note<Round>,
    /// The barrier that was called last, for the next one.
    barrier: Note<Option<Arc<Collective>>>,
    /// Receives that were searched for and are not appended yet.
    #[cfg(feature = "mutants")]
    late: Vec<(Thread, planted::Late)>,
}

impl Library {
    /// The library of process `me`, before the first call.
    pub fn new(job: SharedJob, me: Process) -> Self {
        let threads = usize::from(job.threads[me.0 as usize]);
        let endpoints = EndpointTable::new(&job, me, threads);
        Self {
            me,
            sent: Names::default(),
            posted: Names::default(),
            calls: Note(vec![0; threads]),
            matching: vec![MatchingEngine::default(); job.endpoints.queues_of(&endpoints)],
            longest: Note::default(),
            endpoints,
            made: Made::default(),
            contexts: Contexts::of(&job, me),
            requests: RequestTable::new(threads),
            rma: None,
            probed: Vec::new(),
            pending: vec![None; threads],
            kept: Vec::new(),
            works: None,
            attached: None,
            background: None,
            typed: None,
            offers: job.has_offers().then(Box::default),
            round: Note::default(),
            barrier: Note::default(),
            #[cfg(feature = "mutants")]
            late: Vec::new(),
            job,
        }
    }

    /// The most entries that one of its queues has had so far.
    pub const fn longest(&self) -> Longest {
        self.longest.0
    }

    /// Notes the lengths of a matching engine's queues after one of them may have grown.
    fn note_lengths(&mut self, queue: usize) {
        let Longest { posted, unexpected } = &mut self.longest.0;
        *posted = (*posted).max(self.matching[queue].posted_len());
        *unexpected = (*unexpected).max(self.matching[queue].unexpected_len());
    }

    fn wire(&self, route: Route, thread: Thread) -> Wire {
        self.job.wire(self.me, route, thread)
    }

    fn next_message(&mut self) -> MessageId {
        MessageId { process: self.me.0, serial: self.sent.take() }
    }

    fn next_receive(&mut self) -> ReceiveId {
        ReceiveId { process: self.me.0, serial: self.posted.take() }
    }

    /// The lowest free library buffer: equal situations look equal, whatever led to them.
    fn free_buffer(&self) -> u32 {
        let slot = self.kept.iter().position(|used| !used).unwrap_or(self.kept.len());
        u32::try_from(slot).expect("fewer than 2^32 unexpected messages")
    }

    fn keep_buffer(&mut self, slot: u32) {
        let slot = slot as usize;
        if slot == self.kept.len() {
            self.kept.push(true);
        } else {
            self.kept[slot] = true;
        }
    }

    fn release_buffer(&mut self, slot: u32) {
        self.kept[slot as usize] = false;
        while self.kept.last() == Some(&false) {
            self.kept.pop();
        }
    }

    /// What a program asks for and may not: in words, since its author reads it.
    fn refuse(&self, state: &str, input: impl InWords) -> ProtocolError {
        self.defect(state, input.in_words())
    }

    /// What only a defect of the library leads to.
    fn defect(&self, state: &str, input: impl std::fmt::Debug) -> ProtocolError {
        ProtocolError::refused("library", format!("rank {}: {state}", self.me.0), input)
    }
}

impl Machine for Library {
    type Packet = Packet;
    type Call = Call;
    type Reply = Reply;

    fn name_of(packet: &Packet) -> String {
        names::name_of(packet)
    }

    #[inline]
    fn guard(&self, thread: Thread, entry: &Entry<'_, Call>) -> Option<Guard> {
        if self.pending.len() == 1 {
            return None;
        }
        let caller = match entry {
            Entry::Call(call) => self.caller(thread, call),
            Entry::Packet | Entry::Done | Entry::Polled | Entry::Resume | Entry::Poll => {
                self.endpoints.current(thread)
            }
        };
        self.guard_of(caller)
    }

    #[inline]
    fn polls(&self, thread: Thread) -> Lanes {
        self.polled_by(thread)
    }

    fn handle(
        &mut self,
        thread: Thread,
        input: Input<Packet, Call>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let first = out.len();
        match input {
            Input::Call(call) => self.call(thread, call, out)?,
            Input::Packet { from, packet, landing } => {
                self.packet(thread, from, packet, landing, out)?;
            }
            Input::Done(token) if rma::is_ours(token) => self.one_sided_done(thread, token, out)?,
            Input::Done(token) if device::is_device(token) => self.device_done(token, out)?,
            Input::Done(token) => self.rdma_done(thread, Key::from_token(token), out)?,
            Input::Polled(token) if work::is_between_chunks(token) => {
                self.next_chunk(thread, out)?;
            }
            Input::Polled(_) => self.test_polled(thread, out)?,
            Input::Counters { token, values } if rma::is_ours(token) => {
                self.one_sided_numbers(thread, token, values, out)?;
            }
            Input::Counters { token, values } => self.counters(thread, token, values, out)?,
            Input::Resume(token) => return Err(self.defect("no work outside the lock", token)),
        }
        self.advance_background(thread, out)?;
        self.arrange(thread, out)?;
        if self.typed.is_some() {
            self.carry_typed(thread, first, out);
        }
        Ok(())
    }

    fn waits(&self, thread: Thread) -> Option<WaitSet> {
        self.diagnose(thread)
    }

    fn awaits(&self, thread: Thread) -> Option<Awaited> {
        self.first_wait(thread)
    }

    fn adapter_takes(&self, brought: Brought<'_, Packet>) -> bool {
        self.taken_by_adapter(&brought)
    }

    fn is_exposed(&self) -> bool {
        let by_hca = self.job.rma.transport != rma::Transport::Messages;
        self.rma.as_ref().is_some_and(|rma| by_hca || rma.shares())
    }

    fn exposes(&self, region: Region) -> Result<(), ProtocolError> {
        self.check_exposed(region)
    }

    fn leftovers(&self) -> Vec<String> {
        self.open_ends()
    }

    fn keeps(&self) -> Keeps {
        let queues = self.matching.iter();
        let entries = queues.map(|queue| queue.posted_len() + queue.unexpected_len()).sum();
        Keeps { requests: self.requests.places(), entries }
    }

    fn call_in_words(call: &Call) -> String {
        words::call(call)
    }

    fn packet_in_words(packet: &Packet) -> String {
        words::packet(packet)
    }
}

/// What a selection is called in reports.
fn in_words(selection: &Selection) -> String {
    let source =
        selection.source.map_or("any source".to_owned(), |rank| format!("rank {}", rank.0));
    let tag = selection.tag.map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
    format!("{source}, {tag}, context {}", selection.context.0)
}

/// This core has walked a matching queue, and `fact` tells what came of it.
#[inline(always)]
#[expect(clippy::inline_always, reason = "what it saves is the call's argument")]
fn push_walk<T>(walk: &Search<T>, fact: Option<Observation>, out: &mut Vec<LibraryAction>) {
    out.emit(|| Action::Walk { entries: walk.visited, length: walk.length, fact });
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "what it saves is the call's argument")]
fn push_return(thread: Thread, reply: Reply, out: &mut Vec<LibraryAction>) {
    out.emit(|| Action::Return { thread, reply });
}
