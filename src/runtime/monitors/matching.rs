//! M1 to M6 and M8: who is matched with whom.
//!
//! The monitor keeps its own, naive picture of open messages and posted receives, and judges each
//! match by the definition; it never asks the library's queues. A message that is matched in
//! order costs constant time; one that is taken out of order costs the messages (or receives)
//! that it passed.

mod lanes;
mod messages;
mod ready;

use std::collections::VecDeque;

use super::law::{Monitor, Sometimes, Violation};
use super::system::NEVER_RECEIVED;
use collectives::Kind;
use lanes::Lanes;
use messages::{Message, Ring, Stage};
use mpi::envelope::Selection;
use mpi::observation::{MessageId, Observation, ReceiveId};
use protocols::contract::Process;

const M1: &str = "of two messages that a receive could take, the one sent first is matched first";
const M2: &str = "of all posted receives that a message satisfies, the earliest gets it";
const M3: &str = "a wildcard takes the messages of each sender in the order they were sent";
const M4: &str = "each message is matched exactly once; none is lost or duplicated";
const M5: &str = "no match across contexts";
const M6: &str = "a message is matched by a receive of the rank that it is for";
const M8: &str = "a receive shorter than its message is truncated and says so, and no other does";

/// The capacity of a matched probe, which does not know its buffer yet.
pub const UNKNOWN_CAPACITY: u64 = u64::MAX;

/// Messages and receives that are still open.
#[derive(Clone, Debug, Eq, Hash, PartialEq)]
pub struct Matching {
    /// Messages by sending process, until they are received.
    messages: Vec<Ring<Message>>,
    /// Unmatched messages, oldest first, by receiving process and sending process.
    lanes: Vec<Lanes>,
    /// How many receives each process has posted.
    posts: Vec<u32>,
    /// Unmatched receives by process, earliest first.
    posted: Vec<VecDeque<Posted>>,
    /// Receives by process, from their match to their end.
    matched: Vec<Ring<(MessageId, u64)>>,
    /// Ready sends, and the receives that they may meet.
    ready: ready::Ready,
    /// Branches that were reached.
    pub sometimes: Sometimes,
}

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
struct Posted {
    serial: u32,
    selection: Selection,
    bytes: u64,
}

impl Matching {
    /// The monitor of a run of `processes` processes.
    pub fn new(processes: usize) -> Self {
        Self {
            messages: vec![Ring::default(); processes],
            lanes: vec![Lanes::default(); processes],
            posts: vec![0; processes],
            posted: vec![VecDeque::new(); processes],
            matched: vec![Ring::default(); processes],
            ready: ready::Ready::default(),
            sometimes: Sometimes::default(),
        }
    }

    /// Reads what the next facts of a process will change: see `runtime::timed`.
    pub(crate) fn touch(&self, process: Process) -> u64 {
        let sent = self.touch_sent(process);
        let process = process.0 as usize;
        let matched = self.matched[process].touch(|(message, _)| message.serial);
        let posted = self.posted[process].front().map_or(0, |posted| posted.serial);
        let lane = self.lanes[process].oldest().next().map_or(0, |(sender, _)| sender);
        sent ^ u64::from(matched ^ posted ^ lane ^ self.posts[process])
    }

    /// The same of the messages that a process has sent.
    pub(crate) fn touch_sent(&self, process: Process) -> u64 {
        u64::from(self.messages[process.0 as usize].touch(|message| message.to))
    }

    fn sent(&mut self, message: MessageId, new: Message) -> Option<Violation> {
        let messages = &mut self.messages[message.process as usize];
        let before = messages.get(message.serial).copied();
        if let Some(before) = before.filter(|before| before.state != Stage::Matched) {
            self.lanes[before.to as usize].remove(message, messages);
        }
        let told_before = !messages.insert(message.serial, new);
        self.lanes[new.to as usize].append(message, messages);
        told_before.then(|| broken("M4", M4, &[name(message)], "it was sent twice".into()))
    }

    fn arrived(&mut self, process: Process, id: MessageId) -> Option<Violation> {
        let detail = match self.messages[id.process as usize].at(id.serial) {
            None => "it arrived, but was not sent or is received already".into(),
            Some(message) if message.to != process.0 => {
                format!(
                    "it was sent to process {} and arrived at process {}",
                    message.to, process.0
                )
            }
            Some(message) if message.state != Stage::Sent => "it arrived twice".into(),
            Some(message) => {
                message.state = Stage::Arrived { posts: self.posts[process.0 as usize] };
                return None;
            }
        };
        Some(broken("M4", M4, &[name(id)], detail))
    }

