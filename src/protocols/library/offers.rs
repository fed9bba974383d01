//! Receives that are offered to their sender before the message is there (RTR).
//!
//! ```text
//!   receiver  posts, and no other receive could take the message ──RTR (buffer, seen)──▶ kept
//!   sender    sends: the first kept offer that selects the message ──▶ is taken
//!             sends: none does ──▶ `passed` counts it; offers under way are void at both sides
//! ```
//!
//! An offer names one posted receive. The sender must know that its message is the one that this
//! receive would be matched with, so that matching stays as it is without offers (V8):
//!
//! - only receives of one known source are offered; a wildcard could be matched elsewhere (V10);
//! - none is offered while an earlier posted receive that is not on offer could take its message;
//! - an offer that crossed a message without one is void. The sender sees that the receiver has not
//!   `seen` as many of those as were sent; the receiver sees from `heard`, which every message
//!   carries, how many of its offers were there when the message was sent.
//!
//! So both sides know the same offers at the same message. A small message uses up the offer that
//! selects it without filling it. A receive whose offer is void stays posted, and its message asks.
//!
//! Source: `coop` Sec. I-A (RTR, and that wildcards need extra care); the rules are ours.
//! Left out: taking an offer back. `MPI_Cancel` of a receive on offer is refused; one thread a process.

use std::collections::BTreeMap;

use super::requests::{Body, Choice, Request, received};
use super::{
    Action, Key, Library, LibraryAction, MessageHeader, Process, ProtocolError, Region, Route,
    Selection, Space, Thread, Via, push_walk,
};
use crate::call::{Comm, SendMode};
use crate::contract::{Emit, Step};
#[cfg(feature = "mutants")]
use crate::mutant::Mutant;
use crate::rendezvous::{Protocol, Receiving, RoleInput, Sending};
use crate::wire::{Offer, Word};
use mpi::envelope::{Envelope, Rank};
use mpi::observation::Observation;

/// The offers of one process, to others and of others.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
pub(super) struct Offers {
    pairs: BTreeMap<Process, Pair>,
}

/// The offers between this process and another one.
#[derive(Clone, Debug, Default, Eq, Hash, PartialEq)]
struct Pair {
    /// Offers of the other that still hold, the earliest first.
    kept: Vec<Offer>,
    /// Offers heard so far, void ones as well.
    heard: u32,
    /// Messages sent so far that found no offer.
    passed: u32,
    /// Own offers that still hold, with their number, the earliest first.
    given: Vec<(u32, Key)>,
    /// Own offers so far.
    offered: u32,
    /// Messages of the other so far that had found no offer.
    seen: u32,
}

impl Library {
    /// What a message of this envelope finds: its offer, and how many offers were heard.
    ///
    /// Every message with an envelope must ask, once, when it is sent.
    #[inline]
    pub(super) fn meet_offer(&mut self, to: Process, envelope: &Envelope) -> (Option<Offer>, u32) {
        let Some(offers) = &mut self.offers else { return (None, 0) };
        let pair = offers.pairs.entry(to).or_default();
        let place = pair.kept.iter().position(|offer| envelope.matches(&offer.selection));
        if place.is_none() {
            pair.passed += 1;
        }
        (place.map(|place| pair.kept.remove(place)), pair.heard)
    }

    /// Another process offers a receive.
    pub(super) fn hear_offer(&mut self, from: Process, offer: Offer) {
        let offers = self.offers.get_or_insert_default();
        let pair = offers.pairs.entry(from).or_default();
        pair.heard += 1;
        // A message without an offer that the receiver had not seen is on its way: it comes first.
        let crosses = pair.passed != offer.seen;
        #[cfg(feature = "mutants")]
        let crosses = crosses && !self.job.has(Mutant::OfferCrosses);
        if !crosses {
            pair.kept.push(offer);
        }
    }

