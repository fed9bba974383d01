//! RPUT rendezvous: the receiver says CTS, the sender pushes the payload, and the FIN right behind it.
//!
//! ```text
//!   sender    (RTS) Start ──▶ WaitCts ──CTS / RdmaWrite, FIN──▶ Writing ──RdmaDone / Complete──▶ Done
//!                                           CTS / copy──▶ Copying ──last chunk / FIN, Complete──▶ Done
//!   receiver  Start / CTS ──▶ WaitFin ──FIN / Complete──▶ Done
//! ```
//!
//! Between nodes the sender's HCA writes, and the FIN is posted right behind the write: a queue pair delivers in order,
//! so that the FIN is seen when the bytes are there. Inside a node the sender's core copies through the kernel.
//!
//! Source: `coop` Fig. 1 and Sec. I-A; MVAPICH2 (`MPIDI_CH3I_MRAILI_Rendezvous_rput_push` posts its finish packet
//! behind the writes) and UCX (its put rendezvous sends the ATP without a flush, since 1.13).
//! Left out: an acknowledgement of the FIN; the send ends with the completion of its write.

use super::role::{Port, Progress, Role, RoleInput};
use super::share::{Copied, Share};
use crate::contract::{ProtocolError, Region, Toward};
use crate::wire::ControlMessage;

/// The side that sends.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Sender(SenderState);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum SenderState {
    /// The RTS is being sent by the library.
    New,
    /// The receiver has not posted its receive, or its CTS is on the way.
    WaitCts,
    /// The HCA is pushing the payload, and the FIN behind it.
    Writing,
    /// Our core is copying the payload into the receiver's buffer.
    Copying(Share, Region),
    /// Terminal.
    Done,
}

impl Sender {
    pub(super) const fn new() -> Self {
        Self(SenderState::New)
    }

    /// The next chunk; after the last one FIN.
    fn copy(mut share: Share, into: Region, port: &mut Port<'_>) -> (SenderState, Progress) {
        match share.advance(port, Toward::Peer, into) {
            Copied::Part => (SenderState::Copying(share, into), Progress::Pending),
            Copied::All => {
                port.load_less();
                port.send(ControlMessage::Fin);
                (SenderState::Done, Progress::Complete)
            }
        }
    }
}

impl Role for Sender {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        use SenderState::{Copying, Done, New, WaitCts, Writing};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => (WaitCts, Progress::Pending),
            (WaitCts, RoleInput::Word { word: ControlMessage::Cts { into, .. }, .. })
                if port.is_near() =>
            {
                Self::copy(Share::new(0, into.len), into, port)
            }
            (Copying(share, into), RoleInput::Continue) => Self::copy(share, into, port),
            (WaitCts, RoleInput::Word { word: ControlMessage::Cts { into, .. }, .. }) => {
                port.register();
                port.rdma_write(into);
                port.send(ControlMessage::Fin);
                (Writing, Progress::Pending)
            }
            // The receiver may be done before: what remains is that our own buffer is free.
            (Writing, RoleInput::RdmaDone) => (Done, Progress::Complete),
            (state, input) => return Err(ProtocolError::refused("rput::sender", state, input)),
        };
        self.0 = next;
        Ok(progress)
    }
}

/// The side that receives; it begins when a receive has taken the RTS.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Receiver(ReceiverState);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum ReceiverState {
    /// The receive has just taken the RTS.
    New,
    /// The sender's HCA writes into our buffer.
    WaitFin,
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
        use ReceiverState::{Done, New, WaitFin};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => {
                if !port.is_near() {
                    port.register();
                }
                port.clear_to_send();
                (WaitFin, Progress::Pending)
            }
            (WaitFin, RoleInput::Word { word: ControlMessage::Fin, .. }) => {
                (Done, Progress::Complete)
            }
            (state, input) => return Err(ProtocolError::refused("rput::receiver", state, input)),
        };
        self.0 = next;
        Ok(progress)
    }
}
