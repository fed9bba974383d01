//! The matching engine: a queue of posted receives and a queue of unexpected messages.
//!
//! ```text
//!   arrive(envelope) ── walk posted from its head ─────┬─ hit: the receive leaves its queue
//!                                                      └─ miss: append to unexpected
//!   post(selection) ─── walk unexpected from its head ─┬─ hit: the message leaves its queue
//!                                                      └─ miss: append to posted
//! ```
//!
//! Both queues are walked entry by entry, as a list in a library is, and every answer carries how
//! many entries were inspected: the price of a walk is never a formula of the length. Search and
//! append are one call, so nothing can arrive in between.
//!
//! The queues are ring buffers. Taking the k-th entry out moves at most the k entries before it,
//! which the walk has just read; the first entry leaves in constant time, and nothing is allocated
//! once a queue has had its longest length. Equality and hash go by contents in order.
//!
//! Source: `endpoints` Sec. 4.3.
//! Left out: hashed queues, and queues split by source. Noticeable only as fewer entries visited.

#[cfg(feature = "mutants")]
mod flawed;

use std::collections::VecDeque;

#[cfg(feature = "mutants")]
pub use flawed::Flaw;

use super::envelope::{Envelope, Selection};

/// A receive in the posted queue.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Posted<P> {
    /// The values that it takes.
    pub selection: Selection,
    /// The caller's own record of the receive.
    pub payload: P,
}

/// A message in the unexpected queue.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Unexpected<U> {
    /// Its envelope.
    pub envelope: Envelope,
    /// The caller's own record of the message.
    pub payload: U,
}

/// The answer of a walk over one queue.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Search<T> {
    /// Entries inspected, the matching one included.
    pub visited: u32,
    /// Entries in the queue when the walk began.
    pub length: u32,
    /// The first entry that matched.
    pub matched: Option<T>,
}

/// Posted and unexpected queue of one endpoint.
///
/// `P` is the caller's record of a receive, `U` that of a message.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct MatchingEngine<P, U> {
    posted: VecDeque<Posted<P>>,
    unexpected: VecDeque<Unexpected<U>>,
    #[cfg(feature = "mutants")]
    flaw: Option<Flaw>,
}

impl<P, U> Default for MatchingEngine<P, U> {
    fn default() -> Self {
        Self {
            posted: VecDeque::new(),
            unexpected: VecDeque::new(),
            #[cfg(feature = "mutants")]
            flaw: None,
        }
    }
}

impl<P, U> MatchingEngine<P, U> {
    /// A message arrives: the earliest posted receive that selects it is taken out, or else the
    /// message joins the unexpected queue.
    pub fn arrive(&mut self, envelope: Envelope, payload: U) -> Search<P> {
        self.arrive_with(envelope, || payload)
    }

    /// [`Self::arrive`], where the caller's record is made only of a message that must wait: most find
    /// their receive.
    pub fn arrive_with(&mut self, envelope: Envelope, payload: impl FnOnce() -> U) -> Search<P> {
        #[cfg(feature = "mutants")]
        if let Some(flaw) = self.flaw {
            return self.arrive_flawed(flaw, envelope, payload());
        }
        let search = remove(&mut self.posted, |posted| envelope.matches(&posted.selection));
        if search.matched.is_none() {
            begin_small(&mut self.unexpected);
            self.unexpected.push_back(Unexpected { envelope, payload: payload() });
        }
        search.map(|posted| posted.payload)
    }

    /// The posted receive that a message takes, which is known to be there: it is taken out. Nothing
    /// joins the unexpected queue.
    pub fn claim(&mut self, envelope: &Envelope) -> Search<P> {
        let search = remove(&mut self.posted, |posted| envelope.matches(&posted.selection));
        search.map(|posted| posted.payload)
    }

    /// A receive is posted: the earliest unexpected message that it selects is taken out, or else
    /// the receive joins the posted queue.
    pub fn post(&mut self, selection: Selection, payload: P) -> Search<Unexpected<U>> {
        let search = self.take(&selection);
        if search.matched.is_none() {
            begin_small(&mut self.posted);
            self.posted.push_back(Posted { selection, payload });
        }
        search
    }

