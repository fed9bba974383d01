//! RGET rendezvous: the receiver pulls the payload with an RDMA read, then says FIN.
//!
//! ```text
//!   sender    Start / RTS ──▶ WaitFin ──FIN / Complete──▶ Done
//!   receiver  Start / RdmaRead ──▶ Reading ──RdmaDone / FIN, Complete──▶ Done
//! ```
//!
//! Source: `coop` Fig. 1 and Sec. I-A.
//! Left out: splitting of reads above the HCA's maximum. Noticeable above 1 GiB.

use super::{Port, Progress, Role, RoleInput, Word};
use crate::protocols::contract::ProtocolError;
#[cfg(feature = "mutants")]
use crate::protocols::mutant::Mutant;

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
        #[cfg_attr(not(feature = "mutants"), allow(unused_variables, reason = "mutants ask it"))]
        port: &mut Port<'_>,
    ) -> Result<Progress, ProtocolError> {
        use SenderState::{Done, New, WaitFin};
        let (next, progress) = match (self.0, input) {
            #[cfg(feature = "mutants")]
            (New, RoleInput::Start) if port.has(Mutant::GetSender) => (WaitFin, Progress::Complete),
            (New, RoleInput::Start) => (WaitFin, Progress::Pending),
            (WaitFin, RoleInput::Word { word: Word::Fin, .. }) => (Done, Progress::Complete),
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
        use ReceiverState::{Done, New, Reading};
        let (next, progress) = match (self.0, input) {
            (New, RoleInput::Start) => {
                let remote = port.remote.expect("an RTS of RGET carries the sender's address");
                port.register();
                #[cfg(feature = "mutants")]
                if port.has(Mutant::FinFirst) {
                    port.say(Word::Fin);
                }
                port.rdma_read(remote.part(0, port.buffer.len));
                (Reading, Progress::Pending)
            }
            #[cfg(feature = "mutants")]
            (Reading, RoleInput::RdmaDone) if port.has(Mutant::FinFirst) => {
                (Done, Progress::Complete)
            }
            (Reading, RoleInput::RdmaDone) => {
                // FIN before Complete: the sender's buffer is free the moment the read ends, even
                // if our own process is busy and learns of it later.
                port.say(Word::Fin);
                (Done, Progress::Complete)
            }
            (state, input) => return Err(ProtocolError::refused("rget::receiver", state, input)),
        };
        self.0 = next;
        Ok(progress)
    }
}