    /// Settles the match of the oldest message of its sender by the earliest receive, where that
    /// names the sender: nothing could have been passed over. Answers whether it was one.
    fn match_in_order(&mut self, id: MessageId, receive: ReceiveId) -> bool {
        let queue = &mut self.posted[receive.process as usize];
        let lanes = &mut self.lanes[receive.process as usize];
        let messages = &mut self.messages[id.process as usize];
        let (Some(posted), Some(message)) = (queue.front(), messages.at(id.serial)) else {
            return false;
        };
        let Stage::Arrived { posts } = message.state else { return false };
        let in_order = posted.serial == receive.serial
            && message.to == receive.process
            && posted.selection.source.is_some()
            && message.envelope.matches(&posted.selection);
        if !in_order || !lanes.take_first(id, message) {
            return false;
        }
        message.state = Stage::Matched;
        self.sometimes.unexpected += u64::from(posts <= receive.serial);
        self.matched[receive.process as usize].insert(receive.serial, (id, posted.bytes));
        queue.pop_front();
        true
    }

    fn match_up(&mut self, id: MessageId, receive: ReceiveId) -> Option<Violation> {
        if self.match_in_order(id, receive) {
            return None;
        }
        let (message, place) = match self.open_pair(id, receive) {
            Ok(pair) => pair,
            Err(detail) => return Some(broken("M4", M4, &[name(id), named(receive)], detail)),
        };
        let verdict = self.judge(id, &message, receive, place);
        self.settle(id, receive, place);
        verdict
    }

    /// The message and the place of the receive among the posted ones, where both are open.
    fn open_pair(&mut self, id: MessageId, receive: ReceiveId) -> Result<(Message, usize), String> {
        let message = self.messages[id.process as usize].at(id.serial).copied();
        let message = message.ok_or("no such message is open")?;
        match message.state {
            Stage::Sent => return Err("it is matched before it arrived".into()),
            Stage::Matched => return Err("it is matched a second time".into()),
            Stage::Arrived { .. } if message.to != receive.process => {
                return Err(format!("it was sent to process {}", message.to));
            }
            Stage::Arrived { .. } => {}
        }
        let mut posted = self.posted[receive.process as usize].iter();
        let place = posted.position(|posted| posted.serial == receive.serial);
        Ok((message, place.ok_or("no such receive is open")?))
    }

    fn judge(
        &mut self,
        id: MessageId,
        message: &Message,
        receive: ReceiveId,
        place: usize,
    ) -> Option<Violation> {
        let posted = &self.posted[receive.process as usize];
        let selection = posted[place].selection;
        let objects = || [name(id), named(receive)];
        if selection.context != message.envelope.context {
            let (sent, wanted) = (message.envelope.context.0, selection.context.0);
            let detail = format!("sent in context {sent}, received in context {wanted}");
            return Some(broken("M5", M5, &objects(), detail));
        }
        if selection.dest != message.envelope.dest {
            let (sent, own) = (message.envelope.dest.0, selection.dest.0);
            let detail = format!("it was sent to rank {sent} and received by rank {own}");
            return Some(broken("M6", M6, &objects(), detail));
        }
        if !message.envelope.matches(&selection) {
            let detail = format!("a message {} does not satisfy {selection}", message.envelope);
            return Some(broken("M2", M2, &objects(), detail));
        }
        self.sometimes.posted_skipped += u64::from(place > 0);
        if let Some(earlier) =
            posted.iter().take(place).find(|earlier| message.envelope.matches(&earlier.selection))
        {
            let serial = earlier.serial;
            let earlier = named(ReceiveId { process: receive.process, serial });
            return Some(broken("M2", M2, &objects(), format!("{earlier} was posted earlier")));
        }
        if matches!(message.state, Stage::Arrived { posts } if posts <= receive.serial) {
            self.sometimes.unexpected += 1;
        }
        if selection.source.is_none() {
            self.sometimes.wildcard_races += u64::from(self.races(id, receive.process, &selection));
        }
        let overtaken = self.overtaken(id, message, &selection)?;
        let detail = format!("{} was sent earlier and is still unmatched", name(overtaken));
        let (law, statement) = if selection.source.is_none() { ("M3", M3) } else { ("M1", M1) };
        Some(broken(law, statement, &objects(), detail))
    }

    /// An unmatched message that was sent before this one, to the same process, from the same
    /// rank, and satisfies the same receive.
    fn overtaken(
        &mut self,
        id: MessageId,
        message: &Message,
        selection: &Selection,
    ) -> Option<MessageId> {
        let messages = &self.messages[id.process as usize];
        let lane = self.lanes[message.to as usize].serials(id.process, messages);
        lane.take_while(|&serial| serial != id.serial).find_map(|serial| {
            let earlier = messages.get(serial)?;
            let same_order = earlier.envelope.source == message.envelope.source;
            let overtaken = same_order && earlier.envelope.matches(selection);
            overtaken.then_some(MessageId { process: id.process, serial })
        })
    }

    /// Whether the oldest open message of another process could be taken as well.
    fn races(&self, id: MessageId, to: u32, selection: &Selection) -> bool {
        self.lanes[to as usize].oldest().any(|(from, serial)| {
            let oldest = self.messages[from as usize].get(serial);
            from != id.process && oldest.is_some_and(|message| message.envelope.matches(selection))
        })
    }

