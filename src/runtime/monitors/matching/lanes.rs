//! Unmatched messages of one receiver: a list for each sender that has any, oldest first.
//!
//! Lists are linked through the messages themselves, and a list that is empty is gone: a process that
//! hears of many others over time holds few at once.

use super::messages::{Message, Ring};
use mpi::observation::MessageId;

/// The lists of one receiver, in the order of senders.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Lanes(Vec<Lane>);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Lane {
    sender: u32,
    first: u32,
    last: u32,
}

impl Lanes {
    fn place(&self, sender: u32) -> Result<usize, usize> {
        self.0.binary_search_by_key(&sender, |lane| lane.sender)
    }

    /// A message was sent: it is the newest of its sender.
    pub(super) fn append(&mut self, id: MessageId, messages: &mut Ring<Message>) {
        match self.place(id.process) {
            Ok(place) => {
                let last = std::mem::replace(&mut self.0[place].last, id.serial);
                link(messages, last, id.serial);
            }
            Err(place) => {
                let (sender, serial) = (id.process, id.serial);
                self.0.insert(place, Lane { sender, first: serial, last: serial });
            }
        }
    }

    /// Takes a message out if it is the oldest of its sender; answers whether it was.
    pub(super) fn take_first(&mut self, id: MessageId, message: &mut Message) -> bool {
        let Ok(place) = self.place(id.process) else { return false };
        let lane = &mut self.0[place];
        if lane.first != id.serial {
            return false;
        }
        if lane.first == lane.last {
            self.0.remove(place);
        } else {
            lane.first = std::mem::take(&mut message.next);
        }
        true
    }

    /// Takes an unmatched message out.
    pub(super) fn remove(&mut self, id: MessageId, messages: &mut Ring<Message>) {
        let before = self.serials(id.process, messages).take_while(|&serial| serial != id.serial);
        let before = before.last();
        let message = messages.at(id.serial).expect("an unmatched message is open");
        let Some(before) = before else {
            let first = self.take_first(id, message);
            assert!(first, "an unmatched message is in the lane of its pair");
            return;
        };
        let next = std::mem::take(&mut message.next);
        let place = self.place(id.process).expect("a message before it is in the lane");
        if self.0[place].last == id.serial {
            self.0[place].last = before;
        }
        link(messages, before, next);
    }

    /// The unmatched messages of a sender, oldest first.
    pub(super) fn serials<'a>(
        &self,
        sender: u32,
        messages: &'a Ring<Message>,
    ) -> impl Iterator<Item = u32> + 'a {
        let lane = self.place(sender).ok().map(|place| self.0[place]);
        std::iter::successors(lane.map(|lane| lane.first), move |&serial| {
            let ends = lane.is_none_or(|lane| lane.last == serial);
            (!ends).then(|| messages.get(serial).map(|message| message.next)).flatten()
        })
    }

    /// The oldest unmatched message of each sender that has one.
    pub(super) fn oldest(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.0.iter().map(|lane| (lane.sender, lane.first))
    }
}

fn link(messages: &mut Ring<Message>, from: u32, to: u32) {
    messages.at(from).expect("an unmatched message is open").next = to;
}
