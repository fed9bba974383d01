//! Events in words: what a comparison of two runs shows around the place where they part.

use super::causes::Spender;
use engine::{Journal, Record};

/// An event as the journal has it, and in words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventText {
    /// When it happened, and as what the digest knows it.
    pub record: Record,
    /// Where, and what.
    pub words: EventWords,
}

/// Description of an event.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EventWords {
    /// The thread or the resource that it happens at.
    pub place: Spender,
    /// The event, in words.
    pub what: String,
}

/// The events of a journal with their words, which were noted in the same order.
pub(super) fn join(journal: Option<&Journal>, words: Vec<EventWords>) -> Vec<EventText> {
    let records = journal.into_iter().flat_map(Journal::records);
    records.zip(words).map(|(record, words)| EventText { record: *record, words }).collect()
}
