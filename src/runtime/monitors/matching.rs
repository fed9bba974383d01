//! M1 to M6 and M8: who is matched with whom.
//!
//! The monitor keeps its own, naive picture of open messages and posted receives, and judges each
//! match by the definition; it never asks the library's queues. A message that is matched in
//! order costs constant time; one that is taken out of order costs the messages (or receives)
//! that it passed.
//!
//! ```text
//!   Sent ─▶ lane of receiver and sender ─Arrived, Matched─▶ receive that took it ─Received─▶ gone
//! ```
//!
//! Most messages are the oldest of their sender to a rank of a communicator, and are matched by the earliest
//! receive of that rank, which names the sender: then nothing can have been passed over, and one comparison of
//! envelope and selection is the whole judgement. Every other case is judged from the same state by the definition.

mod lanes;
mod lists;
mod matched;
mod messages;
mod ready;
mod receives;
mod serials;

use super::law::{Monitor, Sometimes, Violation};
use super::system::NEVER_RECEIVED;
use collectives::Kind;
use lanes::Lanes;
use matched::{Match, Matched};
use messages::{Message, Stage};
use mpi::envelope::{Envelope, Selection};
use mpi::observation::{MessageId, Observation, ReceiveId};
use protocols::contract::Process;
use receives::{Posted, Receives};
use serials::Serials;

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
    processes: Vec<Own>,
    /// Ready sends, and the receives that they may meet.
    ready: ready::Ready,
    /// Branches that were reached.
    pub sometimes: Sometimes,
}

/// Messages and receives of one process.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Own {
    sent: Serials,
    /// How many receives it has posted.
    posts: u32,
    /// Unmatched messages for it.
    lanes: Lanes,
    /// Unmatched receives.
    posted: Receives,
    /// Receives from their match to their end.
    matched: Matched,
}

/// A message that is not received yet, and its receiver.
#[derive(Clone, Copy)]
enum Open {
    Unmatched(u32, Stage),
    Matched(u32),
}

impl Own {
    /// Settles the match of the oldest message of its sender to a rank by the earliest receive there, where that
    /// names the sender: nothing could have been passed over. Answers how many receives were posted when
    /// the message came, and whether the receive is the earliest of all, or `None` where it is another case; it
    /// `comes` now, or came before.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "each of two callers knows what `comes` is")]
    fn match_in_order(
        &mut self,
        id: MessageId,
        receive: ReceiveId,
        comes: bool,
    ) -> Option<(u32, bool)> {
        let (queue, &posted) = self.posted.earliest(receive.serial)?;
        let (place, serial, message) =
            self.lanes.oldest_of(id.process, (posted.selection.context, posted.selection.dest))?;
        let posts = match message.stage {
            Stage::Sent if comes => self.posts,
            Stage::Arrived { posts } if !comes => posts,
            Stage::Sent | Stage::Arrived { .. } => return None,
        };
        let in_order = serial == id.serial
            && posted.selection.source.is_some()
            && message.envelope.matches(&posted.selection);
        if !in_order {
            return None;
        }
        let matched = Match { message: id, room: posted.bytes, bytes: message.bytes };
        self.matched.insert(receive.serial, matched);
        let is_first = self.posted.is_earliest_of_all(queue);
        self.posted.take_earliest(queue);
        self.lanes.take_oldest(place);
        Some((posts, is_first))
    }
}

impl Matching {
    /// The monitor of a run of `processes` processes.
    pub fn new(processes: usize) -> Self {
        Self {
            processes: vec![Own::default(); processes],
            ready: ready::Ready::default(),
            sometimes: Sometimes::default(),
        }
    }

    /// Reads what the next facts of a process will change, where it has a message of `sender`: see
    /// `runtime::timed`.
    pub(crate) fn touch(&self, process: Process, sender: Option<Process>) -> u64 {
        let own = self.own(process.0);
        let posted = own.posted.touch();
        let lane = own.lanes.touch(sender.map(|sender| sender.0));
        u64::from(own.matched.touch() ^ posted ^ lane ^ own.posts)
    }

    #[inline]
    fn own(&self, process: u32) -> &Own {
        &self.processes[process as usize]
    }

