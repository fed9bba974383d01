//! What happens when a poll takes a packet or a completion.

use super::requests::{Body, Pending, Request, Rts, received};
use super::{
    Action, Key, Library, LibraryAction, MessageHeader, Packet, Posted, ProtocolError, Region,
    Route, Space, Thread, Unexpected, UnexpectedBody, push_walk,
};
use crate::call::{SendMode, Status};
use crate::contract::{Change, Counter, Emit, Step};
use crate::eager;
use crate::rendezvous::{RoleInput, Scheme};
use crate::wire::Word;
use mpi::observation::Observation;

/// The status that a message gives its receiver; `count` is filled in by what fitted.
pub(super) fn status(header: &MessageHeader) -> Status {
    Status { source: Some(header.envelope.source), tag: Some(header.envelope.tag), count: 0 }
}

/// What a receiver role needs to know of the RTS.
pub(super) fn rts(header: &MessageHeader, scheme: Scheme, from: Route, remote: Region) -> Rts {
    Rts {
        scheme,
        mode: header.mode,
        send_blocks: header.blocking,
        message: header.message,
        from,
        sender: header.sender,
        remote,
        envelope_status: status(header),
        bytes: header.bytes,
    }
}

impl Library {
    /// Takes one packet from a channel.
    pub(super) fn packet(
        &mut self,
        thread: Thread,
        from: Route,
        packet: Packet,
        landing: Option<Region>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        match packet {
            Packet::Eager(header) => {
                out.emit(|| Action::Work(Step::Arrival));
                self.eager_arrives(thread, from, header, landing, out)
            }
            Packet::Rts { header, scheme, remote } => {
                out.emit(|| Action::Work(Step::Control));
                self.rts_arrives(thread, from, header, scheme, remote, out)
            }
            Packet::Matched { sender } => {
                out.emit(|| Action::Work(Step::Control));
                self.matched_arrives(sender, out)
            }
            Packet::Rtr(offer) => {
                out.emit(|| Action::Work(Step::Control));
                self.hear_offer(from.peer, offer);
                Ok(())
            }
            Packet::Rma(packet) => self.one_sided_packet(thread, from, &packet, landing, out),
            Packet::Rendezvous { to, from: other, word } => {
                out.emit(|| Action::Work(Step::Control));
                let input = RoleInput::Word { word, landing };
                if let Word::Taken { .. } = word {
                    return self.offer_taken(thread, from, (to, other), word, out);
                }
                if self.is_sending(to) {
                    self.drive_sender(thread, to, Some(other), input, out)?;
                } else {
                    self.drive_receiver(thread, to, input, out)?;
                }
                Ok(())
            }
        }
    }

    pub(super) fn is_sending(&self, key: Key) -> bool {
        matches!(self.requests.get(key), Some(Request { body: Body::Sending { .. }, .. }))
    }

    fn eager_arrives(
        &mut self,
        thread: Thread,
        from: Route,
        header: MessageHeader,
        landing: Option<Region>,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let slot = self.free_buffer();
        let kept = landing.map(|landing| Region::new(Space::Unexpected(slot), landing.len));
        let body = UnexpectedBody::Eager { kept };
        let matched = self.match_arrival(header, from, body, out);
        let Some(Posted { key, id }) = matched else {
            if kept.is_some() {
                eager::buffer_unexpected(landing, slot, out);
                self.keep_buffer(slot);
            }
            if let Some(landing) = landing {
                out.emit(|| Action::Repost { landing, from });
            }
            self.tell_probes(&header, out);
            return Ok(());
        };
        let buffer = self.posted_buffer(key)?;
        if header.mode == SendMode::Synchronous {
            eager::acknowledge(self.wire(from, thread), &header, out);
        }
        eager::copy_out(landing, buffer, out);
        if let Some(landing) = landing {
            out.emit(|| Action::Repost { landing, from });
        }
        let outcome = received(status(&header), header.bytes, buffer.len);
        let taken = buffer.part(0, header.bytes.min(buffer.len));
        self.hear_word(key, header.word);
        self.receive_complete(key, id, header.message, outcome, taken, out)
    }

    fn rts_arrives(
        &mut self,
        thread: Thread,
        from: Route,
        header: MessageHeader,
        scheme: Scheme,
        remote: Region,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let body = UnexpectedBody::Rts { scheme, remote };
        let Some(Posted { key, id }) = self.match_arrival(header, from, body, out) else {
            self.tell_probes(&header, out);
            return Ok(());
        };
        let buffer = self.posted_buffer(key)?;
        let rts = rts(&header, scheme, from, remote);
        self.hear_word(key, header.word);
        self.begin_receiving(thread, key, id, buffer, rts, out)
    }

    /// Walks the posted queue; a message that nobody wants joins the unexpected one.
    fn match_arrival(
        &mut self,
        header: MessageHeader,
        from: Route,
        body: UnexpectedBody,
        out: &mut Vec<LibraryAction>,
    ) -> Option<Posted> {
        let message = header.message;
        let queue = self.queue_of_arrival(&header.envelope);
        let engine = &mut self.matching[queue];
        let walk = engine.arrive_with(header.envelope, || Unexpected { header, from, body });
        self.note_lengths(queue);
        let taken_by = walk.matched.map(|posted| posted.id);
        push_walk(&walk, Some(Observation::Arrived { message, taken_by }), out);
        self.settle_offers(from.peer, header.heard, walk.matched.map(|posted| posted.key));
        walk.matched
    }

    fn posted_buffer(&self, key: Key) -> Result<Region, ProtocolError> {
        match self.requests.get(key) {
            Some(Request { body: Body::Posted { buffer, .. }, .. }) => Ok(*buffer),
            other => Err(self.defect("a matched receive is posted", other)),
        }
    }

    /// A thread that probes for this message returns; the first thread that takes it has it.
    fn tell_probes(&mut self, header: &MessageHeader, out: &mut Vec<LibraryAction>) {
        for index in 0..self.pending.len() {
            let Some(Pending::Probe { selection, take, flag: false }) = self.pending[index] else {
                continue;
            };
            if header.envelope.matches(&selection) {
                let thread = Thread(u16::try_from(index).expect("threads are counted in u16"));
                self.probe_now(thread, selection, take, out);
            }
        }
    }

    fn matched_arrives(
        &mut self,
        sender: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        let Some(Request { body: Body::Unmatched { message, buffer, .. }, .. }) =
            self.requests.get(sender).cloned()
        else {
            return Err(self.refuse("no synchronous send waits", sender));
        };
        self.send_complete(sender, message, buffer, out)
    }

    /// A large RDMA operation is over, where they are counted.
    fn offloaded(&self, out: &mut Vec<LibraryAction>) {
        if self.job.cooperation.counts_offloads {
            let (counter, change) = (Counter::Offloads(self.node()), Change::Down);
            out.emit(|| Action::Count { counter, change });
        }
    }

    /// The HCA has finished an RDMA operation of request `key`.
    pub(super) fn rdma_done(
        &mut self,
        thread: Thread,
        key: Key,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        self.offloaded(out);
        if self.is_sending(key) {
            self.drive_sender(thread, key, None, RoleInput::RdmaDone, out)
        } else {
            self.drive_receiver(thread, key, RoleInput::RdmaDone, out)
        }
    }
}
