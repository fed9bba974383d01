//! What an adapter that matches does for a process that computes, and what its host does for it.
//!
//! ```text
//!   EAGER        matched ──▶ into the buffer; a synchronous one is answered
//!   RTS of RGET  matched ──▶ the adapter reads ──▶ FIN, complete
//!   FIN, ACK     the send is complete
//! ```
//!
//! The receives of a process lie in the match list of its adapter. An eager message that none of them
//! takes is put away in a buffer of the library, where a receive that the host posts later finds it. An
//! adapter cannot pin memory: a receive that may take a large message is pinned when it is posted.
//!
//! Source: `LINUXTM` (an adapter matches the RTS and reads by itself, and a FIN tells the sender),
//! `MPICH301` (receives are posted with match bits). Assumed: that an adapter also answers synchronous
//! messages and ends sends at FIN and ACK by itself.
//! Left out: a collective that was only begun (its messages wait for the host, and what comes behind
//! them waits too); a process with open messages in pieces, which its adapter leaves to its host; the way of an unexpected message from its receive buffer into that of the library, and a
//! buffer that has left the registration cache since its receive was posted (it is read into all the
//! same); the endpoint library, whose processes an adapter leaves to their hosts; other protocols than
//! RGET, which wait for the host: their sender writes, or both copy. What posting a receive to the
//! adapter costs besides. Noticeable as the overhead of receives.

use super::requests::{Body, Choice, Request};
use super::{
    Action, Brought, Key, Library, LibraryAction, Packet, Process, Protocol, ProtocolError, Thread,
    device, rma,
};
use crate::call::Comm;
use crate::contract::{Emit, Token, Via};
use crate::rendezvous::Scheme;
use crate::wire::Word;

const READS: Choice = Choice::Made(Protocol::RGet, false);

impl Library {
    /// See [`Machine::adapter_takes`](super::Machine::adapter_takes).
    pub(super) fn taken_by_adapter(&self, brought: &Brought<'_, Packet>) -> bool {
        // What a receive offers before its message comes is taken back by packets.
        // Only a core scatters what a receive takes in pieces.
        if self.job.rendezvous == Protocol::Rtr || self.has_pieces() {
            return false;
        }
        match *brought {
            Brought::Packet { from, packet } => {
                self.is_away(from.peer) && self.packet_for_adapter(packet)
            }
            Brought::Done(token) => self.read_for_adapter(token),
        }
    }

    fn packet_for_adapter(&self, packet: &Packet) -> bool {
        if self.is_of_background(packet) {
            return false;
        }
        match packet {
            Packet::Eager(_) | Packet::Matched { .. } => true,
            Packet::Rts { scheme, .. } => *scheme == Scheme::Fixed(Protocol::RGet),
            Packet::Rendezvous { to, word: Word::Fin, .. } => matches!(
                self.requests.get(*to),
                Some(Request { body: Body::Sending { choice: READS, .. }, .. })
            ),
            Packet::Rendezvous { .. } | Packet::Rtr(_) | Packet::Rma(_) => false,
        }
    }

    /// Whether this is the end of a read between nodes that a receive waits for.
    fn read_for_adapter(&self, token: Token) -> bool {
        if rma::is_ours(token) || device::is_device(token) {
            return false;
        }
        let key = Key::from_token(token);
        if let Key::Later(..) = key {
            return false;
        }
        match self.requests.get(key) {
            Some(Request { body: Body::Receiving { choice: READS, from, .. }, .. }) => {
                self.is_away(from.peer)
            }
            _ => false,
        }
    }

    fn is_away(&self, peer: Process) -> bool {
        self.job.node_of[self.me.0 as usize] != self.job.node_of[peer.0 as usize]
    }

    /// A receive has been posted: where its adapter may read a message into it, it is pinned.
    pub(super) fn pin_for_adapter(
        &self,
        thread: Thread,
        key: Key,
        comm: Comm,
        out: &mut Vec<LibraryAction>,
    ) -> Result<(), ProtocolError> {
        if !self.job.adapters || self.job.rendezvous != Protocol::RGet {
            return Ok(());
        }
        let Some(Request { body: Body::Posted { selection, buffer, .. }, .. }) =
            self.requests.get(key)
        else {
            // Its message was there.
            return Ok(());
        };
        let away = match selection.source {
            Some(source) => self.is_away(self.route_of(thread, comm, source)?.peer),
            None => true,
        };
        if away && buffer.len > self.job.eager_by(Via::Hca) {
            out.emit(|| Action::Register { region: *buffer });
        }
        Ok(())
    }
}
