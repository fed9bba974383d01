//! RGET rendezvous: the receiver pulls the payload, then says FIN.
//!
//! ```text
//!   sender    (RTS) Start ──▶ WaitFin ──FIN / Complete──▶ Done
//!   receiver  Start / RdmaRead ──▶ Reading ──RdmaDone / FIN, Complete──▶ Done     (other node)
//!             Start / copy ──▶ Copying ──last chunk / FIN, Complete──▶ Done       (same node)
//! ```
//!
//! Between nodes the receiver's HCA reads; inside a node its core copies through the kernel.
//!
//! Source: `coop` Fig. 1 and Sec. I-A.
//! Left out: splitting of reads above the HCA's maximum. Noticeable above 1 GiB.

use super::role::{Port, Progress, Role, RoleInput};
use super::share::{Copied, Share};
use crate::contract::{ProtocolError, Region, Toward};
use crate::wire::ControlMessage;

/// The side that sends; the library has matched nothing yet.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Sender(SenderState);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum SenderState {
    /// The RTS, with the buffer's address, is being sent by the library.
    New,
    /// The receiver will read the buffer; nothing to do here.
    WaitFin,
    /// Terminal.
    Done,
}

impl Sender {
    pub(super) const fn new() -> Self {
        Self(SenderState::New)
    }
}

impl Role for Sender {
    fn handle(
        &mut self,
        input: RoleInput,
        _port: &mut Port<'_>,
    ) -> Result<Progress, ProtocolError> {
        use SenderState::{Done, New, WaitFin};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => (WaitFin, Progress::Pending),
            (WaitFin, RoleInput::Word { word: ControlMessage::Fin, .. }) => {
                (Done, Progress::Complete)
            }
            (state, input) => return Err(ProtocolError::refused("rget::sender", state, input)),
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
    /// The HCA is pulling the payload out of the sender's buffer.
    Reading,
    /// Our core is copying the payload out of the sender's buffer.
    Copying(Share, Region),
    /// Terminal.
    Done,
}

impl Receiver {
    pub(super) const fn new() -> Self {
        Self(ReceiverState::New)
    }

    /// The next chunk; after the last one FIN.
    fn copy(mut share: Share, remote: Region, port: &mut Port<'_>) -> (ReceiverState, Progress) {
        match share.advance(port, Toward::Own, remote) {
            Copied::Part => (ReceiverState::Copying(share, remote), Progress::Pending),
            Copied::All => {
                port.load_less();
                port.send(ControlMessage::Fin);
                (ReceiverState::Done, Progress::Complete)
            }
        }
    }
}

impl Role for Receiver {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        use ReceiverState::{Copying, Done, New, Reading};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) if port.is_near() => {
                let remote = port.remote.expect("an RTS of RGET carries the sender's address");
                Self::copy(Share::new(0, port.buffer.len), remote, port)
            }
            (Copying(share, remote), RoleInput::Continue) => Self::copy(share, remote, port),
            (New, RoleInput::Start) => {
                let remote = port.remote.expect("an RTS of RGET carries the sender's address");
                port.register();
                port.rdma_read_part(remote, 0, port.buffer.len);
                (Reading, Progress::Pending)
            }
            (Reading, RoleInput::RdmaDone) => {
                // FIN before Complete: the sender's buffer is free the moment the read ends, even
                // if our own process is busy and learns of it later.
                port.send(ControlMessage::Fin);
                (Done, Progress::Complete)
            }
            (state, input) => return Err(ProtocolError::refused("rget::receiver", state, input)),
        };
        self.0 = next;
        Ok(progress)
    }
}