    /// A probe: the message that a receive with this selection would take, left where it is.
    pub fn probe(&self, selection: &Selection) -> Search<&Unexpected<U>> {
        let found = walk(&self.unexpected, |message| message.envelope.matches(selection));
        found.map(|index| &self.unexpected[index])
    }

    /// A matched probe: like [`Self::probe`], but the message leaves the queue, so that no other
    /// receive or probe can see it.
    #[inline]
    pub fn take(&mut self, selection: &Selection) -> Search<Unexpected<U>> {
        #[cfg(feature = "mutants")]
        if let Some(flaw) = self.flaw {
            return self.take_flawed(flaw, selection);
        }
        remove(&mut self.unexpected, |message| message.envelope.matches(selection))
    }

    /// A receive is cancelled: the first posted one that `wanted` accepts is taken out. It can
    /// never match afterwards; nothing is found where it has matched before.
    pub fn cancel(&mut self, mut wanted: impl FnMut(&P) -> bool) -> Search<P> {
        remove(&mut self.posted, |posted| wanted(&posted.payload)).map(|posted| posted.payload)
    }

    /// Takes out every unexpected message that `wanted` accepts, in order, after a walk of them all.
    ///
    /// # Panics
    ///
    /// With more than 2^32 messages.
    pub fn extract(
        &mut self,
        mut wanted: impl FnMut(&Envelope) -> bool,
    ) -> Search<Vec<Unexpected<U>>> {
        let length = u32::try_from(self.unexpected.len()).expect("queues are counted in u32");
        let all = std::mem::take(&mut self.unexpected);
        let mut taken = Vec::new();
        for message in all {
            if wanted(&message.envelope) {
                taken.push(message);
            } else {
                self.unexpected.push_back(message);
            }
        }
        Search { visited: length, length, matched: Some(taken) }
    }

    /// Length of the posted queue.
    pub fn posted_len(&self) -> usize {
        self.posted.len()
    }

    /// Length of the unexpected queue.
    pub fn unexpected_len(&self) -> usize {
        self.unexpected.len()
    }

    /// Whether both queues are empty.
    pub fn is_empty(&self) -> bool {
        self.posted.is_empty() && self.unexpected.is_empty()
    }

    /// The posted receives, earliest first.
    pub fn posted(&self) -> impl ExactSizeIterator<Item = &Posted<P>> {
        self.posted.iter()
    }

    /// The unexpected messages, earliest first.
    pub fn unexpected(&self) -> impl ExactSizeIterator<Item = &Unexpected<U>> {
        self.unexpected.iter()
    }
}

impl<T> Search<T> {
    /// The same walk, telling something else about its hit.
    pub fn map<V>(self, tell: impl FnOnce(T) -> V) -> Search<V> {
        Search { visited: self.visited, length: self.length, matched: self.matched.map(tell) }
    }
}

/// Inspects entries from the head until one is accepted; answers with its index.
fn walk<T>(queue: &VecDeque<T>, accepts: impl FnMut(&T) -> bool) -> Search<usize> {
    let matched = queue.iter().position(accepts);
    let visited = matched.map_or(queue.len(), |index| index + 1);
    Search { visited: entries(visited), length: entries(queue.len()), matched }
}

/// Walks, and takes the accepted entry out; the others keep their order.
fn remove<T>(queue: &mut VecDeque<T>, accepts: impl FnMut(&T) -> bool) -> Search<T> {
    let found = walk(queue, accepts);
    found.map(|index| queue.remove(index).expect("the walk ended on an entry of this queue"))
}

/// Room for two entries in a queue's first allocation: of many queues, most never have more.
fn begin_small<T>(queue: &mut VecDeque<T>) {
    if queue.capacity() == 0 {
        queue.reserve_exact(2);
    }
}

#[inline]
fn entries(count: usize) -> u32 {
    u32::try_from(count).expect("a matching queue holds fewer than 2^32 entries")
}

#[cfg(test)]
mod tests;
