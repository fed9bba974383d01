//! COOP-hybrid: the other schemes, each where it belongs.
//!
//! ```text
//!   blocking on either side ──▶ COOP-coll (Table II)
//!   Isend with Irecv ─────────▶ COOP-load
//!   large, and cores are free ▶ COOP-hca, while its counter allows; copies in chunks
//! ```
//!
//! Source: `coop` Sec. II-D. Sizes and thresholds are settings (the document names none).

use super::protocol::Protocol;
use super::{coop_coll, coop_load};
use calls::arguments::SendMode;

/// Facts about a message's calls and about the node.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Situation {
    /// The sender's mode.
    pub mode: SendMode,
    /// Whether the sender's call waits.
    pub send_blocks: bool,
    /// Whether the receiver's call waits.
    pub receive_blocks: bool,
    /// Copies before the sender.
    pub sender: u32,
    /// Copies before the receiver.
    pub receiver: u32,
    /// Whether the message is large, cores are free, and the HCA may take one more.
    pub offload: bool,
}

/// The protocol.
pub const fn choose(of: Situation) -> Protocol {
    if of.offload {
        Protocol::CoopHca
    } else if of.send_blocks || of.receive_blocks {
        coop_coll::table(of.mode, of.send_blocks, of.receive_blocks)
    } else {
        coop_load::choose(of.sender, of.receiver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_has_its_place() {
        // claim: coop-sem-hybrid-select
        let of = Situation {
            mode: SendMode::Standard,
            send_blocks: false,
            receive_blocks: false,
            sender: 2,
            receiver: 1,
            offload: false,
        };
        assert_eq!(choose(of), Protocol::RGet);
        assert_eq!(choose(Situation { sender: 0, ..of }), Protocol::RPut);
        assert_eq!(choose(Situation { send_blocks: true, ..of }), Protocol::RPut);
        assert_eq!(choose(Situation { receive_blocks: true, sender: 0, ..of }), Protocol::RGet);
        // claim: coop-sem-hybrid-gate
        assert_eq!(choose(Situation { offload: true, ..of }), Protocol::CoopHca);
    }
}
