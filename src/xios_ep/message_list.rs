//! The messages that an endpoint has not received yet, in a list of its own.
//!
//! Source: `xios-ep` Sec. 3.2, 3.3, 4.

use mpi::envelope::{Context, Envelope, Rank, Selection};
use mpi::matching::{MatchingEngine, Search};

/// Lists are per communicator, so the context of an envelope says nothing in them.
const CONTEXT: Context = Context(0);
/// Each endpoint has a list of its own, so neither does the receiver.
const OWN: Rank = Rank(0);

/// A message in the list of an endpoint; source and tag are what the sender's program said.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Message<M> {
    /// MPI's message, to be received by a matched receive.
    pub message: M,
    /// Rank of the sending endpoint.
    pub source: Rank,
    /// The user's tag.
    pub tag: i32,
}

/// Selection of a receive or a probe of an endpoint; `None` is the wildcard.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Wanted {
    /// The sending endpoint, or any.
    pub source: Option<Rank>,
    /// The user's tag, or any.
    pub tag: Option<i32>,
}

/// The incoming messages of an endpoint, in the order in which the process got them.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct MessageList<M>(MatchingEngine<(), M>);

impl<M> Default for MessageList<M> {
    fn default() -> Self {
        Self(MatchingEngine::default())
    }
}

impl<M> MessageList<M> {
    /// Appends a message.
    pub fn append(&mut self, message: Message<M>) {
        let envelope =
            Envelope { context: CONTEXT, dest: OWN, source: message.source, tag: message.tag };
        // Nothing is ever posted to this engine, so the message joins the list.
        self.0.arrive(envelope, message.message);
    }

    /// Takes out the first message that is wanted.
    pub fn take(&mut self, wanted: Wanted) -> Search<Message<M>> {
        self.0.take(&wanted.selection()).map(|found| {
            let Envelope { source, tag, .. } = found.envelope;
            Message { message: found.payload, source, tag }
        })
    }

    /// The message that [`Self::take`] would take out.
    pub fn peek(&self, wanted: Wanted) -> Search<Message<&M>> {
        self.0.probe(&wanted.selection()).map(|found| {
            let Envelope { source, tag, .. } = found.envelope;
            Message { message: &found.payload, source, tag }
        })
    }

    /// How many messages are in the list.
    pub fn len(&self) -> usize {
        self.0.unexpected_len()
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Wanted {
    /// From any source, with any tag.
    pub const ANYTHING: Self = Self { source: None, tag: None };

    /// From this endpoint with this tag.
    pub fn exactly(source: Rank, tag: i32) -> Self {
        Self { source: Some(source), tag: Some(tag) }
    }

    fn selection(self) -> Selection {
        Selection { context: CONTEXT, dest: OWN, source: self.source, tag: self.tag }
    }
}