    /// Offers a receive that has just been posted, where that may be.
    pub(super) fn offer(
        &mut self,
        thread: Thread,
        key: Key,
        comm: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if self.offers.is_none() {
            return Ok(());
        }
        let Some(Request { body: Body::Posted { selection, buffer, blocking, .. }, .. }) =
            self.requests.get(key)
        else {
            // Its message was there.
            return Ok(());
        };
        let (selection, buffer, blocking) = (*selection, *buffer, *blocking);
        #[cfg(feature = "mutants")]
        if selection.source.is_none() && self.job.has(Mutant::OffersWildcard) {
            return self.offer_to_two(thread, key, comm, (selection, buffer), out);
        }
        // Without a known source nobody is offered anything.
        let Some(source) = selection.source else { return Ok(()) };
        let route = self.route_of(thread, comm, source)?;
        let via = self.wire(route, thread).via;
        let asked = match via {
            Via::Hca => self.job.rendezvous == Protocol::Rtr,
            Via::SharedMemory => self.job.cooperation.may_offer(buffer.len, blocking),
        };
        if !asked || buffer.len <= self.job.eager_by(via) {
            return Ok(());
        }
        if self.is_behind_others(key, route.peer, &selection, out) {
            return Ok(());
        }
        self.give_offer(thread, key, route, (selection, buffer), out);
        Ok(())
    }

    pub(super) fn route_of(
        &self,
        thread: Thread,
        comm: Comm,
        rank: Rank,
    ) -> Result<Route, ProtocolError> {
        let member = self.speaker(thread, comm)?;
        self.way(comm, &member, rank)
    }

    /// Whether a receive that was posted before and is not on offer could take the message of this
    /// one: the posted queue is walked once more.
    fn is_behind_others(
        &self,
        key: Key,
        from: Process,
        selection: &Selection,
        out: &mut Vec<LibraryAction>,
    ) -> bool {
        #[cfg(feature = "mutants")]
        if self.job.has(Mutant::OffersBehind) {
            return false;
        }
        let queue = &self.matching[self.queue(selection.context, selection.dest)];
        let given = self.offers.as_ref().and_then(|offers| offers.pairs.get(&from));
        let on_offer = |key| given.is_some_and(|pair| pair.given.iter().any(|one| one.1 == key));
        let (mut entries, mut behind) = (0, false);
        for posted in queue.posted().take_while(|posted| posted.payload.key != key) {
            entries += 1;
            behind = posted.selection.overlaps(selection) && !on_offer(posted.payload.key);
            if behind {
                break;
            }
        }
        let length = u32::try_from(queue.posted_len()).expect("queues are counted in u32");
        out.emit(|| Action::Walk { entries, length, fact: None });
        behind
    }

    pub(super) fn give_offer(
        &mut self,
        thread: Thread,
        key: Key,
        route: Route,
        (selection, into): (Selection, Region),
        out: &mut Vec<LibraryAction>,
    ) {
        let wire = self.wire(route, thread);
        let offers = self.offers.get_or_insert_default();
        let pair = offers.pairs.entry(route.peer).or_default();
        pair.given.push((pair.offered, key));
        pair.offered += 1;
        let offer = Offer { receive: key, selection, into, seen: pair.seen };
        match wire.via {
            Via::Hca => out.emit(|| Action::Register { region: into }),
            Via::SharedMemory => out.emit(|| Action::Expose { region: into }),
        }
        out.emit(|| Action::Work(Step::Control));
        out.emit(|| Action::Send {
            to: route,
            via: wire.via,
            header: wire.control,
            packet: super::Packet::Rtr(offer),
            payload: None,
        });
    }

    /// A message of `from` has arrived that takes no offer by itself, and has been matched with
    /// `matched`; its sender had heard of so many offers.
    pub(super) fn settle_offers(&mut self, from: Process, heard: u32, matched: Option<Key>) {
        let Some(offers) = &mut self.offers else { return };
        let pair = offers.pairs.entry(from).or_default();
        let known = |&(number, key): &(u32, Key)| number < heard && Some(key) == matched;
        if let Some(place) = pair.given.iter().position(known) {
            // The sender has used this offer up.
            pair.given.remove(place);
        } else {
            pair.seen += 1;
            pair.given.retain(|&(number, _)| number < heard);
        }
    }

