//! The unmatched messages for one process, by sender, each list in the order in which its messages were
//! sent.
//!
//! ```text
//!   sender 2: first ─▶ 17 ─▶ 18 ─▶ 21 ◀─ last        slots of one table, used again
//!                            ▲ coming
//! ```
//!
//! Messages that come and are matched in order are found without a search: the first that has not come,
//! and the first of all. A list that is empty is gone: a process that hears of many others over time
//! holds few at once.

use std::hash::{Hash, Hasher};

use super::messages::{Message, Stage};
use mpi::observation::MessageId;

/// No slot.
const NONE: u32 = u32::MAX;

/// The lists of one receiver, in the order of senders.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    senders: Vec<Lane>,
    slots: Vec<Slot>,
    /// The first slot that is free; the others follow it.
    free: u32,
}

#[derive(Clone, Copy, Debug)]
struct Lane {
    sender: u32,
    first: u32,
    last: u32,
    /// All before it have come.
    coming: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    serial: u32,
    next: u32,
    message: Message,
}

impl Default for Lanes {
    fn default() -> Self {
        Self { senders: Vec::new(), slots: Vec::new(), free: NONE }
    }
}

impl Lanes {
    #[inline]
    fn place(&self, sender: u32) -> Result<usize, usize> {
        // Most processes hear of one other at a time.
        match &*self.senders {
            [lane] if lane.sender == sender => Ok(0),
            lanes => lanes.binary_search_by_key(&sender, |lane| lane.sender),
        }
    }

    #[inline]
    fn slot(&self, slot: u32) -> &Slot {
        &self.slots[slot as usize]
    }

    #[inline]
    fn slot_mut(&mut self, slot: u32) -> &mut Slot {
        &mut self.slots[slot as usize]
    }

    /// A message was sent: it is the newest of its sender.
    #[inline]
    pub(super) fn append(&mut self, id: MessageId, message: Message) {
        let slot = self.keep(Slot { serial: id.serial, next: NONE, message });
        match self.place(id.process) {
            Ok(place) => {
                let lane = &mut self.senders[place];
                let last = std::mem::replace(&mut lane.last, slot);
                if lane.coming == NONE {
                    lane.coming = slot;
                }
                self.slot_mut(last).next = slot;
            }
            Err(place) => {
                let lane = Lane { sender: id.process, first: slot, last: slot, coming: slot };
                self.senders.insert(place, lane);
            }
        }
    }

    #[inline]
    fn keep(&mut self, new: Slot) -> u32 {
        let free = self.free;
        let Some(slot) = self.slots.get_mut(free as usize) else { return self.keep_beside(new) };
        self.free = slot.next;
        *slot = new;
        free
    }

    #[cold]
    fn keep_beside(&mut self, new: Slot) -> u32 {
        if self.slots.capacity() == 0 {
            // Of many processes, most never have more.
            self.slots.reserve_exact(2);
        }
        let slot = u32::try_from(self.slots.len()).expect("fewer than 2^32 messages are open");
        self.slots.push(new);
        slot
    }

    #[inline]
    fn forget(&mut self, slot: u32) {
        let free = std::mem::replace(&mut self.free, slot);
        self.slot_mut(slot).next = free;
    }

    /// A message has come, when so many receives were posted; answers whether it was still to come.
    #[inline]
    pub(super) fn arrive(&mut self, id: MessageId, posts: u32) -> bool {
        let Ok(place) = self.place(id.process) else { return false };
        let coming = self.senders[place].coming;
        let Some(slot) = self.find_from(coming, id.serial) else { return false };
        let found = self.slot_mut(slot);
        if found.message.stage != Stage::Sent {
            return false;
        }
        found.message.stage = Stage::Arrived { posts };
        if slot == coming {
            self.senders[place].coming = found.next;
        }
        true
    }