    fn settle(&mut self, id: MessageId, receive: ReceiveId, place: usize) {
        let posted = self.posted[receive.process as usize].remove(place);
        let capacity = posted.expect("its place was found in this queue").bytes;
        self.matched[receive.process as usize].insert(receive.serial, (id, capacity));
        let messages = &mut self.messages[id.process as usize];
        self.lanes[receive.process as usize].remove(id, messages);
        if let Some(message) = messages.at(id.serial) {
            message.state = Stage::Matched;
        }
    }

    fn cancelled(&mut self, receive: ReceiveId) -> Option<Violation> {
        let posted = &mut self.posted[receive.process as usize];
        let place = posted.iter().position(|posted| posted.serial == receive.serial);
        if let Some(place) = place {
            posted.remove(place);
            return None;
        }
        Some(broken("M4", M4, &[named(receive)], "it is cancelled, but was not open".into()))
    }

    fn received(
        &mut self,
        receive: ReceiveId,
        id: MessageId,
        bytes: u64,
        truncated: bool,
    ) -> Option<Violation> {
        let objects = || [name(id), named(receive)];
        let matched = self.matched[receive.process as usize].remove(receive.serial);
        let Some((_, capacity)) = matched.filter(|(matched, _)| *matched == id) else {
            let other = matched.map_or_else(|| "nothing".to_owned(), |(other, _)| name(other));
            let detail = format!("received without a match; it was matched with {other}");
            return Some(broken("M4", M4, &objects(), detail));
        };
        let message = self.messages[id.process as usize].remove(id.serial)?;
        self.sometimes.truncated += u64::from(truncated);
        let room = if capacity == UNKNOWN_CAPACITY { bytes } else { capacity };
        let right = bytes == message.bytes.min(room) && truncated == (message.bytes > room);
        (!right).then(|| {
            let said = if truncated { "truncated" } else { "whole" };
            let sent = message.bytes;
            let detail = format!("of {sent} B, room for {room} B: {bytes} B reported as {said}");
            broken("M8", M8, &objects(), detail)
        })
    }
}

impl Monitor for Matching {
    fn observe(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        let violation = match *fact {
            Observation::Sent { message, envelope, to, bytes, .. } => {
                self.sent(message, Message { envelope, to, next: 0, bytes, state: Stage::Sent })
            }
            Observation::Posted { receive, selection, bytes } => {
                let posted = Posted { serial: receive.serial, selection, bytes };
                self.posted[receive.process as usize].push_back(posted);
                self.posts[receive.process as usize] = receive.serial + 1;
                None
            }
            Observation::Arrived { message, taken_by } => {
                let arrived = self.arrived(process, message);
                if arrived.is_some() {
                    found.extend(arrived);
                }
                taken_by.and_then(|receive| self.match_up(message, receive))
            }
            Observation::Matched { message, receive } => self.match_up(message, receive),
            Observation::Cancelled { receive } => self.cancelled(receive),
            Observation::Received { receive, message, bytes, truncated } => {
                self.received(receive, message, bytes, truncated)
            }
            Observation::SendComplete { .. }
            | Observation::Moved { .. }
            | Observation::LockQueued { .. }
            | Observation::LockWaits { .. }
            | Observation::LockEntered { .. }
            | Observation::LockLeft { .. }
            | Observation::Group(_)
            | Observation::Failed(_)
            | Observation::Window(..) => None,
        };
        if let Some(violation) = violation {
            found.push(violation);
        }
    }

    fn end(&mut self, undelivered: u64, found: &mut Vec<Violation>) {
        let lost = (0u32..).zip(&self.messages).flat_map(|(process, ring)| {
            let lost = ring.iter().filter(|(_, message)| message.state == Stage::Sent);
            lost.map(move |(serial, message)| (MessageId { process, serial }, message))
        });
        let lost: Vec<(MessageId, &Message)> = lost.collect();
        if lost.len() as u64 > undelivered {
            let detail = format!("sent, never arrived, and {undelivered} packets are under way");
            let object = |(id, message): &(MessageId, &Message)| {
                format!("{} (tag {}, to process {})", name(*id), message.envelope.tag, message.to)
            };
            let lost: Vec<String> = lost.iter().map(object).collect();
            return found.push(broken("M4", M4, &lost, detail));
        }
        found.extend(lost.into_iter().map(|(id, message)| {
            let Message { envelope, bytes, .. } = *message;
            let detail = envelope.never_received(bytes, Kind::function_of(envelope));
            broken("S4", NEVER_RECEIVED, &[name(id)], detail)
        }));
    }
}

fn broken(
    id: &'static str,
    statement: &'static str,
    objects: &[String],
    detail: String,
) -> Violation {
    Violation { id, statement, objects: objects.to_vec(), detail }
}

fn name(message: MessageId) -> String {
    format!("message {} of process {}", message.serial, message.process)
}

fn named(receive: ReceiveId) -> String {
    format!("receive {} of process {}", receive.serial, receive.process)
}

#[cfg(test)]
mod tests;