    #[inline]
    fn own_mut(&mut self, process: u32) -> &mut Own {
        &mut self.processes[process as usize]
    }

    /// A message was sent to a process.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a run calls it in one place")]
    pub(super) fn sent(
        &mut self,
        id: MessageId,
        (to, envelope, bytes): (u32, Envelope, u64),
        found: &mut Vec<Violation>,
    ) {
        let twice = !self.own_mut(id.process).sent.is_next(id.serial) && self.sent_before(id);
        let message = Message { envelope, bytes, stage: Stage::Sent };
        self.own_mut(to).lanes.append(id, message);
        if twice {
            found.push(broken("M4", M4, &[name(id)], "it was sent twice".into()));
        }
    }

    /// Whether a message that is sent is open already; then it is unmatched no more.
    #[inline(never)]
    fn sent_before(&mut self, id: MessageId) -> bool {
        if self.own_mut(id.process).sent.is_new(id.serial) {
            return false;
        }
        let open = self.open(id);
        if let Some(Open::Unmatched(to, _)) = open {
            self.own_mut(to).lanes.remove(id);
        }
        open.is_some()
    }

    /// A receive was posted.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a run calls it in one place")]
    pub(super) fn posted(&mut self, receive: ReceiveId, selection: Selection, bytes: u64) {
        let own = self.own_mut(receive.process);
        own.posted.append(receive.serial, Posted { selection, bytes });
        own.posts = receive.serial + 1;
    }

    /// A message has come to a process, and was matched at once where a receive took it.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a run calls it in one place")]
    pub(super) fn arrived(
        &mut self,
        process: Process,
        id: MessageId,
        taken_by: Option<ReceiveId>,
        found: &mut Vec<Violation>,
    ) {
        if let Some(receive) = taken_by
            && receive.process == process.0
            && let Some(posts) = self.own_mut(process.0).match_in_order(id, receive, true)
        {
            self.in_order(receive, posts);
        } else {
            self.arrived_otherwise(process, id, taken_by, found);
        }
    }

    #[inline(never)]
    fn arrived_otherwise(
        &mut self,
        process: Process,
        id: MessageId,
        taken_by: Option<ReceiveId>,
        found: &mut Vec<Violation>,
    ) {
        let own = self.own_mut(process.0);
        if !own.lanes.arrive(id, own.posts) {
            let detail = self.came_wrongly(process, id);
            found.push(broken("M4", M4, &[name(id)], detail));
        }
        if let Some(receive) = taken_by {
            found.extend(self.judge_match(id, receive));
        }
    }

    #[cold]
    fn came_wrongly(&self, Process(process): Process, id: MessageId) -> String {
        match self.open(id) {
            None => "it arrived, but was not sent or is received already".into(),
            Some(Open::Unmatched(to, _) | Open::Matched(to)) if to != process => {
                format!("it was sent to process {to} and arrived at process {process}")
            }
            Some(Open::Unmatched(..) | Open::Matched(_)) => "it arrived twice".into(),
        }
    }

    /// A message that is not received yet: among those of all receivers.
    fn open(&self, id: MessageId) -> Option<Open> {
        let of = |(process, own): (u32, &Own)| {
            let unmatched = own.lanes.find(id).map(|one| Open::Unmatched(process, one.stage));
            let is_matched = || own.matched.iter().any(|matched| matched.message == id);
            unmatched.or_else(|| is_matched().then_some(Open::Matched(process)))
        };
        (0..).zip(&self.processes).find_map(of)
    }

    /// A message that had come before was matched.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a run calls it in one place")]
    pub(super) fn matched(
        &mut self,
        id: MessageId,
        receive: ReceiveId,
        found: &mut Vec<Violation>,
    ) {
        if let Some(posts) = self.own_mut(receive.process).match_in_order(id, receive, false) {
            self.in_order(receive, posts);
        } else {
            found.extend(self.judge_match(id, receive));
        }
    }

    /// A match was in order: see [`Own::match_in_order`].
    #[inline]
    fn in_order(&mut self, receive: ReceiveId, (posts, is_first): (u32, bool)) {
        self.sometimes.unexpected += u64::from(posts <= receive.serial);
        self.sometimes.posted_skipped += u64::from(!is_first);
    }

