//! The unmatched receives of one process, by communicator and rank, each list in the order in which its receives
//! were posted: a message can pass over no receive of another list.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::lists::Lists;
use mpi::envelope::{Context, Rank, Selection};

/// A communicator, and the rank that receives.
type Key = (Context, Rank);

/// A receive that no message has matched yet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Posted {
    pub(super) selection: Selection,
    pub(super) bytes: u64,
}

/// The lists of one process.
#[derive(Clone, Debug, Default)]
pub(super) struct Receives(Lists<Key, Posted>);

impl Receives {
    /// A receive was posted.
    #[inline]
    pub(super) fn append(&mut self, serial: u32, posted: Posted) {
        let Selection { context, dest, .. } = posted.selection;
        self.0.append((context, dest), serial, posted);
    }

    /// A receive that is the earliest of its list, and the place of the list.
    #[inline]
    pub(super) fn earliest(&self, serial: u32) -> Option<(usize, &Posted)> {
        self.0.first_with(serial)
    }

    /// Whether a receive that is the earliest of the list at a place is the earliest of all.
    #[inline]
    pub(super) fn is_earliest_of_all(&self, place: usize) -> bool {
        self.0.is_first_of_all(place)
    }

    /// Takes out the earliest receive of the list at a place.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is part of the match of a message in order")]
    pub(super) fn take_earliest(&mut self, place: usize) {
        self.0.take_first(place);
    }

    /// Whether a receive was posted behind another one that is unmatched.
    pub(super) fn is_behind_another(&self, serial: u32) -> bool {
        !self.earliest(serial).is_some_and(|(place, _)| self.is_earliest_of_all(place))
    }

    /// The unmatched receives of a rank, earliest first.
    pub(super) fn of(&self, rank: (Context, Rank)) -> impl Iterator<Item = (u32, &Posted)> {
        self.0.of(rank)
    }

    /// An unmatched receive.
    pub(super) fn find(&self, serial: u32) -> Option<&Posted> {
        self.0.find(|_| Ordering::Equal, serial)
    }

    /// Takes out an unmatched receive; answers whether it was here.
    pub(super) fn remove(&mut self, serial: u32) -> bool {
        self.0.remove(|_| Ordering::Equal, serial)
    }

    /// Something made of the earliest receive.
    pub(super) fn touch(&self) -> u32 {
        self.0.touch(|_| true)
    }

    /// All, in the order in which they were posted.
    fn in_order(&self) -> Vec<(u32, &Posted)> {
        self.0.parts(|_, _| true).next().map_or_else(Vec::new, |(_, receives)| receives)
    }
}

/// In which lists and slots the receives lie is no part of the state.
impl PartialEq for Receives {
    fn eq(&self, other: &Self) -> bool {
        self.in_order() == other.in_order()
    }
}

impl Eq for Receives {}

impl Hash for Receives {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.in_order().hash(state);
    }
}
