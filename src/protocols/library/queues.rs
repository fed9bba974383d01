//! The matching queues of one process, and the buffers of its unexpected messages.
//!
//! ```text
//!   receive ──post──▶ unexpected queue walked ──none──▶ posted queue
//!   message ──arrive─▶ posted queue walked ──none──▶ unexpected queue, payload in a kept buffer
//! ```
//!
//! Source: `endpoints` Sec. 4.3: one pair of queues for a process, or one for each endpoint.

use super::buffer_numbers::BufferNumbers;
use super::{Key, MessageHeader, Note, Region, Route, Scheme, Thread};
use mpi::envelope::{Envelope, Selection};
use mpi::matching::{self, MatchingEngine, Search};
use mpi::observation::ReceiveId;

/// A posted receive, as the matching engine keeps it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Posted {
    pub(super) key: Key,
    pub(super) id: ReceiveId,
}

/// A message that arrived before its receive.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Unexpected {
    pub(super) header: MessageHeader,
    pub(super) from: Route,
    pub(super) body: UnexpectedBody,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum UnexpectedBody {
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

/// The matching queues of one process.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct MatchingQueues {
    /// The matching engine of each endpoint, or one for all.
    engines: Vec<MatchingEngine<Posted, Unexpected>>,
    longest: Note<Longest>,
    /// Buffers of unexpected messages.
    kept: BufferNumbers,
}

impl MatchingQueues {
    /// So many pairs of queues, all empty.
    pub(super) fn new(count: usize) -> Self {
        let engines = vec![MatchingEngine::default(); count];
        Self { engines, longest: Note::default(), kept: BufferNumbers::default() }
    }

    /// As [`super::Machine::touch`].
    pub(super) fn touch(&self) -> u64 {
        let Some(engine) = self.engines.first() else { return 0 };
        let posted = engine.posted().next().map_or(0, |posted| posted.payload.id.serial);
        let unexpected = engine.unexpected().next().map_or(0, |one| one.payload.from.peer.0);
        u64::from(posted ^ unexpected) ^ self.longest.0.posted as u64
    }

    /// At least so many pairs of queues.
    pub(super) fn grow(&mut self, count: usize) {
        let count = count.max(self.engines.len());
        self.engines.resize_with(count, MatchingEngine::default);
    }

    /// The most entries that one of the queues has had so far.
    pub(super) const fn longest(&self) -> Longest {
        self.longest.0
    }

    /// How many receives and messages wait.
    pub(super) fn lengths(&self) -> Longest {
        let posted = self.engines.iter().map(MatchingEngine::posted_len).sum();
        let unexpected = self.engines.iter().map(MatchingEngine::unexpected_len).sum();
        Longest { posted, unexpected }
    }

    /// Every message that waits for its receive.
    pub(super) fn unexpected(&self) -> impl Iterator<Item = &matching::Unexpected<Unexpected>> {
        self.engines.iter().flat_map(MatchingEngine::unexpected)
    }

    /// The posted receives of one queue, the earliest first.
    pub(super) fn posted(
        &self,
        queue: usize,
    ) -> impl ExactSizeIterator<Item = &matching::Posted<Posted>> {
        self.engines[queue].posted()
    }

    /// Searches the unexpected queue, then appends to the posted one.
    #[inline]
    pub(super) fn post(
        &mut self,
        queue: usize,
        selection: Selection,
        posted: Posted,
    ) -> Search<matching::Unexpected<Unexpected>> {
        let walk = self.engines[queue].post(selection, posted);
        self.note_lengths(queue);
        walk
    }

    /// Searches the posted queue, then appends what `message` makes to the unexpected one.
    #[inline]
    pub(super) fn arrive(
        &mut self,
        queue: usize,
        envelope: Envelope,
        message: impl FnOnce() -> Unexpected,
    ) -> Search<Posted> {
        let walk = self.engines[queue].arrive_with(envelope, message);
        self.note_lengths(queue);
        walk
    }

    /// Notes the lengths of a pair of queues after one of them may have grown.
    #[inline]
    fn note_lengths(&mut self, queue: usize) {
        let Longest { posted, unexpected } = &mut self.longest.0;
        *posted = (*posted).max(self.engines[queue].posted_len());
        *unexpected = (*unexpected).max(self.engines[queue].unexpected_len());
    }

    /// Takes the posted receive of a message that never becomes unexpected.
    pub(super) fn claim(&mut self, queue: usize, envelope: &Envelope) -> Search<Posted> {
        self.engines[queue].claim(envelope)
    }

    /// Takes a posted receive out.
    pub(super) fn cancel(&mut self, queue: usize, key: Key) -> Search<Posted> {
        self.engines[queue].cancel(|posted| posted.key == key)
    }

    /// Searches the unexpected queue, and leaves it as it is.
    pub(super) fn probe(
        &self,
        queue: usize,
        selection: &Selection,
    ) -> Search<&matching::Unexpected<Unexpected>> {
        self.engines[queue].probe(selection)
    }

    /// Searches the unexpected queue, and takes the message out.
    pub(super) fn take(
        &mut self,
        queue: usize,
        selection: &Selection,
    ) -> Search<matching::Unexpected<Unexpected>> {
        self.engines[queue].take(selection)
    }

    /// Takes all unexpected messages out of a queue that `belongs` is true of.
    pub(super) fn extract(
        &mut self,
        queue: usize,
        belongs: impl FnMut(&Envelope) -> bool,
    ) -> Search<Vec<matching::Unexpected<Unexpected>>> {
        self.engines[queue].extract(belongs)
    }

    /// Appends an unexpected message whose receive cannot be posted yet.
    pub(super) fn append_unexpected(
        &mut self,
        queue: usize,
        message: matching::Unexpected<Unexpected>,
    ) {
        let posted = self.engines[queue].arrive(message.envelope, message.payload);
        debug_assert!(posted.matched.is_none(), "nobody could post a receive before");
    }

    /// The lowest free buffer for an unexpected message.
    #[inline]
    pub(super) fn free_buffer(&self) -> u32 {
        self.kept.lowest()
    }

    /// The lowest free buffer is in use.
    pub(super) fn keep_buffer(&mut self) {
        self.kept.take_lowest();
    }

    /// A message has found its receive; `by` is the thread that empties its buffer, where others run
    /// beside.
    pub(super) fn release_buffer(&mut self, slot: u32, by: Option<Thread>) {
        self.kept.give_back(slot, by);
    }

    /// A thread has an input: it has emptied the buffers that it was to empty.
    #[inline]
    pub(super) fn is_through(&mut self, thread: Thread) {
        self.kept.is_through(thread);
    }
}

#[cfg(feature = "mutants")]
impl MatchingQueues {
    /// Gives all engines a bug.
    pub(super) fn plant(&mut self, flaw: matching::Flaw) {
        self.engines.iter_mut().for_each(|engine| engine.plant(flaw));
    }

    /// Takes it from them.
    pub(super) fn heal(&mut self) {
        self.engines.iter_mut().for_each(MatchingEngine::heal);
    }

    /// Appends a posted receive without a search.
    pub(super) fn append(&mut self, queue: usize, selection: Selection, posted: Posted) {
        self.engines[queue].append(selection, posted);
    }
}