    #[inline]
    fn find_from(&self, mut slot: u32, serial: u32) -> Option<u32> {
        loop {
            let one = self.slots.get(slot as usize)?;
            if one.serial == serial {
                return Some(slot);
            }
            slot = one.next;
        }
    }

    /// The oldest message of a sender, with its serial number, and the place of the sender.
    #[inline]
    pub(super) fn oldest_of(&self, sender: u32) -> Option<(usize, u32, &Message)> {
        let place = self.place(sender).ok()?;
        let slot = self.slot(self.senders[place].first);
        Some((place, slot.serial, &slot.message))
    }

    /// Takes out the oldest message of the sender at a place.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is part of the match of a message in order")]
    pub(super) fn take_oldest(&mut self, place: usize) {
        let slot = self.senders[place].first;
        let next = self.slot(slot).next;
        let lane = &mut self.senders[place];
        lane.first = next;
        if lane.coming == slot {
            lane.coming = next;
        }
        if next == NONE {
            self.senders.remove(place);
        }
        self.forget(slot);
    }

    /// Takes out an unmatched message; answers whether it was here.
    pub(super) fn remove(&mut self, id: MessageId) -> bool {
        let Ok(place) = self.place(id.process) else { return false };
        let Lane { first, last, .. } = self.senders[place];
        if self.slot(first).serial == id.serial {
            self.take_oldest(place);
            return true;
        }
        let mut before = first;
        while self.slot(before).next != NONE {
            let slot = self.slot(before).next;
            let Slot { serial, next, .. } = *self.slot(slot);
            if serial != id.serial {
                before = slot;
                continue;
            }
            self.slot_mut(before).next = next;
            let lane = &mut self.senders[place];
            if last == slot {
                lane.last = before;
            }
            if lane.coming == slot {
                lane.coming = next;
            }
            self.forget(slot);
            return true;
        }
        false
    }

    /// The unmatched messages of a sender, oldest first.
    pub(super) fn of(&self, sender: u32) -> impl Iterator<Item = (u32, &Message)> {
        self.from(self.place(sender).map_or(NONE, |place| self.senders[place].first))
    }

    /// A message from a slot on.
    fn from(&self, first: u32) -> impl Iterator<Item = (u32, &Message)> {
        let slot = |slot: u32| self.slots.get(slot as usize);
        let all = std::iter::successors(slot(first), move |one| slot(one.next));
        all.map(|one| (one.serial, &one.message))
    }

    /// An unmatched message.
    pub(super) fn find(&self, id: MessageId) -> Option<&Message> {
        self.of(id.process).find(|(serial, _)| *serial == id.serial).map(|(_, message)| message)
    }

    /// The oldest unmatched message of each sender that has one.
    pub(super) fn oldest(&self) -> impl Iterator<Item = (u32, &Message)> {
        self.senders.iter().map(|lane| (lane.sender, &self.slot(lane.first).message))
    }

    /// All messages.
    pub(super) fn iter(&self) -> impl Iterator<Item = (MessageId, &Message)> {
        self.senders.iter().flat_map(|lane| {
            let name = |serial| MessageId { process: lane.sender, serial };
            self.from(lane.first).map(move |(serial, message)| (name(serial), message))
        })
    }

    /// Something made of the oldest message of a sender, or of the first one.
    pub(super) fn touch(&self, sender: Option<u32>) -> u32 {
        let oldest = sender.map_or_else(
            || self.senders.first().map(|lane| self.slot(lane.first).serial),
            |sender| self.oldest_of(sender).map(|(_, serial, _)| serial),
        );
        oldest.unwrap_or(self.free)
    }
}

/// Which slots the messages have is no part of the state.
impl PartialEq for Lanes {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Lanes {}

impl Hash for Lanes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.senders.len().hash(state);
        for lane in &self.senders {
            lane.sender.hash(state);
            self.from(lane.first).count().hash(state);
            self.from(lane.first).for_each(|one| one.hash(state));
        }
    }
}
