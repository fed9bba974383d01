//! The receives of a process from their match to their end.
//!
//! An eager message is received right after its match: where it is the only one, its match lies in a
//! place of its own, and no list is touched.

use std::hash::{Hash, Hasher};

use super::messages::Ring;
use mpi::observation::MessageId;

/// A message that was matched, and what its receive needs to know of it.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Match {
    pub(super) message: MessageId,
    /// The room of the receive.
    pub(super) room: u64,
    /// The bytes of the message.
    pub(super) bytes: u64,
}

/// Matches by the serial number of the receive.
#[derive(Clone, Debug, Default)]
pub(super) struct Matched {
    /// The only one, where there is one, and the list is empty.
    only: Option<(u32, Match)>,
    list: Ring<Match>,
}

impl Matched {
    #[inline]
    pub(super) fn insert(&mut self, serial: u32, item: Match) {
        if self.only.is_none() && self.list.is_empty() {
            self.only = Some((serial, item));
        } else {
            self.insert_beside(serial, item);
        }
    }

    #[inline(never)]
    fn insert_beside(&mut self, serial: u32, item: Match) {
        if let Some((first, only)) = self.only.take() {
            self.list.insert(first, only);
        }
        self.list.insert(serial, item);
    }

    #[inline]
    pub(super) fn remove(&mut self, serial: u32) -> Option<Match> {
        match self.only {
            Some((only, item)) if only == serial => {
                self.only = None;
                self.list.begin_at(serial + 1);
                Some(item)
            }
            Some(_) => None,
            None => self.list.remove(serial),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Match> {
        self.items().flatten()
    }

    /// The serial number of the first, or of the next one where there is none.
    fn base(&self) -> u32 {
        self.only.map_or(self.list.window().0, |(serial, _)| serial)
    }

    /// From the first on; `None` where a receive was not matched yet, or is over.
    fn items(&self) -> impl Iterator<Item = Option<&Match>> {
        let only = self.only.iter().map(|(_, item)| Some(item));
        only.chain(self.list.window().1.iter().map(Option::as_ref))
    }

    /// A word of it.
    pub(super) fn touch(&self) -> u32 {
        self.base()
    }
}

/// Where the only one lies is no part of the state.
impl PartialEq for Matched {
    fn eq(&self, other: &Self) -> bool {
        self.base() == other.base() && self.items().eq(other.items())
    }
}

impl Eq for Matched {}

impl Hash for Matched {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.base().hash(state);
        self.items().count().hash(state);
        self.items().for_each(|item| item.hash(state));
    }
}
