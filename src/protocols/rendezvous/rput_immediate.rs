//! RPUT with immediate data: the last byte of the payload brings the FIN.
//!
//! ```text
//!   sender    (RTS) Start ──▶ WaitCts ──CTS / RdmaWrite with FIN──▶ Writing ──RdmaDone / Complete──▶ Done
//!   receiver  as in RPUT: Start / CTS ──▶ WaitFin ──FIN / Complete──▶ Done
//! ```
//!
//! An RDMA write with immediate data takes a receive buffer of the other side and completes there
//! when its bytes are in memory. The FIN needs no packet of its own, which no side has to post or to
//! handle. Inside a node, where cores copy, this is RPUT.
//!
//! Source: `IBTA` (RDMA Write with Immediate Data); RPUT as in `coop` Fig. 1.
//! Left out: the four bytes on the wire, and that they are only four: a library would look the request
//! up by them. Noticeable as less than a nanosecond a message.

use super::role::{Port, Progress, Role, RoleInput};
use super::rput;
pub use super::rput::Receiver;
use crate::contract::ProtocolError;
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
    /// The other side is on this node: cores copy.
    Near(rput::Sender),
    /// Terminal.
    Done,
}

impl Sender {
    pub(super) const fn new() -> Self {
        Self(SenderState::New)
    }
}

impl Role for Sender {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        use SenderState::{Done, Near, New, WaitCts, Writing};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) if port.is_near() => {
                let mut role = rput::Sender::new();
                let progress = role.handle(input, port)?;
                (Near(role), progress)
            }
            (Near(mut role), input) => {
                let progress = role.handle(input, port)?;
                (Near(role), progress)
            }
            (New, RoleInput::Start) => (WaitCts, Progress::Pending),
            (WaitCts, RoleInput::Word { word: ControlMessage::Cts { into, .. }, .. }) => {
                port.register();
                port.rdma_write_with(into, ControlMessage::Fin);
                (Writing, Progress::Pending)
            }
            // The receiver may be done before: what remains is that our own buffer is free.
            (Writing, RoleInput::RdmaDone) => (Done, Progress::Complete),
            (state, input) => {
                return Err(ProtocolError::refused("rput_immediate::sender", state, input));
            }
        };
        self.0 = next;
        Ok(progress)
    }
}
