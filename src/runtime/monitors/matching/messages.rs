//! Messages that no receive has matched yet, and values by serial number.

use std::collections::VecDeque;

use mpi::envelope::Envelope;

/// A message that no receive has matched yet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Message {
    pub(super) envelope: Envelope,
    pub(super) bytes: u64,
    pub(super) stage: Stage,
}

/// How far a message is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Stage {
    Sent,
    /// When its process had posted so many receives.
    Arrived {
        posts: u32,
    },
}

/// Values by a serial number that grows, nearly in order; kept while they live: a window, not a
/// history.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub(super) struct Ring<T> {
    base: u32,
    items: VecDeque<Option<T>>,
}

impl<T> Default for Ring<T> {
    fn default() -> Self {
        Self { base: 0, items: VecDeque::new() }
    }
}

impl<T> Ring<T> {
    /// Keeps `item`; false where one with this serial number is kept already.
    pub(super) fn insert(&mut self, serial: u32, item: T) -> bool {
        if self.items.is_empty() {
            self.base = serial;
            if self.items.capacity() == 0 {
                // Of many rings, most never hold more.
                self.items.reserve_exact(2);
            }
        }
        while serial < self.base {
            self.items.push_front(None);
            self.base -= 1;
        }
        let place = (serial - self.base) as usize;
        if place == self.items.len() {
            self.items.push_back(Some(item));
            return true;
        }
        while self.items.len() <= place {
            self.items.push_back(None);
        }
        self.items[place].replace(item).is_none()
    }

    pub(super) fn remove(&mut self, serial: u32) -> Option<T> {
        let place = serial.checked_sub(self.base)? as usize;
        let item = self.items.get_mut(place)?.take();
        while matches!(self.items.front(), Some(None)) {
            self.items.pop_front();
            self.base += 1;
        }
        item
    }

    pub(super) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The first serial number, and the values from there on.
    pub(super) const fn window(&self) -> (u32, &VecDeque<Option<T>>) {
        (self.base, &self.items)
    }

    /// Empty, where the last value was that before `base`.
    pub(super) fn begin_at(&mut self, base: u32) {
        self.base = base;
    }
}
