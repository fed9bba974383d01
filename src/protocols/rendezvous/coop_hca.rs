//! COOP-hca rendezvous: the HCA reads one part of the message through its loopback while the
//! receiver's core copies the rest.
//!
//! ```text
//!   sender    (RTS) Start ──▶ WaitFin ──FIN / Complete──▶ Done
//!   receiver  Start / RdmaRead first part, copy the rest ──▶ Both ─┬─RdmaDone─▶ … ─┐ FIN, Complete
//!                                                                  └─last chunk─▶ … ┴──▶ Done
//! ```
//!
//! The share of the HCA is a setting in millionths: 1/2 stripes, Bh/(Bh+Bc) is tuned to the two
//! bandwidths, 1 leaves the core free (loopback). The parts are cut where a page ends.
//!
//! Source: `coop` Sec. II-A2; its ratio R of the bandwidths gives the HCA R/(1+R) of the message.
//! Left out: the sender's core copying a third part. Noticeable where the loopback is slower than
//! either core.

use super::role::{Port, Progress, Role, RoleInput};
use super::share::{Copied, Share};
use crate::contract::{ProtocolError, Region, Toward};
use crate::wire::ControlMessage;

pub use super::rget::Sender;

/// One whole.
/// Encoding: shares are in millionths.
const WHOLE: u64 = 1_000_000;

/// Bytes that the HCA moves of a message: the first ones. The parts are cut where a page ends: no page
/// is shared by the HCA and the core.
pub fn of_hca(bytes: u64, share_ppm: u32, page: u64) -> u64 {
    let share = u64::from(share_ppm).min(WHOLE);
    // In two steps, so that no product passes 64 bits.
    let exact = bytes / WHOLE * share + bytes % WHOLE * share / WHOLE;
    if share == WHOLE { bytes } else { exact / page.max(1) * page.max(1) }
}

/// The side that receives; it begins when a receive has taken the RTS.
#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
pub struct Receiver(State);

#[derive(Clone, Copy, Debug, Eq, Hash, PartialEq)]
enum State {
    /// The receive has just taken the RTS.
    New,
    /// Parts are under way.
    Both {
        /// The rest of the core's part; `None` when it is copied.
        core: Option<(Share, Region)>,
        /// Whether the HCA is still reading.
        reading: bool,
    },
    /// Terminal.
    Done,
}

impl Receiver {
    pub(super) const fn new() -> Self {
        Self(State::New)
    }

    fn begin(port: &mut Port<'_>) -> (Option<(Share, Region)>, bool) {
        let remote = port.remote.expect("an RTS of COOP carries the sender's address");
        let bytes = port.buffer.len;
        let by_hca = of_hca(bytes, port.settings.hca_share_ppm, port.settings.page.as_u64());
        if by_hca > 0 {
            port.register();
            port.rdma_read_part(remote, 0, by_hca);
        }
        (Self::copy(Share::new(by_hca, bytes), remote, port), by_hca > 0)
    }

    fn copy(mut share: Share, remote: Region, port: &mut Port<'_>) -> Option<(Share, Region)> {
        match share.advance(port, Toward::Own, remote) {
            Copied::Part => Some((share, remote)),
            Copied::All => None,
        }
    }
}

impl Role for Receiver {
    fn handle(&mut self, input: RoleInput, port: &mut Port<'_>) -> Result<Progress, ProtocolError> {
        let (core, reading) = match (self.0, input) {
            (State::New, RoleInput::Start) => Self::begin(port),
            (State::Both { core: Some((share, remote)), reading }, RoleInput::Continue) => {
                (Self::copy(share, remote, port), reading)
            }
            (State::Both { core, reading: true }, RoleInput::RdmaDone) => (core, false),
            (state, input) => {
                return Err(ProtocolError::refused("coop_hca::receiver", state, input));
            }
        };
        let (next, progress) = if core.is_none() && !reading {
            port.send(ControlMessage::Fin);
            (State::Done, Progress::Complete)
        } else {
            (State::Both { core, reading }, Progress::Pending)
        };
        self.0 = next;
        Ok(progress)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUT: u64 = 4096;

    #[test]
    fn the_parts_cover_the_message_and_the_hca_never_gets_more_than_its_share() {
        for bytes in [0, 1, 4095, 4096, 4097, 1 << 20, (1 << 20) + 3] {
            for share in [0, 1, 250_000, 500_000, 999_999, 1_000_000, 2_000_000] {
                let part = of_hca(bytes, share, CUT);
                assert!(part <= bytes, "{bytes} {share}");
                let exact = bytes * u64::from(share.min(1_000_000)) / 1_000_000;
                assert!(part <= exact && exact - part < CUT, "{bytes} {share}");
            }
            assert_eq!((of_hca(bytes, 0, CUT), of_hca(bytes, 1_000_000, CUT)), (0, bytes));
        }
    }
}
