//! Planted bugs of the matching engine, and choices that are as right as its own: for tests only.

use std::collections::VecDeque;

use super::{Envelope, MatchingEngine, Posted, Search, Selection, Unexpected, entries};

/// The difference.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub enum Flaw {
    /// Receives without wildcards are searched before all others.
    ExactFirst,
    /// A wildcard takes the newest message instead of the oldest.
    Tail,
    /// Of the context only its kind (the lowest bit) is compared.
    PartOfContext,
    /// The destination is not compared.
    NoDestination,
    /// Allowed: a wildcard prefers the highest rank, and takes its oldest message.
    OtherSource,
}

impl Flaw {
    fn accepts(self, envelope: &Envelope, selection: &Selection) -> bool {
        let mut seen = *envelope;
        if self == Self::NoDestination {
            seen.dest = selection.dest;
        }
        if self == Self::PartOfContext && seen.context.0 % 2 == selection.context.0 % 2 {
            seen.context = selection.context;
        }
        seen.matches(selection)
    }

    fn among_posted<P>(self, posted: &VecDeque<Posted<P>>, envelope: &Envelope) -> Option<usize> {
        let takes = |posted: &Posted<P>| self.accepts(envelope, &posted.selection);
        let exact = |posted: &Posted<P>| {
            posted.selection.source.is_some() && posted.selection.tag.is_some()
        };
        let first =
            posted.iter().position(|one| takes(one) && (self != Self::ExactFirst || exact(one)));
        first.or_else(|| posted.iter().position(takes))
    }

    fn among_unexpected<U>(
        self,
        unexpected: &VecDeque<Unexpected<U>>,
        selection: &Selection,
    ) -> Option<usize> {
        let fitting = || {
            let all = unexpected.iter().enumerate();
            all.filter(|(_, message)| self.accepts(&message.envelope, selection))
        };
        let wild = selection.source.is_none();
        let chosen = match self {
            Self::Tail if wild => fitting().last(),
            // The first of those with the highest rank.
            Self::OtherSource if wild => fitting().reduce(|best, one| {
                if one.1.envelope.source > best.1.envelope.source { one } else { best }
            }),
            Self::ExactFirst
            | Self::Tail
            | Self::PartOfContext
            | Self::NoDestination
            | Self::OtherSource => fitting().next(),
        };
        chosen.map(|(index, _)| index)
    }
}

impl<P, U> MatchingEngine<P, U> {
    /// Gives the engine a flaw.
    pub fn plant(&mut self, flaw: Flaw) {
        self.flaw = Some(flaw);
    }

    /// Takes the flaw away.
    pub fn heal(&mut self) {
        self.flaw = None;
    }

    /// The receive joins the posted queue, whatever has come since it was searched for.
    pub fn append(&mut self, selection: Selection, payload: P) {
        self.posted.push_back(Posted { selection, payload });
    }

    pub(super) fn arrive_flawed(
        &mut self,
        flaw: Flaw,
        envelope: Envelope,
        payload: U,
    ) -> Search<P> {
        let search = taken(&mut self.posted, |queue| flaw.among_posted(queue, &envelope));
        if search.matched.is_none() {
            self.unexpected.push_back(Unexpected { envelope, payload });
        }
        search.map(|posted| posted.payload)
    }

    pub(super) fn take_flawed(
        &mut self,
        flaw: Flaw,
        selection: &Selection,
    ) -> Search<Unexpected<U>> {
        taken(&mut self.unexpected, |queue| flaw.among_unexpected(queue, selection))
    }
}

fn taken<T>(
    queue: &mut VecDeque<T>,
    find: impl FnOnce(&VecDeque<T>) -> Option<usize>,
) -> Search<T> {
    let (length, found) = (entries(queue.len()), find(queue));
    let visited = found.map_or(length, |index| entries(index + 1));
    let matched = found.and_then(|index| queue.remove(index));
    Search { visited, length, matched }
}
