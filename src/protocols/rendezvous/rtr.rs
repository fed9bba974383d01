//! RTR rendezvous: the receiver speaks first, and offers its buffer before the message is there.
//!
//! ```text
//!   receiver  posts, RTR ──▶ posted ──FIN that takes it / Complete──▶ Done            (same node)
//!                                   ──TAKEN──▶ Filling ──FIN / Complete──▶ Done       (other node)
//!   sender    Offered / copy, FIN, Complete ──▶ Done                                  (same node)
//!             Offered / TAKEN, RdmaWrite, FIN ──▶ Writing ──RdmaDone / Complete──▶ Done
//!   both      Start: no offer was there in time; as RPUT
//! ```
//!
//! The FIN of one copy says which message has taken the offer. Where the payload is on its way for
//! longer (between nodes, or in chunks) the sender says so before: a later message would be matched
//! with the same receive else. Which receives are offered, and when an offer may be taken, is the
//! library's: see `library/rtr.rs`.
//!
//! Source: `coop` Sec. I-A (Fig. 1 has no chart of it; TAKEN is ours).
//! Left out: the sender's own early RTS that the receiver reads instead. Noticeable where the receiver
//! has time and the sender has not.

use super::role::{Port, Progress, Role, RoleInput};
use super::rput;
use super::share::{Copied, Share};
use crate::contract::{ProtocolError, Region, Toward};
use crate::wire::ControlMessage;

/// The side that sends.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Sender(SenderState);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum SenderState {
    /// The message was called for.
    New,
    /// No offer was there: the RTS asks for the buffer.
    Asked(rput::Sender),
    /// Our core is copying the payload into the offered buffer, in chunks.
    Copying(Share, Region),
    /// The HCA is pushing the payload, and the FIN behind it.
    Writing,
    /// Terminal.
    Done,
}

impl Sender {
    pub(super) const fn new() -> Self {
        Self(SenderState::New)
    }

    fn take(into: Region, port: &mut Port<'_>) -> (SenderState, Progress) {
        if port.is_near() && port.is_one_piece() {
            Share::new(0, into.len).advance(port, Toward::Peer, into);
            port.taken(true);
            return (SenderState::Done, Progress::Complete);
        }
        port.taken(false);
        if port.is_near() {
            return Self::copy(Share::new(0, into.len), into, port);
        }
        port.register();
        port.rdma_write(into);
        port.send(ControlMessage::Fin);
        (SenderState::Writing, Progress::Pending)
    }

    /// The next chunk; after the last one FIN.
    fn copy(mut share: Share, into: Region, port: &mut Port<'_>) -> (SenderState, Progress) {
        match share.advance(port, Toward::Peer, into) {
            Copied::Part => (SenderState::Copying(share, into), Progress::Pending),
            Copied::All => {
                port.send(ControlMessage::Fin);
                (SenderState::Done, Progress::Complete)
            }
        }
    }
}

impl Role for Sender {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        use SenderState::{Asked, Copying, Done, New, Writing};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => {
                let mut role = rput::Sender::new();
                let progress = role.handle(input, port)?;
                (Asked(role), progress)
            }
            (Asked(mut role), input) => {
                let progress = role.handle(input, port)?;
                (Asked(role), progress)
            }
            (New, RoleInput::Offered { into }) => Self::take(into, port),
            (Copying(share, into), RoleInput::Continue) => Self::copy(share, into, port),
            (Writing, RoleInput::RdmaDone) => (Done, Progress::Complete),
            (state, input) => return Err(ProtocolError::refused("rtr::sender", state, input)),
        };
        self.0 = next;
        Ok(progress)
    }
}

/// The side that receives; it begins when a message has taken its offer, or its receive an RTS.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Receiver(ReceiverState);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum ReceiverState {
    /// The message is known.
    New,
    /// It has not taken an offer: the CTS answers its RTS.
    Asked(rput::Receiver),
    /// The sender is filling our buffer.
    Filling,
    /// Terminal.
    Done,
}

impl Receiver {
    pub(super) const fn new() -> Self {
        Self(ReceiverState::New)
    }
}

impl Role for Receiver {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        use ReceiverState::{Asked, Done, Filling, New};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => {
                let mut role = rput::Receiver::new();
                let progress = role.handle(input, port)?;
                (Asked(role), progress)
            }
            (Asked(mut role), input) => {
                let progress = role.handle(input, port)?;
                (Asked(role), progress)
            }
            (New, RoleInput::Taken { filled: false }) => (Filling, Progress::Pending),
            (New, RoleInput::Taken { filled: true })
            | (Filling, RoleInput::Word { word: ControlMessage::Fin, .. }) => {
                (Done, Progress::Complete)
            }
            (state, input) => return Err(ProtocolError::refused("rtr::receiver", state, input)),
        };
        self.0 = next;
        Ok(progress)
    }
}
