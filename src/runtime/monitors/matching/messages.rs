//! Open messages, by the serial numbers of their senders.

use std::collections::VecDeque;

use mpi::envelope::Envelope;

/// A message that is open.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) struct Message {
    pub(super) envelope: Envelope,
    pub(super) to: u32,
    /// The next unmatched one of its lane.
    pub(super) next: u32,
    pub(super) bytes: u64,
    pub(super) state: Stage,
}

/// How far a message is.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub(super) enum Stage {
    Sent,
    /// When its process had posted so many receives.
    Arrived {
        posts: u32,
    },
    Matched,
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

    /// Something made of the first item.
    pub(super) fn touch(&self, read: impl Fn(&T) -> u32) -> u32 {
        self.base ^ self.items.front().map_or(0, |item| item.as_ref().map_or(0, read))
    }

    pub(super) fn get(&self, serial: u32) -> Option<&T> {
        self.items.get(self.place(serial)?)?.as_ref()
    }

    pub(super) fn at(&mut self, serial: u32) -> Option<&mut T> {
        let place = self.place(serial)?;
        self.items.get_mut(place)?.as_mut()
    }

    pub(super) fn remove(&mut self, serial: u32) -> Option<T> {
        let place = self.place(serial)?;
        let item = self.items.get_mut(place)?.take();
        while matches!(self.items.front(), Some(None)) {
            self.items.pop_front();
            self.base += 1;
        }
        item
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (self.base..).zip(&self.items).filter_map(|(serial, item)| Some((serial, item.as_ref()?)))
    }

    fn place(&self, serial: u32) -> Option<usize> {
        serial.checked_sub(self.base).map(|place| place as usize)
    }
}
