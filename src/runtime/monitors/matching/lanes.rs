//! The unmatched messages for one process, by sender and by the communicator and rank that they are for, each
//! list in the order in which its messages were sent.
//!
//! A receive names the communicator and its own rank: it can pass over no message of another list. Threads with
//! communicators or endpoints of their own mix their messages, and each list of theirs is in order.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::lists::Lists;
use super::messages::{Message, Stage};
use mpi::envelope::{Context, Rank};
use mpi::observation::MessageId;

/// A sender, and whom its messages are for.
type Key = (u32, Context, Rank);

/// The lists of one receiver, in the order of senders.
#[derive(Clone, Debug, Default)]
pub(super) struct Lanes(Lists<Key, Message>);

/// All lists of a sender.
fn of(sender: u32) -> impl Fn(&Key) -> Ordering {
    move |key| key.0.cmp(&sender)
}

fn same_sender(one: &Key, other: &Key) -> bool {
    one.0 == other.0
}

impl Lanes {
    /// A message was sent: it is the newest of its sender.
    #[inline]
    pub(super) fn append(&mut self, id: MessageId, message: Message) {
        let key = (id.process, message.envelope.context, message.envelope.dest);
        self.0.append(key, id.serial, message);
    }

    /// A message has come, when so many receives were posted; answers whether it was still to come.
    #[inline]
    pub(super) fn arrive(&mut self, id: MessageId, posts: u32) -> bool {
        self.0.come(of(id.process), id.serial, |message| {
            let is_new = message.stage == Stage::Sent;
            if is_new {
                message.stage = Stage::Arrived { posts };
            }
            is_new
        })
    }

    /// The oldest message of a sender to a rank, with its serial number, and the place of the list.
    #[inline]
    pub(super) fn oldest_of(
        &self,
        sender: u32,
        (context, dest): (Context, Rank),
    ) -> Option<(usize, u32, &Message)> {
        self.0.first_of((sender, context, dest))
    }

    /// Takes out the oldest message of the list at a place.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "it is part of the match of a message in order")]
    pub(super) fn take_oldest(&mut self, place: usize) {
        self.0.take_first(place);
    }

    /// Takes out an unmatched message; answers whether it was here.
    pub(super) fn remove(&mut self, id: MessageId) -> bool {
        self.0.remove(of(id.process), id.serial)
    }

    /// The unmatched messages of a sender to a rank, oldest first.
    pub(super) fn of(
        &self,
        sender: u32,
        (context, dest): (Context, Rank),
    ) -> impl Iterator<Item = (u32, &Message)> {
        self.0.of((sender, context, dest))
    }

    /// An unmatched message.
    pub(super) fn find(&self, id: MessageId) -> Option<&Message> {
        self.0.find(of(id.process), id.serial)
    }

    /// The oldest unmatched message of each sender that has one.
    pub(super) fn oldest(&self) -> impl Iterator<Item = (u32, &Message)> {
        self.0.first_of_parts(same_sender).map(|((sender, ..), message)| (sender, message))
    }

    /// All messages, by sender.
    pub(super) fn iter(&self) -> impl Iterator<Item = (MessageId, &Message)> {
        self.0.parts(same_sender).flat_map(|((process, ..), messages)| {
            let name = move |serial| MessageId { process, serial };
            messages.into_iter().map(move |(serial, message)| (name(serial), message))
        })
    }

    /// Something made of the oldest message of a sender, or of the first one.
    pub(super) fn touch(&self, sender: Option<u32>) -> u32 {
        self.0.touch(|key| sender.is_none_or(|sender| key.0 == sender))
    }
}

/// In which lists and slots the messages of a sender lie is no part of the state.
impl PartialEq for Lanes {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Lanes {}

impl Hash for Lanes {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut senders = 0_u32;
        for ((sender, ..), messages) in self.0.parts(same_sender) {
            sender.hash(state);
            messages.hash(state);
            senders += 1;
        }
        senders.hash(state);
    }
}
