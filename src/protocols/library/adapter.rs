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
//! Left out: a nonblocking collective (its messages wait for the host, and what comes behind
//! them waits too); a process with open messages in pieces, which its adapter leaves to its host; the way of an unexpected message from its receive buffer into that of the library, and a
//! buffer that has left the registration cache since its receive was posted (it is read into all the
//! same); the endpoint library, whose processes an adapter leaves to their hosts; other protocols than
//! RGET, which wait for the host: their sender writes, or both copy. What posting a receive to the
//! adapter costs besides. Noticeable as the overhead of receives.

use super::background::Background;
use super::messages::Messages;
use super::requests::{Body, Choice, Request};
use super::{Brought, Key, Packet, Protocol, Scheme, Token, device, rma};
use crate::wire::ControlMessage;

const READS: Choice = Choice::Made(Protocol::RGet, false);

/// Whether an adapter takes a packet or a completion by itself: see
/// [`Machine::adapter_takes`](super::Machine::adapter_takes).
pub(super) fn takes(
    messages: &Messages,
    background: Option<&Background>,
    brought: &Brought<'_, Packet>,
) -> bool {
    // The RTR of a receive is taken back by packets before its message comes.
    if messages.site().job.rendezvous == Protocol::Rtr {
        return false;
    }
    match *brought {
        Brought::Packet { from, packet } => {
            let host = background.is_some_and(|background| background.may_take(packet));
            messages.site().is_away(from.peer) && !host && takes_packet(messages, packet)
        }
        Brought::Done(token) => takes_read(messages, token),
    }
}

fn takes_packet(messages: &Messages, packet: &Packet) -> bool {
    match packet {
        Packet::Eager(_) | Packet::Matched { .. } => true,
        Packet::Rts { scheme, .. } => *scheme == Scheme::Fixed(Protocol::RGet),
        Packet::Rendezvous { to, word: ControlMessage::Fin, .. } => matches!(
            messages.requests().get(*to),
            Some(Request { body: Body::Sending { choice: READS, .. }, .. })
        ),
        Packet::Rendezvous { .. } | Packet::Rtr(_) | Packet::Rma(_) | Packet::Partition(_) => false,
    }
}

/// Whether this is the end of a read between nodes that a receive waits for.
fn takes_read(messages: &Messages, token: Token) -> bool {
    if rma::is_ours(token) || device::is_device(token) {
        return false;
    }
    let key = Key::from_token(token);
    if let Key::Later(..) | Key::Partition(..) = key {
        return false;
    }
    match messages.requests().get(key) {
        Some(Request { body: Body::Receiving { choice: READS, from, .. }, .. }) => {
            messages.site().is_away(from.peer)
        }
        _ => false,
    }
}
