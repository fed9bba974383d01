//! COOP-p2p rendezvous: both cores copy, each one half of the message.
//!
//! ```text
//!   sender    (RTS) Start ──▶ WaitCts ──CTS / copy second half, FIN──▶ Copied ──FIN / Complete──▶ Done
//!   receiver  Start / CTS, copy first half, FIN ──▶ Copied ──FIN / Complete──▶ Done
//! ```
//!
//! A side is complete when its own copy has ended and the other's FIN is here, whichever is first:
//! the FIN of the other side may come between two chunks of the own copy.
//!
//! Source: `coop` Sec. II-A1. Of an odd number of bytes the sender copies the larger half (ours).
//! Left out: halves that differ where the two cores copy at different rates. Noticeable where one of
//! the two is on another socket or busy.

use super::role::{Port, Progress, Role, RoleInput};
use super::share::{Copied, Share};
use crate::contract::{ProtocolError, Region, Toward};
use crate::wire::ControlMessage;

/// How far one side has come, once it knows the other's buffer.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum Half {
    /// Its core copies; whether the other side has said FIN.
    Copying { share: Share, remote: Region, other: bool },
    /// Its own half is moved; the other's is not known to be.
    Copied,
    /// Terminal.
    Done,
}

impl Half {
    /// The next chunk; after the last one FIN.
    fn copy(
        mut share: Share,
        remote: Region,
        other: bool,
        toward: Toward,
        port: &mut Port<'_>,
    ) -> (Self, Progress) {
        match share.advance(port, toward, remote) {
            Copied::Part => (Self::Copying { share, remote, other }, Progress::Pending),
            Copied::All => {
                port.load_less();
                port.send(ControlMessage::Fin);
                if other {
                    (Self::Done, Progress::Complete)
                } else {
                    (Self::Copied, Progress::Pending)
                }
            }
        }
    }

    fn handle(
        self,
        name: &'static str,
        toward: Toward,
        input: RoleInput,
        port: &mut Port<'_>,
    ) -> Result<(Self, Progress), ProtocolError> {
        Ok(match (self, input) {
            (Self::Copying { share, remote, other }, RoleInput::Continue) => {
                Self::copy(share, remote, other, toward, port)
            }
            (
                Self::Copying { share, remote, other: false },
                RoleInput::Word { word: ControlMessage::Fin, .. },
            ) => {
                // Early: our own half is still on its way.
                (Self::Copying { share, remote, other: true }, Progress::Pending)
            }
            (Self::Copied, RoleInput::Word { word: ControlMessage::Fin, .. }) => {
                (Self::Done, Progress::Complete)
            }
            (state, input) => return Err(ProtocolError::refused(name, state, input)),
        })
    }
}

/// Where the receiver's half ends and the sender's begins.
const fn middle(bytes: u64) -> u64 {
    bytes / 2
}

/// The side that sends.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Sender(SenderState);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum SenderState {
    /// The RTS is being sent by the library.
    New,
    /// The receiver has not posted its receive, or its CTS is on the way.
    WaitCts,
    /// The receiver's buffer is known.
    Half(Half),
}

impl Sender {
    pub(super) const fn new() -> Self {
        Self(SenderState::New)
    }
}

impl Role for Sender {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        use SenderState::{Half as OfHalf, New, WaitCts};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => (WaitCts, Progress::Pending),
            (WaitCts, RoleInput::Word { word: ControlMessage::Cts { into, .. }, .. }) => {
                let share = Share::new(middle(into.len), into.len);
                let (half, progress) = Half::copy(share, into, false, Toward::Peer, port);
                (OfHalf(half), progress)
            }
            (OfHalf(half), input) => {
                let (half, progress) =
                    half.handle("coop_p2p::sender", Toward::Peer, input, port)?;
                (OfHalf(half), progress)
            }
            (state, input) => return Err(ProtocolError::refused("coop_p2p::sender", state, input)),
        };
        self.0 = next;
        Ok(progress)
    }
}

/// The side that receives; it begins when a receive has taken the RTS.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Receiver(Option<Half>);

impl Receiver {
    pub(super) const fn new() -> Self {
        Self(None)
    }
}

impl Role for Receiver {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        let (half, progress) = match (self.0, input) {
            (None, RoleInput::Start) => {
                let remote = port.remote.expect("an RTS of COOP carries the sender's address");
                let bytes = port.buffer.len;
                // CTS before the copy: the sender's core copies at the same time.
                port.clear_to_send();
                let share = Share::new(0, middle(bytes));
                Half::copy(share, remote, false, Toward::Own, port)
            }
            (Some(half), input) => half.handle("coop_p2p::receiver", Toward::Own, input, port)?,
            (None, input) => {
                return Err(ProtocolError::refused("coop_p2p::receiver", "New", input));
            }
        };
        self.0 = Some(half);
        Ok(progress)
    }
}