    #[inline(never)]
    fn judge_match(&mut self, id: MessageId, receive: ReceiveId) -> Option<Violation> {
        let (message, posted) = match self.open_pair(id, receive) {
            Ok(pair) => pair,
            Err(detail) => return Some(broken("M4", M4, &[name(id), named(receive)], detail)),
        };
        let verdict = self.judge(id, &message, receive, &posted.selection);
        self.settle((id, &message), receive, &posted);
        verdict
    }

    /// The message and the receive, where both are open.
    fn open_pair(&self, id: MessageId, receive: ReceiveId) -> Result<(Message, Posted), String> {
        let own = self.own(receive.process);
        let message = match own.lanes.find(id) {
            Some(message) if message.stage != Stage::Sent => *message,
            _ => return Err(self.matched_wrongly(id)),
        };
        let posted = own.posted.find(receive.serial).copied();
        Ok((message, posted.ok_or("no such receive is open")?))
    }

    /// Why a message cannot be matched by a receive of a process for which it has not come.
    #[cold]
    fn matched_wrongly(&self, id: MessageId) -> String {
        match self.open(id) {
            None => "no such message is open".into(),
            Some(Open::Unmatched(_, Stage::Sent)) => "it is matched before it arrived".into(),
            Some(Open::Matched(_)) => "it is matched a second time".into(),
            Some(Open::Unmatched(to, Stage::Arrived { .. })) => {
                format!("it was sent to process {to}")
            }
        }
    }

    fn judge(
        &mut self,
        id: MessageId,
        message: &Message,
        receive: ReceiveId,
        selection: &Selection,
    ) -> Option<Violation> {
        let posted = &self.processes[receive.process as usize].posted;
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
        if !message.envelope.matches(selection) {
            let detail = format!("a message {} does not satisfy {selection}", message.envelope);
            return Some(broken("M2", M2, &objects(), detail));
        }
        self.sometimes.posted_skipped += u64::from(posted.is_behind_another(receive.serial));
        let mut earlier = posted
            .of((selection.context, selection.dest))
            .take_while(|(serial, _)| *serial != receive.serial);
        if let Some((serial, _)) =
            earlier.find(|(_, earlier)| message.envelope.matches(&earlier.selection))
        {
            let earlier = named(ReceiveId { process: receive.process, serial });
            return Some(broken("M2", M2, &objects(), format!("{earlier} was posted earlier")));
        }
        if matches!(message.stage, Stage::Arrived { posts } if posts <= receive.serial) {
            self.sometimes.unexpected += 1;
        }
        if selection.source.is_none() {
            self.sometimes.wildcard_races += u64::from(self.races(id, receive.process, selection));
        }
        let overtaken = self.overtaken(id, message, receive.process, selection)?;
        let detail = format!("{} was sent earlier and is still unmatched", name(overtaken));
        let (law, statement) = if selection.source.is_none() { ("M3", M3) } else { ("M1", M1) };
        Some(broken(law, statement, &objects(), detail))
    }

    /// An unmatched message that was sent before this one, to the same process, from the same
    /// rank, and satisfies the same receive.
    fn overtaken(
        &self,
        id: MessageId,
        message: &Message,
        to: u32,
        selection: &Selection,
    ) -> Option<MessageId> {
        let rank = (selection.context, selection.dest);
        let lane = self.own(to).lanes.of(id.process, rank);
        lane.take_while(|(serial, _)| *serial != id.serial).find_map(|(serial, earlier)| {
            let same_order = earlier.envelope.source == message.envelope.source;
            let overtaken = same_order && earlier.envelope.matches(selection);
            overtaken.then_some(MessageId { process: id.process, serial })
        })
    }

    /// Whether the oldest open message of another process could be taken as well.
    fn races(&self, id: MessageId, to: u32, selection: &Selection) -> bool {
        let mut oldest = self.own(to).lanes.oldest();
        oldest.any(|(from, message)| from != id.process && message.envelope.matches(selection))
    }

    fn settle(
        &mut self,
        (id, message): (MessageId, &Message),
        receive: ReceiveId,
        posted: &Posted,
    ) {
        let own = self.own_mut(receive.process);
        let matched = Match { message: id, room: posted.bytes, bytes: message.bytes };
        own.matched.insert(receive.serial, matched);
        own.posted.remove(receive.serial);
        own.lanes.remove(id);
    }