    /// A receive on offer cannot be cancelled: its sender may be filling it.
    pub(super) fn check_not_offered(&self, key: Key) -> Result<(), ProtocolError> {
        let mut pairs = self.offers.iter().flat_map(|offers| offers.pairs.values());
        if pairs.any(|pair| pair.given.iter().any(|one| one.1 == key)) {
            return Err(self.refuse("MPI_Cancel of a receive on offer (RTR)", key));
        }
        Ok(())
    }

    /// Sends a large message into the buffer that its receiver has offered.
    pub(super) fn send_offered(
        &mut self,
        thread: Thread,
        route: Route,
        offer: Offer,
        header: MessageHeader,
        buffer: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let (key, message, tag) = (header.sender, header.message, header.envelope.tag);
        let role = Sending::Decided(Protocol::Rtr.sender());
        let (choice, receiver) = (Choice::Made(Protocol::Rtr, false), Some(offer.receive));
        let body = Body::Sending { role, choice, message, to: route, tag, receiver, buffer };
        self.open(key, body, thread)?;
        let into = offer.into.part(0, buffer.len.min(offer.into.len));
        self.drive_sender(thread, key, None, RoleInput::Offered { into }, out)
    }

    /// A message has taken a receive on offer: it is matched now, in the order of its sender.
    pub(super) fn offer_taken(
        &mut self,
        thread: Thread,
        from: Route,
        (key, sender): (Key, Key),
        word: Word,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Word::Taken { message, tag, bytes, filled } = word else {
            return Err(self.defect("only TAKEN takes an offer", word));
        };
        let Some(Request { body: Body::Posted { id, selection, buffer, .. }, .. }) =
            self.requests.get(key)
        else {
            return Err(self.defect("only a posted receive is on offer", word));
        };
        let (id, buffer, source) = (*id, *buffer, selection.source.unwrap_or_default());
        let Selection { context, dest, .. } = *selection;
        let envelope = Envelope { context, source, dest, tag };
        let mode = SendMode::Standard;
        let header = MessageHeader {
            message,
            envelope,
            bytes,
            sender,
            mode,
            blocking: false,
            heard: 0,
            word: 0,
        };
        if self.match_taken(&header, from, out) != Some(key) {
            return Err(self.defect("a message takes the receive that it is matched with", word));
        }
        let outcome = received(super::arrivals::status(&header), bytes, buffer.len);
        let buffer = buffer.part(0, bytes.min(buffer.len));
        let role = Receiving::Decided(Protocol::Rtr.receiver());
        let choice = Choice::Made(Protocol::Rtr, false);
        // The sender's buffer is its own business.
        let remote = Region::new(Space::Staging(thread.0), 0);
        let body =
            Body::Receiving { role, choice, id, message, from, sender, remote, buffer, outcome };
        self.requests.get_mut(key).expect("looked up above").body = body;
        self.drive_receiver(thread, key, RoleInput::Taken { filled }, out)
    }

    /// Walks the posted queue for a message that takes an offer; answers what it is matched with.
    fn match_taken(
        &mut self,
        header: &MessageHeader,
        from: Route,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Key> {
        let MessageHeader { message, envelope, .. } = *header;
        let queue = self.queue(envelope.context, envelope.dest);
        let walk = self.matching[queue].claim(&envelope);
        let taken_by = walk.matched.map(|posted| posted.id);
        push_walk(&walk, Some(Observation::Arrived { message, taken_by }), out);
        let taken = walk.matched?;
        let offers = self.offers.get_or_insert_default();
        let pair = offers.pairs.entry(from.peer).or_default();
        pair.given.retain(|one| one.1 != taken.key);
        Some(taken.key)
    }
}
