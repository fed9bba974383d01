//! Shared-memory rendezvous: both sides copy through the cells of a shared segment.
//!
//! ```text
//!   sender    (RTS) Start ──▶ WaitCts ──CTS / (copy, CHUNK)*──▶ Sending ──CREDIT / copy, CHUNK──▶ … Done
//!   receiver  Start / CTS ──▶ Receiving ──CHUNK / copy, CREDIT──▶ … ──last CHUNK / Complete──▶ Done
//! ```
//!
//! A channel has a fixed number of cells: the sender fills them all at once and one more for each credit. The
//! receiver returns a credit only for a cell that is still needed, so that no packet comes late.
//!
//! Source: `endpoints` Sec. 6 (the coprocessor's kernel has no kernel-assisted copy, so traffic
//! inside a card is copied twice).
//! Kernel-assisted single copies are those of the other protocols of the family.

use super::role::{Port, Progress, Role, RoleInput};
use crate::contract::{ProtocolError, Region, Space};
use crate::wire::ControlMessage;

/// Cell of the sender's staging space that carries a chunk.
fn cell(port: &Port<'_>, bytes: u64) -> Region {
    Region::new(Space::Staging(port.wire.thread.0), bytes)
}

/// The side that sends.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Sender(SenderState);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum SenderState {
    /// The RTS is being sent by the library.
    New,
    /// The receiver is not ready.
    WaitCts,
    /// `sent` of `total` bytes are in cells or beyond.
    Sending { sent: u64, total: u64 },
    /// Terminal.
    Done,
}

impl Sender {
    pub(super) const fn new() -> Self {
        Self(SenderState::New)
    }

    /// Fills the next cell; answers how many bytes are sent then.
    fn push_chunk(sent: u64, total: u64, port: &mut Port<'_>) -> u64 {
        let bytes = (total - sent).min(port.wire.cell.as_u64());
        let cell = cell(port, bytes);
        port.copy(port.buffer.part(sent, bytes), cell);
        port.send_with(ControlMessage::Chunk { offset: sent }, Some(cell));
        sent + bytes
    }

    const fn after(sent: u64, total: u64) -> (SenderState, Progress) {
        if sent == total {
            (SenderState::Done, Progress::Complete)
        } else {
            (SenderState::Sending { sent, total }, Progress::Pending)
        }
    }
}

impl Role for Sender {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        use SenderState::{New, Sending, WaitCts};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => (WaitCts, Progress::Pending),
            (WaitCts, RoleInput::Word { word: ControlMessage::Cts { into, .. }, .. }) => {
                let total = into.len;
                let mut sent = 0;
                for _ in 0..port.wire.cells {
                    if sent < total {
                        sent = Self::push_chunk(sent, total, port);
                    }
                }
                Self::after(sent, total)
            }
            (Sending { sent, total }, RoleInput::Word { word: ControlMessage::Credit, .. }) => {
                Self::after(Self::push_chunk(sent, total, port), total)
            }
            (state, input) => {
                return Err(ProtocolError::refused("shared_memory::sender", state, input));
            }
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
    /// `received` bytes are in the buffer.
    Receiving { received: u64 },
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
        use ReceiverState::{Done, New, Receiving};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => {
                port.clear_to_send();
                if port.buffer.len == 0 {
                    (Done, Progress::Complete)
                } else {
                    (Receiving { received: 0 }, Progress::Pending)
                }
            }
            (
                Receiving { received },
                RoleInput::Word { word: ControlMessage::Chunk { offset }, landing: Some(landing) },
            ) if offset == received => {
                port.copy(landing, port.buffer.part(offset, landing.len));
                port.free_cell(landing);
                let received = received + landing.len;
                let total = port.buffer.len;
                // A credit only for a cell that the sender will fill again.
                let ahead = u64::from(port.wire.cells - 1) * port.wire.cell.as_u64();
                if received + ahead < total {
                    port.send(ControlMessage::Credit);
                }
                if received == total {
                    (Done, Progress::Complete)
                } else {
                    (Receiving { received }, Progress::Pending)
                }
            }
            (state, input) => {
                return Err(ProtocolError::refused("shared_memory::receiver", state, input));
            }
        };
        self.0 = next;
        Ok(progress)
    }
}