    /// A receive was cancelled.
    #[inline(never)]
    pub(super) fn cancelled(&mut self, receive: ReceiveId, found: &mut Vec<Violation>) {
        if self.own_mut(receive.process).posted.remove(receive.serial) {
            return;
        }
        let detail = "it is cancelled, but was not open".into();
        found.push(broken("M4", M4, &[named(receive)], detail));
    }

    /// A receive is complete: with so many bytes, and truncated or not.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a run calls it in one place")]
    pub(super) fn received(
        &mut self,
        receive: ReceiveId,
        id: MessageId,
        (bytes, truncated): (u64, bool),
        found: &mut Vec<Violation>,
    ) {
        let matched = self.own_mut(receive.process).matched.remove(receive.serial);
        let Some(Match { room, bytes: sent, .. }) = matched.filter(|matched| matched.message == id)
        else {
            return found.push(received_wrongly(receive, id, matched));
        };
        self.sometimes.truncated += u64::from(truncated);
        let room = if room == UNKNOWN_CAPACITY { bytes } else { room };
        if bytes != sent.min(room) || truncated != (sent > room) {
            found.push(cut_wrongly((receive, id), (sent, room), (bytes, truncated)));
        }
    }
}

#[cold]
fn received_wrongly(receive: ReceiveId, id: MessageId, matched: Option<Match>) -> Violation {
    let other = matched.map_or_else(|| "nothing".to_owned(), |matched| name(matched.message));
    let detail = format!("received without a match; it was matched with {other}");
    broken("M4", M4, &[name(id), named(receive)], detail)
}

/// A message of `sent` bytes is received where there is room for `room` bytes, and not reported so.
#[cold]
fn cut_wrongly(
    (receive, id): (ReceiveId, MessageId),
    (sent, room): (u64, u64),
    (bytes, truncated): (u64, bool),
) -> Violation {
    let said = if truncated { "truncated" } else { "whole" };
    let detail = format!("of {sent} B, room for {room} B: {bytes} B reported as {said}");
    broken("M8", M8, &[name(id), named(receive)], detail)
}

impl Monitor for Matching {
    fn observe(&mut self, process: Process, fact: &Observation, found: &mut Vec<Violation>) {
        match *fact {
            Observation::Sent { message, envelope, to, bytes, .. } => {
                self.sent(message, (to, envelope, bytes), found);
            }
            Observation::Posted { receive, selection, bytes } => {
                self.posted(receive, selection, bytes);
            }
            Observation::Arrived { message, taken_by } => {
                self.arrived(process, message, taken_by, found);
            }
            Observation::Matched { message, receive } => self.matched(message, receive, found),
            Observation::Cancelled { receive } => self.cancelled(receive, found),
            Observation::Received { receive, message, bytes, truncated } => {
                self.received(receive, message, (bytes, truncated), found);
            }
            Observation::SendComplete { .. }
            | Observation::Moved { .. }
            | Observation::LockQueued { .. }
            | Observation::LockWaits { .. }
            | Observation::LockEntered { .. }
            | Observation::LockLeft { .. }
            | Observation::Group(_)
            | Observation::Failed(_)
            | Observation::Window(..) => {}
        }
    }

    fn end(&mut self, undelivered: u64, found: &mut Vec<Violation>) {
        let lost = (0u32..).zip(&self.processes).flat_map(|(to, own)| {
            let lost = own.lanes.iter().filter(|(_, message)| message.stage == Stage::Sent);
            lost.map(move |(id, message)| (id, to, message))
        });
        let mut lost: Vec<(MessageId, u32, &Message)> = lost.collect();
        lost.sort_unstable_by_key(|(id, ..)| *id);
        if lost.len() as u64 > undelivered {
            let detail = format!("sent, never arrived, and {undelivered} packets are under way");
            let object = |(id, to, message): &(MessageId, u32, &Message)| {
                format!("{} (tag {}, to process {to})", name(*id), message.envelope.tag)
            };
            let lost: Vec<String> = lost.iter().map(object).collect();
            return found.push(broken("M4", M4, &lost, detail));
        }
        found.extend(lost.into_iter().map(|(id, _, message)| {
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
